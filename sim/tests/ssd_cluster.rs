//! Tests of solid-state drives in a cluster.

use crate::common;

use common::{cluster, device, run, run_recorded, ssio};
use foretell_scenarios::device::Device;
use foretell_scenarios::model::{
    Disk, Pattern, Role, Scenario, Scheduler, WorkloadKind, WritePolicy,
};
use foretell_units::{Bytes, SimSpan};

/// One node with a shipped device, one client, 500 reads of 4 KiB one after the other. The node's
/// cache of 16 pages has almost no hits.
fn small(name: &str, latency: SimSpan) -> Scenario {
    let mut scenario = cluster(1, 1, 1, 1);
    let mut spec = device(name);
    if let Device::Ssd(ssd) = &mut spec {
        ssd.latency += latency;
    }
    let Role::Node(storage) = &mut scenario.hosts[0].role else { panic!("the first is a node") };
    storage.disks = vec![Disk {
        device_name: name.to_owned(),
        device: spec,
        scheduler: Scheduler::Fcfs,
        class: None,
        db: None,
        wal: None,
    }];
    storage.cache.size = Bytes::kib(64);
    storage.cache.read_ahead = Bytes::ZERO;
    ssio(&mut scenario, 0, 1.0, 1);
    scenario.warmup = SimSpan::ZERO;
    scenario.duration = None;
    let load = &mut scenario.workloads[0];
    load.requests = Some(500);
    load.kind = WorkloadKind::Ssio {
        read_share: 1.0,
        pattern: Pattern::Random,
        access: Bytes::kib(4),
        working_set: Bytes::mib(512),
    };
    scenario
}

#[test]
fn a_read_takes_what_the_drive_takes_more() {
    let mean = |latency| {
        let truth = run(&small("nvme-3gbs", latency)).unwrap();
        let load = &truth.workloads["load0"];
        let misses = truth.caches["brick0"].read_hit_rate.map(|hits| 1.0 - hits).unwrap();
        (load.response_time_ms.mean, misses, truth.hosts["brick0"]["disk0"].operations)
    };
    let (fast, misses, operations) = mean(SimSpan::ZERO);
    assert_eq!(operations, (misses * 500.0).round() as u64);
    let (slow, _, _) = mean(SimSpan::from_us(200));
    // 0.2 ms more for each miss
    assert!((slow - fast - 0.2 * misses).abs() < 1e-6, "{fast} {slow} {misses}");
}

#[test]
fn a_drive_is_as_busy_as_its_operations_make_it() {
    let truth = run(&small("nvme-3gbs", SimSpan::ZERO)).unwrap();
    let drive = &truth.hosts["brick0"]["disk0"];
    let seconds = truth.simulated_seconds;
    // the interface is its busiest part: 0.784 us and 4 KiB at 3.26 GB/s for each read; a 64th of
    // the dies' work (60 us and 4 KiB at 533 MB/s) is less
    let interface = 0.784e-6 + 4096.0 / 3.26e9;
    let busy = drive.operations as f64 * interface / seconds;
    assert!((drive.utilization / busy - 1.0).abs() < 1e-3, "{drive:?}");
    // a read is present while it is sensed, sent, on the interface, and for 15 us more (Little)
    let residence = 60e-6 + 4096.0 / 533e6 + interface + 15e-6;
    let present = drive.operations as f64 * residence / seconds;
    assert!((drive.queue_length_mean / present - 1.0).abs() < 1e-3, "{drive:?} {present}");
}

#[test]
fn many_clients_fill_a_drive_and_all_is_recorded() {
    let mut scenario = cluster(2, 2, 1, 2);
    for host in &mut scenario.hosts[..2] {
        let Role::Node(storage) = &mut host.role else { panic!("nodes come first") };
        storage.disks[0].device = device("sata-ssd");
    }
    for client in 0..2 {
        ssio(&mut scenario, client, 0.6, 32);
    }
    scenario.duration = Some(SimSpan::from_secs(1));
    let (truth, _) = run_recorded(&scenario);
    assert_eq!(truth.requests_issued, truth.requests_completed + truth.requests_in_flight);
    assert!(truth.hosts["brick0"]["disk0"].queue_length_mean > 1.0, "{truth:?}");
    // the same again: the result does not depend on when a drive is called
    let (again, _) = run_recorded(&scenario);
    assert_eq!(format!("{truth:?}"), format!("{again:?}"));
}

#[test]
fn the_truth_tells_what_writing_costs_a_drive() {
    let mut scenario = small("nvme-3gbs", SimSpan::ZERO);
    let Role::Node(storage) = &mut scenario.hosts[0].role else { panic!("the first is a node") };
    storage.cache.write = WritePolicy::Through;
    let Device::Ssd(ssd) = &mut storage.disks[0].device else { panic!("it is a drive of flash") };
    // one die of 16 MiB plus a fifth; its endurance is 10 GB
    (ssd.channels, ssd.chips, ssd.dies, ssd.planes) = (1, 1, 1, 2);
    (ssd.page, ssd.mapping, ssd.pages_per_block) = (Bytes::kib(4), Bytes::kib(4), 16);
    (ssd.capacity, ssd.over_provisioning) = (Bytes::mib(16), 0.2);
    (ssd.buffer, ssd.endurance) = (Bytes::kib(64), Some(Bytes(10_000_000_000)));
    scenario.volumes[0].size = Bytes::mib(8);
    let load = &mut scenario.workloads[0];
    load.requests = Some(20_000);
    load.kind = WorkloadKind::Ssio {
        read_share: 0.0,
        pattern: Pattern::Random,
        access: Bytes::kib(4),
        working_set: Bytes::mib(8),
    };
    let truth = run(&scenario).unwrap();
    let disk = &truth.hosts["brick0"]["disk0"];
    let flash = disk.flash.unwrap();
    assert_eq!(flash.written_bytes, 20_000 * 4096);
    // random writes in steady state make the drive move data, a row of two pages at a time
    let amplification = flash.write_amplification.unwrap();
    assert!(amplification > 1.1 && amplification < 4.0, "{flash:?}");
    let programmed = flash.written_bytes as f64 * amplification;
    assert!((flash.programmed_bytes as f64 - programmed).abs() < 1.0, "{flash:?}");
    assert!(flash.moved_bytes > 0 && flash.moved_bytes < flash.programmed_bytes);
    // in the long run the amount erased equals the amount programmed: blocks of 16 pages of 4 KiB
    let erased = (flash.blocks_erased * 16 * 4096) as f64;
    assert!((erased / flash.programmed_bytes as f64 - 1.0).abs() < 0.05, "{flash:?}");
    let per_day = flash.written_bytes as f64 / truth.simulated_seconds * 86_400.0;
    assert!((flash.written_bytes_per_day / per_day - 1.0).abs() < 1e-9, "{flash:?}");
    let years = 1e10 / per_day / 365.25;
    assert!((flash.years_until_worn.unwrap() / years - 1.0).abs() < 1e-9, "{flash:?}");
    // a disk with an arm has no flash
    assert!(run(&small("nvme-3gbs", SimSpan::ZERO)).unwrap().hosts["app0"]["cpu"].flash.is_none());
}
