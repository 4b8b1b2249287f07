//! `learn explain`: which features matter, how the prediction depends on them, and how errors fall with
//! more rows.

use std::fmt::Write as _;

use foretell_files::{Directory, Purpose};
use foretell_input::one_line;
use foretell_learn::metrics::Scores;
use foretell_learn::{Dependence, Explanation, Importance, Learned};
use foretell_pictures::{Chart, draw};
use foretell_units::Seed;
use serde_json::{Value, json};

use super::rows;
use crate::cli::{ExplainArguments, training};
use crate::failure::Failure;
use crate::jobs;

/// Explains a model.
pub(super) fn explain(arguments: &ExplainArguments) -> Result<String, Failure> {
    let asked = &arguments.data;
    // check the output first, as the work may take an hour
    let inputs = [asked.data.as_path()];
    let purpose = Purpose::of("learn explain").reading(&inputs);
    let pictures = arguments.pictures.as_deref();
    pictures.map_or(Ok(()), |path| Directory::may_take(path, purpose))?;
    let data = rows::dataset(asked)?;
    let parts = rows::parts(&arguments.folds, &data)?;
    let spec = &arguments.model;
    let how = training(asked, spec, None);
    let seed = Seed(arguments.folds.validation.seed);
    let threads = jobs::threads(arguments.folds.validation.jobs);
    let features = &arguments.feature;
    let found = Explanation::of(spec, &data, &parts, &how, features, seed, threads)?;
    if let Some(path) = pictures {
        let directory = &Directory::take(path, purpose)?;
        let mut chart = Chart::bars("importance", "Permutation importance", "", "RMSE ratio");
        let heights: Vec<(&str, f64)> =
            found.importances.iter().map(|of| (of.feature.as_str(), of.rmse_ratio)).collect();
        chart.bar(spec.to_string(), &heights);
        draw(directory, "importance", &chart)?;
        let mut chart = Chart::lines("curve", "Learning curve", "rows", "RMSE");
        let points: Vec<(f64, f64)> =
            found.curve.iter().map(|of| (of.rows as f64, of.errors.rmse)).collect();
        chart.line(spec.to_string(), &points);
        draw(directory, "learning-curve", &chart)?;
        for (feature, of_feature) in &found.dependences {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let name = format!("dependence-{}", feature.chars().map(plain).collect::<String>());
            draw(directory, &name, &picture(feature, &data.target, of_feature))?;
        }
    }
    Ok(if arguments.json {
        as_json(&spec.to_string(), &data.target, &found)
    } else {
        as_text(&spec.to_string(), &data.target, &found)
    })
}

fn picture(feature: &str, target: &str, of_feature: &[Dependence]) -> Chart {
    let title = format!("Mean prediction of {target} by {feature}");
    let points: Option<Vec<(f64, f64)>> =
        of_feature.iter().map(|of| of.number.map(|number| (number, of.mean))).collect();
    if let Some(points) = points {
        let mut chart = Chart::lines("dependence", title, "value", "mean prediction");
        chart.line("mean", &points);
        let ends = |end: fn(&Dependence) -> f64| -> Vec<(f64, f64)> {
            points.iter().zip(of_feature).map(|((x, _), of)| (*x, end(of))).collect()
        };
        chart.line("a tenth of the rows below", &ends(|of| of.tenths.0));
        chart.line("a tenth of the rows above", &ends(|of| of.tenths.1));
        return chart;
    }
    let mut chart = Chart::bars("dependence", title, "", "mean prediction");
    let heights: Vec<(&str, f64)> =
        of_feature.iter().map(|of| (of.value.as_str(), of.mean)).collect();
    chart.bar("mean", &heights);
    chart
}

fn as_json(model: &str, target: &str, found: &Explanation) -> String {
    let Explanation { importances, dependences, curve } = found;
    let dependences: Vec<Value> = dependences
        .iter()
        .map(|(feature, places)| json!({ "feature": feature, "places": places }))
        .collect();
    let document = json!({
        "model": model,
        "target": target,
        "importance": importances,
        "dependence": dependences,
        "learning_curve": curve,
    });
    crate::output::json(&document)
}

fn as_text(model: &str, target: &str, found: &Explanation) -> String {
    let Explanation { importances, dependences, curve } = found;
    let percent =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let mut text = format!(
        "{model} for `{}`\n\nerror on rows left out when a feature is shuffled\n",
        one_line(target)
    );
    for Importance { feature, rmse_ratio, mape_points } in importances {
        let feature = one_line(feature);
        let points = percent(*mape_points);
        let _ =
            writeln!(text, "  {feature:<28} RMSE x {rmse_ratio:.3}, MAPE {points:>8} points more");
    }
    for (feature, places) in dependences {
        let feature = one_line(feature);
        let _ =
            writeln!(text, "\nmean prediction by `{feature}` (a tenth of the rows below, above)");
        for Dependence { value, mean, tenths, share, .. } in places {
            let (low, high, share) = (tenths.0, tenths.1, 100.0 * share);
            let _ = writeln!(
                text,
                "  {value:<16} {mean:>14.4} ({low:.4}, {high:.4}); {share:.0} % of the rows are near"
            );
        }
    }
    text.push_str("\nerrors on rows left out, of models of fewer rows\n");
    for Learned { rows, errors: Scores { rmse, mae, mape_percent, .. } } in curve {
        let relative = percent(*mape_percent);
        let _ = writeln!(text, "  {rows:>8} rows: RMSE {rmse:.4}, MAE {mae:.4}, MAPE {relative} %");
    }
    text
}
