//! The ledger of one queueing centre: what the operational laws are checked against.
//!
//! Two accounts are kept of the same queue. One watches: at every arrival and departure it adds
//! (jobs present) × (time since the last change). The other counts: each job brings the time that
//! it spent here and the service that it was given. Little's law says that both are equal over a
//! whole run, and since time is an integer they must be equal to the nanosecond
//! (Denning & Buzen 1978; Little 1961). The same goes for flow balance (arrivals = departures +
//! present) and for the utilization law (busy time = service given).

use foretell_units::{SimSpan, SimTime};
use thiserror::Error;

/// Accounts of one queueing centre.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    since: SimTime,
    present: u64,
    serving: u64,
    /// ∫ jobs present dt, in job-nanoseconds.
    present_area: u128,
    /// ∫ servers busy dt, in server-nanoseconds.
    busy_area: u128,
    arrivals: u64,
    departures: u64,
    /// Σ arrival times of the jobs present, so that their age can be settled at any time.
    arrived_ns: i128,
    /// Σ residence of the jobs gone.
    residence_ns: u128,
    /// Σ service of the services ended.
    service_ns: u128,
    /// Σ start times of the services under way.
    started_ns: i128,
    mark: Mark,
}

/// The accounts at the moment when measuring began.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: SimTime,
    present_area: u128,
    busy_area: u128,
    departures: u64,
}

/// What one queueing centre did while it was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Usage {
    /// Busy servers on average, divided by the servers there are.
    pub utilization: f64,
    /// Jobs present on average, waiting or in service.
    pub queue_length_mean: f64,
    /// Busy time, summed over servers.
    pub busy: SimSpan,
    /// Jobs that left.
    pub operations: u64,
}

impl Ledger {
    fn advance(&mut self, now: SimTime) {
        let span = u128::from((now - self.since).as_ns());
        self.present_area += span * u128::from(self.present);
        self.busy_area += span * u128::from(self.serving);
        self.since = now;
    }

    /// A job joins the queue.
    pub fn arrive(&mut self, now: SimTime) {
        self.advance(now);
        self.present += 1;
        self.arrivals += 1;
        self.arrived_ns += i128::from(now.as_ns());
    }

    /// A server takes a job up.
    pub fn start(&mut self, now: SimTime) {
        self.advance(now);
        self.serving += 1;
        self.started_ns += i128::from(now.as_ns());
    }

    /// A server lays a job down that it took up at `started`.
    pub fn stop(&mut self, now: SimTime, started: SimTime) {
        self.advance(now);
        self.serving -= 1;
        self.started_ns -= i128::from(started.as_ns());
        self.service_ns += u128::from((now - started).as_ns());
    }

    /// A job that joined at `arrived` leaves.
    pub fn depart(&mut self, now: SimTime, arrived: SimTime) {
        self.advance(now);
        self.present -= 1;
        self.departures += 1;
        self.arrived_ns -= i128::from(arrived.as_ns());
        self.residence_ns += u128::from((now - arrived).as_ns());
    }

    /// Jobs present, waiting or in service.
    pub fn present(&self) -> u64 {
        self.present
    }

    /// Measuring begins: what was before is left out of [`Ledger::usage`].
    pub fn mark(&mut self, now: SimTime) {
        self.advance(now);
        self.mark = Mark {
            at: now,
            present_area: self.present_area,
            busy_area: self.busy_area,
            departures: self.departures,
        };
    }

    /// What the centre, which has so many servers, did since the mark.
    pub fn usage(&mut self, now: SimTime, servers: u32) -> Usage {
        self.advance(now);
        let span = ((now - self.mark.at).as_ns() as f64).max(1.0);
        let busy = self.busy_area - self.mark.busy_area;
        Usage {
            utilization: busy as f64 / span / f64::from(servers),
            queue_length_mean: (self.present_area - self.mark.present_area) as f64 / span,
            busy: SimSpan::from_ns(u64::try_from(busy).unwrap_or(u64::MAX)),
            operations: self.departures - self.mark.departures,
        }
    }

    /// Whether the laws hold at `now`; otherwise which one is broken, with its figures.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.advance(now);
        let age = |jobs: u64, since_ns: i128| i128::from(now.as_ns()) * i128::from(jobs) - since_ns;
        if self.arrivals != self.departures + self.present {
            return Err(Violation::FlowBalance {
                arrivals: self.arrivals,
                departures: self.departures,
                present: self.present,
            });
        }
        let watched = self.present_area as i128;
        let counted = self.residence_ns as i128 + age(self.present, self.arrived_ns);
        if counted != watched {
            return Err(Violation::LittlesLaw { watched, counted });
        }
        let busy = self.busy_area as i128;
        let served = self.service_ns as i128 + age(self.serving, self.started_ns);
        if served != busy {
            return Err(Violation::UtilizationLaw { busy, served });
        }
        Ok(())
    }
}

/// An operational law that does not hold: the simulator contradicts itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Violation {
    /// Arrivals are not departures and those present.
    #[error("flow balance: {arrivals} arrivals, {departures} departures, {present} present")]
    FlowBalance {
        /// Jobs that came.
        arrivals: u64,
        /// Jobs that left.
        departures: u64,
        /// Jobs that are there.
        present: u64,
    },
    /// The area under the queue's length is not the time that jobs spent in it.
    #[error("Little's law: {watched} job-ns watched in the queue, {counted} counted by the jobs")]
    LittlesLaw {
        /// Area under the queue's length, job-nanoseconds.
        watched: i128,
        /// Time that jobs say they spent, job-nanoseconds.
        counted: i128,
    },
    /// Busy time is not the service given.
    #[error("utilization law: {busy} ns busy, {served} ns of service given")]
    UtilizationLaw {
        /// Server-nanoseconds busy.
        busy: i128,
        /// Server-nanoseconds given to jobs.
        served: i128,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    #[test]
    fn two_jobs_by_hand() {
        let mut ledger = Ledger::default();
        ledger.arrive(at(0));
        ledger.start(at(0));
        ledger.arrive(at(5));
        ledger.stop(at(10), at(0));
        ledger.depart(at(10), at(0));
        ledger.start(at(10));
        // At 20: present 1 for 5 ns, 2 for 5 ns, 1 for 10 ns = 25 job-ns over 20 ns; always busy.
        let usage = ledger.usage(at(20), 1);
        assert_eq!((usage.queue_length_mean, usage.utilization), (1.25, 1.0));
        assert_eq!(ledger.audit(at(20)), Ok(()));
    }

    #[test]
    fn a_job_that_lies_about_its_arrival_breaks_littles_law() {
        let mut ledger = Ledger::default();
        ledger.arrive(at(0));
        ledger.depart(at(10), at(3));
        // present for 10 ns, but says 7
        let violation = Violation::LittlesLaw { watched: 10, counted: 7 };
        assert_eq!(ledger.audit(at(10)), Err(violation));
    }

    #[test]
    fn the_mark_leaves_the_warm_up_out() {
        let mut ledger = Ledger::default();
        ledger.arrive(at(0));
        ledger.start(at(0));
        ledger.mark(at(100));
        ledger.stop(at(150), at(0));
        ledger.depart(at(150), at(0));
        let usage = ledger.usage(at(200), 1);
        assert_eq!((usage.utilization, usage.operations), (0.5, 1));
        assert_eq!(ledger.audit(at(200)), Ok(()));
    }
}
