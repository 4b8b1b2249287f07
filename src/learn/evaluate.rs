//! `learn evaluate`: errors on rows that models never saw.

use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_learn::metrics::{Ecdf, Scores, TTest, paired_t_test, relative_errors};
use foretell_learn::{Dataset, Folds, Spec, Tuned, out_of_fold, tuned_out_of_fold};
use foretell_units::Seed;
use serde_json::{Value, json};

use super::{keep, rows, space};
use crate::cli::EvaluateArguments;
use crate::failure::Failure;
use crate::jobs;
use crate::screen::fitted;

/// Folds inside the rows that a fold leaves to learn from.
const INNER_FOLDS: usize = 10;
/// Shares of the rows at which the distribution of errors is told.
const QUANTILES: [f64; 4] = [0.5, 0.75, 0.9, 0.99];

/// One model's predictions.
struct Evaluated {
    spec: Spec,
    predicted: Vec<f64>,
    searches: Vec<Tuned>,
    scores: Scores,
    /// Its relative errors; `None` where a true value is 0.
    relative: Option<Ecdf>,
    /// Its absolute errors against those of the first model.
    against_first: Option<TTest>,
}

/// Evaluates models.
pub(super) fn evaluate(arguments: &EvaluateArguments) -> Result<String, Failure> {
    arguments.predictions.as_deref().map_or(Ok(()), foretell_files::check)?;
    let data = rows::dataset(&arguments.data)?;
    let folds = rows::folds(&arguments.folds, &data)?;
    let rows = scored(arguments, &data)?;
    let of_rows = |values: &[f64]| -> Vec<f64> { rows.iter().map(|&row| values[row]).collect() };
    let truth = of_rows(&data.y);
    let mut evaluated: Vec<Evaluated> = Vec::new();
    for spec in &arguments.models {
        let (predicted, searches) = predictions(arguments, spec, &data, &folds)?;
        let errors = |predicted: &[f64]| -> Vec<f64> {
            let pairs = truth.iter().zip(of_rows(predicted));
            pairs.map(|(y, predicted)| (y - predicted).abs()).collect()
        };
        let against_first = evaluated
            .first()
            .and_then(|first| paired_t_test(&errors(&predicted), &errors(&first.predicted)).ok());
        let scores = Scores::of(&truth, &of_rows(&predicted))?;
        let relative = relative_errors(&truth, &of_rows(&predicted)).map(Ecdf::new);
        let spec = spec.clone();
        evaluated.push(Evaluated { spec, predicted, searches, scores, relative, against_first });
    }
    if let Some(path) = &arguments.predictions {
        keep::write_file(path, |file| file.write_all(as_csv(&data, &evaluated).as_bytes()))?;
    }
    Ok(if arguments.json {
        as_json(arguments, &data, &folds, &evaluated)
    } else {
        as_text(arguments, &data, &folds, &evaluated)
    })
}

/// The rows whose errors are told.
fn scored(arguments: &EvaluateArguments, data: &Dataset) -> Result<Vec<usize>, Failure> {
    let least = arguments.score_above.unwrap_or(f64::NEG_INFINITY);
    let scored: Vec<usize> = (0..data.y.len()).filter(|&row| data.y[row] > least).collect();
    if scored.len() < 2 {
        let (target, count) = (&data.target, scored.len());
        let told = format!("{count} rows have a `{target}` above {least}; two are needed at least");
        return Err(Failure::Usage(told));
    }
    Ok(scored)
}

fn predictions(
    arguments: &EvaluateArguments,
    spec: &Spec,
    data: &Dataset,
    folds: &Folds,
) -> Result<(Vec<f64>, Vec<Tuned>), Failure> {
    let log_target = arguments.data.log_target;
    let jobs = jobs::threads(arguments.folds.jobs);
    if !arguments.search {
        return Ok((out_of_fold(spec, data, folds, log_target, jobs)?, Vec::new()));
    }
    // a wrong range is told before the work begins
    space::ranges(spec, &arguments.space, data.y.len())?;
    let tuned = tuned_out_of_fold(
        spec,
        data,
        folds,
        log_target,
        |rows| {
            let part = rows - rows / INNER_FOLDS;
            space::ranges(spec, &arguments.space, part).unwrap_or_default()
        },
        &space::settings(&arguments.space, arguments.folds.jobs),
        (INNER_FOLDS, Seed(arguments.folds.seed)),
    )?;
    Ok((tuned.predicted, tuned.searches))
}

fn as_csv(data: &Dataset, evaluated: &[Evaluated]) -> String {
    let mut text = format!("row,{}", data.target);
    for model in evaluated {
        let _ = write!(text, ",\"{}\"", model.spec);
    }
    text.push('\n');
    for (row, y) in data.y.iter().enumerate() {
        let _ = write!(text, "{row},{y}");
        for model in evaluated {
            let _ = write!(text, ",{}", model.predicted[row]);
        }
        text.push('\n');
    }
    text
}

fn as_json(
    arguments: &EvaluateArguments,
    data: &Dataset,
    folds: &Folds,
    evaluated: &[Evaluated],
) -> String {
    let models: Vec<Value> = evaluated
        .iter()
        .map(|model| {
            let searches: Vec<Value> = model
                .searches
                .iter()
                .map(|tuned| {
                    json!({
                        "model": tuned.spec.to_string(),
                        "rmse": tuned.found.best.cost,
                        "rmse_before": tuned.cost_before,
                        "evaluations": tuned.found.evaluated.len(),
                    })
                })
                .collect();
            let mut document = json!({
                "model": model.spec.to_string(),
                "rmse": model.scores.rmse,
                "mape_percent": model.scores.mape_percent,
                "median_ape_percent": model.scores.median_ape_percent,
                "accuracy_percent": model.scores.accuracy_percent(),
                "r2": model.scores.r2,
                "rows_scored": model.scores.rows,
                "ape_percent_quantiles": quantiles(model).map(|quantiles| json!(quantiles)),
            });
            if arguments.search {
                document["searches"] = json!(searches);
            }
            if let Some(test) = &model.against_first {
                document["against_first"] = json!(test);
            }
            document
        })
        .collect();
    let mut document = json!({
        "data": arguments.data.data.display().to_string(),
        "target": data.target,
        "log_target": arguments.data.log_target,
        "rows": data.y.len(),
        "folds": folds.count(),
        "models": models,
    });
    if let Some(groups) = data.count_groups() {
        document["groups"] = json!(groups);
    }
    let notes = rows::caveats(data, Some(folds));
    if !notes.is_empty() {
        document["notes"] = json!(notes);
    }
    format!("{document:#}\n")
}

/// Absolute relative errors in percent that so many of the rows do not exceed.
fn quantiles(model: &Evaluated) -> Option<serde_json::Map<String, Value>> {
    let ecdf = model.relative.as_ref()?;
    let pair = |share: &f64| {
        (format!("p{}", (share * 100.0).round()), json!(ecdf.quantile(*share).map(|e| 100.0 * e)))
    };
    Some(QUANTILES.iter().map(pair).collect())
}

fn as_text(
    arguments: &EvaluateArguments,
    data: &Dataset,
    folds: &Folds,
    evaluated: &[Evaluated],
) -> String {
    let mut text = format!(
        "{}: {} rows{}, {} features, {} folds; target `{}`{}{}\n\n",
        arguments.data.data.display(),
        data.y.len(),
        data.count_groups().map_or_else(String::new, |groups| format!(" in {groups} groups")),
        data.schema.features.len(),
        folds.count(),
        data.target,
        if arguments.data.log_target { ", learned as its logarithm" } else { "" },
        if arguments.search { ", parameters searched inside each fold's other rows" } else { "" },
    );
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header([
        "model",
        "RMSE",
        "MAPE %",
        "accuracy %",
        "median %",
        "R²",
        "p against the first",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for model in evaluated {
        let Scores { rmse, mape_percent, median_ape_percent, r2, .. } = model.scores;
        table.add_row([
            model.spec.to_string(),
            format!("{rmse:.4}"),
            number(mape_percent, 2),
            number(model.scores.accuracy_percent(), 2),
            number(median_ape_percent, 2),
            number(r2, 4),
            model.against_first.as_ref().map_or_else(String::new, |t| format!("{:.2e}", t.p_value)),
        ]);
    }
    text += &fitted(&table, 1);
    text.push('\n');
    for note in rows::caveats(data, Some(folds)) {
        let _ = writeln!(text, "\nnote: {note}");
    }
    for model in evaluated.iter().filter(|model| !model.searches.is_empty()) {
        let _ = writeln!(text, "\nfound for {}:", model.spec);
        for (fold, tuned) in model.searches.iter().enumerate() {
            let points = tuned.found.evaluated.len();
            let _ = writeln!(text, "  fold {fold}: {} ({points} points)", tuned.spec);
        }
    }
    text
}
