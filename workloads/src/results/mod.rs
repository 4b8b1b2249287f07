//! Results of real benchmarks: what they measured, out of their own files.

pub mod fio;
