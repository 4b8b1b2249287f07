//! How a command fails, and what it says then.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use foretell_ati::StoreError;
use foretell_scenarios::ScenarioErrors;
use foretell_sim::SimError;
use foretell_workloads::trace::TraceError;
use thiserror::Error;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// What was asked for is wrong in another way.
    #[error("{0}")]
    Usage(String),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The user asked for an end.
    #[error("interrupted after {done}")]
    Interrupted {
        /// What was done until then.
        done: String,
    },
    /// The run failed.
    #[error(transparent)]
    Run(#[from] SimError),
    /// The record store cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or directory cannot be written.
    #[error("cannot {what} `{}`: {error}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Standard output is closed or full.
    #[error("cannot write the results: {0}")]
    Output(std::io::Error),
}

impl Failure {
    /// For `map_err`: `what` was tried with the file at `path`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

    /// Whether the user's input is at fault, rather than the run.
    fn is_input(&self) -> bool {
        match self {
            Self::Scenario(_)
            | Self::Usage(_)
            | Self::Trace(_)
            | Self::Run(SimError::Source { .. } | SimError::Impossible { .. }) => true,
            Self::Interrupted { .. }
            | Self::Run(_)
            | Self::Store(_)
            | Self::File { .. }
            | Self::Output(_) => false,
        }
    }

    /// Says what went wrong, on standard error, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let status = ExitCode::from(if self.is_input() { 2 } else { 1 });
        match self {
            // whoever reads our output has read enough
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Scenario(errors) => eprintln!("{:?}", miette::Report::new(errors)),
            failure => eprintln!("foretell: {failure}"),
        }
        status
    }
}
