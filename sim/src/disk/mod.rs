//! Disks: a queue with a scheduler in front of a mechanism.
//!
//! A disk never sees the agenda. [`Disk::submit`] returns the time of the next completion if the
//! disk was idle, [`Disk::complete`] takes the operation that has just finished and starts the next.
//! One operation is in service at a time: by a [`Mechanism`] (seek, rotation, transfer) or by a
//! detailed [`drive::Drive`], which may go on writing or reading ahead by itself.

pub mod drive;
mod mechanism;
mod queue;
pub mod replay;

use drive::Drive;
pub use mechanism::Mechanism;
use queue::Queue;

use foretell_scenarios::device::Device;
use foretell_scenarios::model;
use foretell_units::{Op, Sectors, SimTime};

use crate::ledger::{Ledger, Usage, Violation};

/// A disk operation; `T` is what the caller needs to know when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Io<T> {
    /// First sector.
    pub lbn: Sectors,
    /// How many.
    pub sectors: Sectors,
    /// Direction.
    pub op: Op,
    /// The caller's own.
    pub tag: T,
}

/// A disk with its queue.
#[derive(Debug)]
pub struct Disk<T> {
    arm: Arm,
    queue: Queue<T>,
    serving: Option<Serving<T>>,
    /// Where the last operation ends.
    head: Sectors,
    ledger: Ledger,
}

/// What serves the operations.
#[derive(Debug)]
enum Arm {
    Simple(Mechanism),
    Drive(Box<Drive>),
}

impl Arm {
    fn serve<T>(&mut self, now: SimTime, io: &Io<T>) -> SimTime {
        match self {
            Self::Simple(mechanism) => mechanism.access(now, io.lbn, io.sectors),
            Self::Drive(drive) => drive.serve(now, io.op, io.lbn, io.sectors).finish,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Serving<T> {
    io: Io<T>,
    arrived: SimTime,
    started: SimTime,
    finish: SimTime,
}

/// An operation that is done.
#[derive(Clone, Copy, Debug)]
pub struct Completion<T> {
    /// The operation.
    pub io: Io<T>,
    /// When the mechanism took it up.
    pub started: SimTime,
    /// When the following operation will be done, if one was waiting.
    pub next: Option<SimTime>,
}

impl<T: Copy> Disk<T> {
    /// An idle disk, its arm at the outermost cylinder.
    pub fn new(spec: &model::Disk) -> Self {
        let arm = match &spec.device {
            Device::Mechanical(mechanical) => Arm::Simple(Mechanism::new(mechanical)),
            Device::Drive(drive) => Arm::Drive(Box::new(Drive::new(drive))),
        };
        Self {
            arm,
            queue: Queue::new(spec.scheduler),
            serving: None,
            head: Sectors(0),
            ledger: Ledger::default(),
        }
    }

    /// Adds an operation. Returns when it will be done if the disk was idle.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.ledger.arrive(now);
        if self.serving.is_some() {
            self.queue.push(now, io);
            None
        } else {
            Some(self.serve(now, now, io))
        }
    }

    /// Takes the operation that is done at `now` and starts the next.
    pub fn complete(&mut self, now: SimTime) -> Completion<T> {
        let done = self.serving.take().expect("a disk completes what it serves");
        assert_eq!(done.finish, now, "an operation is done when it was said to be");
        self.ledger.stop(now, done.started);
        self.ledger.depart(now, done.arrived);
        let next = self.queue.pop(self.head).map(|(arrived, io)| self.serve(now, arrived, io));
        Completion { io: done.io, started: done.started, next }
    }

    fn serve(&mut self, now: SimTime, arrived: SimTime, io: Io<T>) -> SimTime {
        let finish = self.arm.serve(now, &io);
        self.head = io.lbn + io.sectors;
        assert!(finish > now);
        self.ledger.start(now);
        self.serving = Some(Serving { io, arrived, started: now, finish });
        finish
    }

    /// Operations waiting or in service.
    pub fn present(&self) -> u64 {
        self.ledger.present()
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
    }

    /// What the disk did since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        self.ledger.usage(now, 1)
    }

    /// Whether the operational laws hold.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        let serving = self.serving.iter().map(|serving| (serving.arrived, Some(serving.started)));
        let waiting = self.queue.arrivals().map(|arrived| (arrived, None));
        self.ledger.audit(now, serving.chain(waiting))
    }
}
