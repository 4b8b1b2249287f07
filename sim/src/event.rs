//! What can happen.

use crate::cpu::Task;

/// An event of the cluster. Indices are into the cluster's tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// An instance of a workload issues its next request.
    Issue { instance: u32 },
    /// The running slice of a core ends.
    SliceEnds { host: u32, core: u16 },
    /// The next segment of a train reaches the switch.
    Forward { train: u32 },
    /// Acknowledgements or a timeout let a connection go on.
    Wake { connection: u32 },
    /// A leg's message has arrived.
    Deliver { leg: u32 },
    /// The bandwidth of a virtual machine lets a leg's message go on to the cable.
    LetOut { leg: u32 },
    /// It lets one that has come over the cable in.
    LetIn { leg: u32 },
    /// A disk of a machine finishes the operation that it serves.
    DiskDone { host: u32, disk: u16 },
    /// The scheduler of a guest wants to be asked again.
    AskGuest { host: u32 },
    /// A guest commits its journal.
    Commit { host: u32 },
    /// The flusher of a node looks for pages that have been dirty for long.
    FlushTick { host: u32 },
    /// A node reports to a monitor.
    Report { host: u32 },
}

// It is copied at every level of the agenda's heap.
const _: () = assert!(size_of::<Event>() == 8);

/// What happens when a task of a host's processor is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// The client has prepared a request: its messages go out.
    Prepared { request: u32 },
    /// The sender has handed a leg's message to the network.
    Sent { leg: u32 },
    /// The node has taken a leg's request in.
    Serve { leg: u32 },
    /// The client has taken a leg's reply in.
    Replied { leg: u32 },
    /// The client has decoded what it fetched or read.
    Decoded { request: u32 },
    /// A file server has served a step of a transaction from its own cache.
    Cached { transaction: u32 },
    /// The server in front has encoded what is to be written.
    Encoded { leg: u32 },
    /// A monitor has taken a report in.
    Reported { leg: u32 },
    /// The Activity DB's node has taken a batch of records in.
    StoreRecords { leg: u32 },
}

/// A task of a host of the cluster.
pub(crate) type HostTask = Task<Then>;
