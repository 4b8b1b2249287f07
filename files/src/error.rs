//! Why something is not written, in words for the user.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::MANIFEST;

/// Why a file or directory is not written.
#[derive(Debug, Error)]
pub enum FilesError {
    /// The system refuses.
    #[error("cannot {what} `{}`: {error}", path.display())]
    System {
        /// What was tried.
        what: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Another process holds the lock.
    #[error(
        "another command is writing into `{}`; wait for it, or choose another directory",
        path.display()
    )]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// Another process was faster.
    #[error("cannot write `{}`: another command has written it meanwhile", path.display())]
    Overtaken {
        /// The file.
        path: PathBuf,
    },
    /// A new file is wanted, and something has its name.
    #[error("`{}` is there already, and is left as it is; give another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The directory holds files, and no manifest.
    #[error(
        "`{}` is not empty, and nothing in it says that foretell made it: there is no \
         `{MANIFEST}`{hint}. Nothing was changed; choose another directory",
        path.display()
    )]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// What it looks like, if it looks like something of ours.
        hint: &'static str,
    },
    /// The manifest cannot be trusted.
    #[error(
        "`{}` is not the list of files that foretell writes: {fault}. Nothing was changed; choose \
         another directory",
        path.display()
    )]
    BadManifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// The directory is ours, but another command's.
    #[error(
        "`{}` holds what `foretell {found}` made, which `foretell {wanted}` would replace; choose \
         another directory, or replace it with `--force`",
        path.display()
    )]
    OtherCommand {
        /// The directory.
        path: PathBuf,
        /// The command that made it.
        found: String,
        /// The command that is to write.
        wanted: &'static str,
    },
    /// A file that we did not write stands where we want to.
    #[error("cannot write `{}`: foretell did not make the {found} of that name", path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file of ours was changed by somebody else.
    #[error(
        "`{}` was changed after foretell wrote it ({was} bytes then, {is} now); move it away, or \
         replace it with `--force`",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Bytes when it was written.
        was: u64,
        /// Bytes now.
        is: u64,
    },
    /// Something else stands where a directory is wanted.
    #[error(
        "cannot make the directory `{}`: `{}` is {found}; choose another directory",
        path.display(), at.display()
    )]
    NoDirectory {
        /// The directory.
        path: PathBuf,
        /// What is in the way.
        at: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// What stands there is no ordinary file.
    #[error("cannot write `{}`: {found}; results go to ordinary files", path.display())]
    Special {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: &'static str,
    },
    /// A name that leads elsewhere, or that no file may have.
    #[error("`{name}` cannot be the name of a file in `{}`: {fault}", path.display())]
    Name {
        /// The directory.
        path: PathBuf,
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// What is read would be replaced.
    #[error("`{}` is in the directory that `--force` would replace", path.display())]
    Input {
        /// What is read.
        path: PathBuf,
    },
}

impl FilesError {
    /// For `map_err`: `what` was tried with `path`.
    pub(crate) fn system(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::System { what, path, error }
    }

    /// A directory cannot be made or opened at a path that the user gave. Says what is there instead, if that is the
    /// reason.
    pub(crate) fn not_made(path: &Path, error: io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists) {
            // the nearest thing on the way that is there
            let there = path.ancestors().find_map(|at| Some((at, at.symlink_metadata().ok()?)));
            if let Some((at, _)) = there
                && !at.is_dir()
            {
                let found = match std::fs::metadata(at) {
                    Ok(found) if found.is_file() => "a file",
                    Ok(_) => "a pipe or a device",
                    Err(_) => "a symbolic link that leads nowhere",
                };
                let (path, at) = (path.to_owned(), at.to_owned());
                return Self::NoDirectory { path, at, found };
            }
        }
        Self::system("make the directory", path)(error)
    }

    /// A file of ours cannot be written.
    pub fn cannot_write(path: &Path, error: io::Error) -> Self {
        Self::system("write", path)(error)
    }

    /// Whether the user asked for what cannot be, rather than the system or another process being in
    /// the way.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::System { .. } | Self::Busy { .. } | Self::Overtaken { .. })
    }
}
