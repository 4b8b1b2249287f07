//! Cells of a row that others may have written. A cell of the wrong type or out of its range is an
//! error that names table, row and column.

use std::fmt;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Params, Row};

use super::RunDb;
use crate::StoreError;
use crate::column::{ID, MAX_VALUE};
use crate::target::sql_error;

/// A row of a small table.
pub(super) struct Cells<'a> {
    row: &'a Row<'a>,
    path: &'a Path,
    table: &'static str,
    columns: &'a [&'static str],
    /// Its position among the rows read, from 1.
    number: i64,
}

impl RunDb {
    /// The error that SQLite could not read a table, or that it was stopped.
    pub(super) fn unreadable(&self, table: &str, error: rusqlite::Error) -> StoreError {
        let path = self.path.clone();
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                StoreError::Endless { path, table: table.to_owned() }
            }
            _ => StoreError::Sql { doing: "read", path, source: error },
        }
    }

    /// Rows of a small table: the given columns, ordered by the first ones.
    pub(super) fn list<T>(
        &self,
        table: &'static str,
        columns: &[&'static str],
        rest: &str,
        parameters: impl Params,
        mut each: impl FnMut(&Cells<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = format!("SELECT {} FROM {table} {rest}", columns.join(", "));
        let read = |error: rusqlite::Error| self.unreadable(table, error);
        let mut statement = self.db.prepare_cached(&sql).map_err(read)?;
        let mut rows = statement.query(parameters).map_err(read)?;
        let (mut found, mut number) = (Vec::new(), 0);
        while let Some(row) = rows.next().map_err(read)? {
            number += 1;
            found.push(each(&Cells { row, path: &self.path, table, columns, number })?);
        }
        Ok(found)
    }
}

impl Cells<'_> {
    /// The error that a cell does not hold the expected value.
    pub(super) fn bad(&self, column: usize, wanted: &'static str) -> StoreError {
        StoreError::BadRow {
            path: self.path.to_owned(),
            table: self.table.to_owned(),
            row: self.number,
            column: self.columns[column],
            found: self
                .row
                .get_ref(column)
                .map_or_else(|e| e.to_string(), |cell| Shown(cell).to_string()),
            wanted,
        }
    }

    pub(super) fn cell(&self, column: usize) -> Result<ValueRef<'_>, StoreError> {
        self.row.get_ref(column).map_err(sql_error("read", self.path))
    }

    /// The number of something.
    pub(super) fn id(&self, column: usize) -> Result<u32, StoreError> {
        let id = match self.cell(column)? {
            ValueRef::Integer(id) => u32::try_from(id).ok(),
            _ => None,
        };
        id.ok_or_else(|| self.bad(column, ID))
    }

    /// A count, a size, or a time in nanoseconds.
    pub(super) fn amount(&self, column: usize) -> Result<u64, StoreError> {
        let amount = match self.cell(column)? {
            ValueRef::Integer(amount) => {
                u64::try_from(amount).ok().filter(|amount| *amount <= MAX_VALUE)
            }
            _ => None,
        };
        amount.ok_or_else(|| self.bad(column, "a whole number from 0 to 2^62"))
    }

    /// Any whole number.
    pub(super) fn whole(&self, column: usize) -> Result<i64, StoreError> {
        match self.cell(column)? {
            ValueRef::Integer(whole) => Ok(whole),
            _ => Err(self.bad(column, "a whole number")),
        }
    }

    /// A finite number.
    pub(super) fn real(&self, column: usize) -> Result<f64, StoreError> {
        let real = match self.cell(column)? {
            ValueRef::Integer(whole) => Some(whole as f64),
            ValueRef::Real(real) => Some(real).filter(|real| real.is_finite()),
            _ => None,
        };
        real.ok_or_else(|| self.bad(column, "a finite number"))
    }

    /// 0 or 1.
    pub(super) fn flag(&self, column: usize) -> Result<bool, StoreError> {
        match self.cell(column)? {
            ValueRef::Integer(0) => Ok(false),
            ValueRef::Integer(1) => Ok(true),
            _ => Err(self.bad(column, "0 or 1")),
        }
    }

    /// A text.
    pub(super) fn text(&self, column: usize) -> Result<String, StoreError> {
        let text = self.cell(column)?.as_str().ok().map(str::to_owned);
        text.ok_or_else(|| self.bad(column, "a text"))
    }
}

/// A cell as shown in a message.
pub(super) struct Shown<'a>(pub(super) ValueRef<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ValueRef::Null => f.write_str("NULL"),
            ValueRef::Integer(whole) => whole.fmt(f),
            ValueRef::Real(real) => real.fmt(f),
            ValueRef::Text(text) => {
                let text: String = String::from_utf8_lossy(text).chars().take(40).collect();
                write!(f, "the text `{text}`")
            }
            ValueRef::Blob(bytes) => write!(f, "a blob of {} bytes", bytes.len()),
        }
    }
}
