//! Settings that change while the cluster runs: `set` of events.
//!
//! The new values are put into the scenario's tree, event after event, and the whole is checked
//! again. So a setting that a scenario cannot have cannot be set either. The settings that may be
//! set are listed here. Weights of OSDs are not settings of a scenario, but are set in the same
//! way.

use std::path::Path;

use foretell_sorted::SortedMap;
use foretell_units::{HostId, SimSpan, VolumeId};

use super::{check_at_first, section};
use crate::error::{Problem, Problems, ScenarioErrors};
use crate::model::{Host, Scenario, System, Volume};
use crate::names::nearest;
use crate::outages::{Action, Event, FULL_WEIGHT, Outages, Part, Recovery, Setting, SettingChange};
use crate::source::{Place, Sources};
use crate::tree::{Entry, Node, Table, Value};

/// Keys of a volume that may be set, if clients encode.
const OF_VOLUMES: [&str; 6] =
    ["encoding", "cipher", "nodes", "placement", "write_quorum", "min_write"];

/// Keys of `recovery` that may be set; the last one only with Ceph.
const OF_RECOVERY: [&str; 3] = ["parallel", "pause", "max_backfills"];

/// An event that changes settings.
struct Sets<'a> {
    name: &'a str,
    at: SimSpan,
    place: Place,
    entries: &'a [Entry],
}

/// A change made by an event.
pub(super) struct Change {
    /// The event's name.
    name: String,
    /// Owner of the setting, if it is a host or a disk.
    of: Option<(HostId, Part)>,
    setting: Setting,
}

/// OSDs by the paths of their weights, and all weights other than 1.
struct Osds {
    paths: SortedMap<String, (HostId, u32)>,
    weights: SortedMap<(HostId, u32), u32>,
}

/// Writes `set` with dotted keys, even if it is written as nested tables.
pub(super) fn flatten(tree: &mut Table) {
    fn walk(table: &Table, path: &str, into: &mut Table) {
        for entry in &table.entries {
            let key =
                if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            match &entry.node.value {
                Value::Table(inner) => walk(inner, &key, into),
                _ => into.insert(Entry { key, ..entry.clone() }),
            }
        }
    }
    let events = tree.get_mut("event").and_then(Node::table_mut);
    let events = events.into_iter().flat_map(|events| &mut events.entries);
    for event in events.filter_map(|event| event.node.table_mut()) {
        if let Some(table) = event.get_mut("set").and_then(Node::table_mut) {
            let mut flat = Table::default();
            walk(table, "", &mut flat);
            *table = flat;
        }
    }
}

/// The changes by events of a valid scenario, with the events' names, in the order of time.
pub(super) fn of(
    tree: &Table,
    scenario: &Scenario,
    sources: &Sources,
    base: &Path,
) -> Result<Vec<Change>, ScenarioErrors> {
    let mut flat = tree.clone();
    flatten(&mut flat);
    let mut events: Vec<Sets> = section(&flat, "event").filter_map(Sets::of).collect();
    events.sort_by_key(|event| event.at);
    let mut problems = Problems::default();
    let mut found = Vec::new();
    let (mut now, mut state) = (flat.clone(), scenario.clone());
    let mut osds = Osds::of(scenario);
    for event in &events {
        for entry in event.entries {
            match osds.paths.get(&entry.key).copied() {
                Some(osd) => osds.reweight(event, entry, osd, &mut found, &mut problems),
                None => put(&mut now, entry, &state, &osds, &mut problems),
            }
        }
        if let Some(errors) = problems.into_errors(sources) {
            return Err(errors);
        }
        problems = Problems::default();
        let next = check_at_first(&now, sources, base)?.scenario;
        event.compare(&state, &next, &mut found, &mut problems);
        state = next;
    }
    match problems.into_errors(sources) {
        Some(errors) => Err(errors),
        None => Ok(found),
    }
}

/// Adds these events to those of hosts.
pub(super) fn add(outages: &mut Outages, changes: Vec<Change>) {
    for (number, Change { name, of, setting }) in (0..).zip(changes) {
        let (at, (host, part)) = (setting.at, of.unwrap_or((HostId(0), Part::Whole)));
        let action = Action::Set { number };
        outages.events.push(Event { name, at, host, part, action });
        outages.settings.push(setting);
    }
    // at equal times, events at hosts come first
    outages.events.sort_by_key(|event| event.at);
}

impl Osds {
    /// The OSDs of a scenario; empty if it has none.
    fn of(scenario: &Scenario) -> Self {
        let (mut paths, mut weights) = (Vec::new(), SortedMap::new());
        let has_osds = scenario.system.traits().disks_are_servers();
        for (index, Host { name, role, .. }) in scenario.hosts.iter().enumerate() {
            let disks = role.storage().filter(|_| has_osds).map_or(0, |all| all.disks.len());
            for disk in 0..disks as u32 {
                let osd = (HostId::from(index), disk);
                paths.push((format!("osd.{name}.disk{disk}.reweight"), osd));
            }
        }
        // the CRUSH map of a cluster may have other weights
        let places = match &scenario.system {
            System::Ceph(ceph) => ceph.places.as_deref().unwrap_or_default(),
            _ => &[],
        };
        for remap in places.iter().filter_map(|places| places.remap.as_ref()) {
            for (number, osd) in &remap.devices {
                let weight = remap.map.osd(*number).map_or(FULL_WEIGHT, |osd| osd.weight);
                weights.insert(*osd, weight);
            }
        }
        Self { paths: paths.into_iter().collect(), weights }
    }

    /// Handles an event that sets the weight of an OSD.
    fn reweight(
        &mut self,
        event: &Sets<'_>,
        entry: &Entry,
        osd: (HostId, u32),
        found: &mut Vec<Change>,
        problems: &mut Problems,
    ) {
        let value = match entry.node.value {
            Value::Number(value) => Some(value),
            Value::Whole(value) => Some(value as f64),
            _ => None,
        };
        let Some(value) = value.filter(|value| (0.0..=1.0).contains(value)) else {
            let message = format!("`{}` is a number from 0 to 1", entry.key);
            let help = "1 is all that the map gives to the OSD, 0 nothing";
            problems.add(Problem::new(entry.node.place, message).help(help));
            return;
        };
        let weight = (value * f64::from(FULL_WEIGHT)).round() as u32;
        let before = self.weights.insert(osd, weight).unwrap_or(FULL_WEIGHT);
        if before == weight {
            problems.add(event.without_effect(entry));
            return;
        }
        let of = Some((osd.0, Part::Disk(osd.1)));
        let path = entry.key.clone();
        let setting = Setting { path, at: event.at, change: SettingChange::Weight(weight) };
        found.push(Change { name: event.name.to_owned(), of, setting });
    }
}

/// Paths that may be set in a scenario.
fn paths(scenario: &Scenario, osds: &Osds) -> Vec<String> {
    let is_ceph = scenario.system.traits().disks_are_servers();
    let volumes = scenario.volumes.iter().filter(|_| scenario.system.traits().clients_encode());
    let of_volume = |volume: &Volume| {
        let name = volume.name.clone();
        OF_VOLUMES.map(|key| format!("volume.{name}.{key}"))
    };
    let recovery = OF_RECOVERY.iter().take(if is_ceph { 3 } else { 2 });
    let of_recovery = recovery.map(|key| format!("recovery.{key}"));
    volumes.flat_map(of_volume).chain(osds.paths.keys().cloned()).chain(of_recovery).collect()
}

/// Puts a value at its path.
fn put(tree: &mut Table, entry: &Entry, scenario: &Scenario, osds: &Osds, problems: &mut Problems) {
    let paths = paths(scenario, osds);
    if !paths.contains(&entry.key) {
        let message = format!("`{}` cannot be set while the cluster runs", entry.key);
        // `volume.mail.size` is no typing error for `volume.mail.cipher`: each part must be near
        let parts = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let wrong = parts(&entry.key);
        let is_near = |path: &&str| {
            let known = parts(path);
            let mut pairs = wrong.iter().zip(&known);
            wrong.len() == known.len() && pairs.all(|(a, b)| nearest(a, [b.as_str()]).is_some())
        };
        let near = nearest(&entry.key, paths.iter().map(String::as_str).filter(is_near));
        let help = match near {
            Some(other) => format!("did you mean `{other}`?"),
            None => format!(
                "what can be set: `{}`",
                paths[paths.len().saturating_sub(8)..].join("`, `")
            ),
        };
        problems.add(Problem::new(entry.key_place, message).help(help));
        return;
    }
    let mut table = tree;
    let mut keys: Vec<&str> = entry.key.split('.').collect();
    let last = keys.pop().expect("paths have keys");
    for key in keys {
        if table.get(key).is_none() {
            let value = Value::Table(Table::default());
            let node = Node { value, place: entry.key_place };
            let (key, key_place) = (key.to_owned(), entry.key_place);
            table.insert(Entry { key, key_place, node });
        }
        let inner = table.get_mut(key).and_then(Node::table_mut);
        table = inner.expect("a scenario has tables there");
    }
    let (key, key_place) = (last.to_owned(), entry.key_place);
    table.insert(Entry { key, key_place, node: entry.node.clone() });
}

impl<'a> Sets<'a> {
    fn of(entry: &'a Entry) -> Option<Self> {
        let table = entry.node.table()?;
        let entries = &table.get("set")?.table()?.entries;
        let at = table.get("at")?.text()?.parse().ok()?;
        Some(Self { name: &entry.key, at, place: entry.key_place, entries })
    }

    /// Finds the changes made by an event.
    fn compare(
        &self,
        before: &Scenario,
        after: &Scenario,
        found: &mut Vec<Change>,
        problems: &mut Problems,
    ) {
        let path = |section: &str| {
            let paths = self.entries.iter().map(|entry| entry.key.as_str());
            let such: Vec<&str> = paths.filter(|path| path.starts_with(section)).collect();
            such.join(", ")
        };
        let mut set = |path: String, change: SettingChange| {
            let setting = Setting { path, at: self.at, change };
            found.push(Change { name: self.name.to_owned(), of: None, setting });
        };
        for (index, (one, other)) in before.volumes.iter().zip(&after.volumes).enumerate() {
            let section = format!("volume.{}.", one.name);
            if one != other {
                let now = Box::new(other.clone());
                set(path(&section), SettingChange::Volume { volume: VolumeId::from(index), now });
            } else if let Some(entry) = self.entries.iter().find(|e| e.key.starts_with(&section)) {
                problems.add(self.without_effect(entry));
            }
        }
        let recovery = |scenario: &Scenario| -> Option<Recovery> {
            scenario.outages.as_ref().map(|outages| outages.recovery)
        };
        match (recovery(before), recovery(after)) {
            (Some(one), Some(other)) if one != other => {
                set(path("recovery."), SettingChange::Recovery(other));
            }
            _ => {
                let sets = self.entries.iter().find(|entry| entry.key.starts_with("recovery."));
                if let Some(entry) = sets {
                    problems.add(self.without_effect(entry));
                }
            }
        }
    }

    fn without_effect(&self, entry: &Entry) -> Problem {
        let message = format!(
            "event `{}` sets `{}` to the value that it already has: this has no effect",
            self.name, entry.key
        );
        Problem::new(entry.node.place, message).also(self.place).help("leave it out")
    }
}
