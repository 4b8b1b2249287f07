//! The types of records by name, and sets of them; `kinds.rs` declares them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::RecordKind;

/// Columns of the header, the first of every table.
pub(crate) const HEADER_COLUMNS: [&str; 5] = ["ts_ns", "breadcrumb", "pid", "tid", "host"];

impl RecordKind {
    /// All columns of its table in order.
    pub fn columns(self) -> impl Iterator<Item = &'static str> {
        HEADER_COLUMNS.into_iter().chain(self.payload_columns().iter().copied())
    }

    /// Its index in [`RecordKind::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that is not the name of a type of record.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{name}` is not a type of record; did you mean `{nearest}`?")]
pub struct UnknownRecordKind {
    /// The text as found.
    pub name: String,
    /// The type with the most similar name.
    pub nearest: RecordKind,
}

impl FromStr for RecordKind {
    type Err = UnknownRecordKind;
    /// Reads the name of a table, `disk_op`.
    fn from_str(text: &str) -> Result<Self, UnknownRecordKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let distance = |kind: &Self| strsim::damerau_levenshtein(kind.name(), text);
            let nearest = Self::ALL.into_iter().min_by_key(distance).unwrap_or(Self::Request);
            UnknownRecordKind { name: text.to_owned(), nearest }
        })
    }
}

/// A set of record types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindSet(u16);

impl KindSet {
    /// No type.
    pub const EMPTY: Self = Self(0);
    /// Every type.
    pub const ALL: Self = Self((1 << RecordKind::COUNT) - 1);

    /// Whether the set contains `kind`.
    #[inline]
    pub const fn contains(self, kind: RecordKind) -> bool {
        self.0 >> (kind as u16) & 1 == 1
    }

    /// This set with `kind`.
    pub const fn with(self, kind: RecordKind) -> Self {
        Self(self.0 | 1 << (kind as u16))
    }

    /// This set without `kind`.
    pub const fn without(self, kind: RecordKind) -> Self {
        Self(self.0 & !(1 << (kind as u16)))
    }

    /// The types in the set, in the order of [`RecordKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = RecordKind> {
        RecordKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<RecordKind> for KindSet {
    fn from_iter<I: IntoIterator<Item = RecordKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::EMPTY, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for (index, kind) in RecordKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.index(), index);
            assert!(kind.columns().count() <= 12);
        }
    }

    #[test]
    fn a_wrong_name_suggests_the_nearest() {
        let message = "disk_ops".parse::<RecordKind>().unwrap_err().to_string();
        assert_eq!(message, "`disk_ops` is not a type of record; did you mean `disk_op`?");
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let set: KindSet = [RecordKind::DiskOp, RecordKind::Request].into_iter().collect();
        assert!(set.contains(RecordKind::DiskOp) && !set.contains(RecordKind::BufferWrite));
        assert_eq!(
            set.without(RecordKind::DiskOp).iter().collect::<Vec<_>>(),
            [RecordKind::Request]
        );
        assert_eq!(KindSet::ALL.iter().count(), RecordKind::COUNT);
    }
}
