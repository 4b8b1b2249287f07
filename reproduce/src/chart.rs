//! Charts of a sheet's points: what is measured dark, what is predicted light.

use foretell_pictures::{Chart, Spread};

use crate::sheet::{Row, Sheet};

/// Draws series of a sheet.
pub(crate) trait OfSheet {
    /// Draws what was measured of these series.
    fn measured_only(&mut self, sheet: &Sheet, metric: &str, series: &[&str]);
    /// Draws what was measured and predicted of these series.
    fn both(&mut self, sheet: &Sheet, metric: &str, series: &[&str]);
    /// Draws the error of each of two predictors, in percent, for one series.
    fn errors(&mut self, sheet: &Sheet, metric: &str, series: &str, names: &[&str]);
}

impl OfSheet for Chart {
    fn measured_only(&mut self, sheet: &Sheet, metric: &str, series: &[&str]) {
        for (index, name) in series.iter().enumerate() {
            let found = rows(sheet, metric, name, |row| Some(row.measured));
            self.points((*name).to_owned(), (index, false), found);
        }
    }

    fn both(&mut self, sheet: &Sheet, metric: &str, series: &[&str]) {
        for (index, name) in series.iter().enumerate() {
            let label = |what: &str| {
                if series.len() == 1 { what.to_owned() } else { format!("{name}, {what}") }
            };
            let found = rows(sheet, metric, name, |row| Some(row.measured));
            self.points(label("measured"), (index, false), found);
            let found = rows(sheet, metric, name, |row| row.predicted.first().copied());
            self.points(label("predicted"), (index, true), found);
        }
    }

    fn errors(&mut self, sheet: &Sheet, metric: &str, series: &str, names: &[&str]) {
        for (index, name) in names.iter().enumerate() {
            let label = format!("{series}, {name}");
            let of = |row: &Row| {
                row.error(index).map(|error| Spread { mean: 100.0 * error, deviation: 0.0 })
            };
            let colour = self.count() / names.len();
            self.points(label, (colour, index > 0), rows(sheet, metric, series, of));
        }
    }
}

/// Places and values of a series.
fn rows<'a>(
    sheet: &'a Sheet,
    metric: &'a str,
    series: &'a str,
    of: impl Fn(&Row) -> Option<Spread>,
) -> impl Iterator<Item = (&'a str, Option<Spread>)> {
    let rows = sheet.rows.iter().filter(move |row| row.series == series && row.metric == metric);
    rows.map(move |row| (row.x.as_str(), of(row)))
}
