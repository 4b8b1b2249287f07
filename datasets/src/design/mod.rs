//! Designs of experiments: which points of the factors' space are run.
//!
//! A design is a function from the number of a point to its coordinates, so that nothing of it has
//! to be kept, and any part of it can be run anywhere. Coordinates are shares, at least 0 and below
//! 1, but for the full factorial design, whose coordinates are numbers of levels.

mod latin;
mod sobol;

use foretell_units::Seed;

pub use sobol::MOST_DIMENSIONS;

use crate::factor::{Factor, Setting};

/// Candidates that are looked at for points that satisfy the constraints, at the most.
const MOST_CANDIDATES: u64 = 100_000_000;

/// Which points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// Every combination of levels; the first factor varies slowest.
    Full,
    /// Each factor takes each of as many equal strata as there are points once (`latin`).
    LatinHypercube {
        /// How many points, before constraints.
        points: u64,
    },
    /// The first points of the Sobol sequence, moved by a random shift (`sobol`).
    Sobol {
        /// How many points that satisfy the constraints.
        points: u64,
    },
    /// Uniformly at random, each independent of the others.
    Random {
        /// How many points that satisfy the constraints.
        points: u64,
    },
}

impl Design {
    /// As a sweep file names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::LatinHypercube { .. } => "latin-hypercube",
            Self::Sobol { .. } => "sobol",
            Self::Random { .. } => "random",
        }
    }

    /// How many candidates there are, and how many that satisfy the constraints are taken.
    ///
    /// Sequences go on until they have enough points; a share of one in a thousand is the least
    /// that constraints may leave; of very many points, one candidate in fewer.
    pub(crate) fn extent(self, factors: &[Factor]) -> (u64, u64) {
        match self {
            Self::Full => {
                let levels = factors.iter().map(|factor| factor.levels().unwrap_or(1));
                let all = levels.fold(1, u64::saturating_mul);
                (all, all)
            }
            Self::LatinHypercube { points } => (points, points),
            Self::Sobol { points } | Self::Random { points } => {
                (points.saturating_mul(1000).min(MOST_CANDIDATES).max(points), points)
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
