//! Tables with a line of names: columns by their names, and cells as numbers.

use csv::{Position, StringRecord};

use crate::error::MetricsError;
use crate::series::TARGETS;

/// Names of the time column.
pub(crate) const TIMES: [&str; 2] = ["epoch", "time"];

/// The columns of a table with times and clients' measurements.
pub(crate) struct Heading {
    /// Index of the time column.
    pub(crate) time: usize,
    /// Names and indices of the clients' columns, at least one, in the order of [`TARGETS`].
    pub(crate) targets: Vec<(&'static str, usize)>,
}

impl Heading {
    /// The heading in the first line of `file`. Errors if it has no times, or no clients' column.
    pub(crate) fn of(names: &StringRecord, file: &str) -> Result<Self, MetricsError> {
        let place = |name: &str| names.iter().position(|known| known.trim() == name);
        let lacks = |reason: String| MetricsError::Lacks { file: file.to_owned(), reason };
        let time = TIMES.into_iter().find_map(place).ok_or_else(|| {
            let wanted = "seconds since 1970 at the end of each interval";
            lacks(format!("no column `{}` with {wanted}", TIMES[0]))
        })?;
        let targets: Vec<(&str, usize)> =
            TARGETS.iter().filter_map(|of| Some((of.column, place(of.column)?))).collect();
        if targets.is_empty() {
            let names = TARGETS.map(|target| format!("`{}`", target.column)).join(", ");
            return Err(lacks(format!("none of the columns {names}")));
        }
        Ok(Self { time, targets })
    }

    /// The names of the clients' columns.
    pub(crate) fn target_names(&self) -> Vec<String> {
        self.targets.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// A row's time, and clients' measurements in it.
    pub(crate) fn row(
        &self,
        record: &StringRecord,
        file: &str,
    ) -> Result<(f64, Vec<f64>), MetricsError> {
        let places = self.targets.iter().map(|(_, place)| *place);
        Ok((number(record, self.time, file)?, numbers(record, places, file)?))
    }
}

/// The given cells as numbers.
pub(crate) fn numbers(
    record: &StringRecord,
    places: impl Iterator<Item = usize>,
    file: &str,
) -> Result<Vec<f64>, MetricsError> {
    places.map(|place| number(record, place, file)).collect()
}

fn number(record: &StringRecord, place: usize, file: &str) -> Result<f64, MetricsError> {
    finite(record.get(place).unwrap_or_default()).map_err(|reason| MetricsError::Line {
        file: file.to_owned(),
        line: record.position().map_or(0, Position::line),
        reason,
    })
}

/// A cell as a finite number, or a description of the error.
pub(crate) fn finite(cell: &str) -> Result<f64, String> {
    let number = cell.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("`{cell}` is not a number"))
}
