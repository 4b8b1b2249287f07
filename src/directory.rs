//! The directory of a run. A file is there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use foretell_ati::DirectoryLock;

use crate::failure::Failure;

/// The scenario with all its defaults.
pub(crate) const SCENARIO_FILE: &str = "run.toml";
/// What clients saw.
pub(crate) const TRUTH_FILE: &str = "truth.json";
/// What a run that is kept consists of.
const FILES: [&str; 3] = [TRUTH_FILE, foretell_ati::STORE_FILE, SCENARIO_FILE];

/// A directory that a run is kept in. Nobody else writes into it meanwhile.
pub(crate) struct RunDirectory {
    lock: DirectoryLock,
    /// Whether its scenario is the one that is run.
    own_scenario: bool,
}

impl RunDirectory {
    /// Makes the directory, and clears it of what an earlier run left there, but for the scenario
    /// that is to be run: that is replaced when the new one is there.
    pub(crate) fn prepare(path: &Path, scenario: &Path) -> Result<Self, Failure> {
        let lock = DirectoryLock::take(path)?;
        let same = |old: &Path| matches!((old.canonicalize(), scenario.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let own_scenario = same(&path.join(SCENARIO_FILE));
        for name in FILES {
            let old = path.join(name);
            if own_scenario && name == SCENARIO_FILE {
                continue;
            }
            match fs::remove_file(&old) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Failure::file("replace", &old)(error));
                }
                _ => {}
            }
        }
        Ok(Self { lock, own_scenario })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.lock.path()
    }

    /// What keeps others out.
    pub(crate) fn lock(&self) -> &DirectoryLock {
        &self.lock
    }

    /// Removes what a run that failed has left, as far as possible: nothing may look whole.
    pub(crate) fn discard(&self) {
        for name in FILES {
            if self.own_scenario && name == SCENARIO_FILE {
                continue;
            }
            // the error that led here says more than a second one
            let _ = fs::remove_file(self.path().join(name));
        }
    }

    /// Writes a file of the run, whole or not at all.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<(), Failure> {
        write_whole(&self.path().join(name), content)
    }
}

/// Writes a file under another name and gives it its own when it is whole: whatever happens, there
/// is either what was there before or all of `content`. What is no ordinary file (a pipe, a
/// terminal) is written to as it is.
pub(crate) fn write_whole(path: &Path, content: &str) -> Result<(), Failure> {
    write_bytes(path, content.as_bytes())
}

/// The same of content that is no text.
pub(crate) fn write_bytes(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) {
        fs::create_dir_all(parent).map_err(Failure::file("make the directory", parent))?;
    }
    let failed = Failure::file("write", path);
    if let Ok(there) = fs::metadata(path)
        && !there.is_file()
    {
        return fs::write(path, content).map_err(failed);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    // a link of that name would be written through
    let _ = fs::remove_file(&partial);
    let written = File::create_new(&partial).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&partial, path))
        .inspect_err(|_| drop(fs::remove_file(&partial)))
        .map_err(failed)
}
