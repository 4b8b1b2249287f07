//! Text that others wrote, where people read it and where it becomes a part of our files.
//!
//! A name in a trace, a report or a table may contain letters that a terminal obeys (`ESC ]0;...`), that change the
//! order in which the letters around them are shown (U+202E), or that end a line, so that the rest reads as a line of
//! ours. Everything that is printed passes through [`printable`]; a foreign name in a sentence, a table or a comment
//! through [`one_line`]; a foreign text in a TOML file through [`toml_string`].

use std::borrow::Cow;
use std::fmt::Write;

/// The sign in place of a letter that is not shown.
const HIDDEN: char = '\u{fffd}';

/// Whether a letter steers a terminal, changes the order of the letters around it, ends a line, or is invisible.
///
/// The joiners U+200C and U+200D are none of these: scripts and signs need them.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // marks and overrides of direction
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // ends of lines and paragraphs
            | '\u{2028}' | '\u{2029}'
            // invisible letters
            | '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn replaced(text: &str, is_hidden: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if text.contains(is_hidden) {
        Cow::Owned(text.replace(is_hidden, &String::from(HIDDEN)))
    } else {
        Cow::Borrowed(text)
    }
}

/// A text of any number of lines as it may be printed: each letter that [`steers`] becomes `U+FFFD`. Ends of lines and
/// tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, |letter| steers(letter) && !matches!(letter, '\n' | '\t'))
}

/// A foreign text within a line, such as a name: as [`printable`], and ends of lines and tabs become spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let is_space = |letter: char| matches!(letter, '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}');
    if text.contains(is_space) {
        Cow::Owned(replaced(&text.replace(is_space, " "), steers).into_owned())
    } else {
        replaced(text, steers)
    }
}

/// As [`printable`], with the same number of bytes, so that places in the text stay where they are.
pub fn printable_in_place(text: &str) -> Cow<'_, str> {
    let is_hidden = |letter: char| steers(letter) && !matches!(letter, '\n' | '\t' | '\r');
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.len_utf8() {
            _ if !is_hidden(letter) => shown.push(letter),
            1 => shown.push('?'),
            2 => shown.push('¿'),
            3 => shown.push(HIDDEN),
            _ => shown.extend([HIDDEN, '?']),
        }
    }
    Cow::Owned(shown)
}

/// A text as a basic string of TOML, with its quotes. Letters that [`steers`] names are written as escapes, so that
/// the text is read back unchanged and the file can be shown anywhere.
pub fn toml_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if steers(letter) => {
                let number = u32::from(letter);
                let _ = match number {
                    0..=0xffff => write!(quoted, "\\u{number:04X}"),
                    _ => write!(quoted, "\\U{number:08X}"),
                };
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A JSON document whose texts hold no letters that [`steers`] names: they are written as escapes, and so are read back
/// unchanged.
pub fn json_escaped(document: &str) -> Cow<'_, str> {
    // in a valid document, line ends and tabs stand between values only
    let is_escaped = |letter: char| steers(letter) && !matches!(letter, '\n' | '\r' | '\t');
    if !document.contains(is_escaped) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len());
    for letter in document.chars() {
        if is_escaped(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(letter);
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
    fn nothing_that_is_printed_steers() {
        for text in HOSTILE {
            assert!(!printable(text).contains(|c| steers(c) && c != '\n'), "{text:?}");
            assert!(!one_line(text).contains(steers), "{text:?}");
            let placed = printable_in_place(text);
            assert_eq!(placed.len(), text.len());
            assert!(!placed.contains(|c| steers(c) && !matches!(c, '\n' | '\r')), "{text:?}");
        }
        assert_eq!(one_line("a\nb\tc\u{1b}"), "a b c\u{fffd}");
        assert_eq!(printable("a\nb\tc\u{1b}"), "a\nb\tc\u{fffd}");
    }

    #[test]
    fn common_text_stays_as_it_is() {
        // letters of several scripts, a sign of two joined signs, a word that needs a joiner
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
            assert!(!toml_string(text).contains(steers), "{text:?}");
        }
    }
}
