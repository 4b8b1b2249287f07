//! `foretell reproduce`: the experiments of a paper, each figure as a table and a picture, and what
//! holds of its claims.
//!
//! A figure says which clusters it needs simulated and which questions it asks of their records
//! ([`plan`]); all runs of all figures are then done side by side ([`lab`]), and each figure turns
//! what came out into a [`sheet`]. Predictions come from `run.db` alone.

mod clusters;
mod constant_capacity;
mod figures;
mod inside_out;
mod lab;
mod page;
pub(crate) mod picture;
mod plan;
mod sheet;
mod statistics;
mod summary;
mod virtualized;

use std::collections::BTreeSet;

use clap::ValueEnum;
use foretell_files::{Directory, Purpose};

use crate::cli::{Paper, ReproduceArguments};
use crate::failure::Failure;
use crate::jobs;
use figures::Figure;
use lab::Results;
use plan::Plan;
use sheet::Sheet;
use summary::Summary;

/// How often each point is measured, as in Thereska et al. 2006 (IV-A).
const SEEDS: u64 = 10;
/// The same with `--quick`.
const QUICK_SEEDS: u64 = 3;

/// Names of the figures that a paper's experiments can be reduced to.
fn files(paper: Paper) -> Vec<&'static str> {
    match paper {
        Paper::UrsaMinor => figures::ALL.iter().map(|figure| figure.file).collect(),
        Paper::ConstantCapacity => constant_capacity::FILES.to_vec(),
        Paper::InsideOut => inside_out::names().collect(),
        Paper::Clusters => clusters::names().collect(),
        Paper::Virtualized => Vec::new(),
    }
}

/// Names of all figures.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let all: BTreeSet<&str> = Paper::value_variants().iter().copied().flat_map(files).collect();
    all.into_iter()
}

/// Runs the command.
pub(crate) fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let paper = arguments.paper;
    let is_virtualized = paper == Paper::Virtualized;
    if arguments.full && !is_virtualized {
        return Err(Failure::Usage("`--full` is for `reproduce virtualized` alone".to_owned()));
    }
    if arguments.keep && is_virtualized {
        let kept = "`reproduce virtualized` keeps what it measures anyway, without `--keep`";
        return Err(Failure::Usage(kept.to_owned()));
    }
    if arguments.data.is_some() && paper != Paper::Clusters {
        return Err(Failure::Usage("`--data` is for `reproduce clusters` alone".to_owned()));
    }
    if arguments.keep && paper == Paper::Clusters {
        let kept = "`reproduce clusters` keeps all that it predicts anyway, without `--keep`";
        return Err(Failure::Usage(kept.to_owned()));
    }
    let there = files(paper);
    if let Some(name) = arguments.figures.iter().find(|name| !there.contains(&name.as_str())) {
        let paper = paper.to_possible_value();
        let paper = paper.as_ref().map_or("it", |paper| paper.get_name());
        let there = match there[..] {
            [] => " alone; all are made from the same measurements".to_owned(),
            _ => format!("; it has {}", there.join(", ")),
        };
        return Err(Failure::Usage(format!("`{paper}` has no figure `{name}`{there}")));
    }
    let made = match paper {
        Paper::UrsaMinor => "reproduce ursa-minor",
        Paper::ConstantCapacity => "reproduce constant-capacity",
        Paper::Virtualized => "reproduce virtualized",
        Paper::InsideOut => "reproduce inside-out",
        Paper::Clusters => "reproduce clusters",
    };
    // figures made before stay until they are made again
    let purpose = Purpose::of(made).forced(arguments.force);
    let directory = Directory::take(&arguments.output, purpose)?;
    match paper {
        Paper::UrsaMinor => ursa_minor(arguments, &directory),
        Paper::ConstantCapacity => constant_capacity::reproduce(arguments, &directory),
        Paper::Virtualized => virtualized::reproduce(arguments, &directory),
        Paper::InsideOut => inside_out::reproduce(arguments, &directory),
        Paper::Clusters => clusters::reproduce(arguments, &directory),
    }
}

/// Thereska et al. 2006.
fn ursa_minor(arguments: &ReproduceArguments, directory: &Directory) -> Result<(), Failure> {
    let wanted = |figure: &&Figure| arguments.wants(figure.file);
    let figures: Vec<&Figure> = figures::ALL.iter().filter(wanted).collect();
    let seeds = if arguments.quick { QUICK_SEEDS } else { SEEDS };
    let mut plan = Plan::default();
    for figure in &figures {
        (figure.needs)(&mut plan);
    }
    let threads = jobs::threads(arguments.jobs);
    let (results, failure) = lab::perform(&plan, seeds, threads, directory, arguments.keep);
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
    directory.write("summary.json", summary.json().as_bytes())?;
    crate::output::print(&summary.table(directory.path()))
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

fn write(directory: &Directory, sheet: &Sheet) -> Result<(), Failure> {
    if !sheet.rows.is_empty() {
        directory.write(&format!("{}.csv", sheet.file), sheet.csv().as_bytes())?;
    }
    for (name, chart) in sheet.pictures() {
        picture::draw(directory, &name, chart)?;
    }
    Ok(())
}
