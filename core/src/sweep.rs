//! The runs of a design of experiments.
//!
//! A sweep file names a base scenario, factors with their values, and a design. `docs/sweep.md` describes it.
//! The runs are independent of each other, and several threads share them. The results come in the order of
//! runs, and do not depend on the number of threads. [`Tables`] defines the tables of a sweep's data set:
//! their columns, and the rows of a run. This module gives each result to a callback and writes nothing. The
//! command `foretell sweep` makes the same runs and writes these tables. It can also divide the runs into
//! shards, and resume them.

mod tables;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};

use foretell_datasets::{Factor, Run, Sweep as Design, Value};
use foretell_scenarios::Change;
use foretell_sorted::SortedMap;
use serde::Serialize;

use crate::error::Error;
use crate::run::{Outcome, run};
use crate::scenario::Scenario;

pub use tables::{PointFacts, Tables, is_known, plain_record_table};

/// Maximum number of results for each thread that may wait for an earlier result.
const AHEAD: usize = 4;

/// A sweep: factors, and the runs of their design.
#[derive(Debug)]
pub struct Sweep {
    design: Design,
}

/// A run of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Swept {
    /// Its number, from 0. Runs are numbered point by point, and by replicate within a point.
    pub run: u64,
    /// Number of its point.
    pub point: u64,
    /// Its number among the runs of its point.
    pub replicate: u64,
    /// Seed of its random draws.
    pub seed: u64,
    /// `train`, `validation`, `test` or `test-extrapolation`.
    pub split: String,
    /// The value of each factor, by the name of its column, which ends in the unit.
    pub factors: SortedMap<String, Value>,
}

impl Sweep {
    /// Reads a sweep file. Paths in it are relative to its directory.
    ///
    /// # Errors
    ///
    /// All errors in the file and in the base scenario. It is also an error if no point satisfies the
    /// constraints.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let change = |path: &str, value: &str| Change { path: path.into(), value: value.into() };
        // recording is free, so that it does not matter which records are kept
        let unrecorded = [change("record", "none"), change("tracking.overhead", "false")];
        let design = Design::load(path, &unrecorded)?;
        let recorded = |path: &str| path == "record" || path.starts_with("tracking");
        if let Some(path) = design.factors.iter().flat_map(Factor::paths).find(|one| recorded(one))
        {
            return Err(Error::Invalid(format!(
                "`{path}` cannot be a factor: a sweep decides by `output` what is recorded, at no cost"
            )));
        }
        if design.count_points().0 == 0 {
            let message = "the constraints leave no point of the design";
            return Err(Error::Invalid(message.to_owned()));
        }
        Ok(Self { design })
    }

    /// The design in the form that the crate for data sets uses, for programs that write the same files as
    /// the command.
    pub fn into_design(self) -> Design {
        self.design
    }

    /// All runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = Swept> + Send {
        self.design.runs().map(|run| self.swept(&run))
    }

    /// Does all runs on `threads` threads, and gives each result to the callback, in the order of runs. A run
    /// that fails or whose scenario is wrong also gives a result. [`ControlFlow::Break`] ends the sweep.
    /// Returns the number of results that the callback got.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] if the observer ended it.
    pub fn perform(
        &self,
        threads: NonZeroUsize,
        mut observer: impl FnMut(&Swept, Result<Outcome, Error>) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let most = (threads.get() * AHEAD) as u64;
        let runs = Mutex::new(self.design.runs());
        let ahead = Ahead::default();
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.get() {
                let (sender, runs, ahead) = (sender.clone(), &runs, &ahead);
                scope.spawn(move || {
                    loop {
                        let next = runs.lock().expect("no thread panics").next();
                        let Some(run) = next else { return };
                        if !ahead.wait(run.number, most) {
                            return;
                        }
                        let swept = self.swept(&run);
                        let result = self.outcome(&run, ahead);
                        // after the end of a sweep there is no receiver, and the result is dropped
                        let _ = sender.send((swept, result));
                    }
                });
            }
            drop(sender);
            let mut early = SortedMap::new();
            let mut done = 0;
            for (swept, result) in results {
                early.insert(swept.run, (swept, result));
                while let Some((swept, result)) = early.remove(&done) {
                    done += 1;
                    if observer(&swept, result).is_break() {
                        ahead.end();
                        return Err(Error::Interrupted { done: format!("{done} runs") });
                    }
                    ahead.advance(done);
                }
            }
            Ok(done)
        })
    }

    fn outcome(&self, of: &Run, ahead: &Ahead) -> Result<Outcome, Error> {
        let mut scenario = Scenario::from(self.design.document(&of.point)?);
        scenario.set("seed", &of.seed.to_string())?;
        run(&scenario, |_| {
            if ahead.has_ended() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    fn swept(&self, run: &Run) -> Swept {
        let names = self.design.factors.iter().map(Factor::column_name);
        Swept {
            run: run.number,
            point: run.point.number,
            replicate: run.replicate,
            seed: run.seed,
            split: run.part.name().to_owned(),
            factors: names.zip(run.point.values().cloned()).collect(),
        }
    }
}

/// Limits how far ahead of the delivered results runs may begin.
#[derive(Default)]
struct Ahead {
    /// Number of delivered results, and whether the sweep was ended.
    done: Mutex<(u64, bool)>,
    moved: Condvar,
}

impl Ahead {
    /// Waits until a run may begin. Returns whether the sweep goes on.
    fn wait(&self, run: u64, most: u64) -> bool {
        let held = self.done.lock().expect("no thread panics");
        let waits = |state: &mut (u64, bool)| !state.1 && run >= state.0 + most;
        !self.moved.wait_while(held, waits).expect("no thread panics").1
    }

    fn advance(&self, done: u64) {
        self.done.lock().expect("no thread panics").0 = done;
        self.moved.notify_all();
    }

    fn end(&self) {
        self.done.lock().expect("no thread panics").1 = true;
        self.moved.notify_all();
    }

    fn has_ended(&self) -> bool {
        self.done.lock().expect("no thread panics").1
    }
}
