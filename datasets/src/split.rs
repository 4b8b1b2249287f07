//! Which design points are to learn from, and which to be judged by.
//!
//! The split goes by what a point sets, never by rows: replicates of a point, and points that set
//! the same, are all on one side, or answers would leak.

use sha2::{Digest, Sha256};

use crate::Value;
use crate::expression::Condition;
use crate::factor::Setting;

/// A part of a data set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// To fit models to.
    Train,
    /// To choose between models.
    Validation,
    /// To judge the chosen one.
    Test,
    /// To judge it outside the region that it learned.
    TestExtrapolation,
}

impl Part {
    /// All, in order.
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

/// How points are split.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// Share of the points for validation.
    pub validation: f64,
    /// Share of the points for the test.
    pub test: f64,
    /// Points that only `test_extrapolation` has.
    pub extrapolation: Option<Condition>,
}

impl Default for Split {
    /// A tenth each for validation and test.
    fn default() -> Self {
        Self { validation: 0.1, test: 0.1, extrapolation: None }
    }
}

impl Split {
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
