//! Scrubbing as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{Size, Speed};

/// Scrubbing: storage servers read all that their disks store, over and over, and compare checksums. Each
/// disk that holds data of volumes has one scrubber, which reads chunk after chunk in the order of addresses.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawScrub {
    /// Maximum bytes that the scrubber of a disk reads per second. Object auditors of Swift read 10 MB/s
    /// (`bytes_per_second`).
    #[schemars(extend("examples" = ["20 MB/s"]))]
    pub(crate) rate: Speed,
    /// Bytes that a scrubber reads at a time, whole blocks of 4 KiB. Without it, 512 KiB with Ceph
    /// (`osd_deep_scrub_stride` up to Quincy), 64 KiB with Swift (`disk_chunk_size`), and 512 KiB with Ursa
    /// Minor (assumed, as no source gives its value).
    #[schemars(extend("examples" = ["512 KiB"]))]
    pub(crate) chunk: Option<Size>,
}
