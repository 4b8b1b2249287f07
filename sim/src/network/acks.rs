//! Acknowledgements on their way to a sender.
//!
//! They are known as soon as the switch has booked the segments, and come in the order of time.

use std::collections::VecDeque;

use foretell_units::{SimSpan, SimTime};

use super::segment::Run;

/// Segments that will be acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// When the first segment's acknowledgement is with the sender.
    pub(super) first: SimTime,
    /// When the last one's is.
    pub(super) last: SimTime,
    pub(super) run: Run,
    /// Number of the last segment, counting all that were sent on the connection.
    pub(super) number: u64,
}

impl Ack {
    /// When the `n`th segment of it is acknowledged, from one; `spacing`: between two.
    pub(super) fn nth(&self, n: u64, spacing: SimSpan) -> SimTime {
        if n >= u64::from(self.run.segments) { self.last } else { self.first + spacing * (n - 1) }
    }
}

/// The acknowledgements of one connection. A single one, the usual case, needs no memory beside
/// the connection's own.
#[derive(Debug, Default)]
pub(super) struct Acks {
    front: Option<Ack>,
    others: VecDeque<Ack>,
}

impl Acks {
    /// One more; not before those that are there.
    pub(super) fn push(&mut self, ack: Ack) {
        if self.front.is_none() {
            self.front = Some(ack);
        } else {
            self.others.push_back(ack);
        }
    }

    /// Takes off what has arrived by `now`, if anything has: segments, and the number of the last.
    /// With `spacing`, also part of a run.
    pub(super) fn take(&mut self, now: SimTime, spacing: Option<SimSpan>) -> Option<(Run, u64)> {
        let front = self.front.as_mut()?;
        if front.last <= now {
            let (run, number) = (front.run, front.number);
            self.front = self.others.pop_front();
            return Some((run, number));
        }
        let spacing = spacing.filter(|_| front.first <= now)?;
        let arrived = 1 + (now - front.first).as_ns() / spacing.as_ns().max(1);
        let before_last = u64::from(front.run.segments) - 1;
        if before_last == 0 {
            return None;
        }
        let (run, rest) = front.run.split(arrived.min(before_last) as u32);
        front.run = rest.expect("the last one has not arrived");
        front.first += spacing * u64::from(run.segments);
        Some((run, front.number - u64::from(front.run.segments)))
    }

    /// In the order of time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Ack> {
        self.front.iter().chain(&self.others)
    }

    /// When the `n`th segment from now is acknowledged, from one, if that is known.
    pub(super) fn nth(&self, mut n: u64, spacing: SimSpan) -> Option<SimTime> {
        for ack in self.iter() {
            let segments = u64::from(ack.run.segments);
            if n <= segments {
                return Some(ack.nth(n, spacing));
            }
            n -= segments;
        }
        None
    }

    /// When the last one arrives.
    pub(super) fn last(&self) -> Option<SimTime> {
        self.others.back().or(self.front.as_ref()).map(|ack| ack.last)
    }
}
