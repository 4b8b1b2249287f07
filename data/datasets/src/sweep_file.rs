//! The raw form of a sweep file: structs in which each value has its place in the text.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSweep {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) scenario: Spanned<RawScenario>,
    #[serde(default)]
    pub(crate) set: Vec<Spanned<String>>,
    pub(crate) seed: Option<Spanned<i64>>,
    pub(crate) design: Option<Spanned<String>>,
    pub(crate) points: Option<Spanned<i64>>,
    pub(crate) replicates: Option<Spanned<i64>>,
    #[serde(default)]
    pub(crate) constraints: Vec<Spanned<String>>,
    pub(crate) invalid: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) factor: BTreeMap<Spanned<String>, RawFactor>,
    pub(crate) split: Option<RawSplit>,
    pub(crate) output: Option<RawOutput>,
}

/// A file's path, a name, or the scenario itself.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a scenario, or a table with one")]
pub(crate) enum RawScenario {
    Named(String),
    Here(toml::Table),
}

/// A factor: `values`, `levels` or a `range`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFactor {
    pub(crate) description: Option<String>,
    pub(crate) path: Option<Spanned<OneOrMany>>,
    pub(crate) values: Option<Spanned<Vec<Spanned<toml::Value>>>>,
    pub(crate) levels: Option<BTreeMap<Spanned<String>, Vec<Spanned<String>>>>,
    pub(crate) range: Option<Spanned<[Spanned<toml::Value>; 2]>>,
    pub(crate) scale: Option<Spanned<String>>,
    pub(crate) step: Option<Spanned<toml::Value>>,
    pub(crate) count: Option<Spanned<i64>>,
}

/// One path, or several that get the same value.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path of the scenario, or a list of paths")]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn all(&self) -> Vec<String> {
        match self {
            Self::One(path) => vec![path.clone()],
            Self::Many(paths) => paths.clone(),
        }
    }
}

/// The split of the points.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSplit {
    pub(crate) validation: Option<Spanned<String>>,
    pub(crate) test: Option<Spanned<String>>,
    pub(crate) extrapolation: Option<Spanned<String>>,
}

/// Tables beside `runs`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawOutput {
    pub(crate) requests: Option<Spanned<String>>,
    pub(crate) records: Option<Spanned<Vec<String>>>,
}
