//! The answer to a question: what the changed cluster would do.

use std::fmt;

use foretell_sorted::SortedMap;
use serde::Serialize;

use crate::circumstances::Circumstances;
use crate::expected::{ExpectedError, Experience, Interval};
use crate::outages::OutageAnswer;

/// The predicted behavior of the changed cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The model that produced this answer.
    pub model: Model,
    /// Changes in the question that have no effect, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Assumptions about loads that were not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Workloads by name.
    pub workloads: SortedMap<String, WorkloadAnswer>,
    /// Utilization of each resource, 0 to 1: by host and name of the resource.
    pub utilization: SortedMap<String, SortedMap<String, f64>>,
    /// The busiest resource.
    pub bottleneck: Option<Busiest>,
    /// What scrubbers read; present only if the cluster is scrubbed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubAnswer>,
    /// Effects of the scenario's events; present only if it has events.
    #[serde(flatten)]
    pub outages: Option<OutageAnswer>,
}

/// A resource and how busy it is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Busiest {
    /// The resource's host.
    pub host: String,
    /// The resource's name: `cpu`, `nic_transmit`, `nic_receive`, `disk0`.
    pub resource: String,
    /// Utilization, 0 to 1.
    pub utilization: f64,
    /// Whether it also stores the records of tracking, at a cost: it may be the busiest only because of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_records: bool,
}

/// What scrubbers read.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ScrubAnswer {
    /// Bytes that a scrubber reads per second, in the mean of the disks; at most `scrub.rate`.
    pub disk_bytes_per_s: f64,
}

/// The load exceeds the capacity of a resource: requests arrive faster than they complete.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Overload {
    /// The resource that cannot keep up: `brick3.disk0`.
    pub resource: String,
    /// Offered load divided by capacity.
    pub factor: f64,
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, factor } = self;
        write!(
            f,
            "overload, {factor:.2} times what `{resource}` can do; there is no steady state: requests wait \
             longer and longer"
        )
    }
}

/// What the clients of a workload would see.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadAnswer {
    /// Requests a second.
    pub throughput_rps: f64,
    /// Bytes a second.
    pub throughput_bytes_per_s: f64,
    /// Highest throughput that the bottleneck allows with any number of requests outstanding, requests a
    /// second. The load of the other workloads stays the same.
    pub peak_throughput_rps: f64,
    /// Response time.
    pub response_time_ms: ResponseTimeMs,
    /// Whether no request of the workload completes in the measured time. Then its times are unknown, and are 0
    /// here, as in `truth.json`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_requests: bool,
    /// Requests outstanding on average.
    pub outstanding: f64,
    /// Number of outstanding requests at which the bottleneck is always busy: N*.
    pub outstanding_to_saturate: f64,
    /// Share of the requests that are reads.
    pub read_share: f64,
    /// Share of the pages read that are found in the nodes' caches.
    pub read_hit_rate: Option<f64>,
    /// Number of hedged reads in the measured time, counted per group: reads that were also sent to one more
    /// node. Present only if the volume has `hedge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedges: Option<u64>,
    /// The resource that limits it: `brick3.disk0`.
    pub bottleneck: String,
    /// If requests arrive faster than they complete: the resource that cannot keep up, and by how much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<Overload>,
    /// Time that a request takes at each resource, summed over all hosts of a kind: `node.cpu`, ...
    pub demands_ms: SortedMap<String, f64>,
    /// The model's error for the recorded run, if the workload was recorded. The bias correction of
    /// the replay's answers follows from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Misfit>,
    /// Properties by which similar past scores are found.
    #[serde(skip)]
    pub circumstances: Circumstances,
    /// Expected error of this answer by metric, for metrics with enough past scores.
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub expected_error: SortedMap<&'static str, ExpectedError>,
    /// The interval that contains the truth in 90 % of all cases, by metric, for metrics with enough past
    /// scores.
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub interval: SortedMap<&'static str, Interval>,
    /// Half-width of the 90 % interval of the number of arrivals, as a part of it; 0 if arrivals are as recorded.
    #[serde(skip)]
    pub arrivals_spread: f64,
    /// The part of this answer that no past score resembles, which makes its intervals wide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
}

/// The metrics for which answers have expected errors, by the names that `score` uses.
pub const EXPECTED_METRICS: [&str; 5] = [
    "throughput_rps",
    "response_time_ms.mean",
    "response_time_ms.p50",
    "response_time_ms.p95",
    "response_time_ms.p99",
];

impl WorkloadAnswer {
    /// A predicted figure, by the name that `score` gives it.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        match metric {
            _ if self.no_requests && metric != "throughput_rps" => None,
            "throughput_rps" => Some(self.throughput_rps),
            "read_hit_rate" => self.read_hit_rate,
            _ => self.response_time_ms.figure(metric),
        }
    }
}

impl Answer {
    /// Fills in the expected errors and intervals of each workload.
    pub fn expect(&mut self, experience: &Experience) {
        let with_events = self.outages.is_some();
        let whole = if with_events { WITH_EVENTS } else { "" };
        for found in self.workloads.values_mut().filter(|found| !found.no_requests) {
            let here = &found.circumstances;
            let figures = |metric: &str| found.figure(metric);
            let arrivals_spread = found.arrivals_spread;
            let known =
                Expected { experience, model: self.model, of: whole, here, arrivals_spread };
            (found.expected_error, found.interval) = known.all(figures);
            found.unlike = match experience.unlike(self.model, here) {
                None if with_events => experience.unlike_events(self.model),
                unlike => unlike,
            };
        }
        for phase in self.outages.iter_mut().flat_map(|outages| &mut outages.phases) {
            let of = format!("{}.", phase.phase);
            for found in phase.workloads.values_mut() {
                let here = &found.circumstances;
                let model = self.model;
                let known = Expected { experience, model, of: &of, here, arrivals_spread: 0.0 };
                (found.expected_error, found.interval) = known.all(|metric| found.figure(metric));
            }
        }
    }
}

/// Prefix of the metrics of whole runs with events. Their errors differ from those of runs without events.
pub const WITH_EVENTS: &str = "with_events.";

/// Looks up the past scores that apply to an answer.
struct Expected<'a> {
    experience: &'a Experience,
    model: Model,
    /// Prefix of their metrics.
    of: &'a str,
    here: &'a Circumstances,
    /// No interval of throughput is narrower than this part of it.
    arrivals_spread: f64,
}

/// Expected errors and intervals by metric.
type Spreads = (SortedMap<&'static str, ExpectedError>, SortedMap<&'static str, Interval>);

impl Expected<'_> {
    /// Expected errors and intervals of all metrics that have enough past scores.
    fn all(&self, figure: impl Fn(&str) -> Option<f64>) -> Spreads {
        let Self { experience, model, of, here, arrivals_spread } = self;
        let (mut errors, mut intervals) = (SortedMap::new(), SortedMap::new());
        for metric in EXPECTED_METRICS {
            let Some(predicted) = figure(metric) else { continue };
            let name = format!("{of}{metric}");
            let Some(mut expected) = experience.expect(*model, &name, here) else { continue };
            if metric == "throughput_rps" {
                expected.p90 = expected.p90.max(*arrivals_spread);
            }
            errors.insert(metric, expected);
            intervals.insert(metric, expected.around(predicted));
        }
        (errors, intervals)
    }
}

/// Relative error of the replay for the recorded run: modelled / recorded - 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Misfit {
    /// Error of the throughput.
    pub throughput: f64,
    /// Error of the mean response time.
    pub mean_response_time: f64,
}

/// Response times in milliseconds. Percentiles are present if the model predicts them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ResponseTimeMs {
    /// The mean.
    pub mean: f64,
    /// The median: half of the requests take at most this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// 95 % of the requests take at most this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// 99 % of the requests take at most this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
}

impl ResponseTimeMs {
    /// A figure, by the name that `score` gives it.
    pub(crate) fn figure(&self, metric: &str) -> Option<f64> {
        match metric {
            "response_time_ms.mean" => Some(self.mean),
            "response_time_ms.p50" => self.p50,
            "response_time_ms.p95" => self.p95,
            "response_time_ms.p99" => self.p99,
            _ => None,
        }
    }

    /// Computed from response times, ns.
    pub(crate) fn of(mut all: Vec<u64>) -> Self {
        all.sort_unstable();
        let last = all.len().saturating_sub(1);
        let at = |share: f64| {
            let ns = all.get(((share * all.len() as f64) as usize).min(last));
            Some(ns.copied().unwrap_or(0) as f64 / 1e6)
        };
        // the sum of no numbers is -0
        let sum = all.iter().map(|ns| *ns as f64).sum::<f64>() + 0.0;
        let mean = sum / all.len().max(1) as f64 / 1e6;
        Self { mean, p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }

    /// Of a model that predicts only the mean, s.
    pub(crate) fn of_mean(seconds: f64) -> Self {
        Self { mean: seconds * 1e3, p50: None, p95: None, p99: None }
    }
}

/// The method by which an answer is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Operational bounds: equations 1 and 2 of Thereska et al. 2006.
    Bounds,
    /// Approximate mean value analysis of a network of queues. It also gives throughput and mean
    /// response time at moderate load.
    Mva,
    /// Short stretches of the run are replayed on the changed cluster and on the recorded one, and compared.
    /// For a run of a million requests this takes about 20 ms.
    Fast,
    /// The recorded requests, replayed in a queueing model.
    #[default]
    Replay,
}

impl Model {
    /// All models.
    pub const ALL: [Self; 4] = [Self::Bounds, Self::Mva, Self::Fast, Self::Replay];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bounds => "bounds",
            Self::Mva => "mva",
            Self::Fast => "fast",
            Self::Replay => "replay",
        })
    }
}
