//! What can be typed after `plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::PriceArguments;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// A cluster: a directory of `import ceph -o`, or files as `import ceph` reads them.
    #[arg(required = true)]
    pub cluster: Vec<PathBuf>,
    /// What is changed: `osd.12=out`, `osd.12.reweight=0.8`, `osd.12.crush_weight=7.3`,
    /// `crush.HOST.weight=40`, `pool.NAME.pg_num=256`, `pool.NAME.rule=RULE`, `pool.NAME.encoding=4-of-6`,
    /// `node.HOST.count=3` (two more like it). May be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    pub what_if: Vec<String>,
    /// Add upmaps: `balance` evens out what each OSD has; `stay` leaves all data where they are. Prints
    /// the `ceph` commands.
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, default_missing_value = "balance")]
    pub upmap: Option<UpmapKind>,
    /// With `--upmap balance`: how many groups get or lose an upmap, at most.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub upmap_max: usize,
    /// With `--upmap balance`: how many copies or chunks an OSD may be off its share of a pool.
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    pub upmap_deviation: f64,
    /// What drives cost.
    #[command(flatten)]
    pub prices: PriceArguments,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// What upmaps are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum UpmapKind {
    /// Even out what each OSD has.
    Balance,
    /// Leave all data where they are.
    Stay,
}
