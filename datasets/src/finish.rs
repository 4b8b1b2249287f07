//! From journals to a data set: sorted, verified, split, described.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use foretell_input::Limit;
use serde::{Deserialize, Serialize};

use crate::card;
use crate::croissant;
use crate::digest::{ContentDigest, hex_of_file};
use crate::error::DataError;
use crate::journal::{Entry, Journals};
use crate::manifest::{Format, Manifest, partial_of, write_whole};
use crate::split::Part;
use crate::table_file::TableFile;

/// Name of the file that says what a whole data set holds; where it is, everything is.
pub const CONTENT_FILE: &str = "content.json";

/// Rows and bytes of a file, beyond which a number is damaged.
const MOST: u64 = 1 << 48;

/// Missing runs that are named; of more, the first.
const SHOWN: usize = 10;

/// What a data set holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Content {
    /// SHA-256 of all rows of all tables, in the order of runs, whatever the format.
    pub digest: String,
    /// How tables are written.
    pub format: Format,
    /// Runs that ended well.
    pub runs: u64,
    /// Runs that failed.
    pub failures: u64,
    /// Runs left out, as their design points are no valid scenarios.
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
    /// Reads that of a data set; `None` if it is not whole yet.
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
        for file in &content.files {
            let named = Path::new(&file.path).components();
            if !named.clone().all(|part| matches!(part, Component::Normal(_))) {
                return Err(fault(format!("`{}` is no path within it", file.path.escape_debug())));
            }
            if file.rows.max(file.bytes) > MOST {
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
    // the one that readers of data sets look into first
    if table == "runs" { "data" } else { table }
}

/// Makes a data set in `directory` from the journals of all its runs. Errors if a run is missing
/// or stands twice; then there is no data set.
pub fn finish(
    directory: &Path,
    manifest: &Manifest,
    journals: &[PathBuf],
    format: Format,
) -> Result<Content, DataError> {
    let mut writers = Writers { directory, manifest, format, parts: BTreeMap::new() };
    let done = writers.fill(journals);
    let (digest, [runs, failures, left_out]) = match done {
        Ok(done) => done,
        Err(error) => {
            writers.discard();
            return Err(error);
        }
    };
    // from here on what an earlier data set left is replaced, and there is none until the end
    remove(&directory.join(CONTENT_FILE))?;
    let files = writers.finish()?;
    let content = Content { digest, format, runs, failures, left_out, files };
    write_whole(&directory.join("README.md"), card::card(manifest, &content).as_bytes())?;
    let croissant = croissant::croissant(manifest, &content);
    write_whole(&directory.join("croissant.json"), croissant.as_bytes())?;
    let text = serde_json::to_string_pretty(&content).expect("keys are texts") + "\n";
    write_whole(&directory.join(CONTENT_FILE), text.as_bytes())?;
    Ok(content)
}

/// The runs of `all` that are in no journal, in order, given to `each` range by range.
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

fn remove(path: &Path) -> Result<(), DataError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(DataError::file("replace", path)(error))
        }
        _ => Ok(()),
    }
}

/// The files of a table and split.
#[derive(Default)]
struct PartFiles {
    open: Option<(PathBuf, TableFile)>,
    whole: Vec<(PathBuf, u64)>,
}

struct Writers<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
    format: Format,
    /// By the table's number and the split's name.
    parts: BTreeMap<(usize, String), PartFiles>,
}

impl Writers<'_> {
    /// Writes all rows; returns their digest, and how many runs ended well, failed, were left out.
    fn fill(&mut self, journals: &[PathBuf]) -> Result<(String, [u64; 3]), DataError> {
        let mut journals = Journals::open(journals, Some(&self.manifest.fingerprint))?;
        let mut digest = ContentDigest::default();
        for table in &self.manifest.tables {
            digest.update(&serde_json::to_vec(table).expect("schemas are plain"));
        }
        let all = self.manifest.runs();
        let (mut next, mut gaps) = (0, Gaps::default());
        let mut counts = [0; 3];
        while let Some(entry) = journals.next_entry()? {
            if let Some(fault) = self.fault(&entry, all) {
                return Err(DataError::Format {
                    path: journals.last_path().unwrap_or(self.directory).to_owned(),
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

    /// What a run has that none of this sweep has.
    fn fault(&self, entry: &Entry, all: u64) -> Option<String> {
        let tables = &self.manifest.tables;
        if entry.run >= all {
            return Some(format!("the sweep has {all} runs"));
        }
        if !Part::ALL.iter().any(|part| part.name() == entry.split) {
            return Some(format!("`{}` is no split", entry.split.escape_debug()));
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
                if files.open.as_ref().is_some_and(|(_, file)| file.rows() >= table.rows_per_file) {
                    files.close()?;
                }
                if files.open.is_none() {
                    let directory = self.directory.join(table_directory(&table.name));
                    fs::create_dir_all(&directory)
                        .map_err(DataError::file("make the directory", &directory))?;
                    let name = format!("{}-{:05}", entry.split, files.whole.len());
                    let path = partial_of(&directory.join(name), "finish");
                    let file = TableFile::create(&path, table, self.format)?;
                    files.open = Some((path, file));
                }
                let (_, file) = files.open.as_mut().expect("it was just opened");
                file.push(row)?;
            }
        }
        Ok(())
    }

    /// Gives all files their names, and removes those of an earlier data set.
    fn finish(&mut self) -> Result<Vec<DataFile>, DataError> {
        let mut found = Vec::new();
        for table in &self.manifest.tables {
            let directory = self.directory.join(table_directory(&table.name));
            for old in fs::read_dir(&directory).into_iter().flatten().flatten() {
                if !old.file_name().to_string_lossy().starts_with('.') {
                    remove(&old.path())?;
                }
            }
        }
        for ((number, split), mut files) in std::mem::take(&mut self.parts) {
            files.close()?;
            let table = &self.manifest.tables[number];
            let directory = table_directory(&table.name);
            let count = files.whole.len();
            for (index, (partial, rows)) in files.whole.into_iter().enumerate() {
                let ending = self.format.ending();
                let path = format!("{directory}/{split}-{index:05}-of-{count:05}.{ending}");
                let whole = self.directory.join(&path);
                fs::rename(&partial, &whole).map_err(DataError::file("write", &whole))?;
                let (sha256, bytes) = hex_of_file(&whole)?;
                let (table, split) = (table.name.clone(), split.clone());
                found.push(DataFile { table, split, path, rows, bytes, sha256 });
            }
        }
        Ok(found)
    }

    /// Removes what was begun, as far as possible.
    fn discard(&mut self) {
        for (_, files) in std::mem::take(&mut self.parts) {
            let open = files.open.map(|(path, _)| path);
            for path in files.whole.into_iter().map(|(path, _)| path).chain(open) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl PartFiles {
    fn close(&mut self) -> Result<(), DataError> {
        if let Some((path, file)) = self.open.take() {
            self.whole.push((path, file.finish()?));
        }
        Ok(())
    }
}

/// Runs that are not there.
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
