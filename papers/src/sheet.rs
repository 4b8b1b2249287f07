//! The sheet of a figure: a table, pictures, and the paper's claims with their results.

use std::fmt::Write as _;

use foretell_files::Directory;
use foretell_pictures::{Chart, draw};
use foretell_sim::truth::Truth;
use foretell_whatif::Answer;
use serde::Serialize;

use super::lab::{MODELS, Results};
use super::plan::Setup;
use super::statistics::Spread;
use crate::error::Error;

/// A point of a figure: measured, and predicted if it was asked about.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The line or group of bars.
    pub(crate) series: String,
    /// The position on the axis.
    pub(crate) x: String,
    /// The metric, with its unit.
    pub(crate) metric: &'static str,
    /// The measured value.
    pub(crate) measured: Spread,
    /// Predictions by model; empty if nothing is predicted.
    pub(crate) predicted: Vec<Spread>,
}

impl Row {
    /// |predicted - measured| / measured, of the means; 0 where both are 0.
    pub(crate) fn error(&self, model: usize) -> Option<f64> {
        let predicted = self.predicted.get(model)?.mean;
        let measured = self.measured.mean;
        let difference = (predicted - measured).abs();
        Some(if difference > 0.0 { difference / measured } else { 0.0 })
    }
}

/// A claim of the paper beside our result.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// `Fig. 7`.
    pub figure: &'static str,
    /// The paper's statement.
    #[serde(rename = "claim")]
    pub statement: &'static str,
    /// Our result.
    pub ours: String,
    /// Whether our result agrees.
    pub holds: bool,
    /// The reason if it does not agree: shown by figures of this run, or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Shares that differ by less than this are close to each other.
const NEAR_SHARES: f64 = 0.02;

/// The reason if no figure of the run shows one.
pub(crate) const NOT_KNOWN: &str = "why is not known";

impl Claim {
    /// A claim with our result. `why` is the reason if it does not hold, only where figures of this run show
    /// it.
    pub(crate) fn new(
        figure: &'static str,
        statement: &'static str,
        holds: bool,
        ours: String,
        why: Option<String>,
    ) -> Self {
        let why = (!holds).then(|| why.unwrap_or_else(|| NOT_KNOWN.to_owned()));
        Self { figure, statement, ours, holds, why }
    }
}

/// A figure.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// Name of its files, without ending.
    pub(crate) file: &'static str,
    /// What it shows.
    pub(crate) title: &'static str,
    /// Its points.
    pub(crate) rows: Vec<Row>,
    /// The paper's claims about it, with their results.
    pub(crate) claims: Vec<Claim>,
    /// Names of the predictors, in the order of [`Row::predicted`].
    predictors: Vec<String>,
    charts: Vec<Chart>,
}

impl Sheet {
    /// An empty sheet; predictions are those of the models.
    pub(crate) fn new(file: &'static str, title: &'static str) -> Self {
        Self::predicted_by(file, title, MODELS.iter().map(ToString::to_string).collect())
    }

    /// An empty sheet with predictions by these predictors.
    pub(crate) fn predicted_by(
        file: &'static str,
        title: &'static str,
        predictors: Vec<String>,
    ) -> Self {
        let (rows, claims, charts) = (Vec::new(), Vec::new(), Vec::new());
        Self { file, title, rows, claims, predictors, charts }
    }

    /// Adds a measured point. If `from` is given, the point is also predicted from that cluster's records.
    pub(crate) fn point(
        &mut self,
        results: &Results,
        (series, x): (&str, impl ToString),
        metric: &'static str,
        (from, to): (Option<&Setup>, &Setup),
        (answered, measured): (impl Fn(&Answer) -> f64, impl Fn(&Truth) -> f64),
    ) -> &Row {
        let measured = Spread::of(&results.truths(to, measured));
        let predict = |from| {
            let by = |model| Spread::of(&results.predictions(from, to, model, &answered));
            (0..MODELS.len()).map(by).collect()
        };
        let predicted = from.map(predict).unwrap_or_default();
        let row = Row { series: series.to_owned(), x: x.to_string(), metric, measured, predicted };
        self.rows.push(row);
        self.rows.last().expect("it was just added")
    }

    /// Adds a claim; `why` is the reason if it does not hold, where figures of this run show one.
    pub(crate) fn claim(
        &mut self,
        figure: &'static str,
        claim: &'static str,
        found: (bool, String),
        why: Option<String>,
    ) {
        let (holds, ours) = found;
        self.claims.push(Claim::new(figure, claim, holds, ours, why));
    }

    /// Adds a picture.
    pub(crate) fn chart(&mut self, chart: Chart) {
        self.charts.push(chart);
    }

    /// Names and contents of its pictures.
    pub(crate) fn pictures(&self) -> impl Iterator<Item = (String, &Chart)> {
        let several = self.charts.len() > 1;
        self.charts.iter().map(move |chart| {
            let name = if several {
                format!("{}-{}", self.file, chart.name)
            } else {
                self.file.to_owned()
            };
            (name, chart)
        })
    }

    /// Writes its table, if it has one, and its pictures.
    pub(crate) fn write(&self, directory: &Directory) -> Result<(), Error> {
        if !self.rows.is_empty() {
            directory.write(&format!("{}.csv", self.file), self.csv().as_bytes())?;
        }
        for (name, chart) in self.pictures() {
            draw(directory, &name, chart)?;
        }
        Ok(())
    }

    /// The measured mean at a point.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they are")]
    pub(crate) fn measured(&self, series: &str, x: impl ToString, metric: &str) -> f64 {
        let x = x.to_string();
        let found =
            self.rows.iter().find(|row| row.series == series && row.x == x && row.metric == metric);
        found.unwrap_or_else(|| panic!("{series} {x} {metric} is a point")).measured.mean
    }

    /// The largest error of the replay among these points.
    pub(crate) fn worst(&self, of: impl Fn(&Row) -> bool) -> f64 {
        let errors = self.rows.iter().filter(|row| of(row)).filter_map(|row| row.error(0));
        errors.fold(0.0, f64::max)
    }

    /// The point with the largest error of the replay among these, in words.
    pub(crate) fn farthest(&self, of: impl Fn(&Row) -> bool) -> Option<String> {
        let (row, error) = self.farthest_row(of)?;
        let Row { series, x, metric, measured, .. } = row;
        let (measured, predicted) = (figure(measured.mean), figure(row.predicted[0].mean));
        Some(format!(
            "the largest error is that of {series}, {x}: {metric} {predicted} predicted, {measured} measured, {:.1} % off",
            100.0 * error
        ))
    }

    /// The same, if its values are shares that are close to each other: a small share has a large relative
    /// error.
    pub(crate) fn farthest_of_shares(&self, of: impl Fn(&Row) -> bool) -> Option<String> {
        let (row, _) = self.farthest_row(of)?;
        let (measured, predicted) = (row.measured.mean, row.predicted[0].mean);
        let apart = (measured - predicted).abs();
        (apart < NEAR_SHARES).then(|| {
            format!(
                "a small share has a large relative error: {}, {}, {:.1} % measured, {:.1} % predicted",
                row.series,
                row.x,
                100.0 * measured,
                100.0 * predicted
            )
        })
    }

    fn farthest_row(&self, of: impl Fn(&Row) -> bool) -> Option<(&Row, f64)> {
        let rows = self.rows.iter().filter(|row| of(row));
        rows.filter_map(|row| Some((row, row.error(0)?))).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The table, with a line for each point.
    pub(crate) fn csv(&self) -> String {
        let mut text = "series,x,metric,measured_mean,measured_sd".to_owned();
        for model in &self.predictors {
            let _ = write!(text, ",{model}_mean,{model}_sd,{model}_error");
        }
        text.push('\n');
        for row in &self.rows {
            let measured = row.measured;
            let _ = write!(text, "{},{},{}", quoted(&row.series), quoted(&row.x), row.metric);
            let _ = write!(text, ",{},{}", figure(measured.mean), figure(measured.deviation));
            for model in 0..self.predictors.len() {
                match (row.predicted.get(model), row.error(model)) {
                    (Some(found), Some(error)) => {
                        let (mean, deviation) = (figure(found.mean), figure(found.deviation));
                        let _ = write!(text, ",{mean},{deviation},{}", figure(error));
                    }
                    _ => text.push_str(",,,"),
                }
            }
            text.push('\n');
        }
        text
    }
}

/// The value with six significant digits.
pub(crate) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (5 - libm::log10(value.abs()).floor() as i32).max(0) as usize;
    format!("{value:.digits$}")
}

/// A field of a CSV file.
pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_six_digits() {
        assert_eq!(figure(2.0 / 3.0), "0.666667");
        assert_eq!(figure(1234.5678), "1234.57");
        assert_eq!(figure(0.0), "0");
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(quoted("1-of-3"), "1-of-3");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
