//! Workloads as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::leaf::{At, Frequency, HostPatterns, PartSize, Share, Size, Time};

/// Requests to a volume. Its key `kind` determines which of the structs below is read.
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
                RawOltp::json_schema(generator),
                RawPostmark::json_schema(generator),
                RawIozone::json_schema(generator),
                RawFfsb::json_schema(generator),
                RawFio::json_schema(generator),
                RawCosbench::json_schema(generator),
                RawRecorded::json_schema(generator),
            ]
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Declares a kind of workload that makes its own requests: the keys that all kinds have, its own keys, and
/// when it issues. `$outstanding` is its name for the number that a closed loop keeps outstanding.
macro_rules! generated {
    (
        $(#[$about:meta])*
        $name:ident, $kind:literal, $arrivals:ident at $at_times:tt,
        $outstanding:ident = $default:literal: $what:literal {
            $($(#[$attribute:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(inline)]
        pub(crate) struct $name {
            /// The volume that is read and written.
            pub(crate) volume: At<String>,
            /// Hosts that run the workload, written like `nodes` of a volume. Each of them runs its own
            /// instance.
            pub(crate) client: At<HostPatterns>,
            /// Kind of workload.
            #[schemars(extend("enum" = [$kind]))]
            #[allow(dead_code, reason = "decides which struct is read")]
            pub(crate) kind: At<String>,
            $($(#[$attribute])* pub(crate) $field: $type,)*
            /// When requests are issued.
            #[schemars(extend("default" = "closed"))]
            pub(crate) arrivals: At<$arrivals>,
            #[doc = $what]
            #[schemars(extend(
                "default" = $default, "minimum" = 1, "maximum" = 1_048_576,
                "x-when" = { "arrivals": ["closed"] }
            ))]
            pub(crate) $outstanding: Option<At<i64>>,
            /// Think time, from a completion to the next issue. It is either fixed, `10 ms`, or random,
            /// `exponential 10 ms`.
            #[schemars(extend(
                "default" = "0 s", "x-when" = { "arrivals": ["closed"] },
                "examples" = ["10 ms", "exponential 10 ms"]
            ))]
            pub(crate) think: Option<At<String>>,
            /// Requests (or transactions) per second of each client.
            #[schemars(extend(
                "x-when" = { "arrivals": ["poisson", "deterministic"] }, "x-required" = true
            ))]
            pub(crate) rate: Option<At<Frequency>>,
            /// Requests (or transactions) per second in a burst.
            #[schemars(extend("x-when" = { "arrivals": ["bursty"] }, "x-required" = true))]
            pub(crate) burst_rate: Option<At<Frequency>>,
            /// Mean length of a burst.
            #[schemars(extend("x-when" = { "arrivals": ["bursty"] }, "x-required" = true))]
            pub(crate) burst: Option<Time>,
            /// Requests (or transactions) per second between bursts. Without it, nothing is issued
            /// between bursts.
            #[schemars(extend("x-when" = { "arrivals": ["bursty"] }))]
            pub(crate) quiet_rate: Option<At<Frequency>>,
            /// Mean time between bursts.
            #[schemars(extend("x-when" = { "arrivals": ["bursty"] }, "x-required" = true))]
            pub(crate) quiet: Option<Time>,
            /// A block trace. Only the times of its requests are used. Nothing more is issued after its
            /// last request. A relative path starts at the scenario's directory; in a change, at the
            /// current directory.
            #[schemars(extend("x-when" = { "arrivals": ["times"] }, "x-required" = true))]
            pub(crate) times: Option<At<String>>,
            /// Factor by which requests are issued faster than recorded: 2 issues them in half the time.
            #[schemars(extend(
                "default" = 1.0, "minimum" = 1e-6, "maximum" = 1e6,
                "x-when" = { "arrivals": $at_times }
            ))]
            pub(crate) speed_up: Option<At<f64>>,
        }

        impl $name {
            /// When it issues.
            pub(crate) fn pace(&self) -> RawPace<'_> {
                RawPace {
                    arrivals: (*self.arrivals.get()).into(),
                    outstanding: self.$outstanding.as_ref(),
                    think: self.think.as_ref(),
                    rate: self.rate.as_ref(),
                    burst_rate: self.burst_rate.as_ref(),
                    burst: self.burst.as_ref(),
                    quiet_rate: self.quiet_rate.as_ref(),
                    quiet: self.quiet.as_ref(),
                    times: self.times.as_ref(),
                    speed_up: self.speed_up.as_ref(),
                }
            }
        }
    };
}

/// When a workload issues, whatever its kind.
pub(crate) struct RawPace<'a> {
    pub(crate) arrivals: Pacing,
    pub(crate) outstanding: Option<&'a At<i64>>,
    pub(crate) think: Option<&'a At<String>>,
    pub(crate) rate: Option<&'a At<Frequency>>,
    pub(crate) burst_rate: Option<&'a At<Frequency>>,
    pub(crate) burst: Option<&'a Time>,
    pub(crate) quiet_rate: Option<&'a At<Frequency>>,
    pub(crate) quiet: Option<&'a Time>,
    pub(crate) times: Option<&'a At<String>>,
    pub(crate) speed_up: Option<&'a At<f64>>,
}

generated! {
    /// Thereska et al. 2006's SSIO benchmark: requests of one size, with a given share of reads and a given
    /// order of addresses.
    RawSsio, "ssio", RawArrivals at ["times"],
    outstanding = 1: "Number of requests that each client keeps outstanding." {
        /// Share of reads among the requests.
        reads: At<Share>,
        /// Order of addresses.
        #[schemars(extend("default" = "random"))]
        pattern: At<RawPattern>,
        /// Exponent of the Zipf law. A larger exponent is more skewed. YCSB uses 0.99.
        #[schemars(extend(
            "default" = 0.99, "minimum" = 0, "maximum" = 16, "x-when" = { "pattern": ["zipf"] }
        ))]
        alpha: Option<At<f64>>,
        /// Distance from the beginning of one access to the beginning of the next.
        #[schemars(extend("x-when" = { "pattern": ["strided"] }, "x-required" = true))]
        step: Option<Size>,
        /// Fraction of the working set that is hot.
        #[schemars(extend("default" = "20%", "x-when" = { "pattern": ["hot-cold"] }))]
        hot_fraction: Option<At<Share>>,
        /// Share of the accesses that go to the hot blocks.
        #[schemars(extend("default" = "80%", "x-when" = { "pattern": ["hot-cold"] }))]
        hot_share: Option<At<Share>>,
        /// Bytes of each request (32 KiB in Thereska et al. 2006).
        #[schemars(extend("default" = "32 KiB"))]
        access: Size,
        /// Working set: the part of the volume that is used, from its beginning. A size, or a percentage of
        /// the volume.
        #[schemars(extend("default" = "100%"))]
        working_set: At<PartSize>,
        /// Number of requests after which an instance stops. Without it, the instance does not stop.
        #[schemars(extend("minimum" = 1))]
        requests: Option<At<i64>>,
    }
}

generated! {
    /// Thereska et al. 2006's OLTP workload: transactions read records of a database and write them back.
    /// The result is transactions per minute. All instances share the database.
    RawOltp, "oltp", RawArrivals at ["times"],
    outstanding = 1: "Number of transactions that each client has in progress at a time." {
        /// Size of the database (5 GB in Thereska et al. 2006). It begins at the start of the volume.
        #[schemars(extend("default" = "5 GiB"))]
        database: Size,
        /// Bytes of a record (8 KB in Thereska et al. 2006).
        #[schemars(extend("default" = "8 KiB"))]
        record: Size,
        /// Number of records that a transaction reads and writes back, one after the other. Assumed:
        /// Thereska et al. 2006 only says that it is small.
        #[schemars(extend("default" = 4, "minimum" = 1, "maximum" = 10_000))]
        records: At<i64>,
        /// How records are chosen.
        #[schemars(extend("default" = "random"))]
        pattern: At<RawChoice>,
        /// Exponent of the Zipf law. A larger exponent is more skewed. YCSB uses 0.99.
        #[schemars(extend(
            "default" = 0.99, "minimum" = 0, "maximum" = 16, "x-when" = { "pattern": ["zipf"] }
        ))]
        alpha: Option<At<f64>>,
        /// What is between the benchmark and the volume.
        #[schemars(extend("default" = "file-server"))]
        through: At<RawThrough>,
        /// Memory of the file server's cache. Assumed: Thereska et al. 2006 does not give it.
        #[schemars(extend("default" = "32 MiB", "x-when" = { "through": ["file-server"] }))]
        server_cache: Option<Size>,
        /// Number of transactions after which an instance stops. Without it, the instance does not stop.
        #[schemars(extend("minimum" = 1))]
        transactions: Option<At<i64>>,
    }
}

generated! {
    /// `PostMark`: transactions create, delete and read small files, and append to them. The result is
    /// transactions per second. Each instance has its own files and ends with its last transaction.
    RawPostmark, "postmark", RawArrivals at ["times"],
    outstanding = 1: "Number of transactions that each client has in progress at a time." {
        /// Number of files at the start.
        #[schemars(extend("default" = 20_000, "minimum" = 1, "maximum" = 100_000_000))]
        files: At<i64>,
        /// Number of transactions.
        #[schemars(extend("default" = 20_000, "minimum" = 1))]
        transactions: At<i64>,
        /// Number of subdirectories.
        #[schemars(extend("default" = 140, "minimum" = 1, "maximum" = 100_000_000))]
        subdirectories: At<i64>,
        /// Size of the smallest file.
        #[schemars(extend("default" = "500 B"))]
        smallest: Size,
        /// Size of the largest file (9.77 KiB).
        #[schemars(extend("default" = "10000 B"))]
        largest: Size,
        /// Share of the transactions that read a file; the others append to one.
        #[schemars(extend("default" = "50%"))]
        reads: At<Share>,
        /// Share of the transactions that create a file; the others delete one.
        #[schemars(extend("default" = "50%"))]
        creations: At<Share>,
        /// What is between the benchmark and the volume.
        #[schemars(extend("default" = "file-server"))]
        through: At<RawThrough>,
        /// Memory of the file server's cache. Assumed: Thereska et al. 2006 does not give it.
        #[schemars(extend("default" = "32 MiB", "x-when" = { "through": ["file-server"] }))]
        server_cache: Option<Size>,
    }
}

generated! {
    /// `IOzone`: one file is written sequentially and then read. The result is in MB/s. Each instance has
    /// its own file and ends when it has read it.
    RawIozone, "iozone", RawArrivals at ["times"],
    outstanding = 1: "Number of records that each client reads or writes at a time." {
        /// Bytes of the file (2 GB in Thereska et al. 2006).
        #[schemars(extend("default" = "2 GiB"))]
        file: Size,
        /// Bytes of a record (64 KB in Thereska et al. 2006).
        #[schemars(extend("default" = "64 KiB"))]
        record: Size,
        /// Number of times that the file is written and read.
        #[schemars(extend("default" = 1, "minimum" = 1))]
        passes: At<i64>,
        /// What is between the benchmark and the volume.
        #[schemars(extend("default" = "file-server"))]
        through: At<RawThrough>,
        /// Memory of the file server's cache. Assumed: Thereska et al. 2006 does not give it.
        #[schemars(extend("default" = "32 MiB", "x-when" = { "through": ["file-server"] }))]
        server_cache: Option<Size>,
    }
}

generated! {
    /// FFSB as in Noorshams et al. 2013: threads read or write files. Each operation goes to one file, in
    /// sub-requests of one size. Each client has its own files.
    RawFfsb, "ffsb", RawArrivals at ["times"],
    threads = 100: "Number of threads of each client (100 in Noorshams et al. 2013)." {
        /// Share of operations that read.
        reads: At<Share>,
        /// Bytes of all files of a client. Only whole files are used.
        #[schemars(extend("default" = "25 GiB"))]
        file_set: Size,
        /// Bytes of a file (16 MB in Noorshams et al. 2013).
        #[schemars(extend("default" = "16 MiB"))]
        file: Size,
        /// Bytes of a sub-request.
        #[schemars(extend("default" = "4 KiB"))]
        request: Size,
        /// Number of sub-requests of an operation (256 in Noorshams et al. 2013).
        #[schemars(extend("default" = 256, "minimum" = 1, "maximum" = 1_000_000))]
        sub_requests: At<i64>,
        /// Where in the file the sub-requests of an operation go.
        #[schemars(extend("default" = "random"))]
        pattern: At<RawWithin>,
        /// Number of operations after which an instance stops. Without it, the instance does not stop.
        #[schemars(extend("minimum" = 1))]
        operations: Option<At<i64>>,
    }
}

generated! {
    /// Requests known only from the records of a run, as `run.db` describes a workload for `foretell ask`.
    /// It cannot be simulated.
    RawRecorded, "recorded", RawRecordedArrivals at ["times", "trace"],
    outstanding = 1: "Number of requests that each client keeps outstanding." {
        /// Number of requests after which an instance stops. Without it, the instance does not stop.
        #[schemars(extend("minimum" = 1))]
        requests: Option<At<i64>>,
    }
}

/// The jobs of a fio job file. The file determines all requests and their times. The workload ends with its
/// last job.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawFio {
    /// The volume that is read and written.
    pub(crate) volume: At<String>,
    /// Hosts that run the workload, written like `nodes` of a volume. Each of them runs all jobs.
    pub(crate) client: At<HostPatterns>,
    /// Kind of workload.
    #[schemars(extend("enum" = ["fio"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// The job file. A relative path starts at the scenario's directory; in a change, at the current
    /// directory.
    pub(crate) file: At<String>,
}

/// The stages of a COSBench workload file: workers write, read and delete objects in containers. The
/// workload ends with its last stage.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCosbench {
    /// The volume that is read and written.
    pub(crate) volume: At<String>,
    /// Hosts that run the workload, written like `nodes` of a volume. Each of them is a driver and runs all
    /// workers.
    pub(crate) client: At<HostPatterns>,
    /// Kind of workload.
    #[schemars(extend("enum" = ["cosbench"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// The workload file (XML). A relative path starts at the scenario's directory; in a change, at the
    /// current directory.
    pub(crate) file: At<String>,
}

/// How records are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawChoice {
    /// Uniformly at random.
    Random,
    /// At random by a Zipf law. The first record is the most popular.
    Zipf,
}

/// What is between the benchmark and the volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawThrough {
    /// A file server on the client, such as the NFS server of Thereska et al. 2006. Its cache serves reads,
    /// and writes go through it.
    FileServer,
    /// Nothing: the benchmark reads and writes the volume itself.
    Direct,
}

/// Where in a file the sub-requests of an operation go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawWithin {
    /// Each sub-request at a random place in the file.
    Random,
    /// One after the other, beginning at a random place.
    Sequential,
}

/// Order of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawPattern {
    /// Uniformly at random, aligned to the access size.
    Random,
    /// In ascending order; after the last, again from the first.
    Sequential,
    /// At random by a Zipf law. The first access-sized block is the most popular.
    Zipf,
    /// At a fixed distance from each other.
    Strided,
    /// A given share of the accesses goes to a given fraction of the blocks.
    HotCold,
}

/// When requests, or transactions, are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawArrivals {
    /// Closed loop: a fixed number of requests is outstanding. When one completes, the next one is
    /// issued, after the think time if there is one.
    Closed,
    /// At random times with exponential gaps, independent of completions.
    Poisson,
    /// At regular intervals, independent of completions. Clients do not begin together.
    Deterministic,
    /// At random times, at two rates in turn (a Markov-modulated Poisson process), independent of
    /// completions.
    Bursty,
    /// At the times of a trace, independent of completions.
    Times,
}

/// Names of the known trace formats, and `auto`.
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
    /// Hosts that run the workload, written like `nodes` of a volume. Each of them runs its own instance.
    pub(crate) client: At<HostPatterns>,
    /// Kind of workload.
    #[schemars(extend("enum" = ["trace"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// The trace. A relative path starts at the scenario's directory; in a change, at the current
    /// directory.
    pub(crate) file: At<String>,
    /// Format of the trace. `auto` detects it by name and content.
    #[schemars(extend("default" = "auto", "enum" = formats()))]
    pub(crate) format: At<String>,
    /// Whether addresses beyond the end of the volume wrap around.
    #[schemars(extend("default" = false))]
    pub(crate) wrap: At<bool>,
    /// Size of the blocks that block numbers count, if the format does not define it. Without it, 4 KiB
    /// in lists of bare block numbers, and 512 B in `spc`, `disksim` and `oracle-general`.
    pub(crate) block: Option<Size>,
    /// The device whose requests are replayed, in formats that distinguish devices. Without it, the
    /// requests of all devices are replayed as if they were one device.
    pub(crate) device: Option<At<String>>,
    /// In `blkparse`: the action that makes a request, such as `Q` (queued) or `D` (sent to the device).
    #[schemars(extend("default" = "Q"))]
    pub(crate) blkparse_action: At<String>,
    /// Whether invalid lines and records are skipped. Otherwise the first one is an error.
    #[schemars(extend("default" = false))]
    pub(crate) skip_bad: At<bool>,
    /// Share of reads. Whether a request reads or writes is drawn at random, independent of the trace.
    /// Without it, as in the trace.
    pub(crate) reads: Option<At<Share>>,
    /// Bytes of each request. The address of a request is rounded down to a multiple of this. Without it,
    /// size and address are as in the trace.
    pub(crate) access: Option<Size>,
    /// When requests are issued.
    #[schemars(extend("default" = "trace"))]
    pub(crate) arrivals: At<RawTraceArrivals>,
    /// Factor by which the trace is replayed faster than recorded: 2 replays it in half the time.
    #[schemars(extend(
        "default" = 1.0, "minimum" = 1e-6, "maximum" = 1e6, "x-when" = { "arrivals": ["trace"] }
    ))]
    pub(crate) speed_up: Option<At<f64>>,
    /// Number of requests that each client keeps outstanding.
    #[schemars(extend(
        "default" = 1, "minimum" = 1, "maximum" = 1_048_576,
        "x-when" = { "arrivals": ["closed"] }
    ))]
    pub(crate) outstanding: Option<At<i64>>,
    /// Think time, from a completion to the next issue. It is either fixed, `10 ms`, or random,
    /// `exponential 10 ms`.
    #[schemars(extend(
        "default" = "0 s", "x-when" = { "arrivals": ["closed"] },
        "examples" = ["10 ms", "exponential 10 ms"]
    ))]
    pub(crate) think: Option<At<String>>,
    /// Number of requests after which an instance stops. Without it, the instance goes on to the end of the
    /// trace.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: Option<At<i64>>,
}

/// When the requests of a trace are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawTraceArrivals {
    /// At the recorded times. Lists of bare block numbers have no times.
    Trace,
    /// Closed loop: a fixed number of requests is outstanding. When one completes, the next one is
    /// issued, after the think time if there is one.
    Closed,
}

/// When the requests of a recorded workload are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawRecordedArrivals {
    /// Closed loop: a fixed number of requests is outstanding. When one completes, the next one is
    /// issued, after the think time if there is one.
    Closed,
    /// At random times with exponential gaps, independent of completions.
    Poisson,
    /// At regular intervals, independent of completions. Clients do not begin together.
    Deterministic,
    /// At random times, at two rates in turn, independent of completions.
    Bursty,
    /// At the times of a trace, independent of completions.
    Times,
    /// At the times of its own trace.
    Trace,
}

/// When requests are issued, whatever the kind of workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pacing {
    /// As [`RawArrivals`] has it.
    Own(RawArrivals),
    /// At the times of its own trace.
    Trace,
}

impl From<RawArrivals> for Pacing {
    fn from(arrivals: RawArrivals) -> Self {
        Self::Own(arrivals)
    }
}

impl From<RawRecordedArrivals> for Pacing {
    fn from(arrivals: RawRecordedArrivals) -> Self {
        Self::Own(match arrivals {
            RawRecordedArrivals::Closed => RawArrivals::Closed,
            RawRecordedArrivals::Poisson => RawArrivals::Poisson,
            RawRecordedArrivals::Deterministic => RawArrivals::Deterministic,
            RawRecordedArrivals::Bursty => RawArrivals::Bursty,
            RawRecordedArrivals::Times => RawArrivals::Times,
            RawRecordedArrivals::Trace => return Self::Trace,
        })
    }
}
