//! What the columns of a data set are.

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// What a column holds.
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

/// What a column is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It says which row this is and where it comes from: nothing to learn from.
    Identity,
    /// It was set by the design: a feature.
    Factor,
    /// It was observed: a target.
    Observed,
}

/// A column. Its unit is the end of its name (`response_time_mean_ms`), as far as it has one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// What it is for.
    pub role: Role,
    /// Unit, in words of people; empty: none.
    pub unit: String,
    /// What it means.
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
    /// What one row is.
    pub description: String,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Rows that are kept together in a file, at most.
    pub rows_per_file: u64,
}

impl Kind {
    /// A cell of a table of comma-separated values; `None` if it does not fit.
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
