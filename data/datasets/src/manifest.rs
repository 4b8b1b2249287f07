//! The description of a sweep in its directory: `sweep.json`.

use std::path::Path;

use foretell_files::Directory;
use foretell_input::{Limit, MAX_COLUMNS};
use serde::{Deserialize, Serialize};

use crate::column::{Column, Role, TableSchema};
use crate::error::DataError;
use crate::sweep::Sweep;

/// Maximum number of runs of a sweep; a larger number is taken as damaged.
const MAX_RUNS: u64 = 1 << 40;

/// Names of directories of a sweep that no table may have.
const RESERVED: [&str; 2] = ["data", "shards"];
/// Maximum length of a table's name, in bytes.
const LONGEST_TABLE: usize = 64;

/// Name of the file.
pub const MANIFEST_FILE: &str = "sweep.json";

/// Format of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Apache Parquet, compressed by zstd.
    #[default]
    Parquet,
    /// Comma-separated values.
    Csv,
}

impl Format {
    /// The extension of a file name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// The description of a sweep, for readers who have its directory but not its file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Distinguishes the sweep from others.
    pub fingerprint: String,
    /// Version of the program.
    pub tool_version: String,
    /// Name of the data set.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its licence.
    pub license: String,
    /// `full`, `sobol`, ...
    pub design: String,
    /// Number of design points.
    pub points: u64,
    /// Number of runs of each point.
    pub replicates: u64,
    /// The seed from which all others are derived.
    pub seed: u64,
    /// The factors: the name of the column, and its values in words.
    pub factors: Vec<(String, String)>,
    /// The constraints that all points satisfy.
    pub constraints: Vec<String>,
    /// The split of the points, in words.
    pub split: String,
    /// Columns of numeric factors with few values and gaps between them, and the number of values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sparse: Vec<(String, usize)>,
    /// Its tables; the first is `runs`.
    pub tables: Vec<TableSchema>,
}

impl Manifest {
    /// The manifest of a sweep with this number of `points` and these `tables`.
    pub fn of(sweep: &Sweep, points: u64, tables: Vec<TableSchema>, tool_version: &str) -> Self {
        let factor = |factor: &crate::Factor| (factor.column_name(), factor.described());
        let full = sweep.design == crate::Design::Full;
        let sparse =
            |factor: &crate::Factor| Some((factor.column_name(), factor.sparse_levels(full)?));
        Self {
            fingerprint: sweep.fingerprint(tool_version),
            tool_version: tool_version.to_owned(),
            title: sweep.title.clone(),
            description: sweep.description.clone(),
            license: sweep.license.clone(),
            design: sweep.design.name().to_owned(),
            points,
            replicates: sweep.replicates,
            seed: sweep.seed,
            factors: sweep.factors.iter().map(factor).collect(),
            constraints: sweep.constraints.iter().map(|c| c.text().to_owned()).collect(),
            split: sweep.split.described(),
            sparse: sweep.factors.iter().filter_map(sparse).collect(),
            tables,
        }
    }

    /// Number of runs of the sweep.
    pub fn runs(&self) -> u64 {
        self.points * self.replicates
    }

    /// The columns of the table `runs` that are worth looking at: factors first, then observations. Half-widths are
    /// left out, because they are parts of other columns.
    pub fn explorable(&self) -> impl Iterator<Item = &Column> {
        let columns = self.tables.first().map(|table| table.columns.as_slice()).unwrap_or_default();
        let of = |role: Role| columns.iter().filter(move |column| column.role == role);
        of(Role::Factor)
            .chain(of(Role::Observed).filter(|column| !column.name.contains("half_width")))
    }

    /// Reads the manifest of a directory.
    pub fn read(directory: &Path) -> Result<Self, DataError> {
        let path = directory.join(MANIFEST_FILE);
        let text =
            foretell_input::text(&path, Limit::MANIFEST).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                    DataError::NoSweep { path: directory.to_owned(), file: MANIFEST_FILE }
                }
                _ => DataError::file("read", &path)(error),
            })?;
        let fault = |fault| DataError::Format { path, wanted: "the description of a sweep", fault };
        let manifest: Self = match serde_json::from_str(&text) {
            Ok(manifest) => manifest,
            Err(error) => return Err(fault(error.to_string())),
        };
        match manifest.fault() {
            Some(wrong) => Err(fault(wrong)),
            None => Ok(manifest),
        }
    }

    /// The first fault that no manifest of ours has, if there is one.
    fn fault(&self) -> Option<String> {
        if self.fingerprint.len() != 64 || !self.fingerprint.bytes().all(|b| b.is_ascii_hexdigit())
        {
            return Some("its `fingerprint` is no SHA-256".to_owned());
        }
        let runs = self.points.checked_mul(self.replicates);
        if self.replicates == 0 || runs.is_none_or(|runs| runs > MAX_RUNS) {
            let (points, replicates) = (self.points, self.replicates);
            return Some(format!("{points} points, each run {replicates} times, are no sweep"));
        }
        let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        if !matches!(names[..], ["runs", "failures", ..]) {
            return Some("its first tables are not `runs` and `failures`".to_owned());
        }
        let plain = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.len() <= LONGEST_TABLE
                && !RESERVED.contains(&name)
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        for (place, table) in self.tables.iter().enumerate() {
            let name = &table.name;
            if !plain(name) || names[..place].contains(&name.as_str()) {
                return Some(format!(
                    "`{}` is not a name of another table",
                    foretell_input::one_line(name)
                ));
            }
            if table.rows_per_file == 0 || table.columns.is_empty() {
                return Some(format!("table `{name}` has no columns, or files without rows"));
            }
            if table.columns.len() > MAX_COLUMNS {
                return Some(format!("table `{name}` has more than {MAX_COLUMNS} columns"));
            }
            let mut columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            columns.sort_unstable();
            if let Some([twice, _]) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
                return Some(format!(
                    "table `{name}` has two columns `{}`",
                    foretell_input::one_line(twice)
                ));
            }
        }
        None
    }

    /// Writes the manifest into a directory that has none. An existing manifest must be of the same
    /// sweep. Several shards may do this at once.
    pub fn claim(&self, directory: &Directory) -> Result<(), DataError> {
        match Self::read(directory.path()) {
            Ok(found) => return self.same(&found, directory.path()),
            Err(DataError::NoSweep { .. }) => {}
            Err(error) => return Err(error),
        }
        let text = serde_json::to_string_pretty(self).expect("keys are texts") + "\n";
        Ok(directory.write(MANIFEST_FILE, text.as_bytes())?)
    }

    /// Errors if `found`, the manifest in `directory`, is of another sweep.
    pub fn same(&self, found: &Self, directory: &Path) -> Result<(), DataError> {
        if found.fingerprint == self.fingerprint {
            return Ok(());
        }
        Err(DataError::OtherSweep {
            path: directory.to_owned(),
            title: found.title.clone(),
            version: found.tool_version.clone(),
        })
    }
}
