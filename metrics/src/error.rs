//! What can be wrong with files of metrics.

use thiserror::Error;

/// A file that cannot be used.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// It is no CSV file, or could not be read.
    #[error("`{file}`: {error}")]
    Csv {
        /// Which file.
        file: String,
        /// What is wrong.
        error: csv::Error,
    },
    /// A line is not what it should be.
    #[error("`{file}`, line {line}: {reason}")]
    Line {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: u64,
        /// What was found, and what was expected.
        reason: String,
    },
    /// It lacks something that is needed.
    #[error("`{file}`: {reason}")]
    Lacks {
        /// Which file.
        file: String,
        /// What.
        reason: String,
    },
    /// Files do not go together.
    #[error("{reason}")]
    Apart {
        /// Why.
        reason: String,
    },
}
