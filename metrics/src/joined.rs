//! Tables that hold a host's metrics and what clients saw in one row each.
//!
//! Metrics' columns are `group:name`, as in `total_cpu_usage:usr`, or their short names; times and
//! clients' columns as in a log of clients. Others are ignored.

use std::io::Read;

use csv::ReaderBuilder;

use crate::client_log::{TIMES, number};
use crate::dstat::short;
use crate::error::MetricsError;
use crate::metric::Metric;
use crate::series::{HostSeries, Observed, Series, TARGETS};

/// Reads a joined table of one host of that kind; `file` names it in errors.
pub fn read_joined(input: impl Read, file: &str, kind: &str) -> Result<Observed, MetricsError> {
    let mut reader = ReaderBuilder::new().from_reader(input);
    let wrong = |error| MetricsError::Csv { file: file.to_owned(), error };
    let heading = reader.headers().map_err(wrong)?.clone();
    let lacks =
        |reason: &str| MetricsError::Lacks { file: file.to_owned(), reason: reason.to_owned() };
    let place = |name: &str| heading.iter().position(|known| known.trim() == name);
    let time = TIMES.into_iter().find_map(place);
    let time = time.ok_or_else(|| lacks("no column `epoch` with seconds since 1970"))?;
    let metrics = heading.iter().enumerate().filter_map(|(place, name)| {
        let name = name.trim();
        let known = Metric::all().find(|metric| metric.short() == name);
        let called = known.map(|metric| metric.short().to_owned());
        let in_group = || name.split_once(':').map(|(group, name)| short(group, name));
        Some((called.or_else(in_group)?, place))
    });
    let metrics: Vec<(String, usize)> = metrics.collect();
    if metrics.is_empty() {
        return Err(lacks("no column of a metric, such as `total_cpu_usage:usr` or `cpu.usr`"));
    }
    let targets = TARGETS.iter().filter_map(|target| Some((target.column, place(target.column)?)));
    let targets: Vec<(&str, usize)> = targets.collect();
    if targets.is_empty() {
        return Err(lacks("no column of clients, such as `read_iops`"));
    }
    let mut series = Series::empty(metrics.iter().map(|(name, _)| name.clone()).collect());
    let mut clients = Series::empty(targets.iter().map(|(name, _)| (*name).to_owned()).collect());
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let numbers = |places: &mut dyn Iterator<Item = usize>| -> Result<Vec<f64>, MetricsError> {
            places.map(|place| number(&record, place, file)).collect()
        };
        let at = number(&record, time, file)?;
        series.push(at, numbers(&mut metrics.iter().map(|(_, place)| *place))?);
        clients.push(at, numbers(&mut targets.iter().map(|(_, place)| *place))?);
    }
    if series.times.is_empty() {
        return Err(lacks("no rows"));
    }
    series.sort();
    clients.sort();
    let host = HostSeries { kind: kind.to_owned(), name: file.to_owned(), series };
    Ok(Observed { hosts: vec![host], clients })
}
