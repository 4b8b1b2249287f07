//! A scenario as a document: read, changed, checked, written back.

use std::path::{Path, PathBuf};

use foretell_input::Limit;

use crate::check::{self, Checked};
use crate::error::{Problems, ScenarioError, ScenarioErrors};
use crate::model::Scenario;
use crate::source::{Confined, SourceKind, Sources};
use crate::tree::{Table, parse_document};

/// A scenario as written, with the changes made to it.
///
/// It is valid TOML, but may be wrong in every other way; [`Document::check`] finds out.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) tree: Table,
    pub(crate) sources: Sources,
    pub(crate) base: PathBuf,
}

impl Document {
    /// Reads the file at `path`; relative paths in it are taken from its directory.
    ///
    /// Errors if there is no such file, it cannot be read, is not UTF-8, or is not TOML.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioErrors> {
        let path = path.as_ref();
        let shown = path.display();
        let bytes = foretell_input::bytes(path, Limit::SCENARIO).map_err(|error| {
            let (message, help) = if path.is_dir() {
                (format!("`{shown}` is a directory; a scenario is a file"), None)
            } else if error.kind() == std::io::ErrorKind::NotFound {
                (format!("there is no scenario `{shown}`"), None)
            } else {
                (format!("cannot read the scenario `{shown}`: {error}"), None)
            };
            ScenarioError::nowhere(message, help)
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].split(|&byte| byte == b'\n').count();
            ScenarioError::nowhere(
                format!("`{shown}` is not a scenario: line {line} is not UTF-8 text"),
                Some("a trace is replayed by a workload of `kind = \"trace\"`".to_owned()),
            )
        })?;
        let base = path.parent().unwrap_or(Path::new(""));
        Self::parse(&shown.to_string(), &text, base)
    }

    /// Reads `text`, which is called `name` in errors; relative paths in it are taken from `base`.
    ///
    /// Errors if it is not TOML.
    pub fn parse(name: &str, text: &str, base: impl AsRef<Path>) -> Result<Self, ScenarioErrors> {
        let mut sources = Sources::default();
        let address = sources.add(name, text, SourceKind::File);
        let mut problems = Problems::default();
        match parse_document(text, address) {
            Ok(tree) => Ok(Self { tree, sources, base: base.as_ref().to_owned() }),
            Err(found) => {
                problems.add_all(found);
                Err(problems.into_errors(&sources).expect("there are syntax errors"))
            }
        }
    }

    /// The text that it was read from, without later changes.
    pub fn text(&self) -> &str {
        self.sources.first().map_or("", |source| &source.text)
    }

    /// Resolves relative paths, and profiles beside scenarios, from `base` from now on.
    #[must_use]
    pub fn seen_from(self, base: impl AsRef<Path>) -> Self {
        Self { base: base.as_ref().to_owned(), ..self }
    }

    /// Allows only files below its base directory, in changes too. For scenarios whose author may
    /// not read everything that this process can.
    #[must_use]
    pub fn confined(mut self) -> Self {
        let directory = self.base.clone();
        self.sources.confined = Some(Confined { directory, only_changes: false });
        self
    }

    /// Allows changes from now on to name files below this directory only, relative to it; also profiles. The text
    /// itself is not confined: for the scenario of a kept run, about which others ask.
    #[must_use]
    pub fn confining_changes(mut self, directory: impl AsRef<Path>) -> Self {
        let directory = directory.as_ref().to_owned();
        self.sources.confined = Some(Confined { directory, only_changes: true });
        self
    }

    /// With the limits of another document on the files that may be named.
    #[must_use]
    pub fn confined_as(mut self, other: &Self) -> Self {
        self.sources.confined.clone_from(&other.sources.confined);
        self
    }

    /// Checks everything. Errors list all that is wrong.
    pub fn check(&self) -> Result<Scenario, ScenarioErrors> {
        self.checked().map(|checked| checked.scenario)
    }

    pub(crate) fn checked(&self) -> Result<Checked, ScenarioErrors> {
        check::check(&self.tree, &self.sources, &self.base)
    }
}
