//! The lower tier's disk module: how long a node's disk takes for the operations that reach it.
//!
//! A disk is its I/O scheduler, which is software and known, in front of a device of which only
//! measurements are known: [`Measurement`]. Service times follow from the distance, the place, the
//! pause before, and how many operations are there, so that a queue that is not full (Thereska et al. 2006,
//! Postmark at 512 MB) and one that is both come out. An array is its controller, of which level,
//! members and caches are known, in front of members that were measured.

mod array;
mod buffer;
mod drive;
mod lanes;
mod measurement;
mod rotating;
mod trial;

use std::sync::Arc;

use foretell_algorithms::io_scheduler::{Io, SchedulerKind};
use foretell_units::{Op, Sectors, SimSpan, SimTime, Stream};

use array::Array;
use drive::Drive;
pub use lanes::LaneShape;
pub(crate) use measurement::index;
pub use measurement::{
    ArrayCacheFacts, ArrayFacts, Beside, Continued, Measurement, Mixed, Positioning, QUANTILES,
    Random, WriteBuffer, WriteCacheFacts,
};
pub use trial::{Trial, trial};

/// A disk of a node.
#[derive(Debug)]
pub(crate) enum Disk {
    /// A device behind a scheduler.
    Drive(Box<Drive>),
    /// An array, at whose members the scheduler is.
    Array(Box<Array>),
}

/// An operation that is done. Of those that were merged the first has all the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) number: u32,
    pub(crate) taken: Taken,
}

/// What an operation takes of a device.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Taken {
    /// Time for which its host sees the device busy with it.
    pub(crate) service: SimSpan,
    /// Time that the device cannot give to others: what is written behind is more than what is seen.
    pub(crate) work: SimSpan,
    /// Time that it takes when the device does nothing else.
    pub(crate) alone: SimSpan,
}

/// When an operation is done, and what it takes.
#[derive(Clone, Copy, Debug)]
struct Served {
    done: SimTime,
    taken: Taken,
}

impl Disk {
    /// An idle disk.
    pub(crate) fn new(kind: SchedulerKind, measured: &Arc<Measurement>, stream: Stream) -> Self {
        match &measured.array {
            Some(facts) => Self::Array(Box::new(Array::new(kind, facts, stream))),
            None => Self::Drive(Box::new(Drive::new(kind, measured, stream))),
        }
    }

    /// Adds an operation. Returns when to call again.
    pub(crate) fn submit(&mut self, now: SimTime, io: Io<u32>) -> Option<SimTime> {
        match self {
            Self::Drive(drive) => drive.submit(now, io),
            Self::Array(array) => array.submit(now, io),
        }
    }

    /// Appends the operations that are done. Returns when to call again.
    pub(crate) fn complete(&mut self, now: SimTime, done: &mut Vec<Done>) -> Option<SimTime> {
        match self {
            Self::Drive(drive) => drive.complete(now, done),
            Self::Array(array) => array.complete(now, done),
        }
    }

    /// An operation is done that takes no time: the caches of an array remember it.
    pub(crate) fn touch(&mut self, now: SimTime, (op, lbn, sectors): (Op, Sectors, Sectors)) {
        match self {
            Self::Drive(_) => {}
            Self::Array(array) => array.touch(now, op, lbn, sectors),
        }
    }

    /// Remembers how full the buffers of its devices are.
    pub(crate) fn mark(&mut self, now: SimTime) {
        match self {
            Self::Drive(drive) => drive.mark(now),
            Self::Array(array) => array.members_mut().iter_mut().for_each(|disk| disk.mark(now)),
        }
    }

    /// A time is passed over, `longer` times as long as that since it was marked: buffers of devices that fill
    /// go on filling.
    pub(crate) fn pass_over(&mut self, now: SimTime, longer: f64) {
        match self {
            Self::Drive(drive) => drive.pass_over(now, longer),
            Self::Array(array) => {
                array.members_mut().iter_mut().for_each(|disk| disk.pass_over(now, longer));
            }
        }
    }

    /// Operations that wait or are served.
    pub(crate) fn present(&self) -> usize {
        match self {
            Self::Drive(drive) => drive.present(),
            Self::Array(array) => array.present(),
        }
    }

    /// Time for which its host has seen it busy.
    pub(crate) fn busy(&self) -> SimSpan {
        match self {
            Self::Drive(drive) => drive.busy(),
            Self::Array(array) => array.busy(),
        }
    }

    /// Time for which it has had work.
    pub(crate) fn worked(&self) -> SimSpan {
        match self {
            Self::Drive(drive) => drive.worked(),
            Self::Array(array) => array.worked(),
        }
    }
}
