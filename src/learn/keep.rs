//! `learn train`, `learn predict`, `learn show`.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

use foretell_files::{FileKind, NewFile};
use foretell_learn::metrics::Scores;
use foretell_learn::{FeatureRange, Gp, Interval, Model, Outside, Trained};
use serde_json::{Value, json};

use super::rows;
use crate::cli::{PredictArguments, ShowArguments, TrainArguments, training};
use crate::failure::{Failure, note};

/// Saved models are JSON.
const MODEL: FileKind<'_> =
    FileKind::beginning("a saved model", "{\"format\":").and_saying("\"spec\":");
/// The first column is the number of the row.
const PREDICTIONS: FileKind<'_> = FileKind::beginning(PREDICTIONS_NAME, "row,");
const PREDICTIONS_NAME: &str = "a table of these predictions";
/// The name of the column of predictions, as in the tables of `learn score`. The target's own name is that of true
/// values, which the same table may have as a key.
const PREDICTED: &str = "predicted";

/// Fits a model to all rows.
pub(super) fn train(arguments: &TrainArguments) -> Result<String, Failure> {
    // check the output first, as the work may take an hour
    foretell_files::check_apart(arguments.output.as_deref(), MODEL, [&arguments.data.data])?;
    let data = rows::dataset(&arguments.data)?;
    let intervals = (!arguments.no_intervals).then_some(&arguments.intervals);
    let training = training(&arguments.data, &arguments.model, intervals);
    let trained = Trained::fit(&arguments.model, &data, &training)?;
    if let Some(path) = &arguments.output {
        write_file(path, MODEL, |file| trained.save(file))?;
    }
    let scores = Scores::of(&data.y, &trained.predict(&data.x))?;
    let description = trained.describe();
    if arguments.json {
        let mut document = json!({
            "model": trained.spec.to_string(),
            "target": trained.target,
            "log_target": trained.view.log_target,
            "inputs": trained.input_names(),
            "rows": trained.rows,
            "fitted": scores,
            "description": description,
        });
        if let Model::Gp(gp) = &trained.model {
            document["log_marginal_likelihood"] = json!(gp.log_marginal_likelihood);
            document["gaussian_process"] = process(gp, &trained.input_names());
        }
        let notes = rows::caveats(&data, None);
        if !notes.is_empty() {
            document["notes"] = json!(notes);
        }
        return Ok(crate::output::json(&document));
    }
    let mut text = description;
    let _ = writeln!(
        text,
        "\non these rows: RMSE {}, MAE {}{}",
        super::error_size(scores.rmse, 6),
        super::error_size(scores.mae, 6),
        relative(&scores)
    );
    text.extend(rows::caveats(&data, None).iter().map(|text| crate::output::note(text)));
    Ok(text)
}

/// The parameters needed to build the same Gaussian process in another program.
pub(super) fn process(gp: &Gp, names: &[String]) -> Value {
    let names = gp.input_names(names);
    let at = &gp.hyperparameters;
    let input = |((name, unit), scale): ((&String, &foretell_learn::Unit), &f64)| {
        json!({
            "name": name,
            "mean": unit.mean,
            "deviation": unit.deviation,
            "length_scale": scale,
        })
    };
    let inputs: Vec<Value> =
        names.iter().zip(&gp.inputs).zip(&at.length_scales).map(input).collect();
    json!({
        "kernel": gp.kernel,
        "signal_variance": at.signal_variance,
        "noise_variance": at.noise_variance,
        "linear_variance": at.linear_variance,
        "inputs": inputs,
        "target": { "mean": gp.target.mean, "deviation": gp.target.deviation },
        "log_marginal_likelihood": gp.log_marginal_likelihood,
        "likelihood_rows": gp.likelihood_rows,
    })
}

fn relative(scores: &Scores) -> String {
    let mut text = String::new();
    if let Some(mape) = scores.mape_percent {
        let _ = write!(text, ", MAPE {mape:.2} %");
    }
    if let Some(r2) = scores.r2 {
        let _ = write!(text, ", R² {r2:.4}");
    }
    text
}

/// Predicts a table's rows.
pub(super) fn predict(arguments: &PredictArguments) -> Result<String, Failure> {
    let inputs = [&arguments.data, &arguments.model];
    foretell_files::check_apart(arguments.output.as_deref(), PREDICTIONS, inputs)?;
    let trained = load(&arguments.model)?;
    let factors: Vec<String> = trained
        .schema
        .features
        .iter()
        .filter(|feature| feature.levels.is_some())
        .map(|feature| feature.name.clone())
        .collect();
    let split = arguments.split.as_deref();
    let (table, keys) = rows::features(&arguments.data, &factors, split, &arguments.key)?;
    let x = trained.encode(&table)?;
    note_outside(&trained.outside(&x));
    let predicted = trained.predict(&x);
    if let Some(row) = predicted.iter().position(|value| !value.is_finite()) {
        return Err(Failure::Usage(format!(
            "row {} of `{}` is so far outside the training rows that its prediction is not finite",
            row + 1,
            arguments.data.display()
        )));
    }
    let level = arguments.level.map(|level| level / 100.0);
    let intervals = trained.predict_intervals(&x, level);
    if level.is_some() && intervals.is_none() {
        let message = format!("`{}` was trained without intervals", arguments.model.display());
        return Err(Failure::Usage(message));
    }
    if arguments.json {
        let of = |end: fn(&Interval) -> f64| -> Option<Vec<f64>> {
            intervals.as_ref().map(|all| all.iter().map(end).collect())
        };
        let mut document = json!({
            "target": trained.target,
            "keys": keys.iter().cloned().collect::<foretell_sorted::SortedMap<_, _>>(),
            "predictions": predicted,
            "low": of(|interval| interval.low),
            "high": of(|interval| interval.high),
        });
        if let Some(intervals) = &trained.intervals {
            document["level_percent"] = json!(100.0 * level.unwrap_or(intervals.level));
        }
        if let Some(deviations) = trained.deviations(&x) {
            document["sigma"] = json!(deviations);
            document["sigma_of_logarithm"] = json!(trained.view.log_target);
        }
        return Ok(crate::output::json(&document));
    }
    let header: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = format!("{},{PREDICTED}", header.join(","));
    text.push_str(if intervals.is_some() { ",low,high\n" } else { "\n" });
    for (row, value) in predicted.iter().enumerate() {
        for (_, cells) in &keys {
            let _ = write!(text, "{},", quoted(&cells[row]));
        }
        let _ = write!(text, "{value}");
        if let Some(Interval { low, high }) = intervals.as_ref().map(|all| all[row]) {
            let _ = write!(text, ",{low},{high}");
        }
        text.push('\n');
    }
    match &arguments.output {
        None => Ok(text),
        Some(path) => {
            // fold files, for one, begin with the row, too
            let head = text.lines().next().unwrap_or_default();
            let head = head.strip_suffix(",low,high").unwrap_or(head);
            let kind = FileKind::beginning(PREDICTIONS_NAME, head);
            write_file(path, kind, |file| file.write_all(text.as_bytes()))?;
            Ok(format!(
                "{} predictions of `{}` in `{}`\n",
                predicted.len(),
                trained.target,
                path.display()
            ))
        }
    }
}

/// Maximum number of notes on values outside the training rows.
const MAX_OUTSIDE: usize = 3;

/// Notes on values for which the model extrapolates.
fn note_outside(outside: &[Outside<'_>]) {
    let (first, others) = outside.split_at(outside.len().min(MAX_OUTSIDE));
    for Outside { row, value, range: FeatureRange { name, low, high } } in first {
        let row = row + 1;
        note(&format!(
            "row {row}: `{name}` = {} is outside the training rows ({low} to {high})",
            foretell_input::shown(*value)
        ));
    }
    match others.len() {
        0 => {}
        1 => note("1 more value is outside the training rows"),
        more => note(&format!("{more} more values are outside the training rows")),
    }
}

/// A cell of a table of comma-separated values.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Shows a model.
pub(super) fn show(arguments: &ShowArguments) -> Result<String, Failure> {
    Ok(load(&arguments.model)?.describe())
}

fn load(path: &Path) -> Result<Trained, Failure> {
    let fault = |error| Failure::Usage(format!("`{}`: {error}", path.display()));
    Trained::load(rows::open(path)?).map_err(fault)
}

/// Writes a file, either completely or not at all.
pub(super) fn write_file(
    path: &Path,
    kind: FileKind<'_>,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let mut file = BufWriter::new(NewFile::begin(path, kind)?);
    let failed = |error| Failure::file("write", path)(error);
    write(&mut file).map_err(failed)?;
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    Ok(file.commit()?)
}
