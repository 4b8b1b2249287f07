//! `foretell run --replicates N`: the same scenario with N seeds, and the spread of its figures.
//!
//! Runs with different seeds are independent, so the mean of a figure over them has the confidence interval
//! of Student's t with N - 1 degrees of freedom. This holds if the figures are roughly normal. A figure
//! that depends on few requests, such as a maximum, is not.

use foretell_scenarios::Document;
use foretell_sim::truth::Truth;
use foretell_units::{Seed, student_t_975};
use serde_json::{Map, Value, json};

use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::screen::fitted;
use crate::tables::{number, percent, table};
use crate::{interrupt, jobs, output};
use foretell_core::Simulation;

/// Parts of a truth with figures of the measured time.
const PARTS: [&str; 3] = ["workloads", "hosts", "caches"];

/// Phases of runs with events, in order.
const PHASES: [&str; 4] = ["before", "degraded", "recovering", "after"];

/// Runs the scenario `count` times and prints the results.
pub(super) fn run(
    document: &Document,
    count: u32,
    arguments: &RunArguments,
) -> Result<(), Failure> {
    let own = document.check()?.seed;
    let seeds: Vec<u64> = (0..u64::from(count)).map(|index| seed(own, index)).collect();
    let threads = jobs::threads(arguments.jobs);
    let truths = jobs::perform(&seeds, threads, |seed| {
        let mut document = document.clone();
        document.set("seed", &seed.to_string())?;
        Ok(Simulation::new(&document)?.run(interrupt::unless_asked)?)
    });
    let truths = truths.all()?;
    let (figures, phases) = (figures(&truths), phases(&truths));
    let text = if arguments.json {
        let mut found = json!({
            "replicates": count,
            "confidence": 0.95,
            "seeds": seeds,
        });
        for (part, figures) in PARTS.iter().zip(figures) {
            found[part] = figures;
        }
        if let Some(phases) = phases {
            found["phases"] = phases;
        }
        output::json(&found)
    } else {
        let phases = phases.as_ref().map(phases_as_text).unwrap_or_default();
        format!("{}{phases}", as_text(count, &figures[0]))
    };
    output::print(&text)
}

/// The seed of a replicate. It has 63 bits, as whole numbers in TOML do.
fn seed(own: Seed, index: u64) -> u64 {
    own.child(index).0 >> 1
}

/// Each part of the truths, merged into one; each number is replaced by its statistics.
fn figures(truths: &[Truth]) -> Vec<Value> {
    let documents: Vec<Value> =
        truths.iter().map(|truth| serde_json::to_value(truth).expect("a truth is JSON")).collect();
    let part = |part: &&str| {
        let parts: Vec<&Value> = documents.iter().map(|document| &document[*part]).collect();
        joined(&parts).unwrap_or(Value::Null)
    };
    PARTS.iter().map(part).collect()
}

/// Phases of runs with events, by name. A run without a phase is left out of that phase's statistics.
fn phases(truths: &[Truth]) -> Option<Value> {
    let of = |truth: &Truth| {
        let mut found = Map::new();
        for phase in PHASES {
            let phases = truth.outages.as_ref().map_or(&[][..], |outages| &outages.phases);
            let one = phases.iter().find(|one| one.phase == phase);
            let value = one.map_or(Value::Null, |one| {
                let workloads = serde_json::to_value(&one.workloads).expect("a truth is JSON");
                json!({ "seconds": one.seconds, "workloads": workloads })
            });
            found.insert(phase.to_owned(), value);
        }
        Value::Object(found)
    };
    truths.iter().find(|truth| truth.outages.is_some())?;
    let documents: Vec<Value> = truths.iter().map(of).collect();
    joined(&documents.iter().collect::<Vec<_>>())
}

fn phases_as_text(phases: &Value) -> String {
    let mut table =
        table(&["phase", "seconds", "workload", "requests/s", "mean ms", "p99", "failed"]);
    for phase in PHASES {
        let found = &phases[phase];
        for (row, (name, of)) in found["workloads"].as_object().into_iter().flatten().enumerate() {
            let times = &of["response_time_ms"];
            table.add_row([
                if row == 0 { phase.to_owned() } else { String::new() },
                if row == 0 { cell(&found["seconds"], number) } else { String::new() },
                name.clone(),
                cell(&of["throughput_rps"], number),
                cell(&times["mean"], number),
                cell(&times["p99"], number),
                cell(&of["failed_requests"], number),
            ]);
        }
    }
    format!("{}\n", fitted(&table, 3))
}

/// Merges documents of the same form into one document of spreads; `None` if there are no numbers.
/// Half-widths of single runs, and lists, are left out.
fn joined(documents: &[&Value]) -> Option<Value> {
    let first = documents.iter().find(|document| !document.is_null())?;
    if let Value::Object(keys) = first {
        let mut found = Map::new();
        for key in keys.keys().filter(|key| !key.ends_with("half_width")) {
            let inner: Vec<&Value> = documents.iter().map(|document| &document[key]).collect();
            if let Some(value) = joined(&inner) {
                found.insert(key.clone(), value);
            }
        }
        return (!found.is_empty()).then_some(Value::Object(found));
    }
    // runs in which the number is missing do not count
    let values: Vec<f64> = documents.iter().filter_map(|document| document.as_f64()).collect();
    (!values.is_empty()).then(|| Spread::of(&values).json())
}

/// Statistics of a number over independent runs.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Spread {
    runs: usize,
    mean: f64,
    /// Half the width of the 95 % confidence interval of the mean; `None` for a single run.
    half_width: Option<f64>,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let half_width = (values.len() > 1)
            .then(|| student_t_975(values.len() - 1) * (squares / (count - 1.0) / count).sqrt());
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { runs: values.len(), mean, half_width, least, most }
    }

    fn json(self) -> Value {
        json!({
            "mean": self.mean,
            "half_width": self.half_width,
            "min": self.least,
            "max": self.most,
            "runs": self.runs,
        })
    }
}

fn as_text(count: u32, workloads: &Value) -> String {
    let mut table =
        table(&["workload", "", "requests/s", "MB/s", "mean ms", "p50", "p95", "p99", "hit rate"]);
    for (name, workload) in workloads.as_object().into_iter().flatten() {
        let directions =
            [("all", workload), ("read", &workload["read"]), ("write", &workload["write"])];
        for (row, (direction, of)) in directions.into_iter().enumerate() {
            let times = &of["response_time_ms"];
            let hits = if row == 0 { &of["read_hit_rate"] } else { &Value::Null };
            table.add_row([
                if row == 0 { name.clone() } else { String::new() },
                direction.to_owned(),
                cell(&of["throughput_rps"], number),
                cell(&of["throughput_bytes_per_s"], |bytes| number(bytes / 1e6)),
                cell(&times["mean"], number),
                cell(&times["p50"], number),
                cell(&times["p95"], number),
                cell(&times["p99"], number),
                cell(hits, |share| percent(Some(share))),
            ]);
        }
    }
    format!("{count} runs with different seeds: means (± 95 % confidence)\n{}\n", fitted(&table, 2))
}

/// A mean with its half-width; empty if it is not known.
fn cell(figure: &Value, shown: impl Fn(f64) -> String) -> String {
    let Some(mean) = figure["mean"].as_f64() else { return String::new() };
    match figure["half_width"].as_f64() {
        Some(half_width) => format!("{} ± {}", shown(mean), shown(half_width)),
        None => shown(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_those_of_students_t() {
        // mean 2, deviation 1, of three: 4.303 / sqrt 3
        let spread = Spread::of(&[1.0, 2.0, 3.0]);
        assert!((spread.mean - 2.0).abs() < 1e-12);
        assert!((spread.half_width.unwrap() - 2.4843).abs() < 1e-3, "{spread:?}");
        assert_eq!(
            (spread.runs, spread.least.to_bits(), spread.most.to_bits()),
            (3, 1f64.to_bits(), 3f64.to_bits())
        );
        assert_eq!(Spread::of(&[4.0]).half_width, None);
    }

    #[test]
    fn documents_are_joined_number_by_number() {
        let (a, b) = (
            json!({ "x": 1, "y": null, "name": "n", "x_half_width": 3, "in": { "z": 1.0 }, "list": [1] }),
            json!({ "x": 3, "y": 5.0, "name": "n", "x_half_width": 3, "in": { "z": 1.0 }, "list": [1] }),
        );
        let found = joined(&[&a, &b]).unwrap();
        assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), ["x", "y", "in"]);
        assert_eq!((&found["x"]["mean"], &found["x"]["min"]), (&json!(2.0), &json!(1.0)));
        assert_eq!((&found["y"]["mean"], &found["y"]["runs"]), (&json!(5.0), &json!(1)));
        assert_eq!(found["in"]["z"]["half_width"], json!(0.0));
    }

    /// Intervals at a level of 95 % cover about 95 % of the true values.
    #[test]
    fn intervals_hold_as_often_as_they_say() {
        for (count, seed) in [(3, 1), (5, 2), (20, 3)] {
            let mut stream = Seed(seed).stream("normal");
            let mut held = 0;
            let sets = 4000;
            for _ in 0..sets {
                // sums of twelve uniform numbers are nearly normal, around 6
                let value = |_| (0..12).map(|_| stream.unit()).sum::<f64>();
                let values: Vec<f64> = (0..count).map(value).collect();
                let spread = Spread::of(&values);
                held += u32::from((spread.mean - 6.0).abs() <= spread.half_width.unwrap());
            }
            let share = f64::from(held) / f64::from(sets);
            assert!((0.94..=0.96).contains(&share), "{count} values: {share}");
        }
    }
}
