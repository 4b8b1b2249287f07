//! Reading files that others wrote: what may be opened, and how much is read.
//!
//! A file may be a device that never ends, a pipe that nobody writes to, or ten gigabytes of zeros where
//! a table was meant. Whatever it is, the answer is a message, not a process that has taken all memory.
//! So every reader of the workspace opens its files here, and every limit stands in one place,
//! [`Limit`]. What is only streamed (traces, journals) has no limit as a whole; each of its lines or
//! frames has one.
//!
//! Errors are those of [`std::io`], so that they find their way through any reader; [`is_refusal`] tells
//! those of this crate, which are the input's fault, from those of the system.

mod file;
mod limit;
mod memory;
mod rows;

pub use file::{Limited, bytes, limited, open, text};
pub use limit::{Limit, MOST_CELLS, MOST_COLUMNS, MOST_NAMES, MOST_RECORD};
pub use memory::available_memory;
pub use rows::Rows;

use std::io;

use thiserror::Error;

/// Why a file is not read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// It is a directory.
    #[error("it is a directory; a file is wanted")]
    Directory,
    /// It is a device, a named pipe or a socket.
    #[error("it is {what}; a file is wanted")]
    Special {
        /// `a device`.
        what: &'static str,
    },
    /// There is more of it than is read.
    #[error("it is larger than {}, the most that is read of {}", limit.size(), limit.of())]
    TooLarge {
        /// What may be read.
        limit: Limit,
    },
    /// A row goes on and on.
    #[error(
        "its row {row} is longer than {} MiB; wanted are rows of comma-separated values, each with an end \
         of line", MOST_RECORD >> 20
    )]
    LongRow {
        /// Which, from 1, the heading included.
        row: u64,
    },
    /// A table has more cells than are kept.
    #[error("it has more than {MOST_CELLS} cells, the most that is read of a table")]
    Cells,
    /// A table has more columns than are kept.
    #[error("it has more than {MOST_COLUMNS} columns, the most that is read of a table")]
    Columns,
    /// It is not a text.
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

/// Whether an error is a refusal of this crate: the input is at fault, not the system.
pub fn is_refusal(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.downcast_ref::<Refusal>().is_some())
}
