//! `config.json`: descriptions of clusters that others measured.
//!
//! `docs/clusters.md` describes every key. Any value may be absent or `null`, which means unknown.
//! A configuration that cannot be read is left out with the reason. Keys that are not used are named.

use std::collections::BTreeSet;
use std::path::Path;

use foretell_core::Error;
use foretell_input::Limit;
use foretell_sorted::SortedMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json_keys::{duplicates, listed, unused};

/// Maximum number of configurations of a source.
const MOST_CONFIGS: usize = 10_000;
/// Maximum number of nodes of a cluster.
const MOST_NODES: u32 = 4096;
/// Maximum number of devices of one kind in a node, and of OSDs on one device.
const MOST_DEVICES: u32 = 1024;
/// Maximum number of OSDs of a cluster.
pub(crate) const MOST_OSDS: u64 = 20_000;
/// Maximum number of bytes, also of a rate: 2^53, up to which JSON numbers are exact.
pub(crate) const MOST_BYTES: f64 = 9_007_199_254_740_992.0;

/// Tables of a configuration.
const TABLES: [&str; 6] = ["node", "node.cpu", "pool", "store", "client", "background"];

/// Keys of the whole document.
const TOP: [&str; 4] = ["source", "drives", "configs", "notes"];

/// Values of `client.interface` of clients that use gateways.
pub(crate) const INTERFACES_OF_GATEWAYS: [&str; 4] = ["s3", "swift", "rgw", "rados-gateway"];
/// Values of `background.kind` that are simulated.
const SIMULATED: [&str; 2] = ["none", "backfill"];

/// Values of `network.use`, and of `devices.role`.
const USES: [&str; 4] = ["all", "public", "cluster", "loopback"];
const ROLES: [&str; 4] = ["data", "wal-db", "wal", "db"];

/// A source: several configurations of one or more clusters.
#[derive(Clone, Debug)]
pub struct Source {
    pub(crate) name: String,
    pub(crate) drives: SortedMap<String, Drive>,
    /// In the order of the file; or the reason why one cannot be read.
    pub(crate) configs: Vec<(String, Result<Config, String>)>,
    /// Its notes in words.
    pub notes: Vec<String>,
    /// What was not read of it.
    pub not_read: Vec<String>,
}

/// A kind of drive.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Drive {
    pub(crate) kind: Option<String>,
    pub(crate) capacity_bytes: Option<f64>,
    pub(crate) power_loss_protection: Option<bool>,
    /// The configuration whose points measure a single drive.
    pub(crate) raw_config: Option<String>,
    pub(crate) data_sheet_unverified: Option<DataSheet>,
}

/// The maker's figures for a drive.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct DataSheet {
    pub(crate) rand_read_4k_iops: Option<f64>,
    pub(crate) rand_write_4k_iops: Option<f64>,
    pub(crate) seq_read_mb_s: Option<f64>,
    pub(crate) seq_write_mb_s: Option<f64>,
    pub(crate) read_lat_us: Option<f64>,
    pub(crate) write_lat_us: Option<f64>,
    /// Latency of reads and of writes, if they are equal.
    pub(crate) lat_us: Option<f64>,
}

/// A configuration.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Config {
    pub(crate) system: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) nodes: Option<u32>,
    pub(crate) node: NodeConfig,
    pub(crate) pool: PoolConfig,
    pub(crate) store: StoreConfig,
    pub(crate) client: ClientConfig,
    pub(crate) osds_down: Option<u32>,
    pub(crate) background: Background,
    pub(crate) unknown: Vec<String>,
}

/// A storage node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct NodeConfig {
    pub(crate) cpu: CpuConfig,
    pub(crate) memory_bytes: Option<f64>,
    pub(crate) network: Vec<NetworkConfig>,
    pub(crate) devices: Vec<DeviceConfig>,
    pub(crate) threads_per_osd: Option<f64>,
}

/// Processors of a node, all sockets together.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct CpuConfig {
    pub(crate) model: Option<String>,
    pub(crate) cores: Option<u32>,
    pub(crate) threads: Option<u32>,
}

/// Adapters of a node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct NetworkConfig {
    pub(crate) gbit_per_s: Option<f64>,
    pub(crate) count: Option<u32>,
    /// `all`, `public`, `cluster` or `loopback`.
    #[serde(rename = "use")]
    pub(crate) purpose: Option<String>,
}

/// Devices of a node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct DeviceConfig {
    pub(crate) model: Option<String>,
    pub(crate) count: Option<u32>,
    /// `data`; or for logs and tables `wal-db`, `wal`, `db`.
    pub(crate) role: Option<String>,
    pub(crate) osds_per_device: Option<u32>,
}

/// The pool that is measured.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct PoolConfig {
    pub(crate) kind: Option<String>,
    pub(crate) size: Option<u32>,
    pub(crate) k: Option<u32>,
    pub(crate) m: Option<u32>,
    pub(crate) pg_num: Option<u32>,
    pub(crate) failure_domain: Option<String>,
}

/// How OSDs store data.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct StoreConfig {
    pub(crate) kind: Option<String>,
    pub(crate) min_alloc_size_bytes: Option<f64>,
    pub(crate) encryption: Option<bool>,
}

/// The clients that make the measured load.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ClientConfig {
    pub(crate) hosts: Option<u32>,
    pub(crate) on_storage_nodes: Option<bool>,
    pub(crate) processes: Option<u32>,
    pub(crate) interface: Option<String>,
    pub(crate) cache: Option<bool>,
    pub(crate) images: Option<u32>,
    pub(crate) image_bytes: Option<f64>,
    pub(crate) rate_limit_iops: Option<f64>,
}

/// Background work of the cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Background {
    pub(crate) kind: Option<String>,
    /// `wpq` or `mclock`.
    pub(crate) scheduler: Option<String>,
    /// mClock's profile; for WPQ `default` or `unlimited`.
    pub(crate) profile: Option<String>,
    /// Number of objects to move, and bytes of each.
    pub(crate) objects: Option<f64>,
    pub(crate) object_bytes: Option<f64>,
}

/// Deserialises a value; `null` counts as absent. Errors name the key and what was expected.
fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let known = match value {
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) => without_nulls(value),
        other => return Err(format!("expected a table, not {}", shortened(other))),
    };
    serde_path_to_error::deserialize(known).map_err(|error| {
        let key = error.path().to_string();
        let why = foretell_scenarios::in_plain_words(&error.into_inner().to_string());
        format!("`{key}`: {why}")
    })
}

/// A value as JSON, at most some characters of it.
fn shortened(value: &Value) -> String {
    const SHOWN: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= SHOWN {
        text
    } else {
        text.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(keys) => {
            let known = keys.iter().filter(|(_, value)| !value.is_null());
            Value::Object(known.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => {
            Value::Array(items.iter().filter(|item| !item.is_null()).map(without_nulls).collect())
        }
        other => other.clone(),
    }
}

impl Source {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let text = foretell_input::text(path, Limit::MANIFEST)
            .map_err(|error| Error::Invalid(format!("cannot read `{shown}`: {error}")))?;
        Self::parse(&text).map_err(|fault| Error::Invalid(format!("`{shown}`: {fault}")))
    }

    /// Parses the text of such a file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?;
        let top = document.as_object().ok_or("expected an object with `drives` and `configs`")?;
        let name = match top.get("source") {
            None | Some(Value::Null) => "clusters".to_owned(),
            Some(Value::String(name)) => name.clone(),
            Some(other) => return Err(format!("`source` is {other}; expected a text")),
        };
        let mut not_read = Vec::new();
        let twice = duplicates(text).map_err(|error| format!("this is not JSON: {error}"))?;
        if !twice.is_empty() {
            not_read.push(format!(
                "keys that occur twice, of which the last is used: {}",
                listed(&twice)
            ));
        }
        let mut surplus = BTreeSet::new();
        surplus.extend(top.keys().filter(|key| !TOP.contains(&key.as_str())).cloned());
        let empty = Map::new();
        let table = |key: &str| match top.get(key) {
            None | Some(Value::Null) => Ok(&empty),
            Some(Value::Object(found)) => Ok(found),
            Some(_) => Err(format!("`{key}` is not an object; expected one entry for each name")),
        };
        let mut drives = SortedMap::new();
        for (name, value) in table("drives")? {
            let drive = read::<Drive>(value).and_then(|drive| drive.check().map(|()| drive));
            match drive {
                Ok(drive) => {
                    not_used(value, &drive, "drives.*", &mut surplus);
                    drives.insert(name.clone(), drive);
                }
                Err(fault) => not_read.push(format!("drive `{name}` is not used: {fault}")),
            }
        }
        let found = table("configs")?;
        if found.is_empty() {
            return Err("there is no configuration: `configs` is missing or empty".to_owned());
        }
        if found.len() > MOST_CONFIGS {
            return Err(format!("{} configurations, at most {MOST_CONFIGS}", found.len()));
        }
        let mut configs = Vec::new();
        for (name, value) in found {
            let config = Config::of(value);
            if let Ok(config) = &config {
                not_used(value, config, "configs.*", &mut surplus);
            }
            configs.push((name.clone(), config));
        }
        if let [(name, Err(fault)), others @ ..] = configs.as_slice()
            && others.iter().all(|(_, config)| config.is_err())
        {
            return Err(format!("no configuration can be used; configuration `{name}`: {fault}"));
        }
        for (drive, known) in &drives {
            let Some(raw) = &known.raw_config else { continue };
            if !found.contains_key(raw) {
                let near = foretell_scenarios::meant(raw, found.keys().map(String::as_str));
                let near = near.map_or_else(String::new, |near| format!("; {near}"));
                not_read.push(format!(
                    "drive `{drive}`: `raw_config` is `{raw}`, and there is no such configuration{near}"
                ));
            }
        }
        let surplus: Vec<String> = surplus.into_iter().collect();
        if !surplus.is_empty() {
            not_read.push(format!("keys that are not used: {}", listed(&surplus)));
        }
        let notes = match top.get("notes") {
            Some(Value::Array(notes)) => {
                notes.iter().filter_map(|note| note.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self { name, drives, configs, notes, not_read })
    }

    /// Names of its configurations.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.configs.iter().map(|(name, _)| name.as_str())
    }

    /// The drive that has this configuration as its `raw_config`.
    pub(crate) fn measured_by(&self, config: &str) -> Option<&str> {
        let of = |drive: &Drive| drive.raw_config.as_deref() == Some(config);
        self.drives.iter().find(|(_, drive)| of(drive)).map(|(name, _)| name.as_str())
    }
}

/// Adds the keys of a table that are not used; `read`: what was read of it.
fn not_used(written: &Value, read: &impl Serialize, path: &str, found: &mut BTreeSet<String>) {
    let read = serde_json::to_value(read).expect("numbers and texts");
    unused(written, &read, path, found);
}

/// Checks that a word, if given, is one of those that have a meaning.
fn one_of(what: &str, value: Option<&str>, known: &[&str]) -> Result<(), String> {
    let Some(value) = value.filter(|value| !known.contains(value)) else { return Ok(()) };
    let near = foretell_scenarios::meant(value, known.iter().copied()).unwrap_or_default();
    Err(format!("`{what}` is `{value}`, which has no meaning; {near}"))
}

/// Checks that a number, if given, is above zero.
fn positive(what: &str, value: Option<f64>, most: f64) -> Result<(), String> {
    match value {
        Some(value) if !(value > 0.0 && value <= most) => {
            Err(format!("`{what}` is {value}; expected a number above 0, at most {most}"))
        }
        _ => Ok(()),
    }
}

fn between(what: &str, value: Option<u32>, least: u32, most: u32) -> Result<(), String> {
    match value {
        Some(value) if value < least || value > most => {
            Err(format!("`{what}` is {value}; expected a whole number from {least} to {most}"))
        }
        _ => Ok(()),
    }
}

impl Drive {
    pub(crate) fn is_disk(&self) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind.contains("hdd"))
    }

    fn check(&self) -> Result<(), String> {
        positive("capacity_bytes", self.capacity_bytes, MOST_BYTES)?;
        if let Some(capacity) = self.capacity_bytes
            && capacity < 1e6
        {
            return Err(format!(
                "`capacity_bytes` is {capacity}; a drive holds a megabyte or more"
            ));
        }
        let sheet = self.data_sheet_unverified.unwrap_or_default();
        positive("rand_read_4k_iops", sheet.rand_read_4k_iops, 1e9)?;
        positive("rand_write_4k_iops", sheet.rand_write_4k_iops, 1e9)?;
        positive("seq_read_mb_s", sheet.seq_read_mb_s, 1e6)?;
        positive("seq_write_mb_s", sheet.seq_write_mb_s, 1e6)?;
        positive("read_lat_us", sheet.read_lat_us, 1e7)?;
        positive("write_lat_us", sheet.write_lat_us, 1e7)?;
        positive("lat_us", sheet.lat_us, 1e7)
    }
}

impl Config {
    /// The configuration in a document, or what is wrong with it.
    fn of(value: &Value) -> Result<Self, String> {
        // a list would be read as the values of the keys in their order
        for table in TABLES {
            let found = table.split('.').try_fold(value, |value, key| value.get(key));
            if let Some(list) = found.filter(|found| found.is_array()) {
                return Err(format!("`{table}`: expected a table, not {}", shortened(list)));
            }
        }
        let config: Self = read(value)?;
        config.check()?;
        Ok(config)
    }

    /// Whether its clients use gateways.
    pub(crate) fn has_gateways(&self) -> bool {
        let interface = self.client.interface.as_deref().unwrap_or_default().to_ascii_lowercase();
        INTERFACES_OF_GATEWAYS.contains(&interface.as_str())
    }

    /// Its background work, if that is not simulated.
    pub(crate) fn background_not_simulated(&self) -> Option<&str> {
        self.background.kind.as_deref().filter(|kind| !SIMULATED.contains(kind))
    }

    fn check(&self) -> Result<(), String> {
        between("nodes", self.nodes, 1, MOST_NODES)?;
        between("cpu.cores", self.node.cpu.cores, 1, 4096)?;
        between("cpu.threads", self.node.cpu.threads, 1, 4096)?;
        positive("memory_bytes", self.node.memory_bytes, MOST_BYTES)?;
        positive("threads_per_osd", self.node.threads_per_osd, 4096.0)?;
        for network in &self.node.network {
            positive("gbit_per_s", network.gbit_per_s, 1e6)?;
            between("network.count", network.count, 1, 64)?;
            one_of("network.use", network.purpose.as_deref(), &USES)?;
        }
        for device in &self.node.devices {
            between("devices.count", device.count, 1, MOST_DEVICES)?;
            between("osds_per_device", device.osds_per_device, 0, MOST_DEVICES)?;
            one_of("devices.role", device.role.as_deref(), &ROLES)?;
        }
        between("pool.size", self.pool.size, 1, 64)?;
        between("pool.k", self.pool.k, 1, 64)?;
        between("pool.m", self.pool.m, 0, 64)?;
        between("pg_num", self.pool.pg_num, 1, 1 << 20)?;
        positive("min_alloc_size_bytes", self.store.min_alloc_size_bytes, 1e9)?;
        between("client.hosts", self.client.hosts, 1, 1 << 16)?;
        between("client.processes", self.client.processes, 1, 1 << 16)?;
        between("client.images", self.client.images, 1, 1 << 20)?;
        positive("image_bytes", self.client.image_bytes, MOST_BYTES)?;
        positive("rate_limit_iops", self.client.rate_limit_iops, 1e9)?;
        positive("background.objects", self.background.objects, 1e9)?;
        positive("background.object_bytes", self.background.object_bytes, 1e9)?;
        if self.osds() > MOST_OSDS {
            return Err(format!("{} OSDs, at most {MOST_OSDS}", self.osds()));
        }
        let down = u64::from(self.osds_down.unwrap_or(0));
        if down > 0 && down >= self.osds() {
            return Err(format!("`osds_down` is {down} of {} OSDs; some must be up", self.osds()));
        }
        Ok(())
    }

    /// Devices that hold data.
    pub(crate) fn data_devices(&self) -> Option<&DeviceConfig> {
        let holds = |device: &&DeviceConfig| device.role.as_deref().unwrap_or("data") == "data";
        self.node.devices.iter().find(holds)
    }

    /// Devices for logs only (`wal`), or for tables (`db`); the latter also hold logs if there is no
    /// other device for them.
    pub(crate) fn log_devices(&self, what: &str) -> Option<&DeviceConfig> {
        let holds = |device: &&DeviceConfig| {
            let role = device.role.as_deref().unwrap_or("data");
            match what {
                "db" => role.contains("db"),
                _ => role.contains("wal") && !role.contains("db"),
            }
        };
        self.node.devices.iter().find(holds)
    }

    /// Number of OSDs of the cluster, including those that are down.
    pub(crate) fn osds(&self) -> u64 {
        let each = self.data_devices().map_or(1, |devices| {
            u64::from(devices.count.unwrap_or(1)) * u64::from(devices.osds_per_device.unwrap_or(1))
        });
        u64::from(self.nodes.unwrap_or(1)) * each.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_may_be_null_or_absent() {
        let text = r#"{"drives": {"x": null, "y": {"kind": null}},
            "configs": {"a": {"nodes": null, "node": {"network": [null]}, "surplus": 1}, "b": null}}"#;
        let source = Source::parse(text).unwrap();
        assert_eq!(source.name, "clusters");
        let osds = |at: usize| source.configs[at].1.as_ref().unwrap().osds();
        assert_eq!((osds(0), osds(1)), (1, 1));
        assert!(source.drives.contains_key("x"));
        assert_eq!(source.not_read, ["keys that are not used: `configs.*.surplus`"]);
    }

    #[test]
    fn a_configuration_that_cannot_be_read_leaves_the_others() {
        let source =
            Source::parse(r#"{"configs": {"a": {"nodes": 0}, "b": {"nodes": 2, "nodes": 3}}}"#);
        let source = source.unwrap();
        assert!(source.configs[0].1.as_ref().unwrap_err().contains("`nodes` is 0"));
        assert_eq!(source.configs[1].1.as_ref().unwrap().nodes, Some(3));
        assert_eq!(
            source.not_read,
            ["keys that occur twice, of which the last is used: `configs.b.nodes`"]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_name() {
        let fault = |text: &str| Source::parse(text).unwrap_err();
        assert!(fault("x").contains("not JSON"));
        assert!(fault("[]").contains("expected an object"));
        assert!(fault("{}").contains("no configuration"));
        assert!(fault(r#"{"configs": 3}"#).contains("`configs` is not an object"));
        let nodes = fault(r#"{"configs": {"a": {"nodes": 0}}}"#);
        assert!(nodes.contains("configuration `a`: `nodes` is 0"), "{nodes}");
        let text = fault(r#"{"configs": {"a": {"nodes": "four"}}}"#);
        let wanted =
            "configuration `a`: `nodes`: expected a whole number of at least 0, not the text";
        assert!(text.contains(wanted), "{text}");
        let cores = fault(r#"{"configs": {"a": {"node": {"cpu": {"cores": []}}}}}"#);
        assert!(cores.contains("`node.cpu.cores`: expected a whole number"), "{cores}");
        let list = fault(r#"{"configs": {"a": {"pool": ["erasure", 5]}}}"#);
        assert!(list.contains("`pool`: expected a table, not [\"erasure\",5]"), "{list}");
        let word = fault(r#"{"configs": {"a": {"node": {"network": [{"use": "clustr"}]}}}}"#);
        assert!(word.contains("`clustr`, which has no meaning; did you mean `cluster`?"), "{word}");
        let named =
            Source::parse(r#"{"drives": {"d": {"raw_config": "ra"}}, "configs": {"raw": {}}}"#);
        let raw = named.unwrap().not_read.join("");
        assert!(raw.contains("did you mean `raw`?"), "{raw}");
        let down = r#"{"configs": {"a": {"osds_down": 3, "node": {"devices": [{"count": 3}]}}}}"#;
        assert!(fault(down).contains("some must be up"));
        let many = r#"{"configs": {"a": {"nodes": 4096, "node": {"devices": [{"count": 1000}]}}}}"#;
        assert!(fault(many).contains("at most 20000"));
    }
}
