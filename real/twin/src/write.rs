//! Writes a scenario for each configuration, with comments, and `map.toml`, which links both.
//!
//! Values that the source does not state are assumed here, and every assumption is listed in the scenario and in the
//! map. A system that cannot be simulated is refused by name.

mod cluster;
mod drive;
mod hosts;
mod logs;
mod pool;
mod software;

use std::fmt::Write as _;

use foretell_input::one_line;
use foretell_scenarios::{Document, ScenarioErrors};
use foretell_sorted::SortedMap;

use self::cluster::cluster;
use self::drive::{drive_of, raw_drive};
use self::logs::logs;
pub(crate) use self::pool::volume_bytes;
use self::software::Software;
use crate::config::{Config, Source};
use crate::notes::Facts;
use crate::points::Row;

/// Assumed bandwidth of a node if its network is not known, Gbit/s.
const ASSUMED_GBIT: f64 = 25.0;

/// The outcome for a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub(crate) config: String,
    /// The scenario's file, or the reason why the configuration is refused.
    pub(crate) scenario: Result<String, String>,
    /// Number of clients, if a row does not state it.
    pub(crate) processes: u32,
    /// Bandwidth of all client hosts together, Gbit/s.
    pub(crate) client_gbit: f64,
    /// Number of hosts that clients run on.
    pub(crate) client_hosts: u32,
    /// Maximum IOPS of each client in each direction.
    pub(crate) rate_limit: Option<f64>,
    /// The images of its clients, if the number of images is that of the clients of a row.
    pub(crate) images: Option<Images>,
    /// The drive of its OSDs, or the drive that its rows measure alone.
    pub(crate) drive: Option<String>,
    /// OSDs on each drive; 0: its rows measure the drive alone.
    pub(crate) osds_per_device: u32,
    /// Whether the drive loses unflushed data.
    pub(crate) flushes: bool,
    /// Whether its clients use gateways.
    pub(crate) gateways: bool,
    /// Background work that is not simulated.
    pub(crate) background: Option<String>,
    pub(crate) assumed: Vec<String>,
    pub(crate) unknown: Vec<String>,
}

/// Images of clients, one for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Images {
    /// Bytes of each.
    pub(crate) each: f64,
    /// Maximum bytes of all together.
    pub(crate) most: f64,
}

/// All output for a source.
pub struct Written {
    /// Scenarios by the names of their files.
    pub files: SortedMap<String, String>,
    /// The outcome for each configuration.
    pub entries: Vec<Entry>,
}

/// The scenarios of a source. Only those `points` are used that measure single drives.
pub fn write(source: &Source, points: &[Row]) -> Written {
    let mut files = SortedMap::new();
    let mut entries = Vec::new();
    for (name, config) in &source.configs {
        let config = match config {
            Ok(config) => config,
            Err(reason) => {
                let scenario = Err(reason.clone());
                entries.push(Entry { scenario, ..Entry::new(source, name, &Config::default()) });
                continue;
            }
        };
        let mut entry = Entry::new(source, name, config);
        match scenario(source, name, config, points, &mut entry).and_then(checked) {
            Ok(text) => {
                let file = file_name(name, &files);
                files.insert(file.clone(), text);
                entry.scenario = Ok(file);
            }
            Err(reason) => entry.scenario = Err(reason),
        }
        entries.push(entry);
    }
    Written { files, entries }
}

/// A written scenario, or the reason why it cannot be simulated.
fn checked(text: String) -> Result<String, String> {
    let found = Document::parse("its scenario", &text, "").and_then(|document| document.check());
    match found {
        Ok(_) => Ok(text),
        Err(errors) => Err(format!("it cannot be simulated: {}", reason(&errors))),
    }
}

/// What is wrong with a scenario: the first of its errors.
pub(crate) fn reason(errors: &ScenarioErrors) -> String {
    let first = errors.errors().first().map_or_else(|| errors.to_string(), ToString::to_string);
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Entry {
    fn new(source: &Source, name: &str, config: &Config) -> Self {
        Self {
            config: name.to_owned(),
            scenario: Err(String::new()),
            processes: 1,
            client_gbit: ASSUMED_GBIT,
            client_hosts: 1,
            rate_limit: config.client.rate_limit_iops,
            images: None,
            drive: source.measured_by(name).map(str::to_owned),
            osds_per_device: 1,
            flushes: false,
            gateways: false,
            background: None,
            assumed: Vec::new(),
            unknown: config.unknown.clone(),
        }
    }
}

/// A file name that is not in use yet.
fn file_name(config: &str, files: &SortedMap<String, String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = config.chars().map(plain).take(100).collect();
    let name = name.trim_start_matches(['.', '-']);
    let name = if name.is_empty() || name == "map" || name == "fitted" { "config" } else { name };
    let mut file = format!("{name}.toml");
    let mut number = 2;
    while files.contains_key(&file) {
        file = format!("{name}-{number}.toml");
        number += 1;
    }
    file
}

fn scenario(
    source: &Source,
    name: &str,
    config: &Config,
    points: &[Row],
    entry: &mut Entry,
) -> Result<String, String> {
    let system = config.system.as_deref().unwrap_or_else(|| {
        entry.assumed.push("the system is not said; taken as Ceph".to_owned());
        "ceph"
    });
    let devices = config.data_devices();
    let model_name = devices.and_then(|devices| devices.model.as_deref());
    let model_name = model_name.map(str::to_owned).or_else(|| entry.drive.clone());
    entry.drive.clone_from(&model_name);
    let model_name = model_name.as_deref();
    let drive = drive_of(source, model_name, points);
    let known = model_name.and_then(|name| source.drives.get(name));
    entry.flushes = known.and_then(|drive| drive.power_loss_protection) == Some(false);
    entry.osds_per_device = match system {
        "drive" => {
            entry.client_gbit = 8000.0;
            0
        }
        _ => devices.and_then(|devices| devices.osds_per_device).unwrap_or(1).max(1),
    };
    entry.assumed.extend(drive.assumed.iter().cloned());
    entry.background = config.background_not_simulated().map(str::to_owned);
    let facts = Facts::of(&source.notes);
    let logs = logs(source, config, points);
    let text = match system {
        "drive" => raw_drive(&drive),
        "ceph" => cluster(config, (&drive, &logs), Software::Ceph, (known, &facts), entry)?,
        "vitastor" => {
            entry.assumed.push(
                "Vitastor is approximated: Ceph's protocol with software costs of its own"
                    .to_owned(),
            );
            cluster(config, (&drive, &logs), Software::Vitastor, (known, &facts), entry)?
        }
        other => {
            return Err(format!(
                "the system `{other}` cannot be simulated; `ceph`, `vitastor` (approximated) and \
                 `drive` can"
            ));
        }
    };
    let mut head = String::new();
    let version = remark(config.version.as_deref().unwrap_or("version not known"));
    let _ = writeln!(head, "# {}: {}, {system} {version}.", remark(&source.name), remark(name));
    head.push_str("# Written by `foretell import cluster`; map.toml says how rows of points.csv set its load.\n");
    for (title, lines) in [("Assumed", &entry.assumed), ("Unknown to the source", &entry.unknown)] {
        if !lines.is_empty() {
            let _ = writeln!(head, "# {title}:");
            for line in lines {
                let _ = writeln!(head, "#   - {}", remark(line));
            }
        }
    }
    Ok(head + &text)
}

/// A foreign text for a comment, cut to a line that can be read.
fn remark(text: &str) -> String {
    one_line(text).chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Written {
        write(&Source::parse(text).unwrap(), &[])
    }

    #[test]
    fn a_configuration_of_which_nothing_is_known_can_be_simulated() {
        let all = written(r#"{"configs": {"a b/../c": {}}}"#);
        let (file, text) = all.files.first_key_value().unwrap();
        assert_eq!(file, "a-b-..-c.toml");
        Document::parse(file, text, "").unwrap().check().unwrap();
        assert!(all.entries[0].assumed.len() > 6, "{:?}", all.entries[0].assumed);
    }

    #[test]
    fn codes_domains_and_parts_of_drives_can_be_simulated() {
        for pool in [
            r#"{"kind": "erasure", "k": 4, "m": 2, "failure_domain": "osd", "pg_num": 100}"#,
            r#"{"kind": "erasure", "k": 3, "m": 2}"#,
            r#"{"kind": "replicated", "size": 2, "failure_domain": "rack"}"#,
        ] {
            let text = format!(
                r#"{{"configs": {{"a": {{"nodes": 2, "osds_down": 1, "node": {{"devices":
                [{{"model": "unheard of", "count": 3, "osds_per_device": 2}}]}}, "pool": {pool}}}}}}}"#
            );
            let all = written(&text);
            let (file, text) = all.files.first_key_value().expect("it is not refused");
            Document::parse(file, text, "").unwrap().check().unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn logs_and_tables_lie_on_devices_of_their_own() {
        let of = |roles: &str, bytes: &str| {
            let text = format!(
                r#"{{"drives": {{"fast": {{"kind": "optane", "capacity_bytes": {bytes}}}}}, "configs": {{"a": {{"node":
                {{"devices": [{{"model": "x", "count": 3, "osds_per_device": 2}}, {roles}]}}}}}}}}"#
            );
            let all = written(&text);
            let (file, text) = all.files.first_key_value().expect("it is not refused");
            let scenario = Document::parse(file, text, "").unwrap().check().unwrap();
            let disks = |disk: &foretell_scenarios::model::Disk| (disk.db, disk.wal);
            let storage = scenario.hosts[0].role.storage().unwrap();
            let devices = storage.log_devices.iter().map(|disk| disk.device_name.clone());
            (storage.disks.iter().map(disks).collect::<Vec<_>>(), devices.collect::<Vec<_>>())
        };
        let role = |role: &str| format!(r#"{{"model": "fast", "count": 1, "role": "{role}"}}"#);
        let (disks, devices) = of(&role("wal-db"), "375e9");
        assert_eq!(devices, ["db"]);
        let parts: Vec<_> = disks.iter().map(|(db, wal)| (db.unwrap().parts, *wal)).collect();
        assert_eq!(parts, [(6, None); 6]);
        let (disks, devices) = of(&format!("{}, {}", role("wal"), role("db")), "375e9");
        assert_eq!(devices, ["db", "wal"]);
        assert!(disks.iter().all(|(db, wal)| db.unwrap().device == 0 && wal.unwrap().device == 1));
        let (disks, devices) = of(&role("wal"), "5e9");
        assert!(devices.is_empty() && disks.iter().all(|disk| *disk == (None, None)));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_a_reason() {
        let all = written(
            r#"{"configs": {"a": {"system": "gluster"}, "b": {"pool": {"kind": "erasure"}}}}"#,
        );
        let reason = |at: usize| all.entries[at].scenario.clone().unwrap_err();
        assert!(reason(0).contains("`gluster`"), "{}", reason(0));
        assert!(reason(1).contains("without `k`"));
        assert!(all.files.is_empty());
    }
}
