//! The plan: clusters to simulate, and questions to ask about their records.

use foretell_scenarios::{Change, Document, ScenarioErrors, ShippedKind};
use foretell_sorted::{SortedMap, SortedSet};

/// The scenarios of the papers: their name in figures, and their name among the shipped scenarios.
const SCENARIOS: [(&str, &str); 9] = [
    ("ceph", "ceph"),
    ("swift", "swift"),
    ("micro", "ursa-minor/micro"),
    ("coding", "ursa-minor/coding"),
    ("oltp", "ursa-minor/oltp"),
    ("postmark", "ursa-minor/postmark"),
    ("iozone", "ursa-minor/iozone"),
    ("movement", "ursa-minor/movement"),
    ("interference", "ursa-minor/interference"),
];

/// A cluster under load: a scenario with changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Setup {
    scenario: &'static str,
    /// Path and value, in the order in which they were given.
    changes: Vec<(&'static str, String)>,
}

impl Setup {
    /// A scenario without changes.
    pub(crate) fn of(scenario: &'static str) -> Self {
        Self { scenario, changes: Vec::new() }
    }

    /// Adds a change; it replaces an earlier change of the same path.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they are")]
    pub(crate) fn with(mut self, path: &'static str, value: impl ToString) -> Self {
        let value = value.to_string();
        match self.changes.iter_mut().find(|(old, _)| *old == path) {
            Some((_, old)) => *old = value,
            None => self.changes.push((path, value)),
        }
        self
    }

    /// The scenario with its changes.
    pub(crate) fn document(&self) -> Result<Document, ScenarioErrors> {
        let (_, shipped) = SCENARIOS
            .iter()
            .find(|(name, _)| *name == self.scenario)
            .expect("figures name scenarios that are there");
        let text = ShippedKind::Scenario.shipped(shipped).expect("it comes with the program");
        let mut document = Document::parse(&format!("{}.toml", self.scenario), text, ".")?;
        for (path, value) in &self.changes {
            document.set(path, value)?;
        }
        Ok(document)
    }

    /// The changes that turn this cluster into `target`.
    pub(crate) fn changes_to(&self, target: &Self) -> Vec<Change> {
        assert_eq!(self.scenario, target.scenario, "questions are about the same scenario");
        let is_changed = |path: &str| target.changes.iter().any(|(changed, _)| *changed == path);
        assert!(self.changes.iter().all(|(path, _)| is_changed(path)), "{self:?} {target:?}");
        let new = target.changes.iter().filter(|change| !self.changes.contains(change));
        new.map(|(path, value)| Change { path: (*path).to_owned(), value: value.clone() }).collect()
    }

    /// The scenario's name.
    pub(crate) fn scenario(&self) -> &'static str {
        self.scenario
    }
}

/// All that figures need; a need shared by several figures is met once.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Clusters to simulate, each with the clusters that are asked about from its records. If there are
    /// none, nothing is recorded.
    pub(crate) runs: SortedMap<Setup, SortedSet<Setup>>,
}

impl Plan {
    /// Adds a simulation of this cluster.
    pub(crate) fn measure(&mut self, setup: &Setup) {
        self.runs.entry(setup.clone()).or_default();
    }

    /// Records the cluster `from` and asks for the performance of `to`; both are simulated.
    pub(crate) fn compare(&mut self, from: &Setup, to: &Setup) {
        self.runs.entry(from.clone()).or_default().insert(to.clone());
        self.measure(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_right() {
        for (name, _) in SCENARIOS {
            let document = Setup::of(name).document().unwrap_or_else(|error| panic!("{error:?}"));
            document.check().unwrap_or_else(|error| panic!("{name}: {}", error.lines()));
        }
    }

    #[test]
    fn a_question_is_what_differs() {
        let before = Setup::of("micro").with("volume.data.encoding", "1-of-3");
        let after = before.clone().with("volume.data.encoding", "3-of-5");
        let changes = before.changes_to(&after);
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(changes, ["volume.data.encoding=3-of-5"]);
        assert_eq!(after.changes_to(&after), []);
    }
}
