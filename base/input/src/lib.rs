//! Reads files written by others: it limits which files may be opened, and how much is read, and makes their text safe
//! to show ([`one_line`]) and to write ([`toml_string`]).
//!
//! A file may be a device that never ends, a pipe without a writer, or ten gigabytes of zeros in
//! place of a table. The result must always be a message, not a process that has taken all memory. So
//! every reader of the workspace opens its files here, and all limits are in one place, [`Limit`]. Files
//! that are only streamed (traces, journals) have no limit as a whole; each of their lines or frames has
//! one.
//!
//! Errors are [`std::io`] errors, so that they pass through any reader. [`is_refusal`] distinguishes
//! this crate's errors, which are the input's fault, from those of the system.

mod fault;
mod file;
mod foreign;
mod limit;
mod memory;
mod rows;

pub use fault::json_fault;
pub use file::{Limited, bytes, limited, open, text};
pub use foreign::{
    is_control_or_bidi, json_escaped, one_line, printable, printable_in_place, shown, toml_string,
};
pub use limit::{Limit, MAX_CELLS, MAX_COLUMNS, MAX_NAMES, MAX_RECORD};
pub use memory::available_memory;
pub use rows::Rows;

use std::io;

use thiserror::Error;

/// The reason why a file is not read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// It is a directory.
    #[error("it is a directory; expected a file")]
    Directory,
    /// It is a device, a named pipe or a socket.
    #[error("it is {what}; expected a file")]
    Special {
        /// The kind of file: `a device`.
        what: &'static str,
    },
    /// It is larger than the limit.
    #[error("it is larger than {}, the maximum for {}", limit.size(), limit.of())]
    TooLarge {
        /// The limit.
        limit: Limit,
    },
    /// A row is too long.
    #[error(
        "its row {row} is longer than {} MiB; expected rows of comma-separated values, each with an end \
         of line", MAX_RECORD >> 20
    )]
    LongRow {
        /// Number of the row, from 1, including the heading.
        row: u64,
    },
    /// A table has more cells than can be kept.
    #[error("it has more than {MAX_CELLS} cells, the maximum for a table")]
    Cells,
    /// A table has more columns than can be kept.
    #[error("it has more than {MAX_COLUMNS} columns, the maximum for a table")]
    Columns,
    /// It is not valid text.
    #[error("it is not UTF-8 text")]
    NotText,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::Directory => io::ErrorKind::IsADirectory,
            Refusal::Special { .. } => io::ErrorKind::Unsupported,
            Refusal::TooLarge { .. }
            | Refusal::LongRow { .. }
            | Refusal::Cells
            | Refusal::Columns => io::ErrorKind::FileTooLarge,
            Refusal::NotText => io::ErrorKind::InvalidData,
        };
        Self::new(kind, refusal)
    }
}

/// Whether an error is a refusal of this crate, that is, the fault of the input and not of the system.
pub fn is_refusal(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.downcast_ref::<Refusal>().is_some())
}
