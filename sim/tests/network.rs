//! Tests of the network within a cluster.

use crate::common;

use common::{cluster, run, run_recorded, ssio};
use foretell_ati::Body;
use foretell_scenarios::model::{NetworkModel, Scenario, Switch, WorkloadKind};
use foretell_sim::truth::Truth;
use foretell_units::{Bytes, SimSpan};

/// A client reads 1 MiB at a time; 8 nodes each send an eighth of it at the same time.
fn incast(port_buffer: Bytes) -> Scenario {
    let mut scenario = cluster(8, 1, 8, 8);
    scenario.volumes[0].block = Bytes::kib(64);
    scenario.warmup = SimSpan::ZERO;
    scenario.switch.port_buffer = port_buffer;
    ssio(&mut scenario, 0, 1.0, 1);
    if let WorkloadKind::Ssio { access, working_set, .. } = &mut scenario.workloads[0].kind {
        (*access, *working_set) = (Bytes::mib(1), Bytes::mib(16));
    }
    scenario
}

fn reads_per_s(truth: &Truth) -> f64 {
    truth.workloads["load0"].throughput_rps
}

#[test]
fn synchronised_reads_collapse_where_the_clients_port_is_small() {
    let ample = run(&incast(Bytes::mib(4))).unwrap();
    assert_eq!(ample.network.segments_dropped, 0);
    let small = run(&incast(Bytes::kib(32))).unwrap();
    assert!(reads_per_s(&small) < 0.5 * reads_per_s(&ample));
    // the client's port dropped segments, and the nodes had timeouts
    assert_eq!(
        small.hosts["app0"]["nic_receive"].segments_dropped,
        Some(small.network.segments_dropped)
    );
    let timeouts = |host: &str| small.hosts[host]["nic_transmit"].timeouts.unwrap();
    let nodes: u64 = (0..8).map(|node| timeouts(&format!("brick{node}"))).sum();
    assert!(nodes > 0 && nodes == small.network.timeouts);
    assert_eq!(timeouts("app0"), 0);
    // with a small timeout less throughput is lost
    let mut quick = incast(Bytes::kib(32));
    quick.switch.retransmit_timeout = SimSpan::from_ms(1);
    assert!(reads_per_s(&run(&quick).unwrap()) > 1.5 * reads_per_s(&small));
}

#[test]
fn links_alone_lose_nothing() {
    let mut scenario = incast(Bytes::kib(32));
    scenario.switch = Switch::QUEUE;
    let truth = run(&scenario).unwrap();
    assert_eq!(truth.network.segments_dropped, 0);
    scenario.switch = incast(Bytes::mib(4)).switch;
    assert_eq!(scenario.switch.model, NetworkModel::Tcp);
    // TCP with an ample buffer only has to open its windows
    let tcp = reads_per_s(&run(&scenario).unwrap());
    assert!((reads_per_s(&truth) / tcp - 1.0).abs() < 0.02, "{tcp} {}", reads_per_s(&truth));
}

#[test]
fn what_is_sent_again_is_on_record() {
    let scenario = incast(Bytes::kib(32));
    let (truth, recorder) = run_recorded(&scenario);
    let (mut rows, mut bytes) = (0, 0);
    for record in recorder.records() {
        if let Body::NetworkTransmit { numbytes, .. } = record.body {
            (rows, bytes) = (rows + 1, bytes + numbytes);
        }
    }
    assert!(rows > truth.network.messages_sent, "{rows} {}", truth.network.messages_sent);
    // all records together account for the data on the links: 8 ns a byte
    let busy: f64 = truth.hosts.values().map(|host| host["nic_transmit"].utilization).sum::<f64>();
    let carried = busy * truth.simulated_seconds * 1e9 / 8.0;
    // messages handed over at the end may still wait for their window
    assert!(((bytes as f64) - carried).abs() < 1.2e6, "{bytes} {carried}");
}

#[test]
fn writes_to_all_nodes_share_the_clients_link() {
    // 8-of-8, 1 MiB: 8 fragments over one link of 1 Gbit/s at 94.1 % payload, 8.9 ms at least
    let mut scenario = incast(Bytes::kib(512));
    if let WorkloadKind::Ssio { read_share, .. } = &mut scenario.workloads[0].kind {
        *read_share = 0.0;
    }
    let truth = run(&scenario).unwrap();
    assert_eq!(truth.network.segments_dropped, 0);
    let response = truth.workloads["load0"].response_time_ms.p50;
    assert!(response > 8.9, "{response}");
}
