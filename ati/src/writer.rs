//! The writing thread: it turns batches of records into rows, and maintains the roll-ups.

use std::path::Path;

use crossbeam_channel::{Receiver, Sender};
use rusqlite::Connection;

use crate::StoreError;
use crate::columns::{RowSink, write_row};
use crate::recorder::Batch;
use crate::tally::Tally;

/// A way to write rows into the tables of a new store.
pub(crate) trait RowWriter: RowSink<Error = StoreError> + Sized {
    /// Begins the file at `path` with the empty tables of all record types.
    fn create(path: &Path) -> Result<Self, StoreError>;
    /// Writes the remaining rows, and opens the file for its facts.
    fn finish(self) -> Result<Connection, StoreError>;
}

/// Writes batches until there are no more.
pub(crate) fn write_batches<W: RowWriter>(
    mut writer: W,
    full: &Receiver<Batch>,
    empty: &Sender<Batch>,
) -> Result<(Connection, Tally), StoreError> {
    let mut tally = Tally::default();
    for mut batch in full {
        for record in &batch {
            tally.add(record);
            write_row(record, &mut writer)?;
        }
        batch.clear();
        // The recorder may have ended; then the memory is not needed.
        let _ = empty.send(batch);
    }
    Ok((writer.finish()?, tally))
}
