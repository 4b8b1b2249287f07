//! The software of a disk array's controller: where data lie on its members, what they read and
//! write for a write, what its caches hold, when written data are destaged, and in which order
//! operations go through it.
//!
//! The code is pure, like the software of a node: it has no clock. The simulated array and the
//! predicted one share it, because both know the array by its level, its members and its cache
//! sizes.

mod cache;
mod controller;
mod jobs;
mod layout;
mod plan;
mod written;

pub use cache::CacheSettings;
pub use controller::{Controller, Hardware, WriteCacheSettings};
pub use jobs::{Jobs, Phase};
pub use layout::{Layout, Level, Piece, Range};
pub use plan::{Plan, Way};
pub use written::{CacheHits, Destage};
