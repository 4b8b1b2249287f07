//! Linux's noop: first come, first served, with merging.
//!
//! The block layer merges an operation that continues any waiting request. It also merges one that
//! continues or precedes the request that last grew (`elv_merge`, Linux 2.6 to 4.x).

use std::fmt::Debug;

use foretell_units::{Sectors, SimTime};

use super::Io;
use super::pool::{Merging, Pool};
use super::{Choice, Scheduler};

#[derive(Debug)]
pub(super) struct Noop<T> {
    waiting: Pool<T>,
}

impl<T: Copy> Noop<T> {
    pub(super) fn new() -> Self {
        Self { waiting: Pool::new(Merging::Back) }
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Noop<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        self.waiting.add(now, io);
    }

    fn next(&mut self, _now: SimTime, _head: Sectors) -> Choice<T> {
        match self.waiting.oldest() {
            Some((number, _)) => Choice::Serve(self.waiting.take(number)),
            None => Choice::Nothing,
        }
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.waiting.arrivals())
    }
}
