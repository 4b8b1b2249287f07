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
    /// Simultaneous multithreading: two of the cores are threads of one physical core, and this is what both do
    /// together, as a multiple of what one does alone. Without it each is a core of its own.
    #[schemars(extend("minimum" = 1.0, "maximum" = 2.0, "examples" = [1.3]))]
    pub(crate) smt: Option<At<f64>>,
    /// Longest time that a thread runs while others wait.
    pub(crate) quantum: Time,
    /// Lost at every switch from one thread to another.
    pub(crate) context_switch: Time,
    /// Handling one request, whatever it does: system calls, look-ups.
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
    /// Erasure coding, one multiply-and-add pass: encoding a block m-of-n takes n - m passes over
    /// the block, decoding one for each missing data fragment.
    pub(crate) code: RawCost,
    /// Posting one activity record.
    pub(crate) post: Time,
}

/// The cost of an operation: a fixed part, and one by size.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCost {
    /// Time whatever the size.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) fixed: Time,
    /// How fast bytes are worked through; without it, size does not matter.
    pub(crate) rate: Option<Speed>,
}

/// A host's processor: a profile, and what differs from it. A text alone is the profile.
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
    /// Cores, if not as in the profile.
    #[schemars(extend("minimum" = 1, "maximum" = 1024))]
    pub(crate) cores: Option<At<i64>>,
    /// What two cores do together, as a multiple of one, where they are threads of one physical core, if not as in
    /// the profile.
    #[schemars(extend("minimum" = 1.0, "maximum" = 2.0, "examples" = [1.3]))]
    pub(crate) smt: Option<At<f64>>,
    /// Longest time that a thread runs while others wait, if not as in the profile.
    pub(crate) quantum: Option<Time>,
    /// Lost at every switch from one thread to another, if not as in the profile.
    pub(crate) context_switch: Option<Time>,
    /// Handling one request, if not as in the profile.
    pub(crate) request: Option<RawCostChange>,
    /// TCP processing of a message sent, if not as in the profile.
    pub(crate) send: Option<RawCostChange>,
    /// TCP processing of a message received, if not as in the profile.
    pub(crate) receive: Option<RawCostChange>,
    /// Copying between the buffer cache and the network, if not as in the profile.
    pub(crate) copy: Option<RawCostChange>,
    /// Encryption, if not as in the profile.
    pub(crate) encrypt: Option<RawCostChange>,
    /// Decryption, if not as in the profile.
    pub(crate) decrypt: Option<RawCostChange>,
    /// Erasure coding, if not as in the profile.
    pub(crate) code: Option<RawCostChange>,
    /// Posting one activity record, if not as in the profile.
    pub(crate) post: Option<Time>,
}

/// What differs from a cost of the profile.
#[allow(dead_code, reason = "its schema is used, and that it can be read")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCostChange {
    /// Time whatever the size, if not as in the profile.
    pub(crate) fixed: Option<Time>,
    /// How fast bytes are worked through, if not as in the profile.
    pub(crate) rate: Option<Speed>,
}
