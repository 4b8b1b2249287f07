//! What can be wrong with a file.

use foretell_algorithms::crush::{ClusterMapError, CrushError};
use thiserror::Error;

/// Why a file or several cannot be read as a cluster's map.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("cannot read `{file}`: {error}")]
    File {
        /// Its name.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// JSON is broken off or misses something.
    #[error("{file}: {error}")]
    Json {
        /// Its name.
        file: String,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
    /// Text of something else.
    #[error(
        "{file} is no file of a Ceph cluster: it is neither JSON (`ceph report`, `ceph osd dump -f json`, \
         `ceph osd crush dump`) nor the text of a CRUSH map (`crushtool -d`)"
    )]
    NoMap {
        /// Its name.
        file: String,
    },
    /// JSON of something else.
    #[error(
        "{file} is none of `ceph report`, `ceph osd dump -f json`, `ceph osd crush dump`, `ceph osd df`, \
         `ceph osd perf`, `perf dump`: it has the keys {keys}"
    )]
    Unknown {
        /// Its name.
        file: String,
        /// Its first keys.
        keys: String,
    },
    /// A value is not possible.
    #[error("{file}: {what}")]
    Value {
        /// Its name.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// The text of a map is wrong.
    #[error("{file}:{line}: {what}")]
    Text {
        /// Its name.
        file: String,
        /// In which line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The CRUSH map is wrong.
    #[error("{file}: {error}")]
    Crush {
        /// Its name.
        file: String,
        /// What is wrong.
        error: CrushError,
    },
    /// The cluster's map is wrong.
    #[error("{file}: {error}")]
    Cluster {
        /// Its name.
        file: String,
        /// What is wrong.
        error: ClusterMapError,
    },
    /// A part is there twice, or missing.
    #[error("{0}")]
    Parts(String),
}
