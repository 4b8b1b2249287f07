//! Designs of experiments: the points of the factors' space that are run.
//!
//! A design is a function from the number of a point to its coordinates. So none of it has to be
//! stored, and any part of it can be run anywhere. Coordinates are shares, at least 0 and below 1,
//! except in the full factorial design, where they are indexes of levels.

mod latin;
mod sobol;

use foretell_units::Seed;

pub use sobol::MAX_DIMENSIONS;

use crate::factor::{Factor, Setting};

/// Maximum number of candidates that are tried to find points that satisfy the constraints.
const MAX_CANDIDATES: u64 = 100_000_000;

/// The choice of points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// Every combination of levels; the first factor varies slowest.
    Full,
    /// Every factor is divided into as many equal strata as there are points; each stratum has one
    /// point (`latin`).
    LatinHypercube {
        /// Number of points, before constraints.
        points: u64,
    },
    /// The first points of the Sobol sequence, with a random digital shift (`sobol`).
    Sobol {
        /// Number of points that satisfy the constraints.
        points: u64,
    },
    /// Uniformly at random, each independent of the others.
    Random {
        /// Number of points that satisfy the constraints.
        points: u64,
    },
}

impl Design {
    /// Its name in a sweep file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::LatinHypercube { .. } => "latin-hypercube",
            Self::Sobol { .. } => "sobol",
            Self::Random { .. } => "random",
        }
    }

    /// The number of candidates, and the number of points that satisfy the constraints and are
    /// taken.
    ///
    /// Sequences continue until they have enough points. Constraints must leave at least one in a
    /// thousand candidates; with very many points, a larger share, as the number of candidates is
    /// limited.
    pub(crate) fn extent(self, factors: &[Factor]) -> (u64, u64) {
        match self {
            Self::Full => {
                let levels = factors.iter().map(|factor| factor.levels().unwrap_or(1));
                let all = levels.fold(1, u64::saturating_mul);
                (all, all)
            }
            Self::LatinHypercube { points } => (points, points),
            Self::Sobol { points } | Self::Random { points } => {
                (points.saturating_mul(1000).min(MAX_CANDIDATES).max(points), points)
            }
        }
    }

    /// Candidate `index`: a setting for each factor.
    pub(crate) fn candidate(self, index: u64, factors: &[Factor], seed: Seed) -> Vec<Setting> {
        let drawn = |share: &dyn Fn(usize) -> f64| {
            factors.iter().enumerate().map(|(number, factor)| factor.at(share(number))).collect()
        };
        match self {
            Self::Full => {
                let mut rest = index;
                let mut settings: Vec<Setting> = factors
                    .iter()
                    .rev()
                    .map(|factor| {
                        let levels = factor.levels().unwrap_or(1).max(1);
                        let setting = factor.level(rest % levels);
                        rest /= levels;
                        setting
                    })
                    .collect();
                settings.reverse();
                settings
            }
            Self::LatinHypercube { points } => {
                drawn(&|number| latin::share(index, points, &factors[number].name, seed))
            }
            Self::Sobol { .. } => {
                drawn(&|number| sobol::share(index as u32, number, &factors[number].name, seed))
            }
            Self::Random { .. } => drawn(&|number| {
                seed.child(index).stream(&format!("design/random/{}", factors[number].name)).unit()
            }),
        }
    }
}
