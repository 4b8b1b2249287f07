//! Sections of a measured cluster and its twin: what was measured, beside what was simulated.

use foretell_sorted::SortedMap;
use foretell_units::relative_change;
use serde_json::Value;

use crate::chart::{Axis, Chart, Column, Scale, Series, View, levels, thinned};
use crate::page::{Part, Section, Table};
use crate::words::{at, count, known, number, of_all, percent, short_name, text};

/// Maximum number of load curves.
const MAX_CURVES: usize = 12;
/// A load curve has at least this number of points.
const MIN_POINTS: usize = 3;
/// Figures: key in `measured` and `predicted`, key in `errors`, name, and unit.
const FIGURES: [(&str, &str, &str, &str); 4] = [
    ("iops", "iops", "throughput", "requests/s"),
    ("lat_mean_ms", "lat_mean", "mean latency", "ms"),
    ("lat_p99_ms", "lat_p99", "p99 latency", "ms"),
    ("recovery_mib_per_s", "recovery", "recovery", "MiB/s"),
];

/// Sections of `validate --json`, and of `calibrate cluster --predict --json`.
pub(super) fn sections(document: &Value) -> Vec<Section> {
    let rows: Vec<&Value> = document["rows"].as_array().into_iter().flatten().collect();
    let mut section = Section::new("Measured and simulated");
    let fitted = rows.iter().filter(|row| row["calibration"] == Value::Bool(true)).count();
    let measured = rows.iter().filter(|row| figure(row, "measured", "iops").is_some()).count();
    let all = count(measured as u64, "measured point", "measured points");
    let of = text(document, &["source"]).map_or_else(String::new, |name| format!(" of {name}"));
    section.text(match fitted {
        0 => format!("{all}{of}. No parameter was fitted to them."),
        _ => format!("{all}{of}. Parameters were fitted to {fitted} of them; the errors are those of the others."),
    });
    if rows.is_empty() {
        section.push(Part::Gap("The document has no points.".to_owned()));
        return vec![section];
    }
    section.push(Part::Table(errors(document)));
    explore(&rows, &mut section);
    let mut curves = Section::new("Load curves");
    load_curves(&rows, &mut curves);
    let mut points = Section::new("Points");
    points.push(Part::Table(table(&rows)));
    let curves = Some(curves).filter(|curves| !curves.parts.is_empty());
    [section].into_iter().chain(curves).chain([points]).collect()
}

/// Errors of each figure, of points to which nothing was fitted.
fn errors(document: &Value) -> Table {
    let header = ["figure", "points", "median error", "90 % under", "bias"];
    let mut table = Table::new("Errors", 1, &header);
    for (_, key, name, _) in FIGURES {
        let of = |figure| at(document, &["errors", key, figure]);
        let Some(points) = of("points") else { continue };
        table.rows.push(vec![
            name.to_owned(),
            number(points),
            known(of("median"), percent),
            known(of("p90"), percent),
            known(of("mean_log_ratio"), |log| percent(libm::expm1(log))),
        ]);
    }
    table
}

/// A figure of a point, measured or simulated.
fn figure(row: &Value, of: &str, key: &str) -> Option<f64> {
    at(row, &[of, key])
}

/// All points, any column against any other.
fn explore(rows: &[&Value], section: &mut Section) {
    let texts = |name: &str, key: &str| {
        let texts: Vec<Option<String>> =
            rows.iter().map(|row| text(row, &[key]).map(short_name)).collect();
        let (levels, values) = levels(&texts);
        let (name, unit) = (name.to_owned(), String::new());
        Column { name, unit, role: "factor", levels: Some(levels), values }
    };
    let numbers = |name: &str, key: &str, unit: &str| {
        let values = rows.iter().map(|row| at(row, &[key])).collect();
        Column::of_numbers(name, unit, "factor", values)
    };
    let figures = |of: &'static str, word: &'static str, role: &'static str| {
        FIGURES.map(|(key, _, name, unit)| {
            let values = rows.iter().map(|row| figure(row, of, key)).collect();
            Column::of_numbers(&format!("{word} {name}"), unit, role, values)
        })
    };
    // at first, the page draws the first result over the first factor, coloured by the second
    let [throughput, others @ ..] = figures("measured", "measured", "factor");
    let mut columns =
        vec![throughput, texts("configuration", "config"), texts("pattern", "pattern")];
    columns.push(numbers("share of reads", "op_mix", ""));
    columns.push(numbers("request size", "block_bytes", "bytes"));
    columns.push(numbers("queue depth", "iodepth", ""));
    columns.push(numbers("clients", "clients", ""));
    columns.extend(others);
    columns.extend(figures("predicted", "simulated", "result"));
    columns.retain(|column| column.values.iter().any(Option::is_some));
    let (columns, step) = thinned(columns);
    let part = if step > 1 { format!("One point in {step}.") } else { "All points.".to_owned() };
    let summary = format!(
        "{part} Choose what is drawn: where measured and simulated figures are equal, points lie on the diagonal."
    );
    section.chart("Measured against simulated", summary, Chart::Explore { columns, front: false });
}

/// What the points of a load curve have in common.
fn curve_of(row: &Value) -> String {
    let reads = at(row, &["op_mix"]).unwrap_or_default();
    let kind = if reads >= 1.0 {
        "reads".to_owned()
    } else if reads <= 0.0 {
        "writes".to_owned()
    } else {
        format!("{} reads", percent(reads))
    };
    let kib = at(row, &["block_bytes"]).map_or(0.0, |bytes| bytes / 1024.0);
    let pattern = text(row, &["pattern"]).unwrap_or("random");
    let config = short_name(text(row, &["config"]).unwrap_or("–"));
    format!("{config}, {pattern} {kind} of {} KiB", number(kib))
}

/// Outstanding requests of a point.
fn outstanding(row: &Value) -> Option<f64> {
    let depth = at(row, &["iodepth"])?;
    Some(depth * at(row, &["clients"]).unwrap_or(1.0)).filter(|all| *all > 0.0)
}

/// Throughput and latency by load: a chart for each curve with enough points.
fn load_curves(rows: &[&Value], section: &mut Section) {
    let mut curves: SortedMap<String, SortedMap<u64, &Value>> = SortedMap::new();
    for row in rows {
        if let Some(load) = outstanding(row) {
            // the bits of positive numbers sort like the numbers
            curves.entry(curve_of(row)).or_default().insert(load.to_bits(), *row);
        }
    }
    let long = || curves.iter().filter(|(_, points)| points.len() >= MIN_POINTS);
    let all = long().count();
    if let Some(shown) = of_all(all.min(MAX_CURVES), all, "load curves") {
        section.text(shown);
    }
    for (name, points) in long().take(MAX_CURVES) {
        let xs = points.keys().map(|bits| f64::from_bits(*bits)).collect();
        let views = FIGURES[..3].iter().map(|(key, _, figure_name, unit)| {
            let line = |of: &str| points.values().map(|row| figure(row, of, key)).collect();
            let series = vec![
                Series::new("measured", line("measured")),
                Series::new("simulated", line("predicted")),
            ];
            View { y: Some(Axis::new(*figure_name, unit)), ..View::new(*figure_name, series) }
        });
        let is_known =
            |view: &View| view.series.iter().all(|line| line.values.iter().any(Option::is_some));
        let views: Vec<View> = views.filter(is_known).collect();
        if views.is_empty() {
            continue;
        }
        let x = Axis::new("outstanding requests", "").scaled(Scale::Log);
        let y = Axis::new("throughput", "requests/s");
        let ends = points.values().next_back();
        let last = |of| known(ends.and_then(|row| figure(row, of, "iops")), number);
        let summary = format!(
            "At the highest load, {} requests/s were measured, and {} simulated.",
            last("measured"),
            last("predicted")
        );
        section.chart(name.clone(), summary, Chart::Lines { x, y, xs, views });
    }
}

/// All points.
fn table(rows: &[&Value]) -> Table {
    let header = [
        "point",
        "load",
        "outstanding",
        "measured/s",
        "simulated/s",
        "error",
        "measured ms",
        "simulated ms",
        "error",
        "fitted",
    ];
    let mut table = Table::new("All points", 2, &header);
    for row in rows {
        let shown = |of, key| known(figure(row, of, key), number);
        // a space that does not break keeps cells on one line
        let error = |key| {
            known(at(row, &["error", key]), |share| {
                relative_change(share, 0).replace(' ', "\u{a0}")
            })
        };
        let mut cells =
            vec![known(at(row, &["row"]), number), curve_of(row), known(outstanding(row), number)];
        cells.extend([shown("measured", "iops"), shown("predicted", "iops"), error("iops")]);
        cells.extend([
            shown("measured", "lat_mean_ms"),
            shown("predicted", "lat_mean_ms"),
            error("lat_mean"),
        ]);
        let fitted = row["calibration"] == Value::Bool(true);
        cells.push(if fitted { "yes" } else { "" }.to_owned());
        table.rows.push(cells);
    }
    table
}
