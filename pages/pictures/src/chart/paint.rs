//! Draws charts as SVG and PNG. The letters of a PNG come from a font in the program, so no font of the
//! system is needed.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Chart, Spread};
use crate::{font, png};

const SIZE: (u32, u32) = (840, 480);

/// The chart as SVG.
pub(super) fn svg(chart: &Chart) -> String {
    font::register();
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        paint(&root, chart).expect("drawing into memory cannot fail");
    }
    svg
}

/// The chart as PNG.
pub(super) fn png(chart: &Chart) -> Vec<u8> {
    font::register();
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let mut pixels = vec![0; width * height * 3];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
        paint(&root, chart).expect("drawing into memory cannot fail");
    }
    png::encoded(width, height, &pixels)
}

/// Draws a chart on either kind of drawing area.
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
    // half the length of an error bar's cap, in units of the axis
    let cap = 0.006 * (chart.range().end - chart.range().start);
    for (index, series) in chart.series.iter().enumerate() {
        let [red, green, blue] = series.colour;
        let colour = RGBColor(red, green, blue);
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
        // lines of the paper rise to the right, so the legend is at the left
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

/// A number as an axis label.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
