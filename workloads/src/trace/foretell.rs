//! The project's own trace format: CSV with the header `time_ns,op,offset,size`.
//!
//! There is one request per line, in the order of the trace: nanoseconds since the first request,
//! `R` or `W`, the first byte, the number of bytes. A trace without times has the header
//! `op,offset,size`. In a trace with times the first field may be empty: then the time is that of
//! the previous request, or unknown if there is none. Data that an import has left out (devices,
//! response times, operations without data) are not included. The format is text, because any tool
//! can read it and any compressor can shrink it; see [`TraceWriter`](super::TraceWriter).

use super::decode::{LineFormat, Parsed, Raw};
use super::error::{Fault, FoundContent};
use super::fields::{Fields, READ_OR_WRITE, direction, number};

/// The header of a trace with times.
pub(super) const TIMED: &str = "time_ns,op,offset,size";
/// The header of a trace without.
pub(super) const UNTIMED: &str = "op,offset,size";
/// Valid first lines.
const HEADER: &str = "`time_ns,op,offset,size` or `op,offset,size` in the first line";

/// The reader.
pub(super) struct Foretell {
    /// Whether there are times, according to the header.
    timed: Option<bool>,
    last: Option<u64>,
}

impl Foretell {
    pub(super) fn new() -> Self {
        Self { timed: None, last: None }
    }
}

/// Whether a header announces times; `None`: it is not a header.
fn header(line: &[u8]) -> Option<bool> {
    let line = line.trim_ascii();
    if line == TIMED.as_bytes() {
        Some(true)
    } else if line == UNTIMED.as_bytes() {
        Some(false)
    } else {
        None
    }
}

impl LineFormat for Foretell {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        let Some(timed) = self.timed else {
            self.timed = header(line);
            return match self.timed {
                Some(_) => Ok(Parsed::Nothing),
                None => {
                    Err(Fault { field: "header", found: FoundContent::Text(line), wanted: HEADER })
                }
            };
        };
        let mut fields = Fields::new(line);
        let ticks = if timed {
            match fields.next("time_ns", "nanoseconds, or nothing")? {
                b"" => {}
                time => self.last = Some(number("time_ns", time)?),
            }
            self.last
        } else {
            None
        };
        let op = direction("op", fields.next("op", READ_OR_WRITE)?)?;
        let offset = fields.number("offset")?;
        let size = fields.number("size")?;
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    header(line).is_some()
}

/// Whether the beginning of a trace announces that it has no times.
pub(super) fn is_untimed(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).map(header).next() == Some(Some(false))
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, reader};

    #[test]
    fn times_are_nanoseconds_or_absent() {
        let timed = b"time_ns,op,offset,size\n,R,8,1\n5,R,0,512\n,W,7,1\n9,W,1024,4096\n";
        assert_eq!(
            list(Format::Foretell, timed),
            ["- read 8+1", "0 read 0+512", "0 write 7+1", "4 write 1024+4096"]
        );
        assert!(reader(Format::Foretell, timed, false).has_times());
        let untimed = b"op,offset,size\nR,0,512\n";
        assert_eq!(list(Format::Foretell, untimed), ["- read 0+512"]);
        assert!(!reader(Format::Foretell, untimed, false).has_times());
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::Foretell, b"time_ns,op,offset\n"),
            "trace `test`, line 1: `header` is `time_ns,op,offset`; wanted `time_ns,op,offset,size` \
             or `op,offset,size` in the first line"
        );
        assert_eq!(
            error(Format::Foretell, b"op,offset,size\nX,0,1\n"),
            "trace `test`, line 2: `op` is `X`; wanted a read (R, Read) or a write (W, Write)"
        );
    }
}
