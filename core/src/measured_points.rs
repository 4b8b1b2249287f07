//! Reads measured points from files: results of fio, COSBench and the simulator, and tables.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use foretell_estimate::{Point, ReadShare};
use foretell_input::Limit;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, Op};
use foretell_workloads::fio::{Order, quantity};
use serde::Deserialize;

use crate::calibrate::disk::evidence::{self, Run};
use crate::error::Error;
use crate::run_directory::TRUTH_FILE;

/// Sizes of reads and of writes of one run that differ by less than this count as equal.
const SAME_SIZE: f64 = 0.01;
/// The first line of a COSBench report ends within this number of bytes.
const HEADING: u64 = 4096;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct MeasuredPoints {
    /// The points, in the order of the sources.
    pub points: Vec<Point>,
    /// Requests outstanding at a time, by series, where the results say it.
    pub outstanding: SortedMap<String, NonZeroU32>,
    /// What was skipped.
    pub notes: SortedSet<String>,
    /// Runs that failed or give no point, and why.
    pub unusable: Vec<String>,
}

/// Where the points are read from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// Directories with results of fio.
    pub fio: &'a [PathBuf],
    /// Directories with reports of COSBench workloads.
    pub cosbench: &'a [PathBuf],
    /// Tables.
    pub csv: &'a [PathBuf],
    /// Directories with runs of the simulator.
    pub run: &'a [PathBuf],
}

/// Reads all sources.
pub fn read(sources: Sources<'_>) -> Result<MeasuredPoints, Error> {
    let mut found = MeasuredPoints::default();
    let mut unusable = Vec::new();
    for directory in sources.fio {
        fio(directory, &mut found, &mut unusable)?;
    }
    for directory in sources.cosbench {
        cosbench(directory, &mut found, &mut unusable)?;
    }
    for file in sources.csv {
        table(file, &mut found)?;
    }
    for directory in sources.run {
        runs(directory, &mut found, &mut unusable)?;
    }
    found.unusable = unusable;
    Ok(found)
}

fn text_of(path: &Path, limit: Limit) -> Result<String, Error> {
    foretell_input::text(path, limit)
        .map_err(|error| Error::Invalid(format!("cannot read `{}`: {error}", path.display())))
}

/// Files below a directory whose names `wanted` accepts, sorted.
fn files(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, Error> {
    let fault = |error| Error::Invalid(format!("cannot read `{}`: {error}", directory.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let path = entry.path();
        // links are not followed, so that the search ends
        if entry.file_type().map_err(fault)?.is_dir() {
            found.extend(files(&path, wanted)?);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn some(found: Vec<PathBuf>, directory: &Path, what: &str) -> Result<Vec<PathBuf>, Error> {
    if found.is_empty() {
        return Err(Error::Invalid(format!("there are no {what} in `{}`", directory.display())));
    }
    Ok(found)
}

fn with_extension(extension: &'static str) -> impl Fn(&Path) -> bool {
    move |path| {
        // as in a shell, `*` matches no hidden file: `.foretell.json` is a manifest
        let is_hidden =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !is_hidden && path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
    }
}

/// Runs of fio. Each order and each number of outstanding requests is a series of its own.
fn fio(
    directory: &Path,
    found: &mut MeasuredPoints,
    unusable: &mut Vec<String>,
) -> Result<(), Error> {
    let paths = files(directory, &with_extension("json"))?;
    let paths = some(paths, directory, "results of fio (`*.json`)")?;
    let evidence = evidence::read(&paths, true)?;
    found.notes.extend(evidence.notes);
    unusable.extend(evidence.left_out.iter().map(|(run, why)| format!("`{run}`: {why}")));
    for run in &evidence.runs {
        match point_of(run) {
            Ok((point, slots)) => {
                if let Some(slots) = slots {
                    found.outstanding.insert(point.series.clone(), slots);
                }
                found.points.push(point);
            }
            // the run is sound, but it measured something else
            Err(why) => {
                found.notes.insert(format!("not used: `{}`: {why}", run.name));
            }
        }
    }
    Ok(())
}

/// A run as a point with its number of outstanding requests, or why it gives none.
fn point_of(run: &Run) -> Result<(Point, Option<NonZeroU32>), String> {
    let [first, others @ ..] = run.jobs.as_slice() else { return Err("no jobs".to_owned()) };
    if others.iter().any(|job| job.job != first.job) {
        return Err("different jobs ran at the same time".to_owned());
    }
    let mut sizes = Vec::new();
    for op in [Op::Read, Op::Write] {
        if first.seen[op as usize].is_some() {
            match first.job.sizes[op as usize].0.as_slice() {
                [(size, _)] => sizes.push(*size),
                _ => return Err("its requests have several sizes".to_owned()),
            }
        }
    }
    if sizes.iter().any(|size| *size != sizes[0]) {
        return Err("its reads and writes have different sizes".to_owned());
    }
    if first.throttled() {
        return Err("its settings make it wait".to_owned());
    }
    let order = if first.job.order == Order::Random { "random" } else { SEQUENTIAL };
    let slots: u64 = run.jobs.iter().map(|job| u64::from(job.slots())).sum();
    let durable = first.flushes.is_some() || first.writes_flush;
    let durable = if durable { ", flushed" } else { "" };
    let point = Point {
        series: format!("{order}, {slots} outstanding{durable}"),
        size: sizes[0],
        reads: share(first.job.read_share)?,
        iops: run.jobs.iter().map(evidence::RunJob::iops).sum(),
        origin: format!("`{}`", run.name),
    };
    Ok((point, u32::try_from(slots).ok().and_then(NonZeroU32::new)))
}

/// The prefix of the names of series of sequential requests.
pub const SEQUENTIAL: &str = "sequential";

fn share(fraction: f64) -> Result<ReadShare, String> {
    ReadShare::from_percent(fraction * 100.0)
        .ok_or_else(|| format!("its share of reads is {fraction}, which is not between 0 and 1"))
}

/// Reads and writes that were counted together, from any source.
#[derive(Clone, Copy, Default)]
struct Counted {
    per_s: [f64; 2],
    bytes_per_s: [f64; 2],
}

impl Counted {
    /// The counts as a point. The mix is rounded to a whole percent, since it was drawn at random.
    fn point(&self, origin: String) -> Result<Point, String> {
        let total: f64 = self.per_s.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(format!("{origin}: {total} requests a second; expected a number above 0"));
        }
        let reads = self.per_s[0] / total;
        let mean = [0, 1].map(|op| self.bytes_per_s[op] / self.per_s[op]);
        if self.per_s.iter().all(|per_s| *per_s > 0.0)
            && (mean[0] / mean[1] - 1.0).abs() > SAME_SIZE
        {
            return Err(format!(
                "{origin}: its reads have {:.0} B on average, its writes {:.0} B; expected one size",
                mean[0], mean[1]
            ));
        }
        let size = if self.per_s[0] > 0.0 { mean[0] } else { mean[1] };
        Ok(Point {
            series: String::new(),
            size: Bytes(size.round() as u64),
            reads: share((reads * 100.0).round() / 100.0)?,
            iops: total,
            origin,
        })
    }
}

/// A stage of a COSBench workload.
#[derive(Default)]
struct Stage {
    counted: Counted,
    /// Operations and bytes of each of its lines.
    objects: Vec<(f64, f64)>,
    /// Operations outstanding on average, of the lines whose response time is known.
    outstanding: f64,
    has_unknown_time: bool,
}

impl Stage {
    fn outstanding(&self) -> Option<f64> {
        // a worker has an operation outstanding, or prepares the next one
        (!self.has_unknown_time).then_some(self.outstanding.max(1.0))
    }

    /// Whether its objects seem to be of one size: the bytes of each line divided by its operations
    /// give the same whole number.
    fn one_size(&self, origin: &str) -> Result<(), String> {
        let means = || self.objects.iter().map(|(count, bytes)| bytes / count);
        let least = means().fold(f64::INFINITY, f64::min);
        let most = means().fold(0.0, f64::max);
        let wanted = "expected stages with one size each";
        if most > least * (1.0 + SAME_SIZE) {
            return Err(format!(
                "{origin}: its objects have several sizes, {least:.0} B on average in one line and \
                 {most:.0} B in another; {wanted}"
            ));
        }
        match self.objects.iter().find(|(count, bytes)| bytes % count > 0.0) {
            None => Ok(()),
            Some((count, bytes)) => Err(format!(
                "{origin}: its objects have several sizes, because {bytes} B is not a whole number of \
                 bytes for each of {count} operations; {wanted}"
            )),
        }
    }
}

/// Numbers of outstanding operations that differ by at most this factor belong to one series: the middle between two
/// steps of a sweep that doubles them.
const SAME_OUTSTANDING: f64 = std::f64::consts::SQRT_2;

/// Beginnings of the types of operations that prepare and clean up: `init-write`.
const BESIDE: [&str; 4] = ["init", "prepare", "cleanup", "dispose"];

/// Reports of COSBench workloads: each stage with reads or writes is a point.
///
/// A report does not state the number of workers, but throughput × response time is the number of operations that they
/// keep outstanding (Little's law). Stages with other numbers are other series.
fn cosbench(
    directory: &Path,
    found: &mut MeasuredPoints,
    unusable: &mut Vec<String>,
) -> Result<(), Error> {
    let mut any = false;
    let mut points: Vec<(Point, Option<f64>)> = Vec::new();
    for path in files(directory, &with_extension("csv"))? {
        if !is_report(&path)? {
            continue; // another table of the archive
        }
        let text = text_of(&path, Limit::POINTS)?;
        any = true;
        let file = path.display();
        let mut stages: SortedMap<String, Stage> = SortedMap::new();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let column = columns(&mut reader, &path)?;
        let wanted = ["Stage", "Op-Type", "Op-Count", "Byte-Count", "Throughput"];
        let at = wanted.map(&column);
        let [Ok(stage), Ok(kind), Ok(count), Ok(bytes), Ok(throughput)] = at else {
            return Err(at.into_iter().find_map(Result::err).expect("one is missing"));
        };
        let (response, succeeded) = (column("Avg-ResTime").ok(), column("Succ-Ratio").ok());
        let mut lines: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (record, line) in reader.records().zip(2..) {
            let record = record.map_err(|error| Error::Invalid(format!("`{file}`: {error}")))?;
            if record.get(kind) == Some("Op-Type") {
                let fault = format!(
                    "`{file}` line {line} is a second heading: expected one report in a file"
                );
                return Err(Error::Invalid(fault));
            }
            let cells = record.iter().map(str::to_owned).collect();
            if let Some(first) = lines.insert(cells, line) {
                let fault =
                    format!("`{file}`: line {line} is line {first} again; expected each run once");
                return Err(Error::Invalid(fault));
            }
            let op = match record.get(kind).unwrap_or_default() {
                "read" => Op::Read,
                "write" => Op::Write,
                other if BESIDE.iter().any(|kind| other.starts_with(kind)) => continue,
                other => {
                    found
                        .notes
                        .insert(format!("`{file}`: operations of type `{other}` are not used"));
                    continue;
                }
            };
            let number = |at: usize, name: &str| {
                let text = record.get(at).unwrap_or_default();
                let number = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
                number.ok_or_else(|| {
                    let fault = format!("`{file}` line {line}, `{name}`: `{text}` is not a count");
                    Error::Invalid(fault)
                })
            };
            let (per_s, count) = (number(throughput, "Throughput")?, number(count, "Op-Count")?);
            let bytes = number(bytes, "Byte-Count")?;
            let name = record.get(stage).unwrap_or_default();
            let stage = stages.entry(name.to_owned()).or_default();
            let ratio = succeeded.and_then(|at| record.get(at)).unwrap_or_default();
            let share = ratio.trim_end_matches('%').parse::<f64>().unwrap_or(100.0);
            if share < 100.0 && count > 0.0 {
                found.notes.insert(format!(
                    "`{file}` stage `{name}`: {ratio} of its {op}s succeeded; the others are not counted"
                ));
            }
            // milliseconds
            let response = response.and_then(|at| record.get(at)?.parse::<f64>().ok());
            if count > 0.0 {
                match response {
                    Some(ms) => stage.outstanding += per_s * ms / 1e3,
                    None => stage.has_unknown_time = true,
                }
                stage.counted.per_s[op as usize] += per_s;
                stage.counted.bytes_per_s[op as usize] += per_s * bytes / count;
                stage.objects.push((count, bytes));
            }
        }
        for (name, stage) in stages {
            let origin = format!("`{file}` stage `{name}`");
            let point = stage.one_size(&origin).and_then(|()| stage.counted.point(origin));
            match point {
                Ok(point) => points.push((point, stage.outstanding())),
                Err(why) => unusable.push(why),
            }
        }
    }
    if any {
        in_series(points, found);
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "there are no reports of COSBench workloads (`*.csv` with columns `Stage` and `Op-Type`) in `{}`",
        directory.display()
    )))
}

/// Adds points with the number of operations that they keep outstanding. If the same load was measured several times,
/// each number is a series of its own.
fn in_series(points: Vec<(Point, Option<f64>)>, found: &mut MeasuredPoints) {
    let loads: SortedSet<(Bytes, ReadShare)> =
        points.iter().map(|(point, _)| (point.size, point.reads)).collect();
    let repeats = loads.len() < points.len();
    let mut numbers: Vec<f64> = points.iter().filter_map(|(_, outstanding)| *outstanding).collect();
    numbers.sort_by(f64::total_cmp);
    let groups: Vec<&[f64]> = numbers.chunk_by(|a, b| b / a <= SAME_OUTSTANDING).collect();
    for (mut point, outstanding) in points {
        let mine = |group: &&&[f64]| {
            let ends = group.first().zip(group.last()).zip(outstanding);
            ends.is_some_and(|((least, most), number)| (*least..=*most).contains(&number))
        };
        if let Some(group) = groups.iter().find(mine).filter(|_| repeats && groups.len() > 1) {
            let middle = group[group.len() / 2].round().clamp(1.0, f64::from(u32::MAX)) as u32;
            point.series = format!("{middle} outstanding");
            let slots = NonZeroU32::new(middle).expect("at least one");
            found.outstanding.insert(point.series.clone(), slots);
        }
        found.points.push(point);
    }
}

/// Whether a table begins as a report of COSBench does.
fn is_report(path: &Path) -> Result<bool, Error> {
    let fault = |error| Error::Invalid(format!("cannot read `{}`: {error}", path.display()));
    let mut beginning = Vec::new();
    let file = foretell_input::open(path).map_err(fault)?;
    file.take(HEADING).read_to_end(&mut beginning).map_err(fault)?;
    let beginning = String::from_utf8_lossy(&beginning);
    let header = beginning.lines().next().unwrap_or_default();
    Ok(header.starts_with("Stage,") && header.contains("Op-Type"))
}

/// The positions of columns, by their names.
fn columns(
    reader: &mut csv::Reader<&[u8]>,
    path: &Path,
) -> Result<impl Fn(&str) -> Result<usize, Error> + use<>, Error> {
    let file = path.display().to_string();
    let header =
        reader.headers().map_err(|error| Error::Invalid(format!("`{file}`: {error}")))?.clone();
    Ok(move |name: &str| {
        header.iter().position(|found| found.trim() == name).ok_or_else(|| {
            let found: Vec<&str> = header.iter().collect();
            Error::Invalid(format!(
                "`{file}` has no column `{name}`; its first line has `{}`",
                found.join(",")
            ))
        })
    })
}

/// A table of points.
fn table(path: &Path, found: &mut MeasuredPoints) -> Result<(), Error> {
    let text = text_of(path, Limit::POINTS)?;
    let file = path.display();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let column = columns(&mut reader, path)?;
    let (size, reads, iops) = (column("bs")?, column("read_percent")?, column("iops")?);
    let series = column("series").ok();
    let used = ["bs", "read_percent", "iops", "series"];
    let header = reader.headers().map_err(|error| Error::Invalid(format!("`{file}`: {error}")))?;
    let surplus: Vec<String> =
        header.iter().filter(|name| !used.contains(name)).map(|name| format!("`{name}`")).collect();
    if !surplus.is_empty() {
        found.notes.insert(format!("`{file}`: columns that are not used: {}", surplus.join(", ")));
    }
    for record in reader.records() {
        let record = record.map_err(|error| Error::Invalid(format!("`{file}`: {error}")))?;
        let line = record.position().map_or(0, csv::Position::line);
        let origin = format!("`{file}` line {line}");
        let fault = |name: &str, at: usize, wanted: &str| {
            Error::Invalid(format!("{origin}: `{name}` is `{}`; expected {wanted}", &record[at]))
        };
        let number = |at: usize| record[at].parse::<f64>().ok();
        found.points.push(Point {
            series: series.map_or_else(String::new, |at| record[at].to_owned()),
            size: quantity::size(&record[size])
                .ok_or_else(|| fault("bs", size, "a size, such as `4k` or `4096`"))?,
            reads: number(reads)
                .and_then(ReadShare::from_percent)
                .ok_or_else(|| fault("read_percent", reads, "a percentage from 0 to 100"))?,
            iops: number(iops)
                .ok_or_else(|| fault("iops", iops, "a number of requests a second"))?,
            origin,
        });
    }
    Ok(())
}

/// The part of `truth.json` that is needed. The file of a large cluster has far more.
#[derive(Deserialize)]
struct Truth {
    workloads: Option<SortedMap<String, Seen>>,
}

#[derive(Deserialize)]
struct Seen {
    read: Option<Direction>,
    write: Option<Direction>,
}

#[derive(Deserialize)]
struct Direction {
    throughput_rps: Option<f64>,
    throughput_bytes_per_s: Option<f64>,
}

/// Runs of the simulator: all workloads of a run together are one point.
fn runs(
    directory: &Path,
    found: &mut MeasuredPoints,
    unusable: &mut Vec<String>,
) -> Result<(), Error> {
    let is_truth = |path: &Path| path.file_name().is_some_and(|name| name == TRUTH_FILE);
    for path in some(files(directory, &is_truth)?, directory, "runs (`truth.json`)")? {
        let origin = format!("`{}`", path.display());
        let no_truth = |what: &str| Error::Invalid(format!("{origin}: {what}"));
        let truth: Truth = serde_json::from_str(&text_of(&path, Limit::TRUTH)?)
            .map_err(|error| no_truth(&format!("no truth of a run: {error}")))?;
        let workloads = truth.workloads.ok_or_else(|| no_truth("it has no `workloads`"))?;
        let mut sum = Counted::default();
        let mut sizes: Vec<f64> = Vec::new();
        for (name, workload) in workloads {
            for (op, key) in ["read", "write"].into_iter().enumerate() {
                let seen = [&workload.read, &workload.write][op].as_ref();
                let number = |field: &str, of: fn(&Direction) -> Option<f64>| {
                    let number = seen.and_then(of).filter(|number| *number >= 0.0);
                    number.ok_or_else(|| {
                        no_truth(&format!("workload `{name}` has no `{key}.{field}`"))
                    })
                };
                let per_s = number("throughput_rps", |seen| seen.throughput_rps)?;
                let bytes_per_s =
                    number("throughput_bytes_per_s", |seen| seen.throughput_bytes_per_s)?;
                sum.per_s[op] += per_s;
                sum.bytes_per_s[op] += bytes_per_s;
                if per_s > 0.0 {
                    sizes.push(bytes_per_s / per_s);
                }
            }
        }
        let differ = sizes.iter().any(|size| (size / sizes[0] - 1.0).abs() > SAME_SIZE);
        match sum.point(origin.clone()) {
            Ok(_) if differ => {
                unusable.push(format!("{origin}: its workloads' requests have several sizes"));
            }
            Ok(point) => found.points.push(point),
            Err(why) => unusable.push(why),
        }
    }
    Ok(())
}
