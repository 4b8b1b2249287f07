//! Estimates the performance of a mixed load from a few measured points.
//!
//! Source: Ra and Lee, "Fighting with Unknowns", whose rule is [`ConstantCapacity`]. The rule holds
//! while reads and writes wait for the same resource. Otherwise [`Bottleneck`] learns the deviation
//! from mixed points, or from the operator's knowledge, and [`warnings`] warns of it beforehand.

mod bottleneck;
mod circuit;
mod knowledge;
mod plain;
mod point;
mod rest;
mod survey;
mod warning;

pub use bottleneck::{Bottleneck, Estimate, Z95};
pub use knowledge::{Knowledge, Links, Overload, WritePath};
pub use plain::{ConstantCapacity, Throughput, total_of_sizes};
pub use point::{Point, ReadShare};
pub use survey::{Fault, Measured, Series, SizePoints, Survey};
pub use warning::{Warning, warnings};
