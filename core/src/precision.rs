//! Runs that go on until a figure is known to a given precision, after a warm-up whose length is found
//! automatically.
//!
//! A first run from an empty cluster keeps each response time of the workload. MSER-5 (White, Cobb and Spratt
//! 2000) finds the end of its transient. It takes means of five responses each, and cuts off means at the
//! beginning so that the standard error of the rest is as small as possible. If the cut lies in the second half,
//! the run was too short, and is repeated with twice the length. The warm-up is at least the scenario's own,
//! because response times of which a few are very long hide slow transients from MSER-5. After that warm-up, the
//! cluster runs until the 95 % confidence interval by batch means is narrow enough. The result is the same as
//! that of the scenario with this `warmup` and this `duration`.
//!
//! Left out: transients that MSER-5 cannot see, such as caches that take hours to fill if the first run lasts
//! minutes. A longer `duration` makes the first run longer.

use std::ops::ControlFlow;
use std::str::FromStr;

use foretell_scenarios::model;
use foretell_sim::Progress;
use foretell_sim::goal::{Figure, Goal};
use foretell_units::{SimSpan, SimTime};
use serde::Serialize;

use crate::error::Error;
use crate::scenario::Scenario;
use crate::simulation::Simulation;

/// The requested figure, and its precision: `mail mean 2%`.
#[derive(Clone, PartialEq, Debug)]
pub struct Precision {
    /// The workload's name.
    pub workload: String,
    /// The figure.
    pub figure: Figure,
    /// Half the width of the 95 % confidence interval, as a share of the mean.
    pub half_width: f64,
}

/// How a run with a [`Precision`] went.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reached {
    /// The workload.
    pub workload: String,
    /// `mean` (response time) or `throughput`.
    pub figure: &'static str,
    /// Requested half-width of the interval, as a share of the mean.
    pub wanted: f64,
    /// Half-width of the interval that was found, as a share of the mean; `null` if there were too few
    /// requests.
    pub half_width: Option<f64>,
    /// Whether the interval is narrow enough. If not, the limit was reached first, or the workload ended.
    pub reached: bool,
    /// Warm-up that MSER-5 found, seconds of simulated time.
    pub warmup_s: f64,
    /// Measured time, seconds of simulated time.
    pub duration_s: f64,
}

/// Names of figures.
const FIGURES: [(&str, Figure); 2] =
    [("mean", Figure::MeanResponseTime), ("throughput", Figure::Throughput)];

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write a workload, `mean` or `throughput`, and a percentage: `mail mean 2%`";
        let mut words = text.split_whitespace();
        let (Some(workload), Some(figure), Some(share)) =
            (words.next(), words.next(), words.next())
        else {
            return Err(format!("`{text}` is not a precision; {example}"));
        };
        // `2 %` is two words
        let rest: String = words.collect();
        let known = FIGURES.iter().find(|(name, _)| *name == figure);
        let Some((_, figure)) = known else {
            return Err(format!("`{figure}` is not a figure; {example}"));
        };
        let number = format!("{share}{rest}");
        let percent = number.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let Some(percent) = percent.filter(|percent| (0.01..=50.0).contains(percent)) else {
            return Err(format!("`{number}` is not a percentage from 0.01% to 50%; {example}"));
        };
        Ok(Self { workload: workload.to_owned(), figure: *figure, half_width: percent / 100.0 })
    }
}

/// Length of the first run of a scenario without a duration.
const FIRST: SimSpan = SimSpan::from_secs(10);
/// Number of responses in a mean.
const FIVE: usize = 5;
/// Minimum number of means. With fewer, no transient can be found.
const FEWEST_MEANS: usize = 40;

impl Precision {
    /// The index of the workload in the scenario.
    fn place(&self, model: &model::Scenario) -> Result<usize, Error> {
        let found = model.workloads.iter().position(|workload| workload.name == self.workload);
        found.ok_or_else(|| {
            let names: Vec<String> =
                model.workloads.iter().map(|known| format!("`{}`", known.name)).collect();
            Error::Invalid(format!(
                "there is no workload `{}`; there are {}",
                self.workload,
                names.join(", ")
            ))
        })
    }

    /// Finds the warm-up of a scenario. Returns the scenario with that `warmup`, and with the `duration` from which
    /// [`goal`](Self::goal) continues.
    ///
    /// # Errors
    ///
    /// Those of a run; [`Error::Invalid`] if the workload is not there, or if no steady state is found within
    /// `longest`.
    pub fn warmed_up(
        &self,
        scenario: &Scenario,
        longest: SimSpan,
        mut observer: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Scenario, Error> {
        let model = scenario.check()?;
        let workload = self.place(&model)?;
        let first = model.duration.map_or(FIRST, |duration| model.warmup + duration);
        let mut length = first.min(longest);
        loop {
            let mut pilot = scenario.clone();
            set_span(&mut pilot, "warmup", SimSpan::ZERO)?;
            set_span(&mut pilot, "duration", length)?;
            pilot.set("record", "none")?;
            let responses =
                Simulation::new(pilot.document())?.responses(workload, &mut observer)?;
            if let Some(at) = mser5(&responses) {
                let mut found = scenario.clone();
                let warmup = responses.get(at).map_or(SimTime::ZERO, |(end, _)| *end);
                let warmup = rounded(warmup - SimTime::ZERO).max(model.warmup);
                set_span(&mut found, "warmup", warmup)?;
                let rest = if length > warmup { length - warmup } else { length };
                set_span(&mut found, "duration", rest)?;
                return Ok(found);
            }
            if length >= longest {
                let what = format!(
                    "`{}` reaches no steady state within {} of simulated time: its response times still \
                     change; allow more time (`--limit`), or reduce the load",
                    self.workload, longest
                );
                return Err(Error::Invalid(what));
            }
            length = (length * 2).min(longest);
        }
    }

    /// The goal of a run of the checked scenario.
    pub fn goal(&self, scenario: &model::Scenario, longest: SimSpan) -> Result<Goal, Error> {
        let workload = self.place(scenario)?;
        Ok(Goal { workload, figure: self.figure, half_width: self.half_width, longest })
    }

    /// The outcome.
    pub fn reached(&self, truth: &foretell_sim::truth::Truth) -> Reached {
        let found = &truth.workloads[&self.workload];
        let (mean, half_width) = match self.figure {
            Figure::Throughput => (found.throughput_rps, found.throughput_rps_half_width),
            Figure::MeanResponseTime => {
                (found.response_time_ms.mean, found.response_time_ms.mean_half_width)
            }
        };
        let half_width = half_width.map(|half_width| half_width / mean);
        let name = FIGURES.iter().find(|(_, figure)| *figure == self.figure);
        Reached {
            workload: self.workload.clone(),
            figure: name.map_or("", |(name, _)| name),
            wanted: self.half_width,
            half_width,
            reached: half_width.is_some_and(|half_width| half_width <= self.half_width),
            warmup_s: truth.warmup.as_secs_f64(),
            duration_s: truth.simulated_seconds,
        }
    }
}

/// The span rounded up to three digits, so that it is short in a scenario.
fn rounded(span: SimSpan) -> SimSpan {
    let mut step = 1;
    while span.as_ns() / step >= 1000 {
        step *= 10;
    }
    SimSpan::from_ns(span.as_ns().div_ceil(step) * step)
}

fn set_span(scenario: &mut Scenario, key: &str, span: SimSpan) -> Result<(), Error> {
    scenario.set(key, &format!("{} ns", span.as_ns()))
}

/// The number of responses at the beginning that form the transient. `None` if they are more than half: then
/// the run is too short.
fn mser5(responses: &[(SimTime, SimSpan)]) -> Option<usize> {
    let means: Vec<f64> = responses
        .chunks_exact(FIVE)
        .map(|five| five.iter().map(|(_, response)| response.as_ms_f64()).sum::<f64>() / 5.0)
        .collect();
    if means.len() < FEWEST_MEANS {
        return None;
    }
    // beginning at the end: count, mean, and sum of squared differences from it, by Welford's method
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best: Option<(f64, usize)> = None;
    for (cut, value) in means.iter().enumerate().rev() {
        count += 1.0;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        // a handful of means would always look steady
        if count >= 5.0 {
            let statistic = squares / (count * count);
            if best.is_none_or(|(least, _)| statistic <= least) {
                best = Some((statistic, cut));
            }
        }
    }
    let (_, cut) = best?;
    (cut * 2 <= means.len()).then_some(cut * FIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl Iterator<Item = f64>) -> Vec<(SimTime, SimSpan)> {
        let at = |number: usize| SimTime::ZERO + SimSpan::from_ms(number as u64);
        let responses = values.map(|ms| SimSpan::from_ns((ms * 1e6) as u64));
        responses.enumerate().map(|(number, response)| (at(number), response)).collect()
    }

    /// A number between 0 and 1, without a pattern.
    fn noise(number: usize) -> f64 {
        let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64
            / (1_u64 << 53) as f64
    }

    #[test]
    fn a_transient_is_cut_off() {
        let steady = series((0..5_000).map(|number| 5.0 + noise(number)));
        assert!(mser5(&steady).unwrap() < 250, "{:?}", mser5(&steady));
        let transient = |number: usize| if number < 1_000 { 30.0 } else { 5.0 };
        let falls = series((0..5_000).map(|number| transient(number) + noise(number)));
        assert!((995..1_250).contains(&mser5(&falls).unwrap()), "{:?}", mser5(&falls));
        // a series that grows until the end has no steady state
        let grows = series((0..5_000).map(|number| number as f64 / 100.0 + noise(number)));
        assert_eq!(mser5(&grows), None);
        assert_eq!(mser5(&steady[..100]), None);
    }

    #[test]
    fn a_precision_is_read() {
        let read = |text: &str| text.parse::<Precision>();
        let mail = read("mail mean 2%").unwrap();
        assert_eq!((mail.workload.as_str(), mail.half_width), ("mail", 0.02));
        assert_eq!(read("web throughput 0.5 %").unwrap().figure, Figure::Throughput);
        for wrong in [
            "mail",
            "mail p99 2%",
            "mail mean 2",
            "mail mean 0%",
            "mail mean 90%",
            "mail mean 2% x",
        ] {
            assert!(read(wrong).unwrap_err().contains("`mail mean 2%`"), "{wrong}");
        }
    }

    #[test]
    fn warmups_are_written_with_three_digits() {
        assert_eq!(rounded(SimSpan::from_ns(1_234_567)), SimSpan::from_ns(1_240_000));
        assert_eq!(rounded(SimSpan::from_ns(999)), SimSpan::from_ns(999));
        assert_eq!(rounded(SimSpan::ZERO), SimSpan::ZERO);
    }
}
