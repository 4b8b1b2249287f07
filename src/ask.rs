//! `foretell ask`: what would be, from the records of a run alone.

use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_whatif::{Answer, Observed, WhatIfError};
use serde::Serialize;

use crate::cli::AskArguments;
use crate::failure::Failure;
use crate::score::history::{experience, in_words};
use foretell_core::{Capacities, PartsShelf};

/// Runs the command.
pub(crate) fn ask(arguments: &AskArguments) -> Result<(), Failure> {
    let prices = arguments.prices.read()?;
    let observed = open(&arguments.directory)?;
    let experience = experience(arguments.history.as_deref())?;
    let prediction = observed.predict(&arguments.changes, &mut PartsShelf)?;
    let mut answer = prediction.answer(arguments.model.into());
    if prediction.differs() {
        answer.expect(&experience);
    }
    let capacity = Capacities::of(prediction.scenario(), &prices);
    let text = if arguments.json {
        crate::output::json(&Document { answer: &answer, capacity: &capacity })
    } else {
        format!("{}\n{}", table(&answer), crate::capacity::text(&capacity))
    };
    crate::output::print(&text)
}

/// An answer, and what its cluster would hold.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    capacity: &'a Capacities,
}

/// The records of a run.
pub(crate) fn open(directory: &std::path::Path) -> Result<Observed, Failure> {
    Observed::open(directory).map_err(|error| match error {
        WhatIfError::Store(error) => Failure::NotARun(error),
        error => error.into(),
    })
}

/// The answer as a person reads it.
fn table(answer: &Answer) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header([
        "workload",
        "req/s",
        "MB/s",
        "mean ms",
        "p50",
        "p95",
        "p99",
        "hit rate",
        "peak req/s",
        "N",
        "N*",
        "bottleneck",
    ]);
    let milliseconds = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"));
    for (name, found) in &answer.workloads {
        table.add_row([
            name.clone(),
            format!("{:.1}", found.throughput_rps),
            format!("{:.2}", found.throughput_bytes_per_s / 1e6),
            format!("{:.3}", found.response_time_ms.mean),
            milliseconds(found.response_time_ms.p50),
            milliseconds(found.response_time_ms.p95),
            milliseconds(found.response_time_ms.p99),
            found
                .read_hit_rate
                .map_or_else(|| "-".to_owned(), |rate| format!("{:.1} %", 100.0 * rate)),
            format!("{:.1}", found.peak_throughput_rps),
            format!("{:.1}", found.outstanding),
            format!("{:.1}", found.outstanding_to_saturate),
            found.bottleneck.clone(),
        ]);
    }
    for index in 1..=10 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = crate::output::notes(&answer.notes);
    let _ = writeln!(text, "What clients would see\n{}", crate::screen::fitted(&table, 1));
    if let Some(busiest) = &answer.bottleneck {
        let _ = writeln!(
            text,
            "\nBusiest: {}.{}, {:.0} % busy",
            busiest.host,
            busiest.resource,
            100.0 * busiest.utilization
        );
    }
    let misfits = answer.workloads.iter().filter_map(|(name, found)| {
        let misfit = found.misfit?;
        let percent = |part: f64| format!("{:+.1} %", 100.0 * part);
        let (throughput, response) =
            (percent(misfit.throughput), percent(misfit.mean_response_time));
        Some(format!("{name} {throughput} throughput, {response} mean response time"))
    });
    let misfits: Vec<String> = misfits.collect();
    if !misfits.is_empty() {
        let _ = writeln!(
            text,
            "For the recorded run itself the replay is off by: {}",
            misfits.join("; ")
        );
    }
    let expected = answer.workloads.iter().filter_map(|(name, found)| {
        let of = |metric| found.expected_error.get(metric).map(in_words);
        let (throughput, response) = (of("throughput_rps")?, of("response_time_ms.mean")?);
        Some(format!("{name} {throughput} throughput, {response} mean response time"))
    });
    let expected: Vec<String> = expected.collect();
    if !expected.is_empty() {
        let _ = writeln!(text, "Errors of past predictions like this: {}", expected.join("; "));
    }
    text
}
