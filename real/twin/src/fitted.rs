//! The result of a fit, as a document and as text.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::fit::Fitted;
use crate::map::Map;
use crate::parameters::{PARAMETERS, Values};
use crate::points::Row;
use crate::report::{self, Outcome};

/// Whether two rows, possibly of different tables, are the same point.
pub fn same(one: &Row, other: &Row) -> bool {
    let plain = |row: &Row| Row { number: 0, note: String::new(), ..row.clone() };
    plain(one) == plain(other)
}

/// A document with the parameters, the points fitted to, and the rows that were not used.
pub fn document(fitted: &Fitted, map: &Map, rows: usize) -> Value {
    let values = &fitted.values;
    let parameters = PARAMETERS.iter().enumerate().map(|(at, parameter)| {
        let (log, deviation) = (values.logs[at], values.deviations[at]);
        json!({
            "name": parameter.name,
            "meaning": parameter.meaning,
            "factor": libm::exp(log),
            "low": libm::exp(log - 1.96 * deviation),
            "high": libm::exp(log + 1.96 * deviation),
            "bounds": [parameter.bounds.0, parameter.bounds.1],
            "learned": learned(at, values),
        })
    });
    let unused = fitted.unused.iter().map(|(row, why)| json!({ "row": row, "reason": why }));
    json!({
        "points": rows,
        "parameters": parameters.collect::<Vec<_>>(),
        "tail": {
            "read": values.tails.0.factor, "read_stall_ms": values.tails.0.stall_ms,
            "write": values.tails.1.factor, "write_stall_ms": values.tails.1.stall_ms,
        },
        "drives": values.drives.keys().collect::<Vec<_>>(),
        "fitted": report::json(&at_points(fitted, map)),
        "unused": unused.collect::<Vec<_>>(),
    })
}

/// Whether the points determine a parameter: its uncertainty is clearly less than the prior's.
fn learned(at: usize, values: &Values) -> bool {
    values.deviations[at] < 0.9 * PARAMETERS[at].prior_deviation
}

/// The outcomes at the points fitted to.
pub fn at_points(fitted: &Fitted, map: &Map) -> Vec<Outcome> {
    let outcome = |(row, figures): &(Row, _)| Outcome {
        row: row.clone(),
        predicted: Ok(*figures),
        is_fitted_to: false,
        beside: map.find(&row.config).and_then(|mapped| mapped.background.clone()),
    };
    fitted.points.iter().map(outcome).collect()
}

/// A table with one parameter a line.
pub fn table(values: &Values) -> String {
    let mut text = String::new();
    for (at, parameter) in PARAMETERS.iter().enumerate() {
        let (log, deviation) = (values.logs[at], values.deviations[at]);
        let _ = write!(text, " {:<16} {:>7.3}", parameter.name, libm::exp(log));
        if learned(at, values) {
            let (low, high) =
                (libm::exp(log - 1.96 * deviation), libm::exp(log + 1.96 * deviation));
            let _ = writeln!(text, "  {low:>7.3} to {high:>7.3}  {}", parameter.meaning);
        } else {
            let _ = writeln!(text, "  {:>18}  {}", "not learned", parameter.meaning);
        }
    }
    for name in values.drives.keys() {
        let _ = writeln!(text, " drive `{name}` is as its points alone measure it");
    }
    for (name, tail) in [("reads", values.tails.0), ("writes", values.tails.1)] {
        let _ = writeln!(text, " tails of {name}: {}", tail.words());
    }
    text
}
