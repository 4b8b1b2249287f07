//! `points.csv`: the measurements, one row a point.
//!
//! Rows are numbered from 1, beginning with the first row below the column names.

use std::path::Path;

use foretell_core::Error;
use foretell_input::Limit;
use foretell_units::Bytes;

/// Columns that a table must have.
const REQUIRED: [&str; 4] = ["config", "op_mix", "block_bytes", "iops"];
/// Maximum number of rows.
const MOST_ROWS: usize = 100_000;
/// Maximum size of a request.
const MOST_BLOCK: f64 = (1_u64 << 30) as f64;

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
    /// Whether addresses are sequential; otherwise they are random.
    pub sequential: bool,
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
pub fn load(path: &Path) -> Result<Vec<Row>, Error> {
    let shown = path.display();
    let text = foretell_input::text(path, Limit::POINTS)
        .map_err(|error| Error::Invalid(format!("cannot read `{shown}`: {error}")))?;
    parse(&text).map_err(|fault| Error::Invalid(format!("`{shown}`: {fault}")))
}

/// Parses the text of such a table.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
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
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let number = index + 1;
        if number > MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} rows"));
        }
        let record = record.map_err(|error| format!("row {number}: {error}"))?;
        let cell = |name: &str| column(name).and_then(|at| record.get(at)).unwrap_or("").trim();
        rows.push(row(number, &cell).map_err(|fault| format!("row {number}: {fault}"))?);
    }
    if rows.is_empty() {
        return Err("there are no rows".to_owned());
    }
    Ok(rows)
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
    let sequential = match cell("pattern") {
        "" | "random" => false,
        "sequential" => true,
        other => {
            return Err(format!("`pattern` is `{other}`; expected `random` or `sequential`"));
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
        sequential,
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
        let order = if self.sequential { "sequential" } else { "random" };
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
        let rows = parse(&format!("{HEAD}a,0.7,4096,random,,,,1000,,\n")).unwrap();
        assert_eq!(rows[0].outstanding, None);
        assert_eq!(rows[0].measured.p99_ms, None);
        assert_eq!(rows[0].class(), "random 70/30 4 KiB");
        let few = parse("config,op_mix,block_bytes,iops\na,1,1048576,5\n").unwrap();
        assert_eq!((few[0].number, few[0].sequential), (1, false));
    }

    #[test]
    fn wrong_cells_are_named_with_their_row() {
        let fault =
            |row: &str| parse(&format!("{HEAD}a,1,4096,random,1,1,1,5,,\n{row}\n")).unwrap_err();
        assert!(fault("a,2,4096,random,1,1,1,5,,").contains("row 2: `op_mix` is `2`"));
        assert!(fault("a,1,0,random,1,1,1,5,,").contains("`block_bytes`"));
        assert!(fault("a,1,4096,zipf,1,1,1,5,,").contains("`pattern` is `zipf`"));
        assert!(fault("a,1,4096,random,1,1,1.5,5,,").contains("`iodepth` is 1.5"));
        assert!(fault("a,1,4096,random,1,1,1,inf,,").contains("`iops` is `inf`"));
        assert!(fault(",1,4096,random,1,1,1,5,,").contains("`config` is empty"));
        assert!(parse("a,b\n1,2\n").unwrap_err().contains("no column `config`"));
        assert!(parse(HEAD).unwrap_err().contains("no rows"));
    }

    #[test]
    fn a_note_may_hold_a_machine_to_a_rate() {
        let row =
            format!("{HEAD}a,.5,4096,random,8,1,256,3992,,\"rate-capped 500 read + 500 write\"\n");
        assert_eq!(parse(&row).unwrap()[0].rate_limit_of_note(), Some(500.0));
        let free = format!("{HEAD}a,.7,4096,random,8,1,256,3992,,70/30 uncapped\n");
        assert_eq!(parse(&free).unwrap()[0].rate_limit_of_note(), None);
    }
}
