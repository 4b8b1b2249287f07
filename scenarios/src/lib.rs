//! The language of scenarios: what a cluster is made of and what it is asked to do.
//!
//! Text is read into raw structs, checked once into the types of [`model`], and not checked again:
//! whoever holds a [`model::Scenario`] may rely on every name being resolved and every quantity
//! being possible.

pub mod device;
pub mod diskspecs;
pub mod drive;
pub mod drive_file;
pub mod model;
