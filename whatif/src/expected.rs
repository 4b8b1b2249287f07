//! How far off an answer is to be expected, learned from predictions that were scored.
//!
//! Two things are known of an answer: how far the model is off for the recorded run itself, and how
//! far the change moves the workload from there. Of the past scores of the same model and metric,
//! those that are most alike in both say how large the error was (nearest neighbours: Fix & Hodges,
//! *Discriminatory Analysis*, 1951). What is left out: what the change was of.
//!
//! Some past scores come with the program, of random questions to random clusters; an installation
//! adds its own.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::answer::{Model, ResponseTimeMs};

/// As many of the past scores are asked.
const NEIGHBOURS: usize = 40;
/// Misfits below this are alike, as are movements (assumed: no model is that good).
const ALIKE: (f64, f64) = (0.01, 0.05);

/// What is known of an answer about a workload before its error is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Circumstances {
    /// Logarithm of modelled / recorded mean response time of the run itself; none of a new workload.
    pub misfit: Option<f64>,
    /// Logarithm of asked / recorded mean response time, by the model; none of a new workload.
    pub moved: Option<f64>,
}

impl Circumstances {
    /// `said` of the changed cluster, `modelled` of the run itself, of which this was `recorded`.
    pub(crate) fn of(said: f64, modelled: ResponseTimeMs, recorded: ResponseTimeMs) -> Self {
        let log = |ratio: f64| Some(ratio.ln()).filter(|log| log.is_finite());
        Self { misfit: log(modelled.mean / recorded.mean), moved: log(said / modelled.mean) }
    }

    fn coordinates(self) -> Option<(f64, f64)> {
        let (misfit, moved) = (self.misfit?.abs(), self.moved?.abs());
        Some(((misfit + ALIKE.0).ln(), (moved + ALIKE.1).ln()))
    }

    fn distance(self, other: Self) -> f64 {
        match (self.coordinates(), other.coordinates()) {
            (Some(one), Some(two)) => (one.0 - two.0).powi(2) + (one.1 - two.1).powi(2),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        }
    }
}

/// A prediction that was scored: one line of a history.
#[derive(Clone, PartialEq, Debug)]
pub struct PastScore {
    /// Who predicted.
    pub model: Model,
    /// What: a name of the metrics of `score`.
    pub metric: String,
    /// In which circumstances.
    pub circumstances: Circumstances,
    /// |predicted - measured| / measured.
    pub error: f64,
}

/// The first line of a file of past scores.
pub const HISTORY_HEADER: &str = "model,metric,misfit,moved,error";

impl fmt::Display for PastScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, metric, circumstances: Circumstances { misfit, moved }, error } = self;
        let log = |log: Option<f64>| log.map_or_else(String::new, |log| format!("{log:.4}"));
        write!(f, "{model},{metric},{},{},{error:.4}", log(*misfit), log(*moved))
    }
}

impl FromStr for PastScore {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split(',').collect();
        let [model, metric, misfit, moved, error] = fields[..] else {
            return Err(format!("has {} fields instead of 5: {HISTORY_HEADER}", fields.len()));
        };
        let model = Model::ALL.into_iter().find(|known| known.to_string() == model);
        let model = model.ok_or("names no model: bounds, mva or replay")?;
        let number = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("has `{text}` where a number is wanted"))
        };
        let log = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
        let circumstances = Circumstances { misfit: log(misfit)?, moved: log(moved)? };
        Ok(Self { model, metric: metric.to_owned(), circumstances, error: number(error)? })
    }
}

/// How far off an answer is to be expected: relative errors of past scores that are most like it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ExpectedError {
    /// Half of them were smaller.
    pub median: f64,
    /// 90 % of them were smaller.
    pub p90: f64,
    /// So many they are.
    pub scores: usize,
}

/// Past scores.
#[derive(Clone, Debug, Default)]
pub struct Experience(Vec<PastScore>);

impl Experience {
    /// What comes with the program.
    pub fn shipped() -> Self {
        Self::parse(include_str!("past_scores.csv")).expect("the file was written by `score`")
    }

    /// Reads a history: a header, then a line for each score. Errors name the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        match lines.next() {
            Some(HISTORY_HEADER) => {}
            _ => return Err(format!("line 1 is not the header `{HISTORY_HEADER}`")),
        }
        let score = |(index, line): (usize, &str)| {
            line.parse().map_err(|error| format!("line {} {error}", index + 2))
        };
        lines.enumerate().map(score).collect::<Result<_, _>>().map(Self)
    }

    /// Takes over the scores of another.
    pub fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How far off a model is to be expected, if enough is known.
    pub fn expect(
        &self,
        model: Model,
        metric: &str,
        circumstances: Circumstances,
    ) -> Option<ExpectedError> {
        let same = self.0.iter().filter(|past| past.model == model && past.metric == metric);
        let mut near: Vec<(f64, f64)> = same
            .map(|past| (circumstances.distance(past.circumstances), past.error))
            .filter(|(distance, _)| distance.is_finite())
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        // of those equally far none is left out for its place in the file
        let last = near.len().checked_sub(1)?.min(NEIGHBOURS - 1);
        let farthest = near[last].0;
        let alike = near.iter().take_while(|(distance, _)| *distance <= farthest);
        let mut errors: Vec<f64> = alike.map(|(_, error)| *error).collect();
        errors.sort_by(f64::total_cmp);
        let at =
            |share: f64| errors[((share * errors.len() as f64) as usize).min(errors.len() - 1)];
        Some(ExpectedError { median: at(0.5), p90: at(0.9), scores: errors.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(misfit: f64, moved: f64, error: f64) -> PastScore {
        PastScore {
            model: Model::Replay,
            metric: "throughput_rps".to_owned(),
            circumstances: Circumstances { misfit: Some(misfit), moved: Some(moved) },
            error,
        }
    }

    #[test]
    fn those_most_alike_are_asked() {
        let good = (0..50).map(|index| past(0.01, 0.1, f64::from(index) / 1000.0));
        let bad = (0..50).map(|index| past(0.5, -2.0, 0.2 + f64::from(index) / 100.0));
        let experience = Experience(good.chain(bad).collect());
        let expect = |misfit, moved| {
            let circumstances = Circumstances { misfit: Some(misfit), moved: Some(moved) };
            experience.expect(Model::Replay, "throughput_rps", circumstances).unwrap()
        };
        let near = expect(-0.012, 0.09);
        assert_eq!((near.scores, near.median, near.p90), (50, 0.025, 0.045));
        assert!(expect(0.45, 1.8).median > 0.4);
        let other = experience.expect(Model::Mva, "throughput_rps", Circumstances::default());
        assert_eq!(other, None);
        let fresh = experience.expect(Model::Replay, "throughput_rps", Circumstances::default());
        assert_eq!(fresh, None, "nothing is known of new workloads");
    }

    #[test]
    fn a_history_is_read_as_it_is_written() {
        let mut fresh = past(0.0, 0.0, 0.125);
        fresh.circumstances = Circumstances::default();
        for score in [past(-0.25, 1.5, 0.0625), fresh] {
            assert_eq!(score.to_string().parse(), Ok(score));
        }
        let error = Experience::parse("model,metric,misfit,moved,error\nreplay,x,1,2").unwrap_err();
        assert!(error.starts_with("line 2 has 4 fields"), "{error}");
        assert!(Experience::parse("a,b\n").unwrap_err().contains("line 1"));
    }

    #[test]
    fn the_shipped_scores_cover_every_model() {
        let shipped = Experience::shipped();
        for model in Model::ALL {
            let usual = Circumstances { misfit: Some(0.02), moved: Some(0.3) };
            let found = shipped.expect(model, "throughput_rps", usual).unwrap();
            assert!(found.scores >= NEIGHBOURS && found.median < found.p90, "{model} {found:?}");
        }
    }
}
