//! The performance of a mixed load from few measured points: points in, models out.
//!
//! Source: Ra and Lee, "Fighting with Unknowns", whose rule is
//! [`ConstantCapacity`]. The rule holds while reads and writes wait for the same resource; where they
//! do not, [`Bottleneck`] learns from mixed points, or from what the operator knows, by how much it
//! fails, and [`doubts`] says so beforehand.

mod bottleneck;
mod circuit;
mod doubt;
mod knowledge;
mod plain;
mod point;
mod rest;
mod survey;

pub use bottleneck::{Bottleneck, Estimate, Z95};
pub use doubt::{Doubt, doubts};
pub use knowledge::{Knowledge, Links, WritePath};
pub use plain::{ConstantCapacity, Throughput, total_of_sizes};
pub use point::{Point, ReadShare};
pub use survey::{Fault, Measured, Series, SizePoints, Survey};
