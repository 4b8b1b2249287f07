//! The order in which blocks are addressed.

use foretell_units::{Bytes, Stream};

use super::{GenerateError, Zipf};

/// An order of addresses. Blocks have the size of an access and lie side by side from the beginning
/// of the working set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// Consecutive blocks, from the beginning again after the end.
    Sequential,
    /// Uniformly at random.
    Random,
    /// Random by Zipf's law; block 0 is the most popular, then block 1, and so on.
    Zipf {
        /// The exponent, from 0 (uniform) to [`ZIPF_ALPHA_MAX`](super::ZIPF_ALPHA_MAX).
        alpha: f64,
    },
    /// Some blocks, the first ones, get a disproportionate share of the accesses. Accesses are
    /// uniform among hot blocks, and among cold ones.
    HotCold {
        /// Fraction of the blocks that are hot, above 0 and below 1; at least one block is hot and
        /// at least one cold.
        fraction: f64,
        /// Share of the accesses that go to hot blocks, 0 to 1.
        share: f64,
    },
    /// Always one step further. After the end, it begins again one block after its previous
    /// beginning, so that every block is visited once before any is visited twice.
    Strided {
        /// Distance from the beginning of an access to that of the next: a multiple of the access
        /// size, less than the working set.
        step: Bytes,
    },
}

/// The state of a pattern over a number of blocks.
#[derive(Clone, Debug)]
pub struct Addresses {
    blocks: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// The next block.
    Sequential(u64),
    Random,
    Zipf(Zipf),
    /// Blocks below `hot` are hot.
    HotCold {
        hot: u64,
        share: f64,
    },
    Strided {
        step: u64,
        /// The block at which this round began: below `step`.
        lane: u64,
        next: u64,
    },
}

impl Pattern {
    /// The pattern over the blocks of `access` bytes that fit in `working_set`.
    ///
    /// # Errors
    ///
    /// If the access is empty, too few blocks fit, or the pattern's own settings are impossible.
    pub fn over(self, working_set: Bytes, access: Bytes) -> Result<Addresses, GenerateError> {
        if access == Bytes::ZERO {
            return Err(GenerateError::NoAccess);
        }
        let blocks = working_set.get() / access.get();
        let least = if matches!(self, Self::HotCold { .. }) { 2 } else { 1 };
        if blocks < least {
            let wanted = Bytes(access.get().saturating_mul(least));
            return Err(GenerateError::TooSmall { working_set, wanted, least, access });
        }
        let state = match self {
            Self::Sequential => State::Sequential(0),
            Self::Random => State::Random,
            Self::Zipf { alpha } => State::Zipf(Zipf::new(blocks, alpha)?),
            Self::HotCold { fraction, share } => {
                if !(fraction > 0.0 && fraction < 1.0) {
                    return Err(GenerateError::Fraction { found: fraction });
                }
                check_share("share", share)?;
                let hot = libm::rint(blocks as f64 * fraction) as u64;
                State::HotCold { hot: hot.clamp(1, blocks - 1), share }
            }
            Self::Strided { step } => {
                let whole = step.get() / access.get();
                if !step.get().is_multiple_of(access.get()) || !(1..blocks).contains(&whole) {
                    return Err(GenerateError::Step { step, access, working_set });
                }
                State::Strided { step: whole, lane: 0, next: 0 }
            }
        };
        Ok(Addresses { blocks, state })
    }
}

/// Checks that a setting is a share.
pub(super) fn check_share(setting: &'static str, found: f64) -> Result<(), GenerateError> {
    if (0.0..=1.0).contains(&found) { Ok(()) } else { Err(GenerateError::Share { setting, found }) }
}

impl Addresses {
    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Lets sequential and strided patterns begin at `block`; the others have no beginning.
    pub fn start_at(&mut self, block: u64) {
        match &mut self.state {
            State::Sequential(next) => *next = block % self.blocks,
            State::Strided { step, lane, next } => {
                *next = block % self.blocks;
                *lane = *next % *step;
            }
            State::Random | State::Zipf(_) | State::HotCold { .. } => {}
        }
    }

    /// The next block, from 0.
    #[inline]
    pub fn next(&mut self, stream: &mut Stream) -> u64 {
        let blocks = self.blocks;
        match &mut self.state {
            State::Sequential(next) => {
                let block = *next;
                *next = if block + 1 == blocks { 0 } else { block + 1 };
                block
            }
            State::Random => stream.below(blocks),
            State::Zipf(zipf) => zipf.draw(stream),
            State::HotCold { hot, share } => {
                if stream.chance(*share) {
                    stream.below(*hot)
                } else {
                    *hot + stream.below(blocks - *hot)
                }
            }
            State::Strided { step, lane, next } => {
                let block = *next;
                *next += *step;
                if *next >= blocks {
                    *lane = if *lane + 1 == *step { 0 } else { *lane + 1 };
                    *next = *lane;
                }
                block
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;
    use proptest::prelude::*;

    use super::*;
    use crate::chi_square::assert_fits;

    fn addresses(pattern: Pattern, blocks: u64) -> Addresses {
        pattern.over(Bytes(blocks * 512), Bytes(512)).unwrap()
    }

    fn list(pattern: Pattern, blocks: u64, count: usize) -> Vec<u64> {
        let mut addresses = addresses(pattern, blocks);
        let mut stream = Seed(1).stream("pattern");
        (0..count).map(|_| addresses.next(&mut stream)).collect()
    }

    fn histogram(pattern: Pattern, blocks: u64) -> Vec<u64> {
        let mut counts = vec![0; blocks as usize];
        for block in list(pattern, blocks, 200_000) {
            counts[block as usize] += 1;
        }
        counts
    }

    #[test]
    fn sequential_goes_round() {
        assert_eq!(list(Pattern::Sequential, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(list(Pattern::Sequential, 1, 2), [0, 0]);
    }

    #[test]
    fn strided_visits_every_block_once_a_round() {
        let step = Bytes(3 * 512);
        assert_eq!(
            list(Pattern::Strided { step }, 8, 10),
            [0, 3, 6, 1, 4, 7, 2, 5, /* again */ 0, 3]
        );
    }

    #[test]
    fn a_stream_may_begin_elsewhere_and_still_visits_all() {
        let begun = |pattern: Pattern, block| {
            let mut addresses = addresses(pattern, 8);
            addresses.start_at(block);
            let mut stream = Seed(1).stream("pattern");
            (0..8).map(|_| addresses.next(&mut stream)).collect::<Vec<_>>()
        };
        assert_eq!(begun(Pattern::Sequential, 6), [6, 7, 0, 1, 2, 3, 4, 5]);
        // 14 is block 6 of 8, in the round that began at 0
        let step = Bytes(3 * 512);
        assert_eq!(begun(Pattern::Strided { step }, 14), [6, 1, 4, 7, 2, 5, 0, 3]);
    }

    #[test]
    fn marginals_of_random_patterns_fit() {
        assert_fits(&histogram(Pattern::Random, 777), &[1.0; 777]);
        let zipf: Vec<f64> = (1..=777).map(|rank| 1.0 / f64::from(rank)).collect();
        assert_fits(&histogram(Pattern::Zipf { alpha: 1.0 }, 777), &zipf);
        // 20 % of 1000 blocks get 80 % of the accesses: 0.8 / 200 each, the others 0.2 / 800
        let weights: Vec<f64> =
            (0..1000).map(|block| if block < 200 { 0.004 } else { 0.00025 }).collect();
        let pattern = Pattern::HotCold { fraction: 0.2, share: 0.8 };
        assert_fits(&histogram(pattern, 1000), &weights);
    }

    #[test]
    fn extremes_of_hot_and_cold() {
        // a thousandth of ten blocks is still one block; all accesses go there, or none
        let pattern = |share| Pattern::HotCold { fraction: 0.001, share };
        assert!(list(pattern(1.0), 10, 100).iter().all(|block| *block == 0));
        assert!(list(pattern(0.0), 10, 100).iter().all(|block| *block != 0));
    }

    #[test]
    fn impossible_patterns_are_refused() {
        let message = |pattern: Pattern, bytes| {
            pattern.over(Bytes(bytes), Bytes(512)).unwrap_err().to_string()
        };
        assert_eq!(
            message(Pattern::Random, 511),
            "`working_set` is 511 B; wanted at least 512 B: 1 accesses of 512 B"
        );
        assert_eq!(
            message(Pattern::HotCold { fraction: 0.5, share: 0.5 }, 1023),
            "`working_set` is 1023 B; wanted at least 1 KiB: 2 accesses of 512 B"
        );
        assert_eq!(
            message(Pattern::HotCold { fraction: 1.0, share: 0.5 }, 4096),
            "`fraction` is 1; wanted a fraction of the working set above 0 and below 1"
        );
        assert_eq!(
            message(Pattern::HotCold { fraction: 0.5, share: 1.5 }, 4096),
            "`share` is 1.5; wanted a share from 0 to 1"
        );
        for step in [0, 500, 4096, 8192] {
            assert_eq!(
                message(Pattern::Strided { step: Bytes(step) }, 4096),
                format!(
                    "`step` is {}; wanted a multiple of `access`, 512 B, below 4 KiB",
                    Bytes(step)
                )
            );
        }
        let none = Pattern::Random.over(Bytes(4096), Bytes::ZERO).unwrap_err();
        assert_eq!(none.to_string(), "`access` is 0 B; wanted at least 1 B");
    }

    proptest! {
        #[test]
        fn any_stride_is_a_permutation(blocks in 2..200_u64, step in 1..199_u64) {
            let step = 1 + step % (blocks - 1);
            let pattern = Pattern::Strided { step: Bytes(step * 512) };
            let mut round = list(pattern, blocks, blocks as usize * 2);
            let second = round.split_off(blocks as usize);
            prop_assert_eq!(&round, &second);
            round.sort_unstable();
            prop_assert!(round.into_iter().eq(0..blocks));
        }

        #[test]
        fn addresses_stay_within(blocks in 2..u64::MAX >> 12, seed: u64, which in 0..4_usize) {
            let pattern = [
                Pattern::Sequential,
                Pattern::Random,
                Pattern::Zipf { alpha: 0.9 },
                Pattern::HotCold { fraction: 0.3, share: 0.6 },
            ][which];
            let mut addresses = addresses(pattern, blocks);
            let mut stream = Seed(seed).stream("within");
            for _ in 0..50 {
                prop_assert!(addresses.next(&mut stream) < blocks);
            }
        }
    }
}
