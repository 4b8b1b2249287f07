//! A storage node: the software that is known, on disks that were measured.

use std::sync::Arc;

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::node::{FileAccess, Machine, Node as Software, Note, Operation};
use foretell_ati::RecordKind;
use foretell_scenarios::model::Storage;
use foretell_units::{Breadcrumb, Bytes, Sectors, SimSpan, SimTime, Stream, Thread};

use super::agenda::{Agenda, Event};
use super::tracking::Tracking;
use crate::disk::{Disk, Measurement};

/// A storage node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) software: Software,
    pub(super) disks: Vec<Disk>,
    /// When each disk is called next, if it is.
    calls: Vec<Option<SimTime>>,
    /// Operations that wait for nothing: everything is instantaneous.
    instant: Option<Vec<u32>>,
}

/// What a node needs of the world.
pub(super) struct Around<'a> {
    pub(super) now: SimTime,
    pub(super) host: u32,
    pub(super) agenda: &'a mut Agenda,
    pub(super) tracking: &'a mut Tracking,
}

struct Hardware<'a, 'b> {
    around: &'a mut Around<'b>,
    disks: &'a mut [Disk],
    calls: &'a mut [Option<SimTime>],
    instant: &'a mut Option<Vec<u32>>,
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
        self.around.now
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

    fn start(&mut self, number: u32, operation: &Operation) {
        self.around.tracking.post(self.around.host, RecordKind::DiskOp);
        if let Some(instant) = self.instant {
            instant.push(number);
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
        let host = self.around.host;
        self.around.agenda.schedule(at, Event::Tick { host });
    }
}

impl Node {
    pub(super) fn new(
        storage: &Storage,
        files: &[Bytes],
        reserved: Bytes,
        measured: &[Arc<Measurement>],
        mut stream: impl FnMut(usize) -> Stream,
    ) -> Self {
        let disks = storage.disks.iter().zip(measured).enumerate();
        Self {
            software: Software::new(&storage.settings(reserved), files),
            disks: disks
                .map(|(index, (disk, measured))| Disk::new(disk.scheduler, measured, stream(index)))
                .collect(),
            calls: vec![None; storage.disks.len()],
            instant: None,
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
        };
        (&mut self.software, hardware)
    }

    /// Serves an access; how many things it waits for.
    pub(super) fn access(&mut self, around: &mut Around, access: &FileAccess) -> u32 {
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
        served: &mut Vec<(u32, SimSpan)>,
    ) {
        if self.calls[disk as usize] != Some(around.now) {
            return;
        }
        self.calls[disk as usize] = None;
        let mut done = Vec::new();
        let next = self.disks[disk as usize].complete(around.now, &mut done);
        let (software, mut hardware) = self.parts(around);
        hardware.call(disk, next);
        for (number, service) in done {
            served.push((software.operation(number).workload, service));
            hardware.around.tracking.post(hardware.around.host, RecordKind::DiskOp);
            software.disk_done(&mut hardware, number, ready);
        }
    }

    /// The flusher looks.
    pub(super) fn tick(&mut self, around: &mut Around) {
        let (software, mut hardware) = self.parts(around);
        software.flush_tick(&mut hardware);
    }
}
