//! Changes: `volume.mail.encoding=3-of-5`.
//!
//! A path leads through the tables of the scenario by their keys: `switch.port_buffer`,
//! `volume.mail.size`, `node.brick.cache.size`. An element of a list is given by its number,
//! `node.brick.disk.0.device` or `node.brick.disk[0].device`. One host of a group is
//! `node.brick3.nic.rate` or `node.brick[3].nic.rate`; that fills `[host.brick3]`. A name with a
//! dot may be quoted, `device."barracuda-7200.8".rpm`, but need not be.
//!
//! The value is read as TOML or as a text, depending on what the key takes: `8`, `1 GiB`, `3-of-5`,
//! `brick[3-7]`, `"brick[3-7]"`. An empty value removes a key, so that its default applies again
//! (`workload.mail.think=`). Entries are added as a whole, `workload.new={ volume = "mail", ... }`,
//! and removed by `none`: `workload.mail=none`; so are optional tables, `scrub=none`. A change that makes other keys meaningless
//! (`arrivals`, `kind`, `layout`, `pattern`) removes these, unless they were changed too.

mod changer;
mod concurrency;
mod entries;
mod hosts;
mod path;
mod value;

use std::fmt;
use std::str::FromStr;

use changer::Changer;

use crate::check::groups_of;
use crate::document::Document;
use crate::error::{Problems, ScenarioErrors};
use crate::source::SourceKind;

/// A change of a scenario, `path=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The path: `volume.mail.encoding`.
    pub path: String,
    /// The new value: `3-of-5`; empty for the default.
    pub value: String,
}

/// The text is not a change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a change; write PATH=VALUE, such as `volume.mail.encoding=3-of-5`")]
pub struct ChangeError(String);

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Self { path: path.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err(ChangeError(text.to_owned())),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

impl Document {
    /// Changes the value at `path`. Errors, without any change, if there is no such path or the
    /// value does not fit it. Whether the scenario as a whole is right is left to
    /// [`Document::check`].
    ///
    /// Errors show the change as `--set path=value`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), ScenarioErrors> {
        self.apply("--set", &Change { path: path.to_owned(), value: value.to_owned() })
    }

    /// Same as [`Document::set`]; `option`: the option that gave the change, such as `--what-if`, for errors.
    pub fn apply(&mut self, option: &str, change: &Change) -> Result<(), ScenarioErrors> {
        let prefix = format!("{option} ");
        let text = format!("{prefix}{change}");
        let mut sources = self.sources.clone();
        let path_base = sources.add(option, &text, SourceKind::Change) + prefix.len();
        let value_base = path_base + change.path.len() + 1;
        let mut tree = self.tree.clone();
        let mut changer = Changer {
            groups: groups_of(&tree).into_iter().map(|(group, _)| group).collect(),
            value: &change.value,
            value_base,
            path_base,
            problems: Problems::default(),
            base: &self.base,
            sources,
        };
        if let Err(problem) = changer.change(&mut tree, &change.path) {
            changer.problems.add(problem);
        }
        let Changer { problems, sources, .. } = changer;
        if let Some(errors) = problems.into_errors(&sources) {
            return Err(errors);
        }
        (self.tree, self.sources) = (tree, sources);
        Ok(())
    }
}
