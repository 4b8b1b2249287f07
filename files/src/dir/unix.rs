//! By the `*at` calls of POSIX: names are looked up in the open directory itself.
#![allow(
    clippy::cast_possible_wrap,
    clippy::unnecessary_cast,
    reason = "what the system call has, whatever its type is on this system"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};

use super::{Entry, Id, Kind};

/// A directory.
#[derive(Debug)]
pub(crate) struct Dir(File);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// No link is followed, and no pipe or terminal waited for.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Dir {
    /// Opens the directory at a path of the user's, who may have links in it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(fs::openat(CWD, path, DIRECTORY, Mode::empty())?.into()))
    }

    /// Whether it is the directory that the path leads to now.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let there = fs::statat(CWD, path, AtFlags::empty()).map(|stat| entry(&stat).id);
        matches!((there, self.id()), (Ok(there), Ok(own)) if own.is_same_file(there))
    }

    /// Tells it from others.
    pub(crate) fn id(&self) -> io::Result<Id> {
        Ok(entry(&fs::fstat(&self.0)?).id)
    }

    /// A directory in it.
    pub(crate) fn open_sub(&self, name: &str) -> io::Result<Self> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        Ok(Self(fs::openat(&self.0, name, flags, Mode::empty())?.into()))
    }

    /// The same, which is made if need be.
    pub(crate) fn make_sub(&self, name: &str) -> io::Result<Self> {
        match fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.open_sub(name),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands at a name.
    pub(crate) fn entry(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Entry>> {
        match fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(entry(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a file that is not there.
    pub(crate) fn create(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | FILE;
        Ok(fs::openat(&self.0, name.as_ref(), flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Opens a file to read, or to read and write.
    pub(crate) fn open_file(&self, name: impl AsRef<OsStr>, write: bool) -> io::Result<File> {
        let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
        Ok(fs::openat(&self.0, name.as_ref(), access | FILE, Mode::empty())?.into())
    }

    /// What an open file is.
    pub(crate) fn entry_of(file: &File) -> io::Result<Entry> {
        Ok(entry(&fs::fstat(file)?))
    }

    /// Gives an open file the permissions of the one that it replaces.
    pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
        Ok(fs::fchmod(file, Mode::from_raw_mode(mode as _))?)
    }

    /// Renames a file, which replaces another.
    pub(crate) fn rename(&self, from: &str, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Renames a file; errors if another has the name.
    pub(crate) fn rename_new(&self, from: &str, to: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::io::Errno;
            let flags = fs::RenameFlags::NOREPLACE;
            match fs::renameat_with(&self.0, from, &self.0, to, flags) {
                // not every file system knows it
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                done => return Ok(done?),
            }
        }
        match fs::linkat(&self.0, from, &self.0, to, AtFlags::empty()) {
            Ok(()) => Ok(fs::unlinkat(&self.0, from, AtFlags::empty())?),
            Err(rustix::io::Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
            // and not every one has links
            Err(_) => match self.entry(to)? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => self.rename(from, to),
            },
        }
    }

    /// Gives two files each other's names, in one step. Errors with `Unsupported` where that cannot be done.
    pub(crate) fn exchange(&self, one: &str, other: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::io::Errno;
            match fs::renameat_with(&self.0, one, &self.0, other, fs::RenameFlags::EXCHANGE) {
                // not every file system knows it
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                done => return Ok(done?),
            }
        }
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// The names in it, but for those that are no texts.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.all_names()?.into_iter().flatten().collect())
    }

    /// The names in it; `None` for one that is no text.
    pub(crate) fn all_names(&self) -> io::Result<Vec<Option<String>>> {
        let mut names = Vec::new();
        // opened again, as a handle has one place where reading goes on
        let again = fs::openat(&self.0, ".", DIRECTORY, Mode::empty())?;
        for entry in fs::Dir::new(again)? {
            let entry = entry?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                name => names.push(name.ok().map(str::to_owned)),
            }
        }
        Ok(names)
    }

    /// Makes renames and removals last.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.0.sync_all() {
            // some file systems have nothing to do, and say so in this way
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        }
    }

    /// A handle that holds the directory's lock; the system drops it with the process. `None`: the
    /// file system has no locks. Errors with `WouldBlock` if another has it.
    pub(crate) fn lock(&self, alone: bool) -> io::Result<Option<File>> {
        use std::fs::TryLockError;
        // a handle of its own, as a lock belongs to what was opened
        let file = File::from(fs::openat(&self.0, ".", DIRECTORY, Mode::empty())?);
        let locked = if alone { file.try_lock() } else { file.try_lock_shared() };
        match locked {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "types differ by system")]
fn entry(stat: &Stat) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        _ => Kind::Other,
    };
    Entry {
        kind,
        bytes: stat.st_size as u64,
        mode: u32::from(stat.st_mode) & 0o7777,
        links: stat.st_nlink as u64,
        id: Id {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        },
    }
}
