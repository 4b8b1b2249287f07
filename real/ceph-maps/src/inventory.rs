//! Information in a report besides placement: drives, hosts, stored data, counts for checks.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, NONE, Pool, PoolKind};
use foretell_input::{json_fault, one_line};
use foretell_sorted::SortedMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::model_in;

/// Information in a report besides the maps.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Inventory {
    /// Ceph's version, such as `17.2.5`.
    pub version: Option<String>,
    /// OSDs that exist, by number.
    pub osds: SortedMap<i32, OsdFacts>,
    /// Pools, by number.
    pub pools: SortedMap<i64, PoolFacts>,
    /// Number of groups of each OSD, if reported.
    pub reported: Option<SortedMap<i32, Reported>>,
    /// Bytes of all OSDs, and used bytes.
    pub total_bytes: Option<(u64, u64)>,
    /// Fill level above which an OSD accepts no more writes.
    pub full_ratio: Option<f64>,
    /// Fill level above which an OSD warns.
    pub nearfull_ratio: Option<f64>,
    /// Mean latency of an OSD's reads and of its writes in milliseconds, as counted by `perf dump`.
    pub op_ms: (Option<f64>, Option<f64>),
    /// Whether OSDs have addresses of their own for messages to each other (`cluster_network`).
    pub has_cluster_network: bool,
    /// Guesses that were made, for users.
    pub notes: Vec<String>,
}

/// Ceph's default `stripe_unit`.
const STRIPE_UNIT: u64 = 4096;
/// Compression makes data at most this many times smaller (assumed: more than any common algorithm does to data that
/// anyone stores).
const MAX_COMPRESSION: f64 = 32.0;

impl Inventory {
    /// Corrects the bytes of pools on drives: copies and shards that groups lack take no space, and what is impossible is
    /// dropped with a note.
    pub(crate) fn complete_pools(&mut self, map: &ClusterMap) {
        if self.pools.values().all(|facts| facts.allocated_bytes.is_none()) {
            return;
        }
        let Ok(placed) = map.place_all() else { return };
        let mut copies: BTreeMap<i64, f64> = BTreeMap::new();
        for (pg, placed) in map.groups().zip(&placed) {
            let members = placed.acting.iter().filter(|osd| **osd != NONE).count();
            *copies.entry(pg.pool).or_default() +=
                map.pools()[&pg.pool].share_of(pg.seed) * members as f64;
        }
        for (id, pool) in map.pools() {
            let data = f64::from(self.data_chunks(pool).0);
            let Some(facts) = self.pools.get_mut(id) else { continue };
            // Ceph writes 0 where it does not know
            let Some(allocated) = facts.allocated_bytes.filter(|bytes| *bytes > 0) else {
                continue;
            };
            let copies = copies.get(id).copied().unwrap_or(0.0);
            let stored = facts.stored_bytes.unwrap_or(0) as f64;
            if (allocated as f64) * MAX_COMPRESSION < stored * copies / data {
                facts.allocated_bytes = None;
                self.notes.push(format!(
                    "pool `{}` stores {stored} bytes, and {allocated} bytes on drives cannot hold them: the latter are \
                     ignored",
                    one_line(&pool.name)
                ));
            } else if copies > 0.0 {
                let whole = allocated as f64 * f64::from(pool.size) / copies;
                facts.allocated_bytes = Some(whole.round() as u64);
            }
        }
    }

    /// A note on each erasure-coded pool whose profile does not say how many shards hold data.
    pub(crate) fn note_assumed_shards(&mut self, map: &ClusterMap) {
        for pool in map.pools().values() {
            let (data, known) = self.data_chunks(pool);
            if !known {
                self.notes.push(format!(
                    "pool `{}` is erasure-coded, and its profile does not say with how many data shards (`k`): {data} of \
                     {} are assumed",
                    one_line(&pool.name),
                    pool.size
                ));
            }
        }
    }

    /// Drops the used bytes of OSDs that would use more than they have, with a note.
    pub(crate) fn drop_impossible_levels(&mut self) {
        let mut dropped = Vec::new();
        for (osd, facts) in &mut self.osds {
            let Some((bytes, used)) = facts.bytes.zip(facts.used_bytes) else { continue };
            if used > bytes {
                facts.used_bytes = None;
                dropped.push(format!("osd.{osd} uses {used} of {bytes} bytes"));
            }
        }
        let others = match dropped.len().saturating_sub(1) {
            0 => String::new(),
            others => format!(", nor are those of {others} more OSDs"),
        };
        if let Some(first) = dropped.first() {
            self.notes.push(format!("{first}: its fill level is not used{others}"));
        }
    }

    /// Number of shards of a pool that hold data, and whether it is known; 1 for copies.
    ///
    /// If it is not known, the width of a stripe tells it, in units of 4 KiB. Otherwise `min_size` does, which Ceph sets
    /// to one more than the data shards, or to as many if there is a single coding shard. Where both may be, the latter
    /// is assumed, because it promises to survive fewer failures. (The capacity is then that of less overhead.)
    pub fn data_chunks(&self, pool: &Pool) -> (u32, bool) {
        let known = self.pools.get(&pool.id).and_then(|facts| facts.data_chunks);
        match (pool.kind, known) {
            (PoolKind::Replicated, _) => (1, true),
            (PoolKind::Erasure, Some(data)) if (1..=pool.size).contains(&data) => (data, true),
            (PoolKind::Erasure, _) => {
                let usual = match pool.size.saturating_sub(pool.min_size) {
                    0 | 1 => pool.min_size,
                    _ => pool.min_size.saturating_sub(1),
                };
                let width = self.pools.get(&pool.id).and_then(|facts| facts.stripe_bytes);
                let units = width.filter(|width| width % STRIPE_UNIT == 0);
                let units = units.and_then(|width| u32::try_from(width / STRIPE_UNIT).ok());
                // a pool serves only with all of its data
                let by_width = units.filter(|units| (1..=pool.min_size).contains(units));
                (by_width.unwrap_or(usual).clamp(1, pool.size), false)
            }
        }
    }
}

/// An OSD.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct OsdFacts {
    /// The host on which it runs.
    pub host: Option<String>,
    /// The host's processor.
    pub cpu: Option<String>,
    /// Its device class according to its drive: `hdd`, `ssd`, `nvme`.
    pub class: Option<String>,
    /// The size of its drive.
    pub bytes: Option<u64>,
    /// Used bytes of the drive.
    pub used_bytes: Option<u64>,
    /// Size of a separate device for its database.
    pub db_bytes: Option<u64>,
    /// The drive's maker and model; its serial number is dropped.
    pub model: Option<String>,
    /// Latency of a commit in milliseconds, from `ceph osd perf`.
    pub commit_ms: Option<f64>,
    /// Whether the drive is attached by `NVMe`.
    pub nvme: bool,
    /// Memory of the host.
    pub host_memory_bytes: Option<u64>,
}

/// A pool.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct PoolFacts {
    /// Number of data shards, for an erasure-coded pool.
    pub data_chunks: Option<u32>,
    /// Bytes of data in a stripe, for an erasure-coded pool.
    pub stripe_bytes: Option<u64>,
    /// The pool that it is a cache of.
    pub tier_of: Option<i64>,
    /// Bytes that clients stored.
    pub stored_bytes: Option<u64>,
    /// Objects that clients stored.
    pub objects: Option<u64>,
    /// Bytes that it takes on drives, or would take if none of its groups lacked copies or shards.
    pub allocated_bytes: Option<u64>,
    /// Reads and writes of clients since the pool was made.
    pub traffic: Option<Traffic>,
}

/// Reads and writes of clients.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Traffic {
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Number of groups of an OSD.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Reported {
    /// Groups whose acting set contains it.
    pub groups: u64,
    /// Groups whose up set it leads.
    pub primaries: u64,
}

#[derive(Default, Deserialize, Serialize)]
pub(crate) struct ReportJson {
    version: Option<String>,
    #[serde(default)]
    osd_metadata: Section<Vec<MetadataJson>>,
    #[serde(default)]
    pool_stats: Section<Vec<PoolStatsJson>>,
    #[serde(default)]
    osd_stats: Section<Vec<OsdStatsJson>>,
    #[serde(default)]
    num_pg_by_osd: Section<Option<Vec<CountJson>>>,
    #[serde(default)]
    osd_sum: Section<Option<SumJson>>,
}

/// A section of a report. One that a newer Ceph writes in another form is left out, and the others are read.
#[derive(Serialize)]
#[serde(transparent)]
struct Section<T> {
    content: T,
    #[serde(skip)]
    wrong: Option<String>,
}

impl<T: Default> Default for Section<T> {
    fn default() -> Self {
        Self { content: T::default(), wrong: None }
    }
}

impl<'de, T: Default + DeserializeOwned> Deserialize<'de> for Section<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        Ok(match serde_json::from_value(value) {
            Ok(content) => Self { content, wrong: None },
            Err(error) => Self { content: T::default(), wrong: Some(json_fault(&error)) },
        })
    }
}

impl<T> Section<T> {
    /// The content; says in `notes` if it could not be read.
    fn or_note(self, name: &str, notes: &mut Vec<String>) -> T {
        if let Some(wrong) = self.wrong {
            notes.push(format!("`{name}` of the report is not used: {wrong}"));
        }
        self.content
    }
}

/// Ceph writes all values here as texts.
#[derive(Deserialize, Serialize)]
struct MetadataJson {
    id: i32,
    hostname: Option<String>,
    cpu: Option<String>,
    default_device_class: Option<String>,
    bluestore_bdev_type: Option<String>,
    bluestore_bdev_size: Option<String>,
    bluestore_bdev_devices: Option<String>,
    bluefs_db_size: Option<String>,
    bluefs_dedicated_db: Option<String>,
    #[serde(default, deserialize_with = "without_serial_numbers")]
    device_ids: Option<String>,
    mem_total_kb: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct PoolStatsJson {
    poolid: i64,
    stat_sum: Option<StatSumJson>,
    store_stats: Option<StoreStatsJson>,
}

#[derive(Deserialize, Serialize)]
#[expect(clippy::struct_field_names, reason = "as Ceph calls them")]
struct StatSumJson {
    num_bytes: i64,
    num_objects: i64,
    #[serde(default)]
    num_read: i64,
    #[serde(default)]
    num_read_kb: i64,
    #[serde(default)]
    num_write: i64,
    #[serde(default)]
    num_write_kb: i64,
}

impl StatSumJson {
    fn traffic(&self) -> Option<Traffic> {
        let kilobytes = |kb: i64| u64::try_from(kb).ok()?.checked_mul(1024);
        Some(Traffic {
            reads: u64::try_from(self.num_read).ok()?,
            read_bytes: kilobytes(self.num_read_kb)?,
            writes: u64::try_from(self.num_write).ok()?,
            written_bytes: kilobytes(self.num_write_kb)?,
        })
    }
}

#[derive(Deserialize, Serialize)]
struct StoreStatsJson {
    allocated: i64,
}

#[derive(Deserialize, Serialize)]
struct OsdStatsJson {
    osd: i32,
    kb: Option<u64>,
    kb_used: Option<u64>,
}

#[derive(Deserialize, Serialize)]
struct CountJson {
    osd: i32,
    num_primary_pg: u64,
    num_acting_pg: u64,
}

#[derive(Deserialize, Serialize)]
struct SumJson {
    kb: Option<u64>,
    kb_used: Option<u64>,
}

impl ReportJson {
    /// Adds the report's information.
    pub(crate) fn add_to(self, inventory: &mut Inventory) {
        inventory.version = self.version;
        let mut notes = Vec::new();
        for metadata in self.osd_metadata.or_note("osd_metadata", &mut notes) {
            if let Some(osd) = inventory.osds.get_mut(&metadata.id) {
                metadata.add_to(osd);
            }
        }
        for stats in self.osd_stats.or_note("osd_stats", &mut notes) {
            if let Some(osd) = inventory.osds.get_mut(&stats.osd) {
                osd.bytes = stats.kb.map(|kb| kb.saturating_mul(1024)).or(osd.bytes);
                osd.used_bytes = stats.kb_used.map(|kb| kb.saturating_mul(1024));
            }
        }
        for stats in self.pool_stats.or_note("pool_stats", &mut notes) {
            if let Some(pool) = inventory.pools.get_mut(&stats.poolid) {
                let sum = stats.stat_sum.as_ref();
                pool.stored_bytes = sum.and_then(|sum| u64::try_from(sum.num_bytes).ok());
                pool.traffic = sum.and_then(StatSumJson::traffic);
                pool.objects = sum.and_then(|sum| u64::try_from(sum.num_objects).ok());
                let store = stats.store_stats.as_ref();
                pool.allocated_bytes = store.and_then(|store| u64::try_from(store.allocated).ok());
            }
        }
        let counts = self.num_pg_by_osd.or_note("num_pg_by_osd", &mut notes);
        inventory.reported = counts.map(|counts| {
            let reported = |count: CountJson| {
                let (groups, primaries) = (count.num_acting_pg, count.num_primary_pg);
                (count.osd, Reported { groups, primaries })
            };
            counts.into_iter().map(reported).collect()
        });
        let sum = self.osd_sum.or_note("osd_sum", &mut notes);
        inventory.total_bytes = sum.and_then(|sum| {
            Some((sum.kb?.saturating_mul(1024), sum.kb_used?.saturating_mul(1024)))
        });
        inventory.notes.append(&mut notes);
    }
}

impl MetadataJson {
    fn add_to(self, osd: &mut OsdFacts) {
        let number =
            |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<u64>().ok());
        osd.bytes = number(&self.bluestore_bdev_size);
        osd.host_memory_bytes = number(&self.mem_total_kb).map(|kb| kb.saturating_mul(1024));
        if self.bluefs_dedicated_db.as_deref() == Some("1") {
            osd.db_bytes = number(&self.bluefs_db_size);
        }
        osd.model = self.device_ids.as_deref().and_then(|ids| {
            let device = self.bluestore_bdev_devices.as_deref()?.split(',').next()?;
            model_of(ids, device)
        });
        let devices = self.bluestore_bdev_devices.as_deref();
        osd.nvme = devices.is_some_and(|devices| devices.starts_with("nvme"));
        osd.class = self.default_device_class.or(self.bluestore_bdev_type);
        osd.host = self.hostname;
        osd.cpu = self.cpu;
    }
}

/// `sda=VENDOR_MODEL_SERIAL,...` without the serial numbers.
fn without_serial_numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let ids = Option::<String>::deserialize(from)?;
    let models = |ids: String| {
        let model = |id: &str| {
            let (device, id) = id.split_once('=')?;
            Some(format!("{device}={}_", model_in(id)?))
        };
        ids.split(',').filter_map(model).collect::<Vec<_>>().join(",")
    };
    Ok(ids.map(models))
}

/// The model from `sda=VENDOR_MODEL_SERIAL,...`, without the serial number.
fn model_of(ids: &str, device: &str) -> Option<String> {
    let id = ids.split(',').find_map(|id| id.strip_prefix(device)?.strip_prefix('='))?;
    Some(model_in(id)?.replace('_', " "))
}
