//! A simplified model of `OpenStack` Swift.
//!
//! A client asks a *proxy*. For a write, the proxy sends three copies to object servers, and the write is
//! done when two of them have it. Any of the servers can serve a read. Source: Swift's documentation of its
//! architecture. Simplified: a proxy forwards an object when it has received it completely, whereas Swift
//! streams. Not modelled: account and container servers.

use foretell_algorithms::placement::{Ring, RingDevice};
use foretell_scenarios::model::{self, Cost, CpuProfile, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan, Stream, VolumeId};

use crate::ceph::BLUESTORE;
use crate::objects::{Finding, Groups, Objects, Pool, Rules, Settings, Target, Task, capacities};
use crate::protocol::Clocks;
use crate::system::{Founded, SystemError};
use crate::volume::Volume;

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

    /// Settings for how its stores write: nothing is deferred.
    fn store(swift: &model::Swift) -> Settings {
        Settings {
            log_below: Bytes::ZERO,
            metadata: swift.metadata.get(),
            cache_writes: false,
            rewrites: 0,
            later: BLUESTORE,
        }
    }
}

/// The type in the table of systems.
pub(crate) type Machine = Box<Objects<Swift>>;

impl Founded for Machine {
    fn of(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError> {
        let rules = Swift::new(scenario, settings(&scenario.system), clocks);
        Ok(Box::new(Objects::new(scenario, rules)?))
    }

    fn devices(scenario: &Scenario, volume: VolumeId) -> Option<Vec<Target>> {
        let placing = Swift::placing(settings(&scenario.system));
        Some(placing.groups(scenario, volume).ok()?.targets)
    }

    fn object_store(system: &model::System) -> Option<Settings> {
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

impl Rules for Swift {
    const FRONT_STORES: bool = false;

    fn groups(&self, scenario: &Scenario, id: VolumeId) -> Result<Groups, String> {
        let power = self.settings.partition_power;
        let volume = scenario.volume(id);
        let mut devices = Vec::new();
        let mut all = Vec::new();
        for &node in &volume.nodes {
            for (disk, weight) in (0..).zip(capacities(scenario, node)) {
                devices.push(RingDevice { id: all.len() as u32, zone: node.0, weight });
                all.push(Target { host: node, disk });
            }
        }
        let copies = usize::from(volume.n());
        let ring = Ring::new(power, copies, &devices).map_err(|error| error.to_string())?;
        let targets = (0..ring.partitions())
            .flat_map(|partition| ring.devices(partition).iter().map(|&id| all[id as usize]))
            .collect();
        let quorum = u32::from(volume.n()) / 2 + 1;
        Ok(Groups { targets, finding: Finding::Ring(power), quorum, devices: all.len() as u64 })
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
        let swift = &self.settings;
        match (task.op, task.is_front()) {
            (Op::Read, true) => swift.proxy.of(task.piece.size) + swift.relay.of(task.piece.size),
            (Op::Write, true) => {
                // headers are sent first, and data once the server has accepted the request
                let headers = swift.relay.of(Bytes::ZERO);
                let copies = pool.encoding.n() as u64;
                let relayed = (headers + swift.relay.of(task.piece.size)) * copies;
                swift.proxy.of(task.piece.size) + relayed
            }
            (Op::Read, false) => swift.read.of(task.shard.size),
            (Op::Write, false) => swift.write.of(task.shard.size),
        }
    }
}
