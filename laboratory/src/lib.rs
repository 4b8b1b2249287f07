//! The laboratory: lessons about storage clusters, in one HTML file that needs no network.
//!
//! A lesson is Markdown with a scenario ([`Lesson`]); eight come with the program ([`shipped`]). The page carries
//! the engine ([`Engine`]), `foretell-core` as WebAssembly, which simulates what a slider is set to while the page
//! shows requests on their way, a law and what was measured beside it.
//!
//! Left out: the engine itself (`web/`), which another compiler target builds.

mod base85;
mod engine;
mod error;
mod formula;
mod lesson;
mod markdown;
mod page;
mod shipped;

pub use engine::Engine;
pub use error::LessonError;
pub use formula::{Formula, FormulaError};
pub use lesson::Lesson;
pub use page::page;
pub use shipped::{scenario_of, shipped, shipped_names, shipped_text};
