//! Sweeps in the served directory: how far each is, and charts of the runs that are over.
//!
//! `foretell sweep` does the runs, here or on other machines; the server only reads. The id of a sweep is the name
//! of its directory. It is unknown whether a sweep's process still lives, so the server reports when the last run
//! ended, and the time that remains at the pace since it first saw the sweep.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use foretell_datasets::{Column as Described, FollowedSweep, MANIFEST_FILE, Role, numbers, texts};
use foretell_report::chart::Column;
use serde::Serialize;

use crate::limits;
use crate::problem::Problem;
use crate::runs::{holds, is_own_name, lock, own};

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
    Done(Numbers),
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
    /// Seconds until the end at the present pace.
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
    /// Number of successful runs; the columns may hold only every second one, every fourth, and so on.
    succeeded: u64,
    x: Column,
    y: Column,
}

/// The sweeps of a directory.
pub(crate) struct Sweeps {
    directory: PathBuf,
    /// The latest last.
    followed: Mutex<VecDeque<(String, Arc<Mutex<Followed>>)>>,
}

struct Followed {
    sweep: FollowedSweep,
    /// When the server saw the sweep first, and the number of runs that were over.
    first: (Instant, u64),
}

impl Sweeps {
    /// The sweeps of a directory.
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), followed: Mutex::default() }
    }

    /// All sweeps, by name.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let names = own(&self.directory, is_sweep);
        let listed = names.into_iter().take(limits::LISTED_SWEEPS).map(|id| {
            let found = self.look(&id, |sweep, numbers| Ok(listed(&id, sweep, numbers)));
            found.unwrap_or_else(|problem| {
                let error = problem.message().to_owned();
                Listed { title: id.clone(), id, state: State::Unreadable { error } }
            })
        });
        listed.collect()
    }

    /// A sweep and its columns.
    pub(crate) fn show(&self, id: &str) -> Result<Shown, Problem> {
        self.look(id, |sweep, numbers| {
            let choice = |column: &Described| Choice {
                name: column.name.clone(),
                unit: column.unit.clone(),
                role: role(column),
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
        self.look(id, |sweep, numbers| {
            let find = |name: &str| {
                let known = sweep.manifest().explorable().find(|column| column.name == name);
                known
                    .cloned()
                    .ok_or_else(|| Problem::bad(format!("the sweep has no column `{name}`")))
            };
            let wanted = [find(x)?, find(y)?];
            let names = wanted.each_ref().map(|column| column.name.clone());
            let cells = sweep.cells(&names).map_err(|error| Problem::bad(error.to_string()))?;
            let mut columns = wanted.iter().zip(cells).map(|(column, cells)| {
                let step = cells.len().div_ceil(limits::POINTS).max(1);
                let cells: Vec<_> = cells.into_iter().step_by(step).collect();
                let (name, unit) = (&column.name, &column.unit);
                let found = match self::numbers(&cells) {
                    Some(values) => Some(Column::of_numbers(name, unit, role(column), values)),
                    None => Column::of_texts(name, unit, role(column), &texts(&cells)),
                };
                found.ok_or_else(|| Problem::bad(format!("`{name}` has too many different texts")))
            });
            let mut next = || columns.next().expect("there are two columns");
            Ok(Points { succeeded: numbers.succeeded, x: next()?, y: next()? })
        })
    }

    /// The directory of a sweep that can be read.
    pub(crate) fn readable(&self, id: &str) -> Result<PathBuf, Problem> {
        self.look(id, |_, _| Ok(()))?;
        self.find(id)
    }

    /// The directory of a sweep.
    fn find(&self, id: &str) -> Result<PathBuf, Problem> {
        let path = self.directory.join(id);
        if !is_own_name(id) || !is_sweep(&path) {
            return Err(Problem::missing("such sweep"));
        }
        if has_links(&path) {
            return Err(Problem::bad("its directory contains links, which may lead elsewhere"));
        }
        Ok(path)
    }

    /// Looks at a sweep, which is followed from now on.
    fn look<T>(
        &self,
        id: &str,
        with: impl FnOnce(&FollowedSweep, Numbers) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let path = self.find(id)?;
        let damaged = |error: foretell_datasets::DataError| Problem::bad(error.to_string());
        let known = {
            let mut followed = lock(&self.followed);
            let place = followed.iter().position(|(known, _)| known == id);
            let found = place.and_then(|place| followed.remove(place));
            let found = match found {
                Some((_, sweep)) => sweep,
                None => Arc::new(Mutex::new(Followed::begin(&path).map_err(damaged)?)),
            };
            if followed.len() >= limits::SWEEPS {
                followed.pop_front();
            }
            followed.push_back((id.to_owned(), Arc::clone(&found)));
            found
        };
        let mut followed = lock(&known);
        match followed.look() {
            Ok(numbers) => with(&followed.sweep, numbers),
            Err(error) => {
                drop(followed);
                // the next look begins again
                lock(&self.followed).retain(|(known, _)| known != id);
                Err(damaged(error))
            }
        }
    }
}

impl Followed {
    #[expect(clippy::disallowed_methods, reason = "the pace of a sweep is measured")]
    fn begin(path: &Path) -> Result<Self, foretell_datasets::DataError> {
        let sweep = FollowedSweep::open(path)?;
        let over = sweep.progress().over();
        Ok(Self { sweep, first: (Instant::now(), over) })
    }

    #[expect(clippy::disallowed_methods, reason = "the pace of a sweep is measured")]
    fn look(&mut self) -> Result<Numbers, foretell_datasets::DataError> {
        let progress = self.sweep.look()?;
        let (over, runs) = (progress.over(), self.sweep.manifest().runs());
        let (since, before) = self.first;
        if over < before {
            // it began again
            self.first = (Instant::now(), over);
        }
        let done = over.saturating_sub(before);
        let pace = done as f64 / since.elapsed().as_secs_f64().max(1e-3);
        let left = runs.saturating_sub(over) as f64;
        Ok(Numbers {
            runs,
            succeeded: progress.succeeded,
            failed: progress.failed,
            left_out: progress.left_out,
            idle_s: progress.last.map(|last| {
                SystemTime::now().duration_since(last).unwrap_or_default().as_secs_f64()
            }),
            left_s: (done > 1 && !progress.is_complete).then(|| left / pace),
        })
    }
}

fn is_sweep(path: &Path) -> bool {
    holds(path, &[MANIFEST_FILE])
}

/// Whether there are links in the directory of a sweep, whose files lie at most two directories deep.
fn has_links(path: &Path) -> bool {
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < 2 => open.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_file() => {}
                _ => return true,
            }
        }
    }
    false
}

fn listed(id: &str, sweep: &FollowedSweep, numbers: Numbers) -> Listed {
    let is_complete = sweep.progress().is_complete;
    let state = if is_complete { State::Done(numbers) } else { State::UnderWay(numbers) };
    Listed { id: id.to_owned(), title: sweep.manifest().title.clone(), state }
}

fn role(column: &Described) -> &'static str {
    if column.role == Role::Factor { "factor" } else { "result" }
}
