//! The pool: its encoding, its failure domain, its size, and how many of its objects are known in memory.

use super::{Entry, Images};
use crate::config::Config;
use crate::notes::Facts;

/// Maximum share of the usable capacity that the volume takes, if its size is not known.
const ASSUMED_FILL: f64 = 0.4;
/// `bluestore_cache_meta_ratio`: the share of an OSD's caches for onodes.
const META_RATIO: f64 = 0.45;
/// `bluestore_max_blob_size_ssd`; memory in bytes for an object, and for each of its blobs: the blob, its checksums (4
/// bytes for 4 KiB) and its extent. Assumed from the sizes of these structures.
const BLOB: f64 = 65_536.0;
const ONODE: f64 = 1024.0;
const EXTENT: f64 = 460.0;
/// Bytes of an object's metadata in the tables of `RocksDB`. Assumed.
const TABLES: f64 = 3072.0;

/// Number of shards that suffice, and of all shards.
pub(super) fn encoding(
    config: &Config,
    osds: u64,
    assumed: &mut Vec<String>,
) -> Result<(u32, u32), String> {
    let pool = &config.pool;
    let erasure = match pool.kind.as_deref() {
        Some("erasure") => true,
        Some("replicated") => false,
        Some(other) => return Err(format!("a pool of kind `{other}` cannot be simulated")),
        None => pool.k.is_some(),
    };
    let (m, n) = if erasure {
        let k = pool.k.ok_or("an erasure-coded pool without `k`")?;
        let m = pool.m.or(pool.size.map(|size| size.saturating_sub(k)));
        (k, k + m.ok_or("an erasure-coded pool without `m`")?)
    } else {
        let size = pool.size.unwrap_or_else(|| {
            assumed.push("the number of copies is not known; 3 are assumed".to_owned());
            3
        });
        (1, size)
    };
    let there = u32::try_from(osds).unwrap_or(u32::MAX);
    if n > there && m <= there {
        assumed.push(format!("{there} OSDs are there for {n} copies or shards: {m}-of-{there}"));
        return Ok((m, there));
    }
    if n > there {
        return Err(format!("{m}-of-{n} on {osds} OSDs: too few are up"));
    }
    Ok((m, n))
}

/// The failure domain of `n` copies or shards, `host` or `osd`.
pub(super) fn domain(
    config: &Config,
    nodes: u32,
    n: u32,
    assumed: &mut Vec<String>,
) -> &'static str {
    let fitting = if nodes >= n { "host" } else { "osd" };
    match config.pool.failure_domain.as_deref() {
        Some("osd") => return "osd",
        Some("host") if nodes >= n => {}
        Some(known) => assumed.push(format!("failure domain `{known}`: taken as `{fitting}`")),
        None => assumed.push(format!("the failure domain is not known; `{fitting}` is taken")),
    }
    fitting
}

/// The number of placement groups.
pub(super) fn groups(
    config: &Config,
    nodes: u32,
    per_node: u32,
    n: u32,
    assumed: &mut Vec<String>,
) -> u64 {
    config.pool.pg_num.map_or_else(
        || {
            let wanted = u64::from(nodes) * u64::from(per_node) * 100 / u64::from(n);
            let groups = wanted.max(1).next_power_of_two();
            assumed
                .push(format!("the number of placement groups is not known; {groups} are assumed"));
            groups
        },
        u64::from,
    )
}

/// Bytes of the volume in a cluster of `usable` bytes. `image`: its bytes, where they are known from a backfill.
pub(super) fn volume_size(
    config: &Config,
    image: Option<f64>,
    usable: f64,
    entry: &mut Entry,
) -> f64 {
    let most = usable * ASSUMED_FILL;
    let size = match (image, config.client.image_bytes, config.client.images) {
        (Some(image), _, _) => image,
        (None, Some(bytes), Some(images)) => bytes * f64::from(images),
        (None, Some(each), None) => {
            entry.images = Some(Images { each, most });
            entry.assumed.push(format!(
                "each client of a row has an image of its own, together at most {} % of the room",
                ASSUMED_FILL * 100.0
            ));
            most
        }
        (None, None, _) => {
            entry.assumed.push(format!("volumes take {} % of the room", ASSUMED_FILL * 100.0));
            usable
        }
    };
    size.min(most)
}

/// The size of a volume of about that many bytes: whole objects, in whole blocks of `block` bytes.
pub(crate) fn volume_bytes(bytes: f64, block: u64) -> u64 {
    let unit = f64::from(4 << 20);
    let size = (bytes / unit).floor().max(4.0) * unit;
    (size as u64) / block * block
}

/// The line with the number of objects whose metadata fits into an OSD's memory. Empty if the node's memory
/// holds the metadata of all objects, or if the number of objects or the memory is not known.
pub(super) fn onodes(
    config: &Config,
    facts: &Facts,
    m: u32,
    size: f64,
    osds: u32,
    assumed: &mut Vec<String>,
) -> String {
    let osds = f64::from(osds);
    // OSDs read tables through the page cache (`bluefs_buffered_io`)
    let tables = size / f64::from(4 << 20) * TABLES;
    let room = config.node.memory_bytes.map(|memory| memory * 0.9 - facts.cache * osds);
    if config.client.image_bytes.is_none() || room.is_none_or(|room| tables < room) {
        assumed.push("metadata of all objects are in memory".to_owned());
        return String::new();
    }
    let blobs = f64::from(4 << 20) / f64::from(m) / BLOB;
    let held = (facts.cache * META_RATIO / (ONODE + EXTENT * blobs)).round().max(1.0);
    assumed.push(format!("an OSD holds the metadata of {held} objects in memory"));
    format!("onodes    = {held}\n")
}
