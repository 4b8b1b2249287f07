//! `foretell reproduce`: the experiments of a paper, each figure as a table and a picture, and the
//! paper's claims with their results.
//!
//! `foretell-papers` does the experiments; this file has the arguments and the final tables.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_files::{Directory, Purpose};
use foretell_papers::{
    Claim, Options, Paper, Reproduction, Summary, Verdict, reproduce as perform, size_name,
};

use crate::cli::ReproduceArguments;
use crate::failure::Failure;
use crate::jobs;
use crate::screen::fitted;

/// The environment variable with the directory of the sources.
const VARIABLE: &str = "FORETELL_CLUSTERS";
/// Default directory of the sources.
const USUAL: &str = "../shared/data/clusters";

/// Names of all figures.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    Paper::all_figures()
}

/// Runs the command.
pub(crate) fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let paper = arguments.paper;
    let is_virtualized = paper == Paper::Virtualized;
    if arguments.full && !is_virtualized {
        return Err(Failure::Usage("`--full` is for `reproduce virtualized` alone".to_owned()));
    }
    if arguments.keep && is_virtualized {
        let kept = "`reproduce virtualized` keeps what it measures anyway, without `--keep`";
        return Err(Failure::Usage(kept.to_owned()));
    }
    if arguments.data.is_some() && paper != Paper::Clusters {
        return Err(Failure::Usage("`--data` is for `reproduce clusters` alone".to_owned()));
    }
    if arguments.keep && paper == Paper::Clusters {
        let kept = "`reproduce clusters` keeps all that it predicts anyway, without `--keep`";
        return Err(Failure::Usage(kept.to_owned()));
    }
    let there = paper.figures();
    if let Some(name) = arguments.figures.iter().find(|name| !there.contains(&name.as_str())) {
        let paper = paper.name();
        let there = match there[..] {
            [] => " alone; all are made from the same measurements".to_owned(),
            _ => format!("; it has {}", there.join(", ")),
        };
        return Err(Failure::Usage(format!("`{paper}` has no figure `{name}`{there}")));
    }
    let made = match paper {
        Paper::UrsaMinor => "reproduce ursa-minor",
        Paper::ConstantCapacity => "reproduce constant-capacity",
        Paper::Virtualized => "reproduce virtualized",
        Paper::InsideOut => "reproduce inside-out",
        Paper::Clusters => "reproduce clusters",
    };
    // earlier figures stay until they are made again
    let purpose = Purpose::of(made).forced(arguments.force);
    let directory = Directory::take(&arguments.output, purpose)?;
    let data = if paper == Paper::Clusters { data(arguments)? } else { PathBuf::new() };
    let options = Options {
        quick: arguments.quick,
        full: arguments.full,
        keep: arguments.keep,
        figures: &arguments.figures,
        data: &data,
        workers: jobs::workers(arguments.jobs),
    };
    let found = perform(paper, &options, &directory)?;
    crate::output::print(&text(&found, directory.path()))
}

/// The directory of the measured clusters.
fn data(arguments: &ReproduceArguments) -> Result<PathBuf, Failure> {
    let named = arguments.data.clone().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let path = named.unwrap_or_else(|| PathBuf::from(USUAL));
    if path.is_dir() {
        return Ok(path);
    }
    Err(Failure::Usage(format!(
        "there is no directory `{}` with measured clusters; name it with `--data DIR` or the environment \
         variable `{VARIABLE}`",
        path.display()
    )))
}

/// The text printed at the end.
fn text(found: &Reproduction, directory: &Path) -> String {
    let text = match found {
        Reproduction::UrsaMinor(summary) => ursa_minor(summary),
        Reproduction::ConstantCapacity(verdict) => constant_capacity(verdict),
        Reproduction::Virtualized(claims) | Reproduction::InsideOut(claims) => {
            table_of_claims(claims)
        }
        Reproduction::Clusters(text) => {
            return format!(
                "{text}\nTables, picture and summary.json in {}\n",
                directory.display()
            );
        }
    };
    format!("{text}\nTables and pictures are in {}\n", directory.display())
}

/// For Thereska et al. 2006: claims, and the accuracy of predictions.
fn ursa_minor(summary: &Summary) -> String {
    let mut text = table_of_claims(&summary.rows);
    let mut models = Table::new();
    models.load_preset(NOTHING);
    models.set_header(["model", "comparisons", "median error", "worst error"]);
    for (name, found) in &summary.predictions {
        models.add_row([
            name.clone(),
            found.comparisons.to_string(),
            format!("{:.1} %", 100.0 * found.median_error),
            format!("{:.1} %", 100.0 * found.worst_error),
        ]);
    }
    right(&mut models, 1..=3);
    let _ = writeln!(text, "\nPredictions of Figures 5 to 11\n{}", fitted(&models, 1));
    if let Some(replay) = summary.predictions.get("replay") {
        let mut worst = Table::new();
        worst.load_preset(NOTHING);
        worst.set_header(["", "series", "x", "metric", "predicted", "measured", "error"]);
        for found in &replay.worst {
            worst.add_row([
                found.figure.to_owned(),
                found.series.clone(),
                found.x.clone(),
                found.metric.to_owned(),
                format!("{:.4}", found.predicted),
                format!("{:.4}", found.measured),
                format!("{:.1} %", 100.0 * found.error),
            ]);
        }
        right(&mut worst, 4..=6);
        let _ = writeln!(text, "\nLargest errors (replay)\n{}", fitted(&worst, 4));
    }
    text
}

/// For Ra and Lee 2018: claims, and the mixes that the aware estimator learns from.
fn constant_capacity(verdict: &Verdict) -> String {
    let mut text = table_of_claims(&verdict.rows);
    for (storage, read_percents) in &verdict.extra_mix_read_percent {
        let mixes: Vec<String> = read_percents
            .iter()
            .map(|(kib, reads)| format!("{} at {reads} %", size_name(*kib)))
            .collect();
        let _ = writeln!(
            text,
            "\nThe aware estimator learns from {storage} with {} reads",
            mixes.join(", ")
        );
    }
    text
}

/// The table of a paper's claims.
fn table_of_claims(rows: &[Claim]) -> String {
    let mut claims = Table::new();
    claims.load_preset(NOTHING);
    claims.set_header(["", "the paper says", "we find", "holds"]);
    for row in rows {
        let holds = if row.holds { "yes" } else { "NO" };
        claims.add_row([row.figure, row.statement, &row.ours, holds]);
    }
    let mut text = format!("{}\n", fitted(&claims, 1));
    for row in rows {
        if let Some(why) = &row.why {
            let _ = writeln!(text, "\nNO, {}: {}\n  {why}", row.figure, row.statement);
        }
    }
    text
}

fn right(table: &mut Table, columns: std::ops::RangeInclusive<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
