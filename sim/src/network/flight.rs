//! Trains in flight on one connection, and their acknowledgements on the way back.
//!
//! An acknowledgement is known as soon as the fate of its segments at the switch is, and they come in the
//! order in which the trains were sent: there is one way.

use std::collections::VecDeque;

use foretell_units::SimTime;

use super::segment::Run;

/// A train in flight.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// Number of its last segment, counting all that were sent on the connection.
    number: u64,
    sent: SimTime,
    /// When the acknowledgement of what has passed of it is with the sender, once that is known.
    acked_at: SimTime,
    /// What has passed; nothing, while that is not known or if all was dropped.
    segments: u32,
    wire: u32,
}

/// The acknowledgement of what has passed of a train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// When it is with the sender.
    pub(super) at: SimTime,
    pub(super) run: Run,
    /// Number of the train's last segment.
    pub(super) number: u64,
    /// When the oldest train was sent that is in flight after it; `None`: none is.
    pub(super) oldest: Option<SimTime>,
}

/// The trains in flight on one connection. A single one, the usual case, needs no memory beside the
/// connection's own.
#[derive(Debug, Default)]
pub(super) struct Flight {
    front: Option<Train>,
    others: VecDeque<Train>,
    /// How many of the first have been told of, or were dropped as a whole.
    known: u32,
}

impl Flight {
    fn get(&self, index: usize) -> Option<&Train> {
        match index {
            0 => self.front.as_ref(),
            _ => self.others.get(index - 1),
        }
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut Train> {
        match index {
            0 => self.front.as_mut(),
            _ => self.others.get_mut(index - 1),
        }
    }

    fn pop(&mut self) {
        self.front = if self.others.is_empty() { None } else { self.others.pop_front() };
        self.known = self.known.saturating_sub(1);
    }

    /// A train is sent whose last segment has that number.
    #[inline]
    pub(super) fn push(&mut self, number: u64, sent: SimTime) {
        let train = Train { number, sent, acked_at: SimTime::MAX, segments: 0, wire: 0 };
        if self.front.is_none() {
            self.front = Some(train);
        } else {
            self.others.push_back(train);
        }
    }

    /// What has passed of a train will be acknowledged at `at`, which is not before those before it.
    #[inline]
    pub(super) fn expect(&mut self, number: u64, at: SimTime, run: Run) {
        let mut index = self.known as usize;
        while self.get(index).is_some_and(|train| train.number < number) {
            index += 1;
        }
        let train = self.get_mut(index).expect("it is in flight");
        debug_assert_eq!(train.number, number);
        train.acked_at = at;
        train.segments = run.segments;
        train.wire = u32::try_from(run.wire).expect("trains are bounded");
        self.known = index as u32 + 1;
    }

    /// The acknowledgements to come, as far as they are known.
    pub(super) fn acks(&self) -> impl Iterator<Item = Ack> {
        let trains = (0..self.known as usize).filter_map(|index| {
            let train = self.get(index)?;
            (train.segments > 0).then_some((index, train))
        });
        trains.map(|(index, train)| Ack {
            at: train.acked_at,
            run: Run { segments: train.segments, wire: u64::from(train.wire) },
            number: train.number,
            oldest: self.get(index + 1).map(|next| next.sent),
        })
    }

    /// Takes the first acknowledgement, if it has arrived by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: SimTime) -> Option<Ack> {
        let ack = self.acks().next().filter(|ack| ack.at <= now)?;
        while self.front.is_some_and(|train| train.number <= ack.number) {
            self.pop();
        }
        Some(ack)
    }

    /// When the oldest train in flight was sent.
    pub(super) fn oldest(&self) -> Option<SimTime> {
        self.front.map(|train| train.sent)
    }

    /// When the `n`th segment from now is acknowledged, from one, if that is known.
    pub(super) fn nth(&self, mut n: u64) -> Option<SimTime> {
        for ack in self.acks() {
            let segments = u64::from(ack.run.segments);
            if n <= segments {
                return Some(ack.at);
            }
            n -= segments;
        }
        None
    }
}
