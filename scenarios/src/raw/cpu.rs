//! Processors as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{At, Speed, Time};

/// A processor profile: what operations cost on it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCpu {
    /// Where the figures come from: documents, measurements, or why something was assumed.
    #[allow(dead_code, reason = "must be there")]
    pub(crate) source: At<String>,
    /// Cores, as the operating system counts them.
    #[schemars(extend("minimum" = 1, "maximum" = 1024))]
    pub(crate) cores: At<i64>,
    /// Simultaneous multithreading: every two cores are the hardware threads of one physical core. The
    /// value is the throughput of both together, as a multiple of one alone. Without it, each core is a
    /// physical core.
    #[schemars(extend("minimum" = 1.0, "maximum" = 2.0, "examples" = [1.3]))]
    pub(crate) smt: Option<At<f64>>,
    /// Longest time that a thread runs while others wait.
    pub(crate) quantum: Time,
    /// Time lost at every switch from one thread to another.
    pub(crate) context_switch: Time,
    /// Handling one request of any kind: system calls, look-ups.
    pub(crate) request: RawCost,
    /// TCP processing of a message sent.
    pub(crate) send: RawCost,
    /// TCP processing of a message received.
    pub(crate) receive: RawCost,
    /// Copying between the buffer cache and the network.
    pub(crate) copy: RawCost,
    /// Encryption.
    pub(crate) encrypt: RawCost,
    /// Decryption.
    pub(crate) decrypt: RawCost,
    /// Erasure coding: one multiply-and-add pass. Encoding a block m-of-n takes n - m passes over the
    /// block. Decoding takes one pass for each missing data fragment.
    pub(crate) code: RawCost,
    /// Posting one activity record.
    pub(crate) post: Time,
}

/// The cost of an operation: a fixed time, and a time per byte.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCost {
    /// Time that does not depend on the size.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) fixed: Time,
    /// Rate at which bytes are processed. Without it, the size does not matter.
    pub(crate) rate: Option<Speed>,
}

/// A host's processor: a profile, and the values that differ from it. A text alone is the profile.
///
/// Laid over the profile as a table, and then read as a [`RawCpu`].
#[allow(dead_code, reason = "its schema is used, and that it can be read")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("x-short" = "profile"))]
pub(crate) struct RawCpuUse {
    /// Name of the profile.
    #[schemars(extend("examples" = ["pentium4-2.6"]))]
    pub(crate) profile: At<String>,
    /// Cores. Default: as in the profile.
    #[schemars(extend("minimum" = 1, "maximum" = 1024))]
    pub(crate) cores: Option<At<i64>>,
    /// Throughput of the two hardware threads of a physical core together, as a multiple of one alone.
    /// Default: as in the profile.
    #[schemars(extend("minimum" = 1.0, "maximum" = 2.0, "examples" = [1.3]))]
    pub(crate) smt: Option<At<f64>>,
    /// Longest time that a thread runs while others wait. Default: as in the profile.
    pub(crate) quantum: Option<Time>,
    /// Time lost at every switch from one thread to another. Default: as in the profile.
    pub(crate) context_switch: Option<Time>,
    /// Handling one request. Default: as in the profile.
    pub(crate) request: Option<RawCostChange>,
    /// TCP processing of a message sent. Default: as in the profile.
    pub(crate) send: Option<RawCostChange>,
    /// TCP processing of a message received. Default: as in the profile.
    pub(crate) receive: Option<RawCostChange>,
    /// Copying between the buffer cache and the network. Default: as in the profile.
    pub(crate) copy: Option<RawCostChange>,
    /// Encryption. Default: as in the profile.
    pub(crate) encrypt: Option<RawCostChange>,
    /// Decryption. Default: as in the profile.
    pub(crate) decrypt: Option<RawCostChange>,
    /// Erasure coding. Default: as in the profile.
    pub(crate) code: Option<RawCostChange>,
    /// Posting one activity record. Default: as in the profile.
    pub(crate) post: Option<Time>,
}

/// The values that differ from a cost of the profile.
#[allow(dead_code, reason = "its schema is used, and that it can be read")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCostChange {
    /// Time that does not depend on the size. Default: as in the profile.
    pub(crate) fixed: Option<Time>,
    /// Rate at which bytes are processed. Default: as in the profile.
    pub(crate) rate: Option<Speed>,
}
