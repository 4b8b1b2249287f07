//! Arguments of `inspect`.

use std::path::PathBuf;

use clap::Args;

use super::import::{FormatChoice, ReadingArguments, format_or_auto};

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A block trace, plain or compressed (gzip, zstd); `-` for standard input.
    pub trace: PathBuf,
    /// Format of the trace. With `auto`, it is recognized by content and name.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = format_or_auto)]
    pub format: FormatChoice,
    /// How its lines are read.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// Draw pictures (SVG and PNG) of the trace here, and write the printed figures to
    /// `inspect.json`.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace foretell's files in DIR even if another command made them, or if they were changed since.
    /// Files that foretell did not make are never replaced.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
