//! One measurement.

use std::fmt;

use foretell_units::Bytes;

/// Share of reads among requests, to a thousandth: what runs of one mix are told by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadShare(u16);

impl ReadShare {
    /// Reads alone.
    pub const READS: Self = Self(1000);
    /// Writes alone.
    pub const WRITES: Self = Self(0);

    /// The share nearest to `percent`; `None` beyond 0 to 100.
    pub fn from_percent(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then(|| Self((percent * 10.0).round() as u16))
    }

    /// From 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// From 0 to 100.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 10.0
    }

    /// Whether there are both reads and writes.
    pub fn is_mixed(self) -> bool {
        self != Self::READS && self != Self::WRITES
    }
}

impl fmt::Display for ReadShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.percent())
    }
}

/// What one run measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Runs of one series differ in size and mix alone: `random, 16 outstanding`.
    pub series: String,
    /// Of each request.
    pub size: Bytes,
    /// Share of reads among requests.
    pub reads: ReadShare,
    /// Requests a second, reads and writes together.
    pub iops: f64,
    /// Where it was read, for messages: a file, a line.
    pub origin: String,
}
