//! Past scores: what was predicted, in which circumstances, and how far off it was.
//!
//! `score --history FILE` appends to a file, `ask --history FILE` says how far off its answer is to
//! be expected after what is there and what comes with the program.

use std::fmt::Write as _;
use std::path::Path;

use foretell_input::Limit;
use foretell_whatif::{
    Answer, Circumstances, EXPECTED_METRICS, Experience, HISTORY_HEADER, PastScore, WITH_EVENTS,
};

use super::Comparison;
use crate::failure::Failure;

/// What an answer and its comparison with the truth teach.
pub(super) fn learned(answer: &Answer, comparisons: &[Comparison]) -> Vec<PastScore> {
    let taught = |found: &Comparison| {
        let metric = found.metric.as_ref();
        let (metric, circumstances) = if EXPECTED_METRICS.contains(&metric) {
            let of = if answer.outages.is_some() { WITH_EVENTS } else { "" };
            (format!("{of}{metric}"), answer.workloads[&found.workload].circumstances)
        } else {
            (metric.to_owned(), in_phase(answer, &found.workload, metric)?)
        };
        let error = (found.predicted - found.measured) / found.measured;
        Some(PastScore { model: answer.model, metric, circumstances, error })
    };
    comparisons.iter().filter(|found| found.error.is_finite()).filter_map(taught).collect()
}

/// Of a metric of a workload in a phase, `degraded.throughput_rps`.
fn in_phase(answer: &Answer, workload: &str, metric: &str) -> Option<Circumstances> {
    let (phase, metric) = metric.split_once('.')?;
    let phases = &answer.outages.as_ref()?.phases;
    let phase = phases.iter().find(|known| known.phase == phase)?;
    EXPECTED_METRICS.contains(&metric).then(|| phase.workloads[workload].circumstances)
}

/// What is not a history is not written to.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    foretell_files::check(path)?;
    if path.exists() { read(path).map(drop) } else { Ok(()) }
}

/// Appends scores to a file, which is begun if it is not there.
pub(super) fn append(path: &Path, scores: &[PastScore]) -> Result<(), Failure> {
    let mut text = String::new();
    for score in scores {
        let _ = writeln!(text, "{score}");
    }
    Ok(foretell_files::append_line(path, &format!("{HISTORY_HEADER}\n"), &text)?)
}

fn read(path: &Path) -> Result<Experience, Failure> {
    let text = foretell_input::text(path, Limit::POINTS).map_err(Failure::file("read", path))?;
    Experience::parse(&text).map_err(|error| {
        Failure::Usage(format!("{} is no history of scores: {error}", path.display()))
    })
}

/// What comes with the program, and what is in a file.
pub(crate) fn experience(path: Option<&Path>) -> Result<Experience, Failure> {
    let mut experience = Experience::shipped();
    if let Some(path) = path {
        experience.add(read(path)?);
    }
    Ok(experience)
}
