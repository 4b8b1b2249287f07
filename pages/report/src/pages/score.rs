//! Sections of a score: predictions beside measurements.

use maud::html;
use serde_json::Value;

use crate::page::{Part, Section, Table};
use crate::words::{at, number, of_all, percent, short_name, text};

/// Maximum number of error bars.
const MAX_BARS: usize = 100;

/// Sections of `score --json`.
pub(super) fn sections(document: &Value) -> Vec<Section> {
    let mut section = Section::new("Predicted and measured");
    let changes: Vec<&str> =
        document["changes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !changes.is_empty() {
        section.text(format!("The change: {}.", changes.join(", ")));
    }
    let mut table = Table::new(
        "Each metric of each workload",
        2,
        &["workload", "metric", "predicted", "measured", "error"],
    );
    let mut bars = Vec::new();
    for row in document["comparisons"].as_array().into_iter().flatten() {
        let value = |key| at(row, &[key]);
        let (workload, metric) =
            (text(row, &["workload"]).unwrap_or("–"), text(row, &["metric"]).unwrap_or("–"));
        let shown = |key| value(key).map_or_else(|| "–".to_owned(), number);
        let error = value("error");
        table.rows.push(vec![
            short_name(workload),
            short_name(metric),
            shown("predicted"),
            shown("measured"),
            error.map_or_else(|| "–".to_owned(), percent),
        ]);
        if let Some(error) = error.filter(|error| error.is_finite()) {
            bars.push((format!("{} {}", short_name(workload), short_name(metric)), error));
        }
    }
    let worst = bars.iter().max_by(|a, b| a.1.total_cmp(&b.1)).cloned();
    if let Some((name, error)) = worst {
        let summary = format!(
            "|predicted − measured| / measured. The largest error is {} of {name}.",
            percent(error)
        );
        let all = bars.len();
        if all > MAX_BARS {
            bars.sort_by(|a, b| b.1.total_cmp(&a.1));
            bars.truncate(MAX_BARS);
        }
        let others = of_all(bars.len(), all, "largest errors").map(|others| format!(" {others}"));
        let summary = summary + others.as_deref().unwrap_or_default();
        // a minimum of 10 %, so that small errors look small
        let scale = error.max(0.1);
        let markup = html! {
            div.scroll tabindex="0" role="region" aria-label="Errors" { table.fall {
                thead { tr { th.left scope="col" { "metric" } th scope="col" { "error" } th.left scope="col" { "0 to " (percent(scale)) } } }
                tbody { @for (name, error) in &bars { tr {
                    td.left { (name) } td { (percent(*error)) }
                    td.track { div title={ (name) ": " (percent(*error)) } { i.w0 style=(format!("left:0;width:{:.2}%", 100.0 * error / scale)) {} } }
                } } }
            } }
        };
        section.push(Part::Figure { title: "Errors".to_owned(), summary, markup });
    }
    section.push(Part::Table(table));
    vec![section]
}
