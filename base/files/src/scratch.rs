//! A scratch directory among the system's temporary files.

use std::path::Path;

use tempfile::TempDir;

use crate::FilesError;
use crate::abandon::Entered;

/// A directory that is removed, with all its content, when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    _entered: Entered,
}

impl Scratch {
    /// Creates one that no other user can access.
    pub fn new() -> Result<Self, FilesError> {
        let place = std::env::temp_dir();
        let (dir, entered) = Entered::made(|| {
            let dir = tempfile::Builder::new().prefix("foretell-").tempdir_in(&place);
            let dir = dir.map_err(FilesError::system("make a directory in", &place))?;
            let path = dir.path().to_owned();
            let removal = move || {
                // it is ours alone; if this fails, what stays does no harm
                let _ = std::fs::remove_dir_all(path);
            };
            Ok((dir, removal))
        })?;
        Ok(Self { dir, _entered: entered })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}
