//! One direction of a link: first come, first served.
//!
//! The end of a transfer is known when it is booked, so a link needs no events of its own. Its accounts are
//! sums: of the arrival and departure times of jobs, of the service given and of the idle gaps between. They
//! are equivalent to the ledger's two accounts (see [`crate::ledger`]), and the same laws are checked. But
//! sums do not depend on the order of entry, so a job may be entered at any convenient moment, at the cost of
//! a few additions.

use std::collections::VecDeque;

use foretell_units::{Bytes, Rate, SimSpan, SimTime};

use crate::ledger::{Usage, Violation};

/// One direction of a link: serves bookings at its line rate, in order.
#[derive(Clone, Debug)]
pub struct Link {
    rate: Rate,
    /// Time at which all bookings have left.
    free_at: SimTime,
    /// Service booked, and idle time before the last booking: nanoseconds.
    served_ns: u64,
    gaps_ns: u64,
    /// Numbers of jobs that arrived and left, and the sums of their arrival and departure times, in
    /// nanoseconds.
    arrivals: u64,
    departures: u64,
    arrived_ns: u128,
    departed_ns: u128,
    /// Σ residence time of departed jobs.
    residence_ns: u128,
    /// Jobs with a known time of departure, in order.
    leaving: VecDeque<Job>,
    mark: Mark,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    arrived: SimTime,
    leaves: SimTime,
}

/// The accounts at the start of measuring.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: SimTime,
    present_area: u128,
    busy_ns: u64,
    departures: u64,
}

/// The time of a booked transfer on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy {
    /// Time of the first bit.
    pub start: SimTime,
    /// Time of the last bit.
    pub finish: SimTime,
}

impl Link {
    /// An idle link.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            free_at: SimTime::ZERO,
            served_ns: 0,
            gaps_ns: 0,
            arrivals: 0,
            departures: 0,
            arrived_ns: 0,
            departed_ns: 0,
            residence_ns: 0,
            leaving: VecDeque::new(),
            mark: Mark::default(),
        }
    }

    /// The line rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Sets the rate for all later bookings.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Books `bytes` on the link and returns when they are on the wire.
    ///
    /// FIFO: an earlier booking is never delayed by a later one. `now` must not go backwards.
    #[inline]
    pub fn send(&mut self, now: SimTime, bytes: Bytes) -> Busy {
        self.book(now, self.rate.time_for(bytes))
    }

    /// Like [`Link::send`], for a transfer that takes `service` on the link.
    #[inline]
    pub fn book(&mut self, now: SimTime, service: SimSpan) -> Busy {
        self.settle(now);
        let start = self.free_at.max(now);
        let finish = start + service;
        self.serve(start, finish, service);
        self.arrive(now);
        self.leave(now, finish);
        Busy { start, finish }
    }

    /// How long a transfer that is booked now would wait.
    #[inline]
    pub fn backlog(&self, now: SimTime) -> SimSpan {
        self.free_at.saturating_since(now)
    }

    /// Time at which all bookings have left.
    #[inline]
    pub(crate) fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Books `service` between `start` and `finish`, with pauses if that time is longer.
    #[inline]
    pub(crate) fn serve(&mut self, start: SimTime, finish: SimTime, service: SimSpan) {
        let pauses = (finish - start).as_ns() - service.as_ns();
        self.gaps_ns += (start - self.free_at).as_ns() + pauses;
        self.served_ns += service.as_ns();
        self.free_at = finish;
    }

    /// Enters a job that joined the queue at `at`.
    #[inline]
    pub(crate) fn arrive(&mut self, at: SimTime) {
        self.arrivals += 1;
        self.arrived_ns += u128::from(at.as_ns());
    }

    /// Enters the departure of a job that joined at `arrived`: at `leaves`, or when the previous job has
    /// left.
    #[inline]
    pub(crate) fn leave(&mut self, arrived: SimTime, leaves: SimTime) {
        let leaves = self.leaving.back().map_or(leaves, |last| last.leaves.max(leaves));
        self.leaving.push_back(Job { arrived, leaves });
    }

    /// Removes the jobs that have left by `now`.
    #[inline]
    pub(crate) fn settle(&mut self, now: SimTime) {
        while let Some(&Job { arrived, leaves }) = self.leaving.front() {
            if leaves > now {
                break;
            }
            self.leaving.pop_front();
            self.departures += 1;
            self.departed_ns += u128::from(leaves.as_ns());
            self.residence_ns += u128::from((leaves - arrived).as_ns());
        }
    }

    /// ∫ jobs present dt up to `now`. All arrivals and departures before `now` must have been entered.
    fn present_area(&self, now: SimTime) -> u128 {
        let until_now = |jobs: u64| u128::from(jobs) * u128::from(now.as_ns());
        // a transfer that was entered early may arrive or leave after `now`
        let came = until_now(self.arrivals).wrapping_sub(self.arrived_ns);
        let left = until_now(self.departures).wrapping_sub(self.departed_ns);
        came.wrapping_sub(left)
    }

    /// Service given up to `now`, nanoseconds. Bookings beyond `now` follow without a gap.
    fn busy_ns(&self, now: SimTime) -> u64 {
        self.served_ns - self.backlog(now).as_ns()
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.settle(now);
        self.mark = Mark {
            at: now,
            present_area: self.present_area(now),
            busy_ns: self.busy_ns(now),
            departures: self.departures,
        };
    }

    /// Usage of the link since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        self.settle(now);
        let span = ((now - self.mark.at).as_ns() as f64).max(1.0);
        let busy = self.busy_ns(now) - self.mark.busy_ns;
        let area = self.present_area(now).wrapping_sub(self.mark.present_area);
        Usage {
            utilization: busy as f64 / span,
            queue_length_mean: area as f64 / span,
            busy: SimSpan::from_ns(busy),
            operations: self.departures - self.mark.departures,
        }
    }

    /// Whether the operational laws hold.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.audit_with(now, std::iter::empty())
    }

    /// Like [`Link::audit`], with additional jobs that arrived at `waiting` and have no departure time
    /// yet.
    pub(crate) fn audit_with(
        &mut self,
        now: SimTime,
        waiting: impl Iterator<Item = SimTime>,
    ) -> Result<(), Violation> {
        self.settle(now);
        let (mut present, mut counted) = (0, self.residence_ns);
        for arrived in self.leaving.iter().map(|job| job.arrived).chain(waiting) {
            present += 1;
            counted += u128::from((now - arrived).as_ns());
        }
        let (arrivals, departures) = (self.arrivals, self.departures);
        if arrivals != departures + present {
            return Err(Violation::FlowBalance { arrivals, departures, present });
        }
        let watched = self.present_area(now);
        if counted != watched {
            return Err(Violation::LittlesLaw { watched, counted });
        }
        let idle = self.gaps_ns + now.saturating_since(self.free_at).as_ns();
        let (busy, served) = (now.as_ns() - idle, self.busy_ns(now));
        if served != busy {
            let (busy, served) = (u128::from(busy), u128::from(served));
            return Err(Violation::UtilizationLaw { busy, served });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_beyond_64_bits_is_whole() {
        // 200,000 messages of a day each, booked at once: the queue is 200,000 long for a day, while the
        // first is on the wire, which gives 0.94 × 2^64 job-ns; then 199,999
        let mut link = Link::new(Rate::bits_per_s(8));
        let day = SimSpan::from_secs(24 * 3600);
        for _ in 0..200_000 {
            link.book(SimTime::ZERO, day);
        }
        let usage = link.usage(SimTime::ZERO + day * 2);
        assert_eq!(usage.queue_length_mean, 199_999.5);
        assert_eq!(link.audit(SimTime::ZERO + day * 2), Ok(()));
    }

    #[test]
    fn the_second_transfer_waits_for_the_first() {
        let mut link = Link::new(Rate::bits_per_s(1_000_000_000));
        let now = SimTime::ZERO;
        // 64 KiB at 1 Gbit/s is 524 288 ns; the second transfer waits for the first.
        assert_eq!(link.send(now, Bytes::kib(64)).finish, now + SimSpan::from_ns(524_288));
        assert_eq!(link.send(now, Bytes::kib(64)).finish, now + SimSpan::from_ns(1_048_576));
        assert_eq!(link.backlog(SimTime::from_ns(1_000_000)), SimSpan::from_ns(48_576));
        let usage = link.usage(SimTime::from_ns(2_097_152));
        // Half the time busy; 2 present for a quarter and 1 for a quarter of the time.
        assert_eq!((usage.utilization, usage.queue_length_mean), (0.5, 0.75));
        assert_eq!(link.audit(SimTime::from_ns(2_097_152)), Ok(()));
    }
}
