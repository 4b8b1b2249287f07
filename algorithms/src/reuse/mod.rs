//! Reuse distances, and from them the hit ratio of an LRU cache of every size at once.
//!
//! The reuse distance (stack distance) of a reference is the number of different objects referred
//! to since the last reference to the same one. An LRU cache of s unit-size objects hits exactly
//! where the distance is less than s (Mattson, Gecsei, Slutz & Traiger 1970), so the distribution
//! of distances is the hit ratio at all sizes.
//!
//! [`ReuseDistances`] is exact; [`SampledReuse`] follows a sample of the objects, for long traces
//! or little memory. A reference that only changes recency, such as a write where hits of reads
//! are asked for, is told with `touch`.

mod curve;
mod exact;
mod recency;
mod sampled;

pub use curve::HitCurve;
pub use exact::ReuseDistances;
pub use sampled::SampledReuse;

#[cfg(test)]
mod tests;
