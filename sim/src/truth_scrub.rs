//! The data that scrubbers read in the measured time.

use serde::Serialize;

use crate::cluster::Cluster;

/// The results of all scrubbers in the measured time. A chunk counts when its checksum is computed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ScrubTruth {
    /// Disks that are scrubbed: those that hold data of volumes.
    pub disks: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Chunks read.
    pub chunks: u64,
    /// Number of times that a scrubber reached the end of its disk's data and began again.
    pub passes: u64,
    /// Bytes that a scrubber read per second, in the mean of the disks; at most `rate`.
    pub disk_bytes_per_s: f64,
}

impl ScrubTruth {
    /// The results of a run, measured for `seconds`, that was scrubbed.
    pub(crate) fn of(cluster: &Cluster, seconds: f64) -> Option<Self> {
        let (now, before) = (cluster.protocol.scrubbed()?, cluster.scrubbed_before);
        let bytes = now.bytes - before.bytes;
        Some(Self {
            disks: now.disks,
            bytes,
            chunks: now.chunks - before.chunks,
            passes: now.passes - before.passes,
            disk_bytes_per_s: bytes as f64 / seconds.max(1e-9) / (now.disks as f64).max(1.0),
        })
    }
}
