//! `summary.json` and the table at the end: the paper's claims, and how good predictions were.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::lab::MODELS;
use super::sheet::{Claim, Sheet};
use super::statistics::median;
use crate::screen::fitted;

/// Figures whose predictions are judged together.
const JUDGED: [&str; 7] = ["fig05", "fig06", "fig07", "fig08", "fig09", "fig10", "fig11"];
/// What predictions of the replay are meant to reach: the median error, and the worst.
const TARGETS: (f64, f64) = (0.03, 0.10);
/// The paper's own: "less than 15% error in almost all cases".
const ACCEPTED: f64 = 0.15;
/// How many of the worst comparisons are shown.
const SHOWN: usize = 10;

/// What all figures come to.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    paper: &'static str,
    quick: bool,
    /// Runs of each point.
    seeds: u64,
    /// The paper's claims.
    rows: Vec<Claim>,
    /// By model: all comparisons of Figures 5 to 11.
    predictions: BTreeMap<String, Accuracy>,
}

/// How near the predictions of a model came.
#[derive(Debug, Serialize)]
struct Accuracy {
    comparisons: usize,
    median_error: f64,
    worst_error: f64,
    target_median_error: f64,
    target_worst_error: f64,
    within_targets: bool,
    by_figure: BTreeMap<&'static str, FigureAccuracy>,
    /// Those that are farthest off.
    worst: Vec<Comparison>,
}

#[derive(Debug, Serialize)]
struct FigureAccuracy {
    comparisons: usize,
    median_error: f64,
    worst_error: f64,
}

/// A point.
#[derive(Clone, Debug, Serialize)]
struct Comparison {
    figure: &'static str,
    series: String,
    x: String,
    metric: &'static str,
    predicted: f64,
    measured: f64,
    error: f64,
}

impl Summary {
    /// Of all figures.
    pub(crate) fn of(sheets: &[Sheet], quick: bool, seeds: u64) -> Self {
        let mut rows: Vec<Claim> =
            sheets.iter().flat_map(|sheet| sheet.claims.iter().cloned()).collect();
        let mut predictions = BTreeMap::new();
        for (model, name) in MODELS.iter().map(ToString::to_string).enumerate() {
            let all: Vec<Comparison> = sheets
                .iter()
                .filter(|sheet| JUDGED.contains(&sheet.file))
                .flat_map(|sheet| comparisons(sheet, model))
                .collect();
            if !all.is_empty() {
                predictions.insert(name, accuracy(&all));
            }
            if model == 0 && !all.is_empty() {
                rows.push(overall(&all));
            }
        }
        Self { paper: "ursa-minor", quick, seeds, rows, predictions }
    }

    /// As one JSON document.
    pub(crate) fn json(&self) -> String {
        crate::output::json(self)
    }

    /// As people read it.
    pub(crate) fn table(&self, directory: &Path) -> String {
        let mut text = table_of_claims(&self.rows);
        let mut models = Table::new();
        models.load_preset(NOTHING);
        models.set_header(["model", "comparisons", "median error", "worst error"]);
        for (name, found) in &self.predictions {
            models.add_row([
                name.clone(),
                found.comparisons.to_string(),
                format!("{:.1} %", 100.0 * found.median_error),
                format!("{:.1} %", 100.0 * found.worst_error),
            ]);
        }
        right(&mut models, 1..=3);
        let _ = writeln!(text, "\nPredictions of Figures 5 to 11\n{}", fitted(&models, 1));
        if let Some(replay) = self.predictions.get("replay") {
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
            let _ = writeln!(text, "\nFarthest off (replay)\n{}", fitted(&worst, 4));
        }
        let _ = writeln!(text, "\nTables and pictures are in {}", directory.display());
        text
    }
}

/// A paper's claims as people read them.
pub(crate) fn table_of_claims(rows: &[Claim]) -> String {
    let mut claims = Table::new();
    claims.load_preset(NOTHING);
    claims.set_header(["", "the paper says", "we find", "holds"]);
    for row in rows {
        let holds = if row.holds { "yes" } else { "NO" };
        claims.add_row([row.figure, row.said, &row.ours, holds]);
    }
    let mut text = format!("{}\n", fitted(&claims, 1));
    for row in rows {
        if let Some(why) = row.why {
            let _ = writeln!(text, "\nNO, {}: {}\n  {why}", row.figure, row.said);
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

fn comparisons(sheet: &Sheet, model: usize) -> impl Iterator<Item = Comparison> {
    sheet.rows.iter().filter_map(move |row| {
        Some(Comparison {
            figure: sheet.file,
            series: row.series.clone(),
            x: row.x.clone(),
            metric: row.metric,
            predicted: row.predicted.get(model)?.mean,
            measured: row.measured.mean,
            error: row.error(model)?,
        })
    })
}

fn errors(all: &[Comparison]) -> (f64, f64) {
    let errors: Vec<f64> = all.iter().map(|found| found.error).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    (median(&errors).unwrap_or(0.0), worst)
}

fn accuracy(all: &[Comparison]) -> Accuracy {
    let (median_error, worst_error) = errors(all);
    let mut by_figure = BTreeMap::new();
    for figure in JUDGED {
        let here: Vec<Comparison> =
            all.iter().filter(|found| found.figure == figure).cloned().collect();
        if here.is_empty() {
            continue;
        }
        let (median_error, worst_error) = errors(&here);
        let found = FigureAccuracy { comparisons: here.len(), median_error, worst_error };
        by_figure.insert(figure, found);
    }
    let mut worst = all.to_vec();
    worst.sort_by(|a, b| b.error.total_cmp(&a.error));
    worst.truncate(SHOWN);
    Accuracy {
        comparisons: all.len(),
        median_error,
        worst_error,
        target_median_error: TARGETS.0,
        target_worst_error: TARGETS.1,
        within_targets: median_error <= TARGETS.0 && worst_error <= TARGETS.1,
        by_figure,
        worst,
    }
}

/// The claim of the paper's first page.
fn overall(all: &[Comparison]) -> Claim {
    let good = all.iter().filter(|found| found.error < ACCEPTED).count();
    let holds = good * 10 >= all.len() * 9;
    Claim::new(
        ("Section I", "predictions are less than 15 % off in almost all cases"),
        (holds, format!("{good} of {} comparisons of Figures 5 to 11", all.len())),
        "the comparisons that are farthest off are told below",
    )
}
