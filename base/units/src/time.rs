//! Simulated time: integer nanoseconds since the start of the run.
//!
//! 64 bits hold 584 years. An instant and a time span have different types: adding two instants
//! does not compile.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::quantity::{self, QuantityError, Unit};

/// An instant: nanoseconds since the start of the simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SimTime(u64);

/// A time span in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SimSpan(u64);

impl SimTime {
    /// The start of every simulation.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for statistics and output.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time passed since `earlier`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> SimSpan {
        SimSpan(self.0.saturating_sub(earlier.0))
    }
}

impl SimSpan {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any simulation.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Self {
        Self(n)
    }

    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// `secs` seconds, rounded to the nearest nanosecond. Negative numbers and NaN give zero, too
    /// large ones [`SimSpan::MAX`].
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(libm::rint(secs * 1e9) as u64)
    }

    /// `ms` milliseconds, rounded to the nearest nanosecond, like [`SimSpan::from_secs_f64`].
    pub fn from_ms_f64(ms: f64) -> Self {
        Self::from_secs_f64(ms / 1e3)
    }

    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds, for statistics and output.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds, for statistics and output.
    pub fn as_ms_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span minus `other`, at least zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<SimSpan> for SimTime {
    type Output = Self;
    fn add(self, span: SimSpan) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<SimSpan> for SimTime {
    fn add_assign(&mut self, span: SimSpan) {
        *self = *self + span;
    }
}

impl Sub for SimTime {
    type Output = SimSpan;
    /// Time passed since `earlier`, which must not be later.
    fn sub(self, earlier: Self) -> SimSpan {
        assert!(self.0 >= earlier.0, "{} ns is before {} ns", self.0, earlier.0);
        SimSpan(self.0 - earlier.0)
    }
}

impl Add for SimSpan {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SimSpan {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for SimSpan {
    type Output = Self;
    /// The difference; `other` must not be longer than this span.
    fn sub(self, other: Self) -> Self {
        assert!(self.0 >= other.0, "a span of {} ns has no {} ns to take away", self.0, other.0);
        Self(self.0 - other.0)
    }
}

impl SubAssign for SimSpan {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for SimSpan {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for SimSpan {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl Sum for SimSpan {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

const UNITS: &[Unit] = &[
    Unit::new("s", 1e9),
    Unit::new("ms", 1e6),
    Unit::new("us", 1e3),
    Unit::new("µs", 1e3),
    Unit::new("ns", 1.0),
    Unit::new("min", 60e9),
    Unit::new("h", 3600e9),
];

impl FromStr for SimSpan {
    type Err = QuantityError;
    /// Parses `"60 s"`, `"1.5 ms"`, `"50 us"`, `"10 ns"`, `"2 min"`, `"1 h"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        quantity::parse(text, "a time", "10 ms", UNITS).map(Self)
    }
}

impl fmt::Display for SimSpan {
    /// In the largest unit that gives a whole number or, if there is none, in a readable one: `1500
    /// us`, `2 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, ns) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
            if self.0 >= ns && self.0.is_multiple_of(ns) {
                return write!(f, "{} {name}", self.0 / ns);
            }
        }
        write!(f, "{} ns", self.0)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["60 s", "1500 us", "50 us", "10 ns", "7 ms"] {
            assert_eq!(text.parse::<SimSpan>().unwrap().to_string(), text);
        }
        assert_eq!("1.5ms".parse(), Ok(SimSpan::from_us(1_500)));
        assert_eq!("2 min".parse(), Ok(SimSpan::from_secs(120)));
    }

    #[test]
    fn names_the_fault_of_a_bad_time() {
        let message = "10 sec".parse::<SimSpan>().unwrap_err().to_string();
        assert!(message.contains("sec") && message.contains("`s`"), "{message}");
        assert!("-1 s".parse::<SimSpan>().unwrap_err().to_string().contains("negative"));
        assert!("10".parse::<SimSpan>().unwrap_err().to_string().contains("unit"));
        assert!("1e30 s".parse::<SimSpan>().unwrap_err().to_string().contains("large"));
    }

    #[test]
    #[should_panic(expected = "before")]
    fn time_does_not_run_backwards() {
        let _ = SimTime::from_ns(1) - SimTime::from_ns(2);
    }
}
