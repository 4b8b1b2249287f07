//! Parsing of numbers and fields from the bytes of a line.
//!
//! This works byte by byte, without intermediate strings: a field is a slice of the line.

use super::error::{Fault, FoundContent};
use crate::Op;

/// Description of a whole number.
const WHOLE: &str = "a whole number from 0 to 2^64 - 1";
/// Description of a decimal number.
const DECIMAL: &str = "a number such as 12 or 12.345, below 1.8e10";
/// Description of an address in bytes.
const ADDRESS: &str = "an address below 2^64 bytes";

/// The fields of a line between separators; blanks around a field are not part of it.
pub(super) struct Fields<'l> {
    rest: Option<&'l [u8]>,
}

impl<'l> Fields<'l> {
    pub(super) fn new(line: &'l [u8]) -> Self {
        Self { rest: Some(line) }
    }

    /// The next field. `field` is its name and `wanted` its expected content, for errors.
    #[inline]
    pub(super) fn next(
        &mut self,
        field: &'static str,
        wanted: &'static str,
    ) -> Result<&'l [u8], Fault<'l>> {
        self.try_next().ok_or(Fault { field, found: FoundContent::Nothing, wanted })
    }

    /// The next field, if there is one.
    #[inline]
    pub(super) fn try_next(&mut self) -> Option<&'l [u8]> {
        let rest = self.rest?;
        // Fields are a few bytes long: a loop beats a call.
        let end = rest.iter().position(|byte| *byte == b',');
        self.rest = end.map(|end| &rest[end + 1..]);
        let field = &rest[..end.unwrap_or(rest.len())];
        Some(field.trim_ascii())
    }

    /// The next field as a whole number.
    #[inline]
    pub(super) fn number(&mut self, field: &'static str) -> Result<u64, Fault<'l>> {
        number(field, self.next(field, WHOLE)?)
    }
}

/// The words of a line, separated by blanks.
pub(super) struct Words<'l> {
    rest: &'l [u8],
}

impl<'l> Words<'l> {
    pub(super) fn new(line: &'l [u8]) -> Self {
        Self { rest: line }
    }

    /// The next word. `field` is its name and `wanted` its expected content, for errors.
    #[inline]
    pub(super) fn next(
        &mut self,
        field: &'static str,
        wanted: &'static str,
    ) -> Result<&'l [u8], Fault<'l>> {
        self.try_next().ok_or(Fault { field, found: FoundContent::Nothing, wanted })
    }

    /// The next word, if there is one.
    #[inline]
    pub(super) fn try_next(&mut self) -> Option<&'l [u8]> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next word as a whole number.
    #[inline]
    pub(super) fn number(&mut self, field: &'static str) -> Result<u64, Fault<'l>> {
        number(field, self.next(field, WHOLE)?)
    }
}

/// The expected content for [`direction`].
pub(super) const READ_OR_WRITE: &str = "a read (R, Read) or a write (W, Write)";

/// Whether a word means a read or a write.
#[inline]
pub(super) fn direction<'l>(field: &'static str, text: &'l [u8]) -> Result<Op, Fault<'l>> {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    if is("r") || is("read") {
        Ok(Op::Read)
    } else if is("w") || is("write") {
        Ok(Op::Write)
    } else {
        Err(Fault { field, found: found(text), wanted: READ_OR_WRITE })
    }
}

/// A whole number in decimal digits.
#[inline]
pub(super) fn number<'l>(field: &'static str, text: &'l [u8]) -> Result<u64, Fault<'l>> {
    digits(text).ok_or(Fault { field, found: found(text), wanted: WHOLE })
}

/// A decimal number without sign or exponent, in units of 10^`-places`; further digits are cut off.
#[inline]
pub(super) fn decimal<'l>(
    field: &'static str,
    text: &'l [u8],
    places: u32,
) -> Result<u64, Fault<'l>> {
    let value = match text.iter().position(|byte| *byte == b'.') {
        None => digits(text).and_then(|whole| whole.checked_mul(10_u64.pow(places))),
        Some(dot) => fraction(&text[..dot], &text[dot + 1..], places),
    };
    value.ok_or(Fault { field, found: found(text), wanted: DECIMAL })
}

fn fraction(whole: &[u8], part: &[u8], places: u32) -> Option<u64> {
    if !part.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = &part[..part.len().min(places as usize)];
    let small = if kept.is_empty() { 0 } else { digits(kept)? };
    let small = small * 10_u64.pow(places - kept.len() as u32);
    digits(whole)?.checked_mul(10_u64.pow(places))?.checked_add(small)
}

/// `count` × `unit` bytes.
#[inline]
pub(super) fn product<'l>(field: &'static str, count: u64, unit: u64) -> Result<u64, Fault<'l>> {
    count.checked_mul(unit).ok_or(Fault {
        field,
        found: FoundContent::Product(count, unit),
        wanted: ADDRESS,
    })
}

/// The found text, or that there is none.
pub(super) fn found(text: &[u8]) -> FoundContent<'_> {
    if text.is_empty() { FoundContent::Nothing } else { FoundContent::Text(text) }
}

#[inline]
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_cut_to_their_places() {
        let ns = |text: &str| decimal("time", text.as_bytes(), 9).ok();
        assert_eq!(ns("0.026214"), Some(26_214_000));
        assert_eq!(ns("5633898"), Some(5_633_898_000_000_000));
        assert_eq!(ns("1.0000000019"), Some(1_000_000_001));
        assert_eq!(ns("3."), Some(3_000_000_000));
        for bad in ["", ".", ".5", "-1", "1e3", "1.2.3", "1.x", "18446744074", "99999999999"] {
            assert_eq!(ns(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn oracle_numbers_are_read_as_the_library_reads_them(text in "[0-9]{0,22}|[ -~]{0,8}") {
            let expected = if text.starts_with('+') { None } else { text.parse::<u64>().ok() };
            prop_assert_eq!(digits(text.as_bytes()), expected);
        }
    }
}
