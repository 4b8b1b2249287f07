//! Sections of a sweep: any column against any other, with filters and the Pareto front.

use crate::chart::{Chart, Column, thinned};
use crate::page::{Part, Section, Table};
use crate::words::{count, of_all, short_name};

/// Maximum number of columns in a page; factors come first.
const MAX_COLUMNS: usize = 300;

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
    /// What is known of a sweep that is not complete.
    pub under_way: Option<UnderWay>,
    /// Factors first, then results.
    pub columns: Vec<Column>,
}

/// A sweep that is not complete: numbers of runs.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// Those that are over.
    pub over: u64,
    /// Those of them that succeeded. The columns may have only a sample of them.
    pub succeeded: u64,
    /// All.
    pub runs: u64,
}

/// Sections of a sweep.
pub(super) fn sections(sweep: &Sweep) -> Vec<Section> {
    let mut section = Section::new("The sweep");
    section.text(format!("{}. {}", sweep.title.trim_end_matches('.'), sweep.description));
    if let Some(UnderWay { over, runs, .. }) = sweep.under_way {
        let over = count(over, "is", "are");
        section.text(format!("The sweep is not complete: of {runs} runs, {over} over."));
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
        .take(MAX_COLUMNS)
        .map(|column| Column {
            name: short_name(&column.name),
            levels: column.levels.as_ref().map(|all| all.iter().map(short_name).collect()),
            ..column.clone()
        })
        .collect();
    let runs = columns.first().map_or(0, |column| column.values.len());
    if runs == 0 {
        section.push(Part::Gap("No run has succeeded.".to_owned()));
        return vec![section];
    }
    let (columns, step) = thinned(columns);
    let succeeded = sweep.under_way.map_or(runs as u64, |known| known.succeeded);
    let shown = columns.first().map_or(0, |column| column.values.len()) as u64;
    let thinned = if sweep.under_way.is_some() && shown < succeeded {
        format!(" The page holds {shown} of the {succeeded} runs that succeeded.")
    } else if step > 1 {
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
