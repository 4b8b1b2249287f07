//! Makes a data set from journals: sorted, verified, split, described.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use foretell_files::{Directory, NewFile, check_name};
use foretell_input::Limit;
use serde::{Deserialize, Serialize};

use crate::card;
use crate::croissant;
use crate::digest::{ContentDigest, hex_of_file};
use crate::error::DataError;
use crate::journal::{Entry, Journals};
use crate::manifest::{Format, Manifest};
use crate::split::Part;
use crate::table_file::TableFile;

/// Name of the file with the content of a complete data set. If it exists, the data set is
/// complete.
pub const CONTENT_FILE: &str = "content.json";

/// Maximum rows and bytes of a file; a larger number is taken as damaged.
const MAX_COUNT: u64 = 1 << 48;

/// Maximum number of missing runs that are named; the first ones are.
const SHOWN: usize = 10;

/// Content of a data set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Content {
    /// SHA-256 of all rows of all tables, in the order of runs, whatever the format.
    pub digest: String,
    /// The format of the tables.
    pub format: Format,
    /// Number of successful runs.
    pub runs: u64,
    /// Number of failed runs.
    pub failures: u64,
    /// Number of runs left out because their design points are not valid scenarios.
    pub left_out: u64,
    /// The files.
    pub files: Vec<DataFile>,
}

/// A file of a data set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataFile {
    /// Name of the table.
    pub table: String,
    /// Name of the split.
    pub split: String,
    /// Path in the data set.
    pub path: String,
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl Content {
    /// Reads the content file of a data set; `None` if the data set is not complete yet.
    pub fn read(directory: &Path) -> Result<Option<Self>, DataError> {
        let path = directory.join(CONTENT_FILE);
        let text = match foretell_input::text(&path, Limit::MANIFEST) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DataError::file("read", &path)(error)),
        };
        let fault = |fault| DataError::Format {
            path: path.clone(),
            wanted: "the content of a data set",
            fault,
        };
        let content: Self =
            serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
        if content.runs.max(content.failures).max(content.left_out) > MAX_COUNT {
            return Err(fault("it has more runs than any sweep".to_owned()));
        }
        for file in &content.files {
            check_name(directory, &file.path)?;
            if file.rows.max(file.bytes) > MAX_COUNT {
                return Err(fault(format!("`{}` has more rows or bytes than any file", file.path)));
            }
        }
        Ok(Some(content))
    }

    /// The files of a table, in order.
    pub fn files_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a DataFile> {
        self.files.iter().filter(move |file| file.table == table)
    }

    /// Rows of a table.
    pub fn rows(&self, table: &str) -> u64 {
        self.files_of(table).map(|file| file.rows).sum()
    }
}

/// The directory of a table's files.
pub fn table_directory(table: &str) -> &str {
    // readers of data sets look into this directory first
    if table == "runs" { "data" } else { table }
}

/// Makes a data set in `directory` from the journals of all its runs. Errors if a run is missing or
/// appears twice, or when `stop` returns true; then there is no data set.
pub fn finish(
    directory: &Directory,
    manifest: &Manifest,
    journals: &[PathBuf],
    format: Format,
    stop: &dyn Fn() -> bool,
) -> Result<Content, DataError> {
    let mut writers = Writers { directory, manifest, format, parts: BTreeMap::new() };
    let (digest, [runs, failures, left_out]) = writers.fill(journals, stop)?;
    // from here on the files of an earlier data set are replaced, and no data set is complete until
    // the end
    directory.remove(CONTENT_FILE)?;
    let files = writers.finish()?;
    let content = Content { digest, format, runs, failures, left_out, files };
    directory.write("README.md", card::card(manifest, &content).as_bytes())?;
    directory.write("croissant.json", croissant::croissant(manifest, &content).as_bytes())?;
    let text = serde_json::to_string_pretty(&content).expect("keys are texts") + "\n";
    directory.write(CONTENT_FILE, text.as_bytes())?;
    Ok(content)
}

/// Calls `each` with the ranges of runs of `all` that are in no journal, in order.
pub fn missing(
    journals: &[PathBuf],
    fingerprint: &str,
    all: u64,
    mut each: impl FnMut(Range<u64>),
) -> Result<(), DataError> {
    let mut journals = Journals::open(journals, Some(fingerprint))?;
    let mut next = 0;
    let mut gap = |from: u64, to: u64| {
        if from < to {
            each(from..to);
        }
    };
    while let Some(run) = journals.next_run()? {
        if run >= all {
            break;
        }
        gap(next, run);
        next = run + 1;
    }
    gap(next, all);
    Ok(())
}

/// The files of a table and split.
#[derive(Default)]
struct PartFiles {
    open: Option<TableFile>,
    whole: Vec<Written>,
}

/// A complete file that has no name yet.
struct Written {
    file: NewFile,
    rows: u64,
    bytes: u64,
    sha256: String,
}

struct Writers<'a> {
    directory: &'a Directory,
    manifest: &'a Manifest,
    format: Format,
    /// By the table's number and the split's name.
    parts: BTreeMap<(usize, String), PartFiles>,
}

impl Writers<'_> {
    /// Writes all rows; returns their digest, and the numbers of runs that succeeded, failed and
    /// were left out.
    fn fill(
        &mut self,
        journals: &[PathBuf],
        stop: &dyn Fn() -> bool,
    ) -> Result<(String, [u64; 3]), DataError> {
        let mut journals = Journals::open(journals, Some(&self.manifest.fingerprint))?;
        let mut digest = ContentDigest::default();
        for table in &self.manifest.tables {
            digest.update(&serde_json::to_vec(table).expect("schemas are plain"));
        }
        let all = self.manifest.runs();
        let (mut next, mut gaps) = (0, Gaps::default());
        let mut counts = [0; 3];
        while let Some(entry) = journals.next_entry()? {
            if stop() {
                return Err(DataError::Interrupted);
            }
            if let Some(fault) = self.fault(&entry, all) {
                return Err(DataError::Format {
                    path: journals.last_path().unwrap_or(self.directory.path()).to_owned(),
                    wanted: "a journal of this sweep",
                    fault: format!("run {}: {fault}", entry.run),
                });
            }
            gaps.add(next..entry.run);
            next = entry.run + 1;
            digest.update(&entry.run.to_le_bytes());
            digest.update(&serde_json::to_vec(&entry).expect("cells are plain"));
            let rows = |table: usize| entry.tables.get(table).map_or(0, Vec::len);
            counts[if rows(0) > 0 {
                0
            } else if rows(1) > 0 {
                1
            } else {
                2
            }] += 1;
            self.push(&entry)?;
        }
        gaps.add(next..all);
        gaps.none(all)?;
        Ok((digest.finish(), counts))
    }

    /// The reason why a run cannot belong to this sweep, if there is one.
    fn fault(&self, entry: &Entry, all: u64) -> Option<String> {
        let tables = &self.manifest.tables;
        if entry.run >= all {
            return Some(format!("the sweep has {all} runs"));
        }
        if !Part::ALL.iter().any(|part| part.name() == entry.split) {
            return Some(format!("`{}` is not a split", foretell_input::one_line(&entry.split)));
        }
        if entry.tables.len() > tables.len() {
            return Some(format!(
                "it has {} tables; the sweep has {}",
                entry.tables.len(),
                tables.len()
            ));
        }
        for (table, rows) in tables.iter().zip(&entry.tables) {
            let wanted = table.columns.len();
            if let Some((place, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != wanted)
            {
                return Some(format!(
                    "row {} of table `{}` has {} cells; the table has {wanted} columns",
                    place + 1,
                    table.name,
                    row.len()
                ));
            }
        }
        None
    }

    fn push(&mut self, entry: &Entry) -> Result<(), DataError> {
        for (number, rows) in entry.tables.iter().enumerate() {
            let table = &self.manifest.tables[number];
            for row in rows {
                let key = (number, entry.split.clone());
                let files = self.parts.entry(key).or_default();
                if files.open.as_ref().is_some_and(|file| file.rows() >= table.rows_per_file) {
                    files.close()?;
                }
                if files.open.is_none() {
                    let (directory, split) = (table_directory(&table.name), &entry.split);
                    // it gets its final name when the number of files is known
                    let name = format!("{directory}/{split}-{:05}", files.whole.len());
                    let file = self.directory.begin(&name)?;
                    files.open = Some(TableFile::begin(file, table, self.format)?);
                }
                files.open.as_mut().expect("it was just opened").push(row)?;
            }
        }
        Ok(())
    }

    /// Gives all files their final names, and removes those of an earlier data set.
    fn finish(&mut self) -> Result<Vec<DataFile>, DataError> {
        let (mut found, mut named) = (Vec::new(), Vec::new());
        for ((number, split), mut files) in std::mem::take(&mut self.parts) {
            files.close()?;
            let table = &self.manifest.tables[number];
            let directory = table_directory(&table.name);
            let count = files.whole.len();
            for (index, written) in files.whole.into_iter().enumerate() {
                let Written { file, rows, bytes, sha256 } = written;
                let ending = self.format.ending();
                let path = format!("{directory}/{split}-{index:05}-of-{count:05}.{ending}");
                named.push((file, path.clone()));
                let (table, split) = (table.name.clone(), split.clone());
                found.push(DataFile { table, split, path, rows, bytes, sha256 });
            }
        }
        let tables = self.manifest.tables.iter();
        let directories: Vec<&str> = tables.map(|table| table_directory(&table.name)).collect();
        let of_table = |file: &str| {
            file.split_once('/').is_some_and(|(directory, _)| directories.contains(&directory))
        };
        for old in self.directory.files().into_iter().filter(|file| of_table(file)) {
            self.directory.remove(&old)?;
        }
        NewFile::commit_all(self.directory, named)?;
        Ok(found)
    }
}

impl PartFiles {
    fn close(&mut self) -> Result<(), DataError> {
        if let Some(file) = self.open.take() {
            let rows = file.rows();
            let mut file = file.finish()?;
            let (sha256, bytes) = hex_of_file(&mut file)?;
            file.close()?;
            self.whole.push(Written { file, rows, bytes, sha256 });
        }
        Ok(())
    }
}

/// Missing runs: their number, and the first of them.
#[derive(Default)]
struct Gaps {
    count: u64,
    first: Vec<u64>,
}

impl Gaps {
    fn add(&mut self, runs: std::ops::Range<u64>) {
        self.count += runs.end.saturating_sub(runs.start);
        let more = SHOWN - self.first.len();
        self.first.extend(runs.take(more));
    }

    fn none(self, all: u64) -> Result<(), DataError> {
        if self.count == 0 {
            return Ok(());
        }
        let shown: Vec<String> = self.first.iter().map(u64::to_string).collect();
        let more = if self.count > SHOWN as u64 { ", ..." } else { "" };
        Err(DataError::Missing { count: self.count, all, shown: shown.join(", ") + more })
    }
}
