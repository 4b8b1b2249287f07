//! Simulates storage clusters, keeps records of their activity, and predicts the effect of a change from the
//! records alone.
//!
//! This is the library behind the `foretell` command. It does not use the terminal, does not end the process,
//! and has no settings outside its arguments. A callback can watch a run and stop it. Results serialize to
//! the JSON that the command prints ([`to_json`]).
//!
//! # From a scenario to an answer
//!
//! ```no_run
//! use foretell_core::{Model, Run, Scenario, unwatched};
//!
//! # fn main() -> Result<(), foretell_core::Error> {
//! // a file, or a scenario that comes with the program
//! let mut scenario = Scenario::load("first-look")?;
//! scenario.set("volume.mail.encoding", "1-of-3")?;
//!
//! // what clients see
//! let outcome = foretell_core::run(&scenario, unwatched)?;
//! println!("{:.0} requests/s", outcome.truth.workloads["mail"].throughput_rps);
//!
//! // simulate it again and keep its records; then predict a change from the records alone
//! foretell_core::record(&scenario, "out/first", unwatched)?;
//! let run = Run::open("out/first")?;
//! let answer = run.ask(&["volume.mail.encoding=3-of-5".parse()?], Model::Replay)?;
//! println!("{:.0} requests/s", answer.workloads["mail"].throughput_rps);
//!
//! // how good was that?
//! for found in run.score(&["volume.mail.encoding=3-of-5".parse()?], Model::Replay, unwatched)? {
//!     println!("{} {}: off by {:.1} %", found.workload, found.metric, 100.0 * found.error);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What else there is
//!
//! - [`replay_cache()`]: hit rates of caches over a block trace.
//! - [`estimate`]: throughput of mixed loads from a few measured points.
//! - [`Capacities`]: what volumes hold, which failures they survive, what they cost.
//! - [`Sweep`]: the runs of a design of experiments, on several threads; [`sweep`]: the tables of its data set.
//! - [`calibrate`]: profiles of real devices and processors from measurements.
//! - [`random`]: random clusters and questions, to judge predictions.
//! - [`score`]: accuracy of predictions, on random questions and on suites of questions.
//! - [`remember()`]: a run whose records stay in memory, so that questions can be asked at once.
//!
//! Without the default feature `files`, the library needs no C code, no threads and no files. It then builds
//! for `wasm32-unknown-unknown`, and gives the same results there.
//!
//! Most of these have an example in `core/examples`. Ceph maps and regression models are not part of this
//! library: they have crates of their own.

pub mod calibrate;
mod capacity;
pub mod cosbench;
mod error;
mod facts;
#[cfg(feature = "files")]
pub mod jobs;
mod kept;
#[cfg(feature = "files")]
pub mod measured_points;
#[cfg(feature = "files")]
pub mod observed;
mod precision;
mod prices;
pub mod random;
pub mod replay_cache;
mod run;
#[cfg(feature = "files")]
mod run_directory;
mod scenario;
pub mod score;
mod shelf;
mod simulation;
#[cfg(feature = "files")]
pub mod sweep;

/// The records of a run, for programs that read them.
pub use foretell_ati as records;
pub use foretell_ati::{MemoryRun, Record};
/// Throughput of mixed loads from points that were measured elsewhere, by the constant-capacity rule of Ra
/// and Lee (2018).
pub use foretell_estimate as estimate;
pub use foretell_scenarios::Change;
pub use foretell_sim::Progress;
pub use foretell_sim::truth::{self, Truth};
pub use foretell_whatif::{Answer, Asked, Model, Overload, UnknownModel, WhatIfError};

pub use capacity::{Capacities, VolumeCapacity};
pub use error::Error;
pub use facts::host_kinds;
pub use kept::{Answered, Run};
pub use precision::{Precision, Reached};
pub use prices::Prices;
pub use replay_cache::replay_cache;
pub use run::{Outcome, SCHEMA_VERSION, remember, run, to_json, unwatched};
#[cfg(feature = "files")]
pub use run::{record, record_into};
#[cfg(feature = "files")]
pub use run_directory::{RunDirectory, SCENARIO_FILE, TRUTH_FILE};
pub use scenario::Scenario;
pub use score::{Comparison, compare};
pub use shelf::PartsShelf;
pub use simulation::Simulation;
#[cfg(feature = "files")]
pub use sweep::{Sweep, Swept};
