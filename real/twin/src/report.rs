//! Reports of measured beside predicted figures: by row, and errors by class.

use std::fmt::Write as _;

use foretell_input::one_line;
use foretell_sorted::{SortedMap, SortedSet};
use serde_json::{Value, json};

use crate::points::{Figures, LeftOut, Pattern, Row};

/// The outcome of a row.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The point.
    pub row: Row,
    /// The prediction, or the reason why there is none.
    pub predicted: Result<Figures, String>,
    /// Whether parameters were fitted to it.
    pub is_fitted_to: bool,
    /// Background work beside which it was measured, if that is not simulated.
    pub beside: Option<String>,
}

/// Predicted by measured: `1.1` if the prediction is 10 % too high.
fn ratio(predicted: Option<f64>, measured: Option<f64>) -> Option<f64> {
    Some(predicted? / measured?).filter(|ratio| ratio.is_finite())
}

impl Outcome {
    fn predicted(&self) -> Figures {
        self.predicted.clone().unwrap_or_default()
    }

    /// Predicted throughput divided by measured throughput.
    pub fn iops_ratio(&self) -> Option<f64> {
        ratio(self.predicted().iops, self.row.measured.iops)
    }

    /// Predicted mean latency divided by the measured one.
    pub fn mean_ratio(&self) -> Option<f64> {
        ratio(self.predicted().mean_ms, self.row.measured.mean_ms)
    }

    /// Predicted rate of recovery divided by the measured one.
    pub fn recovery_ratio(&self) -> Option<f64> {
        ratio(self.predicted().recovery_mib_per_s, self.row.measured.recovery_mib_per_s)
    }

    /// Predicted 99th percentile divided by the measured one.
    pub fn p99_ratio(&self) -> Option<f64> {
        ratio(self.predicted().p99_ms, self.row.measured.p99_ms)
    }
}

/// Relative errors of a set of points, as shares: 0.1 is 10 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Number of points.
    pub count: usize,
    /// Median error.
    pub median: f64,
    /// 90th percentile of the errors.
    pub most: f64,
    /// Mean logarithm of predicted by measured; above 0, predictions are too high.
    pub bias: f64,
}

impl Errors {
    /// Errors from ratios; `None` if there are none.
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let mut errors: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
        if errors.is_empty() {
            return None;
        }
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (errors.len() - 1) as f64;
            let (low, part) = (place.floor() as usize, place.fract());
            let high = errors[(low + 1).min(errors.len() - 1)];
            errors[low] * (1.0 - part) + high * part
        };
        let bias = ratios.iter().map(|ratio| libm::log(*ratio)).sum::<f64>() / ratios.len() as f64;
        Some(Self { count: errors.len(), median: at(0.5), most: at(0.9), bias })
    }

    fn json(errors: Option<Self>) -> Value {
        errors.map_or(Value::Null, |errors| {
            json!({
                "points": errors.count,
                "median": errors.median,
                "p90": errors.most,
                "mean_log_ratio": errors.bias,
            })
        })
    }
}

/// Share of points within a bound, of those that are not calibration points.
pub fn share_within(ratios: &[f64], bound: f64) -> Option<f64> {
    let within = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= bound).count();
    (!ratios.is_empty()).then(|| within as f64 / ratios.len() as f64)
}

/// Columns of the written table.
const HEADER: [&str; 22] = [
    "row",
    "config",
    "op_mix",
    "block_bytes",
    "pattern",
    "clients",
    "iodepth",
    "calibration",
    "measured_iops",
    "predicted_iops",
    "measured_lat_mean_ms",
    "predicted_lat_mean_ms",
    "measured_lat_p50_ms",
    "predicted_lat_p50_ms",
    "measured_lat_p95_ms",
    "predicted_lat_p95_ms",
    "measured_lat_p99_ms",
    "predicted_lat_p99_ms",
    "measured_recovery_mib_per_s",
    "predicted_recovery_mib_per_s",
    "reason",
    "beside",
];

/// The outcomes as comma-separated values.
pub fn csv(outcomes: &[Outcome]) -> Vec<u8> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
    let count = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(HEADER).expect("memory takes it");
    for outcome in outcomes {
        let (row, measured, predicted) = (&outcome.row, outcome.row.measured, outcome.predicted());
        let mut cells = vec![
            row.number.to_string(),
            row.config.clone(),
            row.reads.to_string(),
            row.block.to_string(),
            row.pattern.name().to_owned(),
            count(row.clients),
            count(row.outstanding),
            u8::from(outcome.is_fitted_to).to_string(),
        ];
        for (measured, predicted) in [
            (measured.iops, predicted.iops),
            (measured.mean_ms, predicted.mean_ms),
            (measured.p50_ms, predicted.p50_ms),
            (measured.p95_ms, predicted.p95_ms),
            (measured.p99_ms, predicted.p99_ms),
            (measured.recovery_mib_per_s, predicted.recovery_mib_per_s),
        ] {
            cells.extend([number(measured), number(predicted)]);
        }
        cells.push(outcome.predicted.as_ref().err().cloned().unwrap_or_default());
        cells.push(outcome.beside.clone().unwrap_or_default());
        table.write_record(cells).expect("each row has the columns of the header");
    }
    table.into_inner().expect("memory takes it")
}

/// The rows of which there is no prediction.
pub fn left_out(outcomes: &[Outcome]) -> impl Iterator<Item = LeftOut> {
    outcomes.iter().filter_map(|outcome| {
        let reason = outcome.predicted.as_ref().err()?;
        Some(LeftOut::row(outcome.row.number, reason.clone()))
    })
}

/// The outcomes of points that parameters were not fitted to.
fn scored(outcomes: &[Outcome]) -> impl Iterator<Item = &Outcome> {
    outcomes.iter().filter(|outcome| !outcome.is_fitted_to)
}

/// Ratios of the scored points.
pub fn ratios(outcomes: &[Outcome], of: fn(&Outcome) -> Option<f64>) -> Vec<f64> {
    scored(outcomes).filter_map(of).collect()
}

/// The outcomes as a document.
pub fn json(outcomes: &[Outcome]) -> Value {
    let rows = outcomes.iter().map(|outcome| {
        let figures = |figures: Figures| {
            json!({
                "iops": figures.iops,
                "mb_per_s": figures.iops.map(|iops| iops * outcome.row.block as f64 / 1e6),
                "lat_mean_ms": figures.mean_ms,
                "lat_p50_ms": figures.p50_ms,
                "lat_p95_ms": figures.p95_ms,
                "lat_p99_ms": figures.p99_ms,
                "recovery_mib_per_s": figures.recovery_mib_per_s,
            })
        };
        let row = &outcome.row;
        let mut one = json!({
            "row": row.number,
            "config": row.config,
            "op_mix": row.reads,
            "block_bytes": row.block,
            "pattern": row.pattern.name(),
            "clients": row.clients,
            "iodepth": row.outstanding,
            "calibration": outcome.is_fitted_to,
            "measured": figures(row.measured),
        });
        match &outcome.predicted {
            Ok(predicted) => one["predicted"] = figures(*predicted),
            Err(reason) => {
                one["predicted"] = Value::Null;
                one["reason"] = json!(reason);
            }
        }
        if let Some(background) = &outcome.beside {
            one["beside"] = json!(background);
        }
        one["error"] = json!({
            "iops": outcome.iops_ratio().map(|ratio| ratio - 1.0),
            "lat_mean": outcome.mean_ratio().map(|ratio| ratio - 1.0),
            "lat_p99": outcome.p99_ratio().map(|ratio| ratio - 1.0),
            "recovery": outcome.recovery_ratio().map(|ratio| ratio - 1.0),
        });
        one
    });
    let of = |of: fn(&Outcome) -> Option<f64>| Errors::json(Errors::of(&ratios(outcomes, of)));
    json!({
        "rows": rows.collect::<Vec<_>>(),
        "errors": {
            "iops": of(Outcome::iops_ratio),
            "lat_mean": of(Outcome::mean_ratio),
            "lat_p99": of(Outcome::p99_ratio),
            "recovery": of(Outcome::recovery_ratio),
        },
    })
}

/// Errors by class of load: throughput, latency, 99th percentile.
pub fn by_class(outcomes: &[Outcome]) -> Vec<(String, [Option<Errors>; 3])> {
    let mut classes: SortedMap<(String, u64, Pattern), (String, Vec<&Outcome>)> = SortedMap::new();
    for outcome in scored(outcomes) {
        let row = &outcome.row;
        let key = (format!("{:.3}", 1.0 - row.reads), row.block, row.pattern);
        classes.entry(key).or_insert_with(|| (row.class(), Vec::new())).1.push(outcome);
    }
    classes
        .into_values()
        .map(|(name, all)| {
            let errors = |of: fn(&Outcome) -> Option<f64>| {
                Errors::of(&all.iter().filter_map(|outcome| of(outcome)).collect::<Vec<_>>())
            };
            let of = [Outcome::iops_ratio, Outcome::mean_ratio, Outcome::p99_ratio];
            (name, of.map(errors))
        })
        .collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Table of errors with one class a line: number of points, then median and 90th percentile of the
/// errors in throughput, in latency, and in the 99th percentile.
pub fn table_of_errors(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        " {:<34} {:>6}  {:>17}  {:>17}  {:>17}",
        "class", "points", "IOPS med / 90 %", "mean med / 90 %", "p99 med / 90 %"
    );
    let cell = |errors: Option<Errors>| {
        errors.map_or_else(
            || "-".to_owned(),
            |errors| format!("{} / {}", percent(errors.median), percent(errors.most)),
        )
    };
    let mut line = |name: &str, errors: [Option<Errors>; 3]| {
        let count = errors.iter().flatten().map(|errors| errors.count).max().unwrap_or(0);
        let [iops, mean, p99] = errors.map(cell);
        let _ = writeln!(text, " {name:<34} {count:>6}  {iops:>17}  {mean:>17}  {p99:>17}");
    };
    for (name, errors) in by_class(outcomes) {
        line(&name, errors);
    }
    let of = [Outcome::iops_ratio, Outcome::mean_ratio, Outcome::p99_ratio];
    line("all", of.map(|of| Errors::of(&ratios(outcomes, of))));
    text
}

/// Table with one row a line. Marks: `*` for a row that parameters were fitted to, `!` for a row beside background work
/// that is not simulated.
pub fn table_of_rows(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        " {:>5}  {:<40} {:<26} {:>6}  {:>10} {:>10} {:>6}  {:>9} {:>9}",
        "row", "config", "load", "depth", "IOPS", "predicted", "error", "mean ms", "predicted"
    );
    let shown = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for outcome in outcomes {
        let row = &outcome.row;
        let depth = row.outstanding.map_or_else(|| "-".to_owned(), |depth| depth.to_string());
        let fitted_to = if outcome.is_fitted_to { "*" } else { "" };
        let beside = if outcome.beside.is_some() { "!" } else { "" };
        let marks = format!("{fitted_to}{beside}");
        let config: String = one_line(&row.config).chars().take(40).collect();
        let _ =
            write!(text, " {:>5}{marks:<2}{config:<40} {:<26} {depth:>6}", row.number, row.class());
        match &outcome.predicted {
            Err(reason) => {
                let _ = writeln!(text, "  not predicted: {}", one_line(reason));
            }
            Ok(predicted) => {
                let error =
                    outcome.iops_ratio().map(|ratio| format!("{:+.0}%", (ratio - 1.0) * 100.0));
                let _ = writeln!(
                    text,
                    "  {:>10} {:>10} {:>6}  {:>9} {:>9}",
                    shown(row.measured.iops, 0),
                    shown(predicted.iops, 0),
                    error.unwrap_or_else(|| "-".to_owned()),
                    shown(row.measured.mean_ms, 3),
                    shown(predicted.mean_ms, 3)
                );
            }
        }
    }
    let beside: SortedSet<&String> =
        outcomes.iter().filter_map(|one| one.beside.as_ref()).collect();
    for background in beside {
        let rows = outcomes.iter().filter(|one| one.beside.as_ref() == Some(background));
        let _ = writeln!(
            text,
            " ! measured beside `{}`, which is not simulated: {}",
            one_line(background),
            match rows.count() {
                1 => "1 row".to_owned(),
                rows => format!("{rows} rows"),
            }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_what_was_measured() {
        let errors = Errors::of(&[1.1, 0.8, 1.0]).unwrap();
        assert!((errors.median - 0.1).abs() < 1e-12 && (errors.most - 0.18).abs() < 1e-12);
        assert_eq!(Errors::of(&[]), None);
        assert_eq!(share_within(&[1.1, 0.8, 1.0, 1.0], 0.15), Some(0.75));
    }

    #[test]
    fn a_row_shows_all_its_marks_and_is_one_line() {
        let outcome = |is_fitted_to, beside: Option<&str>| Outcome {
            row: Row {
                number: 1,
                config: "rep\n3".to_owned(),
                reads: 1.0,
                block: 4096,
                pattern: Pattern::Random,
                clients: None,
                jobs: None,
                outstanding: None,
                measured: Figures::default(),
                note: String::new(),
            },
            predicted: Err("it is\nrefused".to_owned()),
            is_fitted_to,
            beside: beside.map(str::to_owned),
        };
        let text = table_of_rows(&[
            outcome(true, Some("deep\nscrub")),
            outcome(true, None),
            outcome(false, Some("deep\nscrub")),
            outcome(false, None),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        let begins = [
            "   row",
            "     1*!rep 3",
            "     1* rep 3",
            "     1! rep 3",
            "     1  rep 3",
            " ! measured",
        ];
        assert_eq!(lines.len(), begins.len(), "{text}");
        for (line, begin) in lines.iter().zip(begins) {
            assert!(line.starts_with(begin), "{line:?} {begin:?}");
        }
        let places: Vec<_> =
            lines[..5].iter().map(|line| line.find("rep").or(line.find("config"))).collect();
        assert!(places.iter().all(|place| *place == Some(8)), "{text}");
        assert!(text.ends_with("beside `deep scrub`, which is not simulated: 2 rows\n"), "{text}");
    }
}
