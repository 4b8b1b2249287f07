//! The language of scenarios: schema, checking, changes.
