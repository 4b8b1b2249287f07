//! `learn search`, and the ranges of a search.

use std::fmt::Write as _;

use foretell_learn::{SearchRange, SearchSettings, Spec, View, ranges_or_default, tune};
use serde_json::{Map, Value, json};

use super::rows;
use crate::cli::{SearchArguments, SpaceArguments};
use crate::failure::Failure;
use crate::jobs;

/// Settings of the search.
pub(super) fn settings(
    space: &SpaceArguments,
    asked: Option<std::num::NonZeroUsize>,
) -> SearchSettings {
    SearchSettings {
        splits: space.splits.get(),
        explorations: space.explorations.get(),
        iterations: space.iterations,
        least_gain: space.least_gain,
        jobs: jobs::threads(asked),
    }
}

/// The ranges that were asked for, or else the model's default ranges for this number of rows.
pub(super) fn ranges(
    spec: &Spec,
    space: &SpaceArguments,
    rows: usize,
) -> Result<Vec<SearchRange>, Failure> {
    let mut ranges = Vec::new();
    for text in &space.ranges {
        let fault = |what: &str| {
            Failure::Usage(format!("`--range {text}`: {what}, such as `--range nnodes=3..200`"))
        };
        let (name, bounds) =
            text.split_once('=').ok_or_else(|| fault("a name and a range are wanted"))?;
        let (low, high) = bounds.split_once("..").ok_or_else(|| fault("two numbers are wanted"))?;
        let number = |text: &str| {
            text.trim().parse::<f64>().map_err(|_| fault(&format!("`{text}` is not a number")))
        };
        let (low, high) = (number(low)?, number(high)?);
        ranges.push(SearchRange::of(spec, name.trim(), low, high)?);
    }
    Ok(ranges_or_default(spec, ranges, rows)?)
}

/// Searches for the best parameters.
pub(super) fn search(arguments: &SearchArguments) -> Result<String, Failure> {
    let data = rows::dataset(&arguments.data)?;
    let folds = rows::folds(&arguments.folds, &data)?;
    let spec = &arguments.model;
    let ranges = ranges(spec, &arguments.space, data.y.len() - data.y.len() / folds.count())?;
    let settings = settings(&arguments.space, arguments.folds.validation.jobs);
    let view = View::choose(spec, &data, arguments.data.transform_of(spec))?;
    let log_target = view.log_target;
    let tuned = tune(spec, &view.dataset(&data), &folds, log_target, &ranges, &settings)?;
    let found = &tuned.found;
    if arguments.json {
        let named = |point: &[f64]| -> Value {
            let pairs = ranges.iter().zip(point);
            pairs
                .map(|(range, value)| (range.name.clone(), json!(value)))
                .collect::<Map<_, _>>()
                .into()
        };
        let points: Vec<Value> = found
            .evaluated
            .iter()
            .map(|known| json!({ "parameters": named(&known.point), "rmse": known.cost }))
            .collect();
        let document = json!({
            "model": tuned.spec.to_string(),
            "parameters": named(&found.best.point),
            "rmse": found.best.cost,
            "rmse_before": tuned.cost_before,
            "log_target": log_target,
            "iterations": found.iterations,
            "evaluations": points.len(),
            "points": points,
        });
        return Ok(crate::output::json(&document));
    }
    let mut text = String::new();
    let _ = writeln!(text, "best: {}", tuned.spec);
    let unit = if log_target { " of the logarithm" } else { "" };
    let _ = writeln!(
        text,
        "mean RMSE{unit} over {} folds {}, before the search {} ({})",
        folds.count(),
        super::error_size(found.best.cost, 6),
        super::error_size(tuned.cost_before, 6),
        foretell_units::relative_change(found.best.cost / tuned.cost_before - 1.0, 1)
    );
    let _ = writeln!(
        text,
        "{} points in {} iterations; in {}",
        found.evaluated.len(),
        found.iterations,
        ranges
            .iter()
            .map(|range| format!("{} {} to {}", range.name, range.low, range.high))
            .collect::<Vec<_>>()
            .join(", ")
    );
    Ok(text)
}
