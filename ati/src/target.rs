//! The files of a store: nothing looks whole before it is.
//!
//! Records go to `run.db.partial`, without journal and without syncing: a run can be made again,
//! so a crash costs a rerun. When all is written the file is synced and renamed to `run.db`, and
//! the directory is synced. A process killed at any moment, a full disk or a power cut leaves a
//! `run.db.partial` at most.
//!
//! A `run.db` of an earlier run is removed *before* a rerun begins: if the rerun dies, records of
//! one scenario must not stand beside the description of another. One process at a time writes
//! into a directory, held by a lock on the directory itself, which the system drops with the
//! process, however that ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::StoreError;

/// Name of a finished store in its directory.
pub const STORE_FILE: &str = "run.db";

/// Name of a store that is being written.
pub const PARTIAL_FILE: &str = "run.db.partial";

/// A directory that only this process writes into, until all clones are dropped or it ends.
#[derive(Clone, Debug)]
pub struct DirectoryLock {
    dir: PathBuf,
    /// Keeps the lock while it is open; `None` where directories cannot be locked.
    _file: Option<Arc<File>>,
}

impl DirectoryLock {
    /// Makes the directory if need be, and locks it.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or another process holds it.
    pub fn take(dir: &Path) -> Result<Self, StoreError> {
        let dir = dir.to_owned();
        fs::create_dir_all(&dir).map_err(io_error("make the directory", &dir))?;
        let file = lock(&dir)?.map(Arc::new);
        Ok(Self { dir, _file: file })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }
}

/// The directory that a store is being written into.
#[derive(Debug)]
pub(crate) struct Target {
    lock: DirectoryLock,
}

impl Target {
    /// Makes a directory ready: removes what earlier runs left.
    pub(crate) fn prepare(lock: DirectoryLock) -> Result<Self, StoreError> {
        let dir = lock.path();
        for name in [STORE_FILE, PARTIAL_FILE] {
            let path = dir.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_error("remove", &path)(error));
                }
                _ => {}
            }
        }
        sync_dir(dir)?;
        Ok(Self { lock })
    }

    /// The file to write to.
    pub(crate) fn partial(&self) -> PathBuf {
        self.lock.dir.join(PARTIAL_FILE)
    }

    /// Gives the finished file its name; it is on the disk when this returns.
    pub(crate) fn publish(self) -> Result<PathBuf, StoreError> {
        let (partial, store) = (self.partial(), self.lock.dir.join(STORE_FILE));
        let file = File::open(&partial).map_err(io_error("open", &partial))?;
        file.sync_all().map_err(io_error("write", &partial))?;
        fs::rename(&partial, &store).map_err(io_error("rename", &partial))?;
        sync_dir(&self.lock.dir)?;
        Ok(store)
    }

    /// Removes what was written, as far as possible.
    pub(crate) fn discard(self) {
        // The error that led here, or the user's wish to stop, says more than a second one.
        let _ = fs::remove_file(self.partial());
    }
}

/// Locks the directory, or says that another process has it.
fn lock(dir: &Path) -> Result<Option<File>, StoreError> {
    let Ok(file) = File::open(dir) else {
        return Ok(None);
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy { dir: dir.to_owned() }),
        // Some network file systems have no locks.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Makes renames and removals in `dir` last.
fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        let sync = File::open(dir).and_then(|file| file.sync_all());
        sync.map_err(io_error("sync", dir))?;
    }
    Ok(())
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
