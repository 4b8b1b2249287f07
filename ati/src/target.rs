//! The files of a store: nothing looks whole before it is.
//!
//! Records go to `run.db.partial`, without journal and without syncing: a run can be made again,
//! so a crash costs a rerun. When all is written the file is synced and renamed to `run.db`, and
//! the directory is synced. A process killed at any moment, a full disk or a power cut leaves a
//! `run.db.partial` at most.
//!
//! A `run.db` of an earlier run is removed *before* a rerun begins: if the rerun dies, records of
//! one scenario must not stand beside the description of another. One process at a time writes
//! into a directory ([`Directory`] sees to it).

use std::io;
use std::path::{Path, PathBuf};

use foretell_files::{Directory, NewFile, Purpose};

use crate::StoreError;

/// Name of a finished store in its directory.
pub const STORE_FILE: &str = "run.db";

/// Name of a store that is being written.
pub const PARTIAL_FILE: &str = "run.db.partial";

/// What the directory of a run is taken for.
pub const RUN: Purpose<'static> = Purpose::of("run");

/// A store that is being written. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Target {
    file: NewFile,
}

impl Target {
    /// Makes a directory ready: removes what earlier runs left.
    pub(crate) fn prepare(directory: &Directory) -> Result<Self, StoreError> {
        directory.remove(STORE_FILE)?;
        Ok(Self { file: directory.begin_as(STORE_FILE, PARTIAL_FILE)? })
    }

    /// The file to write to, which is there.
    pub(crate) fn partial(&self) -> PathBuf {
        self.file.temporary_path()
    }

    /// Gives the finished file its name; it is on the disk when this returns.
    pub(crate) fn publish(self) -> Result<PathBuf, StoreError> {
        let store = self.file.path().to_owned();
        self.file.commit()?;
        Ok(store)
    }
}

/// Gives an error of the file system its place.
pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { doing, path, source }
}

/// Gives an error of SQLite its place.
pub(crate) fn sql_error(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Sql { doing, path, source }
}
