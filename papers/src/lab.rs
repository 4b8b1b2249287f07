//! All runs and predictions, on all cores.
//!
//! A job is one cluster with one seed. It is simulated; if there are questions, its records are kept,
//! and the questions are answered from them. Jobs are independent, and their results are put in
//! order, so nothing depends on the number of parallel jobs.

use foretell_ati::RUN;
use foretell_core::jobs::Workers;
use foretell_core::{PartsShelf, RunDirectory, SCENARIO_FILE, Simulation};
use foretell_datasets::hex_of;
use foretell_files::Directory;
use foretell_sim::truth::Truth;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_whatif::{Answer, Model, Observed};

use super::plan::{Plan, Setup};
use crate::error::Error;

/// The models, in the order in which their answers are kept.
pub(crate) const MODELS: [Model; 3] = [Model::Replay, Model::Bounds, Model::Mva];

/// Measurements of a cluster with one seed, and the predictions from its records.
#[derive(Debug)]
struct Outcome {
    truth: Truth,
    /// Answers by the cluster asked about, then by model.
    predictions: SortedMap<Setup, Vec<Answer>>,
}

/// All results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    outcomes: SortedMap<Setup, SortedMap<u64, Outcome>>,
}

impl Results {
    /// A measurement of this cluster, for each seed.
    pub(crate) fn truths(&self, setup: &Setup, of: impl Fn(&Truth) -> f64) -> Vec<f64> {
        self.outcomes[setup].values().map(|outcome| of(&outcome.truth)).collect()
    }

    /// A measurement of this cluster, averaged over the seeds.
    pub(crate) fn mean(&self, setup: &Setup, of: impl Fn(&Truth) -> f64) -> f64 {
        let all = self.truths(setup, of);
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// Utilization of a resource, averaged over the seeds.
    pub(crate) fn busy(&self, setup: &Setup, host: &str, resource: &str) -> f64 {
        self.mean(setup, |truth| truth.hosts[host][resource].utilization)
    }

    /// The bottlenecks of this cluster over all seeds: `disk of osd`, `nic_transmit of proxy`.
    pub(crate) fn bottlenecks(&self, setup: &Setup) -> SortedSet<String> {
        let kind = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let bottleneck = |outcome: &Outcome| {
            let found = &outcome.truth.bottleneck;
            format!("{} of {}", kind(&found.resource), kind(&found.host))
        };
        self.outcomes[setup].values().map(bottleneck).collect()
    }

    /// The predictions of this model for the cluster `to`, from the records of `from`, for each seed.
    pub(crate) fn predictions(
        &self,
        from: &Setup,
        to: &Setup,
        model: usize,
        of: impl Fn(&Answer) -> f64,
    ) -> Vec<f64> {
        self.outcomes[from].values().map(|outcome| of(&outcome.predictions[to][model])).collect()
    }

    /// Whether a condition holds for this cluster with every seed.
    pub(crate) fn always(&self, setup: &Setup, of: impl Fn(&Truth) -> bool) -> bool {
        self.outcomes[setup].values().all(|outcome| of(&outcome.truth))
    }

    /// Whether there are results for this cluster.
    pub(crate) fn has(&self, setup: &Setup) -> bool {
        self.outcomes.contains_key(setup)
    }

    /// Adds the results of another plan, for other clusters.
    pub(crate) fn and(mut self, later: Self) -> Self {
        self.outcomes.extend(later.outcomes);
        self
    }

    /// Whether the results of a whole plan are there.
    pub(crate) fn have(&self, plan: &Plan, seeds: u64) -> bool {
        let there = |setup| self.outcomes.get(setup).is_some_and(|all| all.len() as u64 == seeds);
        plan.runs.keys().all(there)
    }
}

struct Job<'a> {
    setup: &'a Setup,
    questions: Vec<&'a Setup>,
    seed: u64,
}

/// Directories of recorded runs: of those that are kept, and of temporary ones.
const KEPT: &str = "runs";
const PASSING: &str = "scratch";

/// Runs the whole plan with the seeds 1, 2, ...; recorded runs go to directories in `directory`. If a
/// part fails, the error is returned beside the results of the rest.
pub(crate) fn perform(
    plan: &Plan,
    seeds: u64,
    workers: Workers<'_>,
    directory: &Directory,
    keep: bool,
) -> (Results, Option<Error>) {
    // remove what a killed process left behind
    if let Err(error) = directory.remove_parts(PASSING) {
        return (Results::default(), Some(error.into()));
    }
    let mut jobs = Vec::new();
    for (setup, questions) in &plan.runs {
        for seed in 1..=seeds {
            jobs.push(Job { setup, questions: questions.iter().collect(), seed });
        }
    }
    // jobs with many questions take longest and come first
    jobs.sort_by_key(|job| std::cmp::Reverse(job.questions.len()));
    let done = workers.perform(&jobs, |job| perform_one(job, workers, directory, keep));
    let mut results = Results::default();
    for (number, outcome) in done.results {
        let job = &jobs[number];
        results.outcomes.entry(job.setup.clone()).or_default().insert(job.seed, outcome);
    }
    (results, done.failure)
}

/// The directory name of a kept run. The same cluster with the same seed has the same name, whichever
/// figures need it.
fn name_of(job: &Job<'_>, keep: bool, scenario: &str) -> String {
    let place = if keep { KEPT } else { PASSING };
    // enough digits to distinguish a few hundred clusters
    let digest = &hex_of(scenario.as_bytes())[..12];
    format!("{place}/{}-{digest}-{}", job.setup.scenario(), job.seed)
}

fn perform_one(
    job: &Job<'_>,
    workers: Workers<'_>,
    directory: &Directory,
    keep: bool,
) -> Result<Outcome, Error> {
    let mut document = job.setup.document()?;
    document.set("seed", &job.seed.to_string())?;
    let simulation = Simulation::new(&document)?;
    if job.questions.is_empty() {
        let truth = simulation.run(|progress| workers.go_on(progress))?;
        return Ok(Outcome { truth, predictions: SortedMap::new() });
    }
    let scenario = document.resolved()?;
    let part = directory.part(&name_of(job, keep, &scenario), RUN)?;
    // an earlier run of the same cluster stays until this one is complete
    let recorded = || {
        let mut kept = RunDirectory::of(part.clone())?;
        let (truth, _) = kept.record(simulation, |progress| workers.go_on(progress))?;
        if keep {
            kept.write(SCENARIO_FILE, &scenario)?;
        }
        kept.replace()?;
        let observed = Observed::open(part.path())?;
        let mut predictions = SortedMap::new();
        for target in &job.questions {
            let changes = job.setup.changes_to(target);
            let predicted = observed.predict(&changes, &mut PartsShelf)?;
            let answers = MODELS.map(|model| predicted.answer(model));
            predictions.insert((*target).clone(), answers.into());
        }
        Ok(Outcome { truth, predictions })
    };
    let outcome = recorded();
    if !keep {
        // if it cannot be removed, a full disk is reported elsewhere
        let _ = part.clear(&[]);
    }
    outcome
}
