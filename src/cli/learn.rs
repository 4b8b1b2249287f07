//! What can be typed after `learn`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use foretell_learn::Spec;

/// Arguments of `learn`.
#[derive(Debug, Args)]
pub struct LearnArguments {
    /// What to do.
    #[command(subcommand)]
    pub step: Learning,
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub enum Learning {
    /// Tell how well models predict rows that they never saw.
    Evaluate(EvaluateArguments),
    /// Fit a model to all rows and keep it.
    Train(TrainArguments),
    /// Predict with a model that was kept.
    Predict(PredictArguments),
    /// Look for a model's best parameters.
    Search(SearchArguments),
    /// Show a model that was kept: its terms, tree or rules.
    Show(ShowArguments),
    /// List the models and their parameters.
    Models,
    /// Make a table of features from hosts' low-level metrics, with what clients saw.
    Features(FeaturesArguments),
}

/// Arguments of `learn features`.
#[derive(Debug, Args)]
pub struct FeaturesArguments {
    /// Directories of runs that collected metrics.
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// A host's file of dstat's, with the kind of the host before it: `osd=node3.csv`. May be given
    /// several times; goes with `--clients`.
    #[arg(long, value_name = "KIND=FILE", requires = "clients")]
    pub dstat: Vec<KindFile>,
    /// What clients saw while dstat wrote its files: `epoch` and some of `read_iops`, `write_iops`,
    /// `read_bytes_per_s`, `write_bytes_per_s`.
    #[arg(long, value_name = "FILE", requires = "dstat")]
    pub clients: Option<PathBuf>,
    /// A table of one host's metrics joined with what clients saw, its columns `group:name`. May be
    /// given several times.
    #[arg(long, value_name = "KIND=FILE")]
    pub joined: Vec<KindFile>,
    /// Seconds over which metrics and what clients saw are averaged.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub window: f64,
    /// Keep features that are the same in all rows, which no model can learn from.
    #[arg(long)]
    pub keep_constant: bool,
    /// The table.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
}

/// A file of hosts of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KindFile {
    /// `osd`, `mon`: what features are prefixed with.
    pub kind: String,
    /// The file.
    pub file: PathBuf,
}

impl std::str::FromStr for KindFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, file) = text
            .split_once('=')
            .filter(|(kind, file)| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                !kind.is_empty() && kind.chars().all(plain) && !file.is_empty()
            })
            .ok_or("expected the kind of the host and a file, such as `osd=node3.csv`")?;
        Ok(Self { kind: kind.to_owned(), file: PathBuf::from(file) })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let found: Option<f64> = text.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
    found.ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

/// Which rows to learn from.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// A table of comma-separated values with a first line of names, or the directory of a data set
    /// that `sweep` made, of which the factors are features.
    #[arg(long, value_name = "FILE|DIR")]
    pub data: PathBuf,
    /// The column to predict; all others are features.
    #[arg(long, value_name = "COLUMN")]
    pub target: String,
    /// Leave this column out. May be given several times, or several names with commas.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// This column holds names, even if they look like numbers.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub factor: Vec<String>,
    /// The split of a data set; without it `train`, or `all`.
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Rows with the same number in this column were observed together: they share a fold, and the
    /// column is no feature.
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Rows were observed one after another: cut into so many blocks of consecutive rows, which share
    /// a fold each.
    #[arg(long, value_name = "N", conflicts_with = "group")]
    pub blocks: Option<NonZeroUsize>,
    /// Learn the target's natural logarithm; predictions and errors are of the target.
    #[arg(long)]
    pub log_target: bool,
}

/// How rows are split for validation.
#[derive(Debug, Args)]
pub struct FoldArguments {
    /// Each row's fold: a table with columns `row` (from 0) and `fold`.
    #[arg(long, value_name = "FILE", conflicts_with = "fold_count")]
    pub folds: Option<PathBuf>,
    /// Without such a file: so many random folds, of groups where rows have groups (of a data set, its
    /// design points). Without this, 10, or as many as there are groups.
    #[arg(long, value_name = "N")]
    pub fold_count: Option<NonZeroUsize>,
    /// Seed of random folds.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads; without it, all cores. The results do not depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// How parameters are searched.
#[derive(Debug, Args)]
pub struct SpaceArguments {
    /// Search this parameter in this range: `nnodes=3..200`. May be given several times; without
    /// any, all that matter, in the paper's ranges.
    #[arg(long = "range", value_name = "NAME=LOW..HIGH")]
    pub ranges: Vec<String>,
    /// k: values that cut a range in each iteration.
    #[arg(long, value_name = "K", default_value = "4")]
    pub splits: NonZeroUsize,
    /// n: best points explored in each iteration.
    #[arg(long, value_name = "N", default_value = "5")]
    pub explorations: NonZeroUsize,
    /// Iterations at most.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub iterations: usize,
    /// Stop when an iteration lowers the error by less than this share.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub least_gain: f64,
}

/// Arguments of `learn evaluate`.
#[derive(Debug, Args)]
pub struct EvaluateArguments {
    /// The rows.
    #[command(flatten)]
    pub data: DataArguments,
    /// The folds.
    #[command(flatten)]
    pub folds: FoldArguments,
    /// A model with its parameters, such as `mars:degree=2,nnodes=41`. May be given several times.
    #[arg(long = "model", value_name = "MODEL", required = true)]
    pub models: Vec<Spec>,
    /// Search the parameters anew inside the rows that each fold leaves to learn from.
    #[arg(long)]
    pub search: bool,
    /// Where to search.
    #[command(flatten)]
    pub space: SpaceArguments,
    /// Tell errors of the rows whose target is above this alone; relative errors of targets near 0 say
    /// nothing.
    #[arg(long, value_name = "VALUE")]
    pub score_above: Option<f64>,
    /// Write the out-of-fold predictions here, a column for each model.
    #[arg(long, value_name = "FILE")]
    pub predictions: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `learn train`.
#[derive(Debug, Args)]
pub struct TrainArguments {
    /// The rows.
    #[command(flatten)]
    pub data: DataArguments,
    /// A model with its parameters, such as `cubist:ntrees=10,ninstances=5`.
    #[arg(long, value_name = "MODEL")]
    pub model: Spec,
    /// Keep the model here (JSON).
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the model and its errors on the rows that it was fitted on as one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `learn predict`.
#[derive(Debug, Args)]
pub struct PredictArguments {
    /// A model that `learn train -o` kept.
    pub model: PathBuf,
    /// A table with the model's features, by name, or the directory of a data set.
    #[arg(long, value_name = "FILE|DIR")]
    pub data: PathBuf,
    /// The split of a data set; without it `test`, or `all`.
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Write the predictions here, instead of printing them.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

/// Arguments of `learn search`.
#[derive(Debug, Args)]
pub struct SearchArguments {
    /// The rows.
    #[command(flatten)]
    pub data: DataArguments,
    /// The folds.
    #[command(flatten)]
    pub folds: FoldArguments,
    /// A model; parameters that are not searched stay as given.
    #[arg(long, value_name = "MODEL")]
    pub model: Spec,
    /// Where to search.
    #[command(flatten)]
    pub space: SpaceArguments,
    /// Print one JSON document, with every point.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `learn show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A model that `learn train -o` kept.
    pub model: PathBuf,
}
