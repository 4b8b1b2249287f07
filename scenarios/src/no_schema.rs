//! Empty replacements for schemars in builds that derive no schema.
//!
//! The schema is derived only in tests (`schema.rs`), by schemars, and kept as `schema.json`.
//! Elsewhere these items replace the names of schemars.

use std::borrow::Cow;

/// Replaces the trait of types with a schema.
pub(crate) trait JsonSchema {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Replaces a schema.
pub(crate) struct Schema;

impl Schema {
    #[expect(clippy::unused_self, reason = "as schemars has it")]
    pub(crate) fn insert(&mut self, _: String, _: serde_json::Value) {}
}

/// Replaces the function that gives a table a key of another.
pub(crate) fn take_property(_: &mut Schema, _: Schema, _: &str, _: &str) {}

/// Replaces the function that makes keys of a table optional.
pub(crate) fn make_partial(_: &mut Schema, _: &[&str]) {}

/// Replaces the generator of schemas.
pub(crate) struct SchemaGenerator;

/// Replaces a literal schema.
macro_rules! json_schema {
    ($($schema:tt)*) => {
        $crate::Schema
    };
}
pub(crate) use json_schema;
