//! Algorithms of a storage system itself: cache policies, erasure and cipher codecs, placement, the
//! software of a storage node, I/O schedulers, the decisions of an array's controller. Beside them, the law of arrivals
//! in bursts.
//!
//! The code is pure: it has no clock and no simulation. The simulator and the predictor share this
//! crate, because a system that predicts itself knows its own software.

pub mod array;
pub mod bandwidth;
pub mod bursts;
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
