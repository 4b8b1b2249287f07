//! The engine of pages: runs and questions, JSON in and out.
//!
//! A page, or Node, sends a request as JSON and gets the same document that the command prints with `--json`:
//!
//! ```json
//! { "do": "run", "scenario": "first-look", "set": ["duration=10 s"] }
//! { "do": "ask", "what_if": ["volume.mail.encoding=3-of-5"], "model": "auto" }
//! { "do": "film" }
//! { "do": "quantiles", "workload": "mail", "count": 1000 }
//! ```
//!
//! A scenario is the name of a shipped one, or its TOML. A question is about the last run, whose records are
//! in memory. There is no clock: `wall_seconds` is 0.
//!
//! Compiled for `wasm32-unknown-unknown`, the crate has a plain C interface (`exports.rs`). A few functions
//! are easier to maintain than generated glue, and need no tool of a matching version.

mod animation;
#[cfg(target_family = "wasm")]
mod exports;
mod request;

pub use request::Engine;
