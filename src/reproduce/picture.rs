//! Bars and lines with error bars, as SVG and PNG.
//!
//! What is measured is drawn dark, what is predicted (by the replay) light, with bars of one
//! standard deviation to either side. The letters of a PNG come from a font in the program, so that
//! none of the system is needed.

use std::collections::BTreeSet;

use foretell_files::Directory;
use image::codecs::png::PngEncoder;
use image::{ColorType, ImageEncoder};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::sheet::{Row, Sheet};
use super::statistics::Spread;
use crate::failure::Failure;
use crate::font;

const SIZE: (u32, u32) = (840, 480);
/// Dark and light of each series; they differ in brightness too.
const COLOURS: [(RGBColor, RGBColor); 5] = [
    (RGBColor(31, 78, 121), RGBColor(143, 186, 222)),
    (RGBColor(158, 62, 16), RGBColor(240, 170, 120)),
    (RGBColor(40, 100, 50), RGBColor(150, 205, 150)),
    (RGBColor(90, 60, 130), RGBColor(190, 165, 220)),
    (RGBColor(70, 70, 70), RGBColor(170, 170, 170)),
];

/// A picture of some of a sheet's points.
#[derive(Debug)]
pub(crate) struct Chart {
    /// What it is called beside others of the same figure.
    pub(crate) name: &'static str,
    title: String,
    x_label: &'static str,
    y_label: &'static str,
    bars: bool,
    /// Names along the axis, of bars.
    categories: Vec<String>,
    series: Vec<Series>,
}

#[derive(Debug)]
struct Series {
    name: String,
    colour: RGBColor,
    predicted: bool,
    points: Vec<(f64, Spread)>,
}

impl Chart {
    /// Bars in groups, one for each place on the axis.
    pub(crate) fn bars(
        name: &'static str,
        title: impl Into<String>,
        x_label: &'static str,
        y_label: &'static str,
    ) -> Self {
        let (title, categories, series) = (title.into(), Vec::new(), Vec::new());
        Self { name, title, x_label, y_label, bars: true, categories, series }
    }

    /// Lines; places on the axis are numbers.
    pub(crate) fn lines(
        name: &'static str,
        title: impl Into<String>,
        x_label: &'static str,
        y_label: &'static str,
    ) -> Self {
        Self { bars: false, ..Self::bars(name, title, x_label, y_label) }
    }

    /// Draws what was measured of these series.
    pub(crate) fn measured_only(&mut self, sheet: &Sheet, metric: &str, series: &[&str]) {
        for (index, name) in series.iter().enumerate() {
            self.add(sheet, metric, (index, name), (*name).to_owned(), |row| Some(row.measured));
        }
    }

    /// Draws what was measured and predicted of these series.
    pub(crate) fn both(&mut self, sheet: &Sheet, metric: &str, series: &[&str]) {
        for (index, name) in series.iter().enumerate() {
            let label = |what: &str| {
                if series.len() == 1 { what.to_owned() } else { format!("{name}, {what}") }
            };
            let measured = label("measured");
            self.add(sheet, metric, (index, name), measured, |row| Some(row.measured));
            let predicted = label("predicted");
            self.add(sheet, metric, (index, name), predicted, |row| row.predicted.first().copied());
            if let Some(last) = self.series.last_mut() {
                last.predicted = true;
                last.colour = COLOURS[index % COLOURS.len()].1;
            }
        }
    }

    /// Draws a line through these points.
    pub(crate) fn line(&mut self, name: impl Into<String>, points: &[(f64, f64)]) {
        let points = points.iter().map(|&(x, y)| (x, Spread { mean: y, deviation: 0.0 }));
        self.series(name.into(), points.collect());
    }

    /// Draws a bar at each of these names.
    pub(crate) fn bar(&mut self, name: impl Into<String>, heights: &[(&str, f64)]) {
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

    /// Draws the error of each of two predictors, in percent, for one series.
    pub(crate) fn errors(&mut self, sheet: &Sheet, metric: &str, series: &str, names: &[&str]) {
        for (index, name) in names.iter().enumerate() {
            let label = format!("{series}, {name}");
            let of = |row: &Row| {
                row.error(index).map(|error| Spread { mean: 100.0 * error, deviation: 0.0 })
            };
            let colours = self.series.len();
            self.add(sheet, metric, (colours / names.len(), series), label, of);
            if let Some(last) = self.series.last_mut().filter(|_| index > 0) {
                last.predicted = true;
                last.colour = COLOURS[colours / names.len() % COLOURS.len()].1;
            }
        }
    }

    fn add(
        &mut self,
        sheet: &Sheet,
        metric: &str,
        (index, series): (usize, &str),
        name: String,
        of: impl Fn(&Row) -> Option<Spread>,
    ) {
        let mut points = Vec::new();
        for row in sheet.rows.iter().filter(|row| row.series == series && row.metric == metric) {
            let x = if self.bars { self.place(&row.x) } else { row.x.parse().unwrap_or(0.0) };
            points.extend(of(row).map(|spread| (x, spread)));
        }
        let colour = COLOURS[index % COLOURS.len()].0;
        self.series.push(Series { name, colour, predicted: false, points });
    }

    /// The place of a name on the axis.
    fn place(&mut self, name: &str) -> f64 {
        let found = self.categories.iter().position(|known| known == name);
        let place = found.unwrap_or_else(|| {
            self.categories.push(name.to_owned());
            self.categories.len() - 1
        });
        place as f64
    }

    /// The highest point, error bars included, and some room.
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
pub(crate) fn draw(directory: &Directory, name: &str, chart: &Chart) -> Result<(), Failure> {
    font::register();
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        paint(&root, chart).expect("drawing into memory cannot fail");
    }
    directory.write(&format!("{name}.svg"), svg.as_bytes())?;
    let (width, height) = SIZE;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
        paint(&root, chart).expect("drawing into memory cannot fail");
    }
    let mut png = Vec::new();
    let written = PngEncoder::new(&mut png).write_image(&pixels, width, height, ColorType::Rgb8);
    written.expect("there is a byte for each colour of each pixel");
    Ok(directory.write(&format!("{name}.png"), &png)?)
}

/// Draws a chart on either kind of paper.
fn paint<B: DrawingBackend>(root: &DrawingArea<B, Shift>, chart: &Chart) -> Result<(), String> {
    paint_all(root, chart).map_err(|error| error.to_string())
}

fn paint_all<B: DrawingBackend>(
    root: &DrawingArea<B, Shift>,
    chart: &Chart,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    root.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(root);
    builder.margin(14).caption(&chart.title, ("sans-serif", 20));
    builder.x_label_area_size(48).y_label_area_size(68);
    let mut context = builder.build_cartesian_2d(chart.range(), 0.0..chart.top())?;
    let mut mesh = context.configure_mesh();
    mesh.disable_x_mesh().light_line_style(WHITE).bold_line_style(RGBColor(225, 225, 225));
    mesh.y_desc(chart.y_label).x_desc(chart.x_label).label_style(("sans-serif", 14));
    mesh.axis_desc_style(("sans-serif", 15)).y_label_formatter(&|y| short(*y));
    if chart.bars {
        mesh.x_labels(0);
    } else {
        mesh.x_labels(12).x_label_formatter(&|x| short(*x));
    }
    mesh.draw()?;
    let several = chart.series.len() as f64;
    // a fifth of each group is left free
    let width = 0.8 / several;
    // half a cap of an error bar, in units of the axis
    let cap = 0.006 * (chart.range().end - chart.range().start);
    for (index, series) in chart.series.iter().enumerate() {
        let colour = series.colour;
        let shift = if chart.bars { (index as f64 + 0.5) * width - 0.4 } else { 0.0 };
        if chart.bars {
            let bar = |(x, spread): &(f64, Spread)| {
                let left = x + shift - 0.45 * width;
                Rectangle::new([(left, 0.0), (left + 0.9 * width, spread.mean)], colour.filled())
            };
            context.draw_series(series.points.iter().map(bar))?.label(&series.name).legend(
                move |(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], colour.filled()),
            );
        } else {
            let points = series.points.iter().map(|(x, spread)| (*x, spread.mean));
            let stroke = if series.predicted { 1 } else { 2 };
            context
                .draw_series(LineSeries::new(points.clone(), colour.stroke_width(stroke)))?
                .label(&series.name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(stroke + 1))
                });
            let size = if series.predicted { 4 } else { 3 };
            let style = if series.predicted { colour.stroke_width(2) } else { colour.filled() };
            context.draw_series(points.map(|point| Circle::new(point, size, style)))?;
        }
        let errors = series.points.iter().filter(|(_, spread)| spread.deviation > 0.0);
        let errors = errors.flat_map(|(x, spread)| {
            let x = x + shift;
            let (low, high) =
                ((spread.mean - spread.deviation).max(0.0), spread.mean + spread.deviation);
            let line = |from, to| PathElement::new([from, to], BLACK.stroke_width(1));
            [
                line((x, low), (x, high)),
                line((x - cap, low), (x + cap, low)),
                line((x - cap, high), (x + cap, high)),
            ]
        });
        context.draw_series(errors)?;
    }
    if chart.bars {
        let style = ("sans-serif", 14).into_font().color(&BLACK);
        let style = style.pos(Pos::new(HPos::Center, VPos::Top));
        for (place, name) in chart.categories.iter().enumerate() {
            let (x, y) = context.backend_coord(&(place as f64, 0.0));
            root.draw_text(name, &style, (x, y + 8))?;
        }
    }
    let names: BTreeSet<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    if names.len() > 1 {
        let mut legend = context.configure_series_labels();
        // lines of the paper rise to the right
        let corner = if chart.bars {
            SeriesLabelPosition::UpperRight
        } else {
            SeriesLabelPosition::UpperLeft
        };
        legend.position(corner).label_font(("sans-serif", 14));
        legend.background_style(WHITE.mix(0.85)).draw()?;
    }
    root.present()
}

/// A number as an axis has it.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
