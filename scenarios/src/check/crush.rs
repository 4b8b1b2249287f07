//! Ceph's own placement of a scenario's volumes: by a CRUSH map from a file, or by a map made of the nodes.
//!
//! OSDs are the disks of the nodes. Their numbers are given (`osds`), or counted from 0 over all
//! nodes. A volume is a pool of the map (`pool`, or the volume's own name), or a new one that a
//! rule places.

use std::sync::Arc;

use foretell_algorithms::crush::{ClusterMap, CrushMap, Pool, PoolKind, Rule, Step};
use foretell_ceph_maps::{
    Imported, all_up, bare_cluster, keepable_text, read_text, survived, whole_sets,
};
use foretell_input::Limit;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::HostId;

use super::topology::LEVELS;
use super::uplinks::uplink;
use super::{Context, Hosts, section, volumes};
use crate::error::Problem;
use crate::model::{Ceph, Places, Remap, Volume};
use crate::names::nearest;
use crate::raw::{At, RawVolume};
use crate::source::Place;
use crate::tree::{Entry, Node, Table, Value};

/// Settings of nodes and volumes that have a meaning only with Ceph's own placement.
const OF_NODES: [&str; 4] = ["osds", "rack", "room", "datacenter"];
const OF_VOLUMES: [&str; 4] = ["pool", "rule", "placement_groups", "failure_domain"];

/// A map and its place in the scenario.
struct Map {
    cluster: ClusterMap,
    /// The place of `crush`, or the first mention of a map of the nodes.
    place: Place,
    /// Whether it is made of the nodes.
    of_nodes: bool,
    /// Number of rules for volumes' failure domains; they come before the rules with names.
    unnamed: usize,
}

/// Maximum number of OSDs in a group of nodes, because each takes memory.
const MAX_OSDS: usize = 1 << 20;

/// A device of the scenario: its host, and the index of the disk.
pub(super) type Device = (HostId, u32);

/// A volume as it is written, and checked.
#[derive(Clone, Copy)]
struct VolumeEntry<'a> {
    entry: &'a Entry,
    raw: &'a RawVolume,
    volume: &'a Volume,
}

impl Context<'_> {
    /// Whether a CRUSH map places copies.
    pub(super) fn has_crush(tree: &Table) -> bool {
        cluster_key(tree, "crush").is_some()
            || LEVELS
                .iter()
                .any(|(level, _)| section(tree, "node").any(|entry| key(entry, level).is_some()))
            || section(tree, "rule").next().is_some()
            || section(tree, "volume").any(|entry| key(entry, "failure_domain").is_some())
    }

    /// The places of each volume's groups; `None` if copies are on distinct hosts, by capacity.
    pub(super) fn crush_places(
        &mut self,
        ceph: Option<&Ceph>,
        tree: &Table,
        hosts: &Hosts,
        volumes: &[volumes::CheckedVolume],
    ) -> Option<Vec<Places>> {
        let Some(ceph) = ceph.filter(|_| Self::has_crush(tree)) else {
            self.refuse_unused(tree);
            return None;
        };
        if hosts.incomplete {
            return None;
        }
        let osds = self.osds(tree, hosts)?;
        if section(tree, "rule").next().is_none() {
            self.refuse_classes(tree);
        }
        let map = match cluster_key(tree, "crush") {
            Some(node) => self.map_of_file(node, tree)?,
            None => self.map_of_nodes(tree, hosts, &osds)?,
        };
        let mut all = Vec::new();
        for (index, (entry, found)) in section(tree, "volume").zip(volumes).enumerate() {
            let volume = found.model.as_ref()?;
            let raw: RawVolume = self.read(&entry.node)?;
            let has_events = section(tree, "event").next().is_some();
            all.push(self.places(
                &map,
                has_events,
                ceph,
                index,
                VolumeEntry { entry, raw: &raw, volume },
                &osds,
            )?);
        }
        self.devices_hold(tree, hosts, volumes, &all);
        Some(all)
    }

    /// Reports settings without effect.
    fn refuse_unused(&mut self, tree: &Table) {
        let of = |name, keys: &'static [&'static str]| {
            let keys = move |entry| keys.iter().map(move |key| (entry, *key));
            section(tree, name).flat_map(keys).filter_map(move |(entry, name)| {
                let found = entry.node.table()?.entry(name)?;
                Some((found.key_place, name))
            })
        };
        let found: Vec<(Place, &str)> =
            of("node", &OF_NODES).chain(of("volume", &OF_VOLUMES)).collect();
        // racks have a meaning if events concern them, or if they have uplinks
        let has_racks = section(tree, "event").any(|entry| key(entry, "rack").is_some())
            || uplink(tree).is_some();
        for (place, name) in found.into_iter().filter(|(_, name)| *name != "rack" || !has_racks) {
            let message = format!("`{name}` has no effect without a CRUSH map");
            let help = "set `system = \"ceph\"` and `crush` in `[cluster]`, or leave it out";
            self.add(Problem::new(place, message).help(help));
        }
        if let Some(rule) = section(tree, "rule").next() {
            let message = format!("rule `{}` has no effect: CRUSH is Ceph's", rule.key);
            let help = "set `system = \"ceph\"` in `[cluster]`, or leave it out";
            self.add(Problem::new(rule.key_place, message).help(help));
        }
        self.refuse_classes(tree);
    }

    /// Reports classes of devices, which only rules of the scenario can name.
    fn refuse_classes(&mut self, tree: &Table) {
        let found = section(tree, "node").chain(section(tree, "host")).find_map(|entry| {
            let Value::List(disks) = &key(entry, "disk")?.value else { return None };
            disks.iter().find_map(|disk| Some(disk.table()?.entry("class")?.key_place))
        });
        if let Some(place) = found {
            let message = "`class` has no effect without rules in `[rule]`";
            let help = "write a rule whose steps take the class, or leave it out";
            self.add(Problem::new(place, message).help(help));
        }
    }

    /// The disks of the nodes by OSD number.
    fn osds(&mut self, tree: &Table, hosts: &Hosts) -> Option<SortedMap<i32, Device>> {
        let any = section(tree, "node").any(|entry| key(entry, "osds").is_some());
        let mut osds = SortedMap::new();
        let mut next = 0;
        for (entry, group) in section(tree, "node").zip(hosts.groups.iter()) {
            let numbers = (group.first..group.first + group.count).map(HostId::from);
            let disks: Vec<Device> = numbers
                .filter_map(|host| Some((host, hosts.get(host)?.role.storage()?)))
                .flat_map(|(host, storage)| {
                    (0..).zip(&storage.disks).map(move |(at, _)| (host, at))
                })
                .collect();
            let given = match key(entry, "osds") {
                Some(node) => {
                    let text = node.text().unwrap_or_default();
                    let given = match numbers_of(text) {
                        Ok(given) => given,
                        Err(message) => {
                            let help = "write numbers of OSDs as `0-11, 24-35`";
                            self.add(Problem::new(node.place, message).help(help));
                            return None;
                        }
                    };
                    if given.len() != disks.len() {
                        let message = format!(
                            "node `{}` has {} disks, and `osds` names {}",
                            entry.key,
                            disks.len(),
                            given.len()
                        );
                        let help = "an OSD has a disk: name as many";
                        self.add(Problem::new(node.place, message).help(help));
                        return None;
                    }
                    given
                }
                None if any => {
                    let message = format!(
                        "node `{}` does not say which OSDs it has, and other groups do",
                        entry.key
                    );
                    let help = "give every group `osds`, or none";
                    self.add(Problem::new(entry.key_place, message).help(help));
                    return None;
                }
                None => (next..).take(disks.len()).collect(),
            };
            next += i32::try_from(disks.len()).unwrap_or(0);
            for (osd, disk) in given.into_iter().zip(disks) {
                if osds.insert(osd, disk).is_some() {
                    let message = format!("osd.{osd} is on two disks");
                    let place = key(entry, "osds").map_or(entry.key_place, |node| node.place);
                    self.add(Problem::new(place, message));
                    return None;
                }
            }
        }
        Some(osds)
    }

    fn map_of_file(&mut self, node: &Node, tree: &Table) -> Option<Map> {
        let place = node.place;
        let of_nodes = LEVELS.iter().find_map(|(level, _)| {
            section(tree, "node").find_map(|entry| {
                let found = entry.node.table()?.entry(level)?;
                Some((found.key_place, format!("in which {level} each node is"), *level))
            })
        });
        let rules = || {
            let found = section(tree, "rule").next()?;
            Some((found.key_place, "which rules there are".to_owned(), "rule"))
        };
        if let Some((place, what, key)) = of_nodes.or_else(rules) {
            let message = format!("`crush` says {what}, and so does `{key}`");
            self.add(Problem::new(place, message).help("leave one of them out"));
            return None;
        }
        let written = node.text()?;
        let (name, text) = if written.contains('\n') || written.starts_with('{') {
            ("the map in `crush`".to_owned(), written.to_owned())
        } else {
            let text = self.file(written, place).and_then(|path| {
                let name = path.display().to_string();
                let bytes = foretell_input::bytes(&path, Limit::CEPH)
                    .map_err(|error| format!("cannot read the CRUSH map `{name}`: {error}"))?;
                let text = String::from_utf8(bytes).map_err(|_| {
                    format!("the CRUSH map `{name}` is not text; `crushtool -d` makes text of it")
                })?;
                Ok((name, text))
            });
            match text {
                Ok(found) => found,
                Err(message) => {
                    self.add(Problem::new(place, message));
                    return None;
                }
            }
        };
        let read = read_text(&name, &text).map_err(|error| error.to_string());
        let cluster = read.and_then(|imported| match imported {
            Imported::Cluster(map, _) => Ok(*map),
            Imported::Crush(map, _) => bare_cluster(*map).map_err(|error| error.to_string()),
        });
        match cluster {
            Ok(cluster) => {
                // what is kept of a run must not depend on the file
                self.crush_text = keepable_text(&name, &text).ok();
                Some(Map { cluster, place, of_nodes: false, unnamed: 0 })
            }
            Err(message) => {
                self.add(Problem::new(place, message));
                None
            }
        }
    }

    /// A map made of the places of the nodes.
    fn map_of_nodes(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        osds: &SortedMap<i32, Device>,
    ) -> Option<Map> {
        let (parts, place) = self.topology(tree, hosts, osds)?;
        let built = CrushMap::new(parts).map_err(|error| error.to_string());
        match built.and_then(|map| bare_cluster(map).map_err(|error| error.to_string())) {
            Ok(cluster) => {
                let unnamed = section(tree, "volume").count();
                Some(Map { cluster, place, of_nodes: true, unnamed })
            }
            Err(message) => {
                self.add(Problem::new(place, message));
                None
            }
        }
    }

    /// The places of one volume's groups.
    fn places(
        &mut self,
        map: &Map,
        has_events: bool,
        ceph: &Ceph,
        index: usize,
        of: VolumeEntry<'_>,
        osds: &SortedMap<i32, Device>,
    ) -> Option<Places> {
        let pool = self.pool(map, ceph, index, of)?;
        let VolumeEntry { entry, raw, volume } = of;
        let place = raw.rule.as_ref().map_or(entry.key_place, At::place);
        let sets = match whole_sets(&map.cluster, &pool) {
            // a rule in the scenario must be satisfied; one of an imported cluster is accepted as it is
            Ok(whole) if map.of_nodes && whole.completed == whole.sets.len() => {
                let message = format!(
                    "volume `{}`: its rule finds no {} places for any placement group",
                    entry.key,
                    volume.n()
                );
                let help = "it asks for more racks, hosts or devices than there are";
                let domain = raw.failure_domain.as_ref().map_or(place, At::place);
                let problem = Problem::new(domain, message).also(raw.encoding.place());
                self.add(problem.help(help));
                return None;
            }
            Ok(whole) => whole.sets,
            Err(error) => {
                let message = format!("volume `{}`: {error}", entry.key);
                self.add(Problem::new(place, message).also(raw.encoding.place()));
                return None;
            }
        };
        let nodes: SortedSet<HostId> = volume.nodes.iter().copied().collect();
        let mut devices = Vec::with_capacity(sets.len() * usize::from(volume.n()));
        for osd in sets.iter().flatten() {
            let Some(device) = osds.get(osd) else {
                let message = format!(
                    "volume `{}` has a copy on osd.{osd}, which is not a disk of any node",
                    entry.key
                );
                let help = "the `osds` of the nodes must be those of the map";
                self.add(Problem::new(map.place, message).help(help));
                return None;
            };
            if !nodes.contains(&device.0) {
                let message = format!(
                    "volume `{}` has a copy on osd.{osd}, whose node is not among its `nodes`",
                    entry.key
                );
                let help = "name all nodes that the rule reaches";
                self.add(Problem::new(raw.nodes.place(), message).help(help));
                return None;
            }
            devices.push(*device);
        }
        let mut different = devices.clone();
        different.sort_unstable();
        different.dedup();
        let tolerated = |needed: u8| {
            let kinds = survived(&map.cluster, &pool, &sets, usize::from(needed));
            kinds.into_iter().filter(|(kind, _)| kind != "root").collect()
        };
        let (survives, serves) = (tolerated(volume.m()), tolerated(volume.min_write));
        let (groups, spread) = (pool.pg_num, different.len() as u64);
        // this cannot fail, because it succeeded before
        let map = if has_events { all_up(&map.cluster, &pool).ok() } else { None };
        let remap = map.map(|map| Arc::new(Remap { map, pool, devices: osds.clone() }));
        Some(Places { groups, devices, spread, survives, serves, remap })
    }

    /// The map's pool for a volume, or a new one.
    fn pool(&mut self, map: &Map, ceph: &Ceph, index: usize, of: VolumeEntry<'_>) -> Option<Pool> {
        let VolumeEntry { entry, raw, volume } = of;
        let refused = |key: &str, help: &str| {
            let found = entry.node.table().and_then(|table| table.entry(key))?;
            let message = format!("`{key}` has no effect here");
            Some(Problem::new(found.key_place, message).help(help.to_owned()))
        };
        let unused = if map.of_nodes {
            let pool = refused("pool", "it names a pool of the map that `crush` gives");
            let domain = || {
                raw.rule.as_ref()?;
                refused("failure_domain", "the rule says what copies do not share")
            };
            pool.or_else(domain)
        } else {
            refused("failure_domain", "the map's rules say what copies do not share: set `rule`")
        };
        if let Some(problem) = unused {
            self.add(problem);
            return None;
        }
        let pools = map.cluster.pools();
        let named = |name: &str| pools.values().find(|pool| pool.name == name);
        let known = match &raw.pool {
            Some(name) => {
                let found = named(name.get());
                if found.is_none() {
                    let message = format!("the CRUSH map has no pool `{}`", name.get());
                    let near = nearest(name.get(), pools.values().map(|pool| pool.name.as_str()));
                    let help = near.map(|near| format!("did you mean `{near}`?"));
                    self.add(Problem::new(name.place(), message).maybe_help(help));
                    return None;
                }
                found
            }
            None => named(&entry.key),
        };
        let kind = if volume.m() > 1 { PoolKind::Erasure } else { PoolKind::Replicated };
        let size = u32::from(volume.n());
        let rule = if map.of_nodes && raw.rule.is_none() {
            u32::try_from(index).ok()?
        } else {
            self.rule(map, raw, entry, known, kind)?
        };
        let wanted = || {
            let devices = map.cluster.crush.rule(rule).map_or(1, |rule| {
                let below = rule.steps.iter().filter_map(|step| match step {
                    Step::Take(item) => Some(map.cluster.crush.parts().devices_below(*item).len()),
                    _ => None,
                });
                below.sum::<usize>().max(1)
            });
            let copies = devices as u64 * u64::from(ceph.placement_groups_per_osd);
            u32::try_from(copies.div_ceil(u64::from(size)).next_power_of_two().min(65_536)).ok()
        };
        let own = raw.placement_groups.as_ref().and_then(|count| u32::try_from(*count.get()).ok());
        let groups = own.or(known.map(|pool| pool.pg_num)).or_else(wanted)?;
        let fresh = pools.keys().next_back().map_or(1, |last| last.saturating_add(1));
        let fresh = fresh.saturating_add(i64::try_from(index).ok()?);
        Some(Pool {
            id: known.map_or(fresh, |pool| pool.id),
            name: entry.key.clone(),
            kind,
            size,
            min_size: u32::from(volume.m()),
            rule,
            pg_num: groups,
            pgp_num: known.filter(|pool| pool.pg_num == groups).map_or(groups, |pool| pool.pgp_num),
            hashpspool: known.is_none_or(|pool| pool.hashpspool),
        })
    }

    /// The rule that places a volume, in the way that pools refer to rules.
    fn rule(
        &mut self,
        map: &Map,
        raw: &RawVolume,
        entry: &Entry,
        known: Option<&Pool>,
        kind: PoolKind,
    ) -> Option<u32> {
        let rules = &map.cluster.crush.parts().rules;
        let rules = rules.get(map.unnamed..).unwrap_or_default();
        let named = |rule: &Rule| rule.mask.map_or(rule.id, |mask| mask.ruleset);
        let choice = || {
            let all = rules.iter().map(|rule| format!("`{}`", rule.name));
            format!("the map has the rules {}", all.collect::<Vec<_>>().join(", "))
        };
        if let Some(wanted) = &raw.rule {
            let text = wanted.get().trim();
            let found = rules.iter().find(|rule| rule.name == text || rule.id.to_string() == text);
            if found.is_none() {
                let message = format!("the CRUSH map has no rule `{text}`");
                self.add(Problem::new(wanted.place(), message).help(choice()));
            }
            return found.map(named);
        }
        if let Some(pool) = known {
            return Some(pool.rule);
        }
        let mut fit = rules.iter().filter(|rule| rule.kind == kind.number());
        if let (Some(only), None) = (fit.next(), fit.next()) {
            return Some(named(only));
        }
        let message = format!(
            "volume `{}` is not a pool of the CRUSH map and does not say which rule places it",
            entry.key
        );
        self.add(Problem::new(entry.key_place, message).help(choice()));
        None
    }

    /// Checks that each device has room for what is placed on it.
    fn devices_hold(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        volumes: &[volumes::CheckedVolume],
        all: &[Places],
    ) {
        let mut held: SortedMap<Device, f64> = SortedMap::new();
        for (found, places) in volumes.iter().zip(all) {
            let Some(volume) = &found.model else { return };
            let shard = volume.size.get() as f64 / f64::from(volume.m()) / f64::from(places.groups);
            for device in &places.devices {
                *held.entry(*device).or_default() += shard;
            }
        }
        let over = held.into_iter().find_map(|((host, disk), bytes)| {
            let capacity = hosts.get(host)?.role.storage()?.capacities().nth(disk as usize)?;
            (bytes > capacity.get() as f64).then_some((host, disk, bytes, capacity))
        });
        let Some((host, disk, bytes, capacity)) = over else { return };
        let tib = |bytes: f64| bytes / (1_u64 << 40) as f64;
        let message = format!(
            "the volumes need {:.3} TiB on disk {disk} of `{}`, which has {:.3} TiB",
            tib(bytes),
            hosts.name(host),
            tib(capacity.get() as f64)
        );
        let place =
            section(tree, "volume").next().map_or(Place::default(), |entry| entry.key_place);
        self.add(Problem::new(place, message).help("make `size` smaller, or add disks"));
    }
}

pub(super) fn cluster_key<'t>(tree: &'t Table, key: &str) -> Option<&'t Node> {
    tree.get("cluster")?.table()?.get(key)
}

pub(super) fn key<'t>(entry: &'t Entry, key: &str) -> Option<&'t Node> {
    entry.node.table()?.get(key)
}

/// `0-3, 8` as numbers.
fn numbers_of(text: &str) -> Result<Vec<i32>, String> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let wrong = || format!("`{part}` is no OSD's number and no range of them");
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<i32>().ok().filter(|number| *number >= 0);
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(wrong());
        };
        if last < first {
            return Err(wrong());
        }
        if (last - first) as usize >= MAX_OSDS - all.len().min(MAX_OSDS) {
            return Err(format!("these are more than {MAX_OSDS} OSDs"));
        }
        all.extend(first..=last);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_osds_are_read() {
        assert_eq!(numbers_of("0-2, 7").unwrap(), [0, 1, 2, 7]);
        for wrong in ["", "a", "3-1", "-1", "0--2", "0-99999999", "0-999999, 0-999999"] {
            assert!(numbers_of(wrong).is_err(), "{wrong}");
        }
    }
}
