//! The cluster: hosts, network and requests, moved by events.
//!
//! A node owns its cache and disks and a host its processor; this module passes time between them.
//! What a client does with a request is in `protocol`.

use std::ops::ControlFlow;
use std::sync::Arc;

use foretell_algorithms::codec;
use foretell_algorithms::distribution::Distribution;
use foretell_ati::{Recorder, Resource};
use foretell_scenarios::device;
use foretell_scenarios::model::{self, CpuProfile, Payload, Scenario, System};
use foretell_units::{Bytes, HostId, Owner, Seed, SimSpan, SimTime, Stream, VolumeId};

use crate::agenda::Agenda;
use crate::bandwidth::Limit;
use crate::cpu::{Cpu, Slice};
use crate::device::Device;
use crate::error::SimError;
use crate::event::{Event, HostTask, Then};
use crate::exchange::{Leg, LegKind};
use crate::guest::Guest;
use crate::intervals::Intervals;
use crate::load::Instance;
use crate::metrics::Collectors;
use crate::network::{Network, Step};
use crate::node::{Node, Surroundings, Tag, call_disk};
use crate::objects::{Pool, Settings, Task};
use crate::payload::Vault;
use crate::program::Programs;
use crate::protocol::{Part, Request};
use crate::tally::Tally;
use crate::tracker::Tracker;
use crate::transaction::{JOURNAL, Transaction, TransactionTally};
use crate::truth::{self, Truth};
use foretell_algorithms::slab::Slab;

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The present of the simulation.
    pub now: SimTime,
    /// When it ends, if that is known.
    pub end: Option<SimTime>,
    /// Events so far.
    pub events: u64,
    /// Requests completed so far, the warm-up's included.
    pub requests: u64,
}

/// A cluster in the middle of a run.
pub struct Cluster {
    pub(crate) scenario: Scenario,
    pub(crate) agenda: Agenda<Event>,
    pub(crate) tracker: Tracker,
    pub(crate) network: Network,
    pub(crate) hosts: Vec<Host>,
    /// The machine and core that have just done a step of a task; what that brings is being worked out.
    in_hand: Option<(HostId, u32)>,
    /// By host; virtual machines have those of their physical one.
    pub(crate) disks: Vec<Vec<Device<Tag>>>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) programs: Programs,
    pub(crate) requests: Slab<Request>,
    pub(crate) transactions: Slab<Transaction>,
    /// Of a transaction that has ended, for the next one.
    pub(crate) spare_steps: Vec<foretell_workloads::transaction::Step>,
    pub(crate) parts: Slab<Part>,
    pub(crate) legs: Slab<Leg>,
    /// Of servers of objects.
    pub(crate) tasks: Slab<Task>,
    /// By host, for proxies of Swift: which of equal copies is read.
    pub(crate) shuffling: Vec<Stream>,
    /// By workload.
    pub(crate) tallies: Vec<Tally>,
    /// By workload; none where requests do not make transactions.
    pub(crate) transaction_tallies: Vec<Option<TransactionTally>>,
    pub(crate) last_breadcrumb: u64,
    pub(crate) last_completion: SimTime,
    /// Bytes that the Activity DB has taken.
    pub(crate) database_size: Bytes,
    pub(crate) vault: Option<Vault>,
    pub(crate) scratch: Scratch,
    /// Instances that will issue again.
    pub(crate) active: usize,
    pub(crate) failure: Option<SimError>,
    /// Where metrics are asked for.
    pub(crate) collectors: Option<Box<Collectors>>,
    /// When the next of them wakes; the end of time without.
    collect_at: SimTime,
    ready: Vec<u32>,
    /// Scratch: block operations that guests send.
    pub(crate) sending: Vec<u32>,
    /// Requests outstanding that write journals, which are nobody's.
    pub(crate) commits: u64,
    mark_at: SimTime,
    end_at: Option<SimTime>,
}

/// Vectors that are used again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) nodes: Vec<u32>,
    pub(crate) places: Vec<foretell_algorithms::distribution::Place>,
    pub(crate) chosen: Vec<u8>,
    pub(crate) legs: Vec<u32>,
}

/// A host: its processor, and a node's storage.
pub(crate) struct Host {
    /// Whose processor and adapter it has: its own, or of a guest those of the first one of its
    /// group.
    pub(crate) machine: HostId,
    /// Whose cable and disks a storage node has: its own, or of a virtual machine those of the first
    /// one on its physical machine.
    pub(crate) physical: HostId,
    /// Of a virtual machine whose bandwidth is limited.
    pub(crate) limit: Option<Limit>,
    pub(crate) guest: Option<Box<Guest>>,
    /// Shared by all hosts that have the same.
    pub(crate) profile: Arc<CpuProfile>,
    pub(crate) cpu: Cpu<Then>,
    pub(crate) node: Option<Node>,
}

/// A volume as the protocol sees it.
pub(crate) struct Volume {
    pub(crate) distribution: Distribution,
    /// Where servers place objects; none: clients place fragments.
    pub(crate) pool: Option<Pool>,
    pub(crate) cipher: codec::Cipher,
    pub(crate) nodes: Vec<HostId>,
    /// Where it begins in the addresses of a guest: volumes lie one after the other.
    pub(crate) base: Bytes,
    pub(crate) quorum: u8,
    pub(crate) read_from: model::ReadFrom,
}

impl Host {
    /// All hosts at the start of time.
    fn of_scenario(scenario: &Scenario, volumes: &[Volume]) -> Vec<Self> {
        let tracking = scenario.tracking.cost.as_ref();
        let reserved = tracking.map_or(Bytes::ZERO, |cost| cost.buffer);
        let stores = Settings::of(scenario);
        let mut profiles: Vec<Arc<CpuProfile>> = Vec::new();
        (0..scenario.hosts.len())
            .map(|index| {
                let host = &scenario.hosts[index];
                let id = HostId::from(index);
                let owner = owner_of(scenario, id);
                let place = host.machine.map_or(0, |machine| machine.place);
                let node = host.role.storage().map(|storage| {
                    let storage = (storage, place);
                    if let Some(settings) = stores {
                        return Node::with_stores(storage, settings, reserved, &owner);
                    }
                    let mut files: Vec<Bytes> = volumes
                        .iter()
                        .zip(&scenario.volumes)
                        .map(|(volume, model)| {
                            let holds = volume.nodes.contains(&id);
                            if holds { volume.distribution.file_size(model.size) } else { Bytes(0) }
                        })
                        .collect();
                    // the Activity DB's file comes last
                    files.push(Bytes(0));
                    Node::new(storage, &files, reserved, &owner)
                });
                let cpu = &host.cpu;
                let known = profiles.iter().find(|known| known.as_ref() == cpu).cloned();
                let profile = known.unwrap_or_else(|| {
                    profiles.push(Arc::new(cpu.clone()));
                    Arc::clone(&profiles[profiles.len() - 1])
                });
                let machine = machine_of(scenario, id);
                let guest = host.guest.as_ref().map(|guest| {
                    let number = u64::from(id.0 - machine.0);
                    Box::new(Guest::new(guest, number, volume_of(scenario, id), &owner))
                });
                let cpu = Cpu::new(cpu.cores, cpu.quantum, cpu.context_switch);
                let physical = host.machine.map_or(id, |machine| machine.host);
                let limit = host.machine.and_then(|machine| machine.bandwidth).map(Limit::new);
                Host { machine, physical, limit, guest, profile, cpu, node }
            })
            .collect()
    }
}

/// Events between two looks at the outside world.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 16;

impl Cluster {
    /// The cluster of `scenario` at the start of time; records go to `recorder`.
    pub fn new(scenario: Scenario, recorder: Recorder) -> Result<Self, SimError> {
        refuse_what_is_only_measured(&scenario)?;
        let volumes = Volume::of_scenario(&scenario)?;
        let hosts = Host::of_scenario(&scenario, &volumes);
        let disks = disks(&scenario, &hosts);
        let (instances, programs) = Instance::of_scenario(&scenario)?;
        let mark_at = SimTime::ZERO + scenario.warmup;
        let vault = (scenario.payload == Payload::Real).then(|| {
            let codec = |(volume, model): (&Volume, &model::Volume)| {
                let encoding = volume.distribution.encoding();
                (model.name.clone(), encoding, volume.cipher, model.block.get())
            };
            Vault::new(scenario.seed, volumes.iter().zip(&scenario.volumes).map(codec).collect())
        });
        let mut cluster = Self {
            agenda: Agenda::new(),
            tracker: Tracker::new(&scenario, hosts.iter().map(|host| host.machine), recorder),
            network: Network::new(
                scenario.hosts.iter().map(|host| host.nic),
                &scenario.switch,
                Seed(scenario.seed.stream("network").bits()),
            )
            .with_machines(hosts.iter().map(|host| host.physical)),
            hosts,
            in_hand: None,
            disks,
            volumes,
            active: instances.len(),
            instances,
            programs,
            requests: Slab::new(),
            transactions: Slab::new(),
            spare_steps: Vec::new(),
            parts: Slab::new(),
            legs: Slab::new(),
            tasks: Slab::new(),
            shuffling: shuffling(&scenario),
            tallies: scenario
                .workloads
                .iter()
                .map(|_| Tally::new(mark_at, intervals(&scenario, mark_at)))
                .collect(),
            transaction_tallies: scenario
                .workloads
                .iter()
                .map(|workload| TransactionTally::of(workload, mark_at))
                .collect(),
            last_breadcrumb: 0,
            last_completion: SimTime::ZERO,
            database_size: Bytes::ZERO,
            vault,
            scratch: Scratch::default(),
            failure: None,
            collectors: None,
            collect_at: SimTime::MAX,
            ready: Vec::new(),
            sending: Vec::new(),
            commits: 0,
            mark_at,
            end_at: scenario.duration.map(|duration| mark_at + duration),
            scenario,
        };
        cluster.create_files()?;
        if let Some(metrics) = &cluster.scenario.tracking.metrics {
            let collectors = Collectors::new(&cluster.scenario, metrics);
            cluster.collect_at = collectors.next_due();
            cluster.collectors = Some(Box::new(collectors));
        }
        for instance in 0..cluster.instances.len() {
            cluster.begin(instance as u32);
        }
        cluster.begin_programs();
        cluster.begin_reports();
        Ok(cluster)
    }

    /// From now on records go to `recorder`. For a cluster that was built without one, so that what
    /// its scenario names was found before anything is written.
    pub fn record_to(&mut self, recorder: Recorder) {
        let machines = self.hosts.iter().map(|host| host.machine);
        self.tracker = Tracker::new(&self.scenario, machines, recorder);
    }

    /// Runs to the end and returns the truth.
    ///
    /// `watch` is called now and then; the run ends with [`SimError::Interrupted`] when it breaks.
    pub fn run(
        &mut self,
        mut watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Truth, SimError> {
        let mut marked = false;
        let mut countdown = EVENTS_BETWEEN_LOOKS;
        loop {
            let next = self.agenda.next_at();
            if !marked && next.is_none_or(|next| next >= self.mark_at) {
                // a run that ends within its warm-up has measured nothing
                self.collect_before(self.mark_at);
                self.agenda.advance_to(self.mark_at);
                self.mark();
                marked = true;
                continue;
            }
            let Some(next) = next else { break };
            if let Some(end) = self.end_at.filter(|end| next >= *end) {
                if self.goes_on_beyond(end) {
                    continue;
                }
                break;
            }
            if self.end_at.is_none() && self.finished() {
                break;
            }
            if next >= self.collect_at {
                self.collect_before(next);
            }
            let event = self.agenda.next().expect("an event is pending");
            self.dispatch(event);
            while let Some(host) = self.tracker.next_due() {
                self.ship_records(host);
            }
            countdown -= 1;
            if countdown == 0 {
                countdown = EVENTS_BETWEEN_LOOKS;
                self.look(&mut watch)?;
            }
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some(end) = self.end_at {
            self.collect_before(end + SimSpan::from_ns(1));
            self.agenda.advance_to(end);
        } else if self.tallies.iter().all(|tally| tally.measured() == 0) {
            return Err(SimError::NothingMeasured {
                completed: self.tallies.iter().map(|tally| tally.completed).sum(),
                ended: self.last_completion - SimTime::ZERO,
                warmup: self.scenario.warmup,
            });
        }
        self.audit()?;
        let extents = self.extents(&mut watch)?;
        Ok(truth::of(self, extents))
    }

    /// Collectors that wake before `until` post what they see.
    fn collect_before(&mut self, until: SimTime) {
        let Some(collectors) = &mut self.collectors else { return };
        while collectors.next_due() < until {
            collectors.collect(|host| {
                let host = &mut self.hosts[host.index()];
                (&mut host.cpu, host.node.as_ref())
            });
        }
        self.collect_at = collectors.next_due();
    }

    /// What collectors posted, if there were any; it can be taken once.
    pub fn take_metrics(&mut self) -> Option<foretell_metrics::Collected> {
        self.collectors.as_mut().map(|collectors| collectors.take())
    }

    /// What each workload demanded of each resource after the warm-up, if a store is kept.
    pub fn demands(&self) -> Vec<foretell_ati::Demand> {
        self.tracker.demands()
    }

    /// The recorder, to be finished after the run.
    pub fn into_recorder(self) -> Recorder {
        self.tracker.into_recorder()
    }

    /// Shows the outside world how far the run is; an error if it, or something within, ends it.
    pub(crate) fn look(
        &mut self,
        watch: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.tracker.failed() {
            return Err(SimError::StoreFailed);
        }
        let progress = Progress {
            now: self.agenda.now(),
            end: self.end_at,
            events: self.agenda.taken(),
            requests: self.tallies.iter().map(|tally| tally.completed).sum(),
        };
        match watch(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SimError::Interrupted { at: progress.now }),
        }
    }

    /// Whether the run goes on beyond `end`, because its intervals differ too much or are too short; if
    /// so, measuring has begun anew.
    ///
    /// What was measured until then is forgotten: a transient that is longer than the warm-up makes the
    /// first intervals differ, and would stay in the mean.
    fn goes_on_beyond(&mut self, end: SimTime) -> bool {
        let Some(spec) = self.scenario.intervals else { return false };
        let measured = (end - self.mark_at) * 2;
        // what has ended could not be measured again
        if measured > spec.longest || self.instances.iter().any(Instance::is_done) {
            return false;
        }
        let of_all = self.tallies.iter().filter_map(|tally| tally.intervals.as_ref());
        let goes_on = of_all.into_iter().any(|intervals| !intervals.agree(&spec));
        if goes_on {
            self.begin_anew(end, measured);
        }
        goes_on
    }

    /// Forgets what was measured: measuring begins now, and lasts for `measured`.
    fn begin_anew(&mut self, now: SimTime, measured: SimSpan) {
        self.collect_before(now);
        self.agenda.advance_to(now);
        for tally in &mut self.tallies {
            let spec = self.scenario.intervals.as_ref();
            tally.begin_anew(now, spec.map(|spec| Intervals::new(spec, now, measured)));
        }
        for tally in self.transaction_tallies.iter_mut().flatten() {
            tally.begin_anew(now);
        }
        for job in &mut self.programs.jobs {
            job.begin_anew(now);
        }
        (self.mark_at, self.end_at) = (now, Some(now + measured));
        self.mark();
    }

    /// Requests outstanding, journals' not counted.
    pub(crate) fn requests_in_flight(&self) -> u64 {
        self.requests.len() as u64 - self.commits
    }

    /// They themselves.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &Request> {
        let counted = |request: &&Request| request.live && request.transaction != JOURNAL;
        self.requests.places().filter(counted)
    }

    /// Whether no workload will issue again and nothing is outstanding.
    fn finished(&self) -> bool {
        self.active == 0 && self.requests.is_empty() && self.transactions.is_empty()
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Issue { instance } => self.issue(instance),
            Event::SliceEnds { host, core } => self.slice_ends(HostId(host), u32::from(core)),
            Event::Forward { train } => {
                let now = self.agenda.now();
                let delivered =
                    self.network.forward(now, train, &mut network_events(&mut self.agenda));
                if let Some(leg) = delivered {
                    self.arrive(leg);
                }
            }
            Event::Wake { connection } => {
                let now = self.agenda.now();
                self.network.wake(now, connection, &mut network_events(&mut self.agenda));
                self.note_repetitions();
            }
            Event::Deliver { leg } => self.arrive(leg),
            Event::LetOut { leg } => self.put_on_cable(leg),
            Event::LetIn { leg } => self.deliver(leg),
            Event::DiskDone { host, disk } => self.disk_done(HostId(host), u32::from(disk)),
            Event::AskGuest { host } => self.send_from_guest(HostId(host)),
            Event::Commit { host } => self.commit_journal(HostId(host)),
            Event::FlushTick { host } => {
                let (node, mut around) = self.node(HostId(host));
                node.flush_tick(&mut around);
            }
            Event::Report { host } => self.report(host),
        }
    }

    /// A node and its surroundings.
    pub(crate) fn node(&mut self, host: HostId) -> (&mut Node, Surroundings<'_>) {
        let Host { node, physical, .. } = &mut self.hosts[host.index()];
        let node = node.as_mut().expect("storage nodes have storage");
        let around = Surroundings {
            now: self.agenda.now(),
            host,
            agenda: &mut self.agenda,
            tracker: &mut self.tracker,
            machine: *physical,
            disks: &mut self.disks[physical.index()],
        };
        (node, around)
    }

    /// Has a host's processor do a task that works for `workload`. What comes of a step that the same
    /// processor has just done is done by the same thread, which keeps its core.
    pub(crate) fn compute(&mut self, host: HostId, workload: u32, mut task: HostTask) {
        let host = self.hosts[host.index()].machine;
        task.work += self.tracker.take_debt(host);
        self.tracker.charge(host, Resource::Cpu, workload, || task.work);
        let now = self.agenda.now();
        let work = self.collectors.is_some().then(|| self.work_of(host, &task));
        if let (Some(work), Some(collectors)) = (work, &mut self.collectors) {
            collectors.work(host, work);
        }
        let cpu = &mut self.hosts[host.index()].cpu;
        if let Some((_, core)) = self.in_hand.filter(|(machine, _)| *machine == host) {
            cpu.follow(now, core, task);
        } else if let Some(slice) = cpu.submit(now, task) {
            self.take_up(host, &slice);
        }
    }

    /// Does what wakes others: they queue for a core.
    pub(crate) fn waking<R>(&mut self, wake: impl FnOnce(&mut Self) -> R) -> R {
        let in_hand = self.in_hand.take();
        let result = wake(self);
        self.in_hand = in_hand;
        result
    }

    fn take_up(&mut self, host: HostId, slice: &Slice) {
        let now = self.agenda.now();
        self.tracker.post_switch(now, host, slice);
        if let Some(collectors) = &mut self.collectors {
            if slice.from != slice.to {
                collectors.switched(host);
            }
            collectors.idle(now, host, self.hosts[host.index()].cpu.idle());
        }
        self.agenda.schedule(slice.end, Event::SliceEnds { host: host.0, core: slice.core as u16 });
    }

    fn slice_ends(&mut self, host: HostId, core: u32) {
        let now = self.agenda.now();
        let end = self.hosts[host.index()].cpu.step_ends(now, core);
        let mut next = end.next;
        if let Some(then) = end.done {
            self.in_hand = Some((host, core));
            self.step_done_by_processor(then);
            self.in_hand = None;
            next = self.hosts[host.index()].cpu.go_on(now, core, end.breadcrumb);
        }
        if let Some(slice) = &next {
            self.take_up(host, slice);
            return;
        }
        self.tracker.post_idle(now, host, core, end.ran, end.breadcrumb);
        if let Some(collectors) = &mut self.collectors {
            collectors.switched(host);
            collectors.idle(now, host, self.hosts[host.index()].cpu.idle());
        }
    }

    /// A processor has done a step of a task.
    fn step_done_by_processor(&mut self, then: Then) {
        match then {
            Then::Prepared { request } => self.send_out(request),
            Then::Sent { leg } => self.transmit(leg),
            Then::Serve { leg } => self.serve(leg),
            Then::Replied { leg } => self.replied(leg),
            Then::Decoded { request } => self.decoded(request),
            Then::Cached { transaction } => self.step_done(transaction),
            Then::Encoded { leg } => self.encoded(leg),
            Then::Reported { leg } => {
                self.legs.remove(leg);
            }
            Then::StoreRecords { leg } => self.store_records(leg),
        }
    }

    /// A disk of a machine has finished an operation, or wants to be asked what is next.
    fn disk_done(&mut self, machine: HostId, disk: u32) {
        let now = self.agenda.now();
        let completion = self.disks[machine.index()][disk as usize].complete(now);
        if let Some(next) = completion.next {
            call_disk(&mut self.agenda, machine, disk, next);
        }
        let Some(done) = completion.done else { return };
        let host = done.io.tag.host;
        let mut ready = std::mem::take(&mut self.ready);
        let (node, mut around) = self.node(host);
        node.disk_done(&mut around, disk, &done, &mut ready);
        for leg in ready.drain(..) {
            let awaiting = &mut self.legs[leg].awaiting;
            *awaiting -= 1;
            if *awaiting > 0 {
                continue;
            }
            let now = self.agenda.now();
            if let Some(collectors) = &mut self.collectors {
                collectors.waits_no_more(now, host);
            }
            match self.legs[leg].kind {
                LegKind::Fragment { .. } => self.reply(leg),
                LegKind::Object { .. } => self.stored(leg),
                LegKind::Records | LegKind::Report => {
                    self.legs.remove(leg);
                }
            }
        }
        self.ready = ready;
    }

    /// The warm-up is over.
    fn mark(&mut self) {
        let now = self.agenda.now();
        for tally in &mut self.tallies {
            tally.mark(now);
        }
        self.tracker.mark();
        self.network.mark(now);
        for host in &mut self.hosts {
            host.cpu.mark(now);
            if let Some(node) = &mut host.node {
                node.mark();
            }
        }
        for disk in self.disks.iter_mut().flatten() {
            disk.mark(now);
        }
    }

    /// Checks the operational laws at each queue, and that no request was lost.
    fn audit(&mut self) -> Result<(), SimError> {
        let now = self.agenda.now();
        for index in 0..self.hosts.len() {
            let name = &self.scenario.hosts[index].name;
            let broken = |queue: String, violation| SimError::LawBroken {
                queue: format!("{name} {queue}"),
                violation,
            };
            let host = &mut self.hosts[index];
            host.cpu.audit(now).map_err(|violation| broken("cpu".into(), violation))?;
            if let Some(guest) = &mut host.guest {
                guest.audit(now).map_err(|violation| broken("block layer".into(), violation))?;
            }
            for (disk, device) in self.disks[index].iter_mut().enumerate() {
                device.audit(now).map_err(|violation| broken(format!("disk{disk}"), violation))?;
            }
            self.network
                .audit(now, HostId::from(index))
                .map_err(|violation| broken("nic".into(), violation))?;
        }
        self.network
            .audit_messages()
            .map_err(|violation| SimError::LawBroken { queue: "network".into(), violation })?;
        let mut outstanding = vec![Vec::new(); self.tallies.len()];
        for request in self.outstanding() {
            outstanding[request.workload as usize].push(request.issued);
        }
        for ((tally, issued), workload) in
            self.tallies.iter_mut().zip(outstanding).zip(&self.scenario.workloads)
        {
            tally.audit(now, issued.into_iter()).map_err(|violation| SimError::LawBroken {
                queue: format!("the requests of `{}`", workload.name),
                violation,
            })?;
        }
        let issued: u64 = self.instances.iter().map(|instance| instance.issued).sum();
        let completed: u64 = self.tallies.iter().map(|tally| tally.completed).sum();
        let in_flight = self.requests_in_flight();
        if issued != completed + in_flight {
            return Err(SimError::RequestsLost { issued, completed, in_flight });
        }
        Ok(())
    }

    /// When the warm-up ends.
    pub(crate) fn mark_at(&self) -> SimTime {
        self.mark_at
    }

    /// The run's measured time so far.
    pub(crate) fn measured(&self) -> SimSpan {
        self.agenda.now().saturating_since(self.mark_at)
    }
}

/// A run's `run.db` describes the cluster as its operator knows it, which can be asked about only.
fn refuse_what_is_only_measured(scenario: &Scenario) -> Result<(), SimError> {
    let disks = scenario.hosts.iter().filter_map(|host| host.role.storage());
    for disk in disks.flat_map(|storage| &storage.disks) {
        if matches!(disk.device, device::Device::Measured { .. }) {
            return Err(SimError::Impossible {
                what: format!("device `{}`", disk.device_name),
                reason: "only measurements of it are known, not its mechanics".to_owned(),
            });
        }
    }
    Ok(())
}

/// Puts what the network wants to be told on the agenda.
pub(crate) fn network_events(agenda: &mut Agenda<Event>) -> impl FnMut(SimTime, Step) {
    |at, step| {
        let event = match step {
            Step::Forward { train } => Event::Forward { train },
            Step::Wake { connection } => {
                let wake = Event::Wake { connection };
                return agenda.schedule_ranked(at, connection, wake);
            }
            Step::Deliver { number } => Event::Deliver { leg: number },
        };
        agenda.schedule(at, event);
    }
}

/// Whose random streams those of a host are.
pub(crate) fn owner_of(scenario: &Scenario, id: HostId) -> Owner {
    Owner::new(scenario.seed, format!("host/{}", scenario.host(id).name))
}

/// By host, how a proxy of Swift shuffles copies; none in other systems.
fn shuffling(scenario: &Scenario) -> Vec<Stream> {
    let System::Swift(_) = scenario.system else { return Vec::new() };
    let ids = (0..scenario.hosts.len()).map(HostId::from);
    ids.map(|id| owner_of(scenario, id).stream("shuffling")).collect()
}

/// The disks of each physical machine.
fn disks(scenario: &Scenario, hosts: &[Host]) -> Vec<Vec<Device<Tag>>> {
    let of = |(id, host): (HostId, &model::Host)| {
        let is_physical = hosts[id.index()].physical == id;
        let storage = host.role.storage().filter(|_| is_physical);
        let disks = storage.map_or(&[][..], |storage| &storage.disks);
        let owner = owner_of(scenario, id);
        let installed = |(number, disk): (usize, &model::Disk)| {
            Device::installed(disk, &owner.below(format_args!("disk{number}")))
        };
        disks.iter().enumerate().map(installed).collect()
    };
    scenario.hosts.iter().enumerate().map(|(index, host)| of((HostId::from(index), host))).collect()
}

/// Whose processor and adapter a host has: guests of a group share those of its first host.
fn machine_of(scenario: &Scenario, id: HostId) -> HostId {
    let host = scenario.host(id);
    if host.guest.is_none() {
        return id;
    }
    let first = scenario.hosts[..id.index()].iter().position(|other| other.group == host.group);
    first.map_or(id, HostId::from)
}

/// Bytes of the volume that a guest's file system is in: that of its first workload.
fn volume_of(scenario: &Scenario, id: HostId) -> Bytes {
    let own = scenario.workloads.iter().find(|workload| workload.clients.contains(&id));
    own.map_or(Bytes::ZERO, |workload| scenario.volume(workload.volume).size)
}

/// Intervals of a workload, if the measured time is cut into some.
fn intervals(scenario: &Scenario, from: SimTime) -> Option<Intervals> {
    let (spec, duration) = (scenario.intervals.as_ref()?, scenario.duration?);
    Some(Intervals::new(spec, from, duration))
}

impl Volume {
    /// All volumes, which lie one after the other in the addresses of guests.
    fn of_scenario(scenario: &Scenario) -> Result<Vec<Self>, SimError> {
        let mut base = Bytes::ZERO;
        let volumes = scenario.volumes.iter().enumerate().zip(Pool::of_scenario(scenario)?);
        volumes
            .map(|((index, volume), pool)| {
                let begins = base;
                base += volume.size;
                Self::new(VolumeId::from(index), volume, begins, pool)
            })
            .collect()
    }

    fn new(
        id: VolumeId,
        volume: &model::Volume,
        base: Bytes,
        pool: Option<Pool>,
    ) -> Result<Self, SimError> {
        let distribution = volume.distribution(id).map_err(|reason| SimError::Impossible {
            what: format!("volume `{}`", volume.name),
            reason,
        })?;
        Ok(Self {
            distribution,
            pool,
            cipher: volume.cipher.codec(),
            nodes: volume.nodes.clone(),
            base,
            quorum: volume.write_quorum,
            read_from: volume.read_from,
        })
    }
}
