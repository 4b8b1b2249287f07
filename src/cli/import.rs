//! Arguments of `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use foretell_units::Bytes;
use foretell_workloads::trace::{Format, ReadOptions};

use super::PriceArguments;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// What to import.
    #[command(subcommand)]
    pub format: ImportFormat,
}

/// What can be imported.
#[derive(Debug, Subcommand)]
pub enum ImportFormat {
    /// DiskSim's description of a drive (.parv, .diskspecs, .model, .seek), as a device file.
    Diskspecs(DiskspecsArguments),
    /// A Ceph cluster: `ceph report`, OSD and CRUSH maps. Places every placement group, checks the result,
    /// writes a scenario.
    Ceph(CephArguments),
    /// Clusters that others measured (`config.json`): a scenario for each configuration.
    Cluster(ClusterArguments),
    /// Results of fio (`--output-format=json`), as a table: CSV with a row for each job and direction.
    FioJson(FioJsonArguments),
    /// A block trace of any known format. The format is recognized by content and name, or given with --format.
    #[command(visible_alias = "auto")]
    Trace(AnyTraceArguments),
    /// libCacheSim CSV: version,time(s),op,size(B),lbn.
    #[command(alias = "libcachesim", alias = "libcachesim-csv")]
    Csv(TraceArguments),
    /// libCacheSim oracleGeneral: 24-byte records.
    #[command(alias = "oracleGeneral", alias = "oraclegeneral")]
    OracleGeneral(TraceArguments),
    /// vscsiStats of `VMware`, versions 1 and 2.
    Vscsi(TraceArguments),
    /// One block number on each line.
    BlockList(TraceArguments),
    /// Microsoft Research Cambridge CSV.
    #[command(alias = "msr-cambridge")]
    Msr(TraceArguments),
    /// Alibaba block traces.
    #[command(alias = "alibaba-block")]
    Alibaba(TraceArguments),
    /// Tencent cloud block storage.
    #[command(alias = "tencent-cbs", alias = "cbs")]
    Tencent(TraceArguments),
    /// Storage Performance Council (SPC), such as the traces of `UMass`.
    #[command(alias = "umass")]
    Spc(TraceArguments),
    /// fio's iolog, versions 2 and 3.
    #[command(alias = "iolog")]
    FioIolog(TraceArguments),
    /// Text output of blkparse.
    #[command(alias = "blktrace")]
    Blkparse(TraceArguments),
    /// DiskSim's ASCII format.
    #[command(alias = "disksim-ascii")]
    Disksim(TraceArguments),
    /// Traces in this program's own format, to filter or compress them.
    Foretell(TraceArguments),
}

/// Arguments of `import diskspecs`.
#[derive(Debug, Args)]
pub struct DiskspecsArguments {
    /// The description. Give all its files, or only the first (.parv, else .diskspecs, else .model), from
    /// which the others are found.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the disk's block, if the description has several disks.
    #[arg(long, value_name = "NAME")]
    pub disk: Option<String>,
    /// Write the device file here. Without it, the file is printed.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `import ceph`.
#[derive(Debug, Args)]
pub struct CephArguments {
    /// `ceph report`; or `ceph osd dump -f json` and `ceph osd crush dump`; or a CRUSH map alone, as JSON or
    /// as text of `crushtool -d`. Optionally also `ceph osd df`, `ceph osd perf`, `perf dump` (all JSON), or
    /// Prometheus text.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Write the cluster here, without keys and addresses: `scenario.toml` for `run` and `ask`, and
    /// `ceph-map.json` (the placement) for `plan`.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Place every placement group, and compare the groups of each OSD with the report. Exit with status 1 if
    /// they differ.
    #[arg(long)]
    pub check: bool,
    /// Write a table that shows where each placement group belongs, and where it is now.
    #[arg(long, value_name = "FILE.csv")]
    pub mappings: Option<PathBuf>,
    /// With a CRUSH map alone: the rule, by name or number.
    #[arg(long, value_name = "RULE", requires_all = ["replicas", "inputs"])]
    pub rule: Option<String>,
    /// With a CRUSH map alone: number of devices on which each input is placed.
    #[arg(long, value_name = "N", requires = "rule", value_parser = value_parser!(u32).range(1..=255))]
    pub replicas: Option<u32>,
    /// With a CRUSH map alone: range of inputs, both ends included.
    #[arg(long, value_name = "A..B", requires = "rule", value_parser = inputs)]
    pub inputs: Option<Inputs>,
    /// With a CRUSH map alone: the probability that a device keeps an input, 0 to 1, as
    /// `ceph osd reweight` sets it. May be given several times.
    #[arg(long = "weight", value_name = "OSD=W", requires = "rule", value_parser = reweight)]
    pub weights: Vec<(u32, f64)>,
    /// Prices of drives.
    #[command(flatten)]
    pub prices: PriceArguments,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `import cluster`.
#[derive(Debug, Args)]
pub struct ClusterArguments {
    /// Description of the clusters; `docs/clusters.md` describes its keys.
    #[arg(value_name = "CONFIG.json")]
    pub config: PathBuf,
    /// Measured points (`points.csv`). The drive of the scenarios is made from the points that measure a
    /// drive alone.
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,
    /// Write the results here: a scenario for each configuration, and `map.toml`, which maps configurations
    /// to scenarios.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Print one JSON document instead of the list.
    #[arg(long)]
    pub json: bool,
}

/// Inputs of a CRUSH map: first and last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inputs {
    /// The first.
    pub first: u32,
    /// The last, included.
    pub last: u32,
}

fn inputs(text: &str) -> Result<Inputs, String> {
    let expected = || format!("found `{text}`, expected two whole numbers as `0..999`");
    let (first, last) = text.split_once("..").ok_or_else(expected)?;
    let last = last.strip_prefix('=').unwrap_or(last);
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| expected());
    let (first, last) = (number(first)?, number(last)?);
    if last < first {
        return Err(format!("found `{text}`, expected the smaller number first"));
    }
    Ok(Inputs { first, last })
}

fn reweight(text: &str) -> Result<(u32, f64), String> {
    let expected = || format!("found `{text}`, expected an OSD's number and 0 to 1, as `3=0.5`");
    let (osd, weight) = text.split_once('=').ok_or_else(expected)?;
    let osd = osd.strip_prefix("osd.").unwrap_or(osd).parse().map_err(|_| expected())?;
    let weight: f64 = weight.parse().map_err(|_| expected())?;
    if !(0.0..=1.0).contains(&weight) {
        return Err(expected());
    }
    Ok((osd, weight))
}

/// Arguments of `import fio-json`.
#[derive(Debug, Args)]
pub struct FioJsonArguments {
    /// Files with results of fio.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Write the table here. Without it, the table is printed.
    #[arg(short = 'o', long = "output", value_name = "FILE.csv")]
    pub output: Option<PathBuf>,
}

/// Arguments of `import trace`.
#[derive(Debug, Args)]
pub struct AnyTraceArguments {
    /// Format of the trace. With `auto`, it is recognized by content and name.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = format_or_auto)]
    pub format: FormatChoice,
    /// What is imported, and how.
    #[command(flatten)]
    pub trace: TraceArguments,
}

/// Arguments of `import FORMAT`.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// The trace, plain or compressed (gzip, zstd); `-` for standard input.
    pub file: PathBuf,
    /// Write the trace here, compressed if the name ends in `.gz` or `.zst`. Without it, the trace is
    /// printed.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How its lines are read.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// Print a summary of the import as one JSON document.
    #[arg(long, requires = "output")]
    pub json: bool,
}

/// How a trace is read.
#[derive(Clone, Debug, Args)]
pub struct ReadingArguments {
    /// Size of a block, for formats that do not define it.
    #[arg(long, value_name = "SIZE")]
    pub block: Option<Bytes>,
    /// Use only the requests to this device, in formats that name devices.
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// For blkparse: the action that counts as a request: Q (queued), D (sent to the device), ...; without it, Q.
    #[arg(long, value_name = "LETTER")]
    pub blkparse_action: Option<char>,
    /// Skip invalid lines and records, and say how many.
    #[arg(long)]
    pub skip_bad: bool,
}

impl ReadingArguments {
    /// The same for the reader of traces.
    pub fn options(&self, format: Option<Format>) -> ReadOptions {
        ReadOptions {
            format,
            block: self.block,
            device: self.device.clone(),
            blkparse_action: self.blkparse_action.unwrap_or('Q'),
            skip_bad: self.skip_bad,
        }
    }

    /// The reason why `--blkparse-action` has no effect with a format. The reader of traces checks the other options.
    pub(crate) fn without_effect(&self, format: Format) -> Option<String> {
        let blkparse = Format::Blkparse;
        (self.blkparse_action.is_some() && format != blkparse).then(|| {
            format!(
                "`--blkparse-action` has no effect: the trace is read as `{format}`, and the option belongs to \
                 `{blkparse}`"
            )
        })
    }
}

/// A format; `None`: to be recognized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatChoice(pub Option<Format>);

/// A format by its name, or `auto`.
pub(super) fn format_or_auto(name: &str) -> Result<FormatChoice, String> {
    if name == "auto" {
        return Ok(FormatChoice(None));
    }
    name.parse()
        .map(|format| FormatChoice(Some(format)))
        .map_err(|error: foretell_workloads::trace::UnknownFormat| format!("{error}, and `auto`"))
}
