//! The disks of a machine, which virtual machines may share.

use std::sync::Arc;

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Storage;
use foretell_units::{Op, Owner, Sectors, SimTime};

use super::agenda::{Agenda, Event};
use crate::disk::{Disk, Done, Measurement};

/// An operation of a node, by its number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub(super) host: u32,
    pub(super) number: u32,
}

/// The disks of a machine.
#[derive(Debug, Default)]
pub(super) struct Disks {
    all: Vec<Disk>,
    /// When each disk is called next, if it is.
    calls: Vec<Option<SimTime>>,
    under_way: Slab<Tag>,
}

impl Disks {
    pub(super) fn new(storage: &Storage, measured: &[Arc<Measurement>], owner: &Owner) -> Self {
        let disks = storage.devices().zip(measured).enumerate();
        let stream = |disk: usize| owner.stream(&format!("disk{disk}"));
        Self {
            all: disks
                .map(|(index, (disk, measured))| Disk::new(disk.scheduler, measured, stream(index)))
                .collect(),
            calls: vec![None; storage.device_count()],
            under_way: Slab::new(),
        }
    }

    /// In order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Disk> {
        self.all.iter()
    }

    /// Gives a disk of `machine` an operation of one of its hosts.
    pub(super) fn submit(
        &mut self,
        now: SimTime,
        agenda: &mut Agenda,
        (machine, disk): (u32, u32),
        tag: Tag,
        io: Io<()>,
    ) {
        let tag = self.under_way.insert(tag);
        let Io { lbn, sectors, op, thread, tag: () } = io;
        let next = self.all[disk as usize].submit(now, Io { lbn, sectors, op, thread, tag });
        self.call(agenda, (machine, disk), next);
    }

    /// In order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Disk> {
        self.all.iter_mut()
    }

    /// An operation takes no time.
    pub(super) fn touch(&mut self, now: SimTime, disk: u32, what: (Op, Sectors, Sectors)) {
        self.all[disk as usize].touch(now, what);
    }

    /// A disk was to be called now. Appends the operations that are done.
    pub(super) fn complete(
        &mut self,
        now: SimTime,
        agenda: &mut Agenda,
        (machine, disk): (u32, u32),
        done: &mut Vec<(Tag, Done)>,
    ) {
        if self.calls[disk as usize] != Some(now) {
            return;
        }
        self.calls[disk as usize] = None;
        let mut found = Vec::new();
        let next = self.all[disk as usize].complete(now, &mut found);
        self.call(agenda, (machine, disk), next);
        done.extend(found.into_iter().map(|done| (*self.under_way.remove(done.number), done)));
    }

    fn call(&mut self, agenda: &mut Agenda, (machine, disk): (u32, u32), at: Option<SimTime>) {
        let Some(at) = at else { return };
        let call = &mut self.calls[disk as usize];
        if call.is_none_or(|call| at < call) {
            *call = Some(at);
            agenda.schedule(at, Event::Disk { host: machine, disk });
        }
    }
}
