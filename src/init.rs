//! `foretell init`: writes a first scenario with comments, and shows the next commands.

use std::fmt::Write;

use foretell_scenarios::{ScenarioError, ShippedKind, meant};
use serde_json::json;

use crate::cli::InitArguments;
use crate::failure::Failure;
use crate::output;

/// The first scenario.
const FIRST: &str = include_str!("init/first.toml");

/// How comments of scenarios show a command.
const COMMAND: &str = "#   foretell ";

/// Runs the command.
pub(crate) fn init(arguments: &InitArguments) -> Result<(), Failure> {
    let file = &arguments.file;
    let (name, text) = match &arguments.from {
        Some(name) => (name.as_str(), shipped(name)?),
        None => ("scenario.toml", FIRST),
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
    // no shell accepts a NUL byte, and no file has one in its name
    let shown = file.display().to_string();
    let shell = shlex::try_quote(&shown).map_err(|error| Failure::Usage(error.to_string()))?;
    // a line break would end the comment
    let is_plain = !shown.contains(char::is_control);
    let text = if is_plain { renamed(text, name, &shell) } else { text.to_owned() };
    foretell_files::write_new(file, text.as_bytes())?;
    let next = commands(&text, &shell);
    let printed = if arguments.json {
        output::json(&json!({
            "file": file.display().to_string(),
            "next": next.iter().map(|(command, _)| command).collect::<Vec<_>>(),
        }))
    } else {
        let mut text = format!("Wrote `{}`. Try:\n", file.display());
        let widest = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        for (command, about) in &next {
            let _ = writeln!(text, "{}", format!("  {command:widest$}  {about}").trim_end());
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

/// The text, with commands in its comments that run `file` instead of `name`.
fn renamed(text: &str, name: &str, file: &str) -> String {
    let command = format!("{COMMAND}run {name}");
    let line = |line: &str| match line.strip_prefix(&command) {
        Some(rest) if rest.is_empty() || rest.starts_with(' ') => {
            format!("{COMMAND}run {file}{rest}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The commands to continue with, and their effects: those in the comment that begins the scenario.
fn commands(text: &str, file: &str) -> Vec<(String, String)> {
    let comment = text.lines().take_while(|line| line.starts_with('#'));
    let commands = comment.filter_map(|line| line.strip_prefix(COMMAND));
    let commands: Vec<(String, String)> = commands
        .map(|line| line.split_once(" # ").unwrap_or((line, "")))
        .map(|(command, about)| (format!("foretell {}", command.trim()), about.trim().to_owned()))
        .collect();
    if commands.is_empty() {
        return vec![(format!("foretell run {file}"), "simulate it".to_owned())];
    }
    commands
}
