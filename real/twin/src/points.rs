//! `points.csv`: the measurements, one row a point.
//!
//! Rows are numbered from 1, beginning with the first row below the column names. A row that cannot be read is left out
//! with the reason.

use std::collections::BTreeSet;
use std::path::Path;

use foretell_core::Error;
use foretell_input::Limit;
use foretell_units::Bytes;
use serde::Serialize;

use crate::json_keys::listed;

/// Columns that a table must have.
const REQUIRED: [&str; 4] = ["config", "op_mix", "block_bytes", "iops"];
/// Other columns that are used, and the rate in bytes, which follows from others.
const OPTIONAL: [&str; 11] = [
    "pattern",
    "clients",
    "jobs",
    "iodepth",
    "mb_per_s",
    "lat_mean_ms",
    "lat_p50_ms",
    "lat_p95_ms",
    "lat_p99_ms",
    "recovery_mib_per_s",
    "note",
];
/// Maximum number of rows.
const MOST_ROWS: usize = 100_000;
/// Maximum size of a request.
const MOST_BLOCK: f64 = (1_u64 << 30) as f64;

/// What was read of a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Points {
    /// The points, in the order of the file.
    pub rows: Vec<Row>,
    /// Rows that are not among them.
    pub left_out: Vec<LeftOut>,
    /// Columns and cells that were not read.
    pub notes: Vec<String>,
}

/// A row or a configuration that is left out, and the reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LeftOut {
    /// The row's number, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<usize>,
    /// The configuration's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Why.
    pub reason: String,
}

impl LeftOut {
    /// A row.
    pub fn row(number: usize, reason: String) -> Self {
        Self { row: Some(number), config: None, reason }
    }

    /// A configuration.
    pub fn config(name: &str, reason: String) -> Self {
        Self { row: None, config: Some(name.to_owned()), reason }
    }

    /// The same in words.
    pub fn text(&self) -> String {
        let what = match (&self.row, &self.config) {
            (Some(row), _) => format!("row {row}"),
            (None, Some(config)) => format!("configuration `{config}`"),
            (None, None) => "a row".to_owned(),
        };
        format!("left out: {what}: {}", self.reason)
    }
}

/// Which addresses are accessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pattern {
    /// Random ones of images or files.
    Random,
    /// Consecutive ones.
    Sequential,
    /// Whole objects, through gateways.
    Object,
}

impl Pattern {
    /// Its word in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
            Self::Object => "object",
        }
    }
}

/// A measured point; `None` stands for a blank cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its row number, from 1.
    pub number: usize,
    /// The configuration that it was measured in.
    pub config: String,
    /// Share of reads.
    pub reads: f64,
    /// Bytes of a request.
    pub block: u64,
    /// Which addresses are accessed.
    pub pattern: Pattern,
    /// Client processes.
    pub clients: Option<u32>,
    /// Jobs of all client processes together.
    pub jobs: Option<u32>,
    /// Total number of outstanding requests.
    pub outstanding: Option<u32>,
    /// The measured figures.
    pub measured: Figures,
    /// The source's note about the point.
    pub note: String,
}

/// Measured or predicted figures of a point.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figures {
    /// Requests a second.
    pub iops: Option<f64>,
    /// Mean latency.
    pub mean_ms: Option<f64>,
    /// Median latency.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the latency.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the latency.
    pub p99_ms: Option<f64>,
    /// Rate of recovery during the measurement, MiB a second.
    pub recovery_mib_per_s: Option<f64>,
}

/// Reads a table.
///
/// Errors if the file cannot be read, lacks a required column, or has no row that can be used.
pub fn load(path: &Path) -> Result<Points, Error> {
    let shown = path.display();
    let text = foretell_input::text(path, Limit::POINTS)
        .map_err(|error| Error::Invalid(format!("cannot read `{shown}`: {error}")))?;
    parse(&text).map_err(|fault| Error::Invalid(format!("`{shown}`: {fault}")))
}

/// Parses the text of such a table.
pub fn parse(text: &str) -> Result<Points, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let column = |name: &str| header.iter().position(|found| found.trim() == name);
    for name in REQUIRED {
        if column(name).is_none() {
            let there: Vec<&str> = header.iter().take(20).collect();
            return Err(format!(
                "there is no column `{name}`; the columns are {}",
                there.join(", ")
            ));
        }
    }
    let mut points = Points { notes: columns_not_used(&header), ..Points::default() };
    let mut surplus = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let number = index + 1;
        if number > MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} rows"));
        }
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                points.left_out.push(LeftOut::row(number, error.to_string()));
                continue;
            }
        };
        if record.len() > header.len() {
            surplus.push(number.to_string());
        }
        let cell = |name: &str| column(name).and_then(|at| record.get(at)).unwrap_or("").trim();
        match row(number, &cell) {
            Ok(row) => points.rows.push(row),
            Err(fault) => points.left_out.push(LeftOut::row(number, fault)),
        }
    }
    if !surplus.is_empty() {
        points.notes.push(format!(
            "rows have more cells than there are columns, and the last cells are not read (a comma outside quotes?): \
             {}",
            listed(&surplus)
        ));
    }
    match points.left_out.first() {
        None if points.rows.is_empty() => Err("there are no rows".to_owned()),
        Some(LeftOut { row: Some(row), reason, .. }) if points.rows.is_empty() => {
            Err(format!("no row can be used; row {row}: {reason}"))
        }
        _ => Ok(points),
    }
}

/// Notes about columns that are not used, or that occur twice.
fn columns_not_used(header: &csv::StringRecord) -> Vec<String> {
    let is_known = |name: &str| REQUIRED.contains(&name) || OPTIONAL.contains(&name);
    let (mut seen, mut unused, mut twice) = (BTreeSet::new(), Vec::new(), Vec::new());
    for name in header.iter().map(str::trim) {
        if !seen.insert(name) {
            twice.push(name.to_owned());
        } else if !is_known(name) {
            unused.push(name.to_owned());
        }
    }
    let mut notes = Vec::new();
    if !unused.is_empty() {
        notes.push(format!("columns of points that are not used: {}", listed(&unused)));
    }
    if !twice.is_empty() {
        notes.push(format!(
            "columns of points that occur twice, of which the first is used: {}",
            listed(&twice)
        ));
    }
    notes
}

fn row<'a>(number: usize, cell: &impl Fn(&str) -> &'a str) -> Result<Row, String> {
    let positive = |name: &str| match cell(name) {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if value > 0.0 && value.is_finite() => Ok(Some(value)),
            _ => Err(format!("`{name}` is `{text}`; expected a number above 0, or nothing")),
        },
    };
    let count = |name: &str| match positive(name)? {
        None => Ok(None),
        Some(value) if value.fract() == 0.0 && value <= f64::from(1 << 20) => {
            Ok(Some(value as u32))
        }
        Some(value) => {
            Err(format!("`{name}` is {value}; expected a whole number up to {}", 1 << 20))
        }
    };
    let config = cell("config").to_owned();
    if config.is_empty() {
        return Err("`config` is empty; expected the name of a configuration".to_owned());
    }
    let text = cell("op_mix");
    let reads = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    let reads = reads
        .ok_or_else(|| format!("`op_mix` is `{text}`; expected the share of reads, 0 to 1"))?;
    let block = positive("block_bytes")?.filter(|block| *block >= 512.0 && *block <= MOST_BLOCK);
    let block = block.ok_or_else(|| {
        format!("`block_bytes` is `{}`; expected 512 to {MOST_BLOCK}", cell("block_bytes"))
    })?;
    let pattern = match cell("pattern") {
        "" | "random" => Pattern::Random,
        "sequential" => Pattern::Sequential,
        "object" => Pattern::Object,
        other => {
            return Err(format!(
                "`pattern` is `{other}`; expected `random`, `sequential` or `object`"
            ));
        }
    };
    let measured = Figures {
        iops: positive("iops")?,
        mean_ms: positive("lat_mean_ms")?,
        p50_ms: positive("lat_p50_ms")?,
        p95_ms: positive("lat_p95_ms")?,
        p99_ms: positive("lat_p99_ms")?,
        recovery_mib_per_s: positive("recovery_mib_per_s")?,
    };
    Ok(Row {
        number,
        config,
        reads,
        block: block as u64,
        pattern,
        clients: count("clients")?,
        jobs: count("jobs")?,
        outstanding: count("iodepth")?,
        measured,
        note: cell("note").to_owned(),
    })
}

impl Row {
    /// Rate limit of a machine in each direction, in IOPS, if a row's note states one.
    pub fn rate_limit_of_note(&self) -> Option<f64> {
        let words: Vec<&str> = self.note.split_whitespace().collect();
        let at = words.iter().position(|word| word.contains("rate-capped"))?;
        words[at + 1..].iter().take(4).find_map(|word| word.parse().ok()).filter(|rate| *rate > 0.0)
    }

    /// The class of load that errors are listed by: `randread 4k`.
    pub fn class(&self) -> String {
        let order = self.pattern.name();
        let what = if self.reads >= 1.0 {
            "read".to_owned()
        } else if self.reads <= 0.0 {
            "write".to_owned()
        } else {
            format!("{:.0}/{:.0}", self.reads * 100.0, (1.0 - self.reads) * 100.0)
        };
        format!("{order} {what} {}", Bytes(self.block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "config,op_mix,block_bytes,pattern,clients,jobs,iodepth,iops,lat_mean_ms,note\n";

    #[test]
    fn blank_cells_and_missing_columns_are_not_known() {
        let rows = parse(&format!("{HEAD}a,0.7,4096,random,,,,1000,,\n")).unwrap().rows;
        assert_eq!(rows[0].outstanding, None);
        assert_eq!(rows[0].measured.p99_ms, None);
        assert_eq!(rows[0].class(), "random 70/30 4 KiB");
        let few = parse("config,op_mix,block_bytes,iops\na,1,1048576,5\n").unwrap().rows;
        assert_eq!((few[0].number, few[0].pattern), (1, Pattern::Random));
    }

    #[test]
    fn wrong_cells_are_named_with_their_row() {
        let fault = |row: &str| {
            let points = parse(&format!("{HEAD}a,1,4096,random,1,1,1,5,,\n{row}\n")).unwrap();
            assert_eq!((points.rows.len(), points.left_out.len()), (1, 1), "{row}");
            points.left_out[0].text()
        };
        assert!(fault("a,2,4096,random,1,1,1,5,,").contains("row 2: `op_mix` is `2`"));
        assert!(fault("a,,4096,random,1,1,1,5,,").contains("row 2: `op_mix` is ``"));
        assert!(fault("a,1,0,random,1,1,1,5,,").contains("`block_bytes`"));
        assert!(fault("a,1,4096,zipf,1,1,1,5,,").contains("`pattern` is `zipf`"));
        assert!(fault("a,1,4096,random,1,1,1.5,5,,").contains("`iodepth` is 1.5"));
        assert!(fault("a,1,4096,random,1,1,1,inf,,").contains("`iops` is `inf`"));
        assert!(fault(",1,4096,random,1,1,1,5,,").contains("`config` is empty"));
        let none = parse(&format!("{HEAD}a,2,4096,random,1,1,1,5,,\n")).unwrap_err();
        assert!(none.starts_with("no row can be used; row 1: `op_mix` is `2`"), "{none}");
        assert!(parse("a,b\n1,2\n").unwrap_err().contains("no column `config`"));
        assert!(parse(HEAD).unwrap_err().contains("no rows"));
    }

    #[test]
    fn cells_and_columns_that_are_not_read_are_named() {
        let text =
            "config,op_mix,block_bytes,iops,iops,temperature,note\na,1,4096,5,6,20,one, two\n";
        let points = parse(text).unwrap();
        assert_eq!(points.rows[0].measured.iops, Some(5.0));
        let notes = points.notes.join("\n");
        assert!(notes.contains("not used: `temperature`"), "{notes}");
        assert!(notes.contains("the first is used: `iops`"), "{notes}");
        assert!(notes.contains("the last cells are not read"), "{notes}");
    }

    #[test]
    fn a_note_may_hold_a_machine_to_a_rate() {
        let row =
            format!("{HEAD}a,.5,4096,random,8,1,256,3992,,\"rate-capped 500 read + 500 write\"\n");
        assert_eq!(parse(&row).unwrap().rows[0].rate_limit_of_note(), Some(500.0));
        let free = format!("{HEAD}a,.7,4096,random,8,1,256,3992,,70/30 uncapped\n");
        assert_eq!(parse(&free).unwrap().rows[0].rate_limit_of_note(), None);
    }
}
