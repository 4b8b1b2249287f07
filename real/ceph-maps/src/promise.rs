//! Guarantees of a rule: the maximum number of members of a group in one bucket, over all placements that
//! the rule allows.
//!
//! A placement may by chance be better than its rule, but it need not stay so after the next change. The
//! result is exact if the rule's steps go down the tree, as in Ceph's own rules. A rule with several
//! `emit` steps guarantees only that no device has two members, and nothing about hosts.

use foretell_algorithms::crush::{ClusterMap, Pool, Rule};
use foretell_sorted::{SortedMap, SortedSet};

use crate::domains::Domains;
use crate::limits::{Limit, limits, reached};

/// The limit of a rule that leaves the fewest members to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// Type of the buckets.
    pub(crate) kind: u16,
    /// Number of these buckets that the rule can use.
    pub(crate) buckets: usize,
    /// Maximum number of members of a group below each.
    pub(crate) each: usize,
    /// Maximum number of members of a group.
    pub(crate) members: usize,
}

/// The room that a rule has for a group of `size` members on the OSDs that are in: no placement has more members.
pub(crate) fn room(map: &ClusterMap, rule: &Rule, size: u32) -> Room {
    room_on(&Domains::of_rule(&map.crush, rule), &limits(rule, size), &devices(map, rule))
}

fn room_on(domains: &Domains, limits: &[Limit], devices: &[i32]) -> Room {
    let by_limit = limits.iter().map(|limit| {
        let mut below: SortedMap<i32, usize> = SortedMap::new();
        for device in devices {
            *below.entry(domains.of(*device, limit.kind)).or_default() += 1;
        }
        let mut takes: Vec<usize> = below.into_values().map(|all| all.min(limit.each)).collect();
        takes.sort_unstable_by(|a, b| b.cmp(a));
        takes.truncate(limit.buckets);
        let (kind, buckets, each) = (limit.kind, takes.len(), limit.each);
        Room { kind, buckets, each, members: takes.iter().sum() }
    });
    let all = Room { kind: 0, buckets: devices.len(), each: 1, members: devices.len() };
    by_limit.chain([all]).min_by_key(|room| room.members).expect("there is at least one")
}

/// The OSDs that are in and that a rule reaches.
fn devices(map: &ClusterMap, rule: &Rule) -> Vec<i32> {
    let is_in = |osd: &i32| map.osd(*osd).is_some_and(|osd| osd.weight > 0);
    reached(map, rule)
        .into_iter()
        .filter(|(osd, weight)| *weight > 0.0 && is_in(osd))
        .map(|(osd, _)| osd)
        .collect()
}

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
        let domains = Domains::of_rule(&map.crush, rule);
        let devices = devices(map, rule);
        let limits = limits(rule, pool.size);
        // a rule with too few places gives a group fewer members than the pool wants
        let size = size.min(room_on(&domains, &limits, &devices).members);
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
