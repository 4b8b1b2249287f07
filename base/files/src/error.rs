//! The reasons why something is not written, in words for the user.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::MANIFEST;

/// The reason why a file or directory is not written.
#[derive(Debug, Error)]
pub enum FilesError {
    /// The system reported an error.
    #[error("cannot {what} `{}`: {error}", path.display())]
    System {
        /// The operation.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
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
    /// A new file is required, but its name exists.
    #[error("`{}` is there already, and is left as it is; give another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The existing file is of another kind than those that the command writes.
    #[error(
        "`{}` is there already, is not {what}, and is left as it is; give another name, or remove it first",
        path.display()
    )]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What the command writes.
        what: &'static str,
    },
    /// The output is one of the files that the command reads.
    #[error("`{}` is read by this command, and is left as it is; give another name for the output", path.display())]
    IsInput {
        /// The file.
        path: PathBuf,
    },
    /// The directory contains files but no manifest.
    #[error(
        "`{}` is not empty, and nothing in it says that foretell made it: there is no \
         `{MANIFEST}`{hint}. Nothing was changed; choose another directory",
        path.display()
    )]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// A hint, if the directory resembles one of ours.
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
        /// The error.
        fault: String,
    },
    /// The directory is ours, but belongs to another command.
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
        /// The command that wants to write.
        wanted: &'static str,
    },
    /// A file that we did not write has the name.
    #[error("cannot write `{}`: foretell did not make the {found} of that name", path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
        /// Its type.
        found: &'static str,
    },
    /// A file of ours was changed by someone else.
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
    /// A directory is needed, but something else has its name.
    #[error(
        "cannot make the directory `{}`: `{}` is {found}; choose another directory",
        path.display(), at.display()
    )]
    NoDirectory {
        /// The directory.
        path: PathBuf,
        /// The path of the obstacle.
        at: PathBuf,
        /// Its type.
        found: &'static str,
    },
    /// The existing entry is not an ordinary file.
    #[error("cannot write `{}`: {found}; results go to ordinary files", path.display())]
    Special {
        /// The file.
        path: PathBuf,
        /// Its type.
        found: &'static str,
    },
    /// A name that leads outside, or that is invalid for a file.
    #[error("`{name}` cannot be the name of a file in `{}`: {fault}", path.display())]
    Name {
        /// The directory.
        path: PathBuf,
        /// The name.
        name: String,
        /// The error.
        fault: &'static str,
    },
    /// An input would be replaced.
    #[error("`{}` is in the directory that `--force` would replace", path.display())]
    Input {
        /// The input.
        path: PathBuf,
    },
}

impl FilesError {
    /// For `map_err`: `what` was attempted with `path`.
    pub(crate) fn system(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::System { what, path, error }
    }

    /// A directory cannot be created or opened at a path given by the user. The error names an obstacle, if that is
    /// the reason.
    pub(crate) fn not_made(path: &Path, error: io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists) {
            // the nearest existing entry on the path
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

    /// Whether the user requested something impossible, as opposed to an obstacle from the system or another
    /// process.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::System { .. } | Self::Busy { .. } | Self::Overtaken { .. })
    }
}
