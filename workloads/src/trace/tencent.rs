//! Tencent cloud block storage traces of 2018: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! `Timestamp` counts seconds since 1970, `Offset` and `Size` sectors of 512 bytes, `IOType` is 0
//! for a read and 1 for a write. A device is identified by its `VolumeID`. A header is skipped.
//! Source: the README of the traces (Zhang et al., OSCA, ATC 2020).

use foretell_units::SECTOR_BYTES;

use super::decode::{LineFormat, Parsed, Raw};
use super::device::Device;
use super::error::Fault;
use super::fields::{Fields, found, product};
use crate::Op;

/// The reader.
pub(super) struct Tencent {
    pub(super) device: Device,
    pub(super) fresh: bool,
}

/// Valid `IOType`s.
const IO_TYPE: &str = "0 (read) or 1 (write)";
/// Start of a header.
const HEADER: &[u8] = b"Timestamp,Offset";

impl LineFormat for Tencent {
    const TICK_NS: u64 = 1_000_000_000;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        if std::mem::take(&mut self.fresh) && line.starts_with(HEADER) {
            return Ok(Parsed::Nothing);
        }
        let mut fields = Fields::new(line);
        let ticks = Some(fields.number("Timestamp")?);
        let offset = product("Offset", fields.number("Offset")?, SECTOR_BYTES)?;
        let size = product("Size", fields.number("Size")?, SECTOR_BYTES)?;
        let op = match fields.next("IOType", IO_TYPE)? {
            b"0" => Op::Read,
            b"1" => Op::Write,
            other => {
                return Err(Fault { field: "IOType", found: found(other), wanted: IO_TYPE });
            }
        };
        if !self.device.is(fields.next("VolumeID", "a volume's number")?) {
            return Ok(Parsed::Other);
        }
        Ok(Parsed::Request(Raw { ticks, op, offset, size }))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    let mut fresh = Tencent { device: Device::default(), fresh: true };
    line.starts_with(HEADER) || matches!(fresh.parse(line), Ok(Parsed::Request(_)))
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list, of_device};

    const GOOD: &[u8] = b"1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n";

    #[test]
    fn addresses_and_sizes_are_sectors() {
        // 12 910 952 × 512 and 128 × 512
        assert_eq!(
            list(Format::Tencent, GOOD),
            ["0 read 6610407424+65536", "1000000000 write 3245408256+4096"]
        );
    }

    #[test]
    fn a_volume_of_several_is_chosen() {
        let (requests, other) = of_device(Format::Tencent, GOOD, "1063");
        assert_eq!((requests.len(), other), (1, 1));
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::Tencent, b"1538323200,1,1,2,7\n"),
            "trace `test`, line 1: `IOType` is `2`; wanted 0 (read) or 1 (write)"
        );
    }
}
