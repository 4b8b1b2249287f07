//! Errors of a store, in readable words.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "sqlite")]
use foretell_files::FilesError;
use thiserror::Error;

use crate::RecordKind;

/// The reason why a store could not be written or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file system reported an error.
    #[error("cannot {doing} `{path}`: {source}")]
    Io {
        /// The operation: "create", "write".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Its error.
        source: io::Error,
    },
    /// SQLite reported an error.
    #[cfg(feature = "sqlite")]
    #[error("cannot {doing} `{path}`: {source}")]
    Sql {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Its error.
        source: rusqlite::Error,
    },
    /// The directory or a file in it is not ours to write, or another process is using it.
    #[cfg(feature = "sqlite")]
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The caller gave a name or a path twice.
    #[error("{what} `{name}` is given twice among the facts of the run")]
    Repeated {
        /// The kind of thing: "fact", "host".
        what: &'static str,
        /// Its name or path.
        name: String,
    },
    /// There is no store.
    #[error(
        "`{dir}` has no `run.db`; make one with `foretell run SCENARIO -o DIR`, and name that directory"
    )]
    Missing {
        /// The directory that was searched.
        dir: PathBuf,
    },
    /// There is only the file of a run that was killed.
    #[error(
        "`{dir}` has no `run.db`, only `run.db.partial` of a run that was interrupted (or is still \
         going on); run it again"
    )]
    Interrupted {
        /// The directory that was searched.
        dir: PathBuf,
    },
    /// The file is not a store.
    #[error("`{path}` is not a `run.db` of `foretell`: {found}")]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// The actual kind of file.
        found: String,
    },
    /// The file has a schema of another version.
    #[error(
        "`{path}` has schema version {found}, and this version of `foretell` reads {known}; \
         {remedy}"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i32,
        /// The version that can be read.
        known: i32,
        /// The remedy.
        remedy: &'static str,
    },
    /// The file is shorter than its header states.
    #[error(
        "`{path}` is damaged: it should have {expected} bytes and has {found}; was it copied whole?"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Number of bytes stated in the header.
        expected: u64,
        /// Actual number of bytes.
        found: u64,
    },
    /// A file beside the store contains changes that are not in the store yet.
    #[error(
        "`{file}` holds changes that are not in `{path}` yet; close the program that has it open"
    )]
    Unfinished {
        /// The store.
        path: PathBuf,
        /// The file with the changes.
        file: PathBuf,
    },
    /// Reading takes more work than a valid store of its size could require.
    #[error("`{path}` is damaged: reading `{table}` does not come to an end")]
    Endless {
        /// The file.
        path: PathBuf,
        /// The table, or other data that is read.
        table: String,
    },
    /// A row contains a value that no recorder writes.
    #[error(
        "`{path}` is damaged: in row {row} of `{table}`, `{column}` is {found}; wanted {wanted}"
    )]
    BadRow {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// The row: its rowid in a table of records, its position from 1 in other tables.
        row: i64,
        /// The column.
        column: &'static str,
        /// The value.
        found: String,
        /// The expected values.
        wanted: &'static str,
    },
    /// The rows of a table are not in the order of their rowids.
    #[error("the table `{table}` in `{path}` is damaged: its rows are out of order")]
    Disorder {
        /// The file.
        path: PathBuf,
        /// The table.
        table: RecordKind,
    },
    /// A fact is missing, or has the wrong type.
    #[error("the fact `{path}` should be {wanted}; found {found}")]
    BadFact {
        /// The path of the fact, or the table and column.
        path: String,
        /// The expected value.
        wanted: &'static str,
        /// The value found.
        found: String,
    },
}
