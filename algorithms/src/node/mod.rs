//! The software of a storage node: buffer cache, NVRAM, flusher, and placement of pages on the disks.
//!
//! A read waits for the disk reads of its missing pages. A write dirties pages and is done, unless
//! too many pages are already dirty or the cache writes through. A page that a write covers in part
//! and that is not in the cache is read first, except in a log. The flusher starts when the dirty
//! pages exceed the background limit or a page has been dirty for too long. It takes the oldest
//! pages with their neighbours. A timer that runs from the host's start looks for old pages, as
//! Linux's periodic write-back did (`wb_timer` of `mm/page-writeback.c` up to 2.6.31), so each node
//! has its own phase. With NVRAM the same pages survive a power cut, and the dirty limit is its
//! size. Without a cache (`NodeSettings::cache` is zero) each access goes directly to the disks. The
//! software runs on a [`Machine`], which has the clock and the disks. Left out: metadata, journals,
//! failures.

mod address;
mod buffer;
mod read_ahead;

use std::collections::VecDeque;

use foretell_units::{
    Beat, Breadcrumb, Bytes, Op, SECTOR_BYTES, Sectors, SimSpan, SimTime, Thread,
};
use smallvec::SmallVec;

use crate::cache::PolicyKind;
use crate::slab::Slab;

pub use address::{AddressSpace, Extent};
pub use buffer::{Buffer, Effects, Owner, PageKey, Run};
pub use read_ahead::Streams;

/// In place of a workload: a node's own activity, which no client's request caused.
pub const NO_CLIENT: u32 = u32::MAX;
/// The kernel's flusher thread.
pub const FLUSHER: Thread = Thread { pid: 2, tid: 1 };
/// Maximum bytes that the flusher writes in one operation in the in-place layout.
const CLUSTER: Bytes = Bytes::kib(128);
/// Maximum outstanding flushes per disk, at which the flusher waits.
const FLUSHES_PER_DISK: u32 = 16;

/// The number of things that a blocked write waits for: room, and perhaps the reads of its first
/// and last page. Those that it turns out not to need are completed together with the room.
const BLOCKED: u32 = 3;

/// When a node acknowledges a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePolicy {
    /// When it is in the cache (or in NVRAM, if fitted).
    Back,
    /// When the disk reports it written (perhaps from its own buffer, see `early_write`).
    Through,
}

impl WritePolicy {
    /// As scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Back => "back",
            Self::Through => "through",
        }
    }
}

/// Settings of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeSettings {
    /// Replacement policy of the cache.
    pub policy: PolicyKind,
    /// Memory for pages, rounded up to at least one page. Zero: no cache.
    pub cache: Bytes,
    /// Size of a page.
    pub page: Bytes,
    /// When a write is acknowledged.
    pub write: WritePolicy,
    /// Dirty bytes above which the flusher starts.
    pub dirty_background: Bytes,
    /// Dirty bytes above which writers wait.
    pub dirty_limit: Bytes,
    /// Age at which a dirty page is always flushed.
    pub dirty_expire: SimSpan,
    /// Interval at which the flusher looks for old pages.
    pub flush_interval: SimSpan,
    /// Maximum read-ahead of a sequential stream; zero: no read-ahead.
    pub read_ahead: Bytes,
    /// Number of disks, at least one.
    pub disks: u32,
    /// Capacity of the smallest disk.
    pub disk_capacity: Bytes,
    /// Bytes of a file on one disk before the next disk follows.
    pub stripe: Bytes,
    /// Bytes written in one disk operation in the log-structured layout; `None`: in place.
    pub log_segment: Option<Bytes>,
}

/// The machine that the node's software runs on: its clock, its disks, and its observers.
pub trait Machine {
    /// The current time.
    fn now(&self) -> SimTime;
    /// A thread does something on behalf of a request.
    fn note(&mut self, thread: Thread, breadcrumb: Breadcrumb, note: Note);
    /// Starts an operation of a disk. [`Node::disk_done`] must be called with its number when it is done.
    fn start(&mut self, number: u32, operation: &DiskOperation);
    /// [`Node::flush_tick`] must be called at this time.
    fn tick(&mut self, at: SimTime);
}

/// What a node's cache did with part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It was requested and in the cache.
    ReadHit(FileExtent),
    /// It was requested and not in the cache.
    ReadMiss(FileExtent),
    /// It was written.
    Write(FileExtent),
    /// It is read ahead.
    ReadAhead {
        /// Whole pages.
        at: FileExtent,
        /// Bytes of a page.
        page: u32,
    },
    /// It was dirty and is written to disk.
    Flush(FileExtent),
    /// It left the cache.
    Evict(FileExtent),
}

/// Consecutive bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileExtent {
    /// Which file.
    pub file: u32,
    /// The first byte.
    pub offset: u64,
    /// Number of bytes.
    pub size: u32,
}

/// A client's access to a node's file.
#[derive(Clone, Copy, Debug)]
pub struct FileAccess {
    /// The caller's number of this access, which is reported when it is done.
    pub leg: u32,
    /// Direction.
    pub op: Op,
    /// Which file.
    pub file: u32,
    /// The first byte.
    pub offset: Bytes,
    /// Number of bytes.
    pub size: Bytes,
    /// The request that it is part of.
    pub breadcrumb: Breadcrumb,
    /// The thread that serves it.
    pub thread: Thread,
    /// The workload, or [`NO_CLIENT`] for work that no client's request caused.
    pub workload: u32,
    /// The reader on whose behalf it is. Disk schedulers that serve threads in turn use it.
    pub reader: u64,
}

impl FileAccess {
    fn owner(&self) -> Owner {
        Owner { breadcrumb: self.breadcrumb, workload: self.workload }
    }
}

/// A storage node.
#[derive(Clone, Debug)]
pub struct Node {
    buffer: Buffer,
    effects: Effects,
    streams: Streams,
    addresses: AddressSpace,
    file_pages: Vec<u64>,
    disks: u32,
    operations: Slab<Operation>,
    /// Whether there is a cache at all.
    cached: bool,
    write: WritePolicy,
    /// Background limit and dirty limit, in pages.
    background: u64,
    limit: u64,
    dirty_expire: SimSpan,
    /// When the flusher looks for old pages.
    flusher: Beat,
    /// Pages being written to disk.
    unstable: u64,
    flushes: u32,
    ticking: bool,
    blocked: VecDeque<FileAccess>,
    owners: Vec<(Run, Owner)>,
    batch: Vec<PageKey>,
    hits: HitCounts,
}

/// An operation of a disk, as seen from outside the software.
#[derive(Clone, Copy, Debug)]
pub struct DiskOperation {
    /// Which of the node's disks.
    pub disk: u32,
    /// First sector.
    pub lbn: Sectors,
    /// Bytes.
    pub size: Bytes,
    /// Direction.
    pub op: Op,
    /// The request that caused it.
    pub breadcrumb: Breadcrumb,
    /// The workload, or [`NO_CLIENT`] for work that no client's request caused.
    pub workload: u32,
    /// The thread that started it.
    pub thread: Thread,
    /// The reader on whose behalf it reads; 0 for a write.
    pub reader: u64,
}

/// An outstanding disk operation.
#[derive(Clone, Debug)]
struct Operation {
    what: DiskOperation,
    run: Run,
    /// Legs that wait for it.
    waiters: SmallVec<[u32; 4]>,
    /// The buffer's ticket for a read; `None`: a flush, or an operation without a cache.
    ticket: Option<u32>,
    /// Whether it bypasses the cache.
    direct: bool,
}

impl Operation {
    /// An access's operation at a place; `waits`: whether the access's leg waits for it.
    fn of(access: &FileAccess, op: Op, run: Run, place: Extent, waits: bool) -> Self {
        let what = DiskOperation {
            disk: place.disk,
            lbn: place.lbn,
            size: place.bytes,
            op,
            breadcrumb: access.breadcrumb,
            workload: access.workload,
            thread: access.thread,
            reader: access.reader,
        };
        let waiters = waits.then_some(access.leg).into_iter().collect();
        Self { what, run, waiters, ticket: None, direct: false }
    }
}

/// The outstanding work of a node that was set aside.
#[derive(Clone, Debug)]
pub struct SetAside {
    background: u64,
    unstable: u64,
    flushes: u32,
    blocked: VecDeque<FileAccess>,
}

/// Pages requested by reads, and those that were hits.
#[derive(Clone, Default, Debug)]
pub struct HitCounts {
    /// By workload: (pages, hits).
    by_workload: Vec<(u64, u64)>,
}

impl HitCounts {
    /// Counts requested pages of a workload, and the hits among them.
    pub fn add(&mut self, workload: u32, pages: u64, hits: u64) {
        // reads of nodes for each other belong to no workload
        if workload == NO_CLIENT {
            return;
        }
        let workload = workload as usize;
        if workload >= self.by_workload.len() {
            self.by_workload.resize(workload + 1, (0, 0));
        }
        self.by_workload[workload].0 += pages;
        self.by_workload[workload].1 += hits;
    }

    /// (pages, hits) of a workload.
    pub fn of(&self, workload: usize) -> (u64, u64) {
        self.by_workload.get(workload).copied().unwrap_or_default()
    }

    /// (pages, hits) of all workloads.
    pub fn all(&self) -> (u64, u64) {
        self.by_workload.iter().fold((0, 0), |(pages, hits), &(p, h)| (pages + p, hits + h))
    }
}

impl Node {
    /// `file_sizes`: what each file needs on this node; zero if the node holds none of it.
    /// `flusher_phase`: when the flusher first looks. Each host's timer was started at its own
    /// time, so a caller with several nodes should draw a phase for each.
    pub fn new(settings: &NodeSettings, file_sizes: &[Bytes], flusher_phase: SimSpan) -> Self {
        let page = settings.page;
        let pages = |bytes: Bytes| bytes.get() / page.get();
        let capacity = usize::try_from(pages(settings.cache).max(1)).expect("a 64-bit machine");
        let limit = pages(settings.dirty_limit).max(1);
        Self {
            buffer: Buffer::new(settings.policy.build_for_pages(capacity), page),
            effects: Effects::default(),
            streams: Streams::new(pages(settings.read_ahead) as u32),
            addresses: AddressSpace::new(settings, file_sizes),
            file_pages: file_sizes.iter().map(|size| size.div_ceil(page)).collect(),
            disks: settings.disks,
            operations: Slab::new(),
            cached: settings.cache > Bytes::ZERO,
            write: settings.write,
            background: pages(settings.dirty_background).min(limit - 1),
            limit,
            dirty_expire: settings.dirty_expire,
            flusher: Beat::new(settings.flush_interval, flusher_phase),
            unstable: 0,
            flushes: 0,
            ticking: false,
            blocked: VecDeque::new(),
            owners: Vec::new(),
            batch: Vec::new(),
            hits: HitCounts::default(),
        }
    }

    /// Serves an access. Returns how many times [`Node::disk_done`] will return its leg before it
    /// is done. Zero: it is done now.
    pub fn access(&mut self, machine: &mut impl Machine, access: &FileAccess) -> u32 {
        match access.op {
            _ if !self.cached => self.pass(machine, access),
            Op::Read => self.read(machine, access),
            Op::Write if self.write == WritePolicy::Through => self.write_through(machine, access),
            Op::Write => {
                let pages = u64::from(self.run(access).pages);
                let held = self.buffer.dirty_pages() + self.unstable;
                if !self.blocked.is_empty() || (held > 0 && held + pages > self.limit) {
                    self.blocked.push_back(*access);
                    self.flush(machine, self.room_for(pages));
                    BLOCKED
                } else {
                    self.write_back(machine, access)
                }
            }
        }
    }

    /// Passes an access directly to the disks. Returns the number of operations.
    fn pass(&mut self, machine: &mut impl Machine, access: &FileAccess) -> u32 {
        let FileAccess { file, offset, size, .. } = *access;
        let extent = FileExtent { file, offset: offset.get(), size: size.get() as u32 };
        let run = self.run(access);
        let note = match access.op {
            Op::Read => {
                self.hits.add(access.workload, u64::from(run.pages), 0);
                Note::ReadMiss(extent)
            }
            Op::Write => Note::Write(extent),
        };
        machine.note(access.thread, access.breadcrumb, note);
        let (mut done, mut started) = (Bytes::ZERO, 0);
        while done < size {
            let extent = self.locate(file, offset + done, size.saturating_sub(done));
            done += extent.bytes;
            let operation = Operation::of(access, access.op, run, extent, true);
            let operation = self.operations.insert(Operation { direct: true, ..operation });
            self.start(machine, operation);
            started += 1;
        }
        started
    }

    /// Starts an operation of a disk that passes the cache by; `leg` waits for it.
    pub fn bypass(&mut self, machine: &mut impl Machine, what: DiskOperation, leg: u32) {
        let run = Run { first: PageKey::new(0, 0), pages: 0 };
        let waiters = SmallVec::from_slice(&[leg]);
        let operation = Operation { what, run, waiters, ticket: None, direct: true };
        let number = self.operations.insert(operation);
        self.start(machine, number);
    }

    /// Locates the bytes of a file from `offset` on, up to `most` of them.
    pub fn locate(&self, file: u32, offset: Bytes, most: Bytes) -> Extent {
        let page = self.buffer.page().get();
        let within = Bytes(offset.get() % page);
        let first = PageKey::new(file, offset.get() / page);
        let extent = self.addresses.locate(first, within + most);
        Extent {
            disk: extent.disk,
            lbn: extent.lbn + Sectors(within.get() / SECTOR_BYTES),
            bytes: extent.bytes.saturating_sub(within),
        }
    }

    fn run(&self, access: &FileAccess) -> Run {
        let page = self.buffer.page().get();
        let first = access.offset.get() / page;
        let end = (access.offset + access.size).get().div_ceil(page);
        Run { first: PageKey::new(access.file, first), pages: (end - first) as u32 }
    }

    fn read(&mut self, machine: &mut impl Machine, access: &FileAccess) -> u32 {
        let run = self.run(access);
        let mut effects = std::mem::take(&mut self.effects);
        self.buffer.read(run, &mut effects);
        let page = self.buffer.page();
        let mut hit_pages = 0;
        for hit in &effects.hits {
            hit_pages += u64::from(hit.pages);
            let range = range(*hit, page);
            machine.note(access.thread, access.breadcrumb, Note::ReadHit(range));
        }
        for miss in &effects.misses {
            let range = range(*miss, page);
            machine.note(access.thread, access.breadcrumb, Note::ReadMiss(range));
        }
        self.hits.add(access.workload, u64::from(run.pages), hit_pages);
        self.make_room(machine, &effects, access);
        let mut waits = 0;
        for &operation in &effects.awaited {
            self.operations[operation].waiters.push(access.leg);
            waits += 1;
        }
        waits += self.fetch(machine, &effects, access, true);
        if let Some(ahead) = self.streams.read(run, self.file_pages[access.file as usize]) {
            self.buffer.read_ahead(ahead, &mut effects);
            for miss in &effects.misses {
                let note = Note::ReadAhead { at: range(*miss, page), page: page.get() as u32 };
                machine.note(access.thread, access.breadcrumb, note);
            }
            self.make_room(machine, &effects, access);
            self.fetch(machine, &effects, access, false);
        }
        self.effects = effects;
        waits
    }

    /// Starts the disk reads of missed pages. Returns their number. The leg waits for them if `wait`.
    fn fetch(
        &mut self,
        machine: &mut impl Machine,
        effects: &Effects,
        access: &FileAccess,
        wait: bool,
    ) -> u32 {
        let page = self.buffer.page();
        let (mut started, mut slot) = (0, 0);
        for miss in &effects.misses {
            let mut rest = *miss;
            while rest.pages > 0 {
                let extent = self.addresses.locate(rest.first, page * u64::from(rest.pages));
                let pages = (extent.bytes.get() / page.get()).max(1) as u32;
                let place = Extent { bytes: page * u64::from(pages), ..extent };
                let run = Run { first: rest.first, pages };
                let operation =
                    self.operations.insert(Operation::of(access, Op::Read, run, place, wait));
                let ticket = self.buffer.reading(effects, slot, pages, operation);
                self.operations[operation].ticket = Some(ticket);
                self.start(machine, operation);
                started += 1;
                slot += pages as usize;
                rest = Run { first: rest.first.plus(u64::from(pages)), pages: rest.pages - pages };
            }
        }
        started
    }

    /// Writes into the cache. Returns the number of reads that the write waits for.
    fn write_back(&mut self, machine: &mut impl Machine, access: &FileAccess) -> u32 {
        let parts = self.missing_parts(access);
        self.put(machine, access, true);
        let reads = self.fill(machine, access, parts);
        if self.buffer.dirty_pages() > self.background {
            self.flush(machine, self.background);
        }
        if !self.ticking && self.buffer.dirty_pages() > 0 {
            self.ticking = true;
            machine.tick(self.flusher.after(machine.now()));
        }
        reads
    }

    /// The pages, at most the first and the last, that a write covers in part and that are not in
    /// the cache. A log stores bytes as they come, and the Activity DB is only appended to.
    fn missing_parts(&self, access: &FileAccess) -> [Option<PageKey>; 2] {
        if self.addresses.segment().is_some() || access.workload == NO_CLIENT {
            return [None; 2];
        }
        let page = self.buffer.page().get();
        let run = self.run(access);
        let (first, last) = (run.first, run.first.plus(u64::from(run.pages) - 1));
        let end = access.offset + access.size;
        let cut_first = !access.offset.get().is_multiple_of(page);
        let cut_last = !end.get().is_multiple_of(page);
        let missing = |key: PageKey| (!self.buffer.contains(key)).then_some(key);
        let head = if cut_first { missing(first) } else { None };
        let tail = if cut_last && !(cut_first && first == last) { missing(last) } else { None };
        [head, tail]
    }

    /// Reads the rest of pages that were written in part. Returns the number of reads that the leg waits for.
    fn fill(
        &mut self,
        machine: &mut impl Machine,
        access: &FileAccess,
        parts: [Option<PageKey>; 2],
    ) -> u32 {
        let mut started = 0;
        for first in parts.into_iter().flatten() {
            let size = self.buffer.page();
            let extent = self.addresses.locate(first, size);
            let (run, place) = (Run { first, pages: 1 }, Extent { bytes: size, ..extent });
            let operation =
                self.operations.insert(Operation::of(access, Op::Read, run, place, true));
            self.operations[operation].ticket = Some(self.buffer.filling(operation));
            self.start(machine, operation);
            started += 1;
        }
        started
    }

    fn write_through(&mut self, machine: &mut impl Machine, access: &FileAccess) -> u32 {
        let parts = self.missing_parts(access);
        self.put(machine, access, false);
        let reads = self.fill(machine, access, parts);
        let run = self.run(access);
        let mut owners = std::mem::take(&mut self.owners);
        owners.clear();
        owners.push((run, access.owner()));
        let started = self.write_out(machine, run, &owners, Some(access.leg), access.thread);
        self.owners = owners;
        reads + started
    }

    /// Enters written pages into the cache.
    fn put(&mut self, machine: &mut impl Machine, access: &FileAccess, dirty: bool) {
        let run = self.run(access);
        let mut effects = std::mem::take(&mut self.effects);
        self.buffer.write(machine.now(), run, access.owner(), dirty, &mut effects);
        let note = Note::Write(FileExtent {
            file: access.file,
            offset: access.offset.get(),
            size: access.size.get() as u32,
        });
        machine.note(access.thread, access.breadcrumb, note);
        self.make_room(machine, &effects, access);
        self.effects = effects;
    }

    /// Records evictions and writes out evicted dirty pages.
    fn make_room(&mut self, machine: &mut impl Machine, effects: &Effects, access: &FileAccess) {
        let page = self.buffer.page();
        let spilled = effects.spilled.iter().map(|(run, _)| run);
        for run in effects.evicted.iter().chain(spilled) {
            let range = range(*run, page);
            machine.note(access.thread, access.breadcrumb, Note::Evict(range));
        }
        for spill in &effects.spilled {
            self.write_out(machine, spill.0, std::slice::from_ref(spill), None, access.thread);
        }
    }

    /// Flushes until no more than `target` pages are dirty or enough flushes are outstanding.
    fn flush(&mut self, machine: &mut impl Machine, target: u64) {
        let most = FLUSHES_PER_DISK * self.disks;
        while self.flushes < most && self.buffer.dirty_pages() > target {
            if !self.flush_oldest(machine) {
                break;
            }
        }
    }

    /// Writes the oldest dirty pages. Returns whether there were any.
    fn flush_oldest(&mut self, machine: &mut impl Machine) -> bool {
        let page = self.buffer.page().get();
        let mut owners = std::mem::take(&mut self.owners);
        owners.clear();
        let mut any = false;
        if let Some(segment) = self.addresses.segment() {
            // a segment of the log takes the oldest pages, wherever they belong
            let mut left = (segment.get() / page).max(1) as u32;
            let mut batch = std::mem::take(&mut self.batch);
            batch.clear();
            while left > 0 {
                let Some(run) = self.buffer.take_dirty(left, &mut owners) else { break };
                batch.extend((0..u64::from(run.pages)).map(|index| run.first.plus(index)));
                left -= run.pages;
            }
            if !batch.is_empty() {
                any = true;
                self.post_flush(machine, &owners, FLUSHER);
                self.append(machine, &batch, &owners, None, FLUSHER);
            }
            self.batch = batch;
        } else {
            let most = (CLUSTER.get() / page).max(1) as u32;
            if let Some(run) = self.buffer.take_dirty(most, &mut owners) {
                any = true;
                self.write_out(machine, run, &owners, None, FLUSHER);
            }
        }
        self.owners = owners;
        any
    }

    /// Starts to write `run` to its place. Returns the number of disk operations.
    fn write_out(
        &mut self,
        machine: &mut impl Machine,
        run: Run,
        owners: &[(Run, Owner)],
        leg: Option<u32>,
        thread: Thread,
    ) -> u32 {
        self.post_flush(machine, owners, thread);
        let page = self.buffer.page();
        let (mut rest, mut started) = (run, 0);
        if let Some(segment) = self.addresses.segment() {
            // a run larger than a segment of the log fills several
            let most = (segment.get() / page.get()).max(1) as u32;
            let mut batch = std::mem::take(&mut self.batch);
            while rest.pages > 0 {
                let pages = rest.pages.min(most);
                batch.clear();
                batch.extend((0..u64::from(pages)).map(|index| rest.first.plus(index)));
                self.append(machine, &batch, owners, leg, thread);
                started += 1;
                rest = Run { first: rest.first.plus(u64::from(pages)), pages: rest.pages - pages };
            }
            self.batch = batch;
            return started;
        }
        while rest.pages > 0 {
            let extent = self.addresses.locate(rest.first, page * u64::from(rest.pages));
            let pages = (extent.bytes.get() / page.get()).max(1) as u32;
            let part = Run { first: rest.first, pages };
            self.start_write(machine, part, extent.disk, extent.lbn, owners[0].1, leg, thread);
            started += 1;
            rest = Run { first: rest.first.plus(u64::from(pages)), pages: rest.pages - pages };
        }
        started
    }

    /// Starts to write `pages` at the head of the log.
    fn append(
        &mut self,
        machine: &mut impl Machine,
        pages: &[PageKey],
        owners: &[(Run, Owner)],
        leg: Option<u32>,
        thread: Thread,
    ) {
        let extent = self.addresses.append(pages);
        let run = Run { first: pages[0], pages: pages.len() as u32 };
        self.start_write(machine, run, extent.disk, extent.lbn, owners[0].1, leg, thread);
    }

    fn post_flush(&self, machine: &mut impl Machine, owners: &[(Run, Owner)], thread: Thread) {
        for &(run, owner) in owners {
            let range = range(run, self.buffer.page());
            machine.note(thread, owner.breadcrumb, Note::Flush(range));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a disk operation has that many properties")]
    fn start_write(
        &mut self,
        machine: &mut impl Machine,
        run: Run,
        disk: u32,
        lbn: Sectors,
        owner: Owner,
        leg: Option<u32>,
        thread: Thread,
    ) {
        self.unstable += u64::from(run.pages);
        self.flushes += 1;
        let size = self.buffer.page() * u64::from(run.pages);
        let Owner { breadcrumb, workload } = owner;
        let (op, reader) = (Op::Write, 0);
        let operation = self.operations.insert(Operation {
            what: DiskOperation { disk, lbn, size, op, breadcrumb, workload, thread, reader },
            run,
            waiters: leg.into_iter().collect(),
            ticket: None,
            direct: false,
        });
        self.start(machine, operation);
    }

    /// Passes an operation to its disk.
    fn start(&mut self, machine: &mut impl Machine, number: u32) {
        machine.start(number, &self.operations[number].what);
    }

    /// The disk operation with this number.
    pub fn operation(&self, number: u32) -> DiskOperation {
        self.operations[number].what
    }

    /// A disk has completed an operation. Appends the legs that waited for it to `ready`.
    pub fn disk_done(&mut self, machine: &mut impl Machine, number: u32, ready: &mut Vec<u32>) {
        let operation = self.operations.remove(number);
        let waiters = std::mem::take(&mut operation.waiters);
        let (run, ticket) = (operation.run, operation.ticket);
        if operation.direct {
            ready.extend(waiters);
            return;
        }
        if let Some(ticket) = ticket {
            self.buffer.arrived(ticket);
        } else {
            self.unstable -= u64::from(run.pages);
            self.flushes -= 1;
        }
        ready.extend(waiters);
        if ticket.is_none() {
            self.unblock(machine, ready);
            if self.buffer.dirty_pages() > self.background {
                self.flush(machine, self.background);
            }
        }
    }

    /// Lets blocked writers continue for which there is room again.
    fn unblock(&mut self, machine: &mut impl Machine, ready: &mut Vec<u32>) {
        while let Some(access) = self.blocked.front().copied() {
            let pages = u64::from(self.run(&access).pages);
            let held = self.buffer.dirty_pages() + self.unstable;
            if held > 0 && held + pages > self.limit {
                self.flush(machine, self.room_for(pages));
                break;
            }
            self.blocked.pop_front();
            let fills = self.write_back(machine, &access);
            ready.extend((fills..BLOCKED).map(|_| access.leg));
        }
    }

    /// Maximum number of dirty pages at which a write of `pages` can continue.
    fn room_for(&self, pages: u64) -> u64 {
        self.background.min(self.limit.saturating_sub(pages))
    }

    /// Flushes pages that have been dirty for too long.
    pub fn flush_tick(&mut self, machine: &mut impl Machine) {
        self.ticking = false;
        let most = FLUSHES_PER_DISK * self.disks;
        while self.flushes < most
            && self
                .buffer
                .oldest_dirty()
                .is_some_and(|since| since + self.dirty_expire <= machine.now())
        {
            self.flush_oldest(machine);
        }
        if self.buffer.dirty_pages() > 0 {
            self.ticking = true;
            machine.tick(self.flusher.after(machine.now()));
        }
    }

    /// Starts to count hits.
    pub fn mark(&mut self) {
        self.hits = HitCounts::default();
    }

    /// Bytes in the cache.
    pub fn cached(&self) -> Bytes {
        self.buffer.page() * self.buffer.pages()
    }

    /// Dirty pages in the cache.
    pub fn dirty_pages(&self) -> u64 {
        self.buffer.dirty_pages()
    }

    /// Dirty pages above which writers wait, and above which the flusher starts.
    pub fn dirty_limits(&self) -> (u64, u64) {
        (self.limit, self.background)
    }

    /// Sets the outstanding work aside, for accesses whose disk operations take no time. Until
    /// [`Node::resume`] the flusher keeps about this number of pages dirty.
    pub fn set_aside(&mut self, dirty_pages: u64) -> SetAside {
        let background = std::mem::replace(&mut self.background, dirty_pages.min(self.limit - 1));
        SetAside {
            background,
            unstable: std::mem::take(&mut self.unstable),
            flushes: std::mem::take(&mut self.flushes),
            blocked: std::mem::take(&mut self.blocked),
        }
    }

    /// Resumes the work that was set aside.
    pub fn resume(&mut self, aside: SetAside) {
        self.background = aside.background;
        self.unstable += aside.unstable;
        self.flushes += aside.flushes;
        self.blocked.extend(aside.blocked);
    }

    /// Hits since [`Node::mark`].
    pub fn hits(&self) -> &HitCounts {
        &self.hits
    }
}

/// The bytes of a run.
fn range(run: Run, page: Bytes) -> FileExtent {
    let size = (page.get() * u64::from(run.pages)) as u32;
    FileExtent { file: run.first.file(), offset: run.first.index() * page.get(), size }
}
