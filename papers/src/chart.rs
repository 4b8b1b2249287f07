//! Charts of a sheet's points: measured values dark, predicted values light.

use foretell_pictures::{Chart, Spread};

use crate::sheet::{Row, Sheet};

/// Draws series of a sheet.
pub(crate) trait OfSheet {
    /// Draws the measured values of these series.
    fn measured_only(&mut self, sheet: &Sheet, metric: &str, series: &[&str]);
    /// Draws the measured and the predicted values of these series.
    fn both(&mut self, sheet: &Sheet, metric: &str, series: &[&str]);
    /// Draws the error of each predictor, in percent, for one series.
    fn errors(&mut self, sheet: &Sheet, metric: &str, series: &str, names: &[&str]);
}

impl OfSheet for Chart {
    fn measured_only(&mut self, sheet: &Sheet, metric: &str, series: &[&str]) {
        for (index, name) in series.iter().enumerate() {
            let found = rows(sheet, metric, name, |row| Some(row.measured));
            self.points((*name).to_owned(), index, false, found);
        }
    }

    fn both(&mut self, sheet: &Sheet, metric: &str, series: &[&str]) {
        for (index, name) in series.iter().enumerate() {
            let label = |what: &str| {
                if series.len() == 1 { what.to_owned() } else { format!("{name}, {what}") }
            };
            let found = rows(sheet, metric, name, |row| Some(row.measured));
            self.points(label("measured"), index, false, found);
            let found = rows(sheet, metric, name, |row| row.predicted.first().copied());
            self.points(label("predicted"), index, true, found);
        }
    }

    fn errors(&mut self, sheet: &Sheet, metric: &str, series: &str, names: &[&str]) {
        for (index, name) in names.iter().enumerate() {
            let label = format!("{series}, {name}");
            let of = |row: &Row| {
                row.error(index).map(|error| Spread { mean: 100.0 * error, deviation: 0.0 })
            };
            let colour = self.count() / names.len();
            self.points(label, colour, index > 0, rows(sheet, metric, series, of));
        }
    }
}

/// Positions on the axis and values of a series.
fn rows<'a>(
    sheet: &'a Sheet,
    metric: &'a str,
    series: &'a str,
    of: impl Fn(&Row) -> Option<Spread>,
) -> impl Iterator<Item = (&'a str, Option<Spread>)> {
    let rows = sheet.rows.iter().filter(move |row| row.series == series && row.metric == metric);
    rows.map(move |row| (row.x.as_str(), of(row)))
}
