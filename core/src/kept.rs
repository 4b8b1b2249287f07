//! Runs that were kept: questions to their records, and how good the answers are.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use foretell_scenarios::{Change, Document};
use foretell_sim::Progress;
use foretell_whatif::{Answer, Experience, Model, Observed, Prediction, WhatIfError};

use crate::error::Error;
use crate::run_directory::SCENARIO_FILE;
use crate::scenario::Scenario;
use crate::score::{Comparison, compare};
use crate::shelf::PartsShelf;
use crate::simulation::Simulation;

/// The records of a run, open for as many questions as wanted.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    observed: Observed,
    experience: Experience,
}

impl Run {
    /// Opens a directory that [`record`](crate::record()) or `foretell run -o` wrote, or its `run.db`.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`] if the records are not there, are of another version, or are damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().to_owned();
        let observed = Observed::open(&directory).map_err(|error| match error {
            WhatIfError::Store(error) => Error::NotARun(error),
            error => error.into(),
        })?;
        Ok(Self { directory, observed, experience: Experience::shipped() })
    }

    /// What clients would see with these changes, as `foretell ask --what-if` says it. Without a change: what
    /// the model says of the run as it was.
    ///
    /// # Errors
    ///
    /// [`Error::Scenario`] where the changed scenario is wrong, [`Error::WhatIf`] where records say nothing of
    /// what is asked.
    pub fn ask(&self, changes: &[Change], model: Model) -> Result<Answer, Error> {
        let prediction = self.predict(changes)?;
        let mut answer = prediction.answer(model);
        if prediction.differs() {
            answer.expect(&self.experience);
        }
        Ok(answer)
    }

    /// The answer beside what really happens: the changed scenario is simulated with the run's own seed.
    ///
    /// # Errors
    ///
    /// As [`Run::ask`], and those of [`run`](crate::run()).
    pub fn score(
        &self,
        changes: &[Change],
        model: Model,
        observer: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<Comparison>, Error> {
        let answer = self.predict(changes)?.answer(model);
        // what a kept run names is in it or has its full path; what a change names stands here
        let document = Document::load(self.directory.join(SCENARIO_FILE))?.seen_from("");
        let mut after = Scenario::from(document);
        after.change(changes)?;
        let truth = Simulation::new(after.document())?.run(observer)?;
        Ok(compare(&answer, &truth))
    }

    fn predict(&self, changes: &[Change]) -> Result<Prediction<'_>, Error> {
        Ok(self.observed.predict(changes, &mut PartsShelf)?)
    }
}
