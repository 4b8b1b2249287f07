//! What can go wrong.

use std::path::{Path, PathBuf};

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
    /// A file cannot be read.
    #[error("cannot {what} `{}`: {error}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
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
    /// For `map_err`: `what` was tried with the file at `path`.
    pub fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

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
