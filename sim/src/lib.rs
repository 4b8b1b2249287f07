//! The simulated cluster: hosts, devices, network and clients. Its results are the truth with which
//! predictions are compared.
#![cfg_attr(test, allow(clippy::float_cmp, reason = "tests by arithmetic expect exact figures"))]

pub mod agenda;
pub mod batches;
#[cfg(test)]
mod clocks;
mod cluster;
pub mod cpu;
mod creation;
mod demand;
pub mod device;
mod engine;
mod error;
mod event;
mod extent;
pub mod goal;
mod intervals;
pub mod ledger;
pub mod link;
mod load;
mod metrics;
pub mod network;
mod node;
mod outages;
mod payload;
mod program;
mod tally;
mod tracker;
mod transaction;
pub mod truth;
mod truth_outages;
mod truth_scrub;

pub use cluster::{Cluster, Progress};
pub use device::{array, curves, disk, ssd};
pub use error::SimError;
pub use foretell_systems::process;
pub use load::{Drawn, drawn_requests};
