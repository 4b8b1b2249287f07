//! A finished store, opened for reading: the file, its facts and its roll-ups.

mod cells;
mod facts;
mod open;
mod scan;
#[cfg(test)]
mod tests;
mod walk;

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::conclude::{KINDS_FACT, SELECTION_FACT};
use crate::target::io_error;
use crate::{Demand, Facts, Record, RecordKind, Records, Selection, StoreError};
pub use open::open_run;

/// The store of a finished run, open for reading.
#[derive(Debug)]
pub struct RunDb {
    db: Connection,
    path: PathBuf,
    /// The same file, for reading without SQL.
    file: File,
}

impl Records for RunDb {
    fn path(&self) -> &Path {
        self.path()
    }

    fn selection(&self) -> Result<Selection, StoreError> {
        self.selection()
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.facts()
    }

    fn demands(&self) -> Result<Vec<Demand>, StoreError> {
        self.demands()
    }

    fn count_all(&self) -> Result<u64, StoreError> {
        let mut all = 0_u64;
        for kind in RecordKind::ALL {
            all = all.saturating_add(self.count(kind)?);
        }
        Ok(all)
    }

    fn count_since(&self, kind: RecordKind, since_ns: u64) -> Result<u64, StoreError> {
        self.count_since(kind, since_ns)
    }

    fn scan(&self, kind: RecordKind, each: impl FnMut(&Record)) -> Result<(), StoreError> {
        self.scan(kind, each)
    }

    fn bad_record(
        &self,
        kind: RecordKind,
        column: &'static str,
        value: i64,
        wanted: &'static str,
    ) -> StoreError {
        self.bad_record(kind, column, value, wanted)
    }
}

impl RunDb {
    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the store.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        let metadata = std::fs::metadata(&self.path).map_err(io_error("look at", &self.path))?;
        Ok(metadata.len())
    }

    /// The store itself, for SQL; `docs/records.md` describes its tables and columns. Views cannot
    /// be queried, because the writer of the store may have made them.
    pub fn sql(&self) -> &Connection {
        &self.db
    }

    /// The selection of records that the run kept.
    pub fn selection(&self) -> Result<Selection, StoreError> {
        let facts = Facts { settings: self.settings()?, ..Facts::default() };
        let bad = |path: &str, wanted, found: String| StoreError::BadFact {
            path: path.to_owned(),
            wanted,
            found,
        };
        let selection: Selection = facts.text(SELECTION_FACT)?.parse().map_err(|error| {
            bad(SELECTION_FACT, "a selection of records", format!("this: {error}"))
        })?;
        let kinds = facts.text(KINDS_FACT)?;
        let kinds = kinds.split(',').filter(|name| !name.is_empty()).map(str::parse::<RecordKind>);
        let kinds = kinds.collect::<Result<_, _>>().map_err(|error| {
            bad(KINDS_FACT, "names of tables of records", format!("this: {error}"))
        })?;
        Ok(selection.of_kinds(kinds))
    }
}
