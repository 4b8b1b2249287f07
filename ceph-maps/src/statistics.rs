//! Statistics of a running cluster: `ceph osd df`, `ceph osd perf`, `perf dump` of an OSD, Prometheus text.
//!
//! Each of them may add facts about OSDs or pools that a report lacks: fill levels of drives, commit
//! latencies, requests to pools. Only counters and sizes are read; labels with addresses are not.

use foretell_sorted::SortedMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::inventory::{Inventory, Traffic};

/// Statistics by OSD and by pool.
#[derive(Clone, Default, PartialEq, Debug, Deserialize, Serialize)]
pub(crate) struct Statistics {
    osds: SortedMap<i32, OsdStatistics>,
    pools: SortedMap<i64, PoolStatistics>,
    /// Statistics from `perf dump`, which does not name its OSD.
    #[serde(default)]
    nameless: Vec<OsdStatistics>,
}

#[derive(Clone, Default, PartialEq, Debug, Deserialize, Serialize)]
struct OsdStatistics {
    bytes: Option<u64>,
    used_bytes: Option<u64>,
    class: Option<String>,
    host: Option<String>,
    commit_ms: Option<f64>,
    read_ms: Option<f64>,
    write_ms: Option<f64>,
}

#[derive(Clone, Default, PartialEq, Debug, Deserialize, Serialize)]
struct PoolStatistics {
    stored_bytes: Option<u64>,
    allocated_bytes: Option<u64>,
    objects: Option<u64>,
    reads: Option<u64>,
    read_bytes: Option<u64>,
    writes: Option<u64>,
    written_bytes: Option<u64>,
}

impl Statistics {
    /// Reads one of the JSON documents; returns false if it is none of them. Errors describe the fault.
    pub(crate) fn add_json(&mut self, document: &Value) -> Result<bool, String> {
        if let Some(nodes) = document.get("nodes").and_then(Value::as_array)
            && document.get("summary").is_some()
        {
            self.add_df(nodes)?;
            return Ok(true);
        }
        let within = document.get("osdstats").unwrap_or(document);
        if let Some(infos) = within.get("osd_perf_infos").and_then(Value::as_array) {
            for info in infos {
                let osd = number_of(info, "id", "`osd_perf_infos`")?;
                let stats = info.get("perf_stats");
                let of = |key: &str| stats.and_then(|stats| stats.get(key)?.as_f64());
                let commit = of("commit_latency_ns").map(|ns| ns / 1e6).or(of("commit_latency_ms"));
                self.osds.entry(osd).or_default().commit_ms = commit;
            }
            return Ok(true);
        }
        if let Some(osd) = document.get("osd").filter(|osd| osd.get("op").is_some()) {
            let mean = |key: &str| {
                let latency = osd.get(key)?;
                let count = latency.get("avgcount")?.as_f64().filter(|count| *count > 0.0)?;
                Some(latency.get("sum")?.as_f64()? / count * 1e3)
            };
            self.nameless.push(OsdStatistics {
                read_ms: mean("op_r_latency"),
                write_ms: mean("op_w_latency"),
                ..OsdStatistics::default()
            });
            return Ok(true);
        }
        Ok(false)
    }

    /// `ceph osd df -f json`, with or without `tree`.
    fn add_df(&mut self, nodes: &[Value]) -> Result<(), String> {
        for node in nodes {
            let id = node.get("id").and_then(Value::as_i64);
            // negative ids are buckets of the tree
            if id.is_some_and(|id| id < 0) {
                continue;
            }
            let osd = self.osds.entry(number_of(node, "id", "`nodes`")?).or_default();
            let bytes = |key: &str| node.get(key)?.as_u64()?.checked_mul(1024);
            osd.bytes = bytes("kb").filter(|bytes| *bytes > 0);
            osd.used_bytes = bytes("kb_used");
            osd.class = node.get("device_class").and_then(Value::as_str).map(str::to_owned);
        }
        Ok(())
    }

    /// Reads Prometheus text; returns false if no line is of Ceph. Unknown lines are skipped.
    pub(crate) fn add_prometheus(&mut self, text: &str) -> bool {
        let mut found = false;
        for line in text.lines() {
            let Some((name, labels, value)) = sample(line) else { continue };
            let Some(name) = name.strip_prefix("ceph_") else { continue };
            found = true;
            let whole = || (0.0..1.8e19).contains(&value).then_some(value as u64);
            if let Some(osd) = label(labels, "ceph_daemon")
                && let Some(osd) = osd.strip_prefix("osd.").and_then(|osd| osd.parse().ok())
            {
                let entry: &mut OsdStatistics = self.osds.entry(osd).or_default();
                match name {
                    "osd_stat_bytes" => entry.bytes = whole(),
                    "osd_stat_bytes_used" => entry.used_bytes = whole(),
                    "osd_commit_latency_ms" => entry.commit_ms = Some(value),
                    "osd_metadata" => {
                        entry.class = label(labels, "device_class").map(str::to_owned);
                        entry.host = label(labels, "hostname").map(str::to_owned);
                    }
                    _ => {}
                }
            } else if let Some(pool) = label(labels, "pool_id").and_then(|pool| pool.parse().ok()) {
                let entry: &mut PoolStatistics = self.pools.entry(pool).or_default();
                match name {
                    "pool_stored" => entry.stored_bytes = whole(),
                    "pool_stored_raw" => entry.allocated_bytes = whole(),
                    "pool_objects" => entry.objects = whole(),
                    "pool_rd" => entry.reads = whole(),
                    "pool_rd_bytes" => entry.read_bytes = whole(),
                    "pool_wr" => entry.writes = whole(),
                    "pool_wr_bytes" => entry.written_bytes = whole(),
                    _ => {}
                }
            }
        }
        found
    }

    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the statistics; if a report differs, the statistics count.
    pub(crate) fn add_to(&self, inventory: &mut Inventory) {
        let mut unknown = 0;
        for (osd, found) in &self.osds {
            let Some(facts) = inventory.osds.get_mut(osd) else {
                unknown += 1;
                continue;
            };
            facts.bytes = found.bytes.or(facts.bytes);
            facts.used_bytes = found.used_bytes.or(facts.used_bytes);
            facts.commit_ms = found.commit_ms.or(facts.commit_ms);
            facts.class = facts.class.take().or_else(|| found.class.clone());
            facts.host = facts.host.take().or_else(|| found.host.clone());
        }
        if unknown > 0 {
            inventory
                .notes
                .push(format!("statistics of {unknown} OSDs that the map does not have"));
        }
        for (pool, found) in &self.pools {
            let Some(facts) = inventory.pools.get_mut(pool) else { continue };
            facts.stored_bytes = found.stored_bytes.or(facts.stored_bytes);
            facts.allocated_bytes = found.allocated_bytes.or(facts.allocated_bytes);
            facts.objects = found.objects.or(facts.objects);
            if let (Some(reads), Some(writes)) = (found.reads, found.writes) {
                facts.traffic = Some(Traffic {
                    reads,
                    writes,
                    read_bytes: found.read_bytes.unwrap_or(0),
                    written_bytes: found.written_bytes.unwrap_or(0),
                });
            }
        }
        let mean = |of: fn(&OsdStatistics) -> Option<f64>| {
            let all: Vec<f64> = self.nameless.iter().filter_map(of).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        inventory.op_ms = (mean(|osd| osd.read_ms), mean(|osd| osd.write_ms));
    }
}

fn number_of(value: &Value, key: &str, what: &str) -> Result<i32, String> {
    let number = value.get(key).and_then(Value::as_i64);
    let number = number.and_then(|number| i32::try_from(number).ok()).filter(|number| *number >= 0);
    number.ok_or_else(|| format!("an entry of {what} has no OSD's number as `{key}`"))
}

/// Name, labels and value of a line such as `ceph_pool_rd{pool_id="3"} 17.0`.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, labels, rest) = if let Some(open) = line.find('{') {
        let close = line.rfind('}').filter(|close| *close > open)?;
        (&line[..open], &line[open + 1..close], &line[close + 1..])
    } else {
        let (name, rest) = line.split_once(char::is_whitespace)?;
        (name, "", rest)
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some((name.trim(), labels, value))
}

/// The value of a label; escapes are not decoded.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = labels;
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let end = after
            .char_indices()
            .find(|(at, c)| *c == '"' && !after[..*at].ends_with('\\'))
            .map(|(at, _)| at)?;
        if key.trim().trim_start_matches(',').trim() == name {
            return Some(&after[..end]);
        }
        rest = &after[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_labels_and_values() {
        let line =
            r#"ceph_osd_metadata{ceph_daemon="osd.3",device_class="ssd",hostname="a\"b"} 1.0 17"#;
        let (name, labels, value) = sample(line).unwrap();
        assert_eq!((name, value.to_bits()), ("ceph_osd_metadata", 1.0_f64.to_bits()));
        assert_eq!(label(labels, "device_class"), Some("ssd"));
        assert_eq!(label(labels, "hostname"), Some(r#"a\"b"#));
        assert_eq!(label(labels, "other"), None);
        assert!(sample("# HELP ceph_x y").is_none() && sample("ceph_x").is_none());
    }

    #[test]
    fn means_come_from_sums() {
        let dump = serde_json::json!({ "osd": { "op": 3, "op_r_latency": { "avgcount": 4, "sum": 0.02 },
            "op_w_latency": { "avgcount": 0, "sum": 0 } } });
        let mut statistics = Statistics::default();
        assert_eq!(statistics.add_json(&dump), Ok(true));
        let mut inventory = Inventory::default();
        statistics.add_to(&mut inventory);
        // 20 ms in four reads
        assert_eq!(inventory.op_ms, (Some(5.0), None));
        assert_eq!(statistics.add_json(&serde_json::json!({ "a": 1 })), Ok(false));
    }
}
