//! Sections of cache simulations: hit rates by size, as a curve of LRU and by policy.

use foretell_sorted::{SortedMap, SortedSet};
use serde_json::Value;

use crate::chart::{Axis, Chart, Scale, Series, View};
use crate::page::{Part, Section, Table};
use crate::words::{at, number, percent, short_name, text};

/// Maximum number of points of a curve.
const MAX_POINTS: usize = 4000;
/// Maximum number of policies drawn together.
const MAX_LINES: usize = 6;

/// The possible ratios: key and name.
const RATIOS: [(&str, &str); 4] = [
    ("hit_ratio", "references"),
    ("byte_hit_ratio", "bytes"),
    ("read_hit_ratio", "reads"),
    ("write_hit_ratio", "writes"),
];

/// Sections of `replay-cache --json`.
pub(super) fn sections(document: &Value) -> Vec<Section> {
    let mut section = Section::new("Hit rates");
    let whole = |key| at(document, &[key]).map_or_else(|| "unknown".to_owned(), |n| format!("{n}"));
    section.text(format!(
        "{}: {} requests, {} reads and {} writes.",
        text(document, &["trace"]).unwrap_or("A trace"),
        whole("requests"),
        whole("reads"),
        whole("writes")
    ));
    let in_bytes =
        text(document, &["size_unit"]) == Some("bytes") || at(document, &["page_bytes"]).is_some();
    let unit = if in_bytes { "MiB" } else { "objects" };
    let size = |row: &Value| {
        if in_bytes {
            at(row, &["size_bytes"]).map(|bytes| bytes / 1_048_576.0)
        } else {
            at(row, &["size"])
        }
    };
    let curve: Vec<&Value> = document["curve"]["points"].as_array().into_iter().flatten().collect();
    if !curve.is_empty() {
        curve_of(document, &curve, unit, &size, &mut section);
    }
    let results: Vec<&Value> = document["results"].as_array().into_iter().flatten().collect();
    if !results.is_empty() {
        policies(&results, unit, &size, &mut section);
    }
    if section.parts.len() == 1 {
        section.push(Part::Gap("The document has neither a curve nor results.".to_owned()));
    }
    vec![section]
}

fn axes(unit: &'static str) -> (Axis, Axis) {
    let x = Axis::new("size of the cache", unit).scaled(Scale::Log);
    (x, Axis::new("hit rate", "%").up_to(100.0))
}

fn curve_of(
    document: &Value,
    curve: &[&Value],
    unit: &'static str,
    size: &dyn Fn(&Value) -> Option<f64>,
    section: &mut Section,
) {
    let step = curve.len().div_ceil(MAX_POINTS).max(1);
    let last = curve.len() - 1;
    let shown = curve.iter().enumerate().filter(|(place, _)| place % step == 0 || *place == last);
    let points: Vec<(f64, &Value)> = shown
        .map(|(_, row)| row)
        .filter_map(|row| Some((size(row)?, *row)))
        .filter(|(size, _)| *size > 0.0)
        .collect();
    let line = |key: &str| -> Vec<Option<f64>> {
        points.iter().map(|(_, row)| at(row, &[key]).map(|ratio| 100.0 * ratio)).collect()
    };
    let pair = |name: &str, ratios: &[(&str, &str)]| {
        let lines = ratios.iter().map(|(key, name)| Series::new(*name, line(key)));
        let known = lines.filter(|line| line.values.iter().any(Option::is_some));
        View::new(name, known.collect())
    };
    let views =
        [pair("references and bytes", &RATIOS[..2]), pair("reads and writes", &RATIOS[2..])];
    let views = views.into_iter().filter(|view| !view.series.is_empty()).collect();
    let useful = at(document, &["curve", "largest_useful_size"]);
    let best = points.last().and_then(|(_, row)| at(row, &["hit_ratio"]));
    let summary = format!(
        "LRU caches of all sizes{}. The largest size that still helps is {} {}; it hits {} of the references.",
        if document["curve"]["estimated"] == Value::Bool(true) {
            ", estimated from a sample"
        } else {
            ""
        },
        useful.map_or_else(|| "unknown".to_owned(), |size| format!("{size}")),
        text(document, &["size_unit"]).unwrap_or("objects"),
        best.map_or_else(|| "an unknown share".to_owned(), percent),
    );
    let (x, y) = axes(unit);
    let xs = points.iter().map(|(size, _)| *size).collect();
    section.chart("Hit rate by size, LRU", summary, Chart::Lines { x, y, xs, views });
}

fn policies(
    results: &[&Value],
    unit: &'static str,
    size: &dyn Fn(&Value) -> Option<f64>,
    section: &mut Section,
) {
    let mut by_policy: SortedMap<&str, SortedMap<u64, &Value>> = SortedMap::new();
    let mut sizes = SortedSet::new();
    for row in results {
        let (Some(policy), Some(size)) = (text(row, &["policy"]), size(row)) else { continue };
        if size > 0.0 {
            // the bits of positive numbers sort like the numbers
            sizes.insert(size.to_bits());
            by_policy.entry(policy).or_default().insert(size.to_bits(), row);
        }
    }
    let xs: Vec<f64> = sizes.iter().map(|bits| f64::from_bits(*bits)).collect();
    let mut views = Vec::new();
    for (key, name) in RATIOS {
        let line = |of: &SortedMap<u64, &Value>| -> Vec<Option<f64>> {
            sizes.iter().map(|size| at(of.get(size)?, &[key]).map(|ratio| 100.0 * ratio)).collect()
        };
        let lines: Vec<Series> = by_policy
            .iter()
            .map(|(policy, of)| Series::new(*policy, line(of)))
            .filter(|line| line.values.iter().any(Option::is_some))
            .take(MAX_LINES)
            .collect();
        if !lines.is_empty() {
            views.push(View::new(name, lines));
        }
    }
    let best = results.iter().filter_map(|row| Some((at(row, &["hit_ratio"])?, *row)));
    let best = best.max_by(|a, b| a.0.total_cmp(&b.0));
    let best_text = best.map_or_else(String::new, |(ratio, row)| {
        format!(
            "The best: {} of size {}, {} of the references.",
            text(row, &["policy"]).unwrap_or("–"),
            size(row).map_or_else(|| "–".to_owned(), number),
            percent(ratio)
        )
    });
    if xs.len() > 1 && !views.is_empty() {
        let more = by_policy.len().saturating_sub(MAX_LINES);
        let more = if more > 0 {
            format!(" {more} more policies are in the table.")
        } else {
            String::new()
        };
        let (x, y) = axes(unit);
        section.chart(
            "Hit rate by size and policy",
            format!("{best_text}{more}"),
            Chart::Lines { x, y, xs, views },
        );
    }
    let size_head = format!("size ({unit})");
    let mut table = Table::new(
        "By size and policy",
        1,
        &["policy", &size_head, "hit rate", "byte hit rate", "read hit rate", "write hit rate"],
    );
    for row in results {
        let mut cells = vec![
            short_name(text(row, &["policy"]).unwrap_or("–")),
            size(row).map_or_else(|| "–".to_owned(), number),
        ];
        cells
            .extend(RATIOS.map(|(key, _)| at(row, &[key]).map_or_else(|| "–".to_owned(), percent)));
        table.rows.push(cells);
    }
    section.push(Part::Table(table));
}
