//! The network: full-duplex links to one switch whose output ports have finite buffers, and TCP.
//!
//! **Links.** A message is a run of segments (see `segment`): payload is 94.1 % of line rate. It goes over the
//! sender's link. Each segment reaches the switch after the link's latency, and goes over the receiver's link after
//! those before it: the switch is store-and-forward, first come, first served. The sender's link serves trains of
//! segments first come, first served.
//!
//! Virtual machines share the link of their machine, but have their own connections. A second adapter of a node counts
//! as a host here, at the same switch and in the same rack.
//!
//! **Ports.** A segment is dropped if the output port's buffer is full (tail drop), or if the port exceeds its share of
//! a buffer that all ports have in common (see `pool`).
//!
//! **TCP.** There is a connection from each host to each other host, set up before the run. Its window is kept from
//! message to message (see `connection`). Messages on a connection are delivered in order and as a whole. Segments that
//! the window allows are sent together, as a *train*, as adapters with segmentation offload do. A host acts on an
//! acknowledgement after a random delay of at most the time of a segment on the receiver's link. Without this delay,
//! simulated senders fall into step with the port and some starve (Floyd & Jacobson, *On Traffic Phase Effects in
//! Packet-Switched Gateways*, 1992, add the same delay). For the same reason it is random which segment gets the last
//! place in a port's buffer (see `port`).
//!
//! **Events.** Segments have no events of their own. When a train is sent, the earliest time at which its
//! last segment can be at the receiver is known. At that time the network asks the port what happened to the
//! train (see `port`). If nothing else was sent through the port in the meantime, the message is delivered at
//! that moment, so it takes only one event. Otherwise it is delivered at the time that the port gives. If the
//! port's buffer could overflow, the network asks as soon as a train has arrived, so that the sender learns
//! of a loss in time. [`Network::segment_by_segment`] asks at each segment. It must give the same times to
//! the nanosecond, with or without losses, and in the tests it does.
//!
//! **Incast.** Many servers that answer one client at once overflow its port. Most servers recover by a fast
//! retransmit. A server that loses too much must wait for the timeout, and the other servers wait for this
//! one, so the throughput of reads from several servers collapses (Phanishayee et al., FAST 2008; Chen et
//! al., WREN 2009), unless the timeout is small (Vasudevan et al., SIGCOMM 2009).
//! `cargo bench -p foretell-sim --bench incast` prints the model beside measurements.
//!
//! **Racks.** Traffic between two racks also goes over the uplinks of both, if racks have uplinks (see
//! `uplinks`).
//!
//! With [`NetworkModel::Queue`] buffers and windows are unlimited, so only the links are modelled. TCP with an ample
//! buffer and ample windows gives the same times.
//!
//! **Left out:** connection set-up, acknowledgements' own bytes and queueing, delayed
//! acknowledgements, segments shared by messages, spurious timeouts (a segment that is not lost is
//! never sent twice), the variance term of the timeout, explicit congestion notification, pacing,
//! pause frames.

mod acks;
mod connection;
mod pool;
mod port;
mod segment;
mod tcp;
#[cfg(test)]
mod tests;
mod uplinks;

use foretell_scenarios::model::{self, NetworkModel};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, SimTime};

use crate::ledger::{Usage, Violation};
use foretell_algorithms::slab::Slab;

use connection::{Sending, Wake};
use pool::Pool;
use port::{Coming, Outcome, Port};
use segment::Run;
pub use segment::{segments, wire_bytes};
use tcp::Tcp;
use uplinks::{Next, Passage, Uplinks};

/// Random stream for the places in ports' buffers, among the streams of a network.
const PORTS: u64 = u64::MAX;

/// All links, the switch between them, and the connections over them.
#[derive(Debug)]
pub struct Network {
    ports: Vec<Port>,
    /// The machine whose link each host uses: the host itself, or its physical machine.
    machines: Vec<HostId>,
    pool: Option<Pool>,
    /// `None`: all machines are at one switch.
    uplinks: Option<Box<Uplinks>>,
    trains: Slab<Train>,
    /// Trains sent so far.
    sequence: u64,
    /// `None`: only links are modelled.
    tcp: Option<Tcp>,
    /// Results from the ports that have not been acted on.
    outcomes: Vec<Outcome>,
    /// Messages with retransmissions, and the retransmitted bytes on the wire.
    resent: Vec<(u32, Bytes)>,
    counts: Counts,
    /// Messages on their way that are not in the table of messages.
    whole_messages: u64,
    /// Whether the ports are asked at each segment.
    eager: bool,
}

/// Counters since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Messages handed to the network.
    pub messages_sent: u64,
    /// Messages that the receiver has completely, or will certainly get.
    pub messages_delivered: u64,
    /// Segments put on senders' links, including retransmissions.
    pub segments_sent: u64,
    /// Segments dropped at a full port.
    pub segments_dropped: u64,
    /// Segments retransmitted.
    pub segments_resent: u64,
    /// Losses detected by later acknowledgements that halved a window.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// Problems on a host's link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Troubles {
    /// Segments for the host that were dropped at its switch port.
    pub dropped: u64,
    /// Segments that the host retransmitted.
    pub resent: u64,
    /// Retransmission timeouts of the host.
    pub timeouts: u64,
}

/// Segments that a sender put on its link together.

#[derive(Clone, Copy, Debug)]
struct Train {
    connection: u32,
    /// Machine of the switch port that the train goes through.
    to: HostId,
    cargo: Cargo,
    run: Run,
    /// Whether it is a retransmission.
    again: bool,
    /// Bytes on the wire of its dropped segments.
    dropped: u64,
    segments_passed: u32,
    sent: SimTime,
    /// When its last segment reaches the switch.
    tail: SimTime,
    /// When the segments that passed are at the receiver, once that is known.
    arrival: Option<SimTime>,
    /// Number of pending events for it.
    looks: u32,
}

#[derive(Clone, Copy, Debug)]
enum Cargo {
    /// A whole message: its owner's number, and the number of messages sent up to it.
    Whole { number: u32, order: u64 },
    /// Part of a message of the table.
    Part { message: u32 },
    /// The cargo has been dealt with.
    Done,
}

/// A train that goes onto its sender's link.
#[derive(Clone, Copy, Debug)]
struct Departure {
    from: HostId,
    to: HostId,
    connection: u32,
    cargo: Cargo,
    run: Run,
    /// Whether it was sent before.
    again: bool,
}

/// Steps that the network schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkStep {
    /// A train has arrived at the switch or at its receiver: [`Network::forward`].
    Forward {
        /// The train.
        train: u32,
    },
    /// A train has arrived at the switch before an uplink: [`Network::climb`].
    Climb {
        /// The number of its climb.
        climb: u32,
    },
    /// A connection has something to do: [`Network::wake`].
    Wake {
        /// The connection; these steps are ordered by it at equal times.
        connection: u32,
    },
    /// The last byte of a message is at the receiver, and the network has forgotten the message.
    Deliver {
        /// The number that was given to [`Network::send`].
        number: u32,
    },
}

impl Network {
    /// Idle links with these adapters, for hosts in order. `delays`: seed for the delays of hosts.
    pub fn new(
        nics: impl IntoIterator<Item = model::Nic>,
        switch: &model::Switch,
        delays: Seed,
    ) -> Self {
        let nics: Vec<model::Nic> = nics.into_iter().collect();
        let tcp = match switch.model {
            NetworkModel::Tcp => Some(Tcp::new(switch, delays, nics.len())),
            NetworkModel::Queue => None,
        };
        let machines = (0..nics.len()).map(HostId::from).collect();
        let places = |port: usize| Some(delays.child(PORTS).child(port as u64));
        let port = |(number, nic)| Port::new(nic, switch.port_buffer, places(number));
        let ports: Vec<Port> = nics.iter().enumerate().map(port).collect();
        let pool = |size| Pool::new(size, switch.shared_buffer_alpha, ports.len());
        Self {
            pool: switch.shared_buffer.map(pool),
            ports,
            machines,
            uplinks: None,
            trains: Slab::new(),
            sequence: 0,
            tcp,
            outcomes: Vec::new(),
            resent: Vec::new(),
            counts: Counts::default(),
            whole_messages: 0,
            eager: false,
        }
    }

    /// Lets virtual machines share the link of their machine. A machine is named by its first host. Each host keeps its
    /// own connections. `machines`: by host.
    pub fn with_machines(mut self, machines: impl IntoIterator<Item = HostId>) -> Self {
        self.machines = machines.into_iter().collect();
        assert_eq!(self.machines.len(), self.ports.len(), "each host has a machine");
        self
    }

    /// Puts machines into racks with uplinks. Virtual machines on one machine are in one rack.
    pub fn with_uplinks(mut self, uplinks: Option<&model::Uplinks>) -> Self {
        let hosts = self.ports.len();
        self.uplinks = uplinks.map(|uplinks| Box::new(Uplinks::new(uplinks, hosts)));
        self
    }

    /// The machine whose link a host uses.
    pub fn machine(&self, host: HostId) -> HostId {
        self.machines[host.index()]
    }

    /// Time of a message on the link of a host. Between two virtual machines of one machine it goes over the bridge
    /// and takes no time.
    pub fn link_time(&self, of: HostId, from: HostId, to: HostId, wire: Bytes) -> SimSpan {
        let together = self.machine(from) == self.machine(to);
        if together { SimSpan::ZERO } else { self.wire_time(of, wire) }
    }

    /// Examines every segment separately, when it arrives: the slow model that the fast one is compared with.
    pub fn segment_by_segment(mut self) -> Self {
        self.eager = true;
        for port in &mut self.ports {
            port.single_steps = true;
        }
        if let Some(pool) = &mut self.pool {
            pool.single_steps = true;
        }
        self
    }

    /// Sends a message of `wire` bytes on the wire from one host to another, on another machine.
    ///
    /// `number` is returned once, by [`Network::forward`] or [`NetworkStep::Deliver`]. `schedule` is called with each step and
    /// its time. Steps at equal times must be taken in the order of these calls, except that wakes come after all
    /// others, in the order of their connections: a wake may be scheduled early or late.
    pub fn send(
        &mut self,
        now: SimTime,
        from: HostId,
        to: HostId,
        wire: Bytes,
        number: u32,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        self.counts.messages_sent += 1;
        let run = Run::message(wire);
        let mut connection = u32::MAX;
        let machines = (self.machine(from), self.machine(to));
        if let Some(tcp) = &mut self.tcp {
            let (out, back) = (&self.ports[machines.0.index()], &self.ports[machines.1.index()]);
            let round_trip = || (out.latency + back.latency) * 2 + out.segment + back.segment;
            connection = tcp.connection(from, to, round_trip);
            let planned = tcp.connections[connection as usize].wake;
            if planned.is_some_and(|wake| wake.due <= now) {
                // a host that sends has processed its arrivals first
                self.go_on(now, now, connection, schedule);
            }
            let tcp = self.tcp.as_mut().expect("it has just been there");
            let sender = &mut tcp.connections[connection as usize];
            if !sender.may_send(now, run, &tcp.settings) {
                let order = self.counts.messages_sent;
                let message = tcp.enter(connection, number, run.segments, order);
                tcp.connections[connection as usize].enqueue(message, run);
                self.go_on(now, now, connection, schedule);
                return;
            }
            sender.note_sent(now, run);
            if sender.backlog.is_some() {
                // it has processed acknowledgements
                self.plan(now, connection, schedule);
            }
        }

        self.whole_messages += 1;
        let cargo = Cargo::Whole { number, order: self.counts.messages_sent };
        let departure = Departure { from, to, connection, cargo, run, again: false };
        self.transmit(now, departure, schedule);
    }

    /// Sets the rate of a host's link from now on. Data that its adapter has taken, and data that wait in the switch
    /// for it, still go at the old rate.
    pub fn set_rate(
        &mut self,
        now: SimTime,
        host: HostId,
        rate: Rate,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let machine = self.machine(host);
        self.walk(now, machine, schedule);
        let Self { ports, trains, .. } = self;
        ports[machine.index()].set_rate(rate, |train| trains[train].run);
        if !self.eager {
            // the times of planned examinations were computed with the old rate
            self.watch(u32::MAX, machine, schedule);
        }
    }

    /// Puts a train on the sender's link.
    fn transmit(
        &mut self,
        now: SimTime,
        departure: Departure,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let Departure { from, to, connection, cargo, run, again } = departure;
        let (from, to) = (self.machine(from), self.machine(to));
        self.counts.segments_sent += u64::from(run.segments);
        let out = &mut self.ports[from.index()];
        let (spacing, times) = (out.segment, out.transmit(now, run));
        let train = self.trains.insert(Train {
            connection,
            to,
            cargo,
            run,
            again,
            dropped: 0,
            segments_passed: 0,
            sent: now,
            tail: times.1,
            arrival: None,
            looks: 1,
        });
        let passage = Passage { head: times.0, tail: times.1, spacing };
        if let Some(uplinks) = &mut self.uplinks
            && let Some(climb) = uplinks.enter(from, to, train, run, passage)
        {
            schedule(passage.head, NetworkStep::Climb { climb });
            return;
        }
        self.announce(now, train, passage, schedule);
    }

    /// A train has arrived at the switch before an uplink.
    pub fn climb(
        &mut self,
        now: SimTime,
        climb: u32,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let uplinks = self.uplinks.as_mut().expect("trains climb only with uplinks");
        match uplinks.pass(now, climb) {
            Next::Climbs(at) => schedule(at, NetworkStep::Climb { climb }),
            Next::Descends { train, passage } => {
                self.trains[train].tail = passage.tail;
                self.announce(now, train, passage, schedule);
            }
        }
    }

    /// It is known when a train will arrive at its receiver's port.
    fn announce(
        &mut self,
        now: SimTime,
        train: u32,
        passage: Passage,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let Train { to, run, .. } = self.trains[train];
        let coming = Coming::new(train, self.sequence, run, passage);
        self.sequence += 1;
        self.ports[to.index()].announce(coming, run);
        if let Some(pool) = &mut self.pool {
            pool.note(to.index());
        }
        if self.eager {
            schedule(passage.head, NetworkStep::Forward { train });
            return;
        }
        if !self.is_safe(now, to) {
            // perhaps the queued data have left; the walk finds out
            self.walk(now, to, schedule);
        }
        if self.is_safe(now, to) {
            let port = &self.ports[to.index()];
            schedule(port.earliest(train) + port.latency, NetworkStep::Forward { train });
            return;
        }
        self.watch(train, to, schedule);
    }

    /// Whether no segment that is at a port or on its way there could be dropped, or has been dropped unnoticed.
    fn is_safe(&self, now: SimTime, to: HostId) -> bool {
        self.ports[to.index()].is_safe(now)
            && self.pool.as_ref().is_none_or(|pool| pool.is_safe(now, &self.ports))
    }

    /// Plans an examination for each train that could be dropped, at its arrival; `train` is new.
    fn watch(&mut self, train: u32, to: HostId, schedule: &mut impl FnMut(SimTime, NetworkStep)) {
        let trains = &mut self.trains;
        let mut watch = |other: u32, tail| {
            trains[other].looks += u32::from(other != train);
            schedule(tail, NetworkStep::Forward { train: other });
        };
        match &mut self.pool {
            None => self.ports[to.index()].watch_all(&mut watch),
            Some(pool) => {
                pool.doubtful = true;
                for &port in pool.active() {
                    self.ports[port as usize].watch_all(&mut watch);
                }
            }
        }
    }

    /// A train is at the switch or at its receiver. Returns the number of the message that it delivers now, if any.
    pub fn forward(
        &mut self,
        now: SimTime,
        train: u32,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) -> Option<u32> {
        if !self.outcomes.is_empty() {
            // outcomes were found on the way
            self.act(now, schedule);
        }
        let Train { to, arrival, .. } = self.trains[train];
        if arrival.is_none() {
            self.conclude(now, train, to, schedule);
        }
        let entry = &mut self.trains[train];
        let Some(arrival) = entry.arrival else {
            assert!(self.eager, "a train is looked at when it has arrived");
            let next = self.ports[to.index()].next_of(train).expect("it has not arrived");
            schedule(next, NetworkStep::Forward { train });
            return None;
        };
        let mut delivered = None;
        if let Cargo::Whole { number, .. } = entry.cargo {
            entry.cargo = Cargo::Done;
            self.whole_messages -= 1;
            self.counts.messages_delivered += 1;
            if arrival == now {
                delivered = Some(number);
            } else {
                schedule(arrival, NetworkStep::Deliver { number });
            }
        }
        entry.looks -= 1;
        if entry.looks == 0 {
            self.trains.remove(train);
        }
        delivered
    }

    /// Finds the outcome of a train that has arrived, or of the part of it that has.
    fn conclude(
        &mut self,
        now: SimTime,
        train: u32,
        to: HostId,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        if self.pool.is_some() || self.eager {
            self.walk(now, to, schedule);
            return;
        }
        let port = &mut self.ports[to.index()];
        let finish = port.conclude(now, train, &mut self.outcomes);
        if !self.outcomes.is_empty() {
            self.act(now, schedule);
        }
        if let Some(finish) = finish {
            let segments = self.trains[train].run.segments;
            self.arrived(now, train, segments, finish, schedule);
        }
    }

    /// Finds the outcome of the segments that arrive at a port by `now`.
    fn walk(&mut self, now: SimTime, to: HostId, schedule: &mut impl FnMut(SimTime, NetworkStep)) {
        self.look(now, to);
        self.act(now, schedule);
    }

    /// Acts on the outcomes found.
    fn act(&mut self, now: SimTime, schedule: &mut impl FnMut(SimTime, NetworkStep)) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Dropped { train, passed, last } => self.dropped(train, passed, last),
                Outcome::Done { train, passed, finish } => {
                    self.arrived(now, train, passed, finish, schedule);
                }
            }
        }
        self.outcomes = outcomes;
    }

    fn look(&mut self, now: SimTime, to: HostId) {
        match &mut self.pool {
            None => self.ports[to.index()].walk(now, &mut self.outcomes),
            Some(pool) => pool.walk(now, &mut self.ports, &mut self.outcomes),
        }
    }

    /// `passed` further segments of a train have passed, and then one, perhaps the last, was dropped.
    fn dropped(&mut self, id: u32, passed: u32, last: bool) {
        self.counts.segments_dropped += 1;
        let train = &mut self.trains[id];
        let segment = Run { segments: 1, wire: train.run.wire_of_one(last) };
        train.dropped += segment.wire;
        train.segments_passed += passed;
        let tcp = self.tcp.as_mut().expect("only TCP drops");
        tcp.connections[train.connection as usize].pass(passed);
        let message = match train.cargo {
            Cargo::Part { message } => message,
            Cargo::Whole { number, order } => {
                self.whole_messages -= 1;
                tcp.enter(train.connection, number, train.run.segments, order)
            }
            Cargo::Done => unreachable!("it has not arrived"),
        };
        train.cargo = Cargo::Part { message };
        tcp.connections[train.connection as usize].drop(
            train.sent,
            train.tail,
            message,
            segment,
            train.again,
        );
    }

    /// A train has arrived at the switch; `passed` further segments of it, up to its last, have passed.
    fn arrived(
        &mut self,
        now: SimTime,
        id: u32,
        passed: u32,
        finish: SimTime,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let train = &mut self.trains[id];
        let arrival = finish + self.ports[train.to.index()].latency;
        train.arrival = Some(arrival);
        let Some(tcp) = &mut self.tcp else { return };
        train.segments_passed += passed;
        let segments = train.segments_passed;
        let connection = &mut tcp.connections[train.connection as usize];
        connection.pass(passed);
        if segments > 0 {
            let run = Run { segments, wire: train.run.wire - train.dropped };
            let (ports, from) = (&self.ports, self.machines[connection.from.index()]);
            let back = ports[train.to.index()].latency + ports[from.index()].latency;
            connection.expect_ack(arrival + back, train.sent, run);
        }
        if connection.backlog.is_none() {
            return;
        }
        let message = match train.cargo {
            Cargo::Part { message } => message,
            // it has arrived, but perhaps an earlier message has not
            Cargo::Whole { number, order } => {
                self.whole_messages -= 1;
                tcp.enter(train.connection, number, train.run.segments, order)
            }
            Cargo::Done => unreachable!("it has just arrived"),
        };
        train.cargo = Cargo::Done;
        let id = train.connection;
        let delivered = &mut self.counts.messages_delivered;
        tcp.passed(id, message, segments, arrival, |number, at| {
            *delivered += 1;
            schedule(at, NetworkStep::Deliver { number });
        });
        self.plan(now, id, schedule);
    }

    /// Plans the next wake-up of a connection from all that is known now.
    ///
    /// The result depends on the known past and future, not on when they became known. A plan based on less knowledge
    /// is given up.
    fn plan(&mut self, now: SimTime, id: u32, schedule: &mut impl FnMut(SimTime, NetworkStep)) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let connection = &tcp.connections[id as usize];
        let due = connection.next_wake(&tcp.settings);
        if due == connection.wake.map(|wake| wake.due) {
            return;
        }
        let wake = due.map(|due| {
            let to = self.machines[connection.to.index()];
            let delay = tcp.delay(connection, due, self.ports[to.index()].segment);
            Wake { at: now.max(due + delay), due }
        });
        tcp.connections[id as usize].wake = wake;
        if let Some(Wake { at, .. }) = wake {
            schedule(at, NetworkStep::Wake { connection: id });
        }
    }

    /// Acknowledgements have arrived, or a timer has expired.
    pub fn wake(
        &mut self,
        now: SimTime,
        connection: u32,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let sender = &mut tcp.connections[connection as usize];
        // the plan may have changed since
        if let Some(Wake { due, .. }) = sender.wake.take_if(|wake| wake.at == now) {
            self.go_on(now, due, connection, schedule);
        }
    }

    /// A connection processes everything that arrived by `due`, and sends what its window allows.
    fn go_on(
        &mut self,
        now: SimTime,
        due: SimTime,
        id: u32,
        schedule: &mut impl FnMut(SimTime, NetworkStep),
    ) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let connection = &mut tcp.connections[id as usize];
        let (from, to) = (connection.from, connection.to);
        let machine = self.machines[from.index()].index();
        connection.settle(due, &tcp.settings);
        let fast = connection.find_losses(due, &tcp.settings);
        let late = connection.time_out(due, &tcp.settings);
        let mut probe = connection.probe(due, &tcp.settings);
        self.counts.fast_retransmits += u64::from(fast);
        self.counts.timeouts += u64::from(late);
        self.ports[machine].timeouts += u64::from(late);
        loop {
            let tcp = self.tcp.as_mut().expect("connections are TCP's");
            let connection = &mut tcp.connections[id as usize];
            let Some(sending) = probe.take().or_else(|| connection.next()) else { break };
            let Sending { message, run, again } = sending;
            connection.note_sent(now, run);
            if again {
                self.counts.segments_resent += u64::from(run.segments);
                self.ports[machine].resent += u64::from(run.segments);
                self.resent.push((tcp.messages[message].number, Bytes(run.wire)));
            }
            let (connection, cargo) = (id, Cargo::Part { message });
            let departure = Departure { from, to, connection, cargo, run, again };
            self.transmit(now, departure, schedule);
        }
        self.plan(now, id, schedule);
    }

    /// Takes a message with retransmissions since the last call, and the bytes retransmitted on the wire.
    pub fn take_resent(&mut self) -> Option<(u32, Bytes)> {
        self.resent.pop()
    }

    /// Time that `wire` bytes on the wire, a message or full segments of one, take on a host's link.
    pub fn wire_time(&self, host: HostId, wire: Bytes) -> SimSpan {
        self.ports[self.machine(host).index()].service(Run::message(wire))
    }

    /// Counters up to now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Problems on a host's link up to now.
    pub fn troubles(&self, host: HostId) -> Troubles {
        let port = &self.ports[host.index()];
        Troubles { dropped: port.dropped, resent: port.resent, timeouts: port.timeouts }
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        for host in 0..self.ports.len() {
            self.look(now, HostId::from(host));
            self.ports[host].mark(now);
        }
        if let Some(uplinks) = &mut self.uplinks {
            uplinks.mark(now);
        }
    }

    /// Usage of the uplink of a rack since the mark: (rack to core, core to rack). A job is a train of segments.
    pub fn uplink_usage(&mut self, now: SimTime, rack: usize) -> [Usage; 2] {
        self.uplinks.as_mut().expect("there are racks").usage(now, rack)
    }

    /// Whether the operational laws hold on all uplinks.
    pub fn audit_uplinks(&mut self, now: SimTime) -> Result<(), Violation> {
        self.uplinks.as_mut().map_or(Ok(()), |uplinks| uplinks.audit(now))
    }

    /// Usage of a host's link since the mark: (host to switch, switch to host). A job is a train of segments. On its
    /// way to the host it is present from the arrival of its first segment at the switch until its last has left.
    pub fn usage(&mut self, now: SimTime, host: HostId) -> (Usage, Usage) {
        self.look(now, host);
        self.ports[host.index()].usage(now)
    }

    /// Whether the operational laws hold on a host's link.
    pub fn audit(&mut self, now: SimTime, host: HostId) -> Result<(), Violation> {
        self.look(now, host);
        self.ports[host.index()].audit(now)
    }

    /// Checks that no message and no segment is unaccounted for.
    pub fn audit_messages(&self) -> Result<(), Violation> {
        let Counts { messages_sent, messages_delivered, .. } = self.counts;
        let waiting = self.tcp.as_ref().map_or(0, |tcp| tcp.messages.len() as u64);
        let present = self.whole_messages + waiting;
        if messages_sent != messages_delivered + present {
            let (arrivals, departures) = (messages_sent, messages_delivered);
            return Err(Violation::FlowBalance { arrivals, departures, present });
        }
        let climbing = self.uplinks.as_ref().map_or(0, |uplinks| uplinks.segments);
        let coming: u64 = self.ports.iter().map(Port::segments_coming).sum::<u64>() + climbing;
        let met: u64 = self.ports.iter().map(|port| port.passed + port.dropped).sum();
        if self.counts.segments_sent != met + coming {
            let (arrivals, departures) = (self.counts.segments_sent, met);
            return Err(Violation::FlowBalance { arrivals, departures, present: coming });
        }
        let Some(tcp) = &self.tcp else { return Ok(()) };
        for connection in &tcp.connections {
            let (arrivals, departures) = (connection.in_flight(), connection.accounted_for());
            if connection.under_way() == 0 && arrivals != departures {
                return Err(Violation::FlowBalance { arrivals, departures, present: 0 });
            }
        }
        Ok(())
    }
}
