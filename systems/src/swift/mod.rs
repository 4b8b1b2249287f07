//! A simplified model of `OpenStack` Swift.
//!
//! A client asks a *proxy*. For a write, the proxy sends three copies to object servers, and the write is
//! done when two of them have it. Any of the servers can serve a read. Source: Swift's documentation of its
//! architecture. Simplified: a proxy forwards an object when it has received it completely, whereas Swift
//! streams. Not modelled: account and container servers.
//!
//! Without events, `Objects` does all this. In a scenario with events, proxies find out by themselves which
//! servers are down (`proxy`, `limiter`), the versions that each server has are tracked (`ledger`),
//! replicators send servers what they lack (`replicator`), and the rings change when hosts join or leave
//! (`rings`). Until the first event, a request takes the same steps as without events. Reads of the newest
//! version also use these parts, even in scenarios without events.

mod call;
mod cluster;
mod ledger;
mod limiter;
mod outages;
mod proxy;
mod replicator;
mod rings;

use foretell_algorithms::placement::{Ring, RingDevice, tolerated};
use foretell_scenarios::model::{self, Cost, CpuProfile, Scenario};
use foretell_scenarios::outages::{Outages, SwiftRecovery};
use foretell_sorted::SortedSet;
use foretell_units::{Bytes, HostId, Op, SimSpan, Stream, VolumeId};

use crate::ceph::BLUESTORE;
use crate::devices::Down;
use crate::objects::{
    Finding, Groups, Objects, Pool, Rules, StoreSettings, Target, Task, capacities,
};
use crate::protocol::Clocks;
use crate::system::{FromScenario, SystemError};
use crate::volume::Volume;

use cluster::Cluster;

/// Swift's rules and parameters.
pub(crate) struct Swift {
    settings: model::Swift,
    /// Random streams for the choice among equal copies, by host, for proxies.
    shuffling: Vec<Stream>,
}

impl Swift {
    fn new(scenario: &Scenario, settings: &model::Swift, clocks: &Clocks) -> Self {
        let hosts = (0..scenario.hosts.len()).map(HostId::from);
        let shuffling = hosts.map(|host| clocks(host).stream("shuffling")).collect();
        Self { settings: settings.clone(), shuffling }
    }

    /// Rules that only place objects.
    fn placing(settings: &model::Swift) -> Self {
        Self { settings: settings.clone(), shuffling: Vec::new() }
    }

    /// The ring of a volume, with its devices. Hosts that join later are not in it yet.
    fn ring(&self, scenario: &Scenario, id: VolumeId) -> Result<VolumeRing, String> {
        let volume = scenario.volume(id);
        let (mut all, mut targets) = (Vec::new(), Vec::new());
        for &node in &volume.nodes {
            for (disk, weight) in (0..).zip(capacities(scenario, node)) {
                all.push(RingDevice { id: targets.len() as u32, zone: node.0, weight });
                targets.push(Target { host: node, disk });
            }
        }
        let joining = scenario.outages.as_ref().map(Outages::joining).unwrap_or_default();
        let absent: SortedSet<HostId> = joining.into_iter().collect();
        let is_there = |one: &&RingDevice| !absent.contains(&HostId(one.zone));
        let devices: Vec<RingDevice> = all.iter().filter(is_there).copied().collect();
        let copies = usize::from(volume.n());
        let ring = Ring::new(self.settings.partition_power, copies, &devices);
        let ring = ring.map_err(|error| error.to_string())?;
        Ok(VolumeRing { ring, all, absent, targets })
    }

    /// The work of a proxy (`is_front`) or an object server for a request for `piece`, in addition to the handling of
    /// its message.
    fn time(&self, op: Op, is_front: bool, copies: u64, piece: Bytes) -> SimSpan {
        let swift = &self.settings;
        match (op, is_front) {
            (Op::Read, true) => swift.proxy.of(piece) + swift.relay.of(piece),
            (Op::Write, true) => {
                // headers are sent first, and data once the server has accepted the request
                let headers = swift.relay.of(Bytes::ZERO);
                let relayed = (headers + swift.relay.of(piece)) * copies;
                swift.proxy.of(piece) + relayed
            }
            (Op::Read, false) => swift.read.of(piece),
            (Op::Write, false) => swift.write.of(piece),
        }
    }

    /// Settings for how its stores write: nothing is deferred.
    fn store(swift: &model::Swift) -> StoreSettings {
        StoreSettings {
            log_below: Bytes::ZERO,
            metadata: swift.metadata.get(),
            cache_writes: false,
            rewrites: 0,
            later: BLUESTORE,
        }
    }
}

/// The ring of a volume.
struct VolumeRing {
    ring: Ring,
    /// Devices of all nodes of the volume.
    all: Vec<RingDevice>,
    /// Nodes whose devices are not in the ring.
    absent: SortedSet<HostId>,
    /// By the identities of devices.
    targets: Vec<Target>,
}

impl VolumeRing {
    /// The devices in the ring.
    fn devices(&self) -> Vec<RingDevice> {
        let is_there = |one: &&RingDevice| !self.absent.contains(&HostId(one.zone));
        self.all.iter().filter(is_there).copied().collect()
    }
}

/// The type in the table of systems.
pub(crate) type Machine = Box<Cluster>;

impl FromScenario for Machine {
    fn of(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError> {
        let rules = Swift::new(scenario, settings(&scenario.system), clocks);
        Ok(Box::new(Cluster::new(Objects::new(scenario, rules)?)))
    }

    fn devices(scenario: &Scenario, volume: VolumeId) -> Option<Vec<Target>> {
        let placing = Swift::placing(settings(&scenario.system));
        Some(placing.groups(scenario, volume).ok()?.targets)
    }

    /// A read needs one of the primaries; a write needs a quorum of the servers that a proxy asks, handoffs included.
    fn serves_without(scenario: &Scenario, id: VolumeId) -> Option<Down> {
        let found = Swift::placing(settings(&scenario.system)).ring(scenario, id).ok()?;
        let VolumeRing { ring, targets, .. } = &found;
        let copies = u32::from(scenario.volume(id).n());
        let recovery = scenario.outages.as_ref().map(|outages| outages.recovery.swift);
        let asked = recovery.unwrap_or(SwiftRecovery::USUAL).asked(copies);
        let (devices, handoffs) = (found.devices(), asked.saturating_sub(copies) as usize);
        let least = |unit: &dyn Fn(u32) -> Target| {
            let of_partition = |partition: usize| {
                let primaries = ring.devices(partition);
                let reads = tolerated(primaries.iter().map(|&id| unit(id)), 1);
                let more = ring.more(partition, &devices, handoffs);
                let servers = primaries.iter().chain(&more).map(|&id| unit(id));
                reads.min(tolerated(servers, quorum(copies) as usize))
            };
            (0..ring.partitions()).map(of_partition).min().unwrap_or(0)
        };
        let device = |id: u32| targets[id as usize];
        let host = |id: u32| Target { disk: 0, ..device(id) };
        Some(Down { hosts: least(&host), devices: least(&device) })
    }

    fn object_store(system: &model::System) -> Option<StoreSettings> {
        Some(Swift::store(settings(system)))
    }
}

/// The settings of a cluster of this system.
fn settings(system: &model::System) -> &model::Swift {
    match system {
        model::System::Swift(settings) => settings,
        other => unreachable!("a cluster of `{}`", other.name()),
    }
}

/// Number of servers that must have written an object with that number of copies (Swift's `quorum_size`): half of an
/// even number, a majority of an odd one.
fn quorum(copies: u32) -> u32 {
    copies.div_ceil(2)
}

impl Rules for Swift {
    const FRONT_STORES: bool = false;

    fn groups(&self, scenario: &Scenario, id: VolumeId) -> Result<Groups, String> {
        let found = self.ring(scenario, id)?;
        let VolumeRing { ring, targets: all, .. } = &found;
        let targets = (0..ring.partitions())
            .flat_map(|partition| ring.devices(partition).iter().map(|&id| all[id as usize]))
            .collect();
        let quorum = quorum(u32::from(scenario.volume(id).n()));
        let finding = Finding::Ring(self.settings.partition_power);
        Ok(Groups { targets, finding, quorum, devices: found.devices().len() as u64 })
    }

    fn front(&self, instance: u32, _targets: &[Target]) -> Target {
        let proxies = &self.settings.proxies;
        Target { host: proxies[instance as usize % proxies.len()], disk: 0 }
    }

    /// All copies are equally good: proxies shuffle them (`sorting_method`).
    fn first_read(&mut self, front: HostId, copies: usize, wanted: usize) -> usize {
        self.shuffling[front.index()].below((copies - wanted + 1) as u64) as usize
    }

    /// The part of a write's work that grows with size: the auditor computes the same MD5 sum (`etag`). There is
    /// no request, so the fixed part is left out.
    fn scrub_work(&self, bytes: Bytes) -> SimSpan {
        Cost { fixed: SimSpan::ZERO, ..self.settings.write }.of(bytes)
    }

    fn work(&self, volume: &Volume, pool: &Pool, cpu: &CpuProfile, task: &Task) -> SimSpan {
        let _ = (volume, cpu);
        let bytes = if task.is_front() { task.piece.size } else { task.shard.size };
        self.time(task.op, task.is_front(), pool.encoding.n() as u64, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::quorum;

    /// The values of `quorum_size` in Swift's `swift/common/utils.py`.
    #[test]
    fn a_quorum_is_half_of_an_even_number_of_copies() {
        assert_eq!([1, 2, 3, 4, 5].map(quorum), [1, 1, 2, 2, 3]);
    }
}
