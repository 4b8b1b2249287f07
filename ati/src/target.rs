//! The files of a store: no file looks complete before it is.
//!
//! Records go to `run.db.partial`, without a journal and without syncing: a run can be repeated, so a crash only
//! costs a rerun. When everything is written the file is synced and renamed to `run.db`, and the directory is
//! synced. A process killed at any moment, a full disk or a power cut leaves at most a `run.db.partial`.
//!
//! A `run.db` of an earlier run is kept until the new one gets its name. Records of one scenario must not be
//! beside the description of another. So a caller that writes both takes the file before it has its name
//! ([`crate::Recorder::conclude_unnamed`]) and replaces everything together ([`Directory::replace`]).
//! [`Directory`] ensures that only one process at a time writes into a directory.

use std::io;
use std::path::{Path, PathBuf};

use foretell_files::{Directory, NewFile, Purpose};

use crate::StoreError;

/// Name of a finished store in its directory.
pub const STORE_FILE: &str = "run.db";

/// Name of a store that is being written.
pub const PARTIAL_FILE: &str = "run.db.partial";

/// The purpose for which the directory of a run is taken.
pub const RUN: Purpose<'static> = Purpose::of("run");

/// A store that is being written. If it is dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Target {
    file: NewFile,
}

impl Target {
    /// Begins the file. A file that an interrupted run left under the unfinished name is removed.
    pub(crate) fn prepare(directory: &Directory) -> Result<Self, StoreError> {
        Ok(Self { file: directory.begin_as(STORE_FILE, PARTIAL_FILE)? })
    }

    /// Path of the file to write to, which already exists.
    pub(crate) fn partial(&self) -> PathBuf {
        self.file.temporary_path()
    }

    /// The finished file, which is on the disk and has no name yet.
    pub(crate) fn finished(mut self) -> Result<NewFile, StoreError> {
        self.file.close()?;
        Ok(self.file)
    }
}

/// Adds the operation and the path to an error of the file system.
pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { doing, path, source }
}

/// Adds the operation and the path to an error of SQLite.
pub(crate) fn sql_error(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Sql { doing, path, source }
}
