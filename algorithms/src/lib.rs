//! What a storage system itself computes: cache policies, erasure and cipher codecs, placement, the
//! software of a storage node, I/O schedulers, what an array's controller decides.
//!
//! Pure: no clock of its own, no simulation. Truth and predictor share this crate, because a system that
//! predicts itself knows its own software.

pub mod array;
pub mod bandwidth;
pub mod cache;
pub mod codec;
pub mod cores;
pub mod crush;
pub mod distribution;
pub mod io_scheduler;
pub mod message;
pub mod mix;
mod names;
pub mod node;
pub mod placement;
pub mod reuse;
pub mod slab;

pub use mix::mix;
