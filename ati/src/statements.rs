//! The plain way of writing rows: many per `INSERT` statement.
//!
//! It is kept as the oracle of the faster [`crate::pages`], and as a fallback in case a version of
//! SQLite rejects those pages. Rows of a table wait until a statement is full.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::columns::RowSink;
use crate::target::sql_error;
use crate::{RecordKind, StoreError, schema, writer::RowWriter};

/// Number of rows per statement.
///
/// Measured with this crate's bench, million records a CPU-second: 1 row 2.6, 10 rows 4.3, 50 rows
/// 4.9, 100 rows 5.05, 250 rows 4.6.
const ROWS_PER_STATEMENT: usize = 100;

/// Writes rows by SQL.
pub(crate) struct StatementWriter {
    db: Connection,
    path: PathBuf,
    tables: [Waiting; RecordKind::COUNT],
}

/// Rows of one table that wait for their statement.
#[derive(Default)]
struct Waiting {
    /// Values row by row.
    values: Vec<i64>,
    /// The statement for [`ROWS_PER_STATEMENT`] rows.
    sql: String,
}

impl StatementWriter {
    /// Inserts all waiting rows of `kind`.
    fn insert(&mut self, kind: RecordKind) -> Result<(), StoreError> {
        let waiting = &mut self.tables[kind.index()];
        let columns = kind.columns().count();
        let rows = waiting.values.len() / columns;
        let insert = || {
            let short;
            let sql = if rows == ROWS_PER_STATEMENT {
                &waiting.sql
            } else {
                short = insert_sql(kind, rows);
                &short
            };
            let mut statement = self.db.prepare_cached(sql)?;
            for (index, value) in waiting.values.iter().enumerate() {
                statement.raw_bind_parameter(index + 1, value)?;
            }
            statement.raw_execute()
        };
        if rows > 0 {
            insert().map_err(sql_error("write", &self.path))?;
            waiting.values.clear();
        }
        Ok(())
    }
}

/// The statement that inserts `rows` rows of `kind`.
fn insert_sql(kind: RecordKind, rows: usize) -> String {
    let row = format!("({})", vec!["?"; kind.columns().count()].join(","));
    format!("INSERT INTO {kind} VALUES {}", vec![row; rows].join(","))
}

impl RowSink for StatementWriter {
    type Error = StoreError;

    #[inline]
    fn row<const N: usize>(&mut self, kind: RecordKind, row: [i64; N]) -> Result<(), StoreError> {
        let values = &mut self.tables[kind.index()].values;
        values.extend_from_slice(&row);
        if values.len() == N * ROWS_PER_STATEMENT { self.insert(kind) } else { Ok(()) }
    }
}

impl RowWriter for StatementWriter {
    fn create(path: &Path) -> Result<Self, StoreError> {
        let db = schema::create(path)?;
        db.set_prepared_statement_cache_capacity(2 * RecordKind::COUNT);
        db.execute_batch("BEGIN").map_err(sql_error("write", path))?;
        let tables = RecordKind::ALL
            .map(|kind| Waiting { values: Vec::new(), sql: insert_sql(kind, ROWS_PER_STATEMENT) });
        Ok(Self { db, path: path.to_owned(), tables })
    }

    fn finish(mut self) -> Result<Connection, StoreError> {
        for kind in RecordKind::ALL {
            self.insert(kind)?;
        }
        self.db.flush_prepared_statement_cache();
        self.db.execute_batch("COMMIT").map_err(sql_error("write", &self.path))?;
        Ok(self.db)
    }
}
