//! `foretell score --random N`: how good predictions are at large.

use foretell_core::random::{Case, Draw, Generator, failures};
use foretell_files::Scratch;
use foretell_sim::truth::PhaseTruth;
use foretell_units::SimSpan;
use foretell_whatif::{Observed, PastScore, WhatIfError};
use serde::Serialize;

use super::reasons::reasons;
use super::{Comparison, Judge, change, compare, record, simulate};
use crate::failure::Failure;
use crate::jobs;

/// Requests that the slowest workload completes in the measured time, if that is possible.
const WANTED: f64 = 20_000.0;
/// Requests of all workloads together, at the most.
const MOST: f64 = 1_000_000.0;
/// The same of the third generator, and its shortest and longest measured time, s.
const BRIEF: (f64, f64) = (10_000.0, 150_000.0);
const BRIEF_SECONDS: (f64, f64) = (2.0, 300.0);

/// A random cluster, a random question, and how well it was answered.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Scored {
    pub(super) case: u32,
    pub(super) changes: Vec<String>,
    pub(super) comparisons: Vec<Comparison>,
    /// Processor time of the prediction and of the simulation, seconds.
    pub(super) predicted_in_s: f64,
    pub(super) simulated_in_s: f64,
    /// Why it is off, the strongest reason first.
    pub(super) reasons: Vec<String>,
    /// What each model's answer teaches.
    #[serde(skip)]
    pub(super) learned: Vec<PastScore>,
    /// The scenario, so that the case can be looked into.
    pub(super) scenario: String,
}

/// Scores cases `0..count`, on all cores.
pub(super) fn score(count: u32, draw: Draw, judge: Judge<'_>) -> Result<Vec<Scored>, Failure> {
    let cases: Vec<u32> = (0..count).collect();
    jobs::perform(&cases, jobs::threads(None), |index| one(draw, *index, judge)).all()
}

/// One case; another with the same number where the changed cluster would be overloaded.
fn one(draw: Draw, index: u32, judge: Judge<'_>) -> Result<Scored, Failure> {
    let mut attempt = draw;
    loop {
        let case = attempt.case(index);
        if let Some(scored) = try_one(&case, draw, index, judge)? {
            return Ok(scored);
        }
        attempt.seed = attempt.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
}

fn try_one(
    case: &Case,
    draw: Draw,
    index: u32,
    judge: Judge<'_>,
) -> Result<Option<Scored>, Failure> {
    let mut document = case.document.clone();
    let brief = matches!(draw.generator, Generator::V3 | Generator::V4);
    let fails = draw.generator == Generator::Failures;
    if brief || fails {
        document.set("warmup", "2 s")?;
        document.set("duration", "3 s")?;
    }
    // how long must be measured follows from a short run
    let Some(pilot) = stable(simulate(&document))? else { return Ok(None) };
    let rates = || pilot.workloads.values().map(|workload| workload.throughput_rps);
    let (slowest, all) = (rates().fold(f64::INFINITY, f64::min), rates().sum::<f64>());
    if slowest < 1.0 {
        return Ok(None);
    }
    let seconds = if fails {
        let (least, most) = failures::RATES;
        if slowest < least || all > most {
            return Ok(None);
        }
        document.set("warmup", failures::TIMES.0)?;
        None
    } else if brief {
        let seconds = (BRIEF.0 / slowest).min(BRIEF.1 / all);
        let seconds = seconds.clamp(BRIEF_SECONDS.0, BRIEF_SECONDS.1).ceil();
        document.set("warmup", &SimSpan::from_secs_f64((seconds / 2.0).min(20.0)).to_string())?;
        Some(seconds)
    } else {
        Some((WANTED / slowest).min(MOST / all).clamp(20.0, 1200.0).round())
    };
    let duration = seconds.map(|seconds| SimSpan::from_secs_f64(seconds).to_string());
    document.set("duration", duration.as_deref().unwrap_or(failures::TIMES.1))?;
    let directory = Scratch::new()?;
    if stable(record(&document, directory.path()))?.is_none() {
        return Ok(None);
    }
    let mut changed = document.clone();
    change(&mut changed, &case.changes)?;
    let start = cpu_time::ThreadTime::now();
    let Some(truth) = stable(simulate(&changed))? else { return Ok(None) };
    let simulated_in_s = start.elapsed().as_secs_f64();
    if truth.workloads.values().any(|workload| workload.requests < 100) {
        return Ok(None);
    }
    let phases = truth.outages.iter().flat_map(|outages| &outages.phases);
    let mut degraded = phases.filter(|phase| phase.phase == "degraded");
    let too_few = |phase: &PhaseTruth| {
        phase.workloads.values().any(|seen| seen.requests < failures::LEAST_DEGRADED)
    };
    if degraded.any(too_few) {
        return Ok(None);
    }
    let start = cpu_time::ThreadTime::now();
    let observed = match Observed::open(directory.path()) {
        Ok(observed) => observed,
        Err(WhatIfError::TooFew { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let predicted = judge.ask(&observed, &case.changes)?;
    let answer = &predicted.answer;
    let predicted_in_s = start.elapsed().as_secs_f64();
    Ok(Some(Scored {
        case: index,
        changes: case.changes.iter().map(ToString::to_string).collect(),
        comparisons: compare(answer, &truth),
        predicted_in_s,
        simulated_in_s,
        reasons: reasons(answer, &truth),
        learned: predicted.learned(&case.changes, &truth),
        scenario: document.resolved()?,
    }))
}

/// What happened, unless clients asked for more than can be done.
fn stable<T>(run: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match run {
        Ok(found) => Ok(Some(found)),
        Err(Failure::Run(
            foretell_sim::SimError::Overload { .. }
            | foretell_sim::SimError::NothingMeasured { .. },
        )) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Quantiles of the errors in one metric.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Spread {
    pub(super) count: usize,
    pub(super) median: f64,
    pub(super) p90: f64,
    pub(super) worst: f64,
}

pub(super) fn spread<'a>(
    comparisons: impl Iterator<Item = &'a Comparison>,
    metric: &str,
) -> Spread {
    let errors = comparisons.filter(|found| found.metric == metric && found.error.is_finite());
    let mut errors: Vec<f64> = errors.map(|found| found.error).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = errors.len().saturating_sub(1);
        errors.get(((share * errors.len() as f64) as usize).min(last)).copied().unwrap_or(0.0)
    };
    Spread { count: errors.len(), median: at(0.5), p90: at(0.9), worst: at(1.0) }
}
