//! What can be wrong with a trace, in words for people.

use std::fmt;
use std::io;

use thiserror::Error;

use super::format::Format;
use super::input::MAX_LINE;

/// Where in a trace something stands. Counted after decompression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of a text format, from 1.
    Line(u64),
    /// A record of a binary format.
    Record {
        /// Its number, from 1.
        number: u64,
        /// Its first byte, from 0.
        offset: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record { number, offset } => write!(f, "record {number} (byte {offset})"),
        }
    }
}

/// A line or record that is not what its format says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecord {
    /// The trace's name.
    pub trace: String,
    /// Which line or record.
    pub place: Place,
    /// Which part of it.
    pub field: &'static str,
    /// What stands there, shortened; `None`: nothing.
    pub found: Option<String>,
    /// What should.
    pub wanted: &'static str,
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, place, field, found, wanted } = self;
        write!(f, "trace `{trace}`, {place}: `{field}` is ")?;
        match found {
            Some(found) => write!(f, "{found}")?,
            None => write!(f, "missing")?,
        }
        write!(f, "; wanted {wanted}")
    }
}

/// No trace is longer; simulated time itself ends after 584 years.
pub(super) const MOST_YEARS: u64 = 100;
/// Nanoseconds in 365 days.
pub(super) const YEAR_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// Why a trace cannot be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open trace `{trace}`: {source}")]
    Open {
        /// The trace's name.
        trace: String,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be read or decompressed.
    #[error(
        "cannot read trace `{trace}` after byte {offset} of its (decompressed) content: {source}"
    )]
    Read {
        /// The trace's name.
        trace: String,
        /// How much could be read.
        offset: u64,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// Nothing is in it, so its format cannot be told.
    #[error("trace `{trace}` is empty")]
    Empty {
        /// The trace's name.
        trace: String,
    },
    /// Neither name nor content tell the format.
    #[error("cannot tell the format of trace `{trace}`; name it, one of {formats}")]
    UnknownFormat {
        /// The trace's name.
        trace: String,
        /// Those there are.
        formats: String,
    },
    /// The block size given is zero.
    #[error("block size 0 B given for trace `{trace}`; wanted at least 1 B")]
    ZeroBlock {
        /// The trace's name.
        trace: String,
    },
    /// A device is chosen where there is only one.
    #[error(
        "a device is chosen of trace `{trace}`, but its format, `{format}`, does not tell devices \
         apart"
    )]
    NoDevices {
        /// The trace's name.
        trace: String,
        /// Its format.
        format: Format,
    },
    /// No action of a block trace has such a name.
    #[error(
        "`{action}` given as the action that makes a request in trace `{trace}`; wanted a capital \
         letter, such as `Q` or `D`"
    )]
    NoAction {
        /// The trace's name.
        trace: String,
        /// The action given.
        action: char,
    },
    /// A line or record is not what its format says.
    #[error("{0}")]
    Bad(Box<BadRecord>),
    /// The very first is bad, and the content looks like another format than the one given.
    #[error("{bad}; it is read as `{given}`, but looks like `{looks_like}`")]
    OtherFormat {
        /// What is wrong.
        bad: Box<BadRecord>,
        /// The format given.
        given: Format,
        /// The one that it looks like.
        looks_like: Format,
    },
    /// A time so far from the first that it is hardly one.
    #[error(
        "trace `{trace}`, request {number}: its time is {years} years after that of the first; \
         wanted at most {MOST_YEARS}"
    )]
    TooLate {
        /// The trace's name.
        trace: String,
        /// Which request, from 1.
        number: u64,
        /// Whole years of 365 days.
        years: u64,
    },
    /// A line that goes on and on: hardly text.
    #[error("trace `{trace}`, line {line} is longer than {limit} bytes; wanted lines of one request each", limit = MAX_LINE)]
    LongLine {
        /// The trace's name.
        trace: String,
        /// Which line, from 1.
        line: u64,
    },
    /// The file ends inside a record.
    #[error(
        "trace `{trace}` ends inside record {number} (byte {offset}): {left} bytes are left; \
         wanted {wanted}"
    )]
    Truncated {
        /// The trace's name.
        trace: String,
        /// Which record, from 1.
        number: u64,
        /// Its first byte, from 0.
        offset: u64,
        /// What there is of it.
        left: usize,
        /// What a record has.
        wanted: usize,
    },
}

/// What a parser finds wrong: costs nothing until somebody wants to see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault<'l> {
    pub(super) field: &'static str,
    pub(super) found: Found<'l>,
    pub(super) wanted: &'static str,
}

/// What stands where something else was wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'l> {
    Nothing,
    Text(&'l [u8]),
    Number(u64),
    /// A code and, where known, its name.
    Code(u64, Option<&'static str>),
    /// A number and what it is to be multiplied by.
    Product(u64, u64),
    /// Two numbers whose sum is too large.
    Sum(u64, u64),
}

impl Fault<'_> {
    /// The error to show.
    #[cold]
    pub(super) fn at(self, trace: &str, place: Place) -> TraceError {
        let found = match self.found {
            Found::Nothing => None,
            Found::Text(text) => Some(shown(text)),
            Found::Number(n) => Some(format!("`{n}`")),
            Found::Code(code, None) => Some(format!("`{code:02x}`")),
            Found::Code(code, Some(name)) => Some(format!("`{code:02x}` ({name})")),
            Found::Product(n, unit) => Some(format!("`{n}` × {unit}")),
            Found::Sum(a, b) => Some(format!("`{a}` + {b}")),
        };
        TraceError::Bad(Box::new(BadRecord {
            trace: trace.to_owned(),
            place,
            field: self.field,
            found,
            wanted: self.wanted,
        }))
    }
}

/// At most so many bytes of what was found are shown.
const SHOWN: usize = 60;

/// `text` in backticks, shortened, without anything that a terminal would obey.
fn shown(text: &[u8]) -> String {
    let short = &text[..text.len().min(SHOWN)];
    let mut out = String::from("`");
    for character in String::from_utf8_lossy(short).chars() {
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out.push_str(if text.len() > SHOWN { "…`" } else { "`" });
    out
}
