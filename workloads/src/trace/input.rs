//! The bytes of a trace: a window that moves over the decompressed file.
//!
//! Memory is one buffer of fixed size, regardless of the file. Gzip (also with several members) and
//! zstd (windows up to 128 MiB, the decompressor's default limit) are recognised by their magic
//! bytes.

use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::path::Path;

use super::error::TraceError;

/// The longest line that is accepted: lines of the formats here are shorter than 200 bytes.
pub(super) const MAX_LINE: usize = 64 << 10;
/// Size of the buffer: it holds any line, and is so large that refilling costs almost nothing.
const BUFFER: usize = 256 << 10;
/// Number of bytes that are examined to detect a format.
const HEAD: usize = 64 << 10;

/// The content of `source`, decompressed if its first bytes say that it is compressed.
pub fn decompressed(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = [0; 4];
    let mut known = 0;
    while known < magic.len() {
        match source.read(&mut magic[known..]) {
            Ok(0) => break,
            Ok(count) => known += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let whole = Cursor::new(magic).take(known as u64).chain(source);
    Ok(match magic {
        // deflate is the only method, and the three high flags are reserved
        [0x1f, 0x8b, 8, flags] if flags < 0x20 => {
            Box::new(flate2::read::MultiGzDecoder::new(whole))
        }
        #[cfg(feature = "zstd")]
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(Zstd(zstd::stream::read::Decoder::new(whole)?)),
        #[cfg(not(feature = "zstd"))]
        [0x28, 0xb5, 0x2f, 0xfd] => return Err(without_zstd()),
        _ => Box::new(whole),
    })
}

/// A decompressor of zstd. Its errors about dictionaries are reworded: traces are compressed without one.
#[cfg(feature = "zstd")]
struct Zstd<R>(R);

#[cfg(feature = "zstd")]
impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let message = match error.to_string() {
                text if text.starts_with("Dictionary mismatch") => {
                    "it was compressed with a dictionary of zstd, which a trace cannot have"
                }
                // zstd also gives this error for damaged data that need no dictionary
                text if text.starts_with("Dictionary") => "its compressed data are damaged",
                _ => return error,
            };
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }
}

/// The error of a build without zstd for a file that needs it.
#[cfg(not(feature = "zstd"))]
pub(super) fn without_zstd() -> io::Error {
    let message = "compressed by zstd, which this build of `foretell` cannot read or write";
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// A moving window over a trace.
pub(super) struct Input {
    name: String,
    source: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    /// The part of the buffer that has been read but not consumed.
    window: Range<usize>,
    /// Bytes of the trace before the window.
    offset: u64,
    ended: bool,
}

/// The next line of the input.
pub(super) enum Line {
    /// A line at these bytes of the buffer, without its line end.
    Here(Range<usize>),
    /// The line is too long; [`Input::skip_line`] continues after it.
    TooLong,
    /// There are no more lines.
    End,
}

impl Input {
    /// The file at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        match foretell_input::open(path) {
            Ok(file) => Self::new(name, file),
            Err(source) => Err(TraceError::Open { trace: name, source }),
        }
    }

    /// The content of `source`, decompressed if it is compressed.
    pub(super) fn new(
        name: String,
        source: impl Read + Send + 'static,
    ) -> Result<Self, TraceError> {
        let source = match decompressed(source) {
            Ok(source) => source,
            Err(source) => return Err(TraceError::Read { trace: name, offset: 0, source }),
        };
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Ok(Self { name, source, buffer, window: 0..0, offset: 0, ended: false })
    }

    /// Name of the trace.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the trace before the window.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that have been read and not consumed.
    pub(super) fn window(&self) -> &[u8] {
        &self.buffer[self.window.clone()]
    }

    /// The bytes of a line found.
    pub(super) fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// The beginning of the rest, enough to detect a format.
    pub(super) fn head(&mut self) -> Result<&[u8], TraceError> {
        while self.window.len() < HEAD && self.fill()? {}
        Ok(self.window())
    }

    /// Advances the window by `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        assert!(count <= self.window.len());
        self.window.start += count;
        self.offset += count as u64;
    }

    /// Reads more data after the window; `false` at the end of the trace or if the buffer is full.
    pub(super) fn fill(&mut self) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.window.clone(), 0);
        self.window = 0..self.window.len();
        let free = &mut self.buffer[self.window.end..];
        if free.is_empty() {
            return Ok(false);
        }
        loop {
            match self.source.read(free) {
                Ok(count) => {
                    self.window.end += count;
                    self.ended = count == 0;
                    return Ok(!self.ended);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    self.ended = true;
                    let offset = self.offset + self.window.len() as u64;
                    return Err(TraceError::Read { trace: self.name.clone(), offset, source });
                }
            }
        }
    }

    /// Consumes a line. It ends with a line feed, possibly after a carriage return, or with the
    /// trace.
    pub(super) fn line(&mut self) -> Result<Line, TraceError> {
        let mut searched = 0;
        let length = loop {
            match memchr::memchr(b'\n', &self.window()[searched..]) {
                Some(at) => break searched + at,
                None if self.window.len() > MAX_LINE => break self.window.len(),
                None => searched = self.window.len(),
            }
            if !self.fill()? {
                break self.window.len();
            }
        };
        if length > MAX_LINE {
            return Ok(Line::TooLong);
        }
        if self.window.is_empty() {
            return Ok(Line::End);
        }
        let start = self.window.start;
        let mut end = start + length;
        self.consume((length + 1).min(self.window.len()));
        if end > start && self.buffer[end - 1] == b'\r' {
            end -= 1;
        }
        Ok(Line::Here(start..end))
    }

    /// Consumes everything up to and including the next line feed, however far it is.
    pub(super) fn skip_line(&mut self) -> Result<(), TraceError> {
        loop {
            let found = memchr::memchr(b'\n', self.window());
            self.consume(found.map_or(self.window.len(), |at| at + 1));
            if found.is_some() || !self.fill()? {
                return Ok(());
            }
        }
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn errors_of_zstd_do_not_speak_of_dictionaries_that_a_trace_lacks() {
        let fault = |frame: &[u8]| {
            let mut whole = [0x28, 0xb5, 0x2f, 0xfd].to_vec();
            whole.extend(frame);
            whole.resize(100, 0);
            let mut text = String::new();
            let mut read = decompressed(Cursor::new(whole)).unwrap();
            read.read_to_string(&mut text).unwrap_err().to_string()
        };
        // a compressed block of 55 bytes, whose literals have the Huffman code of an earlier block
        let damaged = fault(&[0x00, 0x58, 0xbc, 0x01, 0x00, 0x73]);
        assert_eq!(damaged, "its compressed data are damaged");
        // a frame with the number of a dictionary
        let dictionary = fault(&[0x01, 0x58, 0x07, 0xbc, 0x01, 0x00]);
        assert_eq!(
            dictionary,
            "it was compressed with a dictionary of zstd, which a trace cannot have"
        );
    }
}
