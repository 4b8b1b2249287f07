//! Distances against a naive stack, curves against simulated caches and known ratios.

#![expect(clippy::float_cmp, reason = "quotients of the same whole numbers are the same")]

use foretell_units::Seed;
use proptest::prelude::*;

use super::{ReuseDistances, SampledReuse};
use crate::cache::{Lru, Policy};

/// Zipf references, alpha 1, popular objects scattered over the keys.
fn zipf(objects: u64, references: usize) -> Vec<u64> {
    let mut sum = 0.0;
    let shares: Vec<f64> = (1..=objects)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let mut stream = Seed(5).stream("zipf");
    (0..references)
        .map(|_| {
            let at = stream.unit() * sum;
            (shares.partition_point(|&share| share < at) as u64).wrapping_mul(0x9e37_79b9) >> 3
        })
        .collect()
}

#[test]
fn distances_count_different_objects() {
    let mut reuse = ReuseDistances::new();
    let distances: Vec<_> = [1, 2, 3, 2, 2, 1, 4, 1].iter().map(|&key| reuse.refer(key)).collect();
    // between the two 1s are 2, 3, 2, 2: two distinct objects
    let expected = [None, None, None, Some(1), Some(0), Some(2), None, Some(1)];
    assert_eq!(distances, expected);
    let curve = reuse.curve();
    // of 8 references, 1 has distance 0, 2 have distance 1, 1 has distance 2
    let ratios = [0, 1, 2, 3, 4, u64::MAX].map(|size| curve.hit_ratio(size) * 8.0);
    assert_eq!(ratios, [0.0, 1.0, 3.0, 4.0, 4.0, 4.0]);
    assert_eq!((curve.largest_useful_size(), reuse.objects(), reuse.references()), (3, 4, 8));
    assert_eq!(curve.miss_ratio(2), 5.0 / 8.0);
}

#[test]
fn nothing_referred_to_hits_nothing() {
    assert_eq!(ReuseDistances::new().curve().hit_ratio(5), 0.0);
    assert_eq!(SampledReuse::fixed_rate(0.1).curve().hit_ratio(5), 0.0);
    assert_eq!(SampledReuse::fixed_size(9).curve().largest_useful_size(), 0);
}

proptest! {
    #[test]
    fn oracle_distances_match_a_naive_stack(
        steps in prop::collection::vec((0_u64..90, 0_u8..20), 0..12_000)
    ) {
        let mut reuse = ReuseDistances::new();
        let mut stack: Vec<u64> = vec![];
        let mut counted = 0;
        for (root, what) in steps {
            let key = root * root;
            let at = stack.iter().position(|&other| other == key);
            at.map(|at| stack.remove(at));
            match what {
                0 => reuse.remove(key),
                1 => prop_assert_eq!(reuse.touch(key), at.map(|at| at as u64)),
                _ => {
                    prop_assert_eq!(reuse.refer(key), at.map(|at| at as u64));
                    counted += 1;
                }
            }
            if what != 0 {
                stack.insert(0, key);
            }
        }
        prop_assert_eq!(reuse.objects(), stack.len());
        prop_assert_eq!(reuse.references(), counted);
    }
}

#[test]
fn oracle_curve_matches_lru_caches() {
    let trace = zipf(20_000, 100_000);
    let mut reuse = ReuseDistances::new();
    for &key in &trace {
        reuse.refer(key);
    }
    let curve = reuse.curve();
    for size in [1, 2, 10, 100, 1_000, 5_000, 20_000] {
        let mut cache = Lru::new(size);
        let hits = trace.iter().filter(|&&key| cache.access(key).is_hit()).count();
        assert_eq!(curve.hit_ratio(size as u64), hits as f64 / trace.len() as f64);
    }
}

/// Mean absolute error of a sampled curve, over sizes in equal steps up to the largest useful one.
fn mean_error(exact: &super::HitCurve, sampled: &super::HitCurve) -> f64 {
    let largest = exact.largest_useful_size();
    let error = |step| {
        let size = largest * step / 200;
        (exact.hit_ratio(size) - sampled.hit_ratio(size)).abs()
    };
    (1..=200).map(error).sum::<f64>() / 200.0
}

#[test]
fn shards_is_near_the_exact_curve() {
    let trace = zipf(300_000, 2_000_000);
    let mut exact = ReuseDistances::new();
    let mut all = SampledReuse::fixed_rate(1.0);
    let mut tenth = SampledReuse::fixed_rate(0.1);
    let mut some = SampledReuse::fixed_size(8_192);
    for &key in &trace {
        exact.refer(key);
        all.refer(key);
        tenth.refer(key);
        some.refer(key);
    }
    let exact = exact.curve();
    let error = |sampled: &SampledReuse| mean_error(&exact, &sampled.curve());
    println!("{} {} {}", error(&all), error(&tenth), error(&some));
    assert!(error(&all) < 0.000_1, "{}", error(&all));
    assert!(error(&tenth) < 0.002, "{}", error(&tenth));
    assert!(error(&some) < 0.01, "{}", error(&some));
    assert!(some.rate() < 0.05 && some.references() == 2_000_000);
}
