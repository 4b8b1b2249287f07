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
fn scenario(reads: f64, outstanding: u32, size: Bytes, m: u8, n: u8) -> Scenario {
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

/// What `pick` makes of the sender, the receiver and the bytes of each message of a run.
fn recorded<T>(scenario: &Scenario, pick: impl Fn(u32, u32, u64) -> Option<T>) -> Vec<T> {
    let (_, recorder) = run_recorded(scenario);
    let message = |body: &Body| match *body {
        Body::NetworkTransmit { sender, receiver, numbytes } => pick(sender, receiver, numbytes),
        _ => None,
    };
    recorder.records().iter().filter_map(|record| message(&record.body)).collect()
}

/// The messages of a run that carried at least `least` bytes, as (sender, receiver).
fn messages(scenario: &Scenario, least: Bytes) -> Vec<(u32, u32)> {
    recorded(scenario, |sender, receiver, bytes| {
        (bytes >= least.get()).then_some((sender, receiver))
    })
}

/// One request, and what it caused.
fn one(reads: f64, size: Bytes, m: u8, n: u8) -> Scenario {
    let mut scenario = scenario(reads, 1, size, m, n);
    scenario.workloads[0].requests = Some(1);
    scenario.duration = None;
    scenario
}

#[test]
fn a_read_asks_for_the_head_then_for_the_rest() {
    // with the gateway and with one OSD; 10 MiB are a head of 4 MiB, and 4 MiB and 2 MiB more
    for (size, objects) in [(Bytes::kib(64), 1), (Bytes::mib(4), 1), (Bytes::mib(10), 3)] {
        let all = messages(&one(1.0, size, 1, 3), Bytes::ZERO);
        assert_eq!(all.len(), 2 + 2 * objects, "{size}: {all:?}");
        assert_eq!(all[0], (CLIENT, GATEWAY));
        assert_eq!(all[all.len() - 1], (GATEWAY, CLIENT));
        // the head is there before anything else is requested
        assert_eq!((all[1].0, all[2].1), (GATEWAY, GATEWAY));
        assert_eq!(all[1].1, all[2].0);
        let asked = all.iter().filter(|(from, to)| *from == GATEWAY && *to != CLIENT).count();
        assert_eq!(asked, objects);
    }
}

#[test]
fn a_write_updates_the_index_before_and_after_its_data() {
    for ((m, n), others) in [((1, 3), 2), ((2, 3), 2)] {
        let scenario = one(0.0, Bytes::kib(64), m, n);
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
        // the announcement comes before the data, at another OSD or at the same
        let sent = recorded(&scenario, |sender, _, bytes| (sender == GATEWAY).then_some(bytes));
        let data = sent.iter().position(|bytes| *bytes >= Bytes::kib(64).get()).unwrap();
        assert_eq!(sent.len(), 4, "{sent:?}");
        assert_eq!(data, 1, "{sent:?}");
    }
}

#[test]
fn the_rest_is_written_before_the_index_is_told() {
    // two RADOS objects of the rest, the announcement, the head, the completion
    let scenario = one(0.0, Bytes::mib(10), 1, 3);
    let to_servers = |sender, receiver, bytes| {
        (sender == GATEWAY && receiver != CLIENT).then_some(bytes >= Bytes::mib(1).get())
    };
    assert_eq!(recorded(&scenario, to_servers), [true, true, false, true, false]);
}

/// Number of operations of all devices.
fn device_operations(truth: &Truth) -> u64 {
    let disks = truth.hosts.values().flatten().filter(|(name, _)| name.starts_with("disk"));
    disks.map(|(_, used)| used.operations).sum()
}

#[test]
fn an_object_that_is_replaced_is_not_read_first() {
    // 20 KiB, and 4 MiB and 20 KiB, are no whole numbers of blocks of 8 KiB
    for (size, shorter) in [(20, 16), (4096 + 20, 4096 + 16)] {
        let operations = |size| device_operations(&run(&one(0.0, Bytes::kib(size), 2, 3)).unwrap());
        assert_eq!(operations(size), operations(shorter), "{size} KiB");
    }
}

#[test]
fn nothing_is_lost() {
    for (reads, size) in [(0.5, Bytes::kib(64)), (0.0, Bytes::mib(6)), (1.0, Bytes::mib(6))] {
        let mut scenario = scenario(reads, 8, size, 2, 3);
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
    let mut scenario = scenario(1.0, 32, Bytes::kib(4), 1, 3);
    set_gateway(&mut scenario, |gateway| gateway.read = cost(10_000));
    scenario.warmup = SimSpan::from_secs(1);
    let truth = run(&scenario).unwrap();
    let cores = scenario.hosts[GATEWAY as usize].cpu.cores;
    let limit = 100.0 * f64::from(cores);
    let found = truth.workloads["load0"].throughput_rps;
    assert!(found < limit && found > 0.95 * limit, "{found} of {limit}");
    // two of them serve twice as much, and get one request each in turn
    let mut more = scenario.clone();
    set_gateway(&mut more, |gateway| gateway.hosts.push(HostId(CLIENT)));
    let truth = run(&more).unwrap();
    let found = truth.workloads["load0"].throughput_rps;
    assert!(found > 1.9 * limit, "{found} of {}", 2.0 * limit);
    let busy = |host: u32| {
        let name = &more.hosts[host as usize].name;
        truth.hosts[name].iter().find(|(part, _)| *part == "cpu").unwrap().1.utilization
    };
    assert!((busy(CLIENT) - busy(GATEWAY)).abs() < 0.02);
}

#[test]
fn a_shard_carries_out_one_update_at_a_time() {
    // each OSD computes for 5 ms for an update, on many cores and at the same time
    let rate = |shards| {
        let mut scenario = scenario(0.0, 32, Bytes::kib(64), 1, 3);
        // thousands of objects, so that each shard has its part of them
        if let WorkloadKind::Ssio { working_set, .. } = &mut scenario.workloads[0].kind {
            *working_set = Bytes::mib(128);
        }
        scenario.volumes[0].bucket_index = Some(BucketIndex { volume: VolumeId(1), shards });
        if let System::Ceph(ceph) = &mut scenario.system {
            ceph.commit = cost(5000);
        }
        for host in &mut scenario.hosts {
            host.cpu.cores = 64;
        }
        scenario.warmup = SimSpan::from_secs(1);
        scenario.duration = Some(SimSpan::from_secs(4));
        run(&scenario).unwrap().workloads["load0"].throughput_rps
    };
    // each upload updates its shard twice, and up to 32 completions are outstanding when the time is over
    let (one, two, many) = (rate(1), rate(2), rate(1009));
    assert!((92.0..=100.0 + 32.0 / 4.0).contains(&one), "{one} a second");
    assert!((1.7..=2.0).contains(&(two / one)), "{two} with two shards, {one} with one");
    assert!(many > 10.0 * one, "{many} with many");
}

#[test]
fn updates_of_the_index_are_written_to_the_log_only() {
    const UPLOADS: u64 = 100;
    // the data are on the first two nodes, the index is on the other three
    let mut scenario = scenario(0.0, 1, Bytes::kib(64), 1, 2);
    scenario.volumes[0].nodes.truncate(2);
    scenario.volumes[1].nodes.drain(..2);
    scenario.workloads[0].requests = Some(UPLOADS);
    scenario.duration = None;
    let truth = run(&scenario).unwrap();
    for node in 2..5 {
        let disk = &truth.hosts[&scenario.hosts[node].name];
        let (_, disk) = disk.iter().find(|(name, _)| name.starts_with("disk")).unwrap();
        // an upload has two updates, and each is written once; a merge of metadata takes two more operations
        let most = 2 * UPLOADS + 2;
        assert!((UPLOADS..=most).contains(&disk.operations), "{} operations", disk.operations);
    }
}

#[test]
fn requests_go_on_while_a_node_is_down() {
    let mut scenario = scenario(0.5, 4, Bytes::kib(64), 1, 3);
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
