//! Model `fast`: the outcome of a changed cluster, estimated from the replay of the recorded one.
//!
//! A change of rates, outstanding requests, think times, clients, cables or cores leaves what a request
//! demands of each resource known: the replay of the recorded run, which is made once, has it by workload,
//! host and resource. Mean value analysis ([`crate::mva`]) is asked twice, of the recorded and of the changed
//! cluster; by as much as it moves, the replay's response times move (a ratio of two answers of a coarse
//! model is better than either: control variates, Lavenberg & Welch, *A Perspective on the Use of Control
//! Variables*, 1981). Throughput follows by Little's law, below what the bottleneck allows.
//!
//! Left out: that a disk whose queue is longer seeks less, that more clients share a cache, and that
//! percentiles move otherwise than means. Changes of anything else are not followed.

use foretell_ati::Resource;
use foretell_scenarios::model::{Arrivals, Scenario, Workload, WorkloadKind};
use foretell_units::SimSpan;

use crate::answer::{Overload, ResponseTimeMs};
use crate::classes::analyse;
use crate::error::WhatIfError;
use crate::replay::{Outcome, ResourceOutcome, Usage, WorkloadOutcome};

/// Utilization of a bottleneck that a closed loop may reach.
const FULL: f64 = 0.995;

/// Whether each request's demands are known after these changes; errors with what is not.
pub(crate) fn follows(before: &Scenario, after: &Scenario) -> Result<(), String> {
    if after.outages.is_some() {
        return Err("what failures do to clients takes a replay".to_owned());
    }
    let mut same = after.clone();
    for workload in &mut same.workloads {
        let old = before.workloads.iter().find(|old| old.name == workload.name);
        let Some(old) = old.filter(|_| workload.kind == WorkloadKind::Recorded) else {
            return Err(format!("what workload `{}` demands was not recorded", workload.name));
        };
        let mean = |arrivals: Arrivals| arrivals.mean_rate_rps();
        let is_open = |arrivals: Arrivals| !matches!(arrivals, Arrivals::Closed { .. });
        if is_open(old.arrivals) != is_open(workload.arrivals)
            || is_open(old.arrivals)
                && old.arrivals != workload.arrivals
                && mean(old.arrivals).is_none()
        {
            return Err(format!("workload `{}` would be issued in another way", workload.name));
        }
        if workload.clients.iter().any(|client| before.hosts.len() <= client.index()) {
            return Err(format!("workload `{}` would run on other hosts", workload.name));
        }
        (workload.arrivals, workload.clients) = (old.arrivals, old.clients.clone());
    }
    let mut known = before.clone();
    known.workloads.retain(|old| same.workloads.iter().any(|new| new.name == old.name));
    if same.hosts.len() != known.hosts.len() {
        return Err("there would be other hosts".to_owned());
    }
    for (new, old) in same.hosts.iter_mut().zip(&known.hosts) {
        new.nic.rate = old.nic.rate;
        new.cpu.cores = old.cpu.cores;
    }
    if same == known {
        Ok(())
    } else {
        Err("it changes what requests demand of nodes, not only how many there are or how fast \
             processors and cables are"
            .to_owned())
    }
}

/// What would be; `follows` must hold.
pub(crate) fn estimate(
    before: &Scenario,
    base: &Outcome,
    after: &Scenario,
) -> Result<Outcome, WhatIfError> {
    let seen_before = analyse(before, base);
    let mut outcome = demanded(before, base, after);
    let seen_after = analyse(after, &outcome);
    let counts: Vec<f64> =
        outcome.workloads.iter().map(|found| (found.completed as f64).max(1.0)).collect();
    for (place, workload) in after.workloads.iter().enumerate() {
        let old = position(before, workload);
        let said = base.workloads[old].response_ms;
        let ratio = seen_after[place].response_s / seen_before[old].response_s.max(1e-12);
        let mut mean_s = said.mean / 1e3 * ratio;
        let rate = match workload.arrivals {
            Arrivals::Closed { outstanding, .. } => {
                let all = f64::from(outstanding) * workload.clients.len() as f64;
                // Little's law, with what the replay of the recorded run leaves over of it
                let law = |outcome: &WorkloadOutcome, of: &Workload, s: f64| match of.arrivals {
                    Arrivals::Closed { outstanding, .. } => {
                        let all = f64::from(outstanding) * of.clients.len() as f64;
                        outcome.throughput_rps * (outcome.think_s + s) / all
                    }
                    _ => 1.0,
                };
                let known = &base.workloads[old];
                let over = law(known, &before.workloads[old], known.response_ms.mean / 1e3);
                let rates: Vec<f64> = seen_after.iter().map(|seen| seen.throughput_rps).collect();
                let most = peak(&outcome, &counts, &rates, place);
                let found = &outcome.workloads[place];
                let rate = over * all / (found.think_s + mean_s).max(1e-12);
                if rate > most {
                    mean_s = (over * all / most - found.think_s).max(mean_s);
                }
                rate.min(most)
            }
            _ => outcome.workloads[place].throughput_rps,
        };
        let found = &mut outcome.workloads[place];
        let moved = mean_s * 1e3 / said.mean.max(1e-12);
        let longer = |ms: Option<f64>| ms.map(|ms| ms * moved);
        found.response_ms = ResponseTimeMs {
            mean: mean_s * 1e3,
            p50: longer(said.p50),
            p95: longer(said.p95),
            p99: longer(said.p99),
        };
        scale(found, rate / base.workloads[old].throughput_rps.max(1e-12), rate);
    }
    for known in &mut outcome.resources {
        let busy = |outcome: &[WorkloadOutcome]| -> f64 {
            let all = outcome.iter().map(|found| &found.usage[known.host][known.place]);
            all.map(|usage| usage.busy.as_secs_f64()).sum()
        };
        let (was, is) = (busy(&base.workloads), busy(&outcome.workloads));
        let old =
            base.resources.iter().find(|old| (old.host, old.place) == (known.host, known.place));
        let cores = old.map_or(1.0, |old| old.servers as f64 / known.servers as f64);
        let more = if was > 0.0 { is / was * cores } else { 1.0 };
        // a device that was found to have more work than time says nothing of what it cannot do
        let keeps_up = known.occupancy <= 1.0;
        known.occupancy *= more;
        known.utilization = (known.utilization * more).min(1.0);
        if keeps_up
            && known.occupancy > 1.0 + 1e-9
            && let Some(workload) = overloading(after, &outcome.workloads, known)
        {
            let resource =
                format!("{}.{}", after.hosts[known.host].name, Resource::at(known.place));
            let overload = Overload { resource, factor: known.occupancy };
            return Err(WhatIfError::Overload { workload, overload });
        }
        known.occupancy = known.occupancy.min(1.0);
    }
    Ok(outcome)
}

fn position(before: &Scenario, workload: &Workload) -> usize {
    let mut old = before.workloads.iter();
    old.position(|old| old.name == workload.name).expect("every workload was recorded")
}

/// The open workload that takes most of a resource.
fn overloading(
    after: &Scenario,
    outcome: &[WorkloadOutcome],
    of: &ResourceOutcome,
) -> Option<String> {
    let open = after.workloads.iter().zip(outcome);
    let open = open.filter(|(workload, _)| !matches!(workload.arrivals, Arrivals::Closed { .. }));
    let busy = |found: &WorkloadOutcome| found.usage[of.host][of.place].busy;
    let most = open.max_by_key(|(_, found)| busy(found))?;
    (!busy(most.1).is_zero()).then(|| most.0.name.clone())
}

/// The recorded outcome with the demands of the changed cluster: the same requests as often as before.
fn demanded(before: &Scenario, base: &Outcome, after: &Scenario) -> Outcome {
    let faster = |host: usize, place: usize| match Resource::at(place) {
        Resource::Transmit | Resource::Receive => {
            let rate = |scenario: &Scenario| scenario.hosts[host].nic.rate.as_bytes_per_s_f64();
            rate(before) / rate(after)
        }
        _ => 1.0,
    };
    let mut workloads = Vec::new();
    for workload in &after.workloads {
        let old = position(before, workload);
        let mut found = base.workloads[old].clone();
        for (host, usage) in found.usage.iter_mut().enumerate() {
            for (place, usage) in usage.iter_mut().enumerate() {
                let longer = faster(host, place);
                usage.busy = times(usage.busy, longer);
                usage.seen = times(usage.seen, longer);
                usage.squares_s2 *= longer * longer;
            }
        }
        moved(&mut found, &before.workloads[old], workload);
        if !matches!(workload.arrivals, Arrivals::Closed { .. }) {
            let then = &before.workloads[old];
            let rates = workload.arrivals.mean_rate_rps().zip(then.arrivals.mean_rate_rps());
            let faster = rates.map_or(1.0, |(now, then)| now / then);
            let clients = workload.clients.len() as f64 / then.clients.len() as f64;
            found.throughput_rps *= faster * clients;
        }
        if let Arrivals::Closed { think, .. } = workload.arrivals
            && let Arrivals::Closed { think: was, .. } = before.workloads[old].arrivals
            && think != was
        {
            found.think_s = think.mean().as_secs_f64();
        }
        workloads.push(found);
    }
    let mut resources = base.resources.clone();
    for known in &mut resources {
        if known.place == 0 {
            known.servers = after.hosts[known.host].cpu.cores as usize;
        }
    }
    Outcome { workloads, resources, seconds: base.seconds, outages: None }
}

/// What clients did is done by others.
fn moved(found: &mut WorkloadOutcome, before: &Workload, after: &Workload) {
    if before.clients == after.clients {
        return;
    }
    let mut all: Vec<Usage> = Vec::new();
    for client in &before.clients {
        for (place, usage) in found.usage[client.index()].iter_mut().enumerate() {
            if place == all.len() {
                all.push(Usage::default());
            }
            all[place].take(usage, 1.0);
            *usage = Usage::default();
        }
    }
    let each = 1.0 / after.clients.len() as f64;
    for client in &after.clients {
        for (usage, all) in found.usage[client.index()].iter_mut().zip(&all) {
            usage.take(all, each);
        }
    }
}

/// Requests a second that the bottleneck of a workload allows beside the others at these rates; `counts`:
/// the requests that demands are of.
fn peak(outcome: &Outcome, counts: &[f64], rates: &[f64], place: usize) -> f64 {
    let demand = |of: usize, known: &ResourceOutcome| {
        let usage = &outcome.workloads[of].usage[known.host][known.place];
        // of those that were scaled already, as many requests as there are now
        let count = (outcome.workloads[of].completed as f64).max(1.0);
        usage.busy.as_secs_f64() / if of < place { count } else { counts[of] }
    };
    let mut most = f64::INFINITY;
    for known in &outcome.resources {
        let own = demand(place, known);
        if own > 0.0 {
            let others = (0..rates.len()).filter(|other| *other != place);
            let others: f64 = others.map(|other| rates[other] * demand(other, known)).sum();
            let servers = known.servers as f64;
            most = most.min(FULL * (servers - others).max(0.1 * servers) / own);
        }
    }
    most
}

/// Scales what was done to `more` times as many of the same requests, at `rate_rps`.
fn scale(found: &mut WorkloadOutcome, more: f64, rate_rps: f64) {
    found.throughput_rps = rate_rps;
    found.throughput_bytes_per_s *= more;
    found.completed = (found.completed as f64 * more).round() as u64;
    found.issued = (found.issued as f64 * more).round() as u64;
    found.requests = found.requests.map(|count| (count as f64 * more).round() as u64);
    found.path.legs = found.path.legs.map(|count| (count as f64 * more).round() as u64);
    found.path.latency = times(found.path.latency, more);
    for usage in found.usage.iter_mut().flatten() {
        let all = *usage;
        *usage = Usage::default();
        usage.take(&all, more);
    }
}

fn times(span: SimSpan, factor: f64) -> SimSpan {
    SimSpan::from_ns((span.as_ns() as f64 * factor).round() as u64)
}

impl Usage {
    /// Adds such a part of another.
    fn take(&mut self, other: &Self, part: f64) {
        let count = |count: u64| (count as f64 * part).round() as u64;
        self.seen += times(other.seen, part);
        self.busy += times(other.busy, part);
        self.reading += times(other.reading, part);
        self.visits += count(other.visits);
        self.reads += count(other.reads);
        self.squares_s2 += other.squares_s2 * part;
    }
}
