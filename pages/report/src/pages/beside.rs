//! Sections of several runs: each chart and table of all of them side by side, so that what is compared stands together.

use super::run::{self, Run};
use crate::page::{Column, Part, Section};
use crate::words::short_name;

/// What makes parts of several runs the same part: their kind and title, or their number among those without a title.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    kind: &'static str,
    title: String,
    number: usize,
}

/// A part of each run that has it.
struct Row {
    key: Key,
    columns: Vec<Column>,
}

/// The sections of all runs, each section once.
pub(super) fn sections(runs: &[&Run]) -> Vec<Section> {
    let mut merged: Vec<(String, Vec<Row>)> = Vec::new();
    for run in runs {
        for section in run::sections(run, true) {
            let known = merged.iter().position(|(heading, _)| *heading == section.heading);
            let place = known.unwrap_or_else(|| {
                merged.push((section.heading.clone(), Vec::new()));
                merged.len() - 1
            });
            add(&mut merged[place].1, run, section.parts);
        }
    }
    let section = |(heading, rows): (String, Vec<Row>)| {
        let mut section = Section::new(heading);
        section.parts.extend(rows.into_iter().map(|row| joined(row, runs.len())));
        section
    };
    merged.into_iter().map(section).collect()
}

/// Adds the parts of a section of a run, each beside the same part of the runs before it.
fn add(rows: &mut Vec<Row>, run: &Run, parts: Vec<Part>) {
    let mut seen: Vec<Key> = Vec::new();
    // parts that only this run has stay behind the one before them
    let mut after = 0;
    for part in parts {
        let mut key = key(&part);
        key.number = seen
            .iter()
            .filter(|other| (other.kind, &other.title) == (key.kind, &key.title))
            .count();
        seen.push(key.clone());
        let column = Column { of: short_name(&run.name), part };
        if let Some(place) = rows.iter().position(|row| row.key == key) {
            rows[place].columns.push(column);
            after = place + 1;
        } else {
            rows.insert(after, Row { key, columns: vec![column] });
            after += 1;
        }
    }
}

fn key(part: &Part) -> Key {
    let (kind, title) = match part {
        Part::Text(_) => ("text", String::new()),
        Part::Gap(_) => ("gap", String::new()),
        Part::Beside(_) => ("beside", String::new()),
        Part::Table(table) => ("table", table.title.clone()),
        Part::Chart { title, .. } => ("chart", title.clone()),
        Part::Figure { title, .. } => ("figure", title.clone()),
    };
    Key { kind, title, number: 0 }
}

/// The columns as a part; words that all runs share stand there once.
fn joined(mut row: Row, runs: usize) -> Part {
    let words = |column: &Column| match &column.part {
        Part::Text(words) | Part::Gap(words) => Some(words.clone()),
        _ => None,
    };
    let first = row.columns.first().and_then(words);
    let are_same = first.is_some() && row.columns.iter().all(|column| words(column) == first);
    if are_same && row.columns.len() == runs {
        return row.columns.swap_remove(0).part;
    }
    Part::Beside(row.columns)
}
