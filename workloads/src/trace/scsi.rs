//! Operation codes of SCSI commands, as the SBC-3 and SPC-4 standards number them.

use super::error::{Fault, FoundContent};
use crate::Op;

/// The operation of a command that reads or writes data.
#[inline]
pub(super) fn op<'l>(code: u64) -> Result<Op, Fault<'l>> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Ok(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Ok(Op::Write),
        _ => {
            Err(Fault { field: "op", found: FoundContent::Code(code, name(code)), wanted: WANTED })
        }
    }
}

/// Valid operations.
pub(super) const WANTED: &str =
    "a SCSI read (08, 28, a8, 88) or write (0a, 2a, aa, 8a), in hexadecimal";

/// Whether a code is one of those of [`op`] as text.
pub(super) fn code(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.iter()
        .try_fold(0_u64, |code, byte| Some(code << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// Names of other commands that block devices receive.
fn name(code: u64) -> Option<&'static str> {
    Some(match code {
        0x00 => "TEST UNIT READY",
        0x03 => "REQUEST SENSE",
        0x12 => "INQUIRY",
        0x16 => "RESERVE(6)",
        0x17 => "RELEASE(6)",
        0x1a => "MODE SENSE(6)",
        0x1b => "START STOP UNIT",
        0x25 => "READ CAPACITY(10)",
        0x2e => "WRITE AND VERIFY(10)",
        0x2f => "VERIFY(10)",
        0x35 => "SYNCHRONIZE CACHE(10)",
        0x41 => "WRITE SAME(10)",
        0x42 => "UNMAP",
        0x5a => "MODE SENSE(10)",
        0x89 => "COMPARE AND WRITE",
        0x91 => "SYNCHRONIZE CACHE(16)",
        0x93 => "WRITE SAME(16)",
        0x9e => "SERVICE ACTION IN(16)",
        0xa0 => "REPORT LUNS",
        _ => return None,
    })
}
