//! The services that a storage system's software needs from its machines.

use foretell_scenarios::model::CpuProfile;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime, Thread};

use crate::exchange::{Exchange, Exchanges};
use crate::request::{Phase, Request};
use crate::store::Access;

/// The machines. An engine implements these effects. Notifications that it does not need cost nothing.
pub trait Hosts {
    /// The current time.
    fn now(&self) -> SimTime;

    /// The processor profile of a host, with the cost of operations.
    fn cpu(&self, host: HostId) -> &CpuProfile;

    /// Gives a processor work; [`crate::Protocol::resume`] is called with its `then` when it is done.
    fn compute(&mut self, work: Work);

    /// Sends the message of an exchange over the network; [`crate::Protocol::delivered`] is called when it
    /// arrives.
    fn transmit(&mut self, exchanges: &Exchanges, exchange: u32);

    /// Starts an access at the store of a host. Returns the number of completions to wait for:
    /// [`crate::Protocol::stored`] is called as many times. Zero: the access is done.
    fn store(&mut self, host: HostId, access: &Access) -> u32;

    /// Requests a call of [`crate::Protocol::timer`] at that time.
    fn set_timer(&mut self, at: SimTime, timer: Timer);

    /// Moves `m` fragments chosen at random to the front, for a client of that instance of a workload.
    fn choose(&mut self, instance: u32, fragments: &mut [u8], m: usize);

    /// Notes that a client issues a request, or that one completes.
    fn note_request(&mut self, _id: u32, _request: &Request, _phase: Phase) {}

    /// Notes that a client asks the nodes that hold a part of a request: `count` of them, among them
    /// `node`.
    fn note_part(&mut self, _request: &Request, _op: Op, _node: HostId, _count: usize) {}

    /// Notes that a message has arrived at its receiver.
    fn note_received(&mut self, _exchange: &Exchange) {}

    /// Notes that an operation enters the block layer of a guest.
    fn note_block_operation(&mut self, _guest: HostId) {}

    /// Notes that an operation of a guest's block layer is done, which entered it at `arrived`.
    fn note_block_operation_done(&mut self, _guest: HostId, _arrived: SimTime) {}

    /// Sets whether the next computations are done by threads that must be woken, instead of by the thread
    /// that has just worked.
    fn set_waking(&mut self, _wakes: bool) {}

    /// Notes that an exchange has all the store completions that it waited for.
    fn note_ready(&mut self, _node: HostId) {}

    /// Whether the engine carries real data, and so needs the calls below.
    fn has_payload(&self) -> bool {
        false
    }

    /// A write of a client is cut into fragments.
    fn payload_written(&mut self, _request: &Request) {}

    /// A request begins to read blocks of a volume.
    fn payload_pinned(&mut self, _id: u32, _volume: u32, _first_block: u64, _blocks: u64) {}

    /// A node has read fragments. Returns whether it may answer. If not, a later [`Hosts::payload_stored`]
    /// appends the exchange.
    fn payload_ready(&mut self, _exchange: u32, _fragments: Fragments) -> bool {
        true
    }

    /// A node has written fragments. Appends the exchanges that may be answered now.
    fn payload_stored(&mut self, _fragments: Fragments, _ready: &mut Vec<u32>) {}

    /// Enough nodes have acknowledged blocks of a write: readers see that version from now on.
    fn payload_complete(&mut self, _volume: u32, _version: u64, _first_block: u64, _blocks: u64) {}

    /// A client has received fragments that it read.
    fn payload_taken(&mut self, _fragments: Fragments) {}

    /// A client decodes what a request has read.
    fn payload_opened(&mut self, _id: u32, _volume: u32) {}

    /// No one waits for an exchange any more. Returns whether it was held back by [`Hosts::payload_ready`]:
    /// in that case it is not appended later.
    fn payload_forgotten(&mut self, _exchange: u32) -> bool {
        false
    }

    /// A request ends unfinished.
    fn payload_failed(&mut self, _id: u32) {}

    /// A node has made fragments from others that a request has read, and has written them. Appends the
    /// exchanges that may be answered now.
    fn payload_rebuilt(&mut self, _fragments: Fragments, _ready: &mut Vec<u32>) {}

    /// A holder has read fragments, and `to` gets a copy of them.
    fn payload_moved(&mut self, _fragments: Fragments, _to: HostId) {}

    /// A node drops fragments, which another one holds from now on.
    fn payload_dropped(&mut self, _fragments: Fragments) {}

    /// Blocks of a volume now have the encoding of another volume, and belong to it from now on.
    fn payload_converted(
        &mut self,
        _volume: u32,
        _from: u32,
        _to: u32,
        _first_block: u64,
        _blocks: u64,
    ) {
    }

    /// Fragments of blocks with the old encoding are dropped.
    fn payload_left(&mut self, _volume: u32, _first_block: u64, _blocks: u64) {}

    /// Servers have received fragments that others made from theirs.
    fn payload_copied(&mut self, _copied: &Copied) {}

    /// A server has read fragments of the versions that a request is pinned to. It must have them.
    fn payload_read(&mut self, _fragments: Fragments) {}

    /// A server has found its copies for a request, which sees from now on the versions that the server has.
    /// `is_stale`: whether any must be older than the one that was complete when the request was sent.
    fn payload_found(&mut self, _fragments: Fragments, _is_stale: bool) {}

    /// No message of a write is outstanding any more: servers that do not have it yet will not get it from its client.
    fn payload_settled(&mut self, _volume: u32, _version: u64, _first_block: u64, _blocks: u64) {}

    /// The data of a host are lost.
    fn payload_wiped(&mut self, _host: HostId) {}
}

/// Work for the processor of a host.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The host.
    pub host: HostId,
    /// The workload, or [`foretell_algorithms::node::NO_CLIENT`].
    pub workload: u32,
    /// The thread that works.
    pub thread: Thread,
    /// The request that it belongs to.
    pub breadcrumb: Breadcrumb,
    /// Time on this processor.
    pub span: SimSpan,
    /// The kind of work.
    pub work_kind: WorkKind,
    /// The step that follows.
    pub then: Continuation,
}

/// Kinds of work, as operating systems account for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkKind {
    /// An application computes.
    Application,
    /// The network stack sends a message.
    Sending,
    /// The network stack receives a message, which a process then handles.
    Receiving {
        /// The network stack's share of the work.
        receiving: SimSpan,
        /// The share of copying in the rest.
        copying: SimSpan,
    },
}

/// The step that follows a computation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Continuation {
    /// The client has prepared a request: its messages are sent.
    Prepared {
        /// Its number.
        request: u32,
    },
    /// The sender hands the message of an exchange to the network.
    Sent {
        /// Its number.
        exchange: u32,
    },
    /// A server has received the message of an exchange.
    Taken {
        /// Its number.
        exchange: u32,
    },
    /// The answer of an exchange has been received.
    Answered {
        /// Its number.
        exchange: u32,
    },
    /// The client has decoded what a request has read.
    Decoded {
        /// Its number.
        request: u32,
    },
    /// A server has done a computation of the storage system for an exchange.
    Step {
        /// Its number.
        exchange: u32,
    },
    /// A thread of a server has finished a job.
    Daemon {
        /// Its number.
        job: u32,
    },
    /// The checksum of a chunk that a scrubber has read is computed.
    Scrubbed {
        /// The scrubber's number.
        scrubber: u32,
    },
    /// A computation of the engine itself. The protocol does not see it.
    Load {
        /// A number chosen by the engine.
        number: u32,
    },
}

/// Timers of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timer {
    /// The scheduler of a guest is due to decide again.
    Guest {
        /// The guest.
        host: u32,
    },
    /// A guest commits its journal.
    Journal {
        /// The guest.
        host: u32,
    },
    /// A timer of the storage system for a host.
    System {
        /// The host.
        host: u32,
    },
    /// A device flush for a job of a server's thread is done.
    Daemon {
        /// Its number.
        job: u32,
    },
    /// A scrubber is to read its next chunk.
    Scrub {
        /// Its number.
        scrubber: u32,
    },
    /// A client checks a part of a request that it waits for; this and the timers below exist only in
    /// scenarios with events.
    Part {
        /// Its number.
        part: u32,
    },
    /// A host has been silent, or down, for a certain time.
    Watch {
        /// The host.
        host: u32,
    },
    /// A host searches for fragments that it must rebuild.
    Repair {
        /// The host.
        host: u32,
    },
}

/// The fragments that an exchange carries, for engines that carry real data.
#[derive(Clone, Copy, Debug)]
pub struct Fragments {
    /// The request that they belong to.
    pub request: u32,
    /// For a write: its version.
    pub version: u64,
    /// The volume.
    pub volume: u32,
    /// The first block.
    pub first_block: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// The number of the fragment, of n for each block.
    pub fragment: u8,
    /// The node that has it, or will have it.
    pub node: HostId,
}

/// Fragments of an object that some servers have made from those that others hold.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    /// The volume.
    pub volume: u32,
    /// The first block.
    pub first_block: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// The fragments that were read, with their servers.
    pub sources: &'a [(u8, HostId)],
    /// The fragments that were computed, with their servers.
    pub targets: &'a [(u8, HostId)],
}

impl Fragments {
    /// The numbers of the blocks.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.first_block..self.first_block + self.blocks
    }
}

/// Converts to 32 bits. A number that does not fit would be a defect of the program.
pub(crate) fn small(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).expect("groups are bounded")
}
