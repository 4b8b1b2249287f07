//! Results of real benchmarks, read from their own files.

pub mod fio;
