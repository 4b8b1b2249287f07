//! `foretell score`: predict a change, then really simulate it, and compare.

mod coverage;
pub(crate) mod history;
mod many;
mod reasons;
mod suite;

use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum as _;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_ati::{RUN, open_run};
use foretell_core::random::Draw;
use foretell_core::{Comparison, PartsShelf, SCENARIO_FILE, Simulation, compare};
use foretell_files::{Directory, Scratch};
use foretell_scenarios::{Change, Document};
use foretell_sim::truth::Truth;
use foretell_whatif::{Answer, Asked, Experience, Model, Observed, PastScore, WhatIfError};
use serde::Serialize;

use crate::ask::open;
use crate::cli::{GeneratorChoice, MOST_SEED, ScoreArguments, SystemChoice};
use crate::failure::Failure;
use crate::interrupt;
use crate::screen::fitted;
use crate::tables;

#[derive(Serialize)]
struct Scores<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    assumed: &'a [String],
    comparisons: &'a [Comparison],
    model: Model,
    changes: Vec<String>,
}

/// Runs the command.
pub(crate) fn score(arguments: &ScoreArguments) -> Result<(), Failure> {
    interrupt::watch();
    if let Some(history) = &arguments.history {
        history::check(history)?;
    }
    let experience = history::experience(None)?;
    let judge = Judge { asked: arguments.model.asked(), experience: &experience };
    if let Some(count) = arguments.random {
        return at_large(count, arguments, judge);
    }
    if let Some(file) = &arguments.suite {
        return suite::score(file.as_deref(), arguments, judge);
    }
    let Some(directory) = &arguments.directory else {
        return Err(Failure::Usage("which run is to be scored? give its directory".to_owned()));
    };
    // what a kept run names is in it or has its full path; what a change names stands here, as for `ask`
    if !directory.join(SCENARIO_FILE).exists() {
        // says what is missing of a run; the records alone are no run that could be simulated
        open_run(directory).map_err(Failure::NotARun)?;
    }
    let document = Document::load(directory.join(SCENARIO_FILE))?.seen_from("");
    let (mut learned, mut notes, mut assumed) = (Vec::new(), Vec::new(), Vec::new());
    let mut model = Model::Replay;
    let mut once = |directory: &Path, document: &Document| -> Result<_, Failure> {
        let scored = predict(directory, document, &arguments.changes, judge)?;
        learned.extend(scored.learned);
        (notes, assumed, model) = (scored.notes, scored.assumed, scored.model);
        Ok(scored.comparisons)
    };
    let mut runs = vec![once(directory, &document)?];
    let seed = document.check()?.seed.0;
    for number in 1..u64::from(arguments.repeat) {
        // the same scenario with another seed
        let mut other = document.clone();
        other.set("seed", &(seed.wrapping_add(number) & MOST_SEED).to_string())?;
        let scratch = Scratch::new()?;
        record(&other, scratch.path())?;
        runs.push(once(scratch.path(), &other)?);
    }
    if let Some(history) = &arguments.history {
        history::append(history, &learned)?;
    }
    let comparisons = together(&runs);
    let text = if arguments.json {
        let changes = arguments.changes.iter().map(ToString::to_string).collect();
        let comparisons = &comparisons;
        let scores = Scores { notes: &notes, assumed: &assumed, comparisons, model, changes };
        crate::output::json(&scores)
    } else {
        let about = about(model, &assumed, &comparisons, runs.len());
        crate::output::notes(&notes) + &table(&comparisons) + &about
    };
    crate::output::print(&text)
}

/// Who answers, and what past scores say.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) asked: Asked,
    pub(crate) experience: &'a Experience,
}

/// The answer that was asked for, and those of all models.
pub(crate) struct Predicted {
    answer: Answer,
    all: Vec<Answer>,
    /// Whether the changes have an effect.
    differs: bool,
}

impl Judge<'_> {
    /// Asks all models; the answer is that which a user would get.
    pub(crate) fn ask(self, observed: &Observed, changes: &[Change]) -> Result<Predicted, Failure> {
        let prediction = observed.predict(changes, &mut PartsShelf)?;
        let fast = match observed.fast_beside(changes, &mut PartsShelf) {
            Err(error @ WhatIfError::Overload { .. }) => Err(error.to_string()),
            found => found?,
        };
        let mut answer = match (self.asked, &fast) {
            (asked, Ok(fast)) if asked.takes(fast, self.experience) => fast.clone(),
            (Asked::Of(Model::Fast), Err(reason)) => {
                return Err(WhatIfError::not_followed(Model::Fast, changes, reason).into());
            }
            (Asked::Of(model), _) => {
                prediction.must_know(model, changes)?;
                prediction.answer(model)
            }
            (Asked::Auto, _) => prediction.answer(Model::Replay),
        };
        let differs = prediction.differs();
        if differs {
            answer.expect(self.experience);
        }
        let others = [Model::Bounds, Model::Mva, Model::Replay].into_iter();
        let others = others.filter(|model| prediction.knows(*model));
        // of a short run both models replay all: that teaches nothing of short stretches
        let fast = fast.ok().filter(|_| observed.has_short_stretches());
        let all = others.map(|model| prediction.answer(model)).chain(fast).collect();
        Ok(Predicted { answer, all, differs })
    }
}

impl Predicted {
    /// What the answers of all models teach: what changes nothing teaches nothing of changes.
    pub(crate) fn learned(&self, changes: &[Change], truth: &Truth) -> Vec<PastScore> {
        if !changes.is_empty() && !self.differs {
            return Vec::new();
        }
        let learned = |answer: &Answer| history::learned(answer, &compare(answer, truth));
        self.all.iter().flat_map(learned).collect()
    }
}

/// Predicts a change from the records in a directory, and simulates it; compares.
fn predict(
    directory: &Path,
    document: &Document,
    changes: &[Change],
    judge: Judge<'_>,
) -> Result<Once, Failure> {
    let observed = open(directory)?;
    let predicted = judge.ask(&observed, changes)?;
    let mut after = document.clone();
    change(&mut after, changes)?;
    let truth = simulate(&after)?;
    let learned = predicted.learned(changes, &truth);
    let comparisons = compare(&predicted.answer, &truth);
    let Answer { notes, assumed, model, .. } = predicted.answer;
    Ok(Once { comparisons, learned, notes, assumed, model })
}

/// A prediction beside what happened.
struct Once {
    comparisons: Vec<Comparison>,
    /// What every model's answer teaches.
    learned: Vec<PastScore>,
    /// What was asked for and has no effect.
    notes: Vec<String>,
    /// What the answer assumes.
    assumed: Vec<String>,
    /// Who answered.
    model: Model,
}

/// What happens when nothing is kept.
fn simulate(document: &Document) -> Result<Truth, Failure> {
    Ok(Simulation::new(document)?.run(interrupt::unless_asked)?)
}

/// Keeps the records of a run in a directory.
fn record(document: &Document, directory: &Path) -> Result<(), Failure> {
    let directory = Directory::take(directory, RUN)?;
    Simulation::new(document)?.record(&directory, interrupt::unless_asked)?;
    Ok(())
}

/// Means and standard deviations over runs that differ in their seeds.
fn together(runs: &[Vec<Comparison>]) -> Vec<Comparison> {
    let mut all = runs[0].clone();
    if runs.len() == 1 {
        return all;
    }
    for found in &mut all {
        let same =
            |other: &&Comparison| other.workload == found.workload && other.metric == found.metric;
        let each: Vec<&Comparison> = runs.iter().filter_map(|run| run.iter().find(same)).collect();
        let spread = |of: fn(&Comparison) -> f64| {
            let count = each.len() as f64;
            let mean = each.iter().map(|run| of(run)).sum::<f64>() / count;
            let squares: f64 = each.iter().map(|run| (of(run) - mean).powi(2)).sum();
            (mean, (squares / (count - 1.0).max(1.0)).sqrt())
        };
        let (predicted, predicted_sd) = spread(|run| run.predicted);
        let (measured, measured_sd) = spread(|run| run.measured);
        *found = Comparison {
            predicted,
            measured,
            error: (predicted - measured).abs() / measured,
            predicted_sd: Some(predicted_sd),
            measured_sd: Some(measured_sd),
            ..found.clone()
        };
    }
    all
}

/// Makes the changes.
pub(crate) fn change(document: &mut Document, changes: &[Change]) -> Result<(), Failure> {
    for change in changes {
        document.set(&change.path, &change.value)?;
    }
    Ok(())
}

/// Scores random changes of random clusters.
fn at_large(count: u32, arguments: &ScoreArguments, judge: Judge<'_>) -> Result<(), Failure> {
    let ScoreArguments { seed, system, generator, .. } = *arguments;
    if generator == GeneratorChoice::Failures
        && let Some(system @ (SystemChoice::Swift | SystemChoice::Guest)) = system
    {
        let name = system.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        return Err(Failure::Usage(format!(
            "`--generator failures` draws no clusters of `{name}`: events are not simulated there; `ursa-minor` \
             and `ceph` have them"
        )));
    }
    let scored = many::score(
        count,
        Draw { seed, system: system.map(Into::into), generator: generator.into() },
        judge,
    )?;
    if let Some(path) = &arguments.history {
        let learned: Vec<PastScore> =
            scored.iter().flat_map(|scored| scored.learned.iter().cloned()).collect();
        history::append(path, &learned)?;
    }
    let metrics = [
        "throughput_rps",
        "response_time_ms.mean",
        "response_time_ms.p50",
        "response_time_ms.p95",
        "response_time_ms.p99",
        "read_hit_rate",
    ];
    let of_failures = [
        "before.throughput_rps",
        "before.response_time_ms.mean",
        "degraded.throughput_rps",
        "degraded.response_time_ms.mean",
        "degraded.response_time_ms.p99",
        "degraded.seconds",
        "recovering.throughput_rps",
        "recovering.response_time_ms.mean",
        "recovering.response_time_ms.p99",
        "after.throughput_rps",
        "after.response_time_ms.mean",
        "recovery.seconds",
        "recovery.bytes_written",
    ];
    let of_failures = of_failures.iter().filter(|_| generator == GeneratorChoice::Failures);
    let metrics = metrics.iter().chain(of_failures);
    let spreads: Vec<_> =
        metrics.map(|metric| (*metric, many::spread(all(&scored), metric))).collect();
    let held = coverage::by_class(all(&scored));
    let text = if arguments.json {
        let errors: serde_json::Map<String, serde_json::Value> = spreads
            .iter()
            .map(|(metric, spread)| {
                let spread = serde_json::to_value(spread).expect("figures are JSON");
                ((*metric).to_owned(), spread)
            })
            .collect();
        let document = serde_json::json!({
            "model": arguments.model.name(), "errors": errors, "coverage": held, "cases": scored,
        });
        crate::output::json(&document)
    } else {
        of_many(&scored, &spreads, &held)
    };
    crate::output::print(&text)
}

/// All comparisons.
fn all(scored: &[many::Scored]) -> impl Iterator<Item = &Comparison> {
    scored.iter().flat_map(|scored| &scored.comparisons)
}

/// Errors at large, and the worst cases.
fn of_many(
    scored: &[many::Scored],
    spreads: &[(&str, many::Spread)],
    held: &[coverage::Coverage],
) -> String {
    let header = ["metric", "comparisons", "median error", "90 % under", "worst"];
    let mut table = tables::table(&header);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for (metric, spread) in spreads {
        table.add_row([
            (*metric).to_owned(),
            spread.count.to_string(),
            percent(spread.median),
            percent(spread.p90),
            percent(spread.worst),
        ]);
    }
    let mut text = format!(
        "{}\n\n{}\nThe worst cases, and what was predicted for what was measured on the way\n",
        fitted(&table, 1),
        coverage::table(held)
    );
    let worst = |scored: &many::Scored| {
        let of = |found: &&Comparison| {
            let metric = found.metric.strip_prefix("degraded.").unwrap_or(&found.metric);
            ["throughput_rps", "response_time_ms.mean", "recovery.seconds"].contains(&metric)
        };
        scored.comparisons.iter().filter(of).map(|found| found.error).fold(0.0, f64::max)
    };
    let mut order: Vec<&many::Scored> = scored.iter().collect();
    order.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    for scored in order.into_iter().take(10) {
        let _ = writeln!(
            text,
            "case {}: {} off; {}",
            scored.case,
            percent(worst(scored)),
            scored.changes.join("; ")
        );
        if !scored.reasons.is_empty() {
            let strongest = scored.reasons.iter().take(3).cloned().collect::<Vec<_>>();
            let _ = writeln!(text, "  {}", strongest.join("; "));
        }
    }
    let sum = |of: fn(&many::Scored) -> f64| scored.iter().map(of).sum::<f64>();
    let _ = writeln!(
        text,
        "\n{:.1} CPU-s to predict, {:.1} CPU-s to simulate",
        sum(|scored| scored.predicted_in_s),
        sum(|scored| scored.simulated_in_s)
    );
    text
}

/// A figure, with its standard deviation if there is one.
fn figure(mean: f64, deviation: Option<f64>) -> String {
    let deviation = deviation.map_or_else(String::new, |sd| format!(" ± {sd:.4}"));
    format!("{mean:.4}{deviation}")
}

/// What else is to be known of a score: who answered, what was assumed, and which figures are not where the answer
/// says that they are. Means over several runs have no interval.
fn about(model: Model, assumed: &[String], comparisons: &[Comparison], runs: usize) -> String {
    let mut text = format!("\nModel: {model}\n");
    for assumed in assumed {
        let _ = writeln!(text, "Assumed: {assumed}");
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
        let _ = writeln!(text, "Measured outside the 90 % interval: {}", outside.join("; "));
    } else if !known.is_empty() {
        let _ = writeln!(text, "Measured within the 90 % intervals: all {}", known.len());
    }
    text
}

fn table(comparisons: &[Comparison]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["workload", "metric", "predicted", "measured", "error"]);
    for found in comparisons {
        table.add_row([
            found.workload.clone(),
            found.metric.to_string(),
            figure(found.predicted, found.predicted_sd),
            figure(found.measured, found.measured_sd),
            format!("{:.1} %", 100.0 * found.error),
        ]);
    }
    for index in 2..=4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", fitted(&table, 2))
}
