//! `foretell import cluster`: a scenario for each configuration of a cluster that others measured.

use std::fmt::Write as _;

use foretell_files::{Directory, Purpose};
use foretell_scenarios::Document;
use foretell_twin::{MAP_FILE, Map, Source, Written, points, write};
use serde_json::json;

use crate::cli::ClusterArguments;
use crate::failure::Failure;

/// Runs the command.
pub(super) fn import(arguments: &ClusterArguments) -> Result<(), Failure> {
    let source = Source::load(&arguments.config)?;
    let rows = arguments.points.as_deref().map(points::load).transpose()?.unwrap_or_default();
    let unknown = rows.iter().find(|row| source.names().all(|name| *name != row.config));
    if let Some(row) = unknown {
        let near = foretell_scenarios::meant(&row.config, source.names()).unwrap_or_default();
        let (number, config) = (row.number, &row.config);
        let fault = format!("row {number}: there is no configuration `{config}`. {near}");
        return Err(Failure::Usage(fault));
    }
    let Written { files, entries } = write(&source, &rows);
    for (file, text) in &files {
        // check that the written scenario can be run
        Document::parse(file, text, "")?.check()?;
    }
    let map = Map::new(&source, &entries);
    let directory = Directory::take(&arguments.output, Purpose::of("import cluster"))?;
    for old in directory.files() {
        // a file of an earlier import, whose figures do not belong to these scenarios
        if old != MAP_FILE && !files.contains_key(&old) {
            directory.remove(&old)?;
        }
    }
    for (file, text) in &files {
        directory.write(file, text.as_bytes())?;
    }
    directory.write(MAP_FILE, map.text().as_bytes())?;
    if arguments.json {
        let Map { source: name, config, drives } = &map;
        return crate::output::print(&crate::output::json(&json!({
            "source": name,
            "config": config,
            "drives": drives,
            "notes": source.notes,
        })));
    }
    let mut text = String::new();
    for config in &map.config {
        match (&config.scenario, &config.refused) {
            (Some(file), _) => {
                let measured = rows.iter().filter(|row| row.config == config.name).count();
                let assumed = config.assumed.len();
                let s = if assumed == 1 { "" } else { "s" };
                let _ = write!(text, "{}: {file}, {assumed} assumption{s}", config.name);
                if !rows.is_empty() {
                    let _ = write!(text, ", {measured} points");
                }
                text.push('\n');
            }
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or_default();
                let _ = writeln!(text, "{}: refused: {reason}", config.name);
            }
        }
    }
    for note in &source.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(
        text,
        "{} scenarios in {}; what was assumed is listed in {}",
        files.len(),
        arguments.output.display(),
        arguments.output.join(MAP_FILE).display()
    );
    crate::output::print(&text)
}
