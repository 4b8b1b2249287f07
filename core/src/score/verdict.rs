//! Whether a question leads to overload: as predicted, and as simulated.

use foretell_scenarios::model::{Arrivals, Scenario};
use foretell_sim::truth::Truth;
use foretell_whatif::{Answer, falls_behind};
use serde::Serialize;

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
        let predicted = answer.workloads.values().any(|found| found.overload.is_some());
        let open = scenario.workloads.iter();
        let mut open = open.filter(|one| !matches!(one.arrivals, Arrivals::Closed { .. }));
        let measured = open.any(|one| {
            let found = truth.workloads.get(&one.name);
            found.is_some_and(|found| {
                let issued = found.requests + found.unfinished.requests;
                falls_behind(issued, found.requests).is_some()
            })
        });
        (predicted || measured).then_some(Self { predicted, measured })
    }
}
