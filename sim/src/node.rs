//! A storage node on simulated disks. The predictor uses the same software on models of measured disks.

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::node::{DiskOperation, HitCounts, Machine, Note};
use foretell_ati::{Body, Phase, Resource};
use foretell_scenarios::model::Storage;
use foretell_systems::{Access, Software};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, Sectors, SimTime, Thread};

use crate::agenda::Agenda;
use crate::device::{Device, Done};
use crate::event::Event;
use crate::tracker::Tracker;

/// The parts of the engine that a node uses.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: SimTime,
    pub(crate) host: HostId,
    pub(crate) agenda: &'a mut Agenda<Event>,
    pub(crate) tracker: &'a mut Tracker,
    /// The machine with its disks, which other virtual machines may share.
    pub(crate) machine: HostId,
    pub(crate) disks: &'a mut [Device<Tag>],
}

/// The host to which an operation of a disk belongs, and the operation's number there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    pub(crate) host: HostId,
    number: u32,
}

/// A storage node.
pub(crate) struct Node {
    software: Software,
    /// First sector of its part of each disk.
    begins: Vec<Sectors>,
    /// Number of disk operations completed and their bytes, by direction, since the beginning.
    operations: [u64; 2],
    moved: [u64; 2],
    /// Bytes that left the cache since the beginning.
    evicted: u64,
}

/// Counters of a node.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct NodeCounts {
    /// Number of disk operations completed, by direction.
    pub(crate) operations: [u64; 2],
    /// Their bytes.
    pub(crate) bytes: [u64; 2],
    /// Bytes in the cache at the end.
    pub(crate) cached: u64,
    /// Bytes that left the cache.
    pub(crate) evicted: u64,
}

impl NodeCounts {
    /// The difference from `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        let less = |now: [u64; 2], before: [u64; 2]| [now[0] - before[0], now[1] - before[1]];
        Self {
            operations: less(self.operations, before.operations),
            bytes: less(self.bytes, before.bytes),
            cached: self.cached,
            evicted: self.evicted - before.evicted,
        }
    }
}

/// The hardware that the software runs on.
pub(crate) struct Hardware<'a, 'b> {
    around: &'a mut Surroundings<'b>,
    begins: &'a [Sectors],
    evicted: &'a mut u64,
}

impl Hardware<'_, '_> {
    /// Posts a record.
    fn post(&mut self, thread: Thread, breadcrumb: Breadcrumb, body: Body) {
        let Surroundings { now, host, ref mut tracker, .. } = *self.around;
        tracker.post(now, host, thread, breadcrumb, body);
    }

    /// The reader's number as the disk sees it: each virtual machine has its own readers.
    fn thread(&self, reader: u64) -> u64 {
        let Surroundings { host, machine, .. } = *self.around;
        // readers are numbers of clients and workloads, which leave the highest bits free
        if host == machine { reader } else { reader ^ u64::from(host.0).rotate_right(14) }
    }
}

impl Machine for Hardware<'_, '_> {
    fn now(&self) -> SimTime {
        self.around.now
    }

    fn note(&mut self, thread: Thread, breadcrumb: Breadcrumb, note: Note) {
        let body = match note {
            Note::ReadHit(at) => {
                Body::BufferReadHit { file: at.file, offset: at.offset, size: at.size }
            }
            Note::ReadMiss(at) => {
                Body::BufferReadMiss { file: at.file, offset: at.offset, size: at.size }
            }
            Note::Write(at) => {
                Body::BufferWrite { file: at.file, offset: at.offset, size: at.size }
            }
            Note::ReadAhead { at, page } => Body::BufferReadAhead {
                file: at.file,
                offset: at.offset,
                numpages: at.size / page,
                pagesize: page,
            },
            Note::Flush(at) => {
                Body::BufferFlush { file: at.file, offset: at.offset, size: at.size }
            }
            Note::Evict(at) => {
                *self.evicted += u64::from(at.size);
                Body::BufferEvict { file: at.file, offset: at.offset, size: at.size }
            }
        };
        self.post(thread, breadcrumb, body);
    }

    fn start(&mut self, number: u32, operation: &DiskOperation) {
        let now = self.around.now;
        post_disk_op(self.around, operation, Phase::Issue);
        let &DiskOperation { disk, lbn, size, op, reader, .. } = operation;
        let tag = Tag { host: self.around.host, number };
        let lbn = self.begins[disk as usize] + lbn;
        let thread = self.thread(reader);
        let io = Io { lbn, sectors: Sectors::covering(size), op, thread, tag };
        if let Some(next) = self.around.disks[disk as usize].submit(now, io) {
            call_disk(self.around.agenda, self.around.machine, disk, next);
        }
    }

    fn tick(&mut self, at: SimTime) {
        let host = self.around.host.0;
        self.around.agenda.schedule(at, Event::FlushTick { host });
    }
}

/// Schedules a call that a disk of a machine has asked for.
pub(crate) fn call_disk(agenda: &mut Agenda<Event>, machine: HostId, disk: u32, at: SimTime) {
    agenda.schedule(at, Event::DiskDone { host: machine.0, disk: disk as u16 });
}

impl Node {
    /// `place`: the number of its part of the disks.
    pub(crate) fn new(storage: &Storage, place: u32, software: Software) -> Self {
        let begin = |part: Bytes| Sectors::covering(part * u64::from(place));
        Self {
            software,
            begins: storage.device_capacities().map(begin).collect(),
            operations: [0; 2],
            moved: [0; 2],
            evicted: 0,
        }
    }

    fn parts<'a, 'b>(
        &'a mut self,
        around: &'a mut Surroundings<'b>,
    ) -> (&'a mut Software, Hardware<'a, 'b>) {
        let evicted = &mut self.evicted;
        (&mut self.software, Hardware { around, begins: &self.begins, evicted })
    }

    /// Serves an access. Returns the number of completions to wait for: [`Node::disk_done`] will return
    /// its exchange as many times. Zero: the access is done.
    pub(crate) fn access(&mut self, around: &mut Surroundings, access: &Access) -> u32 {
        let (software, mut hardware) = self.parts(around);
        software.access(&mut hardware, access)
    }

    /// A disk has finished one of its operations. Appends the exchanges that waited for it to `ready`.
    pub(crate) fn disk_done(
        &mut self,
        around: &mut Surroundings,
        disk: u32,
        done: &Done<Tag>,
        ready: &mut Vec<u32>,
    ) {
        let number = done.io.tag.number;
        let operation = self.software.operation(number);
        post_disk_op(around, &operation, Phase::Complete);
        self.operations[operation.op as usize] += 1;
        self.moved[operation.op as usize] += operation.size.get();
        let workload = operation.workload;
        around.tracker.charge(around.machine, Resource::Disk(disk), workload, || done.service);
        let (software, mut hardware) = self.parts(around);
        software.disk_done(&mut hardware, number, ready);
    }

    /// Flushes pages that have waited for too long.
    pub(crate) fn flush_tick(&mut self, around: &mut Surroundings) {
        let (software, mut hardware) = self.parts(around);
        software.flush_tick(&mut hardware);
    }

    /// Updates disks that are arrays for a read or write of a file's range before the simulation
    /// begins; it takes no time. Objects are unknown to it.
    pub(crate) fn touch(
        &self,
        disks: &mut [Device<Tag>],
        file: u32,
        op: Op,
        offset: Bytes,
        size: Bytes,
    ) {
        let mut done = Bytes::ZERO;
        while done < size {
            let most = size.saturating_sub(done);
            let Some(extent) = self.software.locate(file, offset + done, most) else { return };
            let sectors = Sectors::covering(extent.bytes);
            let disk = extent.disk as usize;
            disks[disk].touch(op, self.begins[disk] + extent.lbn, sectors);
            done += extent.bytes;
        }
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self) {
        self.software.mark();
    }

    /// Counters since the beginning.
    pub(crate) fn counts(&self) -> NodeCounts {
        let (cached, evicted) = self.software.cached_and_evicted();
        let evicted = evicted.unwrap_or(self.evicted);
        NodeCounts { operations: self.operations, bytes: self.moved, cached, evicted }
    }

    /// Cache hits since the mark.
    pub(crate) fn hits(&self) -> &HitCounts {
        self.software.hits()
    }
}

fn post_disk_op(around: &mut Surroundings, operation: &DiskOperation, phase: Phase) {
    let body = Body::DiskOp {
        disk: operation.disk,
        lbn: operation.lbn.get(),
        size: operation.size.get() as u32,
        op: operation.op,
        phase,
    };
    around.tracker.post(around.now, around.host, operation.thread, operation.breadcrumb, body);
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::Document;
    use foretell_units::{Owner, Seed};

    use super::*;

    #[test]
    fn virtual_machines_have_parts_of_their_machines_disks() {
        let scenario = Document::shipped("first-look").unwrap().unwrap().check().unwrap();
        let storage = scenario.hosts.iter().find_map(|host| host.role.storage()).unwrap();
        let whole = storage.disks[0].device.capacity();
        let mut storage = storage.clone();
        assert_eq!(storage.capacities().next(), Some(whole));
        storage.shared_by = 3;
        let part = storage.capacities().next().unwrap();
        assert!(part * 3 <= whole && part * 3 + Bytes::mib(3) > whole, "{part} of {whole}");
        assert_eq!(part.get() % Bytes::mib(1).get(), 0);
        let owner = Owner::new(Seed(1), "host/n");
        for place in 0..3 {
            let software = Software::files(&storage, &[Bytes::gib(1)], Bytes::ZERO, &owner);
            let node = Node::new(&storage, place, software);
            assert_eq!(node.begins, [Sectors::covering(part * u64::from(place))]);
        }
    }
}
