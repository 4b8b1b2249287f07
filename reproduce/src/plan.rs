//! What is to be simulated, and what is to be asked of the records.

use std::collections::{BTreeMap, BTreeSet};

use foretell_scenarios::{Change, Document, ScenarioErrors, ShippedKind};

/// The scenarios of the papers, by name: what figures call them, and what they come with the program as.
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

/// A cluster under load: a scenario, and what is changed in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Setup {
    scenario: &'static str,
    /// Path and value, in the order in which they were given.
    changes: Vec<(&'static str, String)>,
}

impl Setup {
    /// A scenario as it is.
    pub(crate) fn of(scenario: &'static str) -> Self {
        Self { scenario, changes: Vec::new() }
    }

    /// With a change, instead of an earlier one of the same path.
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

    /// What has to be changed to come from this cluster to that one.
    pub(crate) fn changes_to(&self, target: &Self) -> Vec<Change> {
        assert_eq!(self.scenario, target.scenario, "questions are about the same scenario");
        let told = |path: &str| target.changes.iter().any(|(changed, _)| *changed == path);
        assert!(self.changes.iter().all(|(path, _)| told(path)), "{self:?} {target:?}");
        let new = target.changes.iter().filter(|change| !self.changes.contains(change));
        new.map(|(path, value)| Change { path: (*path).to_owned(), value: value.clone() }).collect()
    }

    /// The scenario's name.
    pub(crate) fn scenario(&self) -> &'static str {
        self.scenario
    }
}

/// All that figures need; what several need is done once.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Clusters to simulate, each with those that are asked about from its records; none: nothing
    /// is recorded.
    pub(crate) runs: BTreeMap<Setup, BTreeSet<Setup>>,
}

impl Plan {
    /// This cluster is simulated.
    pub(crate) fn measure(&mut self, setup: &Setup) {
        self.runs.entry(setup.clone()).or_default();
    }

    /// The cluster `from` is recorded, and asked what `to` would do; both are simulated.
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
