//! The use of devices by a server of objects.
//!
//! Each device has its own store. A read looks in the store's share of the node's cache, page by page, and reads the
//! missing pages. A write is durable when it is in the log (see `log`):
//!
//! - `BlueStore`: a short write goes into the log with its metadata, and later to its place; a long write goes to its
//!   place first, and then its metadata go into the log;
//! - `FileStore`: everything goes into the journal, and later to its place; it is in the page cache at once;
//! - an object server of Swift: the file is written, then its metadata and the file system's journal;
//! - an entry of a bucket index is metadata: it goes into the log, and is later merged.
//!
//! Deferred writes go to the device when there are enough of them, or when they have waited long enough. When
//! there are too many, commits wait. Metadata in `RocksDB` are rewritten when they are merged. Sources:
//! Aghayev et al., *File Systems Unfit as Distributed Storage Backends*, SOSP 2019; Ceph's configuration
//! reference for the limits. Metadata that an OSD does not hold are looked up first (`onodes`).
//!
//! An OSD may have its log (`wal`) and its tables (`db`) on parts of other devices; without `wal` the log is
//! on the device of the tables (Ceph's manual, *`BlueStore` configuration reference*, Devices). Left out:
//! tables that do not fit on a `db` device, fragmentation and allocation, the bytes of checksums, read-ahead.

use foretell_algorithms::cache::{AnyPolicy, Pages, Policy};
use foretell_algorithms::mix;
use foretell_algorithms::node::{
    DiskOperation, FLUSHER, FileExtent, HitCounts, Machine, NO_CLIENT, Note,
};
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Storage;
use foretell_units::{Beat, Breadcrumb, Bytes, Op, Owner, Sectors, SimSpan, SimTime, Thread};

use super::log::{Commit, Log};
use super::{BLOCK, Shard};
use crate::scrub::ScrubAccess;

/// Settings of all stores of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreSettings {
    /// Writes shorter than this go into the log as a whole.
    pub(crate) log_below: Bytes,
    pub(crate) metadata: u64,
    /// Whether written data are then in the cache.
    pub(crate) cache_writes: bool,
    /// How often metadata are rewritten.
    pub(crate) rewrites: u64,
    pub(crate) later: Later,
}

/// The conditions for deferred writes to reach the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later {
    /// Number of writes, or of bytes, that triggers the writing.
    pub(crate) writes: usize,
    pub(crate) bytes: u64,
    /// Commits wait while more bytes than this are deferred.
    pub(crate) limit: u64,
    /// Maximum waiting time, approximately.
    pub(crate) period: SimSpan,
}

/// Bytes of metadata in one merge. Assumed; `RocksDB`'s merges are larger, but the device sees the same on average.
const MERGED_AT_ONCE: u64 = 1 << 20;
/// Bytes of one operation in such a merge.
const MERGE_OPERATION: u64 = 512 << 10;

/// An exchange's access to a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreAccess {
    /// The exchange that waits for it.
    pub exchange: u32,
    /// Direction.
    pub op: Op,
    /// The number of the device.
    pub disk: u32,
    /// The volume.
    pub file: u32,
    /// The range on the device.
    pub shard: Shard,
    /// Number of metadata keys that are first looked up on the device, one after the other. A read of size zero only
    /// looks them up.
    pub lookups: u8,
    /// The request that it belongs to.
    pub breadcrumb: Breadcrumb,
    /// The thread that serves it.
    pub thread: Thread,
    /// The workload.
    pub workload: u32,
    /// The reader on whose behalf it is, for schedulers of devices that give threads turns.
    pub reader: u64,
    /// Whether the cache admits what is read or written. If not, only pages that are cached already are found.
    pub cached: bool,
    /// Whether a write is a record in the tables: it is written to the log, and later merged.
    pub in_tables: bool,
}

/// The stores of a node.
#[derive(Clone, Debug)]
pub struct Stores {
    settings: StoreSettings,
    page: u64,
    devices: Vec<Store>,
    operations: Slab<Operation>,
    held_reads: Slab<HeldReads>,
    hits: HitCounts,
    held: Vec<Commit>,
    /// Pages that entered the caches since the beginning.
    entered: u64,
}

/// The store of one device.
#[derive(Clone, Debug)]
struct Store {
    capacity: u64,
    cache: AnyPolicy<Pages>,
    log: Log,
    /// The device with the log, and the log's first byte on it.
    log_at: (u32, u64),
    /// First byte of its own device that is available for data.
    data_begin: u64,
    /// The place of its tables, if they are not among its data.
    tables: Option<Region>,
    /// Deferred writes that are not in progress.
    due: Vec<Due>,
    /// Bytes of deferred writes, including those in progress.
    due_bytes: u64,
    /// Times at which it checks deferred writes; each device has a daemon for this.
    beat: Beat,
    /// The next check that is on the agenda.
    look_at: Option<SimTime>,
    /// Bytes of metadata since the last merge, and place of the next merge.
    merge: u64,
    merge_at: u64,
}

/// A part of a device.
#[derive(Clone, Copy, Debug)]
struct Region {
    device: u32,
    begin: u64,
    bytes: u64,
}

/// A deferred write.
#[derive(Clone, Copy, Debug)]
struct Due {
    address: Bytes,
    bytes: Bytes,
    breadcrumb: Breadcrumb,
    workload: u32,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    what: DiskOperation,
    /// Its store, as the number of the store's own device: logs and tables may be on another device.
    store: u32,
    purpose: Purpose,
}

/// The purpose of an operation.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// An exchange waits for it.
    Read { leg: u32 },
    /// Data are written to their place before their metadata.
    Data(Commit),
    /// A write of the log.
    Log,
    /// Deferred writes.
    Later,
    /// A merge of metadata.
    Merge,
    /// Metadata keys are looked up for the entry `held` of [`Stores::held_reads`].
    LookUp { held: u32 },
}

/// Reads that wait until metadata have been looked up.
#[derive(Clone, Debug)]
struct HeldReads {
    /// Number of look-ups after the current one.
    left: u8,
    leg: u32,
    /// Reads of the device; empty if the exchange waits only for the look-ups.
    reads: Vec<DiskOperation>,
}

impl Stores {
    /// The stores of a node whose cache lacks `reserved` bytes; `clocks`: the source of the phases of their clocks.
    pub(crate) fn new(
        settings: StoreSettings,
        storage: &Storage,
        reserved: Bytes,
        clocks: &Owner,
    ) -> Self {
        let node = storage.settings(reserved);
        let pages = node.cache.get() / node.page.get() / storage.disks.len() as u64;
        let pages = usize::try_from(pages.max(1)).expect("a 64-bit machine");
        let store = |(disk, capacity): (usize, Bytes)| {
            let places = Places::of(storage, disk, capacity);
            let mut stream = clocks.below(format_args!("disk{disk}")).stream("store");
            Store {
                capacity: capacity.get(),
                cache: node.policy.build_for_pages(pages),
                log: places.log,
                log_at: places.log_at,
                data_begin: places.data_begin,
                tables: places.tables,
                due: Vec::new(),
                due_bytes: 0,
                beat: Beat::drawn(settings.later.period, &mut stream),
                look_at: None,
                // a store that has been in use is at a random point between two merges
                merge: if settings.rewrites > 0 { stream.below(MERGED_AT_ONCE) } else { 0 },
                merge_at: 0,
            }
        };
        Self {
            settings,
            page: node.page.get(),
            devices: storage.capacities().enumerate().map(store).collect(),
            operations: Slab::new(),
            held_reads: Slab::new(),
            hits: HitCounts::default(),
            held: Vec::new(),
            entered: 0,
        }
    }

    pub(crate) fn hits(&self) -> &HitCounts {
        &self.hits
    }

    /// Bytes in the caches, and bytes that have left them since the beginning.
    pub(crate) fn cached_and_evicted(&self) -> (u64, u64) {
        let cached: usize = self.devices.iter().map(|store| store.cache.len()).sum();
        (cached as u64 * self.page, (self.entered - cached as u64) * self.page)
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self) {
        self.hits = HitCounts::default();
    }

    /// An operation of a device.
    pub(crate) fn operation(&self, number: u32) -> &DiskOperation {
        &self.operations[number].what
    }

    /// Reads or writes for an exchange. Returns the number of completions to wait for.
    pub(crate) fn access(&mut self, machine: &mut impl Machine, access: &StoreAccess) -> u32 {
        match access.op {
            Op::Read => self.read(machine, access),
            Op::Write => {
                self.write(machine, access);
                1
            }
        }
    }

    fn read(&mut self, machine: &mut impl Machine, access: &StoreAccess) -> u32 {
        let page = self.page;
        let (first, last) = pages(access.shard, page);
        let disk = access.disk;
        let (mut hits, mut from) = (0, None);
        let mut reads = Vec::new();
        // one iteration beyond the last page ends the last gap
        for number in first..=last {
            let found = number < last && {
                let key = u64::from(access.file) << 48 | number;
                let cache = &mut self.devices[disk as usize].cache;
                if access.cached {
                    cache.access(key).is_hit()
                } else {
                    cache.contains(key).is_some()
                }
            };
            hits += u64::from(found);
            let missing = number < last && !found;
            self.entered += u64::from(missing && access.cached);
            match (from, missing) {
                (None, true) => from = Some(number),
                (Some(begin), false) => {
                    reads.push(self.fetch(machine, access, begin, number, first));
                    from = None;
                }
                _ => {}
            }
        }
        self.hits.add(access.workload, last - first, hits);
        if hits > 0 {
            let (file, offset, size) = (access.file, access.shard.key.get(), (hits * page) as u32);
            let note = Note::ReadHit(FileExtent { file, offset, size });
            machine.note(access.thread, access.breadcrumb, note);
        }
        let waits = reads.len() as u32;
        let leg = access.exchange;
        // an OSD that has the data cached also holds the metadata
        if access.lookups > 0 && (waits > 0 || last == first) {
            let held = HeldReads { left: access.lookups - 1, leg, reads };
            let held = self.held_reads.insert(held);
            self.look_up(machine, access, held);
            return waits.max(1);
        }
        for what in reads {
            self.start(machine, disk, what, Purpose::Read { leg });
        }
        waits
    }

    /// Reads a block of the tables, for an access whose metadata are missing: anywhere on the device.
    fn look_up(&mut self, machine: &mut impl Machine, access: &StoreAccess, held: u32) {
        let left = u64::from(self.held_reads[held].left);
        let blocks = self.devices[access.disk as usize].table_bytes() / BLOCK;
        let at = mix(access.shard.key.get() ^ left) % blocks.max(1) * BLOCK;
        let (address, size) = (Bytes(at), Bytes(BLOCK));
        let what = self.place_in_tables(access.disk, address, size, Op::Read, access.into());
        let what = DiskOperation { reader: access.reader, ..what };
        self.start(machine, access.disk, what, Purpose::LookUp { held });
    }

    /// A key was looked up. The next one is looked up, or the waiting reads begin.
    fn looked_up(
        &mut self,
        machine: &mut impl Machine,
        store: u32,
        what: DiskOperation,
        held: u32,
        ready: &mut Vec<u32>,
    ) {
        if let Some(left) = self.held_reads[held].left.checked_sub(1) {
            self.held_reads[held].left = left;
            let blocks = self.devices[store as usize].table_bytes() / BLOCK;
            let at = mix(what.lbn.0 ^ u64::from(held)) % blocks.max(1) * BLOCK;
            let whose =
                Whose { breadcrumb: what.breadcrumb, workload: what.workload, thread: what.thread };
            let next = self.place_in_tables(store, Bytes(at), Bytes(BLOCK), Op::Read, whose);
            let next = DiskOperation { reader: what.reader, ..next };
            return self.start(machine, store, next, Purpose::LookUp { held });
        }
        let HeldReads { leg, reads, .. } = self.held_reads.remove(held).clone();
        if reads.is_empty() {
            ready.push(leg);
        }
        for what in reads {
            self.start(machine, store, what, Purpose::Read { leg });
        }
    }

    /// Reads pages that the cache does not have.
    fn fetch(
        &mut self,
        machine: &mut impl Machine,
        access: &StoreAccess,
        from: u64,
        to: u64,
        first: u64,
    ) -> DiskOperation {
        let page = self.page;
        let bytes = (to - from) * page;
        let (file, offset, size) = (access.file, from * page, bytes as u32);
        let note = Note::ReadMiss(FileExtent { file, offset, size });
        machine.note(access.thread, access.breadcrumb, note);
        let begin = access.shard.address.get() / page * page + (from - first) * page;
        DiskOperation {
            reader: access.reader,
            ..self.place(access.disk, Bytes(begin), Bytes(bytes), Op::Read, access.into())
        }
    }

    fn write(&mut self, machine: &mut impl Machine, access: &StoreAccess) {
        let Shard { address, key, size } = access.shard;
        let (file, offset) = (access.file, key.get());
        let note = Note::Write(FileExtent { file, offset, size: size.get() as u32 });
        machine.note(access.thread, access.breadcrumb, note);
        if access.in_tables {
            let commit = Commit {
                leg: access.exchange,
                data: 0,
                metadata: self.settings.metadata + size.get(),
                later: None,
                breadcrumb: access.breadcrumb,
                workload: access.workload,
                thread: access.thread,
            };
            return self.commit(machine, access.disk, commit);
        }
        if self.settings.cache_writes && access.cached {
            let (first, last) = pages(access.shard, self.page);
            for number in first..last {
                let key = u64::from(file) << 48 | number;
                let access = self.devices[access.disk as usize].cache.access(key);
                self.entered += u64::from(!access.is_hit());
            }
        }
        let in_log = size < self.settings.log_below;
        let commit = Commit {
            leg: access.exchange,
            data: if in_log { size.get() } else { 0 },
            metadata: self.settings.metadata,
            later: in_log.then_some((address, size)),
            breadcrumb: access.breadcrumb,
            workload: access.workload,
            thread: access.thread,
        };
        if in_log {
            self.commit(machine, access.disk, commit);
        } else {
            let what = self.place(access.disk, address, size, Op::Write, access.into());
            self.start(machine, access.disk, what, Purpose::Data(commit));
        }
    }

    /// An exchange appends bytes to a file that belongs to no object.
    pub(crate) fn append(
        &mut self,
        machine: &mut impl Machine,
        leg: u32,
        bytes: Bytes,
        by: Thread,
    ) {
        let (breadcrumb, workload) = (Breadcrumb::NONE, NO_CLIENT);
        let data = bytes.get();
        let commit =
            Commit { leg, data, metadata: 0, later: None, breadcrumb, workload, thread: by };
        self.commit(machine, 0, commit);
    }

    fn commit(&mut self, machine: &mut impl Machine, disk: u32, commit: Commit) {
        self.devices[disk as usize].log.add(commit);
        self.go_on(machine, disk);
    }

    /// Writes waiting commits to the log, if that is allowed now.
    fn go_on(&mut self, machine: &mut impl Machine, disk: u32) {
        let store = &mut self.devices[disk as usize];
        if store.due_bytes > self.settings.later.limit {
            self.write_due(machine, disk);
            return;
        }
        let Some((address, bytes, first)) = store.log.next() else { return };
        let (device, begin) = store.log_at;
        let what = DiskOperation {
            disk: device,
            lbn: Sectors::covering(Bytes(begin) + address),
            size: bytes,
            op: Op::Write,
            breadcrumb: first.breadcrumb,
            workload: first.workload,
            thread: first.thread,
            reader: 0,
        };
        self.start(machine, disk, what, Purpose::Log);
    }

    /// Begins deferred writes.
    fn write_due(&mut self, machine: &mut impl Machine, disk: u32) {
        let due = std::mem::take(&mut self.devices[disk as usize].due);
        for Due { address, bytes, breadcrumb, workload } in due {
            let whose = Whose { breadcrumb, workload, thread: FLUSHER };
            let what = self.place(disk, address, bytes, Op::Write, whose);
            self.start(machine, disk, what, Purpose::Later);
        }
    }

    /// The place of data on a device: after the log, in whole blocks.
    fn place(&self, disk: u32, address: Bytes, size: Bytes, op: Op, whose: Whose) -> DiskOperation {
        let store = &self.devices[disk as usize];
        let (begin, end) = (address.get() / BLOCK * BLOCK, (address + size).get());
        let bytes = end.next_multiple_of(BLOCK) - begin;
        // the scenario's checks refuse pools that are too large for the devices; other pools hardly ever wrap
        // around
        let room = (store.capacity - store.data_begin).saturating_sub(bytes) / BLOCK * BLOCK;
        let within = begin % room.max(BLOCK);
        DiskOperation {
            disk,
            lbn: Sectors::covering(Bytes(store.data_begin + within)),
            size: Bytes(bytes),
            op,
            breadcrumb: whose.breadcrumb,
            workload: whose.workload,
            thread: whose.thread,
            reader: 0,
        }
    }

    /// The place of table blocks: on a separate device, or among the data.
    fn place_in_tables(
        &self,
        disk: u32,
        address: Bytes,
        size: Bytes,
        op: Op,
        whose: Whose,
    ) -> DiskOperation {
        let Some(Region { device, begin, bytes }) = self.devices[disk as usize].tables else {
            return self.place(disk, address, size, op, whose);
        };
        let room = bytes.saturating_sub(size.get()) / BLOCK * BLOCK;
        let within = address.get() / BLOCK * BLOCK % room.max(BLOCK);
        DiskOperation {
            disk: device,
            lbn: Sectors::covering(Bytes(begin + within)),
            size,
            op,
            breadcrumb: whose.breadcrumb,
            workload: whose.workload,
            thread: whose.thread,
            reader: 0,
        }
    }

    fn start(
        &mut self,
        machine: &mut impl Machine,
        store: u32,
        what: DiskOperation,
        purpose: Purpose,
    ) {
        let number = self.operations.insert(Operation { what, store, purpose });
        machine.start(number, &what);
    }

    /// Reads a chunk for the scrubber of a disk, whatever is cached.
    pub(crate) fn scrub(&mut self, machine: &mut impl Machine, access: &ScrubAccess) {
        let ScrubAccess { leg, disk, begin, size, .. } = *access;
        let (breadcrumb, workload) = (Breadcrumb::NONE, NO_CLIENT);
        let whose = Whose { breadcrumb, workload, thread: access.thread };
        let place = self.place(disk, begin, size, Op::Read, whose);
        let what = DiskOperation { lbn: place.lbn, size: place.size, ..access.operation(begin) };
        self.start(machine, disk, what, Purpose::Read { leg });
    }

    /// Updates the cache for an access that takes no time.
    pub(crate) fn touch(&mut self, access: &StoreAccess) {
        if access.op == Op::Write && (!self.settings.cache_writes || access.in_tables) {
            return;
        }
        let (first, last) = pages(access.shard, self.page);
        let mut hits = 0;
        for number in first..last {
            let key = u64::from(access.file) << 48 | number;
            let hit = self.devices[access.disk as usize].cache.access(key).is_hit();
            hits += u64::from(hit);
            self.entered += u64::from(!hit);
        }
        if access.op == Op::Read {
            self.hits.add(access.workload, last - first, hits);
        }
    }

    /// An operation of a device is done. Appends the exchanges that waited for it to `ready`.
    pub(crate) fn disk_done(
        &mut self,
        machine: &mut impl Machine,
        number: u32,
        ready: &mut Vec<u32>,
    ) {
        let Operation { what, store: disk, purpose } = *self.operations.remove(number);
        match purpose {
            Purpose::Read { leg } => ready.push(leg),
            Purpose::Data(commit) => self.commit(machine, disk, commit),
            Purpose::Log => self.committed(machine, disk, ready),
            Purpose::Later => {
                self.devices[disk as usize].due_bytes -= what.size.get();
                self.go_on(machine, disk);
            }
            Purpose::Merge => {}
            Purpose::LookUp { held } => self.looked_up(machine, disk, what, held, ready),
        }
    }

    fn committed(&mut self, machine: &mut impl Machine, disk: u32, ready: &mut Vec<u32>) {
        let later = self.settings.later;
        let mut held = std::mem::take(&mut self.held);
        let store = &mut self.devices[disk as usize];
        store.log.done(&mut held);
        for commit in held.drain(..) {
            ready.push(commit.leg);
            store.merge += commit.metadata * self.settings.rewrites;
            if let Some((address, bytes)) = commit.later {
                let Commit { breadcrumb, workload, .. } = commit;
                store.due.push(Due { address, bytes, breadcrumb, workload });
                // in whole blocks, as it will be written later
                store.due_bytes += covering(address, bytes);
            }
        }
        self.held = held;
        let store = &mut self.devices[disk as usize];
        let bytes: u64 = store.due_bytes;
        let waits = !store.due.is_empty();
        if store.due.len() >= later.writes || bytes >= later.bytes && waits {
            self.write_due(machine, disk);
        } else if waits && store.look_at.is_none() {
            let at = store.beat.after(machine.now());
            store.look_at = Some(at);
            machine.tick(at);
        }
        self.merge(machine, disk);
        self.go_on(machine, disk);
    }

    /// Rewrites metadata, if there are enough of them.
    fn merge(&mut self, machine: &mut impl Machine, disk: u32) {
        let whose = Whose { breadcrumb: Breadcrumb::NONE, workload: NO_CLIENT, thread: FLUSHER };
        if self.devices[disk as usize].merge < MERGED_AT_ONCE {
            return;
        }
        while self.devices[disk as usize].merge >= MERGE_OPERATION {
            let store = &mut self.devices[disk as usize];
            store.merge -= MERGE_OPERATION;
            let at = store.merge_at;
            store.merge_at += MERGE_OPERATION;
            let (address, size) = (Bytes(at), Bytes(MERGE_OPERATION));
            let what = self.place_in_tables(disk, address, size, Op::Write, whose);
            self.start(machine, disk, what, Purpose::Merge);
        }
    }

    /// Checks the devices on which deferred writes are due.
    pub(crate) fn flush_tick(&mut self, machine: &mut impl Machine) {
        let now = machine.now();
        for disk in 0..self.devices.len() as u32 {
            let store = &mut self.devices[disk as usize];
            if store.look_at.take_if(|at| *at <= now).is_some() {
                self.write_due(machine, disk);
            }
        }
    }
}

impl Store {
    /// Size of the area of the device that tables are spread over.
    fn table_bytes(&self) -> u64 {
        self.tables.map_or(self.capacity, |region| region.bytes)
    }
}

/// The places of a store's log, tables and data.
struct Places {
    log: Log,
    log_at: (u32, u64),
    data_begin: u64,
    tables: Option<Region>,
}

impl Places {
    /// The places for the store of a disk: the log is at the beginning of the part of a `wal` device; without one, at
    /// the beginning of the part of a `db` device, before the tables; without either, before the data.
    fn of(storage: &Storage, disk: usize, capacity: Bytes) -> Self {
        let own = &storage.disks[disk];
        let region = |part| {
            let (device, begin, bytes) = storage.place_of(part);
            Region { device, begin: begin.get(), bytes: bytes.get() }
        };
        let (wal, db) = (own.wal.map(region), own.db.map(region));
        if let Some(wal) = wal {
            let log = Log::alone(Bytes(wal.bytes));
            return Self { log, log_at: (wal.device, wal.begin), data_begin: 0, tables: db };
        }
        let log = Log::new(db.map_or(capacity, |db| Bytes(db.bytes)));
        let bytes = log.bytes();
        if let Some(db) = db {
            let tables = Region { begin: db.begin + bytes, bytes: db.bytes - bytes, ..db };
            let log_at = (db.device, db.begin);
            return Self { log, log_at, data_begin: 0, tables: Some(tables) };
        }
        Self { log, log_at: (disk as u32, 0), data_begin: bytes, tables: None }
    }
}

/// The owner of an operation.
#[derive(Clone, Copy, Debug)]
struct Whose {
    breadcrumb: Breadcrumb,
    workload: u32,
    thread: Thread,
}

impl From<&StoreAccess> for Whose {
    fn from(access: &StoreAccess) -> Self {
        let StoreAccess { breadcrumb, workload, thread, .. } = *access;
        Self { breadcrumb, workload, thread }
    }
}

fn covering(address: Bytes, size: Bytes) -> u64 {
    (address + size).get().next_multiple_of(BLOCK) - address.get() / BLOCK * BLOCK
}

/// The pages of the cache that a shard touches: the first, and the one after the last.
fn pages(shard: Shard, page: u64) -> (u64, u64) {
    (shard.key.get() / page, (shard.key + shard.size).get().div_ceil(page))
}
