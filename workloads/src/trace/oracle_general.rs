//! libCacheSim's `oracleGeneral`: 24-byte little-endian records of cache traces.
//!
//! `u32` time in seconds, `u64` object, `u32` size in bytes, `i64` the request number of the object's next
//! access (−1: none), packed. The format has no operation: all requests count as reads. An object is
//! interpreted as a block number, in sectors unless another block size is given. If objects are hashes,
//! addresses are meaningless (and most are too large). The converter gives an object the size of its first
//! request throughout: 13,671 of the 113,872 requests of the `CloudPhysics` sample really had another size.
//! So prefer the CSV or the original if they exist. Source: the layout stated in libCacheSim's
//! documentation, and its sample, whose objects are the logical block numbers.

use super::decode::{Raw, RecordFormat};
use super::error::Fault;
use super::fields::product;
use crate::Op;

/// Bytes of a record.
pub(super) const RECORD: usize = 24;

/// The reader.
pub(super) struct OracleGeneral {
    /// Bytes in a block; object numbers count blocks.
    pub(super) block: u64,
}

impl RecordFormat<RECORD> for OracleGeneral {
    const TICK_NS: u64 = 1_000_000_000;

    #[inline]
    fn parse(&self, record: &[u8; RECORD]) -> Result<Raw, Fault<'static>> {
        Ok(Raw {
            ticks: Some(u64::from(time(record))),
            op: Op::Read,
            offset: product("object", object(record), self.block)?,
            size: u64::from(size(record)),
        })
    }
}

fn time(record: &[u8; RECORD]) -> u32 {
    u32::from_le_bytes(*record.first_chunk().expect("24 bytes"))
}

fn object(record: &[u8; RECORD]) -> u64 {
    u64::from_le_bytes(*record[4..].first_chunk().expect("20 bytes"))
}

fn size(record: &[u8; RECORD]) -> u32 {
    u32::from_le_bytes(*record[12..].first_chunk().expect("12 bytes"))
}

fn next(record: &[u8; RECORD]) -> i64 {
    i64::from_le_bytes(*record[16..].first_chunk().expect("8 bytes"))
}

/// Whether the beginning of a file can be of this format: sizes above zero, and the next access of each
/// object later than the current one. Times are not checked, because they may decrease.
pub(super) fn matches(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<RECORD>();
    !records.is_empty()
        && (1..).zip(records).all(|(number, record)| {
            size(record) > 0 && (next(record) == -1 || next(record) >= number)
        })
}

#[cfg(test)]
mod tests {
    use crate::trace::test::{error, list};
    use crate::trace::{Format, test::oracle_record};

    #[test]
    fn a_record_is_a_read_of_its_object() {
        let mut bytes = oracle_record(100, 3, 4096, 2);
        bytes.extend(oracle_record(103, 3, 512, -1));
        assert_eq!(
            list(Format::OracleGeneral, &bytes),
            ["0 read 1536+4096", "3000000000 read 1536+512"]
        );
    }

    #[test]
    fn says_what_is_wrong_where() {
        let mut bytes = oracle_record(1, 1, 512, -1);
        bytes.extend(oracle_record(1, u64::MAX, 512, -1));
        assert_eq!(
            error(Format::OracleGeneral, &bytes),
            "trace `test`, record 2 (byte 24): `object` is `18446744073709551615` × 512; wanted \
             an address below 2^64 bytes"
        );
        bytes.truncate(24 + 23);
        assert_eq!(
            error(Format::OracleGeneral, &bytes),
            "trace `test` ends inside record 2 (byte 24): 23 bytes are left; wanted 24"
        );
    }
}
