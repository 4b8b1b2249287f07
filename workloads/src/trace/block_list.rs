//! Lists of block numbers, one per line: the traces of the LIRS paper (Jiang & Zhang 2002) and
//! other cache traces.
//!
//! There are no times, operations or sizes: every line is a read of one block, 4 KiB unless another
//! block size is given. Lines that begin with `*` mark phases and are skipped.

use super::decode::{LineFormat, Parsed, Raw};
use super::error::Fault;
use super::fields::{digits, number, product};
use crate::Op;

/// The reader.
pub(super) struct BlockList {
    /// Bytes of a block.
    pub(super) block: u64,
}

impl LineFormat for BlockList {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        if line[0] == b'*' {
            return Ok(Parsed::Nothing);
        }
        let block = number("block", line.trim_ascii())?;
        let offset = product("block", block, self.block)?;
        Ok(Parsed::Request(Raw { ticks: None, op: Op::Read, offset, size: self.block }))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    line[0] == b'*' || digits(line).is_some()
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list};

    #[test]
    fn a_line_is_a_read_of_a_block() {
        assert_eq!(
            list(Format::BlockList, b"0\n*\n\n  3 \r\n* phase 2\n1"),
            ["- read 0+4096", "- read 12288+4096", "- read 4096+4096"]
        );
    }

    #[test]
    fn says_what_is_wrong_where() {
        assert_eq!(
            error(Format::BlockList, b"1\n2\n0x3\n"),
            "trace `test`, line 3: `block` is `0x3`; wanted a whole number from 0 to 2^64 - 1"
        );
        // 2^52 blocks of 2^12 bytes
        assert_eq!(
            error(Format::BlockList, b"4503599627370496\n"),
            "trace `test`, line 1: `block` is `4503599627370496` × 4096; wanted an address below \
             2^64 bytes"
        );
    }
}
