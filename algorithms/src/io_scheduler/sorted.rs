//! Schedulers by address: the elevator, and shortest seek time first; without merging.

use std::collections::BTreeMap;
use std::fmt::Debug;

use foretell_units::{Sectors, SimTime};

use super::Io;
use super::{Choice, Request, Scheduler};

/// How an address-ordered queue chooses the next request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// C-LOOK: the next address upwards, otherwise the lowest of all.
    Upwards,
    /// The nearest address; the lower of two equally near ones.
    Nearest,
}

/// Waiting operations by address; equal addresses in order of arrival.
#[derive(Debug)]
pub(super) struct Sorted<T> {
    order: Order,
    waiting: BTreeMap<(Sectors, u64), (SimTime, Io<T>)>,
    sequence: u64,
}

impl<T> Sorted<T> {
    pub(super) fn new(order: Order) -> Self {
        Self { order, waiting: BTreeMap::new(), sequence: 0 }
    }

    fn choose(&self, head: Sectors) -> Option<(Sectors, u64)> {
        let above = self.waiting.range((head, 0)..).next().map(|(key, _)| *key);
        match self.order {
            Order::Upwards => above.or_else(|| self.waiting.keys().next().copied()),
            Order::Nearest => {
                let below = self
                    .waiting
                    .range(..(head, 0))
                    .next_back()
                    // the first to arrive at that address
                    .and_then(|(&(lbn, _), _)| self.waiting.range((lbn, 0)..).next())
                    .map(|(key, _)| *key);
                match (below, above) {
                    (Some(b), Some(a)) if head.0 - b.0.0 <= a.0.0 - head.0 => Some(b),
                    (below, above) => above.or(below),
                }
            }
        }
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Sorted<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        self.waiting.insert((io.lbn, self.sequence), (now, io));
        self.sequence += 1;
    }

    fn next(&mut self, _now: SimTime, head: Sectors) -> Choice<T> {
        match self.choose(head).and_then(|key| self.waiting.remove(&key)) {
            Some((arrived, io)) => Choice::Serve(Request::new(arrived, io)),
            None => Choice::Nothing,
        }
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.waiting.values().map(|(arrived, _)| *arrived))
    }
}
