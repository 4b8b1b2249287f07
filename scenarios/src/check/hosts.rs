//! Hosts: groups expanded, single hosts laid over their groups.

use foretell_units::{Bytes, HostId};

use super::{Context, MOST_HOSTS, section};
use crate::cpu_file;
use crate::device_file;
use crate::error::Problem;
use crate::host_pattern::{self, Group};
use crate::model::{
    Cache, CpuProfile, Disk, Host, Layout, Nic, Role, Scheduler, Storage, WritePolicy,
};
use crate::names::nearest;
use crate::overlay::overlay;
use crate::profiles::ProfileKind;
use crate::raw::{
    At, HostPatterns, RawCache, RawClient, RawLayout, RawNic, RawNode, RawNodeDisk, RawScheduler,
    RawWrite, Size,
};
use crate::shape::{self, Shape};
use crate::source::Place;
use crate::structure::complete_node;
use crate::tree::{Entry, Node, Table, Value};

/// Most disks of a node.
const MOST_DISKS: usize = 1024;

/// The hosts of a scenario, as far as they are all right.
pub(crate) struct Hosts {
    pub(crate) groups: Vec<Group>,
    /// By number; `None` where something is wrong.
    hosts: Vec<Option<Host>>,
    /// Where each host's size of cache is written.
    caches: Vec<Place>,
    /// Whether hosts may be missing because something is wrong.
    incomplete: bool,
}

/// The groups of a tree whose structure was checked, with or without defaults; nodes first.
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
            // more are refused, and not expanded for it
            let count = count.min(MOST_HOSTS + 1);
            groups.push((Group { name: entry.key.clone(), count, first, is_node }, entry));
            first += count;
        }
    }
    groups
}

impl Hosts {
    /// `tree` has defaults, `bare` is the same without them.
    pub(crate) fn new(tree: &Table, bare: &Table, context: &mut Context<'_>) -> Self {
        let with_entries = groups_of(tree);
        let groups: Vec<Group> = with_entries.iter().map(|(group, _)| group.clone()).collect();
        let broken = context.broken;
        let mut hosts = Self {
            hosts: Vec::new(),
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
        for (group, entry) in &with_entries {
            let section = if group.is_node { "node" } else { "client" };
            let wrong = context.broken.entry(section, &group.name);
            let model = if wrong { None } else { host(group, &entry.node, context) };
            let bare_group =
                section_entry(bare, section, &group.name).map_or(&entry.node, |entry| &entry.node);
            for index in 0..group.count {
                let name = format!("{}{index}", group.name);
                let own = overrides.iter().find(|(number, _)| *number == group.first + index);
                let (mut model, place) = match own {
                    Some((_, entry)) => {
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
                hosts.hosts.push(model);
                hosts.caches.push(place);
            }
        }
        hosts
    }

    fn count_is_right(&self, entries: &[(Group, &Entry)], context: &mut Context<'_>) -> bool {
        let total: usize = self.groups.iter().map(|group| group.count).sum();
        if total > MOST_HOSTS {
            let largest = entries.iter().max_by_key(|(group, _)| group.count);
            let place = largest.map_or(Place::default(), |(_, entry)| {
                let count = entry.node.table().and_then(|table| table.get("count"));
                count.map_or(entry.key_place, |node| node.place)
            });
            let message = format!("the scenario has more than {MOST_HOSTS} hosts");
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

    /// The entries of `[host.NAME]` with the numbers of their hosts.
    fn overrides<'t>(&self, bare: &'t Table, context: &mut Context<'_>) -> Vec<(usize, &'t Entry)> {
        let mut found = Vec::new();
        for entry in section(bare, "host") {
            let Some(number) = host_pattern::host(&entry.key, &self.groups) else {
                if !self.incomplete {
                    let (message, help) = self.no_host(&entry.key);
                    context.add(Problem::new(entry.key_place, message).maybe_help(help));
                }
                continue;
            };
            let group = self.groups.iter().rfind(|group| group.first <= number);
            if group.is_some_and(|group| !group.is_node) {
                self.refuse_storage_of_client(entry, context);
            }
            found.push((number, entry));
        }
        found
    }

    fn refuse_storage_of_client(&self, entry: &Entry, context: &mut Context<'_>) {
        let Shape::Table(client) = shape::section("client") else { return };
        for inner in entry.node.table().into_iter().flat_map(|table| &table.entries) {
            if client.key(&inner.key).is_none() {
                let message =
                    format!("`host.{}` has no `{}`: it is a client", entry.key, inner.key);
                context.add(Problem::new(inner.key_place, message));
            }
        }
    }

    fn no_host(&self, name: &str) -> (String, Option<String>) {
        match host_pattern::hosts(name, &self.groups) {
            Err(error) => (error.message, error.help),
            Ok(_) => {
                let help = nearest(name, self.groups.iter().map(|group| group.name.as_str()))
                    .and_then(|near| self.groups.iter().find(|group| group.name == near))
                    .map(|group| format!("its hosts are {}", group.shown()));
                (format!("`{name}` is not one host"), help)
            }
        }
    }

    /// The number of the first storage node.
    pub(crate) fn first_node(&self) -> Option<HostId> {
        self.groups.iter().any(|group| group.is_node).then_some(HostId(0))
    }

    pub(crate) fn get(&self, id: HostId) -> Option<&Host> {
        self.hosts.get(id.index())?.as_ref()
    }

    pub(crate) fn name(&self, id: HostId) -> String {
        let group = self.groups.iter().rfind(|group| group.first <= id.index());
        group.map_or(String::new(), |group| format!("{}{}", group.name, id.index() - group.first))
    }

    pub(crate) fn into_model(self) -> Option<Vec<Host>> {
        if self.hosts.is_empty() { None } else { self.hosts.into_iter().collect() }
    }

    /// Checks that each node's cache has a page left beside the buffer of tracking.
    pub(crate) fn hold_buffer(&self, buffer: Bytes, raw: &Size, context: &mut Context<'_>) {
        let small = self.hosts.iter().zip(&self.caches).find_map(|(host, cache)| {
            let host = host.as_ref()?;
            let storage = host.role.storage()?;
            let left = storage.cache.size.saturating_sub(buffer);
            (left < storage.cache.page).then_some((host, storage, cache))
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

/// Whether a host of one group has the name of the other, or of one of its hosts.
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

/// A host's table laid over its group's, complete.
fn merged(group: &Node, own: &Node, section: &str, place: Place) -> Node {
    let shape = shape::section(section);
    let mut node = group.clone();
    overlay(&mut node, own, shape);
    complete_node(&mut node, shape, place);
    node
}

fn host(group: &Group, node: &Node, context: &mut Context<'_>) -> Option<Host> {
    let cpu = node.table().and_then(|table| table.get("cpu")).cloned();
    let (cpu, nic, role) = if group.is_node {
        let raw: RawNode = context.read(node)?;
        let cpu = cpu.and_then(|cpu| context.cpu(&cpu));
        let nic = context.nic(&raw.nic);
        (cpu, nic, context.storage(&raw).map(Role::Node))
    } else {
        let raw: RawClient = context.read(node)?;
        let cpu = cpu.and_then(|cpu| context.cpu(&cpu));
        (cpu, context.nic(&raw.nic), Some(Role::Client))
    };
    Some(Host { name: String::new(), group: group.name.clone(), role: role?, cpu: cpu?, nic: nic? })
}

impl Context<'_> {
    /// The processor: the profile with what differs from it.
    fn cpu(&mut self, own: &Node) -> Option<CpuProfile> {
        let profile = own.table()?.get("profile")?;
        let name = profile.text()?;
        let mut node = self.profile(ProfileKind::Cpu, name, profile.place)?;
        let mut own = own.clone();
        own.table_mut()?.remove("profile");
        overlay(&mut node, &own, shape::section("cpu"));
        let raw = self.read(&node)?;
        cpu_file::cpu(name, &raw, self)
    }

    fn nic(&mut self, raw: &RawNic) -> Option<Nic> {
        let (rate, latency) = (self.rate(&raw.rate), self.time(&raw.latency));
        Some(Nic { rate: rate?, latency: latency? })
    }

    fn storage(&mut self, raw: &RawNode) -> Option<Storage> {
        let nvram = self.nvram(raw);
        let cache = self.cache(&raw.cache, nvram.flatten());
        let page = cache.as_ref().map(|cache| cache.page);
        let stripe = self.whole_pages(&raw.stripe, page, "a stripe");
        let layout = match raw.layout.get() {
            RawLayout::InPlace => Some(Layout::InPlace),
            RawLayout::LogStructured => raw
                .segment
                .as_ref()
                .and_then(|segment| self.whole_pages(segment, page, "a segment"))
                .map(|segment| Layout::LogStructured { segment }),
        };
        let disks = self.disks(&raw.disk);
        Some(Storage {
            cache: cache?,
            nvram: nvram?,
            layout: layout?,
            disks: disks?,
            stripe: stripe?,
        })
    }

    fn nvram(&mut self, raw: &RawNode) -> Option<Option<Bytes>> {
        let text = raw.nvram.get().as_str();
        if text == "none" {
            return Some(None);
        }
        let size = self.size_of(text, raw.nvram.place())?;
        if size == Bytes::ZERO {
            let message = "NVRAM of no size is written as `nvram = \"none\"`";
            self.add(Problem::new(raw.nvram.place(), message));
            return None;
        }
        if *raw.cache.get().write.get() == RawWrite::Through {
            let message = "NVRAM would have no effect: `cache.write` is `through`, so that a write \
                           is acknowledged when it is on disk";
            self.add(
                Problem::new(raw.nvram.place(), message)
                    .help("leave `nvram` out, or set `cache.write = \"back\"`"),
            );
            return None;
        }
        Some(Some(size))
    }

    fn cache(&mut self, raw: &At<RawCache>, nvram: Option<Bytes>) -> Option<Cache> {
        let raw = raw.get();
        let page = self.page(raw);
        let size = self.size(&raw.size);
        let read_ahead = self.size(&raw.read_ahead);
        let (page, size) = (page?, size?);
        if size < page {
            let message = format!("a cache of {size} does not hold one page of {page}");
            self.add(Problem::new(raw.size.place(), message));
            return None;
        }
        if size.get() / page.get() > MOST_PAGES {
            let message = format!("a cache of {size} has more than 2^29 pages of {page}");
            self.add(Problem::new(raw.size.place(), message).help("take larger pages"));
            return None;
        }
        let read_ahead = read_ahead?;
        if read_ahead > size {
            let message = format!("{read_ahead} cannot be read ahead into a cache of {size}");
            self.add(Problem::new(raw.read_ahead.place(), message));
        }
        let write = match raw.write.get() {
            RawWrite::Back => WritePolicy::Back,
            RawWrite::Through => WritePolicy::Through,
        };
        let (dirty_background, dirty_limit) = self.dirty(raw, size, page, nvram)?;
        // what a cache that is written through does not need is as it would be by default
        let time = |context: &mut Self, raw: &Option<_>, what, default| match raw {
            Some(raw) => context.time_above_zero(raw, what),
            None => Some(foretell_units::SimSpan::from_secs(default)),
        };
        let dirty_expire = time(self, &raw.dirty_expire, "the age of a written page", 30);
        let flush_interval = time(self, &raw.flush_interval, "the flusher's interval", 5);
        Some(Cache {
            policy: raw.policy.get().clone(),
            size,
            page,
            write,
            dirty_background,
            dirty_limit,
            dirty_expire: dirty_expire?,
            flush_interval: flush_interval?,
            read_ahead,
        })
    }

    fn page(&mut self, raw: &RawCache) -> Option<Bytes> {
        let page = self.size(&raw.page)?;
        if page.get().is_power_of_two() && (512..=1 << 24).contains(&page.get()) {
            return Some(page);
        }
        let message = format!("a page cannot be {page}");
        let help = "a page is a power of two from 512 B to 16 MiB, such as \"4 KiB\"";
        self.add(Problem::new(raw.page.place(), message).help(help));
        None
    }

    /// The limits of written data that is not yet on disk: background and hard.
    fn dirty(
        &mut self,
        raw: &RawCache,
        size: Bytes,
        page: Bytes,
        nvram: Option<Bytes>,
    ) -> Option<(Bytes, Bytes)> {
        let room = nvram.map_or(size, |nvram| nvram.min(size));
        let (auto_background, auto_limit) = match nvram {
            // Linux 2.4 to 2.6: `dirty_background_ratio` 10, `dirty_ratio` 40
            None => (Part::Share(0.1), Part::Share(0.4)),
            Some(_) => (Part::Size(room / 2), Part::Size(room)),
        };
        let whole_pages = |part: Part| {
            let bytes = part.of(size, size).get();
            Bytes(bytes / page.get() * page.get()).max(page)
        };
        let mut limit_of = |raw: &Option<At<_>>, auto: Part| {
            let Some(raw) = raw else { return Some((whole_pages(auto), Place::default())) };
            let part = self.part_size(raw)?;
            let bytes = match part {
                Part::Size(bytes) => bytes,
                Part::Auto => whole_pages(auto),
                share @ Part::Share(_) => whole_pages(share),
            };
            Some((bytes, raw.place()))
        };
        let background = limit_of(&raw.dirty_background, auto_background);
        let limit = limit_of(&raw.dirty_limit, auto_limit);
        let ((background, background_place), (limit, limit_place)) = (background?, limit?);
        if limit < page {
            let message = format!("{limit} of written data is less than one page of {page}");
            self.add(Problem::new(limit_place, message));
        } else if limit > room.max(page) {
            let whose =
                if nvram.is_some() { "the NVRAM and the cache hold" } else { "the cache holds" };
            let message = format!("{limit} of written data is more than {whose}, {room}");
            self.add(Problem::new(limit_place, message));
        } else if background > limit {
            let message = format!(
                "the flusher would start at {background} of written data, but writers wait from \
                 {limit} on"
            );
            self.add(
                Problem::new(background_place, message)
                    .help("make `dirty_background` at most `dirty_limit`"),
            );
        }
        Some((background, limit))
    }

    /// A size that is a multiple of the page, where that is known.
    fn whole_pages(
        &mut self,
        raw: &crate::raw::Size,
        page: Option<Bytes>,
        what: &str,
    ) -> Option<Bytes> {
        let size = self.size_above_zero(raw, what)?;
        let page = page?;
        if !size.get().is_multiple_of(page.get()) {
            let message = format!("{what} of {size} is not a whole number of pages of {page}");
            let near = Bytes(size.get().div_ceil(page.get()) * page.get());
            self.add(Problem::new(raw.place(), message).help(format!("the next is \"{near}\"")));
        }
        Some(size)
    }

    fn disks(&mut self, raw: &[RawNodeDisk]) -> Option<Vec<Disk>> {
        let mut disks = Vec::new();
        let mut good = true;
        for raw in raw {
            let count = usize::try_from(*raw.count.get()).unwrap_or(1);
            if disks.len() + count > MOST_DISKS {
                let message = format!("a node has at most {MOST_DISKS} disks");
                self.add(Problem::new(raw.count.place(), message));
                return None;
            }
            let name = raw.device.get();
            let node = self.profile(ProfileKind::Device, name, raw.device.place());
            let Some(device) = node.and_then(|node| device_file::device(&node, self)) else {
                good = false;
                continue;
            };
            let scheduler = match raw.scheduler.get() {
                RawScheduler::Elevator => Scheduler::Elevator,
                RawScheduler::Fcfs => Scheduler::Fcfs,
                RawScheduler::Sstf => Scheduler::Sstf,
            };
            let disk = Disk { device_name: name.clone(), device, scheduler };
            disks.extend(std::iter::repeat_n(disk, count));
        }
        good.then_some(disks)
    }

    /// The hosts that patterns name: storage nodes or clients, none twice.
    pub(crate) fn hosts_of(
        &mut self,
        patterns: &At<HostPatterns>,
        nodes: bool,
        whose: &str,
        hosts: &Hosts,
    ) -> Option<Vec<HostId>> {
        match patterns.get() {
            HostPatterns::One(text) => {
                self.host_list([(text.as_str(), patterns.place())], nodes, whose, hosts)
            }
            HostPatterns::Many(list) => {
                let list = list.iter().map(|at| (at.get().as_str(), at.place()));
                self.host_list(list, nodes, whose, hosts)
            }
        }
    }

    pub(crate) fn host_list<'p>(
        &mut self,
        patterns: impl IntoIterator<Item = (&'p str, Place)>,
        nodes: bool,
        whose: &str,
        hosts: &Hosts,
    ) -> Option<Vec<HostId>> {
        let mut list = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut good = true;
        for (text, place) in patterns {
            let found = match host_pattern::hosts(text, &hosts.groups) {
                Ok(found) => found,
                Err(error) => {
                    if !hosts.incomplete {
                        let place = self.sources.part(place, text, error.part);
                        self.add(Problem::new(place, error.message).maybe_help(error.help));
                    }
                    good = false;
                    continue;
                }
            };
            for (number, part) in found {
                let id = HostId::from(number);
                let group = hosts.groups.iter().rfind(|group| group.first <= number);
                let is_node = group.is_some_and(|group| group.is_node);
                let message = if is_node != nodes {
                    let (is, wants) = if nodes {
                        ("a client", "a storage node")
                    } else {
                        ("a storage node", "a client")
                    };
                    format!("`{}` is {is}, and {whose} wants {wants}", hosts.name(id))
                } else if !seen.insert(number) {
                    format!("`{}` is named twice for {whose}", hosts.name(id))
                } else {
                    list.push(id);
                    continue;
                };
                let place = self.sources.part(place, text, part);
                self.add(Problem::new(place, message));
                good = false;
                break;
            }
        }
        good.then_some(list)
    }
}

use super::quantities::Part;

/// Most pages of a cache, as in `algorithms`.
const MOST_PAGES: u64 = 1 << 29;
