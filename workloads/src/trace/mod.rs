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
//! There is one source file for each format. A format parses one line or one record and does not deal with
//! files, order or compression. If a trace contains several devices, one of them may be chosen; otherwise
//! they share their addresses. To add a format: write its file, and add it to [`Format`] and to `reader.rs`.
//! Not supported: archives of several files (tar, zip); unpack them first.

mod alibaba;
mod blkparse;
mod block_list;
mod csv;
mod decode;
mod device;
mod disksim;
mod error;
mod fields;
mod fio_iolog;
mod foretell;
mod format;
mod input;
mod msr;
#[cfg(test)]
mod mutate;
mod oracle_general;
mod profile;
mod reader;
mod scan;
mod scsi;
mod spc;
mod tencent;
#[cfg(test)]
mod test;
mod vscsi;
mod writer;

pub use error::{BadRecord, Place, TraceError};
pub use format::{Format, UnknownFormat};
pub use input::decompressed;
pub use profile::{Heat, Moments, Profile, Profiler, Reuse, Series, SizeCounts};
pub use reader::{ReadOptions, TraceReader};
pub use scan::{TraceSummary, scan, summarize};
pub use writer::{TraceFile, TraceWriter};
