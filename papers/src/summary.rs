//! `summary.json` of Thereska et al. 2006: the paper's claims, and the errors of the predictions.

use foretell_sorted::SortedMap;
use serde::Serialize;

use super::lab::MODELS;
use super::sheet::{Claim, Sheet};
use super::statistics::median;

/// Figures whose predictions are judged together.
const JUDGED: [&str; 7] = ["fig05", "fig06", "fig07", "fig08", "fig09", "fig10", "fig11"];
/// Goals for predictions of the replay: the median error, and the worst error.
const TARGETS: (f64, f64) = (0.03, 0.10);
/// The paper's own goal: "less than 15% error in almost all cases".
const ACCEPTED: f64 = 0.15;
/// Number of the worst comparisons that are shown.
const SHOWN: usize = 10;

/// The results of all figures.
#[derive(Debug, Serialize)]
pub struct Summary {
    paper: &'static str,
    quick: bool,
    /// Runs of each point.
    seeds: u64,
    /// The paper's claims.
    pub rows: Vec<Claim>,
    /// By model: all comparisons of Figures 5 to 11.
    pub predictions: SortedMap<String, Accuracy>,
}

/// The accuracy of a model's predictions.
#[derive(Debug, Serialize)]
pub struct Accuracy {
    /// Points that were predicted.
    pub comparisons: usize,
    /// Median error.
    pub median_error: f64,
    /// The largest error.
    pub worst_error: f64,
    target_median_error: f64,
    target_worst_error: f64,
    within_targets: bool,
    by_figure: SortedMap<&'static str, FigureAccuracy>,
    /// The comparisons with the largest errors.
    pub worst: Vec<Comparison>,
}

#[derive(Debug, Serialize)]
struct FigureAccuracy {
    comparisons: usize,
    median_error: f64,
    worst_error: f64,
}

/// A comparison of a prediction with a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The figure's file.
    pub figure: &'static str,
    /// The line or group of bars.
    pub series: String,
    /// The position on the axis.
    pub x: String,
    /// The metric, with its unit.
    pub metric: &'static str,
    /// The model's prediction.
    pub predicted: f64,
    /// The measured value.
    pub measured: f64,
    /// |predicted - measured| / measured.
    pub error: f64,
}

impl Summary {
    /// The summary of all figures.
    pub(crate) fn of(sheets: &[Sheet], quick: bool, seeds: u64) -> Self {
        let mut rows: Vec<Claim> =
            sheets.iter().flat_map(|sheet| sheet.claims.iter().cloned()).collect();
        let mut predictions = SortedMap::new();
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
        foretell_core::to_json(self)
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
    let mut by_figure = SortedMap::new();
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
    let of_figure = |figure: &str| {
        let off = all.iter().filter(|found| found.figure == figure && found.error >= ACCEPTED);
        off.count()
    };
    let most = JUDGED.iter().map(|figure| (of_figure(figure), figure)).max_by_key(|(off, _)| *off);
    let farthest = most.filter(|(off, _)| 2 * off > all.len() - good);
    let farthest = farthest.map(|(off, figure)| {
        format!("{off} of the {} that are farther off are of {figure}", all.len() - good)
    });
    Claim::new(
        "Section I",
        "predictions are less than 15 % off in almost all cases",
        holds,
        format!("{good} of {} comparisons of Figures 5 to 11", all.len()),
        farthest,
    )
}
