//! fio's own files: job files, and the requests of their jobs.
//!
//! Source: fio's HOWTO (3.3x). A job file is read as fio reads it, as far as it determines the
//! requests and their times. Anything unsupported is an error that names it, and is never ignored.
//! Keys without effect here (where output goes, how memory is filled, which engine submits requests)
//! are known by name and accepted, some of them only with certain values; see `keys`.

pub mod ini;
pub mod job;
mod keys;
pub mod quantity;
mod requests;
mod shuffle;

pub use ini::FioError;
pub use job::{Distribution, Job, JobFile, Order, SizeMix};
pub use requests::JobRequests;
pub use shuffle::Shuffle;
