//! The Sobol sequence: each next point falls into a gap between the earlier ones.
//!
//! Direction numbers are those of Joe & Kuo 2008 ("Constructing Sobol sequences with better
//! two-dimensional projections", `new-joe-kuo-6`); points are in the order of the Gray code (Antonov &
//! Saleev 1979). A random digital shift for each factor, from the seed, selects one of many equally good
//! sequences and avoids the corner at 0. It is implemented here because a point must be computed from its
//! number, which library sequences do not allow.

use foretell_units::Seed;

/// Degree of a primitive polynomial, its inner coefficients, and the first direction numbers.
type Dimension = (u32, u32, &'static [u32]);

/// From the second dimension on; the first dimension is the van der Corput sequence.
const DIMENSIONS: [Dimension; 20] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// Maximum number of factors of a Sobol design.
pub const MAX_DIMENSIONS: usize = DIMENSIONS.len() + 1;

const BITS: u32 = 32;

/// Position of point `index` on the axis of `factor`, which is number `dimension`.
pub(super) fn share(index: u32, dimension: usize, factor: &str, seed: Seed) -> f64 {
    let shift = seed.stream(&format!("design/sobol/{factor}")).bits() as u32;
    f64::from(bits(index, dimension) ^ shift) / f64::from(2_u32.pow(BITS - 1)) / 2.0
}

/// The coordinate as a 32-bit binary fraction.
fn bits(index: u32, dimension: usize) -> u32 {
    let gray = index ^ (index >> 1);
    let directions = directions(dimension);
    (0..BITS).filter(|bit| gray >> bit & 1 == 1).fold(0, |sum, bit| sum ^ directions[bit as usize])
}

fn directions(dimension: usize) -> [u32; BITS as usize] {
    let mut v = [0; BITS as usize];
    let Some(before) = dimension.checked_sub(1) else {
        return std::array::from_fn(|bit| 1 << (BITS as usize - 1 - bit));
    };
    let (degree, coefficients, first) = DIMENSIONS[before];
    for (bit, m) in first.iter().enumerate() {
        v[bit] = m << (BITS as usize - 1 - bit);
    }
    let s = degree as usize;
    for bit in s..BITS as usize {
        v[bit] = v[bit - s] ^ (v[bit - s] >> degree);
        for k in 1..s {
            if coefficients >> (s - 1 - k) & 1 == 1 {
                v[bit] ^= v[bit - k];
            }
        }
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Point 999 in 21 dimensions as `scipy.stats.qmc.Sobol(21, scramble=False)` of `SciPy` has it, which
    /// uses the same direction numbers; times 1024, as it is one of the first 1024 points.
    const SCIPY_999: [u32; MAX_DIMENSIONS] = [
        161, 931, 83, 1013, 991, 865, 879, 729, 833, 647, 23, 453, 485, 969, 851, 571, 289, 673,
        695, 39, 343,
    ];

    #[test]
    fn reference_points_are_those_of_scipy() {
        let point = |index| [0, 1, 2].map(|dimension| bits(index, dimension) >> 30);
        // in quarters
        assert_eq!(point(0), [0, 0, 0]);
        assert_eq!(point(1), [2, 2, 2]);
        assert_eq!(point(2), [3, 1, 1]);
        assert_eq!(point(3), [1, 3, 3]);
        for (dimension, wanted) in SCIPY_999.into_iter().enumerate() {
            assert_eq!(bits(999, dimension), wanted << 22, "{dimension}");
        }
    }

    #[test]
    fn every_dyadic_interval_has_its_point() {
        // 2^k points have one in each of 2^k equal intervals of every axis
        for dimension in 0..MAX_DIMENSIONS {
            let mut cells: Vec<u32> =
                (0..256).map(|i| (share(i, dimension, "x", Seed(3)) * 256.0) as u32).collect();
            cells.sort_unstable();
            assert_eq!(cells, (0..256).collect::<Vec<_>>(), "{dimension}");
        }
    }
}
