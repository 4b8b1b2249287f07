//! The laboratory: lessons about storage clusters, in one HTML file that needs no network.
//!
//! A lesson is Markdown with a scenario ([`Lesson`]); eight are shipped ([`shipped`]). The page carries the engine
//! ([`Engine`]), which is `foretell-core` as WebAssembly. The engine simulates the slider's setting, while the
//! page shows requests on their way, a law, and the measurement beside it.
//!
//! Left out: the engine itself (`web/`), which is built for another compiler target.

mod base85;
mod engine;
mod error;
mod formula;
mod lesson;
mod markdown;
mod packed;
mod page;
mod shipped;

pub use engine::Engine;
pub use error::LessonError;
pub use formula::{Formula, FormulaError};
pub use lesson::Lesson;
pub use page::page;
pub use shipped::{scenario_of, shipped, shipped_names, shipped_text};
