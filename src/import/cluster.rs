//! `foretell import cluster`: a scenario for each configuration of a cluster that others measured.

use std::fmt::Write as _;

use foretell_files::{Directory, Purpose};
use foretell_input::one_line;
use foretell_twin::points::{self, LeftOut, Points, Row};
use foretell_twin::{MAP_FILE, Map, Source, Written, no_configuration, write};
use serde_json::json;

use crate::cli::ClusterArguments;
use crate::failure::Failure;
use crate::output::note;

/// Runs the command.
pub(super) fn import(arguments: &ClusterArguments) -> Result<(), Failure> {
    let source = Source::load(&arguments.config)?;
    let points = arguments.points.as_deref().map(points::load).transpose()?.unwrap_or_default();
    let Points { rows, left_out: rows_left_out, notes: not_read } = points;
    let Written { files, entries } = write(&source, &rows);
    let map = Map::new(&source, &entries);
    let mut left_out: Vec<LeftOut> = Vec::new();
    for config in &map.config {
        left_out
            .extend(config.refused.iter().map(|why| LeftOut::config(&config.name, why.clone())));
    }
    left_out.extend(rows_left_out);
    left_out.extend(rows.iter().filter_map(|row| {
        let why = match map.find(&row.config) {
            None => no_configuration(&row.config, source.names()),
            // of a configuration that is left out, it is said once
            Some(config) if config.refused.is_some() => return None,
            Some(config) => config.suits(row).err()?,
        };
        Some(LeftOut::row(row.number, why))
    }));
    let mut notes = source.notes.clone();
    notes.extend(source.not_read.iter().cloned());
    notes.extend(not_read);
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
            "left_out": left_out,
            "notes": notes,
        })));
    }
    let mut text = String::new();
    for config in &map.config {
        let name = one_line(&config.name);
        match (&config.scenario, &config.refused) {
            (Some(file), _) => {
                let is_used = |row: &&Row| row.config == config.name && config.suits(row).is_ok();
                let measured = rows.iter().filter(is_used).count();
                let assumed = config.assumed.len();
                let s = if assumed == 1 { "" } else { "s" };
                let _ = write!(text, "{name}: {file}, {assumed} assumption{s}");
                if !rows.is_empty() {
                    let _ = write!(text, ", {measured} points");
                }
                if let Some(background) = &config.background {
                    let _ = write!(
                        text,
                        ", measured beside `{}`, which is not simulated",
                        one_line(background)
                    );
                }
                text.push('\n');
            }
            (None, reason) => {
                let reason = one_line(reason.as_deref().unwrap_or_default());
                let _ = writeln!(text, "{name}: refused: {reason}");
            }
        }
    }
    for row in left_out.iter().filter(|left_out| left_out.row.is_some()) {
        let _ = writeln!(text, "{}", one_line(&row.text()));
    }
    text.extend(notes.iter().map(|text| note(text)));
    let _ = writeln!(
        text,
        "{} scenarios in {}; what was assumed is listed in {}",
        files.len(),
        arguments.output.display(),
        arguments.output.join(MAP_FILE).display()
    );
    crate::output::print(&text)
}
