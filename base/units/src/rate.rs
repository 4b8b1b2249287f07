//! Data rates.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{self, QuantityError, Unit};
use crate::{Bytes, SimSpan};

/// A data rate in bits per second, greater than zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

impl Rate {
    /// `bits` per second; panics on zero, at which no transfer would ever finish.
    pub const fn bits_per_s(bits: u64) -> Self {
        assert!(bits > 0, "a rate must be more than zero");
        Self(bits)
    }

    /// `bytes` per second.
    pub const fn bytes_per_s(bytes: u64) -> Self {
        Self::bits_per_s(bytes.saturating_mul(8))
    }

    /// Bits per second.
    pub const fn as_bits_per_s(self) -> u64 {
        self.0
    }

    /// Bytes per second, for statistics.
    pub fn as_bytes_per_s_f64(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// The rate divided by `factor`; at least a bit per second.
    pub fn slower(self, factor: f64) -> Self {
        Self(((self.0 as f64 / factor).round() as u64).max(1))
    }

    /// Transfer time of `bytes`, rounded up to the nanosecond.
    pub fn time_for(self, bytes: Bytes) -> SimSpan {
        // 2^31 bytes × 8e9 fits in 64 bits; above that, the slower division is needed.
        if bytes.get() < (1 << 31) {
            SimSpan::from_ns((bytes.get() * 8_000_000_000).div_ceil(self.0))
        } else {
            let ns = (u128::from(bytes.get()) * 8_000_000_000).div_ceil(u128::from(self.0));
            SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
        }
    }
}

const UNITS: &[Unit] = &[
    Unit::new("bit/s", 1.0),
    Unit::new("kbit/s", 1e3),
    Unit::new("Kbit/s", 1e3),
    Unit::new("Mbit/s", 1e6),
    Unit::new("Gbit/s", 1e9),
    Unit::new("B/s", 8.0),
    Unit::new("kB/s", 8e3),
    Unit::new("MB/s", 8e6),
    Unit::new("GB/s", 8e9),
    Unit::new("KiB/s", 8.0 * 1024.0),
    Unit::new("MiB/s", 8.0 * 1_048_576.0),
    Unit::new("GiB/s", 8.0 * 1_073_741_824.0),
];

impl FromStr for Rate {
    type Err = QuantityError;
    /// Parses `"1 Gbit/s"`, `"100 MB/s"`, `"64 MiB/s"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bits = quantity::parse(text, "a rate", "1 Gbit/s", UNITS)?;
        if bits == 0 {
            return Err(QuantityError::NotANumber {
                text: text.trim().to_owned(),
                what: "a rate above zero",
                example: "1 Gbit/s",
            });
        }
        Ok(Self(bits))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, bits) in [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)] {
            if self.0.is_multiple_of(bits) {
                return write!(f, "{} {name}", self.0 / bits);
            }
        }
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gigabit_moves_64_kib_in_half_a_millisecond() {
        let rate: Rate = "1 Gbit/s".parse().unwrap();
        // 65 536 × 8 bits at 1 bit a nanosecond
        assert_eq!(rate.time_for(Bytes::kib(64)), SimSpan::from_ns(524_288));
        assert_eq!(rate.to_string(), "1 Gbit/s");
        // 4 GiB use the slower division: 2^32 × 8 ns
        assert_eq!(rate.time_for(Bytes::gib(4)), SimSpan::from_ns(8 << 32));
    }

    #[test]
    fn rounds_up() {
        assert_eq!(Rate::bits_per_s(3_000_000_000).time_for(Bytes(1)), SimSpan::from_ns(3));
    }

    #[test]
    fn refuses_zero() {
        assert!("0 Gbit/s".parse::<Rate>().is_err());
    }
}
