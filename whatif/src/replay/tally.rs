//! What the clients of the replayed cluster see.

use foretell_units::{Bytes, Op, SimSpan, SimTime};

/// Completions of one workload while it was measured.
#[derive(Debug, Default)]
pub(super) struct Tally {
    bytes: u64,
    /// Response times, ns: by [`Op`].
    responses: [Vec<u64>; 2],
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
    pub(crate) response_ms: ResponseMs,
    pub(crate) read_hit_rate: Option<f64>,
    /// Busy time for the workload by host and resource.
    pub(crate) busy: Vec<Vec<SimSpan>>,
}

/// Response times in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct ResponseMs {
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
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
        self.responses[crate::disk::index(op)].push((now - issued).as_ns());
    }

    pub(super) fn outcome(
        &self,
        seconds: f64,
        read_hit_rate: Option<f64>,
        busy: Vec<Vec<SimSpan>>,
    ) -> WorkloadOutcome {
        let mut all: Vec<u64> = self.responses.iter().flatten().copied().collect();
        all.sort_unstable();
        let completed = all.len() as u64;
        WorkloadOutcome {
            completed,
            throughput_rps: completed as f64 / seconds,
            throughput_bytes_per_s: self.bytes as f64 / seconds,
            response_ms: ResponseMs::of(&all),
            read_hit_rate,
            busy,
        }
    }
}

impl ResponseMs {
    /// Of sorted nanoseconds.
    fn of(sorted: &[u64]) -> Self {
        let Some(last) = sorted.len().checked_sub(1) else { return Self::default() };
        let at =
            |share: f64| sorted[((share * sorted.len() as f64) as usize).min(last)] as f64 / 1e6;
        let sum: f64 = sorted.iter().map(|ns| *ns as f64).sum();
        Self { mean: sum / sorted.len() as f64 / 1e6, p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }
}
