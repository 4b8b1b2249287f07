//! Logs of what clients saw: a CSV file with a time and what was read and written in each interval.
//!
//! Columns: `epoch` (or `time`), seconds since 1970 at the interval's end, and some of `read_iops`,
//! `write_iops`, `read_bytes_per_s`, `write_bytes_per_s`. Others are ignored.

use std::io::{Read, Write};

use csv::ReaderBuilder;

use crate::error::MetricsError;
use crate::series::{Series, TARGETS};

/// Names of the column of times.
pub(crate) const TIMES: [&str; 2] = ["epoch", "time"];

/// Reads what clients saw; `file` names it in errors.
pub fn read_client_log(input: impl Read, file: &str) -> Result<Series, MetricsError> {
    let mut reader = ReaderBuilder::new().from_reader(input);
    let wrong = |error| MetricsError::Csv { file: file.to_owned(), error };
    let heading = reader.headers().map_err(wrong)?.clone();
    let place = |name: &str| heading.iter().position(|known| known.trim() == name);
    let time = TIMES.into_iter().find_map(place);
    let lacks = |reason: String| MetricsError::Lacks { file: file.to_owned(), reason };
    let time = time.ok_or_else(|| {
        lacks("no column `epoch` with seconds since 1970 at the end of each interval".to_owned())
    })?;
    let targets = TARGETS.iter().filter_map(|target| Some((target.column, place(target.column)?)));
    let targets: Vec<(&str, usize)> = targets.collect();
    if targets.is_empty() {
        let names = TARGETS.map(|target| format!("`{}`", target.column)).join(", ");
        return Err(lacks(format!("none of the columns {names}")));
    }
    let mut series = Series::empty(targets.iter().map(|(name, _)| (*name).to_owned()).collect());
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let cell = |place: usize| number(&record, place, file);
        let mut values = Vec::with_capacity(targets.len());
        for &(_, place) in &targets {
            values.push(cell(place)?);
        }
        series.push(cell(time)?, values);
    }
    if series.times.is_empty() {
        return Err(lacks("no rows".to_owned()));
    }
    series.sort();
    Ok(series)
}

/// A cell as a number.
pub(crate) fn number(
    record: &csv::StringRecord,
    place: usize,
    file: &str,
) -> Result<f64, MetricsError> {
    let cell = record.get(place).unwrap_or_default();
    let number = cell.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| MetricsError::Line {
        file: file.to_owned(),
        line: record.position().map_or(0, csv::Position::line),
        reason: format!("`{cell}` is no number"),
    })
}

/// Writes what clients saw, for [`read_client_log`] and others.
pub fn write_client_log(mut output: impl Write, clients: &Series) -> std::io::Result<()> {
    writeln!(output, "{},{}", TIMES[0], clients.names.join(","))?;
    for (row, time) in clients.times.iter().enumerate() {
        write!(output, "{time}")?;
        for column in &clients.columns {
            write!(output, ",{}", column[row])?;
        }
        writeln!(output)?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_as_it_was_written_and_faults_are_told() {
        let mut clients = Series::empty(vec!["read_iops".into(), "write_iops".into()]);
        clients.push(5.0, [1.5, 2.0]);
        clients.push(10.0, [3.0, 0.0]);
        let mut text = Vec::new();
        write_client_log(&mut text, &clients).unwrap();
        assert_eq!(read_client_log(text.as_slice(), "log").unwrap(), clients);
        let fault = |text: &str| read_client_log(text.as_bytes(), "log").unwrap_err().to_string();
        assert!(fault("a,b\n1,2\n").contains("no column `epoch`"));
        assert!(fault("epoch,b\n1,2\n").contains("none of the columns"));
        assert_eq!(fault("epoch,read_iops\n1,x\n"), "`log`, line 2: `x` is no number");
    }
}
