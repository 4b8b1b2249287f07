//! Whole sets: where the groups of a pool lie when all OSDs work, each with all of its members.
//!
//! A simulated pool misses no copy. OSDs that are down are taken to be up; `pg_temp` and `primary_temp`,
//! which last while data move, are left out. Where a rule finds too few members all the same, the least
//! loaded OSDs that it reaches stand in: which groups, is counted.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{
    ClusterMap, ClusterMapError, CrushMap, DEFAULT_AFFINITY, NONE, Osd, Pg, Pool, Workspace,
};
use thiserror::Error;

use crate::plan::reached;

/// The groups of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeSets {
    /// By group, the leader first.
    pub sets: Vec<Vec<i32>>,
    /// How many groups have members that the rule did not find.
    pub completed: usize,
}

/// Why a pool has no whole sets.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum WholeError {
    /// CRUSH says so.
    #[error(transparent)]
    Map(#[from] ClusterMapError),
    /// There is no rule for it.
    #[error("there is no rule {rule} for {size} copies or shards")]
    NoRule {
        /// The rule's number.
        rule: u32,
        /// How many members a group has.
        size: u32,
    },
    /// The rule reaches too few OSDs.
    #[error(
        "a group has {size} copies or shards, and its rule `{rule}` reaches {found} OSDs that are in"
    )]
    Few {
        /// The rule's name.
        rule: String,
        /// How many members a group has.
        size: u32,
        /// How many OSDs there are for them.
        found: usize,
    },
}

/// A cluster with a CRUSH map's devices, all up and in, and without pools.
pub fn bare_cluster(crush: CrushMap) -> Result<ClusterMap, ClusterMapError> {
    let osd = Osd { up: true, weight: 0x1_0000, affinity: DEFAULT_AFFINITY };
    let mut osds = vec![None; crush.devices()];
    for device in crush.placed_devices() {
        osds[device as usize] = Some(osd);
    }
    ClusterMap::new(crush, osds, [])
}

/// `map` with this pool alone, all OSDs up, and no OSD serving for another.
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
    }
    Ok(whole)
}

/// Where the groups of `pool` lie over `map`, which may have it or not. Exceptions of the map's pool of
/// that number hold if it is of the same kind, size and number of groups.
pub fn whole_sets(map: &ClusterMap, pool: &Pool) -> Result<WholeSets, WholeError> {
    let whole = all_up(map, pool)?;
    let rule = whole.rule_of(pool);
    let rule = rule.ok_or(WholeError::NoRule { rule: pool.rule, size: pool.size })?;
    let is_in = |osd: &i32| whole.osd(*osd).is_some_and(|osd| osd.weight > 0);
    let takers: Vec<i32> = reached(&whole, rule).into_keys().filter(is_in).collect();
    let size = pool.size as usize;
    if takers.len() < size {
        let (rule, size, found) = (rule.name.clone(), pool.size, takers.len());
        return Err(WholeError::Few { rule, size, found });
    }
    let mut work = Workspace::default();
    let mut sets = Vec::with_capacity(pool.pg_num as usize);
    let mut load: BTreeMap<i32, usize> = takers.iter().map(|osd| (*osd, 0)).collect();
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
