//! `foretell ask`: predicts the effect of changes, from the records of a run alone.

mod outages;
mod questions;

use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_units::relative_change;
use foretell_whatif::{Answer, Model, Observed, WhatIfError};

use crate::cli::AskArguments;
use crate::failure::Failure;
use foretell_core::score::experience;
use foretell_core::{Answered, PartsShelf};

/// Runs the command.
pub(crate) fn ask(arguments: &AskArguments) -> Result<(), Failure> {
    let prices = arguments.prices.read()?;
    let observed = open(&arguments.directory)?;
    let experience = experience(arguments.history.as_deref())?;
    if let Some(path) = &arguments.questions {
        let (observed, experience, prices) = (&observed, &experience, &prices);
        let context = questions::AnswerContext {
            observed,
            experience,
            prices,
            model: arguments.model.asked(),
        };
        return context.answer_all(path);
    }
    let asked = arguments.model.asked();
    let (answer, scenario) =
        observed.answer(&arguments.changes, &mut PartsShelf, asked, &experience)?;
    let answered = Answered::new(answer, &scenario, &prices);
    arguments.prices.note_unpriced(&answered.capacity.unpriced);
    let text = if arguments.json {
        crate::output::json(&answered)
    } else {
        format!(
            "{}\n{}",
            table(&answered.answer, arguments.changes.is_empty()),
            crate::capacity::text(&answered.capacity)
        )
    };
    crate::output::print(&text)
}

/// The records of a run.
pub(crate) fn open(directory: &std::path::Path) -> Result<Observed, Failure> {
    Observed::open(directory).map_err(|error| match error {
        WhatIfError::Store(error) => Failure::NotARun(error),
        error => error.into(),
    })
}

/// A figure with four digits; more digits are of no use in an interval.
fn short(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return format!("{value:.0}");
    }
    let digits = (3 - libm::log10(value).floor() as i32).clamp(0, 4);
    format!("{value:.*}", digits as usize)
}

/// Columns of the table of workloads.
const HEADER: [&str; 12] = [
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
];

/// Latency and throughput for the clients of each workload.
fn workloads(answer: &Answer) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(HEADER);
    let milliseconds = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"));
    for (name, found) in &answer.workloads {
        if found.no_requests {
            let mut row = vec![name.clone(), "0.0".to_owned(), "0.00".to_owned()];
            row.resize(HEADER.len(), "-".to_owned());
            table.add_row(row);
            continue;
        }
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
    table
}

/// The answer as text. `unchanged`: the question changes nothing.
fn table(answer: &Answer, unchanged: bool) -> String {
    let mut text = crate::output::notes(&answer.notes);
    let _ =
        writeln!(text, "What clients would see\n{}", crate::screen::fitted(&workloads(answer), 1));
    if let Some(busiest) = &answer.bottleneck {
        let _ = writeln!(
            text,
            "\nBusiest: {}.{}, {:.0} % busy{}",
            busiest.host,
            busiest.resource,
            100.0 * busiest.utilization,
            crate::tables::and_records(busiest.keeps_records)
        );
    }
    for (name, found) in &answer.workloads {
        if found.no_requests {
            let _ = writeln!(text, "No request of `{name}` would complete in the measured time");
        }
        if let Some(overload) = &found.overload {
            let _ = writeln!(text, "{name}: {overload}");
        }
        if let Some(hedges) = found.hedges {
            let _ = writeln!(text, "{name}: {hedges} reads would ask one more node");
        }
    }
    if let Some(scrub) = &answer.scrub {
        let rate = scrub.disk_bytes_per_s / 1e6;
        let _ = writeln!(text, "Scrubbers would read {rate:.2} MB/s of each disk");
    }
    if let Some(found) = &answer.outages {
        text += &outages::text(found);
    }
    let misfits = answer.workloads.iter().filter_map(|(name, found)| {
        let misfit = found.misfit?;
        let percent = |part: f64| relative_change(part, 1);
        let (throughput, response) =
            (percent(misfit.throughput), percent(misfit.mean_response_time));
        Some(format!("`{name}` {throughput} throughput, {response} mean response time"))
    });
    let misfits: Vec<String> = misfits.collect();
    if !misfits.is_empty() {
        let _ = writeln!(
            text,
            "Model error for the recorded run{}: {}",
            if unchanged { ", for which the figures above are not corrected" } else { "" },
            misfits.join("; ")
        );
    }
    let intervals = answer.workloads.iter().filter_map(|(name, found)| {
        let of = |metric, unit: &str| {
            let interval = found.interval.get(metric)?;
            Some(format!("{} to {}{unit}", short(interval.low), short(interval.high)))
        };
        let throughput = of("throughput_rps", " req/s")?;
        let mean = of("response_time_ms.mean", " ms")?;
        let p99 = of("response_time_ms.p99", " ms");
        let p99 = p99.map_or_else(String::new, |p99| format!(", p99 {p99}"));
        Some(format!("{name} {throughput}, mean {mean}{p99}"))
    });
    let intervals: Vec<String> = intervals.collect();
    if !intervals.is_empty() {
        let _ = writeln!(
            text,
            "In 9 of 10 cases like this, the true values are within: {}",
            intervals.join("; ")
        );
    }
    for (name, found) in &answer.workloads {
        if let Some(unlike) = &found.unlike {
            let _ = writeln!(text, "Nothing like {name} was scored before: {unlike}");
        }
    }
    for assumed in &answer.assumed {
        let _ = writeln!(text, "Assumed: {assumed}");
    }
    if answer.model == Model::Fast {
        text += "Predicted from short stretches of the recorded run; `--model replay` replays all of it, \
                 or a much longer part\n";
    }
    text
}
