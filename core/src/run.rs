//! Runs a scenario, with or without keeping its records.

use std::ops::ControlFlow;
#[cfg(feature = "files")]
use std::path::Path;

use foretell_ati::{MemoryRun, Record};
use foretell_scenarios::model;
use foretell_sim::Progress;
use foretell_sim::truth::Truth;
use serde::Serialize;
use serde_json::Value;

use crate::capacity::Capacities;
use crate::error::Error;
use crate::precision::Reached;
use crate::prices::Prices;
#[cfg(feature = "files")]
use crate::run_directory::{RunDirectory, SCENARIO_FILE, TRUTH_FILE};
use crate::scenario::Scenario;
use crate::simulation::Simulation;

/// The results of a run, and the capacities of its cluster. With [`to_json`] this is what `foretell run --json`
/// prints and what `truth.json` holds.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What clients saw, and what hosts did.
    #[serde(flatten)]
    pub truth: Truth,
    /// What volumes hold, survive and cost.
    pub capacity: Capacities,
    /// The precision that was reached, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Reached>,
}

impl Outcome {
    /// The outcome of a run for which no precision was requested.
    pub fn new(truth: Truth, scenario: &model::Scenario, prices: &Prices) -> Self {
        Self { truth, capacity: Capacities::of(scenario, prices), precision: None }
    }
}

/// An observer that ignores the progress and never ends the run.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Simulates a scenario. `observer` is called from time to time; [`ControlFlow::Break`] ends the run with an
/// error.
///
/// Nothing is written. `wall_seconds` of the truth stays 0.
pub fn run(
    scenario: &Scenario,
    observer: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error> {
    let simulation = Simulation::new(scenario.document())?;
    let model = simulation.scenario.clone();
    Ok(Outcome::new(simulation.run(observer)?, &model, &Prices::shipped()))
}

/// Simulates a scenario and keeps its records in memory. [`crate::Run::in_memory`] answers questions from
/// them. Records of requests are always kept. Other records, which no prediction needs, are kept if `wanted`
/// returns true for them.
pub fn remember(
    scenario: &Scenario,
    wanted: impl Fn(&Record) -> bool + Send + 'static,
    observer: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<(Outcome, MemoryRun), Error> {
    let simulation = Simulation::new(scenario.document())?;
    let model = simulation.scenario.clone();
    let (truth, run) = simulation.keep(wanted, observer)?;
    Ok((Outcome::new(truth, &model, &Prices::shipped()), run))
}

/// Simulates a scenario and keeps the run in a directory: its records (`run.db`), the scenario with all
/// defaults (`run.toml`) and the truth (`truth.json`).
///
/// An earlier run in the directory is replaced only when the new run is complete: a run that fails leaves the
/// earlier one as it was. A directory that holds anything else is refused.
#[cfg(feature = "files")]
pub fn record(
    scenario: &Scenario,
    directory: impl AsRef<Path>,
    observer: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error> {
    record_into(
        RunDirectory::prepare(directory.as_ref(), Path::new(""), false)?,
        scenario,
        observer,
    )
}

/// As [`record`], in a directory that is already locked.
#[cfg(feature = "files")]
pub fn record_into(
    directory: RunDirectory,
    scenario: &Scenario,
    observer: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error> {
    let mut directory = directory;
    let simulation = Simulation::new(scenario.document())?;
    let model = simulation.scenario.clone();
    let (truth, _) = directory.record(simulation, observer)?;
    let outcome = Outcome::new(truth, &model, &Prices::shipped());
    directory.write(SCENARIO_FILE, &scenario.resolved()?)?;
    directory.write(TRUTH_FILE, &to_json(&outcome))?;
    directory.replace()?;
    Ok(outcome)
}

/// Version of all JSON documents. It changes when a key is removed or its meaning changes. New keys do not
/// change it.
pub const SCHEMA_VERSION: u32 = 1;

/// A JSON document as the command prints and keeps it: version first, indented, with a newline at the end.
pub fn to_json(document: &impl Serialize) -> String {
    let mut document = serde_json::to_value(document).expect("keys are texts");
    if let Value::Object(keys) = &mut document {
        keys.shift_insert(0, "schema_version".to_owned(), SCHEMA_VERSION.into());
    }
    // names may come from foreign files, and the document may be shown on a terminal
    foretell_input::json_escaped(&format!("{document:#}\n")).into_owned()
}
