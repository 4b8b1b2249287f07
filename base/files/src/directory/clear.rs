//! Removal of files from a directory of ours: only those listed in its manifest.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::{Access, Directory, Ending, Inner, State};
use crate::FilesError;
use crate::dir::{self, Dir, Entry, Kind};
use crate::manifest::{MANIFEST, Manifest};
use crate::name;
use crate::new_file::is_open;

impl Directory {
    /// Removes all our files, including those in parts, except those that are `spared`. Spared files
    /// may be replaced even if someone has changed them since.
    ///
    /// # Errors
    ///
    /// Before anything is removed: if one of the files is not as we wrote it, or another process writes
    /// into the directory or a part of it. Later: if a file cannot be removed.
    pub fn clear(&self, spared: &[&str]) -> Result<(), FilesError> {
        let mut state = self.state();
        if self.inner.access == Access::Shared {
            // other processes may need the files
            self.inner.become_alone(&mut state)?;
        }
        state.spared = spared.iter().map(|&name| name.to_owned()).collect();
        let all = self.contents();
        all.check(&state.manifest, spared)?;
        all.remove(&mut state.manifest, spared)?;
        state.becomes();
        // even after a power cut, no file of an earlier command is left beside the new ones
        self.inner.dir.sync().map_err(FilesError::system("sync", self.path()))?;
        if state.stored.is_some() { self.inner.store(&mut state) } else { Ok(()) }
    }

    /// Removes all parts in a subdirectory of this one, with all our files in them.
    ///
    /// # Errors
    ///
    /// Like [`Directory::clear`].
    pub fn remove_parts(&self, name: &str) -> Result<(), FilesError> {
        name::check_name(self.path(), name)?;
        let path = self.path().join(name);
        let failed = |error| FilesError::system("look at", &path)(error);
        let Some((above, last)) = self.way(&mut self.state(), name, false)? else { return Ok(()) };
        if above.entry(last).map_err(failed)?.is_none_or(|entry| entry.kind != Kind::Directory) {
            return Ok(());
        }
        let dir = above.open_sub(last).map_err(failed)?;
        for part in dir.names().map_err(failed)? {
            self.remove_part(&format!("{name}/{part}"))?;
        }
        if self.inner.access == Access::Alone {
            remove_left_over(&dir, &path);
        }
        Ok(())
    }

    /// Removes a part with all our files in it.
    ///
    /// # Errors
    ///
    /// Like [`Directory::clear`].
    pub fn remove_part(&self, name: &str) -> Result<(), FilesError> {
        name::check_name(self.path(), name)?;
        let Some((dir, last)) = self.way(&mut self.state(), name, false)? else { return Ok(()) };
        let path = self.path().join(name);
        let Some((part, manifest)) = part(&dir, last, &path)? else { return Ok(()) };
        let contents = Contents { dir: part, path, force: self.inner.force };
        contents.remove_with_manifest(&dir, last, manifest)
    }
}

impl Directory {
    /// Removes what a killed process has not finished here, and in the directories that we created below. Nothing is
    /// removed if another process may be writing: the access is shared, or the file system has no locks.
    pub(super) fn remove_left_over(&self) {
        let has_locks = self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if self.inner.access == Access::Alone && self.inner.was_ours && has_locks {
            self.contents().remove_unfinished(&self.state().manifest);
        }
    }

    pub(super) fn contents(&self) -> Contents {
        Contents {
            dir: self.inner.dir.clone(),
            path: self.path().to_owned(),
            force: self.inner.force,
        }
    }
}

impl State {
    /// Another command's files have been removed, or are about to be.
    pub(super) fn becomes(&mut self) {
        if let Some(command) = self.becomes.take() {
            command.clone_into(&mut self.manifest.command);
        }
    }
}

/// An entry: its directory, its name there, and its type.
type LocatedEntry<'a> = (Arc<Dir>, &'a str, Entry);

/// A directory of ours that is being cleared.
pub(super) struct Contents {
    dir: Arc<Dir>,
    path: PathBuf,
    force: bool,
}

impl Contents {
    /// Errors if a file in it may not be removed.
    pub(super) fn check(&self, manifest: &Manifest, spared: &[&str]) -> Result<(), FilesError> {
        for (name, bytes) in &manifest.files {
            let path = self.path.join(name);
            let Some((_, _, there)) = self.find(name)? else { continue };
            if there.kind != Kind::File {
                return Err(FilesError::Special { path, found: there.kind.described() });
            }
            if let Some(was) = *bytes
                && was != there.bytes
                && !self.force
                && !spared.contains(&name.as_str())
            {
                return Err(FilesError::Changed { path, was, is: there.bytes });
            }
        }
        self.parts(manifest, |_, _, part, manifest| {
            // held until the part has been checked
            let lock = super::lock(&part.dir, Access::Alone, &part.path)?;
            part.check(&manifest, &[])?;
            drop(lock);
            Ok(())
        })
    }

    /// Removes the listed files, and deletes them from the list.
    pub(super) fn remove(
        &self,
        manifest: &mut Manifest,
        spared: &[&str],
    ) -> Result<(), FilesError> {
        self.parts(manifest, |dir, last, part, manifest| {
            part.remove_with_manifest(dir, last, manifest)
        })?;
        for name in manifest.files.keys().filter(|name| !spared.contains(&name.as_str())) {
            let Some((dir, last, there)) = self.find(name)? else { continue };
            if there.kind == Kind::File {
                let failed = FilesError::system("remove", &self.path.join(name));
                gone(dir.remove(last)).map_err(failed)?;
            }
        }
        manifest.files.retain(|name, _| spared.contains(&name.as_str()));
        self.remove_unfinished(manifest);
        self.remove_empty(manifest);
        Ok(())
    }

    fn remove_with_manifest(
        &self,
        above: &Dir,
        last: &str,
        mut manifest: Manifest,
    ) -> Result<(), FilesError> {
        let lock = super::lock(&self.dir, Access::Alone, &self.path)?;
        self.check(&manifest, &[])?;
        self.remove(&mut manifest, &[])?;
        if manifest.directories.is_empty() {
            let failed = FilesError::system("remove", &self.path.join(MANIFEST));
            gone(self.dir.remove(MANIFEST)).map_err(failed)?;
        }
        // files that are not ours keep the directory
        let _ = above.remove_dir(last);
        drop(lock);
        Ok(())
    }

    /// Calls `each` with the parts in the directories that we created: the directory of each part, its
    /// name there, the part itself and its manifest.
    fn parts(
        &self,
        manifest: &Manifest,
        mut each: impl FnMut(&Dir, &str, Self, Manifest) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        for name in &manifest.directories {
            let path = self.path.join(name);
            let Some((above, last, there)) = self.find(name)? else { continue };
            if there.kind != Kind::Directory {
                return Err(FilesError::Special { path, found: there.kind.described() });
            }
            let failed = |error| FilesError::system("read", &path)(error);
            let dir = above.open_sub(last).map_err(failed)?;
            for inside in dir.names().map_err(failed)? {
                let path = path.join(&inside);
                if let Some((part, manifest)) = part(&dir, &inside, &path)? {
                    let part = Self { dir: part, path, force: self.force };
                    each(&dir, &inside, part, manifest)?;
                }
            }
        }
        Ok(())
    }

    /// The entry with that name, its directory, and its name there. Errors if something on the path is
    /// not a directory.
    fn find<'a>(&self, name: &'a str) -> Result<Option<LocatedEntry<'a>>, FilesError> {
        let (parts, last) = name::split(name);
        let mut dir = self.dir.clone();
        let mut path = self.path.clone();
        for part in parts {
            path.push(part);
            let failed = |error| FilesError::system("look at", &path)(error);
            match dir.entry(part).map_err(failed)? {
                None => return Ok(None),
                Some(Entry { kind: Kind::Directory, .. }) => {
                    dir = Arc::new(dir.open_sub(part).map_err(failed)?);
                }
                Some(other) => {
                    return Err(FilesError::Special { path, found: other.kind.described() });
                }
            }
        }
        let there =
            dir.entry(last).map_err(FilesError::system("look at", &self.path.join(name)))?;
        Ok(there.map(|there| (dir, last, there)))
    }

    /// Removes unfinished files of a process that was killed; no other process writes here now.
    fn remove_unfinished(&self, manifest: &Manifest) {
        let below = manifest.directories.iter().filter_map(|name| {
            let (above, last, _) = self.find(name).ok()??;
            above.open_sub(last).ok().map(Arc::new)
        });
        for dir in std::iter::once(self.dir.clone()).chain(below) {
            remove_left_over(&dir, &self.path);
        }
    }

    /// Removes empty directories that we created, and deletes them from the list.
    fn remove_empty(&self, manifest: &mut Manifest) {
        // in the order of names, subdirectories come after their parents
        let all: Vec<String> = manifest.directories.iter().rev().cloned().collect();
        for name in all {
            let gone = match self.find(&name) {
                Ok(Some((dir, last, _))) => dir.remove_dir(last).is_ok(),
                Ok(None) => true,
                Err(_) => false,
            };
            if gone {
                manifest.directories.remove(&name);
            }
        }
    }
}

impl Inner {
    /// Makes access exclusive. Errors if other processes share the directory.
    fn become_alone(&self, state: &mut State) -> Result<(), FilesError> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        *lock = None;
        if let Ok(alone) = self.dir.lock(true) {
            *lock = alone;
        } else {
            *lock = self.dir.lock(false).ok().flatten();
            return Err(FilesError::Busy { path: self.path.clone() });
        }
        // including the files that they have listed
        if let Ok(Some(there)) = Manifest::read(&self.dir, &self.path) {
            state.manifest.add(there);
        }
        Ok(())
    }

    /// Updates the list. If nothing is listed, removes the manifest, and the directory if it was
    /// created for us.
    pub(super) fn tidy(&self, state: &mut State, ending: Ending) {
        let all = Contents { dir: self.dir.clone(), path: self.path.clone(), force: false };
        if self.access == Access::Shared {
            // existing files are listed already, and the other processes must not be disturbed
            let files = &state.manifest.files;
            let some = files.keys().any(|name| !matches!(all.find(name), Ok(None)));
            // a process that shares it may be about to write; when none is left, access is exclusive
            if some || self.become_alone(state).is_err() {
                return;
            }
        }
        state.manifest.files.retain(|name, bytes| match all.find(name) {
            Ok(None) => false,
            // a file that was intended to grow, but did not
            Ok(Some((dir, last, Entry { kind: Kind::File, bytes: 0, .. }))) if bytes.is_none() => {
                dir.remove(last).is_err()
            }
            _ => true,
        });
        all.remove_empty(&mut state.manifest);
        if !state.manifest.files.is_empty() || !state.manifest.directories.is_empty() {
            // an outdated list has too many entries, not too few
            if ending == Ending::Directory {
                let _ = self.store(state);
            }
            return;
        }
        if state.stored.is_some() && gone(self.dir.remove(MANIFEST)).is_err() {
            return;
        }
        match &self.whole {
            Some((whole, name)) => {
                let remove = |state: &mut State| {
                    if let Ok(Some((dir, last))) = whole.way(state, name, false) {
                        let _ = dir.remove_dir(last);
                    }
                };
                match ending {
                    Ending::Directory => remove(&mut whole.state()),
                    Ending::Process => whole.inner.at_process_end(remove),
                }
            }
            None if (self.was_ours || !self.made.is_empty()) && self.dir.is_at(&self.path) => {
                let _ = std::fs::remove_dir(&self.path);
                dir::unmake(&self.made);
            }
            None => {}
        }
    }
}

/// The directory of ours at a name, if there is one that belongs to the directory above it.
fn part(above: &Dir, last: &str, path: &Path) -> Result<Option<(Arc<Dir>, Manifest)>, FilesError> {
    let failed = |error| FilesError::system("look at", path)(error);
    if !above.entry(last).map_err(failed)?.is_some_and(|entry| entry.kind == Kind::Directory) {
        return Ok(None);
    }
    let dir = above.open_sub(last).map_err(failed)?;
    // a directory with an untrustworthy manifest is treated as someone else's
    match Manifest::read(&dir, path) {
        Ok(Some(manifest)) if manifest.part => Ok(Some((Arc::new(dir), manifest))),
        _ => Ok(None),
    }
}

/// Removes unfinished files and parts of a process that was killed from one directory. If this fails, what
/// remains does no harm.
fn remove_left_over(dir: &Dir, path: &Path) {
    for name in dir.names().unwrap_or_default() {
        if !is_left_over(&name) {
            continue;
        }
        match dir.entry(&name).ok().flatten().map(|entry| entry.kind) {
            Some(Kind::File) => drop(dir.remove(&name)),
            Some(Kind::Directory) => {
                if let Ok(part) = dir.open_sub(&name)
                    && is_beginning(&part, path)
                {
                    let _ = part.remove(MANIFEST);
                }
                let _ = dir.remove_dir(&name);
            }
            _ => {}
        }
    }
}

/// Whether a directory is a part that was being created: it contains only its manifest, which lists nothing or
/// is incomplete.
fn is_beginning(part: &Dir, path: &Path) -> bool {
    let only = part.all_names().is_ok_and(|names| names == [Some(MANIFEST.to_owned())]);
    only && part.entry(MANIFEST).is_ok_and(|entry| entry.is_some_and(|is| is.kind == Kind::File))
        && match Manifest::read(part, path) {
            Ok(manifest) => manifest.is_some_and(|is| is.part && is.files.is_empty()),
            Err(error) => matches!(error, FilesError::BadManifest { .. }),
        }
}

/// Whether it is an unfinished file of a process that has ended.
fn is_left_over(name: &str) -> bool {
    // process numbers are reused, so they cannot be used here
    dir::is_temporary(name) && !is_open(name)
}

/// If the file did not exist, that counts as removed too.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
