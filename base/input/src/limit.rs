//! The size limit of each kind of file.
//!
//! A limit is about a hundred times the size met in practice. It is also small enough that processing such a
//! file, however malicious, takes less than 2 GiB of memory (the tests in `tests/fuzz` run every reader within that).

use std::fmt;

/// Maximum length of a row of comma-separated values, in bytes.
pub const MAX_RECORD: u64 = 16 << 20;
/// Maximum number of cells of a table that is kept in memory.
pub const MAX_CELLS: u64 = 1 << 25;
/// Maximum number of columns of such a table.
pub const MAX_COLUMNS: usize = 4096;
/// Maximum number of different names in one of its columns.
pub const MAX_NAMES: usize = 1 << 20;

/// The size limit of a kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    bytes: u64,
    of: &'static str,
}

impl Limit {
    /// TOML written by people.
    pub const SCENARIO: Self = Self::mib(4, "a scenario, a profile or a sweep file");
    /// Lessons, which contain scenarios.
    pub const LESSON: Self = Self::mib(4, "a lesson");
    /// The engine of pages, or a page that contains it.
    pub const ENGINE: Self = Self::mib(64, "the laboratory's page or its engine (`foretell.wasm`)");
    /// fio's job files and COSBench's workloads.
    pub const JOBS: Self = Self::mib(4, "a fio job file or a COSBench workload");
    /// DiskSim's parameter files.
    pub const DESCRIPTION: Self =
        Self::mib(8, "a drive's description with all the files that it names");
    /// The output of fio.
    pub const RESULT: Self = Self::mib(16, "a result of fio");
    /// Measurements of a reproduction that continues.
    pub const MEASUREMENTS: Self = Self::mib(256, "a file of measurements");
    /// Points, past scores, reports of COSBench.
    pub const POINTS: Self = Self::mib(64, "a table of points, reports or scores");
    /// `sweep.json`, `content.json`.
    pub const MANIFEST: Self = Self::mib(16, "the description of a data set");
    /// `truth.json`.
    pub const TRUTH: Self = Self::mib(256, "a run's `truth.json`");
    /// The status output of a Ceph cluster: about ten kilobytes for each OSD.
    pub const CEPH: Self = Self::mib(64, "a report, a map or statistics of a Ceph cluster");
    /// A saved regression model.
    pub const MODEL: Self = Self::mib(384, "a saved model");

    /// All limits.
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

    /// A limit for any other kind of file.
    pub const fn new(bytes: u64, of: &'static str) -> Self {
        Self { bytes, of }
    }

    /// The limit in bytes.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// The kind of file, as messages name it: `a lesson`.
    pub const fn of(self) -> &'static str {
        self.of
    }

    /// The limit as text: `16 MiB`.
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
