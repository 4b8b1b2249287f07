//! dstat's CSV files, read and written.
//!
//! A file has four lines about its origin, then an empty line (only in version 0.7), a line of groups, a
//! line of names, and rows. Columns are found by their names, so any selection and order of them is
//! accepted. Times have no year; the line `Cmdline` has one. The first row of each output is the average
//! since the machine was started, and is left out. dstat appends to an existing file: then everything
//! begins again, possibly with other columns.
//!
//! RHEL 8 and later have `pcp-dstat` under the name `dstat`. It writes the same form, with `total usage` for `total cpu
//! usage`, and puts the group before each name: `dsk/total:read`.

use std::io::{Read, Write};

use csv::{ReaderBuilder, StringRecord};
use foretell_input::Rows;

use crate::civil;
use crate::error::MetricsError;
use crate::heading::finite;
use crate::metric::{Metric, plain};
use crate::series::Series;
use crate::{METRICS, Sample};

/// The content of a column.
#[derive(Clone, PartialEq, Debug)]
enum Column {
    /// `20-11 10:26:04`.
    Time,
    /// Seconds since 1970.
    Epoch,
    /// A number, under its short name.
    Number(String),
}

/// A table's heading.
struct Heading {
    columns: Vec<Column>,
    /// When the output was begun, as a time and a year.
    began: f64,
    year: i64,
}

/// Reads a host's metrics from `input`; `file` names the source in errors. Times are seconds since 1970,
/// as if the host's local time were UTC.
pub fn read_dstat(input: impl Read, file: &str) -> Result<Series, MetricsError> {
    let reader = Rows::new(ReaderBuilder::new().has_headers(false).flexible(true), input);
    let mut found: Option<Series> = None;
    let (mut began, mut year) = (0.0, 1970);
    let mut groups: Option<StringRecord> = None;
    let mut heading: Option<Heading> = None;
    let mut rows = 0;
    for record in reader {
        let record = record.map_err(|error| MetricsError::Csv { file: file.to_owned(), error })?;
        let number = record.position().map_or(0, csv::Position::line);
        let fault =
            |reason: String| MetricsError::Line { file: file.to_owned(), line: number, reason };
        let first = record.get(0).unwrap_or_default().trim();
        if first.starts_with("Dstat ") || first.starts_with("pcp-dstat ") {
            (heading, groups, rows) = (None, None, 0);
            continue;
        }
        if let Some(at) = &heading {
            let (time, values) = row(at, &record, rows).map_err(&fault)?;
            rows += 1;
            if rows == 1 {
                continue;
            }
            let names = at.columns.iter().filter_map(|column| match column {
                Column::Number(name) => Some(name.clone()),
                Column::Time | Column::Epoch => None,
            });
            let series = found.get_or_insert_with(|| Series::empty(names.clone().collect()));
            if !series.names.iter().cloned().eq(names) {
                let message =
                    "an output with other columns was appended; keep them in files of their own";
                return Err(fault(message.to_owned()));
            }
            series.push(time, values);
        } else if let Some(groups) = groups.take() {
            let columns = columns(&groups, &record).map_err(fault)?;
            heading = Some(Heading { columns, began, year });
        } else if record.iter().any(is_group) {
            groups = Some(record);
        } else if let Some(date) = record.iter().skip_while(|cell| *cell != "Date:").nth(1) {
            (began, year) = date_of(date).ok_or_else(|| {
                fault(format!("`{date}` is not a date such as `20 Nov 2026 10:26:04 UTC`"))
            })?;
        }
    }
    let mut series = found.ok_or_else(|| MetricsError::Lacks {
        file: file.to_owned(),
        reason: "no rows of metrics; expected what `dstat --output` writes: lines of groups \
                 (`total cpu usage`) and names (`usr`), an average since the start, and rows"
            .to_owned(),
    })?;
    series.sort();
    Ok(series)
}

fn is_group(cell: &str) -> bool {
    let cell = of_dstat(cell);
    Metric::all().any(|metric| metric.group() == cell) || cell == "epoch"
}

/// The name of a group in dstat, if pcp-dstat has another one.
fn of_dstat(group: &str) -> &str {
    if plain(group) == "total_usage" { Metric::CpuUsr.group() } else { group }
}

fn columns(groups: &StringRecord, names: &StringRecord) -> Result<Vec<Column>, String> {
    let mut group = "";
    let mut columns = Vec::new();
    for (place, name) in names.iter().enumerate() {
        if let Some(named) = groups.get(place).filter(|group| !group.is_empty()) {
            group = named;
        }
        // pcp-dstat repeats the group
        let name = name.strip_prefix(group).and_then(|name| name.strip_prefix(':')).unwrap_or(name);
        let column = match (group, name) {
            ("system", "time" | "date/time") => Column::Time,
            ("epoch", _) => Column::Epoch,
            _ => Column::Number(short(group, name)),
        };
        if columns.contains(&column) {
            return Err(format!("`{name}` of `{group}` occurs twice"));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The short name of a column: that of a metric, or one made of the group and the name.
pub(crate) fn short(group: &str, name: &str) -> String {
    let group = of_dstat(group);
    if let Some(metric) = Metric::find(group, name) {
        return metric.short().to_owned();
    }
    // columns of other versions besides the 32, such as `stl`, are named after their group
    let alike = Metric::all().find(|metric| plain(metric.group()) == plain(group));
    let of = alike.map_or_else(
        || plain(group),
        |metric| metric.short().split('.').next().unwrap_or_default().to_owned(),
    );
    format!("{of}.{name}")
}

/// A row's time and numbers.
fn row(heading: &Heading, record: &StringRecord, rows: usize) -> Result<(f64, Vec<f64>), String> {
    if record.len() != heading.columns.len() {
        return Err(format!("{} cells; the heading has {}", record.len(), heading.columns.len()));
    }
    let mut time = None;
    let mut values = Vec::with_capacity(heading.columns.len());
    for (cell, column) in record.iter().zip(&heading.columns) {
        match column {
            Column::Time => {
                time = time.or(Some(time_of(cell, heading)?));
            }
            Column::Epoch => time = Some(finite(cell)?),
            Column::Number(_) => values.push(finite(cell)?),
        }
    }
    // without times, a row counts as a second
    Ok((time.unwrap_or(heading.began + rows as f64), values))
}

/// Parses `20-11 10:26:04`, or with the month's name: `Nov-20 10:26:04`.
fn time_of(cell: &str, heading: &Heading) -> Result<f64, String> {
    let read = || {
        let (date, time) = cell.trim().split_once(' ')?;
        let (left, right) = date.split_once('-')?;
        let (day, month) = match civil::month(left) {
            Some(month) => (right.parse().ok()?, month),
            None => match civil::month(right) {
                Some(month) => (left.parse().ok()?, month),
                None => (left.parse().ok()?, right.parse().ok()?),
            },
        };
        let at = civil::seconds(heading.year, month, day, time)?;
        // the output may continue into another year
        let half_a_year = 183.0 * 86_400.0;
        if at + half_a_year < heading.began {
            civil::seconds(heading.year + 1, month, day, time)
        } else {
            Some(at)
        }
    };
    read().ok_or_else(|| format!("`{cell}` is not a time such as `20-11 10:26:04`"))
}

/// Parses `20 Nov 2026 10:26:04 UTC`: the time, and the year.
fn date_of(text: &str) -> Option<(f64, i64)> {
    let mut parts = text.split_whitespace();
    let day = parts.next()?.parse().ok()?;
    let month = civil::month(parts.next()?)?;
    let year = parts.next()?.parse().ok()?;
    Some((civil::seconds(year, month, day, parts.next()?)?, year))
}

/// Writes a host's samples as dstat 0.7.2 does with `-tcly -mg --vm -dr -n --tcp --float`. Only the empty
/// line is left out: 0.8.0 has none, and it would disturb line counts. Times are simulated, from the
/// start of 1970.
///
/// dstat's first row is the average since the machine was started; so is the first sample.
pub fn write_dstat<'a>(
    mut output: impl Write,
    host: &str,
    samples: impl Iterator<Item = &'a Sample>,
) -> std::io::Result<()> {
    writeln!(output, "\"Dstat 0.7.2 CSV output\"")?;
    writeln!(
        output,
        "\"Author:\",\"Dag Wieers <dag@wieers.com>\",,,,\"URL:\",\
         \"http://dag.wieers.com/home-made/dstat/\""
    )?;
    writeln!(output, "\"Host:\",\"{host}\",,,,\"User:\",\"foretell\"")?;
    writeln!(
        output,
        "\"Cmdline:\",\"dstat -tcly -mg --vm -dr -n --tcp --float\",,,,\"Date:\",\"{}\"",
        civil::heading(0)
    )?;
    write!(output, "\"system\"")?;
    let mut last = "";
    for metric in Metric::all() {
        let group = metric.group();
        if group == last {
            write!(output, ",")?;
        } else {
            write!(output, ",\"{group}\"")?;
        }
        last = group;
    }
    write!(output, "\n\"time\"")?;
    for metric in Metric::all() {
        write!(output, ",\"{}\"", metric.name())?;
    }
    writeln!(output)?;
    for sample in samples {
        write!(output, "{}", civil::row_time(sample.ts_ns.div_euclid(1_000_000_000)))?;
        for value in &sample.values[..METRICS] {
            // as in dstat: three digits, unless the number is whole
            if value.fract() == 0.0 {
                write!(output, ",{value:.0}")?;
            } else {
                write!(output, ",{value:.3}")?;
            }
        }
        writeln!(output)?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(second: i64, first: f64) -> Sample {
        let mut values = [0.0; METRICS];
        values[0] = first;
        values[31] = 7.0;
        Sample { ts_ns: second * 1_000_000_000 + 250_000_000, host: 0, values }
    }

    #[test]
    fn what_is_written_is_read_but_for_the_average_since_the_start() {
        let samples = [sample(1, 50.0), sample(2, 12.3456), sample(3, 13.0)];
        let mut text = Vec::new();
        write_dstat(&mut text, "osd0", samples.iter()).unwrap();
        let series = read_dstat(text.as_slice(), "osd0.csv").unwrap();
        assert_eq!(series.times, [2.0, 3.0]);
        assert_eq!(series.names.len(), METRICS);
        assert_eq!(series.column("cpu.usr").unwrap(), [12.346, 13.0]);
        assert_eq!(series.column("tcp.clo").unwrap(), [7.0, 7.0]);
    }

    #[test]
    fn names_of_pcp_dstat_are_those_of_dstat() {
        let text = "\"pcp-dstat 6.2.0 CSV Output\"\n\"Cmdline:\",\"x\",,,,\"Date:\",\"29 Nov 2026 09:21:39 UTC\"\n\
                    \"system\",\"total usage\",,\"dsk/total\",,\"dsk/sda\"\n\
                    \"time\",\"total usage:usr\",\"total usage:stl\",\"dsk/total:read\",\"dsk/total:writ\",\"dsk/sda:read\"\n\
                    29-11 09:21:39,3,0,1,2,3\n29-11 09:21:40,4,0,5,6,7\n";
        let series = read_dstat(text.as_bytes(), "f").unwrap();
        assert_eq!(series.names, ["cpu.usr", "cpu.stl", "disk.read", "disk.writ", "dsk_sda.read"]);
        assert_eq!(series.column("disk.writ").unwrap(), [6.0]);
    }

    #[test]
    fn faults_are_told_with_their_lines() {
        let head = "\"Dstat 0.7.2 CSV output\"\n\"Cmdline:\",\"x\",,,,\"Date:\",\"31 Dec 2025 23:59:58 UTC\"\n\n\
                    \"system\",\"net/total\",\n\"time\",\"recv\",\"send\"\n31-12 23:59:58,1,2\n";
        let read = |rows: &str| read_dstat(format!("{head}{rows}").as_bytes(), "f");
        let series = read("31-12 23:59:59,3,4\n01-01 00:00:00,5,6\n").unwrap();
        assert_eq!(series.times[1] - series.times[0], 1.0);
        assert_eq!(series.names, ["network.recv", "network.send"]);
        let fault = |rows: &str| read(rows).unwrap_err().to_string();
        assert_eq!(fault("31-12 23:59:59,x,4\n"), "`f`, line 7: `x` is not a number");
        assert_eq!(fault("31-12 23:59:59,3\n"), "`f`, line 7: 2 cells; the heading has 3");
        assert_eq!(
            fault("31.12. 23:59:59,3,4\n"),
            "`f`, line 7: `31.12. 23:59:59` is not a time such as `20-11 10:26:04`"
        );
        assert!(read("").unwrap_err().to_string().starts_with("`f`: no rows of metrics"));
    }

    #[test]
    fn later_versions_and_appended_outputs_are_read() {
        let text = "\"Dstat 0.8.0 CSV output\"\n\"Host:\",\"vm\"\n\
            \"Cmdline:\",\"dstat\",,,,\"Date:\",\"20 Nov 2026 10:26:04 UTC\"\n\
            \"total cpu usage\",,\"memory usage\",\n\"usr\",\"stl\",\"used\",\"free\"\n\
            1,2,3,4\n5,6,7,8\n";
        let twice = format!("{text}{text}");
        let series = read_dstat(twice.as_bytes(), "f").unwrap();
        assert_eq!(series.names, ["cpu.usr", "cpu.stl", "memory.used", "memory.free"]);
        assert_eq!(series.columns[1], [6.0, 6.0]);
    }
}
