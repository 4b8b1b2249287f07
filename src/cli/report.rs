//! Arguments of `report`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Results to show: the directory of a run, a sweep, a reproduction or an imported Ceph cluster; or a file
    /// with the `--json` output of `score`, `ask`, `validate` or `replay-cache`. Several runs are compared.
    #[arg(required = true, value_name = "DIR")]
    pub results: Vec<PathBuf>,
    /// The page: one HTML file, which needs no network.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// Title of the page. Without it, the names of the results.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Print the page's content as one JSON document: sections and their parts, in words.
    #[arg(long)]
    pub json: bool,
}
