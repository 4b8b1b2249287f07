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
    #[error("`{lesson}`, the block `toml {block}`: {error}")]
    Toml {
        /// The lesson's file or name.
        lesson: String,
        /// The block.
        block: &'static str,
        /// The error, with its line.
        error: Box<toml::de::Error>,
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
