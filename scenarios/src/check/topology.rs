//! Builds a CRUSH map from a scenario's nodes: hosts in racks, rooms and datacenters, weighted by
//! capacity in TiB, with the written rules and those that failure domains require.
//!
//! Buckets are numbered from the leaves upwards, by name, so that a map depends only on the
//! scenario. Left out: chassis, rows, pods; weights other than capacities.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{
    Algorithm, Bucket, Item, MapParts, Mode, PoolKind, Rule, Setting, Step, add_shadows,
};
use foretell_ceph_maps::rule_steps;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::HostId;

use super::crush::{Device, key};
use super::{Context, Hosts, section};
use crate::error::Problem;
use crate::model;
use crate::raw::{At, HostPatterns, RawDomain, RawRule, RawVolume};
use crate::source::Place;
use crate::tree::{Entry, Node, Table, Value};

/// The levels that contain nodes, from the outermost inwards: the key, and Ceph's number of the type.
pub(super) const LEVELS: [(&str, u16); 3] = [("datacenter", 8), ("room", 7), ("rack", 3)];
/// Ceph's number of the type `host`.
const HOST: u16 = 1;
/// Ceph's number of the type `root`.
const ROOT: u16 = 11;
/// The name of the root that rules take.
const ROOT_NAME: &str = "default";

/// A part of the tree above the hosts.
#[derive(Default)]
struct Branch {
    /// Further branches by name, with their types.
    inner: SortedMap<String, (u16, Branch)>,
    hosts: Vec<HostId>,
}

/// For each name at a level: the names that contain it, and the place of its first mention.
type Seen = SortedMap<(u16, String), (Vec<String>, Place)>;

/// Storage nodes by rack. Errors in the racks are reported with the map.
pub(super) fn racks(tree: &Table, hosts: &Hosts) -> SortedMap<String, Vec<HostId>> {
    by_rack(section(tree, "node"), hosts)
}

/// Hosts by rack, of the groups of nodes, or of all groups: nodes come first.
pub(super) fn by_rack<'t>(
    groups: impl Iterator<Item = &'t Entry>,
    hosts: &Hosts,
) -> SortedMap<String, Vec<HostId>> {
    let mut racks: SortedMap<String, Vec<HostId>> = SortedMap::new();
    for (entry, group) in groups.zip(hosts.groups.iter()) {
        let Some(node) = key(entry, "rack") else { continue };
        let names: Vec<&str> = match &node.value {
            Value::List(names) => names.iter().filter_map(Node::text).collect(),
            _ => node.text().into_iter().collect(),
        };
        if names.is_empty() {
            continue;
        }
        for index in 0..group.count {
            let name = names[index % names.len()].trim().to_owned();
            racks.entry(name).or_default().push(HostId::from(group.first + index));
        }
    }
    racks
}

impl Context<'_> {
    /// The parts of the map, and the place of its first mention in the scenario.
    pub(super) fn topology(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        osds: &SortedMap<i32, Device>,
    ) -> Option<(MapParts, Place)> {
        let (root, place) = self.branches(tree, hosts)?;
        let mut types = SortedMap::from([(0, "osd"), (HOST, "host"), (ROOT, "root")]);
        types.extend(
            LEVELS.iter().filter(|(level, _)| used(tree, level)).map(|(n, kind)| (*kind, *n)),
        );
        let types = types.into_iter().map(|(kind, name)| (kind, name.to_owned())).collect();
        let mut parts = MapParts { types, ..MapParts::default() };
        let mut disks: SortedMap<HostId, Vec<(i32, u32)>> = SortedMap::new();
        for (osd, (host, disk)) in osds {
            disks.entry(*host).or_default().push((*osd, *disk));
        }
        let mut builder = Builder { hosts, disks: &disks, next: -2, parts: &mut parts };
        let items = builder.items_of(&root)?;
        let name = ROOT_NAME.to_owned();
        let algorithm = Algorithm::Straw2;
        parts.buckets.push(Bucket { id: -1, name, kind: ROOT, algorithm, items });
        if let Some(message) = named_twice(&parts) {
            let help = "rules take them by name: rename one of them";
            self.add(Problem::new(place, message).help(help));
            return None;
        }
        self.classes(tree, hosts, osds, &mut parts)?;
        self.rules(tree, &mut parts)?;
        Some((parts, place))
    }

    /// The tree of datacenters, rooms, racks and hosts.
    fn branches(&mut self, tree: &Table, hosts: &Hosts) -> Option<(Branch, Place)> {
        let levels: Vec<(&str, u16)> =
            LEVELS.into_iter().filter(|(level, _)| used(tree, level)).collect();
        let mut root = Branch::default();
        let mut seen = Seen::new();
        let mut first = None;
        for (entry, group) in section(tree, "node").zip(hosts.groups.iter()) {
            let mut names = Vec::new();
            for (level, _) in &levels {
                let (given, place) = self.names_at(entry, level)?;
                first = first.or(Some(place));
                names.push((given, place));
            }
            for index in 0..group.count {
                let mut path: Vec<String> = Vec::new();
                let mut branch = &mut root;
                for ((given, place), (level, kind)) in names.iter().zip(&levels) {
                    let name = given[index % given.len()].clone();
                    let known =
                        seen.entry((*kind, name.clone())).or_insert_with(|| (path.clone(), *place));
                    if known.0 != path {
                        let message = format!(
                            "{level} `{name}` is in `{}`, and in `{}`",
                            known.0.join("`, `"),
                            path.join("`, `")
                        );
                        let also = known.1;
                        self.add(Problem::new(*place, message).also(also));
                        return None;
                    }
                    path.push(name.clone());
                    branch = &mut branch.inner.entry(name).or_insert((*kind, Branch::default())).1;
                }
                branch.hosts.push(HostId::from(group.first + index));
            }
        }
        let rules = section(tree, "rule").next().map(|entry| entry.key_place);
        let domain =
            section(tree, "volume").find_map(|entry| Some(key(entry, "failure_domain")?.place));
        Some((root, first.or(rules).or(domain).unwrap_or_default()))
    }

    /// The names that a group of nodes gives for a level, at least one.
    fn names_at(&mut self, entry: &Entry, level: &str) -> Option<(Vec<String>, Place)> {
        let Some(node) = key(entry, level) else {
            let message = format!(
                "node `{}` does not say in which {level} it is, and other groups do",
                entry.key
            );
            let help = format!("give every group `{level}`");
            self.add(Problem::new(entry.key_place, message).help(help));
            return None;
        };
        let names: At<HostPatterns> = self.read(node)?;
        let names: Vec<String> = match names.get() {
            HostPatterns::One(name) => vec![name.trim().to_owned()],
            HostPatterns::Many(names) => {
                names.iter().map(|name| name.get().trim().to_owned()).collect()
            }
        };
        if names.is_empty() || names.iter().any(|name| !is_name(name)) {
            let message = format!("this is not a name of a {level}");
            let help = "letters, digits, `-`, `_` and `.`: rules name it in their steps";
            self.add(Problem::new(node.place, message).help(help));
            return None;
        }
        Some((names, node.place))
    }

    /// Gives devices their classes and, if rules are written, the tree a copy for each class.
    fn classes(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        osds: &SortedMap<i32, Device>,
        parts: &mut MapParts,
    ) -> Option<()> {
        if section(tree, "rule").next().is_none() {
            return Some(());
        }
        for (osd, (host, disk)) in osds {
            let class = class_of(hosts.get(*host)?.role.storage()?.disks.get(*disk as usize)?);
            if !is_name(class) {
                let place = section(tree, "node").next().map_or(Place::default(), |e| e.key_place);
                let message = format!("`{class}` is not a name of a device class");
                let help = "letters, digits, `-`, `_` and `.`: rules name it in their steps";
                self.add(Problem::new(place, message).help(help));
                return None;
            }
            parts.classes.insert(*osd, class.to_owned());
        }
        let all: SortedSet<String> = parts.classes.values().cloned().collect();
        let all: Vec<String> = all.into_iter().collect();
        let added = add_shadows(parts, &all, &BTreeMap::new());
        if let Err(error) = added {
            self.add(Problem::new(Place::default(), error.to_string()));
            return None;
        }
        Some(())
    }

    /// Numbers the rules: first those for the volumes' failure domains, in order, then those of `[rule]`.
    fn rules(&mut self, tree: &Table, parts: &mut MapParts) -> Option<()> {
        let written: Vec<&Entry> = section(tree, "rule").collect();
        let mut named: SortedSet<&str> = SortedSet::new();
        for (number, entry) in (0..).zip(section(tree, "volume")) {
            let raw: RawVolume = self.read(&entry.node)?;
            if let Some(rule) = key(entry, "rule").and_then(|node| node.text()) {
                named.insert(rule.trim());
            }
            let coded = !raw.encoding.get().trim().starts_with("1-of-");
            let domain = raw.failure_domain.as_ref().map_or(RawDomain::Host, |at| *at.get());
            let (level, kind) = bucket_type(domain);
            if !parts.types.contains_key(&kind) {
                let message = format!("no node says in which {level} it is");
                let place = raw.failure_domain.as_ref().map_or(entry.key_place, At::place);
                self.add(Problem::new(place, message).help(format!("give every group `{level}`")));
                return None;
            }
            parts.rules.push(rule_for(number, &entry.key, coded, kind));
        }
        let first = parts.rules.len() as u32;
        for (number, entry) in (first..).zip(written) {
            if !named.contains(entry.key.as_str()) {
                let message = format!("no volume is placed by rule `{}`", entry.key);
                let help = format!("set `rule = \"{}\"` in a volume, or leave it out", entry.key);
                self.add(Problem::new(entry.key_place, message).help(help));
                return None;
            }
            let raw: RawRule = self.read(&entry.node)?;
            // `crushtool` begins each step with the word `step`
            let texts = raw.steps.iter().map(|step| step.get().trim());
            let texts: Vec<&str> =
                texts.map(|step| step.strip_prefix("step ").unwrap_or(step)).collect();
            let steps = match rule_steps(parts, &texts) {
                Ok(steps) => steps,
                Err((at, message)) => {
                    let message = format!("in `{}`: {message}", texts[at]);
                    self.add(Problem::new(raw.steps[at].place(), message));
                    return None;
                }
            };
            let coded =
                steps.iter().any(|step| matches!(step, Step::Choose { mode: Mode::Indep, .. }));
            let kind = if coded { PoolKind::Erasure } else { PoolKind::Replicated };
            let name = entry.key.clone();
            parts.rules.push(Rule {
                id: number,
                name,
                kind: kind.number(),
                mask: None,
                steps,
                unknown: None,
            });
        }
        Some(())
    }
}

struct Builder<'a> {
    hosts: &'a Hosts,
    /// OSD numbers and disk indices, by host.
    disks: &'a SortedMap<HostId, Vec<(i32, u32)>>,
    /// The number of the next bucket.
    next: i32,
    parts: &'a mut MapParts,
}

impl Builder<'_> {
    /// Adds the buckets of everything in `branch`. Returns them as items of the containing bucket.
    fn items_of(&mut self, branch: &Branch) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        for (name, (kind, inner)) in &branch.inner {
            let below = self.items_of(inner)?;
            items.push(self.bucket(name.clone(), *kind, below));
        }
        for &host in &branch.hosts {
            let storage = self.hosts.get(host)?.role.storage()?;
            let capacities: Vec<_> = storage.capacities().collect();
            let own = self.disks.get(&host).into_iter().flatten();
            let item = |(osd, disk): &(i32, u32)| {
                let tib = capacities[*disk as usize].get() as f64 / (1_u64 << 40) as f64;
                Item { id: *osd, weight: ((tib * 65_536.0).round() as u32).max(1) }
            };
            let devices = own.map(item).collect();
            items.push(self.bucket(self.hosts.name(host), HOST, devices));
        }
        Some(items)
    }

    fn bucket(&mut self, name: String, kind: u16, items: Vec<Item>) -> Item {
        let id = self.next;
        self.next -= 1;
        let bucket = Bucket { id, name, kind, algorithm: Algorithm::Straw2, items };
        let item = Item { id, weight: u32::try_from(bucket.weight()).unwrap_or(u32::MAX) };
        self.parts.buckets.push(bucket);
        item
    }
}

/// A name that two buckets have, if any.
fn named_twice(parts: &MapParts) -> Option<String> {
    let mut kinds: SortedMap<&str, &str> = SortedMap::new();
    parts.buckets.iter().find_map(|bucket| {
        let kind = parts.types.get(&bucket.kind).map_or("bucket", String::as_str);
        let other = kinds.insert(&bucket.name, kind)?;
        Some(format!("`{}` is the name of a {other} and of a {kind}", bucket.name))
    })
}

/// Whether any group of nodes has this level.
fn used(tree: &Table, level: &str) -> bool {
    section(tree, "node").any(|entry| key(entry, level).is_some())
}

/// Whether steps of rules can use this name.
fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(good)
}

/// The class of a device in Ceph's way: by whether it has moving heads.
fn class_of(disk: &model::Disk) -> &str {
    let by_kind = if disk.device.has_heads() { "hdd" } else { "ssd" };
    disk.class.as_deref().unwrap_or(by_kind)
}

/// The name and number of the type of bucket that copies must not share.
const fn bucket_type(domain: RawDomain) -> (&'static str, u16) {
    let [datacenter, room, rack] = LEVELS;
    match domain {
        RawDomain::Osd => ("osd", 0),
        RawDomain::Host => ("host", HOST),
        RawDomain::Rack => rack,
        RawDomain::Room => room,
        RawDomain::Datacenter => datacenter,
    }
}

/// A rule like those that Ceph creates: copies or shards in different buckets of type `kind`, or on
/// different devices.
fn rule_for(number: u32, volume: &str, coded: bool, kind: u16) -> Rule {
    let mode = if coded { Mode::Indep } else { Mode::Firstn };
    let mut steps = Vec::new();
    if coded {
        steps.push(Step::Set(Setting::ChooseleafTries, 5));
        steps.push(Step::Set(Setting::ChooseTries, 100));
    }
    let leaf = kind != 0;
    steps.extend([Step::Take(-1), Step::Choose { mode, leaf, count: 0, kind }, Step::Emit]);
    let kind = if coded { PoolKind::Erasure } else { PoolKind::Replicated };
    Rule {
        id: number,
        name: volume.to_owned(),
        kind: kind.number(),
        mask: None,
        steps,
        unknown: None,
    }
}
