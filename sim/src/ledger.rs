//! The ledger of one queueing centre, for checking the operational laws.
//!
//! Two accounts are kept of the same queue. The first observes the queue: at every arrival and departure it
//! adds (jobs present) × (time since the last change). The second asks the jobs: each departing job adds the
//! time that it spent here, and its service time. By Little's law both are equal over a whole run, and
//! because time is an integer they must be equal to the nanosecond (Denning & Buzen 1978; Little 1961). The
//! same holds for flow balance (arrivals = departures + present) and for the utilization law (busy time =
//! service given).
//!
//! Sums have 96 bits. Fewer than 2^32 jobs cannot fill these in 2^64 ns, whereas 200,000 jobs fill 64 bits
//! within 26 hours. The upper parts of sums seldom change. They are stored separately, so that the fields
//! that change with each job fit in one cache line.

use foretell_units::{SimSpan, SimTime};
use thiserror::Error;

/// Accounts of one queueing centre. The fields that change with each job fill one cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Ledger {
    since: SimTime,
    present: u32,
    serving: u32,
    /// ∫ jobs present dt, in job-nanoseconds: the lower 64 bits.
    present_area: u64,
    /// ∫ servers busy dt, in server-nanoseconds: the lower 64 bits.
    busy_area: u64,
    arrivals: u64,
    departures: u64,
    /// Σ residence time of departed jobs: the lower 64 bits.
    residence_ns: u64,
    /// Σ service time of ended services: the lower 64 bits.
    service_ns: u64,
    upper: Upper,
    mark: Mark,
}

/// The upper parts of the sums.
#[derive(Clone, Copy, Debug, Default)]
struct Upper {
    present_area: u32,
    busy_area: u32,
    residence_ns: u32,
    service_ns: u32,
}

/// The accounts at the start of measuring.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: SimTime,
    present_area: u128,
    busy_area: u128,
    departures: u64,
}

/// The measurements of one queueing centre.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Usage {
    /// Mean number of busy servers, divided by the number of servers.
    pub utilization: f64,
    /// Mean number of jobs present, waiting or in service.
    pub queue_length_mean: f64,
    /// Busy time, summed over servers.
    pub busy: SimSpan,
    /// Number of jobs that left.
    pub operations: u64,
}

/// Adds to a sum that is stored in two parts.
#[inline]
fn add(lower: &mut u64, upper: &mut u32, amount: u128) {
    let (sum, carry) = lower.overflowing_add(amount as u64);
    *lower = sum;
    let above = (amount >> 64) as u32 + u32::from(carry);
    if above > 0 {
        *upper += above;
    }
}

/// A sum that is stored in two parts.
fn sum(lower: u64, upper: u32) -> u128 {
    (u128::from(upper) << 64) | u128::from(lower)
}

/// Converts to a time span; the longest possible one if it does not fit.
fn span(ns: u128) -> SimSpan {
    SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

impl Ledger {
    fn advance(&mut self, now: SimTime) {
        let span = u128::from((now - self.since).as_ns());
        let upper = &mut self.upper;
        let (present, serving) = (u128::from(self.present), u128::from(self.serving));
        add(&mut self.present_area, &mut upper.present_area, span * present);
        add(&mut self.busy_area, &mut upper.busy_area, span * serving);
        self.since = now;
    }

    fn present_area(&self) -> u128 {
        sum(self.present_area, self.upper.present_area)
    }

    fn busy_area(&self) -> u128 {
        sum(self.busy_area, self.upper.busy_area)
    }

    /// A job joins the queue.
    pub fn arrive(&mut self, now: SimTime) {
        self.advance(now);
        self.present += 1;
        self.arrivals += 1;
    }

    /// A server begins with a job.
    pub fn start(&mut self, now: SimTime) {
        self.advance(now);
        self.serving += 1;
    }

    /// A server interrupts or ends a job that it began at `started`.
    pub fn stop(&mut self, now: SimTime, started: SimTime) {
        self.advance(now);
        self.serving -= 1;
        let service = u128::from((now - started).as_ns());
        add(&mut self.service_ns, &mut self.upper.service_ns, service);
    }

    /// A job that joined at `arrived` leaves.
    pub fn depart(&mut self, now: SimTime, arrived: SimTime) {
        self.advance(now);
        self.present -= 1;
        self.departures += 1;
        let residence = u128::from((now - arrived).as_ns());
        add(&mut self.residence_ns, &mut self.upper.residence_ns, residence);
    }

    /// Number of jobs present, waiting or in service.
    pub fn present(&self) -> u64 {
        u64::from(self.present)
    }

    /// Busy time of servers since the beginning, summed over them.
    pub fn busy(&mut self, now: SimTime) -> SimSpan {
        self.advance(now);
        span(self.busy_area())
    }

    /// Measuring begins: [`Ledger::usage`] leaves out everything before.
    pub fn mark(&mut self, now: SimTime) {
        self.advance(now);
        self.mark = Mark {
            at: now,
            present_area: self.present_area(),
            busy_area: self.busy_area(),
            departures: self.departures,
        };
    }

    /// Usage of the centre, which has `servers` servers, since the mark.
    pub fn usage(&mut self, now: SimTime, servers: u32) -> Usage {
        self.advance(now);
        let measured_ns = ((now - self.mark.at).as_ns() as f64).max(1.0);
        let busy = self.busy_area() - self.mark.busy_area;
        let present = self.present_area() - self.mark.present_area;
        Usage {
            utilization: busy as f64 / measured_ns / f64::from(servers),
            queue_length_mean: present as f64 / measured_ns,
            busy: span(busy),
            operations: self.departures - self.mark.departures,
        }
    }

    /// Checks whether the laws hold at `now`. The error is the broken law, with its figures.
    ///
    /// `jobs`: for each job present, its arrival time and, if it is in service, the start of that
    /// service. They come from the queue itself, so a lost or changed job is detected.
    pub fn audit(
        &mut self,
        now: SimTime,
        jobs: impl Iterator<Item = (SimTime, Option<SimTime>)>,
    ) -> Result<(), Violation> {
        self.advance(now);
        let mut found = 0;
        let mut counted = sum(self.residence_ns, self.upper.residence_ns);
        let mut served = sum(self.service_ns, self.upper.service_ns);
        for (arrived, started) in jobs {
            found += 1;
            counted += u128::from((now - arrived).as_ns());
            served += started.map_or(0, |started| u128::from((now - started).as_ns()));
        }
        let (arrivals, departures) = (self.arrivals, self.departures);
        if arrivals != departures + found {
            return Err(Violation::FlowBalance { arrivals, departures, present: found });
        }
        let watched = self.present_area();
        if counted != watched {
            return Err(Violation::LittlesLaw { watched, counted });
        }
        let busy = self.busy_area();
        if served != busy {
            return Err(Violation::UtilizationLaw { busy, served });
        }
        Ok(())
    }
}

/// An operational law that does not hold: the simulator contradicts itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Violation {
    /// Arrivals differ from the sum of departures and jobs present.
    #[error("flow balance: {arrivals} arrivals, {departures} departures, {present} present")]
    FlowBalance {
        /// Number of jobs that arrived.
        arrivals: u64,
        /// Number of jobs that left.
        departures: u64,
        /// Number of jobs present.
        present: u64,
    },
    /// The area under the queue's length differs from the time that jobs spent in the queue.
    #[error("Little's law: {watched} job-ns watched in the queue, {counted} counted by the jobs")]
    LittlesLaw {
        /// Area under the queue's length, job-nanoseconds.
        watched: u128,
        /// Sum of the jobs' times in the queue, job-nanoseconds.
        counted: u128,
    },
    /// Busy time differs from the service given.
    #[error("utilization law: {busy} ns busy, {served} ns of service given")]
    UtilizationLaw {
        /// Server-nanoseconds busy.
        busy: u128,
        /// Server-nanoseconds given to jobs.
        served: u128,
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
        // present for 10 ns, but recorded as 7
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
    fn areas_beyond_64_bits_are_whole() {
        // 200,000 jobs for 26 h; half of them are served and leave: 1.01 × 2^64 job-ns before that
        let (jobs, hours_26) = (200_000, SimSpan::from_secs(26 * 3600));
        let mut ledger = Ledger::default();
        for _ in 0..jobs {
            ledger.arrive(at(0));
            ledger.start(at(0));
        }
        let end = SimTime::ZERO + hours_26;
        let usage = ledger.usage(end, jobs);
        assert_eq!((usage.queue_length_mean, usage.utilization), (200_000.0, 1.0));
        assert_eq!(usage.busy, SimSpan::MAX);
        let present = || (0..jobs / 2).map(|_| (at(0), Some(at(0))));
        for _ in 0..jobs / 2 {
            ledger.stop(end, at(0));
            ledger.depart(end, at(0));
        }
        assert_eq!(ledger.audit(end, present()), Ok(()));
        // the same again in small steps, measured from the mark
        ledger.mark(end);
        for hours in 1..=52 {
            let now = end + SimSpan::from_secs(hours * 3600);
            assert_eq!(ledger.usage(now, jobs / 2).queue_length_mean, 100_000.0);
            assert_eq!(ledger.audit(now, present()), Ok(()));
        }
    }

    #[test]
    fn an_account_that_is_off_by_a_whole_wrap_is_found_out() {
        // two jobs that arrived 2^63 ns later than recorded
        let mut ledger = Ledger::default();
        ledger.arrive(at(1 << 63));
        ledger.depart(at(u64::MAX), at(0));
        ledger.arrive(at(u64::MAX));
        ledger.depart(at(u64::MAX), at(u64::MAX - (1 << 63)));
        let violation = ledger.audit(at(u64::MAX), [].into_iter());
        let (watched, counted) = ((1_u128 << 63) - 1, (1_u128 << 64) + (1 << 63) - 1);
        assert_eq!(violation, Err(Violation::LittlesLaw { watched, counted }));
    }

    #[test]
    fn what_changes_with_each_job_is_one_line_of_the_cache() {
        assert_eq!(std::mem::offset_of!(Ledger, upper), 64);
        assert_eq!((size_of::<Ledger>(), align_of::<Ledger>()), (128, 64));
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
