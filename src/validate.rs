//! `foretell validate`: compares measured points with the predictions of their scenarios.

use std::fmt::Write as _;

use foretell_files::FileKind;
use foretell_twin::{Effort, Twin, Values, outcomes, points, report};
use serde_json::json;

use crate::cli::ValidateArguments;
use crate::failure::Failure;
use crate::jobs;

/// The first columns of the table.
const FILE: FileKind<'_> =
    FileKind::beginning("a table of `foretell validate`", "row,config,op_mix,");

/// Runs the command.
pub(crate) fn validate(arguments: &ValidateArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        foretell_files::check_apart(Some(path), FILE, [&arguments.points])?;
    }
    let twin = Twin::load(&arguments.directory)?;
    let rows = points::load(&arguments.points)?;
    let fitted = if arguments.unfitted { None } else { Values::load(&arguments.directory)? };
    let is_fitted = fitted.is_some();
    let values = fitted.unwrap_or_default();
    let workers = jobs::workers(arguments.jobs);
    let outcomes = outcomes(&twin, &rows, &values, Effort::FULL, workers)?;
    if outcomes.iter().all(|outcome| outcome.predicted.is_err()) {
        let reason = outcomes[0].predicted.as_ref().expect_err("all are");
        return Err(Failure::Usage(format!("no row can be simulated; row 1: {reason}")));
    }
    if let Some(path) = &arguments.output {
        foretell_files::write(path, FILE, &report::csv(&outcomes))?;
    }
    let printed = if arguments.json {
        let mut document = report::json(&outcomes);
        document["source"] = json!(twin.map.source);
        document["fitted"] = json!(is_fitted);
        crate::output::json(&document)
    } else {
        let mut text = report::table_of_rows(&outcomes);
        text.push_str("\nErrors\n");
        text.push_str(&report::table_of_errors(&outcomes));
        let with = if is_fitted { "fitted parameters" } else { "the scenarios' own figures" };
        let _ = writeln!(text, "\nPredicted with {with}");
        text
    };
    crate::output::print(&printed)
}
