//! `foretell run`: simulate a scenario, or replay a trace.

mod replicates;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use foretell_scenarios::Document;
use foretell_scenarios::model::Scenario;
use foretell_workloads::trace::{ReadOptions, TraceError, TraceReader};

use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::progress::Watch;
use crate::{output, tables};
use foretell_core::{Outcome, Reached, RunDirectory, SCENARIO_FILE, Simulation, TRUTH_FILE};

/// The scenario in which a bare trace is replayed.
const TRACE_SCENARIO: &str = include_str!("../scenarios/trace-replay.toml");

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let mut document = load(arguments)?;
    if let Some(count) = arguments.replicates {
        return replicates::run(&document, count, arguments);
    }
    let prices = arguments.prices.read()?;
    #[expect(clippy::disallowed_methods, reason = "the command line times itself")]
    let (start, started) = (ProcessTime::now(), Instant::now());
    let watch = Watch::new();
    if let Some(precision) = &arguments.precision {
        let scenario = document.into();
        let found = precision.warmed_up(&scenario, arguments.limit, |seen| watch.look(seen))?;
        document = found.into_document();
    }
    let mut simulation = Simulation::new(&document)?;
    if let Some(precision) = &arguments.precision {
        simulation.aim_at(precision.goal(&simulation.scenario, arguments.limit)?);
    }
    let scenario = simulation.scenario.clone();
    let prepare = |path| RunDirectory::prepare(path, &arguments.scenario, arguments.force);
    let mut directory = arguments.output.as_deref().map(prepare).transpose()?;
    let look = |progress| watch.look(progress);
    let (mut truth, summary) = match &mut directory {
        Some(directory) => {
            let (truth, summary) = directory.record(simulation, look)?;
            (truth, Some(summary))
        }
        None => (simulation.run(look)?, None),
    };
    drop(watch);
    truth.wall_seconds = started.elapsed().as_secs_f64();
    let cpu = start.elapsed();
    let mut outcome = Outcome::new(truth, &scenario, &prices);
    if let Some(precision) = &arguments.precision {
        outcome.precision = Some(precision.reached(&outcome.truth));
        // the scenario that is kept must reproduce the run, so it gets the run's duration
        let duration_ns = (outcome.truth.simulated_seconds * 1e9).round();
        document.set("duration", &format!("{duration_ns} ns"))?;
    }
    arguments.prices.note_unpriced(&outcome.capacity.unpriced);
    let mut kept = None;
    if let Some((directory, summary)) = directory.zip(summary) {
        let path = directory.path().to_owned();
        keep(directory, &document, &scenario, &outcome)?;
        kept = Some((path, summary));
    }
    let printed = if arguments.json {
        output::json(&outcome)
    } else {
        let mut text = outcome.precision.as_ref().map(in_words).unwrap_or_default();
        text += &tables::of_run(&scenario, &outcome.truth, cpu);
        let _ = write!(text, "\n{}", crate::capacity::text(&outcome.capacity));
        if let Some((path, summary)) = &kept {
            text += &tables::what_was_kept(path, summary);
        }
        text
    };
    output::print(&printed)
}

/// The precision that was reached for the figure asked for, in words.
fn in_words(reached: &Reached) -> String {
    let what = if reached.figure == "mean" { "mean response time" } else { "throughput" };
    let known = reached
        .half_width
        .map_or_else(|| "not known".to_owned(), |share| format!("± {:.2} %", 100.0 * share));
    let verdict = if reached.reached { "" } else { ", which is less precise than requested" };
    format!(
        "{}: {what} {known}{verdict}; warm-up {:.6} s (MSER-5), measured for {:.3} s\n\n",
        reached.workload, reached.warmup_s, reached.duration_s
    )
}

/// Writes the files beside the records, and replaces an earlier run.
fn keep(
    mut directory: RunDirectory,
    document: &Document,
    scenario: &Scenario,
    outcome: &Outcome,
) -> Result<(), Failure> {
    directory.write(SCENARIO_FILE, &document.resolved()?)?;
    for (file, text) in foretell_core::cosbench::archive(scenario, &outcome.truth)? {
        directory.write(&file, &text)?;
    }
    directory.write(TRUTH_FILE, &output::json(outcome))?;
    Ok(directory.replace()?)
}

/// The scenario with the changes that were asked for.
fn load(arguments: &RunArguments) -> Result<Document, Failure> {
    let path = &arguments.scenario;
    if path == Path::new("-") {
        return Err(Failure::Usage(
            "`run` reads no standard input. Write the scenario to a file; a trace becomes one with \
             `foretell import auto - -o x.trace`"
                .to_owned(),
        ));
    }
    let mut document = if is_trace(path) {
        let mut document = Document::parse("trace-replay.toml", TRACE_SCENARIO, ".")?;
        document.set("workload.replay.file", &path.display().to_string())?;
        if !has_times(path, arguments)? {
            document.set("workload.replay.arrivals", "closed")?;
        }
        if let Some(action) = arguments.blkparse_action {
            document.set("workload.replay.blkparse_action", &action.to_string())?;
        }
        document
    } else if arguments.blkparse_action.is_some() {
        return Err(Failure::Usage(
            "`--blkparse-action` belongs to a block trace; a scenario has the key `blkparse_action` in its workload \
             of kind `trace`"
                .to_owned(),
        ));
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

/// Whether a file is a block trace rather than a scenario. The extension decides, as nobody gives a
/// trace the extension `.toml`.
fn is_trace(path: &Path) -> bool {
    path.is_file() && path.extension().is_none_or(|ending| ending != "toml" && ending != "md")
}

/// Whether a trace has the times at which its requests were issued.
fn has_times(path: &Path, arguments: &RunArguments) -> Result<bool, Failure> {
    let mut options = ReadOptions::default();
    options.blkparse_action = arguments.blkparse_action.unwrap_or(options.blkparse_action);
    match TraceReader::open(path, &options) {
        Ok(trace) => Ok(trace.has_times()),
        Err(error @ TraceError::UnknownFormat { .. }) => {
            let setting = "workload.replay.format";
            let is_given = arguments.changes.iter().any(|change| change.path == setting);
            let message = || format!("{error}, with `--set {setting}=NAME`");
            if is_given { Ok(true) } else { Err(Failure::Usage(message())) }
        }
        Err(error) => Err(error.into()),
    }
}
