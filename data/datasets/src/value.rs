//! A cell of a data set.

use serde::{Deserialize, Serialize};

/// A cell of a table, or the value of a factor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// No value; `null` in every format.
    Missing,
}

impl Value {
    /// A number; missing if it is not finite.
    pub fn number(value: f64) -> Self {
        if value.is_finite() { Self::Number(value) } else { Self::Missing }
    }

    /// A count; missing if it does not fit into 63 bits.
    pub fn count(value: u64) -> Self {
        i64::try_from(value).map_or(Self::Missing, Self::Whole)
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Flag(_) | Self::Text(_) | Self::Missing => None,
        }
    }
}

/// Cells as numbers: flags are 0 and 1, and cells may be missing. `None` if one is a text.
pub fn numbers(cells: &[Value]) -> Option<Vec<Option<f64>>> {
    let mut numbers = Vec::with_capacity(cells.len());
    for cell in cells {
        numbers.push(match cell {
            Value::Missing => None,
            Value::Flag(flag) => Some(f64::from(u8::from(*flag))),
            cell => Some(cell.as_f64()?),
        });
    }
    Some(numbers)
}

/// Cells as texts; they may be missing.
pub fn texts(cells: &[Value]) -> Vec<Option<String>> {
    let text = |cell: &Value| (*cell != Value::Missing).then(|| cell.to_string());
    cells.iter().map(text).collect()
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl std::fmt::Display for Value {
    /// Writes the cell of comma-separated values; a missing one is empty.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(value) => value.fmt(f),
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
            Self::Missing => Ok(()),
        }
    }
}
