//! Request generators, trace formats, trace replay.
//!
//! Clients' requests to a volume, as plain data: no simulated time passes here. A time is a field
//! of a [`Request`] or a span drawn from a sampler; the simulator decides how it is used.
//!
//! - [`trace`]: streaming readers of real block traces, one source file for each format;
//! - [`generate`]: synthetic request streams;
//! - [`arrivals`]: times of issue;
//! - [`fio`], [`cosbench`]: job files of fio, workload files of COSBench;
//! - [`results`]: measurements of real benchmarks, read from their own files;
//! - [`transaction`]: dependent accesses, one after the other, as benchmarks make them;
//! - [`file_server`]: a cache between a benchmark and the volume;
//! - [`source`]: the interface from which a simulated client pulls requests, for generators and
//!   traces.

pub mod access;
pub mod altered;
pub mod arrivals;
#[cfg(test)]
mod chi_square;
pub mod cosbench;
pub mod file_server;
pub mod fio;
pub mod generate;
pub mod results;
pub mod source;
pub mod trace;
pub mod transaction;

pub use access::{Access, Request};
pub use foretell_units::Op;
