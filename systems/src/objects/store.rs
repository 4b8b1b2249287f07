//! How a server of objects uses its devices.
//!
//! Each device is a store of its own. A read looks into the store's share of the node's cache, page
//! by page, and reads what is missing. A write is durable when the log has it (see `log`):
//!
//! - `BlueStore`: a short write goes into the log with its metadata, and to its place later; a long
//!   one goes to its place, and then its metadata into the log;
//! - `FileStore`: all goes into the journal, and to its place later; it is in the page cache at once;
//! - an object server of Swift: the file is written, then its metadata and the file system's journal.
//!
//! What is due later is written when there is enough of it or it has waited long enough; when too
//! much is due, commits wait. Metadata in `RocksDB` are written again when they are merged. Sources:
//! Aghayev et al., *File Systems Unfit as Distributed Storage Backends*, SOSP 2019; Ceph's
//! configuration reference for the limits. Metadata that an OSD does not hold are
//! looked up first (`onodes`).
//!
//! An OSD may have its log (`wal`) and its tables (`db`) on parts of other devices; without `wal` the log is where the
//! tables are (Ceph's manual, *`BlueStore` configuration reference*, Devices). Left out: tables that a `db` device has no room
//! for; fragmentation and allocation, check sums' bytes, read-ahead.

use foretell_algorithms::cache::{AnyPolicy, Policy};
use foretell_algorithms::mix;
use foretell_algorithms::node::{
    DiskOperation, FLUSHER, HitCounts, Machine, NOBODY, Note, Stretch,
};
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Storage;
use foretell_units::{Beat, Breadcrumb, Bytes, Op, Owner, Sectors, SimSpan, SimTime, Thread};

use super::log::{Commit, Log};
use super::{BLOCK, Shard};

/// What all stores of a cluster are set to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Writes shorter than that go into the log whole.
    pub(crate) log_below: Bytes,
    pub(crate) metadata: u64,
    /// Whether what is written is in the cache then.
    pub(crate) cache_writes: bool,
    /// How often metadata are written again.
    pub(crate) rewrites: u64,
    pub(crate) later: Later,
}

/// When deferred writes reach the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later {
    /// So many writes, or bytes, begin it.
    pub(crate) writes: usize,
    pub(crate) bytes: u64,
    /// Beyond so many bytes commits wait.
    pub(crate) limit: u64,
    /// Nothing waits longer, by much.
    pub(crate) period: SimSpan,
}

/// Metadata that are merged at once. Assumed; `RocksDB`'s are larger, and the device sees the same in
/// the mean.
const MERGED_AT_ONCE: u64 = 1 << 20;
/// Bytes of one operation of such a merge.
const MERGE_OPERATION: u64 = 512 << 10;

/// What an exchange asks of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreAccess {
    /// The exchange that waits for it.
    pub exchange: u32,
    /// Direction.
    pub op: Op,
    /// Which device.
    pub disk: u32,
    /// The volume.
    pub file: u32,
    /// Where it is.
    pub shard: Shard,
    /// Keys of the store's metadata that are looked up first on the device, one after the other. A read of nothing
    /// looks them up and does no more.
    pub lookups: u8,
    /// The request that it is part of.
    pub breadcrumb: Breadcrumb,
    /// Who serves it.
    pub thread: Thread,
    /// For which workload.
    pub workload: u32,
    /// On whose behalf: schedulers of devices that give threads turns go by it.
    pub reader: u64,
}

/// The stores of a node.
#[derive(Clone, Debug)]
pub struct Stores {
    settings: Settings,
    page: u64,
    devices: Vec<Store>,
    operations: Slab<Operation>,
    held_reads: Slab<HeldReads>,
    hits: HitCounts,
    held: Vec<Commit>,
    /// Pages that came into the caches since the beginning.
    entered: u64,
}

/// The store of one device.
#[derive(Clone, Debug)]
struct Store {
    capacity: u64,
    cache: AnyPolicy,
    log: Log,
    /// The device that has the log, and where the log begins on it.
    log_at: (u32, u64),
    /// Bytes of its own device before the first that data may have.
    data_begin: u64,
    /// Where its tables are, if not among its data.
    tables: Option<Region>,
    /// What is due later and not under way.
    due: Vec<Due>,
    /// Bytes due later, those under way among them.
    due_bytes: u64,
    /// When it looks at what is due later: a daemon of its own serves each device.
    beat: Beat,
    /// The look that is on the agenda.
    look_at: Option<SimTime>,
    /// Metadata since the last merge, and where the next goes.
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

/// A write that is due later.
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
    /// Whose it is, by its own device: logs and tables may be on another.
    store: u32,
    purpose: Purpose,
}

/// What an operation is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// A leg waits for it.
    Read { leg: u32 },
    /// Data that are written to their place before their metadata.
    Data(Commit),
    /// The log's.
    Log,
    /// What was due later.
    Later,
    /// A merge of metadata.
    Merge,
    /// Keys of metadata are looked up for what [`Stores::held_reads`] has under this number.
    LookUp { held: u32 },
}

/// What waits until metadata have been looked up.
#[derive(Clone, Debug)]
struct HeldReads {
    /// Look-ups that follow the one under way.
    left: u8,
    leg: u32,
    /// Reads of the device; none: the leg waits for the look-ups alone.
    reads: Vec<DiskOperation>,
}

impl Stores {
    /// The stores of a node whose cache lacks `reserved` bytes; `clocks`: where the phases of their
    /// clocks come from.
    pub(crate) fn new(
        settings: Settings,
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
                cache: node.policy.build(pages),
                log: places.log,
                log_at: places.log_at,
                data_begin: places.data_begin,
                tables: places.tables,
                due: Vec::new(),
                due_bytes: 0,
                beat: Beat::drawn(settings.later.period, &mut stream),
                look_at: None,
                // a store that has been at work is somewhere between two merges
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

    /// Bytes in the caches, and those that have left them since the beginning.
    pub(crate) fn cached_and_evicted(&self) -> (u64, u64) {
        let cached: usize = self.devices.iter().map(|store| store.cache.len()).sum();
        (cached as u64 * self.page, (self.entered - cached as u64) * self.page)
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self) {
        self.hits = HitCounts::default();
    }

    /// What an operation of a device is.
    pub(crate) fn operation(&self, number: u32) -> &DiskOperation {
        &self.operations[number].what
    }

    /// Reads or writes for a leg; how many things it waits for.
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
        // one beyond the last ends the last gap
        for number in first..=last {
            let found = number < last && {
                let key = u64::from(access.file) << 48 | number;
                self.devices[disk as usize].cache.access(key).is_hit()
            };
            hits += u64::from(found);
            let missing = number < last && !found;
            self.entered += u64::from(missing);
            match (from, missing) {
                (None, true) => from = Some(number),
                (Some(begin), false) => {
                    reads.push(self.fetch(machine, access, (begin, number), first));
                    from = None;
                }
                _ => {}
            }
        }
        self.hits.add(access.workload, last - first, hits);
        if hits > 0 {
            let (file, offset, size) = (access.file, access.shard.key.get(), (hits * page) as u32);
            let note = Note::ReadHit(Stretch { file, offset, size });
            machine.note(access.thread, access.breadcrumb, note);
        }
        let waits = reads.len() as u32;
        let leg = access.exchange;
        // who holds data holds the metadata, too
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

    /// Reads a block of the tables that have the metadata of an access: anywhere on the device.
    fn look_up(&mut self, machine: &mut impl Machine, access: &StoreAccess, held: u32) {
        let left = u64::from(self.held_reads[held].left);
        let blocks = self.devices[access.disk as usize].table_bytes() / BLOCK;
        let at = mix(access.shard.key.get() ^ left) % blocks.max(1) * BLOCK;
        let place = (Bytes(at), Bytes(BLOCK));
        let what = self.place_in_tables(access.disk, place, Op::Read, access.into());
        let what = DiskOperation { reader: access.reader, ..what };
        self.start(machine, access.disk, what, Purpose::LookUp { held });
    }

    /// A key was looked up: the next is, or what waited for it begins.
    fn looked_up(
        &mut self,
        machine: &mut impl Machine,
        (store, what): (u32, DiskOperation),
        held: u32,
        ready: &mut Vec<u32>,
    ) {
        if let Some(left) = self.held_reads[held].left.checked_sub(1) {
            self.held_reads[held].left = left;
            let blocks = self.devices[store as usize].table_bytes() / BLOCK;
            let at = mix(what.lbn.0 ^ u64::from(held)) % blocks.max(1) * BLOCK;
            let whose =
                Whose { breadcrumb: what.breadcrumb, workload: what.workload, thread: what.thread };
            let next = self.place_in_tables(store, (Bytes(at), Bytes(BLOCK)), Op::Read, whose);
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
        (from, to): (u64, u64),
        first: u64,
    ) -> DiskOperation {
        let page = self.page;
        let bytes = (to - from) * page;
        let (file, offset, size) = (access.file, from * page, bytes as u32);
        let note = Note::ReadMiss(Stretch { file, offset, size });
        machine.note(access.thread, access.breadcrumb, note);
        let begin = access.shard.address.get() / page * page + (from - first) * page;
        DiskOperation {
            reader: access.reader,
            ..self.place(access.disk, (Bytes(begin), Bytes(bytes)), Op::Read, access.into())
        }
    }

    fn write(&mut self, machine: &mut impl Machine, access: &StoreAccess) {
        let Shard { address, key, size } = access.shard;
        let (file, offset) = (access.file, key.get());
        let note = Note::Write(Stretch { file, offset, size: size.get() as u32 });
        machine.note(access.thread, access.breadcrumb, note);
        if self.settings.cache_writes {
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
            let what = self.place(access.disk, (address, size), Op::Write, access.into());
            self.start(machine, access.disk, what, Purpose::Data(commit));
        }
    }

    /// A leg appends so many bytes to a file that is nobody's object.
    pub(crate) fn append(
        &mut self,
        machine: &mut impl Machine,
        leg: u32,
        bytes: Bytes,
        by: Thread,
    ) {
        let (breadcrumb, workload) = (Breadcrumb::NONE, NOBODY);
        let data = bytes.get();
        let commit =
            Commit { leg, data, metadata: 0, later: None, breadcrumb, workload, thread: by };
        self.commit(machine, 0, commit);
    }

    fn commit(&mut self, machine: &mut impl Machine, disk: u32, commit: Commit) {
        self.devices[disk as usize].log.add(commit);
        self.go_on(machine, disk);
    }

    /// Writes to the log what waits for that, if it may.
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

    /// Begins to write what was due later.
    fn write_due(&mut self, machine: &mut impl Machine, disk: u32) {
        let due = std::mem::take(&mut self.devices[disk as usize].due);
        for Due { address, bytes, breadcrumb, workload } in due {
            let whose = Whose { breadcrumb, workload, thread: FLUSHER };
            let what = self.place(disk, (address, bytes), Op::Write, whose);
            self.start(machine, disk, what, Purpose::Later);
        }
    }

    /// Where data lie on a device: behind the log, in whole blocks.
    fn place(
        &self,
        disk: u32,
        (address, size): (Bytes, Bytes),
        op: Op,
        whose: Whose,
    ) -> DiskOperation {
        let store = &self.devices[disk as usize];
        let (begin, end) = (address.get() / BLOCK * BLOCK, (address + size).get());
        let bytes = end.next_multiple_of(BLOCK) - begin;
        // a pool that was too large for the devices was refused; those that fit hardly wrap around
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

    /// Where blocks of the tables lie: on a device of their own, or among the data.
    fn place_in_tables(
        &self,
        disk: u32,
        place: (Bytes, Bytes),
        op: Op,
        whose: Whose,
    ) -> DiskOperation {
        let Some(Region { device, begin, bytes }) = self.devices[disk as usize].tables else {
            return self.place(disk, place, op, whose);
        };
        let (at, size) = place;
        let room = bytes.saturating_sub(size.get()) / BLOCK * BLOCK;
        let within = at.get() / BLOCK * BLOCK % room.max(BLOCK);
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

    /// An access in no time, as far as the cache remembers it.
    pub(crate) fn touch(&mut self, access: &StoreAccess) {
        if access.op == Op::Write && !self.settings.cache_writes {
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

    /// An operation of a device is done. Appends the legs that waited for it to `ready`.
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
            Purpose::LookUp { held } => self.looked_up(machine, (disk, what), held, ready),
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
                // in whole blocks, as it will be written
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

    /// Writes metadata again, if there is enough of it.
    fn merge(&mut self, machine: &mut impl Machine, disk: u32) {
        let whose = Whose { breadcrumb: Breadcrumb::NONE, workload: NOBODY, thread: FLUSHER };
        if self.devices[disk as usize].merge < MERGED_AT_ONCE {
            return;
        }
        while self.devices[disk as usize].merge >= MERGE_OPERATION {
            let store = &mut self.devices[disk as usize];
            store.merge -= MERGE_OPERATION;
            let at = store.merge_at;
            store.merge_at += MERGE_OPERATION;
            let place = (Bytes(at), Bytes(MERGE_OPERATION));
            let what = self.place_in_tables(disk, place, Op::Write, whose);
            self.start(machine, disk, what, Purpose::Merge);
        }
    }

    /// Devices whose time it is write what is due.
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
    /// Bytes of the device that tables are anywhere in.
    fn table_bytes(&self) -> u64 {
        self.tables.map_or(self.capacity, |region| region.bytes)
    }
}

/// Where a store has its log, its tables and its data.
struct Places {
    log: Log,
    log_at: (u32, u64),
    data_begin: u64,
    tables: Option<Region>,
}

impl Places {
    /// Those of the store of a disk: the log is at the beginning of the part of a `wal` device; without one, at the
    /// beginning of the part of a `db` device, before the tables; without either, before the data.
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

/// For whom an operation is.
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

/// The pages of the cache that a shard touches: first, and one beyond the last.
fn pages(shard: Shard, page: u64) -> (u64, u64) {
    (shard.key.get() / page, (shard.key + shard.size).get().div_ceil(page))
}
