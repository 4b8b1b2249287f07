//! What raw structs say of their schema, where no schema is derived: nothing.
//!
//! The schema is derived in tests alone (`schema.rs`), by schemars, and kept as `schema.json`. Elsewhere these
//! take the place of schemars' names.

use std::borrow::Cow;

/// Stands in for what has a schema.
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

/// Stands in for a schema.
pub(crate) struct Schema;

impl Schema {
    #[expect(clippy::unused_self, reason = "as schemars has it")]
    pub(crate) fn insert(&mut self, _: String, _: serde_json::Value) {}
}

/// Stands in for what makes keys of a table optional.
pub(crate) fn make_partial(_: &mut Schema, _: &[&str]) {}

/// Stands in for what makes schemas.
pub(crate) struct SchemaGenerator;

/// Stands in for a schema that is written out.
macro_rules! json_schema {
    ($($schema:tt)*) => {
        $crate::Schema
    };
}
pub(crate) use json_schema;
