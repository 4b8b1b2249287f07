//! Where a simulation posts its records.
//!
//! The simulation fills batches; a full one goes to a thread that writes the store, which gives
//! the memory back: nothing is allocated while the run goes on, and a simulation that outruns the
//! disk waits. Without a store, records are kept in memory ([`crate::MemoryRun`]) or forgotten.

use std::fmt;

use foretell_metrics::Collected;
use foretell_units::Breadcrumb;

#[cfg(feature = "sqlite")]
use crate::store::Store;
use crate::{Demand, Facts, MemoryRun, Record, RecordKind, Selection, StoreError};

/// Records in a batch: 512 KiB.
pub(crate) const BATCH_RECORDS: usize = 8192;

/// A full batch has been used up: its memory goes back to the recorder.
pub(crate) type Batch = Vec<Record>;

/// What is known when a run has ended.
#[derive(Clone, Copy)]
pub struct Conclusion<'a> {
    /// What an operator knows.
    pub facts: &'a Facts,
    /// What workloads demanded of resources.
    pub demands: &'a [Demand],
    /// What collectors posted.
    pub metrics: &'a Collected,
}

/// Takes the records of a run.
///
/// Dropped before [`Recorder::finish`], it removes what it wrote.
pub struct Recorder {
    selection: Selection,
    batch: Batch,
    /// Records at which a batch is full.
    limit: usize,
    ending: Ending,
    failed: bool,
}

/// Where records end.
enum Ending {
    /// Nowhere: they cost what they cost.
    Forgotten,
    /// Here, all of them, in one batch.
    Memory,
    /// Here, those that are wanted.
    Chosen { kept: Vec<Record>, wanted: Box<dyn Fn(&Record) -> bool + Send> },
    /// In a file.
    #[cfg(feature = "sqlite")]
    Stored(Box<Store>),
}

/// What a finished recorder has kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    pub(crate) records: [u64; RecordKind::COUNT],
    pub(crate) bytes: u64,
}

impl Summary {
    /// Records of `kind`.
    pub fn records(&self, kind: RecordKind) -> u64 {
        self.records[kind.index()]
    }

    /// Records of all kinds.
    pub fn total(&self) -> u64 {
        self.records.iter().sum()
    }

    /// Bytes of the store; zero for records in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Recorder {
    /// A recorder that wants nothing.
    pub fn none() -> Self {
        Self::forgetful(Selection::NONE)
    }

    /// A recorder that keeps what it is given in memory.
    pub fn in_memory(selection: Selection) -> Self {
        Self::new(selection, Batch::new(), usize::MAX, Ending::Memory)
    }

    /// As [`Recorder::in_memory`], but keeps `wanted` records only: what the others cost, they cost all the
    /// same.
    pub fn in_memory_of(
        selection: Selection,
        wanted: impl Fn(&Record) -> bool + Send + 'static,
    ) -> Self {
        let ending = Ending::Chosen { kept: Vec::new(), wanted: Box::new(wanted) };
        Self::new(selection, Batch::with_capacity(BATCH_RECORDS), BATCH_RECORDS, ending)
    }

    /// Takes records and forgets them, for a run whose records cost but are not kept.
    pub fn forgetful(selection: Selection) -> Self {
        Self::new(selection, Batch::new(), BATCH_RECORDS, Ending::Forgotten)
    }

    /// Records go to a store.
    #[cfg(feature = "sqlite")]
    pub(crate) fn to_store(selection: Selection, store: Store) -> Self {
        let batch = Batch::with_capacity(BATCH_RECORDS);
        Self::new(selection, batch, BATCH_RECORDS, Ending::Stored(Box::new(store)))
    }

    fn new(selection: Selection, batch: Batch, limit: usize, ending: Ending) -> Self {
        Self { selection, batch, limit, ending, failed: false }
    }

    /// Which records it keeps.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// Whether what is posted is kept: then accounts are kept, too.
    pub fn is_kept(&self) -> bool {
        !matches!(self.ending, Ending::Forgotten)
    }

    /// Whether to build and post a record of `kind` for `breadcrumb`.
    #[inline]
    pub fn wants(&self, kind: RecordKind, breadcrumb: Breadcrumb) -> bool {
        self.selection.wants(kind, breadcrumb)
    }

    /// Keeps `record`. The caller has asked [`Recorder::wants`]. Hosts are numbered densely from
    /// zero, as [`foretell_units::HostId`] has it.
    ///
    /// If the store cannot be written the record is lost, and [`Recorder::failed`] says so.
    #[inline]
    pub fn post(&mut self, record: Record) {
        self.batch.push(record);
        if self.batch.len() == self.limit {
            self.hand_over();
        }
    }

    /// Whether the store could not be written (the disk may be full): the simulation should end,
    /// as nothing more is kept; [`Recorder::finish`] says what happened.
    #[inline]
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// The records posted so far to a recorder that keeps all in memory; of no meaning for others.
    pub fn records(&self) -> &[Record] {
        &self.batch
    }

    /// Hands on the full batch and takes an empty one.
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
                // If the writer is gone, one batch is filled over and over.
                self.failed |= next.is_none();
                self.batch = next.unwrap_or_else(|| Batch::with_capacity(BATCH_RECORDS));
            }
        }
    }

    /// Writes what is left, the facts and the roll-ups, and gives the store its name.
    ///
    /// Errors with whatever kept the writer from writing, or if the facts contradict themselves;
    /// then there is no store.
    pub fn finish(self, facts: &Facts, demands: &[Demand]) -> Result<Summary, StoreError> {
        let metrics = &Collected::default();
        self.conclude(&Conclusion { facts, demands, metrics })
    }

    /// As [`Recorder::finish`], with the metrics that collectors posted.
    pub fn conclude(self, conclusion: &Conclusion<'_>) -> Result<Summary, StoreError> {
        #[cfg(feature = "sqlite")]
        if matches!(self.ending, Ending::Stored(_)) {
            let (summary, file) = self.conclude_unnamed(conclusion)?;
            file.commit()?;
            return Ok(summary);
        }
        self.conclude_in_memory(conclusion)
    }

    /// As [`Recorder::conclude`] for a recorder with a store, but the store has no name yet: the caller gives it
    /// one together with what stands beside it. Dropped before, it is removed.
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

    /// Gives the records that are kept in memory as a run that can be asked.
    ///
    /// Errors if the facts contradict themselves.
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
