//! Volumes of a scenario, one for each pool.

use std::fmt::Write as _;

use foretell_algorithms::crush::{ClusterMap, ClusterMapError, Pool, PoolKind};
use foretell_input::{one_line, toml_string};
use foretell_sorted::{SortedMap, SortedSet};

use super::hosts::Cluster;
use super::names::Names;
use crate::capacity::capacity;
use crate::inventory::{Inventory, Traffic};
use crate::levels::{Levels, Situation};
use crate::whole::{WholeError, whole_sets};

/// Minimum number of objects of a volume. A pool that stores hardly any data may hold a bucket index of 11 objects.
const LEAST_OBJECTS: u64 = 16;

/// Size of an object in Ceph.
const OBJECT: u64 = 4 << 20;
/// Bytes of a chunk in a stripe, `osd_pool_erasure_code_stripe_unit`.
const CHUNK: u64 = 4096;
/// Maximum fill level of drives in the scenario; the rest is for logs.
const MOST_FILL: f64 = 0.9;

/// A pool.
pub(super) struct Volume {
    pub(super) name: String,
    pool: String,
    rule: String,
    groups: u32,
    /// Number of data chunks, and of all chunks.
    data: u32,
    size: u32,
    /// Bytes of a stripe, and whether that is a guess.
    stripe: (u64, bool),
    bytes: u64,
    /// Whether `bytes` is a guess.
    pub(super) assumed_size: bool,
    objects: Option<u64>,
    osds: SortedSet<i32>,
    pub(super) traffic: Option<Traffic>,
    remarks: Vec<String>,
}

impl Volume {
    /// Bytes of the volume.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn text(&self, cluster: &Cluster) -> String {
        let mut text = String::new();
        let _ = write!(text, "\n# pool {}, rule {}", one_line(&self.pool), one_line(&self.rule));
        let _ = write!(text, ", {} placement groups", self.groups);
        if let Some(objects) = self.objects {
            let _ = write!(text, ", {objects} objects");
        }
        text.push('\n');
        for remark in &self.remarks {
            let _ = writeln!(text, "# {}", one_line(remark));
        }
        let _ = writeln!(text, "[volume.{}]", self.name);
        let what = if self.assumed_size { " # assumed" } else { "" };
        let _ = writeln!(text, "size     = \"{} B\"{what}", self.bytes);
        let _ = writeln!(text, "nodes    = \"{}\"", cluster.nodes_of(&self.osds));
        let _ = writeln!(text, "encoding = \"{}-of-{}\"", self.data, self.size);
        if self.data > 1 {
            let (stripe, assumed) = self.stripe;
            let what = if assumed { "; assumed: chunks of 4 KiB" } else { "" };
            let _ = writeln!(text, "block    = \"{stripe} B\" # a stripe{what}");
        }
        if self.pool != self.name {
            let _ = writeln!(text, "pool     = {}", toml_string(&self.pool));
        }
        text
    }
}

/// All pools that can be simulated.
pub(super) fn pools(
    map: &ClusterMap,
    inventory: &Inventory,
    cluster: &Cluster,
    caveats: &mut Vec<String>,
) -> Result<Vec<Volume>, ClusterMapError> {
    let all = map.place_all()?;
    let situation = Situation { map, inventory, placed: &all };
    let capacities = capacity(situation, &Levels::now(situation));
    let mut names = Names::default();
    let mut volumes = Vec::new();
    // by volume: bytes on each OSD for each byte of the volume
    let mut loads: Vec<SortedMap<i32, f64>> = Vec::new();
    for pool in map.pools().values() {
        let Some((size, sets)) = placed(map, pool, caveats)? else { continue };
        let facts = inventory.pools.get(&pool.id);
        let mut remarks = Vec::new();
        let (data, known) = inventory.data_chunks(pool);
        if !known {
            remarks.push("assumed: the number of data chunks, from `min_size`".to_owned());
        }
        if size < pool.size {
            remarks.push(format!("the pool's size is {}; its rule reaches {size} OSDs", pool.size));
        }
        if sets.completed > 0 {
            remarks.push(format!(
                "{} groups have fewer members than the pool's size; here they are whole",
                sets.completed
            ));
        }
        if let Some(tier) = facts.and_then(|facts| map.pools().get(&facts.tier_of?)) {
            let tier = one_line(&tier.name);
            remarks.push(format!("a cache of the pool {tier}; here it is a pool of its own"));
            caveats.push(format!(
                "Pool `{}` is a cache of `{tier}`; here both are apart.",
                one_line(&pool.name)
            ));
        }
        let usual = CHUNK * u64::from(data);
        let fits = |width: &u64| width.is_multiple_of(512 * u64::from(data)) && *width <= OBJECT;
        let stripe = facts.and_then(|facts| facts.stripe_bytes).filter(fits);
        let capacity = capacities.get(&pool.id);
        let known = capacity.filter(|own| own.stored_known && own.usable_bytes > 0.0);
        if let Some((capacity, fill)) = known.and_then(|own| Some((own, own.fill?))) {
            remarks.push(format!(
                "{:.1} % of what it can hold is stored; its fullest drive is {:.1} % full",
                100.0 * capacity.stored_bytes / capacity.usable_bytes,
                100.0 * fill
            ));
        }
        let mut load: SortedMap<i32, f64> = SortedMap::new();
        for (seed, set) in (0..).zip(&sets.sets) {
            for osd in set {
                *load.entry(*osd).or_default() += pool.share_of(seed) / f64::from(data);
            }
        }
        let rule = map.rule_of(pool).map_or(String::new(), |rule| rule.name.clone());
        let stored = facts.and_then(|facts| facts.stored_bytes);
        volumes.push(Volume {
            name: names.give(&pool.name),
            pool: pool.name.clone(),
            rule,
            groups: pool.pg_num,
            data,
            size,
            stripe: (stripe.unwrap_or(usual), stripe.is_none()),
            bytes: stored.unwrap_or(0),
            assumed_size: stored.is_none(),
            objects: facts.and_then(|facts| facts.objects),
            osds: load.keys().copied().collect(),
            traffic: facts.and_then(|facts| facts.traffic),
            remarks,
        });
        loads.push(load);
    }
    guess_sizes(&mut volumes, &loads, cluster);
    fit(&mut volumes, &loads, cluster, caveats);
    Ok(volumes)
}

/// The placement of a pool's groups, with as many members as possible; `None` if it cannot be simulated.
fn placed(
    map: &ClusterMap,
    pool: &Pool,
    caveats: &mut Vec<String>,
) -> Result<Option<(u32, crate::whole::WholeSets)>, ClusterMapError> {
    let mut pool = pool.clone();
    loop {
        match whole_sets(map, &pool) {
            Ok(sets) => return Ok(Some((pool.size, sets))),
            Err(WholeError::Map(error)) => return Err(error),
            Err(WholeError::Few { found, .. })
                if pool.kind == PoolKind::Replicated && found > 0 =>
            {
                pool.size = found as u32;
            }
            Err(error) => {
                caveats.push(format!("Pool `{}` is left out: {error}.", one_line(&pool.name)));
                return Ok(None);
            }
        }
    }
}

/// Guesses unknown sizes: such pools share half of the drives' capacity.
fn guess_sizes(volumes: &mut [Volume], loads: &[SortedMap<i32, f64>], cluster: &Cluster) {
    let unknown = volumes.iter().filter(|volume| volume.assumed_size).count().max(1);
    for (volume, load) in volumes.iter_mut().zip(loads) {
        if volume.assumed_size {
            let room = load.iter().map(|(osd, load)| cluster.device_bytes(*osd) / load);
            let least = room.min_by(f64::total_cmp).unwrap_or(0.0);
            volume.bytes = (least * 0.5 / unknown as f64) as u64;
        }
    }
}

/// Rounds volumes to whole objects, and shrinks them so that no drive is overfull.
fn fit(
    volumes: &mut [Volume],
    loads: &[SortedMap<i32, f64>],
    cluster: &Cluster,
    caveats: &mut Vec<String>,
) {
    let mut held: SortedMap<i32, f64> = SortedMap::new();
    for (volume, load) in volumes.iter().zip(loads) {
        for (osd, load) in load {
            *held.entry(*osd).or_default() += volume.bytes as f64 * load;
        }
    }
    let most = held
        .iter()
        .map(|(osd, bytes)| bytes / (MOST_FILL * cluster.device_bytes(*osd)))
        .max_by(f64::total_cmp)
        .unwrap_or(0.0);
    let scale = if most > 1.0 { 1.0 / most } else { 1.0 };
    if most > 1.0 {
        caveats.push(format!(
            "Volumes have {:.1} % of what the pools hold: with all of it a drive would be more than {:.0} % full.",
            100.0 * scale,
            100.0 * MOST_FILL
        ));
    }
    for volume in volumes {
        // a whole number of stripes and of objects
        let unit = volume.stripe.0 * OBJECT.div_ceil(volume.stripe.0).next_power_of_two();
        let bytes = (volume.bytes as f64 * scale) as u64;
        volume.bytes = (bytes / unit).max(LEAST_OBJECTS) * unit;
    }
}
