//! Messages of JSON readers in the words of their users.

use std::fmt::Display;

/// Names of types in messages of JSON readers, and what they mean to somebody who wrote the document.
const WORDS: [(&str, &str); 16] = [
    ("a borrowed string", "a text"),
    ("a string", "a text"),
    ("a sequence", "a list"),
    ("a map", "an object"),
    ("a boolean", "`true` or `false`"),
    ("unit", "null"),
    ("f64", "a number"),
    ("f32", "a number"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number, not negative"),
    ("usize", "a whole number, not negative"),
    ("i32", "a whole number from -2147483648 to 2147483647"),
    ("i64", "a whole number"),
    ("isize", "a whole number"),
];

/// The message of an error of a JSON reader, with what was expected in words: a reader's own message names types of
/// this program, as in `expected f64` and `expected struct OsdJson`.
pub fn json_fault(error: &impl Display) -> String {
    let message = error.to_string();
    let Some((before, expected)) = message.split_once(", expected ") else { return message };
    // the place, ` at line 3 column 7`, comes last
    let (what, place) = match expected.rfind(" at line ") {
        Some(at) => expected.split_at(at),
        None => (expected, ""),
    };
    let known = WORDS.iter().find(|(name, _)| *name == what).map(|(_, word)| *word);
    let kinds = [("struct ", "an object"), ("enum ", "a text"), ("tuple ", "a list")];
    let kind = kinds.iter().find(|(kind, _)| what.starts_with(kind)).map(|(_, word)| *word);
    let what = known.or(kind).unwrap_or(what);
    format!("{before}, expected {what}{place}")
}

#[cfg(test)]
mod tests {
    use super::json_fault;

    #[test]
    fn types_of_the_program_are_not_named() {
        let cases = [
            (
                "invalid type: string \"x\", expected f64 at line 3 column 7",
                "invalid type: string \"x\", expected a number at line 3 column 7",
            ),
            (
                "invalid type: integer `1`, expected struct OsdJson at line 1 column 9",
                "invalid type: integer `1`, expected an object at line 1 column 9",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
            ),
            ("invalid type: map, expected enum Kind", "invalid type: map, expected a text"),
            (
                "EOF while parsing a value at line 1 column 0",
                "EOF while parsing a value at line 1 column 0",
            ),
        ];
        for (found, wanted) in cases {
            assert_eq!(json_fault(&found), wanted);
        }
    }
}
