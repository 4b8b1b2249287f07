//! The journal of finished runs: append-only, one frame a run.
//!
//! The rows of a run are complete or absent, whatever happens. An incomplete frame fails its check
//! sum; it and everything after it count as not written. A frame:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | length of the content |
//! | 4 | CRC-32 of the run's number and the content |
//! | 8 | number of the run |
//! | length | JSON, compressed by zstd |
//!
//! Numbers are little-endian. The file begins with a line that names the format and one with the
//! fingerprint of the sweep. Runs are written in the order in which they end, but never more than
//! [`WINDOW`] ahead of a run that is still missing. So a journal can be read back in order with little
//! memory.
#![allow(clippy::naive_bytecount, reason = "a line is short")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use foretell_input::{Limit, limited};
use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::value::Value;

/// A run is written at most this many places ahead of an earlier run that is still missing.
pub const WINDOW: u64 = 1 << 16;

const FORMAT: &str = "foretell journal 1\n";
const FINGERPRINT: usize = 64;
const HEADER: u64 = (FORMAT.len() + FINGERPRINT + 1) as u64;
const FRAME: usize = 16;
/// Maximum bytes of a frame's content, compressed and decompressed; it is JSON.
const MAX_CONTENT: u32 = 256 << 20;
/// Maximum number of cells of a run.
const MAX_CELLS: usize = 1 << 24;
const LIMIT: Limit = Limit::new(MAX_CONTENT as u64, "a run in a journal");
/// Number of frames between syncs to disk; a power cut may lose this many.
const SYNC: u32 = 64;

/// A row of a table.
pub type Row = Vec<Value>;

/// A finished run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The run's number.
    #[serde(skip)]
    pub run: u64,
    /// Name of the split that its rows belong to.
    #[serde(rename = "s")]
    pub split: String,
    /// Its rows by table, in the order of the tables; empty if the run was left out.
    #[serde(rename = "t")]
    pub tables: Vec<Vec<Row>>,
}

/// A journal open for writing.
#[derive(Debug)]
pub struct JournalWriter {
    file: File,
    path: PathBuf,
    /// Length of the complete part.
    length: u64,
    unsynced: u32,
}

impl JournalWriter {
    /// Continues the journal in `file`, which is at `path`, or begins it. An incomplete frame at its
    /// end is cut off. Errors if it is the journal of another sweep.
    pub fn open(mut file: File, path: &Path, fingerprint: &str) -> Result<Self, DataError> {
        let failed = |what| DataError::file(what, path);
        let mut length = 0;
        let there = file.metadata().map_err(failed("look at"))?.len();
        if there >= HEADER {
            let mut frames = Frames::open(path, Some(fingerprint))?;
            length = HEADER;
            while let Some(frame) = frames.next()? {
                length = frame.end();
            }
        }
        file.set_len(length).map_err(failed("write"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        let mut journal = Self { file, path: path.to_owned(), length, unsynced: 0 };
        if length == 0 {
            journal.append_bytes(format!("{FORMAT}{fingerprint}\n").as_bytes())?;
        }
        Ok(journal)
    }

    /// Appends a run. If that fails (the disk is full), the journal stays as it was.
    pub fn append(&mut self, frame: &EncodedEntry) -> Result<(), DataError> {
        self.append_bytes(&frame.0)?;
        self.unsynced += 1;
        if self.unsynced >= SYNC {
            self.sync()?;
        }
        Ok(())
    }

    /// Makes sure that everything written is on the disk.
    pub fn sync(&mut self) -> Result<(), DataError> {
        self.unsynced = 0;
        self.file.sync_data().map_err(DataError::file("write", &self.path))
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                // a remainder would be recognised as incomplete anyway
                let _ = self.file.set_len(self.length);
                let _ = self.file.seek(SeekFrom::End(0));
                Err(DataError::file("write", &self.path)(error))
            }
        }
    }
}

/// A run in the journal's encoding. The thread that ran it encodes it, so that the writer only writes.
#[derive(Debug)]
pub struct EncodedEntry(Vec<u8>);

impl EncodedEntry {
    /// Encodes a run. Errors if it has more rows than a journal can hold.
    pub fn new(entry: &Entry) -> Result<Self, DataError> {
        let text = serde_json::to_vec(entry).expect("cells are plain");
        if let Some(fault) = too_much(&text) {
            return Err(DataError::TooMuch { run: entry.run, fault });
        }
        let content = zstd::bulk::compress(&text, 1).expect("memory can be written");
        let mut frame = Vec::with_capacity(FRAME + content.len());
        let length = u32::try_from(content.len()).expect("a run has less than 4 GiB of rows");
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&check_sum(entry.run, &content).to_le_bytes());
        frame.extend_from_slice(&entry.run.to_le_bytes());
        frame.extend_from_slice(&content);
        Ok(Self(frame))
    }

    /// Bytes in the journal.
    pub fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

/// The reason why a run's text is too large for a journal, if it is.
fn too_much(text: &[u8]) -> Option<String> {
    if text.len() > MAX_CONTENT as usize {
        return Some(format!(
            "{} MiB; a journal takes {} MiB",
            text.len() >> 20,
            MAX_CONTENT >> 20
        ));
    }
    // a comma follows each cell except the last one of a row, and each row
    let cells = text.iter().filter(|byte| **byte == b',').count();
    (cells > MAX_CELLS).then(|| format!("{cells} cells; a journal takes {MAX_CELLS}"))
}

fn check_sum(run: u64, content: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&run.to_le_bytes());
    sum.update(content);
    sum.finalize()
}

/// A complete frame, and the place of its content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Frame {
    run: u64,
    start: u64,
    length: u32,
}

impl Frame {
    fn end(self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// The complete frames of a journal, in the order of writing.
struct Frames {
    reader: BufReader<File>,
    path: PathBuf,
    at: u64,
    /// End of the journal when it was opened, as it may still grow.
    end: u64,
    content: Vec<u8>,
}

impl Frames {
    fn open(path: &Path, fingerprint: Option<&str>) -> Result<Self, DataError> {
        let file = foretell_input::open(path).map_err(DataError::file("read", path))?;
        let end = file.metadata().map_err(DataError::file("read", path))?.len();
        let mut frames = Self {
            reader: BufReader::new(file),
            path: path.to_owned(),
            at: 0,
            end,
            content: Vec::new(),
        };
        let mut header = vec![0; HEADER as usize];
        let whole = frames.fill(&mut header)?;
        let other = |fault: &str| DataError::Format {
            path: path.to_owned(),
            wanted: "a journal of this sweep",
            fault: fault.to_owned(),
        };
        if !whole {
            // the journal was interrupted before its header was written
            return Ok(frames);
        }
        if !header.starts_with(FORMAT.as_bytes()) {
            return Err(other("it begins otherwise"));
        }
        let found = &header[FORMAT.len()..FORMAT.len() + FINGERPRINT];
        if fingerprint.is_some_and(|wanted| wanted.as_bytes() != found) {
            return Err(other("it belongs to another"));
        }
        frames.at = HEADER;
        Ok(frames)
    }

    /// Goes to a place of the file.
    fn seek(&mut self, at: u64) -> Result<(), DataError> {
        let sought = self.reader.seek(SeekFrom::Start(at));
        sought.map_err(DataError::file("read", &self.path))?;
        self.at = at;
        Ok(())
    }

    /// The place after `frame`, which was read last.
    fn place(&self, frame: Frame) -> Place {
        Place { frame, sum: check_sum(frame.run, &self.content) }
    }

    /// Fills `bytes`; returns whether there were enough bytes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, DataError> {
        match self.reader.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(DataError::file("read", &self.path)(error)),
        }
    }

    fn next(&mut self) -> Result<Option<Frame>, DataError> {
        let mut head = [0; FRAME];
        if self.at == 0 || !self.fill(&mut head)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let sum = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let run = u64::from_le_bytes(std::array::from_fn(|byte| head[8 + byte]));
        if length > MAX_CONTENT || self.at + FRAME as u64 + u64::from(length) > self.end {
            return Ok(None);
        }
        let mut content = std::mem::take(&mut self.content);
        content.resize(length as usize, 0);
        let whole = self.fill(&mut content)? && check_sum(run, &content) == sum;
        self.content = content;
        if !whole {
            return Ok(None);
        }
        let start = self.at + FRAME as u64;
        self.at = start + u64::from(length);
        Ok(Some(Frame { run, start, length }))
    }
}

/// The runs of a journal in order of their numbers. Memory does not grow with the number of runs.
struct InOrder {
    frames: Frames,
    contents: File,
    ahead: BinaryHeap<Reverse<Frame>>,
    last: Option<u64>,
    ended: bool,
}

impl InOrder {
    fn open(path: &Path, fingerprint: Option<&str>) -> Result<Self, DataError> {
        let frames = Frames::open(path, fingerprint)?;
        let contents = foretell_input::open(path).map_err(DataError::file("read", path))?;
        Ok(Self { frames, contents, ahead: BinaryHeap::new(), last: None, ended: false })
    }

    fn next(&mut self) -> Result<Option<Frame>, DataError> {
        while !self.ended && self.ahead.len() <= WINDOW as usize {
            match self.frames.next()? {
                Some(frame) => self.ahead.push(Reverse(frame)),
                None => self.ended = true,
            }
        }
        let Some(Reverse(frame)) = self.ahead.pop() else { return Ok(None) };
        if self.last.is_some_and(|last| frame.run <= last) {
            let path = self.frames.path.clone();
            return Err(DataError::Twice { run: frame.run, first: path.clone(), second: path });
        }
        self.last = Some(frame.run);
        Ok(Some(frame))
    }

    fn entry(&mut self, frame: Frame) -> Result<Entry, DataError> {
        let path = &self.frames.path;
        let mut content = vec![0; frame.length as usize];
        self.contents
            .seek(SeekFrom::Start(frame.start))
            .and_then(|_| self.contents.read_exact(&mut content))
            .map_err(DataError::file("read", path))?;
        decoded(frame.run, &content, path)
    }
}

/// The run whose content in the journal at `path` is given.
fn decoded(run: u64, content: &[u8], path: &Path) -> Result<Entry, DataError> {
    let fault = |fault: String| DataError::Format {
        path: path.to_owned(),
        wanted: "a journal",
        fault: format!("run {run}: {fault}"),
    };
    let decoder = zstd::stream::read::Decoder::new(content);
    let mut text = Vec::new();
    decoder
        .and_then(|decoder| limited(decoder, LIMIT).read_to_end(&mut text))
        .map_err(|error| fault(error.to_string()))?;
    if let Some(many) = too_much(&text) {
        return Err(fault(format!("it has {many} a run")));
    }
    let mut entry: Entry = serde_json::from_slice(&text).map_err(|e| fault(e.to_string()))?;
    entry.run = run;
    Ok(entry)
}

/// How far a journal that may still grow has been read: the last frame that was read, and its check sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    frame: Frame,
    sum: u32,
}

/// What reading on has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadOn {
    /// The place up to which the journal has been read; `None` if it has no complete frame.
    To(Option<Place>),
    /// The journal does not have the frame that was read last, because it was begun again.
    BeganAgain,
}

/// Calls `each` with the complete runs of a journal behind `place`, in the order of writing.
pub(crate) fn read_on(
    path: &Path,
    fingerprint: &str,
    place: Option<Place>,
    mut each: impl FnMut(Entry) -> Result<(), DataError>,
) -> Result<ReadOn, DataError> {
    let mut frames = Frames::open(path, Some(fingerprint))?;
    if let Some(Place { frame, .. }) = place {
        frames.seek(frame.start - FRAME as u64)?;
        let is_there = frames.next()? == Some(frame);
        if !is_there || Some(frames.place(frame)) != place {
            return Ok(ReadOn::BeganAgain);
        }
    }
    let mut reached = place;
    while let Some(frame) = frames.next()? {
        each(decoded(frame.run, &frames.content, path)?)?;
        reached = Some(frames.place(frame));
    }
    Ok(ReadOn::To(reached))
}

/// Several journals merged into one, in the order of runs.
pub struct Journals {
    each: Vec<InOrder>,
    /// The next run of each journal.
    heads: BinaryHeap<Reverse<(Frame, usize)>>,
    last: Option<(u64, usize)>,
}

impl Journals {
    /// Opens journals; errors if one belongs to a sweep with another fingerprint.
    pub fn open(paths: &[PathBuf], fingerprint: Option<&str>) -> Result<Self, DataError> {
        let mut journals = Self { each: Vec::new(), heads: BinaryHeap::new(), last: None };
        for path in paths {
            journals.each.push(InOrder::open(path, fingerprint)?);
            journals.advance(journals.each.len() - 1)?;
        }
        Ok(journals)
    }

    fn advance(&mut self, journal: usize) -> Result<(), DataError> {
        if let Some(frame) = self.each[journal].next()? {
            self.heads.push(Reverse((frame, journal)));
        }
        Ok(())
    }

    /// The number of the next run; errors if the run was there before.
    pub fn next_run(&mut self) -> Result<Option<u64>, DataError> {
        Ok(self.next_frame()?.map(|(frame, _)| frame.run))
    }

    /// The next run.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, DataError> {
        let Some((frame, journal)) = self.next_frame()? else { return Ok(None) };
        self.each[journal].entry(frame).map(Some)
    }

    /// The journal of the run returned last.
    pub(crate) fn last_path(&self) -> Option<&Path> {
        self.last.map(|(_, journal)| self.each[journal].frames.path.as_path())
    }

    fn next_frame(&mut self) -> Result<Option<(Frame, usize)>, DataError> {
        let Some(Reverse((frame, journal))) = self.heads.pop() else { return Ok(None) };
        if let Some((run, other)) = self.last
            && run == frame.run
        {
            let [first, second] =
                [other, journal].map(|index| self.each[index].frames.path.clone());
            return Err(DataError::Twice { run, first, second });
        }
        self.last = Some((frame.run, journal));
        self.advance(journal)?;
        Ok(Some((frame, journal)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(run: u64) -> Entry {
        let row = vec![Value::count(run), Value::Number(0.1), Value::from("a"), Value::Missing];
        Entry { run, split: "train".to_owned(), tables: vec![vec![row], vec![]] }
    }

    fn runs(paths: &[PathBuf]) -> Result<Vec<u64>, DataError> {
        let mut journals = Journals::open(paths, None)?;
        let mut found = Vec::new();
        while let Some(entry) = journals.next_entry()? {
            assert_eq!(entry, self::entry(entry.run));
            found.push(entry.run);
        }
        Ok(found)
    }

    fn write(path: &Path, runs: &[u64]) {
        let file = foretell_files::grow(path).unwrap();
        let mut journal = JournalWriter::open(file, path, &"f".repeat(64)).unwrap();
        for run in runs {
            journal.append(&EncodedEntry::new(&entry(*run)).unwrap()).unwrap();
        }
    }

    #[test]
    fn runs_come_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        write(&a, &[4, 0, 2]);
        write(&b, &[1, 5, 3]);
        write(&b, &[7]);
        assert_eq!(runs(&[a.clone(), b.clone()]).unwrap(), [0, 1, 2, 3, 4, 5, 7]);
        assert_eq!(runs(std::slice::from_ref(&a)).unwrap(), [0, 2, 4]);
        assert!(matches!(runs(&[a.clone(), a]), Err(DataError::Twice { run: 0, .. })));
    }

    #[test]
    fn a_journal_cut_anywhere_has_the_runs_before_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, &[0, 1, 2]);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let before = runs(std::slice::from_ref(&path)).unwrap();
            assert!(before.len() < 3 && before == (0..before.len() as u64).collect::<Vec<_>>());
            let rest: Vec<u64> = (before.len() as u64..3).collect();
            write(&path, &rest);
            assert!(std::fs::read(&path).unwrap() == whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_changed_byte_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, &[0, 1]);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(runs(&[path]).unwrap(), [0]);
    }

    #[test]
    fn another_sweep_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&path, &[0]);
        let open = |fingerprint: &str| {
            let file = foretell_files::grow(&path).unwrap();
            JournalWriter::open(file, &path, &fingerprint.repeat(64))
        };
        let error = open("e").unwrap_err();
        assert!(error.to_string().contains("belongs to another"), "{error}");
        std::fs::write(&path, "x".repeat(200)).unwrap();
        assert!(open("f").is_err());
    }
}
