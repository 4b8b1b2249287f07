//! The Storage Performance Council's trace format, used by the `UMass` traces:
//! `ASU,LBA,size,opcode,timestamp`, and optional fields, which are not used.
//!
//! `LBA` counts blocks of 512 bytes unless another block size is given (the format leaves it to the
//! description of a trace). `size` is in bytes, `opcode` is `r` or `w` in either case, `timestamp`
//! is in seconds with a fraction. A request of zero bytes is valid but skipped, because it moves no
//! data. A device is identified by its `ASU`. Source: SPC Trace File Format Specification 1.0.1.

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::Fault;
use super::fields::{Fields, READ_OR_WRITE, decimal, direction, product};

/// The reader.
pub(super) struct Spc {
    pub(super) device: Device,
    /// Bytes of a block.
    pub(super) block: u64,
}

impl LineFormat for Spc {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        let mut fields = Fields::new(line);
        let device = fields.next("ASU", "a unit's number")?;
        let offset = product("LBA", fields.number("LBA")?, self.block)?;
        let size = fields.number("size")?;
        let op = direction("opcode", fields.next("opcode", READ_OR_WRITE)?)?;
        let ticks = Some(decimal("timestamp", fields.next("timestamp", "seconds")?, 9)?);
        if size == 0 || !self.device.is(device) {
            return Ok(Parsed::Other);
        }
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    Spc { device: Device::default(), block: 1 }.parse(line).is_ok()
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, of_device};

    const GOOD: &[u8] = b"0,303567,3584,w,0.000000\n\
                          1,55590,3072,W,0.000000\n\
                          0, 303574 ,0,w,0.026214\n\
                          1,240840,3072,r,0.026214,9,comment\n";

    #[test]
    fn blocks_are_sectors_and_times_have_fractions() {
        assert_eq!(
            list(Format::Spc, GOOD),
            ["0 write 155426304+3584", "0 write 28462080+3072", "26214000 read 123310080+3072"]
        );
    }

    #[test]
    fn a_unit_of_several_is_chosen_and_empty_requests_passed_over() {
        let (requests, other) = of_device(Format::Spc, GOOD, "1");
        assert_eq!((requests.len(), other), (2, 2));
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::Spc, b"0,1,512,r,1e3\n"),
            "trace `test`, line 1: `timestamp` is `1e3`; wanted a number such as 12 or 12.345, \
             below 1.8e10"
        );
    }
}
