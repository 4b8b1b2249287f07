//! Results go to standard output, all at once.
#![allow(clippy::format_collect, reason = "short lists")]

use std::io::Write;

use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;

/// Prints results.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// What is to be known before a result is read: a line each, and one without anything.
pub(crate) fn notes(notes: &[String]) -> String {
    let mut text: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    text
}

/// Version of the documents of `--json`, and of `truth.json`, `inspect.json` and `summary.json`: another
/// number says that a key has gone or has another meaning. New keys alone leave it as it is.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// A document of JSON as it is printed and kept: its version first, indented, with a line's end.
pub(crate) fn json(document: &impl Serialize) -> String {
    let mut document = serde_json::to_value(document).expect("keys are texts");
    if let Value::Object(keys) = &mut document {
        keys.shift_insert(0, "schema_version".to_owned(), SCHEMA_VERSION.into());
    }
    format!("{document:#}\n")
}
