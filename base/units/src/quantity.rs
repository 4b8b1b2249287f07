//! Parses a number with its unit from text, with readable errors.

use thiserror::Error;

/// The reason why a text is not a quantity.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum QuantityError {
    /// The text does not begin with a number.
    #[error("`{text}` is not {what}; write a number and a unit, such as \"{example}\"")]
    NotANumber {
        /// The text.
        text: String,
        /// The expected quantity ("a time").
        what: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// There is a number but no unit.
    #[error(
        "`{text}` has no unit; write {what} as a number and one of {units}, such as \"{example}\""
    )]
    NoUnit {
        /// The text.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// The valid units.
        units: String,
        /// A valid example.
        example: &'static str,
    },
    /// The unit is unknown.
    #[error("`{unit}` is not a unit of {what}; the units are {units}")]
    UnknownUnit {
        /// The unit in the text.
        unit: String,
        /// The expected quantity.
        what: &'static str,
        /// The valid units.
        units: String,
    },
    /// A comma within the number.
    #[error("`{text}` has a comma; write decimals with a point, and thousands without a mark")]
    Comma {
        /// The text.
        text: String,
    },
    /// A negative quantity.
    #[error("`{text}` is negative; {what} is zero or more")]
    Negative {
        /// The text.
        text: String,
        /// The expected quantity.
        what: &'static str,
    },
    /// A quantity that does not fit in 64 bits.
    #[error("`{text}` is too large for {what}")]
    TooLarge {
        /// The text.
        text: String,
        /// The expected quantity.
        what: &'static str,
    },
}

/// A unit's name and its size in the base unit.
pub(crate) struct Unit {
    name: &'static str,
    size: f64,
}

impl Unit {
    pub(crate) const fn new(name: &'static str, size: f64) -> Self {
        Self { name, size }
    }
}

/// The quantity in base units, rounded to the nearest whole number.
///
/// A whole number is scaled exactly, so that "18 EiB" does not lose its last bits to `f64`.
pub(crate) fn parse(
    text: &str,
    what: &'static str,
    example: &'static str,
    units: &[Unit],
) -> Result<u64, QuantityError> {
    let shown = || text.trim().to_owned();
    let names =
        || units.iter().map(|unit| format!("`{}`", unit.name)).collect::<Vec<_>>().join(", ");
    let trimmed = text.trim();
    let (number, unit) = split_number(trimmed);
    let rest = unit.strip_prefix(',').unwrap_or_default();
    if rest.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(QuantityError::Comma { text: shown() });
    }
    let value: f64 = number.replace('_', "").parse().map_err(|_| QuantityError::NotANumber {
        text: shown(),
        what,
        example,
    })?;
    if value < 0.0 {
        return Err(QuantityError::Negative { text: shown(), what });
    }
    let size = if unit.is_empty() {
        if value == 0.0 {
            return Ok(0);
        }
        return Err(QuantityError::NoUnit { text: shown(), what, units: names(), example });
    } else {
        units.iter().find(|known| known.name == unit).map(|known| known.size).ok_or_else(|| {
            QuantityError::UnknownUnit { unit: unit.to_owned(), what, units: names() }
        })?
    };
    let too_large = || QuantityError::TooLarge { text: shown(), what };
    if let (Ok(whole), true) = (number.replace('_', "").parse::<u64>(), size >= 1.0) {
        return whole.checked_mul(size as u64).ok_or_else(too_large);
    }
    let scaled = libm::rint(value * size);
    if scaled < u64::MAX as f64 { Ok(scaled as u64) } else { Err(too_large()) }
}

/// Splits `"1.5e3 ms"` into its number and its unit.
fn split_number(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let digit = bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'_');
        let sign = end == 0 && matches!(bytes[end], b'+' | b'-');
        let exponent = end > 0
            && matches!(bytes[end], b'e')
            && bytes.get(end + 1).is_some_and(|next| next.is_ascii_digit() || *next == b'-');
        let exponent_sign = end > 0 && bytes[end] == b'-' && bytes[end - 1] == b'e';
        if !(digit || sign || exponent || exponent_sign) {
            break;
        }
        end += 1;
    }
    (&text[..end], text[end..].trim_start())
}
