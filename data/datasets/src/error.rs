//! Errors of data sets.

use std::path::{Path, PathBuf};

use foretell_files::FilesError;
use thiserror::Error;

/// Why a data set cannot be written, read or joined.
#[derive(Debug, Error)]
pub enum DataError {
    /// The program was built without Parquet.
    #[error(
        "this program was built without Parquet (feature `parquet`): take comma-separated values, `--csv`"
    )]
    NoParquet,
    /// The system refused an action on a file.
    #[error("cannot {what} `{}`: {error}", path.display())]
    File {
        /// The failed action.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// A file or directory does not belong to this program, or another process uses it.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The caller interrupted the work.
    #[error("interrupted while the data set was made")]
    Interrupted,
    /// A file does not have the expected format.
    #[error("`{}` is not {wanted}: {fault}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The expected format.
        wanted: &'static str,
        /// The error in it.
        fault: String,
    },
    /// A directory belongs to another sweep.
    #[error(
        "`{}` holds another sweep (`{title}`, by version {version}); expected the same sweep file, base scenario and version",
        path.display()
    )]
    OtherSweep {
        /// The directory.
        path: PathBuf,
        /// Title of the sweep that it holds.
        title: String,
        /// Version of the program that made it.
        version: String,
    },
    /// A directory without a data set.
    #[error("`{}` holds no sweep: there is no `{file}`", path.display())]
    NoSweep {
        /// The directory.
        path: PathBuf,
        /// The missing file.
        file: &'static str,
    },
    /// A run is in two journals, or twice in one.
    #[error("run {run} occurs twice: in `{}` and in `{}`", first.display(), second.display())]
    Twice {
        /// The run's number.
        run: u64,
        /// One journal.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A run has more rows than a journal can hold.
    #[error("run {run} has {fault} a run at most; keep fewer requests (`output`)")]
    TooMuch {
        /// The run's number.
        run: u64,
        /// Size of the run, and the limit.
        fault: String,
    },
    /// Runs are missing.
    #[error("{count} of {all} runs are missing: {shown}")]
    Missing {
        /// Number of missing runs.
        count: u64,
        /// Number of all runs.
        all: u64,
        /// Numbers of the first missing runs.
        shown: String,
    },
}

impl DataError {
    /// For `map_err`: the failed action `what` on the file at `path`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

    /// Whether a file was not there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::File { error, .. } if error.kind() == std::io::ErrorKind::NotFound)
    }

    /// For `map_err`: the Parquet library could not write.
    #[cfg(feature = "parquet")]
    pub(crate) fn parquet(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> Self + use<> {
        let path = path.to_owned();
        move |error| {
            // a full disk is reported with the system's own error
            let error = match error {
                parquet::errors::ParquetError::External(inner) => {
                    match inner.downcast::<std::io::Error>() {
                        Ok(error) => *error,
                        Err(other) => std::io::Error::other(other),
                    }
                }
                other => std::io::Error::other(other),
            };
            Self::File { what: "write", path: path.clone(), error }
        }
    }
}
