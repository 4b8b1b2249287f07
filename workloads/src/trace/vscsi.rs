//! Traces of `vscsiStats`, a tool of `VMware`, versions 1 and 2, little-endian.
//!
//! Version 1, 32 bytes: `u32` serial number, `u32` length in bytes, `u32` scatter-gather entries,
//! `u16` command, `u16` version (0x0100), `u64` logical block number, `u64` time in µs. Version 2,
//! 40 bytes: `u16` command, `u16` version (0x0200), `u32` serial number, `u32` length, `u32`
//! scatter-gather entries, `u64` logical block number, `u64` time in µs, `u64` response time.
//! The command is a SCSI operation code. The response time is not used. Source: the sample trace
//! for version 1, and libCacheSim's description of both layouts for version 2, for which no sample
//! was available.

use foretell_units::SECTOR_BYTES;

use super::decode::{Raw, RecordFormat};
use super::error::{Fault, FoundContent};
use super::fields::product;
use super::scsi;

/// Bytes of a version 1 record.
pub(super) const RECORD_1: usize = 32;
/// Bytes of a version 2 record.
pub(super) const RECORD_2: usize = 40;

const VERSION_1: u16 = 0x0100;
const VERSION_2: u16 = 0x0200;

/// The reader of version 1.
pub(super) struct Vscsi1;
/// The reader of version 2.
pub(super) struct Vscsi2;

impl RecordFormat<RECORD_1> for Vscsi1 {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn parse(&self, record: &[u8; RECORD_1]) -> Result<Raw, Fault<'static>> {
        let version = u16_at(record, 14);
        if version != VERSION_1 {
            let found = FoundContent::Code(version.into(), None);
            return Err(Fault { field: "version", found, wanted: "0100, as in the first record" });
        }
        request(u16_at(record, 12), u32_at(record, 4), u64_at(record, 16), u64_at(record, 24))
    }
}

impl RecordFormat<RECORD_2> for Vscsi2 {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn parse(&self, record: &[u8; RECORD_2]) -> Result<Raw, Fault<'static>> {
        let version = u16_at(record, 2);
        if version != VERSION_2 {
            let found = FoundContent::Code(version.into(), None);
            return Err(Fault { field: "version", found, wanted: "0200, as in the first record" });
        }
        request(u16_at(record, 0), u32_at(record, 8), u64_at(record, 16), u64_at(record, 24))
    }
}

#[inline]
fn request(command: u16, length: u32, lbn: u64, time_us: u64) -> Result<Raw, Fault<'static>> {
    Ok(Raw {
        ticks: Some(time_us),
        op: scsi::op(command.into())?,
        offset: product("lbn", lbn, SECTOR_BYTES)?,
        size: length.into(),
    })
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(*record[at..].first_chunk().expect("a record holds its fields"))
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*record[at..].first_chunk().expect("a record holds its fields"))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*record[at..].first_chunk().expect("a record holds its fields"))
}

/// Number of records that must state a version to detect the format.
const LOOKED_AT: usize = 8;

/// The version stated by the first records of a file.
pub(super) fn version(head: &[u8]) -> Option<u16> {
    let (first, _) = head.as_chunks::<RECORD_1>();
    if !first.is_empty()
        && first.iter().take(LOOKED_AT).all(|record| u16_at(record, 14) == VERSION_1)
    {
        return Some(VERSION_1);
    }
    let (second, _) = head.as_chunks::<RECORD_2>();
    if !second.is_empty()
        && second.iter().take(LOOKED_AT).all(|record| u16_at(record, 2) == VERSION_2)
    {
        return Some(VERSION_2);
    }
    None
}

/// Whether the first record states version 2. Otherwise the file is read as version 1, whose reader
/// reports errors.
pub(super) fn is_version_2(head: &[u8]) -> bool {
    let states = |at, version| head.len() >= at + 2 && u16_at(head, at) == version;
    states(2, VERSION_2) && !states(14, VERSION_1)
}

/// Whether the first record is complete and states neither version.
pub(super) fn states_no_version(head: &[u8]) -> bool {
    head.len() >= RECORD_1 && u16_at(head, 14) != VERSION_1 && u16_at(head, 2) != VERSION_2
}

#[cfg(test)]
mod tests {
    use crate::trace::test::{error, list, vscsi1_record, vscsi2_record};
    use crate::trace::{Format, vscsi};

    #[test]
    fn both_versions_are_read() {
        let mut first = vscsi1_record(0x2a, 512, 7, 1_000_001);
        first.extend(vscsi1_record(0x28, 4096, 8, 1_000_003));
        let mut second = vscsi2_record(0x2a, 512, 7, 1_000_001);
        second.extend(vscsi2_record(0x28, 4096, 8, 1_000_003));
        for bytes in [first, second] {
            assert_eq!(
                list(Format::Vscsi, &bytes),
                ["0 write 3584+512", "2000 read 4096+4096"],
                "version {:04x}",
                vscsi::version(&bytes).unwrap()
            );
        }
    }

    #[test]
    fn says_what_is_wrong_where() {
        let good = vscsi1_record(0x2a, 512, 7, 1);
        let with = |record: Vec<u8>| error(Format::Vscsi, &[good.clone(), record].concat());
        assert_eq!(
            with(vscsi1_record(0x12, 512, 7, 1)),
            "trace `test`, record 2 (byte 32): `op` is `12` (INQUIRY); wanted a SCSI read (08, \
             28, a8, 88) or write (0a, 2a, aa, 8a), in hexadecimal"
        );
        assert_eq!(
            with(vec![0; 32]),
            "trace `test`, record 2 (byte 32): `version` is `00`; wanted 0100, as in the first \
             record"
        );
        assert_eq!(
            with(vec![0; 5]),
            "trace `test` ends inside record 2 (byte 32): 5 bytes are left; wanted 32"
        );
    }
}
