//! The journals of a sweep's directory: one for each shard, in `shards/NAME/runs.journal`.

use std::path::{Path, PathBuf};

use crate::error::DataError;

/// Directory of the journals of all shards.
pub const SHARDS: &str = "shards";
/// The journal of a shard, in the directory named after it.
pub const JOURNAL: &str = "runs.journal";

/// The journals of all shards in a sweep's directory, by name. A finished sweep has none.
///
/// # Errors
///
/// If the directory cannot be read.
pub fn journals(directory: &Path) -> Result<Vec<PathBuf>, DataError> {
    let shards = directory.join(SHARDS);
    let entries = match std::fs::read_dir(&shards) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(DataError::file("read", &shards)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let journal = entry.map_err(DataError::file("read", &shards))?.path().join(JOURNAL);
        if journal.exists() {
            found.push(journal);
        }
    }
    found.sort();
    Ok(found)
}
