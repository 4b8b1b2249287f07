//! A storage device of any kind, as a node sees it.
//!
//! A device does not schedule events itself. [`Device::submit`] and [`Device::complete`] return the time of
//! the next call, and the caller must call [`Device::complete`] at every time returned. Usually an operation
//! is done at that call. But a device with internal steps may do just one of these steps, and later arrivals
//! can make the call unnecessary.

pub mod array;
pub mod curves;
pub mod disk;
mod flushes;
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

pub use flushes::Flushes;
use front::Front;
pub(crate) use front::Inside;
use slow::Slow;

/// A storage device; `T` is the caller's tag for an operation, returned when it is done.
#[derive(Debug)]
pub struct Device<T> {
    model: Box<dyn Model<T>>,
    calls: Calls<T>,
    /// Present if the device may be slow at times.
    slow: Option<Box<Slow>>,
}

/// The interface of every kind of device.
pub trait Model<T>: Debug + Send {
    /// Adds an operation. Returns when to call [`Model::complete`], unless an earlier call is still to come.
    fn submit(&mut self, now: SimTime, io: Io<T>, calls: &mut Calls<T>) -> Option<SimTime>;
    /// Returns an operation that is done at `now`, if there is one. Called once for each time that was returned.
    fn complete(&mut self, now: SimTime, calls: &mut Calls<T>) -> Completion<T>;
    /// Operations waiting or in service.
    fn present(&self) -> u64;
    /// Measuring begins.
    fn mark(&mut self, now: SimTime);
    /// Usage of the device since the mark.
    fn usage(&mut self, now: SimTime) -> Usage;
    /// Whether the operational laws hold at each of its queues.
    fn audit(&mut self, now: SimTime) -> Result<(), Violation>;

    /// Announces that [`Model::touch`] will be called for at most this number of bytes.
    fn expect(&mut self, _bytes: Bytes) {}
    /// An operation was done before the simulation began. It takes no time; a device with caches updates
    /// them.
    fn touch(&mut self, _op: Op, _lbn: Sectors, _sectors: Sectors) {}
    /// Hits and misses in its caches since the mark, if it is an array with caches.
    fn array_hits(&self) -> Option<ArrayHits> {
        None
    }
    /// Bytes written to flash since the mark, if it has flash.
    fn flash(&self) -> Option<Written> {
        None
    }
    /// The rotations of its platters.
    #[cfg(test)]
    fn spins(&self) -> Vec<crate::disk::Spin> {
        Vec::new()
    }
}

/// The calls that a device has asked for, and the finished operations to return then; for devices that serve several
/// operations at a time.
#[derive(Debug)]
pub struct Calls<T> {
    /// The earliest requested call that is still to come.
    call: Option<SimTime>,
    /// Operations that are done, but not yet returned.
    unreturned: VecDeque<Done<T>>,
    /// Scratch.
    pub(crate) done: Vec<Done<T>>,
}

/// An operation that is done.
#[derive(Clone, Copy, Debug)]
pub struct Done<T> {
    /// The operation.
    pub io: Io<T>,
    /// Service time of the operation. For a disk: the time of its mechanism (if operations were merged, the
    /// whole time counts for the first). For a solid-state drive: the time of dies that its pages take,
    /// without garbage collection. For a device modelled by its curves: the time of a request at the highest
    /// throughput. For an array: the time of its interface and of the members' operations for which it
    /// waited.
    pub service: SimSpan,
}

/// The result of a call of [`Device::complete`].
#[derive(Clone, Copy, Debug)]
pub struct Completion<T> {
    /// The operation that is done, if one is.
    pub done: Option<Done<T>>,
    /// When to call again; `None` if an earlier call is still to come or nothing waits.
    pub next: Option<SimTime>,
}

impl<T: Copy + Debug + Send + 'static> Device<T> {
    /// An idle device on the bench: its platters turn at nominal speed, and round-robin choices inside it begin with
    /// the first part. Two of a kind behave alike.
    pub fn new(spec: &model::Disk) -> Self {
        Self::of(spec, None)
    }

    /// An idle device of a cluster: the angle and speed of its platters, and the first of its round-robin choices, are
    /// drawn from the owner's random streams.
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
                let front = Front::new(Curves::new(curves), curves.queue_depth, spec.scheduler);
                Box::new(front.with_flushes(curves.flush))
            }
            device::Device::Array(array) => Box::new(match owner {
                Some(owner) => Array::installed(array, spec.scheduler, owner),
                None => Array::new(array, spec.scheduler),
            }),
            device::Device::Measured { .. } => panic!("its mechanics are not known"),
        };
        let calls = Calls { call: None, unreturned: VecDeque::new(), done: Vec::new() };
        Self { model, calls, slow: None }
    }

    /// The same device, which may be slow at times. The caller must still call it at every time returned.
    /// Calls that were requested before [`Device::slow_down`] have no effect.
    pub fn with_slow_times(mut self) -> Self {
        self.slow = Some(Box::default());
        self
    }

    /// From now on everything takes `factor` times as long as normal, for a device with slow times. Returns when to
    /// call it, instead of at the times returned before.
    pub fn slow_down(&mut self, now: SimTime, factor: f64) -> impl Iterator<Item = SimTime> {
        let slow = self.slow.as_mut().expect("it may be slow at times");
        let usage = self.model.usage(slow.own(now));
        slow.set(now, factor, usage)
    }

    /// Announces that [`Device::touch`] will be called for at most this number of bytes.
    pub fn expect(&mut self, bytes: Bytes) {
        self.model.expect(bytes);
    }

    /// An operation was done before the simulation began: a new array updates its caches, and it takes no time.
    pub fn touch(&mut self, op: Op, lbn: Sectors, sectors: Sectors) {
        self.model.touch(op, lbn, sectors);
    }

    /// Adds an operation. Returns when to call [`Device::complete`], unless an earlier call is still to come.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        let Some(slow) = &mut self.slow else {
            return self.model.submit(now, io, &mut self.calls);
        };
        slow.arrives(now);
        let next = self.model.submit(slow.own(now), io, &mut self.calls);
        slow.names(next)
    }

    /// Returns an operation that is done at `now`, if there is one. To be called once for each time that the device has
    /// returned.
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

    /// The rotations of its platters.
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

    /// Usage of the device since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        let Some(slow) = &mut self.slow else { return self.model.usage(now) };
        let usage = self.model.usage(slow.own(now));
        slow.usage(now, &usage)
    }

    /// Hits and misses in its caches since the mark, if it is an array with caches.
    pub fn array_hits(&self) -> Option<ArrayHits> {
        self.model.array_hits()
    }

    /// Bytes written to flash since the mark, if it is a solid-state drive or an array of such drives.
    pub fn flash(&self) -> Option<Written> {
        self.model.flash()
    }

    /// Whether the operational laws hold at each of its queues.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.model.audit(self.slow.as_ref().map_or(now, |slow| slow.own(now)))
    }
}

impl<T> Calls<T> {
    /// Returns one operation that is done; the others are returned at further calls at the same time. `wake`: when the
    /// device must be called next.
    pub(crate) fn tell(&mut self, now: SimTime, wake: Option<SimTime>) -> Completion<T> {
        if self.call.is_some_and(|call| call <= now) {
            self.call = None;
        }
        self.unreturned.extend(self.done.drain(..));
        let done = self.unreturned.pop_front();
        let next = if self.unreturned.is_empty() { wake } else { Some(now) };
        Completion { done, next: self.name(next) }
    }

    /// Records and returns the time of a call, unless an earlier call is still to come.
    pub(crate) fn name(&mut self, at: Option<SimTime>) -> Option<SimTime> {
        let at = at?;
        if self.call.is_some_and(|call| call <= at) {
            return None;
        }
        self.call = Some(at);
        self.call
    }
}
