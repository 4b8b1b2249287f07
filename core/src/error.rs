//! What can go wrong.

use foretell_ati::StoreError;
#[cfg(feature = "files")]
use foretell_files::FilesError;
use foretell_scenarios::{ChangeError, ScenarioErrors};
use foretell_sim::SimError;
use foretell_whatif::WhatIfError;
use foretell_workloads::trace::TraceError;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum Error {
    /// The scenario is wrong; each error says where.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// What was asked for is wrong in another way.
    #[error("{0}")]
    Invalid(String),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The run failed, or its observer ended it.
    #[error(transparent)]
    Run(#[from] SimError),
    /// A file or directory is not ours to write, or cannot be written.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The records cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was given as a run cannot be read as one.
    #[error(transparent)]
    NotARun(StoreError),
    /// There is no prediction.
    #[error(transparent)]
    WhatIf(#[from] WhatIfError),
    /// An observer ended what was being done.
    #[error("interrupted after {done}")]
    Interrupted {
        /// What was done until then.
        done: String,
    },
}

impl Error {
    /// All that is wrong, with what would be right where that is known; a line for each fault of a scenario.
    pub fn lines(&self) -> String {
        match self {
            Self::Scenario(errors) => errors.lines(),
            other => other.to_string(),
        }
    }
}

/// What is written as a change and is none.
impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        Self::Invalid(error.to_string())
    }
}
