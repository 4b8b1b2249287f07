//! `foretell calibrate cluster`: unpublished software costs of a cluster, fitted to a few measured points.

use std::fmt::Write as _;
use std::path::Path;

use foretell_files::{Directory, Purpose};
use foretell_input::one_line;
use foretell_twin::fitted::{at_points, document, same, table};
use foretell_twin::points::{self, LeftOut, Points, Row};
use foretell_twin::report::{self, Outcome};
use foretell_twin::{Effort, FITTED_FILE, Fitted, Map, Twin, fit, outcomes};
use serde_json::json;

use crate::cli::CalibrateClusterArguments;
use crate::failure::Failure;
use crate::jobs;
use crate::output::note;

/// Runs the command.
pub(super) fn calibrate(arguments: &CalibrateClusterArguments) -> Result<(), Failure> {
    let twin = Twin::load(&arguments.directory)?;
    let Points { rows, left_out, notes } = points::load(&arguments.points)?;
    let others = arguments.predict.as_deref().map(points::load).transpose()?;
    // fail before the work: only a directory of ours may get another file
    Directory::may_take(&arguments.directory, Purpose::of("import cluster"))?;
    let workers = jobs::workers(arguments.jobs);
    let fitted = fit(&twin, &rows, workers)?;
    let directory = Directory::take(&arguments.directory, Purpose::of("import cluster"))?;
    directory.write(FITTED_FILE, fitted.values.text(&head(&rows, &fitted)).as_bytes())?;
    let predicted = match &others {
        None => None,
        Some(all) => {
            let mut predicted = outcomes(&twin, &all.rows, &fitted.values, Effort::FULL, workers)?;
            for outcome in &mut predicted {
                outcome.is_fitted_to = rows.iter().any(|row| same(row, &outcome.row));
            }
            Some(predicted)
        }
    };
    let printed = if arguments.json {
        let mut document = document(&fitted, &twin.map, rows.len());
        document["source"] = json!(twin.map.source);
        let unused = fitted.unused.iter().map(|(row, why)| LeftOut::row(*row, why.clone()));
        document["left_out"] = json!(left_out.iter().cloned().chain(unused).collect::<Vec<_>>());
        document["notes"] = json!(notes);
        if let (Some(predicted), Some(others)) = (&predicted, &others) {
            document["predicted"] = report::json(predicted);
            let left_out = others.left_out.iter().cloned().chain(report::left_out(predicted));
            document["predicted"]["left_out"] = json!(left_out.collect::<Vec<_>>());
        }
        crate::output::json(&document)
    } else {
        let mut not_read: Vec<String> = left_out.iter().map(LeftOut::text).collect();
        if let Some(all) = &others {
            let rows = all.left_out.iter().map(|row| format!("{} (of --predict)", row.text()));
            not_read.extend(rows);
        }
        not_read.extend(notes.iter().map(|note| format!("note: {note}")));
        text(&arguments.directory, &fitted, &twin.map, predicted.as_deref(), &not_read)
    };
    crate::output::print(&printed)
}

fn head(rows: &[Row], fitted: &Fitted) -> String {
    format!(
        "Fitted by `foretell calibrate cluster` to {} points; `foretell validate` uses it.\n\
         Factors multiply what the scenarios say. deviation_of_log: how uncertain a factor is.\n\
         tail: measured 99th percentiles are so many times the simulated ones, plus the stall.",
        rows.len() - fitted.unused.len()
    )
}

/// `not_read`: lines about what was left out of the tables of points.
fn text(
    directory: &Path,
    fitted: &Fitted,
    map: &Map,
    predicted: Option<&[Outcome]>,
    not_read: &[String],
) -> String {
    let mut text = String::from("Parameters (factors on the scenarios' figures, 95 %)\n");
    text.push_str(&table(&fitted.values));
    if !fitted.points.is_empty() {
        text.push_str("\nPoints fitted to\n");
        text.push_str(&report::table_of_rows(&at_points(fitted, map)));
    }
    for (row, reason) in &fitted.unused {
        text.push_str(&note(&format!("row {row} is not used: {reason}")));
    }
    for line in not_read {
        let _ = writeln!(text, "{}", one_line(line));
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
