//! Capacity of a cluster, and the failures that it survives.

use foretell_algorithms::crush::{ClusterMap, NONE, Placed, PoolKind};
use foretell_sorted::SortedMap;

use crate::inventory::Inventory;
use crate::plan::{Domains, osd_bytes, shard_bytes};
use crate::promise::Bounds;

/// Ceph's default: an OSD above this fill level accepts no writes.
const FULL_RATIO: f64 = 0.95;
/// Minimum number of stored bytes in a placement group, the size of an object, for its measured overhead on
/// drives to be used.
const LEAST_MEASURED: f64 = 4_194_304.0;

/// A pool's capacity.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// Bytes that clients stored; 0 where unknown.
    pub stored_bytes: f64,
    /// Whether the files say how much is stored.
    pub stored_known: bool,
    /// Bytes that clients can store until the first OSD is full if only this pool grows, including the bytes
    /// already stored.
    pub usable_bytes: f64,
    /// The OSD that becomes full first.
    pub first_full: Option<i32>,
    /// Bytes on drives for each byte that clients store.
    pub overhead: f64,
    /// Fill level of the fullest OSD that stores a part of the pool.
    pub fill: f64,
    /// Bytes that clients could store if the pool had these drives to itself.
    pub alone_bytes: f64,
    /// The OSDs that store a part of it.
    pub osds: Vec<i32>,
    /// Failures that leave all data readable, by type of bucket (0 is a device): any this many at the same
    /// time.
    pub survives: Vec<Survives>,
}

/// Number of failures of one kind that a pool survives, whichever they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survives {
    /// `osd`, `host`, `rack`, ...
    pub kind: String,
    /// Failures without data loss.
    pub readable: usize,
    /// Failures after which every group still has enough copies or shards to serve clients.
    pub served: usize,
    /// Failures without data loss that the rule guarantees for every placement that it allows; never more than
    /// `readable`.
    pub rule_readable: usize,
    /// Failures with clients served that the rule guarantees; never more than `served`.
    pub rule_served: usize,
}

/// All pools together, as they share the drives now.
#[derive(Clone, PartialEq, Debug)]
pub struct Whole {
    /// Bytes that clients stored in all pools.
    pub stored_bytes: f64,
    /// Bytes that they can store until the first OSD is full, if all pools grow by the same factor. `None` if
    /// nothing is stored.
    pub usable_bytes: Option<f64>,
    /// The OSD that then becomes full first.
    pub first_full: Option<i32>,
    /// Bytes of all drives that are in.
    pub raw_bytes: f64,
    /// Used share of these bytes.
    pub fill: f64,
    /// Whether the files say how much is used.
    pub used_known: bool,
    /// The fullest OSD, and its fill level.
    pub fullest: Option<(i32, f64)>,
    /// Fill level above which an OSD accepts no writes.
    pub full_ratio: f64,
}

/// The capacity of the whole cluster.
pub fn whole_capacity(map: &ClusterMap, inventory: &Inventory, placed: &[Placed]) -> Whole {
    let used = used(map, inventory, placed);
    let full_ratio = inventory.full_ratio.unwrap_or(FULL_RATIO);
    let stored = map.pools().keys().filter_map(|id| inventory.pools.get(id)?.stored_bytes);
    let stored_bytes: f64 = stored.map(|bytes| bytes as f64).sum();
    let mut raw_bytes = 0.0;
    let mut used_bytes = 0.0;
    let mut fullest: Option<(i32, f64)> = None;
    for (osd, _) in map.existing().filter(|(_, osd)| osd.weight > 0) {
        let bytes = osd_bytes(map, inventory, osd);
        let used = used.get(&osd).copied().unwrap_or(0.0);
        raw_bytes += bytes;
        used_bytes += used;
        if bytes > 0.0 && fullest.is_none_or(|(_, fill)| used / bytes > fill) {
            fullest = Some((osd, used / bytes));
        }
    }
    let grows = fullest.filter(|(_, fill)| *fill > 0.0 && stored_bytes > 0.0);
    Whole {
        stored_bytes,
        usable_bytes: grows.map(|(_, fill)| stored_bytes * full_ratio / fill),
        first_full: grows.map(|(osd, _)| osd),
        raw_bytes,
        fill: if raw_bytes > 0.0 { used_bytes / raw_bytes } else { 0.0 },
        used_known: used_known(inventory),
        fullest,
        full_ratio,
    }
}

/// Used bytes of each OSD: as reported, or computed from the groups that belong there.
fn used(map: &ClusterMap, inventory: &Inventory, placed: &[Placed]) -> SortedMap<i32, f64> {
    let mut used: SortedMap<i32, f64> = SortedMap::new();
    for (pg, placed) in map.groups().zip(placed) {
        let bytes = shard_bytes(&map.pools()[&pg.pool], inventory);
        for osd in placed.up.iter().filter(|osd| **osd != NONE) {
            *used.entry(*osd).or_default() += bytes;
        }
    }
    for (osd, facts) in &inventory.osds {
        if let Some(bytes) = facts.used_bytes {
            used.insert(*osd, bytes as f64);
        }
    }
    used
}

/// Whether anything is known of how full the OSDs are. A new host of a plan is empty, which says nothing of the others.
fn used_known(inventory: &Inventory) -> bool {
    let mut of_pools = inventory.pools.values();
    of_pools.any(|pool| pool.stored_bytes.is_some() || pool.allocated_bytes.is_some())
        || inventory.osds.values().any(|osd| osd.used_bytes.is_some_and(|bytes| bytes > 0))
}

/// Capacity of each pool. `placed`: the placements in the order of the map's groups.
pub fn capacity(
    map: &ClusterMap,
    inventory: &Inventory,
    placed: &[Placed],
) -> SortedMap<i64, Capacity> {
    let used = used(map, inventory, placed);
    let mut shards: SortedMap<i64, SortedMap<i32, f64>> = SortedMap::new();
    let mut sets: SortedMap<i64, Vec<&[i32]>> = SortedMap::new();
    for (pg, placed) in map.groups().zip(placed) {
        for osd in placed.up.iter().filter(|osd| **osd != NONE) {
            *shards.entry(pg.pool).or_default().entry(*osd).or_default() += 1.0;
        }
        sets.entry(pg.pool).or_default().push(&placed.up);
    }
    let full = inventory.full_ratio.unwrap_or(FULL_RATIO);
    let domains = Domains::new(map);
    let all = map.pools().values().map(|pool| {
        let facts = inventory.pools.get(&pool.id);
        let data = facts.and_then(|facts| facts.data_chunks).unwrap_or(1);
        let stored = facts.and_then(|facts| facts.stored_bytes).unwrap_or(0) as f64;
        let shard = shard_bytes(pool, inventory);
        // a shard of a group holds one part in this many of the clients' data
        let nominal = f64::from(pool.pg_num) * f64::from(data);
        let overhead = match stored {
            // with less data, rounding up to whole blocks dominates the measured overhead
            stored if stored >= LEAST_MEASURED * f64::from(pool.pg_num) => {
                shard * f64::from(pool.pg_num) * f64::from(pool.size) / stored
            }
            _ => f64::from(pool.size) / f64::from(data),
        };
        let per_byte = overhead * f64::from(data) / f64::from(pool.size) / nominal;
        let room = shards.get(&pool.id).into_iter().flatten().map(|(osd, shards)| {
            let free =
                full * osd_bytes(map, inventory, *osd) - used.get(osd).copied().unwrap_or(0.0);
            (free.max(0.0) / (shards * per_byte), *osd)
        });
        let first = room.min_by(|a, b| a.0.total_cmp(&b.0));
        let own = shards.get(&pool.id);
        let alone = own
            .into_iter()
            .flatten()
            .map(|(osd, shards)| full * osd_bytes(map, inventory, *osd) / (shards * per_byte));
        let fills = own.into_iter().flatten().map(|(osd, _)| {
            let bytes = osd_bytes(map, inventory, *osd);
            if bytes > 0.0 { used.get(osd).copied().unwrap_or(0.0) / bytes } else { 0.0 }
        });
        let bounds = Bounds::new(map, pool);
        let sets = sets.get(&pool.id).map_or(&[][..], Vec::as_slice);
        let most_lost = match pool.kind {
            PoolKind::Replicated => 1,
            PoolKind::Erasure => data as usize,
        };
        let survives = map.crush.parts().types.iter().filter_map(|(kind, name)| {
            let known =
                *kind == 0 || map.crush.parts().buckets.iter().any(|bucket| bucket.kind == *kind);
            known.then(|| {
                let least_served = pool.min_size as usize;
                let readable = survived_of(&domains, *kind, sets, most_lost);
                let served = survived_of(&domains, *kind, sets, least_served);
                // a rule that does not place all members keeps no promise
                Survives {
                    kind: name.clone(),
                    readable,
                    served,
                    rule_readable: bounds.survived(*kind, most_lost).min(readable),
                    rule_served: bounds.survived(*kind, least_served).min(served),
                }
            })
        });
        let capacity = Capacity {
            stored_bytes: stored,
            stored_known: facts.is_some_and(|facts| facts.stored_bytes.is_some()),
            usable_bytes: stored + first.map_or(0.0, |(room, _)| room),
            first_full: first.map(|(_, osd)| osd),
            overhead,
            fill: fills.max_by(f64::total_cmp).unwrap_or(0.0),
            alone_bytes: alone.min_by(f64::total_cmp).unwrap_or(0.0),
            osds: own.into_iter().flatten().map(|(osd, _)| *osd).collect(),
            survives: survives.collect(),
        };
        (pool.id, capacity)
    });
    all.collect()
}

/// Number of devices, hosts, racks, ... that may fail at once, whichever they are, so that `needed` members
/// of each of these groups are left.
pub fn survived(map: &ClusterMap, sets: &[Vec<i32>], needed: usize) -> Vec<(String, usize)> {
    let domains = Domains::new(map);
    let sets: Vec<&[i32]> = sets.iter().map(Vec::as_slice).collect();
    let parts = map.crush.parts();
    let known = parts.types.iter().filter(|(kind, _)| {
        **kind == 0 || parts.buckets.iter().any(|bucket| bucket.kind == **kind)
    });
    known.map(|(kind, name)| (name.clone(), survived_of(&domains, *kind, &sets, needed))).collect()
}

/// Number of buckets of a type that may fail, whichever they are, so that `needed` members of each group are
/// left.
fn survived_of(domains: &Domains, kind: u16, sets: &[&[i32]], needed: usize) -> usize {
    let of_group = |set: &&[i32]| {
        let mut counts: SortedMap<i32, usize> = SortedMap::new();
        for osd in set.iter().filter(|osd| **osd != NONE) {
            *counts.entry(domains.of(*osd, kind)).or_default() += 1;
        }
        let mut left: usize = counts.values().sum();
        let mut largest: Vec<usize> = counts.into_values().collect();
        largest.sort_unstable_by(|a, b| b.cmp(a));
        let holds = largest.into_iter().take_while(|count| {
            let holds = left >= needed + count;
            left -= count;
            holds
        });
        holds.count()
    };
    sets.iter().map(of_group).min().unwrap_or(0)
}
