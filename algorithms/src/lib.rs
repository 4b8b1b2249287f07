//! What a storage system itself computes: cache policies, erasure and cipher codecs, placement.
//!
//! Pure: no clock, no simulation. Truth and predictor share this crate, because a system that
//! predicts itself knows its own software.

pub mod cache;
pub mod codec;
pub mod distribution;
mod mix;
mod names;
pub mod placement;
pub mod reuse;
