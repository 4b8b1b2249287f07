//! Results go to standard output, all at once.
#![allow(clippy::format_collect, reason = "short lists")]

use std::io::Write;

use foretell_input::{one_line, printable};

use crate::failure::Failure;

/// Prints results. Names in them may come from foreign files, so a visible sign stands for each character that a terminal
/// obeys. What is one line must pass through [`one_line`] before: a note, a cell of a table, a name in a sentence.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = printable(text);
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// A number of things, such as `1 run` or `2 runs`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A note, in a line of its own.
pub(crate) fn note(text: &str) -> String {
    format!("note: {}\n", one_line(text))
}

/// Notes to read before a result: one line each, followed by an empty line.
pub(crate) fn notes(notes: &[String]) -> String {
    let mut text: String = notes.iter().map(|text| note(text)).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    text
}

pub(crate) use foretell_core::to_json as json;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_name_makes_no_line_of_its_own() {
        let found = note("pool `a\nnote: all is well\u{1b}[2J` has no rule; so has ` b\n`");
        assert_eq!(
            found,
            "note: pool `a note: all is well\u{fffd}[2J` has no rule; so has ` b `\n"
        );
    }
}
