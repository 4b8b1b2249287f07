//! fio's results, `--output-format=json`.
//!
//! A result is read as a whole, because it is only a few kilobytes. Supported are `jobs` with
//! `jobname`, `job options`, and for each direction the counts, rates, latencies (`lat_ns`, `clat_ns`,
//! and fio 2's `lat`, `clat` in microseconds) and percentiles. fio may print lines before the document
//! (warnings, notes); they are skipped. Source: fio's HOWTO, "JSON output", and results of fio 3.33.
//!
//! A file may hold several documents. `--status-interval` writes one after another about the same jobs: the counts
//! grow, and the last one holds all of them. Results of several runs may have been appended to one file: all of them
//! are read.

use std::collections::BTreeMap;

use foretell_input::json_fault;
use foretell_units::Bytes;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::Op;
use crate::fio::ini::Setting;
use crate::fio::{FioError, Job};

/// The reason why a result cannot be read.
#[derive(Debug, Error)]
pub enum ResultError {
    /// It is not JSON.
    #[error("fio result `{file}` is no JSON document: {}", json_fault(error))]
    NotJson {
        /// The file's name.
        file: String,
        /// The parser's error.
        error: serde_json::Error,
    },
    /// It is JSON, but has no jobs.
    #[error("fio result `{file}` has {has}; wanted the output of `fio --output-format=json`")]
    NoJobs {
        /// The file's name.
        file: String,
        /// What it has, and has not.
        has: String,
    },
    /// A job lacks a field that all known versions print.
    #[error(
        "fio result `{file}` ({version}): job `{job}` has no {lacks}; the results of fio 2 and 3 are \
         known"
    )]
    Unknown {
        /// The file's name.
        file: String,
        /// fio's version according to the document.
        version: String,
        /// The job's name.
        job: String,
        /// The missing field.
        lacks: String,
    },
}

/// The measurements of one direction of one job.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Read or write.
    pub op: Op,
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency from submission to completion of the whole request, ms.
    pub mean_ms: f64,
    /// Standard deviation of that latency.
    pub deviation_ms: f64,
    /// Longest latency.
    pub max_ms: f64,
    /// Percentiles of the completion latency, ms, as fio prints them: (percent, ms).
    pub percentiles_ms: Vec<(f64, f64)>,
    /// Running time in milliseconds.
    pub runtime_ms: u64,
}

/// What a file holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// The runs of fio, at least one.
    pub runs: Vec<RunResult>,
    /// What was not read.
    pub notes: Vec<String>,
}

/// The output of one run of fio.
#[derive(Clone, PartialEq, Debug)]
pub struct RunResult {
    /// Its jobs, at least one.
    pub jobs: Vec<JobResult>,
    /// Jobs that ran, too, and cannot be read.
    pub unread: Vec<UnreadJob>,
    /// The devices under the files, by their names in the system, if fio reported them.
    pub devices: Vec<String>,
}

/// A job whose result cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadJob {
    /// Number of its group; jobs of a group ran at the same time.
    pub group: u64,
    /// Why it cannot be read.
    pub why: String,
}

/// The flushes (`fsync`, `fdatasync`) of a job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flushes {
    /// Their number.
    pub count: u64,
    /// Their mean latency, ms.
    pub mean_ms: f64,
}

/// One job of a result.
#[derive(Clone, PartialEq, Debug)]
pub struct JobResult {
    /// Its name.
    pub name: String,
    /// Number of its group; jobs of a group ran at the same time.
    pub group: u64,
    /// Exit status: 0 for success, else the system's error number.
    pub error: i64,
    /// Its options; those of the file's global section come first.
    pub options: BTreeMap<String, String>,
    /// Its measurements in each direction in which it was active.
    pub measured: Vec<Measured>,
    /// Its flushes, if there were any and their latency is known.
    pub flushes: Option<Flushes>,
    /// Running time in milliseconds.
    pub elapsed_ms: u64,
}

#[derive(Deserialize)]
struct RawJob {
    #[serde(default)]
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    #[serde(default, rename = "job options")]
    options: BTreeMap<String, Value>,
    #[serde(default)]
    read: Value,
    #[serde(default)]
    write: Value,
    #[serde(default)]
    trim: Value,
    #[serde(default)]
    mixed: Value,
    #[serde(default)]
    sync: Value,
    #[serde(default)]
    job_runtime: u64,
}

impl JobResult {
    /// The job described by these options, and the options that are not supported. A measured result is of use without
    /// them, so they are left out.
    ///
    /// # Errors
    ///
    /// If an option is invalid.
    pub fn job(&self) -> Result<(Job, Vec<String>), FioError> {
        let setting = |(key, value): (&String, &String)| Setting {
            line: 0,
            key: key.clone(),
            value: value.clone(),
        };
        let mut settings: Vec<Setting> = self.options.iter().map(setting).collect();
        let mut ignored = Vec::new();
        loop {
            match Job::of(&self.name, &settings) {
                Err(FioError::Unsupported { key, .. })
                    if settings.iter().any(|setting| setting.key == key) =>
                {
                    settings.retain(|setting| setting.key != key);
                    ignored.push(key);
                }
                found => return found.map(|job| (job, ignored)),
            }
        }
    }

    /// Whether `later` is the same job at a later time of the same run: nothing shrinks, and what grew took time.
    fn grows_into(&self, later: &Self) -> bool {
        let named = (&self.name, self.group, &self.options);
        named == (&later.name, later.group, &later.options)
            && self.elapsed_ms <= later.elapsed_ms
            && self.measured.iter().all(|before| {
                let mut after = later.measured.iter().filter(|after| after.op == before.op);
                after.any(|after| {
                    before.requests == after.requests
                        || (before.requests < after.requests
                            && before.runtime_ms + MIN_INTERVAL_MS <= after.runtime_ms)
                })
            })
    }
}

/// Status reports of a run are at least this far apart.
const MIN_INTERVAL_MS: u64 = 100;

/// A document of a file.
struct Document {
    run: RunResult,
    /// When it was written, and how long its jobs had run, in seconds.
    written_s: Option<u64>,
    elapsed_s: u64,
}

impl Document {
    /// Whether `later` is a later report of the same run.
    fn grows_into(&self, later: &Self) -> bool {
        let is_apart = self.written_s.zip(later.written_s).is_some_and(|(before, after)| {
            // the later one began after this one had been written
            after > before && after - before >= later.elapsed_s.max(1)
        });
        !is_apart
            && self.run.jobs.len() <= later.run.jobs.len()
            && if self.run.unread.is_empty() && later.run.unread.is_empty() {
                let mut pairs = self.run.jobs.iter().zip(&later.run.jobs);
                pairs.all(|(before, after)| before.grows_into(after))
            } else {
                // places differ where a job cannot be read
                let mut jobs = self.run.jobs.iter();
                jobs.all(|before| later.run.jobs.iter().any(|after| before.grows_into(after)))
            }
    }
}

/// Parses the results in `text`; `file` is its name for errors.
///
/// # Errors
///
/// If it holds no result of fio.
pub fn parse(file: &str, text: &str) -> Result<Results, ResultError> {
    let mut notes = Vec::new();
    let mut documents: Vec<Document> = Vec::new();
    let mut unusable = Vec::new();
    let (mut found, mut superseded) = (0, 0);
    let mut rest = text;
    while let Some(begin) = document_begin(rest, found == 0) {
        let mut values = serde_json::Deserializer::from_str(&rest[begin..]).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            // what was written before is whole
            Some(Err(error)) if found > 0 => {
                notes.push(format!(
                    "`{file}`: JSON document {} is not read: {}",
                    found + 1,
                    json_fault(&error)
                ));
                break;
            }
            Some(Err(error)) => {
                return Err(ResultError::NotJson { file: file.to_owned(), error });
            }
            None => break,
        };
        rest = &rest[begin + values.byte_offset()..];
        found += 1;
        let all = if let Value::Array(all) = value { all } else { vec![value] };
        for value in &all {
            let next = match document(file, value, &mut notes) {
                Ok(next) => next,
                Err(error) => {
                    unusable.push(error);
                    continue;
                }
            };
            if documents.last().is_some_and(|last| last.grows_into(&next)) {
                superseded += 1;
                documents.pop();
            }
            documents.push(next);
        }
    }
    if documents.is_empty() {
        let none = ResultError::NoJobs { file: file.to_owned(), has: NO_LIST.to_owned() };
        return Err(unusable.into_iter().next().unwrap_or(none));
    }
    notes.extend(unusable.into_iter().map(|error| format!("a document is left out: {error}")));
    if superseded > 0 {
        notes.push(format!(
            "`{file}`: left out: {superseded} earlier reports of runs that went on; the last one of each run has \
             all of it"
        ));
    }
    Ok(Results { runs: documents.into_iter().map(|document| document.run).collect(), notes })
}

/// Where the next document begins. Notes may come before it, on separate lines.
fn document_begin(text: &str, is_first: bool) -> Option<usize> {
    let trimmed = text.trim_start();
    // a line of a log may begin with `[`, too
    let inside = trimmed.strip_prefix('[').map_or(trimmed, str::trim_start);
    if inside.starts_with('{') {
        return Some(text.len() - trimmed.len());
    }
    match text.find("\n{") {
        Some(at) => Some(at + 1),
        // the parser says what is wrong with a text without any document
        None => (is_first && !trimmed.is_empty()).then_some(0),
    }
}

const NO_LIST: &str = "no list of `jobs`";

/// What a JSON value without jobs has, for people.
fn no_list(value: &Value) -> String {
    let Some(table) = value.as_object().filter(|table| !table.is_empty()) else {
        return NO_LIST.to_owned();
    };
    let keys: Vec<String> = table.keys().take(8).map(|key| format!("`{key}`")).collect();
    format!("{NO_LIST}; it has {}", keys.join(", "))
}

/// Reads one document. Jobs that cannot be read are left out, if there are others.
fn document(
    file: &str,
    document: &Value,
    notes: &mut Vec<String>,
) -> Result<Document, ResultError> {
    let no_jobs = |has: String| ResultError::NoJobs { file: file.to_owned(), has };
    let global: BTreeMap<String, Value> = document
        .get("global options")
        .and_then(|options| serde_json::from_value(options.clone()).ok())
        .unwrap_or_default();
    let jobs = document.get("jobs").and_then(Value::as_array);
    let jobs = jobs.ok_or_else(|| no_jobs(no_list(document)))?;
    let source = Source { file, version: version(document), global: &global };
    let mut found = Vec::new();
    let (mut unread, mut first_error) = (Vec::new(), None);
    let mut elapsed_s = 0;
    for value in jobs {
        elapsed_s = elapsed_s.max(value.get("elapsed").and_then(Value::as_u64).unwrap_or(0));
        match source.job(value, notes) {
            Ok(job) => found.push(job),
            Err(error) => {
                let group = value.get("groupid").and_then(Value::as_u64).unwrap_or(0);
                unread.push(UnreadJob { group, why: error.to_string() });
                first_error.get_or_insert(error);
            }
        }
    }
    if found.is_empty() {
        let empty = || no_jobs("an empty list of `jobs`".to_owned());
        return Err(first_error.unwrap_or_else(empty));
    }
    notes.extend(unread.iter().map(|job| format!("a job is left out: {}", job.why)));
    let devices = document.get("disk_util").and_then(Value::as_array).into_iter().flatten();
    let name = |device: &Value| device.get("name")?.as_str().map(str::to_owned);
    let run = RunResult { jobs: found, unread, devices: devices.filter_map(name).collect() };
    let written_s = document.get("timestamp").and_then(Value::as_u64);
    Ok(Document { run, written_s, elapsed_s })
}

/// What the jobs of a document have in common.
struct Source<'a> {
    file: &'a str,
    version: String,
    global: &'a BTreeMap<String, Value>,
}

impl Source<'_> {
    /// Reads one job.
    fn job(&self, value: &Value, notes: &mut Vec<String>) -> Result<JobResult, ResultError> {
        let file = self.file;
        let unknown = |job: &str, lacks: String| ResultError::Unknown {
            file: file.to_owned(),
            version: self.version.clone(),
            job: job.to_owned(),
            lacks,
        };
        let name = value.get("jobname").and_then(Value::as_str).unwrap_or_default();
        let raw: RawJob = serde_json::from_value(value.clone()).map_err(|error| {
            unknown(name, format!("form that is known ({})", json_fault(&error)))
        })?;
        let mut options = self.global.clone();
        options.extend(raw.options);
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let unread = [("trim", &raw.trim), ("mixed", &raw.mixed)];
        let unread = unread.into_iter().filter(|(_, side)| count(side, "total_ios") > Some(0));
        let unread: Vec<&str> = unread.map(|(name, _)| name).collect();
        if raw.read.is_null() && raw.write.is_null() {
            let instead = match unread.first() {
                Some(name) => format!(", but `{name}`"),
                None => String::new(),
            };
            return Err(unknown(&raw.jobname, format!("`read` and no `write`{instead}")));
        }
        if let Some(name) = unread.first() {
            notes.push(format!("`{file}`, job `{}`: `{name}` is not read", raw.jobname));
        }
        let mut directions = Vec::new();
        for (op, side) in [(Op::Read, &raw.read), (Op::Write, &raw.write)] {
            let lacking =
                |field: &str| unknown(&raw.jobname, format!("`{field}` of what it did as `{op}`"));
            directions.extend(measured(op, side).map_err(lacking)?);
        }
        let ran_ms = directions.iter().map(|found| found.runtime_ms).max().unwrap_or(0);
        Ok(JobResult {
            name: raw.jobname,
            group: raw.groupid,
            error: raw.error,
            options: options.into_iter().map(|(key, value)| (key, text(value))).collect(),
            measured: directions,
            flushes: flushes(&raw.sync),
            elapsed_ms: raw.job_runtime.max(ran_ms),
        })
    }
}

/// The flushes of a job.
fn flushes(sync: &Value) -> Option<Flushes> {
    let count = count(sync, "total_ios").filter(|count| *count > 0)?;
    let mean_ns = sync.get("lat_ns")?.get("mean")?.as_f64()?;
    (mean_ns > 0.0).then_some(Flushes { count, mean_ms: mean_ns / 1e6 })
}

/// A count; scripts that merge results may have turned `3` into `3.0`.
fn count(side: &Value, key: &str) -> Option<u64> {
    let value = side.get(key)?;
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

/// fio's version according to the document.
fn version(document: &Value) -> String {
    let version = document.get("fio version").and_then(Value::as_str);
    version.unwrap_or("of a version that it does not tell").to_owned()
}

/// The measurements of a direction; `None`: nothing was done in it.
///
/// The error is the name of a required field that is missing.
fn measured(op: Op, side: &Value) -> Result<Option<Measured>, &'static str> {
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64);
    let count = |key: &str| count(side, key);
    // fio 2.1 and older give only rate and time
    let by_rate = || Some((number(side, "iops")? * number(side, "runtime")? / 1e3).round() as u64);
    let Some(requests) = count("total_ios").or_else(by_rate) else {
        return if side.is_null() { Ok(None) } else { Err("total_ios") };
    };
    if requests == 0 {
        return Ok(None);
    }
    // the total latency, else the completion latency; fio 2 counts microseconds
    let latencies = [("lat_ns", 1e6), ("lat", 1e3), ("clat_ns", 1e6), ("clat", 1e3)];
    let latency = latencies.iter().find_map(|(key, per_ms)| {
        let found = side.get(key)?;
        number(found, "mean").filter(|mean| *mean > 0.0)?;
        Some((found, *per_ms))
    });
    let of = |key: &str| latency.and_then(|(found, per_ms)| Some(number(found, key)? / per_ms));
    let percentiles =
        [("clat_ns", 1e6), ("clat", 1e3), ("lat_ns", 1e6)].iter().find_map(|(key, per_ms)| {
            let listed = side.get(key)?.get("percentile")?.as_object()?;
            let mut found: Vec<(f64, f64)> = listed
                .iter()
                .filter_map(|(percent, value)| {
                    Some((percent.parse().ok()?, value.as_f64()? / per_ms))
                })
                .collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            Some(found)
        });
    let bytes_per_s =
        number(side, "bw_bytes").or_else(|| number(side, "bw").map(|kib| kib * 1024.0));
    let bytes_per_s = bytes_per_s.unwrap_or(0.0);
    let runtime_ms = count("runtime").unwrap_or(0);
    let by_count = || (runtime_ms > 0).then(|| requests as f64 / (runtime_ms as f64 / 1e3));
    let iops = number(side, "iops").or_else(by_count).ok_or("iops")?;
    let moved = bytes_per_s * runtime_ms as f64 / 1e3;
    Ok(Some(Measured {
        op,
        requests,
        bytes: bytes(count("io_bytes").unwrap_or(0), side.get("io_kbytes").is_some(), moved),
        iops,
        bytes_per_s,
        mean_ms: of("mean").unwrap_or(0.0),
        deviation_ms: of("stddev").unwrap_or(0.0),
        max_ms: of("max").unwrap_or(0.0),
        percentiles_ms: percentiles.unwrap_or_default(),
        runtime_ms,
    }))
}

/// `io_bytes` in bytes. In fio 2, before `io_kbytes` was added, it counted KiB. The unit is chosen that
/// is closer to the amount given by rate and time.
fn bytes(stated: u64, with_kbytes: bool, moved: f64) -> Bytes {
    let kib = (stated as f64 * 1024.0 - moved).abs() < (stated as f64 - moved).abs();
    Bytes(if kib && !with_kbytes { stated.saturating_mul(1024) } else { stated })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RESULT: &str = r#"fio: a note
{ "fio version" : "fio-3.33", "global options" : { "bs" : "8k" }, "jobs" : [ { "jobname" : "a",
  "job options" : { "rw" : "randread", "iodepth" : "4", "ioengine" : "libaio" },
  "read" : { "io_bytes" : 8192, "total_ios" : 2, "iops" : 20.5, "bw_bytes" : 83968, "runtime" : 100,
    "lat_ns" : { "min" : 1, "max" : 3000000, "mean" : 2000000.0, "stddev" : 500000.0 },
    "clat_ns" : { "mean" : 1.0, "percentile" : { "99.000000" : 2500000, "1.000000" : 1000000 } } },
  "write" : { "total_ios" : 0 } } ], "disk_util" : [ { "name" : "vda", "util" : 1.5 } ] }
"#;

    #[test]
    fn a_result_is_read_with_its_options() {
        let RunResult { jobs, devices, .. } = parse("r.json", RESULT).unwrap().runs.remove(0);
        assert_eq!(devices, ["vda"]);
        assert_eq!((jobs.len(), jobs[0].measured.len()), (1, 1));
        let read = &jobs[0].measured[0];
        assert_eq!((read.requests, read.bytes), (2, Bytes(8192)));
        assert_eq!((read.mean_ms, read.deviation_ms, read.max_ms), (2.0, 0.5, 3.0));
        assert_eq!(read.percentiles_ms, [(1.0, 1.0), (99.0, 2.5)]);
        let (job, ignored) = jobs[0].job().unwrap();
        assert!(ignored.is_empty());
        assert_eq!((job.iodepth, job.sizes[0].largest()), (4, Bytes::kib(8)));
    }

    #[test]
    fn bytes_of_fio_2_are_kibibytes() {
        // 100 MiB in 10 s
        let moved = f64::from(100 << 20);
        assert_eq!(bytes(100 << 10, false, moved), Bytes::mib(100));
        assert_eq!(bytes(100 << 20, false, moved), Bytes::mib(100));
        assert_eq!(bytes(100 << 20, true, 0.0), Bytes::mib(100));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        assert!(matches!(parse("x", "hello"), Err(ResultError::NotJson { .. })));
        assert!(matches!(parse("x", "{}"), Err(ResultError::NoJobs { .. })));
        assert!(matches!(parse("x", ""), Err(ResultError::NoJobs { .. })));
        assert!(parse("x", "{\"jobs\": [1]}").is_err());
    }

    #[test]
    fn a_form_that_is_not_known_is_told() {
        let message_of = |text: &str| parse("x.json", text).unwrap_err().to_string();
        let renamed = RESULT.replace("total_ios", "ops").replace("\"iops\"", "\"ops_per_s\"");
        let wanted = "fio result `x.json` (fio-3.33): job `a` has no `total_ios` of what it did as `read`; \
                      the results of fio 2 and 3 are known";
        assert_eq!(message_of(&renamed), wanted);
        let named = RESULT.replace("\"read\"", "\"reads\"").replace("\"write\"", "\"writes\"");
        assert!(
            message_of(&named).contains("job `a` has no `read` and no `write`"),
            "{}",
            message_of(&named)
        );
        // the expected rate follows from the count and the time
        let renamed = parse("x", &RESULT.replace("\"iops\"", "\"rate\"")).unwrap();
        let jobs = &renamed.runs[0].jobs;
        assert!((jobs[0].measured[0].iops - 20.0).abs() < 1e-9);
    }

    /// A result after `seconds`, with `ios` writes; `at`: when it was written.
    fn after(job: &str, at: u64, seconds: u64, ios: u64) -> String {
        format!(
            "{{\"timestamp\": {at}, \"jobs\": [{{\"jobname\": \"{job}\", \"elapsed\": {seconds},
              \"job options\": {{\"rw\": \"write\"}}, \"read\": {{\"total_ios\": 0}},
              \"write\": {{\"total_ios\": {ios}, \"iops\": 1.0, \"runtime\": {}}}}}]}}\n",
            seconds * 1000
        )
    }

    fn requests(text: &str) -> Vec<u64> {
        let found = parse("x", text).unwrap();
        found.runs.iter().map(|run| run.jobs[0].measured[0].requests).collect()
    }

    #[test]
    fn of_reports_about_one_run_the_last_one_counts() {
        let text = after("a", 100, 1, 50)
            + "a note\n"
            + &after("a", 101, 2, 90)
            + &after("a", 102, 3, 140);
        assert_eq!(requests(&text), [140]);
        let notes = parse("x", &text).unwrap().notes;
        assert_eq!(
            notes,
            [
                "`x`: left out: 2 earlier reports of runs that went on; the last one of each run has all of it"
            ]
        );
        // the last one is cut off
        let cut = &text[..text.len() - 20];
        assert_eq!(requests(cut), [90]);
        assert!(
            parse("x", cut)
                .unwrap()
                .notes
                .iter()
                .any(|note| note.contains("document 3 is not read"))
        );
    }

    #[test]
    fn all_runs_in_a_file_count() {
        assert_eq!(requests(&(after("a", 100, 10, 50) + &after("b", 120, 10, 90))), [50, 90]);
        // the same job again: the second began after the first had ended
        assert_eq!(requests(&(after("a", 100, 10, 50) + &after("a", 120, 11, 90))), [50, 90]);
        // it did less
        assert_eq!(requests(&(after("a", 1, 10, 50) + &after("a", 1, 10, 40))), [50, 40]);
        // in a list
        let list = format!("[{},{}]", after("a", 100, 10, 50), after("b", 120, 10, 90));
        assert_eq!(requests(&list), [50, 90]);
    }

    #[test]
    fn what_else_a_result_has_is_named() {
        let error = parse("x", "{\"client_stats\": []}").unwrap_err().to_string();
        assert!(error.contains("no list of `jobs`; it has `client_stats`; wanted"), "{error}");
        let trims =
            RESULT.replace("\"write\" : {", "\"trim\" : { \"total_ios\" : 3 }, \"write\" : {");
        assert_eq!(parse("x", &trims).unwrap().notes, ["`x`, job `a`: `trim` is not read"]);
    }

    #[test]
    fn flushes_have_a_latency_of_their_own() {
        let sync = "\"sync\" : { \"total_ios\" : 2, \"lat_ns\" : { \"mean\" : 1500000.0 } }, \"write\" : {";
        let found = parse("x", &RESULT.replace("\"write\" : {", sync)).unwrap();
        assert_eq!(found.runs[0].jobs[0].flushes, Some(Flushes { count: 2, mean_ms: 1.5 }));
    }

    proptest! {
        #[test]
        fn any_text_and_any_cut_is_read_or_refused(text in ".{0,200}", cut in 0..RESULT.len()) {
            let _ = parse("x", &text);
            if RESULT.is_char_boundary(cut) {
                let _ = parse("x", &RESULT[..cut]);
            }
        }
    }

    #[test]
    fn a_job_or_document_that_cannot_be_read_does_not_hide_the_others() {
        let good = r#"{ "jobname": "good", "groupid": 1, "read": { "total_ios": 9, "io_kbytes": 36, "iops": 9,
            "runtime": 1000, "lat_ns": { "mean": 5000 } }, "write": { "total_ios": 0 } }"#;
        let bad = r#"{ "jobname": "bad", "groupid": 1 }"#;
        let text = format!("{{ \"jobs\": [{bad}, {good}] }} {{ \"mons\": 3 }} {{ \"jobs\": [] }}");
        let results = parse("x", &text).unwrap();
        assert_eq!(results.runs.len(), 1);
        let run = &results.runs[0];
        assert_eq!((run.jobs.len(), run.unread[0].group), (1, 1));
        assert!(run.unread[0].why.contains("job `bad` has no `read`"), "{}", run.unread[0].why);
        assert_eq!(results.notes.len(), 3, "{:?}", results.notes);
        let empty = parse("x", "{ \"jobs\": [] }").unwrap_err().to_string();
        assert!(empty.contains("has an empty list of `jobs`; wanted"), "{empty}");
    }
}
