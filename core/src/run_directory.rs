//! The directory of a run. A file is there whole or not at all.

use std::path::Path;

use foretell_ati::RUN;
use foretell_files::Directory;

use crate::error::Error;

/// The scenario with all its defaults.
pub const SCENARIO_FILE: &str = "run.toml";
/// What clients saw.
pub const TRUTH_FILE: &str = "truth.json";

/// A directory that a run is kept in. Nobody else writes into it meanwhile.
pub struct RunDirectory {
    directory: Directory,
    /// What stays: the scenario, if it is the one that is run.
    spared: &'static [&'static str],
}

impl RunDirectory {
    /// Takes the directory, and clears it of what an earlier run left there, but for the scenario
    /// that is to be run: that is replaced when the new one is there.
    pub fn prepare(path: &Path, scenario: &Path, force: bool) -> Result<Self, Error> {
        let directory = Directory::take(path, RUN.forced(force).reading(&[scenario]))?;
        let same = |old: &Path| matches!((old.canonicalize(), scenario.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let own_scenario = same(&path.join(SCENARIO_FILE));
        let spared: &[&str] = if own_scenario { &[SCENARIO_FILE] } else { &[] };
        directory.clear(spared)?;
        Ok(Self { directory, spared })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory itself.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes what a run that failed has left, as far as possible: nothing may look whole.
    pub fn discard(&self) {
        // the error that led here says more than a second one
        let _ = self.directory.clear(self.spared);
    }

    /// Writes a file of the run, whole or not at all.
    pub fn write(&self, name: &str, content: &str) -> Result<(), Error> {
        Ok(self.directory.write(name, content.as_bytes())?)
    }
}
