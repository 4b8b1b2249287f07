//! Runs with records in memory, and the interface to any run's records.

use std::path::Path;

use crate::{Demand, Facts, Record, RecordKind, Selection, StoreError};

/// The records of a finished run, in a file or in memory.
pub trait Records {
    /// Their location, for messages.
    fn path(&self) -> &Path;

    /// The selection of records that the run kept.
    fn selection(&self) -> Result<Selection, StoreError>;

    /// All facts.
    fn facts(&self) -> Result<Facts, StoreError>;

    /// The demand of each workload at each resource, in the order of workload, host, resource.
    fn demands(&self) -> Result<Vec<Demand>, StoreError>;

    /// How many records of all kinds there are.
    fn count_all(&self) -> Result<u64, StoreError>;

    /// Estimated number of records of `kind` that were posted at `since_ns` or later, without reading them. In a file, it
    /// can be wrong by the rows of one zone.
    fn count_since(&self, kind: RecordKind, since_ns: u64) -> Result<u64, StoreError>;

    /// Calls `each` with every record of `kind`, in the order of posting.
    fn scan(&self, kind: RecordKind, each: impl FnMut(&Record)) -> Result<(), StoreError>;

    /// The error for a row of `kind` whose `column` holds `value` instead of `wanted`. The caller
    /// knows that the record is impossible, although each value is within its range.
    fn bad_record(
        &self,
        kind: RecordKind,
        column: &'static str,
        value: i64,
        wanted: &'static str,
    ) -> StoreError;
}

/// A run with records in memory. It contains what `run.db` contains of a stored run, except metrics.
#[derive(Clone, Debug)]
pub struct MemoryRun {
    selection: Selection,
    facts: Facts,
    demands: Vec<Demand>,
    records: Vec<Record>,
}

impl MemoryRun {
    pub(crate) fn new(
        selection: Selection,
        facts: Facts,
        demands: Vec<Demand>,
        records: Vec<Record>,
    ) -> Self {
        Self { selection, facts, demands, records }
    }

    /// The facts, for adding more.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// The records in the order of posting.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

impl Records for MemoryRun {
    fn path(&self) -> &Path {
        Path::new("the run in memory")
    }

    fn selection(&self) -> Result<Selection, StoreError> {
        Ok(self.selection)
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(self.facts.clone())
    }

    fn demands(&self) -> Result<Vec<Demand>, StoreError> {
        Ok(self.demands.clone())
    }

    fn count_all(&self) -> Result<u64, StoreError> {
        Ok(self.records.len() as u64)
    }

    fn count_since(&self, kind: RecordKind, since_ns: u64) -> Result<u64, StoreError> {
        let mut count = 0;
        self.scan(kind, |record| count += u64::from(record.header.ts_ns >= since_ns))?;
        Ok(count)
    }

    fn scan(&self, kind: RecordKind, each: impl FnMut(&Record)) -> Result<(), StoreError> {
        self.records.iter().filter(|record| record.body.kind() == kind).for_each(each);
        Ok(())
    }

    fn bad_record(
        &self,
        kind: RecordKind,
        column: &'static str,
        value: i64,
        wanted: &'static str,
    ) -> StoreError {
        StoreError::BadRow {
            path: self.path().to_owned(),
            table: kind.name().to_owned(),
            row: 0,
            column,
            found: value.to_string(),
            wanted,
        }
    }
}
