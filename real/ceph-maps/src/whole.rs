//! Complete sets: the placement of a pool's groups when all OSDs work, each group with all its members.
//!
//! A simulated pool lacks no copy. OSDs that are down count as up. `pg_temp` and `primary_temp`, which
//! last only while data move, are left out. If a rule still finds too few members, the least loaded OSDs
//! that it reaches fill the gaps; the number of such groups is counted.

use foretell_algorithms::crush::{
    ClusterMap, ClusterMapError, CrushMap, DEFAULT_AFFINITY, NONE, Osd, Pg, Pool, Workspace,
};
use foretell_sorted::SortedMap;
use thiserror::Error;

use crate::limits::reached;
use crate::shortage::no_rule;

/// The groups of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeSets {
    /// The set of each group, the primary first.
    pub sets: Vec<Vec<i32>>,
    /// Number of groups with members that the rule did not find.
    pub completed: usize,
}

/// The reason why a pool has no complete sets.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum WholeError {
    /// CRUSH failed.
    #[error(transparent)]
    Map(#[from] ClusterMapError),
    /// There is no rule for the pool, or none that can be used.
    #[error("{0}")]
    NoRule(String),
    /// The rule reaches too few OSDs.
    #[error(
        "a group has {size} copies or shards, and its rule `{rule}` reaches {found} OSDs that are in"
    )]
    Few {
        /// The rule's name.
        rule: String,
        /// Number of members of a group.
        size: u32,
        /// Number of OSDs available.
        found: usize,
    },
}

/// A cluster with the devices of a CRUSH map, all up and in, without pools.
pub fn bare_cluster(crush: CrushMap) -> Result<ClusterMap, ClusterMapError> {
    let osd = Osd { up: true, weight: 0x1_0000, affinity: DEFAULT_AFFINITY };
    let mut osds = vec![None; crush.devices()];
    for device in crush.placed_devices() {
        osds[device as usize] = Some(osd);
    }
    ClusterMap::new(crush, osds, [])
}

/// The `map` with only this pool, all OSDs up, and no temporary sets.
pub fn all_up(map: &ClusterMap, pool: &Pool) -> Result<ClusterMap, ClusterMapError> {
    let osds = map.osds().iter().map(|osd| osd.map(|osd| Osd { up: true, ..osd })).collect();
    let own = map.pools().get(&pool.id);
    let same = own.is_some_and(|own| {
        (own.kind, own.size, own.pg_num, own.rule) == (pool.kind, pool.size, pool.pg_num, pool.rule)
    });
    let mut whole = map.changed(map.crush.clone(), osds, [pool.clone()])?;
    whole.temp.clear();
    whole.primary_temp.clear();
    if !same {
        whole.upmap.clear();
        whole.upmap_items.clear();
        whole.upmap_primaries.clear();
    }
    Ok(whole)
}

/// The placement of the groups of `pool` over `map`, which may or may not contain the pool. Exceptions
/// of the map's pool with the same number apply if it has the same kind, size, number of groups and
/// rule.
pub fn whole_sets(map: &ClusterMap, pool: &Pool) -> Result<WholeSets, WholeError> {
    let whole = all_up(map, pool)?;
    let rule = whole.rule_of(pool);
    let rule = rule.ok_or_else(|| WholeError::NoRule(no_rule(&whole, pool)))?;
    let is_in = |osd: i32| whole.osd(osd).is_some_and(|osd| osd.weight > 0);
    let reached = reached(&whole, rule).into_iter();
    let takers = reached.filter(|(osd, weight)| *weight > 0.0 && is_in(*osd));
    let takers: Vec<i32> = takers.map(|(osd, _)| osd).collect();
    let size = pool.size as usize;
    if takers.len() < size {
        let (rule, size, found) = (rule.name.clone(), pool.size, takers.len());
        return Err(WholeError::Few { rule, size, found });
    }
    let mut work = Workspace::default();
    let mut sets = Vec::with_capacity(pool.pg_num as usize);
    let mut load: SortedMap<i32, usize> = takers.iter().map(|osd| (*osd, 0)).collect();
    for seed in 0..pool.pg_num {
        let placed = whole.place(Pg { pool: pool.id, seed }, &mut work)?;
        let mut set: Vec<i32> = placed.up.into_iter().filter(|osd| *osd != NONE).collect();
        if let Some(leader) = set.iter().position(|osd| *osd == placed.up_primary) {
            set[..=leader].rotate_right(1);
        }
        for osd in &set {
            *load.entry(*osd).or_default() += 1;
        }
        sets.push(set);
    }
    let mut completed = 0;
    for set in sets.iter_mut().filter(|set| set.len() < size) {
        completed += 1;
        while set.len() < size {
            let free = takers.iter().filter(|osd| !set.contains(osd));
            let least = free.min_by_key(|osd| (load[*osd], **osd));
            let least = *least.expect("there are more than members");
            *load.entry(least).or_default() += 1;
            set.push(least);
        }
    }
    Ok(WholeSets { sets, completed })
}
