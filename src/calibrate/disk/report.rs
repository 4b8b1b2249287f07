//! The comparison of measured and simulated figures, run by run.

use std::fmt::Write as _;
use std::path::Path;

use foretell_core::calibrate::disk::{
    Achieved, Condition, Evidence, Fitted, RunJob, TOLERANCES, within, words,
};
use foretell_input::one_line;
use foretell_units::{Op, relative_change};
use serde_json::{Value, json};

use crate::output::{counted, note};
use crate::screen::fitted;
use crate::tables::{number, table};

/// The whole report.
pub(super) struct Report<'a> {
    evidence: &'a Evidence,
    rows: Vec<Row>,
    jobs: Vec<JobRow>,
    notes: Vec<String>,
}

/// The reads, the writes or the flushes of a job in a run.
struct Row {
    run: usize,
    operation: &'static str,
    /// Measured and simulated value.
    iops: [f64; 2],
    latency_ms: [f64; 2],
    /// Whether the runs of its job are scattered ([`JobRow::scattered`]).
    scattered: bool,
}

/// A job under one condition.
struct JobRow {
    words: String,
    /// Measured IOPS run by run, and simulated IOPS.
    measured: Vec<f64>,
    iops: f64,
    /// Whether its runs differ so much that no single figure is within the tolerance of all.
    scattered: bool,
    /// Errors of a device fitted to the other conditions, relative to the figures chosen here: IOPS,
    /// and the latency of the operation with the largest error.
    left_out: Option<[f64; 2]>,
}

fn error(found: f64, wanted: f64) -> f64 {
    found / wanted - 1.0
}

impl Row {
    fn errors(&self) -> [f64; 2] {
        [error(self.iops[1], self.iops[0]), error(self.latency_ms[1], self.latency_ms[0])]
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(
        evidence: &'a Evidence,
        conditions: &[Condition],
        fitted: &Fitted,
        left_out: &[Option<Vec<Achieved>>],
        notes: Vec<String>,
    ) -> Self {
        let (mut rows, mut jobs) = (Vec::new(), Vec::new());
        for ((condition, achieved), predicted) in
            conditions.iter().zip(&fitted.achieved).zip(left_out)
        {
            for (place, (wanted, achieved)) in condition.jobs.iter().zip(achieved).enumerate() {
                let of_runs = || condition.runs.iter().map(|&run| &evidence.runs[run].jobs[place]);
                let measured: Vec<f64> = of_runs().map(RunJob::iops).collect();
                let most = measured.iter().copied().fold(0.0, f64::max);
                let least = measured.iter().copied().fold(f64::INFINITY, f64::min);
                let borne = (1.0 + TOLERANCES[0]) / (1.0 - TOLERANCES[0]);
                let scattered = most / least > borne;
                jobs.push(JobRow {
                    words: words(&wanted.of),
                    measured,
                    iops: achieved.iops.iter().sum(),
                    scattered,
                    left_out: predicted.as_ref().map(|predicted| away(&predicted[place], achieved)),
                });
                for (&run, job) in condition.runs.iter().zip(of_runs()) {
                    for op in [Op::Read, Op::Write] {
                        let Some(seen) = &job.seen[op as usize] else { continue };
                        rows.push(Row {
                            run,
                            operation: op.name(),
                            iops: [seen.iops, achieved.iops[op as usize]],
                            latency_ms: [seen.latency_ns, achieved.latency_ns[op as usize]]
                                .map(|ns| ns / 1e6),
                            scattered,
                        });
                    }
                    if let Some(seen) = &job.flushes {
                        rows.push(Row {
                            run,
                            operation: "flush",
                            iops: [seen.per_s, achieved.flushes_per_s],
                            latency_ms: [seen.latency_ns, achieved.flush_ns].map(|ns| ns / 1e6),
                            scattered,
                        });
                    }
                }
            }
        }
        rows.sort_by_key(|row| row.run);
        Self { evidence, rows, jobs, notes }
    }

    /// Number of runs in which all figures are within the tolerances.
    fn reproduced(&self) -> usize {
        let runs = self.rows.chunk_by(|a, b| a.run == b.run);
        runs.filter(|rows| rows.iter().all(|row| within(row.errors()))).count()
    }

    /// Median size of the errors when a condition is left out of the fit: IOPS and latency.
    fn held_out(&self) -> Option<[f64; 2]> {
        let median = |place: usize| {
            let mut errors: Vec<f64> = self
                .jobs
                .iter()
                .filter_map(|job| job.left_out.map(|errors| errors[place].abs()))
                .collect();
            errors.sort_by(f64::total_cmp);
            errors.get(errors.len() / 2).copied()
        };
        Some([median(0)?, median(1)?])
    }

    /// The outcome in a sentence.
    fn outcome(&self) -> String {
        let (good, runs) = (self.reproduced(), self.evidence.runs.len());
        let [iops, latency] = TOLERANCES.map(|borne| borne * 100.0);
        let mut text = format!(
            "{good} of {} reproduced: IOPS within {iops:.0} %, mean latency within \
             {latency:.0} %.",
            counted(runs, "run")
        );
        let scattered = self.jobs.iter().filter(|job| job.scattered).count();
        if scattered > 0 {
            let _ = write!(
                text,
                " Repetitions of {scattered} of {} differ too much among themselves for one device to \
                 reproduce all of them.",
                counted(self.jobs.len(), "job")
            );
        }
        text
    }

    /// The source of the profile.
    pub(super) fn source(&self) -> String {
        let runs = counted(self.evidence.runs.len(), "run");
        format!("latencies measured by fio in {runs} of {}", counted(self.jobs.len(), "job"))
    }

    /// The comment lines at the head of the profile.
    pub(super) fn head(&self) -> Vec<String> {
        let mut head = vec![format!("{}: {}", self.source(), self.outcome())];
        head.extend(self.notes.iter().map(|note| format!("note: {note}")));
        head
    }

    pub(super) fn text(&self, output: Option<&Path>, profile: &str) -> String {
        let percent = |error: f64| relative_change(error, 1);
        let mut runs = table(&[
            "run",
            "",
            "IOPS",
            "simulated",
            "error",
            "mean ms",
            "simulated",
            "error",
            "within",
        ]);
        for row in &self.rows {
            let [iops, latency] = row.errors();
            runs.add_row([
                self.evidence.runs[row.run].name.clone(),
                row.operation.to_owned(),
                number(row.iops[0]),
                number(row.iops[1]),
                percent(iops),
                number(row.latency_ms[0]),
                number(row.latency_ms[1]),
                percent(latency),
                match (within([iops, latency]), row.scattered) {
                    (true, _) => "yes",
                    (false, true) => "no: its repetitions differ",
                    (false, false) => "no",
                }
                .to_owned(),
            ]);
        }
        let mut jobs =
            table(&["job", "runs", "least IOPS", "most", "simulated", "left out: IOPS", "latency"]);
        for job in &self.jobs {
            let of = |place: usize| {
                job.left_out.map_or_else(|| "unknown".to_owned(), |errors| percent(errors[place]))
            };
            jobs.add_row([
                job.words.clone(),
                job.measured.len().to_string(),
                number(job.measured.iter().copied().fold(f64::INFINITY, f64::min)),
                number(job.measured.iter().copied().fold(0.0, f64::max)),
                number(job.iops),
                of(0),
                of(1),
            ]);
        }
        let mut text = format!(
            "Run by run\n{}\n\nJob by job; left out: the errors of a device that was fitted to the \
             other jobs only\n{}\n\n{}\n",
            fitted(&runs, 2),
            fitted(&jobs, 1),
            self.outcome()
        );
        if let Some([iops, latency]) = self.held_out() {
            let _ = writeln!(
                text,
                "Jobs left out of the fit are predicted with a median error of {:.1} % of IOPS and \
                 {:.1} % of latency.",
                iops * 100.0,
                latency * 100.0
            );
        }
        for (run, why) in &self.evidence.left_out {
            let _ = writeln!(text, "Not used: `{}`: {}", one_line(run), one_line(why));
        }
        text.extend(self.notes.iter().map(|text| note(text)));
        match output {
            Some(path) => {
                let _ = writeln!(text, "\nprofile in {}", path.display());
            }
            None => {
                let _ = write!(text, "\n{profile}");
            }
        }
        text
    }

    pub(super) fn json(&self, profile: &str) -> String {
        let runs = self.rows.iter().map(|row| {
            let [iops_error, latency_error] = row.errors();
            json!({
                "run": self.evidence.runs[row.run].name,
                "operation": row.operation,
                "iops": row.iops[0],
                "iops_simulated": row.iops[1],
                "iops_error": iops_error,
                "latency_mean_ms": row.latency_ms[0],
                "latency_mean_ms_simulated": row.latency_ms[1],
                "latency_error": latency_error,
                "within": within(row.errors()),
            })
        });
        let jobs = self.jobs.iter().map(|job| {
            json!({
                "job": job.words,
                "iops": job.measured,
                "iops_simulated": job.iops,
                "scattered": job.scattered,
                "left_out_iops_error": job.left_out.map(|errors| errors[0]),
                "left_out_latency_error": job.left_out.map(|errors| errors[1]),
            })
        });
        let not_used =
            self.evidence.left_out.iter().map(|(run, why)| json!({ "run": run, "why": why }));
        let document = json!({
            "runs": runs.collect::<Vec<Value>>(),
            "runs_total": self.evidence.runs.len(),
            "runs_within": self.reproduced(),
            "jobs": jobs.collect::<Vec<Value>>(),
            "left_out_median_iops_error": self.held_out().map(|errors| errors[0]),
            "left_out_median_latency_error": self.held_out().map(|errors| errors[1]),
            "not_used": not_used.collect::<Vec<Value>>(),
            "notes": self.notes,
            "profile": profile,
        });
        crate::output::json(&document)
    }
}

/// Relative difference between a prediction and the fitted device: IOPS, and the latency of the
/// operation with the largest difference.
fn away(predicted: &Achieved, fitted: &Achieved) -> [f64; 2] {
    let iops = error(predicted.iops.iter().sum(), fitted.iops.iter().sum());
    let latency = (0..2).map(|op| error(predicted.latency_ns[op], fitted.latency_ns[op]));
    let farthest =
        latency.filter(|error| error.is_finite()).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    [iops, farthest.unwrap_or(0.0)]
}
