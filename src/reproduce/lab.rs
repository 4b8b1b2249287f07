//! All runs and predictions, on all cores.
//!
//! A job is one cluster with one seed: it is simulated, its records are kept if there are questions,
//! and these are answered from them. Jobs are independent, and their results are put in order, so
//! nothing depends on how many are done at once.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use foretell_ati::{DirectoryLock, Facts, Recorder, open_run};
use foretell_sim::truth::Truth;
use foretell_sim::{Cluster, SimError};
use foretell_whatif::{Answer, Model, Observed};
use indicatif::{ProgressBar, ProgressStyle};

use super::plan::{Plan, Setup};
use crate::directory::{SCENARIO_FILE, write_whole};
use crate::failure::Failure;
use crate::run::selection;
use crate::shelf::PartsShelf;
use crate::{facts, interrupt};

/// The models, in the order in which their answers are kept.
pub(crate) const MODELS: [Model; 2] = [Model::Replay, Model::Bounds];

/// What a cluster did with one seed, and what was predicted from its records.
#[derive(Debug)]
struct Outcome {
    truth: Truth,
    /// By the cluster asked about, then by model.
    predictions: BTreeMap<Setup, Vec<Prediction>>,
}

/// What the records of a run say of another cluster.
#[derive(Debug)]
pub(crate) struct Prediction {
    /// What would be.
    pub(crate) answer: Answer,
    /// Share of reads among the recorded requests.
    pub(crate) read_share: f64,
}

/// Everything that came out.
#[derive(Debug, Default)]
pub(crate) struct Results {
    outcomes: BTreeMap<Setup, BTreeMap<u64, Outcome>>,
}

impl Results {
    /// Of each seed, what this cluster did.
    pub(crate) fn truths(&self, setup: &Setup, of: impl Fn(&Truth) -> f64) -> Vec<f64> {
        self.outcomes[setup].values().map(|outcome| of(&outcome.truth)).collect()
    }

    /// Of each seed, what the records of one cluster say that another would do, by this model.
    pub(crate) fn predictions(
        &self,
        from: &Setup,
        to: &Setup,
        model: usize,
        of: impl Fn(&Prediction) -> f64,
    ) -> Vec<f64> {
        self.outcomes[from].values().map(|outcome| of(&outcome.predictions[to][model])).collect()
    }

    /// Whether something is true of this cluster with each seed.
    pub(crate) fn always(&self, setup: &Setup, of: impl Fn(&Truth) -> bool) -> bool {
        self.outcomes[setup].values().all(|outcome| of(&outcome.truth))
    }

    /// Whether all of a plan is there.
    pub(crate) fn have(&self, plan: &Plan, seeds: u64) -> bool {
        let there = |setup| self.outcomes.get(setup).is_some_and(|all| all.len() as u64 == seeds);
        plan.runs.keys().all(there)
    }
}

/// How far it came.
pub(crate) enum Done {
    /// To the end.
    All(Results),
    /// Until something failed or the user asked for an end.
    Part(Results, Failure),
}

struct Job<'a> {
    setup: &'a Setup,
    questions: Vec<&'a Setup>,
    seed: u64,
    directory: PathBuf,
}

/// Does all of a plan with the seeds 1, 2, ...; recorded runs go to directories in `runs`.
pub(crate) fn perform(plan: &Plan, seeds: u64, threads: usize, runs: &Path, keep: bool) -> Done {
    interrupt::watch();
    let mut jobs = Vec::new();
    for (number, (setup, questions)) in plan.runs.iter().enumerate() {
        for seed in 1..=seeds {
            let directory = runs.join(format!("{}-{number}-{seed}", setup.scenario()));
            jobs.push(Job { setup, questions: questions.iter().collect(), seed, directory });
        }
    }
    // those with many questions take longest and come first
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(jobs[*index].questions.len()));
    let bar = bar(jobs.len() as u64);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let collected: Mutex<BTreeMap<usize, Result<Outcome, Failure>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && !interrupt::asked() {
                    let taken = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&index) = order.get(taken) else { break };
                    let done = perform_one(&jobs[index], keep);
                    if done.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    collected.lock().expect("no thread panics").insert(index, done);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    if !keep {
        // it is empty; if it cannot be removed that harms nobody
        let _ = fs::remove_dir(runs);
    }
    let (mut results, mut failure, mut done) = (Results::default(), None, 0);
    for (index, outcome) in collected.into_inner().expect("no thread panics") {
        let job = &jobs[index];
        match outcome {
            Ok(outcome) => {
                done += 1;
                results.outcomes.entry(job.setup.clone()).or_default().insert(job.seed, outcome);
            }
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    if interrupt::asked() {
        let done = format!("{done} of {} runs", jobs.len());
        return Done::Part(results, Failure::Interrupted { done });
    }
    match failure {
        Some(failure) => Done::Part(results, failure),
        None => Done::All(results),
    }
}

/// On a terminal only.
fn bar(length: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} runs  elapsed {elapsed}, left {eta}");
    ProgressBar::new(length).with_style(style.expect("the template is right"))
}

fn perform_one(job: &Job<'_>, keep: bool) -> Result<Outcome, Failure> {
    let mut document = job.setup.document()?;
    document.set("seed", &job.seed.to_string())?;
    let scenario = document.check()?;
    let selection = selection(&scenario.tracking)?;
    if job.questions.is_empty() {
        let mut cluster = Cluster::new(scenario, Recorder::forgetful(selection))?;
        let truth = cluster.run(|_| unless_interrupted())?;
        return Ok(Outcome { truth, predictions: BTreeMap::new() });
    }
    let lock = DirectoryLock::take(&job.directory)?;
    let recorded = || {
        let recorder = Recorder::create_in(&lock, selection)?;
        let mut cluster = Cluster::new(scenario.clone(), recorder)?;
        let truth = cluster.run(|_| unless_interrupted());
        let demands = cluster.demands();
        let recorder = cluster.into_recorder();
        let truth = match truth {
            // the store knows better than the simulation why it failed
            Err(SimError::StoreFailed) => {
                recorder.finish(&Facts::default(), &[])?;
                return Err(SimError::StoreFailed.into());
            }
            truth => truth?,
        };
        let mut facts = facts::of(&scenario, &document.known_to_operator()?);
        facts::ended(&mut facts, &truth);
        recorder.finish(&facts, &demands)?;
        let observed = Observed::open(&job.directory)?;
        let read_share = read_share(&job.directory)?;
        let mut predictions = BTreeMap::new();
        for target in &job.questions {
            let changes = job.setup.changes_to(target);
            let ask = |model| {
                let answer = observed.ask(&changes, &mut PartsShelf, model)?;
                Ok(Prediction { answer, read_share })
            };
            let found = MODELS.into_iter().map(ask).collect::<Result<Vec<_>, Failure>>()?;
            predictions.insert((*target).clone(), found);
        }
        Ok(Outcome { truth, predictions })
    };
    let outcome = recorded();
    if keep && outcome.is_ok() {
        write_whole(&job.directory.join(SCENARIO_FILE), &document.resolved()?)?;
    } else {
        drop(lock);
        // its own; what cannot be removed is told by whoever finds the disk full
        let _ = fs::remove_dir_all(&job.directory);
    }
    outcome
}

/// Share of reads among the requests that were recorded.
fn read_share(run: &Path) -> Result<f64, Failure> {
    let run = open_run(run)?;
    let sql = "SELECT avg(1.0 - op) FROM request WHERE phase = 0";
    let share = run.sql().query_row(sql, [], |row| row.get(0));
    // a prediction was possible, so there are requests
    Ok(share.expect("the records of a run can be read"))
}

fn unless_interrupted() -> ControlFlow<()> {
    if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
