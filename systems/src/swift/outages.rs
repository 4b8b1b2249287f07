//! The state of a cluster whose servers may fail, and what happens when they do.
//!
//! Each device of an object server is a server here, with a number. Nothing announces that a host is down:
//! proxies and replicators find out when they connect or wait for an answer. The cluster never gives up on a
//! host: the ring stays as it is, as in Swift, until an operator changes it (`rings`).

use std::collections::BTreeMap;

use foretell_scenarios::model::Scenario;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, HostId, SimTime, VolumeId};

use super::VolumeRing;
use super::call::{Call, Role};
use super::cluster::Cluster;
use super::ledger::{ALL, Cause, Ledger, Osd};
use super::limiter::Limiter;
use super::proxy::ClientOp;
use super::replicator::{Job, Replicator};
use super::rings::{Moved, Objects};
use crate::failures::{Home, Kind, ObjectHome, Unit};
use crate::hosts::{Fragments, Hosts, Timer};
use crate::objects::{Target, capacities};
use crate::protocol::{Clocks, Core};
use crate::system::{Few, SystemError};

/// The effects of failures on a cluster.
pub(super) struct Outages {
    pub(super) ledger: Ledger,
    pub(super) limiter: Limiter,
    /// Servers by number.
    pub(super) servers: Vec<Target>,
    /// The number of each host's first server; one more at the end.
    first_server: Vec<Osd>,
    pub(super) rings: Vec<VolumeRing>,
    /// The number of each volume's first partition among all.
    pub(super) first_partition: Vec<usize>,
    /// Handoffs of partitions, found when they are first needed.
    pub(super) more: BTreeMap<usize, Few<Osd>>,
    pub(super) moved: Moved,
    /// Servers whose disks have failed, with the numbers of these units.
    pub(super) unmounted: SortedMap<Osd, HostId>,
    /// Servers whose disks have failed last, and not their hosts: the numbers of these units.
    pub(super) causes: SortedMap<Osd, HostId>,
    /// When units have failed, joined or been drained last.
    pub(super) happened: SortedMap<HostId, SimTime>,
    /// By volume, once they are needed.
    pub(super) objects: Vec<Option<Objects>>,
    /// Requests of clients that proxies work on.
    pub(super) ops: Numbered<ClientOp>,
    /// The operation of each part of a request that a client waits for.
    pub(super) parts: SortedMap<u32, u32>,
    pub(super) calls: Numbered<Call>,
    pub(super) jobs: Numbered<Job>,
    waits: Numbered<Wait>,
    pub(super) replicators: SortedMap<HostId, Replicator>,
    /// Partitions that are being sent, with the server that they are sent to.
    pub(super) sending: SortedSet<(usize, Osd)>,
    /// The version of the latest write.
    pub(super) version: u64,
    /// Numbers of writes in the records by their versions, if real bytes are carried.
    pub(super) written: SortedMap<u64, u64>,
    sizes: Vec<u64>,
    /// Bytes in a block and blocks in an object, by volume.
    blocks: Vec<(u64, u64)>,
}

/// Something that somebody waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// A proxy connects to a server that is down, for a client's operation.
    Connect { op: u32, osd: Osd },
    /// A call to a server that went down.
    Answer { call: u32 },
    /// A replicator connects to a server that is down.
    Job { job: u32 },
}

/// Things under numbers that are not used again.
pub(super) struct Numbered<T> {
    pub(super) all: BTreeMap<u32, T>,
    last: u32,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), last: 0 }
    }
}

impl<T> Numbered<T> {
    pub(super) fn new_number(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        let number = self.new_number();
        self.all.insert(number, value);
        number
    }
}

impl Outages {
    /// The host of a server.
    pub(super) fn host(&self, osd: Osd) -> HostId {
        self.servers[osd as usize].host
    }

    /// The servers of a host.
    pub(super) fn servers_of(&self, host: HostId) -> std::ops::Range<Osd> {
        self.first_server[host.index()]..self.first_server[host.index() + 1]
    }

    /// Number of hosts.
    pub(super) fn hosts(&self) -> u32 {
        self.first_server.len() as u32 - 1
    }

    /// The unit that lacks what a server lacks.
    pub(super) fn cause(&self, osd: Osd) -> HostId {
        self.causes.get(&osd).copied().unwrap_or_else(|| self.host(osd))
    }

    /// Bytes of a volume.
    pub(super) fn size(&self, volume: usize) -> u64 {
        self.sizes[volume]
    }

    pub(super) fn number(&self, target: Target) -> Osd {
        self.first_server[target.host.index()] + target.disk
    }

    /// The unit with this number.
    fn unit(&self, number: HostId) -> Unit {
        let server = number.0.checked_sub(self.hosts()).map(|osd| self.servers[osd as usize]);
        match server {
            Some(Target { host, disk }) => Unit { host, disk: Some(disk) },
            None => Unit { host: number, disk: None },
        }
    }

    /// The volume of a partition.
    pub(super) fn volume_of(&self, partition: usize) -> usize {
        self.first_partition.partition_point(|first| *first <= partition) - 1
    }

    /// Bytes in a block of a partition.
    pub(super) fn block_bytes(&self, partition: usize) -> u64 {
        self.blocks[self.volume_of(partition)].0
    }

    /// Number of blocks of a volume.
    pub(super) fn blocks_of(&self, volume: usize) -> u64 {
        self.sizes[volume].div_ceil(self.blocks[volume].0)
    }

    /// Blocks in an object of a partition.
    pub(super) fn object_blocks(&self, partition: usize) -> u64 {
        self.blocks[self.volume_of(partition)].1
    }

    /// A handoff of a partition: the one with this number, in the order of the ring.
    pub(super) fn handoff(&mut self, partition: usize, number: usize) -> Option<Osd> {
        if !self.more.contains_key(&partition) {
            let volume = self.volume_of(partition);
            let found = &self.rings[volume];
            let number = partition - self.first_partition[volume];
            let more = found.ring.more(number, &found.devices(), usize::MAX);
            let targets = &found.targets;
            let found = more.iter().map(|&id| self.number(targets[id as usize])).collect();
            self.more.insert(partition, found);
        }
        self.more[&partition].get(number).copied()
    }

    /// Blocks on a server, for engines that carry real data. A copy has the number of the server among the primaries
    /// at the beginning; that of another server has any.
    pub(super) fn copies(
        &self,
        partition: usize,
        osd: Osd,
        request: u32,
        version: u64,
        first_block: u64,
        blocks: u64,
    ) -> Fragments {
        let first = &self.ledger.partitions[partition].first;
        let position = first.iter().position(|other| *other == osd);
        let (volume, fragment) = (self.volume_of(partition) as u32, position.unwrap_or(0) as u8);
        let node = HostId(osd);
        Fragments { request, version, volume, first_block, blocks, fragment, node }
    }
}

impl Cluster {
    pub(super) fn out(&mut self) -> &mut Outages {
        self.outages.as_mut().expect("there are events")
    }

    /// For a scenario with events: all partitions in their initial state.
    pub(super) fn prepare(
        &mut self,
        core: &Core,
        scenario: &Scenario,
        clocks: &Clocks,
    ) -> Result<(), SystemError> {
        let has_versions = scenario.outages.is_some() || scenario.reads_newest();
        let Some(failures) = core.failures.as_ref().filter(|_| has_versions) else {
            return Ok(());
        };
        let interval = failures.settings.swift.replicator_interval;
        let (mut servers, mut first_server) = (Vec::new(), Vec::new());
        let mut replicators = SortedMap::new();
        for index in 0..scenario.hosts.len() {
            let host = HostId::from(index);
            first_server.push(servers.len() as Osd);
            let disks = (0..).zip(capacities(scenario, host));
            servers.extend(disks.map(|(disk, _)| Target { host, disk }));
            if servers.len() as Osd > first_server[index] {
                let beat = clocks(host).beat("replicator", interval);
                replicators.insert(host, Replicator::new(beat));
            }
        }
        first_server.push(servers.len() as Osd);
        let mut rings = Vec::new();
        for (index, volume) in scenario.volumes.iter().enumerate() {
            let ring = self.plain.rules().ring(scenario, VolumeId::from(index));
            let failed = |reason| SystemError { volume: volume.name.clone(), reason };
            rings.push(ring.map_err(failed)?);
        }
        let mut all = Outages {
            ledger: Ledger::default(),
            limiter: Limiter::default(),
            servers,
            first_server,
            rings,
            first_partition: Vec::new(),
            more: BTreeMap::new(),
            moved: Moved::new(),
            unmounted: SortedMap::new(),
            causes: SortedMap::new(),
            happened: SortedMap::new(),
            objects: scenario.volumes.iter().map(|_| None).collect(),
            ops: Numbered::default(),
            parts: SortedMap::new(),
            calls: Numbered::default(),
            jobs: Numbered::default(),
            waits: Numbered::default(),
            replicators,
            sending: SortedSet::new(),
            version: 0,
            written: SortedMap::new(),
            sizes: scenario.volumes.iter().map(|volume| volume.size.get()).collect(),
            blocks: Vec::new(),
        };
        for (pool, volume) in self.plain.pools().iter().zip(&core.volumes) {
            let block = volume.distribution.block().get();
            all.blocks.push((block, (pool.object() / block).max(1)));
            all.first_partition.push(all.ledger.partitions.len());
            for partition in 0..pool.groups() {
                let targets = pool.targets_of(partition).iter();
                let primaries = targets.map(|target| all.number(*target)).collect();
                all.ledger.add(primaries);
            }
        }
        self.outages = Some(Box::new(all));
        Ok(())
    }

    /// A host stops, or is cut off.
    pub(super) fn host_fails<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        host: HostId,
        keeps: bool,
    ) {
        core.doom_exchanges_of(hosts, host);
        core.failed().fails(hosts, host, keeps);
        self.stop_replicator(core, hosts, host);
        self.out().happened.insert(host, hosts.now());
        for osd in self.out().servers_of(host) {
            self.out().causes.remove(&osd);
            if !keeps {
                self.out().ledger.wipe(osd);
                hosts.payload_wiped(HostId(osd));
            }
            self.out().ledger.set_down(osd, true);
        }
        let calls = &self.out().calls.all;
        let calls: Vec<(u32, Call)> = calls.iter().map(|(number, call)| (*number, *call)).collect();
        for (number, call) in calls {
            if call.role != Role::Client && self.out().host(call.osd) == host {
                self.wait_in_vain(core, hosts, number);
            }
        }
        self.note_health(core, hosts.now());
    }

    /// A host is back, with its data.
    pub(super) fn host_is_back<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        core.host_returns(host);
        for osd in self.out().servers_of(host) {
            self.out().ledger.set_down(osd, false);
        }
        self.restart_replicator(hosts, host);
        self.note_health(core, hosts.now());
    }

    /// Bytes that servers lack and that a recovery with this cause brings: of blocks that a unit has missed, and of
    /// partitions that servers get as a whole.
    pub(super) fn missing_bytes(&self, cause: Cause) -> Bytes {
        let Some(out) = &self.outages else { return Bytes::ZERO };
        let servers = out.servers_in(out.unit(cause.0));
        let misses = |osd: Osd| {
            cause.1 == Kind::CatchUp && servers.contains(&osd) && out.cause(osd) == cause.0
        };
        let of_partition = |partition: usize| {
            let lacking = out.ledger.lacking_blocks(partition, misses);
            let moves = out.ledger.moves_with(partition, cause);
            let in_whole: u64 = moves.map(|until| self.bytes_from(out, partition, until)).sum();
            lacking * out.block_bytes(partition) + in_whole
        };
        Bytes((0..out.ledger.partitions.len()).map(of_partition).sum())
    }

    /// Bytes of a partition's objects from a block on.
    fn bytes_from(&self, out: &Outages, partition: usize, block: u64) -> u64 {
        let volume = out.volume_of(partition);
        let (object, size) = (self.plain.pools()[volume].object(), out.size(volume));
        let Some(objects) = &out.objects[volume] else { return 0 };
        let firsts = &objects[partition - out.first_partition[volume]];
        let later = firsts.iter().filter(|first| **first >= block);
        later.map(|first| object.min(size - first * out.block_bytes(partition))).sum()
    }

    /// Reports how many partitions are not whole, and ends recoveries of hosts that lack nothing more.
    pub(super) fn note_health(&mut self, core: &mut Core, now: SimTime) {
        let out = self.out();
        let failures = core.failed();
        failures.objects.lacking = out.ledger.differing().len() as u64;
        for one in failures.recoveries.all.iter_mut().filter(|one| one.ended.is_none()) {
            let unit = out.unit(one.host);
            let is_over = match one.kind {
                Kind::CatchUp => {
                    let mut servers = out.servers_in(unit);
                    servers.all(|osd| out.cause(osd) != one.host || out.ledger.lacks(osd) == 0)
                        && out.ledger.moves((one.host, one.kind)) == 0
                }
                _ => out.ledger.moves((one.host, one.kind)) == 0,
            };
            if is_over {
                one.ended = Some(now);
            }
        }
    }

    /// Somebody waits in vain until that time.
    pub(super) fn wait<H: Hosts>(&mut self, hosts: &mut H, at: SimTime, what: Wait) {
        let job = self.out().waits.insert(what);
        hosts.set_timer(at, Timer::Daemon { job });
    }

    /// Somebody has waited in vain.
    pub(super) fn waited<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let what = self.out().waits.all.remove(&number).expect("each wait has one timer");
        match what {
            Wait::Connect { op, osd } => self.not_connected(core, hosts, op, osd),
            Wait::Answer { call } if self.out().calls.all.contains_key(&call) => {
                let call = self.cancel(core, hosts, call);
                match call.role {
                    Role::Client => unreachable!("proxies do not fail"),
                    Role::Proxy | Role::Version => {
                        self.not_answered(core, hosts, call.of, call.osd);
                    }
                    Role::Connect => self.not_connected(core, hosts, call.of, call.osd),
                    Role::Compare | Role::Read | Role::Push => {
                        self.next_server(core, hosts, call.of);
                    }
                }
            }
            Wait::Job { job } if self.out().jobs.all.contains_key(&job) => {
                self.next_server(core, hosts, job);
            }
            // its host has failed since
            Wait::Answer { .. } | Wait::Job { .. } => {}
        }
    }

    /// Bytes of which no server has the version that clients know.
    pub(super) fn lost_bytes(&self, core: &Core) -> Bytes {
        let Some(out) = &self.outages else { return Bytes::ZERO };
        let mut lost = 0;
        for (index, pool) in self.plain.pools().iter().enumerate() {
            let (size, block) = (out.sizes[index], core.volumes[index].distribution.block().get());
            let bytes = |number: u64| (number * block + block).min(size) - number * block;
            for number in 0..pool.groups() {
                let partition = out.first_partition[index] + number;
                let reach = out.ledger.reach(partition);
                let listed = || out.ledger.listed(partition);
                let gone = listed().filter(|(number, is_lost)| *number < reach && *is_lost);
                lost += gone.map(|(number, _)| bytes(number)).sum::<u64>();
                if reach == ALL {
                    continue;
                }
                // beyond that, only listed blocks are left
                let objects = (0..size.div_ceil(pool.object())).map(|one| one * pool.object());
                let own = objects.filter(|start| pool.group(Bytes(*start)) == number);
                let beyond = own.filter(|start| start / block >= reach);
                let all: u64 = beyond.map(|start| pool.object().min(size - start)).sum();
                let kept = listed().filter(|(number, is_lost)| *number >= reach && !is_lost);
                lost += all - kept.map(|(number, _)| bytes(number)).sum::<u64>();
            }
        }
        Bytes(lost)
    }

    /// The servers that have each partition at the beginning.
    pub(super) fn first_homes(&self, core: &Core) -> Vec<Home> {
        let Some(out) = &self.outages else { return core.volumes.iter().map(Home::of).collect() };
        let home = |(volume, pool): (usize, &crate::objects::Pool)| {
            let partitions = &out.ledger.partitions[out.first_partition[volume]..][..pool.groups()];
            Home::Servers(Box::new(ObjectHome {
                pool: pool.clone(),
                block: core.volumes[volume].distribution.block().get(),
                servers: partitions.iter().flat_map(|one| one.primaries.to_vec()).collect(),
            }))
        };
        self.plain.pools().iter().enumerate().map(home).collect()
    }

    /// The unit that a recovery's number stands for.
    pub(super) fn unit_of(&self, number: HostId) -> Unit {
        let whole = Unit { host: number, disk: None };
        self.outages.as_ref().map_or(whole, |out| out.unit(number))
    }
}
