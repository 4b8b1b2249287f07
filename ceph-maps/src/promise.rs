//! Guarantees of a rule: the maximum number of members of a group in one bucket, over all placements that
//! the rule allows.
//!
//! A placement may by chance be better than its rule, but it need not stay so after the next change. The
//! result is exact if the rule's steps go down the tree, as in Ceph's own rules. A rule with several
//! `emit` steps guarantees only that no device has two members, and nothing about hosts.

use foretell_algorithms::crush::{ClusterMap, Pool};
use foretell_sorted::{SortedMap, SortedSet};

use crate::plan::{Domains, Limit, limits, reached};

/// Maximum number of members of a group in each bucket, by type of bucket, the largest first.
pub(crate) struct Bounds {
    size: usize,
    by_kind: SortedMap<u16, Vec<usize>>,
}

impl Bounds {
    /// The bounds of a pool; without a rule nothing is guaranteed.
    pub(crate) fn new(map: &ClusterMap, pool: &Pool) -> Self {
        let size = pool.size as usize;
        let mut by_kind = SortedMap::new();
        let Some(rule) = map.rule_of(pool) else { return Self { size, by_kind } };
        let domains = Domains::new(map);
        let is_in = |osd: &i32| map.osd(*osd).is_some_and(|osd| osd.weight > 0);
        let devices: Vec<i32> = reached(map, rule)
            .into_iter()
            .filter(|(osd, weight)| *weight > 0.0 && is_in(osd))
            .map(|(osd, _)| osd)
            .collect();
        let limits = limits(rule, pool.size);
        for kind in map.crush.parts().types.keys() {
            let mut below: SortedMap<i32, Vec<i32>> = SortedMap::new();
            for device in &devices {
                below.entry(domains.of(*device, *kind)).or_default().push(*device);
            }
            let most = |devices: &Vec<i32>| most_in(&domains, &limits, *kind, devices, size);
            let mut bounds: Vec<usize> = below.values().map(most).collect();
            bounds.sort_unstable_by(|a, b| b.cmp(a));
            by_kind.insert(*kind, bounds);
        }
        Self { size, by_kind }
    }

    /// Number of buckets of a type that may fail, whichever they are, so that `needed` members of each
    /// group are left.
    pub(crate) fn survived(&self, kind: u16, needed: usize) -> usize {
        let mut left = self.size;
        let bounds = self.by_kind.get(&kind).map_or(&[][..], Vec::as_slice);
        let holds = bounds.iter().take_while(|bound| {
            let holds = left >= needed + **bound;
            left = left.saturating_sub(**bound);
            holds
        });
        holds.count()
    }
}

/// Maximum number of members of one group on the devices of one bucket of type `kind`.
fn most_in(domains: &Domains, limits: &[Limit], kind: u16, devices: &[i32], size: usize) -> usize {
    let by_limits = limits.iter().map(|limit| {
        if limit.kind >= kind {
            // a bucket inside one of those has at most as many
            return limit.each;
        }
        let places: SortedSet<i32> =
            devices.iter().map(|device| domains.of(*device, limit.kind)).collect();
        places.len().min(limit.buckets).saturating_mul(limit.each)
    });
    by_limits.min().unwrap_or(size).min(devices.len()).min(size)
}
