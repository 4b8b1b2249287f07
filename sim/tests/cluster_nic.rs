//! Second network adapters of nodes: which messages use them.

use crate::common;

use common::ceph::ceph;
use common::{cluster, device, nic, run, run_recorded, ssio};
use foretell_scenarios::model::{Role, Scenario, System, WorkloadKind};
use foretell_sim::truth::Truth;
use foretell_units::{Bytes, Rate, SimSpan};

/// Ceph on five nodes, three copies, one client with `outstanding` requests of that size; nodes have second adapters.
fn scenario(read_share: f64, outstanding: u32, size: Bytes) -> Scenario {
    let mut scenario = cluster(5, 2, 1, 3);
    scenario.system = System::Ceph(ceph(100));
    scenario.volumes[0].group = Bytes::mib(4);
    scenario.duration = Some(SimSpan::from_secs(2));
    scenario.warmup = SimSpan::ZERO;
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            storage.disks[0].device = device("nvme-3gbs");
            host.cluster_nic = Some(nic());
        }
    }
    ssio(&mut scenario, 0, read_share, outstanding);
    if let WorkloadKind::Ssio { access, .. } = &mut scenario.workloads[0].kind {
        *access = size;
    }
    scenario
}

/// A message of this size is one train of segments.
const SMALL: Bytes = Bytes::kib(4);

/// Trains of segments that all adapters sent or received.
fn operations(truth: &Truth, resource: &str) -> u64 {
    truth.hosts.values().filter_map(|host| host.get(resource)).map(|used| used.operations).sum()
}

#[test]
fn copies_use_the_second_adapters_and_clients_the_first() {
    let mut writes = scenario(0.0, 1, SMALL);
    writes.workloads[0].requests = Some(100);
    let truth = run(&writes).unwrap();
    // a request and its answer; two copies and two answers
    assert_eq!(operations(&truth, "nic_transmit"), 200);
    assert_eq!(operations(&truth, "nic_receive"), 200);
    assert_eq!(operations(&truth, "cluster_nic_transmit"), 400);
    assert_eq!(operations(&truth, "cluster_nic_receive"), 400);
    let mut reads = scenario(1.0, 1, SMALL);
    reads.workloads[0].requests = Some(100);
    let truth = run(&reads).unwrap();
    assert_eq!(operations(&truth, "cluster_nic_transmit"), 0);
    // a node without one uses its first adapter, and so do those that send to it
    let mut mixed = scenario(0.0, 1, SMALL);
    mixed.workloads[0].requests = Some(100);
    mixed.hosts[0].cluster_nic = None;
    let truth = run(&mixed).unwrap();
    let (first, second) =
        (operations(&truth, "nic_transmit"), operations(&truth, "cluster_nic_transmit"));
    assert!(first > 200 && second > 0, "{first}, {second}");
    assert_eq!(first + second, 600);
}

#[test]
fn answers_to_clients_on_nodes_use_the_first_adapter() {
    let mut scenario = scenario(1.0, 1, SMALL);
    scenario.workloads[0].clients = vec![foretell_units::HostId(0)];
    scenario.workloads[0].requests = Some(100);
    let truth = run(&scenario).unwrap();
    assert_eq!(operations(&truth, "cluster_nic_transmit"), 0);
    assert!(operations(&truth, "nic_transmit") > 100);
}

#[test]
fn each_adapter_limits_its_own_messages() {
    // the nodes' first adapters send nothing but answers; the copies of 64 KiB writes fill the second ones
    let mut writes = scenario(0.0, 64, Bytes::kib(64));
    for host in &mut writes.hosts {
        host.nic.rate = Rate::bits_per_s(25_000_000_000);
        if let Some(second) = &mut host.cluster_nic {
            second.rate = Rate::bits_per_s(250_000_000);
        }
    }
    let with_second = run(&writes).unwrap();
    let rate = |truth: &Truth| truth.workloads["load0"].throughput_rps;
    // five adapters carry two copies of each write
    let most = 5.0 * 31.25e6 * 0.941 / (2.0 * 65536.0);
    let share = rate(&with_second) / most;
    // placement groups are not divided evenly: the busiest adapter limits all of them
    let bottleneck = &with_second.bottleneck;
    assert!(bottleneck.resource.starts_with("cluster_nic"), "{bottleneck:?}");
    assert!(bottleneck.utilization > 0.9 && share <= 1.0, "{bottleneck:?}, {share}");
    let busy = |truth: &Truth, resource: &str| -> f64 {
        (0..5).map(|node| truth.hosts[&format!("brick{node}")][resource].utilization).sum::<f64>()
            / 5.0
    };
    // segments that a full port drops are sent again
    let used = busy(&with_second, "cluster_nic_transmit");
    assert!((share - 0.01..share + 0.1).contains(&used), "{used}, {share}");
    // one adapter of the same rate as the first: the copies no longer limit
    for host in &mut writes.hosts {
        host.cluster_nic = None;
    }
    let without = run(&writes).unwrap();
    assert!(rate(&without) > 1.3 * rate(&with_second));
    assert!(!without.hosts["brick0"].contains_key("cluster_nic_transmit"));
}

#[test]
fn recording_changes_nothing() {
    let scenario = scenario(0.5, 4, SMALL);
    let recorded = run_recorded(&scenario).0;
    assert_eq!(format!("{:?}", run(&scenario).unwrap()), format!("{recorded:?}"));
}
