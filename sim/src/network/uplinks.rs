//! Uplinks of racks: traffic between two racks also goes over the uplinks of both.
//!
//! A train from a rack to another goes through the switch of its sender's rack, up to the core, down to the
//! switch of its receiver's rack, and through the receiver's port. Hosts in no rack are at the core. Each
//! switch is store-and-forward for each segment. An uplink serves trains first come, first served, by the
//! arrival of their first segments. The buffers before uplinks are unlimited: nothing is dropped there, and
//! the window of a connection limits how much of its data waits. Left out: several uplinks of a rack among
//! which connections are divided by a hash (here, one uplink has their total rate), and the latency of links
//! between switches.

use foretell_algorithms::slab::Slab;
use foretell_scenarios::model;
use foretell_units::{Bytes, HostId, Rate, SimSpan, SimTime};

use super::segment::{Run, SEGMENT_WIRE};
use crate::ledger::{Usage, Violation};
use crate::link::Link;

/// The uplinks of all racks.
#[derive(Debug)]
pub(super) struct Uplinks {
    rate: Rate,
    /// Time of a full segment on an uplink.
    segment: SimSpan,
    /// By host: its rack.
    racks: Vec<Option<u32>>,
    /// By rack: to the core, and from it.
    links: Vec<[Link; 2]>,
    climbs: Slab<Climb>,
    /// Segments between a sender's link and its receiver's port.
    pub(super) segments: u64,
}

/// A train on its way from its sender's link to its receiver's port.
#[derive(Clone, Copy, Debug)]
struct Climb {
    train: u32,
    run: Run,
    passage: Passage,
    /// Racks whose uplinks are ahead: up, then down.
    ahead: [Option<u32>; 2],
}

/// When the segments of a train arrive at a switch: its first, its last, and the time from one to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) head: SimTime,
    pub(super) tail: SimTime,
    pub(super) spacing: SimSpan,
}

/// What a train does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// It arrives at the next uplink.
    Climbs(SimTime),
    /// It comes to its receiver's port.
    Descends { train: u32, passage: Passage },
}

impl Uplinks {
    /// `hosts`: their number.
    pub(super) fn new(uplinks: &model::Uplinks, hosts: usize) -> Self {
        let link = || Link::new(uplinks.rate);
        Self {
            rate: uplinks.rate,
            segment: uplinks.rate.time_for(Bytes(SEGMENT_WIRE)),
            racks: uplinks.by_host(hosts),
            links: uplinks.racks.iter().map(|_| [link(), link()]).collect(),
            climbs: Slab::new(),
            segments: 0,
        }
    }

    /// A train leaves its sender's link. Returns the number of its climb, if uplinks are between the two machines.
    pub(super) fn enter(
        &mut self,
        from: HostId,
        to: HostId,
        train: u32,
        run: Run,
        passage: Passage,
    ) -> Option<u32> {
        let (from, to) = (self.racks[from.index()], self.racks[to.index()]);
        if from == to {
            return None;
        }
        self.segments += u64::from(run.segments);
        Some(self.climbs.insert(Climb { train, run, passage, ahead: [from, to] }))
    }

    /// The first segment of a climbing train arrives at the switch before its next uplink.
    pub(super) fn pass(&mut self, now: SimTime, number: u32) -> Next {
        let climb = &mut self.climbs[number];
        let direction = usize::from(climb.ahead[0].is_none());
        let rack = climb.ahead[direction].take().expect("an uplink is ahead");
        let link = &mut self.links[rack as usize][direction];
        let run = climb.run;
        let busy = link.book(now, self.rate.time_for(Bytes(run.wire)));
        let last = self.rate.time_for(Bytes(run.last_wire()));
        let tail = busy.finish.max(climb.passage.tail + last);
        climb.passage = if run.segments == 1 {
            Passage { head: tail, tail, spacing: SimSpan::ZERO }
        } else {
            let head = busy.start + self.segment;
            let spacing = (tail - head) / u64::from(run.segments - 1);
            Passage { head, tail, spacing }
        };
        if climb.ahead.iter().any(Option::is_some) {
            return Next::Climbs(climb.passage.head);
        }
        let Climb { train, passage, .. } = *self.climbs.remove(number);
        self.segments -= u64::from(run.segments);
        Next::Descends { train, passage }
    }

    /// Measuring begins.
    pub(super) fn mark(&mut self, now: SimTime) {
        for link in self.links.iter_mut().flatten() {
            link.mark(now);
        }
    }

    /// Usage of a rack's uplink since the mark: to the core, and from it.
    pub(super) fn usage(&mut self, now: SimTime, rack: usize) -> [Usage; 2] {
        self.links[rack].each_mut().map(|link| link.usage(now))
    }

    /// Whether the operational laws hold on all uplinks.
    pub(super) fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.links.iter_mut().flatten().try_for_each(|link| link.audit(now))
    }
}
