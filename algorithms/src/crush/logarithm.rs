//! Ceph's fixed-point logarithm, which straw2 uses for its draws.
//!
//! `ln(u)` stands for 2^44 · log2(u + 1), from two tables. The leading eight bits of `u + 1` choose
//! a reciprocal and its logarithm; eight bits of the rest choose the logarithm of the remainder.
//! Every cluster depends on the bits of the tables, including their errors, so the errors are
//! reproduced, not corrected.
//!
//! The tables are computed here. The first is 2^48 / (1 + k/128), rounded up, and 2^48 · log2(1 +
//! k/128), rounded down; its last entry is 2^48 − 2^32 where 2^48 would be correct. The second
//! should be 2^48 · log2(1 + k/2^15); most entries exceed that by one constant (about 0.64 of a
//! step), and the 44 that do not are listed. Only these numbers were taken from Ceph
//! (`src/crush/crush_ln_table.h`, LGPL-2.1; also in Linux, `net/ceph/crush/`): they are facts that
//! interoperation needs. A test checks a digest of both tables, and mappings are compared with
//! Ceph's own tools.

use std::sync::LazyLock;

/// The amount by which most entries of the second table exceed their formula.
const EXCESS: u64 = 5_493_489_664;

/// Entries of the second table with another excess: index, and the amount above the formula.
const EXCEPTIONS: [(usize, u64); 44] = [
    (0, 0),
    (1, 0),
    (56, 5_349_423_536),
    (127, 978_272_901),
    (134, 3_588_789_669),
    (181, 4_007_963_589),
    (184, 5_423_282_367),
    (188, 2_201_924_427),
    (193, 3_829_329_171),
    (198, 2_511_158_322),
    (199, 2_670_353_280),
    (200, 3_807_665_765),
    (203, 0),
    (207, 5_045_407_031),
    (210, 4_635_559_696),
    (212, 3_670_382_108),
    (216, 0),
    (222, 0),
    (225, 3_209_098_745),
    (227, 1_514_328_394),
    (228, 2_662_093_655),
    (229, 561_838_844),
    (231, 3_537_203_772),
    (233, 0),
    (235, 4_861_921_003),
    (236, 5_281_046_906),
    (237, 0),
    (238, 0),
    (239, 0),
    (240, 2_650_193_885),
    (241, 4_203_558_265),
    (243, 0),
    (244, 0),
    (245, 0),
    (246, 0),
    (247, 362_109_528),
    (248, 0),
    (249, 0),
    (250, 0),
    (251, 0),
    (252, 0),
    (253, 0),
    (254, 0),
    (255, 0),
];

/// 2^48 · log2(m / 2^63), rounded down, for 2^63 ≤ m < 2^64. Each squaring gives one bit of the result.
const fn log2(m: u64) -> u64 {
    let mut m = m as u128;
    let mut result = 0;
    let mut bit = 0;
    while bit < 48 {
        m = (m * m) >> 63;
        result <<= 1;
        if m >> 64 != 0 {
            result |= 1;
            m >>= 1;
        }
        bit += 1;
    }
    result
}

/// Reciprocals 2^48 / (1 + k/128).
const RECIPROCALS: [u64; 129] = {
    let mut table = [0; 129];
    let mut k = 0;
    while k <= 128 {
        table[k] = (1_u64 << 55).div_ceil(128 + k as u64);
        k += 1;
    }
    table
};

/// Logarithms of the same fractions, 2^48 · log2(1 + k/128).
const COARSE: [u64; 129] = {
    let mut table = [0; 129];
    let mut k = 0;
    while k < 128 {
        table[k] = log2((128 + k as u64) << 56);
        k += 1;
    }
    table[128] = (1 << 48) - (1 << 32);
    table
};

/// Logarithms of remainders, nominally 2^48 · log2(1 + k/2^15).
const FINE: [u64; 256] = {
    let mut table = [0; 256];
    let mut k = 0;
    while k < 256 {
        table[k] = log2(((1 << 15) + k as u64) << 48) + EXCESS;
        k += 1;
    }
    let mut exception = 0;
    while exception < EXCEPTIONS.len() {
        let (k, above) = EXCEPTIONS[exception];
        table[k] = table[k] - EXCESS + above;
        exception += 1;
    }
    table
};

/// 2^44 · log2(u + 1), for u < 2^16.
fn logarithm(u: u32) -> u64 {
    debug_assert!(u <= 0xffff);
    let x = u + 1;
    // shift until bit 15 or 16 leads
    let shift = if x & 0x1_8000 == 0 { x.leading_zeros() - 16 } else { 0 };
    let x = x << shift;
    let leading = (x >> 8) as usize - 128;
    let rest = (u64::from(x) * RECIPROCALS[leading]) >> 48;
    let fraction = COARSE[leading] + FINE[(rest & 0xff) as usize];
    (u64::from(15 - shift) << 44) + (fraction >> 4)
}

/// Distance of each 16-bit draw from the largest: 2^48 − ln(u). Integers below 2^53.
pub(super) static BELOW: LazyLock<Box<[f64; 1 << 16]>> = LazyLock::new(|| {
    let below: Vec<f64> = (0..1 << 16).map(|u| ((1_u64 << 48) - logarithm(u)) as f64).collect();
    below.try_into().expect("2^16 values")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_of_ceph() {
        // FNV-1a, 64 bits, of the 129 pairs and the 256 values as little-endian words, in the order of Ceph's header
        let pairs = RECIPROCALS.iter().zip(&COARSE).flat_map(|(reciprocal, log)| [reciprocal, log]);
        let digest = pairs
            .chain(&FINE)
            .flat_map(|value| value.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        assert_eq!(digest, 0xf0f0_e5a6_6319_b9ff);
    }

    #[test]
    fn is_nearly_the_logarithm() {
        for u in 0..=0xffff_u32 {
            let truth = libm::log2(f64::from(u + 1)) * (1_u64 << 44) as f64;
            assert!((logarithm(u) as f64 - truth).abs() < 1e9, "{u}");
        }
    }

    #[test]
    fn draws_stay_positive_and_exact() {
        assert!(BELOW.iter().all(|below| *below >= 1.0 && *below <= (1_u64 << 48) as f64));
    }
}
