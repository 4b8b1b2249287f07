//! Alibaba block traces of 2020: `device_id,opcode,offset,length,timestamp`.
//!
//! `opcode` is `R` or `W`, `offset` and `length` are bytes, `timestamp` counts µs since 1970. A
//! device is identified by its number. A header is skipped. Source: the README of
//! github.com/alibaba/block-traces.

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::Fault;
use super::fields::{Fields, READ_OR_WRITE, direction};

/// The reader.
pub(super) struct Alibaba {
    pub(super) device: Device,
    pub(super) fresh: bool,
}

/// Start of a header.
const HEADER: &[u8] = b"device_id";

impl LineFormat for Alibaba {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        if std::mem::take(&mut self.fresh) && line.starts_with(HEADER) {
            return Ok(Parsed::Nothing);
        }
        let mut fields = Fields::new(line);
        let device = fields.next("device_id", "a device's number")?;
        let op = direction("opcode", fields.next("opcode", READ_OR_WRITE)?)?;
        let offset = fields.number("offset")?;
        let size = fields.number("length")?;
        let ticks = Some(fields.number("timestamp")?);
        if !self.device.is(device) {
            return Ok(Parsed::Other);
        }
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    let mut fresh = Alibaba { device: Device::default(), fresh: true };
    line.starts_with(b"device_id,opcode") || matches!(fresh.parse(line), Ok(Parsed::Request(_)))
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, of_device};

    const GOOD: &[u8] = b"device_id,opcode,offset,length,timestamp\n\
                          419,W,8792731648,16384,1577808144360767\n\
                          725,R,59110326272,360448,1577808144360813\n";

    #[test]
    fn times_are_microseconds() {
        assert_eq!(
            list(Format::Alibaba, GOOD),
            ["0 write 8792731648+16384", "46000 read 59110326272+360448"]
        );
    }

    #[test]
    fn a_device_of_several_is_chosen() {
        let (requests, other) = of_device(Format::Alibaba, GOOD, "725");
        assert_eq!((requests.len(), other), (1, 1));
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::Alibaba, b"1,X,0,1,1\n"),
            "trace `test`, line 1: `opcode` is `X`; wanted a read (R, Read) or a write (W, Write)"
        );
    }
}
