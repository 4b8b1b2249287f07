//! `foretell score`: predict a change, then really simulate it, and compare.

mod many;
mod random;

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_ati::{DirectoryLock, Recorder};
use foretell_scenarios::{Change, Document};
use foretell_sim::Cluster;
use foretell_sim::truth::Truth;
use foretell_whatif::{Answer, Model};
use serde::Serialize;

use crate::ask::open;
use crate::cli::ScoreArguments;
use crate::directory::SCENARIO_FILE;
use crate::facts;
use crate::failure::Failure;
use crate::run::selection;
use crate::shelf::PartsShelf;

/// A figure, predicted and measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) workload: String,
    pub(crate) metric: &'static str,
    pub(crate) predicted: f64,
    pub(crate) measured: f64,
    /// |predicted - measured| / measured.
    pub(crate) error: f64,
}

#[derive(Serialize)]
struct Scores<'a> {
    comparisons: &'a [Comparison],
    model: Model,
    changes: Vec<String>,
}

/// Runs the command.
pub(crate) fn score(arguments: &ScoreArguments) -> Result<(), Failure> {
    let model = Model::from(arguments.model);
    if let Some(count) = arguments.random {
        return at_large(count, arguments, model);
    }
    let Some(directory) = &arguments.directory else {
        return Err(Failure::Usage("which run is to be scored? give its directory".to_owned()));
    };
    let observed = open(directory)?;
    let mut document = Document::load(directory.join(SCENARIO_FILE))?;
    let answer = observed.ask(&arguments.changes, &mut PartsShelf, model)?;
    change(&mut document, &arguments.changes)?;
    let truth = simulate(&document)?;
    let comparisons = compare(&answer, &truth);
    let text = if arguments.json {
        let changes = arguments.changes.iter().map(ToString::to_string).collect();
        let scores = Scores { comparisons: &comparisons, model, changes };
        let mut text = serde_json::to_string_pretty(&scores).expect("scores are JSON");
        text.push('\n');
        text
    } else {
        table(&comparisons)
    };
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// Makes the changes.
pub(crate) fn change(document: &mut Document, changes: &[Change]) -> Result<(), Failure> {
    for change in changes {
        document.set(&change.path, &change.value)?;
    }
    Ok(())
}

/// What really happens. Records are posted and cost what they cost, but are not kept.
pub(crate) fn simulate(document: &Document) -> Result<Truth, Failure> {
    let scenario = document.check()?;
    let selection = selection(&scenario.tracking)?;
    let mut cluster = Cluster::new(scenario, Recorder::forgetful(selection))?;
    Ok(cluster.run(|_| std::ops::ControlFlow::Continue(()))?)
}

/// Runs a scenario, and keeps its records in a directory.
pub(crate) fn record(document: &Document, directory: &Path) -> Result<Truth, Failure> {
    let scenario = document.check()?;
    let selection = selection(&scenario.tracking)?;
    let lock = DirectoryLock::take(directory)?;
    let mut cluster = Cluster::new(scenario.clone(), Recorder::create_in(&lock, selection)?)?;
    let outcome = cluster.run(|_| std::ops::ControlFlow::Continue(()));
    let demands = cluster.demands();
    let recorder = cluster.into_recorder();
    let truth = outcome?;
    let mut facts = facts::of(&scenario, &document.known_to_operator()?);
    facts::ended(&mut facts, &truth);
    recorder.finish(&facts, &demands)?;
    Ok(truth)
}

/// Scores random changes of random clusters.
fn at_large(count: u32, arguments: &ScoreArguments, model: Model) -> Result<(), Failure> {
    let scored = many::score(count, arguments.seed, model)?;
    let metrics = [
        "throughput_rps",
        "response_time_ms.mean",
        "response_time_ms.p50",
        "response_time_ms.p95",
        "response_time_ms.p99",
        "read_hit_rate",
    ];
    let spreads: Vec<_> =
        metrics.into_iter().map(|metric| (metric, many::spread(&scored, metric))).collect();
    let text = if arguments.json {
        let errors: serde_json::Map<String, serde_json::Value> = spreads
            .iter()
            .map(|(metric, spread)| {
                let spread = serde_json::to_value(spread).expect("figures are JSON");
                ((*metric).to_owned(), spread)
            })
            .collect();
        let document = serde_json::json!({ "model": model, "errors": errors, "cases": scored });
        format!("{}\n", serde_json::to_string_pretty(&document).expect("scores are JSON"))
    } else {
        of_many(&scored, &spreads)
    };
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// Errors at large, and the worst cases.
fn of_many(scored: &[many::Scored], spreads: &[(&str, many::Spread)]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["metric", "comparisons", "median error", "90 % under", "worst"]);
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
    for index in 1..=4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("{}\n\nThe worst cases\n", table.trim_fmt());
    let worst = |scored: &many::Scored| {
        let of = |found: &&Comparison| {
            found.metric == "throughput_rps" || found.metric == "response_time_ms.mean"
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

/// Prediction beside truth, workload by workload.
pub(crate) fn compare(answer: &Answer, truth: &Truth) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (name, predicted) in &answer.workloads {
        let Some(measured) = truth.workloads.get(name) else { continue };
        let mut add = |metric, predicted: f64, measured: f64| {
            let error = (predicted - measured).abs() / measured;
            let workload = name.clone();
            comparisons.push(Comparison { workload, metric, predicted, measured, error });
        };
        let response = predicted.response_time_ms;
        add("throughput_rps", predicted.throughput_rps, measured.throughput_rps);
        add("response_time_ms.mean", response.mean, measured.response_time_ms.mean);
        for (metric, predicted, measured) in [
            ("response_time_ms.p50", response.p50, measured.response_time_ms.p50),
            ("response_time_ms.p95", response.p95, measured.response_time_ms.p95),
            ("response_time_ms.p99", response.p99, measured.response_time_ms.p99),
        ] {
            if let Some(predicted) = predicted {
                add(metric, predicted, measured);
            }
        }
        if let (Some(predicted), Some(measured)) = (predicted.read_hit_rate, measured.read_hit_rate)
        {
            add("read_hit_rate", predicted, measured);
        }
    }
    comparisons
}

fn table(comparisons: &[Comparison]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["workload", "metric", "predicted", "measured", "error"]);
    for found in comparisons {
        table.add_row([
            found.workload.clone(),
            found.metric.to_owned(),
            format!("{:.4}", found.predicted),
            format!("{:.4}", found.measured),
            format!("{:.1} %", 100.0 * found.error),
        ]);
    }
    for index in 2..=4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}
