//! What the clients of the replayed cluster see.

use foretell_units::{Bytes, Op, SimSpan, SimTime};

use crate::answer::ResponseTimeMs;

/// Completions of one workload while it was measured.
#[derive(Debug, Default)]
pub(super) struct Tally {
    bytes: u64,
    /// By [`Op`].
    requests: [u64; 2],
    /// Response times, ns.
    responses: Vec<u64>,
}

/// What the replay found.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// By workload.
    pub(crate) workloads: Vec<WorkloadOutcome>,
    pub(crate) resources: Vec<ResourceOutcome>,
    /// Measured time.
    pub(crate) seconds: f64,
}

/// What the clients of a workload see.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadOutcome {
    pub(crate) completed: u64,
    pub(crate) throughput_rps: f64,
    pub(crate) throughput_bytes_per_s: f64,
    /// How many requests completed: by [`Op`].
    pub(crate) requests: [u64; 2],
    pub(crate) response_ms: ResponseTimeMs,
    pub(crate) read_hit_rate: Option<f64>,
    /// By host and resource.
    pub(crate) usage: Vec<Vec<Usage>>,
    pub(crate) path: Path,
}

/// What the requests of a workload themselves waited for, all together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// Exchanges with nodes: by [`Op`].
    pub(crate) legs: [u64; 2],
    /// Latency of cables, there and back, of one exchange a request.
    pub(crate) latency: SimSpan,
}

/// What a workload took of a resource.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) busy: SimSpan,
    pub(crate) visits: u64,
    /// Sum of the squares of service times, s^2.
    pub(crate) squares_s2: f64,
    /// Of a disk: what its reads take alone, and how many they are.
    pub(crate) reading: SimSpan,
    pub(crate) reads: u64,
}

impl Usage {
    pub(super) fn add(&mut self, busy: SimSpan) {
        self.busy += busy;
        self.visits += 1;
        self.squares_s2 += busy.as_secs_f64().powi(2);
    }
}

/// How busy a resource is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceOutcome {
    pub(crate) host: usize,
    /// Among those of the host: processor, transmit, receive, disks.
    pub(crate) place: usize,
    pub(crate) servers: usize,
    pub(crate) utilization: f64,
}

impl Tally {
    pub(super) fn completed(&mut self, now: SimTime, issued: SimTime, op: Op, size: Bytes) {
        self.bytes += size.get();
        self.requests[crate::disk::index(op)] += 1;
        self.responses.push((now - issued).as_ns());
    }

    pub(super) fn outcome(
        &self,
        seconds: f64,
        read_hit_rate: Option<f64>,
        usage: Vec<Vec<Usage>>,
        path: Path,
    ) -> WorkloadOutcome {
        let completed = self.requests.iter().sum();
        WorkloadOutcome {
            completed,
            requests: self.requests,
            response_ms: ResponseTimeMs::of(self.responses.clone()),
            throughput_rps: completed as f64 / seconds,
            throughput_bytes_per_s: self.bytes as f64 / seconds,
            read_hit_rate,
            usage,
            path,
        }
    }
}
