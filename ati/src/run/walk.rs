//! Reads a table leaf by leaf, without SQL.
//!
//! SQLite returns some 5 M rows of integers a second; decoding the pages gives 35 M, and a predictor
//! replays every cache reference of a run. The reader understands the output of [`crate::pages`], and any
//! other layout that SQLite would create for such tables (after a `VACUUM`, say), provided that rows
//! consist of integers, one for each column. At anything else it stops and reports this. The caller then
//! continues by SQL, which gives the definitive result or error. So there are no errors here, and no file
//! can cause a panic or an endless loop.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use crate::columns::{MAX_COLUMNS, read_row};
use crate::{Record, RecordKind};

/// First byte of a leaf page and of an interior page of a table.
const LEAF_TABLE: u8 = 0x0d;
const INTERIOR_TABLE: u8 = 0x05;

/// Number of bytes that may be read beyond the end of a page.
const PADDING: usize = 8;

/// Number of bytes of a column's number, by serial type. [`NOT_A_NUMBER`]: it is not a number.
const BYTES: [u8; 256] = {
    let mut bytes = [NOT_A_NUMBER; 256];
    let known = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (6, 8), (ZERO, 0), (ZERO + 1, 0)];
    let mut at = 0;
    while at < known.len() {
        bytes[known[at].0 as usize] = known[at].1;
        at += 1;
    }
    bytes
};
const NOT_A_NUMBER: u8 = u8::MAX;
/// The serial type of 0; the next one is that of 1.
const ZERO: u8 = 8;

/// The result of a step through a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WalkStep {
    /// The rows of a leaf were read.
    Leaf,
    /// The end of the table.
    End,
    /// Something that is left to SQL.
    NotUnderstood,
    /// A rowid is not greater than the one before it: the table is damaged.
    Disorder,
}

/// A walk through the leaves of a table, from left to right.
pub(super) struct Walk {
    file: File,
    kind: RecordKind,
    page_bytes: usize,
    /// Pages to visit, the next one last, each with an upper bound for its rowids.
    ahead: Vec<(u32, i64)>,
    /// Rows before this one are skipped.
    from_rowid: i64,
    /// Number of pages that may still be visited: in a valid file, each page is visited at most once.
    left: u32,
    /// The current page, followed by [`PADDING`] bytes.
    page: Vec<u8>,
}

impl Walk {
    /// Starts at the `root` page of the table of `kind`; `None` if the file must be read by SQL.
    pub(super) fn new(mut file: File, kind: RecordKind, root: u32) -> Option<Self> {
        let mut header = [0; 100];
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_exact(&mut header).ok()?;
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            bytes => usize::from(bytes),
        };
        // Read and write versions 1: no write-ahead log. No reserved space at the end of a page.
        let plain = header[18..21] == [1, 1, 0] && page_bytes >= 512;
        let left = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
        let page = vec![0; page_bytes + PADDING];
        let ahead = vec![(root, i64::MAX)];
        plain.then_some(Self { file, kind, page_bytes, ahead, from_rowid: i64::MIN, left, page })
    }

    /// Skips unread rows before `rowid`, and the pages that contain only such rows.
    pub(super) fn skip_to(&mut self, rowid: i64) {
        self.from_rowid = rowid;
    }

    /// Appends the records of the next leaf to `records`, and sets `last_rowid` to that of the last one.
    pub(super) fn step(&mut self, last_rowid: &mut i64, records: &mut Vec<Record>) -> WalkStep {
        while let Some((number, last)) = self.ahead.pop() {
            if last < self.from_rowid {
                continue;
            }
            let understood = match self.read(number) {
                Some(LEAF_TABLE) => match self.rows(last_rowid, records) {
                    Some(true) => return WalkStep::Leaf,
                    Some(false) => return WalkStep::Disorder,
                    None => None,
                },
                // Page 1 is the root of the schema, never that of a table.
                Some(INTERIOR_TABLE) => self.children(last),
                _ => None,
            };
            if understood.is_none() {
                self.ahead.clear();
                return WalkStep::NotUnderstood;
            }
        }
        WalkStep::End
    }

    /// Reads a page and returns its first byte.
    fn read(&mut self, number: u32) -> Option<u8> {
        self.left = self.left.checked_sub(1)?;
        let start = u64::from(number.checked_sub(1)?) * self.page_bytes as u64;
        self.file.seek(SeekFrom::Start(start)).ok()?;
        self.file.read_exact(&mut self.page[..self.page_bytes]).ok()?;
        self.page.first().copied()
    }

    fn u16_at(&self, at: usize) -> usize {
        u16::from_be_bytes([self.page[at], self.page[at + 1]]).into()
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        let bytes = self.page.get(at..at + 4)?;
        Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Adds the children of an interior page to those ahead; `last`: upper bound for their rowids.
    fn children(&mut self, last: i64) -> Option<()> {
        let cells = self.u16_at(3);
        // more children than there are pages: they cannot all be visited
        if self.ahead.len() + cells > self.left as usize {
            return None;
        }
        self.ahead.push((self.u32_at(8)?, last));
        for cell in (0..cells).rev() {
            let pointer = 12 + 2 * cell;
            if pointer + 2 > self.page_bytes {
                return None;
            }
            let mut at = self.u16_at(pointer);
            let child = self.u32_at(at)?;
            at += 4;
            let last = self.varint(&mut at)?.cast_signed();
            self.ahead.push((child, last));
        }
        Some(())
    }

    /// Decodes the rows of a leaf. Returns whether their rowids increase; `None` if a row is not
    /// understood.
    fn rows(&self, last_rowid: &mut i64, records: &mut Vec<Record>) -> Option<bool> {
        let columns = self.kind.columns().count();
        let mut row = [0; MAX_COLUMNS];
        let row = &mut row[..columns];
        let cells = self.u16_at(3);
        let pointers = self.page.get(8..8 + 2 * cells)?;
        for pointer in pointers.chunks_exact(2) {
            let mut at = usize::from(u16::from_be_bytes([pointer[0], pointer[1]]));
            let payload = self.varint(&mut at)?;
            let rowid = self.varint(&mut at)?.cast_signed();
            // A longer payload is not ours, or is continued on other pages.
            let end = at + usize::try_from(payload).ok().filter(|bytes| *bytes < 128)?;
            if end > self.page_bytes {
                return None;
            }
            if rowid <= *last_rowid {
                return Some(false);
            }
            if rowid < self.from_rowid {
                continue;
            }
            if usize::from(self.page[at]) != 1 + columns {
                return None;
            }
            let serials = self.page.get(at + 1..at + 1 + columns)?;
            at += 1 + columns;
            for (value, serial) in row.iter_mut().zip(serials) {
                let bytes = BYTES[usize::from(*serial)];
                if bytes == NOT_A_NUMBER {
                    return None;
                }
                // The number ends before the part of these eight bytes that does not belong to it.
                let word: [u8; 8] = self.page.get(at..at + 8)?.try_into().ok()?;
                *value = if bytes == 0 {
                    i64::from(*serial - ZERO)
                } else {
                    i64::from_be_bytes(word) >> (64 - 8 * u32::from(bytes))
                };
                at += usize::from(bytes);
            }
            if at != end {
                return None;
            }
            records.push(read_row(self.kind, row).ok()?);
            *last_rowid = rowid;
        }
        Some(true)
    }

    /// The varint at `at`, of up to eight bytes; moves `at` past it.
    #[inline]
    fn varint(&self, at: &mut usize) -> Option<u64> {
        let mut number = 0;
        for _ in 0..8 {
            let byte = *self.page.get(*at)?;
            *at += 1;
            number = number << 7 | u64::from(byte & 0x7f);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}
