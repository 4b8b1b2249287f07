//! DiskSim's ASCII traces: `time device block blocks flags`, separated by blanks.
//!
//! `time` is in milliseconds since the start. `block` and `blocks` count sectors of 512 bytes
//! (another size may be given). `flags` is hexadecimal: its lowest bit is set for a read. A device
//! is identified by its number. Source: the manual of DiskSim 4.0, "Input workload specification".
//! The traces of real drives that come with DiskSim have another format, with service times.

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::Fault;
use super::fields::{Words, decimal, found, product};
use crate::Op;

/// The reader.
pub(super) struct DiskSim {
    pub(super) device: Device,
    /// Bytes of a block.
    pub(super) block: u64,
}

/// Valid flags.
const FLAGS: &str = "flags in hexadecimal; 1 is a read, 0 a write";

impl LineFormat for DiskSim {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        let mut words = Words::new(line);
        let ticks = Some(decimal("time", words.next("time", "milliseconds")?, 6)?);
        let device = words.next("device", "a device's number")?;
        let offset = product("block", words.number("block")?, self.block)?;
        let size = product("blocks", words.number("blocks")?, self.block)?;
        let text = words.next("flags", FLAGS)?;
        let flags =
            hexadecimal(text).ok_or(Fault { field: "flags", found: found(text), wanted: FLAGS })?;
        if !self.device.is(device) {
            return Ok(Parsed::Other);
        }
        let op = if flags & 1 == 1 { Op::Read } else { Op::Write };
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

fn hexadecimal(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 8 {
        return None;
    }
    text.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?))
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    DiskSim { device: Device::default(), block: 1 }.parse(line).is_ok()
        && Words::new(line).try_next().is_some_and(|time| time.contains(&b'.'))
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, of_device};

    const GOOD: &[u8] = b"13.191135 30 7 5 1\n17.829285\t20 576560 6 0\n24.314779 17 0 24 11\n";

    #[test]
    fn times_are_milliseconds_and_flags_tell_reads() {
        // 17.829285 − 13.191135 ms = 4 638 150 ns; 0x11 has its lowest bit set
        assert_eq!(
            list(Format::DiskSim, GOOD),
            ["0 read 3584+2560", "4638150 write 295198720+3072", "11123644 read 0+12288"]
        );
    }

    #[test]
    fn a_device_of_several_is_chosen() {
        let (requests, other) = of_device(Format::DiskSim, GOOD, "17");
        assert_eq!((requests.len(), other), (1, 2));
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::DiskSim, b"1.0 0 5 1 R\n"),
            "trace `test`, line 1: `flags` is `R`; wanted flags in hexadecimal; 1 is a read, 0 a \
             write"
        );
    }
}
