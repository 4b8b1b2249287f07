//! Fits latency curves to runs of fio.
//!
//! Runs of equal jobs form one *condition*. Its latencies are chosen so that as many of its runs as possible
//! lie within the tolerances. Among equally good choices, the one with the smallest differences from the runs
//! is taken. If there is only one run, its own latencies are taken. Each condition gives a point of a curve.
//! The point is described by order, operation, share of reads, size and number of requests outstanding.
//!
//! Gaps are filled as follows. A size may have been measured at other shares of reads, but not at the wanted
//! one. Then its latency is interpolated between the shares on either side. If shares were measured on one
//! side only, the latency is that of the nearest share, multiplied by the ratio of the two shares' latencies
//! at the nearest size. A number of requests outstanding may have been measured at other sizes or shares, but
//! not at the wanted ones. Then the curve takes the shape of the nearest curve that has this number. If no
//! lower number outstanding was measured at all, a single request is assumed to take as long as the fastest 1
//! % of the measured requests. But its time is never so short that fewer outstanding requests would have a
//! higher throughput than more.
//!
//! The latency of flushes (fio's `sync`) is the device's. It becomes the time of a flush in the profile.

use foretell_scenarios::device::{Curve, Curves, Order};
use foretell_sorted::SortedSet;
use foretell_units::{Bytes, Op, SECTOR_BYTES, SimSpan};
use foretell_workloads::fio;

use super::closed_loop::{self, Achieved, Driven};
use super::evidence::{Evidence, Run, RunJob, words};
use crate::error::Error;

/// Tolerated errors of IOPS and of latency.
pub const TOLERANCES: [f64; 2] = [0.10, 0.15];
/// If a job spends more than this share of its time outside the device, beyond the waits in its settings,
/// a note says so.
const OUTSIDE: f64 = 0.05;
/// Rounds in which simulated latencies are adjusted towards the wanted ones.
const ROUNDS: usize = 4;
/// Minimum queue depth of a device with flushes, as many commands as a SATA drive takes: writes that are outstanding
/// together share a flush, although nothing is known of more transfers at a time.
const SHARING: u32 = 32;
/// Maximum number of runs of a condition whose latencies are tried.
const MAX_CANDIDATES: usize = 64;

/// Runs of equal jobs.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Indexes into [`Evidence::runs`].
    pub runs: Vec<usize>,
    /// The targets for each of its jobs.
    pub jobs: Vec<JobTarget>,
}

/// A job of a condition, and the targets that the device should reach for it.
#[derive(Clone, Debug)]
pub struct JobTarget {
    /// The job.
    pub of: RunJob,
    /// Time outside the device between a completion and the next submission.
    gap_ns: f64,
    /// The share of its time that this is.
    outside: f64,
    /// Targets by [`Op`].
    points: [Option<Point>; 2],
    /// Mean latency of its flushes.
    flush_ns: Option<f64>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug)]
struct Point {
    order: Order,
    op: Op,
    /// Share of reads in percent; it distinguishes conditions.
    reads: u32,
    block: u64,
    outstanding: u32,
    latency_ns: f64,
    /// Minimum latency of a single request, if it is known.
    fastest_ns: Option<f64>,
}

/// The median of some numbers; there is at least one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Whether both IOPS and latency lie within the tolerances of the measured values.
pub fn within(errors: [f64; 2]) -> bool {
    errors.iter().zip(TOLERANCES).all(|(error, borne)| error.abs() <= borne)
}

/// The conditions of all runs, in the order of their first runs.
pub fn conditions(evidence: &Evidence) -> Vec<Condition> {
    let mut found: Vec<Condition> = Vec::new();
    let alike = |a: &Run, b: &Run| {
        a.jobs.len() == b.jobs.len()
            && a.jobs.iter().zip(&b.jobs).all(|(a, b)| {
                a.job == b.job
                    && a.flushes.map(|of| of.writes) == b.flushes.map(|of| of.writes)
                    && [0, 1].iter().all(|&op| a.seen[op].is_some() == b.seen[op].is_some())
            })
    };
    for (number, run) in evidence.runs.iter().enumerate() {
        match found.iter_mut().find(|known| alike(&evidence.runs[known.runs[0]], run)) {
            Some(known) => known.runs.push(number),
            None => found.push(Condition { runs: vec![number], jobs: Vec::new() }),
        }
    }
    for condition in &mut found {
        let runs: Vec<&Run> = condition.runs.iter().map(|&run| &evidence.runs[run]).collect();
        condition.jobs = job_targets(&runs);
    }
    found
}

/// The targets of a device for the jobs of equal runs.
fn job_targets(runs: &[&Run]) -> Vec<JobTarget> {
    let of_runs = |of: &dyn Fn(&Run) -> f64| median(runs.iter().map(|run| of(run)).collect());
    let outstanding = of_runs(&|run| run.jobs.iter().map(RunJob::outstanding).sum());
    let reads = match runs[0].jobs.as_slice() {
        [only] => only.job.read_share,
        _ => of_runs(&|run| {
            let all: f64 = run.jobs.iter().map(RunJob::iops).sum();
            run.jobs.iter().map(|job| job.iops() * job.read_share()).sum::<f64>() / all
        }),
    };
    let targets = (0..runs[0].jobs.len()).map(|number| {
        let jobs: Vec<&RunJob> = runs.iter().map(|run| &run.jobs[number]).collect();
        let gap_ns = of_runs(&|run| run.jobs[number].gap_ns());
        let latencies = chosen(&jobs, gap_ns);
        let order = match jobs[0].job.order {
            fio::Order::Random => Order::Random,
            fio::Order::Sequential => Order::Sequential,
        };
        let points = [Op::Read, Op::Write].map(|op| {
            let seen = || jobs.iter().filter_map(|job| job.seen[op as usize]);
            let bytes = median_of(seen().map(|seen| seen.bytes))?;
            Some(Point {
                order,
                op,
                reads: (reads * 100.0).round() as u32,
                block: ((bytes / SECTOR_BYTES as f64).round() as u64).max(1) * SECTOR_BYTES,
                outstanding: (outstanding.round() as u32).max(1),
                latency_ns: latencies[op as usize],
                fastest_ns: median_of(seen().filter_map(|seen| seen.fastest_ns)),
            })
        });
        let flush_ns = median_of(jobs.iter().filter_map(|job| Some(job.flushes?.latency_ns)));
        let gap_ns = of_runs(&|run| run.jobs[number].host_gap_ns());
        let outside = of_runs(&|run| run.jobs[number].outside());
        JobTarget { of: jobs[0].clone(), gap_ns, outside, points, flush_ns }
    });
    targets.collect()
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(values))
}

/// Latencies, by [`Op`], that reproduce most of the runs of a job.
fn chosen(jobs: &[&RunJob], gap_ns: f64) -> [f64; 2] {
    let slots = f64::from(jobs[0].slots());
    let reads = median(jobs.iter().map(|job| job.read_share()).collect());
    let shares = [reads, 1.0 - reads];
    // the number of runs that are not reproduced, and the sum of the differences of all
    let misfit = |latencies: [f64; 2]| -> (usize, f64) {
        let mean: f64 = (0..2).map(|op| shares[op] * latencies[op]).sum();
        let iops = slots / (mean + gap_ns) * 1e9;
        let (mut missed, mut away) = (0, 0.0);
        for job in jobs {
            let iops_error = iops / job.iops() - 1.0;
            away += libm::log1p(iops_error).abs();
            let mut good = true;
            for (seen, latency) in job.seen.iter().zip(latencies) {
                let Some(seen) = seen else { continue };
                let error = latency / seen.latency_ns - 1.0;
                away += libm::log1p(error).abs();
                good &= within([iops_error, error]);
            }
            missed += usize::from(!good);
        }
        (missed, away)
    };
    let steps = if jobs.len() == 1 { 0 } else { 6 };
    let factors: Vec<f64> = (-steps..=steps).map(|step| 1.0 + 0.02 * f64::from(step)).collect();
    let mut best = ((usize::MAX, f64::INFINITY), [0.0; 2]);
    for job in jobs.iter().take(MAX_CANDIDATES) {
        let own = job.seen.map(|seen| seen.map_or(0.0, |seen| seen.latency_ns));
        for &reads in &factors {
            // a job that only reads or only writes has one direction to try
            let writes = if own[1] > 0.0 && own[0] > 0.0 { &factors[..] } else { &[reads] };
            for &writes in writes {
                let latencies = [own[0] * reads, own[1] * writes];
                let found = misfit(latencies);
                if found.0 < best.0.0 || (found.0 == best.0.0 && found.1 < best.0.1) {
                    best = (found, latencies);
                }
            }
        }
    }
    best.1
}

/// A device and what it achieved for each job of each condition.
pub struct Fitted {
    /// The device.
    pub device: Curves,
    /// By condition and job.
    pub achieved: Vec<Vec<Achieved>>,
}

/// The device that comes as close to the targets of all conditions as one device can.
pub fn fit(conditions: &[Condition], capacity: Bytes) -> Result<Fitted, Error> {
    let mut tuned = conditions.to_vec();
    let mut flush_ns = flush_of(conditions);
    let mut round = 0;
    loop {
        let device = device(&tuned, flush_ns, capacity);
        let achieved: Vec<Vec<Achieved>> = conditions
            .iter()
            .map(|condition| drive(&device, condition))
            .collect::<Result<_, _>>()?;
        round += 1;
        if round == ROUNDS {
            return Ok(Fitted { device, achieved });
        }
        // flushes of several processes wait for one another
        let jobs = conditions.iter().flat_map(|condition| &condition.jobs);
        let factors = jobs.zip(achieved.iter().flatten()).filter_map(|(target, achieved)| {
            Some(target.flush_ns? / achieved.flush_ns).filter(|factor| factor.is_finite())
        });
        flush_ns *= geometric_mean(factors).unwrap_or(1.0).clamp(0.5, 2.0);
        // points that were interpolated between shares of reads come out slightly different
        for ((tuned, condition), achieved) in tuned.iter_mut().zip(conditions).zip(&achieved) {
            for ((tuned, target), achieved) in
                tuned.jobs.iter_mut().zip(&condition.jobs).zip(achieved)
            {
                for op in 0..2 {
                    let (Some(tuned), Some(target)) = (&mut tuned.points[op], &target.points[op])
                    else {
                        continue;
                    };
                    let factor = target.latency_ns / achieved.latency_ns[op];
                    if factor.is_finite() {
                        tuned.latency_ns *= factor.clamp(0.5, 2.0);
                    }
                }
            }
        }
    }
}

/// The time of a flush that conditions suggest; 0 without flushes.
fn flush_of(conditions: &[Condition]) -> f64 {
    let jobs = conditions.iter().flat_map(|condition| &condition.jobs);
    geometric_mean(jobs.filter_map(|job| job.flush_ns)).unwrap_or(0.0)
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(libm::log).collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| libm::exp(sum / logarithms.len() as f64))
}

/// Fits a device to the other conditions, and returns what it achieves for this one. `None` if the others say
/// nothing about such requests.
pub fn left_out(
    conditions: &[Condition],
    number: usize,
    capacity: Bytes,
) -> Result<Option<Vec<Achieved>>, Error> {
    let mut others = conditions.to_vec();
    let mut condition = others.remove(number);
    let kinds = |of: &Condition| -> Vec<(Order, Op)> {
        let points = of.jobs.iter().flat_map(|job| job.points.iter().flatten());
        points.map(|point| (point.order, point.op)).collect()
    };
    let known: Vec<(Order, Op)> = others.iter().flat_map(kinds).collect();
    if kinds(&condition).iter().any(|kind| !known.contains(kind)) {
        return Ok(None);
    }
    let flush_ns = flush_of(&others);
    if flush_ns <= 0.0 && condition.jobs.iter().any(|job| job.flush_ns.is_some()) {
        return Ok(None);
    }
    // the host's own time is taken from the others; the waits in the job's settings are its own
    let of_others = others.iter().flat_map(|other| &other.jobs);
    let gaps = of_others.filter(|job| !job.of.throttled()).map(|job| job.gap_ns);
    let usual = median_of(gaps);
    for job in &mut condition.jobs {
        if let (false, Some(usual)) = (job.of.throttled(), usual) {
            job.gap_ns = usual;
        }
    }
    drive(&device(&others, flush_ns, capacity), &condition).map(Some)
}

fn drive(device: &Curves, condition: &Condition) -> Result<Vec<Achieved>, Error> {
    let jobs = condition.jobs.iter().map(|target| Driven {
        job: &target.of.job,
        gap: SimSpan::from_ns(target.gap_ns as u64),
        writes_per_flush: target.of.flushes.map(|flushes| flushes.writes),
    });
    closed_loop::run(device, &jobs.collect::<Vec<_>>())
}

/// Points of equal requests, in ascending order of the number outstanding.
#[derive(Clone)]
struct Sampled {
    order: Order,
    op: Op,
    reads: u32,
    block: u64,
    points: Vec<(u32, f64)>,
    fastest_ns: Option<f64>,
}

impl Sampled {
    fn at(&self, outstanding: u32) -> Option<f64> {
        self.points.iter().find(|(count, _)| *count == outstanding).map(|(_, latency)| *latency)
    }
}

fn device(conditions: &[Condition], flush_ns: f64, capacity: Bytes) -> Curves {
    let jobs = || conditions.iter().flat_map(|condition| &condition.jobs);
    let points: Vec<Point> = jobs().flat_map(|job| job.points.into_iter().flatten()).collect();
    let queue_depth = points.iter().map(|point| point.outstanding).max().unwrap_or(1);
    let slots = conditions.iter().map(|condition| {
        condition.jobs.iter().map(|job| job.of.slots()).fold(0, u32::saturating_add)
    });
    let mut sampled = sampled(points);
    let missing = missing(&sampled);
    sampled.extend(missing);
    let curves = sampled.iter().map(|curve| Curve {
        order: curve.order,
        op: curve.op,
        reads: f64::from(curve.reads) / 100.0,
        block: Bytes(curve.block),
        points: completed(curve, &sampled)
            .into_iter()
            .map(|(count, ns)| (count, SimSpan::from_ns((ns.round() as u64).max(1))))
            .collect(),
    });
    let flush = SimSpan::from_ns(flush_ns.round() as u64);
    let sharing = if flush.is_zero() { 1 } else { SHARING };
    Curves {
        capacity,
        queue_depth: slots.max().unwrap_or(1).max(queue_depth).max(sharing).min(1 << 20),
        flush,
        curves: curves.collect(),
    }
}

/// Curves of the measured points. If a point was measured several times, the geometric mean is taken.
fn sampled(mut points: Vec<Point>) -> Vec<Sampled> {
    let key = |point: &Point| (point.order, point.op, point.reads, point.block);
    points.sort_by_key(|point| (key(point), point.outstanding));
    let curves = points.chunk_by(|a, b| key(a) == key(b)).map(|curve| {
        let counts = curve.chunk_by(|a, b| a.outstanding == b.outstanding);
        let mean = |alike: &[Point]| {
            let latency = geometric_mean(alike.iter().map(|point| point.latency_ns));
            (alike[0].outstanding, latency.expect("a group has a point"))
        };
        let Point { order, op, reads, block, fastest_ns, .. } = curve[0];
        Sampled { order, op, reads, block, points: counts.map(mean).collect(), fastest_ns }
    });
    curves.collect()
}

/// Curves for sizes that were measured at other shares of reads but not at these. Another share is a
/// better guide than another size.
fn missing(all: &[Sampled]) -> Vec<Sampled> {
    let mut found = Vec::new();
    for kind in all.chunk_by(|a, b| (a.order, a.op) == (b.order, b.op)) {
        let of = |reads: u32, block: u64| {
            kind.iter().find(|curve| curve.reads == reads && curve.block == block)
        };
        let blocks: SortedSet<u64> = kind.iter().map(|curve| curve.block).collect();
        let shares: SortedSet<u32> = kind.iter().map(|curve| curve.reads).collect();
        for (&reads, &block) in
            shares.iter().flat_map(|share| blocks.iter().map(move |b| (share, b)))
        {
            if of(reads, block).is_some() {
                continue;
            }
            let below = shares.range(..reads).rev().find_map(|&share| of(share, block));
            let above = shares.range(reads..).find_map(|&share| of(share, block));
            let scaled = |from: &Sampled, factor: &dyn Fn(u32, f64) -> f64| Sampled {
                reads,
                points: from.points.iter().map(|&(n, ns)| (n, factor(n, ns))).collect(),
                ..*from
            };
            match (below, above) {
                (Some(below), Some(above)) => {
                    let span = f64::from(above.reads - below.reads);
                    let share = f64::from(reads - below.reads) / span;
                    found.push(scaled(below, &|n, ns| {
                        above.at(n).map_or(ns, |other| ns * (1.0 - share) + other * share)
                    }));
                }
                (Some(near), None) | (None, Some(near)) => {
                    let apart = |other: &u64| libm::log2(*other as f64 / block as f64).abs();
                    let mut others: Vec<u64> = blocks.iter().copied().collect();
                    others.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
                    let ratio = others.iter().find_map(|&size| {
                        let (here, there) = (of(reads, size)?, of(near.reads, size)?);
                        let mut both = there.points.iter().rev();
                        both.find_map(|&(n, ns)| Some(here.at(n)? / ns))
                    });
                    if let Some(ratio) = ratio {
                        found.push(scaled(near, &|_, ns| ns * ratio));
                    }
                }
                (None, None) => {}
            }
        }
    }
    found
}

/// A curve's points, and the points that it takes from its nearest neighbours.
fn completed(curve: &Sampled, all: &[Sampled]) -> Vec<(u32, f64)> {
    let mut near: Vec<&Sampled> =
        all.iter().filter(|other| other.order == curve.order && other.op == curve.op).collect();
    let apart = |other: &Sampled| {
        let sizes = libm::log2(other.block as f64 / curve.block as f64).abs();
        // the distance from reads alone to writes alone equals that of a factor of sixteen in size
        sizes + 4.0 * (f64::from(other.reads) - f64::from(curve.reads)).abs() / 100.0
    };
    near.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
    let mut points = curve.points.clone();
    let ends = [points[0].0, points[points.len() - 1].0];
    let beyond = |count: u32| count < ends[0] || count > ends[1];
    let mut counts: Vec<u32> =
        near.iter().flat_map(|other| other.points.iter().map(|(count, _)| *count)).collect();
    counts.sort_unstable();
    counts.dedup();
    for count in counts.into_iter().filter(|&count| beyond(count)) {
        let end = if count < ends[0] { ends[0] } else { ends[1] };
        let ratio = near.iter().find_map(|other| Some(other.at(count)? / other.at(end)?));
        if let (Some(ratio), Some(latency)) = (ratio, curve.at(end)) {
            points.push((count, latency * ratio));
        }
    }
    points.sort_by_key(|(count, _)| *count);
    let (least, latency) = points[0];
    if least > 1 {
        let fastest = curve.fastest_ns.unwrap_or(latency);
        points.insert(0, (1, fastest.clamp(latency / f64::from(least), latency)));
    }
    points
}

/// What the device's curves are based on besides measurements, in words.
pub fn assumptions(conditions: &[Condition]) -> Vec<String> {
    let jobs = || conditions.iter().flat_map(|condition| &condition.jobs);
    let points: Vec<Point> = jobs().flat_map(|job| job.points.into_iter().flatten()).collect();
    let mut notes = Vec::new();
    for op in [Op::Read, Op::Write] {
        if !points.iter().any(|point| point.op == op) {
            notes.push(format!(
                "{op}s were not measured: they are assumed to take as long as the others"
            ));
        }
    }
    for order in [Order::Random, Order::Sequential] {
        if !points.iter().any(|point| point.order == order) {
            let name = order.name();
            notes.push(format!(
                "{name} requests were not measured: they are assumed to take as long as the \
                                others"
            ));
        }
    }
    for job in jobs().filter(|job| !job.of.throttled()) {
        let share = job.outside;
        if share > OUTSIDE {
            notes.push(format!(
                "{}: {:.0} % of the time passes outside the device, because IOPS × latency is less than \
                 the number that may be outstanding; the simulated job pauses for this time",
                words(&job.of),
                share * 100.0
            ));
        }
    }
    let flush_ns = flush_of(conditions);
    if flush_ns > 0.0 {
        notes.push(format!(
            "a flush takes {:.3} ms: each write on this device waits for one, as of a system that acknowledges \
             only durable writes",
            flush_ns / 1e6
        ));
    }
    let counts = || points.iter().map(|point| point.outstanding);
    let (least, most) = (counts().min().unwrap_or(1), counts().max().unwrap_or(1));
    if least > 1 {
        notes.push(format!(
            "fewer than {least} outstanding were not measured: a single one is assumed to take as long as \
             the fastest 1 % of the measured ones"
        ));
    }
    notes.push(format!(
        "more than {most} outstanding were not measured: the device is assumed to serve no faster"
    ));
    let sizes = || points.iter().map(|point| Bytes(point.block));
    if let (Some(smallest), Some(largest)) = (sizes().min(), sizes().max()) {
        notes.push(format!(
            "requests below {smallest} are assumed to take as long as these, requests above {largest} to \
             move as many bytes a second as these"
        ));
    }
    notes
}
