//! The portable implementation: by paths, checked before they are used.
#![allow(
    clippy::unused_self,
    clippy::cast_possible_wrap,
    reason = "the same calls as of the Unix ones"
)]

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Entry, Id, Kind};

/// A directory.
#[derive(Debug)]
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // a relative path would change its meaning if the process changed its working directory
        let path = fs::canonicalize(path)?;
        if path.is_dir() { Ok(Self(path)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    #[allow(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn id(&self) -> io::Result<Id> {
        Ok(Id { device: 0, inode: 0, modified: (0, 0) })
    }

    pub(crate) fn is_at(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|path| path == self.0)
    }

    pub(crate) fn open_sub(&self, name: &str) -> io::Result<Self> {
        match self.entry(name)? {
            Some(Entry { kind: Kind::Directory, .. }) => Ok(Self(self.0.join(name))),
            Some(_) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn make_sub(&self, name: &str) -> io::Result<Self> {
        match fs::create_dir(self.0.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.open_sub(name),
        }
    }

    pub(crate) fn entry(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Entry>> {
        match fs::symlink_metadata(self.0.join(name.as_ref())) {
            Ok(found) => Ok(Some(entry(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn create(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.0.join(name.as_ref()))
    }

    pub(crate) fn open_file(&self, name: impl AsRef<OsStr>, write: bool) -> io::Result<File> {
        match self.entry(name.as_ref())? {
            Some(Entry { kind: Kind::File, .. }) => {
                File::options().read(true).write(write).open(self.0.join(name.as_ref()))
            }
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn entry_of(file: &File) -> io::Result<Entry> {
        Ok(entry(&file.metadata()?))
    }

    #[allow(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn set_mode(_: &File, _: u32) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn rename(&self, from: &str, to: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    pub(crate) fn rename_new(&self, from: &str, to: &OsStr) -> io::Result<()> {
        match self.entry(to)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to),
        }
    }

    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as elsewhere")]
    pub(crate) fn exchange(&self, _one: &str, _other: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        fs::remove_file(self.0.join(name.as_ref()))
    }

    pub(crate) fn remove_dir(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.all_names()?.into_iter().flatten().collect())
    }

    pub(crate) fn all_names(&self) -> io::Result<Vec<Option<String>>> {
        fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name().into_string().ok())).collect()
    }

    #[allow(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(crate) fn lock(&self, _: bool) -> io::Result<Option<File>> {
        // directories cannot be locked
        Ok(None)
    }
}

/// Without numbers of devices and files: files are distinguished by size and time.
fn entry(found: &Metadata) -> Entry {
    let kind = if found.is_symlink() {
        Kind::Link
    } else if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Directory
    } else {
        Kind::Other
    };
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default();
    Entry {
        kind,
        bytes: found.len(),
        mode: 0o666,
        links: 1,
        id: Id {
            device: 0,
            inode: 0,
            modified: (modified.as_secs() as i64, i64::from(modified.subsec_nanos())),
        },
    }
}
