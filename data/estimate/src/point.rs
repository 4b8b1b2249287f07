//! One measurement.

use std::fmt;

use foretell_units::Bytes;

/// Share of reads among requests, to a thousandth, by which runs of one mix are recognized.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadShare(u16);

impl ReadShare {
    /// Only reads.
    pub const READS: Self = Self(1000);
    /// Only writes.
    pub const WRITES: Self = Self(0);

    /// The share nearest to `percent`; `None` outside 0 to 100.
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

/// The measurement of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Name of the series. Its runs differ only in size and mix: `random, 16 outstanding`.
    pub series: String,
    /// Size of each request.
    pub size: Bytes,
    /// Share of reads among requests.
    pub reads: ReadShare,
    /// Requests a second, reads and writes together.
    pub iops: f64,
    /// Its source, for messages: a file, a line.
    pub origin: String,
}
