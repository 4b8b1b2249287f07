//! Compares predictions with the truth: for one question, for random questions, and for suites that people
//! wrote.

#[cfg(feature = "files")]
mod at_random;
mod coverage;
#[cfg(feature = "files")]
mod history;
#[cfg(feature = "files")]
mod judge;
mod outages;
mod reasons;
mod spread;
#[cfg(feature = "files")]
mod suite;
#[cfg(feature = "files")]
mod verdict;

use std::borrow::Cow;

use foretell_sim::truth::Truth;
use foretell_whatif::Answer;
use serde::Serialize;

#[cfg(feature = "files")]
pub use at_random::{OverloadedCase, ScoredCase, score_random};
pub use coverage::{Coverage, coverage};
#[cfg(feature = "files")]
pub use history::{append_history, check_history, experience};
#[cfg(feature = "files")]
pub use judge::{Judge, Predicted, Scored};
pub use reasons::reasons;
pub use spread::{Spread, over_seeds, spread};
#[cfg(feature = "files")]
pub use suite::{ClassErrors, ScoredQuestion, Suite, by_class};
#[cfg(feature = "files")]
pub use verdict::{Verdict, Verdicts};

/// A figure, predicted and measured.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The workload's name. For a recovery: the host or disk that failed, and the kind of recovery, such as
    /// `brick3 rebuild`. For the length of a phase: `all`.
    pub workload: String,
    /// The compared figure, by its name in answers: `throughput_rps`, `response_time_ms.mean`, ... Runs with
    /// events also have figures for each phase, such as `degraded.throughput_rps` and `degraded.seconds`.
    /// Recoveries have `recovery.seconds` and `recovery.bytes_written`.
    pub metric: Cow<'static, str>,
    /// What was predicted.
    pub predicted: f64,
    /// What was measured in the simulation.
    pub measured: f64,
    /// |predicted - measured| / measured.
    pub error: f64,
    /// Lower end of the prediction's 90 % interval, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The class of the question: storage system, devices, kind of change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Standard deviation of the prediction over seeds, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_sd: Option<f64>,
    /// Standard deviation of the measured value over seeds, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_sd: Option<f64>,
}

/// Prediction beside truth, workload by workload.
pub fn compare(answer: &Answer, truth: &Truth) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (name, predicted) in &answer.workloads {
        let Some(measured) = truth.workloads.get(name) else { continue };
        let mut add = |metric: &'static str, predicted: f64, measured: f64| {
            let off = (predicted - measured).abs();
            // nothing was predicted, and nothing was measured
            let error = if off > 0.0 { off / measured } else { 0.0 };
            let workload = name.clone();
            let (predicted_sd, measured_sd) = (None, None);
            let interval = answer.workloads[name].interval.get(metric);
            let (low, high) = (interval.map(|known| known.low), interval.map(|known| known.high));
            let about = answer.workloads[name].circumstances.about;
            let class =
                about.map(|about| format!("{} {} {}", about.system, about.device, about.change));
            comparisons.push(Comparison {
                workload,
                metric: metric.into(),
                predicted,
                measured,
                error,
                low,
                high,
                class,
                predicted_sd,
                measured_sd,
            });
        };
        let response = predicted.response_time_ms;
        add("throughput_rps", predicted.throughput_rps, measured.throughput_rps);
        let mean = Some(response.mean).filter(|_| !predicted.no_requests && measured.requests > 0);
        for (metric, predicted, measured) in [
            ("response_time_ms.mean", mean, measured.response_time_ms.mean),
            ("response_time_ms.p50", response.p50, measured.response_time_ms.p50),
            ("response_time_ms.p95", response.p95, measured.response_time_ms.p95),
            ("response_time_ms.p99", response.p99, measured.response_time_ms.p99),
        ] {
            if let Some(predicted) = predicted {
                add(metric, predicted, measured);
            }
        }
        if let (Some(predicted), Some(measured)) = (predicted.hedges, measured.hedges)
            && measured > 0
        {
            add("hedges", predicted as f64, measured as f64);
        }
        if let (Some(predicted), Some(measured)) = (predicted.read_hit_rate, measured.read_hit_rate)
        {
            add("read_hit_rate", predicted, measured);
        }
    }
    if let Some((predicted, measured)) = answer.outages.as_ref().zip(truth.outages.as_ref()) {
        let lasted = truth.simulated_seconds;
        outages::compare(answer, predicted, measured, lasted, &mut comparisons);
    }
    comparisons
}
