//! The data that collectors post.

use crate::metric::{METRICS, Metric};

/// The metrics of one host at one moment; rates are since the previous sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Time on the host's own clock, in nanoseconds since the start of the simulation.
    pub ts_ns: i64,
    /// Number of the host.
    pub host: u32,
    /// Values in dstat's order.
    pub values: [f64; METRICS],
}

impl Sample {
    /// The value of one metric.
    pub fn get(&self, metric: Metric) -> f64 {
        self.values[metric.index()]
    }
}

/// The measurements of a benchmark's driver for one kind of operation in one interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClientSample {
    /// End of the interval, in nanoseconds since the start of the simulation.
    pub ts_ns: i64,
    /// Length of the interval, in nanoseconds.
    pub interval_ns: i64,
    /// Number of the workload.
    pub workload: u32,
    /// Number of the client's host.
    pub client: u32,
    /// Whether it counts writes, or else reads.
    pub is_write: bool,
    /// Number of requests completed in it.
    pub operations: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Sum of their response times, in nanoseconds.
    pub response_ns: u64,
}

/// All samples of a run's collectors, in the order of posting.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Collected {
    /// Samples of hosts.
    pub hosts: Vec<Sample>,
    /// Samples of clients.
    pub clients: Vec<ClientSample>,
}
