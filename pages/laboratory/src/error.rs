//! Errors of lessons and engines.

use thiserror::Error;

/// The reason why a text is not a lesson, or a file not an engine.
#[derive(Debug, Error)]
pub enum LessonError {
    /// A part is missing.
    #[error("`{lesson}` has no {what}; a lesson has {wanted}")]
    Missing {
        /// The lesson's file or name.
        lesson: String,
        /// The missing part.
        what: &'static str,
        /// The place where it should be.
        wanted: &'static str,
    },
    /// A block of TOML is wrong.
    #[error("`{lesson}`, the block {error}")]
    Toml {
        /// The lesson's file or name.
        lesson: String,
        /// The error, with the block and the line in it: `toml lesson:3:1: ...`.
        error: String,
    },
    /// The scenario is wrong at some value of the slider.
    #[error("`{lesson}`, the scenario{with}: {error}")]
    Scenario {
        /// The lesson's file or name.
        lesson: String,
        /// The changes, if any.
        with: String,
        /// The error.
        error: String,
    },
    /// A setting of the lesson is wrong.
    #[error("`{lesson}`: {what}")]
    Setting {
        /// The lesson's file or name.
        lesson: String,
        /// The fault, and the expected value.
        what: String,
    },
    /// The file given as the engine is not an engine.
    #[error(
        "`{file}` holds no engine: expected a WebAssembly file or a laboratory that `foretell laboratory` made"
    )]
    NoEngine {
        /// The file.
        file: String,
    },
}
