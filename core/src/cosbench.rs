//! Results of COSBench workloads in the archive format of COSBench itself, for scripts that read it.
//!
//! `archive/run-history.csv` has a line for each workload. `archive/workloads.csv` has a line for each stage and
//! kind of operation. `archive/wN-NAME/wN-NAME.csv` is the report of one workload. Numbers have at most two
//! decimals. Quantiles are the upper end of a bucket of 10 ms. Bandwidth is in bytes a second. Each state of a
//! stage is listed with its time. Simulated time is counted from the beginning of 1970. Source: COSBench 0.4,
//! `SimpleWorkloadArchiver`, `CSVWorkloadExporter`, `CSVMatrixExporter`, `CSVRunExporter`, `Counter`, `Formats`.
//!
//! Left out: `Avg-ProcTime`, the part of a response time that is not transfer. It is not measured here and is
//! written as `N/A`, as COSBench writes unknown values. Also left out: the timeline of each stage, and
//! histograms. Works of one stage that do the same operation each have a line. No operation fails.

use std::fmt::Write;

use foretell_input::Limit;
use foretell_scenarios::model::{Scenario, WorkloadKind};
use foretell_sim::truth::{JobTruth, Truth};
use foretell_workloads::cosbench::{Work, Workload};

use crate::error::Error;

/// The columns of a workload's report. The states of the stage follow the last column.
const REPORT: &str = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,\
                      80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,\
                      Bandwidth,Succ-Ratio,Status,Detailed Status";

/// The columns of the totals of all workloads.
const MATRIX: &str = "Id,Op-Name,Op-Count,Byte-Count,Worker-Count,Avg-ResTime,Avg-ProcTime,\
                      60%-ResTime,80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,\
                      Throughput,Bandwidth,Succ-Ratio,Config-Info";

/// The columns of the list of workloads.
const HISTORY: &str = "Id,Name,Submitted-At,Started-At,Stopped-At,Op-Info,State";

/// States of a stage before it runs.
const BEFORE: [&str; 6] = ["waiting", "booting", "submitting", "authing", "launching", "running"];

/// Width of a bucket of response times, ms, and the longest response time that is reported.
const BUCKET_MS: f64 = 10.0;
const MAX_MS: f64 = 500_000.0;

/// The files of the archive, with their paths in the run's directory. Empty if the run has no such workload.
pub fn archive(scenario: &Scenario, truth: &Truth) -> Result<Vec<(String, String)>, Error> {
    let (mut files, mut history) = (Vec::new(), format!("{HISTORY}\n"));
    let mut all = format!("{MATRIX}\n");
    for workload in &scenario.workloads {
        let WorkloadKind::Cosbench { path } = &workload.kind else { continue };
        let Some(found) = truth.workloads.get(&workload.name) else { continue };
        let text = foretell_input::text(path, Limit::JOBS).map_err(Error::file("read", path))?;
        let described =
            Workload::parse(&text).map_err(|error| Error::Invalid(error.to_string()))?;
        // the name becomes part of a file name and of a line of a table
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = described.name.chars().map(plain).collect();
        let id = format!("w{}", files.len() + 1);
        let _ = writeln!(history, "{id},{name},{}", run(&found.jobs));
        matrix(&mut all, &id, &described, &found.jobs);
        files.push((format!("archive/{id}-{name}/{id}-{name}.csv"), report(&found.jobs)));
    }
    if !files.is_empty() {
        files.push(("archive/run-history.csv".to_owned(), history));
        files.push(("archive/workloads.csv".to_owned(), all));
    }
    Ok(files)
}

/// A workload's line in the list of workloads, after its name.
fn run(jobs: &[JobTruth]) -> String {
    let from = jobs.iter().map(|job| job.counted_s[0]).fold(f64::INFINITY, f64::min);
    let to = jobs.iter().map(|job| job.counted_s[1]).fold(0.0, f64::max);
    let from = if from.is_finite() { from } else { to };
    let mut operations: Vec<&str> = Vec::new();
    for job in jobs {
        if !operations.contains(&job.operation) {
            operations.push(job.operation);
        }
    }
    let state = if jobs.iter().all(|job| job.completed) { "finished" } else { "terminated" };
    let begun = date(from);
    format!("{begun},{begun},{},{},{state}", date(to), operations.join(" "))
}

/// A workload's report: times in ms, throughput in operations and bandwidth in bytes a second.
fn report(jobs: &[JobTruth]) -> String {
    let mut text = format!("{REPORT}\n");
    for job in jobs {
        let status = if job.completed { "completed" } else { "terminated" };
        let (name, history) = (named(job.operation), states(job, status));
        let (count, bytes) = (job.operations, job.bytes);
        let _ = writeln!(
            text,
            "{},{name},{},{count},{bytes},{},{status},{history}",
            job.stage,
            job.operation,
            measures(job)
        );
    }
    text
}

/// Adds a workload's results to the totals. `id` names the workload.
fn matrix(text: &mut String, id: &str, described: &Workload, jobs: &[JobTruth]) {
    for of_stage in jobs.chunk_by(|a, b| a.stage == b.stage) {
        for (job, number) in of_stage.iter().zip(1..) {
            let work = work(described, job);
            let workers = work.map_or(0, |work| work.workers);
            let mut operations = work.into_iter().flat_map(|work| &work.operations);
            let operation = operations.find(|operation| operation.kind.name() == job.operation);
            let config = operation.map_or_else(String::new, |operation| {
                let config = operation.config.replace(',', "-").replace(';', " ");
                format!("{:.0}% {config}", operation.share * 100.0)
            });
            let _ = writeln!(
                text,
                "{id}-{}-{number},{},{},{},{workers},{},{config}",
                job.stage,
                named(job.operation),
                job.operations,
                job.bytes,
                measures(job)
            );
        }
    }
}

/// The work that a job belongs to; the second work of the same name is called `name#2`.
fn work<'a>(described: &'a Workload, job: &JobTruth) -> Option<&'a Work> {
    let stage = described.stages.iter().find(|stage| stage.name == job.stage)?;
    let twin = job.job.rsplit_once('#').and_then(|(name, twin)| Some((name, twin.parse().ok()?)));
    let (name, twin) = twin.unwrap_or((job.job.as_str(), 1_usize));
    stage.works.iter().filter(|work| work.name == name).nth(twin.checked_sub(1)?)
}

/// The columns from `Avg-ResTime` to `Succ-Ratio`.
fn measures(job: &JobTruth) -> String {
    let time = &job.response_time_ms;
    let [p60, p80, p90] = job.quantiles_ms;
    let quantiles = [p60, p80, p90, time.p95, time.p99, time.max].map(bucket);
    let mean = if time.mean > 0.0 { number(time.mean) } else { "N/A".to_owned() };
    let rate = |rate: Option<f64>| rate.map_or_else(|| "N/A".to_owned(), number);
    let (throughput, bandwidth) = (rate(job.operations_per_s), rate(job.bytes_per_s));
    format!("{mean},N/A,{},{throughput},{bandwidth},100%", quantiles.join(","))
}

/// The operation, and the type as which it is counted.
fn named(operation: &str) -> String {
    match operation {
        "init" | "prepare" => format!("{operation}-write"),
        "cleanup" | "dispose" => format!("{operation}-delete"),
        other => other.to_owned(),
    }
}

fn states(job: &JobTruth, last: &str) -> String {
    let [from, to] = job.counted_s.map(date);
    let before = BEFORE.iter().map(|state| format!("{state} @ {from}"));
    let after = ["closing", last].map(|state| format!("{state} @ {to}"));
    before.chain(after).collect::<Vec<_>>().join(",")
}

/// The upper end of the bucket that a response time falls into.
fn bucket(ms: f64) -> String {
    if ms >= MAX_MS {
        // the bucket of all longer times has no upper end
        return i64::MAX.to_string();
    }
    format!("{}", ((ms / BUCKET_MS).floor() + 1.0) * BUCKET_MS)
}

/// A number with at most two decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Simulated seconds as a date.
fn date(seconds: f64) -> String {
    let seconds = seconds as u64;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day from the number of days since the beginning of 1970.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_quantiles_are_written_as_cosbench_writes_them() {
        assert_eq!([12.0, 12.5, 12.346, 0.0].map(number), ["12", "12.5", "12.35", "0"]);
        assert_eq!([0.3, 10.0, 19.99].map(bucket), ["10", "20", "20"]);
        assert_eq!(bucket(500_000.0), "9223372036854775807");
        assert_eq!(
            ["init", "cleanup", "read"].map(named),
            ["init-write", "cleanup-delete", "read"]
        );
    }

    #[test]
    fn simulated_time_is_a_date() {
        assert_eq!(date(0.0), "1970-01-01 00:00:00");
        assert_eq!(date(3_661.9), "1970-01-01 01:01:01");
        // 59 days to the end of February, which has 29 days two years later
        assert_eq!(date(59.0 * 86_400.0), "1970-03-01 00:00:00");
        assert_eq!(date((365.0 * 2.0 + 59.0) * 86_400.0), "1972-02-29 00:00:00");
    }
}
