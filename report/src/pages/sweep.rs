//! Sections of a sweep: any column against any other, with filters and the Pareto front.

use crate::chart::{Chart, Column, thinned};
use crate::page::{Part, Section, Table};
use crate::words::{count, of_all, short_name};

/// Maximum number of columns in a page; factors come first.
const MOST_COLUMNS: usize = 300;

/// A data set.
#[derive(Debug)]
pub struct Sweep {
    /// Its directory.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// The factors that are varied: a column, and its values in words.
    pub factors: Vec<(String, String)>,
    /// Of a sweep that is not complete: the number of runs that are over, and of all runs.
    pub under_way: Option<(u64, u64)>,
    /// Factors first, then results.
    pub columns: Vec<Column>,
}

/// Sections of a sweep.
pub(super) fn sections(sweep: &Sweep) -> Vec<Section> {
    let mut section = Section::new("The sweep");
    section.text(format!("{}. {}", sweep.title.trim_end_matches('.'), sweep.description));
    if let Some((over, all)) = sweep.under_way {
        let over = count(over, "is", "are");
        section.text(format!("The sweep is not complete: of {all} runs, {over} over."));
    }
    let mut table = Table::new("What was varied", 2, &["factor", "values"]);
    table.rows =
        sweep.factors.iter().map(|(name, values)| vec![short_name(name), values.clone()]).collect();
    section.push(Part::Table(table));
    // leave out columns without any value
    let columns: Vec<Column> = sweep
        .columns
        .iter()
        .filter(|column| column.values.iter().any(Option::is_some))
        .take(MOST_COLUMNS)
        .map(|column| Column {
            name: short_name(&column.name),
            levels: column.levels.as_ref().map(|all| all.iter().map(short_name).collect()),
            ..column.clone()
        })
        .collect();
    let runs = columns.first().map_or(0, |column| column.values.len());
    if runs == 0 {
        section.push(Part::Gap("No run has ended yet without a failure.".to_owned()));
        return vec![section];
    }
    let (columns, step) = thinned(columns);
    let thinned = if step > 1 {
        format!(" The page holds one run in {step}; the data set has all.")
    } else {
        String::new()
    };
    let known = sweep.columns.iter().filter(|column| column.values.iter().any(Option::is_some));
    let left_out = of_all(columns.len(), known.count(), "first columns");
    let left_out = left_out.map(|left_out| format!(" {left_out}")).unwrap_or_default();
    let factors = columns.iter().filter(|column| column.role == "factor").count() as u64;
    let summary = format!(
        "{}, {}, {}. A point is a run.{thinned}{left_out} A run is on the Pareto front if no other is better in \
         both: choose what is better under each axis.",
        count(runs as u64, "run", "runs"),
        count(factors, "factor", "factors"),
        count(columns.len() as u64 - factors, "result of each", "results of each"),
    );
    let mut explore = Section::new("Explore");
    explore.chart(
        "Any factor against any result",
        summary,
        Chart::Explore { columns, front: true },
    );
    vec![section, explore]
}
