//! The types of records, their tables, and sets of them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The type of a record; each has a table of its own, called by the type's name in snake case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "documented at the variants of `Body`")]
pub enum RecordKind {
    UserThreadSwitch,
    KernelProcessSwitch,
    BufferReadHit,
    BufferReadMiss,
    BufferWrite,
    BufferReadAhead,
    BufferFlush,
    BufferEvict,
    NetworkTransmit,
    DiskOp,
    Request,
}

/// Columns of the header, the first of every table.
pub(crate) const HEADER_COLUMNS: [&str; 5] = ["ts_ns", "breadcrumb", "pid", "tid", "host"];

impl RecordKind {
    /// How many types there are.
    pub const COUNT: usize = 11;

    /// All types, in the order of Table II of Thereska et al. 2006, and `request`.
    pub const ALL: [Self; Self::COUNT] = [
        Self::UserThreadSwitch,
        Self::KernelProcessSwitch,
        Self::BufferReadHit,
        Self::BufferReadMiss,
        Self::BufferWrite,
        Self::BufferReadAhead,
        Self::BufferFlush,
        Self::BufferEvict,
        Self::NetworkTransmit,
        Self::DiskOp,
        Self::Request,
    ];

    /// The name of the type and of its table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserThreadSwitch => "user_thread_switch",
            Self::KernelProcessSwitch => "kernel_process_switch",
            Self::BufferReadHit => "buffer_read_hit",
            Self::BufferReadMiss => "buffer_read_miss",
            Self::BufferWrite => "buffer_write",
            Self::BufferReadAhead => "buffer_read_ahead",
            Self::BufferFlush => "buffer_flush",
            Self::BufferEvict => "buffer_evict",
            Self::NetworkTransmit => "network_transmit",
            Self::DiskOp => "disk_op",
            Self::Request => "request",
        }
    }

    /// The columns of its table after those of the header.
    pub const fn payload_columns(self) -> &'static [&'static str] {
        match self {
            Self::UserThreadSwitch => &["oldthread", "newthread"],
            Self::KernelProcessSwitch => &["cpu", "oldprocess", "newprocess"],
            Self::BufferReadHit
            | Self::BufferReadMiss
            | Self::BufferWrite
            | Self::BufferFlush
            | Self::BufferEvict => &["file", "offset", "size"],
            Self::BufferReadAhead => &["file", "offset", "numpages", "pagesize"],
            Self::NetworkTransmit => &["sender", "receiver", "numbytes"],
            Self::DiskOp => &["disk", "lbn", "size", "op", "phase"],
            Self::Request => &["workload", "client", "op", "file", "offset", "size", "phase"],
        }
    }

    /// All columns of its table in order.
    pub fn columns(self) -> impl Iterator<Item = &'static str> {
        HEADER_COLUMNS.into_iter().chain(self.payload_columns().iter().copied())
    }

    /// Its place in [`RecordKind::ALL`].
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

/// A text that names no type of record.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{name}` is not a type of record; did you mean `{nearest}`?")]
pub struct UnknownRecordKind {
    /// The text as found.
    pub name: String,
    /// The type whose name is nearest.
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

    /// Whether `kind` is in it.
    #[inline]
    pub const fn contains(self, kind: RecordKind) -> bool {
        self.0 >> (kind as u16) & 1 == 1
    }

    /// This set and `kind`.
    pub const fn with(self, kind: RecordKind) -> Self {
        Self(self.0 | 1 << (kind as u16))
    }

    /// This set but `kind`.
    pub const fn without(self, kind: RecordKind) -> Self {
        Self(self.0 & !(1 << (kind as u16)))
    }

    /// The types in it, in the order of [`RecordKind::ALL`].
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
