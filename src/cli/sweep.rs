//! Arguments of `sweep` and `export`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

/// Arguments of `sweep`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SweepArguments {
    /// What to do with shards.
    #[command(subcommand)]
    pub step: Option<SweepStep>,
    /// A sweep (TOML): a base scenario and the factors that vary.
    #[arg(required = true)]
    pub sweep: Option<PathBuf>,
    /// Directory of the data set. Required, except with `--check`.
    #[arg(short = 'o', long = "output", value_name = "DIR", required_unless_present = "check")]
    pub output: Option<PathBuf>,
    /// Number of runs at a time; by default one for each core. The data set does not depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Do only part K of N parts. `sweep merge` joins the parts.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Continue with the runs that the directory already holds, if any.
    #[arg(long)]
    pub resume: bool,
    /// If another process has the directory, or this part of the sweep, wait for at most so long.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub wait: u64,
    /// End as after Ctrl-C when standard input ends. Programs that start this one with a pipe as its standard input use
    /// it: the pipe ends with them, whatever ends them.
    #[arg(long)]
    pub with_parent: bool,
    /// Begin again: remove foretell's files in the directory, whatever command made them, even if they were
    /// changed since. Files that foretell did not make are never removed.
    #[arg(long, conflicts_with_all = ["resume", "check"])]
    pub force: bool,
    /// Check the whole sweep, and simulate a few of its runs to estimate the duration of all. Nothing is written.
    #[arg(long)]
    pub check: bool,
    /// Write comma-separated values instead of Parquet.
    #[arg(long)]
    pub csv: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// What can be done with shards.
#[derive(Debug, Subcommand)]
pub enum SweepStep {
    /// List the runs that have not been done. The exit status is 1 if there are any.
    Missing(MissingArguments),
    /// Join shards into a data set. Verifies that no run is missing and that none occurs twice.
    Merge(MergeArguments),
}

/// Arguments of `sweep missing`.
#[derive(Debug, Args)]
pub struct MissingArguments {
    /// Directories of the sweep's shards.
    #[arg(required = true)]
    pub directories: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sweep merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// Directories of the sweep's shards.
    #[arg(required = true)]
    pub directories: Vec<PathBuf>,
    /// Directory of the data set. May be left out if all shards were written to one directory; the data set is
    /// then made there.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace foretell's files in DIR even if another command made them, or if they were changed since.
    /// Files that foretell did not make are never replaced.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Write comma-separated values instead of Parquet.
    #[arg(long)]
    pub csv: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Directory of a run. Its `run.db` is enough.
    pub directory: PathBuf,
    /// Directory of the tables: a file for each type of record, and one for each table of facts.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Replace foretell's files in DIR even if another command made them, or if they were changed since.
    /// Files that foretell did not make are never replaced.
    #[arg(long)]
    pub force: bool,
    /// Write comma-separated values instead of Parquet.
    #[arg(long)]
    pub csv: bool,
    /// Instead of tables, write the metrics of each host in dstat's format, and the clients' results.
    #[arg(long, conflicts_with = "csv")]
    pub dstat: bool,
}

/// Part K of N parts of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 1 to `of`.
    pub number: u64,
    /// Number of parts.
    pub of: NonZeroU64,
}

impl Shard {
    /// The whole sweep as one part.
    pub const WHOLE: Self = Self { number: 1, of: NonZeroU64::MIN };

    /// Whether this run belongs to the part.
    pub fn has(self, run: u64) -> bool {
        run % self.of == self.number - 1
    }

    /// The name of the part's directory.
    pub fn name(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        parts
            .filter(|shard| (1..=shard.of.get()).contains(&shard.number))
            .ok_or_else(|| "a shard is written as K/N with K from 1 to N, such as 3/16".to_owned())
    }
}
