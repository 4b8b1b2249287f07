//! A leaf page of a table: rows of integers.
//!
//! A page begins with a header of 8 bytes and an array of pointers to its cells, two bytes each.
//! The array grows towards the end of the page; cells are added from the end towards the front. A
//! cell consists of the size of its payload, the rowid (both as varints), and the payload. The
//! payload is a header with its own size and one serial type per column, followed by the columns.
//! Everything is big-endian.
//!
//! A cell is written backwards, from its last column to its first byte. So every number can be
//! stored as eight bytes that *end* where its shorter form ends: the superfluous bytes are in front
//! of it, and the next store overwrites them. This needs no loop over bytes and no branch on a
//! length.

use crate::schema::PAGE_BYTES;

/// Bytes of the page's header.
const HEADER: usize = 8;

/// First byte of a leaf page of a table.
const LEAF_TABLE: u8 = 0x0d;

/// Serial type of the constant 0; that of 1 follows. These take no space.
const CONSTANT_ZERO: u8 = 8;

/// Serial type and number of bytes, by number of significant bits (without the sign).
const CLASSES: [(u8, u8); 64] = {
    let mut classes = [(0, 0); 64];
    let mut bits = 0;
    while bits < 64 {
        classes[bits] = match bits {
            0..=7 => (1, 1),
            8..=15 => (2, 2),
            16..=23 => (3, 3),
            24..=31 => (4, 4),
            32..=47 => (5, 6),
            _ => (6, 8),
        };
        bits += 1;
    }
    classes
};

/// The serial type and the length of an integer.
#[inline]
fn class(value: i64) -> (u8, usize) {
    let bits = 64 - (value ^ (value >> 63)).leading_zeros();
    let (serial, bytes) = CLASSES[(bits & 63) as usize];
    let constant = value.cast_unsigned() <= 1;
    if constant { (CONSTANT_ZERO + value as u8, 0) } else { (serial, bytes.into()) }
}

/// A leaf page that is being filled, and its next rowid.
pub(super) struct Leaf {
    page: Vec<u8>,
    cells: usize,
    /// Offset of the last cell.
    content: usize,
    /// The rowid of the last row; rows are numbered from 1.
    rowid: u64,
    /// The rowid as a varint, in the last bytes of this number (read big-endian).
    varint: u64,
}

impl Leaf {
    pub(super) fn new() -> Self {
        let mut page = vec![0; PAGE_BYTES];
        page[0] = LEAF_TABLE;
        Self { page, cells: 0, content: PAGE_BYTES, rowid: 0, varint: 0 }
    }

    /// The rowid of the last row.
    pub(super) fn last_rowid(&self) -> u64 {
        self.rowid
    }

    /// Offset of the end of the array of pointers.
    #[inline]
    fn pointers_end(&self) -> usize {
        HEADER + 2 * self.cells
    }

    /// Whether a row of `N` columns fits, regardless of its values.
    #[inline]
    pub(super) fn has_room<const N: usize>(&self) -> bool {
        // Its pointer; size; eight bytes that end with the rowid; sizes and columns. The page
        // wastes the difference from the real size of one row, half a percent of 16 KiB.
        self.pointers_end() + 2 + 1 + 8 + (1 + N) + 8 * N <= self.content
    }

    /// Adds a row. There must be room for it.
    #[inline]
    pub(super) fn push<const N: usize>(&mut self, row: [i64; N]) {
        let end = self.content;
        let page = self.page.as_mut_slice();
        let mut at = end;
        let mut serials = [0; N];
        for column in (0..N).rev() {
            let (serial, bytes) = class(row[column]);
            page[at - 8..at].copy_from_slice(&row[column].to_be_bytes());
            serials[column] = serial;
            at -= bytes;
        }
        at -= N;
        page[at..at + N].copy_from_slice(&serials);
        at -= 1;
        page[at] = 1 + N as u8;
        // At most 1 + 12 + 12 × 8 = 109: a varint of one byte, like the serial types.
        let payload = (end - at) as u8;
        self.rowid += 1;
        self.varint += 1;
        if self.varint & 0x80 != 0 {
            self.varint = varint(self.rowid);
        }
        page[at - 8..at].copy_from_slice(&self.varint.to_be_bytes());
        at -= 8 - (self.varint.leading_zeros() / 8) as usize;
        at -= 1;
        page[at] = payload;
        let pointer = HEADER + 2 * self.cells;
        page[pointer..pointer + 2].copy_from_slice(&(at as u16).to_be_bytes());
        self.cells += 1;
        self.content = at;
    }

    /// Completes the page.
    pub(super) fn seal(&mut self) -> &[u8] {
        let gap = self.pointers_end()..self.content;
        self.page[gap].fill(0);
        self.page[3..5].copy_from_slice(&(self.cells as u16).to_be_bytes());
        // 65 536, the end of the largest page, is written as 0.
        self.page[5..7].copy_from_slice(&(self.content as u16).to_be_bytes());
        &self.page
    }

    /// Begins the next page.
    pub(super) fn clear(&mut self) {
        self.cells = 0;
        self.content = PAGE_BYTES;
    }
}

/// `number`, less than 2^56, as a varint in the last bytes of the result: seven bits per byte, most
/// significant first, with the high bit set in all bytes except the last.
pub(super) fn varint(number: u64) -> u64 {
    assert!(number < 1 << 56, "no run has that many rows");
    let mut rest = number >> 7;
    let mut varint = number & 0x7f;
    let mut shift = 8;
    while rest > 0 {
        varint |= (rest & 0x7f | 0x80) << shift;
        rest >>= 7;
        shift += 8;
    }
    varint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_as_documented() {
        let mut leaf = Leaf::new();
        leaf.push([0, 1, 2, -1, 300, 1 << 40]);
        // payload 7 + 10 = 17 bytes, rowid 1; header of 7: constants 0 and 1, two of one byte, one
        // of two, one of six; then 2, -1, 300, 2^40
        let cell = [17, 1, 7, 8, 9, 1, 1, 2, 5, 2, 0xff, 0x01, 0x2c, 0x01, 0, 0, 0, 0, 0];
        let page = leaf.seal();
        assert_eq!(page[PAGE_BYTES - cell.len()..], cell);
        let start = ((PAGE_BYTES - cell.len()) as u16).to_be_bytes();
        assert_eq!(page[..10], [0x0d, 0, 0, 0, 1, start[0], start[1], 0, start[0], start[1]]);
        assert!(page[10..PAGE_BYTES - cell.len()].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn integers_take_the_least_bytes_that_hold_them() {
        for (value, expected) in [
            (0, (8, 0)),
            (1, (9, 0)),
            (2, (1, 1)),
            (-1, (1, 1)),
            (-2, (1, 1)),
            (127, (1, 1)),
            (-128, (1, 1)),
            (128, (2, 2)),
            (-129, (2, 2)),
            (1 << 15, (3, 3)),
            (1 << 23, (4, 4)),
            (i64::from(i32::MAX), (4, 4)),
            (1 << 31, (5, 6)),
            (-(1 << 47), (5, 6)),
            (1 << 47, (6, 8)),
            (i64::MAX, (6, 8)),
            (i64::MIN, (6, 8)),
        ] {
            assert_eq!(class(value), expected, "{value}");
        }
    }

    #[test]
    fn rowids_are_varints() {
        // the examples of the format: 7 bits a byte
        assert_eq!(varint(127), 0x7f);
        assert_eq!(varint(128), 0x8100);
        assert_eq!(varint(16_383), 0xff7f);
        assert_eq!(varint(16_384), 0x0081_8000);
        assert_eq!(varint((1 << 56) - 1), 0xffff_ffff_ffff_ff7f);
    }
}
