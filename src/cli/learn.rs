//! Arguments of `learn`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueEnum};
use foretell_learn::{IntervalSettings, Method, Scale, Spec, Training, Transform};

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
    /// Measure how well models predict rows that they did not learn from.
    Evaluate(EvaluateArguments),
    /// Learn from one split or table, and measure how well the model predicts others.
    Score(LearnScoreArguments),
    /// Fit a model to all rows and save it.
    Train(TrainArguments),
    /// Predict with a saved model.
    Predict(PredictArguments),
    /// Search for the best parameters of a model.
    Search(SearchArguments),
    /// Show which features matter, how predictions depend on them, and how errors fall with more rows.
    Explain(ExplainArguments),
    /// Show a saved model: its terms, tree or rules.
    Show(ShowArguments),
    /// List the models and their parameters.
    Models,
    /// Make a table of features from hosts' low-level metrics, with the clients' results.
    Features(FeaturesArguments),
}

/// Arguments of `learn features`.
#[derive(Debug, Args)]
pub struct FeaturesArguments {
    /// Directories of runs that collected metrics (made with `--set tracking.metrics=true`).
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// A host's dstat file, after the kind of the host: `osd=node3.csv`. May be given several times. Needs
    /// `--clients`.
    #[arg(long, value_name = "KIND=FILE", requires = "clients")]
    pub dstat: Vec<KindFile>,
    /// Table of the clients' results while dstat ran. Columns: `epoch`, and at least one of `read_iops`,
    /// `write_iops`, `read_bytes_per_s`, `write_bytes_per_s`.
    #[arg(long, value_name = "FILE", requires = "dstat")]
    pub clients: Option<PathBuf>,
    /// A table of a host's metrics and the clients' results, joined, after the kind of the host:
    /// `osd=node3.csv`. Its columns are called `group:name`. May be given several times.
    #[arg(long, value_name = "KIND=FILE")]
    pub joined: Vec<KindFile>,
    /// Seconds over which metrics and the clients' results are averaged.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub window: f64,
    /// Add the values that each feature had 1 to N rows before. The first N rows of each set are left out.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub lags: u16,
    /// Keep features that are the same in all rows, although no model can learn from them.
    #[arg(long)]
    pub keep_constant: bool,
    /// Write the table here.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
}

/// A file, and the kind of its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KindFile {
    /// The kind, such as `osd` or `mon`. It is the prefix of features' names.
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

/// The rows to learn from.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// A table with a first line of names, separated by commas, semicolons or tabs; a Parquet file; or
    /// the directory of a data set that `sweep` made, whose factors become features.
    #[arg(long, value_name = "FILE|DIR")]
    pub data: PathBuf,
    /// The column to predict. All other columns are features.
    #[arg(long, value_name = "COLUMN")]
    pub target: String,
    /// Leave this column out. May be given several times, or several names with commas.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// This column holds names, even if they look like numbers.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub factor: Vec<String>,
    /// The split of a data set. By default `train`, or `all` if there is no `train`.
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Rows with the same number in this column were observed together: they share a fold. The column is not
    /// a feature.
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Rows were observed one after another: cut them into this number of blocks of consecutive rows. The
    /// rows of a block share a fold.
    #[arg(long, value_name = "N", conflicts_with = "group")]
    pub blocks: Option<NonZeroUsize>,
    /// These columns identify rows. They are not features, and are printed beside predictions. May be given
    /// several times, or several names with commas.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub key: Vec<String>,
    /// Learn the natural logarithm of the target. Predictions and errors are those of the target itself. With
    /// `--transform auto`, which is the default of `gp`, inputs are still chosen.
    #[arg(long)]
    pub log_target: bool,
    /// Transformation of inputs and target before models see them. `auto` chooses by cross-validation inside
    /// the training rows. Default: `auto` for the model `gp`, `none` for others.
    #[arg(long, value_name = "HOW")]
    pub transform: Option<TransformName>,
}

impl DataArguments {
    /// The transformation of inputs and target for this model.
    pub fn transform_of(&self, spec: &Spec) -> Transform {
        let transform = match self.transform {
            Some(TransformName::None) => Transform::None,
            Some(TransformName::Log) => Transform::Log,
            Some(TransformName::Auto) => Transform::Auto,
            None => Transform::default_of(spec),
        };
        if self.log_target { transform.with_log_target() } else { transform }
    }
}

/// Transformations of inputs and target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TransformName {
    /// No transformation.
    None,
    /// Logarithms of the target and of all inputs that allow it.
    Log,
    /// The transformation that predicts best in cross-validation.
    Auto,
}

/// How intervals around predictions are made.
#[derive(Debug, Args)]
pub struct IntervalArguments {
    /// Percentage of future observations that intervals should contain.
    #[arg(long, value_name = "PERCENT", default_value_t = 90.0, value_parser = percent)]
    pub level: f64,
    /// Residuals from which intervals are made.
    #[arg(long, value_name = "METHOD", default_value = "cross")]
    pub interval_method: MethodName,
    /// Scale of the residuals. It makes intervals wide where errors are large.
    #[arg(long, value_name = "UNIT", default_value = "auto")]
    pub interval_scale: ScaleName,
    /// Number of folds of the cross-validation for intervals.
    #[arg(long, value_name = "N", default_value = "10")]
    pub interval_folds: NonZeroUsize,
    /// Rows with different values of this feature get intervals from separate residuals.
    #[arg(long, value_name = "COLUMN")]
    pub interval_group: Option<String>,
}

impl IntervalArguments {
    /// The same for the library.
    pub fn settings(&self) -> IntervalSettings {
        IntervalSettings {
            level: self.level / 100.0,
            method: match self.interval_method {
                MethodName::Split => Method::Split,
                MethodName::Cross => Method::Cross,
                MethodName::CvPlus => Method::CvPlus,
            },
            scale: match self.interval_scale {
                ScaleName::Auto => Scale::Auto,
                ScaleName::None => Scale::None,
                ScaleName::Local => Scale::Local,
                ScaleName::Quantiles => Scale::Quantiles,
            },
            folds: self.interval_folds.get(),
            group: self.interval_group.clone(),
        }
    }
}

/// Residuals from which intervals are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MethodName {
    /// Residuals on rows that are held out.
    Split,
    /// Residuals of cross-validation, around the model fitted to all rows.
    Cross,
    /// Residuals of cross-validation, each around the model of its own fold.
    #[value(name = "cv+")]
    CvPlus,
}

/// Scales of residuals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ScaleName {
    /// The model's own standard deviation if it has one, otherwise as `local`.
    Auto,
    /// The same scale for all rows.
    None,
    /// The error that is expected at the row.
    Local,
    /// Distance between the quantiles that the model predicts (`forest` and `boost` only).
    Quantiles,
}

fn percent(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_end_matches('%').trim_end();
    let found: Option<f64> = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share < 100.0);
    found.ok_or_else(|| "expected a share in percent, above 0 and below 100".to_owned())
}

/// How rows are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CrossValidation {
    /// Folds of random rows.
    Random,
    /// Folds of random groups (`--group`, `--blocks`, the design points of a data set).
    Group,
    /// All rows with one level of a numeric feature, for each level between two others.
    LeaveLevelOut,
    /// Folds of consecutive rows.
    Blocked,
}

/// Arguments of `learn score`.
#[derive(Debug, Args)]
pub struct LearnScoreArguments {
    /// The rows. If it is a data set, `--train` and `--test` name the splits.
    #[command(flatten)]
    pub data: DataArguments,
    /// The split to learn from, by default `train`. If `--data` is a table, all its rows are used.
    #[arg(long, value_name = "SPLIT", conflicts_with = "split")]
    pub train: Option<String>,
    /// A split to predict, or another table or data set (`DIR` or `DIR:SPLIT`). May be given several times.
    #[arg(long = "test", value_name = "SPLIT|FILE|DIR", required = true)]
    pub tests: Vec<String>,
    /// A model with its parameters. May be given several times. The model with the smallest MAPE in
    /// cross-validation inside the training rows is chosen (the smallest RMSE if a target is 0).
    #[arg(long = "model", value_name = "MODEL", required = true)]
    pub models: Vec<Spec>,
    /// This cross-validation. Without `--cv`, it leaves out levels if the rows form a grid.
    #[command(flatten)]
    pub validation: ValidationArguments,
    /// Intervals.
    #[command(flatten)]
    pub intervals: IntervalArguments,
    /// Make no intervals, and report no coverage.
    #[arg(long, conflicts_with_all = OF_INTERVALS)]
    pub no_intervals: bool,
    /// Write the predictions of the chosen model here, with the rows' keys.
    #[arg(long, value_name = "FILE")]
    pub predictions: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// The settings with which a model is trained.
pub(crate) fn training(
    data: &DataArguments,
    spec: &Spec,
    intervals: Option<&IntervalArguments>,
) -> Training {
    Training {
        transform: data.transform_of(spec),
        intervals: intervals.map(IntervalArguments::settings),
    }
}

/// How rows are split for validation.
#[derive(Debug, Args)]
pub struct FoldArguments {
    /// Table with the fold of each row. Columns: `row` (from 1, or from 0 if there is a 0) and `fold`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cv", "fold_count"])]
    pub folds: Option<PathBuf>,
    /// How rows are divided without such a file.
    #[command(flatten)]
    pub validation: ValidationArguments,
}

/// Which rows are left out of training and used for the test.
#[derive(Debug, Args)]
pub struct ValidationArguments {
    /// How rows are left out of training. By default `group` if the rows have groups, else `random`.
    /// (`learn score` uses `leave-level-out` if the rows form a grid.)
    #[arg(long, value_name = "HOW")]
    pub cv: Option<CrossValidation>,
    /// Number of folds. Without it 10, or the number of groups if that is smaller.
    #[arg(long, value_name = "N")]
    pub fold_count: Option<NonZeroUsize>,
    /// Seed of random folds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::seed)]
    pub seed: u64,
    /// Number of threads; by default one for each core. The results do not depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// How to search for parameters.
#[derive(Debug, Args)]
pub struct SpaceArguments {
    /// Search this parameter in this range: `nnodes=3..200`. May be given several times. Without it, all
    /// parameters that matter are searched, in the ranges of Noorshams et al. 2013.
    #[arg(long = "range", value_name = "NAME=LOW..HIGH")]
    pub ranges: Vec<String>,
    /// Number of values that divide a range in each iteration (k in the paper).
    #[arg(long, value_name = "K", default_value = "4")]
    pub splits: NonZeroUsize,
    /// Number of best points that each iteration explores (n in the paper).
    #[arg(long, value_name = "N", default_value = "5")]
    pub explorations: NonZeroUsize,
    /// Maximum number of iterations.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub iterations: usize,
    /// Stop when an iteration lowers the error by less than this share.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub least_gain: f64,
}

/// Options that mean something only with `evaluate --search`.
const OF_SEARCH: [&str; 5] = ["ranges", "splits", "explorations", "iterations", "least_gain"];
/// Options that mean something only where intervals are made.
const OF_INTERVALS: [&str; 5] =
    ["level", "interval_method", "interval_scale", "interval_folds", "interval_group"];

/// Makes an option of `evaluate` require the switch with which it means something. Other commands, which have no such
/// switch, share the options.
fn with_its_switch(option: Arg) -> Arg {
    let id = option.get_id().as_str();
    if OF_SEARCH.contains(&id) {
        option.requires("search")
    } else if OF_INTERVALS.contains(&id) {
        option.requires("intervals")
    } else {
        option
    }
}

/// Arguments of `learn evaluate`.
#[derive(Debug, Args)]
#[command(mut_args(with_its_switch))]
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
    /// Search for the best parameters inside the training rows of each fold.
    #[arg(long)]
    pub search: bool,
    /// Where to search.
    #[command(flatten)]
    pub space: SpaceArguments,
    /// Report errors only for rows whose target is above this value. Relative errors of targets near 0 mean
    /// nothing.
    #[arg(long, value_name = "VALUE")]
    pub score_above: Option<f64>,
    /// Write the out-of-fold predictions here, a column for each model.
    #[arg(long, value_name = "FILE")]
    pub predictions: Option<PathBuf>,
    /// Make intervals inside the training rows of each fold, and report how many of the held-out rows
    /// they contain.
    #[arg(long)]
    pub intervals: bool,
    /// How intervals are made.
    #[command(flatten)]
    pub how: IntervalArguments,
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
    /// Make no intervals. The model is then fitted only once.
    #[arg(long, conflicts_with_all = OF_INTERVALS)]
    pub no_intervals: bool,
    /// Intervals around predictions.
    #[command(flatten)]
    pub intervals: IntervalArguments,
    /// Save the model here (JSON).
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the model and its errors on its training rows as one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `learn predict`.
#[derive(Debug, Args)]
pub struct PredictArguments {
    /// A model that `learn train -o` saved.
    pub model: PathBuf,
    /// A table with columns named as the model's features, or the directory of a data set.
    #[arg(long, value_name = "FILE|DIR")]
    pub data: PathBuf,
    /// Columns that identify rows, to print beside the predictions.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub key: Vec<String>,
    /// Percentage of future observations that intervals should contain. By default that of the training.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub level: Option<f64>,
    /// The split of a data set. By default `test`, or `all` if there is no `test`.
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
    /// A model with its parameters. Parameters that are not searched stay as given.
    #[arg(long, value_name = "MODEL")]
    pub model: Spec,
    /// Where to search.
    #[command(flatten)]
    pub space: SpaceArguments,
    /// Print one JSON document, with all points of the search.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `learn explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The rows.
    #[command(flatten)]
    pub data: DataArguments,
    /// The rows left out.
    #[command(flatten)]
    pub folds: FoldArguments,
    /// A model with its parameters.
    #[arg(long, value_name = "MODEL")]
    pub model: Spec,
    /// Show how predictions depend on this feature. Without it, the three that matter most are shown.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub feature: Vec<String>,
    /// Draw these results into this directory, as SVG and PNG.
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `learn show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A model that `learn train -o` saved.
    pub model: PathBuf,
}
