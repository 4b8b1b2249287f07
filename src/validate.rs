//! `foretell validate`: compares measured points with the predictions of their scenarios.

use std::fmt::Write as _;

use foretell_files::FileKind;
use foretell_input::one_line;
use foretell_twin::points::{self, Points};
use foretell_twin::report::{self, Outcome};
use foretell_twin::{Effort, Twin, Values, outcomes};
use serde_json::json;

use crate::cli::ValidateArguments;
use crate::failure::Failure;
use crate::jobs;
use crate::output::note;

/// The first columns of the table.
const FILE: FileKind<'_> =
    FileKind::beginning("a table of `foretell validate`", "row,config,op_mix,");

/// Runs the command.
pub(crate) fn validate(arguments: &ValidateArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        foretell_files::check_apart(Some(path), FILE, [&arguments.points])?;
    }
    let twin = Twin::load(&arguments.directory)?;
    let Points { rows, mut left_out, notes } = points::load(&arguments.points)?;
    let fitted = if arguments.unfitted { None } else { Values::load(&arguments.directory)? };
    let is_fitted = fitted.is_some();
    let values = fitted.unwrap_or_default();
    let workers = jobs::workers(arguments.jobs);
    let outcomes = outcomes(&twin, &rows, &values, Effort::FULL, workers)?;
    if outcomes.iter().all(|outcome| outcome.predicted.is_err()) {
        let Outcome { row, predicted, .. } = &outcomes[0];
        let reason = predicted.as_ref().expect_err("all are");
        let fault = format!("no row can be simulated; row {}: {reason}", row.number);
        return Err(Failure::Usage(fault));
    }
    if let Some(path) = &arguments.output {
        foretell_files::write(path, FILE, &report::csv(&outcomes))?;
    }
    let printed = if arguments.json {
        left_out.extend(report::left_out(&outcomes));
        let mut document = report::json(&outcomes);
        document["left_out"] = json!(left_out);
        document["notes"] = json!(notes);
        document["source"] = json!(twin.map.source);
        document["fitted"] = json!(is_fitted);
        crate::output::json(&document)
    } else {
        let mut text = report::table_of_rows(&outcomes);
        for row in &left_out {
            let _ = writeln!(text, "{}", one_line(&row.text()));
        }
        text.extend(notes.iter().map(|text| note(text)));
        text.push_str("\nErrors\n");
        text.push_str(&report::table_of_errors(&outcomes));
        let with = if is_fitted { "fitted parameters" } else { "the scenarios' own figures" };
        let _ = writeln!(text, "\nPredicted with {with}");
        text
    };
    crate::output::print(&printed)
}
