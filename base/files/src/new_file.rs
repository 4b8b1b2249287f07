//! A file that is complete or does not exist.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abandon::{self, Entered};
use crate::dir::{self, Dir, Entry, Id, Kind};
use crate::{Directory, FileKind, FilesError};

/// Number of temporary names that are tried.
const TRIES: u32 = 1000;

/// Temporary names of files that this process is writing, with the number of directories in which each is used.
static OPEN: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

fn open_names() -> MutexGuard<'static, BTreeMap<String, usize>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process is writing a file with that temporary name, in any directory.
pub(crate) fn is_open(name: &str) -> bool {
    open_names().contains_key(name)
}

/// A file under its temporary name. If it is dropped before it is complete, it is removed.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) dir: Arc<Dir>,
    pub(crate) name: String,
    /// The file while it is open.
    file: Option<File>,
    /// Distinguishes it from files that others put at its name.
    own: Id,
    entered: Option<Entered>,
}

impl Temporary {
    /// Begins a file that will be called `target`. No existing file is opened or replaced.
    pub(crate) fn create(dir: &Arc<Dir>, target: &OsStr) -> io::Result<Self> {
        let target = target.to_string_lossy();
        let mut number = 0;
        loop {
            let name = dir::temporary(&target, number);
            match Self::create_as(dir, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < TRIES => {
                    number += 1;
                }
                created => return created,
            }
        }
    }

    /// Begins it under this temporary name.
    pub(crate) fn create_as(dir: &Arc<Dir>, name: &str) -> io::Result<Self> {
        let (file, entered) = Entered::made(|| {
            let file = dir.create(name)?;
            let (held, named) = (dir.clone(), name.to_owned());
            let removal = move || {
                // half of a file is worth nothing
                let _ = held.remove(&named);
            };
            io::Result::Ok((file, removal))
        })?;
        let own = Dir::entry_of(&file)?.id;
        let (dir, name) = (dir.clone(), name.to_owned());
        *open_names().entry(name.clone()).or_default() += 1;
        Ok(Self { dir, name, file: Some(file), own, entered: Some(entered) })
    }

    /// The open file.
    pub(crate) fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("it is closed"))
    }

    /// Makes the written data reach the disk; nothing can be written afterwards.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.file.take().map_or(Ok(()), |file| file.sync_all())
    }

    /// Its current entry. Errors if it was removed.
    pub(crate) fn entry(&self) -> io::Result<Entry> {
        match self.dir.entry(&self.name)? {
            Some(entry) if entry.id.is_same_file(self.own) => Ok(entry),
            _ => Err(io::Error::other(format!("`{}` was taken away", self.name))),
        }
    }

    /// Gives it its name. The existing file of that name must be `before`, and is replaced; with `None` the name
    /// must be free. The caller must have closed the file, and must sync the directory.
    pub(crate) fn rename(&mut self, to: &OsStr, before: Option<Entry>) -> io::Result<()> {
        let renamed = {
            let _held = abandon::not_now();
            self.rename_now(to, before)
        };
        if renamed.is_ok() {
            self.is_named();
        }
        renamed
    }

    /// Records that it has its name, so that nothing remains to be removed.
    pub(crate) fn is_named(&mut self) {
        self.entered = None;
    }

    /// [`Temporary::rename`] for a caller that prevents abandoning meanwhile, and that records afterwards that the
    /// file is named.
    pub(crate) fn rename_now(&self, to: &OsStr, before: Option<Entry>) -> io::Result<()> {
        self.entry()?;
        let Some(before) = before else { return self.dir.rename_new(&self.name, to) };
        match self.dir.entry(to)? {
            Some(now) if now.id == before.id && now.kind == Kind::File => {
                self.dir.rename(&self.name, to)
            }
            _ => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut open = open_names();
        if let Some(count) = open.get_mut(&self.name) {
            *count -= 1;
        }
        open.retain(|_, count| *count > 0);
        drop(open);
        if self.entered.is_some() {
            // the error that led here says more than a second one
            let _ = self.dir.remove(&self.name);
            // not before: if the process ended in between, the file would stay
            self.entered = None;
        }
    }
}

/// A file that is being written. It gets its name, and is on the disk, when [`NewFile::commit`] returns. If it is
/// dropped before that, it is removed.
#[derive(Debug)]
pub struct NewFile {
    temporary: Temporary,
    path: PathBuf,
    owner: Owner,
}

/// The owner of the file's place.
#[derive(Debug)]
enum Owner {
    /// The user, who named the file. `before`: the file that is replaced.
    User { before: Option<Entry>, made: Made },
    /// A directory of ours.
    Ours(Directory, String),
}

/// Directories that were created on the path; they are removed if they stay empty.
#[derive(Debug)]
struct Made {
    paths: Arc<Vec<PathBuf>>,
    _entered: Entered,
}

impl Made {
    fn new(path: &Path) -> Result<Self, FilesError> {
        let (paths, entered) = Entered::made(|| {
            let paths = Arc::new(dir::make(path)?);
            let own = paths.clone();
            Ok::<_, FilesError>((paths, move || dir::unmake(&own)))
        })?;
        Ok(Self { paths, _entered: entered })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // directories that are not empty stay
        dir::unmake(&self.paths);
    }
}

impl NewFile {
    /// Begins the file at a path given by the user, and creates its parent directories. An existing file of this
    /// kind is replaced at the end.
    ///
    /// # Errors
    ///
    /// Like [`check`], or if nothing can be written there.
    pub fn begin(path: &Path, kind: FileKind<'_>) -> Result<Self, FilesError> {
        let (parent, name) = named(path)?;
        let made = Made::new(parent)?;
        let failed = |error| FilesError::system("write", path)(error);
        let dir = Arc::new(Dir::open(above(parent)).map_err(failed)?);
        let before = standing(&dir, name, path, kind)?;
        let mut temporary = Temporary::create(&dir, name).map_err(failed)?;
        if let (Some(before), Ok(file)) = (before, temporary.file()) {
            // users who may read the old file may read the new one; an error means that the system has no
            // permissions
            let _ = Dir::set_mode(file, before.mode);
        }
        Ok(Self { temporary, path: path.to_owned(), owner: Owner::User { before, made } })
    }

    /// Returns the temporary file; the file must be of that directory.
    pub(crate) fn into_temporary(self, directory: &Directory) -> Temporary {
        assert!(matches!(&self.owner, Owner::Ours(owner, _) if owner == directory));
        self.temporary
    }

    /// A file of a directory of ours.
    pub(crate) fn of_directory(
        temporary: Temporary,
        directory: Directory,
        name: String,
        path: PathBuf,
    ) -> Self {
        Self { temporary, path, owner: Owner::Ours(directory, name) }
    }

    /// Its final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path while it is written, for callers that open files by their names.
    pub fn temporary_path(&self) -> PathBuf {
        match &self.owner {
            Owner::Ours(directory, name) => {
                directory.real_path(name).with_file_name(&self.temporary.name)
            }
            Owner::User { .. } => self.path.with_file_name(&self.temporary.name),
        }
    }

    /// Reads the data written so far, from the beginning.
    pub fn written(&mut self) -> io::Result<impl Read + '_> {
        let file = self.temporary.file()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Makes the written data reach the disk, and closes the file until it gets its name: many files may wait.
    ///
    /// # Errors
    ///
    /// If the disk is full.
    pub fn close(&mut self) -> Result<(), FilesError> {
        self.temporary.close().map_err(FilesError::system("write", &self.path))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// If the disk is full, if another process has written the file meanwhile, or if the existing entry is not a
    /// file that may be replaced. In all these cases the existing entry is unchanged.
    pub fn commit(self) -> Result<(), FilesError> {
        let Self { temporary, path, owner } = self;
        match owner {
            Owner::Ours(directory, name) => directory.commit(vec![(temporary, name)]),
            Owner::User { before, made } => {
                let (_, name) = named(&path)?;
                let mut temporary = temporary;
                let closed = temporary.close();
                let done = closed.and_then(|()| temporary.rename(name, before));
                let done = done.and_then(|()| temporary.dir.sync());
                drop(made);
                done.map_err(|error| not_named(&path, error))
            }
        }
    }

    /// Gives files of one directory of ours their names; all are listed together.
    ///
    /// # Errors
    ///
    /// Like [`NewFile::commit`].
    ///
    /// # Panics
    ///
    /// If a file is not of that directory.
    pub fn commit_all(
        directory: &Directory,
        files: impl IntoIterator<Item = (Self, String)>,
    ) -> Result<(), FilesError> {
        let of_it = |(file, name): (Self, String)| (file.into_temporary(directory), name);
        directory.commit(files.into_iter().map(of_it).collect())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error for a file that did not get its name.
pub(crate) fn not_named(path: &Path, error: io::Error) -> FilesError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return FilesError::Overtaken { path: path.to_owned() };
    }
    FilesError::system("write", path)(error)
}

/// Writes a file of this kind, named by the user, completely or not at all.
///
/// # Errors
///
/// Like [`NewFile::begin`] and [`NewFile::commit`].
///
/// # Panics
///
/// If the content is of another kind: it could not be replaced later.
pub fn write(path: &Path, kind: FileKind<'_>, content: &[u8]) -> Result<(), FilesError> {
    assert!(kind.matches(content), "{} is written as {kind:?}", path.display());
    let mut file = NewFile::begin(path, kind)?;
    file.write_all(content).map_err(FilesError::system("write", path))?;
    file.commit()
}

/// Writes a new file named by the user, completely or not at all.
///
/// # Errors
///
/// Like [`write()`], or if the name exists.
pub fn write_new(path: &Path, content: &[u8]) -> Result<(), FilesError> {
    let exists = || FilesError::Exists { path: path.to_owned() };
    named(path)?;
    if path.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let mut file = NewFile::begin(path, FileKind::ANY)?;
    if matches!(file.owner, Owner::User { before: Some(_), .. }) {
        return Err(exists());
    }
    file.write_all(content).map_err(FilesError::system("write", path))?;
    file.commit()
}

/// Errors if a file of this kind cannot be written to a path given by the user, as far as that can be known
/// beforehand. Creates nothing.
///
/// # Errors
///
/// If the existing entry is not an ordinary file, is of another kind, or may not be written.
pub fn check(path: &Path, kind: FileKind<'_>) -> Result<(), FilesError> {
    let (parent, name) = named(path)?;
    match Dir::open(above(parent)) {
        Ok(dir) => standing(&dir, name, path, kind).map(drop),
        // it is created when there is something to write
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FilesError::system("write", path)(error)),
    }
}

/// As [`check`], for the output of a command that reads `inputs`, if it has an output.
///
/// # Errors
///
/// As [`check`], and if the output is one of the inputs.
pub fn check_apart(
    output: Option<&Path>,
    kind: FileKind<'_>,
    inputs: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), FilesError> {
    let Some(path) = output else { return Ok(()) };
    let checked = check(path, kind);
    // if the output is an input, say that rather than `OtherKind`
    if let (Ok(()) | Err(FilesError::OtherKind { .. }), Ok(real)) = (&checked, path.canonicalize())
        && inputs
            .into_iter()
            .any(|input| input.as_ref().canonicalize().is_ok_and(|one| one == real))
    {
        return Err(FilesError::IsInput { path: path.to_owned() });
    }
    checked
}

/// The directory and the file name of a path.
pub(crate) fn named(path: &Path) -> Result<(&Path, &OsStr), FilesError> {
    let special = |found| Err(FilesError::Special { path: path.to_owned(), found });
    if path == Path::new("-") {
        return special("it means standard output (a file of that name is `./-`)");
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return special("it names a directory");
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => special("it names a directory"),
    }
}

/// The directory of a relative path that names none.
pub(crate) fn above(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// The existing file that will be replaced.
fn standing(
    dir: &Dir,
    name: &OsStr,
    path: &Path,
    kind: FileKind<'_>,
) -> Result<Option<Entry>, FilesError> {
    let failed = |error| FilesError::system("write", path)(error);
    let Some(there) = dir.entry(name).map_err(failed)? else { return Ok(None) };
    if there.kind != Kind::File {
        let found = there.kind.described();
        return Err(FilesError::Special { path: path.to_owned(), found });
    }
    // a read-only file is not replaced either
    let file = dir.open_file(name, true).map_err(failed)?;
    if !kind.has(&file).map_err(failed)? {
        return Err(FilesError::OtherKind { path: path.to_owned(), what: kind.what() });
    }
    Ok(Some(there))
}

#[cfg(test)]
mod tests;
