//! Numbers formatted for readers.

use serde_json::Value;

/// A number with three or four digits.
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

/// A number, or a dash if there is none.
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

/// How many units may fail, whichever they are, by kind: `2 osds or 2 hosts`.
pub fn survivors(kinds: impl Iterator<Item = (u64, impl AsRef<str>)>) -> String {
    let some = kinds.filter(|(number, _)| *number > 0);
    let some: Vec<String> = some
        .map(|(number, kind)| count(number, kind.as_ref(), &format!("{}s", kind.as_ref())))
        .collect();
    if some.is_empty() { "nothing".to_owned() } else { some.join(" or ") }
}

/// Maximum length of a name that a page shows in full, in characters.
const MAX_NAME_CHARS: usize = 48;

/// A text of at most `most` characters; a longer one loses its end.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// A name, shortened in its middle if it is very long, as names of many hosts often differ at their
/// ends.
pub(crate) fn short_name(name: impl Into<String>) -> String {
    let name = name.into();
    let letters = name.chars().count();
    if letters <= MAX_NAME_CHARS {
        return name;
    }
    let half = MAX_NAME_CHARS / 2;
    let (first, last) = (name.chars().take(half), name.chars().skip(letters - half + 1));
    first.chain(['…']).chain(last).collect()
}

/// A sentence about a list that shows only the first `shown` of `all` entries; `None` if it shows all.
pub(crate) fn of_all(shown: usize, all: usize, what: &str) -> Option<String> {
    (shown < all).then(|| format!("Shown are the {shown} {what}, of {all}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(short_name("brick3"), "brick3");
        let long = format!("{}é{}", "a".repeat(900), "z".repeat(900));
        let short = short_name(long);
        assert_eq!(short.chars().count(), MAX_NAME_CHARS);
        assert!(short.starts_with("aaa") && short.ends_with("zzz") && short.contains('…'));
        assert_eq!((cut("abc", 3), cut("abcd", 3)), ("abc".to_owned(), "ab…".to_owned()));
    }
}
