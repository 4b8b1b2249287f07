//! The language of scenarios: what a cluster is made of and what it is asked to do.
//!
//! Text is read into raw structs, checked once into the types of [`model`], and not checked again:
//! whoever holds a [`model::Scenario`] may rely on every name being resolved and every quantity
//! being possible.

mod array_file;
mod change;
mod check;
mod cpu_file;
pub mod curves_file;
pub mod device;
mod device_file;
mod device_named;
pub mod diskspecs;
mod document;
pub mod drive;
pub mod drive_file;
mod effect;
mod error;
mod host_pattern;
mod known;
pub mod model;
mod names;
pub mod outages;
mod overlay;
mod profiles;
mod raw;
mod read;
mod resolve;
mod seek;
mod shape;
mod shipped;
mod source;
mod ssd_file;
mod structure;
mod tree;

pub use change::{Change, ChangeError};
pub use check::TRACE_FORMATS;
pub use document::Document;
pub use effect::Idle;
pub use error::{MOST_ERRORS, ScenarioError, ScenarioErrors};
pub use names::meant;
pub use profiles::ProfileKind;
pub use shape::{Word, schema_text, words, workload_kinds_with};
pub use shipped::{Named, ShippedKind, about, shipped_names, shipped_sweep};
