//! The agenda: future events in the order of time. Events at the same time keep the order in which
//! they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_systems::Timer;
use foretell_units::SimTime;

use super::links::LinkStep;

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    /// An instance of a workload issues its next request.
    Issue { instance: u32 },
    /// The running slice of a core ends.
    Slice { host: u32, core: u32 },
    /// The network goes on.
    Network(LinkStep),
    /// A message that uses no link is delivered.
    Delivered { exchange: u32 },
    /// The bandwidth limit of the sending virtual machine lets a message pass to the link.
    LetOut { exchange: u32 },
    /// The bandwidth limit of the receiving virtual machine lets a message pass.
    LetIn { exchange: u32 },
    /// A timer of the protocol runs out.
    Timer(Timer),
    /// A disk of a machine may have completed operations.
    Disk { host: u32, disk: u32 },
    /// The flusher of a node searches for old dirty pages.
    Tick { host: u32 },
    /// One of the scenario's events takes place.
    Happens { number: u32 },
}

/// Future events.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(SimTime, u64, Event)>>,
    sequence: u64,
}

impl Agenda {
    pub(super) fn schedule(&mut self, at: SimTime, event: Event) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, event)));
    }

    pub(super) fn next_at(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    pub(super) fn next(&mut self) -> Option<(SimTime, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
