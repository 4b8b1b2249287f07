//! Object servers that fail, return, join or leave: Ceph's part of a scenario with events.
//!
//! A client sends a request to the primary of its placement group once the group serves requests. When the
//! group's servers change, it sends the request again (`serve`). Clients learn of a new map at once and have
//! no timeouts of their own. Each change begins a new interval, in which the group's servers peer before they
//! serve (`peering`). Objects that a server is missing are recovered one by one (`recovery`). The messages
//! and the work for this are chores (`chore`), for which no client waits.
//!
//! A task whose interval has ended is *dead*: events that are still pending for it are ignored. Its number is
//! not reused, so that it cannot be confused with another task. This costs a few hundred bytes for each
//! request that is outstanding when servers change.
//!
//! Sources: Ceph's documentation of peering, of recovery and backfill reservations, and of `osd_max_backfills`,
//! `osd_recovery_max_active`, `osd_recovery_sleep`; `PrimaryLogPG.cc` for the conditions under which requests
//! wait. Left out: traffic of heartbeats and monitors, trimming of logs, scans that compare the contents of a
//! returning server, recovery of a part of an object, asynchronous recovery, priorities among groups.

mod chore;
mod group;
mod mapper;
mod peering;
mod recovery;
mod serve;
mod turns;

use std::collections::BTreeMap;

use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Scenario;
use foretell_scenarios::outages::Action;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, HostId, VolumeId};
use smallvec::SmallVec;

use chore::Chore;
pub(crate) use chore::What;
use group::{Group, Osd};
pub(crate) use mapper::Mapper;
use recovery::Work;
use serve::ClientOp;
use turns::Waiting;

use super::pool::{Target, capacities};
use super::{Objects, Pool, Rules};
use crate::failures::{Home, Kind, ObjectHome, Standing, Unit};
use crate::hosts::Hosts;
use crate::protocol::{Clocks, Core};
use crate::system::SystemError;

/// The effects of failures on object servers.
pub(super) struct Outages {
    /// Maps by volume.
    mappers: Vec<Mapper>,
    /// The first of each volume's groups in `groups`.
    first_group: Vec<usize>,
    groups: Vec<Group>,
    servers: Vec<Server>,
    /// The number of each host's first server.
    first_server: Vec<u32>,
    /// Number of hosts: where hosts and servers are numbered together, servers come after the hosts.
    hosts: u32,
    /// Servers on which the map places nothing.
    out: SortedSet<Target>,
    /// Servers with a reduced weight in the map, and the server whose weight changed last.
    weights: SortedMap<Target, u32>,
    reweighted: Option<Osd>,
    /// Unanswered parts of clients' requests.
    ops: BTreeMap<u32, ClientOp>,
    chores: Slab<Chore>,
    /// Objects that are being recovered.
    works: SortedMap<u64, Work>,
    last_work: u64,
    /// Groups that wait for their recovery reservations.
    waiting: Waiting,
    /// Number of missing objects, by the host whose failure caused that and by how they are recovered.
    open: SortedMap<(HostId, Kind), u64>,
    /// Objects of each group, by volume; listed on first use.
    objects: Vec<Option<Vec<Vec<u64>>>>,
    sizes: Vec<u64>,
}

/// Whether a server belongs to the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Membership {
    /// From the beginning.
    Usual,
    /// Yes, since an event.
    Joined,
    /// Not yet, or no longer.
    Absent,
}

/// A server.
struct Server {
    target: Target,
    /// Whether it is stopped.
    is_down: bool,
    /// The cluster's knowledge of that.
    standing: Standing,
    /// Whether its data are lost for good.
    is_wiped: bool,
    membership: Membership,
    /// The unit that failed: its host, or the server itself.
    cause: HostId,
    /// Number of recoveries that it takes part in, as a primary and as a target.
    local: u32,
    remote: u32,
    /// Number of objects that it recovers as a primary.
    active: u32,
    /// Whether it pauses before the next object.
    sleeps: bool,
    /// Groups with reservations of which it is the primary.
    led: SortedSet<usize>,
    /// The last of these groups in which it began an object.
    last: usize,
}

impl Server {
    /// Whether the cluster considers it up.
    fn is_up(&self) -> bool {
        self.standing == Standing::Up
    }
}

impl Outages {
    /// The number of a server.
    pub(in crate::objects) fn number(&self, target: Target) -> Osd {
        self.first_server[target.host.index()] + target.disk
    }

    /// Whether the cluster considers a server up.
    fn is_up(&self) -> impl Fn(Osd) -> bool + Copy + use<'_> {
        |osd| self.servers[osd as usize].is_up()
    }

    /// Whether a server is stopped.
    pub(in crate::objects) fn is_down(&self, osd: Osd) -> bool {
        self.servers[osd as usize].is_down
    }

    /// The servers of a host, or the one of a disk.
    fn servers_of(&self, what: Unit) -> std::ops::Range<u32> {
        let first = self.first_server[what.host.index()];
        let behind = self.first_server[what.host.index() + 1];
        match what.disk {
            Some(disk) => first + disk..first + disk + 1,
            None => first..behind,
        }
    }

    /// The number under which a unit fails.
    fn number_of(&self, what: Unit) -> HostId {
        match what.disk {
            Some(_) => HostId(self.hosts + self.servers_of(what).start),
            None => what.host,
        }
    }

    /// The servers on which the map places a group.
    fn targets(&self, group: &Group) -> SmallVec<[Option<Target>; 6]> {
        let target = |osd: Osd| self.servers[osd as usize].target;
        group.members.iter().map(|member| member.map(target)).collect()
    }

    /// The objects of a group.
    fn objects_of(&mut self, pool: &Pool, group: usize) -> SortedSet<u64> {
        let Group { volume, number, .. } = self.groups[group];
        let size = self.sizes[volume as usize];
        let all = self.objects[volume as usize].get_or_insert_with(|| {
            let mut all = vec![Vec::new(); pool.groups()];
            for object in 0..size.div_ceil(pool.object()) {
                all[pool.group(Bytes(object * pool.object()))].push(object);
            }
            all
        });
        all[number as usize].iter().copied().collect()
    }
}

impl<R: Rules> Objects<R> {
    fn out(&mut self) -> &mut Outages {
        self.outages.as_mut().expect("there are events")
    }

    /// For a scenario with events: all groups in their initial state.
    pub(super) fn prepare_outages(
        &mut self,
        core: &mut Core,
        scenario: &Scenario,
        clocks: &Clocks,
    ) -> Result<(), SystemError> {
        let Some((outages, failures)) = scenario.outages.as_ref().zip(core.failures.as_mut())
        else {
            return Ok(());
        };
        let mut mappers = Vec::new();
        for (index, volume) in scenario.volumes.iter().enumerate() {
            let mapper = self.rules.mapper(scenario, VolumeId::from(index));
            let failed = |reason| SystemError { volume: volume.name.clone(), reason };
            mappers.push(mapper.map_err(failed)?);
        }
        let (mut servers, mut first_server, mut beats) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..scenario.hosts.len() {
            let host = HostId::from(index);
            first_server.push(servers.len() as u32);
            for (disk, _) in (0..).zip(capacities(scenario, host)) {
                let what = format!("heartbeat/disk{disk}");
                beats.push(clocks(host).beat_after_events(&what, outages.recovery.heartbeat));
                servers.push(Server {
                    target: Target { host, disk },
                    is_down: false,
                    standing: Standing::Up,
                    is_wiped: false,
                    membership: Membership::Usual,
                    cause: host,
                    local: 0,
                    remote: 0,
                    active: 0,
                    sleeps: false,
                    led: SortedSet::new(),
                    last: 0,
                });
            }
        }
        first_server.push(servers.len() as u32);
        let waiting = Waiting::new(servers.len());
        failures.add_units(beats.into_iter());
        let mut all = Outages {
            mappers,
            first_group: Vec::new(),
            groups: Vec::new(),
            servers,
            first_server,
            hosts: scenario.hosts.len() as u32,
            out: SortedSet::new(),
            weights: SortedMap::new(),
            reweighted: None,
            ops: BTreeMap::new(),
            chores: Slab::new(),
            works: SortedMap::new(),
            last_work: 0,
            waiting,
            open: SortedMap::new(),
            objects: scenario.volumes.iter().map(|_| None).collect(),
            sizes: scenario.volumes.iter().map(|volume| volume.size.get()).collect(),
        };
        // servers that join later hold nothing before that
        for event in outages.events.iter().filter(|event| event.action == Action::Add) {
            for osd in all.servers_of(Unit { host: event.host, disk: event.part.disk() }) {
                all.servers[osd as usize].membership = Membership::Absent;
                all.out.insert(all.servers[osd as usize].target);
            }
        }
        for (volume, pool) in (0..).zip(&self.pools) {
            let mapper = &mut all.mappers[volume as usize];
            mapper.set(&all.out, &all.weights);
            all.first_group.push(all.groups.len());
            for number in 0..pool.groups() {
                let usual = pool.targets_of(number);
                let members = all.mappers[volume as usize].members(number, usual, &[]);
                let number_of = |target: &Option<Target>| target.map(|target| all.number(target));
                let members: Vec<Option<Osd>> = members.iter().map(number_of).collect();
                all.groups.push(Group::whole(volume, number as u32, &members));
            }
        }
        self.outages = Some(Box::new(all));
        for group in 0..self.out().groups.len() {
            self.count_lacking(core, group);
        }
        Ok(())
    }

    /// A host, or one of its servers, stops.
    pub(super) fn unit_fails<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        keeps: bool,
    ) {
        if what.disk.is_none() {
            core.failed().hosts[what.host.index()].is_down = true;
        }
        let cause = self.out().number_of(what);
        for osd in self.out().servers_of(what) {
            let out = self.out();
            let unit = HostId(out.hosts + osd);
            let server = &mut out.servers[osd as usize];
            if server.is_down {
                continue;
            }
            (server.is_down, server.cause) = (true, cause);
            server.is_wiped |= !keeps;
            core.failed().fails(hosts, unit, keeps);
            if !keeps {
                self.save_payload(core, hosts, osd);
                hosts.payload_wiped(HostId(osd));
            }
            if let Some(daemons) = &mut self.daemons {
                for scrubber in daemons.stop(osd) {
                    core.scrub_stops(scrubber);
                }
            }
        }
    }

    /// The unit is back.
    pub(super) fn unit_returns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit) {
        if what.disk.is_none() {
            core.failed().hosts[what.host.index()].is_down = false;
        }
        for osd in self.out().servers_of(what) {
            let unit = HostId(self.out().hosts + osd);
            self.out().servers[osd as usize].is_down = false;
            core.failed().returns(unit);
            self.server_changed(core, hosts, osd);
        }
    }

    /// The unit joins or leaves.
    pub(super) fn unit_moves<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        joins: bool,
    ) {
        let cause = self.out().number_of(what);
        for osd in self.out().servers_of(what) {
            let server = &mut self.out().servers[osd as usize];
            let membership = if joins { Membership::Joined } else { Membership::Absent };
            (server.membership, server.cause) = (membership, cause);
            self.server_changed(core, hosts, osd);
        }
    }

    /// The weight in the map of one of the unit's servers changes.
    pub(super) fn unit_reweighted<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        weight: u32,
    ) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let osd = out.servers_of(what).start;
        out.weights.insert(out.servers[osd as usize].target, weight);
        out.reweighted = Some(osd);
        for mapper in &mut out.mappers {
            mapper.set(&out.out, &out.weights);
        }
        let mut changed = Vec::new();
        for index in 0..out.groups.len() {
            let group = &out.groups[index];
            let (volume, number) = (group.volume as usize, group.number as usize);
            let usual = pools[volume].targets_of(number);
            let members = out.mappers[volume].members(number, usual, &out.targets(group));
            let place = |target: &Option<Target>| target.map(|target| out.number(target));
            let members = members.iter().map(place).collect();
            if group.members != members {
                out.groups[index].members = members;
                changed.push(index);
            }
        }
        for group in changed {
            self.begin_interval(core, hosts, group);
        }
    }

    /// The cluster's opinion of a server has changed; `unit` is its number after those of the hosts.
    pub(super) fn unit_changed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, unit: HostId) {
        let osd = unit.0 - self.out().hosts;
        let failures = core.failed();
        let state = &mut failures.hosts[unit.index()];
        if state.standing == Standing::Down && !state.holds_nothing {
            // from now on its groups record the objects that it is missing
            state.holds_nothing = true;
            failures.missed -= 1;
        }
        self.server_changed(core, hosts, osd);
    }

    /// Groups react to a server that is now up, down, in or out.
    fn server_changed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, osd: Osd) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        out.look_at_all_waiting();
        let server = &mut out.servers[osd as usize];
        server.standing = core.failed().hosts[(out.hosts + osd) as usize].standing;
        let target = server.target;
        let is_out = server.standing == Standing::Out || server.membership == Membership::Absent;
        let was_out = out.out.contains(&target);
        if is_out != was_out {
            if is_out {
                out.out.insert(target);
            } else {
                out.out.remove(&target);
            }
            for mapper in &mut out.mappers {
                mapper.set(&out.out, &out.weights);
            }
        }
        let mut changed = Vec::new();
        for index in 0..out.groups.len() {
            let group = &out.groups[index];
            let pool = &pools[group.volume as usize];
            let usual = pool.targets_of(group.number as usize);
            let mut meets = group.holders.iter().any(|holder| holder.osd == osd);
            if is_out != was_out {
                let is_usual = usual.contains(&target);
                let usually = |(target, member): (&Target, &Option<Osd>)| {
                    *member == Some(out.number(*target))
                };
                let is_moved = !usual.iter().zip(&group.members).all(usually);
                if is_usual || is_moved || group.members.contains(&Some(osd)) {
                    let mapper = &out.mappers[group.volume as usize];
                    let now = out.targets(group);
                    let members = mapper.members(group.number as usize, usual, &now);
                    let number = |target: &Option<Target>| target.map(|target| out.number(target));
                    let members = members.iter().map(number).collect();
                    meets |= group.members != members;
                    out.groups[index].members = members;
                }
            }
            if meets {
                changed.push(index);
            }
        }
        for group in changed {
            self.begin_interval(core, hosts, group);
        }
        self.send_again(core, hosts, osd);
    }

    /// Bytes of objects with too few shards left.
    pub(super) fn lost_bytes(&self) -> Bytes {
        let Some(out) = &self.outages else { return Bytes::ZERO };
        let mut lost = 0;
        if !out.servers.iter().any(|server| server.is_wiped) {
            return Bytes::ZERO;
        }
        for group in &out.groups {
            let pool = &self.pools[group.volume as usize];
            let m = pool.encoding.m();
            let size = out.sizes[group.volume as usize];
            let is_there = |osd: Osd| !out.servers[osd as usize].is_wiped;
            let all = group.holders.iter().filter(|holder| is_there(holder.osd));
            let mut positions: Vec<u8> = all
                .clone()
                .filter(|holder| holder.missing.is_empty())
                .map(|holder| holder.position)
                .collect();
            positions.sort_unstable();
            positions.dedup();
            if positions.len() >= m {
                continue;
            }
            for object in 0..size.div_ceil(pool.object()) {
                let start = object * pool.object();
                if pool.group(Bytes(start)) == group.number as usize
                    && group.sources(object, m, is_there).len() < m
                {
                    lost += pool.object().min(size - start);
                }
            }
        }
        Bytes(lost)
    }

    /// Bytes of the copies or shards that servers are missing and that a recovery with this key brings.
    pub(super) fn missing_bytes(&self, key: (HostId, Kind)) -> Bytes {
        let Some(out) = &self.outages else { return Bytes::ZERO };
        let of_group = |group: &Group| {
            let pool = &self.pools[group.volume as usize];
            let size = out.sizes[group.volume as usize];
            let shard = |object: &u64| pool.shard(&recovery::whole(pool, size, *object)).size.get();
            let lacking = group.holders.iter().filter(|holder| holder.key == key);
            lacking.flat_map(|holder| &holder.missing).map(shard).sum::<u64>()
        };
        Bytes(out.groups.iter().map(of_group).sum())
    }

    /// The unit that a recovery's number stands for.
    pub(super) fn unit_of(&self, number: HostId) -> Unit {
        let server = self.outages.as_ref().and_then(|out| {
            let osd = number.0.checked_sub(out.hosts)?;
            out.servers.get(osd as usize)
        });
        match server {
            Some(Server { target, .. }) => Unit { host: target.host, disk: Some(target.disk) },
            None => Unit { host: number, disk: None },
        }
    }

    /// The servers that hold fragments initially.
    pub(super) fn first_homes(&self, core: &Core) -> Vec<Home> {
        let Some(out) = &self.outages else { return core.volumes.iter().map(Home::of).collect() };
        let home = |(volume, pool): (usize, &Pool)| {
            let of = |group: &Group| -> Vec<u32> {
                group.members.iter().map(|member| member.unwrap_or(u32::MAX)).collect()
            };
            let groups = &out.groups[out.first_group[volume]..][..pool.groups()];
            Home::Servers(Box::new(ObjectHome {
                pool: pool.clone(),
                block: core.volumes[volume].distribution.block().get(),
                servers: groups.iter().flat_map(of).collect(),
            }))
        };
        self.pools.iter().enumerate().map(home).collect()
    }
}
