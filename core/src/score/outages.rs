//! Compares predictions of failures with the truth, phase by phase and recovery by recovery.

use foretell_sim::truth::{OutageTruth, RecoveryTruth};
use foretell_whatif::{Answer, OutageAnswer, PhaseWorkload, RecoveryAnswer};

use super::Comparison;

/// Minimum number of requests, both measured and predicted, for which a phase is compared. Fewer say nothing.
const MIN_REQUESTS: u64 = 20;

/// Appends comparisons of an answer about a run with events; `lasted`: its measured time, s.
pub(super) fn compare(
    answer: &Answer,
    predicted: &OutageAnswer,
    measured: &OutageTruth,
    lasted: f64,
    comparisons: &mut Vec<Comparison>,
) {
    for phase in &predicted.phases {
        let Some(was) = measured.phases.iter().find(|was| was.phase == phase.phase) else {
            continue;
        };
        for (name, prediction) in &phase.workloads {
            let Some(was) = was.workloads.get(name) else { continue };
            if was.requests.min(prediction.requests) < MIN_REQUESTS {
                continue;
            }
            let (times, happened) = (prediction.response_time_ms, &was.response_time_ms);
            let figures = [
                ("throughput_rps", Some(prediction.throughput_rps), was.throughput_rps),
                ("response_time_ms.mean", Some(times.mean), happened.mean),
                ("response_time_ms.p50", times.p50, happened.p50),
                ("response_time_ms.p95", times.p95, happened.p95),
                ("response_time_ms.p99", times.p99, happened.p99),
            ];
            for (metric, predicted_figure, was) in figures {
                let Some(figure) = predicted_figure else { continue };
                let known = Some((metric, prediction));
                let metric = format!("{}.{metric}", phase.phase);
                let found = comparison(name.clone(), metric, figure, was);
                comparisons.push(with_interval(found, known));
            }
        }
        let metric = format!("{}.seconds", phase.phase);
        comparisons.push(comparison("all".to_owned(), metric, phase.seconds, was.seconds));
    }
    // one host may have several recoveries of one kind; they are matched in order
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for was in &measured.recoveries {
        let kind = (was.host.as_str(), was.kind);
        let place = seen.iter().filter(|other| **other == kind).count();
        seen.push(kind);
        let mut same = predicted
            .recoveries
            .iter()
            .filter(|prediction| (prediction.host.as_str(), prediction.kind) == kind);
        let Some(prediction) = same.nth(place) else { continue };
        let whose = format!("{} {}", was.host, was.kind);
        if let Some(seconds) = durations(prediction, was, lasted) {
            comparisons.push(comparison(
                whose.clone(),
                "recovery.seconds".to_owned(),
                seconds.0,
                seconds.1,
            ));
        }
        if was.ended_s.is_some() {
            let (predicted, measured) = (prediction.bytes_written as f64, was.bytes_written as f64);
            comparisons.push(comparison(
                whose,
                "recovery.bytes_written".to_owned(),
                predicted,
                measured,
            ));
        }
    }
    let class = answer.workloads.values().next().and_then(|one| one.circumstances.about);
    let class = class.map(|about| format!("{} {} {}", about.system, about.device, about.change));
    for found in comparisons.iter_mut().filter(|found| found.class.is_none()) {
        found.class.clone_from(&class);
    }
}

/// Predicted and measured length of a recovery, s. `None` if the measured recovery did not end during the
/// run. If only the predicted one did not end, it counts up to the end of the run.
fn durations(prediction: &RecoveryAnswer, was: &RecoveryTruth, lasted: f64) -> Option<(f64, f64)> {
    let measured = was.ended_s? - was.began_s;
    (measured > 0.0).then(|| (prediction.ended_s.unwrap_or(lasted) - prediction.began_s, measured))
}

fn with_interval(found: Comparison, known: Option<(&str, &PhaseWorkload)>) -> Comparison {
    let interval = known.and_then(|(metric, prediction)| prediction.interval.get(metric));
    let (low, high) = (interval.map(|one| one.low), interval.map(|one| one.high));
    Comparison { low, high, ..found }
}

fn comparison(workload: String, metric: String, predicted: f64, measured: f64) -> Comparison {
    Comparison {
        workload,
        metric: metric.into(),
        predicted,
        measured,
        error: (predicted - measured).abs() / measured,
        low: None,
        high: None,
        class: None,
        predicted_sd: None,
        measured_sd: None,
    }
}
