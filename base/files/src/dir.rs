//! A directory that is held open: names are looked up in it, even if its path changes.
//!
//! No symbolic link below it is followed. On systems without the necessary calls (`portable`), paths
//! are checked before they are used, which leaves a short time in between.

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(dead_code, reason = "it is there to be tested"))]
mod portable;
#[cfg(unix)]
mod unix;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::FilesError;

#[cfg(not(unix))]
pub(crate) use portable::Dir;
#[cfg(unix)]
pub(crate) use unix::Dir;

/// An entry of a directory, itself and not the target of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// Permissions.
    pub(crate) mode: u32,
    /// Number of names that the file has.
    pub(crate) links: u64,
    /// Distinguishes a file from others, and from itself after a change.
    pub(crate) id: Id,
}

/// The type of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Pipe,
    Device,
    Other,
}

impl Kind {
    /// Description in words.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::File => "it is a file",
            Self::Directory => "it is a directory",
            Self::Link => "it is a symbolic link",
            Self::Pipe => "it is a pipe",
            Self::Device => "it is a device",
            Self::Other => "it is not an ordinary file",
        }
    }

    /// Description as a noun.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Link => "symbolic link",
            Self::Pipe => "pipe",
            Self::Device => "device",
            Self::Other => "thing",
        }
    }
}

/// The identity of a file, and when it was last written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Id {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) modified: (i64, i64),
}

impl Id {
    /// Whether both are the same file, whether or not it was written to.
    pub(crate) fn is_same_file(self, other: Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Creates a directory with all its parents. Returns those that did not exist, outermost first.
pub(crate) fn make(path: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let mut missing = Vec::new();
    let mut there = path;
    while !there.as_os_str().is_empty() && fs::metadata(there).is_err() {
        missing.push(there.to_owned());
        let Some(above) = there.parent() else { break };
        there = above;
    }
    let mut made = Vec::new();
    for path in missing.into_iter().rev() {
        match fs::create_dir(&path) {
            Ok(()) => made.push(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => {
                unmake(&made);
                return Err(FilesError::not_made(&path, error));
            }
        }
    }
    Ok(made)
}

/// Removes directories that [`make`] created, if they are empty.
pub(crate) fn unmake(made: &[PathBuf]) {
    for path in made.iter().rev() {
        match fs::remove_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // a directory that is not empty stays, and so do those above it
            Err(_) => break,
        }
    }
}

/// Makes all data written to a file reach the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Creates a directory under a temporary name; it is renamed to `target` when its content is
/// complete. Returns it with the temporary name.
pub(crate) fn make_temporary(above: &Dir, target: &str) -> io::Result<(Dir, String)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let name = temporary(target, NEXT.fetch_add(1, Ordering::Relaxed));
        // a process that was killed may have had the same number
        if above.entry(&name)?.is_none() {
            return Ok((above.make_sub(&name)?, name));
        }
    }
}

/// A temporary name for a file that gets the name `target` when it is complete; `number`: of the
/// attempt.
pub(crate) fn temporary(target: &str, number: u32) -> String {
    // leaves room for the rest within the 255 bytes of a name
    let mut end = target.len().min(200);
    while !target.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.{}-{number}.partial", &target[..end], std::process::id())
}

/// Whether a name has the form of those from [`temporary`].
pub(crate) fn is_temporary(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let middle = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
    middle
        .and_then(|middle| middle.rsplit_once('.'))
        .and_then(|(_, numbers)| numbers.split_once('-'))
        .is_some_and(|(process, count)| number(process) && number(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_known_again() {
        for target in ["a", "a.b", "x.partial", &"ä".repeat(200)] {
            let name = temporary(target, 3);
            assert!(is_temporary(&name) && name.len() <= 255, "{name}");
        }
        for other in ["a.partial", ".a.partial", ".a.1-.partial", ".a.x-1.partial", ".1-0.partial"]
        {
            assert!(!is_temporary(other), "{other}");
        }
    }

    #[test]
    fn directories_are_made_and_unmade() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b/c");
        let made = make(&deep).unwrap();
        assert_eq!(made, ["a", "a/b", "a/b/c"].map(|name| place.path().join(name)));
        assert_eq!(make(&deep).unwrap(), [""; 0].map(PathBuf::from));
        fs::write(place.path().join("a/mine"), "").unwrap();
        // one has already been removed
        fs::remove_dir(&deep).unwrap();
        unmake(&made);
        assert!(place.path().join("a/mine").exists() && !place.path().join("a/b").exists());
        let below = place.path().join("a/mine/x");
        let error = make(&below).unwrap_err().to_string();
        assert!(error.starts_with("cannot make the directory `") && error.contains("mine/x"));
    }

    /// Tests that both implementations behave the same.
    macro_rules! holds {
        ($name:ident, $dir:ty) => {
            #[test]
            fn $name() {
                let place = tempfile::tempdir().unwrap();
                let dir = <$dir>::open(place.path()).unwrap();
                assert_eq!(dir.entry("a").unwrap(), None);
                dir.create("a").unwrap();
                assert!(dir.create("a").is_err());
                let file = dir.entry("a").unwrap().unwrap();
                assert_eq!((file.kind, file.bytes), (Kind::File, 0));
                dir.create("b").unwrap();
                // nothing is replaced accidentally
                assert!(dir.rename_new("a", "b".as_ref()).is_err());
                dir.rename_new("a", "c".as_ref()).unwrap();
                dir.rename("b", "c".as_ref()).unwrap();
                let below = dir.make_sub("d").unwrap();
                below.create("e").unwrap();
                assert_eq!(dir.entry("d").unwrap().unwrap().kind, Kind::Directory);
                let mut names = dir.names().unwrap();
                names.sort();
                assert_eq!(names, ["c", "d"]);
                assert!(dir.remove_dir("d").is_err());
                assert!(dir.open_sub("d").is_ok() && dir.open_sub("c").is_err());
                below.remove("e").unwrap();
                dir.remove_dir("d").unwrap();
                dir.remove("c").unwrap();
                assert_eq!(dir.names().unwrap(), [""; 0]);
                assert!(dir.is_at(place.path()));
                #[cfg(unix)]
                {
                    let target = place.path().join("target");
                    fs::write(&target, "mine").unwrap();
                    std::os::unix::fs::symlink(&target, place.path().join("link")).unwrap();
                    std::os::unix::fs::symlink(place.path(), place.path().join("way")).unwrap();
                    assert_eq!(dir.entry("link").unwrap().unwrap().kind, Kind::Link);
                    assert!(dir.create("link").is_err());
                    assert!(dir.open_file("link", false).is_err());
                    assert!(dir.open_sub("way").is_err() && dir.make_sub("way").is_err());
                    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
                }
            }
        };
    }
    #[cfg(unix)]
    holds!(a_directory_held_open, unix::Dir);
    holds!(a_directory_held_by_its_path, portable::Dir);
}
