//! What can be typed after `validate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// A directory of `import cluster`.
    pub directory: PathBuf,
    /// The measured points: columns as in `docs/clusters.md`.
    #[arg(long, value_name = "FILE")]
    pub points: PathBuf,
    /// Write a table of all points here, measured beside predicted.
    #[arg(short = 'o', long = "output", value_name = "FILE.csv")]
    pub output: Option<PathBuf>,
    /// Ignore the parameters that `calibrate cluster` fitted.
    #[arg(long)]
    pub unfitted: bool,
    /// Number of threads; without it, one for each core. The results do not
    /// depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
