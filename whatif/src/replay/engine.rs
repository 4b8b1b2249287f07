//! The model of the machines on which the storage system's software runs.
//!
//! The protocol reaches the machines through [`Hosts`]. Their processors and links have known costs and
//! rates, and their disks were measured. Left out: TCP's behaviour after losses, the angle of platters.

use foretell_algorithms::bandwidth::Limit;
use foretell_algorithms::cores::Slice;
use foretell_algorithms::node::NO_CLIENT;
use foretell_ati::{RecordKind, Resource};
use foretell_scenarios::model::{CpuProfile, Scenario};
use foretell_systems::{
    Access, Adapters, Continuation, Exchange, Exchanges, Hosts, Phase, Request, Timer, Work,
};
use foretell_units::{Bytes, HostId, Op, SimSpan, SimTime, Stream, Thread};

use super::agenda::{Agenda, Event};
use super::cpu::{Cpu, StepEnd};
use super::disks::Disks;
use super::links::{Links, Steps};
use super::node::{Around, Node};
use super::tally::{Busy, Path, Usage};
use super::tracking::Tracking;

/// The machines and their statistics.
pub(super) struct Engine<'a> {
    pub(super) scenario: &'a Scenario,
    /// Current time, counting only what is replayed in detail.
    pub(super) now: SimTime,
    /// Total time that was skipped so far. In skipped time, requests only touch caches.
    pub(super) skipped: SimSpan,
    /// Total time that was left out so far. In this time, clients advanced in their records, but no time
    /// passed for nodes.
    pub(super) left_out: SimSpan,
    /// While time is skipped: the earliest time at which a flusher acts.
    pub(super) ticks_from: SimTime,
    pub(super) agenda: Agenda,
    /// By host: the machine whose processor it uses.
    pub(super) machines: Vec<HostId>,
    pub(super) cpus: Vec<Cpu>,
    /// The host and core that have just completed a step of a task, while the consequences are computed.
    pub(super) in_hand: Option<(HostId, u32)>,
    /// Whether computations run on threads that must be woken.
    pub(super) waking: bool,
    pub(super) adapters: Adapters,
    pub(super) links: Links,
    /// By host: bandwidth limit of a virtual machine that has one.
    pub(super) limits: Vec<Option<Limit>>,
    pub(super) nodes: Vec<Option<Node>>,
    /// By host; a virtual machine uses its machine's disks.
    pub(super) disks: Vec<Disks>,
    /// By instance of a workload: the random stream that chooses fragments.
    pub(super) choosing: Vec<Stream>,
    pub(super) tracking: Tracking,
    /// By workload, host and resource: usage in the measured time.
    pub(super) usage: Vec<Vec<Vec<Usage>>>,
    /// By workload: what its requests waited for.
    pub(super) paths: Vec<Path>,
    /// Whether the measured time is under way.
    pub(super) measuring: bool,
    pub(super) steps: Steps,
    /// Slow hosts, each with the factor by which its processor takes longer.
    pub(super) slow: Vec<(HostId, f64)>,
    /// Hosts that are cut off but still run.
    pub(super) cut_off: Vec<HostId>,
}

impl Engine<'_> {
    /// The time in the whole run that clients have reached.
    pub(super) fn time_of_clients(&self) -> SimTime {
        self.now + self.skipped + self.left_out
    }

    /// Charges a workload with its use of a resource.
    pub(super) fn charge(
        &mut self,
        host: HostId,
        resource: Resource,
        workload: u32,
        busy: impl Into<Busy>,
    ) {
        if self.measuring && workload != NO_CLIENT {
            let usage = &mut self.usage[workload as usize][host.index()];
            usage[resource.index()].add(busy.into());
        }
    }

    /// Gives a processor work that is charged to no workload.
    pub(super) fn work(&mut self, host: HostId, thread: Thread, work: SimSpan, then: Continuation) {
        let in_hand = self.in_hand.filter(|(owner, _)| *owner == host && !self.waking);
        let (now, cpu) = (self.now, &mut self.cpus[host.index()]);
        if let Some((_, core)) = in_hand {
            cpu.follow(now, core, thread, work, then);
        } else if let Some(slice) = cpu.submit(now, thread, work, then) {
            self.take_up(host, &slice);
        }
    }

    /// A core starts to run a thread.
    fn take_up(&mut self, host: HostId, slice: &Slice) {
        if slice.from.pid != slice.to.pid {
            self.tracking.post(host.0, RecordKind::KernelProcessSwitch);
        } else if slice.from != slice.to {
            self.tracking.post(host.0, RecordKind::UserThreadSwitch);
        }
        self.agenda.schedule(slice.end, Event::Slice { host: host.0, core: slice.core });
    }

    /// The running slice of a core ends. The caller must compute the consequences of a completed step before
    /// it calls [`Engine::go_on`].
    pub(super) fn slice_ends(&mut self, host: HostId, core: u32) -> StepEnd {
        let end = self.cpus[host.index()].step_ends(self.now, core);
        self.in_hand = end.done.map(|_| (host, core));
        end
    }

    /// A core continues after the end of a slice.
    pub(super) fn go_on(&mut self, host: HostId, core: u32, end: &StepEnd) {
        let next = match self.in_hand.take() {
            Some(_) => self.cpus[host.index()].go_on(self.now, core),
            None => end.next,
        };
        match next {
            Some(slice) => self.take_up(host, &slice),
            None => self.tracking.post(host.0, RecordKind::KernelProcessSwitch),
        }
    }

    /// Puts the network's next steps on the agenda.
    pub(super) fn take(&mut self, mut steps: Steps) {
        for (at, step) in steps.drain(..) {
            self.agenda.schedule(at, Event::Network(step));
        }
        self.steps = steps;
    }

    /// Sends the message of an exchange over the link. Between virtual machines on one machine, the message
    /// goes over the bridge. The bridge takes no time and records nothing.
    pub(super) fn put_on_link(&mut self, exchanges: &Exchanges, id: u32) {
        let exchange = &exchanges[id];
        let (from, to) = self.adapters.between(exchange);
        if self.links.machine(from) == self.links.machine(to) {
            self.agenda.schedule(self.now, Event::Delivered { exchange: id });
            return;
        }
        let (sender, wire) = (exchange.sender(), exchange.wire());
        self.tracking.post(sender.0, RecordKind::NetworkTransmit);
        let time = self.links.time(from.index(), wire);
        let resource = Resource::sending(from != sender);
        self.charge(self.links.machine(sender), resource, exchange.workload, time);
        let mut steps = std::mem::take(&mut self.steps);
        self.links.send(self.now, from.0, to.0, id, wire, &mut steps);
        self.take(steps);
    }

    /// When the receiver's bandwidth limit lets a message pass that has arrived now.
    pub(super) fn let_in_at(&mut self, exchange: &Exchange) -> SimTime {
        let (from, to) = (exchange.sender(), exchange.receiver());
        let (adapters, wire) = (self.adapters.between(exchange), exchange.wire());
        let on_link = self.link_time(adapters.1, adapters.0, adapters.1, wire);
        let limit = self.limits[to.index()].as_mut().filter(|_| from != to);
        limit.map_or(self.now, |limit| limit.let_in(self.now, wire, on_link))
    }

    /// Time of a message on a host's link; none over a bridge.
    fn link_time(&self, of: HostId, from: HostId, to: HostId, wire: Bytes) -> SimSpan {
        let together = self.links.machine(from) == self.links.machine(to);
        if together { SimSpan::ZERO } else { self.links.time(of.index(), wire) }
    }

    /// Whether a host owns a resource. Virtual machines share some resources with their machine, and guests
    /// share all.
    pub(super) fn has(&self, host: usize, resource: Resource) -> bool {
        let owners = match resource {
            Resource::Cpu => self.machines[host],
            Resource::Transmit | Resource::Receive | Resource::Disk(_) => {
                self.links.machine(HostId::from(host))
            }
            Resource::ClusterTransmit | Resource::ClusterReceive => {
                if self.adapters.second(HostId::from(host)).is_none() {
                    return false;
                }
                self.links.machine(HostId::from(host))
            }
        };
        owners == HostId::from(host)
    }

    /// The storage of a host, if it is a node.
    pub(super) fn node(&mut self, host: u32) -> Option<(&mut Node, Around<'_>)> {
        let node = self.nodes[host as usize].as_mut()?;
        let machine = self.links.machine(HostId(host));
        let around = Around {
            now: self.now,
            skipped: self.skipped,
            host,
            machine: machine.0,
            disks: &mut self.disks[machine.index()],
            agenda: &mut self.agenda,
            tracking: &mut self.tracking,
        };
        Some((node, around))
    }
}

impl Hosts for Engine<'_> {
    #[inline]
    fn now(&self) -> SimTime {
        self.now
    }

    #[inline]
    fn cpu(&self, host: HostId) -> &CpuProfile {
        &self.scenario.hosts[host.index()].cpu
    }

    fn compute(&mut self, work: Work) {
        let host = self.machines[work.host.index()];
        let mut span = work.span + self.tracking.take_debt(host.0);
        if let Some((_, factor)) = self.slow.iter().find(|(slow, _)| *slow == work.host) {
            span = SimSpan::from_secs_f64(span.as_secs_f64() * factor);
        }
        self.charge(host, Resource::Cpu, work.workload, span);
        self.work(host, work.thread, span, work.then);
    }

    fn transmit(&mut self, exchanges: &Exchanges, id: u32) {
        let exchange = &exchanges[id];
        let (from, to) = (exchange.sender(), exchange.receiver());
        if from == to {
            // messages within a host use no link
            self.agenda.schedule(self.now, Event::Delivered { exchange: id });
            return;
        }
        let (adapters, wire) = (self.adapters.between(exchange), exchange.wire());
        let on_link = self.link_time(adapters.0, adapters.0, adapters.1, wire);
        let at = match &mut self.limits[from.index()] {
            Some(limit) => limit.let_out(self.now, wire, on_link),
            None => self.now,
        };
        if at > self.now {
            self.agenda.schedule(at, Event::LetOut { exchange: id });
        } else {
            self.put_on_link(exchanges, id);
        }
    }

    fn store(&mut self, host: HostId, access: &Access) -> u32 {
        let (node, mut around) = self.node(host.0).expect("storage nodes have storage");
        node.access(&mut around, access)
    }

    fn set_timer(&mut self, at: SimTime, timer: Timer) {
        self.agenda.schedule(at, Event::Timer(timer));
    }

    fn choose(&mut self, instance: u32, fragments: &mut [u8], m: usize) {
        choose(&mut self.choosing[instance as usize], fragments, m);
    }

    fn set_waking(&mut self, wakes: bool) {
        self.waking = wakes;
    }

    fn note_request(&mut self, _id: u32, request: &Request, _phase: Phase) {
        let machine = self.machines[request.issue.client.index()];
        self.tracking.post(machine.0, RecordKind::Request);
    }

    fn note_part(&mut self, request: &Request, op: Op, node: HostId, count: usize) {
        if !self.measuring {
            return;
        }
        let issue = &request.issue;
        let path = &mut self.paths[issue.workload as usize];
        path.legs[crate::disk::index(op)] += count as u64;
        let latency = |host: HostId| self.scenario.hosts[host.index()].nic.latency;
        path.latency += (latency(issue.client) + latency(node)) * 2;
    }

    fn note_received(&mut self, exchange: &Exchange) {
        let (from, to) = self.adapters.between(exchange);
        if self.links.machine(from) != self.links.machine(to) {
            let receiver = exchange.receiver();
            let time = self.links.time(to.index(), exchange.wire());
            let resource = Resource::receiving(to != receiver);
            self.charge(self.links.machine(receiver), resource, exchange.workload, time);
        }
    }
}

/// Moves `m` randomly chosen fragments to the front.
pub(super) fn choose(choosing: &mut Stream, fragments: &mut [u8], m: usize) {
    for place in 0..m {
        let rest = (fragments.len() - place) as u64;
        fragments.swap(place, place + choosing.below(rest) as usize);
    }
}
