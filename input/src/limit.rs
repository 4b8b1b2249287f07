//! How much is read of each kind of file.
//!
//! A limit is some hundred times what is met in practice, and small enough that what is made of so many
//! bytes, however malicious, takes less than 2 GiB of memory (`tests/fuzz.rs` runs every reader within that).

use std::fmt;

/// The longest row of a table of comma-separated values, bytes.
pub const MOST_RECORD: u64 = 16 << 20;
/// Most cells of a table that is kept in memory.
pub const MOST_CELLS: u64 = 1 << 25;
/// Most columns of such a table.
pub const MOST_COLUMNS: usize = 4096;
/// Most different names in a column of them.
pub const MOST_NAMES: usize = 1 << 20;

/// How much is read of a kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    bytes: u64,
    of: &'static str,
}

impl Limit {
    /// TOML that people write.
    pub const SCENARIO: Self = Self::mib(4, "a scenario, a profile or a sweep file");
    /// Lessons, which have scenarios in them.
    pub const LESSON: Self = Self::mib(4, "a lesson");
    /// The engine of pages, or a page that has it.
    pub const ENGINE: Self = Self::mib(64, "an engine or a laboratory");
    /// fio's job files and COSBench's workloads.
    pub const JOBS: Self = Self::mib(4, "a fio job file or a COSBench workload");
    /// DiskSim's parameter files.
    pub const DESCRIPTION: Self =
        Self::mib(8, "a drive's description, with all the files that it names,");
    /// What fio prints.
    pub const RESULT: Self = Self::mib(16, "a result of fio");
    /// Measurements of a reproduction that goes on.
    pub const MEASUREMENTS: Self = Self::mib(256, "a file of measurements");
    /// Points, past scores, reports of COSBench.
    pub const POINTS: Self = Self::mib(64, "a table of points, reports or scores");
    /// `sweep.json`, `content.json`.
    pub const MANIFEST: Self = Self::mib(16, "the description of a data set");
    /// `truth.json`.
    pub const TRUTH: Self = Self::mib(256, "a truth");
    /// What a Ceph cluster says of itself: some ten kilobytes for each OSD.
    pub const CEPH: Self = Self::mib(64, "a report, a map or statistics of a Ceph cluster");
    /// A saved regression model.
    pub const MODEL: Self = Self::mib(384, "a saved model");

    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::SCENARIO,
        Self::LESSON,
        Self::ENGINE,
        Self::JOBS,
        Self::DESCRIPTION,
        Self::RESULT,
        Self::MEASUREMENTS,
        Self::POINTS,
        Self::MANIFEST,
        Self::TRUTH,
        Self::CEPH,
        Self::MODEL,
    ];

    const fn mib(mib: u64, of: &'static str) -> Self {
        Self { bytes: mib << 20, of }
    }

    /// A limit of a file that is none of the above.
    pub const fn new(bytes: u64, of: &'static str) -> Self {
        Self { bytes, of }
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Of what: `a truth`.
    pub const fn of(self) -> &'static str {
        self.of
    }

    /// `16 MiB`.
    pub(crate) fn size(self) -> String {
        if self.bytes.is_multiple_of(1 << 20) {
            format!("{} MiB", self.bytes >> 20)
        } else {
            format!("{} bytes", self.bytes)
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.size(), self.of)
    }
}
