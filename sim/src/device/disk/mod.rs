//! Disks: a scheduler in front of a mechanism.
//!
//! A disk does not schedule events itself. [`Disk::submit`] and [`Disk::complete`] return the time of the
//! next call, and the caller must call [`Disk::complete`] at every time returned. Usually an operation is
//! done at that call. But some calls only let a scheduler decide again (CFQ waits for a thread's next
//! operation), and later arrivals can make such a call unnecessary.
//!
//! One request is in service at a time: by a [`Mechanism`] (seek, rotation, transfer) or by a
//! detailed [`drive::Drive`], which may continue with write-behind or read-ahead. Such a drive may
//! hold several commands (`queue_depth`), also while one is in service. It chooses the command that
//! its head reaches first, except that a command held for a second goes before all others (assumed:
//! firmware is not documented, but no drive is known to starve a command). The bus transfer of a
//! command does not overlap with the seek of the next.

pub mod drive;
mod mechanism;
pub mod replay;
mod spin;

use std::collections::VecDeque;
use std::fmt::Debug;

use drive::{Command, Drive};
pub use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::io_scheduler::{Choice, Request, Scheduler, scheduler};
use foretell_scenarios::device::{Device, Tolerance};
use foretell_scenarios::model;
use foretell_units::{Sectors, SimSpan, SimTime, Stream};
pub use mechanism::Mechanism;
pub use spin::Spin;

use crate::device::{self, Calls, Model};
use crate::ledger::{Ledger, Usage, Violation};

/// Longest time for which a drive may pass over a command that it holds.
const HELD_BACK: SimSpan = SimSpan::from_secs(1);

/// A disk with its queue.
#[derive(Debug)]
pub struct Disk<T> {
    arm: Arm,
    scheduler: Box<dyn Scheduler<T>>,
    /// Commands that the drive holds besides the one in service, in the order of arrival.
    held: Vec<Held<T>>,
    /// Most commands that may be held and in service.
    depth: usize,
    serving: Option<Serving<T>>,
    /// Operations that were merged with one in service. They are done, but not yet returned.
    followers: VecDeque<Follower<T>>,
    /// The earliest requested call that is still to come.
    call: Option<SimTime>,
    /// End of the last request that the drive was given.
    head: Sectors,
    ledger: Ledger,
}

/// The part that serves the operations.
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
    /// When the mechanism began it, or the operation with which it was merged.
    pub started: SimTime,
    /// Mechanism time spent on it; zero if it was merged with another.
    pub service: SimSpan,
}

/// The result of a call of [`Disk::complete`].
#[derive(Clone, Copy, Debug)]
pub struct Completion<T> {
    /// The operation that is done, if one is.
    pub done: Option<Done<T>>,
    /// When to call again; `None` if an earlier call is still to come or nothing waits.
    pub next: Option<SimTime>,
}

impl<T: Copy + Debug + Send + 'static> Disk<T> {
    /// An idle disk on the bench: its arm is at the outermost cylinder, it turns at nominal speed,
    /// and its index mark passes at time zero.
    ///
    /// # Panics
    ///
    /// If the device has no heads: [`crate::device::Device`] takes any.
    pub fn new(spec: &model::Disk) -> Self {
        Self::turning(spec, |revolution, _| Spin::nominal(revolution))
    }

    /// The same disk in a cluster: `stream` draws its platters' angle and speed.
    pub fn installed(spec: &model::Disk, mut stream: Stream) -> Self {
        Self::turning(spec, |revolution, tolerance| Spin::drawn(revolution, tolerance, &mut stream))
    }

    fn turning(spec: &model::Disk, mut spin: impl FnMut(SimSpan, Tolerance) -> Spin) -> Self {
        let (arm, depth) = match &spec.device {
            Device::Mechanical(mechanical) => {
                let spin = spin(mechanical.revolution(), mechanical.rpm_tolerance);
                (Arm::Simple(Mechanism::turning(mechanical, spin)), 1)
            }
            Device::Drive(drive) => {
                let specification = drive.specification();
                let spin = spin(drive.revolution(), specification.rpm_tolerance);
                (Arm::Drive(Box::new(Drive::turning(drive, spin))), specification.queue_depth)
            }
            _ => panic!("a device without heads is not a disk"),
        };
        Self {
            arm,
            scheduler: scheduler(spec.scheduler, depth),
            held: Vec::new(),
            depth: depth as usize,
            serving: None,
            followers: VecDeque::new(),
            call: None,
            head: Sectors(0),
            ledger: Ledger::default(),
        }
    }

    /// Adds an operation. Returns when to call [`Disk::complete`], unless an earlier call is still
    /// to come.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.ledger.arrive(now);
        self.scheduler.add(now, io);
        self.go_on(now)
    }

    /// Returns an operation that is done at `now`, if there is one, and starts the next. To be
    /// called once for each time that the disk has returned.
    pub fn complete(&mut self, now: SimTime) -> Completion<T> {
        if self.call.is_some_and(|call| call <= now) {
            self.call = None;
        }
        let mut service = SimSpan::ZERO;
        let done = if let Some(serving) = self.serving.take_if(|serving| serving.finish <= now) {
            assert_eq!(serving.finish, now, "a disk is called when it asked for it");
            assert!(self.followers.is_empty(), "they are told at the time when they are done");
            let Serving { request, started, .. } = serving;
            self.ledger.stop(now, started);
            service = now - started;
            self.scheduler.served(now, &request);
            let follower = |(arrived, io)| Follower { io, arrived, started };
            self.followers.extend(request.merged.iter().copied().map(follower));
            Some(follower((request.first_arrived, request.first)))
        } else {
            self.followers.pop_front()
        };
        let done = done.map(|done| {
            self.ledger.depart(now, done.arrived);
            Done { io: done.io, started: done.started, service }
        });
        let next = if self.followers.is_empty() { self.go_on(now) } else { self.name(now) };
        Completion { done, next }
    }

    /// Gives the drive the requests that it can hold, and starts a service if none is in progress.
    /// Returns when to call again, unless an earlier call is still to come.
    fn go_on(&mut self, now: SimTime) -> Option<SimTime> {
        let mut again = None;
        while self.held.len() + usize::from(self.serving.is_some()) < self.depth {
            match self.scheduler.next(now, self.head) {
                Choice::Serve(request) => {
                    self.head = request.end();
                    let held = Held { request, since: now };
                    if self.depth == 1 {
                        self.serve(now, held);
                    } else {
                        self.held.push(held);
                    }
                }
                Choice::Wait(until) => {
                    assert!(until > now, "a scheduler that waits lets time pass");
                    again = Some(until);
                    break;
                }
                Choice::Nothing => break,
            }
        }
        if self.serving.is_none() && !self.held.is_empty() {
            let chosen = self.take_up(now);
            let held = self.held.remove(chosen);
            self.serve(now, held);
        }
        let finish = self.serving.as_ref().map(|serving| serving.finish);
        let next = again.into_iter().chain(finish).min()?;
        self.name(next)
    }

    /// Records and returns the time of a call, unless an earlier call is still to come.
    fn name(&mut self, at: SimTime) -> Option<SimTime> {
        if self.call.is_some_and(|call| call <= at) {
            return None;
        }
        self.call = Some(at);
        self.call
    }

    /// Chooses which of the held commands the drive serves next.
    fn take_up(&mut self, now: SimTime) -> usize {
        match &mut self.arm {
            Arm::Drive(drive) if self.held.len() > 1 && now < self.held[0].since + HELD_BACK => {
                let commands = self.held.iter().map(|Held { request, .. }| Command {
                    op: request.op,
                    lbn: request.lbn,
                    sectors: request.sectors,
                });
                drive.reaches_first(now, commands).unwrap_or(0)
            }
            Arm::Drive(_) | Arm::Simple(_) => 0,
        }
    }

    fn serve(&mut self, now: SimTime, Held { request, since }: Held<T>) {
        let finish = match &mut self.arm {
            Arm::Simple(mechanism) => mechanism.access(now, request.lbn, request.sectors),
            Arm::Drive(drive) => {
                let (op, lbn, sectors) = (request.op, request.lbn, request.sectors);
                drive.serve_held(now, since, Command { op, lbn, sectors }).finish
            }
        };
        assert!(finish > now);
        self.ledger.start(now);
        self.serving = Some(Serving { request, started: now, finish });
    }
}

impl<T: Copy + Debug + Send + 'static> Model<T> for Disk<T> {
    fn submit(&mut self, now: SimTime, io: Io<T>, _: &mut Calls<T>) -> Option<SimTime> {
        Self::submit(self, now, io)
    }

    fn complete(&mut self, now: SimTime, _: &mut Calls<T>) -> device::Completion<T> {
        let Completion { done, next } = Self::complete(self, now);
        let done = done.map(|done| device::Done { io: done.io, service: done.service });
        device::Completion { done, next }
    }

    fn present(&self) -> u64 {
        self.ledger.present()
    }

    fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
    }

    fn usage(&mut self, now: SimTime) -> Usage {
        self.ledger.usage(now, 1)
    }

    fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        let serving = self.serving.iter().flat_map(|serving| {
            // merged operations have no service time of their own
            let started = std::iter::once(Some(serving.started)).chain(std::iter::repeat(None));
            serving.request.operations().map(|(arrived, _)| arrived).zip(started)
        });
        let held = self.held.iter().flat_map(|held| held.request.operations());
        let held = held.map(|(arrived, _)| arrived);
        let followers = self.followers.iter().map(|follower| follower.arrived);
        let waiting = self.scheduler.arrivals().chain(held).chain(followers);
        self.ledger.audit(now, serving.chain(waiting.map(|arrived| (arrived, None))))
    }

    #[cfg(test)]
    fn spins(&self) -> Vec<Spin> {
        vec![match &self.arm {
            Arm::Simple(mechanism) => mechanism.spin(),
            Arm::Drive(drive) => drive.spin(),
        }]
    }
}

#[cfg(test)]
mod tests;
