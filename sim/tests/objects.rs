//! Tests of Ceph and Swift: which host does what, according to the records.

use crate::common;

use std::collections::BTreeSet;

use common::ceph::{ceph, cost};
use common::{cluster, device, run, run_recorded, ssio};
use foretell_ati::{Body, Phase, Record};
use foretell_scenarios::model::{Ceph, OsdStore, Role, Scenario, Swift, System, WorkloadKind};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan};

/// Five nodes with two drives each, one client with one request outstanding; recording costs
/// nothing.
fn small(system: System, m: u8, n: u8, access: Bytes, read_share: f64) -> Scenario {
    let mut scenario = cluster(5, 2, m, n);
    scenario.system = system;
    scenario.volumes[0].group = Bytes::mib(4);
    scenario.duration = Some(SimSpan::from_ms(200));
    scenario.warmup = SimSpan::ZERO;
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            storage.disks[0].device = device("sata-ssd");
            storage.disks.push(storage.disks[0].clone());
        }
    }
    ssio(&mut scenario, 0, read_share, 1);
    if let WorkloadKind::Ssio { access: size, .. } = &mut scenario.workloads[0].kind {
        *size = access;
    }
    scenario
}

fn swift() -> System {
    System::Swift(Swift {
        // the second client's machine
        proxies: vec![HostId(6)],
        partition_power: 8,
        x_newest: false,
        metadata: Bytes::kib(8),
        proxy: cost(500),
        relay: cost(200),
        read: cost(300),
        write: cost(500),
    })
}

/// The records of each request that is complete, in order of time.
fn by_request(scenario: &Scenario) -> Vec<Vec<Record>> {
    let (_, recorder) = run_recorded(scenario);
    let records = recorder.records();
    let complete: BTreeSet<Breadcrumb> = records
        .iter()
        .filter(|record| matches!(record.body, Body::Request { phase: Phase::Complete, .. }))
        .map(|record| record.header.breadcrumb)
        .collect();
    let of = |&crumb: &Breadcrumb| {
        let mut own: Vec<Record> =
            records.iter().filter(|record| record.header.breadcrumb == crumb).copied().collect();
        own.sort_by_key(|record| record.header.ts_ns);
        own
    };
    let found: Vec<_> = complete.iter().map(of).collect();
    assert!(found.len() > 20, "{}", found.len());
    found
}

/// Disk operations of a request that ended before the request was complete: host, disk, direction,
/// bytes.
fn disk_operations(records: &[Record]) -> Vec<(u32, u32, Op, u32)> {
    let end = records
        .iter()
        .position(|record| matches!(record.body, Body::Request { phase: Phase::Complete, .. }));
    let operation = |record: &Record| match record.body {
        Body::DiskOp { disk, op, size, phase: Phase::Complete, .. } => {
            Some((record.header.host.0, disk, op, size))
        }
        _ => None,
    };
    records[..end.unwrap()].iter().filter_map(operation).collect()
}

fn messages(records: &[Record]) -> Vec<(u32, u32)> {
    let message = |record: &Record| match record.body {
        Body::NetworkTransmit { sender, receiver, .. } => Some((sender, receiver)),
        _ => None,
    };
    records.iter().filter_map(message).collect()
}

#[test]
fn a_write_to_ceph_goes_through_the_primary_and_waits_for_all_copies() {
    for records in by_request(&small(System::Ceph(ceph(100)), 1, 3, Bytes::kib(64), 0.0)) {
        let messages = messages(&records);
        // to the primary, from there to two others, two answers, and one answer to the client
        assert_eq!(messages.len(), 6, "{messages:?}");
        let (client, primary) = messages[0];
        assert_eq!(client, 5);
        let mut asked = vec![messages[1].1, messages[2].1];
        assert!(messages[1..3].iter().all(|(from, _)| *from == primary));
        assert_eq!(messages[5], (primary, client));
        asked.push(primary);
        // 64 KiB to their place, then 1 KiB of metadata in a block of the log, on each of three
        // hosts
        let operations = disk_operations(&records);
        assert_eq!(operations.len(), 6, "{operations:?}");
        for host in &asked {
            let own: Vec<u32> =
                operations.iter().filter(|op| op.0 == *host).map(|op| op.3).collect();
            assert_eq!(own, [64 << 10, 4 << 10]);
        }
        assert_eq!(asked.into_iter().collect::<BTreeSet<_>>().len(), 3);
    }
}

#[test]
fn a_short_write_is_in_the_log_when_it_is_acknowledged() {
    for records in by_request(&small(System::Ceph(ceph(100)), 1, 3, Bytes::kib(4), 0.0)) {
        let operations = disk_operations(&records);
        // 4 KiB and 1 KiB in blocks of the log; the 4 KiB may already be on their way to their place
        assert_eq!(operations.iter().filter(|op| op.3 == 8 << 10).count(), 3, "{operations:?}");
        assert!(operations.iter().all(|op| [4 << 10, 8 << 10].contains(&op.3)));
    }
}

#[test]
fn filestore_writes_twice() {
    let store = OsdStore::FileStore;
    let mut scenario = small(System::Ceph(Ceph { store, ..ceph(100) }), 1, 3, Bytes::kib(64), 0.0);
    // long enough for the writes of the first seconds to reach their places
    scenario.duration = Some(SimSpan::from_secs(12));
    scenario.workloads[0].requests = Some(300);
    let (truth, recorder) = run_recorded(&scenario);
    let written = |least: u32, most: u32| -> u64 {
        let bytes = recorder.records().iter().filter_map(|record| match record.body {
            Body::DiskOp { op: Op::Write, size, phase: Phase::Complete, .. } => Some(size),
            _ => None,
        });
        bytes.filter(|size| (least..=most).contains(size)).map(u64::from).sum()
    };
    assert_eq!(truth.requests_completed, 300);
    // each copy: 64 KiB and 1 KiB of metadata in the journal, in blocks, and 64 KiB in place
    assert_eq!(written(68 << 10, 68 << 10), 300 * 3 * (68 << 10));
    assert_eq!(written(64 << 10, 64 << 10), 300 * 3 * (64 << 10));
}

#[test]
fn a_read_is_the_primarys() {
    let (mut hosts, mut read) = (BTreeSet::new(), 0);
    for records in by_request(&small(System::Ceph(ceph(100)), 1, 3, Bytes::kib(64), 1.0)) {
        let messages = messages(&records);
        assert_eq!(messages.len(), 2);
        for (host, _, op, _) in disk_operations(&records) {
            assert_eq!((host, op), (messages[0].1, Op::Read));
            read += 1;
        }
        hosts.insert(messages[0].1);
    }
    assert_eq!(hosts.len(), 5, "all nodes are primaries of something");
    assert!(read > 0, "not all is in the caches");
}

#[test]
fn a_coded_write_reads_what_it_touches_in_part() {
    // shards of 8 KiB / 2 = 4 KiB
    for (access, reads) in [(Bytes::kib(8), 0), (Bytes::kib(4), 2)] {
        let mut read = 0;
        for records in by_request(&small(System::Ceph(ceph(100)), 2, 3, access, 0.0)) {
            let operations = disk_operations(&records);
            let of = |wanted: Op| operations.iter().filter(|op| op.2 == wanted).count();
            // cached data need not be read
            assert!(of(Op::Read) <= reads, "{operations:?}");
            read += of(Op::Read);
            let others: usize = if reads == 0 { 2 } else { 3 };
            // two others write; before that, one other is read
            assert_eq!(messages(&records).len(), 2 + 2 * others);
            // a shard of 4 KiB and metadata go into the log of three
            let in_log = |op: &&(u32, u32, Op, u32)| op.2 == Op::Write && op.3 == 8 << 10;
            assert_eq!(operations.iter().filter(in_log).count(), 3);
        }
        assert_eq!(read > 0, reads > 0, "blocks written in part are read, whole ones are not");
    }
}

#[test]
fn a_coded_read_asks_for_the_data_shards() {
    let mut read = 0;
    for records in by_request(&small(System::Ceph(ceph(100)), 2, 3, Bytes::kib(64), 1.0)) {
        // client and primary, primary and one other
        assert_eq!(messages(&records).len(), 4);
        let operations = disk_operations(&records);
        assert!(operations.iter().all(|op| op.3 <= 32 << 10));
        read += operations.len();
    }
    assert!(read > 0, "not all is in the caches");
}

#[test]
fn a_write_to_swift_is_complete_with_two_copies_of_three() {
    let mut fewer = 0;
    for records in by_request(&small(swift(), 1, 3, Bytes::kib(64), 0.0)) {
        let all = messages(&records);
        assert_eq!(all[0], (5, 6), "the client asks the proxy");
        let asked: BTreeSet<u32> =
            all.iter().filter(|(from, to)| *from == 6 && *to != 5).map(|(_, to)| *to).collect();
        assert_eq!(asked.len(), 3, "three servers of three zones");
        let answer = all.iter().position(|message| *message == (6, 5)).unwrap();
        let answers = all[..answer].iter().filter(|(_, to)| *to == 6).count() - 1;
        assert!(answers >= 2, "{all:?}");
        fewer += usize::from(disk_operations(&records).len() < 6);
    }
    assert!(fewer > 0, "not every write waits for the third copy");
}

#[test]
fn a_read_from_swift_is_one_servers() {
    let mut servers = BTreeSet::new();
    for records in by_request(&small(swift(), 1, 3, Bytes::kib(64), 1.0)) {
        let messages = messages(&records);
        assert_eq!(messages.len(), 4);
        assert_eq!((messages[0], messages[3]), ((5, 6), (6, 5)));
        servers.insert(messages[1].1);
    }
    assert_eq!(servers.len(), 5);
}

#[test]
fn a_run_is_the_same_again_and_recording_changes_nothing() {
    for system in [System::Ceph(ceph(100)), swift()] {
        let scenario = small(system, 1, 3, Bytes::kib(16), 0.5);
        let text = |truth: foretell_sim::truth::Truth| format!("{truth:?}");
        let first = text(run(&scenario).unwrap());
        assert_eq!(first, text(run(&scenario).unwrap()));
        assert_eq!(first, text(run_recorded(&scenario).0));
    }
}

#[test]
fn clients_may_share_machines_with_osds_and_nodes_report_to_monitors() {
    let mut scenario = small(
        System::Ceph(Ceph { monitors: vec![HostId(6)], ..ceph(100) }),
        1,
        3,
        Bytes::kib(4),
        0.5,
    );
    scenario.workloads[0].clients = (0..5).map(HostId).collect();
    scenario.duration = Some(SimSpan::from_secs(20));
    scenario.workloads[0].requests = Some(2000);
    let truth = run(&scenario).unwrap();
    assert_eq!(truth.requests_completed, 10_000);
    // five nodes, each every five seconds
    let reports = truth.hosts["app1"]["nic_receive"].operations;
    assert!((15..=25).contains(&reports), "{reports}");
    assert_eq!(truth.hosts["app0"]["nic_receive"].operations, 0);
}

#[test]
fn work_is_charged_to_the_workload_on_every_server() {
    use foretell_ati::{Recorder, Selection};
    let mut scenario = small(System::Ceph(ceph(100)), 1, 3, Bytes::kib(64), 0.0);
    scenario.workloads[0].requests = Some(100);
    scenario.duration = Some(SimSpan::from_secs(2));
    let directory = tempfile::tempdir().unwrap();
    // demands are kept for a store
    let recorder = Recorder::create(directory.path(), Selection::NONE).unwrap();
    let mut cluster = foretell_sim::Cluster::new(scenario, recorder).unwrap();
    cluster.run(|_| std::ops::ControlFlow::Continue(())).unwrap();
    let demands = cluster.demands();
    let operations = |resource: &str| -> u64 {
        let own = demands.iter().filter(|demand| demand.resource.starts_with(resource));
        own.map(|demand| demand.operations).sum()
    };
    // three writes of data and three of the log for each request
    assert_eq!(operations("disk"), 600);
    assert_eq!(operations("nic_transmit"), 600);
    assert_eq!(operations("nic_receive"), 600);
}
