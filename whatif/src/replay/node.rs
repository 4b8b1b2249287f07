//! A storage node: the software that is known, on disks that were measured.

use std::sync::Arc;

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::node::{DiskOperation, Machine, Note, SetAside};
use foretell_ati::RecordKind;
use foretell_scenarios::model::Storage;
use foretell_systems::{Access, Software};
use foretell_units::{Breadcrumb, Op, Owner, Sectors, SimSpan, SimTime, Thread};

use super::agenda::{Agenda, Event};
use super::tracking::Tracking;
use crate::disk::{Disk, Done, Measurement, Taken};

/// A disk operation that is done: for whom, and what it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) workload: u32,
    pub(super) op: Op,
    pub(super) taken: Taken,
}

/// A storage node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) software: Software,
    pub(super) disks: Vec<Disk>,
    /// When each disk is called next, if it is.
    calls: Vec<Option<SimTime>>,
    /// While disk operations take no time: those that were started.
    instant: Option<Vec<u32>>,
    /// When the flusher looks, in the time of the whole run.
    pub(super) tick_at: Option<SimTime>,
    aside: Option<SetAside>,
    /// Dirty pages when the last stretch of detail began.
    dirty_before: u64,
}

/// What a node needs of the world.
pub(super) struct Around<'a> {
    /// In the time of what is replayed in detail.
    pub(super) now: SimTime,
    /// What was passed over until now.
    pub(super) skipped: SimSpan,
    pub(super) host: u32,
    pub(super) agenda: &'a mut Agenda,
    pub(super) tracking: &'a mut Tracking,
}

impl Around<'_> {
    /// The flusher is to look then, in the time of the whole run.
    pub(super) fn schedule_tick(&mut self, at: SimTime) {
        let at = SimTime::ZERO + (at.saturating_since(SimTime::ZERO + self.skipped));
        let host = self.host;
        self.agenda.schedule(at.max(self.now), Event::Tick { host });
    }
}

struct Hardware<'a, 'b> {
    around: &'a mut Around<'b>,
    disks: &'a mut [Disk],
    calls: &'a mut [Option<SimTime>],
    instant: &'a mut Option<Vec<u32>>,
    tick_at: &'a mut Option<SimTime>,
}

impl Hardware<'_, '_> {
    fn call(&mut self, disk: u32, at: Option<SimTime>) {
        let Some(at) = at else { return };
        let call = &mut self.calls[disk as usize];
        if call.is_none_or(|call| at < call) {
            *call = Some(at);
            let host = self.around.host;
            self.around.agenda.schedule(at, Event::Disk { host, disk });
        }
    }
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
        self.around.tracking.post(self.around.host, kind);
    }

    fn start(&mut self, number: u32, operation: &DiskOperation) {
        self.around.tracking.post(self.around.host, RecordKind::DiskOp);
        if let Some(instant) = self.instant {
            instant.push(number);
            let what = (operation.op, operation.lbn, Sectors::covering(operation.size));
            self.disks[operation.disk as usize].touch(self.around.now, what);
            return;
        }
        let io = Io {
            lbn: operation.lbn,
            sectors: Sectors::covering(operation.size),
            op: operation.op,
            thread: operation.reader,
            tag: number,
        };
        let next = self.disks[operation.disk as usize].submit(self.around.now, io);
        self.call(operation.disk, next);
    }

    fn tick(&mut self, at: SimTime) {
        *self.tick_at = Some(at);
        self.around.schedule_tick(at);
    }
}

impl Node {
    pub(super) fn new(
        storage: &Storage,
        software: Software,
        measured: &[Arc<Measurement>],
        owner: &Owner,
    ) -> Self {
        let stream = |disk: usize| owner.stream(&format!("disk{disk}"));
        let disks = storage.disks.iter().zip(measured).enumerate();
        Self {
            software,
            disks: disks
                .map(|(index, (disk, measured))| Disk::new(disk.scheduler, measured, stream(index)))
                .collect(),
            calls: vec![None; storage.disks.len()],
            instant: None,
            tick_at: None,
            aside: None,
            dirty_before: 0,
        }
    }

    fn parts<'a, 'b>(
        &'a mut self,
        around: &'a mut Around<'b>,
    ) -> (&'a mut Software, Hardware<'a, 'b>) {
        let hardware = Hardware {
            around,
            disks: &mut self.disks,
            calls: &mut self.calls,
            instant: &mut self.instant,
            tick_at: &mut self.tick_at,
        };
        (&mut self.software, hardware)
    }

    /// Serves an access; how many things it waits for.
    pub(super) fn access(&mut self, around: &mut Around, access: &Access) -> u32 {
        let (software, mut hardware) = self.parts(around);
        software.access(&mut hardware, access)
    }

    /// A disk was to be called now. Appends the legs that need not wait any more to `ready`, and
    /// for whom it was busy to `served`.
    pub(super) fn disk(
        &mut self,
        around: &mut Around,
        disk: u32,
        ready: &mut Vec<u32>,
        served: &mut Vec<Served>,
    ) {
        if self.calls[disk as usize] != Some(around.now) {
            return;
        }
        self.calls[disk as usize] = None;
        let mut done = Vec::new();
        let next = self.disks[disk as usize].complete(around.now, &mut done);
        let (software, mut hardware) = self.parts(around);
        hardware.call(disk, next);
        for Done { number, taken } in done {
            let operation = software.operation(number);
            let (workload, op) = (operation.workload, operation.op);
            served.push(Served { workload, op, taken });
            hardware.around.tracking.post(hardware.around.host, RecordKind::DiskOp);
            software.disk_done(&mut hardware, number, ready);
        }
    }

    /// Disk operations take no time from now on. So many times longer than the last stretch of
    /// detail is passed over: where disks did not keep up with what was written, they will not then.
    pub(super) fn pass_over(&mut self, longer: f64) {
        self.instant = Some(Vec::new());
        let Some(files) = self.software.files_mut() else { return };
        let (limit, background) = files.dirty_limits();
        let dirty = files.dirty_pages();
        let more = dirty.saturating_sub(self.dirty_before);
        // what is less may be chance
        let grows = dirty > background && more > limit / 20;
        let level = if grows { dirty + (more as f64 * longer) as u64 } else { dirty };
        self.aside = Some(files.set_aside(level.max(background)));
    }

    /// Disk operations take their time again.
    pub(super) fn resume(&mut self) {
        self.instant = None;
        let Some(files) = self.software.files_mut() else { return };
        if let Some(aside) = self.aside.take() {
            files.resume(aside);
        }
        self.dirty_before = files.dirty_pages();
    }

    /// An access whose disk operations take no time.
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

    /// The flusher looks, if it is time.
    pub(super) fn tick(&mut self, around: &mut Around) {
        if self.tick_at.is_none_or(|at| at > around.now + around.skipped) {
            return;
        }
        self.tick_at = None;
        let (software, mut hardware) = self.parts(around);
        software.flush_tick(&mut hardware);
        self.settle(around);
    }
}
