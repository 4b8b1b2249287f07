//! Past scores: what was predicted, in which circumstances, and how far off it was.
//!
//! `score --history FILE` appends to a file, `ask --history FILE` says how far off its answer is to
//! be expected after what is there and what comes with the program.

use std::fmt::Write as _;
use std::path::Path;

use foretell_input::Limit;
use foretell_whatif::{Answer, EXPECTED_METRICS, Experience, HISTORY_HEADER, PastScore};

use super::Comparison;
use crate::failure::Failure;

/// What an answer and its comparison with the truth teach.
pub(super) fn learned(answer: &Answer, comparisons: &[Comparison]) -> Vec<PastScore> {
    let known = comparisons.iter().filter(|found| EXPECTED_METRICS.contains(&found.metric));
    known
        .filter(|found| found.error.is_finite())
        .map(|found| PastScore {
            model: answer.model,
            metric: found.metric.to_owned(),
            circumstances: answer.workloads[&found.workload].circumstances,
            error: (found.predicted - found.measured) / found.measured,
        })
        .collect()
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
