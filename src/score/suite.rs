//! `foretell score --suite`: the accuracy of predictions on questions written by people.
//!
//! The shipped suite (`suite/` in the sources) was written before the predictor answered any of it. Its largest
//! errors have since revealed two faults of the device model, which were fixed. So it is no longer an untouched test;
//! a suite of your own is.

use std::fmt::Write as _;
use std::path::Path;

use foretell_core::score::{
    ClassErrors, Comparison, Coverage, Judge, ScoredQuestion, Suite, Verdict, by_class, coverage,
};
use foretell_files::{FileKind, Scratch};
use foretell_input::Limit;

use super::{append, costs, coverage_table, percent};
use crate::cli::ScoreArguments;
use crate::failure::Failure;
use crate::screen::fitted;
use crate::tables;

/// The shipped suite, and the files that it refers to.
const SHIPPED: &str = include_str!("../../suite/questions.toml");
const SHIPPED_FILES: [(&str, &[u8]); 2] = [
    ("office.csv.zst", include_bytes!("../../suite/office.csv.zst")),
    ("nightly.csv.zst", include_bytes!("../../suite/nightly.csv.zst")),
];
/// Number of cases that are shown in full.
const WORST: usize = 10;

/// Scores a suite.
pub(super) fn score(
    file: Option<&Path>,
    arguments: &ScoreArguments,
    judge: Judge<'_>,
) -> Result<(), Failure> {
    let files = Scratch::new()?;
    let suite = if let Some(path) = file {
        let text =
            foretell_input::text(path, Limit::SCENARIO).map_err(Failure::file("read", path))?;
        let beside = path.parent().unwrap_or(Path::new(""));
        Suite::parse(&path.display().to_string(), &text, beside)?
    } else {
        for (name, content) in SHIPPED_FILES {
            foretell_files::write(&files.path().join(name), FileKind::ANY, content)?;
        }
        Suite::parse("the suite", SHIPPED, files.path())?
    };
    let all = suite.score(judge)?;
    append(arguments, all.iter().flat_map(|one| one.learned.clone()))?;
    let classes = by_class(&all);
    let held = coverage(all.iter().flat_map(|one| &one.comparisons));
    let text = if arguments.json {
        crate::output::json(&serde_json::json!({
            "model": arguments.model.name(), "classes": classes, "coverage": held, "questions": all,
        }))
    } else {
        in_words(&all, &classes, &held)
    };
    crate::output::print(&text)
}

/// The largest error in throughput or mean response time.
fn worst(answered: &ScoredQuestion) -> f64 {
    let of = |found: &&Comparison| {
        found.metric == "throughput_rps" || found.metric == "response_time_ms.mean"
    };
    let errors = answered.comparisons.iter().filter(of).map(|found| found.error);
    errors.filter(|error| error.is_finite()).fold(0.0, f64::max)
}

fn in_words(all: &[ScoredQuestion], classes: &[ClassErrors], held: &[Coverage]) -> String {
    let mut text = String::new();
    let mut questions = tables::table(&[
        "question", "workload", "model", "req/s", "really", "error", "mean ms", "really", "error",
        "p99 ms", "really", "error",
    ]);
    let mut run = "";
    for one in all {
        if one.run != run {
            run = &one.run;
            questions.add_row([run]);
        }
        let what = one.what_if.join(", ");
        let model = one.model.map_or_else(|| "-".to_owned(), |model| model.to_string());
        let verdict = match (&one.refused, one.overload) {
            (Some(_), _) => Some("refused"),
            (_, Some(Verdict { predicted: true, measured: true })) => Some("overload, rightly"),
            (_, Some(Verdict { predicted: true, measured: false })) => Some("overload, wrongly"),
            (_, Some(_)) => Some("overload, unforeseen"),
            _ => None,
        };
        if let Some(verdict) = verdict {
            questions.add_row([format!(" {what}"), "-".to_owned(), verdict.to_owned()]);
        }
        let mut names: Vec<&str> = one.comparisons.iter().map(|c| c.workload.as_str()).collect();
        names.dedup();
        for name in names {
            let mut row = vec![format!(" {what}"), name.to_owned(), model.clone()];
            for metric in ["throughput_rps", "response_time_ms.mean", "response_time_ms.p99"] {
                let found = one.comparisons.iter();
                let mut found = found.filter(|c| c.workload == name && c.metric == metric);
                match found.next() {
                    Some(c) => row.extend([
                        format!("{:.3}", c.predicted),
                        format!("{:.3}", c.measured),
                        percent(c.error),
                    ]),
                    None => row.extend(["-", "-", "-"].map(str::to_owned)),
                }
            }
            questions.add_row(row);
        }
    }
    let _ = writeln!(text, "{}\n", fitted(&questions, 1));
    let mut table = tables::table(&[
        "class",
        "questions",
        "refused",
        "wrong verdicts",
        "fast",
        "req/s median",
        "90 % under",
        "mean median",
        "90 % under",
        "p99 median",
        "90 % under",
    ]);
    for class in classes {
        let mut row = vec![
            class.class.clone(),
            class.questions.to_string(),
            class.refused.to_string(),
            class.wrong_verdicts.to_string(),
            class.fast.to_string(),
        ];
        for spread in [class.throughput, class.mean, class.p99] {
            row.extend([percent(spread.median), percent(spread.p90)]);
        }
        table.add_row(row);
    }
    let _ = writeln!(text, "{}\n\n{}", fitted(&table, 1), coverage_table(held));
    text += &the_worst(all);
    text + &costs(all.iter().map(|one| (one.predicted_in_s, one.simulated_in_s)))
}

/// The worst cases in full, and the questions that were refused.
fn the_worst(all: &[ScoredQuestion]) -> String {
    let mut text = String::new();
    let mut order: Vec<&ScoredQuestion> = all.iter().collect();
    order.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    text += "The largest errors, and their reasons\n";
    for one in order.into_iter().take(WORST) {
        let _ = writeln!(
            text,
            "{}: {} {}; {}",
            one.run,
            one.ask,
            one.what_if.join(", "),
            percent(worst(one))
        );
        for found in &one.comparisons {
            let Comparison { workload, metric, predicted, measured, error, .. } = found;
            let _ = writeln!(
                text,
                "  {workload} {metric}: {predicted:.4} predicted, {measured:.4} measured, {}",
                percent(*error)
            );
        }
        if !one.reasons.is_empty() {
            let strongest = one.reasons.iter().take(3).cloned().collect::<Vec<_>>();
            let _ = writeln!(text, "  {}", strongest.join("; "));
        }
    }
    for one in all {
        if let Some(reason) = &one.refused {
            let _ = writeln!(text, "refused, {}: {reason}", one.run);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_has_80_questions_that_can_be_simulated() {
        let suite = Suite::parse("the suite", SHIPPED, Path::new("suite"));
        assert_eq!(suite.unwrap_or_else(|error| panic!("{error}")).size(), (15, 80));
    }
}
