//! Scenarios: descriptions of a cluster and its load. Each setting can be changed.

use std::path::Path;

use foretell_scenarios::{Change, Document, ScenarioError, meant, model, shipped_names};

use crate::error::Error;

/// A cluster, its load, and the length of the run.
#[derive(Clone, Debug)]
pub struct Scenario {
    document: Document,
}

impl Scenario {
    /// The scenario in this file, or the shipped scenario of this name. If there is a file of this
    /// name, the file is used.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.exists() {
            return Ok(Self { document: Document::load(path)? });
        }
        let shown = path.display().to_string();
        if let Some(document) = Document::shipped(&shown) {
            return Ok(Self { document: document? });
        }
        // a path such as `scenarios/first-look.toml` also names the shipped scenario
        let inner = shown.strip_suffix(".toml").unwrap_or(&shown);
        let inner = inner.rsplit_once("scenarios/").map_or(inner, |(_, inner)| inner);
        let help = if shipped_names().any(|name| name == inner) {
            format!(
                "a scenario of this name comes with the program: write `{inner}`, without directory and \
                 ending"
            )
        } else {
            let near = meant(inner, shipped_names()).unwrap_or_default();
            format!("name a file, or a scenario that comes with the program; {near}")
        };
        let is_other_file = path.extension().is_some_and(|ending| ending != "toml");
        let message = if is_other_file {
            format!("there is no file `{shown}`")
        } else {
            format!("there is no scenario `{shown}`")
        };
        Err(Error::Scenario(ScenarioError::nowhere(message, Some(help)).into()))
    }

    /// Reads a scenario from TOML text. `base` is the directory that contains the files named in it.
    pub fn parse(text: &str, base: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { document: Document::parse("scenario", text, base.as_ref())? })
    }

    /// Changes a setting: `set("node.brick.count", "12")`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        Ok(self.document.set(path, value)?)
    }

    /// Makes the changes, in order.
    pub fn change(&mut self, changes: &[Change]) -> Result<(), Error> {
        changes.iter().try_for_each(|change| self.set(&change.path, &change.value))
    }

    /// Checks the scenario. Returns the cluster with all defaults and profiles.
    pub fn check(&self) -> Result<model::Scenario, Error> {
        Ok(self.document.check()?)
    }

    /// The scenario as TOML with all defaults, as it is kept beside a run.
    pub fn resolved(&self) -> Result<String, Error> {
        Ok(self.document.resolved()?)
    }

    /// The document that the scenario is read from.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The document that the scenario is read from.
    pub fn into_document(self) -> Document {
        self.document
    }
}

impl From<Document> for Scenario {
    fn from(document: Document) -> Self {
        Self { document }
    }
}
