//! fio's iolog, versions 2 and 3 (`write_iolog`, `read_iolog`).
//!
//! The first line is `fio version 2 iolog` or `fio version 3 iolog`. The other lines are `file
//! action` (add, open, close) or `file action offset length` in bytes; in version 3 each begins
//! with the time in µs since the start. Actions without data (`sync`, `datasync`, `trim`) are left
//! out. Version 2 has no times except by `wait`, which adds a number of µs to a clock that starts at zero. A log of
//! version 2 without `wait` has no times. If the first `wait` comes late (not in the part of the file that is looked at
//! first), requests before it have no times. A device is identified by the file's name;
//! if none is chosen, the files share their addresses. Source: fio's HOWTO, "Trace file format",
//! and a log of fio 3.33.

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::{Fault, FoundContent};
use super::fields::{Words, found};
use crate::Op;

/// The reader.
pub(super) struct FioIolog {
    pub(super) device: Device,
    /// The version stated in the first line.
    version: Option<Version>,
    /// In version 2: the sum of the waits so far.
    waited: Option<u64>,
}

#[derive(Clone, Copy)]
enum Version {
    Two,
    Three,
}

/// Valid actions.
const ACTION: &str =
    "one of read, write, wait, sync, datasync, sync_file_range, trim, add, open, close";
/// Valid first lines.
const HEADER: &str = "`fio version 2 iolog` or `fio version 3 iolog` in the first line";

impl FioIolog {
    /// `head`: the beginning of the file.
    pub(super) fn new(device: Device, head: &[u8]) -> Self {
        let waited = has_wait(head).then_some(0);
        Self { device, version: None, waited }
    }
}

/// Whether a line of the file's beginning is a `wait`.
fn has_wait(head: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').any(|line| {
        let mut words = Words::new(line);
        words.try_next();
        words.try_next() == Some(b"wait")
    })
}

/// Whether times come from `wait` alone.
pub(super) fn has_only_waits(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    matches!(version(first), Some(Version::Two))
}

fn version(line: &[u8]) -> Option<Version> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Some(Version::Two),
        b"fio version 3 iolog" => Some(Version::Three),
        _ => None,
    }
}

impl LineFormat for FioIolog {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        let Some(known) = self.version else {
            self.version = version(line);
            return match self.version {
                Some(_) => Ok(Parsed::Nothing),
                None => {
                    Err(Fault { field: "version", found: FoundContent::Text(line), wanted: HEADER })
                }
            };
        };
        let mut words = Words::new(line);
        let ticks = match known {
            Version::Three => Some(words.number("timestamp")?),
            Version::Two => self.waited,
        };
        let file = words.next("file", "a file's name")?;
        let action = words.next("action", ACTION)?;
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"wait" => {
                let wait = words.number("wait")?;
                self.waited = Some(self.waited.unwrap_or(0).saturating_add(wait));
                return Ok(Parsed::Nothing);
            }
            b"add" | b"open" | b"close" => return Ok(Parsed::Nothing),
            b"sync" | b"datasync" | b"sync_file_range" | b"trim" => return Ok(Parsed::Other),
            _ => return Err(Fault { field: "action", found: found(action), wanted: ACTION }),
        };
        let offset = words.number("offset")?;
        let size = words.number("length")?;
        if !self.device.is(file) {
            return Ok(Parsed::Other);
        }
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    version(line).is_some()
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, of_device};

    #[test]
    fn version_3_has_times() {
        let text = b"fio version 3 iolog\n19 /data/a add\n826 /data/a open\n\
                     830 /data/a read 16187392 12288\n923 /data/a write 0 4096\n\
                     924 /data/a sync 0 0\n930 /data/a close\n";
        assert_eq!(list(Format::FioIolog, text), ["0 read 16187392+12288", "93000 write 0+4096"]);
    }

    #[test]
    fn version_2_has_times_by_waits() {
        let text = b"fio version 2 iolog\n/a add\n/a open\n/a read 0 512\n/a wait 500 0\n\
                     /b write 512 512\n/a wait 700\n/a trim 0 512\n/a read 1024 512\n/a close\n";
        assert_eq!(
            list(Format::FioIolog, text),
            ["0 read 0+512", "500000 write 512+512", "1200000 read 1024+512"]
        );
        let (requests, other) = of_device(Format::FioIolog, text, "/b");
        assert_eq!((requests.len(), other), (1, 3));
        // a wait before the first request
        let text = b"fio version 2 iolog\n/a add\n/a wait 500\n/a read 0 512\n/a wait 100\n/a read 0 512\n";
        assert_eq!(list(Format::FioIolog, text), ["500000 read 0+512", "600000 read 0+512"]);
        let text = b"fio version 2 iolog\n/a read 0 512\n/a read 512 512\n";
        assert_eq!(list(Format::FioIolog, text), ["- read 0+512", "- read 512+512"]);
    }

    #[test]
    fn says_what_is_wrong_where() {
        let bad = |text: &str| error(Format::FioIolog, text.as_bytes());
        assert_eq!(
            bad("fio version 1 iolog\n0,1,2\n"),
            "trace `test`, line 1: `version` is `fio version 1 iolog`; wanted `fio version 2 \
             iolog` or `fio version 3 iolog` in the first line"
        );
        assert!(bad("fio version 3 iolog\n1 /a reed 0 1\n").contains("`action` is `reed`"));
        assert!(bad("fio version 2 iolog\n/a read 0\n").contains("`length` is missing"));
    }
}
