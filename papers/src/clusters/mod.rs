//! Predictions for clusters that others measured, fitted to few of their points.
//!
//! `plan.toml` names, for each source, the points that parameters are fitted to. All others are predicted.
//! The data are not part of the program: the caller gives their directory.

mod picture;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use foretell_files::Directory;
use foretell_twin::fitted::{document, table};
use foretell_twin::points::{self, Row};
use foretell_twin::report::{self, Errors, Outcome, share_within};
use foretell_twin::{Effort, Map, Source, Twin, fit, outcomes, write};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Options;
use crate::error::Error;

/// With `--quick`, one in this number of points is predicted.
const QUICK_SHARE: usize = 5;

/// The points that parameters are fitted to.
static PLAN: LazyLock<Plan> =
    LazyLock::new(|| toml::from_str(include_str!("plan.toml")).expect("the plan is ours"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    fit: Vec<Fit>,
}

/// A set of configurations whose software is the same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fit {
    source: String,
    name: String,
    why: String,
    configs: Vec<String>,
    rows: Vec<usize>,
}

/// The result of a fit.
struct Report {
    fit: &'static Fit,
    outcomes: Vec<Outcome>,
    parameters: String,
    document: Value,
}

/// Names of the fits, for `--figure`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PLAN.fit.iter().map(|fit| fit.name.as_str())
}

/// Whether a name matches one of the patterns. A pattern is a name, or the beginning of one followed by
/// `*`.
fn among(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    })
}

/// Fits and predicts; returns the text of `clusters.txt`.
pub(super) fn reproduce(options: &Options<'_>, directory: &Directory) -> Result<String, Error> {
    let data = options.data;
    let mut reports = Vec::new();
    let mut absent = Vec::new();
    for one in &PLAN.fit {
        if !options.wants(&one.name) {
            continue;
        }
        if !data.join(&one.source).is_dir() {
            absent.push(one.source.as_str());
            continue;
        }
        let report = fitted(options, data, one)?;
        let name = format!("{}.csv", report.fit.name);
        directory.write(&name, &report::csv(&report.outcomes))?;
        reports.push(report);
    }
    if reports.is_empty() {
        return Err(Error::invalid(format!("`{}` has none of the sources", data.display())));
    }
    let text = text(&reports, &absent);
    directory.write("clusters.csv", table_of_fits(&reports).as_bytes())?;
    directory.write("clusters.txt", text.as_bytes())?;
    directory.write("clusters.svg", picture::draw(&panels(&reports)).as_bytes())?;
    directory.write("summary.json", summary(&reports, options.quick).as_bytes())?;
    Ok(text)
}

fn fitted(options: &Options<'_>, data: &Path, fit_of: &'static Fit) -> Result<Report, Error> {
    let folder = data.join(&fit_of.source);
    let source = Source::load(&folder.join("config.json"))?;
    let rows = points::load(&folder.join("points.csv"))?.rows;
    let written = write(&source, &[]);
    let map = Map::new(&source, &written.entries);
    let twin = Twin::of(map, &written.files);
    let is_fitted_to = |row: &&Row| fit_of.rows.contains(&row.number);
    let calibration: Vec<Row> = rows.iter().filter(is_fitted_to).cloned().collect();
    if let Some(missing) = fit_of.rows.iter().find(|row| rows.iter().all(|one| one.number != **row))
    {
        let shown = folder.join("points.csv");
        return Err(Error::invalid(format!("`{}` has no row {missing}", shown.display())));
    }
    let workers = options.workers;
    let fitted = fit(&twin, &calibration, workers)?;
    let mut scored = 0;
    let wanted = |row: &&Row| {
        if !among(&fit_of.configs, &row.config) {
            return false;
        }
        scored += usize::from(!fit_of.rows.contains(&row.number));
        !options.quick || fit_of.rows.contains(&row.number) || scored % QUICK_SHARE == 1
    };
    let rows: Vec<Row> = rows.iter().filter(wanted).cloned().collect();
    let effort = if options.quick { Effort::SHORT } else { Effort::FULL };
    let mut outcomes = outcomes(&twin, &rows, &fitted.values, effort, workers)?;
    for outcome in &mut outcomes {
        outcome.is_fitted_to = fit_of.rows.contains(&outcome.row.number);
    }
    let document = document(&fitted, &twin.map, calibration.len());
    Ok(Report { fit: fit_of, outcomes, parameters: table(&fitted.values), document })
}

/// Shares of scored points within 15 % of throughput and within 20 % of latency, the target of the curves.
fn shares(outcomes: &[Outcome]) -> (Option<f64>, Option<f64>) {
    (
        share_within(&report::ratios(outcomes, Outcome::iops_ratio), 0.15),
        share_within(&report::ratios(outcomes, Outcome::mean_ratio), 0.20),
    )
}

/// Pairs of scored points whose measured throughput differs by more than 15 %: the number of pairs, and the
/// number that are predicted in the right order.
fn pairs(outcomes: &[Outcome]) -> (usize, usize) {
    let known: Vec<(f64, f64)> = outcomes
        .iter()
        .filter(|outcome| !outcome.is_fitted_to)
        .filter_map(|one| Some((one.row.measured.iops?, one.predicted.as_ref().ok()?.iops?)))
        .collect();
    let (mut all, mut right) = (0, 0);
    for (index, a) in known.iter().enumerate() {
        for b in &known[index + 1..] {
            if libm::log(a.0 / b.0).abs() > libm::log(1.15) {
                all += 1;
                right += usize::from((a.0 > b.0) == (a.1 > b.1));
            }
        }
    }
    (all, right)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn text(reports: &[Report], absent: &[&str]) -> String {
    let mut text = String::new();
    for report in reports {
        let Fit { name, source, why, rows, .. } = report.fit;
        let _ = writeln!(text, "{name} ({source})\nfitted to {} points: {why}", rows.len());
        text.push_str(&report.parameters);
        text.push_str(&report::table_of_errors(&report.outcomes));
        let refused = report.outcomes.iter().filter(|outcome| outcome.predicted.is_err()).count();
        if refused > 0 {
            let _ = writeln!(text, " not predicted: {refused} points");
        }
        let (iops, mean) = shares(&report.outcomes);
        let (all, right) = pairs(&report.outcomes);
        let order = percent((all > 0).then(|| right as f64 / all as f64));
        let _ = writeln!(
            text,
            " within 15 % of throughput: {}; within 20 % of mean latency: {}; pairs in the right order: \
             {order}\n",
            percent(iops),
            percent(mean)
        );
    }
    for source in absent {
        let _ = writeln!(text, "absent: {source}");
    }
    text
}

/// A line for each fit.
fn table_of_fits(reports: &[Report]) -> String {
    let mut text = String::from(
        "fit,source,calibration_points,predicted_points,iops_median_error,iops_p90_error,\
         mean_latency_median_error,mean_latency_p90_error,p99_median_error,p99_p90_error,\
         iops_within_15_percent,pairs,pairs_in_order\n",
    );
    for report in reports {
        let outcomes = &report.outcomes;
        let scored =
            outcomes.iter().filter(|one| !one.is_fitted_to && one.predicted.is_ok()).count();
        let Fit { name, source, rows, .. } = report.fit;
        let _ = write!(text, "{name},{source},{},{scored}", rows.len());
        for of in [Outcome::iops_ratio, Outcome::mean_ratio, Outcome::p99_ratio] {
            match Errors::of(&report::ratios(outcomes, of)) {
                Some(errors) => {
                    let _ = write!(text, ",{:.4},{:.4}", errors.median, errors.most);
                }
                None => text.push_str(",,"),
            }
        }
        let share = shares(outcomes).0.map_or_else(String::new, |share| format!("{share:.4}"));
        let (all, right) = pairs(outcomes);
        let _ = writeln!(text, ",{share},{all},{right}");
    }
    text
}

fn summary(reports: &[Report], quick: bool) -> String {
    let one = |report: &Report| {
        let Fit { name, source, why, rows, configs } = report.fit;
        let (iops, mean) = shares(&report.outcomes);
        let (all, right) = pairs(&report.outcomes);
        let classes = report::by_class(&report.outcomes).into_iter().map(|(class, [iops, mean, p99])| {
            let of = |errors: Option<Errors>| {
                errors.map(|e| json!({ "points": e.count, "median": e.median, "p90": e.most }))
            };
            json!({ "class": class, "iops": of(iops), "lat_mean": of(mean), "lat_p99": of(p99) })
        });
        json!({
            "fit": name, "source": source, "configs": configs, "calibration_rows": rows, "why": why,
            "parameters": report.document["parameters"], "tail": report.document["tail"],
            "errors": report::json(&report.outcomes)["errors"],
            "classes": classes.collect::<Vec<_>>(),
            "iops_within_15_percent": iops, "lat_mean_within_20_percent": mean,
            "pairs": all, "pairs_in_order": right,
        })
    };
    let fits: Vec<Value> = reports.iter().map(one).collect();
    foretell_core::to_json(&json!({ "quick": quick, "fits": fits }))
}

/// Charts of throughput against latency, a panel for each fit.
fn panels(reports: &[Report]) -> Vec<picture::Panel> {
    let panel = |report: &Report| {
        let points = report.outcomes.iter().filter_map(|outcome| {
            let latency = |figures: points::Figures| {
                let of_little = |iops| {
                    outcome.row.outstanding.map(|outstanding| f64::from(outstanding) * 1e3 / iops)
                };
                figures.mean_ms.or_else(|| figures.iops.and_then(of_little))
            };
            let (measured, predicted) = (outcome.row.measured, *outcome.predicted.as_ref().ok()?);
            Some(picture::Point {
                measured: (measured.iops?, latency(measured)?),
                predicted: (predicted.iops?, latency(predicted)?),
                is_fitted_to: outcome.is_fitted_to,
                reads: outcome.row.reads,
            })
        });
        picture::Panel { title: report.fit.name.clone(), points: points.collect() }
    };
    reports.iter().map(panel).filter(|panel| !panel.points.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_can_be_read_and_names_are_distinct() {
        let mut names: Vec<&str> = names().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PLAN.fit.len());
        assert!(PLAN.fit.iter().all(|fit| !fit.rows.is_empty() && !fit.why.is_empty()));
    }

    #[test]
    fn patterns_are_names_or_beginnings() {
        let patterns = ["a_*".to_owned(), "b".to_owned()];
        assert!(among(&patterns, "a_1") && among(&patterns, "b") && !among(&patterns, "b_1"));
    }
}
