//! Arguments of `reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use foretell_reproduce::Paper;

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ReproduceArguments {
    /// Which paper's experiments.
    #[arg(value_parser = papers())]
    pub paper: Paper,
    /// Do less of everything: three seeds for each point instead of ten; of `virtualized`, fewer
    /// configurations and shorter searches; of `constant-capacity`, one seed instead of two and
    /// a smaller cluster; of `inside-out`, fewer runs and stages; of `clusters`, a fifth of the points, each
    /// simulated for less long.
    #[arg(long)]
    pub quick: bool,
    /// Measure as long as the paper did; of `virtualized`: six minutes each.
    #[arg(long, conflicts_with = "quick")]
    pub full: bool,
    /// Of `clusters`: where the measured clusters are, a folder for each source. Without it, what the
    /// environment variable `FORETELL_CLUSTERS` says, or `../shared/data/clusters`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Write tables, pictures and `summary.json` here.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Replace foretell's files in DIR even if another command or another paper's reproduction made them, or
    /// if they were changed since. Files that foretell did not make are never replaced.
    #[arg(long)]
    pub force: bool,
    /// Only this figure, such as `fig07`, or of `clusters` this fit; may be given several times.
    #[arg(long = "figure", value_name = "NAME", value_parser = PossibleValuesParser::new(crate::reproduce::names()))]
    pub figures: Vec<String>,
    /// Keep the data behind the figures: recorded runs in `DIR/runs`, COSBench's files in
    /// `DIR/workloads`, rows of features in `DIR/features.csv`.
    #[arg(long)]
    pub keep: bool,
    /// Number of threads among which runs are divided; without it, one for each core. The results do not
    /// depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// The names of papers, each with what it is about.
fn papers() -> impl TypedValueParser<Value = Paper> {
    let value = |paper: Paper| PossibleValue::new(paper.name()).help(paper.about());
    let named = |name: String| Paper::named(&name).expect("only names of papers are accepted");
    PossibleValuesParser::new(Paper::ALL.map(value)).map(named)
}
