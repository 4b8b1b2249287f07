//! The order in which a disk's waiting operations are served.
//!
//! Each scheduler is in its own file, behind [`Scheduler`]: operations are added, requests are
//! taken. A request is one operation, or several that were merged because they are adjacent on the
//! medium; they complete together. A scheduler may hold back its requests and ask to be called
//! again later: that is how CFQ waits for a thread's next operation.
//!
//! The textbook's schedulers (FCFS, elevator, SSTF) do not merge; Linux's (noop, deadline, CFQ) do,
//! as its block layer does.

mod cfq;
mod deadline;
mod fcfs;
mod noop;
mod pool;
mod sorted;

use std::fmt::Debug;

use foretell_units::{Op, Sectors, SimTime};

/// A disk operation; `T` is the caller's information for its completion.
#[derive(Clone, Copy, Debug)]
pub struct Io<T> {
    /// First sector.
    pub lbn: Sectors,
    /// Number of sectors.
    pub sectors: Sectors,
    /// Direction.
    pub op: Op,
    /// The thread on whose behalf it is: CFQ serves threads in turn.
    pub thread: u64,
    /// The caller's own data.
    pub tag: T,
}

/// The order in which waiting disk operations are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchedulerKind {
    /// First come, first served.
    Fcfs,
    /// C-LOOK: ascending from the head's position, then again from the lowest.
    Elevator,
    /// The nearest block first.
    Sstf,
    /// Linux's noop: first come, first served, with merging.
    Noop,
    /// Linux's deadline: ascending in batches, reads before writes, with bounded waiting.
    Deadline,
    /// Linux's CFQ: readers take turns of 100 ms, in which the disk waits for their next reads.
    Cfq,
}

impl SchedulerKind {
    /// As scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Elevator => "elevator",
            Self::Sstf => "sstf",
            Self::Noop => "noop",
            Self::Deadline => "deadline",
            Self::Cfq => "cfq",
        }
    }
}

/// Whether threads wait for writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// No thread waits: data are written back from a cache.
    Background,
    /// Threads wait for their writes as for their reads: direct I/O.
    Synchronous,
}

/// A request for the disk: operations that follow each other without a gap.
#[derive(Clone, Debug)]
pub struct Request<T> {
    /// First sector.
    pub lbn: Sectors,
    /// Number of sectors.
    pub sectors: Sectors,
    /// Direction.
    pub op: Op,
    /// When the first of the operations arrived.
    pub first_arrived: SimTime,
    /// That operation.
    pub first: Io<T>,
    /// The operations merged with it later, each with its arrival.
    pub merged: Vec<(SimTime, Io<T>)>,
}

impl<T: Copy> Request<T> {
    /// A request of one operation.
    pub fn new(now: SimTime, io: Io<T>) -> Self {
        Self {
            lbn: io.lbn,
            sectors: io.sectors,
            op: io.op,
            first_arrived: now,
            first: io,
            merged: Vec::new(),
        }
    }

    /// Address after the last sector.
    pub fn end(&self) -> Sectors {
        self.lbn + self.sectors
    }

    /// Its operations, each with its arrival.
    pub fn operations(&self) -> impl Iterator<Item = (SimTime, Io<T>)> + '_ {
        std::iter::once((self.first_arrived, self.first)).chain(self.merged.iter().copied())
    }
}

/// A scheduler's answer when the disk can take a request.
#[derive(Debug)]
pub enum Choice<T> {
    /// This request; the scheduler no longer holds it.
    Serve(Request<T>),
    /// None yet: ask again at this time (later than now), or when an operation arrives or completes.
    Wait(SimTime),
    /// None until an operation arrives or completes.
    Nothing,
}

/// An order of service.
pub trait Scheduler<T>: Debug + Send {
    /// An operation arrives.
    fn add(&mut self, now: SimTime, io: Io<T>);

    /// The disk can take a request; `head` is the position to which it was last sent.
    fn next(&mut self, now: SimTime, head: Sectors) -> Choice<T>;

    /// A request that was taken has been served.
    fn served(&mut self, now: SimTime, request: &Request<T>) {
        let _ = (now, request);
    }

    /// When each of the waiting operations arrived.
    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_>;
}

/// A scheduler of this kind, for a disk that holds `depth` commands at once and takes writes from a cache.
pub fn scheduler<T>(kind: SchedulerKind, depth: u32) -> Box<dyn Scheduler<T>>
where
    T: Copy + Debug + Send + 'static,
{
    scheduler_for(kind, depth, Writes::Background)
}

/// A scheduler of this kind, for a disk that holds `depth` commands at once. Only CFQ uses `writes`.
pub fn scheduler_for<T>(kind: SchedulerKind, depth: u32, writes: Writes) -> Box<dyn Scheduler<T>>
where
    T: Copy + Debug + Send + 'static,
{
    match kind {
        SchedulerKind::Fcfs => Box::new(fcfs::Fcfs::new()),
        SchedulerKind::Elevator => Box::new(sorted::Sorted::new(sorted::Order::Upwards)),
        SchedulerKind::Sstf => Box::new(sorted::Sorted::new(sorted::Order::Nearest)),
        SchedulerKind::Noop => Box::new(noop::Noop::new()),
        SchedulerKind::Deadline => Box::new(deadline::Deadline::new()),
        SchedulerKind::Cfq => Box::new(cfq::Cfq::new(depth > 1, writes)),
    }
}

#[cfg(test)]
mod tests;
