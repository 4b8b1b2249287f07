//! The split of design points into training, validation and test.
//!
//! The split depends on the settings of a point, never on rows. Replicates of a point, and points
//! with equal settings, are all in the same part; otherwise the test would leak into training.

use sha2::{Digest, Sha256};

use crate::Value;
use crate::expression::Condition;
use crate::factor::Setting;

/// A part of a data set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// For fitting models.
    Train,
    /// For choosing between models.
    Validation,
    /// For judging the chosen model.
    Test,
    /// For judging it outside the region that it learned from.
    TestExtrapolation,
}

impl Part {
    /// All parts, in order.
    pub const ALL: [Self; 4] = [Self::Train, Self::Validation, Self::Test, Self::TestExtrapolation];

    /// The name of the split.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
            Self::TestExtrapolation => "test_extrapolation",
        }
    }
}

/// The split of the points.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// Share of the points for validation.
    pub validation: f64,
    /// Share of the points for the test.
    pub test: f64,
    /// Condition of the points that are only in `test_extrapolation`.
    pub extrapolation: Option<Condition>,
}

/// Minimum number of design points that are split unless the sweep file asks for it. Of fewer, a tenth is too few to
/// choose a model by, or to judge it.
pub const FEWEST_SPLIT: u64 = 100;

impl Default for Split {
    /// A tenth each for validation and test.
    fn default() -> Self {
        Self { validation: 0.1, test: 0.1, extrapolation: None }
    }
}

impl Split {
    /// All points for fitting models.
    pub const NONE: Self = Self { validation: 0.0, test: 0.0, extrapolation: None };

    /// The split of a sweep that asks for none: of few design points, all are for fitting models.
    pub fn usual(points: u64) -> Self {
        if points < FEWEST_SPLIT { Self::NONE } else { Self::default() }
    }

    /// The split in words.
    pub fn described(&self) -> String {
        let mut parts = Vec::new();
        for (name, share) in [(Part::Validation, self.validation), (Part::Test, self.test)] {
            if share > 0.0 {
                parts.push(format!("{} {} %", name.name(), 100.0 * share));
            }
        }
        let mut text = if parts.is_empty() {
            "none: all design points are in `train`".to_owned()
        } else {
            format!("{} of the design points, by a hash of what they set", parts.join(", "))
        };
        if let Some(condition) = &self.extrapolation {
            text = format!("{text}; test_extrapolation: `{}`", condition.text());
        }
        text
    }

    /// The part that a point belongs to.
    pub fn part(&self, settings: &[Setting], seed: u64) -> Part {
        let values: Vec<&Value> = settings.iter().map(|setting| &setting.value).collect();
        if self.extrapolation.as_ref().is_some_and(|condition| condition.holds(&values)) {
            return Part::TestExtrapolation;
        }
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        for value in values {
            hash.update(value.to_string());
            hash.update([0]);
        }
        let first: [u8; 8] = std::array::from_fn({
            let digest = hash.finalize();
            move |byte| digest[byte]
        });
        let share = (u64::from_le_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64;
        if share < self.test {
            Part::Test
        } else if share < self.test + self.validation {
            Part::Validation
        } else {
            Part::Train
        }
    }
}
