//! What the software of a storage system needs of the machines that it runs on.

use foretell_scenarios::model::CpuProfile;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime, Thread};

use crate::exchange::{Exchange, Exchanges};
use crate::request::{Phase, Request};
use crate::store::Access;

/// The machines underneath: an engine implements the effects; what it need not observe costs nothing.
pub trait Hosts {
    /// The present.
    fn now(&self) -> SimTime;

    /// What the processor of a host is and what operations cost on it.
    fn cpu(&self, host: HostId) -> &CpuProfile;

    /// Gives a processor work; [`crate::Protocol::resume`] is called with its `then` when it is done.
    fn compute(&mut self, work: Work);

    /// Puts the message of an exchange on the network; [`crate::Protocol::delivered`] is called when
    /// it is there.
    fn transmit(&mut self, exchanges: &Exchanges, exchange: u32);

    /// Gives the store of a host an access. Returns the number of completions to wait for: as often
    /// [`crate::Protocol::stored`] is called. Zero: the access is done.
    fn store(&mut self, host: HostId, access: &Access) -> u32;

    /// [`crate::Protocol::timer`] is called at that time.
    fn set_timer(&mut self, at: SimTime, timer: Timer);

    /// Moves `m` fragments chosen at random to the front, for a client of that instance of a workload.
    fn choose(&mut self, instance: u32, fragments: &mut [u8], m: usize);

    /// A client issues a request, or one completes.
    fn note_request(&mut self, _id: u32, _request: &Request, _phase: Phase) {}

    /// A client asks the nodes that hold a part of a request: `count` of them, `node` among them.
    fn note_part(&mut self, _request: &Request, _op: Op, _node: HostId, _count: usize) {}

    /// A message has come in at its receiver.
    fn note_received(&mut self, _exchange: &Exchange) {}

    /// An operation enters the block layer of a guest.
    fn note_block_operation(&mut self, _guest: HostId) {}

    /// An operation of the block layer of a guest is done, which entered it at `arrived`.
    fn note_block_operation_done(&mut self, _guest: HostId, _arrived: SimTime) {}

    /// Whether what is computed next is done by threads that are woken, not by the one that has just
    /// worked.
    fn set_waking(&mut self, _wakes: bool) {}

    /// A store waits for nothing any more on behalf of an exchange that had waited.
    fn note_ready(&mut self, _node: HostId) {}

    /// Whether the engine carries real data, and so wants the calls below.
    fn has_payload(&self) -> bool {
        false
    }

    /// A write of a client is cut into fragments.
    fn payload_written(&mut self, _request: &Request) {}

    /// A request begins to read blocks of a volume.
    fn payload_pinned(&mut self, _id: u32, _volume: u32, _first_block: u64, _blocks: u64) {}

    /// A node has read fragments. Returns whether it may answer: if it may not, the exchange comes out
    /// of a later [`Hosts::payload_stored`].
    fn payload_ready(&mut self, _exchange: u32, _fragments: Fragments) -> bool {
        true
    }

    /// A node has written fragments. Appends exchanges that may be answered now.
    fn payload_stored(&mut self, _fragments: Fragments, _ready: &mut Vec<u32>) {}

    /// Enough nodes have acknowledged blocks of a write: readers see that version from now on.
    fn payload_complete(&mut self, _volume: u32, _version: u64, _first_block: u64, _blocks: u64) {}

    /// A client has received fragments that it read.
    fn payload_taken(&mut self, _fragments: Fragments) {}

    /// A client decodes what a request has read.
    fn payload_opened(&mut self, _id: u32, _volume: u32) {}

    /// Nobody waits for an exchange any more. Returns whether it was held back by [`Hosts::payload_ready`]:
    /// then it does not come out any more.
    fn payload_forgotten(&mut self, _exchange: u32) -> bool {
        false
    }

    /// A request ends without being complete.
    fn payload_failed(&mut self, _id: u32) {}

    /// A node has made fragments of others that a request has read, and has written them. Appends exchanges
    /// that may be answered now.
    fn payload_rebuilt(&mut self, _fragments: Fragments, _ready: &mut Vec<u32>) {}

    /// A holder has read fragments, and `to` gets a copy of them.
    fn payload_moved(&mut self, _fragments: Fragments, _to: HostId) {}

    /// A node drops fragments, which another one holds from now on.
    fn payload_dropped(&mut self, _fragments: Fragments) {}

    /// Blocks of a volume are encoded as another volume's, and belong to that volume from now on.
    fn payload_converted(
        &mut self,
        _volume: u32,
        _from_to: (u32, u32),
        _first_block: u64,
        _blocks: u64,
    ) {
    }

    /// Fragments of blocks that were encoded otherwise are dropped.
    fn payload_left(&mut self, _volume: u32, _first_block: u64, _blocks: u64) {}

    /// Servers have got fragments that others made of theirs.
    fn payload_copied(&mut self, _copied: &Copied) {}

    /// What a host held is gone.
    fn payload_wiped(&mut self, _host: HostId) {}
}

/// Work for the processor of a host.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Where.
    pub host: HostId,
    /// For which workload, or [`foretell_algorithms::node::NOBODY`].
    pub workload: u32,
    /// Who works.
    pub thread: Thread,
    /// The request that it is part of.
    pub breadcrumb: Breadcrumb,
    /// How long it takes on this processor.
    pub span: SimSpan,
    /// What kind of work it is.
    pub labour: Labour,
    /// What follows.
    pub then: Then,
}

/// Kinds of work, as operating systems account for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Labour {
    /// An application computes.
    Application,
    /// The network stack sends a message.
    Sending,
    /// The network stack receives a message, which a process then handles.
    Receiving {
        /// Of the work, what the network stack does.
        receiving: SimSpan,
        /// Of the rest, what copies data.
        copying: SimSpan,
    },
}

/// What follows a computation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Then {
    /// The client has prepared a request: its messages go out.
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
    Opened {
        /// Its number.
        request: u32,
    },
    /// A server has computed what the storage system wanted for an exchange.
    Step {
        /// Its number.
        exchange: u32,
    },
    /// A thread of a server has done a job.
    Daemon {
        /// Its number.
        job: u32,
    },
    /// What the engine itself computes: the protocol is not asked.
    Load {
        /// A number of the engine's.
        number: u32,
    },
}

/// Timers of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timer {
    /// The scheduler of a guest wants to be asked again.
    Guest {
        /// The guest.
        host: u32,
    },
    /// A guest commits its journal.
    Journal {
        /// The guest.
        host: u32,
    },
    /// The storage system's own, for a host.
    System {
        /// The host.
        host: u32,
    },
    /// A device has flushed for a job of a server's thread.
    Daemon {
        /// Its number.
        job: u32,
    },
    /// A client looks at a part of a request that it waits for; only in scenarios with events, as those
    /// below.
    Part {
        /// Its number.
        part: u32,
    },
    /// A host has been silent, or down, for long.
    Watch {
        /// The host.
        host: u32,
    },
    /// A host looks for fragments that it is to rebuild.
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
    /// Of a write: its version.
    pub version: u64,
    /// The volume.
    pub volume: u32,
    /// The first block.
    pub first_block: u64,
    /// How many blocks.
    pub blocks: u64,
    /// Which of the n fragments of each.
    pub fragment: u8,
    /// Who has it, or is to have it.
    pub node: HostId,
}

/// Fragments of an object that some servers have made of what others hold.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    /// The volume.
    pub volume: u32,
    /// The first block.
    pub first_block: u64,
    /// How many blocks.
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

/// A number that a table of exchanges or bytes of a message cannot hold would be a mistake of ours.
pub(crate) fn small(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).expect("groups are bounded")
}
