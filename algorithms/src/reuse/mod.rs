//! Reuse distances, and from them the hit rate of an LRU cache of every size at once.
//!
//! The reuse distance (stack distance) of a reference is the number of distinct objects referenced
//! since the last reference to the same object. An LRU cache of s unit-size objects hits exactly if
//! the distance is less than s (Mattson, Gecsei, Slutz & Traiger 1970). So the distribution of
//! distances gives the hit rate at all sizes.
//!
//! [`ReuseDistances`] is exact; [`SampledReuse`] follows a sample of the objects, for long traces
//! or little memory. `touch` is for references that only change recency, such as writes if only the
//! hits of reads are wanted.

mod curve;
mod exact;
mod recency;
mod sampled;

pub use curve::HitCurve;
pub use exact::ReuseDistances;
pub use sampled::SampledReuse;

#[cfg(test)]
mod tests;
