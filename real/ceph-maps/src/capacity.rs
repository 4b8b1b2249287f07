//! Capacity of a cluster, and the failures that it survives.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, NONE, Pool};
use foretell_algorithms::placement::tolerated;
use foretell_sorted::{SortedMap, SortedSet};

use crate::domains::Domains;
use crate::levels::{Levels, Situation, copy_bytes, homes, osd_bytes};
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
    /// Fill level of the fullest OSD that stores a part of the pool; `None` if it is unknown, or if no OSD does.
    pub fill: Option<f64>,
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

/// The capacity of the whole cluster, at these levels of its OSDs.
pub fn whole_capacity(cluster: Situation<'_>, levels: &Levels) -> Whole {
    let Situation { map, inventory, .. } = cluster;
    let full_ratio = inventory.full_ratio.unwrap_or(FULL_RATIO);
    let stored = map.pools().keys().filter_map(|id| inventory.pools.get(id)?.stored_bytes);
    let stored_bytes: f64 = stored.map(|bytes| bytes as f64).sum();
    let mut raw_bytes = 0.0;
    let mut used_bytes = 0.0;
    for (osd, _) in map.existing().filter(|(_, osd)| osd.weight > 0) {
        raw_bytes += osd_bytes(map, inventory, osd);
        used_bytes += levels.of(osd);
    }
    let fullest = levels.fullest(map, inventory);
    let first = levels.grows_first(cluster);
    let grows = first.filter(|(_, fill)| *fill > 0.0 && stored_bytes > 0.0 && levels.are_known());
    Whole {
        stored_bytes,
        usable_bytes: grows.map(|(_, fill)| stored_bytes * full_ratio / fill),
        first_full: grows.map(|(osd, _)| osd),
        raw_bytes,
        fill: if raw_bytes > 0.0 { used_bytes / raw_bytes } else { 0.0 },
        used_known: levels.are_known(),
        fullest,
        full_ratio,
    }
}

/// Capacity of each pool, at these levels of the OSDs.
pub fn capacity(cluster: Situation<'_>, levels: &Levels) -> SortedMap<i64, Capacity> {
    let Situation { map, inventory, placed } = cluster;
    let mut shares: BTreeMap<i64, BTreeMap<i32, f64>> = BTreeMap::new();
    let mut sets: SortedMap<i64, Vec<&[i32]>> = SortedMap::new();
    for ((pg, placed), home) in map.groups().zip(placed).zip(homes(map, placed)) {
        let share = map.pools()[&pg.pool].share_of(pg.seed);
        for osd in home.iter().filter(|osd| **osd != NONE) {
            *shares.entry(pg.pool).or_default().entry(*osd).or_default() += share;
        }
        // an OSD that still receives a group's data does not serve it
        sets.entry(pg.pool).or_default().push(&placed.acting);
    }
    let full = inventory.full_ratio.unwrap_or(FULL_RATIO);
    let all = map.pools().values().map(|pool| {
        let facts = inventory.pools.get(&pool.id);
        let (data, _) = inventory.data_chunks(pool);
        let stored = facts.and_then(|facts| facts.stored_bytes).unwrap_or(0) as f64;
        let overhead = match stored {
            // with less data, rounding up to whole blocks dominates the measured overhead
            stored if stored >= LEAST_MEASURED * f64::from(pool.pg_num) => {
                copy_bytes(pool, inventory) * f64::from(pool.size) / stored
            }
            _ => f64::from(pool.size) / f64::from(data),
        };
        // bytes of one copy, or of the shards of one position, for each byte of clients
        let per_byte = overhead / f64::from(pool.size);
        let own = shares.get(&pool.id);
        let room = own.into_iter().flatten().map(|(osd, share)| {
            let free = full * osd_bytes(map, inventory, *osd) - levels.of(*osd);
            (free.max(0.0) / (share * per_byte), *osd)
        });
        let first = room.min_by(|a, b| a.0.total_cmp(&b.0));
        let alone = own
            .into_iter()
            .flatten()
            .map(|(osd, share)| full * osd_bytes(map, inventory, *osd) / (share * per_byte));
        let fills = own.into_iter().flatten().map(|(osd, _)| {
            let bytes = osd_bytes(map, inventory, *osd);
            if bytes > 0.0 { levels.of(*osd) / bytes } else { 0.0 }
        });
        let capacity = Capacity {
            stored_bytes: stored,
            stored_known: facts.is_some_and(|facts| facts.stored_bytes.is_some()),
            usable_bytes: stored + first.map_or(0.0, |(room, _)| room),
            first_full: first.map(|(_, osd)| osd),
            overhead,
            fill: fills.max_by(f64::total_cmp).filter(|_| levels.are_known()),
            alone_bytes: alone.min_by(f64::total_cmp).unwrap_or(0.0),
            osds: own.into_iter().flatten().map(|(osd, _)| *osd).collect(),
            survives: survives(map, pool, data, sets.get(&pool.id).map_or(&[], Vec::as_slice)),
        };
        (pool.id, capacity)
    });
    all.collect()
}

/// The failures of each kind that a pool survives, and under which it serves.
fn survives(map: &ClusterMap, pool: &Pool, data_chunks: u32, sets: &[&[i32]]) -> Vec<Survives> {
    let bounds = Bounds::new(map, pool);
    let domains = domains(map, pool);
    let to_read = data_chunks as usize;
    // Ceph serves a group with at least `min_size` members, and needs its data
    let to_serve = to_read.max(pool.min_size as usize);
    let kinds = kinds(map, &domains, sets);
    let survives = kinds.into_iter().map(|(kind, name)| {
        let readable = survived_of(&domains, kind, sets, to_read);
        let served = survived_of(&domains, kind, sets, to_serve);
        // a rule that does not place all members keeps no promise
        Survives {
            kind: name,
            readable,
            served,
            rule_readable: bounds.survived(kind, to_read).min(readable),
            rule_served: bounds.survived(kind, to_serve).min(served),
        }
    });
    survives.collect()
}

/// The domains that matter to a pool: those of its rule.
fn domains(map: &ClusterMap, pool: &Pool) -> Domains {
    match map.rule_of(pool) {
        Some(rule) => Domains::of_rule(&map.crush, rule),
        None => Domains::of_all(&map.crush),
    }
}

/// The types of buckets above the members of these groups, by number, with their names.
fn kinds(map: &ClusterMap, domains: &Domains, sets: &[&[i32]]) -> Vec<(u16, String)> {
    let members: SortedSet<i32> =
        sets.iter().copied().flatten().copied().filter(|osd| *osd != NONE).collect();
    let types = map.crush.parts().types.iter();
    let above = types
        .filter(|(kind, _)| **kind == 0 || members.iter().any(|osd| domains.has(*osd, **kind)));
    above.map(|(kind, name)| (*kind, name.clone())).collect()
}

/// Number of devices, hosts, racks, ... that may fail at once, whichever they are, so that `needed` members
/// of each of these groups of `pool` are left.
pub fn survived(
    map: &ClusterMap,
    pool: &Pool,
    sets: &[Vec<i32>],
    needed: usize,
) -> Vec<(String, usize)> {
    let domains = domains(map, pool);
    let sets: Vec<&[i32]> = sets.iter().map(Vec::as_slice).collect();
    let kinds = kinds(map, &domains, &sets).into_iter();
    kinds.map(|(kind, name)| (name, survived_of(&domains, kind, &sets, needed))).collect()
}

/// Number of buckets of a type that may fail, whichever they are, so that `needed` members of each group are
/// left.
fn survived_of(domains: &Domains, kind: u16, sets: &[&[i32]], needed: usize) -> usize {
    let of_group = |set: &&[i32]| {
        let placed = set.iter().filter(|osd| **osd != NONE);
        tolerated(placed.map(|osd| domains.of(*osd, kind)), needed)
    };
    sets.iter().map(of_group).min().unwrap_or(0)
}
