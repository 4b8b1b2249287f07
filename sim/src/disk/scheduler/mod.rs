//! The order in which a disk's waiting operations are handed to it.
//!
//! One scheduler a file, all behind [`Scheduler`]: operations are added, requests are taken. A
//! request is one operation, or several that were merged because they follow each other on the
//! medium; they are done when all of it is. A scheduler may ask to be asked again later rather than
//! hand out what it has: that is how CFQ waits for a thread's next operation.
//!
//! The textbook's schedulers (FCFS, elevator, SSTF) merge nothing; Linux's (noop, deadline, CFQ) do,
//! as its block layer does.

mod cfq;
mod deadline;
mod fcfs;
mod noop;
mod pool;
mod sorted;

use std::fmt::Debug;

use foretell_scenarios::model;
use foretell_units::{Op, Sectors, SimTime};

use super::Io;

/// What a scheduler hands to the disk: operations that follow each other without a gap.
#[derive(Clone, Debug)]
pub(crate) struct Request<T> {
    pub(crate) lbn: Sectors,
    pub(crate) sectors: Sectors,
    pub(crate) op: Op,
    /// When the first of the operations arrived.
    pub(crate) first_arrived: SimTime,
    /// That operation.
    pub(crate) first: Io<T>,
    /// Those that were merged with it later, each with its arrival.
    pub(crate) merged: Vec<(SimTime, Io<T>)>,
}

impl<T: Copy> Request<T> {
    pub(crate) fn new(now: SimTime, io: Io<T>) -> Self {
        Self {
            lbn: io.lbn,
            sectors: io.sectors,
            op: io.op,
            first_arrived: now,
            first: io,
            merged: Vec::new(),
        }
    }

    /// Address behind the last sector.
    pub(crate) fn end(&self) -> Sectors {
        self.lbn + self.sectors
    }

    /// Its operations, each with its arrival.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (SimTime, Io<T>)> + '_ {
        std::iter::once((self.first_arrived, self.first)).chain(self.merged.iter().copied())
    }
}

/// What a scheduler says when the disk can take a request.
#[derive(Debug)]
pub(crate) enum Choice<T> {
    /// This one: it is the scheduler's no more.
    Serve(Request<T>),
    /// None yet: ask again then (later than now), or when an operation arrives or completes.
    Wait(SimTime),
    /// None until an operation arrives or completes.
    Nothing,
}

/// An order of service.
pub(crate) trait Scheduler<T>: Debug + Send {
    /// An operation arrives.
    fn add(&mut self, now: SimTime, io: Io<T>);

    /// The disk, which has last been sent to `head`, can take a request.
    fn next(&mut self, now: SimTime, head: Sectors) -> Choice<T>;

    /// A request that was taken has been served.
    fn served(&mut self, now: SimTime, request: &Request<T>) {
        let _ = (now, request);
    }

    /// When each of the waiting operations arrived.
    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_>;
}

/// The scheduler of that name, for a disk that holds so many commands at once.
pub(crate) fn scheduler<T>(name: model::Scheduler, depth: u32) -> Box<dyn Scheduler<T>>
where
    T: Copy + Debug + Send + 'static,
{
    match name {
        model::Scheduler::Fcfs => Box::new(fcfs::Fcfs::new()),
        model::Scheduler::Elevator => Box::new(sorted::Sorted::new(sorted::Order::Upwards)),
        model::Scheduler::Sstf => Box::new(sorted::Sorted::new(sorted::Order::Nearest)),
        model::Scheduler::Noop => Box::new(noop::Noop::new()),
        model::Scheduler::Deadline => Box::new(deadline::Deadline::new()),
        model::Scheduler::Cfq => Box::new(cfq::Cfq::new(depth > 1)),
    }
}

#[cfg(test)]
mod tests;
