//! `foretell calibrate cluster`: unpublished software costs of a cluster, fitted to a few measured points.

use std::fmt::Write as _;
use std::path::Path;

use foretell_files::{Directory, Purpose};
use serde_json::{Value, json};

use crate::cli::CalibrateClusterArguments;
use crate::clusters::fit::{Fitted, fit};
use crate::clusters::load::{Effort, Twin};
use crate::clusters::parameters::{FITTED_FILE, PARAMETERS, Values};
use crate::clusters::points::{self, Row};
use crate::clusters::report::{self, Outcome};
use crate::failure::Failure;
use crate::jobs;
use crate::validate::outcomes;

/// Runs the command.
pub(super) fn calibrate(arguments: &CalibrateClusterArguments) -> Result<(), Failure> {
    let twin = Twin::load(&arguments.directory)?;
    let rows = points::load(&arguments.points)?;
    let others = arguments.predict.as_deref().map(points::load).transpose()?;
    // only a directory of ours gets another file
    Directory::may_take(&arguments.directory, Purpose::of("import cluster"))?;
    let threads = jobs::threads(arguments.jobs);
    let fitted = fit(&twin, &rows, threads)?;
    let directory = Directory::take(&arguments.directory, Purpose::of("import cluster"))?;
    directory.write(FITTED_FILE, fitted.values.text(&head(&rows, &fitted)).as_bytes())?;
    let predicted = match &others {
        None => None,
        Some(all) => {
            let mut predicted = outcomes(&twin, all, &fitted.values, Effort::FULL, threads)?;
            for outcome in &mut predicted {
                outcome.calibrates = rows.iter().any(|row| same(row, &outcome.row));
            }
            Some(predicted)
        }
    };
    let printed = if arguments.json {
        let mut document = document(&fitted, rows.len());
        document["source"] = json!(twin.map.source);
        if let Some(predicted) = &predicted {
            document["predicted"] = report::json(predicted);
        }
        crate::output::json(&document)
    } else {
        text(&arguments.directory, &fitted, predicted.as_deref())
    };
    crate::output::print(&printed)
}

/// Whether two tables have the same point.
pub(crate) fn same(one: &Row, other: &Row) -> bool {
    let plain = |row: &Row| Row { number: 0, note: String::new(), ..row.clone() };
    plain(one) == plain(other)
}

fn head(rows: &[Row], fitted: &Fitted) -> String {
    format!(
        "Fitted by `foretell calibrate cluster` to {} points; `foretell validate` uses it.\n\
         Factors multiply what the scenarios say. deviation_of_log: how uncertain a factor is.\n\
         tail: by how much measured 99th percentiles exceed simulated ones.",
        rows.len() - fitted.unused.len()
    )
}

/// Parameters, the points fitted to, what was not used.
pub(crate) fn document(fitted: &Fitted, rows: usize) -> Value {
    let values = &fitted.values;
    let parameters = PARAMETERS.iter().enumerate().map(|(at, parameter)| {
        let (log, doubt) = (values.logs[at], values.doubts[at]);
        json!({
            "name": parameter.name,
            "meaning": parameter.meaning,
            "factor": log.exp(),
            "low": (log - 1.96 * doubt).exp(),
            "high": (log + 1.96 * doubt).exp(),
            "bounds": [parameter.bounds.0, parameter.bounds.1],
            "learned": learned(at, values),
        })
    });
    let unused = fitted.unused.iter().map(|(row, why)| json!({ "row": row, "reason": why }));
    json!({
        "points": rows,
        "parameters": parameters.collect::<Vec<_>>(),
        "tail": { "read": values.tails.0, "write": values.tails.1 },
        "drives": values.drives.keys().collect::<Vec<_>>(),
        "fitted": report::json(&at_points(fitted)),
        "unused": unused.collect::<Vec<_>>(),
    })
}

/// Whether the points say something of a parameter: its uncertainty is less than the prior's.
fn learned(at: usize, values: &Values) -> bool {
    values.doubts[at] < 0.9 * PARAMETERS[at].doubt
}

fn at_points(fitted: &Fitted) -> Vec<Outcome> {
    let outcome = |(row, figures): &(Row, _)| Outcome {
        row: row.clone(),
        predicted: Ok(*figures),
        calibrates: false,
    };
    fitted.points.iter().map(outcome).collect()
}

fn text(directory: &Path, fitted: &Fitted, predicted: Option<&[Outcome]>) -> String {
    let mut text = String::from("Parameters (factors on the scenarios' figures, 95 %)\n");
    text.push_str(&table(&fitted.values));
    if !fitted.points.is_empty() {
        text.push_str("\nPoints fitted to\n");
        text.push_str(&report::table_of_rows(&at_points(fitted)));
    }
    for (row, reason) in &fitted.unused {
        let _ = writeln!(text, "note: row {row} is not used: {reason}");
    }
    if let Some(predicted) = predicted {
        text.push_str("\nPredicted (* fitted to)\n");
        text.push_str(&report::table_of_rows(predicted));
        text.push_str("\nErrors of the points that were not fitted to\n");
        text.push_str(&report::table_of_errors(predicted));
    }
    let _ = writeln!(text, "\nin {}", directory.join(FITTED_FILE).display());
    text
}

/// Parameters in a line each.
pub(crate) fn table(values: &Values) -> String {
    let mut text = String::new();
    for (at, parameter) in PARAMETERS.iter().enumerate() {
        let (log, doubt) = (values.logs[at], values.doubts[at]);
        let _ = write!(text, " {:<16} {:>7.3}", parameter.name, log.exp());
        if learned(at, values) {
            let (low, high) = ((log - 1.96 * doubt).exp(), (log + 1.96 * doubt).exp());
            let _ = writeln!(text, "  {low:>7.3} to {high:>7.3}  {}", parameter.meaning);
        } else {
            let _ = writeln!(text, "  {:>18}  {}", "not learned", parameter.meaning);
        }
    }
    for name in values.drives.keys() {
        let _ = writeln!(text, " drive `{name}` is as its points alone measure it");
    }
    let _ = writeln!(
        text,
        " tails: 99th percentiles are {:.2} (reads) and {:.2} (writes) times the simulated ones",
        values.tails.0, values.tails.1
    );
    text
}
