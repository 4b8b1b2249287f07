//! Sets of blocks, stored as ranges.

use std::ops::Range;

/// Blocks of a volume: ranges in order, which neither overlap nor touch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Blocks(Vec<Range<u64>>);

impl Blocks {
    /// Adds a range.
    pub(crate) fn add(&mut self, stretch: Range<u64>) {
        if stretch.is_empty() {
            return;
        }
        let first = self.0.partition_point(|other| other.end < stretch.start);
        let behind = self.0.partition_point(|other| other.start <= stretch.end);
        let met = &self.0[first..behind];
        let start = met.first().map_or(stretch.start, |other| other.start.min(stretch.start));
        let end = met.last().map_or(stretch.end, |other| other.end.max(stretch.end));
        self.0.splice(first..behind, std::iter::once(start..end));
    }

    /// Adds all of another set.
    pub(crate) fn add_all(&mut self, others: &Self) {
        for stretch in &others.0 {
            self.add(stretch.clone());
        }
    }

    /// Removes a range.
    pub(crate) fn remove(&mut self, stretch: &Range<u64>) {
        let cut = |other: &Range<u64>| {
            let before = other.start..other.end.min(stretch.start);
            let behind = other.start.max(stretch.end)..other.end;
            [before, behind].into_iter().filter(|rest| !rest.is_empty())
        };
        if self.meets(stretch) {
            self.0 = self.0.iter().flat_map(cut).collect();
        }
    }

    /// Whether any block of a range is in the set.
    pub(crate) fn meets(&self, stretch: &Range<u64>) -> bool {
        let first = self.0.partition_point(|other| other.end <= stretch.start);
        self.0.get(first).is_some_and(|other| other.start < stretch.end) && !stretch.is_empty()
    }

    /// The ranges in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().cloned()
    }

    /// Number of blocks.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|stretch| stretch.end - stretch.start).sum()
    }

    /// Removes and returns the first range.
    pub(crate) fn pop(&mut self) -> Option<Range<u64>> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    #[test]
    fn oracle_stretches_match_a_list_of_blocks() {
        let mut stream = Seed(3).stream("blocks");
        for _ in 0..200 {
            let (mut blocks, mut list) = (Blocks::default(), [false; 40]);
            for _ in 0..30 {
                let start = stream.below(40);
                let stretch = start..(start + stream.below(9)).min(40);
                let adds = stream.below(3) > 0;
                for block in stretch.clone() {
                    list[block as usize] = adds;
                }
                if adds {
                    blocks.add(stretch.clone());
                } else {
                    blocks.remove(&stretch);
                }
                for block in 0..40 {
                    assert_eq!(blocks.meets(&(block..block + 1)), list[block as usize], "{block}");
                }
                assert!(blocks.0.windows(2).all(|two| two[0].end < two[1].start), "{blocks:?}");
                assert_eq!(blocks.is_empty(), !list.contains(&true));
                assert_eq!(blocks.count(), list.iter().filter(|there| **there).count() as u64);
            }
        }
    }
}
