//! Scrubbing: servers read all that their disks store and compare checksums.

use foretell_units::{Bytes, Rate};

/// How the disks of a cluster are scrubbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scrub {
    /// Maximum bytes that the scrubber of a disk reads per second.
    pub rate: Rate,
    /// Bytes that it reads at a time; whole blocks.
    pub chunk: Bytes,
}

impl Scrub {
    /// Chunks consist of whole blocks of this size, the block of devices that store objects.
    pub const BLOCK: Bytes = Bytes::kib(4);
    /// Largest chunk. Assumed: an object of Ceph has 4 MiB, and no system reads more of a disk at a time
    /// than a few of them.
    pub const LARGEST_CHUNK: Bytes = Bytes::mib(16);
}
