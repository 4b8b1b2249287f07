//! The language of scenarios: a cluster's components and its load.
//!
//! Text is read into raw structs, checked once into the types of [`model`], and not checked again.
//! In a [`model::Scenario`], every name is resolved and every quantity is possible.

// schemas are derived only in tests; elsewhere this crate's own names replace those of schemars
#[cfg(not(test))]
extern crate self as schemars;

mod change;
mod check;
mod cpu_file;
pub mod device;
mod device_named;
pub mod diskspecs;
mod document;
pub mod drive;
mod effect;
mod error;
mod host_pattern;
mod known;
pub mod model;
mod names;
pub mod outages;
mod overlay;
mod plain_toml;
mod profiles;
#[cfg_attr(
    not(test),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "for the schema, which tests derive"
    )
)]
mod raw;
mod read;
mod resolve;
#[cfg_attr(not(test), allow(dead_code, reason = "for the schema, which tests derive"))]
#[cfg_attr(not(test), path = "no_schema.rs")]
mod schema;
mod scrub;
mod seek;
mod shape;
mod shipped;
mod source;
mod structure;
mod system;
mod tree;

#[cfg(not(test))]
use foretell_no_schema::JsonSchema;
#[cfg(not(test))]
use schema::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub use change::{Change, ChangeError};
pub use check::TRACE_FORMATS;
pub use device::{curves_file, drive_file};
pub use document::Document;
pub use effect::Idle;
pub use error::{MAX_ERRORS, ScenarioError, ScenarioErrors};
pub use names::meant;
pub use plain_toml::in_plain_words;
pub use profiles::ProfileKind;
pub use shape::{Word, schema_text, words, workload_kinds_with};
pub use shipped::{INSIDE_OUT, Named, ShippedKind, about, shipped_names, shipped_sweep};
