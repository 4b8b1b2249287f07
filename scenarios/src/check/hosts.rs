//! Hosts: groups are expanded, and single hosts overlaid on their groups.

use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId};

use super::memory::gib;
use super::{BYTES_BY_HOST, Context, MAX_HOSTS, machines, section};
use crate::error::Problem;
use crate::host_pattern::{self, Group};
use crate::model::{Host, Role, Storage};
use crate::names::nearest;
use crate::overlay::overlay;
use crate::raw::{RawClient, RawNode, Size};
use crate::shape::{self, Shape};
use crate::source::Place;
use crate::structure::complete_node;
use crate::tree::{Entry, Node, Table, Value};

/// Maximum number of disks in a cluster.
const MAX_DISKS_TOTAL: usize = 1 << 18;

/// The valid hosts of a scenario.
pub(crate) struct Hosts {
    pub(crate) groups: Vec<Group>,
    /// By number; `None` if the host is wrong.
    list: Vec<Option<Host>>,
    /// The place of each host's cache size.
    caches: Vec<Place>,
    /// Whether hosts may be missing because of errors.
    pub(crate) incomplete: bool,
}

/// The groups of a checked tree, with or without defaults; nodes first.
pub(crate) fn groups_of(tree: &Table) -> Vec<(Group, &Entry)> {
    let mut first = 0;
    let mut groups = Vec::new();
    for (name, is_node) in [("node", true), ("client", false)] {
        for entry in section(tree, name) {
            let count = entry.node.table().and_then(|table| table.get("count"));
            let count = match count.map(|node| &node.value) {
                Some(Value::Whole(count)) => usize::try_from(*count).unwrap_or(0),
                _ => 1,
            };
            // larger counts are refused without being expanded
            let count = count.min(MAX_HOSTS + 1);
            groups.push((Group { name: entry.key.clone(), count, first, is_node }, entry));
            first += count;
        }
    }
    groups
}

impl Hosts {
    /// `tree` has defaults; `bare` is the same without them.
    pub(crate) fn new(tree: &Table, bare: &Table, context: &mut Context<'_>) -> Self {
        let with_entries = groups_of(tree);
        let groups: Vec<Group> = with_entries.iter().map(|(group, _)| group.clone()).collect();
        let broken = context.broken;
        let mut hosts = Self {
            list: Vec::new(),
            caches: Vec::new(),
            incomplete: ["node", "client", "host"].iter().any(|name| broken.section(name)),
            groups,
        };
        if !hosts.count_is_right(&with_entries, context) {
            hosts.incomplete = true;
            hosts.groups.clear();
            return hosts;
        }
        let overrides = hosts.overrides(bare, context);
        let mut disks_in_all = 0;
        for (group, entry) in &with_entries {
            let section = if group.is_node { "node" } else { "client" };
            let wrong = context.broken.entry(section, &group.name);
            let model = if wrong { None } else { host(group, &entry.node, context) };
            let disks = model.as_ref().and_then(|model: &Host| model.role.storage());
            disks_in_all += disks.map_or(0, Storage::device_count) * group.count;
            if disks_in_all > MAX_DISKS_TOTAL {
                let message = format!(
                    "with the group `{}` there are {disks_in_all} disks; a cluster has at most \
                     {MAX_DISKS_TOTAL}",
                    group.name
                );
                context.add(Problem::new(entry.key_place, message));
                hosts.incomplete = true;
                hosts.groups.clear();
                return hosts;
            }
            let bare_group =
                section_entry(bare, section, &group.name).map_or(&entry.node, |entry| &entry.node);
            for index in 0..group.count {
                let name = format!("{}{index}", group.name);
                let number = group.first + index;
                let (mut model, place) = match overrides.get(&number) {
                    Some(entry) => {
                        let merged = merged(bare_group, &entry.node, section, entry.key_place);
                        let wrong = wrong || context.broken.entry("host", &name);
                        let model = if wrong { None } else { host(group, &merged, context) };
                        (model, cache_place(&merged))
                    }
                    None => (model.clone(), cache_place(&entry.node)),
                };
                if let Some(model) = &mut model {
                    model.name = name;
                }
                hosts.list.push(model);
                hosts.caches.push(place);
            }
            hosts.share_machine(group, &overrides, context);
        }
        machines::place(tree, &hosts.groups, &mut hosts.list, context);
        hosts
    }

    /// Checks that all guests of a group have the processor and the adapter of its first host,
    /// because they share a machine.
    fn share_machine(
        &self,
        group: &Group,
        overrides: &SortedMap<usize, &Entry>,
        context: &mut Context<'_>,
    ) {
        let Some(first) = self.get(HostId::from(group.first)) else { return };
        let unlike = (group.first + 1..group.first + group.count).find_map(|number| {
            let guest = self.get(HostId::from(number))?;
            let own = overrides.get(&number).or_else(|| overrides.get(&group.first))?;
            let shared = guest.cpu == first.cpu && guest.nic == first.nic;
            let guests = first.guest.is_some() || guest.guest.is_some();
            (guests && !shared).then_some((guest, own))
        });
        if let Some((guest, own)) = unlike {
            let message = format!(
                "`{}` and `{}` are guests of one machine and cannot have different processors or \
                 adapters",
                guest.name, first.name
            );
            context.add(
                Problem::new(own.key_place, message)
                    .help("change the group's, or put the guest into a group of its own"),
            );
        }
    }

    fn count_is_right(&self, entries: &[(Group, &Entry)], context: &mut Context<'_>) -> bool {
        let total: usize = self.groups.iter().map(|group| group.count).sum();
        let needed = Bytes(total as u64 * BYTES_BY_HOST);
        let available = foretell_input::available_memory().map(Bytes);
        if total > MAX_HOSTS || available.is_some_and(|available| needed > available) {
            let largest = entries.iter().max_by_key(|(group, _)| group.count);
            let place = largest.map_or(Place::default(), |(_, entry)| {
                let count = entry.node.table().and_then(|table| table.get("count"));
                count.map_or(entry.key_place, |node| node.place)
            });
            let message = match available {
                Some(available) if total <= MAX_HOSTS => format!(
                    "{total} hosts take {:.1} GiB of memory, and {:.1} GiB are free",
                    gib(needed),
                    gib(available)
                ),
                _ => format!("the scenario has more than {MAX_HOSTS} hosts"),
            };
            context.add(Problem::new(place, message));
            return false;
        }
        let mut good = true;
        for (index, (group, entry)) in entries.iter().enumerate() {
            for (other, _) in &entries[..index] {
                let clash = if other.name == group.name {
                    Some(format!(
                        "there is a group of nodes and one of clients called `{}`",
                        group.name
                    ))
                } else {
                    clash(group, other)
                };
                if let Some(message) = clash {
                    context.add(
                        Problem::new(entry.key_place, message)
                            .help("give one of the groups another name"),
                    );
                    good = false;
                }
            }
        }
        if self.groups.iter().all(|group| !group.is_node) && !self.incomplete {
            context.add(Problem::new(Place::default(), "the scenario has no storage nodes").help(
                "add a group of them, `[node.brick]` with `count`, `cpu`, `cache` and `disk`",
            ));
            good = false;
        }
        good
    }

    /// The entries of `[host.NAME]` by the numbers of their hosts.
    fn overrides<'t>(
        &self,
        bare: &'t Table,
        context: &mut Context<'_>,
    ) -> SortedMap<usize, &'t Entry> {
        let mut found = SortedMap::new();
        for entry in section(bare, "host") {
            let Some(number) = host_pattern::host(&entry.key, &self.groups) else {
                if !self.incomplete {
                    let (message, help) = self.no_host(&entry.key);
                    context.add(Problem::new(entry.key_place, message).maybe_help(help));
                }
                continue;
            };
            let group = self.groups.iter().rfind(|group| group.first <= number);
            if let Some(group) = group {
                if !group.is_node {
                    refuse_storage_of_client(entry, context);
                }
                refuse_guest_alone(entry, group, bare, context);
            }
            found.insert(number, entry);
        }
        found
    }

    fn no_host(&self, name: &str) -> (String, Option<String>) {
        if let Err(error) = host_pattern::hosts(name, &self.groups) {
            (error.message, error.help)
        } else {
            let help = nearest(name, self.groups.iter().map(|group| group.name.as_str()))
                .and_then(|near| self.groups.iter().find(|group| group.name == near))
                .map(|group| format!("its hosts are {}", group.shown()));
            (format!("`{name}` is not one host"), help)
        }
    }

    /// The number of the first storage node.
    pub(crate) fn first_node(&self) -> Option<HostId> {
        self.groups.iter().any(|group| group.is_node).then_some(HostId(0))
    }

    /// Number of hosts.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// The first host on the machine of a host; the host itself if it has a machine of its own.
    pub(crate) fn first_on_machine(&self, id: HostId) -> HostId {
        let Some(host) = self.get(id) else { return id };
        if let Some(machine) = host.machine {
            return machine.host;
        }
        let group = self.groups.iter().find(|group| group.name == host.group);
        group.filter(|_| host.guest.is_some()).map_or(id, |group| HostId::from(group.first))
    }

    pub(crate) fn get(&self, id: HostId) -> Option<&Host> {
        self.list.get(id.index())?.as_ref()
    }

    pub(crate) fn name(&self, id: HostId) -> String {
        let group = self.groups.iter().rfind(|group| group.first <= id.index());
        group.map_or(String::new(), |group| format!("{}{}", group.name, id.index() - group.first))
    }

    /// The storage nodes of each group that has any: for each node, its `[host.NAME]` if present,
    /// the group's entry, and the node's storage.
    pub(crate) fn storage_by_group<'t>(
        &self,
        tree: &'t Table,
    ) -> impl Iterator<Item = impl Iterator<Item = (Option<&'t Entry>, &'t Entry, &Storage)>> {
        let groups = self.groups.iter().filter(|group| group.is_node);
        groups.filter_map(move |group| {
            let entry = section_entry(tree, "node", &group.name)?;
            let numbers = group.first..group.first + group.count;
            Some(numbers.filter_map(move |number| {
                let host = self.get(HostId::from(number))?;
                let own = section_entry(tree, "host", &host.name);
                Some((own, entry, host.role.storage()?))
            }))
        })
    }

    pub(crate) fn into_model(self) -> Option<Vec<Host>> {
        if self.list.is_empty() { None } else { self.list.into_iter().collect() }
    }

    /// Checks that the buffer of tracking leaves at least a page of each node's cache.
    pub(crate) fn hold_buffer(&self, buffer: Bytes, raw: &Size, context: &mut Context<'_>) {
        let small = self.list.iter().zip(&self.caches).find_map(|(host, cache)| {
            let host = host.as_ref()?;
            let storage = host.role.storage()?;
            let left = storage.cache.size.saturating_sub(buffer);
            (storage.cache.size > Bytes::ZERO && left < storage.cache.page)
                .then_some((host, storage, cache))
        });
        if let Some((host, storage, cache)) = small {
            let message = format!(
                "the cache of `{}`, {}, has no room for the buffer of tracking, {}",
                host.name,
                storage.cache.size,
                raw.get().text
            );
            context.add(Problem::new(*cache, message).also(raw.place()).help(
                "make the cache larger or `tracking.buffer` smaller, or set \
                 `tracking.overhead = false`",
            ));
        }
    }
}

fn refuse_storage_of_client(entry: &Entry, context: &mut Context<'_>) {
    let Shape::Table(client) = shape::section("client") else { return };
    for inner in entry.node.table().into_iter().flat_map(|table| &table.entries) {
        if client.key(&inner.key).is_none() {
            let message = format!("`host.{}` has no `{}`: it is a client", entry.key, inner.key);
            context.add(Problem::new(inner.key_place, message));
        }
    }
}

/// Reports `guest` of a host whose group has none: the guests of a group are all on one machine.
fn refuse_guest_alone(entry: &Entry, group: &Group, bare: &Table, context: &mut Context<'_>) {
    let guest =
        |entry: &Entry| entry.node.table().is_some_and(|table| table.get("guest").is_some());
    let Some(own) = entry.node.table().and_then(|table| table.entry("guest")) else { return };
    if group.is_node {
        let message = format!("`host.{}` has no `guest`: it is a storage node", entry.key);
        context.add(Problem::new(own.key_place, message));
    } else if !section_entry(bare, "client", &group.name).is_some_and(guest) {
        let message = format!("`host.{}` has a `guest`, but its group has none", entry.key);
        let help = format!("give the group one, `[client.{}]`, or leave it out", group.name);
        context.add(Problem::new(own.key_place, message).help(help));
    }
}

/// Whether a host of one group has the name of the other group or of one of its hosts.
fn clash(a: &Group, b: &Group) -> Option<String> {
    let (short, long) = if a.name.len() < b.name.len() { (a, b) } else { (b, a) };
    let rest = long.name.strip_prefix(short.name.as_str())?;
    if rest.is_empty() || !rest.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hosts = std::slice::from_ref(short);
    if host_pattern::host(&long.name, hosts).is_some() {
        return Some(format!(
            "`{}` is a group, and a host of the group `{}`",
            long.name, short.name
        ));
    }
    // long = "brick1": its hosts brick10, brick11 ... may be those of "brick"
    let first = format!("{}0", long.name);
    host_pattern::host(&first, hosts)
        .map(|_| format!("`{first}` would be a host of `{}` and of `{}`", short.name, long.name))
}

fn section_entry<'a>(tree: &'a Table, name: &str, key: &str) -> Option<&'a Entry> {
    tree.get(name)?.table()?.entry(key)
}

fn cache_place(node: &Node) -> Place {
    let cache = node.table().and_then(|table| table.get("cache")).and_then(Node::table);
    cache.and_then(|cache| cache.get("size")).map_or(Place::default(), |node| node.place)
}

/// A host's complete table, overlaid on its group's.
fn merged(group: &Node, own: &Node, section: &str, place: Place) -> Node {
    let shape = shape::section(section);
    let mut node = group.clone();
    overlay(&mut node, own, shape);
    complete_node(&mut node, shape, place);
    node
}

fn host(group: &Group, node: &Node, context: &mut Context<'_>) -> Option<Host> {
    let cpu = node.table().and_then(|table| table.get("cpu")).cloned();
    let (cpu, nic, role, guest) = if group.is_node {
        let raw: RawNode = context.read(node)?;
        let cpu = cpu.and_then(|cpu| context.cpu(&cpu));
        let nic = context.nic(&raw.nic).zip(match &raw.cluster_nic {
            Some(nic) => context.nic(nic).map(Some),
            None => Some(None),
        });
        (cpu, nic, context.storage(&raw).map(Role::Node), Some(None))
    } else {
        let raw: RawClient = context.read(node)?;
        let cpu = cpu.and_then(|cpu| context.cpu(&cpu));
        let guest = match &raw.guest {
            Some(guest) => context.guest(guest).map(Some),
            None => Some(None),
        };
        let nic = context.nic(&raw.nic).map(|nic| (nic, None));
        (cpu, nic, Some(Role::Client), guest)
    };
    let (name, group) = (String::new(), group.name.clone());
    let ((nic, cluster_nic), machine) = (nic?, None);
    Some(Host { name, group, role: role?, cpu: cpu?, nic, cluster_nic, guest: guest?, machine })
}
