//! A figure or table as a plain table of values, with pictures and claims.

use foretell_files::Directory;
use foretell_pictures::{Chart, draw};

use super::sheet::{Claim, quoted};
use crate::error::Error;

/// A table with pictures and claims.
#[derive(Debug)]
pub(crate) struct Page {
    /// Name of its files, without ending.
    pub(crate) file: &'static str,
    header: String,
    rows: Vec<Vec<String>>,
    /// Claims of the paper with their results.
    pub(crate) claims: Vec<Claim>,
    charts: Vec<Chart>,
}

impl Page {
    /// An empty page; `header`: names of the columns, separated by commas.
    pub(crate) fn new(file: &'static str, header: &str) -> Self {
        let header = header.to_owned();
        Self { file, header, rows: Vec::new(), claims: Vec::new(), charts: Vec::new() }
    }

    /// Adds a line.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds a claim; `why` is the reason if it does not hold, where figures of this run show one.
    pub(crate) fn claim(
        &mut self,
        figure: &'static str,
        statement: &'static str,
        found: (bool, String),
        why: Option<String>,
    ) {
        let (holds, ours) = found;
        self.claims.push(Claim::new(figure, statement, holds, ours, why));
    }

    /// Adds a picture.
    pub(crate) fn chart(&mut self, chart: Chart) {
        self.charts.push(chart);
    }

    /// The table as comma-separated values.
    pub(crate) fn csv(&self) -> String {
        let mut text = format!("{}\n", self.header);
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            text += &cells.join(",");
            text.push('\n');
        }
        text
    }

    /// Writes the table, and the pictures beside it.
    pub(crate) fn write(&self, directory: &Directory) -> Result<(), Error> {
        directory.write(&format!("{}.csv", self.file), self.csv().as_bytes())?;
        for chart in &self.charts {
            let name = match chart.name {
                "" => self.file.to_owned(),
                name => format!("{}-{name}", self.file),
            };
            draw(directory, &name, chart)?;
        }
        Ok(())
    }
}
