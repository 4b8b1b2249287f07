//! A disk array: equal members behind one controller with its caches.
//!
//! Modelled:
//!
//! - **layout** of RAID 0, 1, 1+0 and 5 (left-symmetric), and the operations on members that reads and
//!   writes take (`algorithms/src/array/plan.rs`): read-modify-write, reconstruct-write and full-stripe writes. Writes to the
//!   same stripe with parity are done one after the other. Of several copies, the one with the fewest
//!   operations is read;
//! - **volatile cache** of pages under any replacement policy: reads and writes enter it, and a read of
//!   cached pages needs no member. Sequential reads are read ahead as on a node (the window doubles up
//!   to `read_ahead`);
//! - **write cache** that keeps data without power: a write is done when its data are in the write cache and
//!   have also crossed the link to the volatile memory of the controller's other half. The write cache is
//!   destaged by stripes, the least recently written first, from a high mark down to a low one. Between the
//!   marks it can also be destaged at a pace that grows with its content (WOW's linear threshold). When it is
//!   full, writes wait. Without a write cache, a write is done when it is on the members;
//! - **controller**: an interface with a rate in each direction, and a fixed overhead for each operation
//!   that does not delay other operations.
//!
//! Left out: failed members, spares and rebuilding; the controller's processors as a bottleneck; taking old
//! data or parity from the cache; destaging by age or while members are idle (WOW's and AMP's refinements);
//! several arrays behind one controller. A page that was written in part counts as cached, as in a node's
//! cache. Destaging makes members busy, but does not count in the service time of any operation: a stripe
//! holds pages of several writers, and is often written more than once before it is destaged.
//!
//! Sources: Chen et al., RAID: High-Performance, Reliable Secondary Storage, ACM Computing Surveys 26
//! (1994); Gill & Modha, WOW: Wise Ordering for Writes, FAST 2005, for destaging by stripes and LRW; the
//! structure of the caches is that of IBM's DS8000 as its manuals describe it.

mod members;
mod parts;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

pub use foretell_algorithms::array::CacheHits;
use foretell_algorithms::array::{CacheSettings, Controller, Layout, WriteCacheSettings};
use foretell_algorithms::io_scheduler::Io;
use foretell_scenarios::device::{Array as Spec, ArrayCache};
use foretell_scenarios::model::Scheduler;
use foretell_units::{Bytes, Op, Owner, Sectors, SimSpan, SimTime};

use crate::device::{Calls, Completion, Done, Model};
use crate::ledger::{Ledger, Usage, Violation};
use crate::ssd::Written as Flash;

pub use members::MemberOps;
use parts::{Next, Parts};

/// An array; `T` is the caller's tag for an operation, returned when it is done.
#[derive(Debug)]
pub struct Array<T> {
    layout: Layout,
    controller: Controller,
    parts: Parts<T>,
    done: Vec<Done<T>>,
    ledger: Ledger,
    marked: SimTime,
}

/// Hits and misses in an array's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArrayHits {
    /// Reads.
    pub read: CacheHits,
    /// Writes into the write cache, if there is one.
    pub write: Option<CacheHits>,
}

fn cache(cache: &ArrayCache) -> CacheSettings {
    let policy = cache.policy.parse().expect("the scenario was checked");
    let &ArrayCache { size, page, read_ahead, .. } = cache;
    CacheSettings { policy, size, page, read_ahead }
}

fn write_cache(cache: &ArrayCache) -> Option<WriteCacheSettings> {
    let write = cache.write?;
    let marks = (write.low, write.high);
    Some(WriteCacheSettings { size: write.size, marks, destage: write.destage })
}

impl<T: Copy + Debug> Array<T> {
    /// An idle array on the bench, with empty caches. Its members serve waiting operations in the order
    /// of `scheduler`.
    pub fn new(spec: &Spec, scheduler: Scheduler) -> Self {
        Self::of(spec, scheduler, None)
    }

    /// The same array in a cluster: its members have their own random streams, named below those of
    /// `owner`.
    pub fn installed(spec: &Spec, scheduler: Scheduler, owner: &Owner) -> Self {
        Self::of(spec, scheduler, Some(owner))
    }

    fn of(spec: &Spec, scheduler: Scheduler, owner: Option<&Owner>) -> Self {
        let layout = spec.layout();
        let write = spec.cache.as_ref().and_then(write_cache);
        let cache = spec.cache.as_ref().map(cache);
        Self {
            layout,
            controller: Controller::new(layout, spec.members, cache.as_ref(), write.as_ref()),
            parts: Parts::new(spec, layout, scheduler, owner),
            done: Vec::new(),
            ledger: Ledger::default(),
            marked: SimTime::ZERO,
        }
    }

    /// Adds an operation. Returns when to call [`Array::complete`].
    ///
    /// `now` must not go backwards. Sectors beyond the end are replaced by the last one.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.run(now);
        self.ledger.arrive(now);
        let range = self.layout.range(io.lbn, io.sectors);
        let id = self.parts.arrives(now, io, range);
        if io.op == Op::Read {
            self.controller.read(now, id, range, io.thread, &mut self.parts);
        }
        self.wake(now)
    }

    /// Appends the operations that are done at `now` to `done`, in order. Returns when to call again;
    /// `None`: not before something is submitted.
    pub fn complete(&mut self, now: SimTime, done: &mut Vec<Done<T>>) -> Option<SimTime> {
        self.run(now);
        done.append(&mut self.done);
        self.wake(now)
    }

    /// Earliest time at which something may be done.
    fn wake(&self, now: SimTime) -> Option<SimTime> {
        if !self.done.is_empty() {
            return Some(now);
        }
        let at = self.parts.seen();
        (at != SimTime::MAX).then_some(at)
    }

    /// Processes all events up to `now`.
    fn run(&mut self, now: SimTime) {
        while let Some((at, next)) = self.parts.next(now) {
            match next {
                Next::JobDone(job) => {
                    self.controller.done(at, job.job, job.service, &mut self.parts);
                }
                Next::DataArrived { request, range, thread } => {
                    self.controller.write(at, request, range, thread, &mut self.parts);
                }
                Next::Leaves { io, arrived, service } => {
                    self.ledger.depart(at, arrived);
                    self.done.push(Done { io, service });
                }
                Next::Nothing => {}
            }
        }
    }

    /// Sectors that a host can address.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.layout.sectors())
    }

    /// Number of operations that members have done since the beginning.
    pub fn member_operations(&self) -> MemberOps {
        self.parts.members.operations()
    }

    /// Hits and misses in the caches since the mark; `None` without caches.
    pub fn hits(&self) -> Option<ArrayHits> {
        self.controller.hits().map(|(read, write)| ArrayHits { read, write })
    }

    /// Bytes in the write cache, including those being destaged.
    pub fn written(&self) -> Bytes {
        self.controller.written()
    }
}

impl<T: Copy + Debug + Send + 'static> Model<T> for Array<T> {
    fn submit(&mut self, now: SimTime, io: Io<T>, calls: &mut Calls<T>) -> Option<SimTime> {
        let wake = Self::submit(self, now, io);
        calls.name(wake)
    }

    fn complete(&mut self, now: SimTime, calls: &mut Calls<T>) -> Completion<T> {
        let wake = Self::complete(self, now, &mut calls.done);
        calls.tell(now, wake)
    }

    /// Number of operations waiting or in service.
    fn present(&self) -> u64 {
        self.ledger.present()
    }

    /// Measuring begins.
    fn mark(&mut self, now: SimTime) {
        self.run(now);
        self.ledger.mark(now);
        self.controller.mark();
        self.parts.mark(now);
        self.marked = now;
    }

    /// Usage of the array since the mark.
    ///
    /// Queue length and operations are those of hosts' operations. Utilization and busy time are those
    /// of the busiest part: the members (utilization on average, busy time summed), the interface in
    /// either direction, or the link to the other half.
    fn usage(&mut self, now: SimTime) -> Usage {
        self.run(now);
        let span = (now - self.marked).as_ns().max(1) as f64;
        let (mut count, mut utilization, mut busy) = (0.0, 0.0, SimSpan::ZERO);
        for member in self.parts.members.usage(now) {
            count += 1.0;
            utilization += member.utilization;
            busy += member.busy;
        }
        let mut busiest = (utilization / count, busy);
        for line in self.parts.lines() {
            let busy = line.busy_since_mark(now);
            let utilization = busy.as_ns() as f64 / span;
            if utilization > busiest.0 {
                busiest = (utilization, busy);
            }
        }
        Usage { utilization: busiest.0, busy: busiest.1, ..self.ledger.usage(now, 1) }
    }

    /// Whether the operational laws hold for hosts' operations and at each member.
    fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.run(now);
        self.ledger.audit(now, self.parts.present().map(|arrived| (arrived, None)))?;
        self.parts.members.audit(now)
    }

    /// Announces that [`Model::touch`] will be called for at most this number of bytes.
    fn expect(&mut self, bytes: Bytes) {
        self.controller.expect(bytes);
    }

    /// Updates the caches for an operation that was done before the simulation began; destaging takes no
    /// time. To be called before anything is submitted.
    fn touch(&mut self, op: Op, lbn: Sectors, sectors: Sectors) {
        self.controller.touch(SimTime::ZERO, op, self.layout.range(lbn, sectors));
    }

    fn array_hits(&self) -> Option<ArrayHits> {
        self.hits()
    }

    /// Bytes written to the flash of all members since the mark, if they have flash.
    fn flash(&self) -> Option<Flash> {
        self.parts.members.flash()
    }

    /// The rotations of its members' platters.
    #[cfg(test)]
    fn spins(&self) -> Vec<crate::disk::Spin> {
        self.parts.members.spins()
    }
}
