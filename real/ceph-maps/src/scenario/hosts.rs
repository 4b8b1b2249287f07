//! Hosts of a scenario: those of the cluster, equal ones in a group.

use std::fmt::Write as _;

use foretell_algorithms::crush::ClusterMap;
use foretell_sorted::{SortedMap, SortedSet};

use super::devices::{Drive, Sort, device};
use super::names::{letters, ranges, written};
use crate::domains::hosts as machines;
use crate::inventory::Inventory;
use crate::levels::osd_bytes;

/// Assumed size of a drive if none is known.
const UNKNOWN_BYTES: f64 = 1e12;
/// Cache of an OSD: `bluestore_cache_size_hdd` and `_ssd`.
const CACHE_GIB: [u64; 2] = [1, 3];

/// A host, and its OSDs.
type Host = (String, Vec<i32>);

/// Hosts that are equal.
struct Group {
    name: String,
    /// Names of the hosts, and the OSDs of each in the order of `disks`.
    hosts: Vec<Host>,
    like: Like,
}

/// The properties that hosts of a group have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Like {
    drives: Vec<Drive>,
    cpu: Option<String>,
    memory: Option<u64>,
}

/// The hosts of a cluster.
pub(super) struct Cluster {
    groups: Vec<Group>,
    /// By OSD: the group.
    group_of: SortedMap<i32, usize>,
    /// By drive: the smallest size, and the models.
    drives: SortedMap<Drive, (u64, SortedSet<String>)>,
    /// The drive of each OSD.
    drive_of: SortedMap<i32, Drive>,
    /// Whether OSDs have a network of their own.
    pub(super) has_cluster_network: bool,
    /// Differences from the real cluster.
    pub(super) caveats: Vec<String>,
}

impl Cluster {
    pub(super) fn of(map: &ClusterMap, inventory: &Inventory) -> Self {
        let mut caveats = Vec::new();
        let mut hosts: SortedMap<String, Vec<(Drive, i32)>> = SortedMap::new();
        let mut drives: SortedMap<Drive, (u64, SortedSet<String>)> = SortedMap::new();
        let mut drive_of = SortedMap::new();
        let mut unknown = Vec::new();
        let machines = machines(&map.crush);
        let mut alone = Vec::new();
        for (osd, _) in map.existing() {
            let facts = inventory.osds.get(&osd);
            let size = osd_bytes(map, inventory, osd);
            let size = if size >= 1e9 {
                size
            } else {
                unknown.push(osd);
                UNKNOWN_BYTES
            };
            let class = map.crush.parts().classes.get(&osd).cloned();
            let class = class.or_else(|| facts?.class.clone()).unwrap_or_default();
            let drive = Drive::new(Sort::of(&class, facts.is_some_and(|facts| facts.nvme)), size);
            let entry = drives.entry(drive.clone()).or_insert((size as u64, SortedSet::new()));
            entry.0 = entry.0.min(size as u64);
            entry.1.extend(facts.and_then(|facts| facts.model.as_deref()).map(written));
            drive_of.insert(osd, drive.clone());
            let host = facts.and_then(|facts| facts.host.clone());
            // a CRUSH host is a machine; what lies below it, such as a controller, is none
            let host = host.or_else(|| machines.get(&osd).map(|name| (*name).to_owned()));
            let host = host.unwrap_or_else(|| {
                let holder = holder(map, osd, !machines.is_empty());
                holder.unwrap_or_else(|| {
                    alone.push(osd);
                    format!("osd.{osd} alone")
                })
            });
            hosts.entry(host).or_default().push((drive, osd));
        }
        if !unknown.is_empty() {
            caveats.push(format!(
                "The size of osd.{} is not known: 1 TB is assumed.",
                ranges(&unknown)
            ));
        }
        if !alone.is_empty() {
            caveats.push(format!(
                "osd.{} is below no host in the map: here it has a machine of its own.",
                ranges(&alone)
            ));
        }
        let mut groups: SortedMap<Like, Vec<Host>> = SortedMap::new();
        for (host, mut osds) in hosts {
            osds.sort();
            let facts = osds.first().and_then(|(_, osd)| inventory.osds.get(osd));
            let like = Like {
                drives: osds.iter().map(|(drive, _)| drive.clone()).collect(),
                cpu: facts.and_then(|facts| facts.cpu.as_deref()).map(written),
                // equal machines report slightly different sizes, as the kernel reserves some
                memory: facts
                    .and_then(|facts| facts.host_memory_bytes)
                    .map(|bytes| (bytes as f64 / (1_u64 << 30) as f64 / 4.0).round() as u64 * 4),
            };
            let osds = osds.into_iter().map(|(_, osd)| osd).collect();
            groups.entry(like).or_default().push((host, osds));
        }
        let group = |(number, (like, hosts)): (usize, (Like, Vec<Host>))| {
            let name = format!("host-{}", letters(number));
            Group { name, hosts, like }
        };
        let groups: Vec<Group> = groups.into_iter().enumerate().map(group).collect();
        let mut group_of = SortedMap::new();
        for (number, group) in groups.iter().enumerate() {
            let osds = group.hosts.iter().flat_map(|(_, osds)| osds);
            group_of.extend(osds.map(|osd| (*osd, number)));
        }
        caveats.extend(others(map, inventory));
        let machines: usize = groups.iter().map(|group| group.hosts.len()).sum();
        // one machine alone sends nothing to others
        let has_cluster_network = inventory.has_cluster_network && machines > 1;
        Self { groups, group_of, drives, drive_of, has_cluster_network, caveats }
    }

    /// The groups that have some of these OSDs, in the form of a volume's `nodes`.
    pub(super) fn nodes_of(&self, osds: &SortedSet<i32>) -> String {
        let groups: SortedSet<usize> =
            osds.iter().filter_map(|osd| self.group_of.get(osd).copied()).collect();
        let names: Vec<&str> =
            groups.into_iter().map(|group| self.groups[group].name.as_str()).collect();
        names.join(", ")
    }

    /// The size of an OSD's device in the scenario.
    pub(super) fn device_bytes(&self, osd: i32) -> f64 {
        let drive = self.drive_of.get(&osd);
        drive.map_or(0.0, |drive| (self.drives[drive].0 / 4096 * 4096) as f64)
    }

    /// All kinds of drives.
    pub(super) fn drives(&self) -> impl Iterator<Item = &Drive> {
        self.drives.keys()
    }

    /// Whether most OSDs are on disks.
    pub(super) fn disks_prevail(&self) -> bool {
        let drives = self.groups.iter().flat_map(|group| {
            group.like.drives.iter().map(|drive| (drive.sort, group.hosts.len()))
        });
        let (mut disks, mut all) = (0, 0);
        for (sort, count) in drives {
            all += count;
            disks += if sort == Sort::Disk { count } else { 0 };
        }
        2 * disks > all
    }

    /// The hosts as groups of nodes, in TOML.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for group in &self.groups {
            let Like { drives, cpu, memory } = &group.like;
            let names: Vec<String> = group.hosts.iter().map(|(name, _)| written(name)).collect();
            let _ = writeln!(text, "\n# {}", names.join(", "));
            let _ = writeln!(text, "[node.{}]\ncount = {}", group.name, group.hosts.len());
            let cpu = cpu.as_ref().map_or(String::new(), |cpu| format!("; it is {cpu}"));
            let _ = writeln!(
                text,
                "cpu   = \"xeon-2023\" # assumed: 16 cores, as this profile has{cpu}"
            );
            let cache: u64 =
                drives.iter().map(|drive| CACHE_GIB[usize::from(drive.sort != Sort::Disk)]).sum();
            let cache = memory.map_or(cache, |memory| cache.min((memory / 2).max(1)));
            let of =
                memory.map_or(String::new(), |memory| format!(" of its {memory} GiB of memory"));
            let _ = writeln!(
                text,
                "cache = {{ size = \"{cache} GiB\" }} # assumed: Ceph's defaults, 1 GiB for a disk and 3 GiB for flash{of}"
            );
            let _ = writeln!(text, "disk  = [{}]", disks(drives));
            text.push_str("nic   = { rate = \"10 Gbit/s\", latency = \"5 us\" } # assumed\n");
            if self.has_cluster_network {
                text.push_str(
                    "# OSDs have addresses of their own for messages to each other; the rate is assumed\n\
                     cluster_nic = { rate = \"10 Gbit/s\", latency = \"5 us\" }\n",
                );
            }
            let osds: Vec<i32> = group.hosts.iter().flat_map(|(_, osds)| osds).copied().collect();
            let _ = writeln!(text, "osds  = \"{}\"", ranges(&osds));
        }
        text
    }

    /// The devices in TOML.
    pub(super) fn device_text(&self) -> String {
        let device = |(drive, (bytes, models)): (&Drive, &(u64, SortedSet<String>))| {
            let models: Vec<String> = models.iter().take(4).cloned().collect();
            device(drive, *bytes, &models)
        };
        self.drives.iter().map(device).collect()
    }
}

/// Disks of a host, equal ones together.
fn disks(drives: &[Drive]) -> String {
    let mut runs: Vec<(&Drive, usize)> = Vec::new();
    for drive in drives {
        match runs.last_mut() {
            Some((last, count)) if *last == drive => *count += 1,
            _ => runs.push((drive, 1)),
        }
    }
    let run = |(drive, count): &(&Drive, usize)| {
        let scheduler = if drive.sort == Sort::Disk { "deadline" } else { "noop" };
        format!("{{ device = \"{}\", scheduler = \"{scheduler}\", count = {count} }}", drive.name)
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

/// The bucket that contains an OSD, in a map whose machines have a type of another name than `host`. `None` if it is in
/// none, if the map has hosts elsewhere, or if the bucket holds other buckets, too: then it is larger than a machine.
fn holder(map: &ClusterMap, osd: i32, has_hosts: bool) -> Option<String> {
    let mut holders = map
        .crush
        .parts()
        .buckets
        .iter()
        .filter(|bucket| !bucket.is_shadow() && bucket.items.iter().any(|item| item.id == osd));
    let holder = holders.next()?;
    let of_devices = holder.items.iter().all(|item| item.id >= 0);
    let larger = ["root", "region", "datacenter", "room", "pod", "pdu", "row", "rack"];
    let kind = map.crush.parts().types.get(&holder.kind);
    let is_machine = kind.is_none_or(|kind| !larger.contains(&kind.as_str()));
    (of_devices && is_machine && !has_hosts).then(|| holder.name.clone())
}

/// Further differences from the real cluster.
fn others(map: &ClusterMap, inventory: &Inventory) -> Vec<String> {
    let mut caveats = Vec::new();
    let down: Vec<i32> =
        map.existing().filter(|(_, osd)| !osd.up && osd.weight > 0).map(|(osd, _)| osd).collect();
    if !down.is_empty() {
        caveats.push(format!("osd.{} is down, and works here.", ranges(&down)));
    }
    let out: Vec<i32> =
        map.existing().filter(|(_, osd)| osd.weight == 0).map(|(osd, _)| osd).collect();
    if !out.is_empty() {
        caveats.push(format!("osd.{} is out: its drive is here, and nothing on it.", ranges(&out)));
    }
    if !map.temp.is_empty() {
        caveats.push(format!(
            "{} placement groups are elsewhere for the time being; here they are where they belong.",
            map.temp.len()
        ));
    }
    let databases: Vec<i32> = inventory
        .osds
        .iter()
        .filter(|(_, facts)| facts.db_bytes.is_some())
        .map(|(osd, _)| *osd)
        .collect();
    if !databases.is_empty() {
        caveats.push(format!(
            "osd.{} keep their databases and logs on a drive of their own, which the simulator does not \
             have: here small writes wait for the data drive, and are slower than in the cluster.",
            ranges(&databases)
        ));
    }
    caveats
}
