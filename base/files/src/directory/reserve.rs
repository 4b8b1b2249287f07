//! Directories that are reserved before anything is written into them.

use std::path::Path;

use super::{Access, Directory, Purpose, lock};
use crate::FilesError;
use crate::dir::{self, Dir};
use crate::manifest::Manifest;

/// An empty file in a directory that is reserved and not yet complete. It is listed in the manifest as a file that
/// grows, so it goes when the directory is dropped, and when [`Directory::replace`] completes the directory.
const RESERVED: &str = "reserved.partial";

impl Directory {
    /// Creates the directory at a path, and takes it. Of several processes, one creates it. The directories above it are
    /// created, too, and stay: other processes may be about to create directories in them.
    ///
    /// If nothing is written into it, it is removed when it is dropped. If the process is killed before
    /// [`Directory::replace`], [`Directory::remove_unfinished`] removes it.
    ///
    /// # Errors
    ///
    /// [`FilesError::Exists`] if something has this name; otherwise like [`Directory::take`].
    pub fn reserve(path: &Path, purpose: Purpose<'_>) -> Result<Self, FilesError> {
        if let Some(above) = path.parent() {
            dir::make(above)?;
        }
        let directory = Self::take(path, Purpose { new: true, ..purpose })?;
        directory.grow(RESERVED)?;
        Ok(directory)
    }

    /// Removes a directory that a process reserved and did not complete before it was killed: `last` is the file that
    /// marks a complete directory, as in [`Directory::replace`]. Files that we did not write stay. Any other directory
    /// is left as it is, and so is one that another process has, or may have because the file system has no locks.
    ///
    /// # Errors
    ///
    /// If the directory or a file of ours in it cannot be read or removed, or was changed by someone else.
    pub fn remove_unfinished(
        path: &Path,
        purpose: Purpose<'_>,
        last: &str,
    ) -> Result<(), FilesError> {
        // a directory that another process is creating has no manifest yet, and must not be locked here
        if !is_reserved(path)? {
            return Ok(());
        }
        let dir = Dir::open(path).map_err(FilesError::system("open", path))?;
        match lock(&dir, Access::Alone, path) {
            Ok(Some(lock)) => drop(lock),
            Ok(None) | Err(FilesError::Busy { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        let directory = match Self::take(path, purpose) {
            Err(FilesError::Busy { .. }) => return Ok(()),
            taken => taken?,
        };
        let failed = |error| FilesError::system("look at", &path.join(last))(error);
        let is_complete = directory.inner.dir.entry(last).map_err(failed)?.is_some();
        // its process may have completed it since the list was read
        if is_reserved(path)? && !is_complete {
            directory.clear(&[])?;
        }
        Ok(())
    }
}

/// Whether the manifest of a directory says that the directory is reserved.
fn is_reserved(path: &Path) -> Result<bool, FilesError> {
    let dir = Dir::open(path).map_err(FilesError::system("open", path))?;
    let manifest = Manifest::read(&dir, path)?;
    Ok(manifest.is_some_and(|manifest| manifest.files.contains_key(RESERVED)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::MANIFEST;

    const RUN: Purpose<'static> = Purpose::of("run");

    /// What a process leaves that reserves a directory and is killed.
    fn killed(path: &Path) {
        let directory = Directory::reserve(path, RUN).unwrap();
        let manifest = fs::read(path.join(MANIFEST)).unwrap();
        drop(directory);
        fs::create_dir(path).unwrap();
        fs::write(path.join(MANIFEST), manifest).unwrap();
        fs::write(path.join(RESERVED), "").unwrap();
    }

    fn remove_unfinished(path: &Path) {
        Directory::remove_unfinished(path, RUN, "run.db").unwrap();
    }

    fn names(path: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(path).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| PathBuf::from(entry.file_name())).collect();
        names.sort();
        names
    }

    #[test]
    fn one_process_creates_a_directory_and_an_unused_one_goes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("served/run-1");
        let directory = Directory::reserve(&path, RUN).unwrap();
        assert!(matches!(Directory::reserve(&path, RUN), Err(FilesError::Exists { .. })));
        remove_unfinished(&path);
        assert!(path.exists(), "its process lives");
        drop(directory);
        assert!(!path.exists() && place.path().join("served").exists());
        // an empty directory of someone else
        fs::create_dir_all(&path).unwrap();
        assert!(matches!(Directory::reserve(&path, RUN), Err(FilesError::Exists { .. })));
        assert!(path.exists());
    }

    #[test]
    fn what_a_killed_process_reserved_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        killed(&path("waiting"));
        killed(&path("has-mine"));
        fs::write(path("has-mine/mine"), "").unwrap();
        // killed while it wrote
        let mut running = Manifest::new("run", false);
        running.files.extend([RESERVED, "run.db.partial"].map(|name| (name.to_owned(), None)));
        fs::create_dir(path("running")).unwrap();
        fs::write(path("running").join(MANIFEST), running.text()).unwrap();
        fs::write(path("running/run.db.partial"), "half").unwrap();
        // an empty directory of the user, and a run of the user that was killed, too
        fs::create_dir(path("empty")).unwrap();
        running.files.remove(RESERVED);
        fs::create_dir(path("own")).unwrap();
        fs::write(path("own").join(MANIFEST), running.text()).unwrap();
        fs::write(path("own/run.db.partial"), "half").unwrap();
        // complete, but the list was not written any more
        killed(&path("complete"));
        fs::write(path("complete/run.db"), "").unwrap();
        for name in ["waiting", "has-mine", "running", "empty", "own", "complete"] {
            remove_unfinished(&path(name));
        }
        assert_eq!(
            names(place.path()),
            ["complete", "empty", "has-mine", "own"].map(PathBuf::from)
        );
        assert_eq!(names(&path("has-mine")), [PathBuf::from("mine")]);
        assert!(path("own/run.db.partial").exists() && path("complete/run.db").exists());
    }

    #[test]
    fn a_complete_directory_is_not_reserved() {
        use std::io::Write;

        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run-1");
        let directory = Directory::reserve(&path, RUN).unwrap();
        let mut file = directory.begin("run.db").unwrap();
        file.write_all(b"whole").unwrap();
        directory.replace(vec![(file, "run.db".to_owned())], "run.db").unwrap();
        drop(directory);
        assert!(!is_reserved(&path).unwrap());
        assert_eq!(names(&path), [PathBuf::from(MANIFEST), PathBuf::from("run.db")]);
    }
}
