//! Where a simulation posts its records.
//!
//! The simulation fills batches; a full one goes to a thread that writes the store, which gives
//! the memory back: nothing is allocated while the run goes on, and a simulation that outruns the
//! disk waits.

use std::fmt;
use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};
use foretell_files::Directory;
use foretell_metrics::Collected;
use foretell_units::Breadcrumb;
use rusqlite::Connection;

use crate::pages::PageWriter;
use crate::statements::StatementWriter;
use crate::tally::Tally;
use crate::target::{RUN, Target, io_error};
use crate::writer::{Batch, RowWriter, write_batches};
use crate::{Conclusion, Demand, Facts, Record, RecordKind, Selection, StoreError, conclude};

/// Records in a batch: 512 KiB.
const BATCH_RECORDS: usize = 8192;

/// Batches there are: one being filled, one being written, two between.
const BATCHES: usize = 4;

/// How rows get into the store. The rows are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// The pages of the SQLite file are built directly, an order of magnitude faster.
    #[default]
    Pages,
    /// By `INSERT` statements: slower, and simple enough to trust.
    Statements,
}

/// Takes the records of a run.
///
/// Dropped before [`Recorder::finish`], it removes what it wrote.
pub struct Recorder {
    selection: Selection,
    batch: Batch,
    /// Records at which a batch is full.
    limit: usize,
    store: Option<Store>,
    failed: bool,
}

/// The writing end of a recorder.
struct Store {
    target: Target,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
    writer: JoinHandle<Result<(Connection, Tally), StoreError>>,
}

/// What a finished recorder has kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    records: [u64; RecordKind::COUNT],
    bytes: u64,
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
        Self::in_memory(Selection::NONE)
    }

    /// A recorder that keeps what it is given in memory: for tests of what is posted.
    pub fn in_memory(selection: Selection) -> Self {
        Self { selection, batch: Batch::new(), limit: usize::MAX, store: None, failed: false }
    }

    /// A recorder that writes `dir/run.db`, making `dir` if need be.
    ///
    /// Removes an earlier `run.db`; the new one appears when [`Recorder::finish`] succeeds. Errors
    /// if the directory cannot be written or another process records into it.
    pub fn create(dir: &Path, selection: Selection) -> Result<Self, StoreError> {
        Self::create_by(Method::default(), dir, selection)
    }

    /// Takes records and forgets them, for a run whose records cost but are not kept.
    pub fn forgetful(selection: Selection) -> Self {
        let mut recorder = Self::in_memory(selection);
        recorder.limit = BATCH_RECORDS;
        recorder
    }

    /// As [`Recorder::create`], by a chosen method.
    pub fn create_by(method: Method, dir: &Path, selection: Selection) -> Result<Self, StoreError> {
        Self::start_in(method, &Directory::take(dir, RUN)?, selection)
    }

    /// As [`Recorder::create`], in a directory that was taken before.
    pub fn create_in(directory: &Directory, selection: Selection) -> Result<Self, StoreError> {
        Self::start_in(Method::default(), directory, selection)
    }

    fn start_in(
        method: Method,
        directory: &Directory,
        selection: Selection,
    ) -> Result<Self, StoreError> {
        let target = Target::prepare(directory)?;
        let partial = target.partial();
        match method {
            Method::Pages => Self::start(PageWriter::create(&partial), target, selection),
            Method::Statements => Self::start(StatementWriter::create(&partial), target, selection),
        }
    }

    /// Starts the thread of `writer`.
    fn start<W: RowWriter + Send + 'static>(
        writer: Result<W, StoreError>,
        target: Target,
        selection: Selection,
    ) -> Result<Self, StoreError> {
        let started = writer.and_then(|writer| {
            let (full, full_out) = crossbeam_channel::bounded(BATCHES);
            let (empty_in, empty) = crossbeam_channel::bounded(BATCHES);
            for _ in 1..BATCHES {
                let sent = empty_in.send(Batch::with_capacity(BATCH_RECORDS));
                assert!(sent.is_ok(), "the receiving end is held here");
            }
            let thread = std::thread::Builder::new().name("records".to_owned());
            let writer = thread.spawn(move || write_batches(writer, &full_out, &empty_in));
            let writer = writer.map_err(io_error("start a thread to write", &target.partial()))?;
            Ok((full, empty, writer))
        });
        let (full, empty, writer) = started?;
        Ok(Self {
            selection,
            batch: Batch::with_capacity(BATCH_RECORDS),
            limit: BATCH_RECORDS,
            store: Some(Store { target, full, empty, writer }),
            failed: false,
        })
    }

    /// Which records it keeps.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// Whether what is posted ends in a store.
    pub fn is_stored(&self) -> bool {
        self.store.is_some()
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

    /// The records posted so far to a recorder in memory; of no meaning for one that stores.
    pub fn records(&self) -> &[Record] {
        &self.batch
    }

    /// Gives the full batch to the writer and takes an empty one.
    #[cold]
    fn hand_over(&mut self) {
        if self.store.is_none() {
            self.batch.clear();
            return;
        }
        let next = self.store.as_ref().and_then(|store| {
            store.full.send(std::mem::take(&mut self.batch)).ok()?;
            store.empty.recv().ok()
        });
        // If the writer is gone, one batch is filled over and over.
        self.failed |= next.is_none();
        self.batch = next.unwrap_or_else(|| Batch::with_capacity(BATCH_RECORDS));
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
    pub fn conclude(mut self, conclusion: &Conclusion<'_>) -> Result<Summary, StoreError> {
        let batch = std::mem::take(&mut self.batch);
        let Some(store) = self.store.take() else {
            let mut tally = Tally::default();
            for record in &batch {
                tally.add(record);
            }
            return Ok(Summary { records: tally.records(), bytes: 0 });
        };
        // If this fails the writer has failed, and says so when it is joined.
        let _ = store.full.send(batch);
        drop(store.full);
        let written = store.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (db, tally) = written?;
        let partial = store.target.partial();
        conclude::conclude(db, self.selection, &tally, conclusion, &partial)?;
        let path = store.target.publish()?;
        let bytes = std::fs::metadata(&path).map_err(io_error("look at", &path))?.len();
        Ok(Summary { records: tally.records(), bytes })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            drop(store.full);
            // Whatever the writer has to say, nobody wants the store.
            let _ = store.writer.join();
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("selection", &self.selection)
            .field("target", &self.store.as_ref().map(|store| &store.target))
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
