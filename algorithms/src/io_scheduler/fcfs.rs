//! First come, first served, without merging.

use std::collections::VecDeque;
use std::fmt::Debug;

use foretell_units::{Sectors, SimTime};

use super::Io;
use super::{Choice, Request, Scheduler};

#[derive(Debug)]
pub(super) struct Fcfs<T> {
    waiting: VecDeque<(SimTime, Io<T>)>,
}

impl<T> Fcfs<T> {
    pub(super) fn new() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Fcfs<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        self.waiting.push_back((now, io));
    }

    fn next(&mut self, _now: SimTime, _head: Sectors) -> Choice<T> {
        match self.waiting.pop_front() {
            Some((arrived, io)) => Choice::Serve(Request::new(arrived, io)),
            None => Choice::Nothing,
        }
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.waiting.iter().map(|(arrived, _)| *arrived))
    }
}
