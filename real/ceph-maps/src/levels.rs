//! How full each OSD is: as measured, or as its groups say; and after a change what moves in and out.
//!
//! There is one level of an OSD at a time, and all figures use it. Measured bytes include what groups do not explain:
//! logs, databases, data that is being deleted. This part stays where it is when groups move.

use std::borrow::Cow;
use std::collections::BTreeSet;

use foretell_algorithms::crush::{ClusterMap, NONE, Pg, Placed, Pool, PoolKind, Workspace};
use foretell_sorted::SortedMap;

use crate::inventory::Inventory;

/// Used bytes of each OSD.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Levels {
    used: SortedMap<i32, f64>,
    known: bool,
}

/// A cluster, and where its groups are in the order of [`ClusterMap::groups`].
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Its map.
    pub map: &'a ClusterMap,
    /// What its files say besides placement.
    pub inventory: &'a Inventory,
    /// Placements.
    pub placed: &'a [Placed],
}

impl Levels {
    /// The present levels: as reported, or computed from the groups that belong to an OSD.
    pub fn now(cluster: Situation<'_>) -> Self {
        let mut used = held(cluster);
        for (osd, facts) in &cluster.inventory.osds {
            if let Some(bytes) = facts.used_bytes {
                used.insert(*osd, bytes as f64);
            }
        }
        let mut of_pools = cluster.inventory.pools.values();
        let known = of_pools
            .any(|pool| pool.stored_bytes.is_some() || pool.allocated_bytes.is_some())
            || cluster.inventory.osds.values().any(|osd| osd.used_bytes.is_some());
        Self { used, known }
    }

    /// The levels after a change: the present ones, plus what moves in, less what moves out. An OSD that is new is
    /// empty before. `moves_known`: whether it is known how many bytes move.
    pub fn after(&self, before: Situation<'_>, after: Situation<'_>, moves_known: bool) -> Self {
        let (leaves, comes) = (held(before), held(after));
        let of = |levels: &SortedMap<i32, f64>, osd| levels.get(&osd).copied().unwrap_or(0.0);
        let level = |osd: i32| {
            // an OSD never has less than nothing, whatever was measured
            let bytes = self.of(osd) - of(&leaves, osd) + of(&comes, osd);
            (osd, bytes.max(0.0))
        };
        let osds = after.map.existing().map(|(osd, _)| osd);
        Self { used: osds.map(level).collect(), known: self.known && moves_known }
    }

    /// Used bytes of an OSD.
    pub fn of(&self, osd: i32) -> f64 {
        self.used.get(&osd).copied().unwrap_or(0.0)
    }

    /// The OSD that becomes full first if all groups grow alike, and its present level: the fullest of those on which
    /// groups are.
    pub(crate) fn grows_first(&self, cluster: Situation<'_>) -> Option<(i32, f64)> {
        let Situation { map, inventory, placed } = cluster;
        let members: BTreeSet<i32> =
            homes(map, placed).iter().flat_map(|set| set.iter().copied()).collect();
        self.fullest_of(map, inventory, |osd| members.contains(&osd))
    }

    /// Whether the files say how full OSDs are.
    pub fn are_known(&self) -> bool {
        self.known
    }

    /// The fullest OSD that is in, and its fill level; of several the one with the lowest number.
    pub fn fullest(&self, map: &ClusterMap, inventory: &Inventory) -> Option<(i32, f64)> {
        self.fullest_of(map, inventory, |_| true)
    }

    fn fullest_of(
        &self,
        map: &ClusterMap,
        inventory: &Inventory,
        counts: impl Fn(i32) -> bool,
    ) -> Option<(i32, f64)> {
        let in_use = map.existing().filter(|(osd, state)| state.weight > 0 && counts(*osd));
        let in_use = in_use.map(|(osd, _)| osd);
        let level = |osd: i32| {
            let bytes = osd_bytes(map, inventory, osd);
            (bytes > 0.0).then(|| (osd, self.of(osd) / bytes))
        };
        in_use.filter_map(level).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }
}

/// The OSDs to which the data of each group belong: its *up* set, and OSDs that are down and not out, which keep what
/// they have.
pub(crate) fn homes<'a>(map: &ClusterMap, placed: &'a [Placed]) -> Vec<Cow<'a, [i32]>> {
    let some_are_down = map.existing().any(|(_, osd)| !osd.up && osd.weight > 0);
    let mut work = Workspace::default();
    let home = |(pg, placed): (Pg, &'a Placed)| {
        // what was placed can be placed again
        let set = some_are_down.then(|| map.mapped(pg, &mut work).ok()).flatten();
        let Some(mut set) = set else { return Cow::Borrowed(placed.up.as_slice()) };
        match map.pools()[&pg.pool].kind {
            PoolKind::Replicated => set.retain(|osd| map.osd(*osd).is_some()),
            PoolKind::Erasure => {
                set.iter_mut().filter(|osd| map.osd(**osd).is_none()).for_each(|osd| *osd = NONE);
            }
        }
        Cow::Owned(set)
    };
    map.groups().zip(placed).map(home).collect()
}

/// Bytes of the groups that belong on each OSD.
fn held(Situation { map, inventory, placed }: Situation<'_>) -> SortedMap<i32, f64> {
    let mut held = std::collections::BTreeMap::new();
    for (pg, home) in map.groups().zip(homes(map, placed)) {
        let pool = &map.pools()[&pg.pool];
        let bytes = copy_bytes(pool, inventory) * pool.share_of(pg.seed);
        for osd in home.iter().filter(|osd| **osd != NONE) {
            *held.entry(*osd).or_insert(0.0) += bytes;
        }
    }
    held.into_iter().collect()
}

/// Bytes that one copy, or all shards of one position, take on drives: those of all groups of a pool together; 0 if
/// unknown.
pub(crate) fn copy_bytes(pool: &Pool, inventory: &Inventory) -> f64 {
    let Some(facts) = inventory.pools.get(&pool.id) else { return 0.0 };
    match (facts.allocated_bytes.filter(|bytes| *bytes > 0), facts.stored_bytes) {
        (Some(allocated), _) => allocated as f64 / f64::from(pool.size),
        (None, Some(stored)) => stored as f64 / f64::from(inventory.data_chunks(pool).0),
        (None, None) => 0.0,
    }
}

/// The size of an OSD's drive; if unknown, derived from its CRUSH weight (1 is a TiB).
pub fn osd_bytes(map: &ClusterMap, inventory: &Inventory, osd: i32) -> f64 {
    if let Some(bytes) = inventory.osds.get(&osd).and_then(|facts| facts.bytes) {
        return bytes as f64;
    }
    let weight = map.crush.weight_of(osd).unwrap_or(0);
    f64::from(weight) / 65_536.0 * (1_u64 << 40) as f64
}
