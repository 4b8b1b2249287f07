//! Arguments of `ask` and `score`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use foretell_core::random::{Generator, System};
use foretell_scenarios::Change;
use foretell_whatif::{Asked, Model};

use super::PriceArguments;

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub struct AskArguments {
    /// Directory of a run. Its `run.db` is enough.
    pub directory: PathBuf,
    /// The change to predict: `volume.mail.encoding=3-of-5`. May be given several times. Without it, the
    /// recorded run itself is predicted.
    #[arg(long = "what-if", value_name = "PATH=VALUE")]
    pub changes: Vec<Change>,
    /// Answer the questions in this file, or on standard input with `-`. Each line is one question: JSON with
    /// `what_if`, a list of PATH=VALUE, and optionally `id` and `model`. Each answer is one line of JSON.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["changes", "json"])]
    pub questions: Option<PathBuf>,
    /// The model that predicts.
    #[arg(long, value_enum, default_value_t)]
    pub model: ModelChoice,
    /// File of past scores that `score --history` wrote. Expected errors are computed from these scores and
    /// from those that come with the program.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Prices of drives.
    #[command(flatten)]
    pub prices: PriceArguments,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `score`.
#[derive(Debug, Args)]
#[command(override_usage = "foretell score [OPTIONS] <DIRECTORY>\n       \
                            foretell score [OPTIONS] --random <N>\n       \
                            foretell score [OPTIONS] --suite [<FILE>]")]
pub struct ScoreArguments {
    /// Directory of a run, with `run.db` and `run.toml`.
    #[arg(required_unless_present_any = ["random", "suite"])]
    pub directory: Option<PathBuf>,
    /// The change to predict and to simulate: `volume.mail.encoding=3-of-5`. May be given several times.
    #[arg(long = "what-if", value_name = "PATH=VALUE")]
    pub changes: Vec<Change>,
    /// The model that predicts.
    #[arg(long, value_enum, default_value_t)]
    pub model: ModelChoice,
    /// Run and predict with this number of seeds. Prints means and standard deviations.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Score this number of random changes to random scenarios, instead of a run.
    #[arg(long, value_name = "N", conflicts_with_all = ["directory", "changes", "repeat"],
          value_parser = value_parser!(u32).range(1..=100_000))]
    pub random: Option<u32>,
    /// Score a suite of questions about scenarios: the suite that comes with the program, or your own file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = false,
          conflicts_with_all = ["directory", "changes", "repeat", "random"])]
    pub suite: Option<Option<PathBuf>>,
    /// Append the scores to this file, for `ask --history`.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Seed of the random scenarios.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "random", value_parser = super::seed)]
    pub seed: u64,
    /// Draw clusters of this system only.
    #[arg(long, value_enum, requires = "random")]
    pub system: Option<SystemChoice>,
    /// Generator of scenarios. Generators never change, so that versions can be compared.
    #[arg(long, value_enum, default_value_t, requires = "random")]
    pub generator: GeneratorChoice,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Systems that random clusters can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SystemChoice {
    /// Clients encode and place data themselves.
    UrsaMinor,
    /// Ceph: replicated and erasure-coded pools, on disks and on flash.
    Ceph,
    /// Swift: proxies and object servers.
    Swift,
    /// Virtual machines, each with its own block layer.
    Guest,
}

impl From<SystemChoice> for System {
    fn from(choice: SystemChoice) -> Self {
        match choice {
            SystemChoice::UrsaMinor => Self::UrsaMinor,
            SystemChoice::Ceph => Self::Ceph,
            SystemChoice::Swift => Self::Swift,
            SystemChoice::Guest => Self::Guest,
        }
    }
}

/// Generators of random scenarios.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, ValueEnum)]
pub enum GeneratorChoice {
    /// Clusters of Ursa Minor.
    #[default]
    V1,
    /// Clusters of any system.
    V2,
    /// Clusters of any system on any device, including arrays. Questions also add clients, raise rates many
    /// times, and change schedulers. Runs are shorter than those of `v1` and `v2`.
    V3,
    /// As `v3`. Questions also change the load: share of reads, sizes, patterns, working sets, volumes.
    V4,
    /// Clusters of Ursa Minor whose caches turn over. Questions are mostly about policies and sizes of caches.
    Caches,
    /// Clusters of Ursa Minor and Ceph in which hosts, or disks of Ceph, fail for a while or for good. Some
    /// questions make another change, too.
    Failures,
    /// As `failures`, and clusters of Swift.
    Failures2,
}

impl From<GeneratorChoice> for Generator {
    fn from(choice: GeneratorChoice) -> Self {
        match choice {
            GeneratorChoice::V1 => Self::V1,
            GeneratorChoice::V2 => Self::V2,
            GeneratorChoice::V3 => Self::V3,
            GeneratorChoice::V4 => Self::V4,
            GeneratorChoice::Caches => Self::Caches,
            GeneratorChoice::Failures => Self::Failures,
            GeneratorChoice::Failures2 => Self::Failures2,
        }
    }
}

/// Models that predict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ModelChoice {
    /// `fast` if past scores show that it is as accurate as `replay`, otherwise `replay`.
    #[default]
    Auto,
    /// Replays short stretches of the recorded run, at least 2,000 requests in total. Takes about 20 ms.
    Fast,
    /// Replays the recorded requests in a queueing model. Also predicts percentiles.
    Replay,
    /// Mean value analysis of a network of queues.
    Mva,
    /// Operational bounds on throughput: equations 1 and 2 of Thereska et al. 2006.
    Bounds,
}

impl ModelChoice {
    /// The same for the library.
    pub(crate) fn asked(self) -> Asked {
        match self {
            Self::Auto => Asked::Auto,
            Self::Fast => Asked::Of(Model::Fast),
            Self::Replay => Asked::Of(Model::Replay),
            Self::Mva => Asked::Of(Model::Mva),
            Self::Bounds => Asked::Of(Model::Bounds),
        }
    }

    /// The model as it is typed.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
