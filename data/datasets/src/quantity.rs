//! The quantity of a factor: the unit of its column, and the notation of its values.

use std::str::FromStr;

use foretell_units::{Bytes, Rate, SimSpan};

use crate::Value;
use crate::column::Kind;

/// Quantities of values in a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// `true`, `false`.
    Flag,
    /// `8`.
    Whole,
    /// `0.5`.
    Number,
    /// `"64 KiB"`, in bytes.
    Size,
    /// `"5 ms"`, in milliseconds.
    Time,
    /// `"1 Gbit/s"`, in bits a second.
    Rate,
    /// `"50%"`, in percent.
    Share,
    /// Everything else: `"3-of-5"`.
    Name,
}

impl Quantity {
    /// The suffix of the column's name, and the unit in words.
    pub fn unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Flag | Self::Whole | Self::Number | Self::Name => ("", ""),
            Self::Size => ("_bytes", "bytes"),
            Self::Time => ("_ms", "milliseconds"),
            Self::Rate => ("_bits_per_s", "bits per second"),
            Self::Share => ("_percent", "percent"),
        }
    }

    /// Type of the column.
    pub fn kind(self) -> Kind {
        match self {
            Self::Flag => Kind::Flag,
            Self::Whole | Self::Size | Self::Rate => Kind::Whole,
            Self::Number | Self::Time | Self::Share => Kind::Number,
            Self::Name => Kind::Text,
        }
    }

    /// A number of this quantity in the notation of scenarios; whole numbers and texts are
    /// unchanged.
    pub(crate) fn written(self, value: &Value) -> String {
        match self {
            Self::Size => format!("{value} B"),
            Self::Time => {
                let ns = libm::rint(value.as_f64().unwrap_or(0.0) * 1e6);
                format!("{ns} ns")
            }
            Self::Rate => format!("{value} bit/s"),
            Self::Share => format!("{value}%"),
            Self::Flag | Self::Whole | Self::Number | Self::Name => value.to_string(),
        }
    }

    /// A number as a value of this quantity, rounded where it has to be whole.
    pub(crate) fn value(self, number: f64) -> Value {
        match self.kind() {
            Kind::Whole => Value::Whole(libm::rint(number) as i64),
            _ => Value::Number(number),
        }
    }

    /// A quantity that covers both, if there is one.
    pub(crate) fn common(self, other: Self) -> Option<Self> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Self::Whole, Self::Number) | (Self::Number, Self::Whole) => Some(Self::Number),
            _ => None,
        }
    }
}

/// The quantity and value of a text in a scenario.
pub(crate) fn read(text: &str) -> (Quantity, Value) {
    let trimmed = text.trim();
    if let Some(percent) = trimmed.strip_suffix('%')
        && let Ok(percent) = f64::from_str(percent.trim())
        && percent.is_finite()
    {
        return (Quantity::Share, Value::Number(percent));
    }
    // a number without a unit is no size, time or rate, not even 0
    if trimmed.ends_with(|last: char| last.is_ascii_alphabetic()) {
        if let Ok(size) = trimmed.parse::<Bytes>() {
            return (Quantity::Size, Value::count(size.get()));
        }
        if let Ok(time) = trimmed.parse::<SimSpan>() {
            return (Quantity::Time, Value::Number(time.as_ms_f64()));
        }
        if let Ok(rate) = trimmed.parse::<Rate>() {
            return (Quantity::Rate, Value::count(rate.as_bits_per_s()));
        }
    }
    (Quantity::Name, Value::from(trimmed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quantities_in_base_units() {
        assert_eq!(read("64 KiB"), (Quantity::Size, Value::Whole(65_536)));
        assert_eq!(read("500 us"), (Quantity::Time, Value::Number(0.5)));
        assert_eq!(read("1 Gbit/s"), (Quantity::Rate, Value::Whole(1_000_000_000)));
        assert_eq!(read("12.5%"), (Quantity::Share, Value::Number(12.5)));
        assert_eq!(read("3-of-5"), (Quantity::Name, Value::from("3-of-5")));
        assert_eq!(read("0"), (Quantity::Name, Value::from("0")));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["64 KiB", "1.5 ms", "100 Mbit/s", "30%"] {
            let (quantity, value) = read(text);
            assert_eq!(read(&quantity.written(&value)), (quantity, value), "{text}");
        }
    }
}
