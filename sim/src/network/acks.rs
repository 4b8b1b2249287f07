//! Acknowledgements on their way to a sender.
//!
//! The time of an acknowledgement is known as soon as the switch has passed or dropped its segments.
//! Acknowledgements are kept in the order of time.

use std::collections::VecDeque;

use foretell_units::SimTime;

use super::segment::Run;

/// The acknowledgement of the segments of a train that have passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// Arrival time at the sender.
    pub(super) at: SimTime,

    pub(super) run: Run,
    /// Number of the train's last segment, counting all segments sent on the connection.
    pub(super) number: u64,
}

/// The acknowledgements of one connection. A single one, the usual case, needs no memory besides
/// the connection's own.
#[derive(Debug, Default)]
pub(super) struct Acks {
    front: Option<Ack>,
    others: VecDeque<Ack>,
}

impl Acks {
    /// Adds one that is not earlier than those already present.
    #[inline]
    pub(super) fn push(&mut self, ack: Ack) {
        if self.front.is_none() {
            self.front = Some(ack);
        } else {
            self.others.push_back(ack);
        }
    }

    /// Takes the first, if it has arrived by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: SimTime) -> Option<Ack> {
        let front = self.front.filter(|front| front.at <= now)?;
        self.front = if self.others.is_empty() { None } else { self.others.pop_front() };
        Some(front)
    }

    /// All of them, in the order of time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Ack> {
        self.front.iter().chain(&self.others)
    }

    /// When the `n`th segment from now, counting from one, is acknowledged, if that is known.
    pub(super) fn nth(&self, mut n: u64) -> Option<SimTime> {
        for ack in self.iter() {
            let segments = u64::from(ack.run.segments);
            if n <= segments {
                return Some(ack.at);
            }
            n -= segments;
        }
        None
    }
}
