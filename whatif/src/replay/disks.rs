//! The disks of a machine. Virtual machines may share them.
//!
//! Each disk has its own clock ([`SlowClock`]). While the disk is slow, that clock runs slower, so
//! that all of its work takes longer.

use std::sync::Arc;

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Storage;
use foretell_units::{Owner, SimSpan, SimTime, SlowClock};

use super::agenda::{Agenda, Event};
use super::tally::Busy;
use crate::disk::{Disk, Done, Measurement, Operation, Taken};

/// An operation of a node: the node, and the operation's number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub(super) host: u32,
    pub(super) number: u32,
}

/// The disks of a machine.
#[derive(Debug, Default)]
pub(super) struct Disks {
    all: Vec<Disk>,
    paces: Vec<Pace>,
    /// When each disk is called next by its own clock, if at all.
    calls: Vec<Option<SimTime>>,
    under_way: Slab<Tag>,
}

/// The speed of a disk.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    clock: SlowClock,
    /// Busy times when the speed last changed, by the disk's own clock and by the cluster's clock. Each pair
    /// has the time for which the host saw the disk busy, and the time for which the disk had work.
    own: (SimSpan, SimSpan),
    common: (SimSpan, SimSpan),
}

impl Pace {
    /// Busy time of the disk so far.
    fn busy(&self, disk: &Disk) -> Busy {
        let since = |now: SimSpan, then| self.clock.stretched(now.saturating_sub(then));
        let seen = self.common.0 + since(disk.busy(), self.own.0);
        let worked = self.common.1 + since(disk.worked(), self.own.1);
        Busy { seen, worked }
    }
}

impl Disks {
    pub(super) fn new(storage: &Storage, measured: &[Arc<Measurement>], owner: &Owner) -> Self {
        let disks = storage.devices().zip(measured).enumerate();
        let stream = |disk: usize| owner.stream(&format!("disk{disk}"));
        Self {
            all: disks
                .map(|(index, (disk, measured))| Disk::new(disk.scheduler, measured, stream(index)))
                .collect(),
            paces: vec![Pace::default(); storage.device_count()],
            calls: vec![None; storage.device_count()],
            under_way: Slab::new(),
        }
    }

    /// Busy time of each disk so far.
    pub(super) fn busy(&self) -> impl Iterator<Item = Busy> {
        self.paces.iter().zip(&self.all).map(|(pace, disk)| pace.busy(disk))
    }

    /// From now on, all work of a disk takes `factor` times as long.
    pub(super) fn slow_down(
        &mut self,
        now: SimTime,
        agenda: &mut Agenda,
        machine: u32,
        disk: u32,
        factor: f64,
    ) {
        let (pace, of) = (&mut self.paces[disk as usize], &self.all[disk as usize]);
        let Busy { seen, worked } = pace.busy(of);
        (pace.own, pace.common) = ((of.busy(), of.worked()), (seen, worked));
        pace.clock.set(now, factor);
        if let Some(own) = self.calls[disk as usize] {
            agenda.schedule(pace.clock.common(own), Event::Disk { host: machine, disk });
        }
    }

    /// Submits an operation of a host on `machine` to a disk.
    pub(super) fn submit(
        &mut self,
        now: SimTime,
        agenda: &mut Agenda,
        machine: u32,
        disk: u32,
        tag: Tag,
        io: Io<()>,
    ) {
        let tag = self.under_way.insert(tag);
        let Io { lbn, sectors, op, thread, tag: () } = io;
        let own = self.paces[disk as usize].clock.own(now);
        let next = self.all[disk as usize].submit(own, Io { lbn, sectors, op, thread, tag });
        self.call(agenda, machine, disk, next);
    }

    /// The disks in order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Disk> {
        self.all.iter_mut()
    }

    /// An operation that takes no time.
    pub(super) fn touch(&mut self, now: SimTime, disk: u32, what: Operation) {
        self.all[disk as usize].touch(now, what);
    }

    /// A call of a disk is due. Appends the completed operations.
    pub(super) fn complete(
        &mut self,
        now: SimTime,
        agenda: &mut Agenda,
        machine: u32,
        disk: u32,
        done: &mut Vec<(Tag, Done)>,
    ) {
        let clock = self.paces[disk as usize].clock;
        let Some(own) = self.calls[disk as usize].take_if(|own| clock.common(*own) == now) else {
            return;
        };
        let mut found = Vec::new();
        let next = self.all[disk as usize].complete(own, &mut found);
        self.call(agenda, machine, disk, next);
        done.extend(found.into_iter().map(|mut done| {
            let Taken { service, work, alone } = done.taken;
            let [service, work, alone] = [service, work, alone].map(|span| clock.stretched(span));
            done.taken = Taken { service, work, alone };
            (*self.under_way.remove(done.number), done)
        }));
    }

    fn call(&mut self, agenda: &mut Agenda, machine: u32, disk: u32, at: Option<SimTime>) {
        let Some(at) = at else { return };
        let call = &mut self.calls[disk as usize];
        if call.is_none_or(|call| at < call) {
            *call = Some(at);
            let at = self.paces[disk as usize].clock.common(at);
            agenda.schedule(at, Event::Disk { host: machine, disk });
        }
    }
}
