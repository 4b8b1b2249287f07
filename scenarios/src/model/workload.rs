//! Workloads of a checked scenario: who requests what, and when.

use foretell_units::{Bytes, HostId, SimSpan, VolumeId};

/// Requests to a volume.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// What it reads and writes.
    pub volume: VolumeId,
    /// Where it runs; each client runs its own instance.
    pub clients: Vec<HostId>,
    /// What is requested.
    pub kind: WorkloadKind,
    /// When it is requested.
    pub arrivals: Arrivals,
    /// The trace that gives the times; only with [`Arrivals::Times`].
    pub times: Option<std::path::PathBuf>,
    /// Requests after which an instance stops; `None`: never (a trace: at its end).
    pub requests: Option<u64>,
}

/// What a workload requests.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkloadKind {
    /// Thereska et al. 2006's SSIO benchmark.
    Ssio {
        /// Share of reads, 0 to 1.
        read_share: f64,
        /// Order of addresses.
        pattern: Pattern,
        /// Bytes of each request.
        access: Bytes,
        /// Part of the volume used, from its beginning.
        working_set: Bytes,
    },
    /// Recorded requests: they can be predicted, not simulated.
    Recorded,
    /// Replay of a block trace.
    Trace {
        /// The file.
        path: std::path::PathBuf,
        /// Its format; `None`: detected from name and content.
        format: Option<String>,
        /// Addresses beyond the volume wrap around.
        wrap: bool,
        /// The unit of block numbers, if it is not the usual one of the format.
        block: Option<Bytes>,
        /// The device whose requests are replayed; `None`: all.
        device: Option<String>,
        /// The action that makes a request, in blkparse's format.
        blkparse_action: char,
        /// Whether bad lines and records are skipped.
        skip_bad: bool,
        /// Share of reads, drawn at random instead of the trace's directions.
        read_share: Option<f64>,
        /// Bytes of each request, instead of the trace's sizes.
        access: Option<Bytes>,
    },
    /// Thereska et al. 2006's OLTP workload.
    Oltp {
        /// Bytes of the database, from the beginning of the volume.
        database: Bytes,
        /// Bytes of a record.
        record: Bytes,
        /// Records that a transaction reads and writes back.
        records: u32,
        /// How records are chosen.
        pattern: Pattern,
        /// Cache of a file server in front; `None`: there is no server.
        server_cache: Option<Bytes>,
        /// Transactions after which an instance stops; `None`: never.
        transactions: Option<u64>,
    },
    /// `PostMark`.
    Postmark {
        /// Files at the start.
        files: u32,
        /// Transactions.
        transactions: u64,
        /// Subdirectories.
        subdirectories: u32,
        /// The smallest file.
        smallest: Bytes,
        /// The largest.
        largest: Bytes,
        /// Share of transactions that read, the others append.
        read_share: f64,
        /// Share of transactions that create, the others delete.
        create_share: f64,
        /// Cache of a file server in front; `None`: there is no server.
        server_cache: Option<Bytes>,
    },
    /// `IOzone`.
    Iozone {
        /// Bytes of the file.
        file: Bytes,
        /// Bytes of a record.
        record: Bytes,
        /// Number of times that the file is written and read.
        passes: u64,
        /// Cache of a file server in front; `None`: there is no server.
        server_cache: Option<Bytes>,
    },
    /// The jobs of a fio job file.
    Fio {
        /// The job file.
        path: std::path::PathBuf,
    },
    /// The stages of a COSBench workload file.
    Cosbench {
        /// The workload file.
        path: std::path::PathBuf,
    },
    /// FFSB as Noorshams et al. 2013 runs it.
    Ffsb {
        /// Share of operations that read.
        read_share: f64,
        /// Bytes of all files of a client.
        file_set: Bytes,
        /// Bytes of a file.
        file: Bytes,
        /// Bytes of a sub-request.
        request: Bytes,
        /// Sub-requests of an operation.
        sub_requests: u32,
        /// Whether sub-requests follow each other in the file.
        sequential: bool,
        /// Operations after which an instance stops; `None`: never.
        operations: Option<u64>,
    },
}

impl WorkloadKind {
    /// As scenarios write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ssio { .. } => "ssio",
            Self::Trace { .. } => "trace",
            Self::Recorded => "recorded",
            Self::Oltp { .. } => "oltp",
            Self::Postmark { .. } => "postmark",
            Self::Iozone { .. } => "iozone",
            Self::Ffsb { .. } => "ffsb",
            Self::Fio { .. } => "fio",
            Self::Cosbench { .. } => "cosbench",
        }
    }
}

/// Order of addresses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// One after the other; after the end, from the beginning again.
    Sequential,
    /// Uniformly at random, aligned to the access size.
    Random,
    /// At random by a Zipf law; rank 0 is the first access-sized block.
    Zipf {
        /// Exponent.
        alpha: f64,
    },
    /// A fixed distance apart.
    Strided {
        /// Distance from the beginning of one access to that of the next.
        step: Bytes,
    },
    /// A share of the accesses goes to a fraction of the blocks.
    HotCold {
        /// Fraction of the blocks that is hot, 0 to 1.
        fraction: f64,
        /// Share of accesses to the hot blocks, 0 to 1.
        share: f64,
    },
}

/// When requests, or transactions, are issued.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrivals {
    /// A fixed number of requests is always outstanding; a completed one is followed after a think time.
    Closed {
        /// Outstanding requests of each instance.
        outstanding: u32,
        /// Time from a completion to the next issue.
        think: Think,
    },
    /// At random times with exponential gaps, independent of completions.
    Poisson {
        /// Requests per second of each instance.
        rate_rps: f64,
    },
    /// At regular times, different for each client, independent of completions.
    Deterministic {
        /// Requests per second of each instance.
        rate_rps: f64,
    },
    /// At random times of two alternating rates, independent of completions.
    Bursty {
        /// Requests per second between bursts; 0: none.
        quiet_rps: f64,
        /// Mean time between bursts.
        quiet: SimSpan,
        /// Requests per second in a burst.
        burst_rps: f64,
        /// Mean length of a burst.
        burst: SimSpan,
    },
    /// At the times of a trace that is used for nothing else ([`Workload::times`]), divided by the speed-up.
    Times {
        /// 2 issues twice as fast.
        speed_up: f64,
    },
    /// At the trace's own times, divided by the speed-up.
    Trace {
        /// 2 replays twice as fast.
        speed_up: f64,
    },
}

impl Arrivals {
    /// The mean rate of an open loop, in requests per second of each instance; `None`: it has no rate of its own.
    pub fn mean_rate_rps(self) -> Option<f64> {
        match self {
            Self::Poisson { rate_rps } | Self::Deterministic { rate_rps } => Some(rate_rps),
            Self::Bursty { quiet_rps, quiet, burst_rps, burst } => {
                let (quiet, burst) = (quiet.as_secs_f64(), burst.as_secs_f64());
                Some((quiet_rps * quiet + burst_rps * burst) / (quiet + burst))
            }
            Self::Closed { .. } | Self::Times { .. } | Self::Trace { .. } => None,
        }
    }
}

/// Time between a completion and the next issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Think {
    /// Always this long.
    Fixed(SimSpan),
    /// Exponential with this mean.
    Exponential(SimSpan),
}

impl Think {
    /// The mean time.
    pub fn mean(self) -> SimSpan {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) => mean,
        }
    }
}
