//! A storage node: the software of the storage system on models of measured disks.

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::node::{DiskOperation, Machine, Note, SetAside};
use foretell_ati::RecordKind;
use foretell_scenarios::model::Storage;
use foretell_sorted::SortedSet;
use foretell_systems::{Access, Software};
use foretell_units::{Breadcrumb, Bytes, Op, Sectors, SimSpan, SimTime, Thread};

use super::agenda::{Agenda, Event};
use super::disks::{Disks, Tag};
use super::tracking::Tracking;
use crate::caches::CacheRecords;
use crate::disk::{Done, Operation, Taken};

/// A completed disk operation: its workload, and its cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) workload: u32,
    pub(super) op: Op,
    pub(super) taken: Taken,
}

/// A storage node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) software: Software,
    /// First sector of its part of each disk.
    begins: Vec<Sectors>,
    /// The operations that were started, while disk operations take no time. Otherwise `None`.
    instant: Option<Vec<u32>>,
    /// When the software next handles waiting work, in the time of the whole run.
    ticks: SortedSet<SimTime>,
    aside: Option<SetAside>,
    /// Dirty pages when the last detailed stretch began.
    dirty_before: u64,
    /// Records that its cache has posted so far.
    pub(super) posted: CacheRecords,
}

/// The parts of the engine that a node uses.
pub(super) struct Around<'a> {
    /// Time of the part that is replayed in detail.
    pub(super) now: SimTime,
    /// Total time that was skipped so far.
    pub(super) skipped: SimSpan,
    pub(super) host: u32,
    /// The machine of its disks, which other virtual machines may share.
    pub(super) machine: u32,
    pub(super) disks: &'a mut Disks,
    pub(super) agenda: &'a mut Agenda,
    pub(super) tracking: &'a mut Tracking,
}

impl Around<'_> {
    /// Schedules a tick of the software, in the time of the whole run.
    fn schedule_tick(&mut self, at: SimTime) {
        let at = SimTime::ZERO + (at.saturating_since(SimTime::ZERO + self.skipped));
        let host = self.host;
        self.agenda.schedule(at.max(self.now), Event::Tick { host });
    }

    /// The number by which a disk distinguishes readers. Each virtual machine has its own readers.
    fn reader(&self, reader: u64) -> u64 {
        // readers are numbers of clients and workloads, which do not use the highest bits
        let is_alone = self.host == self.machine;
        if is_alone { reader } else { reader ^ u64::from(self.host).rotate_right(14) }
    }
}

struct Hardware<'a, 'b> {
    around: &'a mut Around<'b>,
    begins: &'a [Sectors],
    instant: &'a mut Option<Vec<u32>>,
    ticks: &'a mut SortedSet<SimTime>,
    posted: &'a mut CacheRecords,
}

impl Machine for Hardware<'_, '_> {
    fn now(&self) -> SimTime {
        self.around.now + self.around.skipped
    }

    fn note(&mut self, _thread: Thread, _breadcrumb: Breadcrumb, note: Note) {
        let kind = match note {
            Note::ReadHit(_) => RecordKind::BufferReadHit,
            Note::ReadMiss(_) => RecordKind::BufferReadMiss,
            Note::Write(_) => RecordKind::BufferWrite,
            Note::ReadAhead { .. } => RecordKind::BufferReadAhead,
            Note::Flush(_) => RecordKind::BufferFlush,
            Note::Evict(_) => RecordKind::BufferEvict,
        };
        self.posted.count(kind);
        self.around.tracking.post(self.around.host, kind);
    }

    fn start(&mut self, number: u32, operation: &DiskOperation) {
        self.around.tracking.post(self.around.host, RecordKind::DiskOp);
        let &DiskOperation { disk, op, reader, .. } = operation;
        let lbn = self.begins[disk as usize] + operation.lbn;
        let sectors = Sectors::covering(operation.size);
        let thread = self.around.reader(reader);
        let Around { now, host, machine, ref mut disks, ref mut agenda, .. } = *self.around;
        if let Some(instant) = self.instant {
            instant.push(number);
            disks.touch(now, disk, Operation { op, lbn, sectors });
            return;
        }
        let io = Io { lbn, sectors, op, thread, tag: () };
        disks.submit(now, agenda, machine, disk, Tag { host, number }, io);
    }

    fn tick(&mut self, at: SimTime) {
        self.ticks.insert(at);
        self.around.schedule_tick(at);
    }
}

impl Node {
    /// `place`: which part of the disks belongs to the node.
    pub(super) fn new(storage: &Storage, place: u32, software: Software) -> Self {
        let begin = |part: Bytes| Sectors::covering(part * u64::from(place));
        Self {
            software,
            begins: storage.device_capacities().map(begin).collect(),
            instant: None,
            ticks: SortedSet::new(),
            aside: None,
            dirty_before: 0,
            posted: CacheRecords::default(),
        }
    }

    fn parts<'a, 'b>(
        &'a mut self,
        around: &'a mut Around<'b>,
    ) -> (&'a mut Software, Hardware<'a, 'b>) {
        let hardware = Hardware {
            around,
            begins: &self.begins,
            instant: &mut self.instant,
            ticks: &mut self.ticks,
            posted: &mut self.posted,
        };
        (&mut self.software, hardware)
    }

    /// Serves an access. Returns the number of operations that it waits for.
    pub(super) fn access(&mut self, around: &mut Around, access: &Access) -> u32 {
        let (software, mut hardware) = self.parts(around);
        software.access(&mut hardware, access)
    }

    /// A disk has completed an operation of this node. Appends the exchanges that no longer wait to `ready`.
    /// Returns the operation and its cost.
    pub(super) fn disk_done(
        &mut self,
        around: &mut Around,
        Done { number, taken }: Done,
        ready: &mut Vec<u32>,
    ) -> Served {
        let (software, mut hardware) = self.parts(around);
        let operation = software.operation(number);
        hardware.around.tracking.post(hardware.around.host, RecordKind::DiskOp);
        software.disk_done(&mut hardware, number, ready);
        Served { workload: operation.workload, op: operation.op, taken }
    }

    /// From now on, disk operations take no time. The skipped time is `longer` times as long as the last
    /// detailed stretch. If disks could not keep up with writes, the number of dirty pages goes on growing.
    pub(super) fn pass_over(&mut self, longer: f64) {
        self.instant = Some(Vec::new());
        let Some(files) = self.software.files_mut() else { return };
        let (limit, background) = files.dirty_limits();
        let dirty = files.dirty_pages();
        let more = dirty.saturating_sub(self.dirty_before);
        // a smaller increase may be chance
        let grows = dirty > background && more > limit / 20;
        let level = if grows { dirty + (more as f64 * longer) as u64 } else { dirty };
        self.aside = Some(files.set_aside(level.max(background)));
    }

    /// Disk operations take time again.
    pub(super) fn resume(&mut self, around: &mut Around) {
        self.instant = None;
        for &at in &self.ticks {
            around.schedule_tick(at);
        }
        let Some(files) = self.software.files_mut() else { return };
        if let Some(aside) = self.aside.take() {
            files.resume(aside);
        }
        self.dirty_before = files.dirty_pages();
    }

    /// Serves an access whose disk operations take no time.
    pub(super) fn touch(&mut self, around: &mut Around, access: &Access) {
        let (software, mut hardware) = self.parts(around);
        software.touch(&mut hardware, access);
        self.settle(around);
    }

    /// Completes all disk operations.
    fn settle(&mut self, around: &mut Around) {
        let mut ready = Vec::new();
        while let Some(number) = self.instant.as_mut().and_then(Vec::pop) {
            let (software, mut hardware) = self.parts(around);
            software.disk_done(&mut hardware, number, &mut ready);
        }
    }

    /// Reads or writes part of a file before the replay begins. This takes no time and changes only the
    /// caches of arrays. It does not affect object stores.
    pub(super) fn touch_disks(
        &self,
        around: &mut Around,
        file: u32,
        op: Op,
        offset: Bytes,
        size: Bytes,
    ) {
        let mut done = Bytes::ZERO;
        while done < size {
            let most = size.saturating_sub(done);
            let Some(extent) = self.software.locate(file, offset + done, most) else { return };
            let lbn = self.begins[extent.disk as usize] + extent.lbn;
            let sectors = Sectors::covering(extent.bytes);
            let what = Operation { op, lbn, sectors };
            around.disks.touch(around.now, extent.disk, what);
            done += extent.bytes;
        }
    }

    /// When the software next handles waiting work, in the time of the whole run.
    pub(super) fn next_tick(&self) -> Option<SimTime> {
        self.ticks.first().copied()
    }

    /// Lets the software handle waiting work, if it is time.
    pub(super) fn tick(&mut self, around: &mut Around) {
        let now = around.now + around.skipped;
        if self.next_tick().is_none_or(|at| at > now) {
            return;
        }
        self.ticks.retain(|at| *at > now);
        let (software, mut hardware) = self.parts(around);
        software.flush_tick(&mut hardware);
        self.settle(around);
    }
}
