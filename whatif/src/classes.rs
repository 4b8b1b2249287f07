//! The changed cluster as a network of queues, which [`crate::mva`] solves.
//!
//! Each client of a workload is a class. Its stations are the processor and link of its own machine, and the
//! processors, links and disks of all hosts that serve it: nodes and proxies. Demands, numbers of visits and
//! their variation come from the replay. Exchanges with several nodes take place in parallel.

use foretell_ati::Resource;
use foretell_scenarios::model::{Arrivals, Scenario, Workload};
use foretell_systems::machine_of;
use foretell_units::HostId;

use crate::mva::{Class, Population, Seen, Station, Visits, solve};
use crate::replay::{Outcome, Usage, WorkloadOutcome};

/// Throughput, requests a second, and mean response time, s, by workload.
pub(crate) fn analyse(scenario: &Scenario, outcome: &Outcome) -> Vec<Seen> {
    let stations: Vec<Station> =
        outcome.resources.iter().map(|found| Station { servers: found.servers as f64 }).collect();
    let mut classes = Vec::new();
    for (workload, found) in scenario.workloads.iter().zip(&outcome.workloads) {
        for client in &workload.clients {
            classes.push(class(scenario, outcome, workload, found, client.index()));
        }
    }
    let mut seen = solve(&stations, &classes).into_iter();
    let together = |workload: &Workload| {
        let clients: Vec<Seen> = seen.by_ref().take(workload.clients.len()).collect();
        let throughput: f64 = clients.iter().map(|client| client.throughput_rps).sum();
        let waited: f64 =
            clients.iter().map(|client| client.throughput_rps * client.response_s).sum();
        Seen { throughput_rps: throughput, response_s: waited / throughput.max(1e-12) }
    };
    scenario.workloads.iter().map(together).collect()
}

/// Requests of a workload from one client.
fn class(
    scenario: &Scenario,
    outcome: &Outcome,
    workload: &Workload,
    found: &WorkloadOutcome,
    client: usize,
) -> Class {
    let machine = machine_of(scenario, HostId::from(client));
    let machines: Vec<HostId> =
        workload.clients.iter().map(|client| machine_of(scenario, *client)).collect();
    let here = machines.iter().filter(|of| **of == machine).count() as f64;
    let clients = workload.clients.len() as f64;
    let completed = (found.completed as f64).max(1.0);
    let population = match workload.arrivals {
        Arrivals::Closed { outstanding, .. } => {
            Population::Closed { outstanding: f64::from(outstanding), think_s: found.think_s }
        }
        _ => Population::Open { rate_rps: found.throughput_rps / clients },
    };
    let branches = Branches::of(found);
    let mut visits = Vec::new();
    for (station, resource) in outcome.resources.iter().enumerate() {
        let usage = &found.usage[resource.host][resource.place];
        if usage.visits == 0 {
            continue;
        }
        let host = HostId::from(resource.host);
        let serves = scenario.host(host).role.storage().is_some() || !machines.contains(&host);
        if !serves && host != machine {
            continue;
        }
        let requests = if serves { completed } else { completed * here / clients };
        let one = if let Resource::Disk(_) = Resource::at(resource.place) {
            disk(usage, requests, branches.reading)
        } else {
            let weight = if serves { 1.0 / branches.all } else { 1.0 };
            server(usage, requests, weight)
        };
        visits.push(Visits { station, ..one });
    }
    // the part of a disk's latency in which it can serve other requests
    let slack = |usage: &Usage| {
        let disks = &usage.reading.as_secs_f64();
        let service = usage.busy.as_secs_f64() / usage.visits.max(1) as f64 * usage.reads as f64;
        (disks - service).max(0.0)
    };
    let slack: f64 = found.usage.iter().flatten().map(slack).sum();
    let delay_s = (found.path.latency.as_secs_f64() + slack * branches.reading) / completed;
    Class { population, visits, delay_s }
}

/// How many exchanges of a request take place in parallel.
struct Branches {
    /// On average.
    all: f64,
    /// Share of a disk's read time that adds to a request's response time: less than 1 if disks read in
    /// parallel.
    reading: f64,
}

impl Branches {
    fn of(found: &WorkloadOutcome) -> Self {
        let completed = (found.completed as f64).max(1.0);
        let all = (found.path.legs.iter().sum::<u64>() as f64 / completed).max(1.0);
        let requests = found.requests[0] as f64;
        let reads: f64 = found.usage.iter().flatten().map(|usage| usage.reads as f64).sum();
        if requests == 0.0 || reads == 0.0 {
            return Self { all, reading: 1.0 / all };
        }
        // each exchange of a request reads from a disk with this probability; the request waits for the
        // slowest
        let exchanges = (found.path.legs[0] as f64 / requests).max(1.0).round() as u32;
        let each = reads / requests / f64::from(exchanges);
        let chance = each.min(1.0);
        let mut slowest = 0.0;
        for some in 1..=exchanges {
            let harmonic: f64 = (1..=some).map(|k| 1.0 / f64::from(k)).sum();
            slowest += binomial(exchanges, some, chance) * harmonic;
        }
        Self { all, reading: slowest * each.max(1.0) * requests / reads }
    }
}

/// The probability of `some` successes in `all` trials that each succeed with probability `chance`.
fn binomial(all: u32, some: u32, chance: f64) -> f64 {
    let ways = (1..=some).map(|k| f64::from(all - some + k) / f64::from(k)).product::<f64>();
    ways * chance.powi(some.cast_signed()) * (1.0 - chance).powi((all - some).cast_signed())
}

/// Visits to a processor or a link. Requests wait for all of them.
fn server(usage: &Usage, requests: f64, weight: f64) -> Visits {
    let (service_s, variation) = moments(usage);
    let awaited = usage.visits as f64 / requests;
    Visits { station: 0, awaited, service_s, variation, weight, background_s: 0.0 }
}

/// Visits to a disk. Requests wait for reads; writes are background work (write-back).
fn disk(usage: &Usage, requests: f64, weight: f64) -> Visits {
    let (service_s, variation) = moments(usage);
    let awaited = usage.reads as f64 / requests;
    let background_s = (usage.busy.as_secs_f64() / requests - awaited * service_s).max(0.0);
    Visits { station: 0, awaited, service_s, variation, weight, background_s }
}

/// Mean service time, s, and its squared coefficient of variation.
fn moments(usage: &Usage) -> (f64, f64) {
    let visits = usage.visits.max(1) as f64;
    let mean = usage.busy.as_secs_f64() / visits;
    let variance = (usage.squares_s2 / visits - mean * mean).max(0.0);
    (mean, if mean > 0.0 { variance / (mean * mean) } else { 0.0 })
}
