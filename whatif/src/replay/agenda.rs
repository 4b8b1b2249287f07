//! What will happen, in the order of time; equal times in the order in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_units::SimTime;

use super::links::Step;

/// Something that will happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    /// An instance of a workload issues its next request.
    Issue { instance: u32 },
    /// The running slice of a core ends.
    Slice { host: u32, core: u32 },
    /// A request of a client is encoded.
    Prepared { request: u32 },
    /// A leg's sender hands its message to the network.
    Sent { leg: u32 },
    /// The network goes on.
    Network(Step),
    /// A node has taken a leg's message in.
    Serve { leg: u32 },
    /// A client has taken a leg's answer in.
    Replied { leg: u32 },
    /// A client has decoded what it fetched or read.
    Decoded { request: u32 },
    /// The Activity DB's node has taken a batch of records in.
    StoreRecords { leg: u32 },
    /// A disk may have finished something.
    Disk { host: u32, disk: u32 },
    /// The flusher of a node looks for old pages.
    Tick { host: u32 },
}

/// Events to come.
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
