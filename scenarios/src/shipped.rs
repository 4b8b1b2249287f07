//! The scenarios that come with the program.

use crate::document::Document;
use crate::error::ScenarioErrors;

/// Names and texts.
const SCENARIOS: &[(&str, &str)] = &[
    ("first-look", include_str!("../first-look.toml")),
    ("trace-replay", include_str!("../trace-replay.toml")),
    ("encodings", include_str!("../encodings.toml")),
    ("log-structured", include_str!("../log-structured.toml")),
    ("big-cluster", include_str!("../big-cluster.toml")),
    ("solid-state", include_str!("../solid-state.toml")),
    ("array-server", include_str!("../array-server.toml")),
    ("virtualized", include_str!("../virtualized.toml")),
    ("benchmarks", include_str!("../benchmarks.toml")),
    ("ceph", include_str!("../ceph.toml")),
    ("swift", include_str!("../swift.toml")),
];

/// Names of the scenarios that come with the program.
pub fn shipped_names() -> impl Iterator<Item = &'static str> + Clone {
    SCENARIOS.iter().map(|(name, _)| *name)
}

impl Document {
    /// The scenario `name` that comes with the program; `None` if there is none. Errors are ours.
    ///
    /// Relative paths in it are taken from the current directory.
    pub fn shipped(name: &str) -> Option<Result<Self, ScenarioErrors>> {
        let (_, text) = SCENARIOS.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(&format!("{name}.toml"), text, ""))
    }
}
