//! What a directory of a sweep says of itself: `sweep.json`.

use std::path::Path;

use foretell_files::Directory;
use serde::{Deserialize, Serialize};

use crate::column::TableSchema;
use crate::error::DataError;
use crate::sweep::Sweep;

/// Its name.
pub const MANIFEST_FILE: &str = "sweep.json";

/// Directories of a sweep that hold no table of that name.
const RESERVED: [&str; 2] = ["data", "shards"];
/// Bytes of a table's name, at the most.
const LONGEST_TABLE: usize = 64;

/// How tables are written.
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
    /// The ending of a file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// What a sweep is, for whoever has its directory and not its file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Tells the sweep from others.
    pub fingerprint: String,
    /// Version of the program.
    pub tool_version: String,
    /// Name of the data set.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// Its licence.
    pub license: String,
    /// `full`, `sobol`, ...
    pub design: String,
    /// Design points.
    pub points: u64,
    /// Runs of each.
    pub replicates: u64,
    /// The seed that all others come from.
    pub seed: u64,
    /// What is varied: the name of the column, and its values in words.
    pub factors: Vec<(String, String)>,
    /// What all points satisfy.
    pub constraints: Vec<String>,
    /// How points are split, in words.
    pub split: String,
    /// Its tables; the first is `runs`.
    pub tables: Vec<TableSchema>,
}

impl Manifest {
    /// Of a sweep with so many `points` and these `tables`.
    pub fn of(sweep: &Sweep, points: u64, tables: Vec<TableSchema>, tool_version: &str) -> Self {
        let percent = |share: f64| format!("{} %", 100.0 * share);
        let mut split = format!(
            "validation {}, test {} of the design points, by a hash of what they set",
            percent(sweep.split.validation),
            percent(sweep.split.test)
        );
        if let Some(condition) = &sweep.split.extrapolation {
            split = format!("{split}; test_extrapolation: `{}`", condition.text());
        }
        let factor = |factor: &crate::Factor| {
            let mut told = factor.values_told();
            if !factor.description.is_empty() {
                told = format!("{}: {told}", factor.description);
            }
            (factor.column_name(), told)
        };
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
            split,
            tables,
        }
    }

    /// How many runs the sweep has.
    pub fn runs(&self) -> u64 {
        self.points * self.replicates
    }

    /// Reads that of a directory.
    pub fn read(directory: &Path) -> Result<Self, DataError> {
        let path = directory.join(MANIFEST_FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                DataError::NoSweep { path: directory.to_owned(), file: MANIFEST_FILE }
            }
            _ => DataError::file("read", &path)(error),
        })?;
        let read = serde_json::from_str(&text).map_err(|error| error.to_string());
        let checked = read.and_then(|manifest: Self| match fault(&manifest.tables) {
            Some(fault) => Err(fault),
            None => Ok(manifest),
        });
        let wanted = "the description of a sweep";
        checked.map_err(|fault| DataError::Format { path, wanted, fault })
    }

    /// Writes it into a directory where there is none; where there is one already it must be of the
    /// same sweep. Several shards may do so at once.
    pub fn claim(&self, directory: &Directory) -> Result<(), DataError> {
        match Self::read(directory.path()) {
            Ok(found) => return self.same(&found, directory.path()),
            Err(DataError::NoSweep { .. }) => {}
            Err(error) => return Err(error),
        }
        let text = serde_json::to_string_pretty(self).expect("keys are texts") + "\n";
        Ok(directory.write(MANIFEST_FILE, text.as_bytes())?)
    }

    /// Errors if `found` in `directory` is of another sweep.
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

/// What is wrong with the tables, if anything: their names are those of files and directories.
fn fault(tables: &[TableSchema]) -> Option<String> {
    if tables.is_empty() {
        return Some("it has no tables".to_owned());
    }
    for (number, table) in tables.iter().enumerate() {
        let name = &table.name;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || name.len() > LONGEST_TABLE || !name.chars().all(plain) {
            let shown: String = name.chars().take(LONGEST_TABLE).collect();
            return Some(format!("{shown:?} cannot be the name of a table"));
        }
        if RESERVED.contains(&name.as_str()) || tables[..number].iter().any(|t| t.name == *name) {
            return Some(format!("`{name}` is not the name of one table alone"));
        }
    }
    None
}
