//! Loads the scenario of a command: a file, a lesson, or the name of a shipped scenario.

use std::path::Path;

use foretell_scenarios::{Change, Document};

use crate::failure::Failure;

/// The scenario in this file, or with this name. A file of this name takes precedence.
pub(crate) fn load(path: &Path) -> Result<Document, Failure> {
    if path.extension().is_some_and(|ending| ending == "md") && path.is_file() {
        let text = crate::laboratory::scenario_in(path)?;
        let base = path.parent().unwrap_or(Path::new(""));
        return Ok(Document::parse(&path.display().to_string(), &text, base)?);
    }
    if !path.exists()
        && let Some(text) = path.to_str().and_then(foretell_laboratory::scenario_of)
    {
        return Ok(Document::parse(&path.display().to_string(), &text, Path::new(""))?);
    }
    Ok(foretell_core::Scenario::load(path)?.into_document())
}

/// Applies changes given with `--set`. A change without effect is reported on standard error.
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
