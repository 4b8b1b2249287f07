//! Fills caches before the fast model's first detailed stretch.
//!
//! Recorded requests fill the caches at their recorded times (see `fill_requests`). So the contents depend on
//! what nodes store and where. They do not depend on the rate of requests, or on the speed of processors,
//! links and disks. If a question changes only these, it starts from caches that an earlier question has
//! filled. During the fill, the Activity DB grows as in the recorded run, and its pages take their share of
//! one node's cache.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};

use foretell_scenarios::model::{
    Cache, Guest, Host, Layout, LogPart, Machine, Scenario, Storage, System, Tracking, Volume,
    Workload,
};
use foretell_systems::Access;
use foretell_units::{Bytes, HostId, SimSpan, SimTime, VolumeId};

use super::engine::Engine;
use super::fill_requests::{Chosen, OVERFLOW, choose};
use super::instance::{Instance, Position};
use super::node::Node;
use super::pass::Appends;
use super::touches::Touches;
use super::{Material, Replay};
use crate::error::WhatIfError;
use crate::observed::Recorded;

/// Maximum number of cached bytes in all kept fills. The state of a cached page takes about 30 bytes, so with
/// pages of 4 KiB the fills take 0.8 GB.
const KEPT_BYTES: u64 = 108 << 30;
/// Maximum number of kept fills, because all of them are searched.
const KEPT: usize = 64;

/// Which requests fill caches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Fill {
    /// Requests recorded before this time fill caches. The first detailed stretch begins then.
    pub(super) until: SimTime,
}

/// The latest fills; the most recently used one is last.
#[derive(Debug, Default)]
pub(crate) struct KeptFills(Mutex<Vec<Arc<Filled>>>);

impl KeptFills {
    fn find(&self, key: &Key) -> Option<Arc<Filled>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|filled| filled.key == *key)?;
        let found = all.remove(at);
        all.push(Arc::clone(&found));
        Some(found)
    }

    fn keep(&self, filled: Filled) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(filled));
        let mut cached = 0;
        let fits = |filled: &&Arc<Filled>| {
            cached += filled.cached;
            cached <= KEPT_BYTES
        };
        let given_up = all.len() - all.iter().rev().take(KEPT).take_while(fits).count();
        all.drain(..given_up);
    }
}

/// Nodes with filled caches, and the positions of clients in their records.
#[derive(Debug)]
struct Filled {
    key: Key,
    nodes: Vec<Option<Node>>,
    /// Bytes in the caches of all nodes.
    cached: u64,
    positions: Vec<Position>,
    /// Size of the file of the Activity DB.
    database: Bytes,
    still_fills: bool,
}

/// Everything that a fill depends on.
#[derive(Debug)]
struct Key {
    fill: Fill,
    hosts: Vec<HostKey>,
    system: System,
    volumes: Vec<Volume>,
    tracking: Tracking,
    workloads: Vec<WorkloadKey>,
    /// By instance: workload and stream of its requests.
    instances: Vec<(u32, u32)>,
    requests: Vec<Arc<[Recorded]>>,
    records_per_request: f64,
}

/// A workload, without its rate and its requests. The requests are in `requests`.
#[derive(PartialEq, Debug)]
struct WorkloadKey {
    /// The name seeds the random streams of its instances.
    name: String,
    volume: VolumeId,
    clients: Vec<HostId>,
    requests: Option<u64>,
}

#[derive(PartialEq, Debug)]
struct HostKey {
    name: String,
    guest: Option<Guest>,
    machine: Option<Machine>,
    storage: Option<StorageKey>,
}

#[derive(PartialEq, Debug)]
struct StorageKey {
    cache: Cache,
    nvram: Option<Bytes>,
    layout: Layout,
    capacities: Vec<Bytes>,
    /// By disk: positions of its database and its log.
    logs: Vec<(Option<LogPart>, Option<LogPart>)>,
    stripe: Bytes,
    shared_by: u32,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            fill,
            hosts,
            system,
            volumes,
            tracking,
            workloads,
            instances,
            requests,
            records_per_request,
        } = self;
        let same = |(one, two): (&Arc<[Recorded]>, &Arc<[Recorded]>)| Arc::ptr_eq(one, two);
        *fill == other.fill
            && *hosts == other.hosts
            && *system == other.system
            && *volumes == other.volumes
            && *tracking == other.tracking
            && *workloads == other.workloads
            && *instances == other.instances
            && *records_per_request == other.records_per_request
            && requests.len() == other.requests.len()
            && requests.iter().zip(&other.requests).all(same)
    }
}

impl Key {
    /// `None` if devices have caches, because a kept fill does not include these.
    fn of(material: &Material, fill: Fill, replay: &Replay) -> Option<Self> {
        if material.measured.iter().flatten().any(|disk| disk.array.is_some()) {
            return None;
        }
        // the pattern names every field, so that a new field does not compile until it is considered here
        let Scenario {
            seed: _,
            warmup: _,
            duration: _,
            intervals: _,
            system,
            hosts,
            switch: _,
            uplinks: _,
            volumes,
            workloads,
            tracking,
            payload: _,
            outages: _,
            // scrubs bypass caches
            scrub: _,
        } = material.scenario;
        let streams = material.requests.iter();
        let streams =
            streams.flat_map(|all| all.of_threads.iter().flatten().chain(&all.of_clients));
        let instances = replay.instances.iter().map(|one| (one.workload, one.client));
        Some(Self {
            fill,
            hosts: hosts.iter().map(HostKey::of).collect(),
            system: system.clone(),
            volumes: volumes.clone(),
            tracking: tracking.clone(),
            workloads: workloads.iter().map(WorkloadKey::of).collect(),
            instances: instances.collect(),
            requests: streams.cloned().collect(),
            records_per_request: material.records_per_request,
        })
    }
}

impl WorkloadKey {
    fn of(workload: &Workload) -> Self {
        let Workload { name, volume, clients, kind: _, arrivals: _, times: _, requests } = workload;
        let (name, clients) = (name.clone(), clients.clone());
        Self { name, volume: *volume, clients, requests: *requests }
    }
}

impl HostKey {
    fn of(host: &Host) -> Self {
        let Host { name, group: _, role, cpu: _, nic: _, cluster_nic: _, guest, machine } = host;
        let storage = role.storage().map(|storage| {
            let Storage { cache, nvram, layout, disks, log_devices: _, stripe, shared_by } =
                storage;
            StorageKey {
                cache: cache.clone(),
                nvram: *nvram,
                layout: *layout,
                capacities: storage.devices().map(|disk| disk.device.capacity()).collect(),
                logs: disks.iter().map(|disk| (disk.db, disk.wal)).collect(),
                stripe: *stripe,
                shared_by: *shared_by,
            }
        });
        Self { name: name.clone(), guest: *guest, machine: *machine, storage }
    }
}

impl Replay<'_> {
    /// Fills the caches of nodes, and advances to the beginning of the first detailed stretch.
    pub(super) fn fill(&mut self, material: &Material, fill: Fill) -> Result<(), WhatIfError> {
        let key = Key::of(material, fill, self);
        let known = key.as_ref().and_then(|key| material.fills.find(key));
        self.engine.tracking.paused = true;
        self.engine.ticks_from = SimTime::ZERO;
        if let Some(known) = known {
            self.engine.nodes.clone_from(&known.nodes);
            self.protocol.database_is(known.database);
            self.caches.still_fill = known.still_fills;
            for (index, position) in known.positions.iter().enumerate() {
                self.engine.choosing[index] = self.instances[index].go_to(position);
            }
        } else {
            for node in self.engine.nodes.iter_mut().flatten() {
                node.pass_over(0.0);
            }
            self.touch_as_recorded(fill.until, material.records_per_request)?;
            if let Some(key) = key {
                let instances = self.instances.iter().zip(&self.engine.choosing);
                let positions = instances.map(|(one, choosing)| one.position(choosing));
                let nodes = self.engine.nodes.clone();
                let cached =
                    nodes.iter().flatten().map(|node| node.software.cached_and_evicted().0);
                let cached = cached.sum();
                let (positions, database) = (positions.collect(), self.protocol.database());
                let still_fills = self.caches.still_fill;
                let filled = Filled { key, nodes, cached, positions, database, still_fills };
                material.fills.keep(filled);
            }
        }
        self.engine.ticks_from = SimTime::ZERO;
        self.resume_at(fill.until.saturating_since(SimTime::ZERO));
        self.clients_go_on(SimSpan::ZERO);
        Ok(())
    }

    /// Requests touch caches at their recorded times. Requests without times come at the mean rate of the
    /// others.
    fn touch_as_recorded(
        &mut self,
        until: SimTime,
        records_per_request: f64,
    ) -> Result<(), WhatIfError> {
        let span = until.saturating_since(SimTime::ZERO);
        let Chosen { positions: chosen, still_fills } =
            choose(self.engine.scenario, &self.instances, until);
        self.caches.still_fill = still_fills;
        let timed = chosen.iter().filter(|positions| !positions.is_empty());
        let mean =
            chosen.iter().map(Vec::len).sum::<usize>() as f64 / (timed.count() as f64).max(1.0);
        let gap = SimSpan::from_secs_f64(span.as_secs_f64() / mean.max(1.0));
        let mut chosen: Vec<_> = chosen.into_iter().map(Vec::into_iter).collect();
        let mut following = |instances: &mut [Instance], index: usize, after: SimTime| {
            if !instances[index].has_times() {
                return Some(after + gap);
            }
            instances[index].leave_out_to(chosen[index].next()?);
            instances[index].next_recorded()
        };
        let mut next: BinaryHeap<Reverse<(SimTime, usize)>> = BinaryHeap::new();
        for index in 0..self.instances.len() {
            let first = following(&mut self.instances, index, SimTime::ZERO);
            next.extend(first.map(|at| Reverse((at, index))));
        }
        let mut appends = self.appends_until(until, records_per_request);
        let mut touches = Touches::of(&self.engine);
        loop {
            let first = next.peek().map_or(until, |Reverse((at, _))| *at);
            let mut collect = |engine: &mut Engine, host, access: &Access| {
                touches.add(engine, host, access);
            };
            self.append_batches(&mut appends, first, until, &mut collect)?;
            let Some(Reverse((at, index))) = next.pop().filter(|_| first < until) else { break };
            self.work_goes_on(span)?;
            self.engine.skipped = at.saturating_since(SimTime::ZERO);
            if self.touch(index, &mut collect) {
                let following = following(&mut self.instances, index, at);
                next.extend(following.map(|at| Reverse((at, index))));
            }
        }
        touches.serve(&mut self.engine);
        Ok(())
    }

    /// The batches that the recorded run appended to the Activity DB before a time. Of these, the latest that
    /// are enough to overflow the cache are kept.
    fn appends_until(&self, until: SimTime, records_per_request: f64) -> Appends {
        let whole = until.saturating_since(SimTime::ZERO);
        let scenario = self.engine.scenario;
        let Some(cost) = &scenario.tracking.cost else { return Appends::new(until, whole, 0.0) };
        let requests: usize = self.instances.iter().map(|one| one.recorded_before(until)).sum();
        let bytes = requests as f64 * records_per_request * cost.record.get() as f64;
        let storage = scenario.host(cost.store).role.storage();
        let cache = storage.map_or(0.0, |storage| storage.cache.size.get() as f64);
        let appended = bytes.min(OVERFLOW * cache);
        let span = SimSpan::from_secs_f64(whole.as_secs_f64() * appended / bytes.max(1.0));
        let batches = appended / cost.batch.get().max(1) as f64;
        Appends::new(SimTime::ZERO + whole.saturating_sub(span), span, batches)
    }
}
