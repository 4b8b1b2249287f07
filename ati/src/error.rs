//! What can go wrong with a store, told to people.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "sqlite")]
use foretell_files::FilesError;
use thiserror::Error;

use crate::RecordKind;

/// Why a store could not be written or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {doing} `{path}`: {source}")]
    Io {
        /// What was being done: "create", "write".
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// SQLite refused.
    #[cfg(feature = "sqlite")]
    #[error("cannot {doing} `{path}`: {source}")]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// Its answer.
        source: rusqlite::Error,
    },
    /// The directory or a file in it is not ours to write, or another process has it.
    #[cfg(feature = "sqlite")]
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The caller gave a name or a path twice.
    #[error("{what} `{name}` is given twice among the facts of the run")]
    Repeated {
        /// What kind of thing: "fact", "host".
        what: &'static str,
        /// Its name or path.
        name: String,
    },
    /// There is no store.
    #[error("`{dir}` has no `run.db`; make one with `foretell run SCENARIO -o {dir}`")]
    Missing {
        /// The directory looked into.
        dir: PathBuf,
    },
    /// There is only what a killed run left.
    #[error(
        "`{dir}` has no `run.db`, only `run.db.partial` of a run that was interrupted (or is still \
         going on); run it again"
    )]
    Interrupted {
        /// The directory looked into.
        dir: PathBuf,
    },
    /// The file is something else.
    #[error("`{path}` is not a store of `foretell`: {found}")]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
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
        /// The one that is read.
        known: i32,
        /// What to do.
        remedy: &'static str,
    },
    /// The file is shorter than it says it is.
    #[error(
        "`{path}` is damaged: it should have {expected} bytes and has {found}; was it copied whole?"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes by its own account.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Changes wait beside the store that are not in it yet.
    #[error(
        "`{file}` holds changes that are not in `{path}` yet; close the program that has it open"
    )]
    Unfinished {
        /// The store.
        path: PathBuf,
        /// The file beside it.
        file: PathBuf,
    },
    /// Reading takes more work than a sound store of its size can ask for.
    #[error("`{path}` is damaged: reading `{table}` does not come to an end")]
    Endless {
        /// The file.
        path: PathBuf,
        /// The table, or what else is read.
        table: String,
    },
    /// A row holds what no recorder writes.
    #[error(
        "`{path}` is damaged: in row {row} of `{table}`, `{column}` is {found}; wanted {wanted}"
    )]
    BadRow {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// The row: of a table of records its rowid, of others its place in their order, from 1.
        row: i64,
        /// The column.
        column: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        wanted: &'static str,
    },
    /// The rows of a table do not stand in the order of their rowids.
    #[error("the table `{table}` in `{path}` is damaged: its rows are out of order")]
    Disorder {
        /// The file.
        path: PathBuf,
        /// The table.
        table: RecordKind,
    },
    /// A fact is missing, or not of the kind that it should be.
    #[error("the fact `{path}` should be {wanted}; found {found}")]
    BadFact {
        /// Its path, or the table and column.
        path: String,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: String,
    },
}
