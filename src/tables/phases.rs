//! What clients saw in each phase of a run with failures.

use foretell_sim::truth::{OutageTruth, PhaseTruth, PhaseWorkload};

use super::{number, table};
use crate::screen::fitted;

/// Maximum number of phases of which all workloads are shown.
const MAX_PHASES: usize = 8;

/// The phases: a line if there is one workload, whose figures fit into it; otherwise a row for each workload in each
/// phase, because a percentile of several workloads together is that of none.
pub(super) fn text(outages: &OutageTruth) -> String {
    let phases = &outages.phases;
    let shown = &phases[..phases.len().min(MAX_PHASES)];
    let more = match phases.len() - shown.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    if phases.is_empty() {
        return "Phases: none".to_owned();
    }
    if phases.iter().all(|phase| phase.workloads.len() <= 1) {
        let lines: Vec<String> = shown.iter().map(line).collect();
        return format!("Phases: {}{more}", lines.join("; "));
    }
    let head = ["phase", "lasted s", "workload", "requests/s", "mean ms", "p50", "p99", "failed"];
    let mut rows = table(&head);
    for phase in shown {
        let mut lasted = number(phase.seconds);
        let mut name = phase.phase.to_owned();
        for (workload, seen) in &phase.workloads {
            let response = &seen.response_time_ms;
            let known = |ms: f64| if seen.requests > 0 { number(ms) } else { String::new() };
            rows.add_row([
                std::mem::take(&mut name),
                std::mem::take(&mut lasted),
                workload.clone(),
                number(seen.throughput_rps),
                known(response.mean),
                known(response.p50),
                known(response.p99),
                seen.failed_requests.to_string(),
            ]);
        }
    }
    let more = if more.is_empty() {
        more
    } else {
        format!("\nPhases that are shown: the first {MAX_PHASES}{more}")
    };
    format!("\nWhat clients saw in each phase\n{}{more}\n", fitted(&rows, 3))
}

/// A phase of a run with one workload.
fn line(phase: &PhaseTruth) -> String {
    let seen = phase.workloads.values().next();
    let figures = |seen: &PhaseWorkload| {
        let response = &seen.response_time_ms;
        format!(
            "{} req/s, mean {} ms, p99 {} ms",
            number(seen.throughput_rps),
            number(response.mean),
            number(response.p99)
        )
    };
    let served = seen.filter(|seen| seen.requests > 0);
    let figures = served.map_or_else(|| "no requests".to_owned(), figures);
    let failed = match seen.map_or(0, |seen| seen.failed_requests) {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    format!("{}, for {} s ({figures}{failed})", phase.phase, number(phase.seconds))
}
