//! Latin hypercube (Technometrics 21, 1979): each of n points has one of n strata of every factor to
//! itself.
//!
//! The strata are assigned by a keyed permutation of 0..n for each factor, computed for one number at a
//! time. The permutation is a Feistel network on the next power of four, applied until the result is
//! below n (Black & Rogaway 2002). So the design takes no memory.

use foretell_units::Seed;

/// Rounds of the network; even four give permutations that pass for random.
const ROUNDS: u64 = 6;

/// Position of point `index` of `points` on the axis of `factor`.
pub(super) fn share(index: u64, points: u64, factor: &str, seed: Seed) -> f64 {
    let key = seed.stream(&format!("design/latin/{factor}")).bits();
    let stratum = permuted(index, points, Seed(key));
    // a random position within the stratum
    let within = Seed(key).child(index).stream("within").unit();
    ((stratum as f64 + within) / points as f64).min(1.0 - f64::EPSILON)
}

/// The image of `index` under a random permutation of `0..count`.
fn permuted(index: u64, count: u64, key: Seed) -> u64 {
    let bits = (u64::BITS - (count - 1).leading_zeros()).div_ceil(2);
    let mask = (1_u64 << bits) - 1;
    let mut x = index;
    loop {
        let (mut left, mut right) = (x >> bits, x & mask);
        for round in 0..ROUNDS {
            let mixed = key.child((round << 32) ^ right).0 & mask;
            (left, right) = (right, left ^ mixed);
        }
        x = (left << bits) | right;
        if x < count {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stratum_is_taken_once() {
        for points in [1, 2, 5, 16, 100, 1000] {
            let mut strata: Vec<u64> = (0..points)
                .map(|index| (share(index, points, "a", Seed(7)) * points as f64) as u64)
                .collect();
            assert!(
                points < 100 || strata.windows(2).filter(|pair| pair[0] < pair[1]).count() < 600
            );
            strata.sort_unstable();
            assert_eq!(strata, (0..points).collect::<Vec<_>>(), "{points}");
        }
    }

    #[test]
    fn factors_are_dealt_independently() {
        let n = 2000;
        let of = |factor, index| share(index, n, factor, Seed(1)) - 0.5;
        let covariance: f64 = (0..n).map(|index| of("a", index) * of("b", index)).sum();
        // the correlation of independent columns has a standard deviation of 1/√n = 0.022; four of them
        assert!((covariance / n as f64 * 12.0).abs() < 0.09, "{covariance}");
    }
}
