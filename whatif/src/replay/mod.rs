//! Model `replay`: replays the recorded requests in a queueing model of the changed cluster.
//!
//! The software of the storage system is the same as in the simulator: protocol, caches, flusher, I/O
//! schedulers, placement. The hardware is modelled from measurements: processor costs, link rates, service
//! times of disks. Requests come as recorded, at their recorded times or after completions. So the replay
//! gives hit rates, queues and percentiles of the changed cluster, at moderate load as well as at full load.
//!
//! Left out: TCP's behaviour after losses; the angle of platters, except for commands that the drive holds and for
//! places near the end of the last operation.

mod agenda;
mod cpu;
mod creation;
mod disks;
mod engine;
mod fill;
mod fill_requests;
mod instance;
mod links;
mod node;
mod outages;
mod pass;
mod sample;
mod stream;
mod tally;
mod touches;
mod tracking;

use std::sync::Arc;

use foretell_algorithms::bandwidth::Limit;
use foretell_algorithms::node::NO_CLIENT;
use foretell_ati::Resource;
use foretell_scenarios::model::{Host, Scenario, Scrub};
use foretell_systems::{
    Adapters, Continuation, Done, Issue, NO_EXCHANGE, Protocol, Software, Timer,
};
use foretell_units::{Bytes, HostId, Op, Owner, Seed, SimSpan, SimTime};

use crate::answer::Overload;
use crate::caches::CacheRecords;
use crate::disk::{self, Measurement, Taken};
use crate::error::WhatIfError;
use crate::observed::Streams;
use agenda::{Agenda, Event};
use cpu::Cpu;
use disks::{Disks, Tag};
use engine::Engine;
pub(crate) use fill::KeptFills;
use instance::Instance;
use links::{LinkStep, Links};
use node::Node;
use outages::Outages;
pub(crate) use outages::{OutageOutcome, PhaseWorkloadOutcome};
pub(crate) use pass::Detail;
use pass::{Period, Plan, SETTLING};
use tally::Busy;
use tally::Tally;
pub use tally::falls_behind;
pub(crate) use tally::{Outcome, ResourceOutcome, WorkloadOutcome};
pub(crate) use tally::{Path, Usage};
use tracking::Tracking;

/// Seed of all draws in predictions. The seed of the run is not known here. It is below 2^63, so the draws
/// always differ from those of the run.
pub(crate) const SEED: Seed = Seed(1 << 63 | 0x666f_7265);
/// Maximum number of events of a replay: a fixed number, plus a number for each recorded request. A request
/// has about twenty events, and a cluster that is a thousand times as fast issues a thousand times as many
/// requests.
const MAX_EVENTS: (u64, u64) = (50_000_000, 20_000);
/// Maximum number of events for each chunk that scrubbers may read.
const MAX_EVENTS_PER_CHUNK: u64 = 1000;
/// Total number of outstanding requests above which a cluster does not keep up.
const MAX_OUTSTANDING: usize = 1 << 20;

/// The input of a replay.
pub(crate) struct Material<'a> {
    /// The changed cluster.
    pub(crate) scenario: &'a Scenario,
    /// By workload.
    pub(crate) requests: &'a [Streams],
    /// Records that each request leaves in the Activity DB.
    pub(crate) records_per_request: f64,
    /// By workload: the factor by which recorded times are stretched.
    pub(crate) stretch: &'a [f64],
    /// By host and disk.
    pub(crate) measured: &'a [Vec<Arc<Measurement>>],
    /// How much of the run is replayed in detail.
    pub(crate) detail: Detail,
    /// Fills of caches from earlier questions.
    pub(crate) fills: &'a KeptFills,
}

/// A replay in progress.
struct Replay<'a> {
    protocol: Protocol,
    engine: Engine<'a>,
    instances: Vec<Instance>,
    tallies: Vec<Tally>,
    /// By workload: requests issued and completed since the beginning.
    so_far: Vec<(u64, u64)>,
    ready: Vec<u32>,
    finished: Vec<(Tag, disk::Done)>,
    /// Size of the Activity DB's file when the last detailed stretch began.
    database_before: Bytes,
    active: usize,
    mark_at: SimTime,
    /// Number of events so far, and its maximum.
    events: (u64, u64),
    /// Number of recorded requests.
    recorded: u64,
    /// When the measured time began, and busy times then.
    measuring: Option<(SimTime, Vec<Vec<Busy>>)>,
    /// By workload: number of hedged reads before the measured time. Empty if there are none.
    hedges_before: Vec<u64>,
    /// Bytes read by scrubbers: in the measured time so far, and before its current part.
    scrubbed: (u64, u64),
    caches: Caches,
    measured: SimSpan,
    /// Busy times measured, by host and resource.
    busy: Vec<Vec<Busy>>,
    /// Present in a scenario with events.
    outages: Option<Box<Outages<'a>>>,
}

/// What the caches of nodes do in the measured time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Caches {
    pub(crate) posted: CacheRecords,
    /// Records posted before the current part of the measured time.
    before: CacheRecords,
    /// Whether caches were still filling when the first short stretch began.
    pub(crate) still_fill: bool,
}

/// Replays the requests on the changed cluster.
pub(crate) fn replay(material: &Material) -> Result<Outcome, WhatIfError> {
    let mut replay = Replay::new(material)?;
    replay.create_files(material);
    replay.run(material, Plan::of(material))
}

impl<'a> Replay<'a> {
    fn new(material: &Material<'a>) -> Result<Self, WhatIfError> {
        let scenario = material.scenario;
        // the records do not show when hosts started their timers
        let clocks = |id: HostId| Owner::new(SEED, scenario.host(id).name.clone()).spread(id.0);
        let protocol = Protocol::new(scenario, &clocks).map_err(|error| WhatIfError::Refused {
            change: format!("volume.{}", error.volume),
            reason: error.reason,
        })?;
        let reserved = scenario.tracking.cost.as_ref().map_or(Bytes::ZERO, |cost| cost.buffer);
        let node = |(index, host): (usize, &Host)| {
            let storage = host.role.storage()?;
            let id = HostId::from(index);
            let owner = clocks(id);
            let software = Software::of(scenario, id, protocol.volumes(), reserved, &owner)?;
            let place = host.machine.map_or(0, |machine| machine.place);
            Some(Node::new(storage, place, software))
        };
        let nodes = scenario.hosts.iter().enumerate().map(node).collect();
        let hosts = (0..scenario.hosts.len()).map(HostId::from);
        let machines: Vec<HostId> = hosts.map(|host| protocol.machine(host)).collect();
        // by host: the host that owns the link and the disks of its machine
        let owner = |(host, id): (&Host, &HostId)| host.machine.map_or(*id, |machine| machine.host);
        let owners: Vec<HostId> = scenario.hosts.iter().zip(&machines).map(owner).collect();
        let disks = |(index, host): (usize, &Host)| {
            let id = HostId::from(index);
            let storage = host.role.storage().filter(|_| owners[index] == id);
            let measured = &material.measured[index];
            storage
                .map_or_else(Disks::default, |storage| Disks::new(storage, measured, &clocks(id)))
        };
        let disks = scenario.hosts.iter().enumerate().map(disks).collect();
        let limit =
            |host: &Host| host.machine.and_then(|machine| machine.bandwidth).map(Limit::new);
        let instances = Instance::all(material);
        let streams = material.requests.iter().flat_map(|streams| &streams.of_clients);
        let recorded = streams.map(|stream| stream.len() as u64).sum();
        let mark_at = SimTime::ZERO + scenario.warmup;
        let resources = |host: &Host| {
            Resource::BESIDE_DISKS
                + host.role.storage().map_or(0, foretell_scenarios::model::Storage::device_count)
        };
        let unused: Vec<Vec<Usage>> =
            scenario.hosts.iter().map(|host| vec![Usage::default(); resources(host)]).collect();
        let idle = unused.iter().map(|host| vec![Busy::default(); host.len()]);
        let racks = scenario.uplinks.iter().flat_map(|uplinks| &uplinks.racks);
        let idle = idle.chain(racks.map(|_| vec![Busy::default(); 2])).collect();
        let cpu = |host: &Host| {
            let Host { cpu, .. } = host;
            Cpu::new(cpu.cores, cpu.quantum, cpu.context_switch).with_smt(cpu.smt)
        };
        let adapters = Adapters::of(scenario);
        let engine = Engine {
            scenario,
            now: SimTime::ZERO,
            skipped: SimSpan::ZERO,
            left_out: SimSpan::ZERO,
            ticks_from: SimTime::ZERO,
            agenda: Agenda::default(),
            machines,
            cpus: scenario.hosts.iter().map(cpu).collect(),
            in_hand: None,
            waking: false,
            links: Links::new(
                adapters.nics(),
                &adapters.links(owners),
                &scenario.switch,
                adapters.uplinks(scenario.uplinks.as_ref()).as_ref(),
            ),
            adapters,
            limits: scenario.hosts.iter().map(limit).collect(),
            nodes,
            disks,
            choosing: instances.iter().map(|instance| instance.choosing.clone()).collect(),
            tracking: Tracking::new(scenario),
            usage: vec![unused; scenario.workloads.len()],
            paths: vec![Path::default(); scenario.workloads.len()],
            measuring: false,
            steps: Vec::new(),
            slow: Vec::new(),
            cut_off: Vec::new(),
        };
        Ok(Self {
            outages: Outages::of(&engine, mark_at),
            protocol,
            engine,
            active: instances.len(),
            instances,
            so_far: vec![(0, 0); scenario.workloads.len()],
            tallies: scenario.workloads.iter().map(|_| Tally::default()).collect(),
            ready: Vec::new(),
            finished: Vec::new(),
            database_before: Bytes::ZERO,
            busy: idle,
            events: (0, most_events(scenario, recorded)),
            recorded,
            measuring: None,
            hedges_before: Vec::new(),
            scrubbed: (0, 0),
            caches: Caches::default(),
            measured: SimSpan::ZERO,
            mark_at,
        })
    }

    fn run(&mut self, material: &Material, plan: Option<Plan>) -> Result<Outcome, WhatIfError> {
        if let Some(fill) = plan.as_ref().and_then(|plan| plan.fill) {
            self.fill(material, fill)?;
        }
        for instance in 0..self.instances.len() as u32 {
            self.begin(instance);
        }
        self.protocol.begin(&mut self.engine);
        self.schedule_events();
        let Some(plan) = plan else {
            self.go_until(Some(self.mark_at))?;
            self.mark();
            self.begin_measuring();
            // a scenario without an end lasts until every request is done
            let end = self.engine.scenario.duration.map(|duration| self.mark_at + duration);
            self.go_until(end)?;
            self.end_measuring();
            return Ok(self.outcome());
        };
        let leaves_out = plan.fill.is_some();
        let mut marked = false;
        for Period { detail, passed_over, measured } in plan.periods {
            if measured && !marked {
                self.mark();
                marked = true;
            }
            let from = self.engine.now;
            let settled = from + detail / SETTLING;
            self.go_until(Some(settled))?;
            for instance in &mut self.instances {
                instance.issued = 0;
            }
            let now = self.engine.now;
            self.engine.disks.iter_mut().flat_map(Disks::iter_mut).for_each(|disk| disk.mark(now));
            self.database_before = self.protocol.database();
            if measured {
                self.begin_measuring();
            }
            self.go_until(Some(from + detail))?;
            if measured {
                self.end_measuring();
            }
            let counted = detail - detail / SETTLING;
            if leaves_out {
                self.leave_out(passed_over, counted);
            } else {
                self.pass_over(passed_over, counted)?;
            }
        }
        Ok(self.outcome())
    }

    /// Replays in detail until a time, or until all requests are done.
    fn go_until(&mut self, end: Option<SimTime>) -> Result<(), WhatIfError> {
        loop {
            let next = self.engine.agenda.next_at();
            let over = end.is_none() && self.active == 0 && self.protocol.requests().is_empty();
            if over || next.is_none_or(|next| end.is_some_and(|end| next >= end)) {
                break;
            }
            let Some((at, event)) = self.engine.agenda.next() else { break };
            self.work_goes_on(end.map_or(SimSpan::MAX, |end| end.saturating_since(SimTime::ZERO)))?;
            self.engine.now = at;
            self.dispatch(event);
            self.look_at_health();
            while let Some(host) = self.engine.tracking.next_due() {
                self.ship_records(host);
            }
            let requests = self.protocol.requests();
            if requests.len() > MAX_OUTSTANDING {
                return Err(self.overload());
            }
        }
        if let Some(end) = end {
            self.engine.now = end;
        }
        Ok(())
    }

    /// Too many requests are outstanding. Names the workload with the most, and the busiest resource.
    fn overload(&self) -> WhatIfError {
        let (most, (issued, completed)) = (self.so_far.iter().enumerate())
            .max_by_key(|(_, (issued, completed))| issued.saturating_sub(*completed))
            .map_or((0, (0, 0)), |(most, counts)| (most, *counts));
        let scenario = self.engine.scenario;
        let (cpus, busy) = (&self.engine.cpus, self.busy_so_far());
        let busy = busy.iter().enumerate().flat_map(|(host, busy)| {
            let cpu = cpus.get(host).map_or(1, Cpu::count);
            let servers = move |place| if place == 0 { cpu } else { 1 };
            let share = move |(place, busy): (usize, &Busy)| {
                (busy.worked.as_secs_f64() / servers(place) as f64, host, place)
            };
            busy.iter().enumerate().map(share)
        });
        let busiest = busy.max_by(|a, b| a.0.total_cmp(&b.0));
        let resource =
            busiest.map_or_else(String::new, |(_, host, place)| match scenario.hosts.get(host) {
                Some(host) => format!("{}.{}", host.name, Resource::at(place)),
                None => uplink_name(scenario, host - scenario.hosts.len(), place).join("."),
            });
        let factor = issued as f64 / (completed as f64).max(1.0);
        let workload = scenario.workloads[most].name.clone();
        WhatIfError::Overload { workload, overload: Overload { resource, factor } }
    }

    /// Counts an event before the time `until`. Returns an error if there are more events than a run with
    /// this number of requests can have.
    fn work_goes_on(&mut self, until: SimSpan) -> Result<(), WhatIfError> {
        self.events.0 += 1;
        if self.events.0 <= self.events.1 {
            return Ok(());
        }
        let at = self.engine.time_of_clients().saturating_since(SimTime::ZERO);
        Err(WhatIfError::Endless { events: self.events.0, requests: self.recorded, at, until })
    }

    fn dispatch(&mut self, event: Event) {
        let Self { protocol, engine, .. } = self;
        match event {
            Event::Issue { instance } => return self.issue(instance),
            Event::Slice { host, core } => return self.slice_ends(HostId(host), core),
            Event::Network(LinkStep::Arrived { message: exchange })
            | Event::Delivered { exchange } => {
                let at = engine.let_in_at(&protocol.exchanges()[exchange]);
                if at > engine.now {
                    engine.agenda.schedule(at, Event::LetIn { exchange });
                } else {
                    protocol.delivered(engine, exchange);
                }
            }
            Event::LetOut { exchange } => engine.put_on_link(protocol.exchanges(), exchange),
            Event::LetIn { exchange } => protocol.delivered(engine, exchange),
            Event::Network(step) => {
                let mut steps = std::mem::take(&mut engine.steps);
                engine.links.step(engine.now, step, &mut steps);
                engine.take(steps);
            }
            Event::Timer(timer @ Timer::Journal { host }) => {
                let journal = self.journal_of(HostId(host));
                self.protocol.timer(&mut self.engine, timer, Some(journal));
            }
            Event::Timer(timer) => protocol.timer(engine, timer, None),
            Event::Disk { host, disk } => self.disk(HostId(host), disk),
            Event::Tick { host }
                if protocol.is_down(HostId(host)) && !engine.cut_off.contains(&HostId(host)) => {}
            Event::Tick { host } => {
                if let Some((node, mut around)) = engine.node(host) {
                    node.tick(&mut around);
                }
            }
            Event::Happens { number } => self.happens(number),
        }
        self.complete_all();
    }

    /// The slice of a core ends. If a step of a task is done, the same thread continues with what
    /// follows and keeps its core.
    fn slice_ends(&mut self, host: HostId, core: u32) {
        let end = self.engine.slice_ends(host, core);
        match end.done {
            Some(Continuation::Load { number }) => self.issue(number),
            Some(then) => self.protocol.resume(&mut self.engine, then),
            None => {}
        }
        self.complete_all();
        self.engine.go_on(host, core, &end);
    }

    /// Handles completed requests.
    fn complete_all(&mut self) {
        while let Some(done) = self.protocol.take_done(&mut self.engine) {
            self.complete(&done);
        }
    }

    fn ship_records(&mut self, host: u32) {
        let cost = self.engine.tracking.cost().expect("only what costs is shipped");
        let (store, batch) = (cost.store, cost.batch);
        self.protocol.ship_records(&mut self.engine, HostId(host), store, batch);
    }

    /// A call of a machine's disk is due.
    fn disk(&mut self, machine: HostId, disk: u32) {
        let mut ready = std::mem::take(&mut self.ready);
        let mut finished = std::mem::take(&mut self.finished);
        let engine = &mut self.engine;
        let disks = &mut engine.disks[machine.index()];
        disks.complete(engine.now, &mut engine.agenda, machine.0, disk, &mut finished);
        for (Tag { host, number }, done) in finished.drain(..) {
            let (node, mut around) = engine.node(host).expect("it has asked a disk");
            let done = disk::Done { number, ..done };
            let served = node.disk_done(&mut around, done, &mut ready);
            let Taken { service, work, alone } = served.taken;
            let busy = Busy { seen: service, worked: work };
            engine.charge(machine, Resource::Disk(disk), served.workload, busy);
            if engine.measuring && served.workload != NO_CLIENT && served.op == Op::Read {
                let place = Resource::Disk(disk).index();
                let usage = &mut engine.usage[served.workload as usize][machine.index()][place];
                usage.reading += alone;
                usage.reads += 1;
            }
        }
        self.finished = finished;
        for exchange in ready.drain(..).filter(|exchange| *exchange != NO_EXCHANGE) {
            self.protocol.stored(&mut self.engine, exchange);
        }
        self.ready = ready;
    }

    /// The warm-up ends.
    fn mark(&mut self) {
        for node in self.engine.nodes.iter_mut().flatten() {
            node.software.mark();
        }
    }

    /// Starts to count.
    fn begin_measuring(&mut self) {
        self.measuring = Some((self.engine.now, self.busy_so_far()));
        self.hedges_before = self.protocol.hedges().to_vec();
        self.scrubbed.1 = self.protocol.scrubbed().unwrap_or_default().bytes;
        self.caches.before = self.posted_by_caches();
        self.engine.measuring = true;
    }

    /// Records that the caches of nodes have posted so far.
    fn posted_by_caches(&self) -> CacheRecords {
        let mut all = CacheRecords::default();
        self.engine.nodes.iter().flatten().for_each(|node| all += node.posted);
        all
    }

    fn end_measuring(&mut self) {
        let Some((from, before)) = self.measuring.take() else { return };
        self.engine.measuring = false;
        self.measured += self.engine.now.saturating_since(from);
        let scrubbed = self.protocol.scrubbed().unwrap_or_default().bytes;
        self.scrubbed.0 += scrubbed - self.scrubbed.1;
        self.caches.posted += self.posted_by_caches() - self.caches.before;
        let after = self.busy_so_far();
        for (host, (before, after)) in before.iter().zip(&after).enumerate() {
            for (place, (before, after)) in before.iter().zip(after).enumerate() {
                let sum = &mut self.busy[host][place];
                sum.seen += after.seen.saturating_sub(before.seen);
                sum.worked += after.worked.saturating_sub(before.worked);
            }
        }
    }

    /// A request completes.
    fn complete(&mut self, done: &Done) {
        if done.is_journal {
            return;
        }
        let Issue { instance, workload, op, size, .. } = done.issue;
        self.so_far[workload as usize].1 += 1;
        self.note_end(done);
        if self.measuring.is_some() && !done.failed {
            let tally = &mut self.tallies[workload as usize];
            tally.completed(self.engine.now, done.issued, op, size);
        }
        self.follow_up(instance);
    }

    /// Busy time of every resource so far, by host; then that of uplinks, by rack.
    fn busy_so_far(&self) -> Vec<Vec<Busy>> {
        let Engine { scenario, links, now, .. } = &self.engine;
        let racks = scenario.uplinks.as_ref().map_or(0, |uplinks| uplinks.racks.len());
        let uplinks = (0..racks).map(|rack| links.uplink_busy(rack, *now).map(Busy::from).into());
        (0..scenario.hosts.len())
            .map(|host| {
                let links = &self.engine.links;
                let busy = |link| links.busy(link, self.engine.now);
                let second = self.engine.adapters.second(HostId::from(host));
                let (sent, received) = busy(host);
                let (sent_second, received_second) =
                    second.map_or_else(Default::default, |link| busy(link.index()));
                let cpu = self.engine.cpus[host].busy(self.engine.now);
                let busy = [cpu, sent, received, sent_second, received_second];
                let mut busy: Vec<Busy> = busy.map(Busy::from).into();
                busy.extend(self.engine.disks[host].busy());
                busy
            })
            .chain(uplinks)
            .collect()
    }

    fn outcome(&mut self) -> Outcome {
        let outages = self.outage_outcome();
        let seconds = self.measured.as_secs_f64().max(1e-9);
        let (hosts, racks) = self.busy.split_at(self.engine.scenario.hosts.len());
        let share = |busy: &Busy| busy.seen.as_secs_f64() / seconds;
        let uplinks = racks.iter().map(|busy| [share(&busy[0]), share(&busy[1])]).collect();
        let mut resources = Vec::new();
        for (host, busy) in hosts.iter().enumerate() {
            for (place, busy) in busy.iter().enumerate() {
                if !self.engine.has(host, Resource::at(place)) {
                    continue;
                }
                let servers = if place == 0 { self.engine.cpus[host].count() } else { 1 };
                let part = |of: SimSpan| of.as_secs_f64() / seconds / servers as f64;
                let (utilization, occupancy) = (part(busy.seen), part(busy.worked));
                resources.push(ResourceOutcome { host, place, servers, utilization, occupancy });
            }
        }
        let workloads = self.tallies.iter().enumerate().map(|(index, tally)| {
            let nodes = self.engine.nodes.iter().flatten();
            let (pages, hits) = nodes
                .map(|node| node.software.hits().of(index))
                .fold((0, 0), |(pages, hits), (p, h)| (pages + p, hits + h));
            let hit_rate = (pages > 0).then(|| hits as f64 / pages as f64);
            let clients = self.instances.iter().filter(|one| one.workload as usize == index);
            let thinking: Vec<f64> =
                clients.map(|client| client.mean_think().as_secs_f64()).collect();
            let think_s = thinking.iter().sum::<f64>() / (thinking.len() as f64).max(1.0);
            let usage = self.engine.usage[index].clone();
            let mut found =
                tally.outcome(seconds, hit_rate, usage, self.engine.paths[index], think_s);
            let scenario = self.engine.scenario;
            if scenario.volume(scenario.workloads[index].volume).hedge.is_some() {
                // runs with hedged reads are replayed in full detail and measured in one piece
                let hedges = self.protocol.hedges()[index];
                found.hedges = Some(hedges - self.hedges_before[index]);
            }
            found
        });
        let workloads = workloads.collect();
        let scrub_bytes_per_s = self
            .protocol
            .scrubbed()
            .map(|scrubbed| self.scrubbed.0 as f64 / seconds / (scrubbed.disks as f64).max(1.0));
        let caches = self.caches;
        Outcome { workloads, resources, uplinks, seconds, outages, scrub_bytes_per_s, caches }
    }
}

/// Maximum number of events of a replay of that many recorded requests.
fn most_events(scenario: &Scenario, recorded: u64) -> u64 {
    let (always, for_each) = MAX_EVENTS;
    let chunks = scenario.scrub.map_or(0.0, |Scrub { rate, chunk }| {
        let seconds = scenario.duration.map_or(0.0, SimSpan::as_secs_f64);
        let seconds = seconds + scenario.warmup.as_secs_f64();
        let storage = scenario.hosts.iter().filter_map(|host| host.role.storage());
        let disks: usize = storage.map(|storage| storage.disks.len()).sum();
        seconds / rate.time_for(chunk).as_secs_f64().max(1e-9) * disks as f64
    });
    let of_chunks = (chunks as u64).saturating_mul(MAX_EVENTS_PER_CHUNK);
    always.saturating_add(for_each.saturating_mul(recorded)).saturating_add(of_chunks)
}

/// The rack and the name of one direction of its uplink: to the core, and from it.
pub(crate) fn uplink_name(scenario: &Scenario, rack: usize, direction: usize) -> [String; 2] {
    let racks = scenario.uplinks.as_ref().map_or(&[][..], |uplinks| &uplinks.racks);
    let rack = racks.get(rack).map_or(String::new(), |rack| rack.name.clone());
    [rack, ["uplink_transmit", "uplink_receive"][direction].to_owned()]
}
