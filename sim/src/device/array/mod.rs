//! A disk array: equal members behind one controller with its caches.
//!
//! Modelled:
//!
//! - **layout** of RAID 0, 1, 1+0 and 5 (left-symmetric), and the operations on members that reads and
//!   writes take (`plan.rs`): read-modify-write, reconstruct-write and full-stripe writes. Writes to the
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
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt::Debug;

pub use foretell_algorithms::array::CacheHits;
use foretell_algorithms::array::{Cache, CacheSettings, Layout, Marks, Missing, Range, Written};
use foretell_scenarios::device::{Array as Spec, ArrayCache};
use foretell_scenarios::model::Scheduler;
use foretell_units::{Bytes, Op, Owner, Rate, SECTOR_BYTES, Sectors, SimSpan, SimTime};

use crate::device::{Calls, Completion, Done, Model};
use crate::ledger::{Ledger, Usage, Violation};
use crate::ssd::Written as Flash;
use crate::ssd::line::Line;
use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;

pub use members::MemberOps;
use members::{JobDone, Members};

/// Index of the interface to the array; also that of writes.
const TO: usize = 0;
/// Index of the interface from the array; also that of reads.
const FROM: usize = 1;

/// An array; `T` is the caller's tag for an operation, returned when it is done.
#[derive(Debug)]
pub struct Array<T> {
    layout: Layout,
    members: Members,
    rate: Rate,
    overhead: SimSpan,
    cache: Option<Cache>,
    /// Present only with a cache.
    write_cache: Option<WriteCache>,
    interface: [Line; 2],
    requests: Slab<Request<T>>,
    /// Written data on their way from the host, in order.
    arrivals: VecDeque<(SimTime, u32)>,
    /// Writes whose second copy is on its way, in order.
    mirroring: VecDeque<(SimTime, u32)>,
    /// Operations with a known time of completion: writes and reads, each in order.
    leaving: [VecDeque<(SimTime, u32)>; 2],
    /// Purpose of each job of the members, by job number.
    purposes: Vec<Purpose>,
    done: Vec<Done<T>>,
    ledger: Ledger,
    marked: SimTime,
    /// Scratch.
    missing: Vec<Missing>,
    awaited: Vec<u32>,
    ranges: Vec<Range>,
}

/// Hits and misses in an array's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArrayHits {
    /// Reads.
    pub read: CacheHits,
    /// Writes into the write cache, if there is one.
    pub write: Option<CacheHits>,
}

/// The write cache, with its marks, its link and its waiting writes.
#[derive(Debug)]
struct WriteCache {
    written: Written,
    marks: Marks,
    mirror: Line,
    mirror_rate: Rate,
    /// Stripes that are being destaged.
    destages: u32,
    /// Writes that wait for room in the write cache.
    blocked: VecDeque<u32>,
}

impl WriteCache {
    /// How many stripes should be in destaging now.
    fn wanted_destages(&self) -> u32 {
        self.marks.wanted(self.written.waiting(), !self.blocked.is_empty())
    }
}

/// The purpose of a members' job.
#[derive(Clone, Debug)]
enum Purpose {
    /// It fetches data. `ticket`: the cache's ticket if the data enter the cache; `waiting`: reads that
    /// wait for the data.
    Fetch { ticket: Option<u32>, waiting: Vec<u32> },
    /// It writes the data of a request through to the members.
    Store { request: u32 },
    /// It destages this number of pages from the write cache.
    Destage { pages: u64 },
}

/// Stores the purpose of a job; jobs are numbered densely.
fn is_for(purposes: &mut Vec<Purpose>, job: u32, purpose: Purpose) {
    let job = job as usize;
    if job == purposes.len() {
        purposes.push(purpose);
    } else {
        purposes[job] = purpose;
    }
}

/// An operation in the array.
#[derive(Clone, Copy, Debug)]
struct Request<T> {
    io: Io<T>,
    arrived: SimTime,
    /// The operation's sectors.
    range: Range,
    /// Number of jobs that it still waits for.
    waits: u32,
    service: SimSpan,
    /// Whether this slot is in use; slots are reused.
    live: bool,
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
        let write_cache = spec.cache.as_ref().and_then(|cache| {
            let write = cache.write?;
            let pages = |bytes: Bytes| bytes.get() / cache.page.get();
            let stripe = pages(Bytes(layout.stripe() * SECTOR_BYTES));
            let marks = (pages(write.low), pages(write.high));
            Some(WriteCache {
                written: Written::new(pages(write.size), stripe),
                marks: Marks::new(write.destage, marks, spec.members),
                mirror: Line::default(),
                mirror_rate: write.mirror_rate,
                destages: 0,
                blocked: VecDeque::new(),
            })
        });
        let sectors = layout.sectors();
        let cache = |cache: &ArrayCache| {
            let policy = cache.policy.parse().expect("the scenario was checked");
            let &ArrayCache { size, page, read_ahead, .. } = cache;
            Cache::new(&CacheSettings { policy, size, page, read_ahead }, sectors)
        };
        Self {
            layout,
            members: Members::new(spec, layout, scheduler, owner),
            rate: spec.rate,
            overhead: spec.overhead,
            cache: spec.cache.as_ref().map(cache),
            write_cache,
            interface: [Line::default(); 2],
            requests: Slab::new(),
            arrivals: VecDeque::new(),
            mirroring: VecDeque::new(),
            leaving: [VecDeque::new(), VecDeque::new()],
            purposes: Vec::new(),
            done: Vec::new(),
            ledger: Ledger::default(),
            marked: SimTime::ZERO,
            missing: Vec::new(),
            awaited: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// The sectors of an operation; sectors beyond the end are replaced by the last one.
    fn range(&self, lbn: Sectors, sectors: Sectors) -> Range {
        let last = self.layout.sectors();
        let first = lbn.get().min(last - 1);
        (first, (first + sectors.get().max(1)).min(last))
    }

    /// Adds an operation. Returns when to call [`Array::complete`].
    ///
    /// `now` must not go backwards. Sectors beyond the end are replaced by the last one.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.run(now);
        self.ledger.arrive(now);
        let range = self.range(io.lbn, io.sectors);
        let id = self.requests.insert(Request {
            io,
            arrived: now,
            range,
            waits: 0,
            service: SimSpan::ZERO,
            live: true,
        });
        match io.op {
            Op::Read => self.read(now, id),
            Op::Write => {
                let at = self.transfer(now, id, TO);
                self.arrivals.push_back((at, id));
            }
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
        let [leaves, arrival, mirrored, call] = self.nexts();
        let inside = arrival.min(mirrored).min(call);
        // a host sees any event inside the array only after the overhead
        let seen = if inside == SimTime::MAX { inside } else { inside + self.overhead };
        let at = leaves.min(seen);
        (at != SimTime::MAX).then_some(at)
    }

    /// Times of the next events: an operation is done; written data arrive; written data are in the
    /// other half; a member must be called.
    fn nexts(&self) -> [SimTime; 4] {
        let front = |queue: &VecDeque<(SimTime, u32)>| queue.front().map_or(SimTime::MAX, |f| f.0);
        let leaves = front(&self.leaving[TO]).min(front(&self.leaving[FROM]));
        [leaves, front(&self.arrivals), front(&self.mirroring), self.members.next_call()]
    }

    /// Processes all events up to `now`.
    fn run(&mut self, now: SimTime) {
        loop {
            let [leaves, arrival, mirrored, call] = self.nexts();
            let next = leaves.min(arrival).min(mirrored).min(call);
            if next > now || next == SimTime::MAX {
                return;
            }
            if call == next {
                if let Some(job) = self.members.call() {
                    self.job_done(next, job);
                }
            } else if arrival == next {
                let (_, id) = self.arrivals.pop_front().expect("it is there");
                self.arrives(next, id);
            } else if mirrored == next {
                let (_, id) = self.mirroring.pop_front().expect("it is there");
                self.leaving[TO].push_back((next + self.overhead, id));
            } else {
                self.leaves(next);
            }
        }
    }

    /// Books the interface for the data of a request. Returns when the transfer ends.
    fn transfer(&mut self, now: SimTime, id: u32, direction: usize) -> SimTime {
        let request = &mut self.requests[id];
        let (first, end) = request.range;
        let span = self.rate.time_for(Bytes((end - first) * SECTOR_BYTES));
        request.service += span;
        self.interface[direction].book(now, span)
    }

    fn read(&mut self, now: SimTime, id: u32) {
        let Request { io, range, .. } = self.requests[id];
        let Some(cache) = &mut self.cache else {
            let job = self.members.read(now, range, io.thread);
            self.requests[id].waits = 1;
            is_for(&mut self.purposes, job, Purpose::Fetch { ticket: None, waiting: vec![id] });
            return;
        };
        let written = self.write_cache.as_ref().map(|write| &write.written);
        self.missing.clear();
        self.awaited.clear();
        let ahead = cache.read(range, written, &mut self.missing, &mut self.awaited);
        let waits = self.awaited.len() + self.missing.len();
        self.requests[id].waits = waits as u32;
        for job in &self.awaited {
            match &mut self.purposes[*job as usize] {
                Purpose::Fetch { waiting, .. } => waiting.push(id),
                other => unreachable!("{other:?} brings no pages"),
            }
        }
        self.fetch(now, io.thread, Some(id));
        if waits == 0 {
            self.send(now, id);
        }
        if let Some(ahead) = ahead {
            let cache = self.cache.as_mut().expect("it was read");
            let written = self.write_cache.as_ref().map(|write| &write.written);
            self.missing.clear();
            cache.read_ahead(ahead, written, &mut self.missing);
            self.fetch(now, io.thread, None);
        }
    }

    /// Starts the jobs that fetch missing data; the request waits for them if one is given.
    fn fetch(&mut self, now: SimTime, thread: u64, id: Option<u32>) {
        let missing = std::mem::take(&mut self.missing);
        for missing in &missing {
            let job = self.members.read(now, missing.range, thread);
            let cache = self.cache.as_mut().expect("something was missing in it");
            let ticket = Some(cache.fetching(missing, job));
            is_for(
                &mut self.purposes,
                job,
                Purpose::Fetch { ticket, waiting: id.into_iter().collect() },
            );
        }
        self.missing = missing;
    }

    /// The data of a read are in the controller and start their transfer to the host.
    fn send(&mut self, now: SimTime, id: u32) {
        let at = self.transfer(now, id, FROM);
        self.leaving[FROM].push_back((at + self.overhead, id));
    }

    /// The data of a write are in the controller.
    fn arrives(&mut self, now: SimTime, id: u32) {
        if let Some(write) = &mut self.write_cache {
            write.blocked.push_back(id);
            if write.blocked.len() == 1 {
                self.unblock(now);
            }
            return;
        }
        let Request { io, range, .. } = self.requests[id];
        if let Some(cache) = &mut self.cache {
            cache.enter(now, range);
        }
        let stripe = self.layout.stripe();
        let (mut from, end) = range;
        while from < end {
            let number = from / stripe;
            let until = end.min((number + 1) * stripe);
            let range = (from - number * stripe, until - number * stripe);
            let job = self.members.write(now, number, &[range], io.thread);
            is_for(&mut self.purposes, job, Purpose::Store { request: id });
            self.requests[id].waits += 1;
            from = until;
        }
    }

    /// Admits waiting writes to the write cache, in order, as long as there is room.
    fn unblock(&mut self, now: SimTime) {
        let (Some(write), Some(cache)) = (&mut self.write_cache, &mut self.cache) else { return };
        while let Some(&id) = write.blocked.front() {
            let range = self.requests[id].range;
            let run = cache.run(range);
            if !write.written.write(run.first.index(), u64::from(run.pages)) {
                break;
            }
            write.blocked.pop_front();
            cache.enter(now, range);
            let bytes = Bytes((range.1 - range.0) * SECTOR_BYTES);
            let at = write.mirror.book(now, write.mirror_rate.time_for(bytes));
            self.mirroring.push_back((at, id));
        }
        self.destage(now);
    }

    /// Starts destaging stripes until the wanted number is in progress.
    fn destage(&mut self, now: SimTime) {
        let (Some(write), Some(cache)) = (&mut self.write_cache, &self.cache) else { return };
        write.marks.look(write.written.waiting());
        while write.destages < write.wanted_destages() {
            self.ranges.clear();
            let Some((stripe, pages)) = write.written.take_oldest(&mut self.ranges) else { break };
            let page = cache.page();
            for range in &mut self.ranges {
                *range = (range.0 * page, range.1 * page);
            }
            let job = self.members.write(now, stripe, &self.ranges, 0);
            write.destages += 1;
            is_for(&mut self.purposes, job, Purpose::Destage { pages });
        }
    }

    fn job_done(&mut self, now: SimTime, JobDone { job, service }: JobDone) {
        match &mut self.purposes[job as usize] {
            Purpose::Fetch { ticket, waiting } => {
                if let (Some(ticket), Some(cache)) = (ticket.take(), &mut self.cache) {
                    cache.arrived(ticket);
                }
                let waiting = std::mem::take(waiting);
                // the jobs' service is charged to the first request only: others wait for the same data
                if let Some(&first) = waiting.first() {
                    self.requests[first].service += service;
                }
                for id in waiting {
                    self.requests[id].waits -= 1;
                    if self.requests[id].waits == 0 {
                        self.send(now, id);
                    }
                }
            }
            Purpose::Store { request } => {
                let id = *request;
                let request = &mut self.requests[id];
                request.service += service;
                request.waits -= 1;
                if request.waits == 0 {
                    self.leaving[TO].push_back((now + self.overhead, id));
                }
            }
            Purpose::Destage { pages } => {
                let pages = *pages;
                let write = self.write_cache.as_mut().expect("it was destaged from it");
                write.written.destaged(pages);
                write.destages -= 1;
                self.unblock(now);
            }
        }
    }

    /// An operation is done for the host.
    fn leaves(&mut self, now: SimTime) {
        let front = |queue: &VecDeque<(SimTime, u32)>| queue.front().map_or(SimTime::MAX, |f| f.0);
        let queue = usize::from(front(&self.leaving[TO]) > front(&self.leaving[FROM]));
        let (at, id) = self.leaving[queue].pop_front().expect("it is there");
        assert_eq!(at, now);
        let request = self.requests.remove(id);
        assert!(std::mem::replace(&mut request.live, false) && request.waits == 0);
        let Request { io, arrived, service, .. } = *request;
        self.ledger.depart(now, arrived);
        self.done.push(Done { io, service });
    }

    /// Sectors that a host can address.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.layout.sectors())
    }

    /// Number of operations that members have done since the beginning.
    pub fn member_operations(&self) -> MemberOps {
        self.members.operations()
    }

    /// Hits and misses in the caches since the mark; `None` without caches.
    pub fn hits(&self) -> Option<ArrayHits> {
        let write = self.write_cache.as_ref().map(|write| write.written.hits());
        self.cache.as_ref().map(|cache| ArrayHits { read: cache.hits(), write })
    }

    /// Bytes in the write cache, including those being destaged.
    pub fn written(&self) -> Bytes {
        match (&self.cache, &self.write_cache) {
            (Some(cache), Some(write)) => Bytes(write.written.held() * cache.page() * SECTOR_BYTES),
            _ => Bytes::ZERO,
        }
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
        self.members.mark(now);
        if let Some(cache) = &mut self.cache {
            cache.mark();
        }
        if let Some(write) = &mut self.write_cache {
            write.written.mark();
        }
        let mirror = self.write_cache.iter_mut().map(|write| &mut write.mirror);
        self.interface.iter_mut().chain(mirror).for_each(|line| line.mark(now));
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
        for member in self.members.usage(now) {
            count += 1.0;
            utilization += member.utilization;
            busy += member.busy;
        }
        let mut busiest = (utilization / count, busy);
        let mirror = self.write_cache.iter().map(|write| &write.mirror);
        for line in self.interface.iter().chain(mirror) {
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
        let live = self.requests.places().filter(|request| request.live);
        self.ledger.audit(now, live.map(|request| (request.arrived, None)))?;
        self.members.audit(now)
    }

    /// Announces that [`Model::touch`] will be called for at most this number of bytes.
    fn expect(&mut self, bytes: Bytes) {
        if let Some(cache) = &mut self.cache {
            cache.expect(bytes);
        }
    }

    /// Updates the caches for an operation that was done before the simulation began; destaging takes no
    /// time. To be called before anything is submitted.
    fn touch(&mut self, op: Op, lbn: Sectors, sectors: Sectors) {
        let range = self.range(lbn, sectors);
        let Some(cache) = &mut self.cache else { return };
        if op == Op::Read {
            cache.touch(range);
            return;
        }
        cache.enter(SimTime::ZERO, range);
        let Some(write) = &mut self.write_cache else { return };
        let run = cache.run(range);
        write.written.write(run.first.index(), u64::from(run.pages));
        while write.written.waiting() > write.marks.high() {
            self.ranges.clear();
            let Some((_, pages)) = write.written.take_oldest(&mut self.ranges) else { break };
            write.written.destaged(pages);
        }
    }

    fn array_hits(&self) -> Option<ArrayHits> {
        self.hits()
    }

    /// Bytes written to the flash of all members since the mark, if they have flash.
    fn flash(&self) -> Option<Flash> {
        self.members.flash()
    }

    /// The rotations of its members' platters.
    #[cfg(test)]
    fn spins(&self) -> Vec<crate::disk::Spin> {
        self.members.spins()
    }
}
