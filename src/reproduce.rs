//! `foretell reproduce`: the experiments of a paper, each figure as a table and a picture, and what
//! holds of its claims.
//!
//! A figure says which clusters it needs simulated and which questions it asks of their records
//! ([`plan`]); all runs of all figures are then done side by side ([`lab`]), and each figure turns
//! what came out into a [`sheet`]. Predictions come from `run.db` alone.

mod figures;
mod inside_out;
mod lab;
mod page;
mod picture;
mod plan;
mod sheet;
mod statistics;
mod summary;

use std::path::Path;

use foretell_ati::DirectoryLock;

use crate::cli::{Paper, ReproduceArguments};
use crate::directory::write_whole;
use crate::failure::Failure;
use crate::jobs;
use figures::Figure;
use lab::Results;
use plan::Plan;
use sheet::Sheet;
use summary::Summary;

/// How often each point is measured, as in paper 004 (IV-A).
const SEEDS: u64 = 10;
/// The same with `--quick`.
const QUICK_SEEDS: u64 = 3;

/// Names of all figures.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let of_ursa_minor = || figures::ALL.iter().map(|figure| figure.file);
    let others =
        inside_out::names().filter(move |name| !of_ursa_minor().any(|known| known == *name));
    of_ursa_minor().chain(others)
}

/// Runs the command.
pub(crate) fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    match arguments.paper {
        Paper::UrsaMinor => ursa_minor(arguments),
        Paper::InsideOut => inside_out::reproduce(arguments),
    }
}

fn ursa_minor(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let directory = &arguments.output;
    // two reproductions at once would write over each other
    let _lock = DirectoryLock::take(directory)?;
    let wanted = |figure: &&Figure| {
        arguments.figures.is_empty() || arguments.figures.iter().any(|name| name == figure.file)
    };
    let figures: Vec<&Figure> = figures::ALL.iter().filter(wanted).collect();
    let seeds = if arguments.quick { QUICK_SEEDS } else { SEEDS };
    let mut plan = Plan::default();
    for figure in &figures {
        (figure.needs)(&mut plan);
    }
    let threads = jobs::threads(arguments.jobs);
    let runs = directory.join("runs");
    let (results, failure) = lab::perform(&plan, seeds, threads, &runs, arguments.keep);
    let mut sheets = Vec::new();
    for figure in figures {
        // what is finished is kept
        if let Some(sheet) = finished(figure, &results, seeds) {
            write(directory, &sheet)?;
            sheets.push(sheet);
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let summary = Summary::of(&sheets, arguments.quick, seeds);
    write_whole(&directory.join("summary.json"), &summary.json())?;
    crate::output::print(&summary.table(directory))
}

/// The sheet of a figure, if all of its runs are there.
fn finished(figure: &Figure, results: &Results, seeds: u64) -> Option<Sheet> {
    let mut needs = Plan::default();
    (figure.needs)(&mut needs);
    results.have(&needs, seeds).then(|| {
        let mut sheet = Sheet::new(figure.file, figure.title);
        (figure.report)(results, &mut sheet);
        sheet
    })
}

fn write(directory: &Path, sheet: &Sheet) -> Result<(), Failure> {
    if !sheet.rows.is_empty() {
        write_whole(&directory.join(format!("{}.csv", sheet.file)), &sheet.csv())?;
    }
    for (name, chart) in sheet.pictures() {
        picture::draw(directory, &name, chart)?;
    }
    Ok(())
}
