//! Kept runs: answers questions from their records, and measures the accuracy of the answers.

use std::ops::ControlFlow;
#[cfg(feature = "files")]
use std::path::{Path, PathBuf};

use foretell_ati::MemoryRun;
#[cfg(feature = "files")]
use foretell_scenarios::Document;
use foretell_scenarios::{Change, model};
use foretell_sim::Progress;
#[cfg(feature = "files")]
use foretell_whatif::WhatIfError;
use foretell_whatif::{Answer, Asked, Experience, Model, Observed, Prediction};
use serde::Serialize;

use crate::capacity::Capacities;
use crate::error::Error;
use crate::prices::Prices;
#[cfg(feature = "files")]
use crate::run_directory::SCENARIO_FILE;
use crate::scenario::Scenario;
use crate::score::{Comparison, compare};
use crate::shelf::PartsShelf;
use crate::simulation::Simulation;

/// The records of a run. Any number of questions can be asked.
#[derive(Debug)]
pub struct Run {
    kept: Kept,
    observed: Observed,
    experience: Experience,
}

/// Where a run is kept.
#[derive(Debug)]
enum Kept {
    #[cfg(feature = "files")]
    Directory(PathBuf),
    Memory(Box<Scenario>),
}

/// An answer, and the capacities of its cluster. With [`to_json`](crate::to_json()) it gives the output of
/// `foretell ask --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// What volumes would hold, survive and cost.
    pub capacity: Capacities,
}

impl Answered {
    /// Adds the capacities of this cluster to an answer.
    pub fn new(answer: Answer, scenario: &model::Scenario, prices: &Prices) -> Self {
        Self { answer, capacity: Capacities::of(scenario, prices) }
    }
}

impl Run {
    /// Opens a directory that [`record`](crate::record()) or `foretell run -o` wrote, or its `run.db`.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`] if the records are not there, are of another version, or are damaged.
    #[cfg(feature = "files")]
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().to_owned();
        let observed = Observed::open(&directory).map_err(|error| match error {
            WhatIfError::Store(error) => Error::NotARun(error),
            error => error.into(),
        })?;
        Ok(Self { kept: Kept::Directory(directory), observed, experience: Experience::shipped() })
    }

    /// Allows questions to name files below this directory only. For questions of people who may not read everything
    /// that this process can.
    #[cfg(feature = "files")]
    #[must_use]
    pub fn confining_changes(self, directory: impl AsRef<Path>) -> Self {
        Self { observed: self.observed.confining_changes(directory.as_ref()), ..self }
    }

    /// A run of this scenario whose records were kept by [`remember`](crate::remember()). Its devices are
    /// measured now, which takes some time.
    ///
    /// # Errors
    ///
    /// [`Error::WhatIf`] if too little was recorded to predict from.
    pub fn in_memory(mut run: MemoryRun, scenario: &Scenario) -> Result<Self, Error> {
        crate::shelf::measure_devices(run.facts_mut(), &scenario.check()?);
        let observed = Observed::of(&run)?;
        let kept = Kept::Memory(Box::new(scenario.clone()));
        Ok(Self { kept, observed, experience: Experience::shipped() })
    }

    /// Predicts what clients would see with these changes, as `foretell ask --what-if` does. Without a
    /// change, predicts the recorded run itself.
    ///
    /// # Errors
    ///
    /// [`Error::Scenario`] if the changed scenario is wrong, [`Error::WhatIf`] if the records cannot answer the
    /// question.
    pub fn ask(&self, changes: &[Change], model: Model) -> Result<Answer, Error> {
        self.ask_any(changes, Asked::Of(model))
    }

    /// As [`Run::ask`], with a chosen model, or with the fastest model that past scores show to be accurate.
    /// All questions share what is derived from the recorded run.
    ///
    /// # Errors
    ///
    /// As [`Run::ask`]; also if the fast model is requested and cannot follow the changes.
    pub fn ask_any(&self, changes: &[Change], asked: Asked) -> Result<Answer, Error> {
        Ok(self.observed.answer(changes, &mut PartsShelf, asked, &self.experience)?.0)
    }

    /// As [`Run::ask_any`], with the capacities of the changed cluster. This is the whole document that the
    /// command prints.
    ///
    /// # Errors
    ///
    /// As [`Run::ask_any`].
    pub fn answered(&self, changes: &[Change], asked: Asked) -> Result<Answered, Error> {
        let (answer, scenario) =
            self.observed.answer(changes, &mut PartsShelf, asked, &self.experience)?;
        Ok(Answered::new(answer, &scenario, &Prices::shipped()))
    }

    /// Compares the answer with the truth. For the truth, the changed scenario is simulated with the run's
    /// own seed.
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
        let prediction = self.predict(changes)?;
        prediction.must_know(model, changes)?;
        let answer = prediction.answer(model);
        let mut after = match &self.kept {
            // files that a kept run names are in its directory or have full paths; those that a change names
            // are relative to the working directory
            #[cfg(feature = "files")]
            Kept::Directory(directory) => {
                Scenario::from(Document::load(directory.join(SCENARIO_FILE))?.seen_from(""))
            }
            Kept::Memory(scenario) => (**scenario).clone(),
        };
        after.change(changes)?;
        let truth = Simulation::new(after.document())?.run(observer)?;
        Ok(compare(&answer, &truth))
    }

    fn predict(&self, changes: &[Change]) -> Result<Prediction<'_>, Error> {
        Ok(self.observed.predict(changes, &mut PartsShelf)?)
    }
}
