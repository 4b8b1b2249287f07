//! A storage device of any kind, as a node sees it.
//!
//! A device never sees the agenda. [`Device::submit`] and [`Device::complete`] name the time at
//! which the device is to be called again, and every time that is named must be answered by a call
//! of [`Device::complete`] then. Usually an operation is done; but a device with an inner life may
//! only have got on with it, and what came meanwhile may have made the call needless.

mod front;

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

/// A storage device; `T` is what the caller needs to know when an operation is done.
#[derive(Debug)]
pub struct Device<T> {
    kind: Kind<T>,
    /// The earliest time that was named and has not come.
    call: Option<SimTime>,
    /// Operations that are done, but not told yet.
    told: VecDeque<Done<T>>,
    /// Scratch.
    done: Vec<Done<T>>,
}

#[derive(Debug)]
enum Kind<T> {
    Disk(Box<Disk<T>>),
    Ssd(Box<Front<T, Ssd<u32>>>),
    Curves(Box<Front<T, Curves>>),
    Array(Box<Array<T>>),
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
        let kind = match &spec.device {
            device::Device::Mechanical(_) | device::Device::Drive(_) => {
                let disk = owner.map(|owner| Disk::installed(spec, owner.stream("platter")));
                Kind::Disk(Box::new(disk.unwrap_or_else(|| Disk::new(spec))))
            }
            device::Device::Ssd(ssd) => {
                let mut drive = Ssd::new(ssd);
                if let Some(owner) = owner {
                    drive.begin_at_any_die(&mut owner.stream("flash"));
                }
                let front = Front::new(drive, ssd.queue_depth, spec.scheduler);
                Kind::Ssd(Box::new(front))
            }
            device::Device::Curves(curves) => {
                let front = Front::new(Curves::new(curves), curves.queue_depth, spec.scheduler);
                Kind::Curves(Box::new(front))
            }
            device::Device::Array(array) => {
                let array = match owner {
                    Some(owner) => Array::installed(array, spec.scheduler, owner),
                    None => Array::new(array, spec.scheduler),
                };
                Kind::Array(Box::new(array))
            }
            device::Device::Measured { .. } => panic!("its mechanics are not known"),
        };
        Self { kind, call: None, told: VecDeque::new(), done: Vec::new() }
    }

    /// So much will be told by [`Device::touch`], at the most.
    pub fn expect(&mut self, bytes: Bytes) {
        if let Kind::Array(array) = &mut self.kind {
            array.expect(bytes);
        }
    }

    /// An operation was done before the simulation began: an array that is new remembers it in its
    /// caches, at no cost of time.
    pub fn touch(&mut self, op: Op, lbn: Sectors, sectors: Sectors) {
        if let Kind::Array(array) = &mut self.kind {
            array.touch(op, lbn, sectors);
        }
    }

    /// Adds an operation. Returns when to call [`Device::complete`], unless an earlier call is due.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        match &mut self.kind {
            Kind::Disk(disk) => disk.submit(now, io),
            Kind::Ssd(ssd) => {
                let wake = ssd.submit(now, io);
                self.name(wake)
            }
            Kind::Curves(curves) => {
                let wake = curves.submit(now, io);
                self.name(wake)
            }
            Kind::Array(array) => {
                let wake = array.submit(now, io);
                self.name(wake)
            }
        }
    }

    /// Takes an operation that is done at `now`, if there is one. To be called once for each time
    /// that the device has named.
    pub fn complete(&mut self, now: SimTime) -> Completion<T> {
        match &mut self.kind {
            Kind::Disk(disk) => {
                let completion = disk.complete(now);
                let done = completion.done.map(|done| Done { io: done.io, service: done.service });
                Completion { done, next: completion.next }
            }
            Kind::Ssd(ssd) => {
                let wake = ssd.complete(now, &mut self.done);
                self.tell(now, wake)
            }
            Kind::Curves(curves) => {
                let wake = curves.complete(now, &mut self.done);
                self.tell(now, wake)
            }
            Kind::Array(array) => {
                let wake = array.complete(now, &mut self.done);
                self.tell(now, wake)
            }
        }
    }

    /// Tells of an operation that is done; of the others at further calls at the same time.
    fn tell(&mut self, now: SimTime, wake: Option<SimTime>) -> Completion<T> {
        if self.call.is_some_and(|call| call <= now) {
            self.call = None;
        }
        self.told.extend(self.done.drain(..));
        let done = self.told.pop_front();
        let next = if self.told.is_empty() { wake } else { Some(now) };
        Completion { done, next: self.name(next) }
    }

    /// Names the time of a call, unless one is due by then.
    fn name(&mut self, at: Option<SimTime>) -> Option<SimTime> {
        let at = at?;
        if self.call.is_some_and(|call| call <= at) {
            return None;
        }
        self.call = Some(at);
        self.call
    }

    /// How the platters in it turn.
    #[cfg(test)]
    pub(crate) fn spins(&self) -> Vec<crate::disk::Spin> {
        match &self.kind {
            Kind::Disk(disk) => vec![disk.spin()],
            Kind::Array(array) => array.spins(),
            Kind::Ssd(_) | Kind::Curves(_) => Vec::new(),
        }
    }

    /// Operations waiting or in service.
    pub fn present(&self) -> u64 {
        match &self.kind {
            Kind::Disk(disk) => disk.present(),
            Kind::Ssd(ssd) => ssd.present(),
            Kind::Curves(curves) => curves.present(),
            Kind::Array(array) => array.present(),
        }
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        match &mut self.kind {
            Kind::Disk(disk) => disk.mark(now),
            Kind::Ssd(ssd) => ssd.mark(now),
            Kind::Curves(curves) => curves.mark(now),
            Kind::Array(array) => array.mark(now),
        }
    }

    /// What the device did since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        match &mut self.kind {
            Kind::Disk(disk) => disk.usage(now),
            Kind::Ssd(ssd) => ssd.usage(now),
            Kind::Curves(curves) => curves.usage(now),
            Kind::Array(array) => array.usage(now),
        }
    }

    /// What its caches did since the mark, if it is an array that has some.
    pub fn array_hits(&self) -> Option<ArrayHits> {
        match &self.kind {
            Kind::Disk(_) | Kind::Ssd(_) | Kind::Curves(_) => None,
            Kind::Array(array) => array.hits(),
        }
    }

    /// What was written to flash since the mark, if it is a solid-state drive or an array of some.
    pub fn flash(&self) -> Option<Written> {
        match &self.kind {
            Kind::Ssd(ssd) => Some(ssd.drive().written_since_mark()),
            Kind::Array(array) => array.flash(),
            Kind::Disk(_) | Kind::Curves(_) => None,
        }
    }

    /// Whether the operational laws hold at each of its queues.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        match &mut self.kind {
            Kind::Disk(disk) => disk.audit(now),
            Kind::Ssd(ssd) => ssd.audit(now),
            Kind::Curves(curves) => curves.audit(now),
            Kind::Array(array) => array.audit(now),
        }
    }
}
