//! The interior pages above the leaves of a table, built from left to right.
//!
//! An interior page lists its children, each with the greatest rowid in it, except that the last
//! child has no rowid. A level holds its latest children back until there are enough for two pages.
//! So at the end, when they are split into halves if necessary, no page has only a single child.

use std::io;

use super::PageFile;
use super::leaf::varint;
use crate::schema::PAGE_BYTES;

/// Bytes of the page's header.
const HEADER: usize = 12;

/// First byte of an interior page of a table.
const INTERIOR_TABLE: u8 = 0x05;

/// Children of a full page: each takes a pointer of 2 bytes, a page number of 4 and a rowid of up
/// to 8; the last child is in the header.
pub(super) const CHILDREN: usize = (PAGE_BYTES - HEADER) / (2 + 4 + 8) + 1;

/// A child page, and the greatest rowid in it.
#[derive(Clone, Copy)]
struct Child {
    page: u32,
    last_rowid: u64,
}

/// The interior pages of a table that have not been written yet: for each level, from the leaves
/// upwards, the children that wait for their page.
pub(super) struct Tree {
    levels: Vec<Vec<Child>>,
    /// Children of a full page.
    fanout: usize,
}

impl Tree {
    /// An empty tree. `fanout`: children of a full page. It is [`CHILDREN`] except in tests, which
    /// need many levels from few rows; at least 4.
    pub(super) fn new(fanout: usize) -> Self {
        assert!((4..=CHILDREN).contains(&fanout));
        Self { levels: Vec::new(), fanout }
    }

    /// Whether no leaf has been added.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Adds the next leaf.
    pub(super) fn push(
        &mut self,
        page: u32,
        last_rowid: u64,
        file: &mut PageFile,
    ) -> io::Result<()> {
        self.push_at(0, Child { page, last_rowid }, file)
    }

    fn push_at(&mut self, level: usize, child: Child, file: &mut PageFile) -> io::Result<()> {
        if level == self.levels.len() {
            self.levels.push(Vec::with_capacity(2 * self.fanout));
        }
        self.levels[level].push(child);
        if self.levels[level].len() == 2 * self.fanout {
            let parent = append(&self.levels[level][..self.fanout], file)?;
            self.levels[level].drain(..self.fanout);
            self.push_at(level + 1, parent, file)?;
        }
        Ok(())
    }

    /// Writes the remaining pages; the topmost one is written to `root`.
    pub(super) fn finish(&mut self, root: u32, file: &mut PageFile) -> io::Result<()> {
        let mut level = 0;
        loop {
            let children = std::mem::take(&mut self.levels[level]);
            let top = level + 1 == self.levels.len();
            if top && children.len() <= self.fanout {
                return file.overwrite(root, &page(&children));
            }
            let pages = children.len().div_ceil(self.fanout);
            for part in children.chunks(children.len().div_ceil(pages)) {
                let parent = append(part, file)?;
                self.push_at(level + 1, parent, file)?;
            }
            level += 1;
        }
    }
}

/// Appends the page of `children` and returns it as a child.
fn append(children: &[Child], file: &mut PageFile) -> io::Result<Child> {
    let last = children[children.len() - 1];
    Ok(Child { page: file.append(&page(children))?, last_rowid: last.last_rowid })
}

/// The interior page of `children`.
fn page(children: &[Child]) -> Vec<u8> {
    assert!((2..=CHILDREN).contains(&children.len()), "{} children", children.len());
    let mut page = vec![0; PAGE_BYTES];
    let mut at = PAGE_BYTES;
    let (last, rest) = children.split_last().expect("two or more");
    for (cell, child) in rest.iter().enumerate() {
        let rowid = varint(child.last_rowid).to_be_bytes();
        let bytes = &rowid[varint(child.last_rowid).leading_zeros() as usize / 8..];
        at -= bytes.len();
        page[at..at + bytes.len()].copy_from_slice(bytes);
        at -= 4;
        page[at..at + 4].copy_from_slice(&child.page.to_be_bytes());
        let pointer = HEADER + 2 * cell;
        page[pointer..pointer + 2].copy_from_slice(&(at as u16).to_be_bytes());
    }
    page[0] = INTERIOR_TABLE;
    page[3..5].copy_from_slice(&(rest.len() as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(at as u16).to_be_bytes());
    page[8..12].copy_from_slice(&last.page.to_be_bytes());
    page
}
