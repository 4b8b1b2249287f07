//! Errors in files of metrics.

use thiserror::Error;

/// A file that cannot be used.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// It is not a CSV file, or could not be read.
    #[error("`{file}`: {error}")]
    Csv {
        /// The file.
        file: String,
        /// The error.
        error: csv::Error,
    },
    /// A line is invalid.
    #[error("`{file}`, line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The found and the expected content.
        reason: String,
    },
    /// The file lacks required data.
    #[error("`{file}`: {reason}")]
    Lacks {
        /// The file.
        file: String,
        /// The missing data.
        reason: String,
    },
    /// Files do not match each other.
    #[error("{reason}")]
    Apart {
        /// The reason.
        reason: String,
    },
}
