//! Asks all models for a prediction, and simulates the same question.

use std::path::Path;

use foretell_ati::RUN;
use foretell_files::Directory;
use foretell_scenarios::{Change, Document};
use foretell_sim::truth::Truth;
use foretell_whatif::{
    Answer, Asked, Circumstances, EXPECTED_METRICS, Experience, Model, Observed, PastScore,
    WITH_EVENTS, WhatIfError,
};

use super::{Comparison, Verdict, compare};
use crate::error::Error;
use crate::jobs::Workers;
use crate::shelf::PartsShelf;
use crate::simulation::Simulation;

/// The model that answers, and the past scores.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// The requested model.
    pub asked: Asked,
    /// Past scores, from which intervals come.
    pub experience: &'a Experience,
    /// Threads that answer many questions, and the observer that may end the work.
    pub workers: Workers<'a>,
}

/// The answer of the requested model, and the answers of all models.
pub struct Predicted {
    /// The answer of the requested model.
    pub answer: Answer,
    all: Vec<Answer>,
    /// Whether the changes have an effect.
    differs: bool,
}

impl Judge<'_> {
    /// Asks all models. The answer is the one that a user would get.
    ///
    /// # Errors
    ///
    /// If the changed cluster is impossible, or the model cannot answer.
    pub fn ask(self, observed: &Observed, changes: &[Change]) -> Result<Predicted, Error> {
        let prediction = observed.predict(changes, &mut PartsShelf)?;
        let fast = match observed.fast_beside(changes, &mut PartsShelf) {
            Err(error @ WhatIfError::Overload { .. }) => Err(error.to_string()),
            found => found?,
        };
        let mut answer = match (self.asked, &fast) {
            (asked, Ok(fast)) if asked.takes(fast, self.experience, observed) => fast.clone(),
            (Asked::Of(Model::Fast), Err(reason)) => {
                return Err(WhatIfError::not_followed(Model::Fast, changes, reason).into());
            }
            (Asked::Of(model), _) => {
                prediction.must_know(model, changes)?;
                prediction.answer(model)
            }
            (Asked::Auto, _) => prediction.answer(Model::Replay),
        };
        let differs = prediction.differs();
        if differs {
            answer.expect(self.experience);
        }
        let others = [Model::Bounds, Model::Mva, Model::Replay].into_iter();
        let others = others.filter(|model| prediction.knows(*model));
        // of a short run both models replay everything, which says nothing about short stretches
        let fast = fast.ok().filter(|_| observed.has_short_stretches());
        let all = others.map(|model| prediction.answer(model)).chain(fast).collect();
        Ok(Predicted { answer, all, differs })
    }

    /// Predicts changes from the records of a run in a directory, and simulates the `document` with them.
    ///
    /// # Errors
    ///
    /// If the directory holds no run, those of [`Judge::ask`], and those of a run.
    pub fn score(
        self,
        directory: &Path,
        document: &Document,
        changes: &[Change],
    ) -> Result<Scored, Error> {
        let observed = open(directory)?;
        let predicted = self.ask(&observed, changes)?;
        let edited = changed(document, changes)?;
        let truth = self.simulate(&edited)?;
        let overload = Verdict::of(&predicted.answer, &edited.check()?, &truth);
        let learned = predicted.learned(changes, &truth);
        let comparisons = compare(&predicted.answer, &truth);
        let Answer { notes, assumed, model, .. } = predicted.answer;
        Ok(Scored { comparisons, learned, notes, assumed, overload, model })
    }

    /// The truth, without keeping records.
    ///
    /// # Errors
    ///
    /// Those of a run.
    pub fn simulate(self, document: &Document) -> Result<Truth, Error> {
        Simulation::new(document)?.run(|progress| self.workers.go_on(progress))
    }

    /// Simulates a document and keeps its records in a directory.
    ///
    /// # Errors
    ///
    /// Those of a run. Also if the directory holds files that the program did not make.
    pub fn record(self, document: &Document, directory: &Path) -> Result<(), Error> {
        let directory = Directory::take(directory, RUN)?;
        Simulation::new(document)?.record(&directory, |progress| self.workers.go_on(progress))?;
        Ok(())
    }
}

/// A copy of the document with these changes.
pub(super) fn changed(document: &Document, changes: &[Change]) -> Result<Document, Error> {
    let mut after = document.clone();
    for change in changes {
        after.set(&change.path, &change.value)?;
    }
    Ok(after)
}

/// The records of a run in a directory.
pub(super) fn open(directory: &Path) -> Result<Observed, Error> {
    Observed::open(directory).map_err(|error| match error {
        WhatIfError::Store(error) => Error::NotARun(error),
        error => error.into(),
    })
}

/// A prediction, compared with the truth.
#[derive(Clone, Debug)]
pub struct Scored {
    /// Comparisons by workload and metric.
    pub comparisons: Vec<Comparison>,
    /// What every model's answer adds to the past scores.
    pub learned: Vec<PastScore>,
    /// Requested changes that have no effect.
    pub notes: Vec<String>,
    /// What the answer assumes.
    pub assumed: Vec<String>,
    /// The verdict on overload; `None` if there is none, neither predicted nor simulated.
    pub overload: Option<Verdict>,
    /// The model that answered.
    pub model: Model,
}

impl Predicted {
    /// What the answers of all models add to the past scores. An answer without a change adds nothing
    /// about changes.
    pub fn learned(&self, changes: &[Change], truth: &Truth) -> Vec<PastScore> {
        if !changes.is_empty() && !self.differs {
            return Vec::new();
        }
        let of_answer = |answer: &Answer| learned(answer, &compare(answer, truth));
        self.all.iter().flat_map(of_answer).collect()
    }
}

/// What an answer and its comparison with the truth add to the past scores.
fn learned(answer: &Answer, comparisons: &[Comparison]) -> Vec<PastScore> {
    let taught = |found: &Comparison| {
        let metric = found.metric.as_ref();
        let (metric, circumstances) = if EXPECTED_METRICS.contains(&metric) {
            let of = if answer.outages.is_some() { WITH_EVENTS } else { "" };
            (format!("{of}{metric}"), answer.workloads[&found.workload].circumstances)
        } else {
            (metric.to_owned(), in_phase(answer, &found.workload, metric)?)
        };
        let error = (found.predicted - found.measured) / found.measured;
        Some(PastScore { model: answer.model, metric, circumstances, error })
    };
    comparisons.iter().filter(|found| found.error.is_finite()).filter_map(taught).collect()
}

/// The circumstances of a metric that names a phase, such as `degraded.throughput_rps`.
fn in_phase(answer: &Answer, workload: &str, metric: &str) -> Option<Circumstances> {
    let (phase, metric) = metric.split_once('.')?;
    let phases = &answer.outages.as_ref()?.phases;
    let phase = phases.iter().find(|known| known.phase == phase)?;
    EXPECTED_METRICS.contains(&metric).then(|| phase.workloads[workload].circumstances)
}
