//! Sweeps in the served directory: how far each is, and charts of the runs that are over.
//!
//! `foretell sweep` does the runs, here or on other machines; the server only reads. The id of a sweep is the name
//! of its directory. It is unknown whether a sweep's process still lives, so the server reports when the last run
//! ended, and the time that remains at the pace of the last minutes ([`Pace`]).
//!
//! The runs of all listed sweeps are counted. Rows are kept of those that were explored last.

mod inside;
mod pace;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use foretell_datasets::{
    Column as Described, DataError, FollowedSweep, MANIFEST_FILE, Value, is_sampled,
    numbers as as_numbers, texts,
};
use foretell_report::chart::Column;
use serde::Serialize;

use crate::limits;
use crate::problem::Problem;
use crate::runs::{holds, is_own_name, lock, own};
use pace::Pace;

/// A sweep in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    id: String,
    /// Its title; the id where the sweep cannot be read.
    title: String,
    #[serde(flatten)]
    state: State,
}

/// The state of a sweep.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum State {
    UnderWay(Numbers),
    Complete(Numbers),
    Unreadable { error: String },
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Numbers {
    /// Number of all runs.
    runs: u64,
    succeeded: u64,
    failed: u64,
    left_out: u64,
    /// Seconds since a run ended.
    idle_s: Option<f64>,
    /// Seconds until the end, at the pace of the last minutes.
    left_s: Option<f64>,
}

/// A sweep with the columns to choose from.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    listed: Listed,
    description: String,
    columns: Vec<Choice>,
}

/// A column to choose.
#[derive(Debug, Serialize)]
struct Choice {
    name: String,
    unit: String,
    role: &'static str,
    description: String,
}

/// Two columns of the runs that are over.
#[derive(Debug, Serialize)]
pub(crate) struct Points {
    /// Number of successful runs; the columns may hold only a sample of them.
    succeeded: u64,
    x: Column,
    y: Column,
}

/// The sweeps of a directory.
pub(crate) struct Sweeps {
    directory: PathBuf,
    followed: Mutex<BTreeMap<String, Arc<Mutex<Option<Followed>>>>>,
    /// The sweeps whose rows are kept; the latest last.
    explored: Mutex<VecDeque<String>>,
}

struct Followed {
    sweep: FollowedSweep,
    has_rows: bool,
    pace: Pace,
}

impl Sweeps {
    /// The sweeps of a directory.
    pub(crate) fn new(directory: &Path) -> Self {
        let (followed, explored) = (Mutex::default(), Mutex::default());
        Self { directory: directory.to_owned(), followed, explored }
    }

    /// All sweeps, by name.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let names: Vec<String> =
            own(&self.directory, is_sweep).into_iter().take(limits::SWEEPS).collect();
        lock(&self.followed).retain(|known, _| names.contains(known));
        let listed = names.into_iter().map(|id| {
            let found = self.look(&id, false, |sweep, numbers| Ok(listed(&id, sweep, numbers)));
            found.unwrap_or_else(|problem| {
                let error = problem.message().to_owned();
                Listed { title: id.clone(), id, state: State::Unreadable { error } }
            })
        });
        listed.collect()
    }

    /// A sweep and its columns.
    pub(crate) fn show(&self, id: &str) -> Result<Shown, Problem> {
        self.look(id, false, |sweep, numbers| {
            let choice = |column: &Described| Choice {
                name: column.name.clone(),
                unit: column.unit.clone(),
                role: column.role.word(),
                description: column.description.clone(),
            };
            Ok(Shown {
                listed: listed(id, sweep, numbers),
                description: sweep.manifest().description.clone(),
                columns: sweep.manifest().explorable().map(choice).collect(),
            })
        })
    }

    /// Two columns of the runs of a sweep that are over.
    pub(crate) fn points(&self, id: &str, x: &str, y: &str) -> Result<Points, Problem> {
        self.look(id, true, |sweep, numbers| {
            if numbers.succeeded > limits::MAX_RUNS {
                let message =
                    format!("a chart takes {} runs; use `foretell report`", limits::MAX_RUNS);
                return Err(Problem::bad(message));
            }
            let find = |name: &str| {
                let known = sweep.manifest().explorable().find(|column| column.name == name);
                known
                    .cloned()
                    .ok_or_else(|| Problem::bad(format!("the sweep has no column `{name}`")))
            };
            let wanted = [find(x)?, find(y)?];
            let names = wanted.each_ref().map(|column| column.name.clone());
            let cells = sweep.cells(&names).map_err(|error| Problem::bad(error.to_string()))?;
            let mut columns = wanted.iter().zip(cells).map(|(known, cells)| column(known, cells));
            let mut next = || columns.next().expect("there are two columns");
            Ok(Points { succeeded: numbers.succeeded, x: next()?, y: next()? })
        })
    }

    /// The directory of a sweep that can be read.
    pub(crate) fn readable(&self, id: &str) -> Result<PathBuf, Problem> {
        self.look(id, false, |_, _| Ok(()))?;
        self.find(id)
    }

    /// The directory of a sweep.
    fn find(&self, id: &str) -> Result<PathBuf, Problem> {
        let path = self.directory.join(id);
        if !is_own_name(id) || !is_sweep(&path) {
            return Err(Problem::missing("such sweep"));
        }
        if inside::has_links(&path) {
            return Err(Problem::bad("its directory contains links, which may lead elsewhere"));
        }
        Ok(path)
    }

    /// Looks at a sweep, which is followed from now on.
    fn look<T>(
        &self,
        id: &str,
        with_rows: bool,
        with: impl FnOnce(&FollowedSweep, Numbers) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let path = self.find(id)?;
        // others may look at other sweeps while this one is read
        let place = Arc::clone(lock(&self.followed).entry(id.to_owned()).or_default());
        let mut place = lock(&place);
        if with_rows {
            self.explore(id);
        }
        let keeps_rows = self.is_explored(id);
        if place.as_ref().is_some_and(|followed| followed.has_rows != keeps_rows) {
            *place = None;
        }
        let damaged = |error: DataError| Problem::bad(error.to_string());
        let followed = match &mut *place {
            Some(followed) => followed,
            empty => empty.insert(Followed::begin(&path, keeps_rows).map_err(damaged)?),
        };
        let numbers = followed.look().map_err(damaged)?;
        with(&followed.sweep, numbers)
    }

    fn is_explored(&self, id: &str) -> bool {
        lock(&self.explored).iter().any(|known| known == id)
    }

    /// Keeps the rows of a sweep from now on, instead of those of the sweep that was explored first.
    fn explore(&self, id: &str) {
        let mut explored = lock(&self.explored);
        explored.retain(|known| known != id);
        if explored.len() >= limits::EXPLORED {
            explored.pop_front();
        }
        explored.push_back(id.to_owned());
    }
}

impl Followed {
    fn begin(path: &Path, has_rows: bool) -> Result<Self, DataError> {
        let sweep = FollowedSweep::open(path, has_rows)?;
        Ok(Self { sweep, has_rows, pace: Pace::default() })
    }

    #[expect(clippy::disallowed_methods, reason = "the last run ended by the clock of files")]
    fn look(&mut self) -> Result<Numbers, DataError> {
        let progress = self.sweep.look()?;
        let (over, runs) = (progress.over(), self.sweep.manifest().runs());
        let per_s = self.pace.per_s(over);
        let left = runs.saturating_sub(over) as f64;
        Ok(Numbers {
            runs,
            succeeded: progress.succeeded,
            failed: progress.failed,
            left_out: progress.left_out,
            idle_s: progress.last.map(|last| {
                SystemTime::now().duration_since(last).unwrap_or_default().as_secs_f64()
            }),
            left_s: per_s.filter(|_| !progress.is_complete).map(|per_s| left / per_s),
        })
    }
}

/// A column of a chart; of many cells a sample.
fn column(known: &Described, mut cells: Vec<Value>) -> Result<Column, Problem> {
    let level = cells.len().div_ceil(limits::POINTS).max(1).next_power_of_two().ilog2();
    let mut number = 0;
    cells.retain(|_| {
        number += 1;
        is_sampled(number, level)
    });
    let (name, unit, role) = (&known.name, &known.unit, known.role.word());
    let found = match as_numbers(&cells) {
        Some(values) => Some(Column::of_numbers(name, unit, role, values)),
        None => Column::of_texts(name, unit, role, &texts(&cells)),
    };
    found.ok_or_else(|| Problem::bad(format!("`{name}` has too many different texts")))
}

fn is_sweep(path: &Path) -> bool {
    holds(path, &[MANIFEST_FILE])
}

fn listed(id: &str, sweep: &FollowedSweep, numbers: Numbers) -> Listed {
    let is_complete = sweep.progress().is_complete;
    let state = if is_complete { State::Complete(numbers) } else { State::UnderWay(numbers) };
    Listed { id: id.to_owned(), title: sweep.manifest().title.clone(), state }
}
