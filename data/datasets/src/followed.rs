//! A sweep that is followed while its runs end: their number, and a sample of their rows.
//!
//! Each look reads only what the journals have gained. Of the kept rows there are at most [`MAX_ROWS`]: those of every
//! run first, then those of about half of the runs, of a quarter, and so on. Runs are chosen by a hash of their numbers,
//! so the kept ones are spread over the whole design. A run that is in two journals counts twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use foretell_units::Seed;

use crate::error::DataError;
use crate::finish::Content;
use crate::journal::{self, Entry, Place, ReadOn, Row};
use crate::manifest::Manifest;
use crate::read::read_columns;
use crate::shards::journals;
use crate::value::Value;

/// Maximum number of kept rows.
const MAX_ROWS: usize = 2_000;
/// Maximum bytes of the texts of a kept row.
const MAX_TEXT: usize = 1 << 16;

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
    places: BTreeMap<PathBuf, Option<Place>>,
    /// `None`: runs are only counted.
    sample: Option<Sample>,
}

/// Rows of some runs, by the run's number.
#[derive(Debug, Default)]
struct Sample {
    rows: BTreeMap<u64, Row>,
    /// Runs of this level are kept.
    level: u32,
}

/// Whether a number belongs to a pseudorandom sample of about one in 2^`level` numbers. Each sample contains the next one.
pub fn is_sampled(number: u64, level: u32) -> bool {
    Seed(1).child(number).0.leading_zeros() >= level
}

impl FollowedSweep {
    /// Opens a directory, and looks at it. `with_rows`: rows of runs are kept for [`FollowedSweep::cells`].
    ///
    /// # Errors
    ///
    /// If it holds no sweep, or a damaged one.
    pub fn open(directory: &Path, with_rows: bool) -> Result<Self, DataError> {
        let mut sweep = Self {
            directory: directory.to_owned(),
            manifest: Manifest::read(directory)?,
            progress: Progress::default(),
            places: BTreeMap::new(),
            sample: with_rows.then(Sample::default),
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
    /// If the directory holds no sweep any more, or a damaged one. The next look then begins again.
    pub fn look(&mut self) -> Result<Progress, DataError> {
        let read = self.read_new();
        if matches!(read, Ok(Look::Followed)) {
            return Ok(self.progress);
        }
        // another sweep was begun in this directory, the same one was begun again, or it became complete meanwhile
        let before = std::mem::replace(&mut self.manifest, Manifest::read(&self.directory)?);
        self.begin_again();
        match read {
            Err(error) if before == self.manifest && !error.is_missing() => return Err(error),
            _ => {}
        }
        let again = self.read_new();
        if again.is_err() {
            self.begin_again();
        }
        again.map(|_| self.progress)
    }

    fn begin_again(&mut self) {
        self.progress = Progress::default();
        self.places.clear();
        self.sample = self.sample.take().map(|_| Sample::default());
    }

    /// Reads what is new.
    fn read_new(&mut self) -> Result<Look, DataError> {
        let paths = journals(&self.directory)?;
        // a data set is complete before its journals are removed, so it is looked for after them
        if let Some(content) = Content::read(&self.directory)? {
            if Manifest::read(&self.directory)? != self.manifest {
                return Ok(Look::BeganAgain);
            }
            self.begin_again();
            self.progress = Progress {
                succeeded: content.runs,
                failed: content.failures,
                left_out: content.left_out,
                is_complete: true,
                last: None,
            };
            return Ok(Look::Followed);
        }
        let is_there = |known: &PathBuf| paths.binary_search(known).is_ok();
        if self.progress.is_complete || !self.places.keys().all(is_there) {
            return Ok(Look::BeganAgain);
        }
        let fingerprint = self.manifest.fingerprint.clone();
        for path in paths {
            let place = self.places.get(&path).copied().flatten();
            let reached = journal::read_on(&path, &fingerprint, place, |entry| self.take(entry))?;
            let ReadOn::To(reached) = reached else { return Ok(Look::BeganAgain) };
            if reached != place {
                let changed = std::fs::metadata(&path).and_then(|found| found.modified());
                let changed = changed.map_err(DataError::file("look at", &path))?;
                self.progress.last = self.progress.last.max(Some(changed));
            }
            self.places.insert(path, reached);
        }
        Ok(Look::Followed)
    }

    /// Counts a run, and keeps its row if it belongs to the sample.
    fn take(&mut self, mut entry: Entry) -> Result<(), DataError> {
        let known = &self.manifest.tables[0].columns;
        let fault = |fault: String| DataError::Format {
            path: self.directory.clone(),
            wanted: "a sweep",
            fault,
        };
        if entry.run >= self.manifest.runs() {
            return Err(fault(format!("a journal has run {}", entry.run)));
        }
        let Some(runs) = entry.tables.first_mut() else {
            self.progress.left_out += 1;
            return Ok(());
        };
        let Some(row) = runs.pop() else {
            self.progress.failed += 1;
            return Ok(());
        };
        let text = |cell: &Value| if let Value::Text(text) = cell { text.len() } else { 0 };
        if row.len() != known.len() || row.iter().map(text).sum::<usize>() > MAX_TEXT {
            return Err(fault(format!("the row of run {} does not fit its columns", entry.run)));
        }
        self.progress.succeeded += 1;
        if let Some(sample) = &mut self.sample {
            sample.keep(entry.run, row);
        }
        Ok(())
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
        let rows = || self.sample.iter().flat_map(|sample| sample.rows.values());
        let mut found = Vec::new();
        for name in columns {
            let place = known.iter().position(|column| column.name == *name);
            let place = place.ok_or_else(|| DataError::Format {
                path: self.directory.clone(),
                wanted: "a sweep with this column",
                fault: format!("column `{name}` is missing"),
            })?;
            found.push(rows().map(|row| row[place].clone()).collect());
        }
        Ok(found)
    }
}

/// What a look has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// The sweep that was known.
    Followed,
    /// A sweep that must be read from its beginning.
    BeganAgain,
}

impl Sample {
    fn keep(&mut self, run: u64, row: Row) {
        if !is_sampled(run, self.level) {
            return;
        }
        self.rows.insert(run, row);
        while self.rows.len() > MAX_ROWS {
            self.level += 1;
            self.rows.retain(|run, _| is_sampled(*run, self.level));
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
        let mut sweep = FollowedSweep::open(place.path(), true).unwrap();
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
            let mut sweep = FollowedSweep::open(place.path(), true).unwrap();
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
        let mut sweep = FollowedSweep::open(place.path(), true).unwrap();
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
    fn a_journal_that_was_begun_again_and_is_longer_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut journal = writer(place.path(), "1-of-1", FINGERPRINT);
        append(&mut journal, 0, 1);
        let mut sweep = FollowedSweep::open(place.path(), true).unwrap();
        for (fingerprint, runs) in [(FINGERPRINT, 5..9), ('b', 10..20)] {
            std::fs::remove_dir_all(place.path().join("shards")).unwrap();
            begin(place.path(), fingerprint);
            let mut journal = writer(place.path(), "1-of-1", fingerprint);
            for run in runs.clone() {
                append(&mut journal, run, 1);
            }
            assert_eq!(sweep.look().unwrap().over(), runs.end - runs.start);
            assert_eq!(kept(&sweep)[0], 10 * i64::try_from(runs.start).unwrap());
        }
    }

    #[test]
    fn a_journal_without_runs_has_no_last_one_and_strange_runs_are_refused() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut journal = writer(place.path(), "1-of-1", FINGERPRINT);
        let mut sweep = FollowedSweep::open(place.path(), false).unwrap();
        assert_eq!(sweep.progress().last, None);
        append(&mut journal, 8_999, 1);
        assert_eq!(sweep.look().unwrap().over(), 1);
        assert!(kept(&sweep).is_empty(), "runs are only counted");
        append(&mut journal, 9_000, 1);
        assert!(sweep.look().unwrap_err().to_string().contains("run 9000"));
    }

    #[test]
    fn of_many_runs_a_part_is_kept_that_has_every_level_of_a_factor() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), FINGERPRINT);
        let mut journal = writer(place.path(), "1-of-1", FINGERPRINT);
        for run in 0..5_000 {
            append(&mut journal, run, 1);
        }
        let sweep = FollowedSweep::open(place.path(), true).unwrap();
        assert_eq!(sweep.progress().succeeded, 5_000);
        let kept = kept(&sweep);
        assert!((1_000..=MAX_ROWS).contains(&kept.len()), "{}", kept.len());
        for levels in [2, 4, 8, 100] {
            let mut count = vec![0; levels];
            for cell in &kept {
                count[usize::try_from(*cell / 10).unwrap() % levels] += 1;
            }
            let expected = kept.len() / levels;
            let (least, most) = (*count.iter().min().unwrap(), *count.iter().max().unwrap());
            assert!(2 * least >= expected && most <= 2 * expected, "{levels}: {least} to {most}");
        }
    }
}
