//! Results go to standard output, all at once.
#![allow(clippy::format_collect, reason = "short lists")]

use std::io::Write;

use crate::failure::Failure;

/// Prints results. Names in them may come from foreign files, so letters that steer a terminal are replaced by a
/// visible sign.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = foretell_input::printable(text);
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// A number of things, such as `1 run` or `2 runs`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Notes to read before a result: one line each, followed by an empty line.
pub(crate) fn notes(notes: &[String]) -> String {
    let mut text: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    text
}

pub(crate) use foretell_core::to_json as json;
