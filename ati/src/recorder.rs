//! Where a simulation posts its records.

use foretell_units::Breadcrumb;

use crate::{Record, RecordKind, Selection};

/// Takes the records of a run.
#[derive(Debug)]
pub struct Recorder {
    selection: Selection,
    batch: Vec<Record>,
}

impl Recorder {
    /// A recorder that wants nothing.
    pub fn none() -> Self {
        Self::in_memory(Selection::NONE)
    }

    /// A recorder that keeps what it is given in memory: for tests of what is posted.
    pub fn in_memory(selection: Selection) -> Self {
        Self { selection, batch: Vec::new() }
    }

    /// Whether to build and post a record of `kind` for `breadcrumb`.
    #[inline]
    pub fn wants(&self, kind: RecordKind, breadcrumb: Breadcrumb) -> bool {
        self.selection.wants(kind, breadcrumb)
    }

    /// Keeps `record`. The caller has asked [`Recorder::wants`].
    #[inline]
    pub fn post(&mut self, record: Record) {
        self.batch.push(record);
    }

    /// The records posted so far to a recorder in memory; empty for one that stores.
    pub fn records(&self) -> &[Record] {
        &self.batch
    }

    /// Whether the store could not be written: the simulation should end, as nothing more is kept.
    #[inline]
    pub fn failed(&self) -> bool {
        false
    }
}
