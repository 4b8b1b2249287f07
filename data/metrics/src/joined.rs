//! Tables with a host's metrics and clients' measurements in each row.
//!
//! Metrics' columns are named `group:name`, as in `total_cpu_usage:usr`, or by their short names;
//! times and clients' columns are named as in a log of clients. Others are ignored.

use std::io::Read;

use csv::ReaderBuilder;
use foretell_input::Rows;

use crate::dstat::short;
use crate::error::MetricsError;
use crate::heading::{Heading, numbers};
use crate::metric::Metric;
use crate::series::{HostSeries, Observed, Series};

/// Reads a joined table of one host of that kind; `file` names the source in errors.
pub fn read_joined(input: impl Read, file: &str, kind: &str) -> Result<Observed, MetricsError> {
    let mut reader = Rows::new(&ReaderBuilder::new(), input);
    let wrong = |error| MetricsError::Csv { file: file.to_owned(), error };
    let names = reader.heading().map_err(wrong)?;
    let heading = Heading::of(&names, file)?;
    let mut metrics: Vec<(String, usize)> = Vec::new();
    for (place, name) in names.iter().map(str::trim).enumerate() {
        let known = Metric::all().find(|metric| metric.short() == name);
        let called = known.map(|metric| metric.short().to_owned());
        let in_group = || name.split_once(':').map(|(group, name)| short(group, name));
        let Some(called) = called.or_else(in_group) else { continue };
        if metrics.iter().any(|(other, _)| *other == called) {
            let reason = format!("`{name}`: the metric `{called}` occurs twice");
            return Err(MetricsError::Line { file: file.to_owned(), line: 1, reason });
        }
        metrics.push((called, place));
    }
    let lacks =
        |reason: &str| MetricsError::Lacks { file: file.to_owned(), reason: reason.to_owned() };
    if metrics.is_empty() {
        return Err(lacks("no column of a metric, such as `total_cpu_usage:usr` or `cpu.usr`"));
    }
    let mut series = Series::empty(metrics.iter().map(|(name, _)| name.clone()).collect());
    let mut clients = Series::empty(heading.target_names());
    for record in reader {
        let record = record.map_err(wrong)?;
        let (at, seen) = heading.row(&record, file)?;
        series.push(at, numbers(&record, metrics.iter().map(|(_, place)| *place), file)?);
        clients.push(at, seen);
    }
    if series.times.is_empty() {
        return Err(lacks("no rows"));
    }
    series.sort();
    clients.sort();
    let host = HostSeries { kind: kind.to_owned(), name: file.to_owned(), series };
    Ok(Observed { hosts: vec![host], clients })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_its_faults_are_told() {
        let read = |text: &str| read_joined(text.as_bytes(), "t", "osd");
        let found = read("epoch,total_cpu_usage:usr,note,read_iops\n2,7,x,30\n1,5,y,20\n").unwrap();
        let Series { times, names, columns } = &found.hosts[0].series;
        assert_eq!((times.as_slice(), names[0].as_str()), (&[1.0, 2.0][..], "cpu.usr"));
        assert_eq!((&columns[0], &found.clients.columns[0]), (&vec![5.0, 7.0], &vec![20.0, 30.0]));
        let fault = |text: &str| read(text).unwrap_err().to_string();
        assert!(fault("a,cpu.usr,read_iops\n").contains("no column `epoch`"));
        assert!(fault("epoch,cpu.usr\n").contains("none of the columns"));
        assert!(fault("epoch,read_iops\n").contains("no column of a metric"));
        assert_eq!(fault("epoch,cpu.usr,read_iops\n1,x,2\n"), "`t`, line 2: `x` is not a number");
        assert_eq!(
            fault("epoch,cpu.usr,read_iops,total_cpu_usage:usr\n"),
            "`t`, line 1: `total_cpu_usage:usr`: the metric `cpu.usr` occurs twice"
        );
    }
}
