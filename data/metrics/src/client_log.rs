//! Logs of clients' measurements: a CSV file with a time and the reads and writes of each interval.
//!
//! Columns: `epoch` (or `time`), seconds since 1970 at the end of the interval, and some of
//! `read_iops`, `write_iops`, `read_bytes_per_s`, `write_bytes_per_s`. Others are ignored.

use std::io::{Read, Write};

use csv::ReaderBuilder;
use foretell_input::Rows;

use crate::error::MetricsError;
use crate::heading::{Heading, TIMES};
use crate::series::Series;

/// Reads clients' measurements; `file` names the source in errors.
pub fn read_client_log(input: impl Read, file: &str) -> Result<Series, MetricsError> {
    let mut reader = Rows::new(&ReaderBuilder::new(), input);
    let wrong = |error| MetricsError::Csv { file: file.to_owned(), error };
    let heading = Heading::of(&reader.heading().map_err(wrong)?, file)?;
    let mut series = Series::empty(heading.target_names());
    for record in reader {
        let (time, values) = heading.row(&record.map_err(wrong)?, file)?;
        series.push(time, values);
    }
    if series.times.is_empty() {
        let reason = "no rows".to_owned();
        return Err(MetricsError::Lacks { file: file.to_owned(), reason });
    }
    series.sort();
    Ok(series)
}

/// Writes clients' measurements, for [`read_client_log`] and others.
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
        assert_eq!(fault("epoch,read_iops\n1,x\n"), "`log`, line 2: `x` is not a number");
    }
}
