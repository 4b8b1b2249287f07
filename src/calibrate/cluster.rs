//! `foretell calibrate cluster`: unpublished software costs of a cluster, fitted to a few measured points.

use std::fmt::Write as _;
use std::path::Path;

use foretell_files::{Directory, Purpose};
use foretell_twin::fitted::{at_points, document, same, table};
use foretell_twin::points::{self, Row};
use foretell_twin::report::{self, Outcome};
use foretell_twin::{Effort, FITTED_FILE, Fitted, Twin, fit, outcomes};
use serde_json::json;

use crate::cli::CalibrateClusterArguments;
use crate::failure::Failure;
use crate::jobs;

/// Runs the command.
pub(super) fn calibrate(arguments: &CalibrateClusterArguments) -> Result<(), Failure> {
    let twin = Twin::load(&arguments.directory)?;
    let rows = points::load(&arguments.points)?;
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
            let mut predicted = outcomes(&twin, all, &fitted.values, Effort::FULL, workers)?;
            for outcome in &mut predicted {
                outcome.is_fitted_to = rows.iter().any(|row| same(row, &outcome.row));
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

fn head(rows: &[Row], fitted: &Fitted) -> String {
    format!(
        "Fitted by `foretell calibrate cluster` to {} points; `foretell validate` uses it.\n\
         Factors multiply what the scenarios say. deviation_of_log: how uncertain a factor is.\n\
         tail: measured 99th percentiles are so many times the simulated ones, plus the stall.",
        rows.len() - fitted.unused.len()
    )
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
