//! Checks the storage system, and whether it can serve the rest of the scenario.

use foretell_algorithms::placement::MAX_POWER;
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId};

use super::host_list::AllowedHosts;
use super::{Context, Hosts, section, volumes};
use crate::cpu_file::cost;
use crate::error::Problem;
use crate::model::{
    Ceph, Layout, OpScheduler, OpSchedulerKind, OsdStore, Share, Shares, Storage, Swift, System,
    Threads,
};
use crate::raw::{
    At, RawCeph, RawOpQueue, RawOpScheduler, RawProfile, RawStore, RawSwift, RawThreads,
};
use crate::tree::{Entry, Node, Table, Value};

/// Settings of volumes that only `ursa-minor` uses, with the value that has no effect.
const CLIENTS_OWN: [(&str, &str); 4] = [
    ("cipher", "none"),
    ("placement", "rotate"),
    ("write_quorum", "all"),
    ("read_from", "primary"),
];

impl Context<'_> {
    pub(super) fn system(&mut self, tree: &Table, hosts: &Hosts) -> Option<System> {
        let Some(node) = tree.get("cluster") else { return Some(System::UrsaMinor) };
        match node.table()?.get("system").and_then(Node::text)? {
            "ceph" => {
                self.read(node).and_then(|raw| self.ceph(&raw, tree, hosts)).map(System::Ceph)
            }
            "swift" => self.read(node).and_then(|raw| self.swift(&raw, hosts)).map(System::Swift),
            name => System::without_settings(name),
        }
    }

    /// Reports devices for databases and logs in a system whose stores have neither.
    fn refuse_log_devices(&mut self, tree: &Table, system: &System) {
        if system.traits().has_log_devices() {
            return;
        }
        let found = section(tree, "node").chain(section(tree, "host")).find_map(|entry| {
            let Value::List(disks) = &entry.node.table()?.get("disk")?.value else { return None };
            let of = |key| {
                disks.iter().find_map(|disk| Some((key, disk.table()?.entry(key)?.key_place)))
            };
            of("db").or_else(|| of("wal"))
        });
        if let Some((key, place)) = found {
            let whose = match system {
                System::Ceph(_) => "FileStore".to_owned(),
                other => format!("`{}`", other.name()),
            };
            let message = format!(
                "`{key}` has no effect with {whose}: only BlueStore has databases and logs of its own"
            );
            let help = "set `system = \"ceph\"` and `store = \"bluestore\"` in `[cluster]`, or leave it out";
            self.add(Problem::new(place, message).help(help));
        }
    }

    fn ceph(&mut self, raw: &RawCeph, tree: &Table, hosts: &Hosts) -> Option<Ceph> {
        let store = match raw.store.get() {
            RawStore::Bluestore => {
                let deferred_below = self.size(raw.deferred_below.as_ref()?);
                deferred_below.map(|deferred_below| OsdStore::BlueStore { deferred_below })
            }
            RawStore::Filestore => Some(OsdStore::FileStore),
        };
        let metadata = self.metadata(&raw.metadata);
        let [read, write, commit] = [&raw.read, &raw.write, &raw.commit].map(|raw| cost(raw, self));
        let monitors = match &raw.monitors {
            Some(names) => self.hosts_of(names, AllowedHosts::Clients, "`monitors`", hosts),
            None => Some(Vec::new()),
        };
        let own_monitors = self.own_monitors(tree, hosts);
        let gateway = match &raw.gateway {
            Some(gateway) => self.gateway(gateway, hosts).map(|found| Some(Box::new(found))),
            None => Some(None),
        };
        let threads = match &raw.threads {
            Some(threads) => self.threads(threads).map(Some),
            None => Some(None),
        };
        if let Some(onodes) = raw.onodes.as_ref().filter(|_| raw.threads.is_none()) {
            let message = "`onodes` has no effect without `threads`: an OSD then has the metadata of all objects";
            let help = "add `threads = {}` to `[cluster]`";
            self.add(Problem::new(onodes.place(), message).help(help));
        }
        if *raw.coalesce.get() && tree.get("event").is_some() {
            let message = "`coalesce` cannot be simulated with events: which of the joined writes an OSD that stops \
                           had carried out is not modelled";
            let help = "leave `coalesce` out of `[cluster]`, or all events";
            self.add(Problem::new(raw.coalesce.place(), message).help(help));
        }
        let locks = raw.threads.as_ref().map(|threads| &threads.locks);
        if let Some(locks) = locks.filter(|locks| *locks.get() && tree.get("event").is_some()) {
            let message = "`threads.locks` cannot be simulated with events: who has a lock when an OSD stops is not modelled";
            let help = "leave `locks` out of `threads`, or all events";
            self.add(Problem::new(locks.place(), message).help(help));
        }
        let scheduler = match &raw.scheduler {
            Some(scheduler) => {
                self.scheduler(scheduler, raw, tree).map(|found| Some(Box::new(found)))
            }
            None => Some(None),
        };
        Some(Ceph {
            store: store?,
            metadata: metadata?,
            placement_groups_per_osd: u32::try_from(*raw.placement_groups_per_osd.get()).ok()?,
            read: read?,
            write: write?,
            commit: commit?,
            threads: threads?,
            scheduler: scheduler?,
            onodes: raw.onodes.as_ref().and_then(|held| u64::try_from(*held.get()).ok()),
            coalesce: *raw.coalesce.get(),
            monitors: monitors?,
            own_monitors: own_monitors?,
            gateway: gateway?,
            places: None,
        })
    }

    fn scheduler(
        &mut self,
        raw: &RawOpScheduler,
        ceph: &RawCeph,
        tree: &Table,
    ) -> Option<OpScheduler> {
        let shards = u32::try_from(*raw.shards.get()).ok()?;
        let Some(threads) = &ceph.threads else {
            let cluster = tree.get("cluster").and_then(Node::table);
            let place = cluster.and_then(|table| table.entry("scheduler"))?.key_place;
            let message = "`scheduler` has no effect without `threads`: work of an OSD then runs on any \
                           core at once";
            self.add(Problem::new(place, message).help("add `threads = {}` to `[cluster]`"));
            return None;
        };
        if i64::from(shards) > *threads.op.get() {
            let message = format!(
                "{shards} shards cannot share {} op threads: each needs one",
                threads.op.get()
            );
            let place = threads.op.place();
            self.add(Problem::new(raw.shards.place(), message).also(place));
            return None;
        }
        let share = |reservation, weight, limit| Share { reservation, weight, limit };
        let kind = match raw.kind.get() {
            RawOpQueue::Wpq => OpSchedulerKind::Wpq,
            RawOpQueue::Mclock => OpSchedulerKind::Mclock {
                capacity: *raw.capacity.as_ref()?.get(),
                spins: *raw.spins.as_ref()?.get(),
                // Ceph's configuration reference for mClock, Pacific and Quincy; best effort from
                // `mClockScheduler.cc` of these
                shares: match raw.profile.as_ref()?.get() {
                    RawProfile::HighClientOps => Shares {
                        client: share(0.5, 2.0, None),
                        recovery: share(0.25, 1.0, Some(1.0)),
                        best_effort: share(0.25, 2.0, None),
                    },
                    RawProfile::Balanced => Shares {
                        client: share(0.4, 1.0, Some(1.0)),
                        recovery: share(0.4, 1.0, Some(1.5)),
                        best_effort: share(0.2, 2.0, None),
                    },
                    RawProfile::HighRecoveryOps => Shares {
                        client: share(0.3, 1.0, Some(0.8)),
                        recovery: share(0.6, 2.0, Some(2.0)),
                        // Ceph reserves one operation a second: nothing, at its cost of scrubbing
                        best_effort: share(0.0, 2.0, None),
                    },
                },
            },
        };
        let throttle = match &raw.throttle {
            Some(size) => Some(self.size_above_zero(size, "a throttle")?),
            None => None,
        };
        Some(OpScheduler { shards, kind, throttle })
    }

    fn threads(&mut self, raw: &RawThreads) -> Option<Threads> {
        let count = |raw: &At<i64>| u32::try_from(*raw.get()).ok();
        let message = cost(&raw.message, self);
        let [kv_round, kv_transaction, merge, flush] =
            [&raw.kv_round, &raw.kv_transaction, &raw.merge, &raw.flush].map(|raw| self.time(raw));
        Some(Threads {
            op: count(&raw.op)?,
            messenger: count(&raw.messenger)?,
            processors: match &raw.processors {
                Some(processors) => Some(count(processors)?),
                None => None,
            },
            message: message?,
            kv_round: kv_round?,
            kv_transaction: kv_transaction?,
            merge: merge?,
            flush: flush?,
            locks: *raw.locks.get(),
        })
    }

    /// Monitors of groups of nodes with their own monitors.
    fn own_monitors(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
    ) -> Option<SortedMap<String, Vec<HostId>>> {
        let mut own = SortedMap::new();
        for entry in section(tree, "node") {
            let Some(node) = entry.node.table().and_then(|table| table.get("monitors")) else {
                continue;
            };
            let names = self.read(node)?;
            let found = self.hosts_of(&names, AllowedHosts::Clients, "`monitors`", hosts)?;
            own.insert(entry.key.clone(), found);
        }
        Some(own)
    }

    /// Reports monitors in a system that has none.
    fn refuse_monitors(&mut self, name: &str, tree: &Table) {
        for entry in section(tree, "node") {
            let monitors = entry.node.table().and_then(|table| table.entry("monitors"));
            if let Some(monitors) = monitors {
                let message =
                    format!("`node.{}` has monitors; a cluster of `{name}` has none", entry.key);
                let help = "leave `monitors` out, or set `system = \"ceph\"` in `[cluster]`";
                self.add(Problem::new(monitors.key_place, message).help(help));
            }
        }
    }

    fn swift(&mut self, raw: &RawSwift, hosts: &Hosts) -> Option<Swift> {
        let proxies = self.hosts_of(&raw.proxies, AllowedHosts::Clients, "`proxies`", hosts);
        let metadata = self.metadata(&raw.metadata);
        let [proxy, relay, read, write] =
            [&raw.proxy, &raw.relay, &raw.read, &raw.write].map(|raw| cost(raw, self));
        let partition_power = u32::try_from(*raw.partition_power.get()).ok()?;
        assert!(partition_power <= MAX_POWER, "the schema has the same limit");
        Some(Swift {
            proxies: proxies?,
            partition_power,
            x_newest: *raw.x_newest.get(),
            metadata: metadata?,
            proxy: proxy?,
            relay: relay?,
            read: read?,
            write: write?,
        })
    }

    /// Reports settings that the storage system does not have.
    pub(super) fn fits_system(
        &mut self,
        system: &System,
        tree: &Table,
        hosts: &Hosts,
        volumes: &[volumes::CheckedVolume],
    ) {
        let name = system.name();
        if !system.traits().disks_are_servers() {
            self.refuse_monitors(name, tree);
        }
        self.refuse_log_devices(tree, system);
        let system = system.traits();
        if system.clients_encode() {
            return;
        }
        for (entry, found) in section(tree, "volume").zip(volumes) {
            let Some(table) = entry.node.table() else { continue };
            for (key, nothing) in CLIENTS_OWN {
                let Some(node) = table.get(key) else { continue };
                if node.text() != Some(nothing) {
                    let message = format!(
                        "volume `{}` sets `{key}`, which a cluster with `system = \"{name}\"` does \
                         not have",
                        entry.key
                    );
                    let help = format!("leave `{key}` out");
                    self.add(Problem::new(node.place, message).help(help));
                }
            }
            let Some(volume) = &found.model else { continue };
            let Some(refused) = system.refuses(volume) else { continue };
            let place = table.get("encoding").map_or(entry.key_place, |node| node.place);
            let message = format!("volume `{}` {}", entry.key, refused.0);
            self.add(Problem::new(place, message).help(refused.1));
        }
        let carries = system.carries_bytes(section(tree, "event").next().is_some());
        let payload = tree.get("payload").filter(|_| !carries);
        if let Some(node) = payload.filter(|node| node.text() == Some("real")) {
            let events = if system.carries_bytes(true) { " without events" } else { "" };
            let message =
                format!("with `system = \"{name}\"` requests carry no real bytes{events}");
            self.add(Problem::new(node.place, message).help("leave `payload` out"));
        }
        for entry in section(tree, "client") {
            let guest = entry.node.table().and_then(|table| table.entry("guest"));
            if let Some(guest) = guest {
                let message = format!(
                    "client `{}` has guests, whose block layers a cluster with `system = \"{name}\"` \
                     does not have",
                    entry.key
                );
                self.add(Problem::new(guest.key_place, message).help("leave `guest` out"));
            }
        }
        for nodes in hosts.storage_by_group(tree) {
            // only the first wrong node of a group is reported
            for (own, group, storage) in nodes {
                let Some(key) = not_of_servers(storage) else { continue };
                let sets = |entry: &&Entry| {
                    entry.node.table().is_some_and(|table| table.get(key).is_some())
                };
                let own = own.filter(sets);
                self.add(node_refused(key, own.unwrap_or(group), name));
                break;
            }
        }
    }
}

/// The setting of a node that servers of objects do not have, or require.
fn not_of_servers(storage: &Storage) -> Option<&'static str> {
    if storage.cache.size == Bytes::ZERO {
        Some("cache")
    } else if storage.nvram.is_some() {
        Some("nvram")
    } else if storage.layout != Layout::InPlace {
        Some("layout")
    } else {
        None
    }
}

/// Why `entry`, a group of nodes or one node, cannot have this value of `key` in a cluster of that system.
fn node_refused(key: &str, entry: &Entry, system: &str) -> Problem {
    if key == "cache" {
        let message = format!(
            "node `{}` has no cache, which a cluster with `system = \"{system}\"` cannot do without",
            entry.key
        );
        return Problem::new(entry.key_place, message).help("give `cache` a size");
    }
    let place = entry.node.table().and_then(|table| table.get(key));
    let place = place.map_or(entry.key_place, |node| node.place);
    let message = format!(
        "node `{}` sets `{key}`, which a cluster with `system = \"{system}\"` does not have",
        entry.key
    );
    Problem::new(place, message).help(format!("leave `{key}` out"))
}
