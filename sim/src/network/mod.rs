//! The network: full-duplex cables to one switch whose output ports have finite buffers, and TCP.
//!
//! **Cables.** A message is a run of segments (see `segment`): payload is 94.1 % of line rate. It
//! goes over the sender's cable, each segment reaches the switch after the cable's latency, and goes
//! over the receiver's cable when those before it have: the switch takes segments in whole, first
//! come, first served. The sender's cable serves trains of segments first come, first served.
//!
//! Virtual machines share the cable of their machine, and have connections of their own.
//!
//! **Ports.** A segment that finds the output port's buffer full is dropped (tail drop), as is one
//! that finds the port beyond its share of a buffer that all ports have in common (see `pool`).
//!
//! **TCP.** There is a connection from each host to each other host, set up before the run; its
//! window lives on from message to message (see `connection`). Messages on it are delivered in
//! order, whole. What the window allows goes out in one go, as a *train*, as adapters with
//! segmentation offload do. A host acts on an acknowledgement within the time of a segment on the
//! receiver's cable, at random: without it, simulated senders fall into step with the port and some
//! starve (Floyd & Jacobson, *On Traffic Phase Effects in Packet-Switched Gateways*, 1992, who add
//! the same). For the same reason it is random who gets the last place in a port's buffer (see `port`).
//!
//! **Events.** Segments are no events. When a train is sent, the time is known before which its last
//! segment cannot be with the receiver; then the port is asked (see `port`) what became of it. If
//! nothing else was sent there in the meantime, the message is delivered at that very moment: one
//! event. Otherwise it is delivered when the port says. Where the port's buffer could overflow, it
//! is asked as soon as a train has arrived, so that its sender is told of a loss in time.
//! [`Network::segment_by_segment`] asks at each segment; it must give, and in the tests gives, the
//! same times to the nanosecond, losses or not.
//!
//! **Incast.** Many servers that answer one client at once overflow its port. Most repair that by a
//! fast retransmit; who loses too much waits for the timeout, and everybody waits for him: reads
//! of several servers collapse (Phanishayee et al., FAST 2008; Chen et al., WREN 2009), unless the
//! timeout is small (Vasudevan et al., SIGCOMM 2009). `cargo bench -p foretell-sim --bench incast`
//! prints the model beside measurements.
//!
//! With [`NetworkModel::Queue`] buffers and windows have no end: cables alone. TCP with an ample
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

/// Of the places in ports' buffers, among the draws of a network.
const PORTS: u64 = u64::MAX;

/// All cables, the switch between them, and the connections over them.
#[derive(Debug)]
pub struct Network {
    ports: Vec<Port>,
    /// By host, whose cable it has: its own, or its machine's.
    machines: Vec<HostId>,
    pool: Option<Pool>,
    trains: Slab<Train>,
    /// Trains sent so far.
    sequence: u64,
    /// `None`: cables alone.
    tcp: Option<Tcp>,
    /// What was found out at the ports and has not been acted on.
    outcomes: Vec<Outcome>,
    /// Messages of which something was sent again, and its bytes on the wire.
    resent: Vec<(u32, Bytes)>,
    counts: Counts,
    /// Of the messages sent, those on their way that the table of messages does not know.
    whole_messages: u64,
    /// Whether the ports are asked at each segment.
    eager: bool,
}

/// What happened since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Messages handed to the network.
    pub messages_sent: u64,
    /// Messages of which the receiver has every byte, or will have without fail.
    pub messages_delivered: u64,
    /// Segments put on senders' cables, repetitions included.
    pub segments_sent: u64,
    /// Segments dropped at a full port.
    pub segments_dropped: u64,
    /// Segments sent again.
    pub segments_resent: u64,
    /// Losses that later acknowledgements showed and that halved a window.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// What went wrong on a host's cable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Troubles {
    /// Segments for the host that were dropped at its port.
    pub dropped: u64,
    /// Segments that it sent again.
    pub resent: u64,
    /// Retransmission timeouts of the host.
    pub timeouts: u64,
}

/// Segments that a sender put on its cable in one go.

#[derive(Clone, Copy, Debug)]
struct Train {
    connection: u32,
    /// Whose port it goes through.
    to: HostId,
    cargo: Cargo,
    run: Run,
    /// Whether it had been sent before.
    again: bool,
    /// Of it, bytes on the wire that were dropped.
    dropped: u64,
    segments_passed: u32,
    sent: SimTime,
    /// When its last segment is at the switch.
    tail: SimTime,
    /// When what has passed is with the receiver, once that is known.
    arrival: Option<SimTime>,
    /// Looks at the port that are still to come for it.
    looks: u32,
}

#[derive(Clone, Copy, Debug)]
enum Cargo {
    /// The whole of a message: its owner's number, and how many were sent up to it.
    Whole { number: u32, order: u64 },
    /// Part of a message of the table.
    Part { message: u32 },
    /// It has been seen to.
    Done,
}

/// What the network wants to be told when its time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A train has arrived at the switch or at its receiver: [`Network::forward`].
    Forward {
        /// The train.
        train: u32,
    },
    /// A connection has something to do: [`Network::wake`].
    Wake {
        /// The connection, by which these steps are ordered at equal times.
        connection: u32,
    },
    /// The last byte of a message is with its receiver, and the network has forgotten it.
    Deliver {
        /// The number that was given to [`Network::send`].
        number: u32,
    },
}

impl Network {
    /// Idle cables with these adapters, for hosts in order. `delays`: of how long hosts take to act.
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

    /// Hosts share the cables of machines, each of which is one of the hosts. Connections are still from
    /// host to host.
    pub fn with_machines(mut self, machines: impl IntoIterator<Item = HostId>) -> Self {
        self.machines = machines.into_iter().collect();
        assert_eq!(self.machines.len(), self.ports.len(), "each host has a machine");
        self
    }

    /// Whose cable a host has.
    pub fn machine(&self, host: HostId) -> HostId {
        self.machines[host.index()]
    }

    /// How long a message takes the cable of a host: over the bridge between two virtual machines of one
    /// machine, it takes none.
    pub fn cable_time(&self, of: HostId, (from, to): (HostId, HostId), wire: Bytes) -> SimSpan {
        let together = self.machine(from) == self.machine(to);
        if together { SimSpan::ZERO } else { self.wire_time(of, wire) }
    }

    /// Looks at every segment on its own, when it arrives: the slow model that the fast one is
    /// compared with.
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

    /// Sends a message of so many bytes on the wire from one host to another, on another machine.
    ///
    /// `number` comes back with [`Network::forward`] or [`Step::Deliver`], once. `schedule` is told
    /// which step is to be taken when; steps at equal times are to be taken in the order in which
    /// it was told, but wakes after all else, in the order of their connections: a wake may be found
    /// out early or late.
    pub fn send(
        &mut self,
        now: SimTime,
        (from, to): (HostId, HostId),
        wire: Bytes,
        number: u32,
        schedule: &mut impl FnMut(SimTime, Step),
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
                // a host that sends has looked at what has come
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
                // it has taken acknowledgements in
                self.plan(now, connection, schedule);
            }
        }

        self.whole_messages += 1;
        let cargo = Cargo::Whole { number, order: self.counts.messages_sent };
        self.transmit(now, (from, to), connection, (cargo, run, false), schedule);
    }

    /// A host's cable has this rate from now on. What its adapter has taken, and what waits in the switch for it, still
    /// goes at the rate of before.
    pub fn set_rate(
        &mut self,
        now: SimTime,
        host: HostId,
        rate: Rate,
        schedule: &mut impl FnMut(SimTime, Step),
    ) {
        let machine = self.machine(host);
        self.walk(now, machine, schedule);
        let Self { ports, trains, .. } = self;
        ports[machine.index()].set_rate(rate, |train| trains[train].run);
        if !self.eager {
            // when a look at what is on its way is planned was known of the other rate
            self.watch(u32::MAX, machine, schedule);
        }
    }

    /// Puts a train on the sender's cable.
    fn transmit(
        &mut self,
        now: SimTime,
        (from, to): (HostId, HostId),
        connection: u32,
        (cargo, run, again): (Cargo, Run, bool),
        schedule: &mut impl FnMut(SimTime, Step),
    ) {
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
        let coming = Coming::new(train, self.sequence, run, times, spacing);
        self.sequence += 1;
        self.ports[to.index()].announce(coming, run);
        if let Some(pool) = &mut self.pool {
            pool.note(to.index());
        }
        if self.eager {
            schedule(times.0, Step::Forward { train });
            return;
        }
        if !self.is_safe(now, to) {
            // perhaps what was there has left, and is known to have
            self.walk(now, to, schedule);
        }
        if self.is_safe(now, to) {
            let port = &self.ports[to.index()];
            schedule(port.earliest(train) + port.latency, Step::Forward { train });
            return;
        }
        self.watch(train, to, schedule);
    }

    /// Whether nothing that is at a port or on its way there could be dropped, or was without its
    /// being known.
    fn is_safe(&self, now: SimTime, to: HostId) -> bool {
        self.ports[to.index()].is_safe(now)
            && self.pool.as_ref().is_none_or(|pool| pool.is_safe(now, &self.ports))
    }

    /// Plans a look at whatever could be dropped, for when it has arrived; `train` is new.
    fn watch(&mut self, train: u32, to: HostId, schedule: &mut impl FnMut(SimTime, Step)) {
        let trains = &mut self.trains;
        let mut watch = |other: u32, tail| {
            trains[other].looks += u32::from(other != train);
            schedule(tail, Step::Forward { train: other });
        };
        match &mut self.pool {
            None => self.ports[to.index()].watch_all(&mut watch),
            Some(pool) => {
                pool.doubtful = true;
                for &port in pool.lively() {
                    self.ports[port as usize].watch_all(&mut watch);
                }
            }
        }
    }

    /// A train is at the switch or at its receiver. Returns the number of the message that it
    /// delivers now, if it does.
    pub fn forward(
        &mut self,
        now: SimTime,
        train: u32,
        schedule: &mut impl FnMut(SimTime, Step),
    ) -> Option<u32> {
        if !self.outcomes.is_empty() {
            // something was found out by the way
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
            schedule(next, Step::Forward { train });
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
                schedule(arrival, Step::Deliver { number });
            }
        }
        entry.looks -= 1;
        if entry.looks == 0 {
            self.trains.remove(train);
        }
        delivered
    }

    /// Finds out what became of a train that has arrived, or of as much of it as has.
    fn conclude(
        &mut self,
        now: SimTime,
        train: u32,
        to: HostId,
        schedule: &mut impl FnMut(SimTime, Step),
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

    /// Finds out what became of the segments that arrive at a port by `now`.
    fn walk(&mut self, now: SimTime, to: HostId, schedule: &mut impl FnMut(SimTime, Step)) {
        self.look(now, to);
        self.act(now, schedule);
    }

    /// Acts on what was found out.
    fn act(&mut self, now: SimTime, schedule: &mut impl FnMut(SimTime, Step)) {
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

    /// So many segments of a train have passed, and the next, perhaps the last, was dropped.
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
        let times = (train.sent, train.tail);
        tcp.connections[train.connection as usize].drop(times, message, segment, train.again);
    }

    /// A train has arrived at the switch; of its last segments so many have passed.
    fn arrived(
        &mut self,
        now: SimTime,
        id: u32,
        passed: u32,
        finish: SimTime,
        schedule: &mut impl FnMut(SimTime, Step),
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
            // it is there, but perhaps what was sent before it is not
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
            schedule(at, Step::Deliver { number });
        });
        self.plan(now, id, schedule);
    }

    /// When is a connection to be looked at, after all that is known now?
    ///
    /// The answer depends on what is known of the past and the future, not on when it became known:
    /// what was planned on a lesser knowledge is given up.
    fn plan(&mut self, now: SimTime, id: u32, schedule: &mut impl FnMut(SimTime, Step)) {
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
            schedule(at, Step::Wake { connection: id });
        }
    }

    /// Acknowledgements have come, or a timer has run out.
    pub fn wake(
        &mut self,
        now: SimTime,
        connection: u32,
        schedule: &mut impl FnMut(SimTime, Step),
    ) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let sender = &mut tcp.connections[connection as usize];
        // the plan may have changed since
        if let Some(Wake { due, .. }) = sender.wake.take_if(|wake| wake.at == now) {
            self.go_on(now, due, connection, schedule);
        }
    }

    /// A connection takes in what came by `due`, and sends what it may.
    fn go_on(
        &mut self,
        now: SimTime,
        due: SimTime,
        id: u32,
        schedule: &mut impl FnMut(SimTime, Step),
    ) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let connection = &mut tcp.connections[id as usize];
        let hosts = (connection.from, connection.to);
        let machine = self.machines[hosts.0.index()].index();
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
            self.transmit(now, hosts, id, (Cargo::Part { message }, run, again), schedule);
        }
        self.plan(now, id, schedule);
    }

    /// A message of which something was sent again since it was asked last, and how many bytes on
    /// the wire.
    pub fn take_resent(&mut self) -> Option<(u32, Bytes)> {
        self.resent.pop()
    }

    /// Time that so many bytes on the wire, a message or full segments of one, take on a host's cable.
    pub fn wire_time(&self, host: HostId, wire: Bytes) -> SimSpan {
        self.ports[self.machine(host).index()].service(Run::message(wire))
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What went wrong on a host's cable so far.
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
    }

    /// What a host's cable did since the mark: (host to switch, switch to host). A job is a train
    /// of segments; on its way to the host it is there from its first segment's arrival at the
    /// switch until its last has left.
    pub fn usage(&mut self, now: SimTime, host: HostId) -> (Usage, Usage) {
        self.look(now, host);
        self.ports[host.index()].usage(now)
    }

    /// Whether the operational laws hold on a host's cable.
    pub fn audit(&mut self, now: SimTime, host: HostId) -> Result<(), Violation> {
        self.look(now, host);
        self.ports[host.index()].audit(now)
    }

    /// Whether every message and every segment is where it should be.
    pub fn audit_messages(&self) -> Result<(), Violation> {
        let Counts { messages_sent, messages_delivered, .. } = self.counts;
        let waiting = self.tcp.as_ref().map_or(0, |tcp| tcp.messages.len() as u64);
        let present = self.whole_messages + waiting;
        if messages_sent != messages_delivered + present {
            let (arrivals, departures) = (messages_sent, messages_delivered);
            return Err(Violation::FlowBalance { arrivals, departures, present });
        }
        let coming: u64 = self.ports.iter().map(Port::segments_coming).sum();
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
