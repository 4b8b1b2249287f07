//! Arguments of `reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use foretell_papers::Paper;

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ReproduceArguments {
    /// The paper whose experiments to run.
    #[arg(value_parser = papers())]
    pub paper: Paper,
    /// Do less of everything. `ursa-minor`: three seeds for each point instead of ten. `virtualized`: fewer
    /// configurations and shorter searches. `constant-capacity`: one seed instead of two, and a smaller
    /// cluster. `inside-out`: fewer runs and stages. `clusters`: a fifth of the points, each simulated for a
    /// shorter time.
    #[arg(long)]
    pub quick: bool,
    /// Measure as long as the paper did. `virtualized`: six minutes for each configuration.
    #[arg(long, conflicts_with = "quick")]
    pub full: bool,
    /// For `clusters`: directory of the measured clusters, with a folder for each source. Without it, the
    /// environment variable `FORETELL_CLUSTERS` names it, or it is `../shared/data/clusters`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Write tables, pictures and `summary.json` here.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Replace foretell's files in DIR even if another command or another paper's reproduction made them, or
    /// if they were changed since. Files that foretell did not make are never replaced.
    #[arg(long)]
    pub force: bool,
    /// Make only this figure, such as `fig07`; for `clusters`, only this fit. May be given several times.
    #[arg(long = "figure", value_name = "NAME", value_parser = PossibleValuesParser::new(crate::reproduce::names()))]
    pub figures: Vec<String>,
    /// Keep the data behind the figures: recorded runs in `DIR/runs`, COSBench's files in
    /// `DIR/workloads`, rows of features in `DIR/features.csv`.
    #[arg(long)]
    pub keep: bool,
    /// Number of threads among which runs are divided; by default one for each core. The results do not
    /// depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// The names of papers, each with its subject.
fn papers() -> impl TypedValueParser<Value = Paper> {
    let value = |paper: Paper| PossibleValue::new(paper.name()).help(paper.about());
    let named = |name: String| Paper::named(&name).expect("only names of papers are accepted");
    PossibleValuesParser::new(Paper::ALL.map(value)).map(named)
}
