//! Distances of a sample of the objects: SHARDS (Waldspurger, Park, Garthwaite & Ahmad, FAST
//! 2015).
//!
//! An object is followed if a hash of its key is below a threshold, so either all of its references
//! are seen or none. With a share R of the objects, distances are R times as long as among all
//! objects, and a seen reference stands for 1/R references. *Fixed rate* keeps the threshold;
//! *fixed size* lowers it whenever more objects than allowed are followed, and forgets those above
//! it.
//!
//! The share of references seen differs from R, depending on whether popular objects are in the
//! sample. We correct this as SHARDS-adj does: the difference counts as references with distances
//! near zero, which popular objects have.
//!
//! The paper lowers all counts in proportion when the threshold falls; we let each reference count
//! 1/R with the R of its time, which is equivalent. Distances are collected in 128 classes for each
//! power of two, exact to 0.8 %. A reference at distance d in the sample is assumed to be midway
//! between d/R and (d + 1)/R.

use std::collections::BinaryHeap;

use super::HitCurve;
use super::recency::Recency;
use crate::mix::mix;

/// The threshold above all hashes, which are 32 bits long.
const ALL: u64 = 1 << 32;
/// Number of classes for each power of two.
const CLASSES: u64 = 128;

/// Reuse distances of a sample.
#[derive(Clone, Debug)]
pub struct SampledReuse {
    recency: Recency,
    /// Objects with a lower hash are followed.
    threshold: u64,
    /// For a fixed size: the maximum number of objects followed, and their hashes and keys.
    limit: Option<(usize, BinaryHeap<(u32, u64)>)>,
    /// Estimated number of references with distances in each class.
    classes: Vec<f64>,
    /// Sum of `classes`, plus references without a distance.
    seen: f64,
    references: u64,
}

impl SampledReuse {
    fn new(threshold: u64, limit: Option<usize>) -> Self {
        Self {
            recency: Recency::new(),
            threshold,
            limit: limit.map(|limit| (limit, BinaryHeap::new())),
            classes: Vec::new(),
            seen: 0.0,
            references: 0,
        }
    }

    /// Follows the share `rate` of all objects, clamped to 2⁻³² to 1.
    pub fn fixed_rate(rate: f64) -> Self {
        Self::new(((rate * ALL as f64) as u64).clamp(1, ALL), None)
    }

    /// Follows at most `objects` objects, at least one; all until there are more.
    pub fn fixed_size(objects: usize) -> Self {
        Self::new(ALL, Some(objects.max(1)))
    }

    /// The share of all objects that is followed now.
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / ALL as f64
    }

    /// Counts a reference to `key`.
    #[inline]
    pub fn refer(&mut self, key: u64) {
        self.references += 1;
        if let Some(hash) = self.sampled(key) {
            let weight = 1.0 / self.rate();
            let distance = self.follow(hash, key);
            self.seen += weight;
            if let Some(distance) = distance {
                let class = class((distance as f64 + 0.5) * weight);
                if class >= self.classes.len() {
                    self.classes.resize(class + 1, 0.0);
                }
                self.classes[class] += weight;
            }
        }
    }

    /// Makes `key` the most recent without counting the reference.
    #[inline]
    pub fn touch(&mut self, key: u64) {
        if let Some(hash) = self.sampled(key) {
            self.follow(hash, key);
        }
    }

    /// References counted so far, seen or not.
    pub const fn references(&self) -> u64 {
        self.references
    }

    /// Hit rate against cache size, estimated.
    pub fn curve(&self) -> HitCurve {
        let mut hits = self.references as f64 - self.seen;
        let mut points = vec![(0.0, 0.0)];
        for (class, count) in self.classes.iter().enumerate() {
            hits += count;
            points.push((upper_bound(class), hits));
        }
        HitCurve::sampled(points, self.references as f64)
    }

    /// The hash of `key` if it is below the threshold.
    #[inline]
    fn sampled(&self, key: u64) -> Option<u32> {
        let hash = (mix(key) >> 32) as u32;
        (u64::from(hash) < self.threshold).then_some(hash)
    }

    fn follow(&mut self, hash: u32, key: u64) -> Option<u64> {
        let distance = self.recency.refer(key);
        if distance.is_none()
            && let Some((limit, hashes)) = &mut self.limit
        {
            hashes.push((hash, key));
            while hashes.len() > *limit
                || hashes.peek().is_some_and(|&(hash, _)| u64::from(hash) >= self.threshold)
            {
                let (hash, key) = hashes.pop().expect("more than the limit");
                self.threshold = self.threshold.min(u64::from(hash).max(1));
                self.recency.remove(key);
            }
        }
        distance
    }
}

/// The class of a distance: one for each below `2 * CLASSES`, then `CLASSES` for each power of two.
fn class(distance: f64) -> usize {
    let whole = distance as u64;
    let shift = (whole / CLASSES).checked_ilog2().unwrap_or(0);
    (CLASSES * u64::from(shift) + (whole >> shift)) as usize
}

/// The upper bound of a class, where the next one begins.
fn upper_bound(class: usize) -> f64 {
    let next = class as u64 + 1;
    let shift = (next / CLASSES).saturating_sub(1);
    ((next - CLASSES * shift) as f64) * (1_u64 << shift) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_one_another_without_gaps() {
        let mut end = 0.0;
        for number in 0..5_000 {
            assert_eq!(class(end), number, "{end}");
            assert_eq!(class(upper_bound(number) - 0.5), number);
            end = upper_bound(number);
        }
    }
}
