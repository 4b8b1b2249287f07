//! The simulated cluster: ground truth.
#![cfg_attr(test, allow(clippy::float_cmp, reason = "tests by arithmetic expect exact figures"))]

pub mod address;
pub mod agenda;
pub mod batches;
pub mod buffer;
pub mod cpu;
pub mod disk;
pub mod ledger;
pub mod link;
pub mod network;
pub mod read_ahead;
pub mod slab;
