//! How much a cluster holds, and which failures it survives.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, NONE, Placed, PoolKind};

use crate::inventory::Inventory;
use crate::plan::{Domains, osd_bytes, shard_bytes};
use crate::promise::Bounds;

/// Ceph's default: an OSD that is fuller takes no writes.
const FULL_RATIO: f64 = 0.95;
/// Bytes in a placement group, an object's, from which on what they take on drives is a measurement.
const LEAST_MEASURED: f64 = 4_194_304.0;

/// A pool's capacity.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// Bytes that clients stored; 0 where unknown.
    pub stored_bytes: f64,
    /// Bytes that clients can store until the first OSD is full, if only this pool grows; what is
    /// stored included.
    pub usable_bytes: f64,
    /// The OSD that is full first.
    pub first_full: Option<i32>,
    /// Bytes on drives for each byte that clients store.
    pub overhead: f64,
    /// How full the fullest OSD is that has some of the pool.
    pub fill: f64,
    /// Bytes that clients could store if the pool had these drives for itself.
    pub alone_bytes: f64,
    /// The OSDs that have some of it.
    pub osds: Vec<i32>,
    /// Which failures leave all data readable, by type of bucket (0 is a device): any so many at once.
    pub survives: Vec<Survives>,
}

/// How many failures of one kind a pool survives, whichever they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survives {
    /// `osd`, `host`, `rack`, ...
    pub kind: String,
    /// With no data lost.
    pub readable: usize,
    /// With enough copies or chunks of each group for clients to be served.
    pub served: usize,
    /// As many as the rule promises for any placement that it allows, with no data lost.
    pub rule_readable: usize,
    /// The same, with clients served.
    pub rule_served: usize,
}

/// All pools together, as they share the drives now.
#[derive(Clone, PartialEq, Debug)]
pub struct Whole {
    /// Bytes that clients stored in all pools.
    pub stored_bytes: f64,
    /// Bytes that they can store until the first OSD is full, if all pools grow by the same factor. None
    /// where nothing is stored.
    pub usable_bytes: Option<f64>,
    /// The OSD that is full first then.
    pub first_full: Option<i32>,
    /// Bytes of all drives that are in.
    pub raw_bytes: f64,
    /// How much of them is used.
    pub fill: f64,
    /// The fullest OSD, and how full it is.
    pub fullest: Option<(i32, f64)>,
    /// Above which fill level an OSD takes no writes.
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
        fullest,
        full_ratio,
    }
}

/// Bytes that are used on each OSD: as reported, or what groups that belong there have.
fn used(map: &ClusterMap, inventory: &Inventory, placed: &[Placed]) -> BTreeMap<i32, f64> {
    let mut used: BTreeMap<i32, f64> = BTreeMap::new();
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

/// Each pool's capacity, from where its groups are: `placed` in the order of the map's groups.
pub fn capacity(
    map: &ClusterMap,
    inventory: &Inventory,
    placed: &[Placed],
) -> BTreeMap<i64, Capacity> {
    let used = used(map, inventory, placed);
    let mut shards: BTreeMap<i64, BTreeMap<i32, f64>> = BTreeMap::new();
    let mut sets: BTreeMap<i64, Vec<&[i32]>> = BTreeMap::new();
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
        // a chunk of a group holds this much of what clients store
        let nominal = f64::from(pool.pg_num) * f64::from(data);
        let overhead = match stored {
            // of less, what is rounded up to whole blocks says nothing of what will be stored
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
            known.then(|| Survives {
                kind: name.clone(),
                readable: survived_of(&domains, *kind, sets, most_lost),
                served: survived_of(&domains, *kind, sets, pool.min_size as usize),
                rule_readable: bounds.survived(*kind, most_lost),
                rule_served: bounds.survived(*kind, pool.min_size as usize),
            })
        });
        let capacity = Capacity {
            stored_bytes: stored,
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

/// How many devices, hosts, racks, ... may fail at once, whichever they are, with `needed` members of each of
/// these groups left.
pub fn survived(map: &ClusterMap, sets: &[Vec<i32>], needed: usize) -> Vec<(String, usize)> {
    let domains = Domains::new(map);
    let sets: Vec<&[i32]> = sets.iter().map(Vec::as_slice).collect();
    let parts = map.crush.parts();
    let known = parts.types.iter().filter(|(kind, _)| {
        **kind == 0 || parts.buckets.iter().any(|bucket| bucket.kind == **kind)
    });
    known.map(|(kind, name)| (name.clone(), survived_of(&domains, *kind, &sets, needed))).collect()
}

/// How many buckets of a type may fail, whichever they are, with `needed` members of each group left.
fn survived_of(domains: &Domains, kind: u16, sets: &[&[i32]], needed: usize) -> usize {
    let of_group = |set: &&[i32]| {
        let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
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
