//! A directory of ours: its files are listed in its manifest.
//!
//! Other processes may write into it at the same time if all of them share it ([`Access::Shared`]). What they
//! write besides their own parts must be identical. Parts ([`Directory::part`]) are directories of ours inside
//! a directory of ours, with their own manifests and locks.

mod clear;
mod replace;
mod reserve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::abandon::{self, Entered};
use crate::dir::{self, Dir, Entry, Kind};
use crate::manifest::{MANIFEST, Manifest};
use crate::new_file::{NewFile, Temporary, not_named};
use crate::{FilesError, grow, name};

/// Number of attempts to get a shared lock: half a second in total.
const LOCK_TRIES: u32 = 50;
const LOCK_WAIT: Duration = Duration::from_millis(10);

/// Which other processes may write into a directory at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// None.
    #[default]
    Alone,
    /// Those that also share it. Nothing can be removed in that case.
    Shared,
}

/// The purpose for which a directory is taken.
#[derive(Clone, Copy, Debug)]
pub struct Purpose<'a> {
    command: &'static str,
    access: Access,
    force: bool,
    late: bool,
    /// Whether the directory must not exist yet.
    new: bool,
    inputs: &'a [&'a Path],
}

impl<'a> Purpose<'a> {
    /// For the output of `foretell COMMAND`: `run`, `reproduce ursa-minor`.
    pub const fn of(command: &'static str) -> Self {
        Self { command, access: Access::Alone, force: false, late: false, new: false, inputs: &[] }
    }

    /// Sets exclusive or shared access.
    #[must_use]
    pub const fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Sets whether our files are replaced even if another command made them, or if they were changed since.
    #[must_use]
    pub const fn forced(self, force: bool) -> Self {
        Self { force, ..self }
    }

    /// Another command's files are kept until [`Directory::replace`] or [`Directory::clear`] is called.
    /// Without this, they are removed when the directory is taken by force.
    #[must_use]
    pub const fn replacing_late(self) -> Self {
        Self { late: true, ..self }
    }

    /// Sets the command's inputs. They must not be in the directory if its files are replaced by force.
    #[must_use]
    pub const fn reading(self, inputs: &'a [&'a Path]) -> Self {
        Self { inputs, ..self }
    }

    /// Errors if the directory belongs to another command and may not be replaced.
    fn suits(&self, manifest: &Manifest, path: &Path) -> Result<(), FilesError> {
        if manifest.command == self.command || self.force {
            return Ok(());
        }
        let (path, found) = (path.to_owned(), manifest.command.clone());
        Err(FilesError::OtherCommand { path, found, wanted: self.command })
    }
}

/// A directory that we write into, until all clones are dropped.
///
/// If it is empty when it is dropped, it is removed, provided that it was created for us.
#[derive(Clone, Debug)]
pub struct Directory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The path given by the user.
    path: PathBuf,
    /// The same path without links.
    real: PathBuf,
    dir: Arc<Dir>,
    /// `None`: the file system has no locks.
    lock: Mutex<Option<File>>,
    access: Access,
    force: bool,
    /// The directory that it is a part of, and its name in that directory.
    whole: Option<(Directory, String)>,
    /// Directories that were created on the path, including this one.
    made: Vec<PathBuf>,
    /// Whether the directory was ours before.
    was_ours: bool,
    state: Mutex<State>,
    /// The registration for removal; dropped together with the directory.
    entered: Mutex<Option<Entered>>,
}

#[derive(Debug)]
struct State {
    manifest: Manifest,
    /// The manifest as it was last written to the disk.
    stored: Option<String>,
    /// The command that will be recorded as its maker when another command's files are removed.
    becomes: Option<&'static str>,
    /// Files that may be replaced even if someone has changed them.
    spared: Vec<String>,
    /// Open subdirectories.
    open: BTreeMap<String, Weak<Dir>>,
}

/// A file that is ready to get its name.
struct Ready {
    temporary: Temporary,
    before: Option<Entry>,
    last: String,
    name: String,
    path: PathBuf,
}

/// What is ending.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The last handle of a directory.
    Directory,
    /// The process: locks of other threads are not waited for, and nothing is written.
    Process,
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Directory {
    /// Takes the directory at a path given by the user; creates it if necessary.
    ///
    /// # Errors
    ///
    /// If it is neither empty nor ours, if another command made it, if another process has it, or if it cannot
    /// be created. In all these cases nothing is changed.
    pub fn take(path: &Path, purpose: Purpose<'_>) -> Result<Self, FilesError> {
        if path == Path::new("-") {
            let found = "it means standard output (a directory of that name is `./-`)";
            return Err(FilesError::Special { path: path.to_owned(), found });
        }
        let mut made = Vec::new();
        let inner = Inner::entered(purpose.access, || {
            let taken = take_made(path, purpose, &mut made);
            taken.inspect_err(|error| {
                // a directory that another process has is its own by now
                if !matches!(error, FilesError::Busy { .. }) {
                    dir::unmake(&made);
                }
            })
        })?;
        Self::begun(inner, purpose)
    }

    /// Errors if [`Directory::take`] would, as far as that can be known beforehand. Creates nothing.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn may_take(path: &Path, purpose: Purpose<'_>) -> Result<(), FilesError> {
        let dir = match Dir::open(path) {
            Ok(dir) => dir,
            // it is created when there is something to write
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(FilesError::not_made(path, error)),
        };
        drop(patiently(purpose.access, || lock(&dir, purpose.access, path))?);
        match examine(&dir, path)? {
            Some(found) => purpose.suits(&found, path),
            None => Ok(()),
        }
    }

    /// Takes a subdirectory with its own manifest and lock. It is removed together with this directory when
    /// that is replaced.
    ///
    /// # Errors
    ///
    /// Like [`Directory::take`], or if the name leads outside.
    pub fn part(&self, name: &str, purpose: Purpose<'_>) -> Result<Self, FilesError> {
        name::check_name(self.path(), name)?;
        let path = self.path().join(name);
        let (dir, last) = self.way(&mut self.state(), name, true)?.expect("it is made");
        let real = self.inner.real.join(name);
        let inner = Inner::entered(purpose.access, || {
            let (sub, lock) = open_part(&dir, last, &path, purpose)?;
            let whole = Some((self.clone(), name.to_owned()));
            Inner::new(path.clone(), real.clone(), sub, lock, purpose, whole, Vec::new())
        })?;
        Self::begun(inner, purpose)
    }

    /// A directory that was taken, without the files of another command.
    fn begun(inner: Arc<Inner>, purpose: Purpose<'_>) -> Result<Self, FilesError> {
        let directory = Self { inner };
        let other = directory.state().becomes.is_some();
        if other && !purpose.late {
            directory.clear(&[])?;
        } else {
            directory.remove_left_over();
        }
        Ok(directory)
    }

    /// The path given by the user.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The path of a file in it, without links: for callers that open files by their names.
    pub fn real_path(&self, name: &str) -> PathBuf {
        self.inner.real.join(name)
    }

    /// The names of our files in it, except those in its parts.
    pub fn files(&self) -> Vec<String> {
        self.state().manifest.files.keys().cloned().collect()
    }

    /// Errors if one of these files could not be written because a file of someone else has its name.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn check(&self, names: &[&str]) -> Result<(), FilesError> {
        let mut state = self.state();
        for name in names {
            if let Some((dir, last)) = self.way(&mut state, name, false)? {
                self.standing(&state, &dir, last, name)?;
            }
        }
        Ok(())
    }

    /// Begins a file.
    ///
    /// # Errors
    ///
    /// If the name leads outside, if a file of someone else has it, or if nothing can be written.
    pub fn begin(&self, name: &str) -> Result<NewFile, FilesError> {
        self.begin_with(name, Temporary::create)
    }

    /// The same, with the caller's choice of the name for the incomplete file. A file that an interrupted
    /// command has left under that name is removed.
    ///
    /// # Errors
    ///
    /// Like [`Directory::begin`].
    pub fn begin_as(&self, name: &str, unfinished: &str) -> Result<NewFile, FilesError> {
        self.remove(unfinished)?;
        self.list(unfinished)?;
        self.begin_with(name, |dir, _| Temporary::create_as(dir, unfinished))
    }

    fn begin_with(
        &self,
        name: &str,
        create: impl FnOnce(&Arc<Dir>, &OsStr) -> io::Result<Temporary>,
    ) -> Result<NewFile, FilesError> {
        name::check_name(self.path(), name)?;
        let path = self.path().join(name);
        let mut state = self.state();
        let (dir, last) = self.way(&mut state, name, true)?.expect("it is made");
        self.standing(&state, &dir, last, name)?;
        self.store(&mut state)?;
        let temporary =
            create(&dir, OsStr::new(last)).map_err(FilesError::system("write", &path))?;
        Ok(NewFile::of_directory(temporary, self.clone(), name.to_owned(), path))
    }

    /// Writes a file, completely or not at all.
    ///
    /// # Errors
    ///
    /// Like [`Directory::begin`].
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), FilesError> {
        let mut file = self.begin(name)?;
        let written = file.write_all(content);
        written.map_err(FilesError::system("write", &self.path().join(name)))?;
        file.commit()
    }

    /// Opens a file that grows; it is created if it does not exist.
    ///
    /// # Errors
    ///
    /// Like [`Directory::begin`].
    pub fn grow(&self, name: &str) -> Result<File, FilesError> {
        self.list(name)?;
        let (dir, last) = self.way(&mut self.state(), name, true)?.expect("it is made");
        grow::open(&dir, OsStr::new(last), &self.path().join(name))
    }

    /// Lists a file of unknown size.
    fn list(&self, name: &str) -> Result<(), FilesError> {
        name::check_name(self.path(), name)?;
        let mut state = self.state();
        if let Some((dir, last)) = self.way(&mut state, name, true)? {
            self.standing(&state, &dir, last, name)?;
        }
        state.manifest.files.insert(name.to_owned(), None);
        self.store(&mut state)
    }

    /// Removes a file of ours, if it exists.
    ///
    /// # Errors
    ///
    /// If it belongs to someone else, or cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), FilesError> {
        name::check_name(self.path(), name)?;
        let mut state = self.state();
        let Some((dir, last)) = self.way(&mut state, name, false)? else { return Ok(()) };
        if self.standing(&state, &dir, last, name)?.is_some() {
            let path = self.path().join(name);
            dir.remove(last).map_err(FilesError::system("remove", &path))?;
        }
        // the manifest is updated when it is next written
        state.manifest.files.remove(name);
        Ok(())
    }

    /// Gives files their names, after all of them have been listed.
    pub(crate) fn commit(&self, files: Vec<(Temporary, String)>) -> Result<(), FilesError> {
        let mut files = files;
        for (temporary, name) in &mut files {
            name::check_name(self.path(), name)?;
            temporary.close().map_err(FilesError::system("write", &self.path().join(name)))?;
        }
        let mut state = self.state();
        let mut ready = Vec::with_capacity(files.len());
        let mut sizes = Vec::with_capacity(files.len());
        for (temporary, name) in files {
            let path = self.path().join(&name);
            let (dir, last) = self.way(&mut state, &name, true)?.expect("it is made");
            let before = self.standing(&state, &dir, last, &name)?;
            let own = temporary.entry().map_err(FilesError::system("write", &path))?;
            sizes.push((name.clone(), Some(own.bytes)));
            ready.push(Ready { temporary, before, last: last.to_owned(), name, path });
        }
        let listed = state.manifest.files.clone();
        state.manifest.files.extend(sizes);
        if let Err(error) = self.store(&mut state) {
            state.manifest.files = listed;
            return Err(error);
        }
        let mut named = 0;
        let done = {
            // an interrupt must not end the process when only some of the files have their names
            let _held = abandon::not_now();
            ready.iter().try_for_each(|file| {
                self.name(&state, file)?;
                named += 1;
                Ok(())
            })
        };
        let mut synced: Option<Arc<Dir>> = None;
        let mut on_disk = Ok(());
        for file in &mut ready[..named] {
            file.temporary.is_named();
            if synced.as_ref().is_none_or(|dir| !Arc::ptr_eq(dir, &file.temporary.dir)) {
                let dir = file.temporary.dir.clone();
                on_disk = on_disk.and(dir.sync().map_err(FilesError::system("write", &file.path)));
                synced = Some(dir);
            }
        }
        if done.is_err() {
            // the others do not become ours after all
            for file in ready.drain(named..) {
                match listed.get(&file.name) {
                    Some(bytes) => drop(state.manifest.files.insert(file.name, *bytes)),
                    None => drop(state.manifest.files.remove(&file.name)),
                }
            }
            let _ = self.store(&mut state);
        }
        done.and(on_disk)
    }

    /// Gives a file its name, while nothing is abandoned.
    fn name(&self, state: &State, file: &Ready) -> Result<(), FilesError> {
        let Ready { temporary, before, last, name, path } = file;
        debug_assert!(state.manifest.files.contains_key(name), "nothing waits for it to be listed");
        let mut before = *before;
        loop {
            match temporary.rename_now(OsStr::new(last), before) {
                // another process that shares the directory writes identical files
                Err(error)
                    if self.inner.access == Access::Shared
                        && error.kind() == io::ErrorKind::AlreadyExists =>
                {
                    before = self.standing(state, &temporary.dir, last, name)?;
                }
                done => return done.map_err(|error| not_named(path, error)),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state()
    }

    /// The entry with that name, if it may be replaced; errors if it may not.
    fn standing(
        &self,
        state: &State,
        dir: &Dir,
        last: &str,
        name: &str,
    ) -> Result<Option<Entry>, FilesError> {
        let path = || self.path().join(name);
        let there = dir.entry(last).map_err(|error| FilesError::system("write", &path())(error))?;
        let Some(there) = there else { return Ok(None) };
        let mut listed = state.manifest.files.get(name).copied();
        if self.inner.access == Access::Shared {
            // a process that shares the directory lists a file before writing it, but a third process may
            // briefly have replaced the manifest by an older list
            let mut tries = 0;
            while listed.is_none() && tries < LOCK_TRIES {
                if tries > 0 {
                    wait();
                }
                let manifest = Manifest::read(&self.inner.dir, self.path())?;
                listed = manifest.and_then(|manifest| manifest.files.get(name).copied());
                tries += 1;
            }
        }
        let Some(listed) = listed else {
            return Err(FilesError::InTheWay { path: path(), found: there.kind.noun() });
        };
        if there.kind != Kind::File {
            return Err(FilesError::Special { path: path(), found: there.kind.described() });
        }
        let allowed = self.inner.force || state.spared.iter().any(|spared| spared == name);
        match listed {
            Some(was) if was != there.bytes && !allowed => {
                Err(FilesError::Changed { path: path(), was, is: there.bytes })
            }
            _ => Ok(Some(there)),
        }
    }

    /// The directory of a file, and the file's name in it. Missing directories on the path are created if that
    /// is requested; otherwise the result is none. Links are not followed.
    fn way<'a>(
        &self,
        state: &mut State,
        name: &'a str,
        make: bool,
    ) -> Result<Option<(Arc<Dir>, &'a str)>, FilesError> {
        let (parts, last) = name::split(name);
        let mut dir = self.inner.dir.clone();
        let mut above = String::new();
        for part in parts {
            above += part;
            let path = self.path().join(&above);
            let failed = |error| FilesError::system("make the directory", &path)(error);
            dir = match dir.entry(part).map_err(failed)? {
                Some(Entry { kind: Kind::Directory, id, .. }) => {
                    let open = state.open.get(&above).and_then(Weak::upgrade);
                    match open.filter(|open| open.id().is_ok_and(|own| own.is_same_file(id))) {
                        Some(open) => open,
                        None => Arc::new(dir.open_sub(part).map_err(failed)?),
                    }
                }
                Some(other) => {
                    let found = other.kind.described();
                    return Err(FilesError::Special { path, found });
                }
                None if make => {
                    state.manifest.directories.insert(above.clone());
                    self.store(state)?;
                    Arc::new(dir.make_sub(part).map_err(failed)?)
                }
                None => return Ok(None),
            };
            state.open.insert(above.clone(), Arc::downgrade(&dir));
            above.push('/');
        }
        Ok(Some((dir, last)))
    }

    /// Writes the manifest to the disk.
    fn store(&self, state: &mut State) -> Result<(), FilesError> {
        self.inner.store(state)
    }
}

impl Inner {
    /// What `take` returns, registered for removal. Nothing is abandoned while it takes a directory, so that an
    /// interrupt finds one that it has made. `take` must not begin a file, nor wait: if another process has a
    /// shared directory, it is called again a little later.
    fn entered(
        access: Access,
        mut take: impl FnMut() -> Result<Self, FilesError>,
    ) -> Result<Arc<Self>, FilesError> {
        let (inner, entered) = patiently(access, || {
            Entered::made(|| {
                let inner = Arc::new(take()?);
                let weak = Arc::downgrade(&inner);
                let removal = move || {
                    if let Some(inner) = weak.upgrade() {
                        inner.at_process_end(|state| inner.tidy(state, Ending::Process));
                        // the process is ending, and dropping this would wait for locks held elsewhere
                        std::mem::forget(inner);
                    }
                };
                Ok((inner, removal))
            })
        })?;
        *inner.entered.lock().unwrap_or_else(PoisonError::into_inner) = Some(entered);
        Ok(inner)
    }

    /// A directory that is open and locked. Errors if it is neither empty nor ours, or must not be used for this
    /// purpose.
    fn new(
        path: PathBuf,
        real: PathBuf,
        dir: Dir,
        lock: Option<File>,
        purpose: Purpose<'_>,
        whole: Option<(Directory, String)>,
        made: Vec<PathBuf>,
    ) -> Result<Self, FilesError> {
        let found = examine(&dir, &path)?;
        let (was_ours, stored) = (found.is_some(), found.as_ref().map(Manifest::text));
        let mut manifest = found.unwrap_or_else(|| Manifest::new(purpose.command, whole.is_some()));
        let other = manifest.command != purpose.command;
        purpose.suits(&manifest, &path)?;
        if other && let Some(input) = purpose.inputs.iter().find(|input| is_in(input, &real)) {
            return Err(FilesError::Input { path: (*input).to_owned() });
        }
        manifest.part = whole.is_some();
        let state = State {
            manifest,
            stored,
            becomes: other.then_some(purpose.command),
            spared: Vec::new(),
            open: BTreeMap::new(),
        };
        Ok(Self {
            path,
            real,
            dir: Arc::new(dir),
            lock: Mutex::new(lock),
            access: purpose.access,
            force: purpose.force,
            whole,
            made,
            was_ours,
            state: Mutex::new(state),
            entered: Mutex::new(None),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `each` with the state while the process ends. A thread that holds the state may be waiting for that end, so
    /// it is not waited for: the list on the disk then has the same files.
    fn at_process_end(&self, each: impl FnOnce(&mut State)) {
        if let Ok(mut state) = self.state.try_lock() {
            return each(&mut state);
        }
        let Ok(found) = Manifest::read(&self.dir, &self.path) else { return };
        each(&mut State {
            stored: found.as_ref().map(Manifest::text),
            manifest: found.unwrap_or_else(|| Manifest::new("", self.whole.is_some())),
            becomes: None,
            spared: Vec::new(),
            open: BTreeMap::new(),
        });
    }

    fn store(&self, state: &mut State) -> Result<(), FilesError> {
        let path = self.path.join(MANIFEST);
        let failed = |error| FilesError::system("write", &path)(error);
        if self.access == Access::Shared {
            let there = Manifest::read(&self.dir, &self.path)?;
            state.stored = there.as_ref().map(Manifest::text);
            if let Some(there) = there {
                state.manifest.add(there);
            }
        }
        loop {
            let text = state.manifest.text();
            if state.stored.as_ref() == Some(&text) {
                return Ok(());
            }
            let name = OsStr::new(MANIFEST);
            let mut file = Temporary::create(&self.dir, name).map_err(failed)?;
            let written = file.file().and_then(|file| file.write_all(text.as_bytes()));
            written.and_then(|()| file.close()).map_err(failed)?;
            let before = self.dir.entry(MANIFEST).map_err(failed)?;
            if let Some(other) = before.filter(|before| before.kind != Kind::File) {
                let fault = other.kind.described().to_owned();
                return Err(FilesError::BadManifest { path, fault });
            }
            let done = match self.access {
                Access::Shared if before.is_some() => self.exchange(&mut file, before, state),
                _ => file.rename(name, before).map(|()| true),
            };
            match done {
                // another process that shares the directory was faster
                Err(error)
                    if self.access == Access::Shared
                        && error.kind() == io::ErrorKind::AlreadyExists => {}
                Ok(false) => {}
                done => {
                    done.and_then(|_| self.dir.sync()).map_err(failed)?;
                    state.stored = Some(text);
                    return Ok(());
                }
            }
        }
    }

    /// Replaces the manifest in one step. Returns whether the new one lists everything that the old one did:
    /// another process may have added to the old one in the meantime. Missing entries are added to the state,
    /// and the caller tries again.
    fn exchange(
        &self,
        file: &mut Temporary,
        before: Option<Entry>,
        state: &mut State,
    ) -> io::Result<bool> {
        let name = OsStr::new(MANIFEST);
        match self.dir.exchange(&file.name, name) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return file.rename(name, before).map(|()| true);
            }
            // it was removed
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            done => done?,
        }
        // the previous manifest now has the new one's temporary name, under which it is removed
        let there = match Manifest::read_as(&self.dir, &file.name, &self.path) {
            Ok(there) => there,
            Err(error) => {
                // someone put another file there in this instant: it gets its name back
                self.dir.exchange(&file.name, name)?;
                return Err(io::Error::other(error));
            }
        };
        let Some(there) = there.filter(|there| !state.manifest.covers(there)) else {
            return Ok(true);
        };
        state.manifest.add(there);
        state.stored = None;
        Ok(false)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.tidy(&mut state, Ending::Directory);
        drop(state);
        // not earlier, because cleanup is also needed if the process is ended meanwhile
        let entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(entered);
    }
}

/// Makes the directory at a path if necessary, and takes it. Created directories are added to `made`.
fn take_made(
    path: &Path,
    purpose: Purpose<'_>,
    made: &mut Vec<PathBuf>,
) -> Result<Inner, FilesError> {
    add(dir::make(path)?, made);
    if purpose.new && !made.iter().any(|made| made == path) {
        return Err(FilesError::Exists { path: path.to_owned() });
    }
    let (dir, lock) = open(path, purpose.access, made)?;
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Inner::new(path.to_owned(), real, dir, lock, purpose, None, made.clone())
}

fn add(made_again: Vec<PathBuf>, made: &mut Vec<PathBuf>) {
    for again in made_again {
        if !made.contains(&again) {
            made.push(again);
        }
    }
}

/// Opens and locks the directory at a path. If another process removes it before it is locked, it is created
/// again. Created directories are added to `made`.
fn open(
    path: &Path,
    access: Access,
    made: &mut Vec<PathBuf>,
) -> Result<(Dir, Option<File>), FilesError> {
    let failed = |error| FilesError::not_made(path, error);
    loop {
        match Dir::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => {
                let dir = opened.map_err(failed)?;
                let lock = lock(&dir, access, path)?;
                if dir.is_at(path) {
                    return Ok((dir, lock));
                }
            }
        }
        // another command removed it before it was locked
        add(dir::make(path)?, made);
    }
}

/// Opens and locks the directory of a part, and creates it if necessary.
fn open_part(
    dir: &Arc<Dir>,
    last: &str,
    path: &Path,
    purpose: Purpose<'_>,
) -> Result<(Dir, Option<File>), FilesError> {
    let failed = |error| FilesError::system("make the directory", path)(error);
    loop {
        let sub = match dir.entry(last).map_err(failed)? {
            Some(Entry { kind: Kind::Directory, .. }) => match dir.open_sub(last) {
                // another process has removed it
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                sub => sub,
            },
            None => match make_part(dir, last, purpose.command) {
                // another process was faster
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made,
            },
            Some(other) => {
                let found = other.kind.described();
                return Err(FilesError::Special { path: path.to_owned(), found });
            }
        };
        let sub = sub.map_err(failed)?;
        let lock = lock(&sub, purpose.access, path)?;
        // another process may have removed it before it was locked
        let own = sub.id().map_err(failed)?;
        if dir.entry(last).map_err(failed)?.is_some_and(|now| now.id.is_same_file(own)) {
            return Ok((sub, lock));
        }
    }
}

/// Creates a directory for a part. It gets its name when its manifest is in it, so that it is known as ours
/// even if this process is killed. Nothing may be abandoned meanwhile.
fn make_part(above: &Dir, name: &str, command: &str) -> io::Result<Dir> {
    let (part, temporary) = dir::make_temporary(above, name)?;
    let make = || {
        let mut manifest = part.create(MANIFEST)?;
        manifest.write_all(Manifest::new(command, true).text().as_bytes())?;
        dir::sync(&manifest)?;
        part.sync()?;
        above.rename_new(&temporary, OsStr::new(name))
    };
    if let Err(error) = make() {
        let _ = part.remove(MANIFEST);
        let _ = above.remove_dir(&temporary);
        return Err(error);
    }
    above.open_sub(name)
}

/// Gives another process time to continue.
fn wait() {
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    std::thread::sleep(LOCK_WAIT);
}

/// Tries again for a while if another process has a directory that is shared: it has it exclusively for an
/// instant when it cleans up at its end.
fn patiently<T>(
    access: Access,
    mut take: impl FnMut() -> Result<T, FilesError>,
) -> Result<T, FilesError> {
    let mut tries = 0;
    loop {
        match take() {
            Err(FilesError::Busy { .. }) if access == Access::Shared && tries < LOCK_TRIES => {
                tries += 1;
                wait();
            }
            taken => return taken,
        }
    }
}

/// Locks a directory. Errors with [`FilesError::Busy`] if another process has it.
fn lock(dir: &Dir, access: Access, path: &Path) -> Result<Option<File>, FilesError> {
    dir.lock(access == Access::Alone).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => FilesError::Busy { path: path.to_owned() },
        _ => FilesError::system("lock", path)(error),
    })
}

/// The manifest of a directory; `None` if the directory is empty. Errors if it is neither empty nor ours.
fn examine(dir: &Dir, path: &Path) -> Result<Option<Manifest>, FilesError> {
    let names = loop {
        if let Some(manifest) = Manifest::read(dir, path)? {
            return Ok(Some(manifest));
        }
        let names = dir.all_names().map_err(FilesError::system("read", path))?;
        // a process that shares the directory may have written its manifest in between
        if !names.iter().flatten().any(|name| name == MANIFEST) {
            break names;
        }
    };
    // a process that was killed before its manifest existed has created nothing else
    let beginning = |name: &str| name.starts_with("..foretell.json.") && dir::is_temporary(name);
    let others = names.iter().filter(|name| !name.as_deref().is_some_and(beginning));
    let others: Vec<&str> = others.map(|name| name.as_deref().unwrap_or_default()).collect();
    if others.is_empty() {
        return Ok(None);
    }
    let has = |name: &str| others.contains(&name);
    let hint = if has("run.db") && has("truth.json") {
        " (it looks like a run of an earlier version, which had none)"
    } else if has("sweep.json") {
        " (it looks like a sweep of an earlier version, which had none)"
    } else {
        ""
    };
    Err(FilesError::NotOurs { path: path.to_owned(), hint })
}

/// Whether a file or directory is in a directory, or is that directory.
fn is_in(input: &Path, directory: &Path) -> bool {
    std::fs::canonicalize(input).is_ok_and(|input| input.starts_with(directory))
}
