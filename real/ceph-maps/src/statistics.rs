//! Statistics of a running cluster: `ceph df`, `ceph osd df`, `ceph osd perf`, `perf dump` of an OSD, Prometheus text.
//!
//! Each of them may add facts about OSDs or pools that a report lacks: fill levels of drives, commit
//! latencies, requests to pools. Only counters and sizes are read; labels with addresses are not.

use std::collections::BTreeSet;

use foretell_input::one_line;
use foretell_sorted::SortedMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::inventory::{Inventory, Traffic};
use crate::keys::Kind;

/// Statistics by OSD and by pool.
#[derive(Clone, Default, PartialEq, Debug, Deserialize, Serialize)]
pub(crate) struct Statistics {
    osds: SortedMap<i32, OsdStatistics>,
    pools: SortedMap<i64, PoolStatistics>,
    /// Bytes of all OSDs, and used bytes.
    #[serde(default)]
    total_bytes: Option<(u64, u64)>,
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

#[derive(Clone, Copy, Default, PartialEq, Debug, Deserialize, Serialize)]
struct PoolStatistics {
    stored_bytes: Option<u64>,
    allocated_bytes: Option<u64>,
    objects: Option<u64>,
    reads: Option<u64>,
    read_bytes: Option<u64>,
    writes: Option<u64>,
    written_bytes: Option<u64>,
}

impl OsdStatistics {
    /// Takes the values that `later` has.
    fn merge(&mut self, later: Self) {
        *self = Self {
            bytes: later.bytes.or(self.bytes),
            used_bytes: later.used_bytes.or(self.used_bytes),
            class: later.class.or(self.class.take()),
            host: later.host.or(self.host.take()),
            commit_ms: later.commit_ms.or(self.commit_ms),
            read_ms: later.read_ms.or(self.read_ms),
            write_ms: later.write_ms.or(self.write_ms),
        };
    }
}

impl PoolStatistics {
    /// Takes the values that `later` has.
    fn merge(&mut self, later: Self) {
        *self = Self {
            stored_bytes: later.stored_bytes.or(self.stored_bytes),
            allocated_bytes: later.allocated_bytes.or(self.allocated_bytes),
            objects: later.objects.or(self.objects),
            reads: later.reads.or(self.reads),
            read_bytes: later.read_bytes.or(self.read_bytes),
            writes: later.writes.or(self.writes),
            written_bytes: later.written_bytes.or(self.written_bytes),
        };
    }
}

/// The metrics of Ceph in a text.
#[derive(Default, Debug)]
pub(crate) struct Metrics {
    /// Number of lines that were read.
    pub(crate) used: usize,
    /// The first metric that was not.
    pub(crate) other: Option<String>,
}

impl Metrics {
    fn skip(&mut self, name: &str) {
        self.used -= 1;
        self.other.get_or_insert_with(|| format!("ceph_{}", one_line(name)));
    }
}

/// No drive and no pool holds more bytes, 2^60.
const MAX_BYTES: u64 = 1 << 60;

/// Metrics that are such sizes.
const SIZES: [&str; 5] =
    ["osd_stat_bytes", "osd_stat_bytes_used", "pool_stored", "pool_bytes_used", "pool_stored_raw"];

/// A count that was written as a number with a point or an exponent.
fn whole(value: f64) -> Option<u64> {
    ((0.0..1.8e19).contains(&value) && value.fract() <= 0.0).then_some(value as u64)
}

/// Reads sizes and counts, and remembers values that cannot be one.
#[derive(Default)]
struct Counts {
    wrong: usize,
    first: Option<String>,
    /// What occurred, and the first that occurred twice.
    seen: BTreeSet<String>,
    twice: Option<String>,
}

impl Counts {
    /// The count `key` of an entry; `of` is the entry's name.
    fn count(&mut self, entry: &Value, key: &str, of: &str) -> Option<u64> {
        let value = entry.get(key)?;
        let count = value.as_u64().or_else(|| value.as_f64().and_then(whole));
        if count.is_none() {
            self.skip(key, of, value);
        }
        count
    }

    /// A size in units of `unit` bytes.
    fn size(&mut self, entry: &Value, key: &str, of: &str, unit: u64) -> Option<u64> {
        let count = self.count(entry, key, of)?;
        let bytes = count.checked_mul(unit).filter(|bytes| *bytes <= MAX_BYTES);
        if bytes.is_none() {
            self.skip(key, of, &entry[key]);
        }
        bytes
    }

    fn skip(&mut self, key: &str, of: &str, value: &Value) {
        self.wrong += 1;
        self.first.get_or_insert_with(|| {
            let value: String = value.to_string().chars().take(40).collect();
            format!("`{key}` of {of} is {value}")
        });
    }

    /// Something that may occur once in a document.
    fn see(&mut self, what: &str) {
        if self.twice.is_none() && !self.seen.insert(what.to_owned()) {
            self.twice = Some(what.to_owned());
        }
    }

    /// Notes on values that were not used, and on what occurs twice.
    fn notes(self) -> impl Iterator<Item = String> {
        let twice = self
            .twice
            .as_ref()
            .map(|what| format!("{} occurs more than once; the last counts", one_line(what)));
        self.wrong_note().into_iter().chain(twice)
    }

    fn wrong_note(self) -> Option<String> {
        let others = match self.wrong.saturating_sub(1) {
            0 => String::new(),
            others => format!(", nor are {others} more like it"),
        };
        Some(format!("{}, which no size or count can be: it is not used{others}", self.first?))
    }
}

impl Statistics {
    /// Reads a JSON document; returns false if there is nothing to read in it, and adds values that are not used to
    /// `notes`. Errors describe the fault.
    pub(crate) fn add_json(
        &mut self,
        kind: Kind,
        document: &Value,
        notes: &mut Vec<String>,
    ) -> Result<bool, String> {
        let mut counts = Counts::default();
        let found = self.add_counts(kind, document, &mut counts);
        notes.extend(counts.notes());
        found
    }

    fn add_counts(
        &mut self,
        kind: Kind,
        document: &Value,
        counts: &mut Counts,
    ) -> Result<bool, String> {
        let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned();
        match kind {
            Kind::Pools => {
                let pools = list(document, "pools").unwrap_or_default();
                self.add_pools(document, &pools, counts)
            }
            Kind::OsdDf => {
                let nodes = list(document, "nodes").unwrap_or_default();
                self.add_df(&nodes, counts)?;
                Ok(!nodes.is_empty())
            }
            Kind::OsdPerf => {
                let within = document.get("osdstats").unwrap_or(document);
                let infos = list(within, "osd_perf_infos").unwrap_or_default();
                for info in &infos {
                    let osd = number_of(info, "id", "`osd_perf_infos`")?;
                    let stats = info.get("perf_stats");
                    let of = |key: &str| stats.and_then(|stats| stats.get(key)?.as_f64());
                    let commit = of("commit_latency_ns").map(|ns| ns / 1e6);
                    self.osds.entry(osd).or_default().commit_ms =
                        commit.or(of("commit_latency_ms"));
                }
                Ok(!infos.is_empty())
            }
            Kind::PerfDump => {
                let osd = document.get("osd").filter(|osd| osd.get("op").is_some());
                let Some(osd) = osd else { return Ok(false) };
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
                Ok(true)
            }
            Kind::Report | Kind::OsdMap | Kind::CrushMap => Ok(false),
        }
    }

    /// `ceph df -f json`, with or without `detail`.
    fn add_pools(
        &mut self,
        document: &Value,
        pools: &[Value],
        counts: &mut Counts,
    ) -> Result<bool, String> {
        let mut total =
            |key: &str| counts.count(document.get("stats")?, key, "the cluster's `stats`");
        let used = total("total_used_raw_bytes").or_else(|| total("total_used_bytes"));
        self.total_bytes = total("total_bytes").zip(used).or(self.total_bytes);
        let mut found = false;
        for pool in pools {
            let id = pool.get("id").and_then(Value::as_i64);
            let id = id.ok_or("an entry of `pools` has no pool's number as `id`")?;
            let Some(stats) = pool.get("stats") else { continue };
            let name = format!("pool {id}");
            counts.see(&name);
            let mut size = |key: &str| counts.size(stats, key, &name, 1);
            // before Nautilus there is no `stored`, and `bytes_used` is what clients stored
            let (stored, allocated) = match size("stored") {
                Some(stored) => (Some(stored), size("bytes_used")),
                None => (size("bytes_used"), size("raw_bytes_used")),
            };
            let mut of = |key: &str| counts.count(stats, key, &name);
            let objects = of("objects");
            found |= stored.is_some() || objects.is_some();
            self.pools.entry(id).or_default().merge(PoolStatistics {
                stored_bytes: stored,
                allocated_bytes: allocated,
                objects,
                // only `detail` has counters
                reads: of("rd"),
                read_bytes: of("rd_bytes"),
                writes: of("wr"),
                written_bytes: of("wr_bytes"),
            });
        }
        Ok(found)
    }

    /// `ceph osd df -f json`, with or without `tree`.
    fn add_df(&mut self, nodes: &[Value], counts: &mut Counts) -> Result<(), String> {
        for node in nodes {
            let id = node.get("id").and_then(Value::as_i64);
            // negative ids are buckets of the tree
            if id.is_some_and(|id| id < 0) {
                continue;
            }
            let number = number_of(node, "id", "`nodes`")?;
            let name = format!("osd.{number}");
            counts.see(&name);
            let osd = self.osds.entry(number).or_default();
            osd.bytes = counts.size(node, "kb", &name, 1024).filter(|bytes| *bytes > 0);
            osd.used_bytes = counts.size(node, "kb_used", &name, 1024);
            osd.class = node.get("device_class").and_then(Value::as_str).map(str::to_owned);
        }
        Ok(())
    }

    /// Reads Prometheus text. Unknown lines are skipped; values that are not used are added to `notes`.
    pub(crate) fn add_prometheus(&mut self, text: &str, notes: &mut Vec<String>) -> Metrics {
        let mut found = Metrics::default();
        let mut counts = Counts::default();
        for line in text.lines() {
            let Some((name, labels, value)) = sample(line) else { continue };
            let Some(name) = name.strip_prefix("ceph_") else { continue };
            found.used += 1;
            let is_size = SIZES.contains(&name);
            let whole = |counts: &mut Counts, of: &str| {
                let count = whole(value).filter(|count| !is_size || *count <= MAX_BYTES);
                if count.is_none() {
                    counts.skip(name, of, &Value::from(value.to_string()));
                }
                count
            };
            let used = found.used;
            if let Some(daemon) = label(labels, "ceph_daemon")
                && let Some(osd) = daemon.strip_prefix("osd.").and_then(|osd| osd.parse().ok())
            {
                let mut whole = || whole(&mut counts, daemon);
                let entry: &mut OsdStatistics = self.osds.entry(osd).or_default();
                match name {
                    "osd_stat_bytes" => entry.bytes = whole(),
                    "osd_stat_bytes_used" => entry.used_bytes = whole(),
                    "osd_commit_latency_ms" => entry.commit_ms = Some(value),
                    "osd_metadata" => {
                        entry.class = label(labels, "device_class").map(str::to_owned);
                        entry.host = label(labels, "hostname").map(str::to_owned);
                    }
                    _ => found.skip(name),
                }
                if found.used == used {
                    counts.see(&format!("`ceph_{name}` of {daemon}"));
                }
            } else if let Some(pool) = label(labels, "pool_id").and_then(|pool| pool.parse().ok()) {
                let mut whole = || whole(&mut counts, &format!("pool {pool}"));
                let entry: &mut PoolStatistics = self.pools.entry(pool).or_default();
                match name {
                    "pool_stored" => entry.stored_bytes = whole(),
                    // what drives hold, as in `ceph df`; what copies would take without compression
                    "pool_bytes_used" => entry.allocated_bytes = whole(),
                    "pool_stored_raw" => {
                        entry.allocated_bytes = entry.allocated_bytes.or_else(&mut whole);
                    }
                    "pool_objects" => entry.objects = whole(),
                    "pool_rd" => entry.reads = whole(),
                    "pool_rd_bytes" => entry.read_bytes = whole(),
                    "pool_wr" => entry.writes = whole(),
                    "pool_wr_bytes" => entry.written_bytes = whole(),
                    _ => found.skip(name),
                }
                if found.used == used {
                    counts.see(&format!("`ceph_{name}` of pool {pool}"));
                }
            } else {
                found.skip(name);
            }
        }
        notes.extend(counts.notes());
        found
    }

    /// Adds statistics that were kept; where both have a value, the later ones count.
    pub(crate) fn add(&mut self, later: Self) {
        for (osd, later) in later.osds {
            self.osds.entry(osd).or_default().merge(later);
        }
        for (pool, later) in later.pools {
            self.pools.entry(pool).or_default().merge(later);
        }
        self.total_bytes = later.total_bytes.or(self.total_bytes);
        self.nameless.extend(later.nameless);
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
        let mut unknown = 0;
        for (pool, found) in &self.pools {
            let Some(facts) = inventory.pools.get_mut(pool) else {
                unknown += 1;
                continue;
            };
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
        if unknown > 0 {
            inventory
                .notes
                .push(format!("statistics of {unknown} pools that the map does not have"));
        }
        inventory.total_bytes = self.total_bytes.or(inventory.total_bytes);
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
        assert_eq!(statistics.add_json(Kind::PerfDump, &dump, &mut Vec::new()), Ok(true));
        let mut inventory = Inventory::default();
        statistics.add_to(&mut inventory);
        // 20 ms in four reads
        assert_eq!(inventory.op_ms, (Some(5.0), None));
        let other = serde_json::json!({ "osd": 1 });
        assert_eq!(statistics.add_json(Kind::PerfDump, &other, &mut Vec::new()), Ok(false));
    }

    #[test]
    fn values_that_no_drive_has_are_named_and_not_used() {
        let df = |used: Value| {
            serde_json::json!({ "summary": {}, "nodes": [
                { "id": 0, "kb": 1000, "kb_used": used }, { "id": 1, "kb": 1000, "kb_used": used } ] })
        };
        let wrong = [Value::from(-5), Value::from("x"), Value::Null, Value::from(u64::MAX)];
        for used in wrong {
            let mut notes = Vec::new();
            let mut statistics = Statistics::default();
            assert_eq!(statistics.add_json(Kind::OsdDf, &df(used.clone()), &mut notes), Ok(true));
            let note = format!("`kb_used` of osd.0 is {used}, which no size or count can be");
            assert!(
                notes[0].starts_with(&note) && notes[0].ends_with("1 more like it"),
                "{notes:?}"
            );
            assert_eq!(statistics.osds[&0].used_bytes, None);
            assert_eq!(statistics.osds[&0].bytes, Some(1_024_000));
        }
        let mut notes = Vec::new();
        let twice =
            serde_json::json!({ "summary": {}, "nodes": [{ "id": 0 }, { "id": 0 }, { "id": 1 }] });
        Statistics::default().add_json(Kind::OsdDf, &twice, &mut notes).unwrap();
        assert_eq!(notes, ["osd.0 occurs more than once; the last counts"]);
        let mut notes = Vec::new();
        let text = "ceph_osd_stat_bytes_used{ceph_daemon=\"osd.0\"} -3";
        Statistics::default().add_prometheus(text, &mut notes);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    #[test]
    fn kept_statistics_add_to_those_read_before() {
        let mut first = Statistics::default();
        let text =
            "ceph_osd_stat_bytes{ceph_daemon=\"osd.0\"} 10\nceph_pool_stored{pool_id=\"1\"} 5";
        first.add_prometheus(text, &mut Vec::new());
        let mut later = Statistics::default();
        let text =
            "ceph_osd_stat_bytes_used{ceph_daemon=\"osd.0\"} 3\nceph_pool_stored{pool_id=\"1\"} 6";
        later.add_prometheus(text, &mut Vec::new());
        first.add(later);
        assert_eq!((first.osds[&0].bytes, first.osds[&0].used_bytes), (Some(10), Some(3)));
        assert_eq!(first.pools[&1].stored_bytes, Some(6));
    }
}
