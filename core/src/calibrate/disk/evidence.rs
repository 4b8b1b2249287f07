//! The contents of fio's results: runs, and repetitions of runs.
//!
//! A run is a group of jobs that fio runs at the same time (`stonewall` begins another group). The processes
//! of one job (`numjobs`) count as one job, whether fio reported them together or separately.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use foretell_input::Limit;
use foretell_sorted::SortedSet;
use foretell_units::{Bytes, Op, SimSpan};
use foretell_workloads::fio::{FioError, Job, Order};
use foretell_workloads::results::fio::{JobResult, RunResult, UnreadJob, parse};

use crate::error::Error;

/// Average share of a job's queue depth that must be outstanding for the job to count as full.
const FULL: f64 = 0.9;
/// Possible numbers of requests a second, and the longest possible mean latency (an hour). A result beyond
/// these is damaged.
const POSSIBLE_IOPS: RangeInclusive<f64> = 1e-3..=1e9;
const LONGEST_NS: f64 = 3.6e12;
/// Highest number of outstanding requests of a job.
const MAX_SLOTS: u64 = 1 << 16;

/// Everything that was read.
#[derive(Debug)]
pub struct Evidence {
    /// What was measured.
    pub runs: Vec<Run>,
    /// Runs that cannot be used, and why.
    pub left_out: Vec<(String, String)>,
    /// What was skipped.
    pub notes: SortedSet<String>,
}

/// Jobs that ran at the same time.
#[derive(Clone, Debug)]
pub struct Run {
    /// The file's name, with the name of the first job if the file holds several runs.
    pub name: String,
    /// Jobs in the file's order.
    pub jobs: Vec<RunJob>,
}

/// A job and its measurements.
#[derive(Clone, PartialEq, Debug)]
pub struct RunJob {
    /// The job's requests, without the settings that only distinguish repetitions.
    pub job: Job,
    /// Total size of its files.
    pub files: Option<Bytes>,
    /// Measurements by [`Op`]; at least one is present.
    pub seen: [Option<Seen>; 2],
    /// Its flushes between writes (`fsync`, `fdatasync`).
    pub flushes: Option<SeenFlushes>,
    /// Whether the latency of a write includes its flush (`sync`).
    pub writes_flush: bool,
}

/// The flushes of a job between its writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SeenFlushes {
    /// Flushes a second.
    pub per_s: f64,
    /// Their mean latency.
    pub latency_ns: f64,
    /// Writes of a process from one flush to the next.
    pub writes: u32,
}

/// What was measured of the reads or writes of a job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seen {
    /// Requests a second.
    pub iops: f64,
    /// Mean time from submission to completion.
    pub latency_ns: f64,
    /// The fastest 1 % of the requests took at most this time.
    pub fastest_ns: Option<f64>,
    /// Mean size of a request.
    pub bytes: f64,
}

impl RunJob {
    /// Highest number of requests that it may have outstanding.
    pub fn slots(&self) -> u32 {
        self.job.iodepth.saturating_mul(self.job.numjobs)
    }

    /// Requests a second, reads and writes together.
    pub fn iops(&self) -> f64 {
        self.seen.iter().flatten().map(|seen| seen.iops).sum()
    }

    /// Share of reads among its requests.
    pub fn read_share(&self) -> f64 {
        self.seen[Op::Read as usize].map_or(0.0, |reads| reads.iops) / self.iops()
    }

    /// Requests outstanding on average (Little's law).
    fn present(&self) -> f64 {
        self.seen.iter().flatten().map(|seen| seen.iops * seen.latency_ns / 1e9).sum()
    }

    /// Requests outstanding on average, or the highest number allowed if the average is close to it.
    pub fn outstanding(&self) -> f64 {
        let (slots, present) = (f64::from(self.slots()), self.present());
        if present > FULL * slots { slots } else { present.max(1.0) }
    }

    /// Time between a completion and the submission that follows it, ns: flushes, and [`RunJob::host_gap_ns`].
    pub fn gap_ns(&self) -> f64 {
        let mean = self.present() / self.iops() * 1e9;
        (f64::from(self.slots()) / self.iops() * 1e9 - mean).max(0.0)
    }

    /// The part of that time that passes outside the device, ns: the host's own work, and the job's own waits
    /// (`rate`, `thinktime`).
    pub fn host_gap_ns(&self) -> f64 {
        let Some(flushes) = self.flushes else { return self.gap_ns() };
        let mean = self.present() / self.iops() * 1e9;
        let slots = f64::from(self.slots_between_flushes());
        let request_ns = f64::from(self.job.numjobs) / self.iops() * 1e9;
        let flush_ns = flushes.latency_ns * flushes.per_s / self.iops();
        (slots * (request_ns - flush_ns) - mean).max(0.0)
    }

    /// The share of the time of each of its slots that passes outside the device.
    pub fn outside(&self) -> f64 {
        let slots = self.slots_between_flushes() * self.job.numjobs;
        self.host_gap_ns() * self.iops() / f64::from(slots) / 1e9
    }

    /// Highest number of requests that a process may have outstanding: it submits the writes up to its next flush, waits
    /// for them, then flushes.
    fn slots_between_flushes(&self) -> u32 {
        self.flushes.map_or(self.job.iodepth, |flushes| self.job.iodepth.min(flushes.writes))
    }

    /// Whether its settings make it wait.
    pub fn throttled(&self) -> bool {
        let job = &self.job;
        !job.think.is_zero() || job.rate.iter().chain(&job.rate_iops).any(Option::is_some)
    }
}

/// Reads all results.
///
/// # Errors
///
/// If a file is not a result of fio, if jobs failed, if the results come from several devices (unless
/// `one_device`), or if no run can be used.
pub fn read(files: &[PathBuf], one_device: bool) -> Result<Evidence, Error> {
    let mut evidence = Evidence { runs: Vec::new(), left_out: Vec::new(), notes: SortedSet::new() };
    let mut under: Option<(Vec<String>, String)> = None;
    for path in files {
        let file = path.display().to_string();
        let text = foretell_input::text(path, Limit::RESULT)
            .map_err(|error| Error::Invalid(format!("cannot read `{file}`: {error}")))?;
        let results = parse(&file, &text).map_err(|error| Error::Invalid(error.to_string()))?;
        evidence.notes.extend(results.notes);
        let stem = path.file_stem().map_or_else(|| file.clone(), |s| s.to_string_lossy().into());
        let several = results.runs.len() > 1;
        for (number, RunResult { jobs, unread, devices: found }) in results.runs.iter().enumerate()
        {
            if let Some((devices, first)) = &under
                && !found.is_empty()
                && !found.iter().any(|device| devices.contains(device))
                && !one_device
            {
                return Err(Error::Invalid(format!(
                    "the results are of different devices, {} in `{first}` and {} in `{file}`; calibrate \
                     each separately, or give `--one-device` if they are equal",
                    quoted(devices),
                    quoted(found)
                )));
            }
            if under.is_none() && !found.is_empty() {
                under = Some((found.clone(), file.clone()));
            }
            let name = if several { format!("{stem}#{}", number + 1) } else { stem.clone() };
            evidence.add(&name, jobs, unread);
        }
    }
    evidence.leave_out_synchronous_writes();
    if evidence.runs.is_empty() {
        let reasons: Vec<String> =
            evidence.left_out.iter().map(|(run, why)| format!("`{run}`: {why}")).collect();
        return Err(Error::Invalid(format!(
            "none of the results can be used: {}",
            reasons.join("; ")
        )));
    }
    Ok(evidence)
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" and ")
}

impl Evidence {
    /// Where writes were measured with and without their flushes, only the latter tell the time of a write.
    fn leave_out_synchronous_writes(&mut self) {
        let writes = |job: &RunJob| job.seen[Op::Write as usize].is_some();
        let flushes = |job: &RunJob| job.writes_flush && writes(job);
        let mut jobs = self.runs.iter().flat_map(|run| &run.jobs);
        let is_plain = jobs.any(|job| writes(job) && !job.writes_flush);
        if !is_plain {
            return;
        }
        let (left_out, kept) = std::mem::take(&mut self.runs)
            .into_iter()
            .partition(|run: &Run| run.jobs.iter().any(flushes));
        self.runs = kept;
        self.left_out.extend(left_out.into_iter().map(|run: Run| {
            let why = "with `sync`, the latency of a write includes its flush, and other results have writes \
                       without; calibrate them separately";
            (run.name, why.to_owned())
        }));
    }

    /// Adds the runs of a results file.
    fn add(&mut self, stem: &str, jobs: &[JobResult], unread: &[UnreadJob]) {
        let groups: SortedSet<u64> = jobs.iter().map(|job| job.group).collect();
        for &group in &groups {
            let members: Vec<&JobResult> = jobs.iter().filter(|job| job.group == group).collect();
            let name = match groups.len() {
                1 => stem.to_owned(),
                _ => format!("{stem}/{}", members[0].name),
            };
            // what runs beside the others slows them down
            let run = match unread.iter().find(|job| job.group == group) {
                Some(job) => Err(format!("one of its jobs cannot be read: {}", job.why)),
                None => self.run(&members),
            };
            match run {
                Ok(jobs) => self.runs.push(Run { name, jobs }),
                Err(why) => self.left_out.push((name, why)),
            }
        }
    }

    fn run(&mut self, results: &[&JobResult]) -> Result<Vec<RunJob>, String> {
        let mut jobs: Vec<RunJob> = Vec::new();
        // if the processes of one job were reported separately, they stand side by side
        let processes = results.chunk_by(|a, b| {
            (&a.name, &a.options) == (&b.name, &b.options) && a.options.contains_key("numjobs")
        });
        for alike in processes {
            jobs.push(self.job(alike)?);
        }
        Ok(jobs)
    }

    fn job(&mut self, alike: &[&JobResult]) -> Result<RunJob, String> {
        let result = alike[0];
        if let Some(failed) = alike.iter().find(|result| result.error != 0) {
            return Err(format!("job `{}` ended with error {}", failed.name, failed.error));
        }
        if result.options.is_empty() {
            return Err(format!(
                "job `{}` has no `job options`, which fio writes from version 2.2 on",
                result.name
            ));
        }
        let mut job = self.options(result)?;
        // without `ioengine`, fio uses an engine that waits for each request
        if !result.options.contains_key("ioengine") {
            job.iodepth = 1;
        }
        let seen = [Op::Read, Op::Write].map(|op| {
            let mut seen = seen(alike, op)?;
            if let [(only, _)] = job.sizes[op as usize].0.as_slice() {
                seen.bytes = only.get() as f64;
            }
            Some(seen)
        });
        for (op, seen) in [Op::Read, Op::Write].into_iter().zip(&seen) {
            let Some(seen) = seen else { continue };
            if !(seen.iops > 0.0 && seen.latency_ns > 0.0 && seen.bytes > 0.0) {
                return Err(format!(
                    "job `{}` has {} {op}s a second of {} ns and {} B on average, and none of them \
                     may be zero",
                    result.name, seen.iops, seen.latency_ns, seen.bytes
                ));
            }
            if !(POSSIBLE_IOPS.contains(&seen.iops) && seen.latency_ns <= LONGEST_NS) {
                return Err(format!(
                    "job `{}` has {} {op}s a second of {} ns on average, which no device has",
                    result.name, seen.iops, seen.latency_ns
                ));
            }
        }
        if seen.iter().all(Option::is_none) {
            return Err(format!("job `{}` neither read nor wrote anything", result.name));
        }
        let slots = u64::from(job.iodepth) * u64::from(job.numjobs);
        if slots > MAX_SLOTS {
            return Err(format!(
                "job `{}` has {slots} requests outstanding, more than {MAX_SLOTS}",
                result.name
            ));
        }
        let files = job.size.map(|size| {
            let processes = if job.filename.is_some() { 1 } else { u64::from(job.numjobs) };
            job.offset + size * processes
        });
        let flushes = flushes(alike)?;
        let writes_flush = is_on(result, "sync");
        if writes_flush && seen[Op::Write as usize].is_some() {
            self.notes.insert("latencies of writes include flushes, because of `sync`".to_owned());
        }
        // these settings differ between repetitions, or are known from elsewhere
        job.name = String::new();
        job.filename = None;
        (job.offset, job.offset_increment) = (Bytes::ZERO, Bytes::ZERO);
        (job.runtime, job.ramp_time, job.start_delay) = (None, SimSpan::ZERO, SimSpan::ZERO);
        (job.number_ios, job.io_size, job.loops) = (None, None, 1);
        (job.time_based, job.stonewall) = (true, false);
        Ok(RunJob { job, files, seen, flushes, writes_flush })
    }

    /// The job that a result's options describe. Options that are not supported are skipped and noted.
    fn options(&mut self, result: &JobResult) -> Result<Job, String> {
        let mut result = result.clone();
        // their effect is measured
        result.options.retain(|key, _| !FLUSHES.contains(&key.as_str()) && key != "sync");
        match result.job() {
            Ok((job, ignored)) => {
                let note = |key| format!("option `{key}` of fio is ignored");
                self.notes.extend(ignored.into_iter().map(note));
                Ok(job)
            }
            Err(FioError::Value { key, found, wanted, .. }) => {
                Err(format!("option `{key}` is `{found}`; expected {wanted}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The options that make a job flush between writes.
const FLUSHES: [&str; 2] = ["fsync", "fdatasync"];

/// Whether an option is given, and does not say `none` or 0.
fn is_on(result: &JobResult, key: &str) -> bool {
    result.options.get(key).is_some_and(|value| !matches!(value.trim(), "0" | "none"))
}

/// The flushes of a job's processes between writes, if it has any.
fn flushes(alike: &[&JobResult]) -> Result<Option<SeenFlushes>, String> {
    let Some(key) = FLUSHES.into_iter().find(|key| is_on(alike[0], key)) else { return Ok(None) };
    let writes = || {
        let measured = alike.iter().flat_map(|result| &result.measured);
        measured.filter(|measured| measured.op == Op::Write)
    };
    let written: u64 = writes().map(|writes| writes.requests).sum();
    if written == 0 {
        return Ok(None);
    }
    let found: Vec<_> = alike.iter().filter_map(|result| result.flushes).collect();
    let count = found.iter().map(|flushes| flushes.count as f64).sum::<f64>();
    if count <= 0.0 {
        return Err(format!(
            "job `{}` flushes (`{key}`), but the result does not say how long its flushes took (`sync` with \
             `lat_ns`, which fio writes from version 3.3 on)",
            alike[0].name
        ));
    }
    let total_ms: f64 = found.iter().map(|flushes| flushes.mean_ms * flushes.count as f64).sum();
    let latency_ns = total_ms / count * 1e6;
    let per_s = writes().map(|writes| writes.iops).sum::<f64>() * count / written as f64;
    if !(POSSIBLE_IOPS.contains(&per_s) && latency_ns <= LONGEST_NS) {
        return Err(format!(
            "job `{}` has {per_s} flushes a second of {latency_ns} ns on average, which no device has",
            alike[0].name
        ));
    }
    let writes = (written as f64 / count).round().clamp(1.0, f64::from(u32::MAX)) as u32;
    Ok(Some(SeenFlushes { per_s, latency_ns, writes }))
}

/// What the processes of a job did together in one direction.
fn seen(alike: &[&JobResult], op: Op) -> Option<Seen> {
    let found = alike.iter().flat_map(|result| &result.measured).filter(|found| found.op == op);
    let (mut requests, mut bytes, mut iops) = (0.0, 0.0, 0.0);
    let (mut latency_ns, mut fastest_ns) = (0.0, None::<f64>);
    for measured in found {
        let count = measured.requests as f64;
        requests += count;
        bytes += measured.bytes.get() as f64;
        iops += measured.iops;
        latency_ns += measured.mean_ms * 1e6 * count;
        let first =
            measured.percentiles_ms.iter().find(|(percent, _)| (*percent - 1.0).abs() < 1e-6);
        let first = first.map(|(_, ms)| ms * 1e6).filter(|ns| *ns > 0.0);
        fastest_ns = [fastest_ns, first].into_iter().flatten().reduce(f64::min);
    }
    (requests > 0.0).then(|| Seen {
        iops,
        latency_ns: latency_ns / requests,
        fastest_ns,
        bytes: bytes / requests,
    })
}

/// A job in words: `randrw 70 % reads, 4 KiB, 16 outstanding`.
pub fn words(run: &RunJob) -> String {
    let job = &run.job;
    let random = if job.order == Order::Random { "rand" } else { "" };
    let [reads, writes] = job.sizes.each_ref().map(|mix| match mix.0.as_slice() {
        [(only, _)] => only.to_string(),
        _ => format!("{}-{}", mix.smallest(), mix.largest()),
    });
    let (what, size) = match job.read_share {
        share if share >= 1.0 => (format!("{random}read"), reads),
        share if share <= 0.0 => (format!("{random}write"), writes),
        share => {
            let size = if reads == writes { reads } else { format!("{reads}/{writes}") };
            (format!("{random}rw {:.0} % reads", share * 100.0), size)
        }
    };
    let limited = if run.throttled() { ", limited" } else { "" };
    let flushed = match run.flushes.map(|flushes| flushes.writes) {
        None => String::new(),
        Some(1) => ", flushed".to_owned(),
        Some(writes) => format!(", flushed every {writes} writes"),
    };
    format!("{what}, {size}, {} outstanding{flushed}{limited}", run.slots())
}
