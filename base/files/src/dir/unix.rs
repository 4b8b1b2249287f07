//! The implementation with the `*at` calls of POSIX: names are looked up in the open directory itself.
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
/// Follows no link, and does not wait for a pipe or terminal.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Dir {
    /// Opens the directory at a path given by the user, which may contain links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(fs::openat(CWD, path, DIRECTORY, Mode::empty())?.into()))
    }

    /// Whether the path leads to this directory now.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let there = fs::statat(CWD, path, AtFlags::empty()).map(|stat| entry(&stat).id);
        matches!((there, self.id()), (Ok(there), Ok(own)) if own.is_same_file(there))
    }

    /// Identity of the directory.
    pub(crate) fn id(&self) -> io::Result<Id> {
        Ok(entry(&fs::fstat(&self.0)?).id)
    }

    /// A subdirectory.
    pub(crate) fn open_sub(&self, name: &str) -> io::Result<Self> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        Ok(Self(fs::openat(&self.0, name, flags, Mode::empty())?.into()))
    }

    /// A subdirectory, which is created if necessary.
    pub(crate) fn make_sub(&self, name: &str) -> io::Result<Self> {
        match fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.open_sub(name),
            Err(error) => Err(error.into()),
        }
    }

    /// The entry with that name.
    pub(crate) fn entry(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Entry>> {
        match fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(entry(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file that does not exist.
    pub(crate) fn create(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | FILE;
        Ok(fs::openat(&self.0, name.as_ref(), flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Opens a file for reading, or for reading and writing.
    pub(crate) fn open_file(&self, name: impl AsRef<OsStr>, write: bool) -> io::Result<File> {
        let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
        Ok(fs::openat(&self.0, name.as_ref(), access | FILE, Mode::empty())?.into())
    }

    /// The entry of an open file.
    pub(crate) fn entry_of(file: &File) -> io::Result<Entry> {
        Ok(entry(&fs::fstat(file)?))
    }

    /// Gives an open file the permissions of the one that it replaces.
    pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
        Ok(fs::fchmod(file, Mode::from_raw_mode(mode as _))?)
    }

    /// Renames a file and replaces any other with the new name.
    pub(crate) fn rename(&self, from: &str, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Renames a file. Errors if the new name exists.
    pub(crate) fn rename_new(&self, from: &str, to: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::io::Errno;
            let flags = fs::RenameFlags::NOREPLACE;
            match fs::renameat_with(&self.0, from, &self.0, to, flags) {
                // not every file system supports this
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                done => return Ok(done?),
            }
        }
        match fs::linkat(&self.0, from, &self.0, to, AtFlags::empty()) {
            Ok(()) => Ok(fs::unlinkat(&self.0, from, AtFlags::empty())?),
            Err(rustix::io::Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
            // not every file system has links
            Err(_) => match self.entry(to)? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => self.rename(from, to),
            },
        }
    }

    /// Exchanges the names of two files in one step. Errors with `Unsupported` if that is impossible.
    pub(crate) fn exchange(&self, one: &str, other: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::io::Errno;
            match fs::renameat_with(&self.0, one, &self.0, other, fs::RenameFlags::EXCHANGE) {
                // not every file system supports this
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

    /// The names in it that are valid text.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.all_names()?.into_iter().flatten().collect())
    }

    /// The names in it; `None` for a name that is not valid text.
    pub(crate) fn all_names(&self) -> io::Result<Vec<Option<String>>> {
        let mut names = Vec::new();
        // opened again, because a handle has a single read position
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

    /// Makes renames and removals durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.0.sync_all() {
            // some file systems need no sync, and say so in this way
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        }
    }

    /// A handle that holds the directory's lock; the system releases it when the process ends. `None`: the
    /// file system has no locks. Errors with `WouldBlock` if another process has the lock.
    pub(crate) fn lock(&self, alone: bool) -> io::Result<Option<File>> {
        use std::fs::TryLockError;
        // a separate handle, because a lock belongs to an open file
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
