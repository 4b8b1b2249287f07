//! Accuracy of predictions in general: random questions about random clusters.
//!
//! Each case has an answer and a truth to compare. A changed cluster whose clients ask for more than it can do has
//! no truth; it is kept as an [`OverloadedCase`], to score the verdict, and another case takes its number.

use foretell_files::Scratch;
use foretell_scenarios::Document;
use foretell_sim::SimError;
use foretell_sim::truth::{PhaseTruth, Truth};
use foretell_units::SimSpan;
use foretell_whatif::{Observed, PastScore, WhatIfError};
use serde::Serialize;

use super::judge::changed;
use super::{Comparison, Judge, Verdict, compare, reasons};
use crate::error::Error;
use crate::random::{Case, Draw, Generator, caches, failures};

/// Number of requests that the slowest workload should complete in the measured time.
const WANTED: f64 = 20_000.0;
/// Highest number of requests of all workloads together.
const MAX_REQUESTS: f64 = 1_000_000.0;
/// The same two numbers for generators `v3` and `v4`, and their shortest and longest measured time, s.
const BRIEF: (f64, f64) = (10_000.0, 150_000.0);
const BRIEF_SECONDS: (f64, f64) = (2.0, 300.0);
/// For generator `caches`: the warm-up as a multiple of the time in which requests read and write as much as all caches
/// hold, the number of requests of the measured time, and the highest number of requests of the whole run.
const TURNOVERS: f64 = 3.0;
const WITH_CACHES: (f64, f64) = (200_000.0, 1_500_000.0);

/// A random cluster, a random question, and the accuracy of the answer.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredCase {
    /// Its number.
    pub case: u32,
    /// The changes that the question asks about, each `PATH=VALUE`.
    pub changes: Vec<String>,
    /// The answer beside the truth. Empty if there is no answer.
    pub comparisons: Vec<Comparison>,
    /// Why there is no answer: the model refuses the question, or predicts that requests pile up without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether requests arrive faster than they complete, as predicted and as simulated. `None` if neither says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<Verdict>,
    /// Cases with this number that were drawn before this one, and whose changed clusters were overloaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overloaded: Vec<OverloadedCase>,
    /// Processor time of the prediction, seconds.
    pub predicted_in_s: f64,
    /// Processor time of the simulation, seconds.
    pub simulated_in_s: f64,
    /// Reasons for the error, the strongest first.
    pub reasons: Vec<String>,
    /// What each model's answer adds to the past scores.
    #[serde(skip)]
    pub learned: Vec<PastScore>,
    /// The scenario, so that the case can be examined.
    pub scenario: String,
}

/// A random question about a change after which the simulated cluster is overloaded.
#[derive(Clone, Debug, Serialize)]
pub struct OverloadedCase {
    /// The changes that the question asks about, each `PATH=VALUE`.
    pub changes: Vec<String>,
    /// Whether the answer says so.
    pub predicted: bool,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The scenario, so that the case can be examined.
    pub scenario: String,
}

/// Scores cases `0..count` of a draw. Results do not depend on the number of threads.
///
/// # Errors
///
/// If a simulation fails, or the observer ends the work.
pub fn score_random(count: u32, draw: Draw, judge: Judge<'_>) -> Result<Vec<ScoredCase>, Error> {
    let cases: Vec<u32> = (0..count).collect();
    judge.workers.perform(&cases, |index| one(draw, *index, judge)).all()
}

/// One case. If the changed cluster is overloaded, or if the case does not suit, another with the same number is drawn.
fn one(draw: Draw, index: u32, judge: Judge<'_>) -> Result<ScoredCase, Error> {
    let mut attempt = draw;
    let mut overloaded = Vec::new();
    loop {
        let case = attempt.case(index);
        match try_one(&case, draw, index, judge)? {
            Attempt::Scored(scored) => return Ok(ScoredCase { overloaded, ..*scored }),
            Attempt::Overloaded(case) => overloaded.push(case),
            Attempt::Unsuitable => {}
        }
        attempt.seed = attempt.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
}

/// What became of a drawn case.
enum Attempt {
    Scored(Box<ScoredCase>),
    /// The changed cluster is overloaded.
    Overloaded(OverloadedCase),
    /// The cluster is overloaded before the change, or too few requests complete to compare anything.
    Unsuitable,
}

fn try_one(case: &Case, draw: Draw, index: u32, judge: Judge<'_>) -> Result<Attempt, Error> {
    let mut document = case.document.clone();
    if draw.generator >= Generator::V3 {
        document.set("warmup", "2 s")?;
        document.set("duration", "3 s")?;
    }
    // a short run shows how long the measured time must be
    let Simulated::Stable(pilot) = stable(judge.simulate(&document))? else {
        return Ok(Attempt::Unsuitable);
    };
    if !set_times(&mut document, draw.generator, &pilot)? {
        return Ok(Attempt::Unsuitable);
    }
    let directory = Scratch::new()?;
    let Simulated::Stable(()) = stable(judge.record(&document, directory.path()))? else {
        return Ok(Attempt::Unsuitable);
    };
    let changed = changed(&document, &case.changes)?;
    let start = cpu_time::ThreadTime::now();
    let observed = match Observed::open(directory.path()) {
        Ok(observed) => observed,
        Err(WhatIfError::TooFew { .. }) => return Ok(Attempt::Unsuitable),
        Err(error) => return Err(error.into()),
    };
    let opened_in_s = start.elapsed().as_secs_f64();
    let start = cpu_time::ThreadTime::now();
    let truth = match stable(judge.simulate(&changed))? {
        Simulated::Stable(truth) => truth,
        Simulated::Overload => return overloaded(case, &document, &observed, judge),
        Simulated::TooLittle => return Ok(Attempt::Unsuitable),
    };
    let simulated_in_s = start.elapsed().as_secs_f64();
    if truth.workloads.values().any(|workload| workload.requests < 100) {
        return Ok(Attempt::Unsuitable);
    }
    let phases = truth.outages.iter().flat_map(|outages| &outages.phases);
    let mut degraded = phases.filter(|phase| phase.phase == "degraded");
    let too_few = |phase: &PhaseTruth| {
        phase.workloads.values().any(|seen| seen.requests < failures::MIN_DEGRADED)
    };
    if degraded.any(too_few) {
        return Ok(Attempt::Unsuitable);
    }
    let start = cpu_time::ThreadTime::now();
    let predicted = judge.ask(&observed, &case.changes);
    let predicted_in_s = opened_in_s + start.elapsed().as_secs_f64();
    let mut scored = ScoredCase {
        case: index,
        changes: case.changes.iter().map(ToString::to_string).collect(),
        comparisons: Vec::new(),
        refused: None,
        overload: None,
        overloaded: Vec::new(),
        predicted_in_s,
        simulated_in_s,
        reasons: Vec::new(),
        learned: Vec::new(),
        scenario: document.resolved()?,
    };
    match predicted {
        Ok(predicted) => {
            scored.comparisons = compare(&predicted.answer, &truth);
            scored.reasons = reasons(&predicted.answer, &truth);
            scored.overload = Verdict::of(&predicted.answer, &changed.check()?, &truth);
            scored.learned = predicted.learned(&case.changes, &truth);
        }
        Err(Error::WhatIf(refused @ WhatIfError::Refused { .. })) => {
            scored.refused = Some(refused.to_string());
        }
        Err(Error::WhatIf(refused @ WhatIfError::Overload { .. })) => {
            scored.refused = Some(refused.to_string());
            scored.overload = Some(Verdict::of_overload(&changed.check()?, Some(&truth)));
        }
        Err(error) => return Err(error),
    }
    Ok(Attempt::Scored(Box::new(scored)))
}

/// Sets the warm-up and the measured time, from a short run of the same cluster. Returns whether the case suits.
fn set_times(document: &mut Document, generator: Generator, pilot: &Truth) -> Result<bool, Error> {
    let rates = || pilot.workloads.values().map(|workload| workload.throughput_rps);
    let (slowest, all) = (rates().fold(f64::INFINITY, f64::min), rates().sum::<f64>());
    if slowest < 1.0 {
        return Ok(false);
    }
    let (warmup, seconds) = match generator {
        Generator::Failures | Generator::Failures2 => {
            let (least, most) = failures::RATES;
            document.set("warmup", failures::TIMES.0)?;
            document.set("duration", failures::TIMES.1)?;
            return Ok(slowest >= least && all <= most);
        }
        Generator::Caches => {
            let bytes = pilot.workloads.values().map(|workload| workload.throughput_bytes_per_s);
            let turnover = caches::seconds_to_turn_over(&document.check()?, bytes.sum());
            let (warmup, seconds) = (TURNOVERS * turnover, WITH_CACHES.0 / all);
            if (warmup + seconds) * all > WITH_CACHES.1 {
                return Ok(false);
            }
            (Some(warmup.ceil()), seconds.ceil())
        }
        Generator::V3 | Generator::V4 => {
            let seconds = (BRIEF.0 / slowest).min(BRIEF.1 / all);
            let seconds = seconds.clamp(BRIEF_SECONDS.0, BRIEF_SECONDS.1).ceil();
            (Some((seconds / 2.0).min(20.0)), seconds)
        }
        Generator::V1 | Generator::V2 => {
            (None, (WANTED / slowest).min(MAX_REQUESTS / all).clamp(20.0, 1200.0).round())
        }
    };
    if let Some(warmup) = warmup {
        document.set("warmup", &SimSpan::from_secs_f64(warmup).to_string())?;
    }
    document.set("duration", &SimSpan::from_secs_f64(seconds).to_string())?;
    Ok(true)
}

/// The verdict on a change that overloads the cluster.
fn overloaded(
    case: &Case,
    document: &Document,
    observed: &Observed,
    judge: Judge<'_>,
) -> Result<Attempt, Error> {
    let (predicted, refused) = match judge.ask(observed, &case.changes) {
        Ok(found) => (Verdict::is_overload(&found.answer), None),
        Err(Error::WhatIf(WhatIfError::Overload { .. })) => (true, None),
        Err(Error::WhatIf(refused @ WhatIfError::Refused { .. })) => {
            (false, Some(refused.to_string()))
        }
        Err(error) => return Err(error),
    };
    Ok(Attempt::Overloaded(OverloadedCase {
        changes: case.changes.iter().map(ToString::to_string).collect(),
        predicted,
        refused,
        scenario: document.resolved()?,
    }))
}

/// What a simulation found.
enum Simulated<T> {
    Stable(T),
    /// Clients ask for more than the cluster can do.
    Overload,
    /// Nothing completed in the measured time.
    TooLittle,
}

fn stable<T>(run: Result<T, Error>) -> Result<Simulated<T>, Error> {
    match run {
        Ok(found) => Ok(Simulated::Stable(found)),
        Err(Error::Run(SimError::Overload { .. })) => Ok(Simulated::Overload),
        Err(Error::Run(SimError::NothingMeasured { .. })) => Ok(Simulated::TooLittle),
        Err(error) => Err(error),
    }
}
