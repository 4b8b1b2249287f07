//! Running a scenario, with or without keeping its records.

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

/// What a run found, and what its cluster holds: with [`to_json`], what `foretell run --json` prints and
/// `truth.json` is.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What clients saw, and what hosts did.
    #[serde(flatten)]
    pub truth: Truth,
    /// What volumes hold, survive and cost.
    pub capacity: Capacities,
    /// Of a run that was to know a figure to a given precision, how well it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Reached>,
}

impl Outcome {
    /// The outcome of a run that was to know nothing to a given precision.
    pub fn new(truth: Truth, scenario: &model::Scenario, prices: &Prices) -> Self {
        Self { truth, capacity: Capacities::of(scenario, prices), precision: None }
    }
}

/// The observer of a run that needs no progress and is never ended.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Simulates a scenario. `observer` is called now and then; [`ControlFlow::Break`] ends the run with an error.
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

/// Simulates a scenario and keeps its records in memory; [`crate::Run::in_memory`] asks them. Of records that no
/// prediction needs, those are kept that are `wanted`.
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
/// An earlier run in the directory is replaced when the new one is whole: one that fails leaves it as it was. A
/// directory that holds anything else is refused.
#[cfg(feature = "files")]
pub fn record(
    scenario: &Scenario,
    directory: impl AsRef<Path>,
    observer: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error> {
    let simulation = Simulation::new(scenario.document())?;
    let model = simulation.scenario.clone();
    let mut directory = RunDirectory::prepare(directory.as_ref(), Path::new(""), false)?;
    let (truth, _) = directory.record(simulation, observer)?;
    let outcome = Outcome::new(truth, &model, &Prices::shipped());
    directory.write(SCENARIO_FILE, &scenario.resolved()?)?;
    directory.write(TRUTH_FILE, &to_json(&outcome))?;
    directory.replace()?;
    Ok(outcome)
}

/// Version of all JSON documents: another number says that a key has gone or has another meaning. New keys
/// alone leave it as it is.
pub const SCHEMA_VERSION: u32 = 1;

/// A document of JSON as the command prints and keeps it: its version first, indented, with a line's end.
pub fn to_json(document: &impl Serialize) -> String {
    let mut document = serde_json::to_value(document).expect("keys are texts");
    if let Value::Object(keys) = &mut document {
        keys.shift_insert(0, "schema_version".to_owned(), SCHEMA_VERSION.into());
    }
    format!("{document:#}\n")
}
