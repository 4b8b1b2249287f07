//! A random permutation of numbers, without a list of them.
//!
//! A Feistel network of four rounds over the next power of four, applied repeatedly until the
//! result is below the population (cycle walking; Black & Rogaway 2002): fewer than four steps on
//! average.

/// A permutation of `0..population`.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    population: u64,
    half_bits: u32,
    keys: [u64; 4],
}

fn mix(value: u64, key: u64) -> u64 {
    let mut bits = (value ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^ (bits >> 31)
}

impl Shuffle {
    /// The permutation given by `keys`, of at least one number and at most 2⁶².
    pub fn new(population: u64, keys: [u64; 4]) -> Self {
        assert!((1..=1 << 62).contains(&population), "{population} numbers");
        let bits = 64 - (population - 1).leading_zeros();
        Self { population, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// The number at position `place`, which must be below the population.
    pub fn at(&self, place: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let mut number = place;
        loop {
            let (mut left, mut right) = (number >> self.half_bits, number & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right, key) & mask));
            }
            number = left << self.half_bits | right;
            if number < self.population {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_number_comes_once(population in 1..600_u64, keys: [u64; 4]) {
            let shuffle = Shuffle::new(population, keys);
            let mut found: Vec<u64> = (0..population).map(|place| shuffle.at(place)).collect();
            found.sort_unstable();
            prop_assert!(found.into_iter().eq(0..population));
        }
    }

    #[test]
    fn neighbours_do_not_stay_together() {
        let shuffle = Shuffle::new(100_000, [1, 2, 3, 4]);
        let close =
            (1..100_000).filter(|&p| shuffle.at(p).abs_diff(shuffle.at(p - 1)) < 100).count();
        // by chance, two of 100 000 are so close with probability 0.002
        assert!(close < 300, "{close}");
    }
}
