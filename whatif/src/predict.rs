//! From a question to an answer.

use std::collections::BTreeMap;

use foretell_scenarios::Change;
use foretell_scenarios::model::{Arrivals, Scenario, Think, Workload};

use crate::answer::{Answer, Busiest, Model, ResponseTimeMs, WorkloadAnswer};
use crate::error::WhatIfError;
use crate::observed::Observed;
use crate::question::Shelf;
use crate::replay::{Material, Outcome, WorkloadOutcome, replay};

impl Observed {
    /// What would be with these changes; without any, what is.
    pub fn ask(
        &self,
        changes: &[Change],
        parts: &mut dyn Shelf,
        model: Model,
    ) -> Result<Answer, WhatIfError> {
        let cluster = self.changed(changes, parts)?;
        let outcome = replay(&Material {
            scenario: &cluster.scenario,
            requests: &cluster.requests,
            stretch: &cluster.stretch,
            measured: &cluster.measured,
        })?;
        Ok(answer(&cluster.scenario, &outcome, model))
    }
}

/// The name of a host's resource by its place.
fn resource(place: usize) -> String {
    match place {
        0 => "cpu".to_owned(),
        1 => "nic_transmit".to_owned(),
        2 => "nic_receive".to_owned(),
        disk => format!("disk{}", disk - 3),
    }
}

fn answer(scenario: &Scenario, outcome: &Outcome, model: Model) -> Answer {
    let mut utilization: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let mut bottleneck: Option<Busiest> = None;
    for found in &outcome.resources {
        let host = scenario.hosts[found.host].name.clone();
        let resource = resource(found.place);
        utilization.entry(host.clone()).or_default().insert(resource.clone(), found.utilization);
        if bottleneck.as_ref().is_none_or(|busiest| found.utilization > busiest.utilization) {
            bottleneck = Some(Busiest { host, resource, utilization: found.utilization });
        }
    }
    let workloads = scenario.workloads.iter().zip(&outcome.workloads);
    let workloads = workloads.map(|(workload, found)| {
        let completed = (found.completed as f64).max(1.0);
        let mut peak = f64::INFINITY;
        let mut limit = String::new();
        let mut demands: BTreeMap<String, f64> = BTreeMap::new();
        for known in &outcome.resources {
            let busy = found.busy[known.host][known.place].as_secs_f64();
            let demand = busy / completed;
            if demand <= 0.0 {
                continue;
            }
            let host = &scenario.hosts[known.host];
            let kind = if host.role.storage().is_some() { "node" } else { "client" };
            *demands.entry(format!("{kind}.{}", resource(known.place))).or_default() +=
                demand * 1e3;
            // what the others use is not to be had
            let own = busy / outcome.seconds / known.servers as f64;
            let others = (known.utilization - own).clamp(0.0, 0.99);
            let possible = known.servers as f64 * (1.0 - others) / demand;
            if possible < peak {
                peak = possible;
                limit = format!("{}.{}", host.name, resource(known.place));
            }
        }
        let think = think_s(workload.arrivals);
        let alone = alone_s(scenario, found, completed);
        let peak = if peak.is_finite() { peak } else { found.throughput_rps };
        let response = found.response_ms;
        let replayed = ResponseTimeMs {
            mean: response.mean,
            p50: Some(response.p50),
            p95: Some(response.p95),
            p99: Some(response.p99),
        };
        let (throughput_rps, response_time_ms) = match model {
            Model::Replay => (found.throughput_rps, replayed),
            Model::Bounds => {
                let (throughput, response) = bounds(workload, alone, think, peak, found);
                let mean = response * 1e3;
                (throughput, ResponseTimeMs { mean, p50: None, p95: None, p99: None })
            }
        };
        let bytes = found.throughput_bytes_per_s / found.throughput_rps.max(1e-9);
        let answer = WorkloadAnswer {
            throughput_rps,
            throughput_bytes_per_s: throughput_rps * bytes,
            peak_throughput_rps: peak,
            response_time_ms,
            outstanding: throughput_rps * response_time_ms.mean / 1e3,
            outstanding_to_saturate: (alone + think) * peak,
            read_hit_rate: found.read_hit_rate,
            bottleneck: limit,
            demands_ms: demands,
        };
        (workload.name.clone(), answer)
    });
    Answer { model, workloads: workloads.collect(), utilization, bottleneck }
}

/// Time between a completion and the next issue, seconds.
fn think_s(arrivals: Arrivals) -> f64 {
    match arrivals {
        Arrivals::Closed { think: Think::Fixed(span) | Think::Exponential(span), .. } => {
            span.as_secs_f64()
        }
        Arrivals::Poisson { .. }
        | Arrivals::Deterministic { .. }
        | Arrivals::Bursty { .. }
        | Arrivals::Times { .. }
        | Arrivals::Trace { .. } => 0.0,
    }
}

/// Response time of a request that waits for nobody, seconds: D of paper 004's equation 1.
///
/// What it takes of the client, and of one node: the n of a write work side by side. Of n disks that
/// read, it waits for the slowest, which takes the n-th harmonic number of times as long as one
/// if times are exponential. What is written behind is not waited for.
fn alone_s(scenario: &Scenario, found: &WorkloadOutcome, completed: f64) -> f64 {
    let legs = (found.path.legs as f64 / completed).max(1.0);
    let (mut client, mut node) = (0.0, 0.0);
    for (host, busy) in scenario.hosts.iter().zip(&found.busy) {
        // processor and cable; disks are looked at below
        let busy: f64 = busy.iter().take(3).map(|span| span.as_secs_f64()).sum();
        if host.role.storage().is_some() { node += busy } else { client += busy }
    }
    let slowest: f64 = (1..=legs.round() as u32).map(|k| 1.0 / f64::from(k)).sum();
    let reading = found.path.reading.as_secs_f64() / legs * slowest;
    (client + node / legs + reading + found.path.latency.as_secs_f64()) / completed
}

/// Throughput and response time by the asymptotic bounds: equation 1 of paper 004 and Little's law.
fn bounds(
    workload: &Workload,
    alone: f64,
    think: f64,
    peak: f64,
    found: &WorkloadOutcome,
) -> (f64, f64) {
    let Arrivals::Closed { outstanding, .. } = workload.arrivals else {
        // an open workload issues what it issues
        return (found.throughput_rps.min(peak), alone);
    };
    let outstanding = f64::from(outstanding) * workload.clients.len() as f64;
    let throughput = peak.min(outstanding / (alone + think));
    (throughput, (outstanding / throughput - think).max(alone))
}
