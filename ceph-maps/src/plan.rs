//! Effects of a change: placement groups and bytes that move, and the minimum that any placement must move.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{
    ClusterMap, ClusterMapError, NONE, Pg, Placed, Pool, PoolKind, Rule, Step, stable_mod,
};
use foretell_sorted::{SortedMap, SortedSet};

use crate::inventory::Inventory;

/// The effects of a change.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Plan {
    /// Groups with a copy or shard that moves to another OSD.
    pub groups: usize,
    /// Groups whose *up* set changes in any way, including its order.
    pub groups_changed: usize,
    /// Copies or shards that move to another OSD.
    pub shards: usize,
    /// All copies or shards after the change.
    pub shards_in_all: usize,
    /// Bytes that move to other OSDs.
    pub bytes: f64,
    /// Bytes that any placement must move.
    pub floor: Floor,
    /// Groups with fewer members after the change than their pool wants.
    pub short: usize,
    /// Bytes by source and target OSD; the source is -1 if no OSD had that shard before.
    pub moves: BTreeMap<(i32, i32), f64>,
    /// Groups and bytes, by pool.
    pub pools: SortedMap<i64, (usize, f64)>,
    /// Fill level of each OSD before and after.
    pub fill: SortedMap<i32, (f64, f64)>,
    /// Whether bytes are known: if not, they are 0.
    pub bytes_known: bool,
    /// The groups that move, in order.
    pub moving: Vec<Moving>,
}

/// A group with copies or shards that move to other OSDs.
#[derive(Clone, PartialEq, Debug)]
pub struct Moving {
    /// The group after the change.
    pub pg: Pg,
    /// Copies, or shards.
    pub kind: PoolKind,
    /// The OSDs of its copies or shards before the change, in order.
    pub was: Vec<i32>,
    /// Source and target of each move; the source is -1 if no OSD had that copy or shard.
    pub steps: Vec<(i32, i32)>,
    /// Bytes of each move.
    pub bytes: f64,
    /// Number of shards that are read to recover a lost one.
    pub data_chunks: usize,
    /// Whether the pool's code changes: then clients copy its data, and no OSD recovers it.
    pub recoded: bool,
}

/// Bytes that any placement must move.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Floor {
    /// Copies and shards that must leave their place and have another one: the OSD is out or gone, the rule does not
    /// reach it, or another member of the group is too near. An OSD that is only down keeps its data.
    pub misplaced_bytes: f64,
    /// Bytes for OSDs whose share of the weight grows.
    pub balance_bytes: f64,
}

impl Floor {
    /// The minimum that must move if `moved` bytes do; one movement can serve both purposes. Pseudorandom placement
    /// may be less even than the weights, and may then move less than even shares would require.
    pub fn bytes(&self, moved: f64) -> f64 {
        self.misplaced_bytes.max(self.balance_bytes).min(moved)
    }
}

impl Plan {
    /// The fullest OSD before, and the fullest after.
    pub fn fullest(&self) -> Option<[(i32, f64); 2]> {
        let fullest = |level: fn(&(f64, f64)) -> f64| {
            let levels = self.fill.iter().map(|(osd, fill)| (*osd, level(fill)));
            levels.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        };
        Some([fullest(|fill| fill.0)?, fullest(|fill| fill.1)?])
    }
}

/// Bytes into and out of buckets of one type, by name; movements within a bucket do not count.
pub fn moves_by(plan: &Plan, map: &ClusterMap, kind: u16) -> SortedMap<String, (f64, f64)> {
    // types that a map only declares, such as `chassis` in many maps, have no buckets
    if kind != 0 && !map.crush.parts().buckets.iter().any(|bucket| bucket.kind == kind) {
        return SortedMap::new();
    }
    let domains = Domains::new(map);
    let name = |osd: i32| {
        let of = domains.of(osd, kind);
        map.crush.bucket(of).map_or_else(|| format!("osd.{of}"), |bucket| bucket.name.clone())
    };
    let mut by_name: SortedMap<String, (f64, f64)> = SortedMap::new();
    for ((from, to), bytes) in &plan.moves {
        let (source, target) = ((*from >= 0).then(|| name(*from)), name(*to));
        if source.as_ref() == Some(&target) {
            continue;
        }
        by_name.entry(target).or_default().0 += bytes;
        if let Some(source) = source {
            by_name.entry(source).or_default().1 += bytes;
        }
    }
    by_name
}

/// Bytes of one copy or shard of a pool's group; 0 if unknown.
pub fn shard_bytes(pool: &Pool, inventory: &Inventory) -> f64 {
    let Some(facts) = inventory.pools.get(&pool.id) else { return 0.0 };
    let shards = f64::from(pool.pg_num) * f64::from(pool.size);
    match (facts.allocated_bytes.filter(|bytes| *bytes > 0), facts.stored_bytes) {
        (Some(allocated), _) => allocated as f64 / shards,
        (None, Some(stored)) => {
            let data = f64::from(facts.data_chunks.unwrap_or(1));
            stored as f64 / (f64::from(pool.pg_num) * data)
        }
        (None, None) => 0.0,
    }
}

/// The size of an OSD's drive; if unknown, derived from its CRUSH weight (1 is a TiB).
pub fn osd_bytes(map: &ClusterMap, inventory: &Inventory, osd: i32) -> f64 {
    if let Some(bytes) = inventory.osds.get(&osd).and_then(|facts| facts.bytes) {
        return bytes as f64;
    }
    let buckets = map.crush.parts().buckets.iter().filter(|bucket| !bucket.is_shadow());
    let weight = buckets.flat_map(|bucket| &bucket.items).find(|item| item.id == osd);
    weight.map_or(0.0, |item| f64::from(item.weight) / 65_536.0 * (1_u64 << 40) as f64)
}

/// Compares a cluster before and after a change.
pub fn plan(
    before: (&ClusterMap, &Inventory),
    after: (&ClusterMap, &Inventory),
) -> Result<Plan, ClusterMapError> {
    let old = by_group(before.0)?;
    let new = by_group(after.0)?;
    let mut plan = Plan::default();
    let mut held: SortedMap<i32, (f64, f64)> = SortedMap::new();
    for (pg, placed) in &old {
        let size = shard_bytes(&before.0.pools()[&pg.pool], before.1);
        for osd in members(&placed.up) {
            held.entry(osd).or_default().0 += size;
        }
    }
    for (pg, placed) in &new {
        let pool = &after.0.pools()[&pg.pool];
        let size = shard_bytes(pool, after.1);
        plan.bytes_known |= size > 0.0;
        for osd in members(&placed.up) {
            held.entry(osd).or_default().1 += size;
        }
        plan.shards_in_all += members(&placed.up).count();
        let earlier = before.0.pools().get(&pg.pool);
        let origin = earlier.map(|pool| Pg { seed: stable_mod(pg.seed, pool.pg_num), ..*pg });
        let none = Vec::new();
        let was = origin.and_then(|pg| old.get(&pg)).map_or(&none, |placed| &placed.up);
        // with another code, all data is rewritten
        let recoded = earlier.is_none_or(|earlier| {
            let shards = |inventory: &Inventory| {
                inventory.pools.get(&pg.pool).and_then(|facts| facts.data_chunks)
            };
            earlier.kind != pool.kind
                || pool.kind == PoolKind::Erasure
                    && (earlier.size != pool.size || shards(before.1) != shards(after.1))
        });
        let steps = if recoded {
            members(&placed.up).map(|osd| (-1, osd)).collect()
        } else {
            movements(pool.kind, was, &placed.up)
        };
        plan.groups_changed += usize::from(was != &placed.up);
        plan.groups += usize::from(!steps.is_empty());
        plan.shards += steps.len();
        let by_pool = plan.pools.entry(pg.pool).or_default();
        by_pool.0 += usize::from(!steps.is_empty());
        for &step in &steps {
            by_pool.1 += size;
            plan.bytes += size;
            *plan.moves.entry(step).or_default() += size;
        }
        if !steps.is_empty() {
            let facts = after.1.pools.get(&pg.pool);
            let data_chunks = facts.and_then(|facts| facts.data_chunks).unwrap_or(1) as usize;
            let (was, kind, bytes) = (was.clone(), pool.kind, size);
            plan.moving.push(Moving { pg: *pg, kind, was, steps, bytes, data_chunks, recoded });
        }
    }
    plan.floor = floor(before, after, (&old, &new));
    plan.short = short(after.0, &new);
    for (osd, (before_bytes, after_bytes)) in held {
        let capacity = osd_bytes(after.0, after.1, osd);
        if capacity > 0.0 && osd >= 0 {
            plan.fill.insert(osd, (before_bytes / capacity, after_bytes / capacity));
        }
    }
    Ok(plan)
}

fn by_group(map: &ClusterMap) -> Result<BTreeMap<Pg, Placed>, ClusterMapError> {
    Ok(map.groups().zip(map.place_all()?).collect())
}

fn members(set: &[i32]) -> impl Iterator<Item = i32> + '_ {
    set.iter().copied().filter(|osd| *osd != NONE)
}

/// Sources and targets of moves. Copies are interchangeable: those that leave become those that come.
fn movements(kind: PoolKind, was: &[i32], is: &[i32]) -> Vec<(i32, i32)> {
    match kind {
        PoolKind::Erasure => {
            let moved = |(position, osd): (usize, &i32)| {
                let from = was.get(position).copied().filter(|from| *from != NONE);
                (*osd != NONE && from != Some(*osd)).then_some((from.unwrap_or(-1), *osd))
            };
            is.iter().enumerate().filter_map(moved).collect()
        }
        PoolKind::Replicated => {
            let leave = was.iter().copied().filter(|osd| *osd != NONE && !is.contains(osd));
            let mut sources = leave.chain(std::iter::repeat(-1));
            let come = is.iter().copied().filter(|osd| *osd != NONE && !was.contains(osd));
            come.map(|to| (sources.next().expect("endless"), to)).collect()
        }
    }
}

/// Groups with fewer members than their pool wants.
fn short(map: &ClusterMap, placed: &BTreeMap<Pg, Placed>) -> usize {
    let is_short = |(pg, placed): &(&Pg, &Placed)| {
        members(&placed.up).count() < map.pools()[&pg.pool].size as usize
    };
    placed.iter().filter(is_short).count()
}

/// The minimum that no placement can avoid moving.
fn floor(
    before: (&ClusterMap, &Inventory),
    after: (&ClusterMap, &Inventory),
    (old, new): (&BTreeMap<Pg, Placed>, &BTreeMap<Pg, Placed>),
) -> Floor {
    let mut floor = Floor::default();
    let mut shares: SortedMap<i32, f64> = SortedMap::new();
    let domains = Domains::new(after.0);
    for pool in after.0.pools().values() {
        let bytes = shard_bytes(pool, after.1) * f64::from(pool.pg_num) * f64::from(pool.size);
        for (osd, share) in ideal(after.0, pool) {
            *shares.entry(osd).or_default() += share * bytes;
        }
        let Some(earlier) = before.0.pools().get(&pool.id) else { continue };
        let earlier_bytes =
            shard_bytes(earlier, before.1) * f64::from(earlier.pg_num) * f64::from(earlier.size);
        for (osd, share) in ideal(before.0, earlier) {
            *shares.entry(osd).or_default() -= share * earlier_bytes;
        }
        let Some(rule) = after.0.rule_of(pool) else { continue };
        let reached = reached(after.0, rule);
        let limits = limits(rule, pool.size);
        for seed in 0..pool.pg_num {
            let origin = Pg { pool: pool.id, seed: stable_mod(seed, earlier.pg_num) };
            let Some(placed) = old.get(&origin) else { continue };
            let may_stay = |osd: &i32| {
                reached.contains_key(osd) && after.0.osd(*osd).is_some_and(|osd| osd.weight > 0)
            };
            let stay: Vec<i32> = members(&placed.up).filter(|osd| may_stay(osd)).collect();
            let kept = domains.most_kept(&stay, &limits).min(pool.size as usize);
            // a group that lacked members before need not become complete, and one for which the rule finds no
            // others cannot
            let found = new.get(&Pg { pool: pool.id, seed });
            let found = found.map_or(0, |placed| members(&placed.up).count());
            let wanted = members(&placed.up).count().min(pool.size as usize).min(found);
            floor.misplaced_bytes +=
                (wanted - kept.min(wanted)) as f64 * shard_bytes(pool, after.1);
        }
    }
    floor.balance_bytes = shares.values().filter(|bytes| **bytes > 0.0).sum();
    floor
}

/// The share of a pool's data that each OSD should have: by weight, among the OSDs that its rule reaches.
pub(crate) fn ideal(map: &ClusterMap, pool: &Pool) -> SortedMap<i32, f64> {
    let Some(rule) = map.rule_of(pool) else { return SortedMap::new() };
    let mut weights = reached(map, rule);
    for (osd, weight) in &mut weights {
        *weight *= map.osd(*osd).map_or(0.0, |osd| f64::from(osd.weight) / 65_536.0);
    }
    let sum: f64 = weights.values().sum();
    weights.retain(|_, weight| *weight > 0.0);
    for weight in weights.values_mut() {
        *weight /= sum;
    }
    weights
}

/// The OSDs below the buckets that a rule takes, with their CRUSH weights.
pub(crate) fn reached(map: &ClusterMap, rule: &Rule) -> SortedMap<i32, f64> {
    let parts = map.crush.parts();
    let mut weights = SortedMap::new();
    for step in &rule.steps {
        let Step::Take(item) = step else { continue };
        if *item >= 0 {
            weights.insert(*item, 1.0);
        } else {
            let below = parts.devices_below(*item);
            weights
                .extend(below.into_iter().map(|(osd, weight)| (osd, f64::from(weight) / 65_536.0)));
        }
    }
    weights
}

/// A limit that a rule sets for the members of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limit {
    /// Type of the buckets.
    pub(crate) kind: u16,
    /// Maximum number of members below each.
    pub(crate) each: usize,
    /// Maximum number of buckets of this type with members.
    pub(crate) buckets: usize,
}

/// The limits that a rule sets for a group of `size` members.
pub(crate) fn limits(rule: &Rule, size: u32) -> Vec<Limit> {
    let counts: Vec<(u16, usize)> = rule
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Choose { count, kind, .. } => {
                let count = if *count > 0 { *count } else { (size.cast_signed() + *count).max(1) };
                Some((*kind, count as usize))
            }
            _ => None,
        })
        .collect();
    let size = size as usize;
    // with several `emit` steps, the only limit is that no device is chosen twice
    let ends = rule.steps.iter().filter(|step| matches!(step, Step::Emit)).count();
    if ends > 1 {
        return vec![Limit { kind: 0, each: 1, buckets: size }];
    }
    let product = |counts: &[(u16, usize)]| {
        counts.iter().fold(1_usize, |product, (_, count)| product.saturating_mul(*count))
    };
    let limit = |at: usize| Limit {
        kind: counts[at].0,
        each: product(&counts[at + 1..]).min(size),
        buckets: product(&counts[..=at]),
    };
    (0..counts.len()).map(limit).collect()
}

/// By device and type: the bucket of that type that the device is below.
pub(crate) struct Domains(SortedMap<(i32, u16), i32>);

impl Domains {
    pub(crate) fn new(map: &ClusterMap) -> Self {
        let parts = map.crush.parts();
        let buckets = parts.buckets.iter().filter(|bucket| !bucket.is_shadow());
        let domains = buckets.flat_map(|bucket| {
            let below = parts.devices_below(bucket.id).into_keys();
            below.map(|device| ((device, bucket.kind), bucket.id))
        });
        Self(domains.collect())
    }

    /// The bucket of type `kind` that holds a device; the device itself for type 0.
    pub(crate) fn of(&self, device: i32, kind: u16) -> i32 {
        if kind == 0 { device } else { self.0.get(&(device, kind)).copied().unwrap_or(device) }
    }

    /// Number of these devices that may stay together: a greedy choice, exact where types are nested.
    pub(crate) fn most_kept(&self, devices: &[i32], limits: &[Limit]) -> usize {
        let mut counts: SortedMap<(u16, i32), usize> = SortedMap::new();
        let mut kept = SortedSet::new();
        for device in devices {
            let room = limits.iter().all(|limit| {
                let place = (limit.kind, self.of(*device, limit.kind));
                match counts.get(&place) {
                    Some(count) => *count < limit.each,
                    None => {
                        counts.keys().filter(|(kind, _)| *kind == limit.kind).count()
                            < limit.buckets
                    }
                }
            });
            if room && kept.insert(*device) {
                for limit in limits {
                    *counts.entry((limit.kind, self.of(*device, limit.kind))).or_default() += 1;
                }
            }
        }
        kept.len()
    }

    /// Whether these devices may be members of one group.
    pub(crate) fn allow(&self, devices: &[i32], limits: &[Limit]) -> bool {
        self.most_kept(devices, limits) == devices.len()
    }
}
