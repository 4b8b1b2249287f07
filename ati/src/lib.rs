//! Activity tracking: record types, recorder, SQLite store, queries.
