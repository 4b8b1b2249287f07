//! `learn evaluate`: errors on rows that models never saw.

use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_files::FileKind;
use foretell_learn::metrics::Scores;
use foretell_learn::{
    Dataset, Evaluation, HeldOut, Interval, IntervalCoverage, Judge, LeftOut, Parts, Spec, View,
};
use foretell_units::Seed;
use serde_json::{Value, json};

use super::rows::Keys;
use super::{keep, rows, space};
use crate::cli::{CrossValidation, DataArguments, EvaluateArguments, training};
use crate::failure::Failure;
use crate::jobs;
use crate::screen::fitted;

/// Percentiles at which the distribution of errors is reported.
const QUANTILES: [f64; 4] = [0.5, 0.75, 0.9, 0.99];

const FILE: FileKind<'_> =
    FileKind::beginning("a table of predictions", "row,").and_saying(",left_out,");

/// Evaluates models.
pub(super) fn evaluate(arguments: &EvaluateArguments) -> Result<String, Failure> {
    foretell_files::check_apart(arguments.predictions.as_deref(), FILE, [&arguments.data.data])?;
    let (data, keys) = {
        let DataArguments { data, split, .. } = &arguments.data;
        rows::dataset_with_keys(&arguments.data, data, split.as_deref(), "train")?
    };
    let parts = rows::parts(&arguments.folds, &data)?;
    let by_part = arguments.folds.validation.cv == Some(CrossValidation::LeaveLevelOut);
    let judge = Judge::new(&data, &parts, arguments.score_above, by_part)?;
    let mut evaluated: Vec<Evaluation> = Vec::new();
    for spec in &arguments.models {
        let held_out = predictions(arguments, spec, &data, &parts)?;
        evaluated.push(Evaluation::of(spec, held_out, &judge, evaluated.first())?);
    }
    if let Some(path) = &arguments.predictions {
        let text = as_csv(&data, &keys, &parts, &evaluated);
        keep::write_file(path, FILE, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(if arguments.json {
        as_json(arguments, &data, &parts, &evaluated)
    } else {
        as_text(arguments, &data, &parts, &evaluated)
    })
}

fn predictions(
    arguments: &EvaluateArguments,
    spec: &Spec,
    data: &Dataset,
    parts: &Parts,
) -> Result<HeldOut, Failure> {
    let jobs = jobs::threads(arguments.folds.validation.jobs);
    if !arguments.search {
        let intervals = arguments.intervals.then_some(&arguments.how);
        let training = training(&arguments.data, spec, intervals);
        return Ok(HeldOut::of(spec, data, parts, &training, jobs)?);
    }
    if arguments.intervals || arguments.folds.validation.cv == Some(CrossValidation::LeaveLevelOut)
    {
        let message = "`--search` goes with folds, and without `--intervals`";
        return Err(Failure::Usage(message.to_owned()));
    }
    // report a wrong range before the work begins
    space::ranges(spec, &arguments.space, data.y.len())?;
    let folds = rows::folds(&arguments.folds, data)?;
    Ok(HeldOut::searched(
        spec,
        data,
        &folds,
        arguments.data.transform_of(spec),
        |rows| space::ranges(spec, &arguments.space, rows).unwrap_or_default(),
        &space::settings(&arguments.space, arguments.folds.validation.jobs),
        Seed(arguments.folds.validation.seed),
    )?)
}

/// One line for each prediction, in the order of the rows.
fn as_csv(data: &Dataset, keys: &Keys, parts: &Parts, evaluated: &[Evaluation]) -> String {
    let header: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = format!("{},left_out,{}", header.join(","), data.target);
    for model in evaluated {
        let name = keep::quoted(&model.spec.to_string());
        let _ = write!(text, ",{name}");
        if model.coverage.is_some() {
            let _ = write!(text, ",low,high");
        }
    }
    text.push('\n');
    let count = evaluated.first().map_or(0, |model| model.held_out.rows.len());
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&place| (evaluated[0].held_out.rows[place].row, place));
    for place in order {
        let LeftOut { row, part, .. } = evaluated[0].held_out.rows[place];
        for (_, cells) in keys {
            let _ = write!(text, "{},", keep::quoted(&cells[row]));
        }
        let _ = write!(text, "{},{}", keep::quoted(&parts.0[part].name), data.y[row]);
        for model in evaluated {
            let left = &model.held_out.rows[place];
            let _ = write!(text, ",{}", left.predicted);
            if let Some(Interval { low, high }) = left.interval {
                let _ = write!(text, ",{low},{high}");
            }
        }
        text.push('\n');
    }
    text
}

/// Coverage as JSON; for each tenth, whether a coverage of 85 % would be rejected at the 1 % level.
pub(super) fn coverage_json(coverage: &IntervalCoverage, level: f64) -> Value {
    let tenths: Vec<Value> = coverage
        .by_decile
        .iter()
        .map(|(rows, share)| {
            json!({
                "rows": rows,
                "coverage_percent": 100.0 * share,
                "p_value_at_85_percent": IntervalCoverage::probability(*rows, *share, 0.85),
            })
        })
        .collect();
    json!({
        "level_percent": level,
        "coverage_percent": 100.0 * coverage.all,
        "by_decile_of_prediction": tenths,
        "median_high_over_low": coverage.median_ratio,
        "median_width": coverage.median_width,
    })
}

/// Coverage as a line of text.
pub(super) fn coverage_text(coverage: &IntervalCoverage, level: f64) -> String {
    let tenths: Vec<String> =
        coverage.by_decile.iter().map(|(_, share)| format!("{:.0}", 100.0 * share)).collect();
    let width = coverage.median_ratio.map_or_else(
        || format!("median width {:.4}", coverage.median_width),
        |ratio| format!("median high / low {ratio:.3}"),
    );
    let all = 100.0 * coverage.all;
    format!(
        "{level} % intervals cover {all:.1} % of the rows; by decile of the prediction {}; {width}",
        tenths.join(" ")
    )
}

fn as_json(
    arguments: &EvaluateArguments,
    data: &Dataset,
    parts: &Parts,
    evaluated: &[Evaluation],
) -> String {
    let models: Vec<Value> = evaluated
        .iter()
        .map(|model| {
            let searches: Vec<Value> = model
                .held_out
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
                "mae": model.scores.mae,
                "mape_percent": model.scores.mape_percent,
                "median_ape_percent": model.scores.median_ape_percent,
                "wape_percent": model.scores.wape_percent,
                "accuracy_percent": model.scores.accuracy_percent(),
                "r2": model.scores.r2,
                "rows_scored": model.scores.rows,
                "ape_percent_quantiles": quantiles(model).map(|quantiles| json!(quantiles)),
            });
            let views: Vec<String> = model.held_out.views.iter().map(View::describe).collect();
            if views.iter().any(|view| !view.is_empty()) {
                document["views"] = json!(views);
            }
            if let Some(coverage) = &model.coverage {
                document["intervals"] = coverage_json(coverage, arguments.how.level);
            }
            if !model.by_part.is_empty() {
                let of_part = |(name, scores): &(String, Scores)| json!({ "left_out": name, "errors": scores });
                document["by_level"] = model.by_part.iter().map(of_part).collect();
            }
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
        "folds": parts.0.len(),
        "models": models,
    });
    if let Some(groups) = data.count_groups() {
        document["groups"] = json!(groups);
    }
    let notes = rows::caveats(data, Some(parts));
    if !notes.is_empty() {
        document["notes"] = json!(notes);
    }
    crate::output::json(&document)
}

/// Percentiles of the absolute relative errors, in percent.
fn quantiles(model: &Evaluation) -> Option<serde_json::Map<String, Value>> {
    let ecdf = model.relative.as_ref()?;
    let pair = |share: &f64| {
        (format!("p{}", (share * 100.0).round()), json!(ecdf.quantile(*share).map(|e| 100.0 * e)))
    };
    Some(QUANTILES.iter().map(pair).collect())
}

fn as_text(
    arguments: &EvaluateArguments,
    data: &Dataset,
    parts: &Parts,
    evaluated: &[Evaluation],
) -> String {
    let mut text = format!(
        "{}: {} rows{}, {} features, {} folds; target `{}`{}{}\n\n",
        arguments.data.data.display(),
        data.y.len(),
        data.count_groups().map_or_else(String::new, |groups| format!(" in {groups} groups")),
        data.schema.features.len(),
        parts.0.len(),
        data.target,
        if arguments.data.log_target { ", learned as its logarithm" } else { "" },
        if arguments.search { ", parameters searched inside each fold's other rows" } else { "" },
    );
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header([
        "model",
        "RMSE",
        "MAE",
        "MAPE %",
        "accuracy %",
        "median error %",
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
        let Scores { rmse, mae, mape_percent, median_ape_percent, r2, .. } = model.scores;
        table.add_row([
            model.spec.to_string(),
            super::error_size(rmse, 4),
            super::error_size(mae, 4),
            number(mape_percent, 2),
            number(model.scores.accuracy_percent(), 2),
            number(median_ape_percent, 2),
            number(r2, 4),
            model.against_first.as_ref().map_or_else(String::new, |t| format!("{:.2e}", t.p_value)),
        ]);
    }
    text += &fitted(&table, 1);
    text.push('\n');
    for note in rows::caveats(data, Some(parts)) {
        let _ = write!(text, "\n{}", crate::output::note(&note));
    }
    for model in evaluated {
        if let Some(coverage) = &model.coverage {
            let _ = writeln!(
                text,
                "\n{}: {}",
                model.spec,
                coverage_text(coverage, arguments.how.level)
            );
        }
        if let Some(view) = usual_view(model) {
            let _ = writeln!(text, "\n{} learned from {view}", model.spec);
        }
        if !model.by_part.is_empty() {
            let _ = writeln!(text, "\n{} on levels left out:", model.spec);
        }
        for (name, scores) in &model.by_part {
            let (rows, rmse, mae) = (scores.rows, scores.rmse, scores.mae);
            let relative = number(scores.mape_percent, 2);
            let _ = writeln!(
                text,
                "  {name}: {rows} rows, MAPE {relative} %, MAE {mae:.4}, RMSE {rmse:.4}"
            );
        }
    }
    for model in evaluated.iter().filter(|model| !model.held_out.searches.is_empty()) {
        let _ = writeln!(text, "\nfound for {}:", model.spec);
        for (fold, tuned) in model.held_out.searches.iter().enumerate() {
            let points = tuned.found.evaluated.len();
            let _ = writeln!(text, "  fold {fold}: {} ({points} points)", tuned.spec);
        }
    }
    text
}

/// The transform of inputs and target that most of a model's parts used.
fn usual_view(model: &Evaluation) -> Option<String> {
    let (view, count) = model.usual_view()?;
    let parts = model.held_out.views.len();
    Some(if count == parts { view } else { format!("{view} (in {count} of {parts} parts)") })
}
