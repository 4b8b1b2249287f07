//! What collectors post.

use crate::metric::{METRICS, Metric};

/// The metrics of one host at one moment: rates are those since the sample before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// When, by the host's own clock, in nanoseconds since the simulation began.
    pub ts_ns: i64,
    /// Number of the host.
    pub host: u32,
    /// In dstat's order.
    pub values: [f64; METRICS],
}

impl Sample {
    /// One metric.
    pub fn get(&self, metric: Metric) -> f64 {
        self.values[metric.index()]
    }
}

/// What a benchmark's driver saw of one kind of operation in one interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClientSample {
    /// When the interval ended, in nanoseconds since the simulation began.
    pub ts_ns: i64,
    /// How long it was, in nanoseconds.
    pub interval_ns: i64,
    /// Number of the workload.
    pub workload: u32,
    /// Number of the client's host.
    pub client: u32,
    /// Whether it is of writes, or of reads.
    pub is_write: bool,
    /// Requests completed in it.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their response times, in nanoseconds.
    pub response_ns: u64,
}

/// All that the collectors of a run posted, in the order of posting.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Collected {
    /// Of hosts.
    pub hosts: Vec<Sample>,
    /// Of clients.
    pub clients: Vec<ClientSample>,
}
