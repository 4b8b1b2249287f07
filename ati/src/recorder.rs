//! The recorder, to which a simulation posts its records.
//!
//! The simulation fills batches. A full batch goes to a thread that writes the store and returns the memory. So
//! nothing is allocated during the run, and a simulation that is faster than the disk waits. Without a store,
//! records are kept in memory ([`crate::MemoryRun`]) or discarded.

use std::fmt;

use foretell_metrics::Collected;
use foretell_units::Breadcrumb;

#[cfg(feature = "sqlite")]
use crate::store::Store;
use crate::{Demand, Facts, MemoryRun, Record, RecordKind, Selection, StoreError};

/// Number of records in a batch: 512 KiB.
pub(crate) const BATCH_RECORDS: usize = 8192;

/// A batch of records. The writer returns the memory of a full one to the recorder.
pub(crate) type Batch = Vec<Record>;

/// Data that are available at the end of a run.
#[derive(Clone, Copy)]
pub struct Conclusion<'a> {
    /// The operator's knowledge.
    pub facts: &'a Facts,
    /// Demands of workloads at resources.
    pub demands: &'a [Demand],
    /// Samples of the collectors.
    pub metrics: &'a Collected,
}

/// Accepts the records of a run.
///
/// If it is dropped before [`Recorder::finish`], it removes its files.
pub struct Recorder {
    selection: Selection,
    batch: Batch,
    /// Number of records in a full batch.
    limit: usize,
    ending: Ending,
    failed: bool,
}

/// The destination of records.
enum Ending {
    /// Discarded: they have their costs only.
    Forgotten,
    /// Kept here, all of them, in one batch.
    Memory,
    /// Kept here if they are wanted.
    Chosen { kept: Vec<Record>, wanted: Box<dyn Fn(&Record) -> bool + Send> },
    /// In a file.
    #[cfg(feature = "sqlite")]
    Stored(Box<Store>),
}

/// The size of a finished recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    pub(crate) records: [u64; RecordKind::COUNT],
    pub(crate) bytes: u64,
}

impl Summary {
    /// Number of records of `kind`.
    pub fn records(&self, kind: RecordKind) -> u64 {
        self.records[kind.index()]
    }

    /// Number of records of all kinds.
    pub fn total(&self) -> u64 {
        self.records.iter().sum()
    }

    /// Bytes of the store; zero for records in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Recorder {
    /// A recorder that wants no records.
    pub fn none() -> Self {
        Self::forgetful(Selection::NONE)
    }

    /// A recorder that keeps its records in memory.
    pub fn in_memory(selection: Selection) -> Self {
        Self::new(selection, Batch::new(), usize::MAX, Ending::Memory)
    }

    /// Like [`Recorder::in_memory`], but keeps only `wanted` records; the others still have their costs.
    pub fn in_memory_of(
        selection: Selection,
        wanted: impl Fn(&Record) -> bool + Send + 'static,
    ) -> Self {
        let ending = Ending::Chosen { kept: Vec::new(), wanted: Box::new(wanted) };
        Self::new(selection, Batch::with_capacity(BATCH_RECORDS), BATCH_RECORDS, ending)
    }

    /// Accepts records and discards them, for a run whose records have costs but are not kept.
    pub fn forgetful(selection: Selection) -> Self {
        Self::new(selection, Batch::new(), BATCH_RECORDS, Ending::Forgotten)
    }

    /// A recorder whose records go to a store.
    #[cfg(feature = "sqlite")]
    pub(crate) fn to_store(selection: Selection, store: Store) -> Self {
        let batch = Batch::with_capacity(BATCH_RECORDS);
        Self::new(selection, batch, BATCH_RECORDS, Ending::Stored(Box::new(store)))
    }

    fn new(selection: Selection, batch: Batch, limit: usize, ending: Ending) -> Self {
        Self { selection, batch, limit, ending, failed: false }
    }

    /// The selection of records that it accepts.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// Whether posted records are kept. If so, accounts are kept too.
    pub fn is_kept(&self) -> bool {
        !matches!(self.ending, Ending::Forgotten)
    }

    /// Whether to build and post a record of `kind` for `breadcrumb`.
    #[inline]
    pub fn wants(&self, kind: RecordKind, breadcrumb: Breadcrumb) -> bool {
        self.selection.wants(kind, breadcrumb)
    }

    /// Keeps `record`. The caller must have asked [`Recorder::wants`]. Hosts are numbered densely from zero,
    /// like [`foretell_units::HostId`].
    ///
    /// If the store cannot be written, the record is lost, and [`Recorder::failed`] returns true.
    #[inline]
    pub fn post(&mut self, record: Record) {
        self.batch.push(record);
        if self.batch.len() == self.limit {
            self.hand_over();
        }
    }

    /// Whether the store could not be written (the disk may be full). The simulation should end, because nothing
    /// more is kept; [`Recorder::finish`] returns the error.
    #[inline]
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// The records posted so far to a recorder that keeps all in memory; meaningless for others.
    pub fn records(&self) -> &[Record] {
        &self.batch
    }

    /// Hands over the full batch and takes an empty one.
    #[cold]
    fn hand_over(&mut self) {
        match &mut self.ending {
            Ending::Forgotten => self.batch.clear(),
            Ending::Memory => {}
            Ending::Chosen { kept, wanted } => {
                kept.extend(self.batch.drain(..).filter(|record| wanted(record)));
            }
            #[cfg(feature = "sqlite")]
            Ending::Stored(store) => {
                let next = store.take(std::mem::take(&mut self.batch));
                // If the writer has ended, one batch is filled repeatedly.
                self.failed |= next.is_none();
                self.batch = next.unwrap_or_else(|| Batch::with_capacity(BATCH_RECORDS));
            }
        }
    }

    /// Writes the remaining records, the facts and the roll-ups, and gives the store its name.
    ///
    /// Errors if the writer could not write, or if the facts are inconsistent; then there is no store.
    pub fn finish(self, facts: &Facts, demands: &[Demand]) -> Result<Summary, StoreError> {
        let metrics = &Collected::default();
        self.conclude(&Conclusion { facts, demands, metrics })
    }

    /// Like [`Recorder::finish`], with the collectors' metrics.
    pub fn conclude(self, conclusion: &Conclusion<'_>) -> Result<Summary, StoreError> {
        #[cfg(feature = "sqlite")]
        if matches!(self.ending, Ending::Stored(_)) {
            let (summary, file) = self.conclude_unnamed(conclusion)?;
            file.commit()?;
            return Ok(summary);
        }
        self.conclude_in_memory(conclusion)
    }

    /// Like [`Recorder::conclude`] for a recorder with a store, but the store has no name yet: the caller names
    /// it together with its companion files. If it is dropped before that, it is removed.
    ///
    /// # Panics
    ///
    /// If records do not go to a store.
    #[cfg(feature = "sqlite")]
    pub fn conclude_unnamed(
        mut self,
        conclusion: &Conclusion<'_>,
    ) -> Result<(Summary, foretell_files::NewFile), StoreError> {
        let batch = std::mem::take(&mut self.batch);
        let Ending::Stored(store) = self.ending else { panic!("records go to a store") };
        store.conclude(batch, self.selection, conclusion)
    }

    fn conclude_in_memory(mut self, conclusion: &Conclusion<'_>) -> Result<Summary, StoreError> {
        let batch = std::mem::take(&mut self.batch);
        conclusion.facts.check()?;
        let mut records = [0; RecordKind::COUNT];
        let kept = match &self.ending {
            Ending::Chosen { kept, .. } => kept.as_slice(),
            _ => &[],
        };
        for record in kept.iter().chain(&batch) {
            records[record.body.kind().index()] += 1;
        }
        Ok(Summary { records, bytes: 0 })
    }

    /// Returns the records in memory as a run that can be queried.
    ///
    /// Errors if the facts are inconsistent.
    pub fn into_run(mut self, facts: Facts, demands: Vec<Demand>) -> Result<MemoryRun, StoreError> {
        facts.check()?;
        if matches!(self.ending, Ending::Chosen { .. }) {
            self.hand_over();
        }
        let records = match self.ending {
            Ending::Chosen { kept, .. } => kept,
            _ => self.batch,
        };
        Ok(MemoryRun::new(self.selection, facts, demands, records))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match &self.ending {
            Ending::Forgotten => "forgotten".to_owned(),
            Ending::Memory | Ending::Chosen { .. } => "in memory".to_owned(),
            #[cfg(feature = "sqlite")]
            Ending::Stored(store) => format!("{store:?}"),
        };
        f.debug_struct("Recorder")
            .field("selection", &self.selection)
            .field("ending", &ending)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
