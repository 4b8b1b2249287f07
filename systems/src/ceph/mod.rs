//! A simplified model of Ceph.
//!
//! A client asks the *primary*, the first OSD of the placement group of an object. A write is done when all
//! OSDs of the group have it; only the primary serves reads. In an erasure-coded pool, the primary of a write
//! reads the blocks that the write covers in part, encodes them, and has each OSD write a shard. The primary
//! of a read asks for the data shards. Groups are placed by the scenario's CRUSH map, or, without a map, by
//! straw2 over hosts. Source: Weil et al., *Ceph*, OSDI 2006, and Ceph's documentation of its architecture.
//! Writes to an erasure-coded group are in order (`objects/pipeline`). Writes of librbd may be joined
//! (`objects/coalesce`). `objects/outages` handles OSDs that fail.

use foretell_algorithms::node::NO_CLIENT;
use foretell_algorithms::placement::{Crush, CrushHost, PlacementError};
use foretell_scenarios::model::{
    self, CpuProfile, OpScheduler, OsdStore, Scenario, SystemTraits as _, Threads,
};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, VolumeId};

use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::{Hosts, Timer};
use crate::objects::{
    Finding, Groups, Later, Mapper, Objects, Pool, Rules, StoreSettings, Target, Task, What,
    capacities,
};
use crate::protocol::{Clocks, Core};
use crate::system::{FromScenario, SystemError};
use crate::volume::Volume;

/// Interval at which a node reports to a monitor, as Ceph's `mgr_stats_period`.
const REPORT_PERIOD: SimSpan = SimSpan::from_secs(5);
/// Size of a report. Assumed: some hundred counters for each OSD.
const REPORT: Bytes = Bytes::kib(4);

/// `bluestore_deferred_batch_ops` (16 on flash), with `bluestore_throttle_deferred_bytes` as the limit. The bytes
/// that trigger the writing, and the period, are assumed.
pub(crate) const BLUESTORE: Later =
    Later { writes: 16, bytes: 1 << 20, limit: 128 << 20, period: SimSpan::from_secs(1) };
/// `filestore_wbthrottle_xfs_*_start_flusher`, `..._hard_limit`, `filestore_max_sync_interval`.
const FILESTORE: Later =
    Later { writes: 500, bytes: 41_943_040, limit: 419_430_400, period: SimSpan::from_secs(5) };

/// A volume's nodes and their devices.
fn crush(scenario: &Scenario, id: VolumeId) -> Result<Crush, PlacementError> {
    let host = |&node: &HostId| {
        let devices = capacities(scenario, node).collect();
        CrushHost { id: node.0, devices }
    };
    let hosts: Vec<CrushHost> = scenario.volume(id).nodes.iter().map(host).collect();
    Crush::new(id, &hosts)
}

/// Ceph's rules and parameters.
pub(crate) struct Ceph {
    settings: model::Ceph,
    /// Nodes that report, each with its monitor and the time of its first report.
    reports: Vec<(HostId, HostId, SimSpan)>,
}

impl Ceph {
    fn new(scenario: &Scenario, settings: &model::Ceph, clocks: &Clocks) -> Self {
        let report = |(index, host): (usize, &model::Host)| {
            let monitors = settings.monitors_of(&host.group);
            let reports = host.role.storage().is_some() && !monitors.is_empty();
            let phase = || clocks(HostId::from(index)).stream("reports").part_of(REPORT_PERIOD);
            reports.then(|| (HostId::from(index), monitors[index % monitors.len()], phase()))
        };
        let reports = scenario.hosts.iter().enumerate().filter_map(report).collect();
        Self { settings: settings.clone(), reports }
    }

    /// Rules that only place objects.
    fn placing(settings: &model::Ceph) -> Self {
        Self { settings: settings.clone(), reports: Vec::new() }
    }

    /// Settings for how its stores write.
    fn store(ceph: &model::Ceph) -> StoreSettings {
        let metadata = ceph.metadata.get();
        // assumed: metadata are written once from memory to level 0, and once more to a lower level
        let rewrites = 2;
        match ceph.store {
            OsdStore::BlueStore { deferred_below: log_below } => StoreSettings {
                log_below,
                metadata,
                cache_writes: false,
                rewrites,
                later: BLUESTORE,
            },
            OsdStore::FileStore => {
                let log_below = Bytes(u64::MAX);
                StoreSettings {
                    log_below,
                    metadata,
                    cache_writes: true,
                    rewrites,
                    later: FILESTORE,
                }
            }
        }
    }
}

/// The type in the table of systems.
pub(crate) type Machine = Box<Objects<Ceph>>;

impl FromScenario for Machine {
    fn of(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError> {
        let rules = Ceph::new(scenario, settings(&scenario.system), clocks);
        Ok(Box::new(Objects::new(scenario, rules)?))
    }

    fn devices(scenario: &Scenario, volume: VolumeId) -> Option<Vec<Target>> {
        let placing = Ceph::placing(settings(&scenario.system));
        Some(placing.groups(scenario, volume).ok()?.targets)
    }

    fn object_store(system: &model::System) -> Option<StoreSettings> {
        Some(Ceph::store(settings(system)))
    }
}

/// The settings of a cluster of this system.
fn settings(system: &model::System) -> &model::Ceph {
    match system {
        model::System::Ceph(settings) => settings,
        other => unreachable!("a cluster of `{}`", other.name()),
    }
}

impl Rules for Ceph {
    const FRONT_STORES: bool = true;
    const ORDERS_WRITES: bool = true;

    fn onodes(&self) -> Option<u64> {
        self.settings.onodes
    }

    fn coalesces(&self) -> bool {
        self.settings.coalesce
    }

    fn groups(&self, scenario: &Scenario, id: VolumeId) -> Result<Groups, String> {
        let volume = scenario.volume(id);
        let quorum = u32::from(volume.n());
        if let Some(places) = self.settings.places.as_ref().and_then(|all| all.get(id.index())) {
            let target = |(host, disk): &(HostId, u32)| Target { host: *host, disk: *disk };
            return Ok(Groups {
                targets: places.devices.iter().map(target).collect(),
                finding: Finding::StableMod(places.groups),
                quorum,
                devices: places.spread,
            });
        }
        let crush = crush(scenario, id).map_err(|error| error.to_string())?;
        let copies = usize::from(volume.n());
        let devices = volume.nodes.iter().map(|&node| capacities(scenario, node).count());
        let devices: usize = devices.sum();
        let wanted = devices * self.settings.placement_groups_per_osd as usize;
        let groups = wanted.div_ceil(copies).next_power_of_two();
        let places = (0..groups as u64).flat_map(|group| crush.devices_for(group, copies));
        let target = |(host, disk)| Target { host: volume.nodes[host as usize], disk };
        Ok(Groups {
            targets: places.map(target).collect(),
            finding: Finding::Mask(groups as u64 - 1),
            quorum,
            devices: devices as u64,
        })
    }

    fn front(&self, _instance: u32, targets: &[Target]) -> Target {
        targets[0]
    }

    fn first_read(&mut self, _front: HostId, _copies: usize, _wanted: usize) -> usize {
        0
    }

    fn work(&self, volume: &Volume, pool: &Pool, cpu: &CpuProfile, task: &Task) -> SimSpan {
        let ceph = &self.settings;
        let commit = ceph.commit.of(task.shard.size);
        match (task.op, task.is_front()) {
            (Op::Read, _) => ceph.read.of(task.shard.size),
            (Op::Write, false) => commit,
            (Op::Write, true) => {
                let work = ceph.write.of(task.piece.size) + commit;
                if Pool::partial_blocks(volume, &task.piece) > 0 {
                    return work;
                }
                work + pool.encoding_time(volume, cpu, task.shard.size)
            }
        }
    }

    fn threads(&self) -> Option<Threads> {
        self.settings.threads
    }

    fn scheduler(&self) -> Option<OpScheduler> {
        self.settings.scheduler.as_deref().copied()
    }

    fn transaction(&self, task: &Task) -> SimSpan {
        self.settings.commit.of(task.shard.size)
    }

    fn mapper(&self, scenario: &Scenario, id: VolumeId) -> Result<Mapper, String> {
        let places = self.settings.places.as_ref().and_then(|all| all.get(id.index()));
        if let Some(places) = places {
            let remap = places.remap.as_ref().ok_or("nothing is known of its CRUSH map")?;
            return Ok(Mapper::map(remap));
        }
        let nodes = scenario.volume(id).nodes.clone();
        let crush = crush(scenario, id).map_err(|error| error.to_string())?;
        Ok(Mapper::straw(crush, nodes))
    }

    /// A recovery costs as much for reading and writing as clients do. Peering is assumed to cost as much as
    /// beginning a write.
    fn chore(&self, what: What, bytes: Bytes) -> SimSpan {
        let ceph = &self.settings;
        match what {
            What::Read => ceph.read.of(bytes),
            What::Push => ceph.commit.of(bytes),
            // the cost is in the read that follows
            What::Begin => SimSpan::ZERO,
            _ => ceph.write.of(Bytes::ZERO),
        }
    }

    /// As much as a client's read: an OSD does the same for both, and compares checksums.
    fn scrub_work(&self, bytes: Bytes) -> SimSpan {
        self.settings.read.of(bytes)
    }

    /// Nodes begin to report to monitors, each at its own phase.
    fn begin<H: Hosts>(&self, hosts: &mut H) {
        for (host, _, phase) in &self.reports {
            hosts.set_timer(hosts.now() + *phase, Timer::System { host: host.0 });
        }
    }

    /// A node reports to a monitor.
    fn timer<H: Hosts>(&self, core: &mut Core, hosts: &mut H, host: HostId) {
        let reports = self.reports.iter().find(|(node, ..)| *node == host);
        let &(node, monitor, _) = reports.expect("only nodes that report have timers");
        let next = hosts.now() + REPORT_PERIOD;
        if core.failures.as_ref().is_some_and(|failures| failures.is_down(host)) {
            hosts.set_timer(next, Timer::System { host: host.0 });
            return;
        }
        let report = Exchange::new(
            Purpose::Report,
            Asks::Server,
            node,
            monitor,
            REPORT,
            Breadcrumb::NONE,
            NO_CLIENT,
        );
        let report = core.exchanges.insert(report);
        core.send(hosts, report);
        hosts.set_timer(next, Timer::System { host: host.0 });
    }
}
