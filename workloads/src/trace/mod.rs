//! Real block traces: their formats, as streams of requests.
//!
//! ```no_run
//! use foretell_workloads::trace::{ReadOptions, TraceReader};
//!
//! let trace = TraceReader::open("disk.csv.zst".as_ref(), &ReadOptions::default())?;
//! for request in trace {
//!     println!("{:?}", request?);
//! }
//! # Ok::<(), foretell_workloads::trace::TraceError>(())
//! ```
//!
//! One file a format; a format reads one line or one record and knows nothing of files, order or
//! compression. To add one: write its file, add it to [`Format`] and to `reader.rs`. Not read:
//! archives of several files (tar, zip); unpack them first.

mod block_list;
mod csv;
mod decode;
mod error;
mod fields;
mod format;
mod input;
#[cfg(test)]
mod mutate;
mod oracle_general;
mod reader;
mod scan;
mod scsi;
#[cfg(test)]
mod test;
mod vscsi;

pub use error::{BadRecord, Place, TraceError};
pub use format::{Format, UnknownFormat};
pub use reader::{ReadOptions, TraceReader};
pub use scan::{TraceSummary, scan, summarize};
