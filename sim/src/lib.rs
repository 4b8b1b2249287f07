//! The simulated cluster: ground truth.

pub mod agenda;
pub mod cpu;
pub mod disk;
pub mod ledger;
pub mod link;
