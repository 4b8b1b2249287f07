//! The text output of `blkparse` for a `blktrace`, in its default format.
//!
//! `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`. One action marks
//! the requests: `Q` (queued, the default), or `D` (sent to the device) for the requests after the
//! scheduler. `rwbs` contains `R` or `W`; discards, flushes and other operations without data are
//! left out. The summary at the end is skipped. A device is identified by `major,minor`. Sectors
//! are 512 bytes. Not supported: other formats that `blkparse -f` can write. Source: blkparse(1),
//! "Output description and formatting", and examples of its output.

use foretell_units::SECTOR_BYTES;

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::{Fault, FoundContent};
use super::fields::{Words, decimal, digits, found, product};
use crate::Op;

/// The reader.
pub(super) struct Blkparse {
    device: Device,
    /// The action that marks a request.
    action: u8,
    /// Whether the summary has begun.
    summary: bool,
    /// Other actions with reads and writes of the device, and the number of lines of each.
    others: Vec<(String, u64)>,
}

/// No more different actions than this are counted; there are about twenty.
const MAX_ACTIONS: usize = 32;

impl Blkparse {
    /// `action`: the action that marks a request.
    pub(super) fn new(device: Device, action: u8) -> Self {
        Self { device, action, summary: false, others: Vec::new() }
    }

    fn count(&mut self, action: &[u8]) {
        let known = self.others.iter_mut().find(|(name, _)| name.as_bytes() == action);
        if let Some((_, count)) = known {
            *count += 1;
        } else if self.others.len() < MAX_ACTIONS && action.iter().all(u8::is_ascii_uppercase) {
            self.others.push((String::from_utf8_lossy(action).into_owned(), 1));
        }
    }
}

/// The start of an event.
const DEVICE: &str = "a device's major and minor number, such as 8,0";

impl LineFormat for Blkparse {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        if self.summary {
            return Ok(Parsed::Nothing);
        }
        let mut words = Words::new(line);
        let device = words.next("device", DEVICE)?;
        if device.starts_with(b"CPU") || device == b"Total" {
            self.summary = true;
            return Ok(Parsed::Nothing);
        }
        if !is_device(device) {
            return Err(Fault { field: "device", found: found(device), wanted: DEVICE });
        }
        words.number("cpu")?;
        words.number("sequence")?;
        let ticks = Some(decimal("time", words.next("time", "seconds")?, 9)?);
        words.number("pid")?;
        let action = words.next("action", "an action, such as Q")?;
        let rwbs = words.try_next().unwrap_or_default();
        let op = match (rwbs.contains(&b'R'), rwbs.contains(&b'W')) {
            (true, false) => Op::Read,
            (false, true) => Op::Write,
            _ => return Ok(Parsed::Other),
        };
        if !self.device.is(device) {
            return Ok(Parsed::Other);
        }
        if action != [self.action] {
            self.count(action);
            return Ok(Parsed::Other);
        }
        let sector = words.next("sector", "a sector's number")?;
        if sector.starts_with(b"[") {
            // a flush has no address
            return Ok(Parsed::Other);
        }
        let sector = digits(sector).ok_or(Fault {
            field: "sector",
            found: found(sector),
            wanted: "a sector's number",
        })?;
        let plus = words.next("+", "a plus sign")?;
        if plus != b"+" {
            return Err(Fault {
                field: "+",
                found: FoundContent::Text(plus),
                wanted: "a plus sign",
            });
        }
        let size = product("sectors", words.number("sectors")?, SECTOR_BYTES)?;
        let offset = product("sector", sector, SECTOR_BYTES)?;
        if size == 0 {
            return Ok(Parsed::Other);
        }
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }

    fn other_actions(&self) -> &[(String, u64)] {
        &self.others
    }
}

fn is_device(word: &[u8]) -> bool {
    let mut numbers = word.splitn(2, |byte| *byte == b',');
    let mut number = || numbers.next().and_then(digits).is_some();
    number() && number()
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    let mut words = Words::new(line);
    let number = |words: &mut Words<'_>| words.number("").is_ok();
    words.try_next().is_some_and(is_device)
        && number(&mut words)
        && number(&mut words)
        && words.try_next().is_some_and(|time| decimal("", time, 9).is_ok())
}

#[cfg(test)]
mod tests {
    use crate::trace::test::{error, list, of_device, text};
    use crate::trace::{Format, ReadOptions, TraceReader};

    const GOOD: &[u8] = b"  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]
  8,16   3        3     0.000002197   697  Q RAM 1000 + 16 [cat]
  8,0    3        4     0.000005193   697  Q  WS 223498 + 8 [kjournald]
  8,0    1        5     0.000009000   697  D   W 223490 + 16 [kjournald]
  8,0    1        6     0.000010000   697  Q   D 0 + 2048 [fstrim]
  8,0    1        7     0.000011000   697  Q FWS [jbd2/sda]
  8,0    1        8     0.000012000   697  P   N [cat]
CPU0 (8,0):
 Reads Queued:           0,        0KiB\t Writes Queued:           2,        8KiB

Throughput (R/W): 0KiB/s / 8KiB/s
";

    #[test]
    fn a_trace_without_the_action_says_which_it_has() {
        let issued = "8,16 1 1 0.0 1 D R 2048 + 8 [fio]\n8,16 1 2 0.1 0 C R 2048 + 8 [0]\n\
                      8,16 1 3 0.2 1 D WS 4096 + 16 [fio]\n";
        assert_eq!(
            error(Format::Blkparse, issued.as_bytes()),
            "no line of trace `test` has the action `Q`, which makes a request; 2 have `D`, 1 have `C`. Choose one \
             of these with `--blkparse-action D` (`blkparse_action = \"D\"` in a workload of kind `trace`)"
        );
        // no reads or writes at all
        assert!(list(Format::Blkparse, b"8,0 1 1 0.0 1 P N [cat]\n").is_empty());
    }

    #[test]
    fn queued_reads_and_writes_are_requests() {
        assert_eq!(
            list(Format::Blkparse, GOOD),
            ["0 write 114426880+4096", "2197 read 512000+8192", "5193 write 114430976+4096"]
        );
        let (requests, other) = of_device(Format::Blkparse, GOOD, "8,16");
        assert_eq!((requests.len(), other), (1, 7));
    }

    #[test]
    fn another_action_may_be_chosen() {
        let options = ReadOptions { blkparse_action: 'D', ..ReadOptions::default() };
        let trace = TraceReader::new("test", GOOD, &options).unwrap();
        let requests: Vec<String> = trace.map(|request| text(request.unwrap())).collect();
        assert_eq!(requests, ["0 write 114426880+8192"]);
    }

    #[test]
    fn says_what_is_wrong_where() {
        let bad = |text: &str| error(Format::Blkparse, text.as_bytes());
        assert_eq!(
            bad("8:0 1 1 0.0 1 Q R 0 + 8 [a]"),
            "trace `test`, line 1: `device` is `8:0`; wanted a device's major and minor number, \
             such as 8,0"
        );
        assert!(bad("8,0 1 1 0.0 1 Q R 0 - 8 [a]").contains("`+` is `-`; wanted a plus sign"));
        assert!(bad("8,0 1 1 0.0 1 Q R x + 8 [a]").contains("`sector` is `x`"));
    }
}
