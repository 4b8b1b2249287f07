//! A sweep that is followed while its runs end: their number, and a sample of their rows.
//!
//! Each look reads only what the journals have gained. At most [`MOST_ROWS`] rows are kept: those of every run
//! first, then those of every second run, every fourth, and so on. So memory is limited, and the kept runs are
//! spread over the whole design.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::DataError;
use crate::finish::Content;
use crate::journal::{self, Entry, Place, Row};
use crate::manifest::Manifest;
use crate::read::read_columns;
use crate::shards::journals;
use crate::value::Value;

/// Maximum number of kept rows.
const MOST_ROWS: usize = 2_000;

/// How far a sweep is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Number of runs that succeeded.
    pub succeeded: u64,
    /// Number of runs that failed.
    pub failed: u64,
    /// Number of runs left out because their design points are not valid scenarios.
    pub left_out: u64,
    /// Whether the data set is complete.
    pub is_complete: bool,
    /// When a run ended last, by the clock of the file system; `None` before the first, and of complete data sets.
    pub last: Option<SystemTime>,
}

impl Progress {
    /// Number of runs that are over.
    pub fn over(&self) -> u64 {
        self.succeeded + self.failed + self.left_out
    }
}

/// The directory of a sweep.
#[derive(Debug)]
pub struct FollowedSweep {
    directory: PathBuf,
    manifest: Manifest,
    progress: Progress,
    places: BTreeMap<PathBuf, Place>,
    sample: Sample,
}

/// Rows of some runs, by the run's number.
#[derive(Debug)]
struct Sample {
    rows: BTreeMap<u64, Row>,
    /// Runs whose number is a multiple of this are kept.
    stride: u64,
}

impl FollowedSweep {
    /// Opens a directory, and looks at it.
    ///
    /// # Errors
    ///
    /// If it holds no sweep, or a damaged one.
    pub fn open(directory: &Path) -> Result<Self, DataError> {
        let mut sweep = Self {
            directory: directory.to_owned(),
            manifest: Manifest::read(directory)?,
            progress: Progress::default(),
            places: BTreeMap::new(),
            sample: Sample { rows: BTreeMap::new(), stride: 1 },
        };
        sweep.look()?;
        Ok(sweep)
    }

    /// What the sweep is about.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How far the sweep was at the last look.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Reads what is new.
    ///
    /// # Errors
    ///
    /// If the directory holds no sweep any more, or a damaged one.
    pub fn look(&mut self) -> Result<Progress, DataError> {
        // a sweep that is begun again in this directory shortens or removes its journals
        if !self.read_new()? {
            self.manifest = Manifest::read(&self.directory)?;
            self.begin_again();
            self.read_new()?;
        }
        Ok(self.progress)
    }

    fn begin_again(&mut self) {
        self.progress = Progress::default();
        self.places.clear();
        self.sample = Sample { rows: BTreeMap::new(), stride: 1 };
    }

    /// Reads what is new; `false` if the sweep has begun again.
    fn read_new(&mut self) -> Result<bool, DataError> {
        let paths = journals(&self.directory)?;
        // a data set is complete before its journals are removed, so it is looked for after them
        if let Some(content) = Content::read(&self.directory)? {
            let same = Manifest::read(&self.directory)? == self.manifest;
            self.begin_again();
            self.progress = Progress {
                succeeded: content.runs,
                failed: content.failures,
                left_out: content.left_out,
                is_complete: true,
                last: None,
            };
            return Ok(same);
        }
        if self.progress.is_complete || self.places.keys().any(|known| !paths.contains(known)) {
            return Ok(false);
        }
        for path in paths {
            let place = self.places.get(&path).copied().unwrap_or_default();
            let (sample, progress) = (&mut self.sample, &mut self.progress);
            let take = |entry| take(sample, progress, entry);
            let Some(reached) = journal::read_on(&path, &self.manifest.fingerprint, place, take)?
            else {
                return Ok(false);
            };
            if reached != place {
                let changed = std::fs::metadata(&path).and_then(|found| found.modified());
                let changed = changed.map_err(DataError::file("look at", &path))?;
                self.progress.last = self.progress.last.max(Some(changed));
            }
            self.places.insert(path, reached);
        }
        Ok(true)
    }

    /// The cells of these columns of the table `runs`, by row: of all successful runs of a complete data set, and
    /// of the kept ones of a sweep under way.
    ///
    /// # Errors
    ///
    /// If a column is unknown, or the data set cannot be read.
    pub fn cells(&self, columns: &[String]) -> Result<Vec<Vec<Value>>, DataError> {
        if self.progress.is_complete {
            return read_columns(&self.directory, columns, &[]);
        }
        let known = &self.manifest.tables[0].columns;
        let mut found = Vec::new();
        for name in columns {
            let place = known.iter().position(|column| column.name == *name);
            let place = place.ok_or_else(|| DataError::Format {
                path: self.directory.clone(),
                wanted: "a sweep with this column",
                fault: format!("column `{name}` is missing"),
            })?;
            let cell = |row: &Row| row.get(place).cloned().unwrap_or(Value::Missing);
            found.push(self.sample.rows.values().map(cell).collect());
        }
        Ok(found)
    }
}

/// Counts a run, and keeps its row if its turn is right.
fn take(sample: &mut Sample, progress: &mut Progress, mut entry: Entry) {
    match &mut entry.tables[..] {
        [] => progress.left_out += 1,
        [runs, ..] => match runs.pop() {
            Some(row) => {
                progress.succeeded += 1;
                sample.keep(entry.run, row);
            }
            None => progress.failed += 1,
        },
    }
}

impl Sample {
    fn keep(&mut self, run: u64, row: Row) {
        if !run.is_multiple_of(self.stride) {
            return;
        }
        self.rows.insert(run, row);
        while self.rows.len() > MOST_ROWS {
            self.stride *= 2;
            self.rows.retain(|run, _| run.is_multiple_of(self.stride));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Column, Kind, Role, TableSchema};
    use crate::journal::{EncodedEntry, JournalWriter};

    const FINGERPRINT: char = 'a';

    fn begin(directory: &Path, fingerprint: char) {
        let column = |name: &str, role| Column::new(name, Kind::Whole, role, "", "");
        let table = |name: &str| TableSchema {
            name: name.to_owned(),
            description: String::new(),
            columns: vec![column("run", Role::Identity), column("x", Role::Factor)],
            rows_per_file: 1,
        };
        let manifest = Manifest {
            fingerprint: fingerprint.to_string().repeat(64),
            tool_version: String::new(),
            title: String::new(),
            description: String::new(),
            license: String::new(),
            design: "full".to_owned(),
            points: 9_000,
            replicates: 1,
            seed: 1,
            factors: Vec::new(),
            constraints: Vec::new(),
            split: String::new(),
            sparse: Vec::new(),
            tables: vec![table("runs"), table("failures")],
        };
        std::fs::write(
            directory.join(crate::MANIFEST_FILE),
            serde_json::to_string(&manifest).unwrap(),
        )
        .unwrap();
    }

    fn writer(directory: &Path, shard: &str, fingerprint: char) -> JournalWriter {
        let place = directory.join("shards").join(shard);
        std::fs::create_dir_all(&place).unwrap();
        let path = place.join("runs.journal");
        let file = foretell_files::grow(&path).unwrap();
        JournalWriter::open(file, &path, &fingerprint.to_string().repeat(64)).unwrap()
    }

    fn append(journal: &mut JournalWriter, run: u64, rows: u64) {
        let row = || vec![Value::count(run), Value::count(10 * run)];
        let tables = vec![(0..rows).map(|_| row()).collect(), Vec::new()];
        let entry = Entry { run, split: "train".to_owned(), tables };
        journal.append(&EncodedEntry::new(&entry).unwrap()).unwrap();
    }

    fn kept(sweep: &FollowedSweep) -> Vec<i64> {
        let cells = sweep.cells(&["x".to_owned()]).unwrap().remove(0);
        let whole = |cell| if let Value::Whole(value) = cell { value } else { panic!("{cell:?}") };
        cells.into_iter().map(whole).collect()
    }

    #[test]
    fn each_look_finds_what_is_new_in_every_shard() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut sweep = FollowedSweep::open(place.path()).unwrap();
        assert_eq!(sweep.progress(), Progress::default());
        let mut first = writer(place.path(), "1-of-2", FINGERPRINT);
        append(&mut first, 4, 1);
        assert_eq!(sweep.look().unwrap().over(), 1);
        let mut second = writer(place.path(), "2-of-2", FINGERPRINT);
        append(&mut second, 1, 1);
        append(&mut second, 3, 0);
        append(&mut first, 0, 1);
        let progress = sweep.look().unwrap();
        assert_eq!((progress.succeeded, progress.failed, progress.over()), (3, 1, 4));
        assert!(progress.last.is_some() && !progress.is_complete);
        assert_eq!(kept(&sweep), [0, 10, 40]);
        assert_eq!(sweep.look().unwrap(), progress, "nothing is new");
        assert!(sweep.cells(&["y".to_owned()]).is_err());
    }

    #[test]
    fn an_incomplete_frame_is_read_when_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut journal = writer(place.path(), "1-of-1", FINGERPRINT);
        let path = place.path().join("shards/1-of-1/runs.journal");
        append(&mut journal, 0, 1);
        let before = std::fs::read(&path).unwrap().len();
        append(&mut journal, 1, 1);
        let whole = std::fs::read(&path).unwrap();
        for cut in before..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut sweep = FollowedSweep::open(place.path()).unwrap();
            assert_eq!(sweep.progress().over(), 1, "cut at {cut}");
            std::fs::write(&path, &whole).unwrap();
            assert_eq!(sweep.look().unwrap().over(), 2, "cut at {cut}");
        }
    }

    #[test]
    fn a_sweep_that_begins_again_is_followed_from_its_beginning() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut journal = writer(place.path(), "1-of-1", FINGERPRINT);
        for run in 0..3 {
            append(&mut journal, run, 1);
        }
        let mut sweep = FollowedSweep::open(place.path()).unwrap();
        assert_eq!(sweep.progress().over(), 3);
        std::fs::remove_dir_all(place.path().join("shards")).unwrap();
        begin(place.path(), 'b');
        assert_eq!(sweep.look().unwrap(), Progress::default());
        append(&mut writer(place.path(), "1-of-1", 'b'), 7, 1);
        assert_eq!(sweep.look().unwrap().over(), 1);
        assert_eq!(kept(&sweep), [70]);
        // a journal of another sweep is none of this one
        std::fs::remove_dir_all(place.path().join("shards")).unwrap();
        append(&mut writer(place.path(), "1-of-1", 'c'), 7, 1);
        assert!(sweep.look().is_err());
    }

    #[test]
    fn of_many_runs_every_second_or_fourth_is_kept() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut journal = writer(place.path(), "1-of-1", FINGERPRINT);
        for run in 0..5_000 {
            append(&mut journal, run, 1);
        }
        let sweep = FollowedSweep::open(place.path()).unwrap();
        assert_eq!(sweep.progress().succeeded, 5_000);
        let expected: Vec<i64> = (0..5_000).step_by(4).map(|run| 10 * run).collect();
        assert_eq!(kept(&sweep), expected);
    }
}
