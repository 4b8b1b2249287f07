//! Amounts of data, and addresses in sectors.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::quantity::{self, QuantityError, Unit};

/// Bytes in a disk sector: the unit of logical block numbers everywhere in the project.
pub const SECTOR_BYTES: u64 = 512;

/// A number of bytes: a size, or an offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A logical block number or a count of sectors of [`SECTOR_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Sectors(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Number of pieces of size `unit` that cover this many bytes.
    pub const fn div_ceil(self, unit: Self) -> u64 {
        self.0.div_ceil(unit.0)
    }

    /// This amount minus `other`, at least zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sectors {
    /// Number of sectors that cover `bytes`.
    pub const fn covering(bytes: Bytes) -> Self {
        Self(bytes.0.div_ceil(SECTOR_BYTES))
    }

    /// The number of sectors.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Their size in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * SECTOR_BYTES)
    }
}

macro_rules! amount {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, parts: u64) -> Self {
                Self(self.0 / parts)
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                amounts.fold(Self(0), Add::add)
            }
        }
    };
}
amount!(Bytes);
amount!(Sectors);

const UNITS: &[Unit] = &[
    Unit::new("B", 1.0),
    Unit::new("KiB", 1024.0),
    Unit::new("MiB", 1_048_576.0),
    Unit::new("GiB", 1_073_741_824.0),
    Unit::new("TiB", 1_099_511_627_776.0),
    Unit::new("PiB", 1_125_899_906_842_624.0),
    Unit::new("kB", 1e3),
    Unit::new("KB", 1e3),
    Unit::new("MB", 1e6),
    Unit::new("GB", 1e9),
    Unit::new("TB", 1e12),
    Unit::new("PB", 1e15),
];

impl FromStr for Bytes {
    type Err = QuantityError;
    /// Parses `"512 MiB"` (powers of 1024) and `"20 MB"` (powers of 1000).
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        quantity::parse(text, "a size", "512 MiB", UNITS).map(Self)
    }
}

impl fmt::Display for Bytes {
    /// In the largest binary unit that gives a whole number: `512 MiB`, `1366 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, shift) in [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {name}", self.0 >> shift);
            }
        }
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["512 MiB", "20 GiB", "1366 B", "4 KiB", "0 B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!("20 MB".parse(), Ok(Bytes(20_000_000)));
        assert_eq!("1.5 KiB".parse(), Ok(Bytes(1536)));
        assert!("99999 PiB".parse::<Bytes>().unwrap_err().to_string().contains("large"));
        assert!("1,5 KiB".parse::<Bytes>().unwrap_err().to_string().contains("comma"));
    }

    #[test]
    fn sectors_cover_bytes() {
        assert_eq!(Sectors::covering(Bytes(1)), Sectors(1));
        assert_eq!(Sectors::covering(Bytes(1024)), Sectors(2));
    }
}
