//! The simulated machines that the software of the storage system runs on.
//!
//! [`Protocol`] uses processors, links, disks and their observers through [`Hosts`], which this module
//! implements. This module does not know what the software does next.

use std::sync::Arc;

use foretell_algorithms::bandwidth::Limit;
use foretell_ati::{Body, Phase as RecordPhase, Recorder, Resource};
use foretell_scenarios::model::{self, CpuProfile, Payload, Scenario};
use foretell_scenarios::outages::Event as OutageEvent;
use foretell_systems::process::request_thread;
use foretell_systems::{
    Access, Adapters, Clocks, Continuation, Copied, Exchange, Exchanges, Fragments, Hosts, Phase,
    Protocol, Request, Software, Timer, Volume, Work, WorkKind,
};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, SimTime, Stream};

use crate::agenda::Agenda;
use crate::cpu::{Cpu, Slice, StepEnd, Task};
use crate::device::Device;
use crate::error::SimError;
use crate::event::{Event, HostTask};
use crate::ledger::Ledger;
use crate::metrics::{self, Collectors};
use crate::network::{Network, NetworkStep};
use crate::node::{Node, Surroundings, Tag, call_disk};
use crate::payload::Vault;
use crate::tracker::Tracker;

/// Machines and their observers.
pub(crate) struct Engine {
    pub(crate) agenda: Agenda<Event>,
    pub(crate) tracker: Tracker,
    pub(crate) adapters: Adapters,
    pub(crate) network: Network,
    pub(crate) hosts: Vec<Host>,
    /// Disks by host; virtual machines use those of their physical one.
    pub(crate) disks: Vec<Vec<Device<Tag>>>,
    /// Random streams for the choice of fragments, by instance of a workload.
    pub(crate) choosing: Vec<Stream>,
    pub(crate) vault: Option<Vault>,
    /// Present where metrics are collected.
    pub(crate) collectors: Option<Box<Collectors>>,
    pub(crate) failure: Option<SimError>,
    /// The machine and core that have just finished a step of a task, while the steps that follow are
    /// determined.
    in_hand: Option<(HostId, u32)>,
    /// Whether computations are currently given to threads that must first be woken.
    waking: bool,
    /// Slow hosts, with the factor by which their computations take longer.
    pub(crate) slow: Vec<(HostId, f64)>,
    /// Hosts whose flushers have stopped because they are down.
    pub(crate) stopped: Vec<HostId>,
    /// Hosts that are cut off from the network but still running.
    pub(crate) cut_off: Vec<HostId>,
}

/// A host: its processor, and a node's storage.
pub(crate) struct Host {
    /// The machine whose processor and adapter it uses: its own, or for a guest those of the first one of
    /// its group.
    pub(crate) machine: HostId,
    /// The machine whose link and disks a storage node uses: its own, or for a virtual machine those of
    /// the first one on its physical machine.
    pub(crate) physical: HostId,
    /// Present for a virtual machine with limited bandwidth.
    limit: Option<Limit>,
    /// The ledger of a guest's block layer.
    pub(crate) block_layer: Option<Ledger>,
    /// Shared by all hosts with the same profile.
    pub(crate) profile: Arc<CpuProfile>,
    pub(crate) cpu: Cpu<Continuation>,
    pub(crate) node: Option<Node>,
}

impl Host {
    /// All hosts at time zero.
    pub(crate) fn all(scenario: &Scenario, protocol: &Protocol, clocks: &Clocks) -> Vec<Self> {
        let tracking = scenario.tracking.cost.as_ref();
        let reserved = tracking.map_or(Bytes::ZERO, |cost| cost.buffer);
        let mut profiles: Vec<Arc<CpuProfile>> = Vec::new();
        (0..scenario.hosts.len())
            .map(|index| {
                let host = &scenario.hosts[index];
                let id = HostId::from(index);
                let place = host.machine.map_or(0, |machine| machine.place);
                let volumes = protocol.volumes();
                let software = Software::of(scenario, id, volumes, reserved, &clocks(id));
                let storage = host.role.storage();
                let node = storage
                    .zip(software)
                    .map(|(storage, software)| Node::new(storage, place, software));
                let cpu = &host.cpu;
                let known = profiles.iter().find(|known| known.as_ref() == cpu).cloned();
                let profile = known.unwrap_or_else(|| {
                    profiles.push(Arc::new(cpu.clone()));
                    Arc::clone(&profiles[profiles.len() - 1])
                });
                let cpu = Cpu::new(cpu.cores, cpu.quantum, cpu.context_switch).with_smt(cpu.smt);
                let machine = protocol.machine(id);
                let physical = host.machine.map_or(id, |machine| machine.host);
                let limit = host.machine.and_then(|machine| machine.bandwidth).map(Limit::new);
                let block_layer = host.guest.is_some().then(Ledger::default);
                Host { machine, physical, limit, block_layer, profile, cpu, node }
            })
            .collect()
    }
}

/// The disks of each physical machine.
fn disks(scenario: &Scenario, hosts: &[Host], clocks: &Clocks) -> Vec<Vec<Device<Tag>>> {
    let of = |(id, host): (HostId, &model::Host)| {
        let is_physical = hosts[id.index()].physical == id;
        let storage = host.role.storage().filter(|_| is_physical);
        let disks = storage.into_iter().flat_map(model::Storage::devices);
        let owner = clocks(id);
        let events = scenario.outages.iter().flat_map(|outages| &outages.events);
        let slow: Vec<u32> =
            events.filter(|event| event.host == id).filter_map(OutageEvent::slow_disk).collect();
        let installed = |(number, disk): (usize, &model::Disk)| {
            let device = Device::installed(disk, &owner.below(format_args!("disk{number}")));
            if slow.contains(&(number as u32)) { device.with_slow_times() } else { device }
        };
        disks.enumerate().map(installed).collect()
    };
    scenario.hosts.iter().enumerate().map(|(index, host)| of((HostId::from(index), host))).collect()
}

/// Schedules the events that the network asks for.
pub(crate) fn network_events(agenda: &mut Agenda<Event>) -> impl FnMut(SimTime, NetworkStep) {
    |at, step| {
        let event = match step {
            NetworkStep::Forward { train } => Event::Forward { train },
            NetworkStep::Climb { climb } => Event::Climb { climb },
            NetworkStep::Wake { connection } => {
                let wake = Event::Wake { connection };
                return agenda.schedule_ranked(at, connection, wake);
            }
            NetworkStep::Deliver { number } => Event::Deliver { exchange: number },
        };
        agenda.schedule(at, event);
    }
}

impl Engine {
    /// The machines of a scenario at time zero; `clocks`: sources of phases, by host.
    pub(crate) fn new(
        scenario: &Scenario,
        protocol: &Protocol,
        clocks: &Clocks,
        recorder: Recorder,
    ) -> Self {
        let hosts = Host::all(scenario, protocol, clocks);
        let adapters = Adapters::of(scenario);
        let vault = (scenario.payload == Payload::Real).then(|| {
            let volumes = protocol.volumes().iter();
            let codec = |volume: &Volume| {
                let distribution = &volume.distribution;
                let name = scenario.volume(volume.of).name.clone();
                (name, distribution.encoding(), volume.cipher, distribution.block().get())
            };
            let homes = || protocol.homes();
            Vault::new(scenario.seed, volumes.map(codec).collect())
                .with_failures(scenario.outages.as_ref().map(|_| homes()))
                .with_stale_reads(scenario.system.traits().reads_may_be_stale())
        });
        Self {
            agenda: Agenda::new(),
            tracker: Tracker::new(scenario, hosts.iter().map(|host| host.machine), recorder),
            network: Network::new(
                adapters.nics().iter().copied(),
                &scenario.switch,
                Seed(scenario.seed.stream("network").bits()),
            )
            .with_machines(adapters.links(hosts.iter().map(|host| host.physical)))
            .with_uplinks(adapters.uplinks(scenario.uplinks.as_ref()).as_ref()),
            adapters,
            disks: disks(scenario, &hosts, clocks),
            hosts,
            choosing: Vec::new(),
            vault,
            collectors: None,
            failure: None,
            in_hand: None,
            waking: false,
            slow: Vec::new(),
            stopped: Vec::new(),
            cut_off: Vec::new(),
        }
    }

    /// A node and the parts of the engine that it uses.
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

    /// The time slice of a core ends. If a step of a task is done, the caller must determine the steps that
    /// follow before it calls [`Engine::go_on`]: a computation that the step starts on the same machine is
    /// done by the same thread, which keeps its core.
    pub(crate) fn slice_ends(&mut self, host: HostId, core: u32) -> StepEnd<Continuation> {
        let end = self.hosts[host.index()].cpu.step_ends(self.agenda.now(), core);
        self.in_hand = end.done.map(|_| (host, core));
        end
    }

    /// A core continues after a time slice has ended.
    pub(crate) fn go_on(&mut self, host: HostId, core: u32, end: &StepEnd<Continuation>) {
        let now = self.agenda.now();
        let next = match self.in_hand.take() {
            Some(_) => self.hosts[host.index()].cpu.go_on(now, core, end.breadcrumb),
            None => end.next,
        };
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

    /// A disk of a machine has finished an operation, or has asked to be called at this time. Appends the
    /// exchanges that waited for the operation to `ready`.
    pub(crate) fn disk_done(&mut self, machine: HostId, disk: u32, ready: &mut Vec<u32>) {
        let now = self.agenda.now();
        let completion = self.disks[machine.index()][disk as usize].complete(now);
        if let Some(next) = completion.next {
            call_disk(&mut self.agenda, machine, disk, next);
        }
        let Some(done) = completion.done else { return };
        let (node, mut around) = self.node(done.io.tag.host);
        node.disk_done(&mut around, disk, &done, ready);
    }

    /// From now on all operations of a host's disk take `factor` times as long as normal.
    pub(crate) fn slow_disk_down(&mut self, host: HostId, disk: u32, factor: f64) {
        let machine = self.hosts[host.index()].physical;
        let now = self.agenda.now();
        for call in self.disks[machine.index()][disk as usize].slow_down(now, factor) {
            call_disk(&mut self.agenda, machine, disk, call);
        }
    }

    /// Sets the rate of a host's link from now on.
    pub(crate) fn set_link_rate(&mut self, host: HostId, rate: Rate) {
        let now = self.agenda.now();
        self.network.set_rate(now, host, rate, &mut network_events(&mut self.agenda));
    }

    /// Sends the message of an exchange over the link. To another virtual machine on the same machine it
    /// goes over the machine's bridge, which takes no time and creates no records.
    pub(crate) fn put_on_link(&mut self, exchanges: &Exchanges, id: u32) {
        let exchange = &exchanges[id];
        let (adapters, wire) = (self.adapters.between(exchange), exchange.wire());
        let now = self.agenda.now();
        let machine = |adapter| self.network.machine(adapter);
        if machine(adapters.0) == machine(adapters.1) {
            if let Some(collectors) = &mut self.collectors {
                collectors.sent(exchange.sender(), exchange.receiver(), wire);
            }
            self.agenda.schedule(now, Event::Deliver { exchange: id });
            return;
        }
        self.note_transmission(exchange, id, wire);
        self.network.send(
            now,
            adapters.0,
            adapters.1,
            wire,
            id,
            &mut network_events(&mut self.agenda),
        );
        self.note_repetitions(exchanges);
    }

    /// Records retransmissions by senders.
    pub(crate) fn note_repetitions(&mut self, exchanges: &Exchanges) {
        while let Some((id, wire)) = self.network.take_resent() {
            self.note_transmission(&exchanges[id], id, wire);
        }
    }

    /// Records that `wire` bytes of an exchange's message are sent.
    fn note_transmission(&mut self, exchange: &Exchange, id: u32, wire: Bytes) {
        let (from, to) = (exchange.sender(), exchange.receiver());
        let now = self.agenda.now();
        let body = Body::NetworkTransmit { sender: from.0, receiver: to.0, numbytes: wire.get() };
        self.tracker.post(now, from, exchange.sending_thread(id), exchange.breadcrumb, body);
        if let Some(collectors) = &mut self.collectors {
            collectors.sent(from, to, wire);
        }
        let adapter = self.adapters.between(exchange).0;
        let resource = Resource::sending(adapter != from);
        let owner = self.hosts[from.index()].physical;
        let charged = || self.network.wire_time(adapter, wire);
        self.tracker.charge(owner, resource, exchange.workload, charged);
    }

    /// The time at which the receiver's bandwidth lets in a message that has come over the link.
    pub(crate) fn let_in_at(&mut self, exchange: &Exchange) -> SimTime {
        let (from, to) = (exchange.sender(), exchange.receiver());
        let now = self.agenda.now();
        let Some(limit) = self.hosts[to.index()].limit.as_mut().filter(|_| from != to) else {
            return now;
        };
        let (wire, adapters) = (exchange.wire(), self.adapters.between(exchange));
        limit.let_in(now, wire, self.network.link_time(adapters.1, adapters.0, adapters.1, wire))
    }
}

/// A task's work by the categories of dstat.
fn by_kind(span: SimSpan, work_kind: WorkKind) -> metrics::Work {
    let work = span.as_ns();
    match work_kind {
        WorkKind::Sending => metrics::Work { sys: work, ..metrics::Work::default() },
        WorkKind::Application => metrics::Work { usr: work, ..metrics::Work::default() },
        WorkKind::Receiving { receiving, copying } => {
            let receiving = receiving.as_ns().min(work);
            let rest = work - receiving;
            let copying = copying.as_ns().min(rest);
            // half of the receiving work is done before the thread is woken
            let siq = receiving / 2;
            metrics::Work { usr: rest - copying, sys: receiving - siq + copying, siq }
        }
    }
}

impl Hosts for Engine {
    #[inline]
    fn now(&self) -> SimTime {
        self.agenda.now()
    }

    #[inline]
    fn cpu(&self, host: HostId) -> &CpuProfile {
        &self.hosts[host.index()].profile
    }

    fn compute(&mut self, work: Work) {
        let Work { workload, thread, breadcrumb, work_kind, then, .. } = work;
        let host = self.hosts[work.host.index()].machine;
        let mut span = work.span + self.tracker.take_debt(host);
        if let Some((_, factor)) = self.slow.iter().find(|(slow, _)| *slow == work.host) {
            span = SimSpan::from_secs_f64(span.as_secs_f64() * factor);
        }
        self.tracker.charge(host, Resource::Cpu, workload, || span);
        let now = self.agenda.now();
        if let Some(collectors) = &mut self.collectors {
            collectors.work(host, by_kind(span, work_kind));
        }
        let task: HostTask = Task { thread, breadcrumb, work: span, then };
        let in_hand = self.in_hand.filter(|(machine, _)| *machine == host && !self.waking);
        let cpu = &mut self.hosts[host.index()].cpu;
        if let Some((_, core)) = in_hand {
            cpu.follow(now, core, task);
        } else if let Some(slice) = cpu.submit(now, task) {
            self.take_up(host, &slice);
        }
    }

    fn transmit(&mut self, exchanges: &Exchanges, id: u32) {
        let exchange = &exchanges[id];
        let hosts = (exchange.sender(), exchange.receiver());
        let now = self.agenda.now();
        if hosts.0 == hosts.1 {
            // a message to the same host uses no link
            self.agenda.schedule(now, Event::Deliver { exchange: id });
            return;
        }
        let mut at = now;
        if let Some(limit) = &mut self.hosts[hosts.0.index()].limit {
            let (wire, adapters) = (exchange.wire(), self.adapters.between(exchange));
            at = limit.let_out(
                now,
                wire,
                self.network.link_time(adapters.0, adapters.0, adapters.1, wire),
            );
        }
        if at > now {
            self.agenda.schedule(at, Event::LetOut { exchange: id });
        } else {
            self.put_on_link(exchanges, id);
        }
    }

    fn store(&mut self, host: HostId, access: &Access) -> u32 {
        let (node, mut around) = self.node(host);
        let waits = node.access(&mut around, access);
        let now = self.agenda.now();
        if let Some(collectors) = self.collectors.as_mut().filter(|_| waits > 0) {
            collectors.waits(now, host);
        }
        waits
    }

    fn set_timer(&mut self, at: SimTime, timer: Timer) {
        let event = match timer {
            Timer::Guest { host } => Event::AskGuest { host },
            Timer::Journal { host } => Event::Commit { host },
            Timer::System { host } => Event::System { host },
            Timer::Daemon { job } => Event::Daemon { job },
            Timer::Scrub { scrubber } => Event::Scrub { scrubber },
            Timer::Part { part } => Event::PartTimer { part },
            Timer::Watch { host } => Event::Watch { host },
            Timer::Repair { host } => Event::Repair { host },
        };
        self.agenda.schedule(at, event);
    }

    fn choose(&mut self, instance: u32, fragments: &mut [u8], m: usize) {
        let choosing = &mut self.choosing[instance as usize];
        for place in 0..m {
            let rest = (fragments.len() - place) as u64;
            fragments.swap(place, place + choosing.below(rest) as usize);
        }
    }

    fn note_request(&mut self, id: u32, request: &Request, phase: Phase) {
        let issue = &request.issue;
        let body = Body::Request {
            workload: issue.workload,
            client: issue.client.0,
            op: issue.op,
            file: issue.volume,
            offset: issue.offset.get(),
            size: issue.size.get(),
            phase: match phase {
                Phase::Issue => RecordPhase::Issue,
                Phase::Complete => RecordPhase::Complete,
            },
        };
        let (now, thread) = (self.agenda.now(), request_thread(id, issue.workload));
        self.tracker.post(now, issue.client, thread, issue.breadcrumb, body);
    }

    fn note_received(&mut self, exchange: &Exchange) {
        let (from, host, wire) = (exchange.sender(), exchange.receiver(), exchange.wire());
        if from == host {
            return;
        }
        if let Some(collectors) = &mut self.collectors {
            collectors.received(host, from, wire);
        }
        let adapters = self.adapters.between(exchange);
        if self.network.machine(adapters.0) != self.network.machine(adapters.1) {
            let resource = Resource::receiving(adapters.1 != host);
            let owner = self.hosts[host.index()].physical;
            let charged = || self.network.wire_time(adapters.1, wire);
            self.tracker.charge(owner, resource, exchange.workload, charged);
        }
    }

    fn note_block_operation(&mut self, guest: HostId) {
        let now = self.agenda.now();
        let ledger = self.hosts[guest.index()].block_layer.as_mut();
        ledger.expect("guests have one").arrive(now);
    }

    fn note_block_operation_done(&mut self, guest: HostId, arrived: SimTime) {
        let now = self.agenda.now();
        let ledger = self.hosts[guest.index()].block_layer.as_mut();
        ledger.expect("guests have one").depart(now, arrived);
    }

    fn set_waking(&mut self, wakes: bool) {
        self.waking = wakes;
    }

    fn note_ready(&mut self, node: HostId) {
        let now = self.agenda.now();
        if let Some(collectors) = &mut self.collectors {
            collectors.waits_no_more(now, node);
        }
    }

    #[inline]
    fn has_payload(&self) -> bool {
        self.vault.is_some()
    }

    fn payload_written(&mut self, request: &Request) {
        let Some(vault) = &mut self.vault else { return };
        let issue = &request.issue;
        let (offset, end) = (issue.offset.get(), (issue.offset + issue.size).get());
        vault.write(issue.volume, issue.breadcrumb.0, offset, end);
    }

    fn payload_pinned(&mut self, id: u32, volume: u32, first_block: u64, blocks: u64) {
        if let Some(vault) = &mut self.vault {
            vault.pin(id, volume, first_block, blocks);
        }
    }

    fn payload_ready(&mut self, exchange: u32, fragments: Fragments) -> bool {
        self.vault.as_mut().is_none_or(|vault| vault.ready(exchange, fragments))
    }

    fn payload_stored(&mut self, fragments: Fragments, ready: &mut Vec<u32>) {
        if let Some(vault) = &mut self.vault {
            vault.store(fragments, ready);
        }
    }

    fn payload_complete(&mut self, volume: u32, version: u64, first_block: u64, blocks: u64) {
        if let Some(vault) = &mut self.vault {
            vault.complete_blocks(volume, version, first_block..first_block + blocks);
        }
    }

    fn payload_taken(&mut self, fragments: Fragments) {
        if let Some(vault) = &mut self.vault {
            vault.take(fragments);
        }
    }

    fn payload_forgotten(&mut self, exchange: u32) -> bool {
        self.vault.as_mut().is_some_and(|vault| vault.forget(exchange))
    }

    fn payload_failed(&mut self, id: u32) {
        if let Some(vault) = &mut self.vault {
            vault.fail(id);
        }
    }

    fn payload_rebuilt(&mut self, fragments: Fragments, ready: &mut Vec<u32>) {
        if let Some(vault) = &mut self.vault
            && let Err(error) = vault.rebuild(fragments, ready)
        {
            self.failure.get_or_insert(error);
        }
    }

    fn payload_moved(&mut self, fragments: Fragments, to: HostId) {
        if let Some(vault) = &mut self.vault {
            vault.copy_to(fragments, to);
        }
    }

    fn payload_dropped(&mut self, fragments: Fragments) {
        if let Some(vault) = &mut self.vault {
            vault.drop_fragments(fragments);
        }
    }

    fn payload_converted(
        &mut self,
        volume: u32,
        from: u32,
        to: u32,
        first_block: u64,
        blocks: u64,
    ) {
        if let Some(vault) = &mut self.vault {
            vault.convert(volume, from, to, first_block..first_block + blocks);
        }
    }

    fn payload_left(&mut self, volume: u32, first_block: u64, blocks: u64) {
        if let Some(vault) = &mut self.vault {
            vault.leave(volume, first_block..first_block + blocks);
        }
    }

    fn payload_copied(&mut self, copied: &Copied) {
        if let Some(vault) = &mut self.vault
            && let Err(error) = vault.copy(copied)
        {
            self.failure.get_or_insert(error);
        }
    }

    fn payload_read(&mut self, fragments: Fragments) {
        if let Some(vault) = &mut self.vault
            && let Err(error) = vault.read(fragments)
        {
            self.failure.get_or_insert(error);
        }
    }

    fn payload_found(&mut self, fragments: Fragments, is_stale: bool) {
        if let Some(vault) = &mut self.vault
            && let Err(error) = vault.find(fragments, is_stale)
        {
            self.failure.get_or_insert(error);
        }
    }

    fn payload_settled(&mut self, volume: u32, version: u64, first_block: u64, blocks: u64) {
        if let Some(vault) = &mut self.vault {
            vault.settle(volume, version, first_block..first_block + blocks);
        }
    }

    fn payload_wiped(&mut self, host: HostId) {
        if let Some(vault) = &mut self.vault {
            vault.wipe(host);
        }
    }

    fn payload_opened(&mut self, id: u32, _volume: u32) {
        if let Some(vault) = &mut self.vault
            && let Err(error) = vault.open(id)
        {
            self.failure.get_or_insert(error);
        }
    }
}
