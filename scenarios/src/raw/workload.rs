//! Workloads as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::leaf::{At, Frequency, HostPatterns, PartSize, Share, Size};

/// Requests to a volume. `kind` says which, and each is read as the struct of its kind.
pub(crate) enum RawWorkload {}

impl JsonSchema for RawWorkload {
    fn schema_name() -> Cow<'static, str> {
        "workload".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-tag": "kind",
            "oneOf": [
                RawSsio::json_schema(generator),
                RawTrace::json_schema(generator),
                RawRecorded::json_schema(generator)
            ]
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Paper 004's SSIO benchmark: requests of one size with a given share of reads and order of
/// addresses.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawSsio {
    /// The volume that is read and written.
    pub(crate) volume: At<String>,
    /// Where it runs, as hosts of a volume are given; each client runs an instance of its own.
    pub(crate) client: At<HostPatterns>,
    /// What is requested.
    #[schemars(extend("enum" = ["ssio"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// Share of reads among the requests.
    pub(crate) reads: At<Share>,
    /// Order of addresses.
    #[schemars(extend("default" = "random"))]
    pub(crate) pattern: At<RawPattern>,
    /// Exponent of the Zipf law; more is more skewed (0.99 is what YCSB takes).
    #[schemars(extend(
        "default" = 0.99, "minimum" = 0, "maximum" = 16, "x-when" = { "pattern": ["zipf"] }
    ))]
    pub(crate) alpha: Option<At<f64>>,
    /// From the beginning of one access to that of the next.
    #[schemars(extend("x-when" = { "pattern": ["strided"] }, "x-required" = true))]
    pub(crate) step: Option<Size>,
    /// Fraction of the blocks that is hot.
    #[schemars(extend("default" = "20%", "x-when" = { "pattern": ["hot-cold"] }))]
    pub(crate) hot_fraction: Option<At<Share>>,
    /// Share of the accesses that go to the hot blocks.
    #[schemars(extend("default" = "80%", "x-when" = { "pattern": ["hot-cold"] }))]
    pub(crate) hot_share: Option<At<Share>>,
    /// Bytes of each request (32 KiB in paper 004).
    #[schemars(extend("default" = "32 KiB"))]
    pub(crate) access: Size,
    /// Part of the volume that is used, from its beginning: a size, or a percentage.
    #[schemars(extend("default" = "100%"))]
    pub(crate) working_set: At<PartSize>,
    /// When requests are issued.
    #[schemars(extend("default" = "closed"))]
    pub(crate) arrivals: At<RawSsioArrivals>,
    /// Requests that each instance keeps outstanding.
    #[schemars(extend(
        "default" = 1, "minimum" = 1, "maximum" = 1_048_576,
        "x-when" = { "arrivals": ["closed"] }
    ))]
    pub(crate) outstanding: Option<At<i64>>,
    /// Time between a completion and the next issue: always the same, `10 ms`, or random,
    /// `exponential 10 ms`.
    #[schemars(extend(
        "default" = "0 s", "x-when" = { "arrivals": ["closed"] },
        "examples" = ["10 ms", "exponential 10 ms"]
    ))]
    pub(crate) think: Option<At<String>>,
    /// Requests per second of each instance, at random times.
    #[schemars(extend("x-when" = { "arrivals": ["poisson"] }, "x-required" = true))]
    pub(crate) rate: Option<At<Frequency>>,
    /// Requests after which an instance stops; without it, it goes on.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: Option<At<i64>>,
}

/// Order of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawPattern {
    /// Uniformly at random, aligned to the access size.
    Random,
    /// One after the other, from the beginning again after the end.
    Sequential,
    /// At random by a Zipf law: the first access-sized block is the most popular.
    Zipf,
    /// A fixed distance apart.
    Strided,
    /// A share of the accesses goes to a fraction of the blocks.
    HotCold,
}

/// When requests are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawSsioArrivals {
    /// So many are always outstanding: a completed one is followed by the next.
    Closed,
    /// At random times with exponential gaps, whatever has completed.
    Poisson,
}

/// Names of the trace formats that there are, and `auto`.
fn formats() -> Vec<&'static str> {
    ["auto"].into_iter().chain(crate::check::TRACE_FORMATS).collect()
}

/// Replay of a block trace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawTrace {
    /// The volume that is read and written.
    pub(crate) volume: At<String>,
    /// Where it runs, as hosts of a volume are given; each client runs an instance of its own.
    pub(crate) client: At<HostPatterns>,
    /// What is requested.
    #[schemars(extend("enum" = ["trace"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// The trace. A relative path is taken from the scenario's directory, or in a change from the
    /// current one.
    pub(crate) file: At<String>,
    /// Its format. `auto`: found out from name and content.
    #[schemars(extend("default" = "auto", "enum" = formats()))]
    pub(crate) format: At<String>,
    /// Whether addresses beyond the volume wrap around.
    #[schemars(extend("default" = false))]
    pub(crate) wrap: At<bool>,
    /// What a block number counts, where it is not fixed by the format: 4 KiB in lists of bare
    /// block numbers, 512 B in `spc`, `disksim` and `oracle-general`, unless given.
    pub(crate) block: Option<Size>,
    /// When requests are issued.
    #[schemars(extend("default" = "trace"))]
    pub(crate) arrivals: At<RawTraceArrivals>,
    /// How much faster than recorded: 2 replays in half the time.
    #[schemars(extend(
        "default" = 1.0, "minimum" = 1e-6, "maximum" = 1e6, "x-when" = { "arrivals": ["trace"] }
    ))]
    pub(crate) speed_up: Option<At<f64>>,
    /// Requests that each instance keeps outstanding.
    #[schemars(extend(
        "default" = 1, "minimum" = 1, "maximum" = 1_048_576,
        "x-when" = { "arrivals": ["closed"] }
    ))]
    pub(crate) outstanding: Option<At<i64>>,
    /// Time between a completion and the next issue: always the same, `10 ms`, or random,
    /// `exponential 10 ms`.
    #[schemars(extend(
        "default" = "0 s", "x-when" = { "arrivals": ["closed"] },
        "examples" = ["10 ms", "exponential 10 ms"]
    ))]
    pub(crate) think: Option<At<String>>,
    /// Requests after which an instance stops; without it, it goes on to the end of the trace.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: Option<At<i64>>,
}

/// When the requests of a trace are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawTraceArrivals {
    /// At the recorded times, which lists of blocks do not have.
    Trace,
    /// So many are always outstanding: a completed one is followed by the next.
    Closed,
}

/// Requests that are known from the records of a run alone: what `run.db` says of a workload. It can
/// be asked about, but not run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawRecorded {
    /// The volume that is read and written.
    pub(crate) volume: At<String>,
    /// Where it runs, as hosts of a volume are given; each client runs an instance of its own.
    pub(crate) client: At<HostPatterns>,
    /// What is requested.
    #[schemars(extend("enum" = ["recorded"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// When requests are issued.
    #[schemars(extend("default" = "closed"))]
    pub(crate) arrivals: At<RawRecordedArrivals>,
    /// How much faster than recorded in the trace: 2 replays in half the time.
    #[schemars(extend(
        "default" = 1.0, "minimum" = 1e-6, "maximum" = 1e6, "x-when" = { "arrivals": ["trace"] }
    ))]
    pub(crate) speed_up: Option<At<f64>>,
    /// Requests that each instance keeps outstanding.
    #[schemars(extend(
        "default" = 1, "minimum" = 1, "maximum" = 1_048_576,
        "x-when" = { "arrivals": ["closed"] }
    ))]
    pub(crate) outstanding: Option<At<i64>>,
    /// Time between a completion and the next issue: always the same, `10 ms`, or random,
    /// `exponential 10 ms`.
    #[schemars(extend(
        "default" = "0 s", "x-when" = { "arrivals": ["closed"] },
        "examples" = ["10 ms", "exponential 10 ms"]
    ))]
    pub(crate) think: Option<At<String>>,
    /// Requests per second of each instance, at random times.
    #[schemars(extend("x-when" = { "arrivals": ["poisson"] }, "x-required" = true))]
    pub(crate) rate: Option<At<Frequency>>,
    /// Requests after which an instance stops; without it, it goes on.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: Option<At<i64>>,
}

/// When the requests of a recorded workload are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawRecordedArrivals {
    /// So many are always outstanding: a completed one is followed by the next.
    Closed,
    /// At random times with exponential gaps, whatever has completed.
    Poisson,
    /// At the times of its trace.
    Trace,
}
