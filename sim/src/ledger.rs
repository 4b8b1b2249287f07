//! The ledger of one queueing centre: what the operational laws are checked against.
//!
//! Two accounts are kept of the same queue. One watches: at every arrival and departure it adds
//! (jobs present) × (time since the last change). The other counts: each job brings the time that
//! it spent here and the service that it was given. Little's law says that both are equal over a
//! whole run, and since time is an integer they must be equal to the nanosecond
//! (Denning & Buzen 1978; Little 1961). The same goes for flow balance (arrivals = departures +
//! present) and for the utilization law (busy time = service given).
//!
//! Areas are in 64 bits: 18 thousand million job-seconds, a thousand jobs for seven months.

use foretell_units::{SimSpan, SimTime};
use thiserror::Error;

/// Accounts of one queueing centre. What changes with each job fills one line of the cache.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub struct Ledger {
    since: SimTime,
    present: u32,
    serving: u32,
    /// ∫ jobs present dt, in job-nanoseconds.
    present_area: u64,
    /// ∫ servers busy dt, in server-nanoseconds.
    busy_area: u64,
    arrivals: u64,
    departures: u64,
    /// Σ residence of the jobs gone.
    residence_ns: u64,
    /// Σ service of the services ended.
    service_ns: u64,
    mark: Mark,
}

/// The accounts at the moment when measuring began.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: SimTime,
    present_area: u64,
    busy_area: u64,
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
        let span = (now - self.since).as_ns();
        self.present_area += span * u64::from(self.present);
        self.busy_area += span * u64::from(self.serving);
        self.since = now;
    }

    /// A job joins the queue.
    pub fn arrive(&mut self, now: SimTime) {
        self.advance(now);
        self.present += 1;
        self.arrivals += 1;
    }

    /// A server takes a job up.
    pub fn start(&mut self, now: SimTime) {
        self.advance(now);
        self.serving += 1;
    }

    /// A server lays a job down that it took up at `started`.
    pub fn stop(&mut self, now: SimTime, started: SimTime) {
        self.advance(now);
        self.serving -= 1;
        self.service_ns += (now - started).as_ns();
    }

    /// A job that joined at `arrived` leaves.
    pub fn depart(&mut self, now: SimTime, arrived: SimTime) {
        self.advance(now);
        self.present -= 1;
        self.departures += 1;
        self.residence_ns += (now - arrived).as_ns();
    }

    /// Jobs present, waiting or in service.
    pub fn present(&self) -> u64 {
        u64::from(self.present)
    }

    /// Time that servers were busy since the beginning, summed over them.
    pub fn busy(&mut self, now: SimTime) -> SimSpan {
        self.advance(now);
        SimSpan::from_ns(self.busy_area)
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
            busy: SimSpan::from_ns(busy),
            operations: self.departures - self.mark.departures,
        }
    }

    /// Whether the laws hold at `now`; otherwise which one is broken, with its figures.
    ///
    /// `jobs`: for each job present, when it arrived and, if it is in service, since when. They
    /// come from the queue itself, so that a job that was lost or changed shows.
    pub fn audit(
        &mut self,
        now: SimTime,
        jobs: impl Iterator<Item = (SimTime, Option<SimTime>)>,
    ) -> Result<(), Violation> {
        self.advance(now);
        let (mut found, mut counted, mut served) = (0, self.residence_ns, self.service_ns);
        for (arrived, started) in jobs {
            found += 1;
            counted += (now - arrived).as_ns();
            served += started.map_or(0, |started| (now - started).as_ns());
        }
        let (arrivals, departures) = (self.arrivals, self.departures);
        if arrivals != departures + found {
            return Err(Violation::FlowBalance { arrivals, departures, present: found });
        }
        let watched = self.present_area;
        if counted != watched {
            return Err(Violation::LittlesLaw { watched, counted });
        }
        let busy = self.busy_area;
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
        watched: u64,
        /// Time that jobs say they spent, job-nanoseconds.
        counted: u64,
    },
    /// Busy time is not the service given.
    #[error("utilization law: {busy} ns busy, {served} ns of service given")]
    UtilizationLaw {
        /// Server-nanoseconds busy.
        busy: u64,
        /// Server-nanoseconds given to jobs.
        served: u64,
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
        let second = (at(5), Some(at(10)));
        assert_eq!(ledger.audit(at(20), [second].into_iter()), Ok(()));
    }

    #[test]
    fn a_job_that_lies_about_its_arrival_breaks_littles_law() {
        let mut ledger = Ledger::default();
        ledger.arrive(at(0));
        ledger.depart(at(10), at(3));
        // present for 10 ns, but says 7
        let violation = Violation::LittlesLaw { watched: 10, counted: 7 };
        assert_eq!(ledger.audit(at(10), [].into_iter()), Err(violation));
    }

    #[test]
    fn a_job_that_vanishes_breaks_flow_balance() {
        let mut ledger = Ledger::default();
        ledger.arrive(at(0));
        let violation = Violation::FlowBalance { arrivals: 1, departures: 0, present: 0 };
        assert_eq!(ledger.audit(at(10), [].into_iter()), Err(violation));
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
        assert_eq!(ledger.audit(at(200), [].into_iter()), Ok(()));
    }
}
