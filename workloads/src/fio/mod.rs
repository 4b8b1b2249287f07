//! fio's own files: job files, and the requests that its jobs make.
//!
//! Source: fio's HOWTO (3.3x). A job file is read as fio reads it, as far as it says what is
//! requested when; what is not understood is an error that names it, never ignored. Keys that change
//! nothing here (where output goes, how memory is filled, which engine hands requests over) are known
//! by name and accepted; see [`job`].

pub mod ini;
pub mod job;
pub mod quantity;
mod requests;
mod shuffle;

pub use ini::FioError;
pub use job::{Distribution, Job, JobFile, Order, SizeMix};
pub use requests::JobRequests;
pub use shuffle::Shuffle;
