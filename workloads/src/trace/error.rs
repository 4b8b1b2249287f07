//! Errors in traces, in readable words.

use std::fmt;
use std::io;

use thiserror::Error;

use super::format::Format;
use super::input::MAX_LINE;

/// A position in a trace, counted after decompression.
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

/// A line or record that does not conform to its format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecord {
    /// The trace's name.
    pub trace: String,
    /// The line or record.
    pub place: Place,
    /// The field.
    pub field: &'static str,
    /// The field's text, shortened; `None`: it is missing.
    pub found: Option<String>,
    /// The expected content.
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

/// Longest trace in years; simulated time itself ends after 584 years.
pub(super) const MAX_YEARS: u64 = 100;
/// Nanoseconds in 365 days.
pub(super) const YEAR_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// The reason why a trace cannot be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open trace `{trace}`: {source}")]
    Open {
        /// The trace's name.
        trace: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file cannot be read or decompressed.
    #[error(
        "cannot read trace `{trace}` after byte {offset} of its (decompressed) content: {source}"
    )]
    Read {
        /// The trace's name.
        trace: String,
        /// Number of bytes that could be read.
        offset: u64,
        /// The error of the system or of the decompressor.
        source: io::Error,
    },
    /// It is empty, so its format cannot be determined.
    #[error("trace `{trace}` is empty")]
    Empty {
        /// The trace's name.
        trace: String,
    },
    /// Neither name nor content identifies the format.
    #[error("cannot tell the format of trace `{trace}`; give its format, one of {formats}")]
    UnknownFormat {
        /// The trace's name.
        trace: String,
        /// The known formats.
        formats: String,
    },
    /// The block size given is zero.
    #[error("block size 0 B given for trace `{trace}`; wanted at least 1 B")]
    ZeroBlock {
        /// The trace's name.
        trace: String,
    },
    /// A device is given, but the format does not distinguish devices.
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
    /// A block size is given, but the format defines it.
    #[error(
        "a block size is given for trace `{trace}`, but it has no effect: the trace is read as `{format}`; block \
         sizes belong to {wanted}"
    )]
    NoBlocks {
        /// The trace's name.
        trace: String,
        /// Its format.
        format: Format,
        /// The formats with blocks.
        wanted: String,
    },
    /// The given action of a block trace does not exist.
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
    /// An action is given, but the format has none.
    #[error(
        "`{action}` given as the action that makes a request in trace `{trace}`, but it has no effect: the trace is \
         read as `{format}`, and actions belong to `blkparse`"
    )]
    NoActions {
        /// The trace's name.
        trace: String,
        /// The action given.
        action: char,
        /// The trace's format.
        format: Format,
    },
    /// No line of a block trace has the action that makes a request.
    #[error(
        "no line of trace `{trace}` has the action `{action}`, which makes a request; {found}{advice}"
    )]
    NoSuchAction {
        /// The trace's name.
        trace: String,
        /// The chosen action.
        action: char,
        /// The actions that it has, with the number of lines of each.
        found: String,
        /// How to choose an action, if one can be chosen.
        advice: String,
    },
    /// The first record is not of the given binary format.
    #[error(
        "trace `{trace}` is not of vscsiStats: its first record states neither version 0100 nor version 0200"
    )]
    NotVscsi {
        /// The trace's name.
        trace: String,
    },
    /// A line or record does not conform to its format.
    #[error("{0}")]
    Bad(Box<BadRecord>),
    /// The very first one is bad, and the content looks like another format than the given one.
    #[error("{bad}; it is read as `{given}`, but looks like `{looks_like}`")]
    OtherFormat {
        /// The error.
        bad: Box<BadRecord>,
        /// The format given.
        given: Format,
        /// The format that it looks like.
        looks_like: Format,
    },
    /// A time so far from the first that it is implausible.
    #[error(
        "trace `{trace}`, request {number}: its time is {years} years after that of the first; \
         wanted at most {MAX_YEARS}"
    )]
    TooLate {
        /// The trace's name.
        trace: String,
        /// The request, from 1.
        number: u64,
        /// Whole years of 365 days.
        years: u64,
    },
    /// An extremely long line: probably not text.
    #[error("trace `{trace}`, line {line} is longer than {limit} bytes; wanted lines of one request each", limit = MAX_LINE)]
    LongLine {
        /// The trace's name.
        trace: String,
        /// The line, from 1.
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
        /// The record, from 1.
        number: u64,
        /// Its first byte, from 0.
        offset: u64,
        /// Number of bytes of it that are present.
        left: usize,
        /// Number of bytes of a record.
        wanted: usize,
    },
}

impl TraceError {
    /// The error for a block trace without the chosen action. `others`: the actions that it has, at least one, with the
    /// number of lines of each.
    pub(super) fn no_such_action(trace: String, action: char, others: &[(String, u64)]) -> Self {
        /// Actions that each request has once, in the order of its life; most useful first.
        const ONCE: [&str; 4] = ["Q", "D", "I", "C"];
        let found: Vec<String> =
            others.iter().map(|(action, count)| format!("{count} have `{action}`")).collect();
        let has = |action: &&str| others.iter().any(|(name, _)| name == action);
        // only actions of one letter can be chosen
        let mut letters =
            others.iter().map(|(name, _)| name.as_str()).filter(|name| name.len() == 1);
        let choice = ONCE.into_iter().find(has).or_else(|| letters.next());
        let advice = choice.map_or_else(String::new, |choice| {
            format!(
                ". Choose one of these with `--blkparse-action {choice}` (`blkparse_action = \"{choice}\"` in a workload of \
                 kind `trace`)"
            )
        });
        Self::NoSuchAction { trace, action, found: found.join(", "), advice }
    }
}

/// An error found by a parser; formatting costs nothing until it is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault<'l> {
    pub(super) field: &'static str,
    pub(super) found: FoundContent<'l>,
    pub(super) wanted: &'static str,
}

/// The content that was found instead of the expected one.
#[derive(Clone, Copy, Debug)]
pub(super) enum FoundContent<'l> {
    Nothing,
    Text(&'l [u8]),
    Number(u64),
    /// A code and, if known, its name.
    Code(u64, Option<&'static str>),
    /// A number and its factor.
    Product(u64, u64),
    /// Two numbers whose sum is too large.
    Sum(u64, u64),
}

impl Fault<'_> {
    /// Converts it to the error to show.
    #[cold]
    pub(super) fn at(self, trace: &str, place: Place) -> TraceError {
        let found = match self.found {
            FoundContent::Nothing => None,
            FoundContent::Text(text) => Some(shown(text)),
            FoundContent::Number(n) => Some(format!("`{n}`")),
            FoundContent::Code(code, None) => Some(format!("`{code:02x}`")),
            FoundContent::Code(code, Some(name)) => Some(format!("`{code:02x}` ({name})")),
            FoundContent::Product(n, unit) => Some(format!("`{n}` × {unit}")),
            FoundContent::Sum(a, b) => Some(format!("`{a}` + {b}")),
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

/// Most bytes of the found content that are shown.
const SHOWN: usize = 60;

/// `text` in backticks, shortened, in one line that no terminal obeys.
fn shown(text: &[u8]) -> String {
    let short = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    let more = if text.len() > SHOWN { "…" } else { "" };
    format!("`{}{more}`", foretell_input::one_line(&short))
}
