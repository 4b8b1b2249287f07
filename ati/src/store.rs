//! The writing side of a recorder with a store: a thread, and the file that it writes.

use std::fmt;
use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};
use foretell_files::{Directory, NewFile};
use rusqlite::Connection;

use crate::pages::PageWriter;
use crate::recorder::{BATCH_RECORDS, Batch};
use crate::statements::StatementWriter;
use crate::tally::Tally;
use crate::target::{RUN, Target, io_error};
use crate::writer::{RowWriter, write_batches};
use crate::{Conclusion, Recorder, Selection, StoreError, Summary, conclude};

/// Number of batches: one being filled, one being written, two in between.
const BATCHES: usize = 4;

/// The method of writing rows to the store. The rows are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Builds the pages of the SQLite file directly; faster by an order of magnitude.
    #[default]
    Pages,
    /// Uses `INSERT` statements: slower, but simple enough to trust.
    Statements,
}

/// A store that is being written. If it is dropped before [`Store::conclude`], it removes its files.
pub(crate) struct Store {
    writing: Option<Writing>,
}

/// The thread that writes, and its file.
struct Writing {
    target: Target,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
    writer: JoinHandle<Result<(Connection, Tally), StoreError>>,
}

impl Recorder {
    /// A recorder that writes `dir/run.db`, and creates `dir` if necessary.
    ///
    /// An earlier `run.db` is kept until [`Recorder::finish`] succeeds and replaces it. Errors if the directory cannot
    /// be written or another process records into it.
    pub fn create(dir: &Path, selection: Selection) -> Result<Self, StoreError> {
        Self::create_by(Method::default(), dir, selection)
    }

    /// Like [`Recorder::create`], with the given method.
    pub fn create_by(method: Method, dir: &Path, selection: Selection) -> Result<Self, StoreError> {
        let store = Store::create(method, &Directory::take(dir, RUN)?)?;
        Ok(Self::to_store(selection, store))
    }

    /// Like [`Recorder::create`], in a directory that has already been taken.
    pub fn create_in(directory: &Directory, selection: Selection) -> Result<Self, StoreError> {
        Ok(Self::to_store(selection, Store::create(Method::default(), directory)?))
    }
}

impl Store {
    fn create(method: Method, directory: &Directory) -> Result<Self, StoreError> {
        let target = Target::prepare(directory)?;
        let partial = target.partial();
        match method {
            Method::Pages => Self::start(PageWriter::create(&partial), target),
            Method::Statements => Self::start(StatementWriter::create(&partial), target),
        }
    }

    /// Starts the thread of `writer`.
    fn start<W: RowWriter + Send + 'static>(
        writer: Result<W, StoreError>,
        target: Target,
    ) -> Result<Self, StoreError> {
        let writer = writer?;
        let (full, full_out) = crossbeam_channel::bounded(BATCHES);
        let (empty_in, empty) = crossbeam_channel::bounded(BATCHES);
        for _ in 1..BATCHES {
            let sent = empty_in.send(Batch::with_capacity(BATCH_RECORDS));
            assert!(sent.is_ok(), "the receiving end is held here");
        }
        let thread = std::thread::Builder::new().name("records".to_owned());
        let writer = thread.spawn(move || write_batches(writer, &full_out, &empty_in));
        let writer = writer.map_err(io_error("start a thread to write", &target.partial()))?;
        Ok(Self { writing: Some(Writing { target, full, empty, writer }) })
    }

    /// Gives a full batch to the writer and takes an empty one; `None` if the writer has ended.
    pub(crate) fn take(&self, batch: Batch) -> Option<Batch> {
        let writing = self.writing.as_ref()?;
        writing.full.send(batch).ok()?;
        writing.empty.recv().ok()
    }

    /// Writes the last batch and everything else. The file has no name yet.
    pub(crate) fn conclude(
        mut self,
        batch: Batch,
        selection: Selection,
        conclusion: &Conclusion<'_>,
    ) -> Result<(Summary, NewFile), StoreError> {
        let writing = self.writing.take().expect("a store is concluded once");
        // If this fails, the writer has failed and returns its error when it is joined.
        let _ = writing.full.send(batch);
        drop(writing.full);
        let written =
            writing.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (db, tally) = written?;
        let partial = writing.target.partial();
        conclude::conclude(db, selection, &tally, conclusion, &partial)?;
        let file = writing.target.finished()?;
        let bytes = std::fs::metadata(&partial).map_err(io_error("look at", &partial))?.len();
        Ok((Summary { records: tally.records(), bytes }, file))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(writing) = self.writing.take() {
            drop(writing.full);
            // the store is no longer wanted, so an error of its writer does not matter
            let _ = writing.writer.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.writing.as_ref().map(|writing| &writing.target)).finish()
    }
}
