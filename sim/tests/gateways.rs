//! Gateways for objects: which messages a request becomes, what limits it, and that failures do not lose it.

use crate::common;

use common::ceph::{ceph, cost};
use common::outages::{fails, outages, recovery, returns, with};
use common::{cluster, device, run, run_recorded, ssio};
use foretell_ati::Body;
use foretell_scenarios::model::{
    BucketIndex, Gateway, Payload, Role, Scenario, System, Volume, WorkloadKind,
};
use foretell_sim::truth::Truth;
use foretell_units::{Bytes, HostId, SimSpan, VolumeId};

const NODES: u32 = 5;

/// The host of the first client, and that of the gateway.
const CLIENT: u32 = NODES;
const GATEWAY: u32 = NODES + 1;

/// Ceph with objects of 4 MiB on five nodes; a client with `outstanding` requests for objects of that size; a gateway,
/// and a bucket index of three copies.
fn scenario(reads: f64, outstanding: u32, size: Bytes, (m, n): (u8, u8)) -> Scenario {
    let mut scenario = cluster(NODES, 2, m, n);
    let mut settings = ceph(100);
    settings.gateway =
        Some(Box::new(Gateway { hosts: vec![HostId(GATEWAY)], read: cost(300), write: cost(500) }));
    scenario.system = System::Ceph(settings);
    let index = cluster(NODES, 0, 1, 3).volumes.remove(0);
    let group = Bytes::mib(4);
    scenario.volumes[0].group = group;
    scenario.volumes.push(Volume { name: "index".to_owned(), group, ..index });
    scenario.volumes[0].bucket_index = Some(BucketIndex { volume: VolumeId(1), shards: 11 });
    scenario.duration = Some(SimSpan::from_secs(2));
    scenario.warmup = SimSpan::ZERO;
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            storage.disks[0].device = device("nvme-3gbs");
        }
    }
    ssio(&mut scenario, 0, reads, outstanding);
    if let WorkloadKind::Ssio { access, working_set, .. } = &mut scenario.workloads[0].kind {
        (*access, *working_set) = (size, size * 16);
    }
    scenario
}

fn set_gateway(scenario: &mut Scenario, change: impl FnOnce(&mut Gateway)) {
    if let System::Ceph(ceph) = &mut scenario.system {
        change(ceph.gateway.as_mut().unwrap());
    }
}

/// The messages of a run that carried at least `least` bytes, as (sender, receiver).
fn messages(scenario: &Scenario, least: Bytes) -> Vec<(u32, u32)> {
    let (_, recorder) = run_recorded(scenario);
    let message = |body: &Body| match *body {
        Body::NetworkTransmit { sender, receiver, numbytes } if numbytes >= least.get() => {
            Some((sender, receiver))
        }
        _ => None,
    };
    recorder.records().iter().filter_map(|record| message(&record.body)).collect()
}

/// One request, and what it caused.
fn one(reads: f64, size: Bytes, code: (u8, u8)) -> Scenario {
    let mut scenario = scenario(reads, 1, size, code);
    scenario.workloads[0].requests = Some(1);
    scenario.duration = None;
    scenario
}

#[test]
fn a_read_asks_for_the_head_then_for_the_tail() {
    // with the gateway and with one OSD; 10 MiB are a head of 4 MiB and two more objects
    for (size, others) in [(Bytes::kib(64), 1), (Bytes::mib(4), 1), (Bytes::mib(12), 3)] {
        let all = messages(&one(1.0, size, (1, 3)), Bytes::ZERO);
        assert_eq!(all.len(), 2 + 2 * others, "{size}: {all:?}");
        assert_eq!(all[0], (CLIENT, GATEWAY));
        assert_eq!(all[all.len() - 1], (GATEWAY, CLIENT));
        assert!(all[1..all.len() - 1].iter().all(|(from, to)| [*from, *to].contains(&GATEWAY)));
        // the head is there before the tail is requested
        assert!(all.len() < 4 || all[1].1 == all[2].0);
    }
}

#[test]
fn a_write_updates_the_index_before_and_after_its_data() {
    for ((m, n), others) in [((1, 3), 2), ((2, 3), 2)] {
        let scenario = one(0.0, Bytes::kib(64), (m, n));
        let all = messages(&scenario, Bytes::ZERO);
        // client and gateway; three writes, each with its primary and two others
        assert_eq!(all.len(), 2 + 3 * (2 + 2 * others), "{all:?}");
        assert_eq!(all[0], (CLIENT, GATEWAY));
        // the client has its answer before the index is complete
        let answer = all.iter().position(|message| *message == (GATEWAY, CLIENT)).unwrap();
        assert!((2 + 2 * (2 + 2 * others) - 1..all.len() - 1).contains(&answer), "{answer}");
        // the data go to the gateway, to the primary, and as copies or shards to two others
        let least = Bytes::kib(64) / u64::from(m);
        assert_eq!(messages(&scenario, least).len(), 2 + others, "{m}-of-{n}");
    }
}

#[test]
fn an_object_that_is_replaced_is_not_read_first() {
    // 20 KiB are no whole number of blocks of 8 KiB
    let truth = run(&one(0.0, Bytes::kib(20), (2, 3))).unwrap();
    let of_disks = |truth: &Truth| -> u64 {
        let disks = truth.hosts.values().flatten().filter(|(name, _)| name.starts_with("disk"));
        disks.map(|(_, used)| used.operations).sum()
    };
    let shorter = run(&one(0.0, Bytes::kib(16), (2, 3))).unwrap();
    assert_eq!(of_disks(&truth), of_disks(&shorter));
}

#[test]
fn nothing_is_lost_and_flow_balances() {
    for (reads, size) in [(0.5, Bytes::kib(64)), (0.0, Bytes::mib(6)), (1.0, Bytes::mib(6))] {
        let mut scenario = scenario(reads, 8, size, (2, 3));
        scenario.workloads[0].requests = Some(200);
        scenario.duration = None;
        let truth = run(&scenario).unwrap();
        assert_eq!(truth.requests_completed, 200);
        assert_eq!(truth.unfinished.requests, 0);
    }
}

#[test]
fn a_slow_gateway_limits_all() {
    // a processor of 10 ms for each read serves 100 a second on each core
    let mut scenario = scenario(1.0, 32, Bytes::kib(4), (1, 3));
    set_gateway(&mut scenario, |gateway| gateway.read = cost(10_000));
    scenario.warmup = SimSpan::from_secs(1);
    let truth = run(&scenario).unwrap();
    let cores = scenario.hosts[GATEWAY as usize].cpu.cores;
    let limit = 100.0 * f64::from(cores);
    let found = truth.workloads["load0"].throughput_rps;
    assert!(found < limit && found > 0.95 * limit, "{found} of {limit}");
    // two of them serve twice as much, if there are two instances
    let mut more = scenario.clone();
    set_gateway(&mut more, |gateway| gateway.hosts.push(HostId(CLIENT)));
    more.workloads.push(more.workloads[0].clone());
    more.workloads[1].name = "load1".to_owned();
    let truth = run(&more).unwrap();
    let found: f64 = truth.workloads.values().map(|workload| workload.throughput_rps).sum();
    assert!(found > 1.9 * limit, "{found} of {}", 2.0 * limit);
}

#[test]
fn writes_wait_for_the_disks_of_the_index() {
    let rate = |device_of_index: &str| {
        let mut scenario = scenario(0.0, 16, Bytes::kib(64), (1, 2));
        // the data are on the first two nodes, the index on the others
        scenario.volumes[0].nodes.truncate(2);
        scenario.volumes[1].nodes.drain(..2);
        for host in &mut scenario.hosts[2..5] {
            if let Role::Node(storage) = &mut host.role {
                storage.disks[0].device = device(device_of_index);
            }
        }
        run(&scenario).unwrap().workloads["load0"].throughput_rps
    };
    let (flash, disks) = (rate("nvme-3gbs"), rate("sata-7200-2005"));
    assert!(disks < 0.5 * flash, "{disks} and {flash}");
}

#[test]
fn requests_go_on_while_a_node_is_down() {
    let mut scenario = scenario(0.5, 4, Bytes::kib(64), (1, 3));
    scenario.payload = Payload::Real;
    scenario.volumes[0].min_write = 2;
    scenario.volumes[1].min_write = 2;
    scenario.duration = Some(SimSpan::from_secs(6));
    let events = vec![fails(1000, 0, true), returns(4000, 0)];
    let truth = run(&with(scenario, events, recovery())).unwrap();
    let found = outages(&truth);
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    assert!(truth.blocks_compared.unwrap() > 100);
    assert!(truth.unfinished.oldest_ms.unwrap_or(0.0) < 1000.0);
    assert!(found.timeline.iter().all(|second| second.requests > 50));
}
