//! The interface of a cluster's software to an engine: requests, exchanges and guests, and the storage system.

use foretell_algorithms::distribution::Place;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::Scenario;
use foretell_scenarios::outages::{Action, Setting, SettingChange};
use foretell_units::{Bytes, HostId, Op, Owner, SimSpan, SimTime, VolumeId};

use crate::exchange::{Exchanges, Purpose};
use crate::failures::{
    BelowMinSize, Failures, Health, Home, Kind, Progress, Recovery, Unit, spare_groups,
};
use crate::gateway::Gateways;
use crate::guest::{Guest, NO_OPERATION};
use crate::hosts::{Continuation, Hosts, Timer};
use crate::request::{Answered, Done, Issue, Part, Phase, Request, Stage};
use crate::scrub::{self, Scrubbed, Scrubs};
use crate::store::Access;
use crate::system::{AnySystem, System, SystemError, VolumeExtent};
use crate::volume::Volume;

/// The software of a cluster.
pub struct Protocol {
    pub(crate) core: Core,
    system: AnySystem,
    /// Present only if clients access volumes through gateways.
    pub(crate) gateways: Option<Box<Gateways>>,
    /// Settings that change while the cluster runs.
    settings: Vec<Setting>,
}

/// The parts that all storage systems have in common.
pub(crate) struct Core {
    pub(crate) volumes: Vec<Volume>,
    /// The machine whose processor and adapter each host uses.
    pub(crate) machines: Vec<HostId>,
    /// Guests by host.
    pub(crate) guests: Vec<Option<Box<Guest>>>,
    pub(crate) requests: Slab<Request>,
    pub(crate) parts: Slab<Part>,
    pub(crate) exchanges: Exchanges,
    /// Bytes in the file of the Activity DB.
    pub(crate) database: Bytes,
    pub(crate) done: Vec<Done>,
    /// Present only in scenarios with events or hedged reads.
    pub(crate) failures: Option<Box<Failures>>,
    /// Present only in scenarios with scrubbing.
    pub(crate) scrubs: Option<Box<Scrubs>>,
    pub(crate) scratch: Scratch,
}

/// For each host, the source of its clocks' phases and its random choices: each engine has its own.
pub type Clocks<'a> = dyn Fn(HostId) -> Owner + 'a;

/// Vectors that are reused.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) nodes: Vec<u32>,
    pub(crate) places: Vec<Place>,
    pub(crate) chosen: Vec<u8>,
    pub(crate) exchanges: Vec<u32>,
    pub(crate) operations: Vec<u32>,
}

impl Protocol {
    /// The idle software of a scenario's cluster. `clocks`: for each host, the source of its clocks' phases and its
    /// random choices.
    pub fn new(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError> {
        let host = |index| HostId::from(index);
        let hosts = 0..scenario.hosts.len();
        let mut core = Core {
            volumes: Volume::all(scenario)?,
            machines: hosts.clone().map(|index| machine_of(scenario, host(index))).collect(),
            guests: hosts
                .map(|index| Guest::of(scenario, host(index), &clocks(host(index))))
                .collect(),
            requests: Slab::new(),
            parts: Slab::new(),
            exchanges: Slab::new(),
            database: Bytes::ZERO,
            done: Vec::new(),
            failures: Failures::of(scenario, clocks),
            scrubs: None,
            scratch: Scratch::default(),
        };
        if let Some(failures) = &mut core.failures {
            let room = core.volumes.iter().map(|volume| spare_groups(scenario, volume)).collect();
            failures.holes.set_volumes(&core.volumes, room);
        }
        let mut system = AnySystem::of(scenario, clocks)?;
        system.prepare_for_failures(&mut core, scenario, clocks)?;
        if scenario.scrub.is_some() {
            core.scrubs = Scrubs::of(scenario, system.stored_places(scenario, &core), clocks);
        }
        let settings = scenario.outages.iter().flat_map(|outages| outages.settings.clone());
        let gateways = Gateways::of(scenario);
        Ok(Self { core, system, gateways, settings: settings.collect() })
    }

    /// Sets the first timers.
    pub fn begin<H: Hosts>(&mut self, hosts: &mut H) {
        self.system.begin(hosts);
        self.core.begin_scrubs(hosts);
    }

    /// A client issues a request; its response time counts from now.
    pub fn start<H: Hosts>(&mut self, hosts: &mut H, issue: Issue) {
        let (id, span) = self.insert(hosts, issue, false);
        hosts.note_request(id, &self.core.requests[id], Phase::Issue);
        if self.core.is_held(id) {
            return;
        }
        self.core.compute_request(hosts, id, span, Continuation::Prepared { request: id });
    }

    /// Stores a request. Returns its number, and its client's work before anything is sent.
    pub(crate) fn insert<H: Hosts>(
        &mut self,
        hosts: &mut H,
        issue: Issue,
        is_journal: bool,
    ) -> (u32, SimSpan) {
        let cpu = hosts.cpu(issue.client);
        let (stage, encoding) = self.system.prepare(&self.core, cpu, &issue);
        let span = cpu.request.of(issue.size) + encoding;
        (self.core.insert_request(hosts, issue, stage, is_journal), span)
    }

    /// Requests that have waited for a part of their volume to change continue.
    fn let_go<H: Hosts>(&mut self, hosts: &mut H) {
        while let Some(id) = self.core.failures.as_mut().and_then(|all| all.let_go.pop()) {
            if self.core.is_held(id) {
                continue;
            }
            let issue = self.core.requests[id].issue;
            let cpu = hosts.cpu(issue.client);
            let (stage, encoding) = self.system.prepare(&self.core, cpu, &issue);
            let span = cpu.request.of(issue.size) + encoding;
            self.core.requests[id].stage = stage;
            self.core.compute_request(hosts, id, span, Continuation::Prepared { request: id });
        }
    }

    /// A computation has ended.
    pub fn resume<H: Hosts>(&mut self, hosts: &mut H, then: Continuation) {
        let Self { core, system, .. } = self;
        if let Continuation::Sent { exchange }
        | Continuation::Taken { exchange }
        | Continuation::Answered { exchange }
        | Continuation::Step { exchange } = then
            && (!core.goes_on(exchange)
                || core.failures.is_some() && system.swallows(core, exchange, then))
        {
            return;
        }
        match then {
            Continuation::Prepared { request } => self.send_out(hosts, request),
            Continuation::Sent { exchange } => {
                if core.finds_receiver(exchange) {
                    hosts.transmit(&core.exchanges, exchange);
                } else if core.lose(exchange) {
                    system.lost(core, exchange);
                }
            }
            Continuation::Taken { exchange } => match core.exchanges[exchange].purpose {
                Purpose::Records => core.store_records(hosts, exchange),
                Purpose::Gateway(job) => self.gateway_goes_on(hosts, job),
                _ => system.serve(core, hosts, exchange),
            },
            Continuation::Answered { exchange } => {
                if let Purpose::Gateway(job) = core.exchanges[exchange].purpose {
                    return self.gateway_answered(hosts, exchange, job);
                }
                let mut answered = system.answered(core, hosts, exchange);
                while let Some(part) = answered {
                    self.part_answered(hosts, part);
                    answered = self.system.next_answered();
                }
            }
            Continuation::Decoded { request } => self.decoded(hosts, request),
            Continuation::Step { exchange } => system.computed(core, hosts, exchange),
            Continuation::Daemon { job } => system.daemon_done(core, hosts, job),
            Continuation::Scrubbed { scrubber } => {
                if system.is_stopped(core, core.scrubbed_server(scrubber)) {
                    core.scrub_stops(scrubber);
                } else {
                    core.scrub_ends(hosts, scrubber);
                }
            }
            Continuation::Load { .. } => unreachable!("the engine keeps what is its own"),
        }
    }

    /// The message of an exchange has arrived.
    pub fn delivered<H: Hosts>(&mut self, hosts: &mut H, exchange: u32) {
        let Self { core, system, gateways, .. } = self;
        if !core.goes_on(exchange) {
            return;
        }
        let nothing = (SimSpan::ZERO, SimSpan::ZERO);
        let asked = &core.exchanges[exchange];
        let (handling, copying) = match asked.purpose {
            Purpose::Records => nothing,
            _ if !asked.outbound => nothing,
            Purpose::Gateway(job) => {
                let gateways = gateways.as_ref().expect("it has a job");
                gateways.handling(core, hosts.cpu(asked.node), job)
            }
            _ => system.handling(core, hosts.cpu(asked.node), exchange),
        };
        core.receive(hosts, exchange, handling, copying);
    }

    /// A store has completed one of the accesses that an exchange waits for.
    pub fn stored<H: Hosts>(&mut self, hosts: &mut H, exchange: u32) {
        let Self { core, system, .. } = self;
        if let Some(scrubber) = scrub::of_leg(exchange) {
            let server = core.scrubbed_server(scrubber);
            hosts.note_ready(server.host);
            let is_stopped = system.is_stopped(core, server);
            return system.scrub_read(core, hosts, scrubber, is_stopped);
        }
        if !core.one_stored(hosts, exchange) || !core.goes_on(exchange) {
            return;
        }
        if matches!(core.exchanges[exchange].purpose, Purpose::Records) {
            core.exchanges.remove(exchange);
        } else {
            system.stored(core, hosts, exchange);
            self.answer_ready(hosts);
        }
    }

    /// A timer has expired. `journal`: the issuer of the journal's write, for a journal's timer.
    pub fn timer<H: Hosts>(&mut self, hosts: &mut H, timer: Timer, journal: Option<Issue>) {
        match timer {
            Timer::Guest { host } => self.send_from_guest(hosts, HostId(host)),
            Timer::Journal { host } => {
                let issue = journal.expect("a guest's journal has a writer");
                self.commit_journal(hosts, HostId(host), issue);
            }
            Timer::System { host } => self.system.timer(&mut self.core, hosts, HostId(host)),
            Timer::Daemon { job } => self.system.daemon_flushed(&mut self.core, hosts, job),
            Timer::Scrub { scrubber } => {
                let Self { core, system, .. } = self;
                if system.is_stopped(core, core.scrubbed_server(scrubber)) {
                    return core.scrub_stops(scrubber);
                }
                core.scrub_begins(hosts.now(), scrubber);
                system.scrub(core, hosts, scrubber);
            }
            Timer::Part { part } => {
                self.system.look_at_part(&mut self.core, hosts, part);
                self.answer_ready(hosts);
            }
            Timer::Watch { host } => {
                let Self { core, system, .. } = self;
                if core.watch(hosts, HostId(host)).is_some() {
                    system.standing_changed(core, hosts, HostId(host));
                    self.answer_ready(hosts);
                }
            }
            Timer::Repair { host } => {
                self.system.begin_jobs(&mut self.core, hosts, HostId(host));
                self.answer_ready(hosts);
            }
        }
    }

    /// An event occurs at a host, or at one of its disks. It stops without notice to others, is back with its
    /// data, joins, or has its data moved elsewhere. To other hosts, a host that is cut off looks like one
    /// that has stopped. The protocol does not know how slow a slow part is.
    pub fn happens<H: Hosts>(&mut self, hosts: &mut H, what: Unit, action: Action) {
        let Self { core, system, .. } = self;
        match action {
            Action::Fail { keeps } => system.fails(core, hosts, what, keeps),
            Action::Add => system.membership_changes(core, hosts, what, true),
            Action::Drain => system.membership_changes(core, hosts, what, false),
            Action::Return => {
                system.returns(core, hosts, what);
                core.scrubs_go_on(hosts, what);
            }
            Action::Slow { .. } => {}
            Action::Set { number } => {
                let number = number as usize;
                match &self.settings[number].change {
                    SettingChange::Recovery(now) => {
                        core.failed().settings = *now;
                        system.settings_change(core, hosts);
                    }
                    SettingChange::Weight(weight) => {
                        system.weight_changes(core, hosts, what, *weight);
                    }
                    SettingChange::Volume { volume, .. } => {
                        let is_volume =
                            |one: &&Setting| matches!(one.change, SettingChange::Volume { .. });
                        let which = self.settings[..number].iter().filter(is_volume).count();
                        core.failed().holes.routes.begin(volume.0, which);
                        system.volume_changes(core, hosts, volume.0);
                    }
                }
            }
        }
        self.answer_ready(hosts);
    }

    /// Parts of requests that need no further answer continue.
    fn answer_ready<H: Hosts>(&mut self, hosts: &mut H) {
        while let Some(part) = self.core.failures.as_mut().and_then(|all| all.ready.pop()) {
            self.part_answered(hosts, part);
        }
        self.let_go(hosts);
    }

    /// A full batch of activity records leaves its host for the Activity DB.
    pub fn ship_records<H: Hosts>(
        &mut self,
        hosts: &mut H,
        host: HostId,
        store: HostId,
        batch: Bytes,
    ) {
        if self.is_down(host) {
            return;
        }
        self.core.ship_records(hosts, host, store, batch);
    }

    /// The next completed request of a client. Before that, jobs of gateways go on whose requests have completed.
    pub fn take_done<H: Hosts>(&mut self, hosts: &mut H) -> Option<Done> {
        loop {
            let done = self.core.done.pop()?;
            match done.job {
                Some(job) => self.step_done(hosts, job, &done),
                None => return Some(done),
            }
        }
    }

    /// Sends the messages of a request.
    fn send_out<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        let Self { core, system, gateways, .. } = self;
        let request = &core.requests[id];
        let volume = request.issue.volume;
        if request.job.is_none() && gateways.as_ref().is_some_and(|all| all.serves(volume)) {
            return self.ask_gateway(hosts, id);
        }
        let Issue { client, volume, op, offset, size, .. } = request.issue;
        let has_guest = core.guests[client.index()].is_some();
        let stage = request.stage;
        // the content of journals is never read back
        if hosts.has_payload() && op == Op::Write && stage == Stage::Transfer && !request.is_journal
        {
            hosts.payload_written(request);
        }
        match stage {
            Stage::Transfer => {
                let extent = system.range(core, volume, VolumeExtent { offset, size });
                self.send_range(hosts, id, op, extent, has_guest);
            }
            Stage::Fetch => {
                let block = core.volumes[volume as usize].distribution.block();
                for number in core.partial_blocks(volume, VolumeExtent { offset, size }) {
                    let extent = VolumeExtent { offset: block * number, size: block };
                    self.send_range(hosts, id, Op::Read, extent, has_guest);
                }
            }
        }
        if has_guest {
            self.send_from_guest(hosts, client);
        }
    }

    /// An address range that a request reads or writes goes to the nodes, or into the block layer of its guest.
    fn send_range<H: Hosts>(
        &mut self,
        hosts: &mut H,
        id: u32,
        op: Op,
        extent: VolumeExtent,
        has_guest: bool,
    ) {
        let Self { core, system, .. } = self;
        if has_guest {
            core.submit_to_guest(hosts, id, op, extent);
        } else {
            system.send_range(core, hosts, id, op, extent, NO_OPERATION);
        }
    }

    /// A guest sends the operations that its block layer releases.
    fn send_from_guest<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let Self { core, system, .. } = self;
        let mut operations = std::mem::take(&mut core.scratch.operations);
        core.take_from_guest(hosts, host, &mut operations);
        for &operation in &operations {
            let (request, op, extent) = core.operation(host, operation);
            system.send_range(core, hosts, request, op, extent, operation);
        }
        core.scratch.operations = operations;
    }

    /// A guest writes the changes in its file system to its journal.
    fn commit_journal<H: Hosts>(&mut self, hosts: &mut H, host: HostId, issue: Issue) {
        let (offset, size) = self.core.commit_journal(host);
        let issue = Issue { op: Op::Write, offset, size, ..issue };
        let (id, span) = self.insert(hosts, issue, true);
        self.core.compute_request(hosts, id, span, Continuation::Prepared { request: id });
    }

    /// Counts one of the answers that a part of a request waits for.
    fn part_answered<H: Hosts>(&mut self, hosts: &mut H, part: u32) {
        let (id, answered, guest) = self.core.part_answered(hosts, part);
        self.core.settle(hosts, part);
        if let Some(host) = guest {
            self.send_from_guest(hosts, host);
        }
        if answered == Answered::Waits {
            return;
        }
        let Self { core, system, .. } = self;
        let request = &core.requests[id];
        let is_written = request.issue.op == Op::Write && request.stage == Stage::Transfer;
        if is_written && request.is_repair {
            core.converted(hosts, id);
            self.let_go(hosts);
            return;
        }
        if is_written {
            core.complete(hosts, id);
            return;
        }
        if request.is_repair {
            let span = core.rebuilding(hosts, id);
            core.compute_request(hosts, id, span, Continuation::Decoded { request: id });
            return;
        }
        let span = system.decode_time(core, hosts.cpu(request.issue.client), request);
        if span.is_zero() {
            self.decoded(hosts, id);
        } else {
            core.compute_request(hosts, id, span, Continuation::Decoded { request: id });
        }
    }

    /// The data that a request has read are decoded and decrypted.
    fn decoded<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        let core = &mut self.core;
        if core.requests[id].is_repair {
            core.rebuilt(hosts, id);
            return self.let_go(hosts);
        }
        let request = &mut core.requests[id];
        let Issue { volume, op, offset, size, client, .. } = request.issue;
        if hosts.has_payload() {
            hosts.payload_opened(id, volume);
        }
        if op == Op::Read {
            core.complete(hosts, id);
            return;
        }
        // the fetched blocks are modified, and sent as a whole
        assert_eq!(request.stage, Stage::Fetch, "a write is opened only after a fetch");
        request.stage = Stage::Transfer;
        let whole = core.covering(volume, VolumeExtent { offset, size }).size;
        let span = core.volume_at(volume, offset).encode_time(hosts.cpu(client), whole);
        core.compute_request(hosts, id, span, Continuation::Prepared { request: id });
    }

    /// The effect of a request on the nodes' stores, for engines that skip simulated time. `choose` moves `m` fragments
    /// chosen at random to the front.
    pub fn touch(
        &mut self,
        issue: &Issue,
        mut choose: impl FnMut(&mut [u8], usize),
        mut store: impl FnMut(HostId, &Access),
    ) {
        let Self { core, system, gateways, .. } = self;
        let Some(gateways) = gateways.as_ref().filter(|all| all.serves(issue.volume)) else {
            return system.touch(core, issue, choose, store);
        };
        for step in gateways.issues(issue) {
            system.touch(core, &step, &mut choose, &mut store);
        }
    }
}

/// State that engines read.
impl Protocol {
    /// Exchanges in progress.
    pub fn exchanges(&self) -> &Exchanges {
        &self.core.exchanges
    }

    /// Outstanding requests, including journals'. Entries may belong to requests that are complete.
    pub fn requests(&self) -> &Slab<Request> {
        &self.core.requests
    }

    /// Volumes of the cluster.
    pub fn volumes(&self) -> &[Volume] {
        &self.core.volumes
    }

    /// The machine whose processor and adapter a host uses: its own, or for a guest those of the first one of its
    /// group.
    pub fn machine(&self, host: HostId) -> HostId {
        self.core.machines[host.index()]
    }

    /// The block layer of a host, if it is a guest.
    pub fn guest(&self, host: HostId) -> Option<&Guest> {
        self.core.guests[host.index()].as_deref()
    }

    /// Whether a host is down.
    pub fn is_down(&self, host: HostId) -> bool {
        self.core.failures.as_ref().is_some_and(|failures| failures.is_down(host))
    }

    /// The health of the cluster.
    pub fn health(&self) -> Health {
        self.core.failures.as_ref().map_or(Health::Whole, |failures| failures.health())
    }

    /// Recoveries so far, in the order in which they began.
    pub fn recoveries(&self) -> &[Recovery] {
        self.core.failures.as_ref().map_or(&[], |failures| &failures.recoveries.all)
    }

    /// How far a recovery is at `now`.
    pub fn progress(&self, recovery: &Recovery, now: SimTime) -> Progress {
        let left = match recovery.ended {
            Some(_) => Bytes::ZERO,
            None => self.system.bytes_left(&self.core, recovery),
        };
        recovery.pace.progress(now, recovery.ended, left)
    }

    /// Number of reads that have asked one more node, by workload. Empty without hedged reads.
    pub fn hedges(&self) -> &[u64] {
        self.core.failures.as_ref().map_or(&[], |failures| failures.hedging.sent())
    }

    /// The results of scrubbers since the beginning; `None`: nothing is scrubbed.
    pub fn scrubbed(&self) -> Option<Scrubbed> {
        self.core.scrubs.as_ref().map(|scrubs| scrubs.done())
    }

    /// Number of reads so far in which a client got an older version than the one that was acknowledged last. Only
    /// systems whose copies are consistent in the end have any.
    pub fn stale_reads(&self) -> u64 {
        self.core.failures.as_ref().map_or(0, |failures| failures.stale_reads)
    }

    /// The workload of a client's request that has begun to wait because too few servers of a group are up; each
    /// request counts once. An engine takes all of them after each of its events.
    pub fn take_below_min_size(&mut self) -> Option<u32> {
        let Self { core, gateways, .. } = self;
        loop {
            let BelowMinSize { workload, job } = core.failures.as_mut()?.below_min_size.pop()?;
            let Some(job) = job else { return Some(workload) };
            // the client's own request waits for the gateway's
            let Some(client) = gateways.as_ref().and_then(|all| all.waits_for(job)) else {
                continue;
            };
            let request = &mut core.requests[client];
            if !std::mem::replace(&mut request.is_below_min_size, true) {
                return Some(request.issue.workload);
            }
        }
    }

    /// Bytes written by all recoveries.
    pub fn rebuilt(&self) -> Bytes {
        self.core.failures.as_ref().map_or(Bytes::ZERO, |failures| failures.recoveries.written)
    }

    /// Number of outstanding requests with which nodes rebuild fragments and convert groups.
    pub fn repairs(&self) -> usize {
        self.core.failures.as_ref().map_or(0, |failures| failures.recoveries.requests())
    }

    /// Number of outstanding requests of gateways to storage servers.
    pub fn gateway_requests(&self) -> u64 {
        self.gateways.as_ref().map_or(0, |gateways| gateways.requests())
    }

    /// Bytes of volumes with too few fragments left.
    pub fn bytes_lost(&self) -> Bytes {
        self.system.bytes_lost(&self.core)
    }

    /// The host or disk whose failure is the reason for a recovery.
    pub fn unit(&self, recovery: &Recovery) -> Unit {
        self.system.unit(recovery.host)
    }

    /// The volume of a recovery that is a conversion.
    pub fn volume_of(&self, recovery: &Recovery) -> Option<VolumeId> {
        (recovery.kind == Kind::Convert).then_some(VolumeId(recovery.host.0))
    }

    /// The initial places of fragments, by volume. The servers are numbered as in [`Fragments::node`].
    ///
    /// [`Fragments::node`]: crate::Fragments::node
    pub fn homes(&self) -> Vec<Home> {
        self.system.homes(&self.core)
    }

    /// Bytes in the file of the Activity DB.
    pub fn database(&self) -> Bytes {
        self.core.database
    }

    /// Sets the size of the Activity DB's file, after simulated time was skipped.
    pub fn database_is(&mut self, size: Bytes) {
        self.core.database = size;
    }

    /// The Activity DB grows by a batch while simulated time is skipped. Returns the access that appends it.
    pub fn append_records(&mut self, batch: Bytes) -> Access {
        let access = self.core.append_records(batch, NO_EXCHANGE);
        self.core.database += batch;
        access
    }
}

/// Stands for the exchange of an access for which no one waits.
pub const NO_EXCHANGE: u32 = u32::MAX;

/// The machine whose processor and adapter a host uses: its own, or for a guest those of the first one of its group.
pub fn machine_of(scenario: &Scenario, id: HostId) -> HostId {
    let host = scenario.host(id);
    if host.guest.is_none() {
        return id;
    }
    let first = scenario.hosts[..id.index()].iter().position(|other| other.group == host.group);
    first.map_or(id, HostId::from)
}
