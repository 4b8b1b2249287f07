//! Scenarios as commands are given them: a file, or the name of one that comes with the program.

use std::path::Path;

use foretell_scenarios::{Change, Document, ScenarioError, meant, shipped_names};

use crate::failure::Failure;

/// The scenario in that file, or of that name. A file of the name goes first.
pub(crate) fn load(path: &Path) -> Result<Document, Failure> {
    if path.exists() {
        return Ok(Document::load(path)?);
    }
    let shown = path.display().to_string();
    if let Some(document) = Document::shipped(&shown) {
        return Ok(document?);
    }
    // the name that a path into our repository would have
    let inner = shown.strip_suffix(".toml").unwrap_or(&shown);
    let inner = inner.rsplit_once("scenarios/").map_or(inner, |(_, inner)| inner);
    let help = if shipped_names().any(|name| name == inner) {
        format!("one of that name comes with the program: `{inner}`, without directory and ending")
    } else {
        let near = meant(inner, shipped_names()).unwrap_or_default();
        format!("name a file, or a scenario that comes with the program. {near}")
    };
    let message = format!("there is no scenario `{shown}`");
    Err(Failure::Scenario(ScenarioError::nowhere(message, Some(help)).into()))
}

/// Makes changes given with `--set`. What has no effect is said on standard error: the run is what it
/// would have been without it.
pub(crate) fn set(document: &mut Document, changes: &[Change]) -> Result<(), Failure> {
    let before = document.clone();
    for change in changes {
        document.set(&change.path, &change.value)?;
    }
    for idle in before.idle(changes) {
        crate::failure::note(&idle.to_string());
    }
    Ok(())
}
