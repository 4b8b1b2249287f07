//! Files that grow: journals, histories. A line is added as a whole, as far as possible.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use crate::FilesError;
use crate::dir::{self, Dir, Kind};
use crate::new_file::{above, named};

/// Opens a file in `dir` for reading and writing; it is created if necessary. Errors for anything that
/// is not an ordinary file, or that has another name elsewhere.
pub(crate) fn open(
    dir: &Arc<Dir>,
    name: &std::ffi::OsStr,
    path: &Path,
) -> Result<File, FilesError> {
    let failed = |error| FilesError::system("write", path)(error);
    let special = |found| Err(FilesError::Special { path: path.to_owned(), found });
    loop {
        // checked before it is opened, because opening some devices has side effects
        match dir.entry(name).map_err(failed)? {
            None => match dir.create(name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let file = created.map_err(failed)?;
                    dir.sync().map_err(failed)?;
                    return Ok(file);
                }
            },
            Some(there) if there.kind != Kind::File => return special(there.kind.described()),
            Some(_) => {
                let file = dir.open_file(name, true).map_err(failed)?;
                let opened = Dir::entry_of(&file).map_err(failed)?;
                if opened.kind != Kind::File {
                    return special(opened.kind.described());
                }
                if opened.links > 1 {
                    return special("it is linked from elsewhere");
                }
                return Ok(file);
            }
        }
    }
}

/// Opens a file named by the user, to add to it; its directory must exist.
///
/// # Errors
///
/// If it is not an ordinary file, or cannot be written.
pub fn grow(path: &Path) -> Result<File, FilesError> {
    let (parent, name) = named(path)?;
    let dir = Dir::open(above(parent)).map_err(FilesError::system("write", path))?;
    open(&Arc::new(dir), name, path)
}

/// Adds text to a file named by the user, after `header` if the file is new. Afterwards all of it is
/// on the disk, or (if the disk is full) the file is unchanged. Other processes that add at the same
/// time wait.
///
/// # Errors
///
/// Like [`grow`].
pub fn append_line(path: &Path, header: &str, text: &str) -> Result<(), FilesError> {
    let mut file = grow(path)?;
    let failed = |error| FilesError::system("write", path)(error);
    // without locks, there are no other processes to wait for
    let _ = file.lock();
    let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut added = if length == 0 { header.to_owned() } else { String::new() };
    if length > 0 && !ends_with_a_line(&mut file, length).map_err(failed)? {
        added.push('\n');
    }
    added += text;
    let written = file.seek(SeekFrom::Start(length)).and_then(|_| file.write_all(added.as_bytes()));
    if written.is_err() {
        // half a line is worse than none
        let _ = file.set_len(length);
    }
    written.and_then(|()| dir::sync(&file)).map_err(failed)
}

fn ends_with_a_line(file: &mut File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_after_a_header() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("history.csv");
        append_line(&path, "a,b\n", "1,2\n").unwrap();
        append_line(&path, "a,b\n", "3,4\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n");
        // a line that an editor, or a crash, left without its end
        std::fs::write(&path, "a,b\n1,2").unwrap();
        append_line(&path, "a,b\n", "3,4\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2\n3,4\n");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_else_than_a_file_grows() {
        let place = tempfile::tempdir().unwrap();
        let (mine, link) = (place.path().join("mine"), place.path().join("link"));
        std::fs::write(&mine, "mine").unwrap();
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        let error = append_line(&link, "", "x").unwrap_err();
        assert!(error.to_string().contains("it is a symbolic link"), "{error}");
        let hard = place.path().join("hard");
        std::fs::hard_link(&mine, &hard).unwrap();
        let error = append_line(&hard, "", "x").unwrap_err();
        assert!(error.to_string().contains("it is linked from elsewhere"), "{error}");
        for other in ["/dev/null", "/dev/full"].map(Path::new) {
            let error = append_line(other, "", "x").unwrap_err();
            assert!(error.to_string().contains("it is a device"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    }
}
