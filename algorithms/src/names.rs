//! Suggests the name that was probably meant.

use std::fmt::Write;

/// The known name nearest to `found`, if it is near enough to be a typing error.
fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let found = found.to_lowercase();
    known
        .iter()
        .map(|&name| (strsim::damerau_levenshtein(&found, name), name))
        .filter(|&(distance, name)| distance <= name.len().max(3) / 2)
        .min()
        .map(|(_, name)| name)
}

/// The end of an error message: the known names, and the one that was probably meant.
///
/// Reads `` want one of `a`, `b`; did you mean `a`? `` after a semicolon.
pub(crate) fn wanted(found: &str, known: &[&str]) -> String {
    let mut text = String::from("want one of ");
    for (index, name) in known.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}`{name}`");
    }
    if let Some(name) = nearest(found, known) {
        let _ = write!(text, "; did you mean `{name}`?");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(nearest("lur", &["lru", "fifo"]), Some("lru"));
        assert_eq!(nearest("FIFO", &["lru", "fifo"]), Some("fifo"));
        assert_eq!(nearest("belady", &["lru", "fifo"]), None);
        assert_eq!(
            wanted("fif", &["lru", "fifo"]),
            "want one of `lru`, `fifo`; did you mean `fifo`?"
        );
    }
}
