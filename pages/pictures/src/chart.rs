//! Bars and lines with error bars: the content of a picture. `paint` draws it.
//!
//! Measured values are drawn dark, predicted values (by the replay) light, with bars of one standard deviation to
//! either side. A build without the feature `draw` draws nothing.
#![cfg_attr(not(feature = "draw"), allow(dead_code, reason = "nothing is drawn"))]

#[cfg(feature = "draw")]
mod paint;

use foretell_files::{Directory, FilesError};

use crate::spread::Spread;

/// A colour as red, green, blue.
type Colour = [u8; 3];

/// Dark and light colour of each series; they also differ in brightness.
const COLOURS: [(Colour, Colour); 5] = [
    ([31, 78, 121], [143, 186, 222]),
    ([158, 62, 16], [240, 170, 120]),
    ([40, 100, 50], [150, 205, 150]),
    ([90, 60, 130], [190, 165, 220]),
    ([70, 70, 70], [170, 170, 170]),
];

/// A picture of points, in series.
#[derive(Debug)]
pub struct Chart {
    /// Its name among the charts of the same figure.
    pub name: &'static str,
    title: String,
    x_label: &'static str,
    y_label: &'static str,
    bars: bool,
    /// Names along the axis, for bars.
    categories: Vec<String>,
    series: Vec<Series>,
}

#[derive(Debug)]
struct Series {
    name: String,
    colour: Colour,
    predicted: bool,
    points: Vec<(f64, Spread)>,
}

impl Chart {
    /// A chart of bars in groups, one group for each name on the axis.
    pub fn bars(
        name: &'static str,
        title: impl Into<String>,
        x_label: &'static str,
        y_label: &'static str,
    ) -> Self {
        let (title, categories, series) = (title.into(), Vec::new(), Vec::new());
        Self { name, title, x_label, y_label, bars: true, categories, series }
    }

    /// A chart of lines; positions on the axis are numbers.
    pub fn lines(
        name: &'static str,
        title: impl Into<String>,
        x_label: &'static str,
        y_label: &'static str,
    ) -> Self {
        Self { bars: false, ..Self::bars(name, title, x_label, y_label) }
    }

    /// Adds a line through these points.
    pub fn line(&mut self, name: impl Into<String>, points: &[(f64, f64)]) {
        let points = points.iter().map(|&(x, y)| (x, Spread { mean: y, deviation: 0.0 }));
        self.series(name.into(), points.collect());
    }

    /// Adds a bar at each of these names.
    pub fn bar(&mut self, name: impl Into<String>, heights: &[(&str, f64)]) {
        let bar = |&(at, mean): &(&str, f64)| (self.place(at), Spread { mean, deviation: 0.0 });
        let points = heights.iter().map(bar).collect();
        self.series(name.into(), points);
    }

    fn series(&mut self, name: String, points: Vec<(f64, Spread)>) {
        let (dark, light) = COLOURS[self.series.len() % COLOURS.len()];
        let colour =
            if (self.series.len() / COLOURS.len()).is_multiple_of(2) { dark } else { light };
        self.series.push(Series { name, colour, predicted: false, points });
    }

    /// Number of series.
    pub fn count(&self) -> usize {
        self.series.len()
    }

    /// Adds points with error bars, in the dark colour of this number, or in the light one if they are predicted. On
    /// an axis of bars, a name without a point still gets a place.
    pub fn points<'a>(
        &mut self,
        name: String,
        colour: usize,
        predicted: bool,
        found: impl Iterator<Item = (&'a str, Option<Spread>)>,
    ) {
        let mut points = Vec::new();
        for (at, spread) in found {
            let x = if self.bars { self.place(at) } else { at.parse().unwrap_or(0.0) };
            points.extend(spread.map(|spread| (x, spread)));
        }
        let (dark, light) = COLOURS[colour % COLOURS.len()];
        let colour = if predicted { light } else { dark };
        self.series.push(Series { name, colour, predicted, points });
    }

    /// The position of a name on the axis.
    fn place(&mut self, name: &str) -> f64 {
        let found = self.categories.iter().position(|known| known == name);
        let place = found.unwrap_or_else(|| {
            self.categories.push(name.to_owned());
            self.categories.len() - 1
        });
        place as f64
    }

    /// The upper end of the axis: the highest point with its error bar, plus some room.
    fn top(&self) -> f64 {
        let points = self.series.iter().flat_map(|series| &series.points);
        let top = points.map(|(_, spread)| spread.mean + spread.deviation).fold(0.0, f64::max);
        if top > 0.0 { 1.25 * top } else { 1.0 }
    }

    fn range(&self) -> std::ops::Range<f64> {
        if self.bars {
            return -0.5..(self.categories.len().max(1) as f64 - 0.5);
        }
        let xs = self.series.iter().flat_map(|series| &series.points).map(|(x, _)| *x);
        let last = xs.fold(1.0, f64::max);
        0.0..(1.04 * last)
    }
}

/// Writes `NAME.svg` and `NAME.png`.
#[cfg(feature = "draw")]
pub fn draw(directory: &Directory, name: &str, chart: &Chart) -> Result<(), FilesError> {
    directory.write(&format!("{name}.svg"), paint::svg(chart).as_bytes())?;
    directory.write(&format!("{name}.png"), &paint::png(chart))
}

/// Draws nothing: this is a build without pictures.
#[cfg(not(feature = "draw"))]
pub fn draw(_: &Directory, _: &str, _: &Chart) -> Result<(), FilesError> {
    Ok(())
}
