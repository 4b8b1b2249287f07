//! What clients see of the replayed cluster.

use foretell_scenarios::model::Host;
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, Op, SimSpan, SimTime};

use super::Caches;
use super::outages::OutageOutcome;
use crate::answer::ResponseTimeMs;
use crate::circumstances::Figures;

/// Completed requests of one workload in the measured time.
#[derive(Debug, Default)]
pub(super) struct Tally {
    bytes: u64,
    /// By [`Op`].
    requests: [u64; 2],
    /// Number of issued requests.
    issued: u64,
    /// Response times, ns.
    responses: Vec<u64>,
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// By workload.
    pub(crate) workloads: Vec<WorkloadOutcome>,
    pub(crate) resources: Vec<ResourceOutcome>,
    /// Utilization of the uplinks of racks: to the core, and from it.
    pub(crate) uplinks: Vec<[f64; 2]>,
    /// Length of the measured time, s.
    pub(crate) seconds: f64,
    /// For a scenario with events.
    pub(crate) outages: Option<OutageOutcome>,
    /// For a scenario with scrubbing: bytes per second that a scrubber reads, in the mean of the disks.
    pub(crate) scrub_bytes_per_s: Option<f64>,
    pub(crate) caches: Caches,
}

impl Outcome {
    /// Number of completed requests.
    pub(crate) fn completed(&self) -> f64 {
        self.workloads.iter().map(|found| found.completed as f64).sum()
    }

    /// Whether another replay had the same outcome, for every workload and every resource. Hosts are matched
    /// by name. A host that is in only one of the replays must have been idle.
    pub(crate) fn goes_as(&self, hosts: &[Host], other: &Self, others: &[Host]) -> bool {
        let named = |outcome: &Self, hosts: &[Host]| -> SortedMap<(String, usize), [u64; 3]> {
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

/// Figures of a workload.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadOutcome {
    pub(crate) completed: u64,
    pub(crate) throughput_rps: f64,
    pub(crate) throughput_bytes_per_s: f64,
    /// Number of completed requests, by [`Op`].
    pub(crate) requests: [u64; 2],
    /// Number of requests that were issued in the same time.
    pub(crate) issued: u64,
    pub(crate) response_ms: ResponseTimeMs,
    pub(crate) read_hit_rate: Option<f64>,
    /// Number of hedged reads (those that asked one more node), if the volume hedges.
    pub(crate) hedges: Option<u64>,
    /// By host and resource.
    pub(crate) usage: Vec<Vec<Usage>>,
    pub(crate) path: Path,
    /// Mean time from a completion to the request that follows it, s: from the configuration, or else as recorded.
    pub(crate) think_s: f64,
}

/// If issued requests exceed completed ones by no more than this number, it may be chance (assumed: open
/// loops that keep up have far fewer requests outstanding, or have them only for a short time).
const MORE_THAN_CHANCE: u64 = 50;
/// An open loop keeps up if at most this many requests are issued per completion.
const KEEPS_UP: f64 = 1.05;

/// Issued requests per completed one, if an open loop that issued and completed these numbers does not keep up.
pub fn falls_behind(issued: u64, completed: u64) -> Option<f64> {
    let factor = issued as f64 / (completed as f64).max(1.0);
    (factor > KEEPS_UP && issued > completed + MORE_THAN_CHANCE).then_some(factor)
}

impl WorkloadOutcome {
    /// The figures that past scores compare with the recorded run.
    pub(crate) fn figures(&self) -> Figures {
        (self.throughput_rps, self.response_ms)
    }

    /// For an open loop that does not keep up: issued requests per completed one.
    pub(crate) fn overload(&self) -> Option<f64> {
        falls_behind(self.issued, self.completed)
    }

    /// Share of the requests that are reads.
    pub(crate) fn read_share(&self) -> f64 {
        self.requests[0] as f64 / (self.completed as f64).max(1.0)
    }
}

/// What the requests of a workload waited for, in total.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// Number of exchanges with nodes, by [`Op`].
    pub(crate) legs: [u64; 2],
    /// Round-trip link latency, counting one exchange per request.
    pub(crate) latency: SimSpan,
}

/// Busy time of a resource: as the host sees it, and of the device itself, which includes write-back.
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

/// A workload's usage of a resource.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Time for which the host sees it busy.
    pub(crate) seen: SimSpan,
    /// Time in which no other work can use it.
    pub(crate) busy: SimSpan,
    pub(crate) visits: u64,
    /// Sum of the squares of service times, s^2.
    pub(crate) squares_s2: f64,
    /// For a disk: time of its reads without queueing, and their number.
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

/// The load of a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceOutcome {
    pub(crate) host: usize,
    /// Index among the host's resources: processor, transmit, receive, disks.
    pub(crate) place: usize,
    pub(crate) servers: usize,
    /// Utilization as its host sees it.
    pub(crate) utilization: f64,
    /// Utilization including background work, such as a disk that drains its write buffer.
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
