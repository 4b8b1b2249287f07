//! The directory of a run. It holds a complete run, or none.
//!
//! A new run is written beside the earlier one, which stays until the new one is complete. So a run that
//! fails or is interrupted changes nothing. When the new run is complete, all files are replaced
//! ([`Directory::replace`]). `run.db` comes last, because a directory without it is not a run. So no reader
//! finds the records of one scenario beside the description of another.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use foretell_ati::{PARTIAL_FILE, RUN, STORE_FILE, Summary};
use foretell_files::{Directory, FilesError, NewFile};
use foretell_sim::Progress;
use foretell_sim::truth::Truth;

use crate::error::Error;
use crate::simulation::Simulation;

/// The scenario with all its defaults.
pub const SCENARIO_FILE: &str = "run.toml";
/// What clients saw.
pub const TRUTH_FILE: &str = "truth.json";

/// The directory of a run. It is locked: no other process of foretell writes into it meanwhile.
pub struct RunDirectory {
    directory: Directory,
    /// Files of the new run that are written but do not have their final names yet.
    files: Vec<(NewFile, String)>,
}

impl RunDirectory {
    /// Opens and locks the directory. An earlier run in it stays until [`RunDirectory::replace`].
    ///
    /// Errors if a file in it may not be replaced. If its `run.toml` is the `scenario` to run, it may be
    /// replaced even if somebody has edited it.
    pub fn prepare(path: &Path, scenario: &Path, force: bool) -> Result<Self, Error> {
        let inputs = [scenario];
        let purpose = RUN.forced(force).replacing_late().reading(&inputs);
        let directory = Directory::take(path, purpose)?;
        let same = |old: &Path| matches!((old.canonicalize(), scenario.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let own_scenario = same(&path.join(SCENARIO_FILE));
        let spared: &[&str] = if own_scenario { &[SCENARIO_FILE] } else { &[] };
        let names = [STORE_FILE, PARTIAL_FILE, SCENARIO_FILE, TRUTH_FILE];
        directory.may_replace(&names, spared)?;
        Ok(Self { directory, files: Vec::new() })
    }

    /// As [`RunDirectory::prepare`], for a directory that is already locked. Its `run.toml` is not the
    /// scenario to run.
    pub fn of(directory: Directory) -> Result<Self, Error> {
        let names = [STORE_FILE, PARTIAL_FILE, SCENARIO_FILE, TRUTH_FILE];
        directory.may_replace(&names, &[])?;
        Ok(Self { directory, files: Vec::new() })
    }

    /// Creates the directory of a run that may begin later. It is removed if there is no run in the end, also if this
    /// process is killed and another one calls [`RunDirectory::remove_unfinished`].
    ///
    /// Errors with [`FilesError::Exists`] if something has this name: of several processes, one creates it.
    pub fn reserve(path: &Path) -> Result<Self, Error> {
        Self::of(Directory::reserve(path, RUN)?)
    }

    /// Removes a directory that was reserved by a process that was killed before the run was complete. Any other
    /// directory, and files that the program did not make, stay.
    pub fn remove_unfinished(path: &Path) -> Result<(), Error> {
        Ok(Directory::remove_unfinished(path, RUN, STORE_FILE)?)
    }

    /// Removes the run in a directory. Files that the program did not make stay.
    pub fn remove(path: &Path) -> Result<(), Error> {
        Ok(Directory::take(path, RUN)?.clear(&[])?)
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a simulation and writes its records beside the existing files.
    pub fn record(
        &mut self,
        simulation: Simulation<'_>,
        watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Truth, Summary), Error> {
        let (truth, summary, store) = simulation.record_unnamed(&self.directory, watch)?;
        self.files.push((store, STORE_FILE.to_owned()));
        Ok((truth, summary))
    }

    /// Writes a file of the new run beside the existing files.
    pub fn write(&mut self, name: &str, content: &str) -> Result<(), Error> {
        let mut file = self.directory.begin(name)?;
        let written = file.write_all(content.as_bytes());
        written
            .map_err(|error| FilesError::cannot_write(&self.directory.path().join(name), error))?;
        file.close()?;
        self.files.push((file, name.to_owned()));
        Ok(())
    }

    /// Replaces an earlier run and all its files by the files written since.
    pub fn replace(self) -> Result<(), Error> {
        Ok(self.directory.replace(self.files, STORE_FILE)?)
    }
}
