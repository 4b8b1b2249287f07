//! The report: knowledge about each size, estimates of the mixes asked for, and measurements beside
//! estimates.

use std::fmt::Write as _;

use foretell_core::measured_points::SEQUENTIAL;
use foretell_estimate::{
    Bottleneck, Estimate, Knowledge, Measured, ReadShare, Series, Survey, Throughput, Warning, Z95,
    total_of_sizes, warnings,
};
use foretell_sorted::SortedSet;
use foretell_units::{Bytes, relative_change};
use serde_json::{Value, json};

use crate::cli::ShareOfSize;
use crate::failure::Failure;
use crate::screen::fitted;
use crate::tables::{number, table};

/// The whole report.
pub(super) struct Report {
    series: Vec<OfSeries>,
    notes: SortedSet<String>,
}

struct OfSeries {
    name: String,
    sizes: Vec<OfSize>,
    predictions: Vec<Prediction>,
    checks: Vec<Check>,
    warnings: Vec<(Bytes, Warning)>,
}

struct OfSize {
    size: Bytes,
    read: Measured,
    write: Measured,
    capacity: f64,
    f_rw: f64,
    exponent: f64,
    /// The mix whose measurement would tell most, in percent of reads; `None` if a mix was measured.
    worth: Option<u32>,
}

/// A mix that was asked for.
struct Prediction {
    /// One size, or several with their shares.
    sizes: Vec<ShareOfSize>,
    reads: ReadShare,
    plain: Throughput,
    /// Half of the 95 % interval of the plain rule, as a share; `None` for several sizes.
    plain_error: Option<f64>,
    aware: Estimate,
}

/// A mix that was measured.
struct Check {
    size: Bytes,
    reads: ReadShare,
    measured: Measured,
    plain: f64,
    /// The estimate of a fit without this point.
    aware: Estimate,
}

impl Check {
    /// Signed errors of both estimates; their absolute values follow equation 8 of the paper.
    fn errors(&self) -> [f64; 2] {
        [self.plain, self.aware.iops].map(|found| found / self.measured.iops - 1.0)
    }
}

impl Report {
    /// A report from the knowledge about each series and the mixes asked for, of each size or of several
    /// sizes together.
    pub(super) fn new(
        survey: &Survey,
        knows: &dyn Fn(&str) -> Knowledge,
        asked: &[ReadShare],
        sizes: Option<&[ShareOfSize]>,
        notes: SortedSet<String>,
    ) -> Result<Self, Failure> {
        let mut series = Vec::new();
        for (name, points) in &survey.series {
            series.push(OfSeries::new(name, points, knows(name), asked, sizes)?);
        }
        Ok(Self { series, notes })
    }

    /// The report as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (index, series) in self.series.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            series.write(&mut text);
        }
        for note in &self.notes {
            let _ = writeln!(text, "\nNote: {note}");
        }
        text
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> String {
        let series: Vec<Value> = self.series.iter().map(OfSeries::json).collect();
        crate::output::json(&json!({ "series": series, "notes": self.notes }))
    }
}

impl OfSeries {
    fn new(
        name: &str,
        points: &Series,
        knowledge: Knowledge,
        asked: &[ReadShare],
        together: Option<&[ShareOfSize]>,
    ) -> Result<Self, Failure> {
        let fitted = Bottleneck::fit(points, knowledge);
        let known = "the size has points";
        let sizes = points.sizes.iter().map(|(size, of)| OfSize {
            size: *size,
            read: of.read.clone(),
            write: of.write.clone(),
            capacity: of.plain().capacity(),
            f_rw: of.plain().f_rw(),
            exponent: fitted.exponent(*size).expect(known),
            worth: of.mixed.is_empty().then(|| of.plain().telling_percent()),
        });
        let loads: Vec<Vec<ShareOfSize>> = match together {
            Some(sizes) => vec![sizes.to_vec()],
            None => points
                .sizes
                .keys()
                .map(|size| vec![ShareOfSize { size: *size, share: 1.0 }])
                .collect(),
        };
        let mut predictions = Vec::new();
        for load in &loads {
            for reads in asked {
                predictions.push(predict(name, points, &fitted, load, *reads)?);
            }
        }
        let checks = points.mixed().map(|(size, reads, measured)| Check {
            size,
            reads,
            measured: measured.clone(),
            plain: points.sizes[&size].plain().throughput(reads).total(),
            aware: Bottleneck::fit(&points.without(size, reads), knowledge)
                .estimate(size, reads)
                .expect(known),
        });
        Ok(Self {
            name: name.to_owned(),
            sizes: sizes.collect(),
            predictions,
            checks: checks.collect(),
            warnings: warnings(points, knowledge, name.starts_with(SEQUENTIAL)),
        })
    }

    /// Mean and largest absolute error, of the plain rule and of the other one.
    fn errors(&self) -> Option<[[f64; 2]; 2]> {
        let count = self.checks.len() as f64;
        (count > 0.0).then(|| {
            [0, 1].map(|which| {
                let errors = self.checks.iter().map(|check| check.errors()[which].abs());
                [errors.clone().sum::<f64>() / count, errors.fold(0.0, f64::max)]
            })
        })
    }

    fn write(&self, text: &mut String) {
        if !self.name.is_empty() {
            let _ = writeln!(text, "{}\n", self.name);
        }
        let mut sizes =
            table(&["size", "reads alone/s", "writes alone/s", "runs", "C", "f_rw", "exponent"]);
        for of in &self.sizes {
            let rate =
                |measured: &Measured| plus_minus(measured.iops, measured.error.map(|e| e * Z95));
            sizes.add_row([
                of.size.to_string(),
                rate(&of.read),
                rate(&of.write),
                format!("{}+{}", of.read.runs, of.write.runs),
                number(of.capacity),
                number(of.f_rw),
                number(of.exponent),
            ]);
        }
        let _ = writeln!(text, "{}", fitted(&sizes, 1));
        if !self.predictions.is_empty() {
            let mut rows = table(&[
                "\nload",
                "\nreads",
                "plain rule\nreads/s",
                "\nwrites/s",
                "\ntotal/s",
                "bottleneck-aware\ntotal/s",
                "\n95 %",
            ]);
            for one in &self.predictions {
                rows.add_row([
                    load(&one.sizes),
                    format!("{} %", one.reads),
                    number(one.plain.read),
                    number(one.plain.write),
                    plus_minus(one.plain.total(), one.plain_error),
                    number(one.aware.iops),
                    format!("{} - {}", number(one.aware.low), number(one.aware.high)),
                ]);
            }
            let _ = writeln!(text, "\nAsked\n{}", fitted(&rows, 2));
        }
        if let Some(errors) = self.errors() {
            let mut rows =
                table(&["size", "reads", "measured/s", "plain rule", "error", "aware", "error"]);
            let percent = |error: f64| relative_change(error, 1);
            for check in &self.checks {
                let [plain, aware] = check.errors();
                let error = check.measured.error.map(|error| error * Z95);
                rows.add_row([
                    check.size.to_string(),
                    format!("{} %", check.reads),
                    plus_minus(check.measured.iops, error),
                    number(check.plain),
                    percent(plain),
                    number(check.aware.iops),
                    percent(aware),
                ]);
            }
            let _ = writeln!(
                text,
                "\nMeasured mixes; `aware` did not learn from the point that it is compared \
                                with"
            );
            let _ = writeln!(text, "{}", fitted(&rows, 2));
            let [[plain, plain_worst], [aware, aware_worst]] =
                errors.map(|both| both.map(|error| 100.0 * error));
            let _ = writeln!(
                text,
                "Mean error: plain rule {plain:.1} % (worst {plain_worst:.1} %), bottleneck-aware \
                 {aware:.1} % (worst {aware_worst:.1} %)"
            );
        }
        let worth = self.sizes.iter().filter_map(|of| Some((of.size, of.worth?)));
        let worth: Vec<String> =
            worth.map(|(size, reads)| format!("{size} at {reads} % reads")).collect();
        if !worth.is_empty() {
            let worth = worth.join(", ");
            let _ = writeln!(
                text,
                "\nNo mix was measured. One more point would help most here: {worth}"
            );
        }
        if self.warnings.is_empty() {
            let _ = writeln!(text, "\nThese points give no reason to distrust the plain rule.");
        } else {
            let _ = writeln!(text, "\nThe plain rule should not be trusted:");
            for (size, warning) in &self.warnings {
                let _ = writeln!(text, "- {size}: {warning}");
            }
        }
    }

    fn json(&self) -> Value {
        let measured = |of: &Measured| {
            json!({
                "iops": of.iops, "runs": of.runs,
                "spread": of.spread, "standard_error": of.error.map(|error| error * of.iops),
            })
        };
        let interval = |of: &Estimate| json!({ "iops": of.iops, "low": of.low, "high": of.high });
        let sizes = self.sizes.iter().map(|of| {
            json!({
                "size_bytes": of.size.get(), "reads_alone": measured(&of.read),
                "writes_alone": measured(&of.write), "capacity_iops": of.capacity, "f_rw": of.f_rw,
                "exponent": of.exponent, "worth_measuring_read_percent": of.worth,
            })
        });
        let predictions = self.predictions.iter().map(|one| {
            let sizes = one.sizes.iter();
            let sizes: Vec<Value> =
                sizes.map(|of| json!({ "size_bytes": of.size.get(), "share": of.share })).collect();
            json!({
                "sizes": sizes, "read_percent": one.reads.percent(),
                "plain": {
                    "read_iops": one.plain.read, "write_iops": one.plain.write,
                    "iops": one.plain.total(),
                    "half_width": one.plain_error.map(|error| error * one.plain.total()),
                },
                "bottleneck_aware": interval(&one.aware),
            })
        });
        let checks = self.checks.iter().map(|check| {
            let [plain, aware] = check.errors();
            json!({
                "size_bytes": check.size.get(), "read_percent": check.reads.percent(),
                "measured": measured(&check.measured),
                "plain": { "iops": check.plain, "error": plain.abs() },
                "bottleneck_aware": {
                    "iops": check.aware.iops, "low": check.aware.low, "high": check.aware.high,
                    "error": aware.abs(),
                },
            })
        });
        let warnings = self
            .warnings
            .iter()
            .map(|(size, warning)| json!({ "size_bytes": size.get(), "why": warning.to_string() }));
        let errors = self.errors().map(|[plain, aware]| {
            json!({
                "plain": { "mean": plain[0], "worst": plain[1] },
                "bottleneck_aware": { "mean": aware[0], "worst": aware[1] },
            })
        });
        json!({
            "series": self.name,
            "sizes": sizes.collect::<Vec<_>>(),
            "predictions": predictions.collect::<Vec<_>>(),
            "measured": checks.collect::<Vec<_>>(),
            "errors": errors,
            "doubts": warnings.collect::<Vec<_>>(),
        })
    }
}

fn predict(
    series: &str,
    points: &Series,
    fitted: &Bottleneck,
    load: &[ShareOfSize],
    reads: ReadShare,
) -> Result<Prediction, Failure> {
    let mut rules = Vec::new();
    for of in load {
        let Some(found) = points.sizes.get(&of.size) else {
            let measured: Vec<String> = points.sizes.keys().map(Bytes::to_string).collect();
            let of_series = if series.is_empty() { String::new() } else { format!(" ({series})") };
            return Err(Failure::Usage(format!(
                "`--sizes`: {} was not measured{of_series}; the measured sizes are {}",
                of.size,
                measured.join(", ")
            )));
        };
        rules.push((of.share, found.plain()));
    }
    let shares: Vec<(Bytes, f64)> = load.iter().map(|of| (of.size, of.share)).collect();
    let plain_error = match load {
        [only] => points.sizes[&only.size].plain_error(reads).map(|error| error * Z95),
        _ => None,
    };
    Ok(Prediction {
        sizes: load.to_vec(),
        reads,
        plain: total_of_sizes(&rules, reads),
        plain_error,
        aware: fitted.of_sizes(&shares, reads).expect("all sizes have points"),
    })
}

fn load(sizes: &[ShareOfSize]) -> String {
    if let [only] = sizes {
        return only.size.to_string();
    }
    let shares = sizes.iter().map(|of| format!("{:.0} % {}", 100.0 * of.share, of.size));
    shares.collect::<Vec<_>>().join(", ")
}

/// A figure with its half-width if that is known; `share` is the half-width as a share of the figure.
fn plus_minus(value: f64, share: Option<f64>) -> String {
    match share {
        Some(share) => format!("{} ± {}", number(value), number(value * share)),
        None => number(value),
    }
}
