//! Request generators, trace formats, trace replay.
//!
//! What clients ask of a volume, as plain data: no simulated time passes here. A time is a field
//! of a [`Request`] or a span drawn from a sampler; the simulator decides what becomes of it.
//!
//! - [`trace`]: readers of real block traces, one file a format, streaming;
//! - [`generate`]: synthetic request streams;
//! - [`arrivals`]: when requests are issued;
//! - [`fio`], [`cosbench`]: job files of fio, workload files of COSBench;
//! - [`results`]: what real benchmarks measured, out of their own files;
//! - [`transaction`]: accesses that follow each other, as benchmarks make them;
//! - [`file_server`]: a cache between a benchmark and the volume;
//! - [`source`]: what a simulated client pulls requests from, generator or trace.

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
