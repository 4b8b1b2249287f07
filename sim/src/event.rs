//! The events of the simulation.

use foretell_systems::Continuation;

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
    /// A train arrives at the switch before an uplink.
    Climb { climb: u32 },
    /// Acknowledgements or a timeout let a connection continue.
    Wake { connection: u32 },
    /// The message of an exchange has come over the link.
    Deliver { exchange: u32 },
    /// The bandwidth limit of a virtual machine lets the message of an exchange out to the link.
    LetOut { exchange: u32 },
    /// The same limit lets in a message that has come over the link.
    LetIn { exchange: u32 },
    /// A disk of a machine finishes the operation that it serves.
    DiskDone { host: u32, disk: u16 },
    /// The scheduler of a guest is due to decide again.
    AskGuest { host: u32 },
    /// A guest commits its journal.
    Commit { host: u32 },
    /// The flusher of a node searches for pages that have been dirty for long.
    FlushTick { host: u32 },
    /// A timer of the storage system expires for a host.
    System { host: u32 },
    /// A device flush for a job of a server's thread is done.
    Daemon { job: u32 },
    /// A scrubber is to read its next chunk.
    Scrub { scrubber: u32 },
    /// A timer of the storage system expires for a part of a request.
    PartTimer { part: u32 },
    /// A host has been silent, or down, for a certain time.
    Watch { host: u32 },
    /// A host searches for fragments that it must rebuild.
    Repair { host: u32 },
    /// One of the scenario's events occurs.
    Happens { number: u32 },
}

// An event is copied at every level of the agenda's heap.
const _: () = assert!(size_of::<Event>() == 8);

/// A task of a host of the cluster.
pub(crate) type HostTask = Task<Continuation>;
