//! Errors of reproductions.

use std::path::Path;

use foretell_ati::StoreError;
use foretell_files::FilesError;
use foretell_learn::LearnError;
use foretell_metrics::MetricsError;
use foretell_scenarios::ScenarioErrors;
use foretell_sim::SimError;
use foretell_whatif::WhatIfError;
use thiserror::Error;

/// Why a reproduction failed.
#[derive(Debug, Error)]
pub enum Error {
    /// A run, a prediction or a file failed.
    #[error(transparent)]
    Core(#[from] foretell_core::Error),
    /// A model cannot be fitted.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Features cannot be computed.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
}

impl Error {
    /// An error for a wrong request of the user.
    pub(crate) fn invalid(message: String) -> Self {
        Self::Core(foretell_core::Error::Invalid(message))
    }

    /// For `map_err`: the failed action `what` on the file at `path`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let core = foretell_core::Error::file(what, path);
        |error| Self::Core(core(error))
    }
}

/// Converts the errors of the libraries beneath.
macro_rules! by_core {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Core(error.into())
            }
        })*
    };
}

by_core!(FilesError, ScenarioErrors, SimError, StoreError, WhatIfError);
