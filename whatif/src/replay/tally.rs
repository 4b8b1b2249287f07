//! What the clients of the replayed cluster see.

use std::collections::BTreeMap;

use foretell_scenarios::model::Host;
use foretell_units::{Bytes, Op, SimSpan, SimTime};

use super::outages::OutageOutcome;
use crate::answer::ResponseTimeMs;
use crate::circumstances::Figures;

/// Completions of one workload while it was measured.
#[derive(Debug, Default)]
pub(super) struct Tally {
    bytes: u64,
    /// By [`Op`].
    requests: [u64; 2],
    /// How many were issued.
    issued: u64,
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
    /// Of a scenario with events.
    pub(crate) outages: Option<OutageOutcome>,
}

impl Outcome {
    /// Whether this is what another replay found, too: every workload and every resource. Hosts are
    /// those of the same name; what is on one side only must have been idle.
    pub(crate) fn goes_as(&self, hosts: &[Host], other: &Self, others: &[Host]) -> bool {
        let named = |outcome: &Self, hosts: &[Host]| -> BTreeMap<(String, usize), [u64; 3]> {
            let known = outcome.resources.iter().map(|found| {
                let busy = [found.utilization.to_bits(), found.occupancy.to_bits()];
                let name = (hosts[found.host].name.clone(), found.place);
                (name, [found.servers as u64, busy[0], busy[1]])
            });
            known.filter(|(_, [_, utilization, _])| f64::from_bits(*utilization) > 0.0).collect()
        };
        let workload = |found: &WorkloadOutcome| {
            let WorkloadOutcome { completed, throughput_bytes_per_s, response_ms, think_s, .. } =
                found;
            let figures = [throughput_bytes_per_s, &response_ms.mean, think_s].map(|x| x.to_bits());
            (*completed, found.requests, figures, found.read_hit_rate.map(f64::to_bits))
        };
        self.outages.is_none() == other.outages.is_none()
            && self.workloads.iter().map(workload).eq(other.workloads.iter().map(workload))
            && named(self, hosts) == named(other, others)
    }
}

/// What the clients of a workload see.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadOutcome {
    pub(crate) completed: u64,
    pub(crate) throughput_rps: f64,
    pub(crate) throughput_bytes_per_s: f64,
    /// How many requests completed: by [`Op`].
    pub(crate) requests: [u64; 2],
    /// How many were issued while those completed.
    pub(crate) issued: u64,
    pub(crate) response_ms: ResponseTimeMs,
    pub(crate) read_hit_rate: Option<f64>,
    /// Reads that asked one more node, if they do.
    pub(crate) hedges: Option<u64>,
    /// By host and resource.
    pub(crate) usage: Vec<Vec<Usage>>,
    pub(crate) path: Path,
    /// Mean time between a completion and the request that follows it, s: by the configuration, or
    /// else as recorded.
    pub(crate) think_s: f64,
}

/// Requests by which those issued exceed those completed before this is more than chance (assumed: open
/// loops that keep up have far fewer outstanding, or they come and go).
const MORE_THAN_CHANCE: u64 = 50;
/// An open loop keeps up if at most this many requests are issued for each that completes.
const KEEPS_UP: f64 = 1.05;

impl WorkloadOutcome {
    /// What past scores compare with the recorded run.
    pub(crate) fn figures(&self) -> Figures {
        (self.throughput_rps, self.response_ms)
    }

    /// Of an open workload: how many times as many requests are issued as completed, unless it keeps up.
    pub(crate) fn overload(&self) -> Option<f64> {
        let factor = self.issued as f64 / (self.completed as f64).max(1.0);
        (factor > KEEPS_UP && self.issued > self.completed + MORE_THAN_CHANCE).then_some(factor)
    }

    /// Part of the requests that read.
    pub(crate) fn read_share(&self) -> f64 {
        self.requests[0] as f64 / (self.completed as f64).max(1.0)
    }
}

/// What the requests of a workload themselves waited for, all together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// Exchanges with nodes: by [`Op`].
    pub(crate) legs: [u64; 2],
    /// Latency of cables, there and back, of one exchange a request.
    pub(crate) latency: SimSpan,
}

/// Busy time of a resource: as its host sees it, and that of the device itself, which writes behind.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Busy {
    pub(super) seen: SimSpan,
    pub(super) worked: SimSpan,
}

impl From<SimSpan> for Busy {
    fn from(busy: SimSpan) -> Self {
        Self { seen: busy, worked: busy }
    }
}

/// What a workload took of a resource.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Time for which its host sees it busy.
    pub(crate) seen: SimSpan,
    /// Time that it cannot give to others.
    pub(crate) busy: SimSpan,
    pub(crate) visits: u64,
    /// Sum of the squares of service times, s^2.
    pub(crate) squares_s2: f64,
    /// Of a disk: what its reads take alone, and how many they are.
    pub(crate) reading: SimSpan,
    pub(crate) reads: u64,
}

impl Usage {
    pub(super) fn add(&mut self, Busy { seen, worked: busy }: Busy) {
        self.seen += seen;
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
    /// As its host sees it.
    pub(crate) utilization: f64,
    /// With what it does behind its host's back: a disk that empties its write buffer.
    pub(crate) occupancy: f64,
}

impl Tally {
    pub(super) fn issued(&mut self) {
        self.issued += 1;
    }

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
        think_s: f64,
    ) -> WorkloadOutcome {
        let completed = self.requests.iter().sum();
        WorkloadOutcome {
            completed,
            requests: self.requests,
            issued: self.issued,
            response_ms: ResponseTimeMs::of(self.responses.clone()),
            throughput_rps: completed as f64 / seconds,
            throughput_bytes_per_s: self.bytes as f64 / seconds,
            read_hit_rate,
            hedges: None,
            usage,
            path,
            think_s,
        }
    }
}
