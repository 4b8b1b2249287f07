//! The command line: its commands and their arguments.

mod ask;
mod calibrate;
mod estimate;
mod examples;
mod first_steps;
mod import;
mod inspect;
mod laboratory;
mod learn;
mod plan;
mod replay_cache;
mod replay_disk;
mod report;
mod reproduce;
mod serve;
mod sweep;
mod validate;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use foretell_core::Precision;
use foretell_scenarios::Change;
use foretell_units::SimSpan;

/// The largest whole number of TOML, and so the largest `seed` of a scenario.
pub(crate) const MAX_SEED: u64 = i64::MAX.cast_unsigned();

pub use crate::prices::PriceArguments;
pub use ask::{AskArguments, GeneratorChoice, ModelChoice, ScoreArguments, SystemChoice};
pub use calibrate::{
    CalibrateArguments, CalibrateClusterArguments, CalibrateCpuArguments, CalibrateDiskArguments,
    Calibration,
};
pub use estimate::{EstimateArguments, ShareOfSize, SizeShares, WritePathChoice};
pub use first_steps::{
    CompletionsArguments, InitArguments, ListArguments, ListKind, ManArguments, ShowNamedArguments,
};
pub(crate) use first_steps::{Names, here};
pub use import::{
    AnyTraceArguments, CephArguments, ClusterArguments, DiskspecsArguments, FioJsonArguments,
    FormatChoice, ImportArguments, ImportFormat, Inputs, ReadingArguments,
    TraceArguments as ImportTraceArguments,
};
pub use inspect::InspectArguments;
pub use laboratory::LaboratoryArguments;
pub(crate) use learn::training;
pub use learn::{
    CrossValidation, DataArguments, EvaluateArguments, ExplainArguments, FeaturesArguments,
    FoldArguments, IntervalArguments, KindFile, LearnArguments, LearnScoreArguments, Learning,
    MethodName, PredictArguments, ScaleName, SearchArguments, ShowArguments, SpaceArguments,
    TrainArguments, TransformName, ValidationArguments,
};
pub use plan::{ClassRate, PlanArguments, UpmapKind};
pub use replay_cache::{PolicyChoice, ReplayCacheArguments};
pub use replay_disk::ReplayDiskArguments;
pub use report::ReportArguments;
pub use reproduce::ReproduceArguments;
pub use serve::ServeArguments;
pub use sweep::{
    ExportArguments, MergeArguments, MissingArguments, Shard, SweepArguments, SweepStep,
};

pub use validate::ValidateArguments;

/// A storage-cluster simulator that predicts itself, and so what a change would do.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A seed of a scenario or of random draws.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= MAX_SEED);
    seed.ok_or_else(|| format!("a seed is a whole number from 0 to {MAX_SEED}"))
}

/// The command line, with an example at the end of each command's help.
pub fn command() -> clap::Command {
    examples::with_examples(Cli::command())
}

/// Reads a command line. Its first word is the program's name.
///
/// # Errors
///
/// If the command line is wrong, or asks for help.
pub fn parse<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario, or replay a block trace.
    Run(RunArguments),
    /// Predict from a run's records what a change would do.
    Ask(AskArguments),
    /// Predict the effect of a change, then simulate the change, and compare.
    Score(ScoreArguments),
    /// Run the experiments of a paper: make tables and pictures, and check its claims.
    Reproduce(ReproduceArguments),
    /// Run a design of experiments and make a data set from it.
    Sweep(SweepArguments),
    /// Write the records of a run as Parquet or CSV tables.
    Export(ExportArguments),
    /// Show results as a page: charts of runs, comparisons, sweeps, answers.
    Report(ReportArguments),
    /// Make a page of lessons that simulates storage clusters in the browser.
    Laboratory(LaboratoryArguments),
    /// Serve a web page to write scenarios, run them, and ask questions about them.
    Serve(ServeArguments),
    /// Show the path of one request, step by step.
    Trace(TraceArguments),
    /// Replay a block trace against caches, and print hit rates.
    ReplayCache(ReplayCacheArguments),
    /// Write profiles from measurements of real hardware.
    Calibrate(CalibrateArguments),
    /// Simulate the measured points of a cluster, and compare.
    Validate(ValidateArguments),
    /// Estimate the throughput of mixed loads from measurements of reads alone and writes alone.
    Estimate(EstimateArguments),
    /// Replay a real disk's trace on its model, and compare response times.
    ReplayDisk(ReplayDiskArguments),
    /// Show which data of a Ceph cluster a change would move, and upmaps that avoid it.
    Plan(PlanArguments),
    /// Convert traces, drive descriptions and cluster maps into foretell's files.
    Import(ImportArguments),
    /// Fit, validate and use regression models on a table of numbers.
    Learn(Box<LearnArguments>),
    /// Describe a block trace: sizes, sequentiality, footprint, reuse, burstiness.
    Inspect(InspectArguments),
    /// List scenarios, devices, policies, encodings and other names.
    List(ListArguments),
    /// Print a scenario, sweep or profile that comes with the program.
    Show(ShowNamedArguments),
    /// Print the JSON Schema of scenarios, for editors, or of a command's `--json` output.
    Schema(SchemaArguments),
    /// Write a first scenario, with comments.
    Init(InitArguments),
    /// Print completions for a shell.
    Completions(CompletionsArguments),
    /// Print the manual page of a command, or write those of all commands.
    Man(ManArguments),
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A scenario (TOML), the name of one that comes with the program (`first-look`), or a block
    /// trace, which is replayed against one storage node.
    pub scenario: PathBuf,
    /// Keep the run here: `run.db` (activity records and facts), `run.toml` (the scenario with
    /// all defaults), `truth.json` (the clients' results). Without it, results are only printed.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace foretell's files in DIR even if another command made them, or if they were changed since.
    /// Files that foretell did not make are never replaced.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Prices of drives.
    #[command(flatten)]
    pub prices: PriceArguments,
    /// Seed of all random draws, instead of the scenario's seed.
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// Change the scenario: `volume.mail.encoding=3-of-5`. May be given several times.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub changes: Vec<Change>,
    /// For a block trace of blkparse: the action that makes a request: Q (queued), D (sent to the device), ...;
    /// without it, Q.
    #[arg(long, value_name = "LETTER")]
    pub blkparse_action: Option<char>,
    /// Run N times, with seeds drawn from the scenario's seed. Prints the mean of each figure with its 95 %
    /// confidence interval (Student's t). No files are written.
    #[arg(long, value_name = "N", conflicts_with_all = ["output", "prices"],
          value_parser = value_parser!(u32).range(2..=1000))]
    pub replicates: Option<u32>,
    /// Number of replicates that run at once; by default one for each core. The results do not depend on it.
    #[arg(long, value_name = "N", requires = "replicates")]
    pub jobs: Option<NonZeroUsize>,
    /// Run until a figure is known with this precision: `mail mean 2%`. That is a workload, `mean` (response
    /// time) or `throughput`, and half the width of the 95 % confidence interval. The method MSER-5 finds the
    /// warm-up, in place of the scenario's `warmup`.
    #[arg(long, value_name = "GOAL", conflicts_with = "replicates")]
    pub precision: Option<Precision>,
    /// With --precision: maximum simulated time to measure.
    #[arg(long, value_name = "TIME", requires = "precision", default_value = "1 h")]
    pub limit: SimSpan,
    /// Record no activity, so that recording takes no time in the simulated cluster.
    #[arg(long)]
    pub no_records: bool,
    /// Print the clients' results as one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// The `--json` output to describe: `run`, `ask`, `plan`, `learn-train`, ...; without it, scenarios are
    /// described.
    pub document: Option<String>,
}

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Directory of a run.
    pub directory: PathBuf,
    /// Number of the request: its `breadcrumb` in the table `request`.
    pub breadcrumb: u64,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
