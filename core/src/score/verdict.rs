//! Whether a question leads to overload: as predicted, and as simulated.

use foretell_scenarios::model::{Arrivals, Scenario};
use foretell_sim::truth::Truth;
use foretell_whatif::{Answer, falls_behind};
use serde::Serialize;

use super::ScoredCase;

/// Whether requests of an open workload arrive faster than they complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Verdict {
    /// As predicted.
    pub predicted: bool,
    /// As simulated.
    pub measured: bool,
}

impl Verdict {
    /// The verdict on a changed scenario; `None` if there is no overload, neither predicted nor simulated.
    ///
    /// The simulation has an overload if the requests that are outstanding at its end are too many to be there by
    /// chance. The rule is that of predictions.
    pub(super) fn of(answer: &Answer, scenario: &Scenario, truth: &Truth) -> Option<Self> {
        let predicted = Self::is_overload(answer);
        let measured = Self::is_measured(scenario, truth);
        (predicted || measured).then_some(Self { predicted, measured })
    }

    /// The verdict if the model predicts that requests pile up without limit. Without a truth, they did.
    pub(super) fn of_overload(scenario: &Scenario, truth: Option<&Truth>) -> Self {
        let measured = truth.is_none_or(|truth| Self::is_measured(scenario, truth));
        Self { predicted: true, measured }
    }

    /// Whether a simulation has an overload.
    fn is_measured(scenario: &Scenario, truth: &Truth) -> bool {
        let open = scenario.workloads.iter();
        let mut open = open.filter(|one| !matches!(one.arrivals, Arrivals::Closed { .. }));
        open.any(|one| {
            let found = truth.workloads.get(&one.name);
            found.is_some_and(|found| {
                let issued = found.requests + found.unfinished.requests;
                falls_behind(issued, found.requests).is_some()
            })
        })
    }

    /// Whether an answer says that requests arrive faster than they complete.
    pub(super) fn is_overload(answer: &Answer) -> bool {
        answer.workloads.values().any(|found| found.overload.is_some())
    }
}

/// How many verdicts on overload are right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Verdicts {
    /// Changed clusters that were simulated, and about which the model answered.
    pub all: usize,
    /// Those that were overloaded.
    pub overloads: usize,
    /// Overloaded clusters that were predicted to keep up.
    pub missed: usize,
    /// Clusters that kept up, predicted to be overloaded.
    pub false_alarms: usize,
}

impl Verdicts {
    /// Those of scored cases.
    pub fn of(scored: &[ScoredCase]) -> Self {
        let overloaded = scored.iter().flat_map(|scored| &scored.overloaded);
        let overloaded = overloaded.filter(|case| case.refused.is_none());
        let overloaded = overloaded.map(|case| (case.predicted, true));
        let answered = scored.iter().filter(|one| one.refused.is_none() || one.overload.is_some());
        let answered = answered.map(|scored| {
            scored.overload.map_or((false, false), |verdict| (verdict.predicted, verdict.measured))
        });
        let mut of = Self { all: 0, overloads: 0, missed: 0, false_alarms: 0 };
        for (predicted, measured) in answered.chain(overloaded) {
            of.all += 1;
            of.overloads += usize::from(measured);
            of.missed += usize::from(measured && !predicted);
            of.false_alarms += usize::from(predicted && !measured);
        }
        of
    }

    /// The share of right verdicts; 1 if there is none.
    pub fn right(&self) -> f64 {
        1.0 - (self.missed + self.false_alarms) as f64 / self.all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::OverloadedCase;

    fn case(overload: Option<(bool, bool)>, missed: &[bool]) -> ScoredCase {
        let overloaded = |predicted: &bool| OverloadedCase {
            changes: Vec::new(),
            predicted: *predicted,
            refused: None,
            scenario: String::new(),
        };
        ScoredCase {
            case: 0,
            changes: Vec::new(),
            comparisons: Vec::new(),
            refused: None,
            overload: overload.map(|(predicted, measured)| Verdict { predicted, measured }),
            overloaded: missed.iter().map(overloaded).collect(),
            predicted_in_s: 0.0,
            simulated_in_s: 0.0,
            reasons: Vec::new(),
            learned: Vec::new(),
            scenario: String::new(),
        }
    }

    #[test]
    fn verdicts_count_cases_that_keep_up_and_cases_that_were_drawn_before_them() {
        let mut without_answer = case(None, &[]);
        without_answer.refused = Some("refused".to_owned());
        let mut missed_and_refused = case(None, &[true, false]);
        missed_and_refused.overloaded[1].refused = Some("refused".to_owned());
        let scored = [
            case(None, &[]),
            case(Some((true, false)), &[true, false]),
            case(Some((true, true)), &[]),
            without_answer,
            missed_and_refused,
        ];
        let found = Verdicts::of(&scored);
        assert_eq!(found, Verdicts { all: 7, overloads: 4, missed: 1, false_alarms: 1 });
        assert!((found.right() - 5.0 / 7.0).abs() < 1e-12);
    }
}
