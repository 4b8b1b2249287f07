//! How many requests an open loop issues if a question changes its arrivals.
//!
//! The clients that were recorded, at their recorded rates, issue the requests that they issued then. All other
//! arrivals are random, and only their mean is known. So is their spread: the variance of a number of arrivals is the
//! mean times the index of dispersion, which is 1 for a Poisson process, 0 for regular arrivals, and large for bursts.
//!
//! Left out: arrivals at the times of a trace, which are not random.

use foretell_scenarios::model::Arrivals;

/// Half-width of an interval that contains a normal variable in 90 % of all cases, in standard deviations.
const HALF_WIDTH: f64 = 1.645;

/// The clients of a workload that issue requests of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clients {
    /// Rate of all clients that were recorded and whose rate stays the same, requests a second.
    pub(crate) recorded_rps: f64,
    /// Number of all other clients.
    pub(crate) others: usize,
    /// Mean number of requests of an arrival.
    pub(crate) per_transaction: f64,
}

/// Arrivals of a workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Arriving {
    /// Expected rate, requests a second.
    pub(crate) rps: f64,
    /// Half-width of the 90 % interval of the rate, as a part of it.
    pub(crate) spread: f64,
}

impl Arriving {
    /// The arrivals of these clients in a time; `None` if the arrivals have no rate.
    pub(crate) fn of(arrivals: Arrivals, clients: Clients, seconds: f64) -> Option<Self> {
        let each = clients.per_transaction;
        let random_rps = arrivals.mean_rate_rps()? * clients.others as f64 * each;
        let rps = clients.recorded_rps + random_rps;
        let deviation = (random_rps * seconds * dispersion(arrivals) * each).sqrt();
        Some(Self { rps, spread: HALF_WIDTH * deviation / (rps * seconds).max(1.0) })
    }
}

/// Variance of the number of arrivals in a long time, divided by its mean.
fn dispersion(arrivals: Arrivals) -> f64 {
    match arrivals {
        Arrivals::Poisson { .. } => 1.0,
        // Fischer & Meier-Hellstern, *The Markov-modulated Poisson process cookbook*, 1993, section 3.2
        Arrivals::Bursty { quiet_rps, quiet, burst_rps, burst } => {
            let leaving = [quiet, burst].map(|span| 1.0 / span.as_secs_f64());
            let sum: f64 = leaving.iter().sum();
            let mean = arrivals.mean_rate_rps().unwrap_or(burst_rps);
            let both = leaving[0] * leaving[1];
            1.0 + 2.0 * both * (burst_rps - quiet_rps).powi(2) / (sum.powi(3) * mean)
        }
        Arrivals::Deterministic { .. }
        | Arrivals::Closed { .. }
        | Arrivals::Times { .. }
        | Arrivals::Trace { .. } => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::{Seed, SimSpan};

    use super::*;

    #[test]
    fn recorded_clients_are_known_and_others_are_random() {
        let poisson = Arrivals::Poisson { rate_rps: 50.0 };
        let known = Arriving::of(
            poisson,
            Clients { recorded_rps: 177.0, others: 1, per_transaction: 1.0 },
            100.0,
        )
        .unwrap();
        assert!((known.rps - 227.0).abs() < 1e-9);
        // 5,000 of 22,700 arrivals are random
        assert!((known.spread - 1.645 * 5000.0_f64.sqrt() / 22_700.0).abs() < 1e-9);
        let regular = Arrivals::Deterministic { rate_rps: 50.0 };
        let known = Arriving::of(
            regular,
            Clients { recorded_rps: 0.0, others: 3, per_transaction: 1.0 },
            100.0,
        )
        .unwrap();
        assert_eq!(known, Arriving { rps: 150.0, spread: 0.0 });
        let closed = Arrivals::Times { speed_up: 1.0 };
        assert_eq!(
            Arriving::of(
                closed,
                Clients { recorded_rps: 0.0, others: 3, per_transaction: 1.0 },
                100.0
            ),
            None
        );
    }

    #[test]
    fn bursts_spread_as_drawn_ones_do() {
        let (quiet, burst) = (SimSpan::from_secs(3), SimSpan::from_secs(1));
        let bursty = Arrivals::Bursty { quiet_rps: 10.0, quiet, burst_rps: 100.0, burst };
        let mut stream = Seed(3).stream("bursts");
        // arrivals in 400 s, drawn 2,000 times
        let counts: Vec<f64> = (0..2000)
            .map(|_| {
                let (mut left, mut arrivals, mut is_burst) = (400.0, 0.0, false);
                while left > 0.0 {
                    let (rate, mean) = if is_burst { (100.0, burst) } else { (10.0, quiet) };
                    let span = stream.exponential(mean).as_secs_f64().min(left);
                    arrivals += rate * span;
                    left -= span;
                    is_burst = !is_burst;
                }
                arrivals
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        // the rates alone: without the 1 of the Poisson arrivals
        let expected = dispersion(bursty) - 1.0;
        assert!((variance / mean / expected - 1.0).abs() < 0.1, "{} {expected}", variance / mean);
    }
}
