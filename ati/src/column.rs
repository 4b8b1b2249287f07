//! The values of a row's columns, and their conversion to stored integers.
//!
//! The store holds only integers. Unsigned 64-bit values are stored as the signed integer with the same
//! bits, which is the same number below 2^63.

use foretell_units::{Op, SECTOR_BYTES};

use crate::record::Phase;

/// Largest time, last byte and size that a row may contain: 146 years, 4 EiB. So sums of a few of them
/// fit in 64 bits.
pub(crate) const MAX_VALUE: u64 = 1 << 62;

/// Description of the number of something.
pub(crate) const ID: &str = "a whole number from 0 to 2^32 - 1";

/// The range of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Range {
    /// 32 bits.
    Id,
    /// An offset or an amount in bytes, or a time in ns.
    Bytes,
    /// A sector's number.
    Sector,
    /// 0 or 1.
    Flag,
}

/// A value outside its column's range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadColumn {
    /// Index of the column in the row.
    pub(crate) index: usize,
    /// The value.
    pub(crate) value: i64,
    /// The expected values.
    pub(crate) wanted: &'static str,
}

impl Range {
    /// The largest value.
    pub(crate) const fn most(self) -> u64 {
        match self {
            Self::Id => u32::MAX as u64,
            Self::Bytes => MAX_VALUE,
            Self::Sector => MAX_VALUE / SECTOR_BYTES,
            Self::Flag => 1,
        }
    }

    const fn wanted(self) -> &'static str {
        match self {
            Self::Id => ID,
            Self::Bytes => "a whole number from 0 to 2^62",
            Self::Sector => "a sector's number, from 0 to 2^53",
            Self::Flag => "0 or 1",
        }
    }

    /// The value of the column at `index`.
    #[inline]
    pub(crate) fn read<C: Cell>(self, index: usize, value: i64) -> Result<C, BadColumn> {
        let amount = u64::try_from(value).ok().filter(|amount| *amount <= self.most());
        amount.and_then(C::of).ok_or(BadColumn { index, value, wanted: self.wanted() })
    }
}

/// A value of a record that is stored as one cell of its row.
pub(crate) trait Cell: Sized {
    /// The integer that is stored.
    fn cell(self) -> i64;
    /// The value that is stored as this integer, if there is one.
    fn of(stored: u64) -> Option<Self>;
}

impl Cell for u32 {
    #[inline]
    fn cell(self) -> i64 {
        self.into()
    }

    #[inline]
    fn of(stored: u64) -> Option<Self> {
        stored.try_into().ok()
    }
}

impl Cell for u64 {
    #[inline]
    fn cell(self) -> i64 {
        self.cast_signed()
    }

    #[inline]
    fn of(stored: u64) -> Option<Self> {
        Some(stored)
    }
}

impl Cell for Op {
    #[inline]
    fn cell(self) -> i64 {
        self as i64
    }

    #[inline]
    fn of(stored: u64) -> Option<Self> {
        [Self::Read, Self::Write].get(stored as usize).copied()
    }
}

impl Cell for Phase {
    #[inline]
    fn cell(self) -> i64 {
        self as i64
    }

    #[inline]
    fn of(stored: u64) -> Option<Self> {
        [Self::Issue, Self::Complete].get(stored as usize).copied()
    }
}
