//! Writes traces in the project's own format, whatever their original format.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::foretell::{TIMED, UNTIMED};
use crate::{Op, Request};

/// Writes requests in the project's own format ([`Format::Foretell`](super::Format::Foretell)).
///
/// Memory is a fixed buffer. The output is incomplete before [`TraceWriter::finish`].
pub struct TraceWriter<W: Write> {
    output: W,
    timed: bool,
    line: Vec<u8>,
    written: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header; `timed`: whether requests may have times.
    ///
    /// # Errors
    ///
    /// If `output` cannot be written.
    pub fn new(mut output: W, timed: bool) -> io::Result<Self> {
        output.write_all(if timed { TIMED } else { UNTIMED }.as_bytes())?;
        output.write_all(b"\n")?;
        Ok(Self { output, timed, line: Vec::with_capacity(80), written: 0 })
    }

    /// Appends a request; its time is left out if the header announces none.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    #[inline]
    pub fn write(&mut self, request: Request) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        if self.timed {
            if let Some(at) = request.at {
                push_number(line, at.as_ns());
            }
            line.push(b',');
        }
        let access = request.access;
        line.extend_from_slice(if access.op == Op::Read { b"R," } else { b"W," });
        push_number(line, access.offset.get());
        line.push(b',');
        push_number(line, access.size.get());
        line.push(b'\n');
        self.written += 1;
        self.output.write_all(line)
    }

    /// Number of requests so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes the buffered data and returns the output.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

/// A number in decimal digits.
fn push_number(line: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[at..]);
}

/// A file with the compression given by its name: `.gz`, `.zst`, or none.
pub enum TraceFile<W: Write> {
    /// Uncompressed.
    Plain(BufWriter<W>),
    /// Gzip.
    Gzip(BufWriter<flate2::write::GzEncoder<W>>),
    /// Zstd.
    #[cfg(feature = "zstd")]
    Zstd(BufWriter<zstd::stream::write::Encoder<'static, W>>),
}

/// So large that writing costs almost no time.
const BUFFER: usize = 256 << 10;

impl<W: Write> TraceFile<W> {
    /// Writes to `file`, with the compression given by the ending of `named`.
    ///
    /// # Errors
    ///
    /// If the compressor cannot be created.
    pub fn new(file: W, named: &Path) -> io::Result<Self> {
        let ending = named.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        Ok(match ending.as_deref().and_then(std::ffi::OsStr::to_str) {
            Some("gz") => {
                let encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
                Self::Gzip(BufWriter::with_capacity(BUFFER, encoder))
            }
            #[cfg(not(feature = "zstd"))]
            Some("zst" | "zstd") => return Err(super::input::without_zstd()),
            #[cfg(feature = "zstd")]
            Some("zst" | "zstd") => {
                let encoder = zstd::stream::write::Encoder::new(file, 3)?;
                Self::Zstd(BufWriter::with_capacity(BUFFER, encoder))
            }
            _ => Self::Plain(BufWriter::with_capacity(BUFFER, file)),
        })
    }

    /// Ends the compressed stream, and returns the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(file) => file.into_inner().map_err(io::IntoInnerError::into_error),
            Self::Gzip(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
            #[cfg(feature = "zstd")]
            Self::Zstd(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
        }
    }
}

impl<W: Write> Write for TraceFile<W> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Cursor;

    use foretell_units::{Bytes, SimTime};
    use proptest::prelude::*;

    use super::*;
    use crate::Access;
    use crate::trace::{Format, ReadOptions, TraceReader};

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let request = (any::<bool>(), 0..1_u64 << 60, 1..1_u64 << 32, 0..1_u64 << 40);
        prop::collection::vec(request, 1..50).prop_map(|list| {
            let mut at = 0;
            let mut requests = Vec::new();
            for (read, offset, size, gap) in list {
                let op = if read { Op::Read } else { Op::Write };
                let access = Access { op, offset: Bytes(offset), size: Bytes(size) };
                requests.push(Request { at: Some(SimTime::from_ns(at)), access });
                at += gap;
            }
            requests
        })
    }

    fn read(bytes: Vec<u8>) -> Vec<Request> {
        let trace = TraceReader::new("own", Cursor::new(bytes), &ReadOptions::default()).unwrap();
        assert_eq!(trace.format(), Format::Foretell);
        trace.map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(requests in requests(), timed: bool) {
            let mut writer = TraceWriter::new(Vec::new(), timed).unwrap();
            for request in &requests {
                writer.write(*request).unwrap();
            }
            let expected: Vec<Request> = requests
                .iter()
                .map(|request| Request { at: request.at.filter(|_| timed), ..*request })
                .collect();
            prop_assert_eq!(read(writer.finish().unwrap()), expected);
        }
    }

    #[test]
    fn a_file_is_compressed_as_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access { op: Op::Read, offset: Bytes(u64::MAX - 1), size: Bytes(1) };
        let request = Request { at: None, access };
        for (name, magic) in [
            ("t.csv", &b"op"[..]),
            ("t.csv.gz", &[0x1f, 0x8b]),
            ("t.ZST", &[0x28, 0xb5, 0x2f, 0xfd]),
        ] {
            let path = dir.path().join(name);
            let file = TraceFile::new(File::create(&path).unwrap(), &path).unwrap();
            let mut writer = TraceWriter::new(file, false).unwrap();
            writer.write(request).unwrap();
            assert_eq!(writer.written(), 1);
            writer.finish().unwrap().finish().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            assert!(bytes.starts_with(magic), "{name}");
            assert_eq!(read(bytes), [request], "{name}");
        }
    }
}
