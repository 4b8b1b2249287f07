//! Events per CPU-second of whole clusters, and the memory of a large one.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Duration;

use common::{cluster, run, ssio};
use cpu_time::ProcessTime;
use foretell_scenarios::model::{NetworkModel, Scenario, WorkloadKind};
use foretell_units::{Bytes, SimSpan};

/// Runs the scenario and prints the result, unless the command line names another bench.
fn report(what: &str, scenario: &Scenario) {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if wanted.is_some_and(|wanted| !what.contains(&wanted)) {
        return;
    }
    let start = ProcessTime::now();
    let truth = run(scenario).expect("the scenario runs");
    let cpu = start.elapsed().max(Duration::from_nanos(1)).as_secs_f64();
    println!(
        "{what}: {} events, {} requests, {:.3} CPU-s: {:.2} M events per CPU-second; peak memory {} MB; bottleneck {} {} at {:.0} %",
        truth.events,
        truth.requests_completed,
        cpu,
        truth.events as f64 / cpu / 1e6,
        peak_memory_mb(),
        truth.bottleneck.host,
        truth.bottleneck.resource,
        truth.bottleneck.utilization * 100.0
    );
}

/// Peak memory of the process as Linux reports it; 0 on other systems.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn working_set(scenario: &mut Scenario, bytes: Bytes) {
    for workload in &mut scenario.workloads {
        if let WorkloadKind::Ssio { working_set, .. } = &mut workload.kind {
            *working_set = bytes;
        }
    }
}

fn main() {
    for model in [NetworkModel::Queue, NetworkModel::Tcp] {
        let network = match model {
            NetworkModel::Queue => "queue",
            NetworkModel::Tcp => "tcp",
        };
        for (name, read_share) in [("reads", 1.0), ("writes", 0.0), ("half and half", 0.5)] {
            for (m, n) in [(1, 3), (3, 5)] {
                let mut scenario = cluster(8, 4, m, n);
                scenario.switch.model = model;
                scenario.duration = Some(SimSpan::from_secs(60));
                for client in 0..4 {
                    ssio(&mut scenario, client, read_share, 8);
                }
                // 8 × 64 MiB of cache hold the first working set and not the second
                for (place, set) in [("in cache", Bytes::mib(128)), ("on disk", Bytes::gib(1))] {
                    working_set(&mut scenario, set);
                    report(&format!("8 nodes, {network}, {m}-of-{n}, {name}, {place}"), &scenario);
                }
            }
        }
        for (m, n) in [(1, 3), (3, 5)] {
            let mut scenario = cluster(1000, 100, m, n);
            scenario.switch.model = model;
            scenario.volumes[0].size = Bytes::gib(1000);
            scenario.duration = Some(SimSpan::from_secs(2));
            for client in 0..100 {
                ssio(&mut scenario, client, 0.7, 100);
            }
            // 1000 × 64 MiB of cache hold the first working set and not the second
            for (place, set) in [("in cache", Bytes::gib(10)), ("on disk", Bytes::gib(100))] {
                working_set(&mut scenario, set);
                let what = format!(
                    "1000 nodes, 10 000 outstanding, {network}, {m}-of-{n}, 70 % reads, {place}"
                );
                report(&what, &scenario);
            }
        }
    }
}
