//! Disks: a scheduler in front of a mechanism.
//!
//! A disk never sees the agenda. [`Disk::submit`] and [`Disk::complete`] say when the disk wants to
//! be asked again, and each time that is handed out must be answered by a call of
//! [`Disk::complete`] at that time. Usually an operation is done then; but a scheduler may have
//! wanted the time to think better of it (CFQ idles for a thread's next operation), and an operation
//! that came meanwhile may have made the call needless.
//!
//! One operation is in service at a time: by a [`Mechanism`] (seek, rotation, transfer) or by a
//! detailed [`drive::Drive`], which may go on writing or reading ahead by itself. Such a drive may
//! also hold several commands at once (`queue_depth`): it then takes the one that its head reaches
//! first, and one that it has held for a second before all others (assumed; firmware is not
//! documented, but none is known to starve a command).

pub mod drive;
mod mechanism;
pub mod replay;
mod scheduler;

use std::collections::VecDeque;
use std::fmt::Debug;

use drive::Drive;
pub use mechanism::Mechanism;
use scheduler::{Choice, Request, Scheduler};

use foretell_scenarios::device::Device;
use foretell_scenarios::model;
use foretell_units::{Op, Sectors, SimSpan, SimTime};

use crate::ledger::{Ledger, Usage, Violation};

/// A drive holds no command back for longer.
const HELD_BACK: SimSpan = SimSpan::from_secs(1);

/// A disk operation; `T` is what the caller needs to know when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Io<T> {
    /// First sector.
    pub lbn: Sectors,
    /// How many.
    pub sectors: Sectors,
    /// Direction.
    pub op: Op,
    /// Who waits for it: some schedulers give threads turns.
    pub thread: u32,
    /// The caller's own.
    pub tag: T,
}

/// A disk with its queue.
#[derive(Debug)]
pub struct Disk<T> {
    arm: Arm,
    scheduler: Box<dyn Scheduler<T>>,
    /// Commands that the drive holds beside the one in service, in the order in which it got them.
    held: Vec<Held<T>>,
    /// So many commands may be held and in service.
    depth: usize,
    serving: Option<Serving<T>>,
    /// Operations that are done with the one in service they were merged with, but not told yet.
    followers: VecDeque<Follower<T>>,
    /// A time that was handed out for the scheduler's sake.
    timer: Option<SimTime>,
    /// Where the last request that the drive was given ends.
    head: Sectors,
    ledger: Ledger,
}

/// What serves the operations.
#[derive(Debug)]
enum Arm {
    Simple(Mechanism),
    Drive(Box<Drive>),
}

/// A command that the drive holds.
#[derive(Debug)]
struct Held<T> {
    request: Request<T>,
    since: SimTime,
}

#[derive(Debug)]
struct Serving<T> {
    request: Request<T>,
    started: SimTime,
    finish: SimTime,
}

#[derive(Clone, Copy, Debug)]
struct Follower<T> {
    io: Io<T>,
    arrived: SimTime,
    started: SimTime,
}

/// An operation that is done.
#[derive(Clone, Copy, Debug)]
pub struct Done<T> {
    /// The operation.
    pub io: Io<T>,
    /// When the mechanism took it up, or the one with which it was merged.
    pub started: SimTime,
}

/// What a call of [`Disk::complete`] brings.
#[derive(Clone, Copy, Debug)]
pub struct Completion<T> {
    /// The operation that is done, if one is.
    pub done: Option<Done<T>>,
    /// When to call again; none if another call is due anyway or nothing waits.
    pub next: Option<SimTime>,
}

impl<T: Copy + Debug + Send + 'static> Disk<T> {
    /// An idle disk, its arm at the outermost cylinder.
    pub fn new(spec: &model::Disk) -> Self {
        let (arm, depth) = match &spec.device {
            Device::Mechanical(mechanical) => (Arm::Simple(Mechanism::new(mechanical)), 1),
            Device::Drive(drive) => {
                (Arm::Drive(Box::new(Drive::new(drive))), drive.specification().queue_depth)
            }
        };
        Self {
            arm,
            scheduler: scheduler::scheduler(spec.scheduler, depth),
            held: Vec::new(),
            depth: depth as usize,
            serving: None,
            followers: VecDeque::new(),
            timer: None,
            head: Sectors(0),
            ledger: Ledger::default(),
        }
    }

    /// Adds an operation. Returns when to call [`Disk::complete`] if that is not due anyway.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.ledger.arrive(now);
        self.scheduler.add(now, io);
        self.go_on(now)
    }

    /// Takes the operation that is done at `now`, if there is one, and starts the next. To be
    /// called once at each time that the disk has named.
    pub fn complete(&mut self, now: SimTime) -> Completion<T> {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.timer = None;
        }
        if let Some(serving) = self.serving.take_if(|serving| serving.finish <= now) {
            assert_eq!(serving.finish, now, "a disk is called when it asked for it");
            self.ledger.stop(now, serving.started);
            self.scheduler.served(now, &serving.request);
            let (started, request) = (serving.started, serving.request);
            let follower = |(arrived, io)| Follower { io, arrived, started };
            self.followers.push_back(follower((request.first_arrived, request.first)));
            self.followers.extend(request.merged.into_iter().map(follower));
        }
        let done = self.followers.pop_front().map(|done| {
            self.ledger.depart(now, done.arrived);
            Done { io: done.io, started: done.started }
        });
        let next = if self.followers.is_empty() { self.go_on(now) } else { Some(now) };
        Completion { done, next }
    }

    /// Gives the drive what it can take and starts a service if none goes on. Returns when to call
    /// again, unless that has been said.
    fn go_on(&mut self, now: SimTime) -> Option<SimTime> {
        let mut wait = None;
        while self.held.len() + usize::from(self.serving.is_some()) < self.depth {
            match self.scheduler.next(now, self.head) {
                Choice::Serve(request) => {
                    self.head = request.end();
                    self.held.push(Held { request, since: now });
                }
                Choice::Wait(until) => {
                    wait = Some(until);
                    break;
                }
                Choice::Nothing => break,
            }
        }
        if self.serving.is_some() {
            return None; // the scheduler is asked again when it is done
        }
        if let Some(chosen) = self.first_reached(now) {
            let held = self.held.remove(chosen);
            return Some(self.serve(now, held));
        }
        let until = wait.filter(|until| self.timer != Some(*until))?;
        self.timer = Some(until);
        Some(until)
    }

    /// Which of the held commands the drive takes up.
    fn first_reached(&self, now: SimTime) -> Option<usize> {
        let oldest = self.held.first()?;
        match &self.arm {
            Arm::Drive(drive) if self.held.len() > 1 && now < oldest.since + HELD_BACK => {
                let reached = |held: &Held<T>| drive.reaches(now, held.request.op, held.request.lbn);
                // the first of equals
                (0..self.held.len()).min_by_key(|held| reached(&self.held[*held]))
            }
            _ => Some(0),
        }
    }

    fn serve(&mut self, now: SimTime, Held { request, since }: Held<T>) -> SimTime {
        let finish = match &mut self.arm {
            Arm::Simple(mechanism) => mechanism.access(now, request.lbn, request.sectors),
            Arm::Drive(drive) => {
                drive.serve_held(now, since, request.op, request.lbn, request.sectors).finish
            }
        };
        assert!(finish > now);
        self.ledger.start(now);
        self.serving = Some(Serving { request, started: now, finish });
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
        let serving = self.serving.iter().flat_map(|serving| {
            // those that were merged have no service of their own
            let started = std::iter::once(Some(serving.started)).chain(std::iter::repeat(None));
            serving.request.arrivals().zip(started)
        });
        let held = self.held.iter().flat_map(|held| held.request.arrivals());
        let told = self.followers.iter().map(|follower| follower.arrived);
        let waiting = self.scheduler.arrivals().chain(held).chain(told);
        self.ledger.audit(now, serving.chain(waiting.map(|arrived| (arrived, None))))
    }
}

