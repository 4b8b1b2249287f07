//! Arguments of `validate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// Directory that `import cluster` wrote.
    pub directory: PathBuf,
    /// Table of the measured points; `docs/clusters.md` describes its columns.
    #[arg(long, value_name = "FILE")]
    pub points: PathBuf,
    /// Write a table of all points here, with measured and predicted values.
    #[arg(short = 'o', long = "output", value_name = "FILE.csv")]
    pub output: Option<PathBuf>,
    /// Ignore the parameters that `calibrate cluster` fitted.
    #[arg(long)]
    pub unfitted: bool,
    /// Number of threads; by default one for each core. The results do not depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
