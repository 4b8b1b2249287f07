//! `foretell score`: predict a change, then really simulate it, and compare.

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_ati::Recorder;
use foretell_scenarios::{Change, Document};
use foretell_sim::Cluster;
use foretell_sim::truth::Truth;
use foretell_whatif::{Answer, Model};
use serde::Serialize;

use crate::ask::open;
use crate::cli::ScoreArguments;
use crate::directory::SCENARIO_FILE;
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
    let Some(directory) = &arguments.directory else {
        return Err(Failure::Usage("nothing to score".to_owned()));
    };
    let model = Model::from(arguments.model);
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
