//! Figures of workloads from the replay, with bias correction, and the arrivals of open loops.

use foldhash::fast::FixedState;
use foretell_ati::Resource;
use foretell_scenarios::model::{Arrivals, Scenario, Think, Workload};
use foretell_sorted::SortedMap;
use hashbrown::HashSet;

use super::{Part, Prediction};
use crate::answer::ResponseTimeMs;
use crate::arriving::{Arriving, Clients};
use crate::correction::{Correction, corrected};
use crate::observed::{WorkloadSeen, resource_name};
use crate::question::stretched;
use crate::replay::WorkloadOutcome;

/// Means of exponential times that are drawn twice hardly differ by more than this multiple of their deviation: the root
/// of two, times three deviations.
const MAX_CHANCE_DEVIATIONS: f64 = 4.25;

/// Figures of a workload from the replay, for the whole run or for a phase.
#[derive(Clone, Copy)]
pub(super) struct PhaseSeen {
    pub(super) throughput_rps: f64,
    pub(super) response_ms: ResponseTimeMs,
    pub(super) think_s: f64,
    /// Whether as many requests complete as arrive.
    pub(super) keeps_up: bool,
}

impl Prediction<'_> {
    /// The modelled and the recorded figures of a recorded workload.
    pub(super) fn before(&self, workload: &Workload) -> Option<(&WorkloadOutcome, &WorkloadSeen)> {
        let mut recorded = self.observed.scenario.workloads.iter();
        let place = recorded.position(|before| before.name == workload.name)?;
        let unchanged = if self.is_fast() {
            self.observed.unchanged_short.get()?.as_ref()?
        } else {
            self.observed.unchanged.get()?.as_ref()?
        };
        Some((&unchanged.workloads[place], &self.observed.seen[place]))
    }

    /// The same figures if the answer gets a bias correction. The answer about the recorded run itself gets
    /// none.
    fn known_to_be_off(&self, workload: &Workload) -> Option<(&WorkloadOutcome, &WorkloadSeen)> {
        self.before(workload).filter(|_| self.is_changed)
    }

    /// The replay's figures after bias correction: throughput, requests a second, and response time.
    pub(super) fn replayed(
        &self,
        workload: &Workload,
        found: &WorkloadOutcome,
    ) -> (f64, ResponseTimeMs) {
        let WorkloadOutcome { throughput_rps, response_ms, think_s, .. } = *found;
        let keeps_up = found.overload().is_none();
        let seen = PhaseSeen { throughput_rps, response_ms, think_s, keeps_up };
        let (throughput, response) = self.corrected(workload, seen);
        let changed = self.changed_arrivals(workload).filter(|_| keeps_up && self.is_changed);
        (changed.map_or(throughput, |arriving| arriving.rps), response)
    }

    /// Arrivals of an open workload if the question changes them. If it changes the rate, the number of requests that
    /// happened to arrive in the recorded time is of no use.
    pub(super) fn changed_arrivals(&self, workload: &Workload) -> Option<Arriving> {
        if workload.requests.is_some() || self.scenario.outages.is_some() {
            return None;
        }
        let rate_rps = workload.arrivals.mean_rate_rps()?;
        let mut before = self.observed.scenario.workloads.iter();
        let before = before.find(|before| before.name == workload.name);
        let is_same = |a: f64, b: f64| (a / b - 1.0).abs() <= 1e-9;
        let per_transaction = self.per_transaction_of(workload);
        let others = workload.clients.len();
        let mut clients = Clients { recorded_rps: 0.0, others, per_transaction };
        if let Some((before, was_rps)) =
            before.and_then(|before| Some((before, before.arrivals.mean_rate_rps()?)))
        {
            let (old, new) = (before.clients.len() as f64, workload.clients.len() as f64);
            let is_kept = stretched(before.arrivals, workload.arrivals) > 0.0;
            if is_kept && is_same(was_rps * old, rate_rps * new) {
                return None;
            }
            let seen = self.before(workload).filter(|(modelled, _)| modelled.overload().is_none());
            if let Some((_, recorded)) = seen.filter(|_| is_kept && is_same(was_rps, rate_rps)) {
                let kept = self.recorded_clients(before, workload);
                clients = Clients {
                    recorded_rps: recorded.throughput_rps * kept as f64 / old,
                    others: workload.clients.len() - kept,
                    ..clients
                };
            }
        }
        Arriving::of(workload.arrivals, clients, self.seconds())
    }

    /// Mean number of requests of a transaction of a workload.
    fn per_transaction_of(&self, workload: &Workload) -> f64 {
        let mut all = self.scenario.workloads.iter().zip(&self.per_transaction);
        all.find(|(known, _)| known.name == workload.name).map_or(1.0, |(_, found)| *found)
    }

    /// Number of clients of a workload that ran it in the recorded run, too.
    fn recorded_clients(&self, before: &Workload, workload: &Workload) -> usize {
        fn names<'a>(
            scenario: &'a Scenario,
            workload: &'a Workload,
        ) -> impl Iterator<Item = &'a str> {
            workload.clients.iter().map(|host| scenario.host(*host).name.as_str())
        }
        let recorded: HashSet<&str, FixedState> = names(&self.observed.scenario, before).collect();
        names(&self.scenario, workload).filter(|name| recorded.contains(name)).count()
    }

    /// A workload's throughput, requests a second, and response time after bias correction.
    pub(super) fn corrected(&self, workload: &Workload, found: PhaseSeen) -> (f64, ResponseTimeMs) {
        let predicted = found.response_ms;
        let Some((modelled, recorded)) = self.known_to_be_off(workload) else {
            return (found.throughput_rps, predicted);
        };
        let correction =
            Correction { modelled: modelled.response_ms, recorded: recorded.response_ms };
        let response = correction.apply(predicted);
        let throughput = if let Arrivals::Closed { .. } = workload.arrivals {
            // the number of requests outstanding or in think time stays the same: Little's law
            let think = found.think_s * 1e3;
            let recorded_think = think * self.drawn_thinks(workload, modelled, recorded);
            let period = response.mean + recorded_think;
            found.throughput_rps * (predicted.mean + think) / period.max(1e-9)
        } else if self.part == Part::Short && found.keeps_up {
            // the stretches may have more or fewer arrivals than the mean
            let known = self.arrivals_rps(workload, recorded.throughput_rps);
            known.unwrap_or(found.throughput_rps)
        } else {
            found.throughput_rps
        };
        (throughput, response)
    }

    /// The mean of the think times that were drawn in the recorded run, as a multiple of that of the model's draws. By
    /// Little's law, it is the part of each client's time that is not response time.
    fn drawn_thinks(
        &self,
        workload: &Workload,
        modelled: &WorkloadOutcome,
        recorded: &WorkloadSeen,
    ) -> f64 {
        let mut before = self.observed.scenario.workloads.iter();
        let Some(before) = before.find(|before| before.name == workload.name) else { return 1.0 };
        let Arrivals::Closed { outstanding, think: Think::Exponential(_) } = before.arrivals else {
            return 1.0;
        };
        let population = f64::from(outstanding) * before.clients.len() as f64;
        let think_ms = |throughput_rps: f64, response_ms: ResponseTimeMs| {
            population / throughput_rps * 1e3 - response_ms.mean
        };
        let drawn = think_ms(recorded.throughput_rps, recorded.response_ms)
            / think_ms(modelled.throughput_rps, modelled.response_ms);
        let chance = MAX_CHANCE_DEVIATIONS / (modelled.completed as f64).max(1.0).sqrt();
        if (drawn - 1.0).abs() <= chance { drawn } else { 1.0 }
    }

    /// Arrival rate of an open workload, requests a second, if its recorded rate and its settings determine it.
    fn arrivals_rps(&self, workload: &Workload, recorded_rps: f64) -> Option<f64> {
        let mut recorded = self.observed.scenario.workloads.iter();
        let before = recorded.find(|before| before.name == workload.name)?;
        if let Some(arriving) = self.changed_arrivals(workload) {
            return Some(arriving.rps);
        }
        let clients = |workload: &Workload| workload.clients.len() as f64;
        let rates = (before.arrivals.mean_rate_rps(), workload.arrivals.mean_rate_rps());
        let times_as_many = match rates {
            (Some(before), Some(after)) => after / before,
            _ => Some(stretched(before.arrivals, workload.arrivals))
                .filter(|later| *later > 0.0)?
                .recip(),
        };
        Some(recorded_rps * times_as_many * clients(workload) / clients(before).max(1.0))
    }

    /// Share of the requests that are reads.
    pub(super) fn read_share(&self, workload: &Workload, found: &WorkloadOutcome) -> f64 {
        let predicted = found.read_share();
        let Some((modelled, recorded)) = self.known_to_be_off(workload) else {
            return predicted;
        };
        let modelled = modelled.read_share();
        let reads = corrected(predicted, modelled, recorded.read_share);
        let writes = corrected(1.0 - predicted, 1.0 - modelled, 1.0 - recorded.read_share);
        reads / (reads + writes)
    }

    /// Time that a request takes at each resource, ms, summed over all hosts of a kind.
    pub(super) fn demands_ms(
        &self,
        workload: &Workload,
        found: &WorkloadOutcome,
    ) -> SortedMap<String, f64> {
        let mut demands = demands_ms(&self.scenario, found);
        if let Some((modelled, recorded)) = self.known_to_be_off(workload) {
            let modelled = demands_ms(&self.observed.scenario, modelled);
            for (resource, demand) in &mut demands {
                let known = modelled.get(resource).zip(recorded.demands_ms.get(resource));
                if let Some((modelled, recorded)) = known {
                    *demand = corrected(*demand, *modelled, *recorded);
                }
            }
        }
        demands
    }
}

/// Demands according to the replay, without bias correction: see [`WorkloadAnswer::demands_ms`].
fn demands_ms(scenario: &Scenario, found: &WorkloadOutcome) -> SortedMap<String, f64> {
    let mut demands: SortedMap<String, f64> = SortedMap::new();
    for (host, usage) in scenario.hosts.iter().zip(&found.usage) {
        let used = usage.iter().enumerate().filter(|(_, usage)| !usage.seen.is_zero());
        for (place, usage) in used {
            let demand = usage.seen.as_ms_f64() / (found.completed as f64).max(1.0);
            *demands.entry(resource_name(host, Resource::at(place))).or_default() += demand;
        }
    }
    demands
}
