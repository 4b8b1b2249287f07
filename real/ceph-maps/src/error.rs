//! Errors of files.

use foretell_algorithms::crush::{ClusterMapError, CrushError};
use foretell_input::json_fault;
use thiserror::Error;

/// The reason why files cannot be read as a cluster's map.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("cannot read `{file}`: {error}")]
    File {
        /// Its name.
        file: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// JSON is cut off or incomplete.
    #[error("{file}: {}", json_fault(error))]
    Json {
        /// Its name.
        file: String,
        /// The error and its place.
        error: serde_json::Error,
    },
    /// A text that is not of a Ceph cluster.
    #[error(
        "{file} is not a file of a Ceph cluster: it is neither JSON (`ceph report`, `ceph osd dump -f json`, \
         `ceph osd crush dump`) nor the text of a CRUSH map (`crushtool -d`)"
    )]
    NoMap {
        /// Its name.
        file: String,
    },
    /// JSON that is not of a Ceph cluster.
    #[error(
        "{file} is none of `ceph report`, `ceph osd dump -f json`, `ceph osd crush dump`, `ceph df`, `ceph osd df`, \
         `ceph osd perf`, `perf dump`: {keys}"
    )]
    Unknown {
        /// Its name.
        file: String,
        /// Its first keys.
        keys: String,
    },
    /// Output of Ceph in which there is nothing to read.
    #[error("{file} has nothing to read: it is {found}")]
    Nothing {
        /// Its name.
        file: String,
        /// What it is, and what to give instead.
        found: String,
    },
    /// A value is not possible.
    #[error("{file}: {what}")]
    Value {
        /// Its name.
        file: String,
        /// The error.
        what: String,
    },
    /// The text of a map is wrong.
    #[error("{file}:{line}: {what}")]
    Text {
        /// Its name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The error.
        what: String,
    },
    /// The CRUSH map is wrong.
    #[error("{file}: {error}")]
    Crush {
        /// Its name.
        file: String,
        /// The error.
        error: CrushError,
    },
    /// The cluster's map is wrong.
    #[error("{file}: {error}")]
    Cluster {
        /// Its name.
        file: String,
        /// The error.
        error: ClusterMapError,
    },
    /// A part appears twice, or is missing.
    #[error("{0}")]
    Parts(String),
}
