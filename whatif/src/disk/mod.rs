//! Models of disks: service times of the operations that reach a node's disk.
//!
//! A disk consists of an I/O scheduler and a device. The algorithm of the scheduler is known. The device is
//! known only by its [`Measurement`]. Service times follow from the distance, the place on the device, the
//! pause before the operation, and the queue depth. So the model covers full queues, and also queues that are
//! not full (such as those of Postmark at 512 MB in Thereska et al. 2006). An array consists of a controller
//! and measured members. The level, members and caches of the controller are known.

mod array;
mod buffer;
mod drive;
mod lanes;
mod measurement;
mod rewrites;
mod rotating;
mod runs;
mod trial;

use std::sync::Arc;

use foretell_algorithms::io_scheduler::{Io, SchedulerKind};
use foretell_units::{Op, Sectors, SimSpan, SimTime, Stream};

use array::Array;
use drive::Drive;
pub use lanes::LaneShape;
pub(crate) use measurement::index;
pub use measurement::{
    ANY_ANGLE_SECTORS, ArrayCacheFacts, ArrayFacts, Continued, LongWrites, Measurement, Mixed,
    Positioning, QUANTILES, Random, ReadsBesideWrites, Rewriting, TAIL, WriteBuffer,
    WriteCacheFacts,
};
pub use trial::{Trial, trial};

/// A disk of a node.
#[derive(Debug)]
pub(crate) enum Disk {
    /// A device behind a scheduler.
    Drive(Box<Drive>),
    /// An array; the schedulers are in front of its members.
    Array(Box<Array>),
}

/// A completed operation. If operations were merged, the whole time counts for the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) number: u32,
    pub(crate) taken: Taken,
}

/// What a host asks of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    pub(crate) op: Op,
    pub(crate) lbn: Sectors,
    pub(crate) sectors: Sectors,
}

/// The cost of an operation on a device.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Taken {
    /// Time for which the host sees the device busy with it.
    pub(crate) service: SimSpan,
    /// Time of the device that others cannot use. With write-back this is more than the host sees.
    pub(crate) work: SimSpan,
    /// Time without other operations.
    pub(crate) alone: SimSpan,
}

/// When an operation is done, and its cost.
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

    /// Appends the completed operations. Returns when to call again.
    pub(crate) fn complete(&mut self, now: SimTime, done: &mut Vec<Done>) -> Option<SimTime> {
        match self {
            Self::Drive(drive) => drive.complete(now, done),
            Self::Array(array) => array.complete(now, done),
        }
    }

    /// An operation that takes no time; only the caches of an array change.
    pub(crate) fn touch(&mut self, now: SimTime, what: Operation) {
        let Operation { op, lbn, sectors } = what;
        match self {
            Self::Drive(_) => {}
            Self::Array(array) => array.touch(now, op, lbn, sectors),
        }
    }

    /// Remembers the backlog of its devices' buffers.
    pub(crate) fn mark(&mut self, now: SimTime) {
        match self {
            Self::Drive(drive) => drive.mark(now),
            Self::Array(array) => array.members_mut().iter_mut().for_each(|disk| disk.mark(now)),
        }
    }

    /// Skips a time that is `longer` times as long as the time since the mark. Device buffers that
    /// were filling go on filling.
    pub(crate) fn pass_over(&mut self, now: SimTime, longer: f64) {
        match self {
            Self::Drive(drive) => drive.pass_over(now, longer),
            Self::Array(array) => {
                array.members_mut().iter_mut().for_each(|disk| disk.pass_over(now, longer));
            }
        }
    }

    /// Outstanding operations: waiting or in service.
    pub(crate) fn present(&self) -> usize {
        match self {
            Self::Drive(drive) => drive.present(),
            Self::Array(array) => array.present(),
        }
    }

    /// Time for which the host saw it busy.
    pub(crate) fn busy(&self) -> SimSpan {
        match self {
            Self::Drive(drive) => drive.busy(),
            Self::Array(array) => array.busy(),
        }
    }

    /// Time for which it had work.
    pub(crate) fn worked(&self) -> SimSpan {
        match self {
            Self::Drive(drive) => drive.worked(),
            Self::Array(array) => array.worked(),
        }
    }
}
