//! Columns of runs whose disks are scrubbed.

use foretell_datasets::{Column, Kind, Role, Row, Value};
use foretell_sim::truth::ScrubTruth;

/// The columns of a sweep in which disks are scrubbed.
pub(super) fn columns(columns: &mut Vec<Column>) {
    let mut add = |name: &str, kind, unit: &str, about: &str| {
        columns.push(Column::new(name, kind, Role::Observed, unit, about));
    };
    add("scrubbed_bytes", Kind::Whole, "bytes", "bytes that scrubbers read in the measured time");
    let passes = "times that a scrubber reached the end of its disk's data in the measured time";
    add("scrub_passes", Kind::Whole, "", passes);
    let rate = "bytes that a scrubber read per second, mean over all disks";
    add("scrub_disk_bytes_per_s", Kind::Number, "bytes per second", rate);
}

/// The cells of a run; all are missing for a run without scrubbers.
pub(super) fn cells(truth: Option<&ScrubTruth>, row: &mut Row) {
    row.push(truth.map_or(Value::Missing, |one| Value::count(one.bytes)));
    row.push(truth.map_or(Value::Missing, |one| Value::count(one.passes)));
    row.push(truth.map_or(Value::Missing, |one| Value::number(one.disk_bytes_per_s)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_the_columns() {
        let truth =
            ScrubTruth { disks: 2, bytes: 600, chunks: 6, passes: 1, disk_bytes_per_s: 30.0 };
        let (mut names, mut row, mut empty) = (Vec::new(), Row::new(), Row::new());
        columns(&mut names);
        cells(Some(&truth), &mut row);
        cells(None, &mut empty);
        assert_eq!((row.len(), empty.len()), (names.len(), names.len()));
        assert_eq!(row, [Value::count(600), Value::count(1), Value::number(30.0)]);
        assert!(empty.iter().all(|cell| *cell == Value::Missing));
    }
}
