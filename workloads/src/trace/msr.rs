//! Microsoft Research Cambridge block traces:
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! `Timestamp` counts 100 ns since 1601 (Windows file time), `Type` is `Read` or `Write`, `Offset`
//! and `Size` are bytes. The response time is not used. A device is identified by `host_disk`, like
//! the files (`src1_2`). A header is skipped. Source: the README of the traces (Narayanan,
//! Donnelly, Rowstron, FAST 2008).

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::Fault;
use super::fields::{Fields, READ_OR_WRITE, digits, direction};

/// The reader.
pub(super) struct Msr {
    pub(super) device: Device,
    pub(super) fresh: bool,
}

impl LineFormat for Msr {
    const TICK_NS: u64 = 100;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        if std::mem::take(&mut self.fresh) && is_header(line) {
            return Ok(Parsed::Nothing);
        }
        let mut fields = Fields::new(line);
        let ticks = Some(fields.number("Timestamp")?);
        let host = fields.next("Hostname", "a host's name")?;
        let disk = fields.next("DiskNumber", "a disk's number")?;
        let op = direction("Type", fields.next("Type", READ_OR_WRITE)?)?;
        let offset = fields.number("Offset")?;
        let size = fields.number("Size")?;
        if !self.device.is_of_host(host, disk) {
            return Ok(Parsed::Other);
        }
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

fn is_header(line: &[u8]) -> bool {
    line.trim_ascii().len() >= 9 && line.trim_ascii()[..9].eq_ignore_ascii_case(b"timestamp")
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    let fields = || Fields::new(line);
    let header = is_header(line) && nth(fields(), 1).is_some_and(|name| name == b"Hostname");
    header
        || (nth(fields(), 0).and_then(digits).is_some()
            && nth(fields(), 3).is_some_and(|op| direction("Type", op).is_ok())
            && nth(fields(), 4).and_then(digits).is_some()
            && nth(fields(), 5).and_then(digits).is_some()
            && nth(fields(), 6).is_some())
}

fn nth(mut fields: Fields<'_>, index: usize) -> Option<&[u8]> {
    (0..index).try_for_each(|_| fields.try_next().map(drop))?;
    fields.try_next()
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, of_device};

    const GOOD: &[u8] = b"128166372003061629,hm,1,Read,383496192,32768,413\n\
                          128166372003061630,hm,0,Write,310874112,4096,413\n";

    #[test]
    fn a_tick_is_100_ns() {
        assert_eq!(list(Format::Msr, GOOD), ["0 read 383496192+32768", "100 write 310874112+4096"]);
        let header = [b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", GOOD];
        assert_eq!(list(Format::Msr, &header.concat()), list(Format::Msr, GOOD));
    }

    #[test]
    fn a_disk_of_several_is_chosen() {
        let (requests, other) = of_device(Format::Msr, GOOD, "hm_0");
        assert_eq!(requests, ["0 write 310874112+4096"]);
        assert_eq!(other, 1);
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::Msr, b"1,hm,1,Flush,0,4096,1\n"),
            "trace `test`, line 1: `Type` is `Flush`; wanted a read (R, Read) or a write (W, Write)"
        );
        assert_eq!(
            error(Format::Msr, b"1,hm,1,Read,0\n"),
            "trace `test`, line 1: `Size` is missing; wanted a whole number from 0 to 2^64 - 1"
        );
    }
}
