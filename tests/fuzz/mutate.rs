//! Mutations of texts and of bytes, with their structure in mind.
//!
//! A file of random bytes is refused at its first; what is nearly right gets far. So most mutations keep a
//! text a text: they swap tokens, put hostile numbers in place of numbers, repeat or remove lines, nest
//! what can be nested. Some cut, flip bits, or insert what is no text.

use foretell_units::Stream;

/// In place of a number.
const NUMBERS: [&str; 34] = [
    "0",
    "-1",
    "1",
    "-0",
    "2",
    "7",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e9",
    "1e18",
    "1e19",
    "1e308",
    "-1e308",
    "1e999",
    "4.9e-324",
    "1e-30",
    "0.1",
    "nan",
    "inf",
    "-inf",
    "",
    "1_000",
];

/// In place of a text.
const TEXTS: [&str; 30] = [
    "",
    " ",
    ".",
    "..",
    "/",
    "../../victim",
    "../above/victim",
    "a/b",
    "~",
    "-",
    "--help",
    "nan",
    "null",
    "none",
    "true",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "ü",
    "😀",
    "%s%n",
    "'",
    "\"",
    "\\",
    "\n",
    "\r\n",
    ";DROP TABLE hosts;",
    "1-of-255",
    "255-of-255",
    "0-of-0",
];

/// In place of a unit.
const UNITS: [&str; 16] = [
    "B", "KiB", "PiB", "GB", "ns", "s", "h", "bit/s", "Gbit/s", "GB/s", "%", "k", "m", "x",
    "\u{b5}s", "TiB",
];

/// A number below `bound`.
pub(crate) fn below(stream: &mut Stream, bound: usize) -> usize {
    stream.below(bound.max(1) as u64) as usize
}

/// One of these.
pub(crate) fn one_of<'a, T: ?Sized>(stream: &mut Stream, all: &[&'a T]) -> &'a T {
    all[below(stream, all.len())]
}

/// A number that is hard to take.
pub(crate) fn hostile_number(stream: &mut Stream) -> &'static str {
    one_of(stream, &NUMBERS)
}

/// A text that is hard to take.
pub(crate) fn hostile_text(stream: &mut Stream) -> &'static str {
    one_of(stream, &TEXTS)
}

/// A stretch of bytes with nothing but letters, digits and what numbers have.
#[derive(Clone, Copy)]
struct Token {
    start: usize,
    end: usize,
    is_number: bool,
}

fn tokens(text: &[u8]) -> Vec<Token> {
    let is_in = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+%".contains(&byte) || byte >= 0x80;
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() && found.len() < 100_000 {
        let length = text[at..].iter().take_while(|byte| is_in(**byte)).count();
        if length > 0 {
            let is_number = text[at..at + length].iter().any(u8::is_ascii_digit);
            found.push(Token { start: at, end: at + length, is_number });
        }
        at += length.max(1);
    }
    found
}

/// Some mutations of a text. `others`: texts of the same kind, whose parts may be inserted.
pub(crate) fn text(stream: &mut Stream, original: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut text = original.to_vec();
    // most often one or two: the less is wrong, the farther it gets
    let count = 1 + below(stream, 2) + if stream.chance(0.2) { below(stream, 8) } else { 0 };
    for _ in 0..count {
        once(stream, &mut text, others);
        // many long ones on top of each other only test the file system
        text.truncate(8 << 20);
    }
    text
}

/// One mutation of a text.
fn once(stream: &mut Stream, text: &mut Vec<u8>, others: &[Vec<u8>]) {
    match below(stream, 22) {
        0..=5 => replace_number(stream, text),
        6..=8 => replace_token(stream, text),
        9 => swap_tokens(stream, text),
        10..=13 => change_lines(stream, text),
        14 => nest(stream, text),
        15 => splice(stream, text, others),
        16 => {
            let at = below(stream, text.len() + 1);
            text.truncate(at);
        }
        17 => long_token(stream, text),
        18 => insert(stream, text, &[0xff, 0xc3, 0x28, 0xf0, 0x9f, 0x00]),
        19 => replace_unit(stream, text),
        20 => {
            // a mark of the syntax more or less
            let marks = b"{}[]()<>\"'=,:;#\n\r\t&|/\\@*";
            let mark = [marks[below(stream, marks.len())]];
            if stream.chance(0.5) {
                insert(stream, text, &mark);
            } else if let Some(at) = text.iter().position(|byte| *byte == mark[0]) {
                text.remove(at);
            }
        }
        _ => bytes_once(stream, text),
    }
}

fn splice_in(text: &mut Vec<u8>, start: usize, end: usize, with: &[u8]) {
    text.splice(start..end, with.iter().copied());
}

fn insert(stream: &mut Stream, text: &mut Vec<u8>, what: &[u8]) {
    let at = below(stream, text.len() + 1);
    splice_in(text, at, at, what);
}

fn replace_number(stream: &mut Stream, text: &mut Vec<u8>) {
    let numbers: Vec<Token> = tokens(text).into_iter().filter(|token| token.is_number).collect();
    if numbers.is_empty() {
        let number = hostile_number(stream);
        return insert(stream, text, number.as_bytes());
    }
    let Token { start, end, .. } = numbers[below(stream, numbers.len())];
    // its digits, and what stands around them stays
    let digits = text[start..end].iter().position(u8::is_ascii_digit).unwrap_or(0);
    let length = text[start + digits..end]
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    let with = match below(stream, 4) {
        // near what it was
        0 => {
            let old: u64 = String::from_utf8_lossy(&text[start + digits..start + digits + length])
                .parse()
                .unwrap_or(1);
            let factor = [0, 2, 3, 10, 100, 1000, 1 << 20][below(stream, 7)];
            old.wrapping_mul(factor).wrapping_add(stream.below(3)).wrapping_sub(1).to_string()
        }
        _ => hostile_number(stream).to_owned(),
    };
    splice_in(text, start + digits, start + digits + length, with.as_bytes());
}

fn replace_token(stream: &mut Stream, text: &mut Vec<u8>) {
    let all = tokens(text);
    if all.is_empty() {
        return;
    }
    let Token { start, end, .. } = all[below(stream, all.len())];
    let with = if stream.chance(0.5) {
        hostile_text(stream).as_bytes().to_vec()
    } else {
        let other = all[below(stream, all.len())];
        text[other.start..other.end].to_vec()
    };
    splice_in(text, start, end, &with);
}

fn swap_tokens(stream: &mut Stream, text: &mut Vec<u8>) {
    let all = tokens(text);
    if all.len() < 2 {
        return;
    }
    let (a, b) = (all[below(stream, all.len())], all[below(stream, all.len())]);
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    if first.end > second.start {
        return;
    }
    let (one, other) =
        (text[first.start..first.end].to_vec(), text[second.start..second.end].to_vec());
    splice_in(text, second.start, second.end, &one);
    splice_in(text, first.start, first.end, &other);
}

fn change_lines(stream: &mut Stream, text: &mut Vec<u8>) {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let mut lines: Vec<Vec<u8>> = lines.into_iter().map(<[u8]>::to_vec).collect();
    let at = below(stream, lines.len());
    match below(stream, 6) {
        0 => drop(lines.remove(at)),
        1 => {
            let other = below(stream, lines.len());
            lines.swap(at, other);
        }
        2 => {
            let many = [1, 2, 100, 5000][below(stream, 4)];
            let line = lines[at].clone();
            let many = many.min((1 << 20) / line.len().max(1));
            lines.splice(at..at, std::iter::repeat_n(line, many));
        }
        3 => lines.truncate(at),
        4 => {
            let other = below(stream, lines.len());
            let (from, to) = (at.min(other), at.max(other));
            drop(lines.drain(from..to));
        }
        _ => lines.insert(at, b"\n".to_vec()),
    }
    *text = lines.concat();
}

/// Something that can be nested, nested deep.
fn nest(stream: &mut Stream, text: &mut Vec<u8>) {
    let pairs: [(&str, &str); 9] = [
        ("[", "]"),
        ("(", ")"),
        ("{", "}"),
        ("{\"a\":", "}"),
        ("<a>", "</a>"),
        ("not ", ""),
        ("-", ""),
        ("a.", ""),
        ("{a=", "}"),
    ];
    let (open, close) = pairs[below(stream, pairs.len())];
    let depth = [3, 60, 130, 1000, 20_000, 200_000][below(stream, 6)];
    let all = tokens(text);
    let (start, end) = if all.is_empty() {
        (0, 0)
    } else {
        let token = all[below(stream, all.len())];
        (token.start, token.end)
    };
    let inner = text[start..end].to_vec();
    let with = [open.repeat(depth).as_bytes(), &inner, close.repeat(depth).as_bytes()].concat();
    splice_in(text, start, end, &with);
}

fn splice(stream: &mut Stream, text: &mut Vec<u8>, others: &[Vec<u8>]) {
    if others.is_empty() {
        return;
    }
    let other = &others[below(stream, others.len())];
    let from = below(stream, other.len() + 1);
    let length = below(stream, (other.len() - from).min(2000) + 1);
    insert(stream, text, &other[from..from + length]);
}

fn long_token(stream: &mut Stream, text: &mut Vec<u8>) {
    let length = [300, 5000, 70_000, 2_000_000][below(stream, 4)];
    let byte = [b'9', b'a', b'0', b' ', b',', b'\t', b'"'][below(stream, 7)];
    insert(stream, text, &vec![byte; length]);
}

fn replace_unit(stream: &mut Stream, text: &mut Vec<u8>) {
    let units: Vec<Token> = tokens(text)
        .into_iter()
        .filter(|token| UNITS.iter().any(|unit| unit.as_bytes() == &text[token.start..token.end]))
        .collect();
    if units.is_empty() {
        return replace_token(stream, text);
    }
    let Token { start, end, .. } = units[below(stream, units.len())];
    splice_in(text, start, end, one_of(stream, &UNITS).as_bytes());
}

/// Some mutations of bytes.
pub(crate) fn bytes(stream: &mut Stream, original: &[u8]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..1 + below(stream, 6) {
        bytes_once(stream, &mut bytes);
    }
    bytes
}

/// One mutation of bytes.
pub(crate) fn bytes_once(stream: &mut Stream, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        bytes.push(stream.bits() as u8);
        return;
    }
    let at = below(stream, bytes.len());
    let length = 1 + below(stream, (bytes.len() - at).min(64));
    match below(stream, 8) {
        0 | 1 => bytes[at] ^= 1 << below(stream, 8),
        2 | 3 => {
            let byte = [0, 1, 0x7f, 0x80, 0xff, stream.bits() as u8][below(stream, 6)];
            bytes[at..at + length].fill(byte);
        }
        4 => bytes.truncate(at),
        5 => drop(bytes.drain(at..at + length)),
        6 => {
            let copy = bytes[at..at + length].to_vec();
            let to = below(stream, bytes.len() - length + 1);
            bytes[to..to + length].copy_from_slice(&copy);
        }
        _ => {
            let copy = bytes[at..at + length].to_vec();
            bytes.splice(at..at, copy);
        }
    }
}
