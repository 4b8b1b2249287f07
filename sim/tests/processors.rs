//! Tests of a cluster's processors as queues.

use crate::common;

use common::{cluster, run, ssio};
use foretell_scenarios::model::{Arrivals, Cost, CpuProfile, Role, Scenario, WorkloadKind};
use foretell_units::{Bytes, Rate, Seed, SimSpan};

/// A processor with `cores` cores on which nothing takes time.
fn free(cores: u32) -> CpuProfile {
    let nothing = Cost { fixed: SimSpan::ZERO, rate: None };
    CpuProfile {
        cores,
        smt: None,
        quantum: SimSpan::from_secs(1),
        context_switch: SimSpan::ZERO,
        request: nothing,
        send: nothing,
        receive: nothing,
        copy: nothing,
        post: SimSpan::ZERO,
        ..common::cpu()
    }
}

fn fixed(us: u64) -> Cost {
    Cost { fixed: SimSpan::from_us(us), rate: None }
}

/// A client that reads 4 KiB, which its node has in its cache, `reads_per_s` times a second.
fn reads(nodes: u32, reads_per_s: f64, seed: u64) -> Scenario {
    let mut scenario = cluster(nodes, 1, 1, nodes as u8);
    scenario.seed = Seed(seed);
    scenario.warmup = SimSpan::from_secs(20);
    scenario.duration = Some(SimSpan::from_secs(200));
    ssio(&mut scenario, 0, 1.0, 1);
    scenario.workloads[0].arrivals = Arrivals::Poisson { rate_rps: reads_per_s };
    if let WorkloadKind::Ssio { access, working_set, .. } = &mut scenario.workloads[0].kind {
        (*access, *working_set) = (Bytes::kib(4), Bytes::mib(1));
    }
    for host in &mut scenario.hosts {
        (host.nic.rate, host.nic.latency) = (Rate::bits_per_s(100_000_000_000), SimSpan::ZERO);
        host.cpu = free(1);
    }
    scenario
}

/// A node that takes 0.6 ms to receive a message and 0.4 ms to answer, at `cores` times 800 requests a
/// second: mean response times, ms.
fn node_responses(cores: u32) -> Vec<f64> {
    let response = |seed| {
        let mut scenario = reads(1, 800.0 * f64::from(cores), seed);
        let cpu = &mut scenario.hosts[0].cpu;
        cpu.cores = cores;
        (cpu.receive, cpu.request, cpu.send) = (fixed(300), fixed(300), fixed(400));
        let truth = run(&scenario).unwrap();
        let usage = &truth.hosts["brick0"]["cpu"];
        assert!((usage.utilization - 0.8).abs() < 0.02, "{}", usage.utilization);
        truth.workloads["load0"].response_time_ms.mean
    };
    (1..=3).map(response).collect()
}

#[test]
fn closed_form_a_node_that_serves_from_its_cache_is_an_md1_queue() {
    // M/D/1 at 0.8: R = 1 + 0.8 / (2 × 0.2) = 3 ms. If the answer were a separate task, it would queue behind
    // tasks that arrived in between, and R would be 4.2
    for response in node_responses(1) {
        assert!((2.85..3.15).contains(&response), "{response}");
    }
    // M/D/2 at 0.8: R = 1.903 ms (Crommelin 1932)
    for response in node_responses(2) {
        assert!((1.85..1.96).contains(&response), "{response}");
    }
}

#[test]
fn a_client_sends_all_messages_of_a_request_in_one_go() {
    // A write to three nodes: 0.4 ms of preparation and three messages of 0.2 ms on the client, whose core is
    // an M/D/1 queue at a load of 0.1. A request waits for 0.1 / (2 × 0.9) = 0.056 ms and leaves 0.1 × 1.056
    // requests behind. Its answers cost nothing, but the last answer waits for those requests: R = 1.161 ms.
    let mut scenario = reads(3, 100.0, 1);
    if let WorkloadKind::Ssio { read_share, .. } = &mut scenario.workloads[0].kind {
        *read_share = 0.0;
    }
    let client = &mut scenario.hosts[3].cpu;
    (client.request, client.send) = (fixed(400), fixed(200));
    let truth = run(&scenario).unwrap();
    let response = truth.workloads["load0"].response_time_ms.mean;
    assert!((1.14..1.18).contains(&response), "{response}");
    // with four cores no request waits, and one thread still sends one message after the other
    scenario.hosts[3].cpu.cores = 4;
    let response = run(&scenario).unwrap().workloads["load0"].response_time_ms.p50;
    assert!((1.0..1.02).contains(&response), "{response}");
}

#[test]
fn a_quantum_ends_what_does_not_block() {
    // One loop needs 100 ms of its client's core for each request, another 1 ms. With a quantum of 2 ms the
    // short one waits for 2 ms at a time; without it, for the whole long one.
    let long_and_short = |quantum: SimSpan| {
        let mut scenario = reads(1, 1.0, 1);
        scenario.duration = Some(SimSpan::from_secs(20));
        assert!(matches!(scenario.hosts[1].role, Role::Client));
        let cpu = &mut scenario.hosts[1].cpu;
        cpu.quantum = quantum;
        // 1 ms for 4 KiB, 100 ms for 400
        cpu.request = Cost { fixed: SimSpan::ZERO, rate: Some(Rate::bytes_per_s(4_096_000)) };
        scenario.workloads.clear();
        for kib in [4, 400] {
            ssio(&mut scenario, 0, 1.0, 1);
            let load = scenario.workloads.last_mut().unwrap();
            if let WorkloadKind::Ssio { access, working_set, .. } = &mut load.kind {
                (*access, *working_set) = (Bytes::kib(kib), Bytes::kib(kib));
            }
        }
        let truth = run(&scenario).unwrap();
        truth.workloads["load0"].response_time_ms.p50
    };
    let shared = long_and_short(SimSpan::from_ms(2));
    assert!((2.9..5.2).contains(&shared), "{shared}");
    let alone = long_and_short(SimSpan::from_secs(1));
    assert!(alone > 90.0, "{alone}");
}
