//! What can go wrong with a data set.

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
    /// The system refuses.
    #[error("cannot {what} `{}`: {error}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A file or directory is not ours to write, or another process has it.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The caller wanted an end.
    #[error("interrupted while the data set was made")]
    Interrupted,
    /// A file is not what it is called.
    #[error("`{}` is not {wanted}: {fault}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What it should be.
        wanted: &'static str,
        /// What is wrong with it.
        fault: String,
    },
    /// A directory belongs to another sweep.
    #[error(
        "`{}` holds another sweep (`{title}`, by version {version}); the same sweep file, base scenario and version are wanted",
        path.display()
    )]
    OtherSweep {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        title: String,
        /// Which version made it.
        version: String,
    },
    /// There is no data set.
    #[error("`{}` holds no sweep: there is no `{file}`", path.display())]
    NoSweep {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        file: &'static str,
    },
    /// A run stands in two journals, or twice in one.
    #[error("run {run} stands twice: in `{}` and in `{}`", first.display(), second.display())]
    Twice {
        /// The run's number.
        run: u64,
        /// One journal.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A run has more rows than can be kept.
    #[error("run {run} has {fault} a run at most; keep fewer requests (`output`)")]
    TooMuch {
        /// The run's number.
        run: u64,
        /// How much, and how much may be.
        fault: String,
    },
    /// Runs are missing.
    #[error("{count} of {all} runs are missing: {shown}")]
    Missing {
        /// How many.
        count: u64,
        /// Of how many.
        all: u64,
        /// Their numbers, as far as they are few.
        shown: String,
    },
}

impl DataError {
    /// For `map_err`: `what` was tried with the file at `path`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

    /// For `map_err`: the Parquet library could not write.
    #[cfg(feature = "parquet")]
    pub(crate) fn parquet(path: &Path) -> impl Fn(parquet::errors::ParquetError) -> Self + use<> {
        let path = path.to_owned();
        move |error| {
            // a full disk is told as the system tells it
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
