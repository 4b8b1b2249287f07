//! Arguments of `plan`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use foretell_units::{QuantityError, Rate};

use super::PriceArguments;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// A cluster: the directory that `import ceph -o` wrote, or files that `import ceph` can read.
    #[arg(required = true)]
    pub cluster: Vec<PathBuf>,
    /// The change: `osd.12=out`, `osd.12.reweight=0.8`, `osd.12.crush_weight=7.3`, `crush.HOST.weight=40`,
    /// `pool.NAME.pg_num=256`, `pool.NAME.rule=RULE`, `pool.NAME.encoding=4-of-6`, `node.HOST.count=3` (two
    /// more hosts like it). May be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    pub what_if: Vec<String>,
    /// Add upmaps, and print the `ceph` commands for them.
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, default_missing_value = "balance")]
    pub upmap: Option<UpmapKind>,
    /// With `--upmap balance`: maximum number of placement groups that get or lose an upmap [default: 10].
    #[arg(long, value_name = "N", requires = "upmap")]
    pub upmap_max: Option<usize>,
    /// With `--upmap balance`: number of copies or shards by which an OSD may differ from its share of a
    /// pool [default: 5].
    #[arg(long, value_name = "N", requires = "upmap")]
    pub upmap_deviation: Option<f64>,
    /// Maximum rate at which recovery reads and writes an OSD: `100 MiB/s` for every OSD, or `hdd=50 MiB/s`
    /// for a class of devices. May be given several times. Without it, half of the rate that Ceph's mClock
    /// assumes for a device: 75 MiB/s for disks, 600 MiB/s for flash.
    #[arg(long, value_name = "[CLASS=]RATE")]
    pub recovery_rate: Vec<ClassRate>,
    /// Maximum number of backfills that an OSD does at a time as a primary, and separately as a target:
    /// `osd_max_backfills`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_backfills: u32,
    /// Prices of drives.
    #[command(flatten)]
    pub prices: PriceArguments,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Purposes of upmaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum UpmapKind {
    /// Even out the data of the OSDs.
    Balance,
    /// Leave all data where they are.
    Stay,
}

/// A rate for all devices, or for a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassRate {
    /// `hdd`, `ssd`, `nvme`; none: all.
    pub class: Option<String>,
    /// Maximum rate at which recovery reads and writes.
    pub rate: Rate,
}

impl FromStr for ClassRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (class, rate) = match text.split_once('=') {
            Some((class, rate)) => (Some(class.trim().to_owned()), rate),
            None => (None, text),
        };
        if class.as_ref().is_some_and(String::is_empty) {
            return Err("names no class before `=`; write `hdd=50 MiB/s`, or `50 MiB/s`".to_owned());
        }
        let rate = rate.parse().map_err(|error: QuantityError| error.to_string())?;
        Ok(Self { class, rate })
    }
}
