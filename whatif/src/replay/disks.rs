//! The disks of a machine, which virtual machines may share.
//!
//! A disk has a clock of its own ([`SlowClock`]): while it is slow, that clock goes slower, and so all that the disk
//! does takes longer, whatever it is.

use std::sync::Arc;

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Storage;
use foretell_units::{Op, Owner, Sectors, SimSpan, SimTime, SlowClock};

use super::agenda::{Agenda, Event};
use super::tally::Busy;
use crate::disk::{Disk, Done, Measurement, Taken};

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
    paces: Vec<Pace>,
    /// When each disk is called next by its own clock, if it is.
    calls: Vec<Option<SimTime>>,
    under_way: Slab<Tag>,
}

/// How fast a disk is.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    clock: SlowClock,
    /// What the disk had done by its own clock when that was set last, and what that was by the cluster's: for how long
    /// it was seen busy, and had work.
    own: (SimSpan, SimSpan),
    common: (SimSpan, SimSpan),
}

impl Pace {
    /// For how long a disk was busy so far.
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

    /// For how long each was busy so far.
    pub(super) fn busy(&self) -> impl Iterator<Item = Busy> {
        self.paces.iter().zip(&self.all).map(|(pace, disk)| pace.busy(disk))
    }

    /// All that a disk does takes `factor` times as long from now on.
    pub(super) fn slow_down(
        &mut self,
        now: SimTime,
        agenda: &mut Agenda,
        (machine, disk): (u32, u32),
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
        let own = self.paces[disk as usize].clock.own(now);
        let next = self.all[disk as usize].submit(own, Io { lbn, sectors, op, thread, tag });
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
        let clock = self.paces[disk as usize].clock;
        let Some(own) = self.calls[disk as usize].take_if(|own| clock.common(*own) == now) else {
            return;
        };
        let mut found = Vec::new();
        let next = self.all[disk as usize].complete(own, &mut found);
        self.call(agenda, (machine, disk), next);
        done.extend(found.into_iter().map(|mut done| {
            let Taken { service, work, alone } = done.taken;
            let [service, work, alone] = [service, work, alone].map(|span| clock.stretched(span));
            done.taken = Taken { service, work, alone };
            (*self.under_way.remove(done.number), done)
        }));
    }

    fn call(&mut self, agenda: &mut Agenda, (machine, disk): (u32, u32), at: Option<SimTime>) {
        let Some(at) = at else { return };
        let call = &mut self.calls[disk as usize];
        if call.is_none_or(|call| at < call) {
            *call = Some(at);
            let at = self.paces[disk as usize].clock.common(at);
            agenda.schedule(at, Event::Disk { host: machine, disk });
        }
    }
}
