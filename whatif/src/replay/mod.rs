//! Model `replay`: the recorded requests pushed through a light queueing model of the changed cluster.
//!
//! The software of the system is its own: protocol, caches, flusher, I/O schedulers, placement. The
//! hardware is what was measured: processor costs, cable rates, disks' service times. Requests come
//! as they were recorded, at their own times or after completions, so hit rates, queues and
//! percentiles of the changed cluster come out, in the middle of the curve too.
//!
//! Left out: what TCP does after losses, the angle of platters.

mod agenda;
mod cpu;
mod instance;
mod links;
mod node;
mod pass;
mod protocol;
mod sample;
mod stream;
mod tally;
mod tracking;

use std::sync::Arc;

use foretell_algorithms::distribution::{Distribution, Place};
use foretell_algorithms::node::{FileAccess, NOBODY};
use foretell_algorithms::slab::Slab;
use foretell_ati::Resource;
use foretell_scenarios::model::Scenario;
use foretell_units::{Bytes, HostId, Op, Owner, Seed, SimSpan, SimTime, VolumeId};

use crate::disk::{Measurement, Taken};
use crate::error::WhatIfError;
use crate::observed::Streams;
use agenda::{Agenda, Event};
use cpu::Cpu;
use instance::Instance;
use links::{Links, Step};
use node::{Around, Node};
use pass::{Period, Plan, SETTLING};
use protocol::{Leg, Part, Request};
use tally::Busy;
use tally::Tally;
pub(crate) use tally::{Outcome, ResourceOutcome, WorkloadOutcome};
pub(crate) use tally::{Path, Usage};
use tracking::Tracking;

/// The leg of an access that nobody waits for.
const NOBODY_WAITS: u32 = u32::MAX;
/// What predictions draw from. The run's own seed is not known here; it is below 2^63, so the draws
/// are never the same.
const SEED: Seed = Seed(1 << 63 | 0x666f_7265);
/// Events of a replay, at the most, and for each request that is recorded: a request has some twenty
/// events, and a cluster that is a thousand times faster asks for a thousand times as many.
const MOST_EVENTS: (u64, u64) = (50_000_000, 20_000);
/// Requests outstanding in all, beyond which a cluster does not keep up.
const MOST_OUTSTANDING: usize = 1 << 20;

/// What is replayed.
pub(crate) struct Material<'a> {
    /// The changed cluster.
    pub(crate) scenario: &'a Scenario,
    /// By workload.
    pub(crate) requests: &'a [Streams],
    /// By workload: how much later recorded times come now.
    pub(crate) stretch: &'a [f64],
    /// By host and disk.
    pub(crate) measured: &'a [Vec<Arc<Measurement>>],
}

#[derive(Default)]
struct Scratch {
    nodes: Vec<u32>,
    places: Vec<Place>,
    chosen: Vec<u8>,
    ready: Vec<u32>,
    served: Vec<node::Served>,
    steps: links::Steps,
}

/// A replay under way.
struct Replay<'a> {
    scenario: &'a Scenario,
    now: SimTime,
    agenda: Agenda,
    distributions: Vec<Distribution>,
    cpus: Vec<Cpu>,
    /// The host and core that have just done a step of a task; what that brings is being worked out.
    in_hand: Option<(u32, u32)>,
    links: Links,
    nodes: Vec<Option<Node>>,
    instances: Vec<Instance>,
    requests: Slab<Request>,
    parts: Slab<Part>,
    legs: Slab<Leg>,
    tracking: Tracking,
    database: Bytes,
    /// Its size when the last stretch of detail began.
    database_before: Bytes,
    tallies: Vec<Tally>,
    scratch: Scratch,
    /// By workload, host and resource: what was used while it was measured.
    usage: Vec<Vec<Vec<Usage>>>,
    /// By workload: what requests themselves waited for.
    paths: Vec<Path>,
    active: usize,
    mark_at: SimTime,
    /// While time is passed over: no flusher looks before.
    ticks_from: SimTime,
    /// Time that was passed over: [`Replay::now`] is that of what is replayed in detail.
    skipped: SimSpan,
    /// Events so far, and at the most.
    events: (u64, u64),
    /// Requests that are recorded.
    recorded: u64,
    /// Since when measuring goes on, and busy times then.
    measuring: Option<(SimTime, Vec<Vec<Busy>>)>,
    measured: SimSpan,
    /// Busy times measured, by host and resource.
    busy: Vec<Vec<Busy>>,
}

/// Replays the requests on the changed cluster.
pub(crate) fn replay(material: &Material) -> Result<Outcome, WhatIfError> {
    let mut replay = Replay::new(material);
    replay.run(Plan::of(material))
}

impl<'a> Replay<'a> {
    fn new(material: &Material<'a>) -> Self {
        let scenario = material.scenario;
        let distributions: Vec<Distribution> = (0..)
            .zip(&scenario.volumes)
            .map(|(id, volume)| volume.distribution(VolumeId(id)).expect("it was checked"))
            .collect();
        let reserved = scenario.tracking.cost.as_ref().map_or(Bytes::ZERO, |cost| cost.buffer);
        let node = |(index, host): (usize, &foretell_scenarios::model::Host)| {
            let storage = host.role.storage()?;
            let id = HostId::from(index);
            let volumes = scenario.volumes.iter().zip(&distributions);
            let mut files: Vec<Bytes> = volumes
                .map(|(volume, distribution)| {
                    let holds = volume.nodes.contains(&id);
                    if holds { distribution.file_size(volume.size) } else { Bytes::ZERO }
                })
                .collect();
            files.push(Bytes::ZERO);
            let owner = Owner::new(SEED, host.name.clone());
            Some(Node::new(storage, &files, reserved, &material.measured[index], &owner))
        };
        let nodes = scenario.hosts.iter().enumerate().map(node).collect();
        let instances = Instance::all(material);
        let streams = material.requests.iter().flat_map(|streams| &streams.of_clients);
        let recorded = streams.map(|stream| stream.len() as u64).sum();
        let mark_at = SimTime::ZERO + scenario.warmup;
        let resources = |host: &foretell_scenarios::model::Host| {
            Resource::BESIDE_DISKS + host.role.storage().map_or(0, |storage| storage.disks.len())
        };
        let unused: Vec<Vec<Usage>> =
            scenario.hosts.iter().map(|host| vec![Usage::default(); resources(host)]).collect();
        let idle = unused.iter().map(|host| vec![Busy::default(); host.len()]).collect();
        Self {
            now: SimTime::ZERO,
            agenda: Agenda::default(),
            cpus: scenario
                .hosts
                .iter()
                .map(|host| Cpu::new(host.cpu.cores, host.cpu.quantum, host.cpu.context_switch))
                .collect(),
            in_hand: None,
            links: Links::new(&scenario.hosts, &scenario.switch),
            nodes,
            active: instances.len(),
            instances,
            requests: Slab::new(),
            parts: Slab::new(),
            legs: Slab::new(),
            tracking: Tracking::new(scenario),
            database: Bytes::ZERO,
            database_before: Bytes::ZERO,
            tallies: scenario.workloads.iter().map(|_| Tally::default()).collect(),
            scratch: Scratch::default(),
            usage: vec![unused; scenario.workloads.len()],
            paths: vec![Path::default(); scenario.workloads.len()],
            busy: idle,
            ticks_from: SimTime::ZERO,
            skipped: SimSpan::ZERO,
            events: (0, MOST_EVENTS.0.saturating_add(MOST_EVENTS.1.saturating_mul(recorded))),
            recorded,
            measuring: None,
            measured: SimSpan::ZERO,
            distributions,
            mark_at,
            scenario,
        }
    }

    fn run(&mut self, plan: Option<Plan>) -> Result<Outcome, WhatIfError> {
        for instance in 0..self.instances.len() as u32 {
            self.begin(instance);
        }
        let Some(plan) = plan else {
            self.go_until(Some(self.mark_at))?;
            self.mark();
            self.begin_measuring();
            // a scenario without an end goes on until every request is done
            let end = self.scenario.duration.map(|duration| self.mark_at + duration);
            self.go_until(end)?;
            self.end_measuring();
            return Ok(self.outcome());
        };
        let mut marked = false;
        for Period { detail, passed_over, measured } in plan.0 {
            if measured && !marked {
                self.mark();
                marked = true;
            }
            let from = self.now;
            let settled = from + detail / SETTLING;
            self.go_until(Some(settled))?;
            for instance in &mut self.instances {
                instance.issued = 0;
            }
            self.database_before = self.database;
            if measured {
                self.begin_measuring();
            }
            self.go_until(Some(from + detail))?;
            if measured {
                self.end_measuring();
            }
            self.pass_over(passed_over, detail - detail / SETTLING)?;
        }
        Ok(self.outcome())
    }

    /// Replays in detail up to a time, or until all requests are done.
    fn go_until(&mut self, end: Option<SimTime>) -> Result<(), WhatIfError> {
        loop {
            let next = self.agenda.next_at();
            let over = end.is_none() && self.active == 0 && self.requests.is_empty();
            if over || next.is_none_or(|next| end.is_some_and(|end| next >= end)) {
                break;
            }
            let Some((at, event)) = self.agenda.next() else { break };
            self.work_goes_on(end.map_or(SimSpan::MAX, |end| end.saturating_since(SimTime::ZERO)))?;
            self.now = at;
            self.dispatch(event);
            while let Some(host) = self.tracking.next_due() {
                self.ship_records(host);
            }
            if self.requests.len() > MOST_OUTSTANDING {
                let workload = self.requests.places().next().map_or(0, |request| request.instance);
                let workload = self.instances[workload as usize].workload as usize;
                let workload = self.scenario.workloads[workload].name.clone();
                return Err(WhatIfError::Overload { workload });
            }
        }
        if let Some(end) = end {
            self.now = end;
        }
        Ok(())
    }

    /// Counts an event on the way to a time; errors if there are more than a run of so many requests has.
    fn work_goes_on(&mut self, until: SimSpan) -> Result<(), WhatIfError> {
        self.events.0 += 1;
        if self.events.0 <= self.events.1 {
            return Ok(());
        }
        let at = self.now.saturating_since(SimTime::ZERO) + self.skipped;
        Err(WhatIfError::Endless { events: self.events.0, requests: self.recorded, at, until })
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Issue { instance } => self.issue(instance),
            Event::Slice { host, core } => self.slice_ends(host, core),
            Event::Prepared { request } => self.send_out(request),
            Event::Sent { leg } => self.transmit(leg),
            Event::Network(Step::Arrived { message }) => self.deliver(message),
            Event::Network(step) => {
                let mut steps = std::mem::take(&mut self.scratch.steps);
                self.links.step(self.now, step, &mut steps);
                self.take(steps);
            }
            Event::Serve { leg } => self.serve(leg),
            Event::Replied { leg } => self.replied(leg),
            Event::Decoded { request } => self.decoded(request),
            Event::StoreRecords { leg } => self.store_records(leg),
            Event::Disk { host, disk } => self.disk(host, disk),
            Event::Tick { host } => {
                let (node, mut around) = self.node(host);
                node.tick(&mut around);
            }
        }
    }

    fn node(&mut self, host: u32) -> (&mut Node, Around<'_>) {
        self.node_if_any(host).expect("storage nodes have storage")
    }

    /// What a host stores with, if it is a node.
    fn node_if_any(&mut self, host: u32) -> Option<(&mut Node, Around<'_>)> {
        let node = self.nodes[host as usize].as_mut()?;
        let around = Around {
            now: self.now,
            skipped: self.skipped,
            host,
            agenda: &mut self.agenda,
            tracking: &mut self.tracking,
        };
        Some((node, around))
    }

    fn access(&mut self, host: u32, access: &FileAccess) -> u32 {
        let (node, mut around) = self.node(host);
        node.access(&mut around, access)
    }

    fn disk(&mut self, host: u32, disk: u32) {
        let mut ready = std::mem::take(&mut self.scratch.ready);
        let mut served = std::mem::take(&mut self.scratch.served);
        let (node, mut around) = self.node(host);
        node.disk(&mut around, disk, &mut ready, &mut served);
        for served in served.drain(..) {
            let Taken { service, work, alone } = served.taken;
            self.charge(
                host,
                Resource::Disk(disk),
                served.workload,
                Busy { seen: service, worked: work },
            );
            if self.measuring.is_some() && served.workload != NOBODY && served.op == Op::Read {
                let place = Resource::Disk(disk).index();
                let usage = &mut self.usage[served.workload as usize][host as usize][place];
                usage.reading += alone;
                usage.reads += 1;
            }
        }
        self.scratch.served = served;
        for leg in ready.drain(..).filter(|leg| *leg != NOBODY_WAITS) {
            let awaiting = &mut self.legs[leg].awaiting;
            *awaiting -= 1;
            if *awaiting > 0 {
                continue;
            }
            if self.legs[leg].is_records() {
                self.legs.remove(leg);
            } else {
                self.answer(leg);
            }
        }
        self.scratch.ready = ready;
    }

    /// A workload has used a resource.
    fn charge(&mut self, host: u32, resource: Resource, workload: u32, busy: impl Into<Busy>) {
        if self.measuring.is_some() && workload != NOBODY {
            self.usage[workload as usize][host as usize][resource.index()].add(busy.into());
        }
    }

    /// The warm-up is over.
    fn mark(&mut self) {
        for node in self.nodes.iter_mut().flatten() {
            node.software.mark();
        }
    }

    /// What is replayed from now on counts.
    fn begin_measuring(&mut self) {
        self.measuring = Some((self.now, self.busy_so_far()));
    }

    fn end_measuring(&mut self) {
        let Some((from, before)) = self.measuring.take() else { return };
        self.measured += self.now.saturating_since(from);
        let after = self.busy_so_far();
        for (host, (before, after)) in before.iter().zip(&after).enumerate() {
            for (place, (before, after)) in before.iter().zip(after).enumerate() {
                let sum = &mut self.busy[host][place];
                sum.seen += after.seen.saturating_sub(before.seen);
                sum.worked += after.worked.saturating_sub(before.worked);
            }
        }
    }

    /// A request is done.
    fn complete(&mut self, id: u32) {
        let Request { instance, op, size, issued, .. } = *self.requests.remove(id);
        let owner = &self.instances[instance as usize];
        let (client, workload) = (owner.client, owner.workload as usize);
        self.tracking.post(client, foretell_ati::RecordKind::Request);
        if self.measuring.is_some() {
            self.tallies[workload].completed(self.now, issued, op, size);
        }
        self.follow_up(instance);
    }

    /// Busy time of every resource so far, by host.
    fn busy_so_far(&self) -> Vec<Vec<Busy>> {
        (0..self.scenario.hosts.len())
            .map(|host| {
                let (sent, received) = self.links.busy(host, self.now);
                let busy = [self.cpus[host].busy(self.now), sent, received];
                let mut busy: Vec<Busy> = busy.map(Busy::from).into();
                if let Some(node) = &self.nodes[host] {
                    let disks = node.disks.iter();
                    busy.extend(
                        disks.map(|disk| Busy { seen: disk.busy(), worked: disk.worked() }),
                    );
                }
                busy
            })
            .collect()
    }

    fn outcome(&self) -> Outcome {
        let seconds = self.measured.as_secs_f64().max(1e-9);
        let mut resources = Vec::new();
        for (host, busy) in self.busy.iter().enumerate() {
            for (place, busy) in busy.iter().enumerate() {
                let servers = if place == 0 { self.cpus[host].count() } else { 1 };
                let part = |of: SimSpan| of.as_secs_f64() / seconds / servers as f64;
                let (utilization, occupancy) = (part(busy.seen), part(busy.worked));
                resources.push(ResourceOutcome { host, place, servers, utilization, occupancy });
            }
        }
        let workloads = self.tallies.iter().enumerate().map(|(index, tally)| {
            let nodes = self.nodes.iter().flatten();
            let (pages, hits) = nodes
                .map(|node| node.software.hits().of(index))
                .fold((0, 0), |(pages, hits), (p, h)| (pages + p, hits + h));
            let hit_rate = (pages > 0).then(|| hits as f64 / pages as f64);
            let clients = self.instances.iter().filter(|one| one.workload as usize == index);
            let thinking: Vec<f64> =
                clients.map(|client| client.mean_think().as_secs_f64()).collect();
            let think_s = thinking.iter().sum::<f64>() / (thinking.len() as f64).max(1.0);
            let usage = self.usage[index].clone();
            tally.outcome(seconds, hit_rate, usage, self.paths[index], think_s)
        });
        Outcome { workloads: workloads.collect(), resources, seconds }
    }
}
