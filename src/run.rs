//! `foretell run`: simulate a scenario, or replay a trace.

use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use foretell_ati::{Facts, KindSet, RecordKind, Recorder, Selection, Summary};
use foretell_scenarios::Document;
use foretell_scenarios::model::{Scenario, Tracking};
use foretell_sim::truth::Truth;
use foretell_sim::{Cluster, SimError};
use foretell_units::Seed;
use foretell_workloads::trace::{ReadOptions, TraceError, TraceReader};

use crate::cli::RunArguments;
use crate::directory::{RunDirectory, SCENARIO_FILE, TRUTH_FILE};
use crate::failure::Failure;
use crate::progress::Watch;
use crate::{facts, tables};

/// The scenario that a bare trace is replayed in.
const TRACE_SCENARIO: &str = include_str!("../scenarios/trace-replay.toml");

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let document = load(arguments)?;
    let mut scenario = document.check()?;
    if let Some(seed) = arguments.seed {
        scenario.seed = Seed(seed);
    }
    let selection = selection(&scenario.tracking)?;
    // traces are opened before anything of an earlier run is removed
    #[expect(clippy::disallowed_methods, reason = "the command line times itself")]
    let (start, started) = (ProcessTime::now(), Instant::now());
    let cluster = Cluster::new(scenario.clone(), Recorder::none())?;
    let prepare = |path| RunDirectory::prepare(path, &arguments.scenario);
    let directory = arguments.output.as_deref().map(prepare).transpose()?;
    let (mut truth, summary) =
        simulate(cluster, &scenario, &document, selection, directory.as_ref())?;
    truth.wall_seconds = started.elapsed().as_secs_f64();
    let cpu = start.elapsed();
    if let Some(directory) = &directory {
        keep(directory, &document, &scenario, &truth).inspect_err(|_| directory.discard())?;
    }
    let printed = if arguments.json {
        json(&truth)
    } else {
        let mut text = tables::of_run(&scenario, &truth, cpu);
        if let Some(directory) = &directory {
            text += &tables::what_was_kept(directory.path(), &summary);
        }
        text
    };
    crate::output::print(&printed)
}

/// Writes what stands beside the records.
fn keep(
    directory: &RunDirectory,
    document: &Document,
    scenario: &Scenario,
    truth: &Truth,
) -> Result<(), Failure> {
    directory.write(SCENARIO_FILE, &document.resolved()?)?;
    for (file, text) in crate::cosbench::archive(scenario, truth)? {
        directory.write(&file, &text)?;
    }
    // the truth comes last: where it is, everything is
    directory.write(TRUTH_FILE, &json(truth))
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
        Document::load(path)?
    };
    for change in &arguments.changes {
        let (path, value) = change.split_once('=').ok_or_else(|| {
            Failure::Usage(format!(
                "`--set {change}` has no `=`; write PATH=VALUE, such as `volume.mail.encoding=3-of-5`"
            ))
        })?;
        document.set(path.trim(), value.trim())?;
    }
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

pub(crate) fn selection(tracking: &Tracking) -> Result<Selection, Failure> {
    let wrong = |error: String| Failure::Usage(format!("record: {error}"));
    let selection: Selection = tracking
        .record
        .parse()
        .map_err(|error: foretell_ati::SelectionError| wrong(error.to_string()))?;
    if tracking.kinds.is_empty() {
        return Ok(selection);
    }
    let kinds = tracking
        .kinds
        .iter()
        .map(|name| name.parse::<RecordKind>())
        .collect::<Result<KindSet, _>>()
        .map_err(|error| wrong(error.to_string()))?;
    Ok(selection.of_kinds(kinds))
}

fn simulate(
    mut cluster: Cluster,
    scenario: &Scenario,
    document: &Document,
    selection: Selection,
    directory: Option<&RunDirectory>,
) -> Result<(Truth, Summary), Failure> {
    let recorder = match directory {
        Some(directory) => Recorder::create_in(directory.lock(), selection)?,
        None => Recorder::forgetful(selection),
    };
    let watch = Watch::new();
    cluster.record_to(recorder);
    let outcome = cluster.run(|progress| watch.look(progress));
    drop(watch);
    let demands = cluster.demands();
    let recorder = cluster.into_recorder();
    match outcome {
        Ok(truth) => {
            let mut facts = Facts::default();
            if directory.is_some() {
                facts = facts::of(scenario, &document.known_to_operator()?);
                facts::ended(&mut facts, &truth);
            }
            let summary = recorder.finish(&facts, &demands)?;
            Ok((truth, summary))
        }
        // the store knows better than the simulation why it failed
        Err(SimError::StoreFailed) => {
            recorder.finish(&Facts::default(), &[])?;
            Err(SimError::StoreFailed.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn json(truth: &Truth) -> String {
    crate::output::json(truth)
}
