//! `foretell run`: simulate a scenario, or replay a trace.

mod replicates;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use foretell_scenarios::Document;
use foretell_scenarios::model::Scenario;
use foretell_sim::truth::Truth;
use foretell_workloads::trace::{ReadOptions, TraceError, TraceReader};
use serde::Serialize;

use crate::capacity::Capacities;
use crate::cli::RunArguments;
use crate::directory::{RunDirectory, SCENARIO_FILE, TRUTH_FILE};
use crate::failure::Failure;
use crate::progress::Watch;
use crate::simulate::Simulation;
use crate::{output, tables};

/// The scenario that a bare trace is replayed in.
const TRACE_SCENARIO: &str = include_str!("../scenarios/trace-replay.toml");

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let document = load(arguments)?;
    if let Some(count) = arguments.replicates {
        return replicates::run(&document, count, arguments);
    }
    let prices = arguments.prices.read()?;
    #[expect(clippy::disallowed_methods, reason = "the command line times itself")]
    let (start, started) = (ProcessTime::now(), Instant::now());
    // traces are opened before anything of an earlier run is removed
    let simulation = Simulation::new(&document)?;
    let scenario = simulation.scenario.clone();
    let prepare = |path| RunDirectory::prepare(path, &arguments.scenario, arguments.force);
    let directory = arguments.output.as_deref().map(prepare).transpose()?;
    let watch = Watch::new();
    let look = |progress| watch.look(progress);
    let (mut truth, kept) = match &directory {
        Some(directory) => {
            let (truth, summary) = simulation.record(directory.directory(), look)?;
            (truth, Some((directory, summary)))
        }
        None => (simulation.run(look)?, None),
    };
    drop(watch);
    truth.wall_seconds = started.elapsed().as_secs_f64();
    let cpu = start.elapsed();
    let capacity = Capacities::of(&scenario, &prices);
    let truth = Answer { truth: &truth, capacity: &capacity };
    if let Some((directory, _)) = &kept {
        keep(directory, &document, &scenario, &truth).inspect_err(|_| directory.discard())?;
    }
    let printed = if arguments.json {
        output::json(&truth)
    } else {
        let mut text = tables::of_run(&scenario, truth.truth, cpu);
        let _ = write!(text, "\n{}", capacity.text());
        if let Some((directory, summary)) = &kept {
            text += &tables::what_was_kept(directory.path(), summary);
        }
        text
    };
    output::print(&printed)
}

/// What a run found, and what its cluster holds.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    truth: &'a Truth,
    capacity: &'a Capacities,
}

/// Writes what stands beside the records.
fn keep(
    directory: &RunDirectory,
    document: &Document,
    scenario: &Scenario,
    truth: &Answer,
) -> Result<(), Failure> {
    directory.write(SCENARIO_FILE, &document.resolved()?)?;
    for (file, text) in crate::cosbench::archive(scenario, truth.truth)? {
        directory.write(&file, &text)?;
    }
    // the truth comes last: where it is, everything is
    directory.write(TRUTH_FILE, &output::json(truth))
}

/// The scenario with the changes asked for.
fn load(arguments: &RunArguments) -> Result<Document, Failure> {
    let path = &arguments.scenario;
    let mut document = if is_trace(path) {
        let mut document = Document::parse("trace-replay.toml", TRACE_SCENARIO, ".")?;
        document.set("workload.replay.file", &path.display().to_string())?;
        if !has_times(path)? {
            document.set("workload.replay.arrivals", "closed")?;
        }
        document
    } else {
        crate::scenario::load(path)?
    };
    crate::scenario::set(&mut document, &arguments.changes)?;
    if let Some(seed) = arguments.seed {
        document.set("seed", &seed.to_string())?;
    }
    if arguments.no_records {
        document.set("record", "none")?;
    }
    Ok(document)
}

/// Whether a file is a block trace rather than a scenario: by its name, as nobody gives a trace
/// the ending `.toml`.
fn is_trace(path: &Path) -> bool {
    path.is_file() && path.extension().is_none_or(|ending| ending != "toml")
}

/// Whether a trace tells when its requests were issued.
fn has_times(path: &Path) -> Result<bool, Failure> {
    let trace = TraceReader::open(path, &ReadOptions::default());
    match trace {
        Ok(trace) => Ok(trace.has_times()),
        // which may still be given with `--set workload.replay.format`
        Err(TraceError::UnknownFormat { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
