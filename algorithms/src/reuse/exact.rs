//! The exact distance of every reference.

use super::HitCurve;
use super::recency::Recency;

/// Reuse distances of a stream of references.
///
/// Memory: about 50 bytes for each distinct object, and 8 for each distance up to the largest.
#[derive(Clone, Debug)]
pub struct ReuseDistances {
    recency: Recency,
    /// Number of references at each distance.
    distances: Vec<u64>,
    references: u64,
}

impl Default for ReuseDistances {
    fn default() -> Self {
        Self { recency: Recency::new(), distances: Vec::new(), references: 0 }
    }
}

impl ReuseDistances {
    /// An empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a reference to `key`. Returns its distance; `None` at the first reference.
    pub fn refer(&mut self, key: u64) -> Option<u64> {
        self.references += 1;
        let distance = self.recency.refer(key);
        if let Some(distance) = distance {
            let at = distance as usize;
            if at >= self.distances.len() {
                self.distances.resize(at + 1, 0);
            }
            self.distances[at] += 1;
        }
        distance
    }

    /// Makes `key` the most recent without counting the reference. Returns its distance.
    pub fn touch(&mut self, key: u64) -> Option<u64> {
        self.recency.refer(key)
    }

    /// Forgets `key`, as when its object is deleted: this frees room in a cache of every size.
    pub fn remove(&mut self, key: u64) {
        self.recency.remove(key);
    }

    /// References counted so far.
    pub const fn references(&self) -> u64 {
        self.references
    }

    /// Number of distinct objects known.
    pub fn objects(&self) -> usize {
        self.recency.len()
    }

    /// Hit rate against cache size, of the references counted so far.
    pub fn curve(&self) -> HitCurve {
        HitCurve::exact(&self.distances, self.references)
    }
}
