//! Arguments of `laboratory`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `laboratory`.
#[derive(Debug, Args)]
pub struct LaboratoryArguments {
    /// Lessons in Markdown, each with a scenario. Without any, the eight lessons that come with the program.
    #[arg(value_name = "LESSON.md")]
    pub lessons: Vec<PathBuf>,
    /// The page: one HTML file, which needs no network. Required, except with `--show`.
    #[arg(short = 'o', long = "output", value_name = "FILE", required_unless_present = "show")]
    pub output: Option<PathBuf>,
    /// The engine: `foretell.wasm`, which `.ci/web/run` builds, or another laboratory page, which contains
    /// it. Without it, `foretell.wasm` beside the program or in `../web` is used.
    #[arg(long, value_name = "FILE")]
    pub engine: Option<PathBuf>,
    /// Title of the page.
    #[arg(long, value_name = "TEXT", default_value = "foretell laboratory")]
    pub title: String,
    /// Print the Markdown of one of the eight lessons, as a start for your own: knee, little, cache, fan-out,
    /// codes, bottleneck, failure, records.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["lessons", "output", "engine"])]
    pub show: Option<String>,
}
