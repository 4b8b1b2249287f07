//! A first-come-first-served link: one direction of a cable.
//!
//! A transfer's end is known when it is booked, so a link needs no events of its own. Departures
//! are entered into the ledger at the first booking after them.

use std::collections::VecDeque;

use foretell_units::{Bytes, Rate, SimSpan, SimTime};

use crate::ledger::{Ledger, Usage, Violation};

/// One direction of a cable: serves transfers one at a time, in the order of booking.
#[derive(Clone, Debug)]
pub struct Link {
    rate: Rate,
    free_at: SimTime,
    booked: VecDeque<Transfer>,
    ledger: Ledger,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    booked: SimTime,
    start: SimTime,
    finish: SimTime,
}

/// When a booked transfer is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy {
    /// First bit.
    pub start: SimTime,
    /// Last bit.
    pub finish: SimTime,
}

impl Link {
    /// An idle link.
    pub fn new(rate: Rate) -> Self {
        Self { rate, free_at: SimTime::ZERO, booked: VecDeque::new(), ledger: Ledger::default() }
    }

    /// The line rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Books `bytes` on the link and returns when they are on it.
    ///
    /// FIFO: an earlier booking is never delayed by a later one. `now` must not go backwards.
    pub fn send(&mut self, now: SimTime, bytes: Bytes) -> Busy {
        self.book(now, self.rate.time_for(bytes))
    }

    /// As [`Link::send`], for what takes so long on the link.
    pub fn book(&mut self, now: SimTime, service: SimSpan) -> Busy {
        self.settle(now);
        let start = self.free_at.max(now);
        let finish = start + service;
        self.free_at = finish;
        self.ledger.arrive(now);
        if start == now {
            self.ledger.start(now);
        }
        self.booked.push_back(Transfer { booked: now, start, finish });
        Busy { start, finish }
    }

    /// How long a transfer that is booked now would wait.
    pub fn backlog(&self, now: SimTime) -> SimSpan {
        self.free_at.saturating_since(now)
    }

    /// Enters into the ledger what has finished by `now`.
    fn settle(&mut self, now: SimTime) {
        while let Some(&first) = self.booked.front() {
            if first.finish > now {
                break;
            }
            self.booked.pop_front();
            self.ledger.stop(first.finish, first.start);
            self.ledger.depart(first.finish, first.booked);
            if let Some(next) = self.booked.front() {
                assert_eq!(next.start, first.finish, "a waiting transfer follows at once");
                self.ledger.start(next.start);
            }
        }
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.settle(now);
        self.ledger.mark(now);
    }

    /// What the link did since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        self.settle(now);
        self.ledger.usage(now, 1)
    }

    /// Whether the operational laws hold.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.settle(now);
        let jobs = self
            .booked
            .iter()
            .map(|transfer| (transfer.booked, (transfer.start <= now).then_some(transfer.start)));
        self.ledger.audit(now, jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
