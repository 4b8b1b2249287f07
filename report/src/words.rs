//! Numbers as people read them.

use serde_json::Value;

/// To three or four digits.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "unknown".to_owned()
    } else if size.fract() <= 0.0 && size < 1e7 {
        format!("{value:.0}")
    } else if size >= 1e7 {
        format!("{value:.2e}")
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else if size >= 0.001 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A number if there is one.
pub(crate) fn known(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

/// The number at a path of keys.
pub(crate) fn at(document: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(document, |value, key| value.get(key))?.as_f64()
}

/// The text at a path of keys.
pub(crate) fn text<'a>(document: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(document, |value, key| value.get(key))?.as_str()
}

/// Entries of the object at a key.
pub(crate) fn entries<'a>(
    document: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    document.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// `one run`, `3 runs`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
