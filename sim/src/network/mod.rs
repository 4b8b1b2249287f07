//! The network: full-duplex cables to one switch whose output ports have finite buffers, and TCP.
//!
//! **Cables.** A message is a run of segments (see `segment`): payload is 94.1 % of line rate. It
//! goes over the sender's cable, reaches the switch after the cable's latency, and goes over the
//! receiver's cable; the switch forwards segment by segment, so the second transfer begins when
//! the first segment is there. Each cable serves trains of segments first come, first served.
//!
//! **Ports.** A segment that finds the output port's buffer full, or the buffer that all ports
//! share, is dropped (tail drop).
//!
//! **TCP.** There is a connection from each host to each other host, set up before the run; its
//! window lives on from message to message (see `connection`). Messages on it are delivered in
//! order, whole. What the window allows goes out in one go, as a *train*, as adapters with
//! segmentation offload do. While all is well, that is while the port's buffer would hold
//! everything on its way, a train passes the switch as a whole, and the sender works its pace out
//! in advance from the acknowledgements that are already known to come: two events for a message
//! that the window lets out at once, three for each further train. Where a port could overflow,
//! each segment is looked at when it arrives. A host acts on an acknowledgement within the time of
//! a segment on the receiver's cable, uniformly at random: without it, simulated senders fall into
//! step with the port and some starve (Floyd & Jacobson, *On Traffic Phase Effects in
//! Packet-Switched Gateways*, 1992, who add the same).
//!
//! **Incast.** Many servers that answer one client at once overflow its port. Most repair that by a
//! fast retransmit; who loses too much waits for the timeout, and everybody waits for him: reads
//! of several servers collapse (Phanishayee et al., FAST 2008; Chen et al., WREN 2009), unless the
//! timeout is small (Vasudevan et al., SIGCOMM 2009). `cargo bench -p foretell-sim --bench incast`
//! prints the model beside measurements.
//!
//! With [`NetworkModel::Queue`] buffers and windows have no end: cables alone, two events a
//! message. TCP with an ample buffer and ample windows gives the same times.
//!
//! **Left out:** connection set-up, acknowledgements' own bytes and queueing, delayed
//! acknowledgements, segments shared by messages, spurious timeouts (a segment that is not lost is
//! never sent twice), the variance term of the timeout, explicit congestion notification, pacing,
//! pause frames, and the limits that switches put on a port's share of a common buffer.

mod acks;
mod connection;
mod port;
mod segment;
mod tcp;

use foretell_scenarios::model::{self, NetworkModel};
use foretell_units::{Bytes, HostId, SimSpan, SimTime, Stream};

use crate::ledger::{Usage, Violation};
use crate::slab::Slab;

use connection::{Pace, Piece};
use port::Port;
use segment::Run;
pub use segment::wire_bytes;
use tcp::Tcp;

/// All cables, the switch between them, and the connections over them.
#[derive(Debug)]
pub struct Network {
    ports: Vec<Port>,
    trains: Slab<Train>,
    /// `None`: cables alone.
    tcp: Option<Tcp>,
    counts: Counts,
    /// Of the messages sent, those on their way that the table of messages does not know.
    whole_messages: u64,
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
    /// Losses that later acknowledgements showed and that halved a window.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// Segments that a sender put on its cable in one go.
#[derive(Clone, Copy, Debug)]
struct Train {
    connection: u32,
    to: HostId,
    cargo: Cargo,
    /// What has not reached the switch yet.
    run: Run,
    /// Its time on the receiver's cable.
    service: SimSpan,
    sent: SimTime,
    /// When the last segment reaches the switch.
    tail: SimTime,
    /// From one segment to the next.
    spacing: SimSpan,
}

#[derive(Clone, Copy, Debug)]
enum Cargo {
    /// The whole of a message with that number; of what has passed the switch, the last byte is
    /// with the receiver at `arrival`.
    Whole { number: u32, arrival: SimTime },
    /// Part of a message of the table.
    Part { message: u32 },
}

/// What the network wants to be told when its time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next segment of a train is at the switch: [`Network::forward`].
    Forward {
        /// The train.
        train: u32,
    },
    /// A connection has something to do: [`Network::wake`].
    Wake {
        /// The connection.
        connection: u32,
    },
    /// The last byte of a message is with its receiver, and the network has forgotten it.
    Deliver {
        /// The number that was given to [`Network::send`].
        number: u32,
    },
}

impl Network {
    /// Idle cables with these adapters, for hosts in order. `delays`: how long hosts take to act.
    pub fn new(
        nics: impl IntoIterator<Item = model::Nic>,
        switch: &model::Switch,
        delays: Stream,
    ) -> Self {
        let tcp = match switch.model {
            NetworkModel::Tcp => Some(Tcp::new(switch, delays)),
            NetworkModel::Queue => None,
        };
        Self {
            ports: nics.into_iter().map(|nic| Port::new(&nic, switch.port_buffer)).collect(),
            trains: Slab::new(),
            tcp,
            counts: Counts::default(),
            whole_messages: 0,
        }
    }

    /// Looks at every segment on its own and works nothing out in advance: the slow model that the
    /// fast one is compared with.
    pub fn segment_by_segment(mut self) -> Self {
        if let Some(tcp) = &mut self.tcp {
            tcp.whole_trains = false;
            tcp.settings.foresight = false;
        }
        self
    }

    /// Sends a message of so many bytes on the wire from one host to another.
    ///
    /// `number` comes back with [`Step::Deliver`], once. `schedule` is told which step is to be
    /// taken when; steps at equal times are to be taken in the order in which it was told.
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
        if let Some(tcp) = &mut self.tcp {
            connection = tcp.connection(from, to);
            let sender = &mut tcp.connections[connection as usize];
            if !sender.may_send(now, run, &tcp.settings) {
                let message = tcp.enter(connection, number, run.segments);
                tcp.connections[connection as usize].enqueue(Piece { message, run });
                self.go_on(now, connection, schedule);
                return;
            }
            sender.note_sent(now, run);
        }
        self.whole_messages += 1;
        let cargo = Cargo::Whole { number, arrival: SimTime::ZERO };
        self.transmit(now, (from, to), connection, cargo, run, schedule);
    }

    /// Books a train on the sender's cable.
    fn transmit(
        &mut self,
        now: SimTime,
        (from, to): (HostId, HostId),
        connection: u32,
        cargo: Cargo,
        run: Run,
        schedule: &mut impl FnMut(SimTime, Step),
    ) {
        let out = &mut self.ports[from.index()];
        let busy = out.transmit.send(now, Bytes(run.wire));
        let (latency, segment) = (out.latency, out.segment);
        let first = if run.segments > 1 { segment } else { busy.finish - busy.start };
        let (head, tail) = (busy.start + first + latency, busy.finish + latency);
        let port = &mut self.ports[to.index()];
        let service = port.receive.rate().time_for(Bytes(run.wire));
        port.announce(service);
        if let Some(pool) = self.tcp.as_mut().and_then(|tcp| tcp.pool.as_mut()) {
            pool.coming += run.wire;
        }
        self.counts.segments_sent += u64::from(run.segments);
        // a receiver with a faster cable must not run dry in the middle of the train
        let at = head.max(SimTime::from_ns(tail.as_ns().saturating_sub(service.as_ns())));
        let spacing = segment.min(port.segment);
        let train = Train { connection, to, cargo, run, service, sent: now, tail, spacing };
        schedule(at, Step::Forward { train: self.trains.insert(train) });
    }

    /// A train, or what is left of it, has its next segment at the switch.
    pub fn forward(&mut self, now: SimTime, train: u32, schedule: &mut impl FnMut(SimTime, Step)) {
        let Train { to, run, service, .. } = self.trains[train];
        let Some(tcp) = &mut self.tcp else {
            let Cargo::Whole { number, .. } = self.trains.remove(train).cargo else {
                unreachable!("only TCP cuts messages")
            };
            let port = &mut self.ports[to.index()];
            port.reached(service);
            let delivered = port.receive.book(now, service).finish + port.latency;
            self.deliver_whole(delivered, number, schedule);
            return;
        };
        let ports = &mut self.ports;
        let ample = tcp.whole_trains
            && ports[to.index()].ample(now)
            && tcp.pool.as_mut().is_none_or(|pool| pool.ample(now, ports));
        if !ample {
            self.forward_segment(now, train, schedule);
            return;
        }
        let port = &mut ports[to.index()];
        port.reached(service);
        if let Some(pool) = &mut tcp.pool {
            pool.coming -= run.wire;
        }
        let train = *self.trains.remove(train);
        if run.segments > 1 {
            port.note_arriving(now, train.tail, train.spacing);
        }
        tcp.connections[train.connection as usize].crowded = false;
        self.pass(now, &train, run, service, schedule);
        self.plan(now, train.connection, schedule);
    }

    /// The next segment of a train finds room at the port, or not.
    fn forward_segment(&mut self, now: SimTime, id: u32, schedule: &mut impl FnMut(SimTime, Step)) {
        let tcp = self.tcp.as_mut().expect("only TCP looks at segments");
        let train = &mut self.trains[id];
        let port = &mut self.ports[train.to.index()];
        let before = *train;
        let (segment, rest) = before.run.split(1);
        let service =
            if rest.is_some() { port.segment.min(before.service) } else { before.service };
        port.reached(service);
        let mut room = port.has_room(now, service);
        if let Some(pool) = &mut tcp.pool {
            pool.coming -= segment.wire;
            room &= pool.has_room(now, segment.wire, &self.ports);
        }
        tcp.connections[before.connection as usize].crowded = true;
        if let Some(rest) = rest {
            train.run = rest;
            train.service -= service;
            let next = now + train.spacing;
            let next = if rest.segments == 1 { next.min(train.tail) } else { next };
            schedule(next.max(now), Step::Forward { train: id });
        } else {
            self.trains.remove(id);
        }
        // the place of the train keeps its value if that was its last segment
        self.trains[id].cargo = if room {
            let arrival = self.pass(now, &before, segment, service, schedule);
            match before.cargo {
                Cargo::Whole { number, .. } => Cargo::Whole { number, arrival },
                part @ Cargo::Part { .. } => part,
            }
        } else {
            self.drop(&before, segment)
        };
        self.plan(now, before.connection, schedule);
    }

    /// Books segments of a train on the receiver's cable; returns when they are with the receiver.
    fn pass(
        &mut self,
        now: SimTime,
        train: &Train,
        run: Run,
        service: SimSpan,
        schedule: &mut impl FnMut(SimTime, Step),
    ) -> SimTime {
        let tcp = self.tcp.as_mut().expect("trains of TCP have connections");
        let connection = &mut tcp.connections[train.connection as usize];
        let back = self.ports[connection.from.index()].latency;
        let port = &mut self.ports[train.to.index()];
        let busy = port.receive.book(now, service);
        if let Some(pool) = &mut tcp.pool {
            pool.book(run.wire);
        }
        let delivered = busy.finish + port.latency;
        let first = if run.segments > 1 { port.segment } else { service };
        let first = busy.start + first + port.latency;
        connection.pass(train.sent, run, first + back, delivered + back);
        let last = run.segments == train.run.segments;
        let (message, segments) = match train.cargo {
            Cargo::Part { message } => (message, run.segments),
            Cargo::Whole { .. } if !last => return delivered,
            Cargo::Whole { number, .. } if connection.backlog.is_none() => {
                self.deliver_whole(delivered, number, schedule);
                return delivered;
            }
            // it is there, but what was sent before it is not
            Cargo::Whole { number, .. } => {
                self.whole_messages -= 1;
                (tcp.enter_late(train.connection, number, 0, delivered), 0)
            }
        };
        let delivered_messages = &mut self.counts.messages_delivered;
        tcp.passed(train.connection, message, segments, delivered, |number, at| {
            *delivered_messages += 1;
            schedule(at, Step::Deliver { number });
        });
        delivered
    }

    /// A message that went out whole has passed the switch.
    fn deliver_whole(
        &mut self,
        at: SimTime,
        number: u32,
        schedule: &mut impl FnMut(SimTime, Step),
    ) {
        self.whole_messages -= 1;
        self.counts.messages_delivered += 1;
        schedule(at, Step::Deliver { number });
    }

    /// Drops a segment of a train; returns what the rest of the train carries now.
    fn drop(&mut self, train: &Train, segment: Run) -> Cargo {
        self.counts.segments_dropped += 1;
        let tcp = self.tcp.as_mut().expect("only TCP drops");
        let message = match train.cargo {
            Cargo::Part { message } => message,
            Cargo::Whole { number, arrival } => {
                self.whole_messages -= 1;
                tcp.enter_late(train.connection, number, train.run.segments, arrival)
            }
        };
        let connection = &mut tcp.connections[train.connection as usize];
        connection.drop(train.sent, Piece { message, run: segment });
        Cargo::Part { message }
    }

    /// When is a connection to be looked at, after all that is known now?
    fn plan(&mut self, now: SimTime, id: u32, schedule: &mut impl FnMut(SimTime, Step)) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let connection = &mut tcp.connections[id as usize];
        let Some(backlog) = &connection.backlog else { return };
        let delay = backlog.delay;
        let pace = pace(&self.ports, connection.from, connection.to, now);
        if let Some(at) = connection.next_wake(&pace, &tcp.settings) {
            let at = at.max(now) + delay;
            if connection.wake.is_none_or(|wake| at < wake) {
                connection.wake = Some(at);
                schedule(at, Step::Wake { connection: id });
            }
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
        // an earlier time may have been found after this one
        if sender.wake == Some(now) {
            sender.wake = None;
            self.go_on(now, connection, schedule);
        }
    }

    /// A connection takes acknowledgements in and sends what it may.
    fn go_on(&mut self, now: SimTime, id: u32, schedule: &mut impl FnMut(SimTime, Step)) {
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        let connection = &mut tcp.connections[id as usize];
        let hosts = (connection.from, connection.to);
        let spacing = self.ports[hosts.1.index()].segment;
        connection.settle(now, Some(spacing), &tcp.settings);
        self.counts.fast_retransmits += u64::from(connection.find_losses(now, &tcp.settings));
        self.counts.timeouts += u64::from(connection.time_out(now, &tcp.settings));
        let mut probe = connection.probe(now, &tcp.settings);
        loop {
            let tcp = self.tcp.as_mut().expect("connections are TCP's");
            let connection = &mut tcp.connections[id as usize];
            let pace = pace(&self.ports, hosts.0, hosts.1, now);
            let next = probe.take().or_else(|| connection.next(&pace, &tcp.settings));
            let Some(Piece { message, run }) = next else { break };
            connection.note_sent(now, run);
            self.transmit(now, hosts, id, Cargo::Part { message }, run, schedule);
        }
        let tcp = self.tcp.as_mut().expect("connections are TCP's");
        if let Some(backlog) = &mut tcp.connections[id as usize].backlog {
            backlog.delay = SimSpan::from_ns(tcp.delays.below(spacing.as_ns().max(1)));
        }
        self.plan(now, id, schedule);
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        for port in &mut self.ports {
            port.transmit.mark(now);
            port.receive.mark(now);
        }
    }

    /// What a host's cable did since the mark: (host to switch, switch to host). A job is a train
    /// of segments or, where the port could overflow, a segment.
    pub fn usage(&mut self, now: SimTime, host: HostId) -> (Usage, Usage) {
        let port = &mut self.ports[host.index()];
        (port.transmit.usage(now), port.receive.usage(now))
    }

    /// Whether the operational laws hold on a host's cable.
    pub fn audit(&mut self, now: SimTime, host: HostId) -> Result<(), Violation> {
        let port = &mut self.ports[host.index()];
        port.transmit.audit(now)?;
        port.receive.audit(now)
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

/// How fast segments go out and acknowledgements come back between two hosts.
fn pace(ports: &[Port], from: HostId, to: HostId, now: SimTime) -> Pace {
    let out = &ports[from.index()];
    let start = now + out.transmit.backlog(now);
    Pace { start, out: out.segment, back: ports[to.index()].segment }
}
