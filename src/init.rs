//! `foretell init`: writes a first scenario with comments, and shows the next commands.

use std::fmt::Write;
use std::path::Path;

use foretell_scenarios::{ScenarioError, ShippedKind, meant};
use serde_json::json;

use crate::cli::InitArguments;
use crate::failure::Failure;
use crate::output;

/// The first scenario.
const FIRST: &str = include_str!("init/first.toml");

/// Runs the command.
pub(crate) fn init(arguments: &InitArguments) -> Result<(), Failure> {
    let file = &arguments.file;
    let text = match &arguments.from {
        Some(name) => shipped(name)?,
        None => FIRST,
    };
    // any other extension would make it a trace
    if file.file_name().is_some() && file.extension().is_none_or(|ending| ending != "toml") {
        let shown = file.display();
        if shown.to_string() != "-" && !shown.to_string().ends_with('/') {
            return Err(Failure::Usage(format!(
                "the name of a scenario ends with `.toml`, and `{shown}` does not; write `{}`",
                file.with_extension("toml").display()
            )));
        }
    }
    foretell_files::write_new(file, text.as_bytes())?;
    let next = next(file, arguments.from.is_some());
    let printed = if arguments.json {
        output::json(&json!({
            "file": file.display().to_string(),
            "next": next.iter().map(|(command, _)| command).collect::<Vec<_>>(),
        }))
    } else {
        let mut text = format!("Wrote `{}`. Try:\n", file.display());
        let widest = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        for (command, about) in &next {
            let _ = writeln!(text, "  {command:widest$}  {about}");
        }
        text
    };
    output::print(&printed)
}

fn shipped(name: &str) -> Result<&'static str, Failure> {
    let files = ShippedKind::Scenario.files();
    let found = files.iter().find(|(known, _)| known == &name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let help = meant(name, files.iter().map(|(name, _)| *name));
        let message = format!("there is no scenario `{name}`");
        Failure::Scenario(ScenarioError::nowhere(message, help).into())
    })
}

/// Commands to continue with, and their effects.
fn next(file: &Path, copied: bool) -> Vec<(String, &'static str)> {
    let file = file.display().to_string();
    // a name with a NUL byte, which no shell accepts, could not be written
    let file = shlex::try_quote(&file).expect("the file was written");
    let mut next = vec![(format!("foretell run {file}"), "simulate it")];
    if !copied {
        next.extend([
            (
                format!("foretell run {file} --set volume.data.encoding=3-of-5"),
                "the same with erasure coding",
            ),
            (format!("foretell run {file} -o out"), "simulate it, and keep the records"),
            (
                "foretell ask out --what-if node.node.cache.size=4GiB".to_owned(),
                "predict a change from the records",
            ),
        ]);
    }
    next
}
