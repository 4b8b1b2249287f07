//! Checks and estimates of a sweep before its first run.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use foretell_datasets::{FEWEST_SPLIT, Invalid, Point, Split, Sweep};
use foretell_sorted::SortedMap;
use foretell_units::Seed;
use serde_json::json;

use super::{Prepared, queue, runs_of, share, size, work};
use crate::cli::Shard;
use crate::failure::Failure;
use crate::{interrupt, output};

/// Maximum number of wrong design points that are named.
const NAMED: usize = 10;
/// Runs that are tried for the estimate: one in `ONE_IN`, but at most `TRIED`.
const TRIED: u64 = 20;
const ONE_IN: u64 = 100;
/// Time limit of each trial; the rest of the run is extrapolated.
const TRIAL: Duration = Duration::from_millis(500);
/// Time after which no further trial begins.
const TRIALS: Duration = Duration::from_secs(1);

/// The plan of a sweep or a shard.
pub(super) struct Plan {
    /// Number of runs, including those done before.
    pub(super) runs: u64,
    points: u64,
    replicates: u64,
    shard: Shard,
    /// Number of design points that will be left out.
    left_out: u64,
    /// A note on the split of the design points.
    pub(super) note: Option<String>,
    /// Estimates; `None`: not wanted, or the trials failed.
    estimate: Option<Estimate>,
    threads: NonZeroUsize,
}

struct Estimate {
    run_s: f64,
    /// Bytes of a run; `None`: no trial was completed.
    run_bytes: Option<f64>,
}

impl Plan {
    pub(super) fn text(&self) -> String {
        let mut text = format!("{} runs", self.runs);
        if self.shard != Shard::WHOLE {
            let (number, of) = (self.shard.number, self.shard.of);
            let _ = write!(text, " (shard {number} of {of})");
        }
        let _ = write!(text, ": {} design points", self.points);
        if self.replicates > 1 {
            let _ = write!(text, ", each {} times", self.replicates);
        }
        if self.left_out > 0 {
            let _ = write!(text, ", of which {} are left out", self.left_out);
        }
        if let Some(estimate) = &self.estimate {
            let seconds = share(estimate.run_s * self.runs as f64, self.threads);
            let _ =
                write!(text, "; about {} with {} at once", duration_text(seconds), self.threads);
            if let Some(bytes) = estimate.run_bytes {
                let _ = write!(text, ", {}", size(bytes * self.runs as f64));
            }
        }
        text.push('\n');
        if let Some(note) = &self.note {
            text.push_str(&crate::output::note(note));
        }
        text
    }

    pub(super) fn json(&self) -> String {
        let estimate = self.estimate.as_ref();
        output::json(&json!({
            "runs": self.runs,
            "points": self.points,
            "replicates": self.replicates,
            "points_left_out": self.left_out,
            "estimated_run_s": estimate.map(|estimate| estimate.run_s),
            "estimated_s": estimate.map(|estimate| share(estimate.run_s * self.runs as f64, self.threads)),
            "estimated_bytes": estimate.and_then(|it| Some(it.run_bytes? * self.runs as f64)),
            "jobs": self.threads,
            "notes": self.note.iter().collect::<Vec<_>>(),
        }))
    }
}

fn duration_text(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{seconds:.0} s")
    } else if seconds < 6000.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

/// Checks every design point of a shard, and tries some runs if an estimate is wanted. Errors with the points that
/// are not valid scenarios, and the reasons.
pub(super) fn check(
    prepared: &Prepared,
    shard: Shard,
    threads: NonZeroUsize,
    timed: bool,
) -> Result<Plan, Failure> {
    interrupt::watch();
    let Prepared { sweep, tables, manifest } = prepared;
    let replicates = manifest.replicates;
    // a point belongs to each shard that has one of its runs
    let of_shard = |point: &Point| {
        let first = point.number * replicates;
        (first..first + replicates).any(|run| shard.has(run))
    };
    let wrong: Mutex<(u64, SortedMap<u64, String>)> = Mutex::default();
    let points = sweep.points().filter(of_shard).map(Ok);
    let (done, failure) = queue::perform(points, threads, |point: Point| {
        let scenario = sweep.document(&point).and_then(|document| document.check());
        let fault = match &scenario {
            Err(errors) => errors.lines(),
            Ok(scenario) => match tables.unknown(scenario) {
                Some(what) => {
                    let fault =
                        format!("{what} is not in the base scenario, which has the columns");
                    return Err(Failure::Usage(point_fault(prepared, &point, &fault)));
                }
                None => return Ok(()),
            },
        };
        let mut wrong = wrong.lock().expect("no thread panics");
        wrong.0 += 1;
        wrong.1.insert(point.number, point_fault(prepared, &point, &fault));
        if wrong.1.len() > NAMED {
            wrong.1.pop_last();
        }
        Ok(())
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    if interrupt::asked() {
        return Err(Failure::Interrupted { done: format!("the check of {done} design points") });
    }
    let (left_out, named) = wrong.into_inner().expect("no thread panics");
    if left_out > 0 && sweep.invalid == Invalid::Refuse {
        let message = format!(
            "{left_out} of {} design points are not valid scenarios; a condition in `constraints` can \
             exclude them, or `invalid = \"drop\"` leaves them out",
            manifest.points
        );
        let mut places: Vec<String> =
            named.values().flat_map(|fault| fault.lines()).map(str::to_owned).collect();
        if left_out > named.len() as u64 {
            places.push(format!("... and {} more", left_out - named.len() as u64));
        }
        return Err(Failure::Several { message, places });
    }
    let runs = runs_of(shard, manifest.runs());
    let estimate = if timed { estimate(prepared, runs, shard) } else { None };
    let (points, shard) = (manifest.points, shard);
    let note = note_on_split(sweep, points);
    Ok(Plan { runs, points, replicates, shard, left_out, note, estimate, threads })
}

/// A note for a sweep with too few design points to be split.
fn note_on_split(sweep: &Sweep, points: u64) -> Option<String> {
    (sweep.split == Split::NONE && points < FEWEST_SPLIT).then(|| {
        format!(
            "all {points} design points are in the split `train`, as fewer than {FEWEST_SPLIT} are unless `[split]` says \
             otherwise; `foretell learn evaluate` judges models by cross-validation"
        )
    })
}

fn point_fault(prepared: &Prepared, point: &Point, fault: &str) -> String {
    let settings = point.described(&prepared.sweep.factors);
    format!("point {} ({settings}): {}", point.number, fault.replace('\n', "; "))
}

/// Tries runs drawn at random; equally spaced runs would share levels of some factor.
fn estimate(prepared: &Prepared, runs: u64, shard: Shard) -> Option<Estimate> {
    let tried = (runs / ONE_IN).clamp(1, TRIED);
    let mut draws = Seed(prepared.sweep.seed).stream("sweep/estimate");
    let wanted: Vec<u64> = (0..tried).map(|_| draws.below(runs)).collect();
    let mine = prepared.sweep.runs().filter(|run| shard.has(run.number));
    let (mut seconds, mut tried) = (0.0, 0_u32);
    let (mut bytes, mut whole) = (0.0, 0_u32);
    let last = wanted.iter().copied().max().unwrap_or(0);
    let mine = mine.take(usize::try_from(last + 1).unwrap_or(usize::MAX));
    #[expect(clippy::disallowed_methods, reason = "runs are timed to say how long all take")]
    let begin = Instant::now();
    for (_, run) in mine.enumerate().filter(|(index, _)| wanted.contains(&(*index as u64))) {
        if begin.elapsed() > TRIALS {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "runs are timed to say how long all take")]
        let start = Instant::now();
        let mut came = 1.0;
        let outcome = work::attempt(prepared, &run, |progress| {
            if let Some(end) = progress.end {
                came = progress.now.as_ns() as f64 / end.as_ns().max(1) as f64;
            }
            let late = start.elapsed() > TRIAL || interrupt::asked();
            if late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let elapsed = start.elapsed().as_secs_f64();
        match outcome {
            Ok(entry) => {
                seconds += elapsed;
                bytes += entry.bytes() as f64;
                whole += 1;
            }
            // the trial was cut off: its time is extrapolated from its progress; its size is taken from the others
            Err(_) if came < 1.0 && came > 0.0 => seconds += elapsed / came,
            Err(_) => return None,
        }
        tried += 1;
    }
    let run_bytes = (whole > 0).then(|| bytes / f64::from(whole));
    Some(Estimate { run_s: seconds / f64::from(tried.max(1)), run_bytes })
}
