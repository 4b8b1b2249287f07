//! From a question to an answer.

use std::collections::BTreeMap;

use foretell_ati::Resource;
use foretell_scenarios::Change;
use foretell_scenarios::model::{Arrivals, Scenario, Workload};

use crate::answer::{Answer, Busiest, Misfit, Model, ResponseTimeMs, WorkloadAnswer};
use crate::bounds::{alone_s, bounds};
use crate::classes::analyse;
use crate::correction::{Correction, corrected};
use crate::error::WhatIfError;
use crate::expected::Circumstances;
use crate::observed::{Observed, WorkloadSeen, resource_name};
use crate::question::{Changed, Shelf};
use crate::replay::{Material, Outcome, WorkloadOutcome, replay};

/// The changed cluster, replayed; every model answers from this.
#[derive(Debug)]
pub struct Prediction<'a> {
    observed: &'a Observed,
    scenario: Scenario,
    outcome: Outcome,
    /// Whether anything was changed.
    is_changed: bool,
    /// Whether any change has an effect.
    differs: bool,
    /// What was asked for and has no effect.
    notes: Vec<String>,
}

impl Observed {
    /// What would be with these changes; without any, what the model says of the run itself.
    pub fn ask(
        &self,
        changes: &[Change],
        parts: &mut dyn Shelf,
        model: Model,
    ) -> Result<Answer, WhatIfError> {
        Ok(self.predict(changes, parts)?.answer(model))
    }

    /// Replays the recorded requests on the changed cluster, and on the recorded one beside it if
    /// that was not done before.
    pub fn predict(
        &self,
        changes: &[Change],
        parts: &mut dyn Shelf,
    ) -> Result<Prediction<'_>, WhatIfError> {
        let cluster = self.changed(changes, parts)?;
        let idle = self.document.idle(changes);
        let (is_changed, differs) = (!changes.is_empty(), idle.len() < changes.len());
        let outcome = if !is_changed {
            let outcome = replayed(&cluster)?;
            self.unchanged.get_or_init(|| Some(outcome.clone()));
            outcome
        } else if self.unchanged.get().is_some() {
            replayed(&cluster)?
        } else {
            let before = self.changed(&[], parts)?;
            std::thread::scope(|scope| {
                scope.spawn(|| self.unchanged.get_or_init(|| replayed(&before).ok()));
                replayed(&cluster)
            })?
        };
        let notes = idle.iter().map(ToString::to_string).collect();
        let scenario = cluster.scenario;
        let mut prediction =
            Prediction { observed: self, scenario, outcome, is_changed, differs, notes };
        if differs && prediction.nothing_differs() {
            prediction.differs = false;
            prediction.notes.push(NO_DIFFERENCE.to_owned());
        }
        Ok(prediction)
    }
}

/// Said where a change could have an effect, but has none on what was recorded.
const NO_DIFFERENCE: &str = "the requests that were recorded are served as they were: to them, what \
                             was changed makes no difference";

fn replayed(cluster: &Changed) -> Result<Outcome, WhatIfError> {
    replay(&Material {
        scenario: &cluster.scenario,
        requests: &cluster.requests,
        stretch: &cluster.stretch,
        measured: &cluster.measured,
    })
}

impl Prediction<'_> {
    /// The changed cluster.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Whether any change has an effect; otherwise the answer is what was recorded.
    pub fn differs(&self) -> bool {
        self.differs
    }

    /// Whether the replay went as that of the recorded cluster did.
    fn nothing_differs(&self) -> bool {
        let Some(unchanged) = self.observed.unchanged.get().and_then(Option::as_ref) else {
            return false;
        };
        let before = &self.observed.scenario;
        let names = |scenario: &Scenario| {
            scenario.workloads.iter().map(|workload| workload.name.clone()).collect::<Vec<_>>()
        };
        names(before) == names(&self.scenario)
            && unchanged.goes_as(&before.hosts, &self.outcome, &self.scenario.hosts)
    }

    /// What a model says.
    pub fn answer(&self, model: Model) -> Answer {
        let (utilization, bottleneck) = self.utilization();
        let analysed = analyse(&self.scenario, &self.outcome);
        let workloads = self.scenario.workloads.iter().zip(&self.outcome.workloads).zip(analysed);
        let workloads = workloads.map(|((workload, found), seen)| {
            let limit = self.limit(found);
            let peak = limit.as_ref().map_or(found.throughput_rps, |limit| limit.peak_rps);
            let alone = alone_s(&self.scenario, found);
            let (throughput_rps, response_time_ms) = match model {
                Model::Replay => self.replayed(workload, found),
                Model::Bounds => {
                    let (throughput, response) = bounds(workload, alone, peak, found);
                    (throughput, ResponseTimeMs::of_mean(response))
                }
                Model::Mva => (seen.throughput_rps, ResponseTimeMs::of_mean(seen.response_s)),
            };
            let bytes = found.throughput_bytes_per_s / found.throughput_rps.max(1e-9);
            let before = self.before(workload);
            let answer = WorkloadAnswer {
                circumstances: before.map_or_else(
                    Circumstances::default,
                    |(modelled, recorded)| {
                        let said = found.response_ms.mean;
                        Circumstances::of(said, modelled.response_ms, recorded.response_ms)
                    },
                ),
                expected_error: BTreeMap::new(),
                throughput_rps,
                throughput_bytes_per_s: throughput_rps * bytes,
                peak_throughput_rps: peak,
                response_time_ms,
                outstanding: throughput_rps * response_time_ms.mean / 1e3,
                outstanding_to_saturate: (alone + found.think_s) * peak,
                read_share: self.read_share(workload, found),
                read_hit_rate: found.read_hit_rate,
                bottleneck: limit.map_or_else(String::new, |limit| limit.resource),
                demands_ms: self.demands_ms(workload, found),
                misfit: before.map(|(modelled, recorded)| Misfit {
                    throughput: modelled.throughput_rps / recorded.throughput_rps - 1.0,
                    mean_response_time: modelled.response_ms.mean / recorded.response_ms.mean - 1.0,
                }),
            };
            (workload.name.clone(), answer)
        });
        Answer {
            model,
            notes: self.notes.clone(),
            workloads: workloads.collect(),
            utilization,
            bottleneck,
        }
    }

    /// Of a workload that was recorded: what the model says that clients saw, and what they saw.
    fn before(&self, workload: &Workload) -> Option<(&WorkloadOutcome, &WorkloadSeen)> {
        let mut recorded = self.observed.scenario.workloads.iter();
        let place = recorded.position(|before| before.name == workload.name)?;
        let unchanged = self.observed.unchanged.get()?.as_ref()?;
        Some((&unchanged.workloads[place], &self.observed.seen[place]))
    }

    /// The same, where an answer is corrected by it: what is said of the run itself is not.
    fn known_to_be_off(&self, workload: &Workload) -> Option<(&WorkloadOutcome, &WorkloadSeen)> {
        self.before(workload).filter(|_| self.is_changed)
    }

    /// What the replay found, less what it is known to get wrong: throughput, requests a second, and
    /// response time.
    fn replayed(&self, workload: &Workload, found: &WorkloadOutcome) -> (f64, ResponseTimeMs) {
        let said = found.response_ms;
        let Some((modelled, recorded)) = self.known_to_be_off(workload) else {
            return (found.throughput_rps, said);
        };
        let (modelled, recorded) = (modelled.response_ms, recorded.response_ms);
        let correction = Correction { modelled, recorded };
        let response = correction.apply(said);
        let throughput = if let Arrivals::Closed { .. } = workload.arrivals {
            // as many are outstanding or thought about as before: Little's law
            let think = found.think_s * 1e3;
            found.throughput_rps * (said.mean + think) / (response.mean + think).max(1e-9)
        } else {
            found.throughput_rps
        };
        (throughput, response)
    }

    /// Utilization of every resource, and the busiest.
    fn utilization(&self) -> (BTreeMap<String, BTreeMap<String, f64>>, Option<Busiest>) {
        let mut utilization: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
        let (mut busiest, mut bottleneck) = (f64::NEG_INFINITY, None);
        for found in &self.outcome.resources {
            let host = self.scenario.hosts[found.host].name.clone();
            let resource = Resource::at(found.place).to_string();
            let share = found.utilization;
            utilization.entry(host.clone()).or_default().insert(resource.clone(), share);
            if busiest < found.occupancy {
                busiest = found.occupancy;
                bottleneck = Some(Busiest { host, resource, utilization: share });
            }
        }
        (utilization, bottleneck)
    }

    /// Part of the requests that read.
    fn read_share(&self, workload: &Workload, found: &WorkloadOutcome) -> f64 {
        let said = found.read_share();
        let Some((modelled, recorded)) = self.known_to_be_off(workload) else {
            return said;
        };
        let modelled = modelled.read_share();
        let reads = corrected(said, modelled, recorded.read_share);
        let writes = corrected(1.0 - said, 1.0 - modelled, 1.0 - recorded.read_share);
        reads / (reads + writes)
    }

    /// Time that a request takes of each resource, ms, in all hosts of a kind together.
    fn demands_ms(&self, workload: &Workload, found: &WorkloadOutcome) -> BTreeMap<String, f64> {
        let mut demands = demands_ms(&self.scenario, found);
        if let Some((modelled, recorded)) = self.known_to_be_off(workload) {
            let modelled = demands_ms(&self.observed.scenario, modelled);
            for (resource, said) in &mut demands {
                let known = modelled.get(resource).zip(recorded.demands_ms.get(resource));
                if let Some((modelled, recorded)) = known {
                    *said = corrected(*said, *modelled, *recorded);
                }
            }
        }
        demands
    }

    /// The resource that limits a workload, beside the load of the others.
    fn limit(&self, found: &WorkloadOutcome) -> Option<Limit> {
        let completed = (found.completed as f64).max(1.0);
        let mut limit: Option<Limit> = None;
        for known in &self.outcome.resources {
            let busy = found.usage[known.host][known.place].busy.as_secs_f64();
            let demand = busy / completed;
            if demand <= 0.0 {
                continue;
            }
            // what the others use is not to be had
            let servers = known.servers as f64;
            let own = busy / self.outcome.seconds / servers;
            let others = (known.occupancy - own).clamp(0.0, 0.99);
            let peak_rps = servers * (1.0 - others) / demand;
            if limit.as_ref().is_none_or(|limit| peak_rps < limit.peak_rps) {
                let host = &self.scenario.hosts[known.host].name;
                let resource = format!("{host}.{}", Resource::at(known.place));
                limit = Some(Limit { peak_rps, resource });
            }
        }
        limit
    }
}

/// As the replay finds it: see [`WorkloadAnswer::demands_ms`].
fn demands_ms(scenario: &Scenario, found: &WorkloadOutcome) -> BTreeMap<String, f64> {
    let mut demands: BTreeMap<String, f64> = BTreeMap::new();
    for (host, usage) in scenario.hosts.iter().zip(&found.usage) {
        let used = usage.iter().enumerate().filter(|(_, usage)| !usage.seen.is_zero());
        for (place, usage) in used {
            let demand = usage.seen.as_ms_f64() / (found.completed as f64).max(1.0);
            *demands.entry(resource_name(host, Resource::at(place))).or_default() += demand;
        }
    }
    demands
}

/// A resource and what it allows.
struct Limit {
    peak_rps: f64,
    /// `brick3.disk0`.
    resource: String,
}
