//! Text that others wrote, where people read it and where it becomes a part of our files.
//!
//! A name in a trace, a report or a table may contain characters that a terminal obeys (`ESC ]0;...`), that change the
//! order in which the characters around them are shown (U+202E), or that end a line, so that the rest reads as a line
//! of ours. Everything that is printed passes through [`printable`]; a foreign name in a sentence, a table or a comment
//! through [`one_line`]; a foreign text in a TOML file through [`toml_string`].

use std::borrow::Cow;
use std::fmt::Write;

/// The sign in place of a character that is not shown.
const HIDDEN: char = '\u{fffd}';

/// Whether it is a control character (which a terminal obeys, or which ends a line), a mark or override of the direction
/// of writing (bidirectional text), a separator of lines or paragraphs, or invisible.
///
/// The joiners U+200C and U+200D are none of these: scripts and signs need them.
pub fn is_control_or_bidi(character: char) -> bool {
    character.is_control()
        || matches!(character,
            // marks and overrides of direction
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // ends of lines and paragraphs
            | '\u{2028}' | '\u{2029}'
            // invisible characters
            | '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character of a text of several lines is shown: the ends of lines, `\n` and `\r\n`, and tabs are. A `\r`
/// alone is not, because a terminal then writes over the line. `next`: the character after it.
fn is_shown(character: char, next: Option<char>) -> bool {
    match character {
        '\n' | '\t' => true,
        '\r' => next == Some('\n'),
        other => !is_control_or_bidi(other),
    }
}

/// A text of several lines, with `sign` in place of each character that is not shown.
fn in_lines(text: &str, sign: impl Fn(char) -> &'static str) -> Cow<'_, str> {
    if !text
        .contains(|character| is_control_or_bidi(character) && !matches!(character, '\n' | '\t'))
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if is_shown(character, characters.peek().copied()) {
            shown.push(character);
        } else {
            shown.push_str(sign(character));
        }
    }
    Cow::Owned(shown)
}

/// A text of any number of lines as it may be printed: `U+FFFD` stands for each character that
/// [`is_control_or_bidi`]. Ends of lines (`\n`, `\r\n`) and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    in_lines(text, |_| "\u{fffd}")
}

/// As [`printable`], with the same number of bytes, so that places in the text stay where they are.
pub fn printable_in_place(text: &str) -> Cow<'_, str> {
    in_lines(text, |character| match character.len_utf8() {
        1 => "?",
        2 => "¿",
        3 => "\u{fffd}",
        _ => "\u{fffd}?",
    })
}

/// A foreign number without hundreds of digits.
pub fn shown(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") }
}

/// A foreign text within a line, such as a name: as [`printable`], and ends of lines and tabs become spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control_or_bidi) {
        return Cow::Borrowed(text);
    }
    let shown = |character| match character {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        other if is_control_or_bidi(other) => HIDDEN,
        other => other,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// A text as a basic string of TOML, with its quotes. Each character that [`is_control_or_bidi`] is written as an
/// escape, so that the text is read back unchanged and the file can be shown anywhere.
pub fn toml_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            character if is_control_or_bidi(character) => {
                let number = u32::from(character);
                let _ = match number {
                    0..=0xffff => write!(quoted, "\\u{number:04X}"),
                    _ => write!(quoted, "\\U{number:08X}"),
                };
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// A JSON document in which each character that [`is_control_or_bidi`] is written as an escape, and so is read back
/// unchanged.
pub fn json_escaped(document: &str) -> Cow<'_, str> {
    // in a valid document, line ends and tabs stand between values only
    let is_escaped =
        |character: char| is_control_or_bidi(character) && !matches!(character, '\n' | '\r' | '\t');
    if !document.contains(is_escaped) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len());
    for character in document.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: [&str; 6] = [
        "a\u{1b}]0;title\u{7}b",
        "a\u{202e}gnp.exe",
        "a\nmode = \"none\"",
        "a\r\u{85}\u{9b}31m",
        "a\u{2028}b\u{feff}\u{e0041}",
        "\u{7f}\u{2066}\u{200b}",
    ];

    #[test]
    fn nothing_that_is_printed_is_obeyed_by_a_terminal() {
        for text in HOSTILE {
            assert!(!printable(text).contains(|c| is_control_or_bidi(c) && c != '\n'), "{text:?}");
            assert!(!one_line(text).contains(is_control_or_bidi), "{text:?}");
            let placed = printable_in_place(text);
            assert_eq!(placed.len(), text.len());
            assert!(!placed.contains(|c| is_control_or_bidi(c) && c != '\n'), "{text:?}");
        }
        assert_eq!(one_line("a\nb\tc\u{1b}"), "a b c\u{fffd}");
        assert_eq!(printable("a\nb\tc\u{1b}"), "a\nb\tc\u{fffd}");
    }

    #[test]
    fn ends_of_lines_stay_and_a_line_is_not_written_over() {
        let text = "a\r\nb\rc\r\r\n";
        assert_eq!(printable(text), "a\r\nb\u{fffd}c\u{fffd}\r\n");
        assert_eq!(printable_in_place(text), "a\r\nb?c?\r\n");
        assert_eq!(one_line(text), "a  b c   ");
    }

    #[test]
    fn common_text_stays_as_it_is() {
        // characters of several scripts, a sign of two joined signs, a word that needs a joiner
        for text in ["osd.0", "Größe 5 µs", "存储", "👩\u{200d}💻", "می\u{200c}خواهم"]
        {
            assert_eq!(one_line(text), text);
            assert_eq!(toml_string(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn escapes_keep_the_text() {
        assert_eq!(toml_string("a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd\\te\"");
        assert_eq!(toml_string("\u{202e}\u{e0041}\u{1b}"), "\"\\u202E\\U000E0041\\u001B\"");
        assert_eq!(
            json_escaped("{\n  \"a\": \"\u{202e}\u{e0041}\"\n}"),
            "{\n  \"a\": \"\\u202e\\udb40\\udc41\"\n}"
        );
        for text in HOSTILE {
            assert!(!toml_string(text).contains(is_control_or_bidi), "{text:?}");
        }
    }
}
