//! The files of a store: nothing looks whole before it is.
//!
//! Records go to `run.db.partial`, without journal and without syncing: a run can be made again,
//! so a crash costs a rerun. When all is written the file is synced and renamed to `run.db`, and
//! the directory is synced. A process killed at any moment, a full disk or a power cut leaves a
//! `run.db.partial` at most.
//!
//! A `run.db` of an earlier run stays until the new one gets its name. Records of one scenario must not stand
//! beside the description of another: who writes both takes the file before it has its name
//! ([`crate::Recorder::conclude_unnamed`]) and replaces everything at once ([`Directory::replace`]). One process
//! at a time writes into a directory ([`Directory`] sees to it).

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
    /// Begins the file; what interrupted runs left under its unfinished name is removed.
    pub(crate) fn prepare(directory: &Directory) -> Result<Self, StoreError> {
        Ok(Self { file: directory.begin_as(STORE_FILE, PARTIAL_FILE)? })
    }

    /// The file to write to, which is there.
    pub(crate) fn partial(&self) -> PathBuf {
        self.file.temporary_path()
    }

    /// The finished file, which is on the disk and has no name yet.
    pub(crate) fn finished(mut self) -> Result<NewFile, StoreError> {
        self.file.close()?;
        Ok(self.file)
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
