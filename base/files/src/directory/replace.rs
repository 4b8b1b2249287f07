//! Replacement of all our files in a directory by others.
//!
//! The new files are written beside the old ones, so a failure or interruption before the end leaves the old
//! ones unchanged. A file system cannot replace several files in one step. Therefore one of them, the `last`,
//! marks a complete directory: it is removed first, and the new one gets its name when everything else is in
//! place. A process that is killed in between leaves a directory without the mark, which readers reject. The
//! directory is synced at each step, so that a power cut preserves this order too.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;

use super::{Access, Directory, Ready, State};
use crate::dir::{Dir, Entry};
use crate::new_file::{NewFile, Temporary, not_named};
use crate::{FilesError, abandon, name};

impl Directory {
    /// Errors if [`Directory::replace`] could not replace the existing files by files with these names, as far
    /// as that can be known beforehand. Changes nothing.
    ///
    /// From now on, files that are `spared` may be replaced even if someone has changed them.
    ///
    /// # Errors
    ///
    /// If a file of ours was changed by someone else, or a file of someone else has one of the names.
    pub fn may_replace(&self, names: &[&str], spared: &[&str]) -> Result<(), FilesError> {
        {
            let mut state = self.state();
            state.spared = spared.iter().map(|&name| name.to_owned()).collect();
            self.contents().check(&state.manifest, spared)?;
        }
        self.check(names)
    }

    /// Replaces all our files, including those in parts, by these: new files of this directory, with their
    /// names. `last` marks a complete directory.
    ///
    /// # Errors
    ///
    /// Before anything is replaced: if a file may not be replaced or the disk is full. If the system fails
    /// later, `last` does not exist.
    ///
    /// # Panics
    ///
    /// If `last` is not one of the files, a file is not of this directory, or the directory is shared.
    pub fn replace(&self, files: Vec<(NewFile, String)>, last: &str) -> Result<(), FilesError> {
        assert!(self.inner.access == Access::Alone, "others would miss what is removed");
        assert!(files.iter().any(|(_, name)| name == last), "`{last}` is one of the files");
        let mut temporaries = Vec::with_capacity(files.len());
        for (file, name) in files {
            name::check_name(self.path(), &name)?;
            let mut temporary = file.into_temporary(self);
            temporary.close().map_err(FilesError::system("write", &self.path().join(&name)))?;
            temporaries.push((temporary, name));
        }
        let mut state = self.state();
        let spared: Vec<String> = state.spared.clone();
        let spared: Vec<&str> = spared.iter().map(String::as_str).collect();
        self.contents().check(&state.manifest, &spared)?;
        let (mut ready, sizes) = self.made_ready(&mut state, temporaries)?;
        // the last in this order is the last to get its name
        ready.sort_by_key(|file| file.name == last);
        let unfinished: Vec<String> = ready.iter().map(Ready::unfinished).collect();

        // every file is listed before it exists; without sizes, because both old and new files may be found
        let before = state.manifest.clone();
        state.manifest.files.extend(ready.iter().map(|file| (file.name.clone(), None)));
        if let Err(error) = self.store(&mut state) {
            state.manifest = before;
            return Err(error);
        }
        let done = {
            // a user's interrupt must not end the process in between either
            let _held = abandon::not_now();
            self.exchange_files(&mut state, &mut ready, &unfinished)
        };
        done?;
        for file in &mut ready {
            file.temporary.is_named();
        }
        state.manifest.files.extend(sizes);
        for name in &unfinished {
            state.manifest.files.remove(name);
        }
        // everything is in place; a list without sizes only allows more files to be replaced
        let _ = self.store(&mut state);
        Ok(())
    }

    /// The entries at the names of new files, and the sizes of the new files.
    #[expect(clippy::type_complexity, reason = "the rows of the list")]
    fn made_ready(
        &self,
        state: &mut State,
        files: Vec<(Temporary, String)>,
    ) -> Result<(Vec<Ready>, Vec<(String, Option<u64>)>), FilesError> {
        let mut ready = Vec::with_capacity(files.len());
        let mut sizes = Vec::with_capacity(files.len());
        for (temporary, name) in files {
            let path = self.path().join(&name);
            let (dir, last) = self.way(state, &name, true)?.expect("it is made");
            let before = self.standing(state, &dir, last, &name)?;
            let own = temporary.entry().map_err(FilesError::system("write", &path))?;
            sizes.push((name.clone(), Some(own.bytes)));
            ready.push(Ready { temporary, before, last: last.to_owned(), name, path });
        }
        Ok((ready, sizes))
    }

    /// Removes the old mark and all files that are not replaced, then gives the new files their names, in
    /// order.
    fn exchange_files(
        &self,
        state: &mut State,
        ready: &mut [Ready],
        unfinished: &[String],
    ) -> Result<(), FilesError> {
        let (marker, others) = ready.split_last_mut().expect("the marker is one of them");
        if marker.before.take().is_some() {
            let dir = &marker.temporary.dir;
            let removed = dir.remove(&marker.last).and_then(|()| dir.sync());
            removed.map_err(FilesError::system("remove", &marker.path))?;
        }
        let names = others.iter().map(|file| file.name.as_str());
        let stay: Vec<&str> = names.chain(unfinished.iter().map(String::as_str)).collect();
        self.contents().remove(&mut state.manifest, &stay)?;
        state.becomes();
        for file in &mut *others {
            file.take_name()?;
        }
        let mut synced: Vec<&Arc<Dir>> = Vec::new();
        for file in &*others {
            let dir = &file.temporary.dir;
            if !synced.iter().any(|known| Arc::ptr_eq(known, dir)) {
                dir.sync().map_err(FilesError::system("write", &file.path))?;
                synced.push(dir);
            }
        }
        let sync = |dir: &Dir, path| dir.sync().map_err(FilesError::system("write", path));
        sync(&self.inner.dir, self.path())?;
        marker.take_name()?;
        sync(&marker.temporary.dir, &marker.path)
    }
}

impl Ready {
    /// The listed name for it until it is complete, if it was begun under a separate name.
    fn unfinished(&self) -> String {
        let above = self.name.strip_suffix(&self.last).expect("a name ends with its last part");
        format!("{above}{}", self.temporary.name)
    }

    /// Gives the file its name, while nothing can be abandoned.
    fn take_name(&mut self) -> Result<(), FilesError> {
        let Self { temporary, before, last, path, .. } = self;
        let before: Option<Entry> = *before;
        let renamed: io::Result<()> = temporary.rename_now(OsStr::new(last), before);
        renamed.map_err(|error| not_named(path, error))
    }
}
