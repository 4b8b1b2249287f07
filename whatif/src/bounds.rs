//! Model `bounds`: the asymptotic bounds of operational analysis, equations 1 and 2 of Thereska et al. 2006.

use foretell_ati::Resource;
use foretell_scenarios::model::{Arrivals, Scenario, Workload};

use crate::replay::WorkloadOutcome;

/// Throughput in requests a second, and response time in s, by equation 1 and Little's law. `peak` is the
/// throughput that the bottleneck allows. For `alone`, see [`alone_s`].
pub(crate) fn bounds(
    workload: &Workload,
    alone: f64,
    peak: f64,
    found: &WorkloadOutcome,
) -> (f64, f64) {
    let Arrivals::Closed { outstanding, .. } = workload.arrivals else {
        // an open workload's rate does not depend on completions
        return (found.throughput_rps.min(peak), alone);
    };
    let think = found.think_s;
    let outstanding = f64::from(outstanding) * workload.clients.len() as f64;
    let throughput = peak.min(outstanding / (alone + think));
    (throughput, (outstanding / throughput - think).max(alone))
}

/// Response time of a request without queueing, s: D of equation 1.
///
/// It is the time at the client plus the time at one node, because the n nodes of a write work in parallel.
/// If n disks read in parallel, the request waits for the slowest. With exponential times, this takes H(n)
/// times as long as one disk, where H(n) is the n-th harmonic number. The request does not wait for
/// write-back.
pub(crate) fn alone_s(scenario: &Scenario, found: &WorkloadOutcome) -> f64 {
    let completed = (found.completed as f64).max(1.0);
    let legs = (found.path.legs.iter().sum::<u64>() as f64 / completed).max(1.0);
    let (mut client, mut node, mut reading) = (0.0, 0.0, 0.0);
    for (host, usage) in scenario.hosts.iter().zip(&found.usage) {
        let (others, disks) = usage.split_at(Resource::BESIDE_DISKS);
        reading += disks.iter().map(|disk| disk.reading.as_secs_f64()).sum::<f64>();
        let busy: f64 = others.iter().map(|usage| usage.busy.as_secs_f64()).sum();
        if host.role.storage().is_some() { node += busy } else { client += busy }
    }
    let slowest: f64 = (1..=legs.round() as u32).map(|k| 1.0 / f64::from(k)).sum();
    let reading = reading / legs * slowest;
    (client + node / legs + reading + found.path.latency.as_secs_f64()) / completed
}
