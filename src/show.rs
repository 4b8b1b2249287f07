//! `foretell show`: the text of a scenario, sweep or profile.

use foretell_scenarios::{Named, ScenarioErrors};
use serde_json::json;

use crate::cli::{ShowNamedArguments, here};
use crate::failure::Failure;
use crate::{list, output};

/// Runs the command.
pub(crate) fn show(arguments: &ShowNamedArguments) -> Result<(), Failure> {
    let name = &arguments.name;
    let found = Named::find(name, here()).map_err(|errors| missing(name, errors))?;
    if !arguments.json {
        return output::print(&found.text);
    }
    output::print(&output::json(&json!({
        "kind": found.kind.name(),
        "name": found.name,
        "about": foretell_scenarios::about(&found.text),
        "file": found.file.map(|file| file.display().to_string()),
        "text": found.text,
    })))
}

/// The error for a name without a file; the name may be a word of scenarios.
fn missing(name: &str, errors: ScenarioErrors) -> Failure {
    match list::kind_of_word(name) {
        Some(kind) => Failure::Usage(format!(
            "`{name}` is not a file but a word that scenarios use: `foretell list {kind}` says what it means"
        )),
        None => errors.into(),
    }
}
