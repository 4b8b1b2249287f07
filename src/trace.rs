//! `foretell trace`: the path of one request, from its records alone.

mod around;
pub(crate) mod path;

use std::path::Path;

use foretell_ati::{Requests, RunDb, open_run};
use foretell_units::Breadcrumb;
use serde_json::json;

use self::path::PathStep;
use crate::cli::TraceArguments;
use crate::failure::Failure;
use crate::screen;
use crate::tables;

/// Runs the command.
pub(crate) fn trace(arguments: &TraceArguments) -> Result<(), Failure> {
    let steps = steps(&arguments.directory, arguments.breadcrumb)?;
    let text =
        if arguments.json { as_json(arguments.breadcrumb, &steps) } else { as_table(&steps) };
    crate::output::print(&text)
}

/// What is printed with `--json`.
#[cfg(feature = "serve")]
pub(crate) fn document(directory: &Path, breadcrumb: u64) -> Result<String, Failure> {
    Ok(as_json(breadcrumb, &steps(directory, breadcrumb)?))
}

fn steps(directory: &Path, breadcrumb: u64) -> Result<Vec<PathStep>, Failure> {
    if breadcrumb == Breadcrumb::NONE.0 {
        return Err(Failure::Usage(
            "breadcrumb 0 marks work of hosts that belongs to no request; breadcrumbs of requests begin at \
             1"
                .to_owned(),
        ));
    }
    let db = open_run(directory).map_err(Failure::NotARun)?;
    let records = db.trace(Breadcrumb(breadcrumb)).map_err(Failure::NotARun)?;
    if records.is_empty() {
        return Err(Failure::Usage(nothing_of(&db, breadcrumb)?));
    }
    let facts = db.facts().map_err(Failure::NotARun)?;
    path::steps(&db, &facts, &records)
}

/// The reason why a request has no records.
fn nothing_of(db: &RunDb, breadcrumb: u64) -> Result<String, Failure> {
    let store = db.path().display();
    let selection = db.selection().map_err(Failure::NotARun)?;
    Ok(match selection.requests() {
        Requests::None => format!(
            "`{store}` has no records: the run kept none (`record = \"none\"`, or `--no-records`)"
        ),
        Requests::OneIn(_) => format!(
            "no record of `{store}` has breadcrumb {breadcrumb}; the run kept `{selection}`, whose \
             breadcrumbs are in the column `breadcrumb` of the table `request`"
        ),
        Requests::All => format!(
            "no record of `{store}` has breadcrumb {breadcrumb}; breadcrumbs of requests are in \
             the column `breadcrumb` of the table `request`"
        ),
    })
}

fn as_table(steps: &[PathStep]) -> String {
    let mut table = tables::table(&["ms", "host", "resource", "what", "waiting ms", "service ms"]);
    let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
    for step in steps {
        table.add_row([
            ms(step.at_ns),
            step.host.clone(),
            step.resource.clone(),
            step.what.clone(),
            step.waiting_ns.map(ms).unwrap_or_default(),
            step.service_ns.map(ms).unwrap_or_default(),
        ]);
    }
    for column in 1..4 {
        let column = table.column_mut(column).expect("there are six");
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    format!("{}\n", screen::fitted(&table, 1))
}

fn as_json(breadcrumb: u64, steps: &[PathStep]) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    let steps: Vec<_> = steps
        .iter()
        .map(|step| {
            json!({
                "at_ms": ms(step.at_ns),
                "host": step.host,
                "resource": step.resource,
                "what": step.what,
                "waiting_ms": step.waiting_ns.map(ms),
                "service_ms": step.service_ns.map(ms),
            })
        })
        .collect();
    crate::output::json(&json!({ "breadcrumb": breadcrumb, "steps": steps }))
}
