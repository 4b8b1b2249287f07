//! From a question to an answer.

use std::collections::BTreeMap;

use foretell_scenarios::Change;
use foretell_scenarios::model::{Arrivals, Scenario};

use crate::answer::{Answer, Busiest, Model, ResponseTimeMs, WorkloadAnswer};
use crate::error::WhatIfError;
use crate::observed::Observed;
use crate::question::Shelf;
use crate::replay::{Material, Outcome, replay};

impl Observed {
    /// What would be with these changes; without any, what is.
    pub fn ask(
        &self,
        changes: &[Change],
        shelf: &mut dyn Shelf,
        model: Model,
    ) -> Result<Answer, WhatIfError> {
        let changed = self.changed(changes, shelf)?;
        let outcome = replay(&Material {
            scenario: &changed.scenario,
            requests: &changed.requests,
            stretch: &changed.stretch,
            measured: &changed.measured,
            duration: self.duration,
        })?;
        Ok(answer(&changed.scenario, &outcome, model))
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
        let response = found.response_ms;
        let outstanding = found.throughput_rps * response.mean / 1e3;
        let think = match workload.arrivals {
            Arrivals::Closed { think, .. } => {
                let (foretell_scenarios::model::Think::Fixed(span)
                | foretell_scenarios::model::Think::Exponential(span)) = think;
                span.as_secs_f64()
            }
            _ => 0.0,
        };
        let alone: f64 = demands.values().sum::<f64>() / 1e3;
        let answer = WorkloadAnswer {
            throughput_rps: found.throughput_rps,
            throughput_bytes_per_s: found.throughput_bytes_per_s,
            peak_throughput_rps: if peak.is_finite() { peak } else { found.throughput_rps },
            response_time_ms: ResponseTimeMs {
                mean: response.mean,
                p50: Some(response.p50),
                p95: Some(response.p95),
                p99: Some(response.p99),
            },
            outstanding,
            outstanding_to_saturate: (alone + think) * if peak.is_finite() { peak } else { 0.0 },
            read_hit_rate: found.read_hit_rate,
            bottleneck: limit,
            demands_ms: demands,
        };
        (workload.name.clone(), answer)
    });
    Answer { model, workloads: workloads.collect(), utilization, bottleneck }
}
