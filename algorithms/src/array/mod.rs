//! What the controller of a disk array computes: where data lies on its members, what they read and
//! write for a write, what is in its caches, and when written data leaves.
//!
//! Pure, like the software of a node: no times. The simulated array and the one that a prediction
//! replays share it, as both know the array by its level, its members and the sizes of its caches.

mod cache;
mod layout;
mod plan;
mod written;

pub use cache::{Cache, CacheSettings, Missing};
pub use layout::{Layout, Level, Piece, Range};
pub use plan::{Plan, Way};
pub use written::{CacheHits, Destage, Marks, Written};
