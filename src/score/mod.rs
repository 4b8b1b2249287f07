//! `foretell score`: predicts a change, then simulates it, and compares both.

mod at_random;
mod suite;

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_ati::open_run;
use foretell_core::SCENARIO_FILE;
use foretell_core::score::{
    Comparison, Coverage, Judge, Verdict, append_history, check_history, experience, over_seeds,
};
use foretell_files::Scratch;
use foretell_scenarios::Document;
use foretell_whatif::{Model, PastScore};
use serde::Serialize;

use crate::cli::{MAX_SEED, ScoreArguments};
use crate::failure::Failure;
use crate::screen::fitted;
use crate::{interrupt, jobs, tables};

#[derive(Serialize)]
struct Scores<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    assumed: &'a [String],
    comparisons: &'a [Comparison],
    #[serde(skip_serializing_if = "Option::is_none")]
    overload: Option<Verdict>,
    model: Model,
    changes: Vec<String>,
}

/// Runs the command.
pub(crate) fn score(arguments: &ScoreArguments) -> Result<(), Failure> {
    interrupt::watch();
    if let Some(history) = &arguments.history {
        check_history(history)?;
    }
    let experience = experience(None)?;
    let judge = Judge {
        asked: arguments.model.asked(),
        experience: &experience,
        workers: jobs::workers(None),
    };
    if let Some(count) = arguments.random {
        return at_random::score(count, arguments, judge);
    }
    if let Some(file) = &arguments.suite {
        return suite::score(file.as_deref(), arguments, judge);
    }
    let Some(directory) = &arguments.directory else {
        return Err(Failure::Usage("no run to score: give its directory".to_owned()));
    };
    // names in a kept run are relative to it or full paths; names in a change are relative to here, as in `ask`
    if !directory.join(SCENARIO_FILE).exists() {
        // report what is missing from a run; records alone cannot be simulated
        open_run(directory).map_err(Failure::NotARun)?;
    }
    let document = Document::load(directory.join(SCENARIO_FILE))?.seen_from("");
    let (mut learned, mut notes, mut assumed) = (Vec::new(), Vec::new(), Vec::new());
    let mut overload: Option<Verdict> = None;
    let mut model = Model::Replay;
    let mut once = |directory: &Path, document: &Document| -> Result<_, Failure> {
        let scored = judge.score(directory, document, &arguments.changes)?;
        learned.extend(scored.learned);
        (notes, assumed, model) = (scored.notes, scored.assumed, scored.model);
        overload = overload.or(scored.overload);
        Ok(scored.comparisons)
    };
    let mut runs = vec![once(directory, &document)?];
    let seed = document.check()?.seed.0;
    for number in 1..u64::from(arguments.repeat) {
        // the same scenario with another seed
        let mut other = document.clone();
        other.set("seed", &(seed.wrapping_add(number) & MAX_SEED).to_string())?;
        let scratch = Scratch::new()?;
        judge.record(&other, scratch.path())?;
        runs.push(once(scratch.path(), &other)?);
    }
    append(arguments, learned)?;
    let comparisons = over_seeds(&runs);
    let text = if arguments.json {
        let changes = arguments.changes.iter().map(ToString::to_string).collect();
        let comparisons = &comparisons;
        let (notes, assumed) = (&notes[..], &assumed[..]);
        let scores = Scores { notes, assumed, comparisons, overload, model, changes };
        crate::output::json(&scores)
    } else {
        let about = about(model, overload, &assumed, &comparisons, runs.len());
        crate::output::notes(&notes) + &table(&comparisons) + &about
    };
    crate::output::print(&text)
}

/// A figure, with its standard deviation if there is one.
fn figure(mean: f64, deviation: Option<f64>) -> String {
    let deviation = deviation.map_or_else(String::new, |sd| format!(" ± {sd:.4}"));
    format!("{mean:.4}{deviation}")
}

/// Further information on a score: the model, its assumptions, and which figures lie outside the answer's
/// intervals. Means over several runs have no interval.
fn about(
    model: Model,
    overload: Option<Verdict>,
    assumed: &[String],
    comparisons: &[Comparison],
    runs: usize,
) -> String {
    let mut text = format!("\nModel: {model}\n");
    for assumed in assumed {
        let _ = writeln!(text, "Assumed: {assumed}");
    }
    if let Some(Verdict { predicted, measured }) = overload {
        let word = |is: bool| if is { "yes" } else { "no" };
        let (predicted, measured) = (word(predicted), word(measured));
        let _ = writeln!(text, "Overload: predicted {predicted}, simulated {measured}");
    }
    let known = |found: &&Comparison| found.low.is_some() && found.high.is_some();
    let known: Vec<&Comparison> = comparisons.iter().filter(known).filter(|_| runs == 1).collect();
    let is_outside = |found: &&&Comparison| {
        found.low.is_some_and(|low| found.measured < low)
            || found.high.is_some_and(|high| found.measured > high)
    };
    let outside: Vec<String> = known
        .iter()
        .filter(is_outside)
        .map(|found| {
            let [low, high] = [found.low, found.high].map(Option::unwrap_or_default);
            format!("{} {} ({low:.4} to {high:.4})", found.workload, found.metric)
        })
        .collect();
    if !outside.is_empty() {
        let _ =
            writeln!(text, "Simulated values outside the 90 % interval: {}", outside.join("; "));
    } else if !known.is_empty() {
        let _ = writeln!(text, "Simulated values within the 90 % intervals: all {}", known.len());
    }
    text
}

fn table(comparisons: &[Comparison]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["workload", "metric", "predicted", "simulated", "error"]);
    for found in comparisons {
        table.add_row([
            found.workload.clone(),
            found.metric.to_string(),
            figure(found.predicted, found.predicted_sd),
            figure(found.measured, found.measured_sd),
            percent(found.error),
        ]);
    }
    for index in 2..=4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", fitted(&table, 2))
}

/// Appends the new past scores to the history, if one was named.
fn append(
    arguments: &ScoreArguments,
    learned: impl IntoIterator<Item = PastScore>,
) -> Result<(), Failure> {
    let Some(path) = &arguments.history else { return Ok(()) };
    let learned: Vec<PastScore> = learned.into_iter().collect();
    Ok(append_history(path, &learned)?)
}

/// The coverage as text.
fn coverage_table(held: &[Coverage]) -> String {
    if held.is_empty() {
        return "No interval: there are no past scores\n".to_owned();
    }
    let mut table =
        tables::table(&["90 % intervals of", "figures", "held", "median half-width", ""]);
    for class in held {
        table.add_row([
            class.class.clone(),
            class.comparisons.to_string(),
            percent(class.held),
            percent(class.half_width),
            if class.too_low { "too low".to_owned() } else { String::new() },
        ]);
    }
    format!("{}\n", fitted(&table, 1))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The cost of questions in seconds of processor time: for predicting, and for simulating.
fn costs(each: impl Iterator<Item = (f64, f64)>) -> String {
    let (predicted, simulated) = each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    format!("\n{predicted:.1} CPU-s to predict, {simulated:.1} CPU-s to simulate\n")
}
