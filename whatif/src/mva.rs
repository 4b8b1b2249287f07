//! Model `mva`: approximate mean value analysis of a network of queues with several classes.
//!
//! An arriving request finds the average queue, less its own share of its class (Schweitzer, *Approximate
//! analysis of multiclass closed networks of queues*, 1979). At a first-come-first-served station with
//! unequal service times, it waits for the service of each waiting request, and for the residual service time
//! of the request in service (Reiser, *A queueing network analysis of computer communication networks with
//! window flow control*, 1979). A station with several servers is modelled as one faster server and a delay
//! (Seidmann). A weight scales the work of a request's parallel branches (fork and join): the slowest of n
//! exponential branches takes H(n) times as long as one, where H(n) is the n-th harmonic number. Background
//! work (write-back, read-ahead) slows the other requests. If a station cannot do all of it, its clients are
//! throttled as by a full buffer.
//!
//! Left out: correlation between queues, priorities, bursts of arrivals beyond Poisson.

/// A station: one queue in front of its servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    pub(crate) servers: f64,
}

/// The source of a class's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Population {
    /// This number of requests circulates, with think time between requests, s.
    Closed { outstanding: f64, think_s: f64 },
    /// Requests arrive at this rate, however many are outstanding.
    Open { rate_rps: f64 },
}

/// The demand of a request at a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Visits {
    pub(crate) station: usize,
    /// Visits that the request waits for.
    pub(crate) awaited: f64,
    /// Service time of each visit, s.
    pub(crate) service_s: f64,
    /// Squared coefficient of variation of the service time.
    pub(crate) variation: f64,
    /// Share of the time at this station that adds to the response time; 1 if nothing goes on in parallel.
    pub(crate) weight: f64,
    /// Background service that the request does not wait for, s.
    pub(crate) background_s: f64,
}

/// Requests with the same demands.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) population: Population,
    pub(crate) visits: Vec<Visits>,
    /// Delay without queueing, s.
    pub(crate) delay_s: f64,
}

/// Throughput and response time of a class.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) throughput_rps: f64,
    pub(crate) response_s: f64,
}

/// Maximum number of iterations; it usually converges after some hundreds.
const MAX_ITERATIONS: usize = 5000;
/// Relative change of throughput and response time below which it has converged.
const STEADY: f64 = 1e-9;
/// Utilization above which clients of a station are throttled.
const FULL: f64 = 0.995;
/// Weight of each new estimate, against the previous one.
const DAMPING: f64 = 0.3;

/// Solves the network.
pub(crate) fn solve(stations: &[Station], classes: &[Class]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = classes.iter().map(alone).collect();
    // residence of each class at each of its stations, s
    let mut residence: Vec<Vec<f64>> = classes
        .iter()
        .map(|class| class.visits.iter().map(|visits| visits.awaited * visits.service_s).collect())
        .collect();
    // by station: throttling delay for each second of service demand
    let mut held_up = vec![0.0_f64; stations.len()];
    for _ in 0..MAX_ITERATIONS {
        let loads = loads(stations, classes, &seen, &residence);
        for (held_up, load) in held_up.iter_mut().zip(&loads) {
            *held_up = if load.utilization > FULL {
                (*held_up).max(0.01) * (load.utilization / FULL).powi(2)
            } else {
                let less = *held_up * (load.utilization / FULL).powi(2);
                if less < 0.01 { 0.0 } else { less }
            };
        }
        let mut change = 0.0_f64;
        for (number, class) in classes.iter().enumerate() {
            let mut response = class.delay_s;
            for (place, visits) in class.visits.iter().enumerate() {
                let load = &loads[visits.station];
                let servers = stations[visits.station].servers;
                let all = unfinished_s(visits, seen[number], residence[number][place], servers);
                let wait = (load.unfinished_s - all * class.own_share()).max(0.0);
                let time = visits.awaited * (visits.service_s + wait) / (1.0 - load.background);
                residence[number][place] = time;
                let held = held_up[visits.station]
                    * (visits.awaited * visits.service_s + visits.background_s);
                response += visits.weight * time + held;
            }
            let throughput = match class.population {
                Population::Closed { outstanding, think_s } => outstanding / (think_s + response),
                Population::Open { rate_rps } => rate_rps,
            };
            let before = seen[number].throughput_rps;
            let next = before + DAMPING * (throughput - before);
            let moved = |from: f64, to: f64| (to - from).abs() / to.max(1e-12);
            change = change.max(moved(before, next)).max(moved(seen[number].response_s, response));
            seen[number] = Seen { throughput_rps: next, response_s: response };
        }
        if change < STEADY {
            break;
        }
    }
    seen
}

/// The result for a class without queueing.
fn alone(class: &Class) -> Seen {
    let service = |visits: &Visits| visits.weight * visits.awaited * visits.service_s;
    let response_s = class.delay_s + class.visits.iter().map(service).sum::<f64>();
    let throughput_rps = match class.population {
        Population::Closed { outstanding, think_s } => {
            outstanding / (think_s + response_s).max(1e-12)
        }
        Population::Open { rate_rps } => rate_rps,
    };
    Seen { throughput_rps, response_s }
}

/// The load at a station.
#[derive(Clone, Copy, Default, Debug)]
struct Load {
    /// Total residual service time of the requests there, s.
    unfinished_s: f64,
    /// Share of the time that goes to background work.
    background: f64,
    utilization: f64,
}

fn loads(
    stations: &[Station],
    classes: &[Class],
    seen: &[Seen],
    residence: &[Vec<f64>],
) -> Vec<Load> {
    let mut loads = vec![Load::default(); stations.len()];
    for ((class, seen), residence) in classes.iter().zip(seen).zip(residence) {
        for (visits, residence) in class.visits.iter().zip(residence) {
            let load = &mut loads[visits.station];
            let servers = stations[visits.station].servers;
            load.unfinished_s += unfinished_s(visits, *seen, *residence, servers);
            load.background += seen.throughput_rps * visits.background_s / servers;
            load.utilization += seen.throughput_rps
                * (visits.awaited * visits.service_s + visits.background_s)
                / servers;
        }
    }
    for load in &mut loads {
        load.background = load.background.min(0.95);
    }
    loads
}

/// Mean total residual service time of a class's requests at a station, s. N servers are modelled as one
/// server that is N times as fast, and a delay.
fn unfinished_s(visits: &Visits, seen: Seen, residence: f64, servers: f64) -> f64 {
    let service = visits.service_s / servers;
    let delay = visits.awaited * (visits.service_s - service);
    let there = seen.throughput_rps * (residence - delay).max(0.0);
    let served = (seen.throughput_rps * visits.awaited * service).min(1.0);
    let residual = f64::midpoint(1.0, visits.variation);
    ((there - served).max(0.0) + served * residual) * service
}

impl Class {
    /// A request's own share of its class's requests: it does not wait for itself.
    fn own_share(&self) -> f64 {
        match self.population {
            Population::Closed { outstanding, .. } => 1.0 / outstanding.max(1.0),
            Population::Open { .. } => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponential(station: usize, service_s: f64) -> Visits {
        Visits { station, awaited: 1.0, service_s, variation: 1.0, weight: 1.0, background_s: 0.0 }
    }

    fn closed(outstanding: f64, think_s: f64, visits: Vec<Visits>) -> Class {
        Class { population: Population::Closed { outstanding, think_s }, visits, delay_s: 0.0 }
    }

    /// Exact mean value analysis of one class.
    fn exact(services: &[f64], think: f64, outstanding: u32) -> Seen {
        let mut queues = vec![0.0; services.len()];
        let mut seen = Seen::default();
        for n in 1..=outstanding {
            let times: Vec<f64> =
                services.iter().zip(&queues).map(|(s, q)| s * (1.0 + q)).collect();
            let response: f64 = times.iter().sum();
            let throughput = f64::from(n) / (think + response);
            queues = times.iter().map(|time| throughput * time).collect();
            seen = Seen { throughput_rps: throughput, response_s: response };
        }
        seen
    }

    #[test]
    fn one_class_is_near_exact_analysis() {
        let services = [0.010, 0.004, 0.006];
        for outstanding in [1, 2, 4, 8, 32] {
            let visits = services.iter().enumerate().map(|(at, s)| exponential(at, *s)).collect();
            let class = closed(f64::from(outstanding), 0.02, visits);
            let found = solve(&[Station { servers: 1.0 }; 3], &[class])[0];
            let exact = exact(&services, 0.02, outstanding);
            let off = (found.throughput_rps / exact.throughput_rps - 1.0).abs();
            // Schweitzer's own error: a few percent in the middle of the curve
            assert!(off < 0.05, "{outstanding} outstanding: {found:?}, exactly {exact:?}");
        }
    }

    #[test]
    fn an_open_class_is_an_m_g_1_queue() {
        for variation in [0.0, 1.0, 3.0] {
            let visits = vec![Visits { variation, ..exponential(0, 0.01) }];
            let class =
                Class { population: Population::Open { rate_rps: 70.0 }, visits, delay_s: 0.0 };
            let found = solve(&[Station { servers: 1.0 }], &[class])[0];
            // Pollaczek and Khinchine
            let wait = 0.7 * 0.01 * (1.0 + variation) / 2.0 / (1.0 - 0.7);
            let off = (found.response_s / (0.01 + wait) - 1.0).abs();
            assert!(off < 0.001, "{found:?}, not {}", 0.01 + wait);
        }
    }

    #[test]
    fn two_classes_share_a_station() {
        // one class waits for the other, whose service is ten times as long
        let short = closed(1.0, 0.1, vec![exponential(0, 0.001)]);
        let long = closed(1.0, 0.1, vec![exponential(0, 0.010)]);
        let found = solve(&[Station { servers: 1.0 }], &[short, long]);
        assert!(found[0].response_s > 0.0015 && found[0].response_s < 0.0025, "{found:?}");
        assert!(found[1].response_s > 0.010 && found[1].response_s < 0.0102, "{found:?}");
    }

    #[test]
    fn what_nobody_waits_for_holds_clients_up_when_a_station_is_full() {
        // each request causes 10 ms of write-back
        let visits = vec![Visits { background_s: 0.010, awaited: 0.0, ..exponential(0, 0.0) }];
        let class = Class { delay_s: 0.001, ..closed(4.0, 0.0, visits) };
        let found = solve(&[Station { servers: 1.0 }], &[class])[0];
        assert!((found.throughput_rps / 100.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.response_s * found.throughput_rps / 4.0 - 1.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn several_servers_are_between_one_and_enough_for_all() {
        let class = |outstanding| closed(outstanding, 0.0, vec![exponential(0, 0.01)]);
        let found = solve(&[Station { servers: 4.0 }], &[class(1.0)])[0];
        assert!((found.throughput_rps - 100.0).abs() < 1.0, "{found:?}");
        let found = solve(&[Station { servers: 4.0 }], &[class(40.0)])[0];
        assert!((found.throughput_rps - 400.0).abs() < 12.0, "{found:?}");
    }
}
