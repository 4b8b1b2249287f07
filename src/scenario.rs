//! Scenarios as commands are given them: a file, or the name of one that comes with the program.

use std::path::Path;

use foretell_scenarios::{Change, Document};

use crate::failure::Failure;

/// The scenario in that file, or of that name. A file of the name goes first.
pub(crate) fn load(path: &Path) -> Result<Document, Failure> {
    Ok(foretell_core::Scenario::load(path)?.into_document())
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
