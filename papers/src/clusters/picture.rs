//! Throughput against latency as a picture (SVG): a panel for each set of points, both axes logarithmic.
//!
//! Full circles are measured, open circles predicted, and a line connects the two circles of a point.
//! Reads are blue, writes red, mixes purple, calibration points grey.

use std::fmt::Write as _;

/// Points of one fit.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) points: Vec<Point>,
}

/// Requests a second and mean latency in milliseconds, as measured and as predicted.
pub(super) struct Point {
    pub(super) measured: (f64, f64),
    pub(super) predicted: (f64, f64),
    pub(super) is_fitted_to: bool,
    pub(super) reads: f64,
}

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
const MARGIN: f64 = 48.0;
const COLUMNS: usize = 3;

/// The picture.
pub(super) fn draw(panels: &[Panel]) -> String {
    let rows = panels.len().div_ceil(COLUMNS);
    let (width, height) = (WIDTH * COLUMNS as f64, HEIGHT * rows as f64 + 28.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"18\">full: measured, open: predicted; blue: reads, red: writes, purple: \
         mixes, grey: fitted to. Latency (ms) over requests/s</text>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let (left, top) =
            (WIDTH * (index % COLUMNS) as f64, HEIGHT * (index / COLUMNS) as f64 + 28.0);
        draw_panel(&mut svg, panel, left, top);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Exponents of the powers of ten that enclose all values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = (libm::log10(low.max(1e-6)).floor(), libm::log10(high.max(1e-6)).ceil());
    (low, high.max(low + 1.0))
}

fn draw_panel(svg: &mut String, panel: &Panel, left: f64, top: f64) {
    let both = |of: fn(&(f64, f64)) -> f64| {
        range(
            panel.points.iter().flat_map(move |point| [of(&point.measured), of(&point.predicted)]),
        )
    };
    let (x, y) = (both(|point| point.0), both(|point| point.1));
    let inner = (WIDTH - 1.5 * MARGIN, HEIGHT - 1.6 * MARGIN);
    let (x0, y0) = (left + MARGIN, top + HEIGHT - MARGIN);
    let place = |(iops, ms): (f64, f64)| {
        let part = |value: f64, (low, high): (f64, f64)| {
            (libm::log10(value.max(1e-6)) - low) / (high - low)
        };
        (x0 + inner.0 * part(iops, x), y0 - inner.1 * part(ms, y))
    };
    let _ = writeln!(
        svg,
        "<text x=\"{x0:.1}\" y=\"{:.1}\" font-weight=\"bold\">{}</text>\n<rect x=\"{x0:.1}\" y=\"{:.1}\" \
         width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"#999\"/>",
        top + 14.0,
        panel.title,
        y0 - inner.1,
        inner.0,
        inner.1
    );
    for power in x.0 as i32..=x.1 as i32 {
        let (at, _) = place((10_f64.powi(power), 1.0));
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">10^{power}</text>",
            y0 + 14.0
        );
    }
    for power in y.0 as i32..=y.1 as i32 {
        let (_, at) = place((1.0, 10_f64.powi(power)));
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{at:.1}\" text-anchor=\"end\">10^{power}</text>",
            x0 - 4.0
        );
    }
    for point in &panel.points {
        let colour = match point {
            Point { is_fitted_to: true, .. } => "#888888",
            Point { reads, .. } if *reads >= 1.0 => "#1f4e79",
            Point { reads, .. } if *reads <= 0.0 => "#9e3e10",
            _ => "#5a3c82",
        };
        let ((ax, ay), (bx, by)) = (place(point.measured), place(point.predicted));
        let _ = writeln!(
            svg,
            "<line x1=\"{ax:.1}\" y1=\"{ay:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\" stroke=\"{colour}\" \
             stroke-opacity=\".4\"/><circle cx=\"{ax:.1}\" cy=\"{ay:.1}\" r=\"2.4\" fill=\"{colour}\"/>\
             <circle cx=\"{bx:.1}\" cy=\"{by:.1}\" r=\"2.4\" fill=\"none\" stroke=\"{colour}\"/>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_a_line_and_two_circles() {
        let point = || Point {
            measured: (1000.0, 1.0),
            predicted: (1100.0, 0.9),
            is_fitted_to: false,
            reads: 1.0,
        };
        let panel = Panel { title: "a".to_owned(), points: vec![point(), point()] };
        let svg = draw(&[panel]);
        assert_eq!((svg.matches("<line").count(), svg.matches("<circle").count()), (2, 4));
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }
}
