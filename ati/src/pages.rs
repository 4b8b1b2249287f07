//! The fast way of writing rows: this module builds the pages of the SQLite file directly.
//!
//! An `INSERT` interprets a program for each row, looks up its table's last page and moves the row
//! there through three copies. But a run only ever appends rows of integers to tables without
//! indexes. For that the file format is simple (sqlite.org/fileformat2.html, stable and documented
//! since 2004): rows are in leaf pages, in the order of `rowid`, and interior pages above them tell
//! which rowids are where. So:
//!
//! - SQLite itself creates the file with its empty tables. This module never writes the format's
//!   header or the schema; it only reads the root page of each table.
//! - Each table fills one leaf page in memory ([`leaf`]). A full page is appended to the file, so
//!   the pages of all tables are interleaved and the file is written sequentially.
//! - Each table keeps the interior pages that are still open ([`tree`]), one or two per level: a
//!   few hundred kilobytes, regardless of the number of rows.
//! - At the end, the root pages are written, the number of pages is set in the header, and SQLite
//!   opens the file for the facts.
//!
//! Left out: everything except appending. The oracles are [`crate::statements`] and SQLite's
//! `PRAGMA integrity_check`.
//!
//! A page has 16 KiB. Measured with this crate's bench on 20 M records: between 4 and 64 KiB there
//! is no difference beyond noise in writing (20 to 25 M records a CPU-second), in reading all
//! records (5 M a second), or in SQL sums (40 M rows a second). Rows take 31.6 to 31.0 bytes.

mod leaf;
#[cfg(test)]
mod tests;
mod tree;

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::columns::RowSink;
use crate::schema::{self, PAGE_BYTES};
use crate::target::{io_error, sql_error};
use crate::writer::RowWriter;
use crate::{RecordKind, StoreError};
use leaf::Leaf;
use tree::{CHILDREN, Tree};

/// Number of pages appended in one call to the file system.
const PAGES_PER_WRITE: usize = (1 << 18) / PAGE_BYTES;

/// Offset of the number of pages in the file's header.
const PAGE_COUNT_OFFSET: u64 = 28;

/// The byte of the file that SQLite locks; the page that contains it must stay unused.
const LOCK_BYTE: u64 = 1 << 30;

/// Writes rows by building pages.
pub(crate) struct PageWriter {
    file: PageFile,
    tables: [Table; RecordKind::COUNT],
}

/// A table that is being written.
struct Table {
    /// The root page, as created by SQLite.
    root: u32,
    /// The page that is being filled.
    leaf: Leaf,
    /// The pages above.
    tree: Tree,
}

impl Table {
    /// Appends the leaf to the file and begins the next one.
    #[cold]
    fn turn_page(&mut self, file: &mut PageFile) -> io::Result<()> {
        let page = file.append(self.leaf.seal())?;
        self.tree.push(page, self.leaf.last_rowid(), file)?;
        self.leaf.clear();
        Ok(())
    }

    /// Writes the remaining pages, and the root.
    fn finish(&mut self, file: &mut PageFile) -> io::Result<()> {
        if self.tree.is_empty() {
            return file.overwrite(self.root, self.leaf.seal());
        }
        // A page is turned when a row does not fit; that row is in the leaf now.
        self.turn_page(file)?;
        self.tree.finish(self.root, file)
    }
}

impl RowSink for PageWriter {
    type Error = StoreError;

    #[inline]
    fn row<const N: usize>(&mut self, kind: RecordKind, row: [i64; N]) -> Result<(), StoreError> {
        let table = &mut self.tables[kind.index()];
        if !table.leaf.has_room::<N>() {
            table.turn_page(&mut self.file).map_err(io_error("write", &self.file.path))?;
        }
        table.leaf.push(row);
        Ok(())
    }
}

impl PageWriter {
    /// Like [`RowWriter::create`], with interior pages of at most `fanout` children.
    fn with_fanout(path: &Path, fanout: usize) -> Result<Self, StoreError> {
        let db = schema::create(path)?;
        let roots = roots(&db).map_err(sql_error("read", path))?;
        db.close().map_err(|(_, error)| sql_error("close", path)(error))?;
        let file = PageFile::open(path)?;
        let tables = roots.map(|root| Table { root, leaf: Leaf::new(), tree: Tree::new(fanout) });
        Ok(Self { file, tables })
    }
}

impl RowWriter for PageWriter {
    fn create(path: &Path) -> Result<Self, StoreError> {
        Self::with_fanout(path, CHILDREN)
    }

    fn finish(mut self) -> Result<Connection, StoreError> {
        let tables = &mut self.tables;
        let written = tables.iter_mut().try_for_each(|table| table.finish(&mut self.file));
        let finished = written.and_then(|()| self.file.finish());
        finished.map_err(io_error("write", &self.file.path))?;
        schema::open_for_writing(&self.file.path)
    }
}

/// The root pages of the tables of all record types.
fn roots(db: &Connection) -> rusqlite::Result<[u32; RecordKind::COUNT]> {
    let mut roots = [0; RecordKind::COUNT];
    let mut find = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?")?;
    for kind in RecordKind::ALL {
        roots[kind.index()] = find.query_row([kind.name()], |row| row.get(0))?;
    }
    Ok(roots)
}

/// A file of pages, numbered from 1, that grows at its end.
struct PageFile {
    file: File,
    path: PathBuf,
    /// The number of the next page.
    next: u32,
    /// Pages that have not been written to the file yet.
    waiting: Vec<u8>,
}

impl PageFile {
    /// Opens a file to append to.
    fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = foretell_files::grow(path)?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(io_error("open", path))?;
        assert!(bytes % PAGE_BYTES as u64 == 0, "SQLite writes whole pages");
        let next = (bytes / PAGE_BYTES as u64) as u32 + 1;
        let waiting = Vec::with_capacity(PAGES_PER_WRITE * PAGE_BYTES);
        Ok(Self { file, path: path.to_owned(), next, waiting })
    }

    /// Appends a page and returns its number.
    fn append(&mut self, page: &[u8]) -> io::Result<u32> {
        assert!(page.len() == PAGE_BYTES);
        if u64::from(self.next - 1) * PAGE_BYTES as u64 == LOCK_BYTE {
            self.put(&[0; PAGE_BYTES])?;
        }
        let number = self.next;
        self.put(page)?;
        Ok(number)
    }

    fn put(&mut self, page: &[u8]) -> io::Result<()> {
        self.next = self.next.checked_add(1).ok_or(io::ErrorKind::FileTooLarge)?;
        self.waiting.extend_from_slice(page);
        if self.waiting.len() == PAGES_PER_WRITE * PAGE_BYTES {
            self.file.write_all(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Writes the waiting pages and sets the number of pages.
    fn finish(&mut self) -> io::Result<()> {
        self.file.write_all(&self.waiting)?;
        self.waiting.clear();
        self.file.seek(SeekFrom::Start(PAGE_COUNT_OFFSET))?;
        self.file.write_all(&(self.next - 1).to_be_bytes())
    }

    /// Writes a page that already has a place in the file.
    fn overwrite(&mut self, number: u32, page: &[u8]) -> io::Result<()> {
        assert!(page.len() == PAGE_BYTES && (1..self.next).contains(&number));
        let end = self.file.stream_position()?;
        self.file.seek(SeekFrom::Start(u64::from(number - 1) * PAGE_BYTES as u64))?;
        self.file.write_all(page)?;
        self.file.seek(SeekFrom::Start(end))?;
        Ok(())
    }
}
