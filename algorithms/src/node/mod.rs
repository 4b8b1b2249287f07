//! The software of a storage node: buffer cache, NVRAM, flusher, and where pages lie on the disks.
//!
//! A read waits for the disk reads of its missing pages; a write dirties pages and is done, unless
//! too much is dirty already or the cache writes through; a page that it covers in part and that is not
//! in the cache is read first, but in a log. The flusher starts when more than the
//! background limit is dirty or a page has been dirty for too long, and takes the oldest pages with
//! their neighbours. Old pages are looked for by a timer that runs from the host's start on, as Linux's
//! periodic write-back did (`wb_timer` of `mm/page-writeback.c` up to 2.6.31), so each node has a phase
//! of its own. With NVRAM the same pages survive a power cut, and the dirty limit is its
//! size. Without a cache (`Settings::cache` is zero) each access goes to the disks as it is. It runs on
//! a [`Machine`], which has the clock and the disks. Left out: metadata, journals, failures.

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

/// The workload of what a node does for itself.
pub const NOBODY: u32 = u32::MAX;
/// The kernel's thread that flushes.
pub const FLUSHER: Thread = Thread { pid: 2, tid: 1 };
/// Most that the flusher writes in one operation where pages have their places.
const CLUSTER: Bytes = Bytes::kib(128);
/// Flushes under way on each disk, at the most, before the flusher waits.
const FLUSHES_PER_DISK: u32 = 16;

/// What a write that is held back counts to wait for: room, and perhaps the reads of its first and
/// last page. What it turns out not to need comes out with the room.
const BLOCKED: u32 = 3;

/// When a node acknowledges a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePolicy {
    /// As soon as it is in the cache (or in NVRAM, where fitted).
    Back,
    /// When the disk has it (which may report it from its own buffer, see `early_write`).
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

/// What a node is set to.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Replacement policy of the cache.
    pub policy: PolicyKind,
    /// Memory for pages; one page at the least is taken. Zero: there is none.
    pub cache: Bytes,
    /// Size of a page.
    pub page: Bytes,
    /// When a write is acknowledged.
    pub write: WritePolicy,
    /// Dirty bytes beyond which the flusher starts.
    pub dirty_background: Bytes,
    /// Dirty bytes beyond which writers wait.
    pub dirty_limit: Bytes,
    /// Age at which a dirty page is flushed in any case.
    pub dirty_expire: SimSpan,
    /// How often the flusher looks.
    pub flush_interval: SimSpan,
    /// Most that is read ahead of a sequential stream; zero: no read-ahead.
    pub read_ahead: Bytes,
    /// How many disks there are, one at the least.
    pub disks: u32,
    /// Capacity of the smallest.
    pub disk_capacity: Bytes,
    /// How much of a file is on one disk before the next one follows.
    pub stripe: Bytes,
    /// Bytes written in one disk operation of a log-structured layout; `None`: in place.
    pub log_segment: Option<Bytes>,
}

/// The machine that the node's software runs on: its clock, its disks, and those who watch it.
pub trait Machine {
    /// The present.
    fn now(&self) -> SimTime;
    /// Something is done by a thread on behalf of a request.
    fn note(&mut self, thread: Thread, breadcrumb: Breadcrumb, note: Note);
    /// A disk is given an operation; [`Node::disk_done`] is to be called with its number when it is
    /// done.
    fn start(&mut self, number: u32, operation: &DiskOperation);
    /// [`Node::flush_tick`] is to be called then.
    fn tick(&mut self, at: SimTime);
}

/// What a node's cache did with a stretch of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It was asked for and there.
    ReadHit(Stretch),
    /// It was asked for and not there.
    ReadMiss(Stretch),
    /// It was written.
    Write(Stretch),
    /// It is read ahead.
    ReadAhead {
        /// Whole pages.
        at: Stretch,
        /// Bytes of a page.
        page: u32,
    },
    /// It was dirty and goes to disk.
    Flush(Stretch),
    /// It left the cache.
    Evict(Stretch),
}

/// Bytes of a file that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Which file.
    pub file: u32,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub size: u32,
}

/// What a client asks of a node's file.
#[derive(Clone, Copy, Debug)]
pub struct FileAccess {
    /// The caller's number of it, by which it hears when it is done.
    pub leg: u32,
    /// Direction.
    pub op: Op,
    /// Which file.
    pub file: u32,
    /// The first byte.
    pub offset: Bytes,
    /// How many.
    pub size: Bytes,
    /// The request that it is part of.
    pub breadcrumb: Breadcrumb,
    /// Who serves it.
    pub thread: Thread,
    /// For which workload, or [`NOBODY`].
    pub workload: u32,
    /// On whose behalf: the schedulers of disks that give threads turns go by it.
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
    /// Pages.
    background: u64,
    limit: u64,
    dirty_expire: SimSpan,
    /// When the flusher looks.
    flusher: Beat,
    /// Pages on their way to disk.
    unstable: u64,
    flushes: u32,
    ticking: bool,
    blocked: VecDeque<FileAccess>,
    owners: Vec<(Run, Owner)>,
    batch: Vec<PageKey>,
    hits: HitCounts,
}

/// An operation of a disk, as far as anybody outside the software needs it.
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
    /// For whom, or [`NOBODY`].
    pub workload: u32,
    /// Who started it.
    pub thread: Thread,
    /// On whose behalf it reads; 0 where it writes.
    pub reader: u64,
}

/// A disk operation under way.
#[derive(Clone, Debug)]
struct Operation {
    what: DiskOperation,
    run: Run,
    /// Legs that wait for it.
    waiters: SmallVec<[u32; 4]>,
    /// The buffer's ticket for a read; `None`: a flush, or one without a cache.
    ticket: Option<u32>,
    /// Whether it passes the cache by.
    direct: bool,
}

impl Operation {
    /// What an access does at a place; `waits`: whether its leg waits for that.
    fn of(access: &FileAccess, op: Op, (run, place): (Run, Extent), waits: bool) -> Self {
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

/// What was under way at a node when it was set aside.
#[derive(Clone, Debug)]
pub struct SetAside {
    background: u64,
    unstable: u64,
    flushes: u32,
    blocked: VecDeque<FileAccess>,
}

/// Pages that reads asked for, and those that were there.
#[derive(Clone, Default, Debug)]
pub struct HitCounts {
    /// By workload: (pages, pages found).
    by_workload: Vec<(u64, u64)>,
}

impl HitCounts {
    /// Counts pages that a workload has asked for, and those of them that were found.
    pub fn add(&mut self, workload: u32, pages: u64, hits: u64) {
        // what nodes read for each other is no workload's
        if workload == NOBODY {
            return;
        }
        let workload = workload as usize;
        if workload >= self.by_workload.len() {
            self.by_workload.resize(workload + 1, (0, 0));
        }
        self.by_workload[workload].0 += pages;
        self.by_workload[workload].1 += hits;
    }

    /// (pages, pages found) of a workload.
    pub fn of(&self, workload: usize) -> (u64, u64) {
        self.by_workload.get(workload).copied().unwrap_or_default()
    }

    /// (pages, pages found) of all workloads.
    pub fn all(&self) -> (u64, u64) {
        self.by_workload.iter().fold((0, 0), |(pages, hits), &(p, h)| (pages + p, hits + h))
    }
}

impl Node {
    /// `file_sizes`: what each file needs on this node, zero where it holds none of it.
    /// `flusher_phase`: when the flusher first looks. A host's timer was started at some time of its
    /// own, so a caller with several nodes draws one for each.
    pub fn new(settings: &Settings, file_sizes: &[Bytes], flusher_phase: SimSpan) -> Self {
        let page = settings.page;
        let pages = |bytes: Bytes| bytes.get() / page.get();
        let capacity = usize::try_from(pages(settings.cache).max(1)).expect("a 64-bit machine");
        let limit = pages(settings.dirty_limit).max(1);
        Self {
            buffer: Buffer::new(settings.policy.build(capacity), page),
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

    /// Serves an access. Returns how many things it waits for: so often its leg comes out of
    /// [`Node::disk_done`] later. Zero: it is done.
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

    /// Hands an access to the disks as it is; how many operations that takes.
    fn pass(&mut self, machine: &mut impl Machine, access: &FileAccess) -> u32 {
        let FileAccess { file, offset, size, .. } = *access;
        let stretch = Stretch { file, offset: offset.get(), size: size.get() as u32 };
        let run = self.run(access);
        let note = match access.op {
            Op::Read => {
                self.hits.add(access.workload, u64::from(run.pages), 0);
                Note::ReadMiss(stretch)
            }
            Op::Write => Note::Write(stretch),
        };
        machine.note(access.thread, access.breadcrumb, note);
        let (mut done, mut started) = (Bytes::ZERO, 0);
        while done < size {
            let extent = self.locate(file, offset + done, size.saturating_sub(done));
            done += extent.bytes;
            let operation = Operation::of(access, access.op, (run, extent), true);
            let operation = self.operations.insert(Operation { direct: true, ..operation });
            self.start(machine, operation);
            started += 1;
        }
        started
    }

    /// Where the bytes of a file from `offset` on lie, up to `most` of them.
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

    /// Starts the disk reads of what was missed; how many. The leg waits for them if `wait`.
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
                    self.operations.insert(Operation::of(access, Op::Read, (run, place), wait));
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

    /// Returns how many reads the write waits for.
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
    /// the cache. A log takes bytes as they come, and the Activity DB is only appended to.
    fn missing_parts(&self, access: &FileAccess) -> [Option<PageKey>; 2] {
        if self.addresses.segment().is_some() || access.workload == NOBODY {
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

    /// Reads what is left of pages that were written in part; how many reads the leg waits for.
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
                self.operations.insert(Operation::of(access, Op::Read, (run, place), true));
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
        let note = Note::Write(Stretch {
            file: access.file,
            offset: access.offset.get(),
            size: access.size.get() as u32,
        });
        machine.note(access.thread, access.breadcrumb, note);
        self.make_room(machine, &effects, access);
        self.effects = effects;
    }

    /// Records evictions and writes evicted dirty pages out.
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

    /// Flushes until no more than `target` pages are dirty or enough is under way.
    fn flush(&mut self, machine: &mut impl Machine, target: u64) {
        let most = FLUSHES_PER_DISK * self.disks;
        while self.flushes < most && self.buffer.dirty_pages() > target {
            if !self.flush_oldest(machine) {
                break;
            }
        }
    }

    /// Writes the pages that have been dirty longest; whether there were any.
    fn flush_oldest(&mut self, machine: &mut impl Machine) -> bool {
        let page = self.buffer.page().get();
        let mut owners = std::mem::take(&mut self.owners);
        owners.clear();
        let mut any = false;
        if let Some(segment) = self.addresses.segment() {
            // a segment of the log takes whatever is oldest
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

    /// Starts the writing of `run`, wherever it belongs; how many disk operations that takes.
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
            // what is larger than a segment of the log fills several
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

    /// Starts the writing of `pages` at the head of the log.
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

    /// Hands an operation to its disk.
    fn start(&mut self, machine: &mut impl Machine, number: u32) {
        machine.start(number, &self.operations[number].what);
    }

    /// What a disk was given under that number.
    pub fn operation(&self, number: u32) -> DiskOperation {
        self.operations[number].what
    }

    /// A disk has finished an operation. Appends the legs that waited for it to `ready`.
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

    /// Lets writers go on for which there is room again.
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

    /// So many pages may be dirty at the most for a write of `pages` to go on.
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

    /// Measuring begins.
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

    /// Dirty pages beyond which writers wait, and beyond which the flusher starts.
    pub fn dirty_limits(&self) -> (u64, u64) {
        (self.limit, self.background)
    }

    /// Sets what is under way aside, for accesses whose disk operations take no time: until
    /// [`Node::resume`] the flusher keeps about so many pages dirty.
    pub fn set_aside(&mut self, dirty_pages: u64) -> SetAside {
        let background = std::mem::replace(&mut self.background, dirty_pages.min(self.limit - 1));
        SetAside {
            background,
            unstable: std::mem::take(&mut self.unstable),
            flushes: std::mem::take(&mut self.flushes),
            blocked: std::mem::take(&mut self.blocked),
        }
    }

    /// Goes on with what was set aside.
    pub fn resume(&mut self, aside: SetAside) {
        self.background = aside.background;
        self.unstable += aside.unstable;
        self.flushes += aside.flushes;
        self.blocked.extend(aside.blocked);
    }

    /// Hits since the mark.
    pub fn hits(&self) -> &HitCounts {
        &self.hits
    }
}

/// A run in bytes.
fn range(run: Run, page: Bytes) -> Stretch {
    let size = (page.get() * u64::from(run.pages)) as u32;
    Stretch { file: run.first.file(), offset: run.first.index() * page.get(), size }
}
