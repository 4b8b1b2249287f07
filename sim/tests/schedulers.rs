//! Tests of the effect of schedulers and queueing drives on whole clusters.

use crate::common;

use std::sync::Arc;

use common::{cluster, run, ssio};
use foretell_scenarios::device::Device;
use foretell_scenarios::drive::Drive;
use foretell_scenarios::drive_file;
use foretell_scenarios::model::{Pattern, Role, Scenario, Scheduler, Volume, WorkloadKind};
use foretell_units::{Bytes, HostId, SimSpan, VolumeId};

fn disks(scenario: &mut Scenario, scheduler: Scheduler, device: Option<&Device>) {
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            storage.cache.read_ahead = Bytes::ZERO;
            for disk in &mut storage.disks {
                disk.scheduler = scheduler;
                if let Some(device) = device {
                    disk.device = device.clone();
                }
            }
        }
    }
}

/// Two clients read one volume each, one request after the other, from one node's disk. Returns
/// bytes a second in total.
fn two_streams(scheduler: Scheduler) -> f64 {
    let mut scenario = cluster(1, 2, 1, 1);
    disks(&mut scenario, scheduler, None);
    scenario.volumes[0].size = Bytes::gib(20);
    let second = Volume { name: "web".to_owned(), ..scenario.volumes[0].clone() };
    scenario.volumes.push(second);
    for client in 0..2 {
        ssio(&mut scenario, client, 1.0, 1);
        let workload = &mut scenario.workloads[client as usize];
        workload.volume = VolumeId(client);
        if let WorkloadKind::Ssio { pattern, access, working_set, .. } = &mut workload.kind {
            (*pattern, *access, *working_set) =
                (Pattern::Sequential, Bytes::kib(64), Bytes::gib(10));
        }
    }
    scenario.duration = Some(SimSpan::from_secs(20));
    let truth = run(&scenario).unwrap();
    truth.workloads.values().map(|load| load.throughput_bytes_per_s).sum()
}

#[test]
fn cfq_keeps_two_sequential_readers_apart_and_deadline_does_not() {
    // for each: a seek of 4.8 ms over 10 % of the disk, half a turn of 4.2 ms, 64 KiB in 1.1 ms,
    // and the request's way through the network: some 10 ms for 64 KiB
    let deadline = two_streams(Scheduler::Deadline) / 1e6;
    assert!((5.0..8.0).contains(&deadline), "{deadline} MB/s");
    // without another reader: the request's way, then 64 KiB when they come round again, within a
    // turn of 8.3 ms
    let cfq = two_streams(Scheduler::Cfq) / 1e6;
    assert!(cfq > 1.5 * deadline, "{cfq} MB/s, {deadline} under deadline");
}

/// Random reads of 4 KiB a second, with 64 outstanding, on two nodes.
fn random_reads(queue_depth: u32) -> f64 {
    let text = include_str!("../../scenarios/devices/sata-7200-2005.toml");
    let mut specification = drive_file::parse(text).unwrap().specification().clone();
    specification.queue_depth = queue_depth;
    let device = Device::Drive(Arc::new(Drive::new(specification).unwrap()));
    let mut scenario = cluster(2, 1, 1, 1);
    disks(&mut scenario, Scheduler::Fcfs, Some(&device));
    scenario.volumes[0].size = Bytes::gib(400);
    scenario.volumes[0].nodes = vec![HostId(0), HostId(1)];
    ssio(&mut scenario, 0, 1.0, 64);
    if let WorkloadKind::Ssio { access, working_set, .. } = &mut scenario.workloads[0].kind {
        (*access, *working_set) = (Bytes::kib(4), Bytes::gib(400));
    }
    scenario.duration = Some(SimSpan::from_secs(30));
    run(&scenario).unwrap().workloads["load0"].throughput_rps
}

#[test]
fn a_drive_that_holds_32_commands_serves_more_random_reads_than_one_that_holds_one() {
    // 12 ms a read, two drives
    let one = random_reads(1);
    assert!((150.0..175.0).contains(&one), "{one}");
    let many = random_reads(32);
    assert!(many > 1.8 * one, "{many} of {one}");
}
