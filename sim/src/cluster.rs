//! The cluster: hosts, network and requests, moved by events.
//!
//! The loads issue requests, the protocol (`systems`) decides the steps of each request, and the engine
//! carries out those steps on simulated machines. This module passes time between the three.

use foretell_algorithms::slab::Slab;
use foretell_ati::Recorder;
use foretell_scenarios::model::{Scenario, WorkloadKind};
use foretell_scenarios::outages::{Action, Event as OutageEvent, Part};
use foretell_systems::{
    Continuation, Done, Hosts as _, Issue, Protocol, Request, Scrubbed, SystemError, Timer, Unit,
};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, Owner, SimSpan, SimTime};
use std::ops::ControlFlow;

use crate::engine::{Engine, network_events};
use crate::error::SimError;
use crate::event::Event;
use crate::goal::Goal;
use crate::intervals::Intervals;
use crate::load::Instance;
use crate::metrics::Collectors;
use crate::outages::Outages;
use crate::program::Programs;
use crate::tally::Tally;
use crate::tracker::Tracker;
use crate::transaction::{JOURNAL, NO_TRANSACTION, Transaction, TransactionTally};
use crate::truth::{self, Truth};

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The current simulated time.
    pub now: SimTime,
    /// When the run ends, if that is known.
    pub end: Option<SimTime>,
    /// Events so far.
    pub events: u64,
    /// Requests completed so far, including the warm-up's.
    pub requests: u64,
}

/// A cluster in the middle of a run.
pub struct Cluster {
    pub(crate) scenario: Scenario,
    pub(crate) protocol: Protocol,
    pub(crate) engine: Engine,
    pub(crate) instances: Vec<Instance>,
    pub(crate) programs: Programs,
    pub(crate) transactions: Slab<Transaction>,
    /// Memory of a transaction that has ended, for reuse by the next one.
    pub(crate) spare_steps: Vec<foretell_workloads::transaction::TransactionStep>,
    /// Tallies by workload.
    pub(crate) tallies: Vec<Tally>,
    /// Tallies by workload; `None` where requests do not form transactions.
    pub(crate) transaction_tallies: Vec<Option<TransactionTally>>,
    last_breadcrumb: u64,
    last_completion: SimTime,
    /// Outstanding requests that write journals; they belong to no workload.
    commits: u64,
    /// Instances that will issue again.
    pub(crate) active: usize,
    /// Present only in scenarios with events.
    pub(crate) outages: Option<Box<Outages>>,
    /// Hedged reads before measuring began, by workload; empty if no reads are hedged.
    pub(crate) hedges_before: Vec<u64>,
    /// What scrubbers had done before measuring began.
    pub(crate) scrubbed_before: Scrubbed,
    /// When the next of the collectors wakes; the end of time without collectors.
    collect_at: SimTime,
    ready: Vec<u32>,
    mark_at: SimTime,
    end_at: Option<SimTime>,
    /// The precision to reach before the run ends.
    goal: Option<Goal>,
}

/// Events between two calls of `watch`.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 16;

impl Cluster {
    /// The cluster of `scenario` at time zero; records go to `recorder`.
    pub fn new(scenario: Scenario, recorder: Recorder) -> Result<Self, SimError> {
        refuse_what_is_only_measured(&scenario)?;
        let clocks = |id: HostId| owner_of(&scenario, id);
        let protocol = Protocol::new(&scenario, &clocks).map_err(|error| {
            let SystemError { volume, reason } = error;
            SimError::Impossible { what: format!("volume `{volume}`"), reason }
        })?;
        let (instances, programs) = Instance::of_scenario(&scenario)?;
        let mark_at = SimTime::ZERO + scenario.warmup;
        let mut engine = Engine::new(&scenario, &protocol, &clocks, recorder);
        engine.choosing = instances.iter().map(|instance| instance.choosing.clone()).collect();
        let mut cluster = Self {
            protocol,
            engine,
            active: instances.len(),
            instances,
            programs,
            transactions: Slab::new(),
            spare_steps: Vec::new(),
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
            commits: 0,
            outages: Outages::of(&scenario, mark_at),
            hedges_before: Vec::new(),
            scrubbed_before: Scrubbed::default(),
            collect_at: SimTime::MAX,
            ready: Vec::new(),
            mark_at,
            end_at: scenario.duration.map(|duration| mark_at + duration),
            goal: None,
            scenario,
        };
        cluster.create_files()?;
        if let Some(metrics) = &cluster.scenario.tracking.metrics {
            let collectors = Collectors::new(&cluster.scenario, metrics);
            cluster.collect_at = collectors.next_due();
            cluster.engine.collectors = Some(Box::new(collectors));
        }
        for instance in 0..cluster.instances.len() {
            cluster.begin(instance as u32);
        }
        cluster.begin_programs();
        cluster.protocol.begin(&mut cluster.engine);
        let events = cluster.outages.iter().flat_map(|outages| &outages.events);
        for (number, event) in (0..).zip(events) {
            cluster.engine.agenda.schedule(mark_at + event.at, Event::Happens { number });
        }
        Ok(cluster)
    }

    /// From now on records go to `recorder`. A cluster is first built without a recorder, so that missing
    /// files are noticed before anything is written.
    pub fn record_to(&mut self, recorder: Recorder) {
        let machines = self.engine.hosts.iter().map(|host| host.machine);
        self.engine.tracker = Tracker::new(&self.scenario, machines, recorder);
    }

    /// Lets the run continue until `goal` is reached. It lasts at least the scenario's duration.
    pub fn aim_at(&mut self, goal: Goal) {
        self.goal = Some(goal);
    }

    /// Keeps the completion time and response time of each request of a workload, including the warm-up, for
    /// up to a few million requests.
    pub fn keep_responses(&mut self, workload: usize) {
        self.tallies[workload].responses = Some(Vec::new());
    }

    /// The completion and response times kept for a workload; they can be taken once.
    pub fn take_responses(&mut self, workload: usize) -> Vec<(SimTime, SimSpan)> {
        self.tallies[workload].responses.take().unwrap_or_default()
    }

    /// Runs to the end and returns the truth.
    ///
    /// `watch` is called from time to time. If it breaks, the run ends with [`SimError::Interrupted`].
    pub fn run(
        &mut self,
        mut watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Truth, SimError> {
        let mut marked = false;
        let mut countdown = EVENTS_BETWEEN_LOOKS;
        loop {
            let next = self.engine.agenda.next_at();
            if !marked && next.is_none_or(|next| next >= self.mark_at) {
                // a run that ends within its warm-up has measured nothing
                self.collect_before(self.mark_at);
                self.engine.agenda.advance_to(self.mark_at);
                self.mark();
                marked = true;
                continue;
            }
            let Some(next) = next else { break };
            if let Some(end) = self.end_at.filter(|end| next >= *end) {
                if self.runs_past(end) || self.knows_too_little(end) {
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
            let event = self.engine.agenda.next().expect("an event is pending");
            self.dispatch(event);
            if let Some(outages) = &mut self.outages {
                let now = self.engine.agenda.now();
                outages.look(now, self.protocol.health(), self.protocol.rebuilt());
                while let Some(workload) = self.protocol.take_below_min_size() {
                    outages.begins_to_wait(now, workload);
                }
            }
            while let Some(host) = self.engine.tracker.next_due() {
                self.ship_records(host);
            }
            countdown -= 1;
            if countdown == 0 {
                countdown = EVENTS_BETWEEN_LOOKS;
                self.look(&mut watch)?;
            }
        }
        if let Some(failure) = self.engine.failure.take() {
            return Err(failure);
        }
        if let Some(end) = self.end_at {
            self.collect_before(end + SimSpan::from_ns(1));
            self.engine.agenda.advance_to(end);
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

    /// Collectors that wake before `until` post their samples.
    fn collect_before(&mut self, until: SimTime) {
        let Engine { collectors, hosts, .. } = &mut self.engine;
        let Some(collectors) = collectors else { return };
        while collectors.next_due() < until {
            collectors.collect(|host| {
                let host = &mut hosts[host.index()];
                (&mut host.cpu, host.node.as_ref())
            });
        }
        self.collect_at = collectors.next_due();
    }

    /// The collectors' samples, if there were collectors; they can be taken once.
    pub fn take_metrics(&mut self) -> Option<foretell_metrics::Collected> {
        self.engine.collectors.as_mut().map(|collectors| collectors.take())
    }

    /// The demand of each workload at each resource after the warm-up, if a store is kept.
    pub fn demands(&self) -> Vec<foretell_ati::Demand> {
        self.engine.tracker.demands()
    }

    /// The recorder, to be finished after the run.
    pub fn into_recorder(self) -> Recorder {
        self.engine.tracker.into_recorder()
    }

    /// Reports the progress to `watch`. Returns an error if `watch`, or an error within, ends the run.
    pub(crate) fn look(
        &mut self,
        watch: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimError> {
        if let Some(failure) = self.engine.failure.take() {
            return Err(failure);
        }
        if self.engine.tracker.failed() {
            return Err(SimError::StoreFailed);
        }
        let progress = Progress {
            now: self.engine.agenda.now(),
            end: self.end_at,
            events: self.engine.agenda.taken(),
            requests: self.tallies.iter().map(|tally| tally.completed).sum(),
        };
        match watch(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SimError::Interrupted { at: progress.now }),
        }
    }

    /// Whether the run continues beyond `end`, because its intervals differ too much or are too short. If
    /// so, measuring has restarted.
    ///
    /// Everything measured until then is discarded: a transient that is longer than the warm-up makes the
    /// first intervals differ, and would stay in the mean.
    fn runs_past(&mut self, end: SimTime) -> bool {
        let Some(spec) = self.scenario.intervals else { return false };
        let measured = (end - self.mark_at) * 2;
        // an instance that has ended could not be measured again
        if measured > spec.longest || self.instances.iter().any(Instance::is_done) {
            return false;
        }
        let of_all = self.tallies.iter().filter_map(|tally| tally.intervals.as_ref());
        let goes_on = of_all.into_iter().any(|intervals| !intervals.agree(&spec));
        if goes_on {
            self.restart(end, measured);
        }
        goes_on
    }

    /// Whether the run continues beyond `end`, because its goal is not reached.
    fn knows_too_little(&mut self, end: SimTime) -> bool {
        let Some(goal) = self.goal else { return false };
        // an instance that has ended issues no more requests
        if self.instances.iter().any(Instance::is_done) {
            return false;
        }
        let tally = &mut self.tallies[goal.workload];
        let longer = goal.asks_for(&mut tally.batches, end, end - self.mark_at);
        self.end_at = longer.map_or(Some(end), |longer| Some(self.mark_at + longer));
        longer.is_some()
    }

    /// Discards all measurements: measuring restarts now, and lasts for `measured`.
    fn restart(&mut self, now: SimTime, measured: SimSpan) {
        self.collect_before(now);
        self.engine.agenda.advance_to(now);
        for tally in &mut self.tallies {
            let spec = self.scenario.intervals.as_ref();
            tally.restart(now, spec.map(|spec| Intervals::new(spec, now, measured)));
        }
        for tally in self.transaction_tallies.iter_mut().flatten() {
            tally.restart(now);
        }
        for job in &mut self.programs.jobs {
            job.restart(now);
        }
        (self.mark_at, self.end_at) = (now, Some(now + measured));
        self.mark();
    }

    /// Number of outstanding requests, without the journals'.
    pub(crate) fn requests_in_flight(&self) -> u64 {
        let protocol = &self.protocol;
        let others = self.commits + protocol.repairs() as u64 + protocol.gateway_requests();
        protocol.requests().len() as u64 - others
    }

    /// The outstanding requests.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &Request> {
        self.protocol.requests().places().filter(|request| request.is_of_client())
    }

    /// Whether no workload will issue again and nothing is outstanding.
    fn finished(&self) -> bool {
        self.active == 0 && self.protocol.requests().is_empty() && self.transactions.is_empty()
    }

    fn dispatch(&mut self, event: Event) {
        let Self { protocol, engine, .. } = self;
        match event {
            Event::Issue { instance } => return self.issue(instance),
            Event::SliceEnds { host, core } => {
                return self.slice_ends(HostId(host), u32::from(core));
            }
            Event::Forward { train } => {
                let now = engine.agenda.now();
                let mut events = network_events(&mut engine.agenda);
                let delivered = engine.network.forward(now, train, &mut events);
                drop(events);
                if let Some(exchange) = delivered {
                    self.arrive(exchange);
                }
            }
            Event::Climb { climb } => {
                let now = engine.agenda.now();
                engine.network.climb(now, climb, &mut network_events(&mut engine.agenda));
            }
            Event::Wake { connection } => {
                let now = engine.agenda.now();
                engine.network.wake(now, connection, &mut network_events(&mut engine.agenda));
                engine.note_repetitions(protocol.exchanges());
            }
            Event::Deliver { exchange } => self.arrive(exchange),
            Event::LetOut { exchange } => engine.put_on_link(protocol.exchanges(), exchange),
            Event::LetIn { exchange } => protocol.delivered(engine, exchange),
            Event::DiskDone { host, disk } => self.disk_done(HostId(host), u32::from(disk)),
            Event::AskGuest { host } => protocol.timer(engine, Timer::Guest { host }, None),
            Event::Commit { host } => self.commit_journal(host),
            Event::FlushTick { host }
                if protocol.is_down(HostId(host)) && !engine.cut_off.contains(&HostId(host)) =>
            {
                engine.stopped.push(HostId(host));
            }
            Event::FlushTick { host } => {
                let (node, mut around) = engine.node(HostId(host));
                node.flush_tick(&mut around);
            }
            Event::System { host } => protocol.timer(engine, Timer::System { host }, None),
            Event::Daemon { job } => protocol.timer(engine, Timer::Daemon { job }, None),
            Event::Scrub { scrubber } => protocol.timer(engine, Timer::Scrub { scrubber }, None),
            Event::PartTimer { part } => protocol.timer(engine, Timer::Part { part }, None),
            Event::Watch { host } => protocol.timer(engine, Timer::Watch { host }, None),
            Event::Repair { host } => protocol.timer(engine, Timer::Repair { host }, None),
            Event::Happens { number } => self.happens(number),
        }
        self.complete_all();
    }

    /// Carries out one of the scenario's events.
    fn happens(&mut self, number: u32) {
        let Self { protocol, engine, outages, .. } = self;
        let outages = outages.as_mut().expect("there are events");
        outages.begin();
        let OutageEvent { host, part, action, .. } = outages.events[number as usize];
        // to other hosts, a host that is cut off looks like one that has failed
        protocol.happens(engine, Unit { host, disk: part.disk() }, action);
        match action {
            Action::Fail { .. } if part == Part::Link => engine.cut_off.push(host),
            Action::Fail { .. } | Action::Add | Action::Drain | Action::Set { .. } => {}
            Action::Return => {
                engine.cut_off.retain(|other| *other != host);
                if let Some(place) = engine.stopped.iter().position(|other| *other == host) {
                    engine.stopped.swap_remove(place);
                    let (node, mut around) = engine.node(host);
                    node.flush_tick(&mut around);
                }
            }
            Action::Slow { factor } => {
                match part {
                    Part::Whole => {
                        engine.slow.retain(|(other, _)| *other != host);
                        if factor > 1.0 {
                            engine.slow.push((host, factor));
                        }
                    }
                    Part::Disk(disk) => engine.slow_disk_down(host, disk, factor),
                    Part::Link => {
                        let rate = self.scenario.host(host).nic.rate.slower(factor);
                        engine.set_link_rate(host, rate);
                    }
                }
                outages.set_slow((host, part), factor > 1.0);
            }
        }
    }

    /// Handles the consequences of requests that have completed.
    fn complete_all(&mut self) {
        while let Some(done) = self.protocol.take_done(&mut self.engine) {
            self.complete(&done);
        }
    }

    /// The time slice of a core ends; a step of a task may be done.
    fn slice_ends(&mut self, host: HostId, core: u32) {
        let end = self.engine.slice_ends(host, core);
        match end.done {
            Some(Continuation::Load { number }) => self.step_done(number),
            Some(then) => self.protocol.resume(&mut self.engine, then),
            None => {}
        }
        self.complete_all();
        self.engine.go_on(host, core, &end);
    }

    /// A message has arrived over the link. It is let in at the rate that its receiver's bandwidth
    /// allows.
    fn arrive(&mut self, exchange: u32) {
        let Self { protocol, engine, .. } = self;
        let at = engine.let_in_at(&protocol.exchanges()[exchange]);
        if at > engine.agenda.now() {
            engine.agenda.schedule(at, Event::LetIn { exchange });
        } else {
            protocol.delivered(engine, exchange);
        }
    }

    /// A disk of a machine has finished an operation, or has asked to be called at this time.
    fn disk_done(&mut self, machine: HostId, disk: u32) {
        let mut ready = std::mem::take(&mut self.ready);
        self.engine.disk_done(machine, disk, &mut ready);
        for exchange in ready.drain(..) {
            self.protocol.stored(&mut self.engine, exchange);
        }
        self.ready = ready;
    }

    /// A full batch of activity records leaves its host.
    fn ship_records(&mut self, host: HostId) {
        let cost = self.engine.tracker.cost().expect("only what costs is shipped");
        let (store, batch) = (cost.store, cost.batch);
        self.protocol.ship_records(&mut self.engine, host, store, batch);
    }

    /// A guest writes the changes in its file system to its journal.
    fn commit_journal(&mut self, host: u32) {
        let of_it = |instance: &Instance| instance.client == HostId(host);
        let owner = self.instances.iter().position(of_it).expect("somebody has written");
        self.commits += 1;
        let nothing = Bytes::ZERO;
        let issue =
            self.request_of(owner as u32, Op::Write, nothing, nothing, Breadcrumb::NONE, JOURNAL);
        self.protocol.timer(&mut self.engine, Timer::Journal { host }, Some(issue));
    }

    /// A client issues a request, possibly for a transaction; its response time counts from now.
    pub(crate) fn start_request(
        &mut self,
        instance: u32,
        op: Op,
        offset: Bytes,
        size: Bytes,
        transaction: u32,
    ) {
        self.last_breadcrumb += 1;
        let breadcrumb = Breadcrumb(self.last_breadcrumb);
        let issue = self.request_of(instance, op, offset, size, breadcrumb, transaction);
        self.instances[instance as usize].issued += 1;
        self.tallies[issue.workload as usize].issued(self.engine.now());
        self.protocol.start(&mut self.engine, issue);
    }

    /// Builds a request of an instance.
    fn request_of(
        &self,
        instance: u32,
        op: Op,
        offset: Bytes,
        size: Bytes,
        breadcrumb: Breadcrumb,
        transaction: u32,
    ) -> Issue {
        let Instance { workload, client, volume, .. } = self.instances[instance as usize];
        let kind = &self.scenario.workloads[workload.index()].kind;
        Issue {
            instance,
            workload: workload.0,
            client,
            volume: volume.0,
            op,
            offset,
            size,
            breadcrumb,
            owner: transaction,
            // threads of benchmarks have transactions; other workloads are processes
            thread: match transaction {
                NO_TRANSACTION => u64::from(instance) | 1 << 32,
                thread => u64::from(thread),
            },
            whole: matches!(kind, WorkloadKind::Cosbench { .. }),
        }
    }

    /// A request is complete.
    fn complete(&mut self, done: &Done) {
        if done.is_journal {
            self.commits -= 1;
            return;
        }
        let now = self.engine.now();
        let Issue {
            instance, workload, client, volume, op, offset, size, breadcrumb, owner, ..
        } = done.issue;
        if let (Op::Write, false, Some(vault)) = (op, done.failed, &mut self.engine.vault) {
            vault.complete(volume, breadcrumb.0, offset.get(), (offset + size).get());
        }
        self.last_completion = now;
        if let Some(outages) = &mut self.outages {
            outages.ended(now, workload, done.issued, size, done.failed);
        }
        if done.failed {
            self.tallies[workload as usize].given_up(now, done.issued);
        } else {
            self.tallies[workload as usize].completed(now, done.issued, op, size);
        }
        if let Some(collectors) = &mut self.engine.collectors {
            collectors.completed(workload, client, op, size, now - done.issued);
        }
        if owner == NO_TRANSACTION {
            self.count_for_job(instance, op as usize, done.issued, size);
            self.follow_up(instance);
        } else {
            self.step_done(owner);
        }
    }

    /// The warm-up is over.
    fn mark(&mut self) {
        let now = self.engine.agenda.now();
        for tally in &mut self.tallies {
            tally.mark(now);
        }
        self.hedges_before = self.protocol.hedges().to_vec();
        self.scrubbed_before = self.protocol.scrubbed().unwrap_or_default();
        let Engine { tracker, network, hosts, disks, .. } = &mut self.engine;
        tracker.mark();
        network.mark(now);
        for host in hosts {
            host.cpu.mark(now);
            if let Some(node) = &mut host.node {
                node.mark();
            }
        }
        for disk in disks.iter_mut().flatten() {
            disk.mark(now);
        }
    }

    /// Checks the operational laws at each queue, and that no request was lost.
    fn audit(&mut self) -> Result<(), SimError> {
        let now = self.engine.agenda.now();
        let engine = &mut self.engine;
        for index in 0..engine.hosts.len() {
            let name = &self.scenario.hosts[index].name;
            let broken = |queue: String, violation| SimError::LawBroken {
                queue: format!("{name} {queue}"),
                violation,
            };
            let host = &mut engine.hosts[index];
            host.cpu.audit(now).map_err(|violation| broken("cpu".into(), violation))?;
            if let Some(ledger) = &mut host.block_layer {
                let guest = self.protocol.guest(HostId::from(index)).expect("it is a guest");
                ledger
                    .audit(now, guest.arrivals().map(|arrived| (arrived, None)))
                    .map_err(|violation| broken("block layer".into(), violation))?;
            }
            for (disk, device) in engine.disks[index].iter_mut().enumerate() {
                device.audit(now).map_err(|violation| broken(format!("disk{disk}"), violation))?;
            }
            engine
                .network
                .audit(now, HostId::from(index))
                .map_err(|violation| broken("nic".into(), violation))?;
        }
        engine
            .network
            .audit_uplinks(now)
            .map_err(|violation| SimError::LawBroken { queue: "uplink".into(), violation })?;
        engine
            .network
            .audit_messages()
            .map_err(|violation| SimError::LawBroken { queue: "network".into(), violation })?;
        let mut outstanding = vec![Vec::new(); self.tallies.len()];
        for request in self.outstanding() {
            outstanding[request.issue.workload as usize].push(request.issued);
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
        let ended = |tally: &Tally| tally.completed + tally.failed;
        let completed: u64 = self.tallies.iter().map(ended).sum();
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
        self.engine.agenda.now().saturating_since(self.mark_at)
    }
}

/// A `run.db` describes the cluster as its operator knows it. Predictions for such a cluster are possible,
/// but it cannot be simulated.
fn refuse_what_is_only_measured(scenario: &Scenario) -> Result<(), SimError> {
    let disks = scenario.hosts.iter().filter_map(|host| host.role.storage());
    for disk in disks.flat_map(foretell_scenarios::model::Storage::devices) {
        if disk.device.is_only_measured() {
            return Err(SimError::Impossible {
                what: format!("device `{}`", disk.device_name),
                reason: "only measurements of it are known, not its mechanics".to_owned(),
            });
        }
    }
    Ok(())
}

/// The owner of a host's random streams.
pub(crate) fn owner_of(scenario: &Scenario, id: HostId) -> Owner {
    Owner::new(scenario.seed, format!("host/{}", scenario.host(id).name))
}

/// Intervals of a workload, if the measured time is cut into intervals.
fn intervals(scenario: &Scenario, from: SimTime) -> Option<Intervals> {
    let (spec, duration) = (scenario.intervals.as_ref()?, scenario.duration?);
    Some(Intervals::new(spec, from, duration))
}
