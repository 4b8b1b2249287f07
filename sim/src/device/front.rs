//! A scheduler in front of a device that holds several commands, such as a solid-state drive.
//!
//! The drive gets as many commands as it can hold (`queue_depth`), in the scheduler's order. The others wait
//! in front of it. While there are fewer commands than that, none waits, and the scheduler has no effect. A
//! merged request is one command to the drive, and all its operations are done at the same time.
//!
//! If the drive has a volatile write buffer, a write is done when it is durable: when a flush that began after it has
//! ended. Until then it counts as a command in the drive.

use std::collections::VecDeque;
use std::fmt::Debug;

use foretell_scenarios::model::Scheduler as Name;
use foretell_units::{Op, Sectors, SimSpan, SimTime};

use super::{Calls, Completion, Done, Flushes, Model};
use crate::ledger::{Ledger, Usage, Violation};
use crate::ssd::Written;
use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::io_scheduler::{Choice, Request, Scheduler, scheduler};
use foretell_algorithms::slab::Slab;

/// The device behind a scheduler: it takes commands, and returns the time at which it must be
/// called.
pub(crate) trait Inside {
    /// Takes a command.
    fn submit(&mut self, now: SimTime, io: Io<u32>);
    /// Appends the commands that are done at `now` to `done`.
    fn complete(&mut self, now: SimTime, done: &mut Vec<Done<u32>>);
    /// Time at which to call it next.
    fn wake(&self, now: SimTime) -> Option<SimTime>;
    /// Measuring begins.
    fn mark(&mut self, now: SimTime);
    /// Usage since then.
    fn usage(&mut self, now: SimTime) -> Usage;
    /// Whether the operational laws hold.
    fn audit(&mut self, now: SimTime) -> Result<(), Violation>;
    /// Bytes written to flash since the mark, if the device is flash.
    fn flash(&self) -> Option<Written> {
        None
    }
}

/// A drive and its scheduler.
#[derive(Debug)]
pub(super) struct Front<T, D> {
    scheduler: Box<dyn Scheduler<T>>,
    drive: D,
    /// Requests in the drive.
    requests: Slab<Option<Request<T>>>,
    depth: usize,
    /// Time at which the scheduler wants to decide again.
    again: Option<SimTime>,
    /// End of the last request that the drive was given.
    head: Sectors,
    ledger: Ledger,
    /// When measuring began.
    marked: SimTime,
    /// Present if writes wait for flushes.
    flushes: Option<Flushes>,
    /// Commands that wait for a flush, with its end; the earliest first.
    unflushed: VecDeque<(SimTime, Done<u32>)>,
    /// Scratch.
    done: Vec<Done<u32>>,
}

impl<T: Copy + Debug + Send + 'static, D: Inside> Front<T, D> {
    /// `queue_depth`: number of commands that the drive can hold.
    pub(super) fn new(drive: D, queue_depth: u32, name: Name) -> Self {
        Self {
            scheduler: scheduler(name, queue_depth),
            drive,
            requests: Slab::new(),
            depth: queue_depth as usize,
            again: None,
            head: Sectors(0),
            ledger: Ledger::default(),
            marked: SimTime::ZERO,
            flushes: None,
            unflushed: VecDeque::new(),
            done: Vec::new(),
        }
    }

    /// The same drive; each write waits for a flush of this length. Zero: for none.
    pub(super) fn with_flushes(mut self, span: SimSpan) -> Self {
        self.flushes = (!span.is_zero()).then(|| Flushes::new(span));
        self
    }

    /// Adds an operation. Returns when to call [`Front::take`].
    fn add(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.ledger.arrive(now);
        self.scheduler.add(now, io);
        self.go_on(now);
        self.wake(now)
    }

    /// Appends the operations that are done at `now` to `done`. Returns when to call again.
    fn take(&mut self, now: SimTime, done: &mut Vec<Done<T>>) -> Option<SimTime> {
        let mut commands = std::mem::take(&mut self.done);
        // a command may be done as soon as the drive gets it
        loop {
            self.drive.complete(now, &mut commands);
            let is_flushed = self.unflushed.front().is_some_and(|(at, _)| *at <= now);
            if commands.is_empty() && !is_flushed && self.again.is_none_or(|again| again > now) {
                break;
            }
            for command in commands.drain(..) {
                match &mut self.flushes {
                    Some(flushes) if command.io.op == Op::Write => {
                        self.unflushed.push_back((flushes.durable_at(now), command));
                    }
                    _ => self.leave(now, &command, done),
                }
            }
            while self.unflushed.front().is_some_and(|(at, _)| *at <= now) {
                let (_, command) = self.unflushed.pop_front().expect("it is there");
                self.leave(now, &command, done);
            }
            self.go_on(now);
        }
        self.done = commands;
        self.wake(now)
    }

    /// A command is done: all its operations leave.
    fn leave(&mut self, now: SimTime, command: &Done<u32>, done: &mut Vec<Done<T>>) {
        let request = self.requests.remove(command.io.tag).take();
        let request = request.expect("the drive completes what it was given");
        self.scheduler.served(now, &request);
        let sectors = request.sectors.get();
        done.extend(request.operations().map(|(arrived, io)| {
            self.ledger.depart(now, arrived);
            Done { io, service: command.service * io.sectors.get() / sectors.max(1) }
        }));
    }

    fn wake(&self, now: SimTime) -> Option<SimTime> {
        let flushed = self.unflushed.front().map(|(at, _)| *at);
        self.drive.wake(now).into_iter().chain(self.again).chain(flushed).min()
    }

    /// Gives the drive the requests that it can hold.
    fn go_on(&mut self, now: SimTime) {
        self.again = None;
        while self.requests.len() < self.depth {
            match self.scheduler.next(now, self.head) {
                Choice::Serve(request) => {
                    self.head = request.end();
                    let (lbn, sectors, op) = (request.lbn, request.sectors, request.op);
                    let tag = self.requests.insert(Some(request));
                    self.drive.submit(now, Io { lbn, sectors, op, thread: 0, tag });
                }
                Choice::Wait(until) => {
                    assert!(until > now, "a scheduler that waits lets time pass");
                    self.again = Some(until);
                    break;
                }
                Choice::Nothing => break,
            }
        }
    }
}

impl<T: Copy + Debug + Send + 'static, D: Inside + Debug + Send> Model<T> for Front<T, D> {
    fn submit(&mut self, now: SimTime, io: Io<T>, calls: &mut Calls<T>) -> Option<SimTime> {
        let wake = self.add(now, io);
        calls.name(wake)
    }

    fn complete(&mut self, now: SimTime, calls: &mut Calls<T>) -> Completion<T> {
        let wake = self.take(now, &mut calls.done);
        calls.tell(now, wake)
    }

    fn present(&self) -> u64 {
        self.ledger.present()
    }

    fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
        self.drive.mark(now);
        if let Some(flushes) = &mut self.flushes {
            flushes.mark(now);
        }
        self.marked = now;
    }

    /// Operations and queue length include those in front and inside; busy time and utilization are
    /// the drive's.
    fn usage(&mut self, now: SimTime) -> Usage {
        let Usage { mut utilization, mut busy, .. } = self.drive.usage(now);
        // a flush may run beside transfers: the busier of the two limits the drive
        if let Some(flushing) = self.flushes.as_ref().map(|flushes| flushes.busy(now)) {
            let measured = now.saturating_since(self.marked);
            busy = busy.max(flushing);
            utilization =
                utilization.max(flushing.as_secs_f64() / measured.as_secs_f64().max(1e-9));
        }
        Usage { utilization, busy, ..self.ledger.usage(now, 1) }
    }

    fn flash(&self) -> Option<Written> {
        self.drive.flash()
    }

    fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        let inside = self.requests.places().flatten().flat_map(Request::operations);
        let inside = inside.map(|(arrived, _)| arrived);
        let jobs = inside.chain(self.scheduler.arrivals()).map(|arrived| (arrived, None));
        self.ledger.audit(now, jobs)?;
        self.drive.audit(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::Ssd;
    use crate::ssd::tests::small;
    use foretell_units::Op;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    fn read(unit: u64, tag: u32) -> Io<u32> {
        Io { lbn: Sectors(unit * 8), sectors: Sectors(8), op: Op::Read, thread: 1, tag }
    }

    /// The order in which a drive that takes one command at a time serves units 8, 40, 0 and 1.
    fn order(name: Name) -> Vec<u32> {
        let mut spec = small();
        spec.queue_depth = 1;
        let mut front = Front::new(Ssd::new(&spec), 1, name);
        let mut next = None;
        for (tag, unit) in [8, 40, 0, 1].into_iter().enumerate() {
            next = front.add(at(0), read(unit, tag as u32));
        }
        let mut done = Vec::new();
        while let Some(now) = next {
            next = front.take(now, &mut done);
            front.audit(now).unwrap();
        }
        done.iter().map(|done| done.io.tag).collect()
    }

    #[test]
    fn what_the_drive_does_not_take_waits_in_the_schedulers_order() {
        assert_eq!(order(Name::Fcfs), [0, 1, 2, 3]);
        // upwards from unit 9, then again from the lowest
        assert_eq!(order(Name::Elevator), [0, 1, 2, 3]);
        // from unit 9: unit 1 is 8 away, then 0, then 40
        assert_eq!(order(Name::Sstf), [0, 3, 2, 1]);
    }

    #[test]
    fn merged_operations_are_one_command() {
        let mut spec = small();
        spec.queue_depth = 1;
        let mut front = Front::new(Ssd::new(&spec), 1, Name::Noop);
        for (tag, unit) in [8, 0, 1, 2].into_iter().enumerate() {
            front.add(at(0), read(unit, tag as u32));
        }
        let mut done = Vec::new();
        // one unit: 50 us, 10.24, 1 + 4.096, 10; then three at once: 50, 30.72, 1 + 12.288, 10
        let first = 75_336;
        front.take(at(first), &mut done);
        assert_eq!(done.len(), 1);
        front.take(at(first + 104_007), &mut done);
        assert_eq!(done.len(), 1);
        front.take(at(first + 104_008), &mut done);
        assert_eq!(done.len(), 4);
        // 50 us and 30.72 of the die, a third each
        assert_eq!(done[3].service.as_ns(), 26_906);
    }
}
