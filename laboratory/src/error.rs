//! What can be wrong with a lesson.

use thiserror::Error;

/// Why a text is no lesson, or a file no engine.
#[derive(Debug, Error)]
pub enum LessonError {
    /// A part is missing.
    #[error("`{lesson}` has no {what}; a lesson has {wanted}")]
    Missing {
        /// The lesson's file or name.
        lesson: String,
        /// What there should be.
        what: &'static str,
        /// Where it should be.
        wanted: &'static str,
    },
    /// A block of TOML is wrong.
    #[error("`{lesson}`, the block `toml {block}`: {error}")]
    Toml {
        /// The lesson's file or name.
        lesson: String,
        /// Which block.
        block: &'static str,
        /// What is wrong, with its line.
        error: Box<toml::de::Error>,
    },
    /// The scenario is wrong, at some value of the slider.
    #[error("`{lesson}`, the scenario{with}: {error}")]
    Scenario {
        /// The lesson's file or name.
        lesson: String,
        /// The changes, or nothing.
        with: String,
        /// What is wrong.
        error: String,
    },
    /// A setting of the lesson is wrong.
    #[error("`{lesson}`: {what}")]
    Setting {
        /// The lesson's file or name.
        lesson: String,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// What was given as the engine is none.
    #[error(
        "`{file}` holds no engine: expected a WebAssembly file or a laboratory that `foretell laboratory` made"
    )]
    NoEngine {
        /// The file.
        file: String,
    },
}
