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
    /// What would be different: `volume.mail.encoding=3-of-5`. May be given several times; without
    /// it the run itself is predicted.
    #[arg(long = "what-if", value_name = "PATH=VALUE")]
    pub changes: Vec<Change>,
    /// Answer the questions in this file, or on standard input with `-`. Each line is one question: JSON with
    /// `what_if` and, if wanted, `id` and `model`. Each answer is a line of JSON, too.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["changes", "json"])]
    pub questions: Option<PathBuf>,
    /// How the answer is found.
    #[arg(long, value_enum, default_value_t)]
    pub model: ModelChoice,
    /// Past scores that `score --history` wrote. They add to those that come with the program, and
    /// expected errors follow from both.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// What drives cost.
    #[command(flatten)]
    pub prices: PriceArguments,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `score`.
#[derive(Debug, Args)]
pub struct ScoreArguments {
    /// Directory of a complete run.
    #[arg(required_unless_present_any = ["random", "suite"])]
    pub directory: Option<PathBuf>,
    /// What would be different: `volume.mail.encoding=3-of-5`. May be given several times.
    #[arg(long = "what-if", value_name = "PATH=VALUE")]
    pub changes: Vec<Change>,
    /// How the prediction is found.
    #[arg(long, value_enum, default_value_t)]
    pub model: ModelChoice,
    /// Number of seeds to run and predict with. Prints means and standard deviations.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Score this number of random changes to random scenarios, instead of a run.
    #[arg(long, value_name = "N", conflicts_with_all = ["directory", "changes", "repeat"],
          value_parser = value_parser!(u32).range(1..=100_000))]
    pub random: Option<u32>,
    /// Score a suite of questions about scenarios: the program's suite, or your own file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = false,
          conflicts_with_all = ["directory", "changes", "repeat", "random"])]
    pub suite: Option<Option<PathBuf>>,
    /// Append the scores to this file, for `ask --history`.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Seed of the random scenarios.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "random")]
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

/// Systems that can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SystemChoice {
    /// Clients encode and place data themselves.
    UrsaMinor,
    /// Ceph: pools of copies and erasure-coded ones, on disks and on flash.
    Ceph,
    /// Swift: proxies and object servers.
    Swift,
    /// Virtual machines with block layers of their own.
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

/// What random scenarios are drawn by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, ValueEnum)]
pub enum GeneratorChoice {
    /// Clusters of Ursa Minor.
    #[default]
    V1,
    /// Clusters of any system.
    V2,
    /// Clusters of any system on any device, including arrays. Questions also add clients, raise rates
    /// many times, and change schedulers. Runs are shorter than those of the others.
    V3,
    /// As `v3`, with questions about other loads: share of reads, sizes, patterns, working sets, volumes.
    V4,
    /// Clusters of Ursa Minor and Ceph in which hosts, or disks of Ceph, fail for a while or for good. Some
    /// questions make another change, too.
    Failures,
}

impl From<GeneratorChoice> for Generator {
    fn from(choice: GeneratorChoice) -> Self {
        match choice {
            GeneratorChoice::V1 => Self::V1,
            GeneratorChoice::V2 => Self::V2,
            GeneratorChoice::V3 => Self::V3,
            GeneratorChoice::V4 => Self::V4,
            GeneratorChoice::Failures => Self::Failures,
        }
    }
}

/// How an answer is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ModelChoice {
    /// `fast` if past scores say that it is as good, otherwise `replay`.
    #[default]
    Auto,
    /// A replay of short stretches: some 2,000 of the recorded requests, in a fiftieth of a second.
    Fast,
    /// A replay of the recorded requests in a queueing model. It predicts percentiles, too.
    Replay,
    /// Mean value analysis of a network of queues.
    Mva,
    /// Operational bounds on throughput: equations 1 and 2 of Thereska et al. 2006.
    Bounds,
}

impl ModelChoice {
    /// What the library is asked for.
    pub(crate) fn asked(self) -> Asked {
        match self {
            Self::Auto => Asked::Auto,
            Self::Fast => Asked::Of(Model::Fast),
            Self::Replay => Asked::Of(Model::Replay),
            Self::Mva => Asked::Of(Model::Mva),
            Self::Bounds => Asked::Of(Model::Bounds),
        }
    }

    /// As it is typed.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
