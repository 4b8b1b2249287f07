//! Tests of storage nodes that are virtual machines on few physical ones.

use crate::common;

use common::{cluster, run, ssio};
use foretell_ati::{Recorder, Selection};
use foretell_scenarios::model::{
    Ceph, Cost, Machine, OsdStore, Role, Scenario, System, WorkloadKind,
};
use foretell_sim::truth::Truth;
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId, Rate, SimSpan};

/// `nodes` nodes that cache little of their disks, each volume block on one of them, and a client with
/// `outstanding` requests for each node.
fn scenario(nodes: u32, working_set: Bytes, outstanding: u32) -> Scenario {
    let mut scenario = cluster(nodes, 1, 1, 1);
    // until the caches are full
    scenario.warmup = SimSpan::from_secs(4);
    ssio(&mut scenario, 0, 1.0, outstanding * nodes);
    if let WorkloadKind::Ssio { working_set: set, .. } = &mut scenario.workloads[0].kind {
        *set = working_set;
    }
    scenario
}

/// Distributes the nodes over `machines` machines.
fn on_machines(scenario: &Scenario, machines: u32, bandwidth: Option<Rate>) -> Scenario {
    let mut scenario = scenario.clone();
    let nodes = scenario.hosts.iter().filter(|host| host.role.storage().is_some()).count() as u32;
    for (number, host) in (0..).zip(&mut scenario.hosts) {
        let Role::Node(storage) = &mut host.role else { continue };
        let (place, machine) = (number / machines, number % machines);
        host.machine = Some(Machine { host: HostId(machine), place, bandwidth });
        storage.shared_by = (nodes - machine).div_ceil(machines);
    }
    scenario
}

fn rate(truth: &Truth) -> f64 {
    truth.workloads["load0"].throughput_rps
}

#[test]
fn a_machine_of_its_own_changes_nothing() {
    let apart = scenario(4, Bytes::mib(512), 4);
    let (first, second) = (run(&apart).unwrap(), run(&on_machines(&apart, 4, None)).unwrap());
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

#[test]
fn those_on_one_machine_share_its_disk() {
    // 1 GiB over four nodes with caches of 64 MiB: nearly all data are read from disks, which are busy
    let apart = scenario(4, Bytes::gib(1), 8);
    let own = run(&apart).unwrap();
    let shared = run(&on_machines(&apart, 2, None)).unwrap();
    assert!(own.hosts["brick3"]["disk0"].utilization > 0.9);
    for machine in ["brick0", "brick1"] {
        assert!(shared.hosts[machine]["disk0"].utilization > 0.99, "{machine}");
    }
    // a disk with twice the queue is sorted better, but its arm has farther to go
    let part = rate(&shared) / rate(&own);
    assert!((0.4..0.65).contains(&part), "{part}");
    // disks and links belong to the machines; processors do not
    let of = |truth: &Truth| truth.hosts["brick2"].keys().cloned().collect::<Vec<_>>();
    assert_eq!(of(&shared), ["cpu"]);
    assert_eq!(of(&own).len(), 4);
}

#[test]
fn those_on_one_machine_share_its_link() {
    // 16 MiB stay in the caches: one machine sends over one link, with 94.1 % payload
    let (mut apart, link) = (scenario(4, Bytes::mib(16), 8), 125e6 * 0.941);
    // the client's link must not be the bottleneck
    apart.hosts[4].nic.rate = Rate::bits_per_s(10_000_000_000);
    let bytes = |truth: &Truth| truth.workloads["load0"].throughput_bytes_per_s;
    let own = run(&apart).unwrap();
    let shared = run(&on_machines(&apart, 1, None)).unwrap();
    assert!(bytes(&own) > 1.5 * link, "{}", bytes(&own));
    let part = bytes(&shared) / link;
    assert!((0.95..=1.0).contains(&part), "{part}");
    assert!(shared.hosts["brick0"]["nic_transmit"].utilization > 0.95);
}

#[test]
fn bandwidth_limits_each_virtual_machine() {
    // N requests among M equal queues keep each busy for at least N / (N + M − 1) of the time: 0.98
    let mut apart = scenario(4, Bytes::mib(16), 32);
    apart.hosts[4].nic.rate = Rate::bits_per_s(10_000_000_000);
    // four nodes limited to 100 Mbit/s on one link of 1 Gbit/s
    let limit = Rate::bits_per_s(100_000_000);
    let limited = run(&on_machines(&apart, 1, Some(limit))).unwrap();
    let part = limited.workloads["load0"].throughput_bytes_per_s / (4.0 * 12.5e6 * 0.941);
    assert!((0.95..=1.0).contains(&part), "{part}");
    // in the other direction
    let WorkloadKind::Ssio { read_share, .. } = &mut apart.workloads[0].kind else {
        unreachable!("it is ssio")
    };
    *read_share = 0.0;
    let limited = run(&on_machines(&apart, 1, Some(limit))).unwrap();
    let part = limited.workloads["load0"].throughput_bytes_per_s / (4.0 * 12.5e6 * 0.941);
    assert!((0.95..=1.0).contains(&part), "{part}");
}

#[test]
fn what_stays_on_a_machine_does_not_meet_its_link() {
    // two copies of each object, on two virtual machines of one machine: data come over its link once,
    // from the client, and go on to the other copy over the bridge
    let mut apart = cluster(2, 1, 1, 2);
    let cost = Cost { fixed: SimSpan::from_us(60), rate: None };
    apart.system = System::Ceph(Ceph {
        store: OsdStore::BlueStore { deferred_below: Bytes::kib(16) },
        metadata: Bytes::kib(1),
        placement_groups_per_osd: 100,
        read: cost,
        write: cost,
        commit: cost,
        threads: None,
        scheduler: None,
        onodes: None,
        coalesce: false,
        monitors: Vec::new(),
        own_monitors: SortedMap::new(),
        gateway: None,
        places: None,
    });
    ssio(&mut apart, 0, 0.0, 4);
    let busy = |truth: &Truth, host: &str, way: &str| truth.hosts[host][way].utilization;
    let together = run(&on_machines(&apart, 1, None)).unwrap();
    assert!(together.requests_completed > 100);
    let sent = busy(&together, "app0", "nic_transmit");
    let received = busy(&together, "brick0", "nic_receive");
    assert!((received / sent - 1.0).abs() < 0.01, "{received} {sent}");
    // on two machines the copy also comes over a link
    let truth = run(&apart).unwrap();
    let all = busy(&truth, "brick0", "nic_receive") + busy(&truth, "brick1", "nic_receive");
    assert!(all > 1.9 * busy(&truth, "app0", "nic_transmit"), "{all}");
}

#[test]
fn demands_are_of_the_machine_that_has_the_resource() {
    let mut shared = on_machines(&scenario(4, Bytes::mib(512), 4), 2, None);
    shared.warmup = SimSpan::ZERO;
    let directory = tempfile::tempdir().unwrap();
    // demands are kept for a store
    let recorder = Recorder::create(directory.path(), Selection::NONE).unwrap();
    let mut cluster = foretell_sim::Cluster::new(shared.clone(), recorder).unwrap();
    let truth = cluster.run(|_| std::ops::ControlFlow::Continue(())).unwrap();
    let mut busy: SortedMap<(String, String), f64> = SortedMap::new();
    for demand in cluster.demands() {
        let host = shared.hosts[demand.host.index()].name.clone();
        *busy.entry((host, demand.resource)).or_default() += demand.busy.as_secs_f64();
    }
    assert_eq!(busy.keys().filter(|(_, resource)| resource == "disk0").count(), 2);
    for ((host, resource), charged_s) in &busy {
        let truly_s = truth.hosts[host][resource].utilization * truth.simulated_seconds;
        // an operation is charged when it is done, a message when it is handed over
        assert!(*charged_s <= truly_s + 0.005, "{host} {resource}: {charged_s} {truly_s}");
    }
}
