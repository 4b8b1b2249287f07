//! Opens files, and reads whole files.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use crate::{Limit, Refusal};

/// Opens a file for reading.
///
/// A path in a file system must be a regular file: opening a named pipe could block forever, and a
/// device has no end. Standard input and other files that are already open (`/dev/stdin`, `/dev/fd/63`,
/// as from a shell's `<(...)`) may be pipes.
///
/// # Errors
///
/// With a [`Refusal`] if it is a directory, a device, a named pipe or a socket; otherwise with the
/// system's error.
pub fn open(path: &Path) -> io::Result<File> {
    let there = std::fs::metadata(path)?;
    if there.is_dir() {
        return Err(Refusal::Directory.into());
    }
    let is_streamed = is_open_already(path) && is_pipe(&there);
    if !there.is_file() && !is_streamed {
        return Err(Refusal::Special { what: kind(&there) }.into());
    }
    File::open(path)
}

/// Whether a path names a file that this process has already open.
fn is_open_already(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
        || path.starts_with(format!("/proc/{}/fd", std::process::id()))
}

#[cfg(unix)]
fn is_pipe(there: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    there.file_type().is_fifo()
}

#[cfg(unix)]
fn kind(there: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = there.file_type();
    match () {
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn kind(_: &Metadata) -> &'static str {
    "a special file"
}

/// Reads a whole file.
///
/// # Errors
///
/// As [`open`], and with a [`Refusal`] if the file is larger than the limit.
pub fn bytes(path: &Path, limit: Limit) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    // reserve the size that the file reports; it may be a pipe, or grow
    let room = file.metadata().map_or(0, |there| there.len().min(limit.bytes()));
    let mut bytes = Vec::with_capacity(room as usize);
    limited(file, limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file as text, without the mark of its encoding that editors of Windows put first.
///
/// # Errors
///
/// As [`bytes`], and with a [`Refusal`] if it is not UTF-8.
pub fn text(path: &Path, limit: Limit) -> io::Result<String> {
    let text = String::from_utf8(bytes(path, limit)?).map_err(|_| Refusal::NotText)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The bytes of `source`, up to a limit.
pub fn limited<R: Read>(source: R, limit: Limit) -> Limited<R> {
    Limited { source, left: limit.bytes(), limit }
}

/// A reader that fails if its source has more bytes than a limit.
#[derive(Debug)]
pub struct Limited<R> {
    source: R,
    left: u64,
    limit: Limit,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            // any further byte exceeds the limit
            return match self.source.read(&mut buffer[..1])? {
                0 => Ok(0),
                _ => Err(Refusal::TooLarge { limit: self.limit }.into()),
            };
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.source.read(&mut buffer[..most])?;
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limit = Limit::new(10, "an example");

    #[test]
    fn what_is_too_large_is_refused_and_what_just_fits_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(text(&path, SMALL).unwrap(), "0123456789");
        std::fs::write(&path, "0123456789a").unwrap();
        let error = text(&path, SMALL).unwrap_err();
        assert!(crate::is_refusal(&error));
        assert_eq!(error.to_string(), "it is larger than 10 bytes, the maximum for an example");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(text(&path, SMALL).unwrap_err().to_string(), "it is not UTF-8 text");
        let absent = text(&dir.path().join("none"), SMALL).unwrap_err();
        assert!(!crate::is_refusal(&absent) && absent.kind() == io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = |path: &Path| open(path).unwrap_err().to_string();
        assert_eq!(error(dir.path()), "it is a directory; expected a file");
        if cfg!(unix) {
            assert_eq!(error(Path::new("/dev/zero")), "it is a device; expected a file");
            let pipe = dir.path().join("pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.is_ok_and(|status| status.success()));
            assert_eq!(error(&pipe), "it is a named pipe; expected a file");
        }
    }

    #[test]
    fn the_mark_of_an_encoding_is_no_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "\u{feff}a\u{feff}").unwrap();
        assert_eq!(text(&path, Limit::RESULT).unwrap(), "a\u{feff}");
    }

    #[test]
    fn a_source_without_end_is_cut() {
        let mut all = Vec::new();
        let error = limited(io::repeat(0), SMALL).read_to_end(&mut all).unwrap_err();
        assert!(crate::is_refusal(&error));
        assert_eq!(all.len(), 10);
    }
}
