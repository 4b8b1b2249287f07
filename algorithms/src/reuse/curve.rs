//! Hit rate against cache size.

/// The hits of an LRU cache of any size, for the counted references.
#[derive(Clone, Debug)]
pub struct HitCurve {
    references: f64,
    hits: Hits,
}

#[derive(Clone, Debug)]
enum Hits {
    /// Element s: hits of a cache of s objects. The curve is constant beyond the last.
    Exact(Vec<u64>),
    /// Points (cache size, hits) with rising sizes. The curve is linear between them, starts at
    /// (0, 0), and is constant beyond the last.
    Sampled(Vec<(f64, f64)>),
}

impl HitCurve {
    /// A curve from the number of references at each distance, and the total number.
    pub(super) fn exact(distances: &[u64], references: u64) -> Self {
        let mut sum = 0;
        let at_zero = std::iter::once(0);
        let hits = at_zero.chain(distances.iter().map(|&count| {
            sum += count;
            sum
        }));
        Self { references: references as f64, hits: Hits::Exact(hits.collect()) }
    }

    /// A curve from points (size, hits) with rising sizes.
    pub(super) const fn sampled(points: Vec<(f64, f64)>, references: f64) -> Self {
        Self { references, hits: Hits::Sampled(points) }
    }

    /// Share of the references that a cache of `size` unit-size objects would have hit, from 0 to
    /// 1; 0 without references.
    pub fn hit_ratio(&self, size: u64) -> f64 {
        let hits = match &self.hits {
            Hits::Exact(hits) => {
                let last = hits.len() - 1;
                hits[usize::try_from(size).unwrap_or(last).min(last)] as f64
            }
            Hits::Sampled(points) => between(points, size as f64),
        };
        if self.references > 0.0 { (hits / self.references).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Share of the references that it would have missed.
    pub fn miss_ratio(&self, size: u64) -> f64 {
        1.0 - self.hit_ratio(size)
    }

    /// The smallest size at which the hit rate reaches its maximum.
    pub fn largest_useful_size(&self) -> u64 {
        match &self.hits {
            Hits::Exact(hits) => hits.partition_point(|count| count < &hits[hits.len() - 1]) as u64,
            Hits::Sampled(points) => points.last().map_or(0, |&(size, _)| size.ceil() as u64),
        }
    }
}

fn between(points: &[(f64, f64)], size: f64) -> f64 {
    let next = points.partition_point(|&(known, _)| known <= size);
    let (left, below) = if next == 0 { (0.0, 0.0) } else { points[next - 1] };
    match points.get(next) {
        Some(&(right, above)) => below + (above - below) * (size - left) / (right - left),
        None => below,
    }
}
