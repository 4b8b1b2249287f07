//! `learn train`, `learn predict`, `learn show`.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

use foretell_files::NewFile;
use foretell_learn::Trained;
use foretell_learn::metrics::Scores;
use serde_json::json;

use super::rows;
use crate::cli::{PredictArguments, ShowArguments, TrainArguments};
use crate::failure::Failure;

/// Fits a model to all rows.
pub(super) fn train(arguments: &TrainArguments) -> Result<String, Failure> {
    // not after an hour
    arguments.output.as_deref().map_or(Ok(()), foretell_files::check)?;
    let data = rows::dataset(&arguments.data)?;
    let trained = Trained::fit(&arguments.model, &data, arguments.data.log_target)?;
    if let Some(path) = &arguments.output {
        write_file(path, |file| trained.save(file))?;
    }
    let scores = Scores::of(&data.y, &trained.predict(&data.x))?;
    let description = trained.describe();
    if arguments.json {
        let mut document = json!({
            "model": trained.spec.to_string(),
            "target": trained.target,
            "log_target": trained.log_target,
            "rows": trained.rows,
            "fitted": scores,
            "description": description,
        });
        let notes = rows::caveats(&data, None);
        if !notes.is_empty() {
            document["notes"] = json!(notes);
        }
        return Ok(format!("{document:#}\n"));
    }
    let mut text = description;
    let _ = writeln!(text, "\non these rows: RMSE {:.6}{}", scores.rmse, relative(&scores));
    for note in rows::caveats(&data, None) {
        let _ = writeln!(text, "note: {note}");
    }
    Ok(text)
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
    arguments.output.as_deref().map_or(Ok(()), foretell_files::check)?;
    let trained = load(&arguments.model)?;
    let factors: Vec<String> = trained
        .schema
        .features
        .iter()
        .filter(|feature| feature.levels.is_some())
        .map(|feature| feature.name.clone())
        .collect();
    let table = rows::features(&arguments.data, &factors, arguments.split.as_deref())?;
    let predicted = trained.predict_table(&table)?;
    if arguments.json {
        let document = json!({ "target": trained.target, "predictions": predicted });
        return Ok(format!("{document:#}\n"));
    }
    let mut text = format!("{}\n", trained.target);
    for value in &predicted {
        let _ = writeln!(text, "{value}");
    }
    match &arguments.output {
        None => Ok(text),
        Some(path) => {
            write_file(path, |file| file.write_all(text.as_bytes()))?;
            Ok(format!(
                "{} predictions of `{}` in `{}`\n",
                predicted.len(),
                trained.target,
                path.display()
            ))
        }
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

/// Writes a file whole or not at all.
pub(super) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let mut file = BufWriter::new(NewFile::begin(path)?);
    let failed = |error| Failure::file("write", path)(error);
    write(&mut file).map_err(failed)?;
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    Ok(file.commit()?)
}
