//! `learn score`: trains on one split, chooses a model by validation inside it, and reports how well
//! other splits are predicted.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_files::FileKind;
use foretell_learn::{Candidate, Dataset, Tested};
use serde_json::{Value, json};

use super::evaluate::{coverage_json, coverage_text};
use super::keep;
use super::rows::{self, Keys};
use crate::cli::{DataArguments, LearnScoreArguments, training};
use crate::failure::{Failure, note};
use crate::jobs;
use crate::screen::fitted;

const FILE: FileKind<'_> =
    FileKind::beginning("a table of predictions", "test,").and_saying(",predicted");

/// Rows to predict.
struct Test {
    name: String,
    data: Dataset,
    keys: Keys,
}

/// Scores models.
pub(super) fn score(arguments: &LearnScoreArguments) -> Result<String, Failure> {
    foretell_files::check_apart(arguments.predictions.as_deref(), FILE, [&arguments.data.data])?;
    let asked = &arguments.data;
    let split = arguments.train.as_deref().or(asked.split.as_deref());
    let (data, _) = rows::dataset_with_keys(asked, &asked.data, split, "train")?;
    let tests: Vec<Test> = arguments
        .tests
        .iter()
        .map(|name| {
            let (data, keys) = test(arguments, name)?;
            Ok(Test { name: name.clone(), data, keys })
        })
        .collect::<Result<_, Failure>>()?;
    for test in tests.iter().filter(|test| is_training(asked, test, &data)) {
        note(&format!(
            "`--test {}` holds the rows that the models learn from: its errors say nothing about other rows",
            test.name
        ));
    }
    let (parts, how) = rows::hold_out(&arguments.validation).parts_by_form(&data)?;
    let jobs = jobs::threads(arguments.validation.jobs);
    let intervals = (!arguments.no_intervals).then_some(&arguments.intervals);
    let mut candidates = Vec::new();
    for spec in &arguments.models {
        let training = training(asked, spec, intervals);
        let rows = tests.iter().map(|test| &test.data);
        candidates.push(Candidate::of(spec, &data, &parts, &training, rows, jobs)?);
    }
    let chosen = Candidate::best(&candidates);
    if let Some(path) = &arguments.predictions {
        let text = as_csv(&candidates[chosen], &tests);
        keep::write_file(path, FILE, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(if arguments.json {
        as_json(arguments, &data, how, &tests, &candidates, chosen)
    } else {
        as_text(arguments, &data, how, &tests, &candidates, chosen)
    })
}

/// The rows of a test: another split, or another table or data set.
fn test(arguments: &LearnScoreArguments, name: &str) -> Result<(Dataset, Keys), Failure> {
    let asked = &arguments.data;
    let path = Path::new(name);
    if path.is_file() || path.is_dir() {
        return rows::dataset_with_keys(asked, path, Some("all"), "all");
    }
    if let Some((directory, split)) = name.rsplit_once(':')
        && Path::new(directory).is_dir()
    {
        return rows::dataset_with_keys(asked, Path::new(directory), Some(split), "all");
    }
    if !asked.data.is_dir() {
        let message = format!(
            "`--test {name}`: there is no such file, and `{}` is a table without splits",
            asked.data.display()
        );
        return Err(Failure::Usage(message));
    }
    rows::dataset_with_keys(asked, &asked.data, Some(name), "test")
}

/// Whether a test has the training rows: it is the same table or data set, or a copy.
fn is_training(asked: &DataArguments, test: &Test, data: &Dataset) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    let same =
        canonical(Path::new(&test.name)).is_some_and(|path| Some(path) == canonical(&asked.data));
    same || (&test.data.x, &test.data.y) == (&data.x, &data.y)
}

fn as_csv(candidate: &Candidate, tests: &[Test]) -> String {
    let mut text = String::new();
    for (test, Tested { predicted, intervals, .. }) in tests.iter().zip(&candidate.tests) {
        if text.is_empty() {
            let header: Vec<&str> = test.keys.iter().map(|(name, _)| name.as_str()).collect();
            let ends = if intervals.is_some() { ",low,high" } else { "" };
            let _ =
                writeln!(text, "test,{},{},predicted{ends}", header.join(","), test.data.target);
        }
        for (row, value) in predicted.iter().enumerate() {
            let _ = write!(text, "{}", keep::quoted(&test.name));
            for (_, cells) in &test.keys {
                let _ = write!(text, ",{}", keep::quoted(&cells[row]));
            }
            let _ = write!(text, ",{},{value}", test.data.y[row]);
            if let Some(interval) = intervals.as_ref().map(|all| all[row]) {
                let _ = write!(text, ",{},{}", interval.low, interval.high);
            }
            text.push('\n');
        }
    }
    text
}

fn as_json(
    arguments: &LearnScoreArguments,
    data: &Dataset,
    how: &str,
    tests: &[Test],
    candidates: &[Candidate],
    chosen: usize,
) -> String {
    let models: Vec<Value> = candidates
        .iter()
        .map(|candidate| {
            let of_tests: Vec<Value> = tests
                .iter()
                .zip(&candidate.tests)
                .map(|(test, Tested { scores, coverage, .. })| {
                    let level = arguments.intervals.level;
                    json!({
                        "test": test.name,
                        "errors": scores,
                        "intervals": coverage.as_ref().map(|c| coverage_json(c, level)),
                    })
                })
                .collect();
            json!({
                "model": candidate.trained.spec.to_string(),
                "view": candidate.trained.view.describe(),
                "validation": candidate.validation,
                "tests": of_tests,
            })
        })
        .collect();
    let document = json!({
        "data": arguments.data.data.display().to_string(),
        "target": data.target,
        "rows": data.y.len(),
        "validation": how,
        "chosen": candidates[chosen].trained.spec.to_string(),
        "chosen_by": Candidate::criterion(candidates).key(),
        "models": models,
    });
    crate::output::json(&document)
}

fn as_text(
    arguments: &LearnScoreArguments,
    data: &Dataset,
    how: &str,
    tests: &[Test],
    candidates: &[Candidate],
    chosen: usize,
) -> String {
    let mut text = format!(
        "{}: {} rows, {} features; target `{}`; models are compared by cross-validation {how}\n\n",
        arguments.data.data.display(),
        data.y.len(),
        data.schema.features.len(),
        data.target,
    );
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["model", "rows of", "rows", "RMSE", "MAE", "MAPE %", "median error %", "R²"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for (place, candidate) in candidates.iter().enumerate() {
        let validation = std::iter::once(("cross-validation", &candidate.validation));
        let of_tests = tests.iter().zip(&candidate.tests);
        let of_tests = of_tests.map(|(test, tested)| (test.name.as_str(), &tested.scores));
        for (line, (name, scores)) in validation.chain(of_tests).enumerate() {
            let mark = if place == chosen { " *" } else { "" };
            let spec = format!("{}{mark}", candidate.trained.spec);
            table.add_row([
                if line == 0 { spec } else { String::new() },
                name.to_owned(),
                scores.rows.to_string(),
                super::error_size(scores.rmse, 4),
                super::error_size(scores.mae, 4),
                number(scores.mape_percent, 2),
                number(scores.median_ape_percent, 2),
                number(scores.r2, 4),
            ]);
        }
    }
    text += &fitted(&table, 1);
    text.push('\n');
    let best = &candidates[chosen];
    let criterion = Candidate::criterion(candidates).name();
    let spec = &best.trained.spec;
    let _ = writeln!(text, "\n* chosen for the smallest {criterion} in cross-validation: {spec}");
    let view = best.trained.view.describe();
    if !view.is_empty() {
        let _ = writeln!(text, "  it learned from {view}");
    }
    for (test, tested) in tests.iter().zip(&best.tests) {
        if let Some(coverage) = &tested.coverage {
            let line = coverage_text(coverage, arguments.intervals.level);
            let _ = writeln!(text, "  {}: {line}", test.name);
        }
    }
    text
}
