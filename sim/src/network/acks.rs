//! Acknowledgements on their way to a sender.
//!
//! They are known as soon as the fate of the segments at the switch is, and come in the order of
//! time.

use std::collections::VecDeque;

use foretell_units::SimTime;

use super::segment::Run;

/// The acknowledgement of what has passed of a train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// When it is with the sender.
    pub(super) at: SimTime,

    pub(super) run: Run,
    /// Number of the train's last segment, counting all that were sent on the connection.
    pub(super) number: u64,
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

    /// In the order of time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Ack> {
        self.front.iter().chain(&self.others)
    }

    /// When the `n`th segment from now is acknowledged, from one, if that is known.
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
