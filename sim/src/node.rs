//! A storage node: buffer cache, NVRAM, flusher, and disks.
//!
//! A read waits for the disk reads of its missing pages; a write dirties pages and is done, unless
//! too much is dirty already or the cache writes through; a page that it covers in part and that is not
//! in the cache is read first, but in a log. The flusher starts when more than the
//! background limit is dirty or a page has been dirty for too long, and takes the oldest pages with
//! their neighbours. With NVRAM the same pages survive a power cut, and the dirty limit is its
//! size. Not modelled: metadata, journals, failures.

use std::collections::VecDeque;

use foretell_algorithms::cache::PolicyKind;
use foretell_ati::{Body, Phase};
use foretell_scenarios::model::{Storage, WritePolicy};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, Sectors, SimTime};
use smallvec::SmallVec;

use crate::address::AddressSpace;
use crate::agenda::Agenda;
use crate::buffer::{Buffer, Effects, Owner, PageKey, Run};
use crate::cpu::Thread;
use crate::demand::{NOBODY, Resource};
use crate::device::Device;
use crate::disk::Io;
use crate::event::Event;
use crate::ledger::{Usage, Violation};
use crate::process;
use crate::read_ahead::Streams;
use crate::slab::Slab;
use crate::tracker::Tracker;

/// The kernel's thread that flushes.
const FLUSHER: Thread = Thread { pid: process::FLUSHER, tid: 1 };
/// Most that the flusher writes in one operation where pages have their places.
const CLUSTER: Bytes = Bytes::kib(128);
/// Flushes under way on each disk, at the most, before the flusher waits.
const FLUSHES_PER_DISK: u32 = 16;

/// What a write that is held back counts to wait for: room, and perhaps the reads of its first and
/// last page. What it turns out not to need comes out with the room.
const BLOCKED: u32 = 3;

/// What a node needs of the world around it.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: SimTime,
    pub(crate) host: HostId,
    pub(crate) agenda: &'a mut Agenda<Event>,
    pub(crate) tracker: &'a mut Tracker,
}

/// What a client asks of a node's file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileAccess {
    pub(crate) leg: u32,
    pub(crate) op: Op,
    pub(crate) file: u32,
    pub(crate) offset: Bytes,
    pub(crate) size: Bytes,
    pub(crate) breadcrumb: Breadcrumb,
    pub(crate) thread: Thread,
    pub(crate) workload: u32,
    /// On whose behalf: the schedulers of disks that give threads turns go by it.
    pub(crate) reader: u64,
}

impl FileAccess {
    fn owner(&self) -> Owner {
        Owner { breadcrumb: self.breadcrumb, workload: self.workload }
    }
}

/// A storage node.
pub(crate) struct Node {
    buffer: Buffer,
    effects: Effects,
    streams: Streams,
    addresses: AddressSpace,
    file_pages: Vec<u64>,
    disks: Vec<Device<u32>>,
    transfers: Slab<Transfer>,
    write: WritePolicy,
    /// Pages.
    background: u64,
    limit: u64,
    storage: Storage,
    /// Pages on their way to disk.
    unstable: u64,
    flushes: u32,
    ticking: bool,
    blocked: VecDeque<FileAccess>,
    owners: Vec<(Run, Owner)>,
    batch: Vec<PageKey>,
    hits: HitCounts,
}

/// A disk operation under way.
#[derive(Clone, Debug)]
struct Transfer {
    run: Run,
    disk: u32,
    lbn: Sectors,
    size: Bytes,
    op: Op,
    breadcrumb: Breadcrumb,
    workload: u32,
    thread: Thread,
    /// On whose behalf it reads; 0 where it writes.
    reader: u64,
    /// Legs that wait for it.
    waiters: SmallVec<[u32; 4]>,
    /// The buffer's ticket for a read; `None`: a flush.
    ticket: Option<u32>,
}

/// Pages that reads asked for, and those that were there.
#[derive(Clone, Default, Debug)]
pub(crate) struct HitCounts {
    /// By workload: (pages, pages found).
    by_workload: Vec<(u64, u64)>,
}

impl HitCounts {
    fn add(&mut self, workload: u32, pages: u64, hits: u64) {
        let workload = workload as usize;
        if workload >= self.by_workload.len() {
            self.by_workload.resize(workload + 1, (0, 0));
        }
        self.by_workload[workload].0 += pages;
        self.by_workload[workload].1 += hits;
    }

    /// (pages, pages found) of a workload.
    pub(crate) fn of(&self, workload: usize) -> (u64, u64) {
        self.by_workload.get(workload).copied().unwrap_or_default()
    }

    /// (pages, pages found) of all workloads.
    pub(crate) fn all(&self) -> (u64, u64) {
        self.by_workload.iter().fold((0, 0), |(pages, hits), &(p, h)| (pages + p, hits + h))
    }
}

impl Node {
    /// `file_sizes`: what each file needs on this node. `reserved`: memory that the cache lacks.
    pub(crate) fn new(storage: &Storage, file_sizes: &[Bytes], reserved: Bytes) -> Self {
        let cache = &storage.cache;
        let page = cache.page;
        let pages = |bytes: Bytes| bytes.get() / page.get();
        let kind: PolicyKind = cache.policy.parse().expect("the scenario was checked");
        let capacity = pages(cache.size.saturating_sub(reserved)).max(1);
        let capacity = usize::try_from(capacity).expect("a 64-bit machine");
        let limit = pages(cache.dirty_limit).max(1);
        Self {
            buffer: Buffer::new(kind.build(capacity), page),
            effects: Effects::default(),
            streams: Streams::new(pages(cache.read_ahead) as u32),
            addresses: AddressSpace::new(storage, file_sizes),
            file_pages: file_sizes.iter().map(|size| size.div_ceil(page)).collect(),
            disks: storage.disks.iter().map(Device::new).collect(),
            transfers: Slab::new(),
            write: cache.write,
            background: pages(cache.dirty_background).min(limit - 1),
            limit,
            storage: storage.clone(),
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
    pub(crate) fn access(&mut self, around: &mut Surroundings, access: &FileAccess) -> u32 {
        match access.op {
            Op::Read => self.read(around, access),
            Op::Write if self.write == WritePolicy::Through => self.write_through(around, access),
            Op::Write => {
                let pages = u64::from(self.run(access).pages);
                let held = self.buffer.dirty_pages() + self.unstable;
                if !self.blocked.is_empty() || (held > 0 && held + pages > self.limit) {
                    self.blocked.push_back(*access);
                    self.flush(around, self.room_for(pages));
                    BLOCKED
                } else {
                    self.write_back(around, access)
                }
            }
        }
    }

    fn run(&self, access: &FileAccess) -> Run {
        let page = self.buffer.page().get();
        let first = access.offset.get() / page;
        let end = (access.offset + access.size).get().div_ceil(page);
        Run { first: PageKey::new(access.file, first), pages: (end - first) as u32 }
    }

    fn read(&mut self, around: &mut Surroundings, access: &FileAccess) -> u32 {
        let run = self.run(access);
        let mut effects = std::mem::take(&mut self.effects);
        self.buffer.read(run, &mut effects);
        let page = self.buffer.page();
        let post = |around: &mut Surroundings, body| {
            around.tracker.post(around.now, around.host, access.thread, access.breadcrumb, body);
        };
        let mut hit_pages = 0;
        for hit in &effects.hits {
            hit_pages += u64::from(hit.pages);
            let (file, offset, size) = range(*hit, page);
            post(around, Body::BufferReadHit { file, offset, size });
        }
        for miss in &effects.misses {
            let (file, offset, size) = range(*miss, page);
            post(around, Body::BufferReadMiss { file, offset, size });
        }
        self.hits.add(access.workload, u64::from(run.pages), hit_pages);
        self.make_room(around, &effects, access);
        let mut waits = 0;
        for &transfer in &effects.awaited {
            self.transfers[transfer].waiters.push(access.leg);
            waits += 1;
        }
        waits += self.fetch(around, &effects, access, true);
        if let Some(ahead) = self.streams.read(run, self.file_pages[access.file as usize]) {
            self.buffer.read_ahead(ahead, &mut effects);
            for miss in &effects.misses {
                let (file, offset, _) = range(*miss, page);
                let (numpages, pagesize) = (miss.pages, page.get() as u32);
                post(around, Body::BufferReadAhead { file, offset, numpages, pagesize });
            }
            self.make_room(around, &effects, access);
            self.fetch(around, &effects, access, false);
        }
        self.effects = effects;
        waits
    }

    /// Starts the disk reads of what was missed; how many. The leg waits for them if `wait`.
    fn fetch(
        &mut self,
        around: &mut Surroundings,
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
                let transfer = self.transfers.insert(Transfer {
                    run: Run { first: rest.first, pages },
                    disk: extent.disk,
                    lbn: extent.lbn,
                    size: page * u64::from(pages),
                    op: Op::Read,
                    breadcrumb: access.breadcrumb,
                    workload: access.workload,
                    thread: access.thread,
                    reader: access.reader,
                    waiters: wait.then_some(access.leg).into_iter().collect(),
                    ticket: None,
                });
                let ticket = self.buffer.reading(effects, slot, pages, transfer);
                self.transfers[transfer].ticket = Some(ticket);
                self.start(around, transfer);
                started += 1;
                slot += pages as usize;
                rest = Run { first: rest.first.plus(u64::from(pages)), pages: rest.pages - pages };
            }
        }
        started
    }

    /// Returns how many reads the write waits for.
    fn write_back(&mut self, around: &mut Surroundings, access: &FileAccess) -> u32 {
        let parts = self.missing_parts(access);
        self.put(around, access, true);
        let reads = self.fill(around, access, parts);
        if self.buffer.dirty_pages() > self.background {
            self.flush(around, self.background);
        }
        if !self.ticking && self.buffer.dirty_pages() > 0 {
            self.ticking = true;
            let host = around.host.0;
            let at = around.now + self.storage.cache.flush_interval;
            around.agenda.schedule(at, Event::FlushTick { host });
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
        around: &mut Surroundings,
        access: &FileAccess,
        parts: [Option<PageKey>; 2],
    ) -> u32 {
        let mut started = 0;
        for first in parts.into_iter().flatten() {
            let size = self.buffer.page();
            let extent = self.addresses.locate(first, size);
            let transfer = self.transfers.insert(Transfer {
                run: Run { first, pages: 1 },
                disk: extent.disk,
                lbn: extent.lbn,
                size,
                op: Op::Read,
                breadcrumb: access.breadcrumb,
                workload: access.workload,
                thread: access.thread,
                reader: access.reader,
                waiters: std::iter::once(access.leg).collect(),
                ticket: None,
            });
            self.transfers[transfer].ticket = Some(self.buffer.filling(transfer));
            self.start(around, transfer);
            started += 1;
        }
        started
    }

    fn write_through(&mut self, around: &mut Surroundings, access: &FileAccess) -> u32 {
        let parts = self.missing_parts(access);
        self.put(around, access, false);
        let reads = self.fill(around, access, parts);
        let run = self.run(access);
        let mut owners = std::mem::take(&mut self.owners);
        owners.clear();
        owners.push((run, access.owner()));
        let started = self.write_out(around, run, &owners, Some(access.leg), access.thread);
        self.owners = owners;
        reads + started
    }

    /// Enters written pages into the cache.
    fn put(&mut self, around: &mut Surroundings, access: &FileAccess, dirty: bool) {
        let run = self.run(access);
        let mut effects = std::mem::take(&mut self.effects);
        self.buffer.write(around.now, run, access.owner(), dirty, &mut effects);
        let body = Body::BufferWrite {
            file: access.file,
            offset: access.offset.get(),
            size: access.size.get() as u32,
        };
        around.tracker.post(around.now, around.host, access.thread, access.breadcrumb, body);
        self.make_room(around, &effects, access);
        self.effects = effects;
    }

    /// Records evictions and writes evicted dirty pages out.
    fn make_room(&mut self, around: &mut Surroundings, effects: &Effects, access: &FileAccess) {
        let page = self.buffer.page();
        let spilled = effects.spilled.iter().map(|(run, _)| run);
        for run in effects.evicted.iter().chain(spilled) {
            let (file, offset, size) = range(*run, page);
            let body = Body::BufferEvict { file, offset, size };
            around.tracker.post(around.now, around.host, access.thread, access.breadcrumb, body);
        }
        for spill in &effects.spilled {
            self.write_out(around, spill.0, std::slice::from_ref(spill), None, access.thread);
        }
    }

    /// Flushes until no more than `target` pages are dirty or enough is under way.
    fn flush(&mut self, around: &mut Surroundings, target: u64) {
        let most = FLUSHES_PER_DISK * self.disks.len() as u32;
        while self.flushes < most && self.buffer.dirty_pages() > target {
            if !self.flush_oldest(around) {
                break;
            }
        }
    }

    /// Writes the pages that have been dirty longest; whether there were any.
    fn flush_oldest(&mut self, around: &mut Surroundings) -> bool {
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
                self.append(around, &batch, &owners, None, FLUSHER);
            }
            self.batch = batch;
        } else {
            let most = (CLUSTER.get() / page).max(1) as u32;
            if let Some(run) = self.buffer.take_dirty(most, &mut owners) {
                any = true;
                self.write_out(around, run, &owners, None, FLUSHER);
            }
        }
        self.owners = owners;
        any
    }

    /// Starts the writing of `run`, wherever it belongs; how many disk operations that takes.
    fn write_out(
        &mut self,
        around: &mut Surroundings,
        run: Run,
        owners: &[(Run, Owner)],
        leg: Option<u32>,
        thread: Thread,
    ) -> u32 {
        if self.addresses.segment().is_some() {
            let mut batch = std::mem::take(&mut self.batch);
            batch.clear();
            batch.extend((0..u64::from(run.pages)).map(|index| run.first.plus(index)));
            self.append(around, &batch, owners, leg, thread);
            self.batch = batch;
            return 1;
        }
        self.post_flush(around, owners, thread);
        let page = self.buffer.page();
        let (mut rest, mut started) = (run, 0);
        while rest.pages > 0 {
            let extent = self.addresses.locate(rest.first, page * u64::from(rest.pages));
            let pages = (extent.bytes.get() / page.get()).max(1) as u32;
            let part = Run { first: rest.first, pages };
            self.start_write(around, part, extent.disk, extent.lbn, owners[0].1, leg, thread);
            started += 1;
            rest = Run { first: rest.first.plus(u64::from(pages)), pages: rest.pages - pages };
        }
        started
    }

    /// Starts the writing of `pages` at the head of the log.
    fn append(
        &mut self,
        around: &mut Surroundings,
        pages: &[PageKey],
        owners: &[(Run, Owner)],
        leg: Option<u32>,
        thread: Thread,
    ) {
        self.post_flush(around, owners, thread);
        let extent = self.addresses.append(pages);
        let run = Run { first: pages[0], pages: pages.len() as u32 };
        self.start_write(around, run, extent.disk, extent.lbn, owners[0].1, leg, thread);
    }

    fn post_flush(&self, around: &mut Surroundings, owners: &[(Run, Owner)], thread: Thread) {
        for &(run, owner) in owners {
            let (file, offset, size) = range(run, self.buffer.page());
            let body = Body::BufferFlush { file, offset, size };
            around.tracker.post(around.now, around.host, thread, owner.breadcrumb, body);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a disk operation has that many properties")]
    fn start_write(
        &mut self,
        around: &mut Surroundings,
        run: Run,
        disk: u32,
        lbn: Sectors,
        owner: Owner,
        leg: Option<u32>,
        thread: Thread,
    ) {
        self.unstable += u64::from(run.pages);
        self.flushes += 1;
        let transfer = self.transfers.insert(Transfer {
            run,
            disk,
            lbn,
            size: self.buffer.page() * u64::from(run.pages),
            op: Op::Write,
            breadcrumb: owner.breadcrumb,
            workload: owner.workload,
            thread,
            reader: 0,
            waiters: leg.into_iter().collect(),
            ticket: None,
        });
        self.start(around, transfer);
    }

    /// Hands a transfer to its disk.
    fn start(&mut self, around: &mut Surroundings, id: u32) {
        let transfer = &self.transfers[id];
        let (disk, sectors) = (transfer.disk, Sectors::covering(transfer.size));
        post_disk_op(around, transfer, Phase::Issue);
        let io =
            Io { lbn: transfer.lbn, sectors, op: transfer.op, thread: transfer.reader, tag: id };
        if let Some(next) = self.disks[disk as usize].submit(around.now, io) {
            let host = around.host.0;
            around.agenda.schedule(next, Event::DiskDone { host, disk: disk as u16 });
        }
    }

    /// A disk has finished an operation, or wants to be asked what is next. Appends the legs that
    /// waited for what is done to `ready`.
    pub(crate) fn disk_done(&mut self, around: &mut Surroundings, disk: u32, ready: &mut Vec<u32>) {
        let completion = self.disks[disk as usize].complete(around.now);
        if let Some(next) = completion.next {
            let host = around.host.0;
            around.agenda.schedule(next, Event::DiskDone { host, disk: disk as u16 });
        }
        let Some(done) = completion.done else { return };
        let id = done.io.tag;
        let transfer = self.transfers.remove(id);
        post_disk_op(around, transfer, Phase::Complete);
        let workload = transfer.workload;
        around.tracker.charge(around.host, Resource::Disk(disk), workload, || done.service);
        let waiters = std::mem::take(&mut transfer.waiters);
        let (run, ticket) = (transfer.run, transfer.ticket);
        if let Some(ticket) = ticket {
            self.buffer.arrived(ticket);
        } else {
            self.unstable -= u64::from(run.pages);
            self.flushes -= 1;
        }
        ready.extend(waiters);
        if ticket.is_none() {
            self.unblock(around, ready);
            if self.buffer.dirty_pages() > self.background {
                self.flush(around, self.background);
            }
        }
    }

    /// Lets writers go on for which there is room again.
    fn unblock(&mut self, around: &mut Surroundings, ready: &mut Vec<u32>) {
        while let Some(access) = self.blocked.front().copied() {
            let pages = u64::from(self.run(&access).pages);
            let held = self.buffer.dirty_pages() + self.unstable;
            if held > 0 && held + pages > self.limit {
                self.flush(around, self.room_for(pages));
                break;
            }
            self.blocked.pop_front();
            let fills = self.write_back(around, &access);
            ready.extend((fills..BLOCKED).map(|_| access.leg));
        }
    }

    /// So many pages may be dirty at the most for a write of `pages` to go on.
    fn room_for(&self, pages: u64) -> u64 {
        self.background.min(self.limit.saturating_sub(pages))
    }

    /// Flushes pages that have been dirty for too long.
    pub(crate) fn flush_tick(&mut self, around: &mut Surroundings) {
        self.ticking = false;
        let most = FLUSHES_PER_DISK * self.disks.len() as u32;
        while self.flushes < most
            && self
                .buffer
                .oldest_dirty()
                .is_some_and(|since| since + self.storage.cache.dirty_expire <= around.now)
        {
            self.flush_oldest(around);
        }
        if self.buffer.dirty_pages() > 0 {
            self.ticking = true;
            let host = around.host.0;
            let at = around.now + self.storage.cache.flush_interval;
            around.agenda.schedule(at, Event::FlushTick { host });
        }
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self, now: SimTime) {
        self.hits = HitCounts::default();
        for disk in &mut self.disks {
            disk.mark(now);
        }
    }

    /// What each disk did since the mark.
    pub(crate) fn disk_usage(&mut self, now: SimTime) -> Vec<Usage> {
        self.disks.iter_mut().map(|disk| disk.usage(now)).collect()
    }

    /// Hits since the mark.
    pub(crate) fn hits(&self) -> &HitCounts {
        &self.hits
    }

    /// Whether the operational laws hold at each disk.
    pub(crate) fn audit(&mut self, now: SimTime) -> Result<(), (usize, Violation)> {
        for (index, disk) in self.disks.iter_mut().enumerate() {
            disk.audit(now).map_err(|violation| (index, violation))?;
        }
        Ok(())
    }
}

/// A run as (file, offset in bytes, size in bytes).
fn range(run: Run, page: Bytes) -> (u32, u64, u32) {
    let size = page.get() * u64::from(run.pages);
    (run.first.file(), run.first.index() * page.get(), size as u32)
}

fn post_disk_op(around: &mut Surroundings, transfer: &Transfer, phase: Phase) {
    let body = Body::DiskOp {
        disk: transfer.disk,
        lbn: transfer.lbn.get(),
        size: transfer.size.get() as u32,
        op: transfer.op,
        phase,
    };
    around.tracker.post(around.now, around.host, transfer.thread, transfer.breadcrumb, body);
}
