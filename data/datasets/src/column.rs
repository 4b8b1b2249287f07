//! Columns and tables of a data set.

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// The key of a Parquet file's metadata under which it describes its columns, as JSON.
#[cfg(feature = "parquet")]
pub(crate) const COLUMNS_KEY: &str = "columns";

/// The type of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// 64-bit whole numbers.
    Whole,
    /// Double-precision numbers.
    Number,
    /// Texts.
    Text,
}

/// The role of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Identifies the row and its origin; not for learning.
    Identity,
    /// Set by the design: a feature.
    Factor,
    /// Observed: a target.
    Observed,
}

impl Role {
    /// Its word on pages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Factor => "factor",
            Self::Observed => "result",
        }
    }
}

/// A column. Its name ends with its unit (`response_time_mean_ms`), if it has one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type of its cells.
    pub kind: Kind,
    /// Its role.
    pub role: Role,
    /// Unit in words; empty: none.
    pub unit: String,
    /// Its meaning.
    pub description: String,
}

impl Column {
    /// A column.
    pub fn new(
        name: impl Into<String>,
        kind: Kind,
        role: Role,
        unit: &str,
        description: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            role,
            unit: unit.to_owned(),
            description: description.into(),
        }
    }
}

/// A table of a data set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableSchema {
    /// Name: `runs`, `requests`, `failures`.
    pub name: String,
    /// The meaning of one row.
    pub description: String,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Maximum number of rows in a file.
    pub rows_per_file: u64,
}

impl Kind {
    /// Parses a cell of comma-separated values; `None` if it does not fit the type.
    pub(crate) fn parse(self, cell: &str) -> Option<Value> {
        if cell.is_empty() {
            return Some(Value::Missing);
        }
        match self {
            Self::Flag => cell.parse().ok().map(Value::Flag),
            Self::Whole => cell.parse().ok().map(Value::Whole),
            Self::Number => cell.parse().ok().map(Value::number),
            Self::Text => Some(Value::from(cell)),
        }
    }
}
