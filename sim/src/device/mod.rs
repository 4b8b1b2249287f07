//! A storage device of any kind, as a node sees it.
//!
//! A device never sees the agenda. [`Device::submit`] and [`Device::complete`] name the time at
//! which the device is to be called again, and every time that is named must be answered by a call
//! of [`Device::complete`] then. Usually an operation is done; but a device with an inner life may
//! only have got on with it, and what came meanwhile may have made the call needless.

pub mod array;
pub mod curves;
pub mod disk;
mod front;
mod slow;
pub mod ssd;

use std::collections::VecDeque;
use std::fmt::Debug;

use foretell_scenarios::{device, model};
use foretell_units::{Bytes, Op, Owner, Sectors, SimSpan, SimTime};

use crate::array::{Array, ArrayHits};
use crate::curves::Curves;
use crate::disk::{Disk, Io};
use crate::ledger::{Usage, Violation};
use crate::ssd::{Ssd, Written};

use front::Front;
pub(crate) use front::Inside;
use slow::Slow;

/// A storage device; `T` is what the caller needs to know when an operation is done.
#[derive(Debug)]
pub struct Device<T> {
    model: Box<dyn Model<T>>,
    calls: Calls<T>,
    /// If it may be slow at times.
    slow: Option<Box<Slow>>,
}

/// What each kind of device does.
pub trait Model<T>: Debug + Send {
    /// Adds an operation. Returns when to call [`Model::complete`], unless an earlier call is due.
    fn submit(&mut self, now: SimTime, io: Io<T>, calls: &mut Calls<T>) -> Option<SimTime>;
    /// Takes an operation that is done at `now`, if there is one. Called once for each time that was named.
    fn complete(&mut self, now: SimTime, calls: &mut Calls<T>) -> Completion<T>;
    /// Operations waiting or in service.
    fn present(&self) -> u64;
    /// Measuring begins.
    fn mark(&mut self, now: SimTime);
    /// What the device did since the mark.
    fn usage(&mut self, now: SimTime) -> Usage;
    /// Whether the operational laws hold at each of its queues.
    fn audit(&mut self, now: SimTime) -> Result<(), Violation>;

    /// This much will be told by [`Model::touch`], at the most.
    fn expect(&mut self, _bytes: Bytes) {}
    /// An operation was done before the simulation began: a device with caches remembers it, at no cost of time.
    fn touch(&mut self, _op: Op, _lbn: Sectors, _sectors: Sectors) {}
    /// What its caches did since the mark, if it is an array that has some.
    fn array_hits(&self) -> Option<ArrayHits> {
        None
    }
    /// What was written to flash since the mark, if there is any in it.
    fn flash(&self) -> Option<Written> {
        None
    }
    /// How the platters in it turn.
    #[cfg(test)]
    fn spins(&self) -> Vec<crate::disk::Spin> {
        Vec::new()
    }
}

/// Times at which a device is to be called, and what it has to tell then; for devices that do several things at a
/// time.
#[derive(Debug)]
pub struct Calls<T> {
    /// The earliest time that was named and has not come.
    call: Option<SimTime>,
    /// Operations that are done, but not told yet.
    told: VecDeque<Done<T>>,
    /// Scratch.
    pub(crate) done: Vec<Done<T>>,
}

/// An operation that is done.
#[derive(Clone, Copy, Debug)]
pub struct Done<T> {
    /// The operation.
    pub io: Io<T>,
    /// Service that it was given: of a disk, the time of its mechanism (of operations that were
    /// merged, the first has it all); of a solid-state drive, the
    /// time of dies that its pages take, without garbage collection; of a device by its curves, what a
    /// request takes where it serves most a second; of an array, the time of its
    /// interface and of the members' operations for which it waited.
    pub service: SimSpan,
}

/// What a call of [`Device::complete`] brings.
#[derive(Clone, Copy, Debug)]
pub struct Completion<T> {
    /// The operation that is done, if one is.
    pub done: Option<Done<T>>,
    /// When to call again; `None` if an earlier call is due or nothing waits.
    pub next: Option<SimTime>,
}

impl<T: Copy + Debug + Send + 'static> Device<T> {
    /// An idle device on the bench: whatever turns in it does so at nominal speed, and its turns begin
    /// with the first part. Two of a kind behave alike.
    pub fn new(spec: &model::Disk) -> Self {
        Self::of(spec, None)
    }

    /// An idle device of a cluster: at which angle and how fast its platters turn, and whose turn it is
    /// inside, is drawn from the owner's streams.
    pub fn installed(spec: &model::Disk, owner: &Owner) -> Self {
        Self::of(spec, Some(owner))
    }

    fn of(spec: &model::Disk, owner: Option<&Owner>) -> Self {
        let model: Box<dyn Model<T>> = match &spec.device {
            device::Device::Mechanical(_) | device::Device::Drive(_) => {
                let disk = owner.map(|owner| Disk::installed(spec, owner.stream("platter")));
                Box::new(disk.unwrap_or_else(|| Disk::new(spec)))
            }
            device::Device::Ssd(ssd) => {
                let mut drive = Ssd::new(ssd);
                if let Some(owner) = owner {
                    drive.begin_at_any_die(&mut owner.stream("flash"));
                }
                Box::new(Front::new(drive, ssd.queue_depth, spec.scheduler))
            }
            device::Device::Curves(curves) => {
                Box::new(Front::new(Curves::new(curves), curves.queue_depth, spec.scheduler))
            }
            device::Device::Array(array) => Box::new(match owner {
                Some(owner) => Array::installed(array, spec.scheduler, owner),
                None => Array::new(array, spec.scheduler),
            }),
            device::Device::Measured { .. } => panic!("its mechanics are not known"),
        };
        let calls = Calls { call: None, told: VecDeque::new(), done: Vec::new() };
        Self { model, calls, slow: None }
    }

    /// The same, which may be slow at times. What is named is then to be answered by a call as ever, and calls that
    /// were named before [`Device::slow_down`] change nothing.
    pub fn with_slow_times(mut self) -> Self {
        self.slow = Some(Box::default());
        self
    }

    /// Everything takes `factor` times as long from now on, 1: as long as ever; of a device with slow times. Returns when
    /// it is to be called, instead of at the times that it has named.
    pub fn slow_down(&mut self, now: SimTime, factor: f64) -> impl Iterator<Item = SimTime> {
        let slow = self.slow.as_mut().expect("it may be slow at times");
        let usage = self.model.usage(slow.own(now));
        slow.set(now, factor, usage)
    }

    /// This much will be told by [`Device::touch`], at the most.
    pub fn expect(&mut self, bytes: Bytes) {
        self.model.expect(bytes);
    }

    /// An operation was done before the simulation began: an array that is new remembers it in its
    /// caches, at no cost of time.
    pub fn touch(&mut self, op: Op, lbn: Sectors, sectors: Sectors) {
        self.model.touch(op, lbn, sectors);
    }

    /// Adds an operation. Returns when to call [`Device::complete`], unless an earlier call is due.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        let Some(slow) = &mut self.slow else {
            return self.model.submit(now, io, &mut self.calls);
        };
        slow.arrives(now);
        let next = self.model.submit(slow.own(now), io, &mut self.calls);
        slow.names(next)
    }

    /// Takes an operation that is done at `now`, if there is one. To be called once for each time
    /// that the device has named.
    pub fn complete(&mut self, now: SimTime) -> Completion<T> {
        let Some(slow) = &mut self.slow else {
            return self.model.complete(now, &mut self.calls);
        };
        if !slow.answers(now) {
            return Completion { done: None, next: None };
        }
        let found = self.model.complete(slow.own(now), &mut self.calls);
        slow.completes(now, found)
    }

    /// How the platters in it turn.
    #[cfg(test)]
    pub(crate) fn spins(&self) -> Vec<crate::disk::Spin> {
        self.model.spins()
    }

    /// Operations waiting or in service.
    pub fn present(&self) -> u64 {
        self.model.present()
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        let Some(slow) = &mut self.slow else { return self.model.mark(now) };
        slow.mark(now);
        self.model.mark(slow.own(now));
    }

    /// What the device did since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        let Some(slow) = &mut self.slow else { return self.model.usage(now) };
        let usage = self.model.usage(slow.own(now));
        slow.usage(now, &usage)
    }

    /// What its caches did since the mark, if it is an array that has some.
    pub fn array_hits(&self) -> Option<ArrayHits> {
        self.model.array_hits()
    }

    /// What was written to flash since the mark, if it is a solid-state drive or an array of some.
    pub fn flash(&self) -> Option<Written> {
        self.model.flash()
    }

    /// Whether the operational laws hold at each of its queues.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.model.audit(self.slow.as_ref().map_or(now, |slow| slow.own(now)))
    }
}

impl<T> Calls<T> {
    /// Tells of an operation that is done; of the others at further calls at the same time. `wake`: when the device
    /// wants to be called next.
    pub(crate) fn tell(&mut self, now: SimTime, wake: Option<SimTime>) -> Completion<T> {
        if self.call.is_some_and(|call| call <= now) {
            self.call = None;
        }
        self.told.extend(self.done.drain(..));
        let done = self.told.pop_front();
        let next = if self.told.is_empty() { wake } else { Some(now) };
        Completion { done, next: self.name(next) }
    }

    /// Names the time of a call, unless one is due by then.
    pub(crate) fn name(&mut self, at: Option<SimTime>) -> Option<SimTime> {
        let at = at?;
        if self.call.is_some_and(|call| call <= at) {
            return None;
        }
        self.call = Some(at);
        self.call
    }
}
