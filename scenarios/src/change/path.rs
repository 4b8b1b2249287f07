//! Paths: keys between dots, numbers in brackets, names in quotes.

use std::ops::Range;

use crate::tree::Table;

/// A step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyStep {
    pub(super) text: String,
    /// Whether it was written `[3]`, not `.3`.
    pub(super) bracket: bool,
    /// Its byte range in the path.
    pub(super) range: Range<usize>,
}

/// The steps of a path, at least one. Errors with the wrong bytes and the reason.
pub(super) fn steps(path: &str) -> Result<Vec<KeyStep>, (Range<usize>, &'static str)> {
    let bytes = path.as_bytes();
    let mut steps = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        if let Some(&quote @ (b'"' | b'\'')) = bytes.get(at) {
            let rest = &path[at + 1..];
            let len =
                rest.find(quote as char).ok_or((start..path.len(), "a quote is not closed"))?;
            let text = rest[..len].to_owned();
            at += len + 2;
            steps.push(KeyStep { text, bracket: false, range: start..at });
        } else {
            let rest = &path[at..];
            let len = rest.find(['.', '[']).unwrap_or(rest.len());
            let text = rest[..len].trim();
            at += len;
            if text.is_empty() {
                return Err((start..(at + 1).min(path.len()), "a name is missing"));
            }
            steps.push(KeyStep { text: text.to_owned(), bracket: false, range: start..at });
        }
        while bytes.get(at) == Some(&b'[') {
            let start = at;
            let rest = &path[at + 1..];
            let len = rest.find(']').ok_or((start..path.len(), "a bracket is not closed"))?;
            at += len + 2;
            let text = rest[..len].trim().to_owned();
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err((start..at, "expected a number in brackets"));
            }
            steps.push(KeyStep { text, bracket: true, range: start..at });
        }
        match bytes.get(at) {
            None => return Ok(steps),
            Some(b'.') => at += 1,
            Some(_) => return Err((at..path.len(), "a dot is missing")),
        }
    }
}

/// The name that the steps form if its dots were not meant as separators.
pub(super) fn joined(steps: &[KeyStep]) -> Option<String> {
    let plain = steps.iter().all(|step| !step.bracket);
    plain.then(|| steps.iter().map(|step| step.text.as_str()).collect::<Vec<_>>().join("."))
}

/// The entry that a path begins with, longest name first, and what is left of the path.
pub(super) fn find<'s>(table: &Table, steps: &'s [KeyStep]) -> (Option<String>, &'s [KeyStep]) {
    for count in (1..=steps.len()).rev() {
        if let Some(name) = joined(&steps[..count]).filter(|name| table.get(name).is_some()) {
            return (Some(name), &steps[count..]);
        }
    }
    (None, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_keys_and_numbers() {
        let texts = |path: &str| -> Vec<(String, bool)> {
            steps(path).unwrap().into_iter().map(|step| (step.text, step.bracket)).collect()
        };
        let key = |text: &str| (text.to_owned(), false);
        let number = |text: &str| (text.to_owned(), true);
        assert_eq!(
            texts("node.brick[3].rate"),
            [key("node"), key("brick"), number("3"), key("rate")]
        );
        assert_eq!(texts("disk.0"), [key("disk"), key("0")]);
        assert_eq!(texts("device.\"a.b\".rpm"), [key("device"), key("a.b"), key("rpm")]);
        for path in
            ["", ".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]", "\"a", "\"a\"b", "a[0]b"]
        {
            assert!(steps(path).is_err(), "{path}");
        }
    }
}
