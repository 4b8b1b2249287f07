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
    /// The scenario has errors. Each of them says where it is.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// Another argument is wrong.
    #[error("{0}")]
    Invalid(String),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The run failed, or its observer ended it.
    #[error(transparent)]
    Run(#[from] SimError),
    /// A file or directory cannot be written, or may not be written because the program did not make it.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The records cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory or file does not hold a run that can be read.
    #[error(transparent)]
    NotARun(StoreError),
    /// A file cannot be read.
    #[error("cannot {what} `{}`: {error}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The message of the operating system.
        error: std::io::Error,
    },
    /// There is no prediction.
    #[error(transparent)]
    WhatIf(#[from] WhatIfError),
    /// An observer ended the work.
    #[error("interrupted after {done}")]
    Interrupted {
        /// What was done before that.
        done: String,
    },
}

impl Error {
    /// For `map_err`: the operation `what` failed on the file at `path`.
    pub fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

    /// All errors, with the correct form where it is known. A scenario gives one line for each error.
    pub fn lines(&self) -> String {
        match self {
            Self::Scenario(errors) => errors.lines(),
            other => other.to_string(),
        }
    }
}

/// The text cannot be read as a change.
impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        Self::Invalid(error.to_string())
    }
}
