//! The network model of the replay: full-duplex links to one switch, and connections that share them.
//!
//! A message is sent over its connection in *trains* of segments, in order. A train takes its transfer time
//! on the sender's link and on the receiver's link. The two times overlap, except for one segment. Each
//! link serves trains first come, first served. A connection has at most as many bytes in flight as its
//! window. The window grows by slow start, shrinks while the connection is idle, and is halved if a port of
//! the switch has no room for the connection's data (congestion avoidance: Jacobson, *Congestion Avoidance
//! and Control*, SIGCOMM 1988). Nothing is lost: if a port is full, the sender waits until it has drained.
//! Left out: timeouts, which many short answers at the same time may cause.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use foretell_algorithms::message::SEGMENT_WIRE;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{NetworkModel, Nic, Switch, Uplinks};
use foretell_units::{Bytes, HostId, Rate, SimSpan, SimTime};
use hashbrown::HashMap;

/// Bytes of the longest train on the wire: 64 KiB of data.
const LONGEST_TRAIN: u64 = 45 * SEGMENT_WIRE;

/// All links and connections.
#[derive(Debug)]
pub(super) struct Links {
    /// By machine, which has the number of its first host.
    of_machines: Vec<Link>,
    /// By host: the machine whose link it uses.
    machines: Vec<u32>,
    /// Connections by sender and receiver.
    directory: HashMap<(u32, u32), u32, FixedState>,
    connections: Vec<Connection>,
    trains: Slab<Train>,
    tcp: Option<Switch>,
    /// Rate of the uplinks of racks, if they have some.
    uplink: Option<Rate>,
    /// By host: its rack, if racks have uplinks.
    racks: Vec<Option<u32>>,
    /// By rack: its uplink to the core, and from it.
    uplinks: Vec<[Uplink; 2]>,
    climbs: Slab<Climb>,
}

/// A train between racks, on its way from the sender's link to the receiver's port.
#[derive(Clone, Copy, Debug)]
struct Climb {
    connection: u32,
    wire: u64,
    message: u32,
    /// When its first and its last segment are at the next switch.
    first: SimTime,
    last: SimTime,
    /// Racks whose uplinks are ahead: up, then down.
    ahead: [Option<u32>; 2],
}

/// One direction of the uplink of a rack.
#[derive(Clone, Copy, Debug, Default)]
struct Uplink {
    busy_until: SimTime,
    carried: SimSpan,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Link {
    rate: Rate,
    latency: SimSpan,
    sends_until: SimTime,
    receives_until: SimTime,
    sent: SimSpan,
    received: SimSpan,
    /// Connections that wait for room in the port to this host.
    waiting: VecDeque<u32>,
    /// Whether a check of the port is scheduled.
    looked_at: bool,
}

#[derive(Clone, Debug)]
struct Connection {
    /// The links at its ends.
    from: u32,
    to: u32,
    /// Messages that are not completely sent, with the bytes left of each.
    queue: VecDeque<(u32, u64)>,
    window: u64,
    /// Above this size, the window grows by one segment for each acknowledged window.
    threshold: u64,
    /// When the window was last halved.
    halved: SimTime,
    under_way: u64,
    /// Bytes in flight, and when they will be acknowledged.
    acks: VecDeque<(SimTime, u64)>,
    used: SimTime,
    /// Whether it waits for its window, and whether for the port.
    limited: bool,
    waits: bool,
    /// When it next checks its window.
    looks_at: Option<SimTime>,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    connection: u32,
    wire: u64,
    /// The message that ends with this train.
    message: u32,
    start: SimTime,
    end: SimTime,
}

/// A network event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LinkStep {
    /// A train starts to leave its sender.
    Leaves { train: u32 },
    /// A train is at the switch before an uplink, or at the receiver's port behind it.
    Climbs { climb: u32 },
    /// A connection may continue to send.
    Pump { connection: u32 },
    /// A port has room again.
    Port { host: u32 },
    /// A message has arrived.
    Arrived { message: u32 },
}

/// Bytes on the wire of the last segment of a train.
fn last_segment(wire: u64) -> u64 {
    match wire % SEGMENT_WIRE {
        0 => SEGMENT_WIRE,
        rest => rest,
    }
}

/// Future steps.
pub(super) type Steps = Vec<(SimTime, LinkStep)>;

impl Connection {
    /// Schedules a check of the window, unless an earlier one is scheduled.
    fn look(&mut self, number: u32, at: SimTime, steps: &mut Steps) {
        if self.looks_at.is_none_or(|known| at < known) {
            self.looks_at = Some(at);
            steps.push((at, LinkStep::Pump { connection: number }));
        }
    }
}

impl Links {
    /// Second adapters of nodes count as hosts here. `machines`: by host, the machine whose link it uses.
    pub(super) fn new(
        nics: &[Nic],
        machines: &[HostId],
        switch: &Switch,
        uplinks: Option<&Uplinks>,
    ) -> Self {
        let link = |nic: &Nic| Link {
            rate: nic.rate,
            latency: nic.latency,
            sends_until: SimTime::ZERO,
            receives_until: SimTime::ZERO,
            sent: SimSpan::ZERO,
            received: SimSpan::ZERO,
            waiting: VecDeque::new(),
            looked_at: false,
        };
        Self {
            of_machines: nics.iter().map(link).collect(),
            machines: machines.iter().map(|machine| machine.0).collect(),
            directory: HashMap::default(),
            connections: Vec::new(),
            trains: Slab::new(),
            tcp: (switch.model == NetworkModel::Tcp).then_some(*switch),
            uplink: uplinks.map(|uplinks| uplinks.rate),
            racks: uplinks.map_or_else(Vec::new, |uplinks| uplinks.by_host(nics.len())),
            uplinks: uplinks.map_or_else(Vec::new, |all| vec![Default::default(); all.racks.len()]),
            climbs: Slab::new(),
        }
    }

    fn connection(&mut self, from: u32, to: u32) -> u32 {
        if let Some(known) = self.directory.get(&(from, to)) {
            return *known;
        }
        let initial = self.tcp.map_or(u64::MAX, |tcp| u64::from(tcp.initial_window) * SEGMENT_WIRE);
        let number = self.connections.len() as u32;
        self.connections.push(Connection {
            from: self.machines[from as usize],
            to: self.machines[to as usize],
            queue: VecDeque::new(),
            window: initial,
            threshold: u64::MAX,
            halved: SimTime::ZERO,
            under_way: 0,
            acks: VecDeque::new(),
            used: SimTime::ZERO,
            limited: false,
            waits: false,
            looks_at: None,
        });
        self.directory.insert((from, to), number);
        number
    }

    /// Hands a message of `wire` bytes to the sender's adapter.
    pub(super) fn send(
        &mut self,
        now: SimTime,
        from: u32,
        to: u32,
        message: u32,
        wire: Bytes,
        steps: &mut Steps,
    ) {
        let number = self.connection(from, to);
        let connection = &mut self.connections[number as usize];
        let ends = [connection.from, connection.to];
        let base =
            ends.map(|end| self.of_machines[end as usize].latency * 2).into_iter().sum::<SimSpan>();
        if let Some(tcp) = &self.tcp {
            // each idle timeout halves the window, down to the initial one
            let timeout = (tcp.retransmit_timeout + base).as_ns().max(1);
            let initial = u64::from(tcp.initial_window) * SEGMENT_WIRE;
            let idle = now.saturating_since(connection.used).as_ns() / timeout;
            if idle > 0 && connection.queue.is_empty() && connection.window > initial {
                connection.window = (connection.window >> idle.min(40)).max(initial);
            }
        }
        connection.used = now;
        connection.queue.push_back((message, wire.get()));
        if !connection.waits {
            self.pump(now, number, steps);
        }
    }

    /// Processes a step that is due.
    pub(super) fn step(&mut self, now: SimTime, step: LinkStep, steps: &mut Steps) {
        match step {
            LinkStep::Leaves { train } => self.leaves(train, steps),
            LinkStep::Climbs { climb } => self.goes_on(climb, steps),
            LinkStep::Pump { connection } => {
                let known = &mut self.connections[connection as usize];
                if known.looks_at != Some(now) {
                    return;
                }
                known.looks_at = None;
                if !known.waits {
                    self.pump(now, connection, steps);
                }
            }
            LinkStep::Port { host } => {
                let port = &mut self.of_machines[host as usize];
                port.looked_at = false;
                if let Some(first) = port.waiting.pop_front() {
                    // each waiting connection sends one train, in turn
                    self.connections[first as usize].waits = false;
                    self.pump(now, first, steps);
                }
                self.look(now, host, steps);
            }
            LinkStep::Arrived { .. } => {}
        }
    }

    /// If a connection waits for the port to a host, schedules a check at the time when the port will have
    /// room.
    fn look(&mut self, now: SimTime, host: u32, steps: &mut Steps) {
        let port = &self.of_machines[host as usize];
        let Some(first) = port.waiting.front().filter(|_| !port.looked_at) else { return };
        let from = self.connections[*first as usize].from;
        let Some((waiting, room)) = self.at_port(now, from, host) else { return };
        let port = &mut self.of_machines[host as usize];
        port.looked_at = true;
        let rate = port.rate.as_bytes_per_s_f64();
        let over = (waiting + LONGEST_TRAIN as f64 - room).max(1.0);
        let at = now
            + SimSpan::from_secs_f64(over.min(waiting.max(1.0)) / rate).max(SimSpan::from_ns(1));
        steps.push((at, LinkStep::Port { host }));
    }

    /// Bytes queued in the port to a host when something that `from` sends now is there, and the port's buffer size;
    /// `None` if there is always room.
    fn at_port(&self, now: SimTime, from: u32, host: u32) -> Option<(f64, f64)> {
        let tcp = self.tcp.as_ref()?;
        let port = &self.of_machines[host as usize];
        let rate = port.rate.as_bytes_per_s_f64();
        // what is on its way to the port does not wait in it
        let there = now + self.of_machines[from as usize].latency;
        let waiting = port.receives_until.saturating_since(there).as_secs_f64() * rate;
        Some((waiting, tcp.port_buffer.get() as f64))
    }

    /// Sends as much of a connection as its window and the port allow.
    fn pump(&mut self, now: SimTime, number: u32, steps: &mut Steps) {
        loop {
            let connection = &mut self.connections[number as usize];
            while let Some(&(at, wire)) = connection.acks.front() {
                if at > now {
                    break;
                }
                connection.acks.pop_front();
                connection.under_way -= wire;
                if connection.limited {
                    let slow_start = connection.window < connection.threshold;
                    let more =
                        if slow_start { wire } else { wire * SEGMENT_WIRE / connection.window };
                    connection.window = connection.window.saturating_add(more);
                }
            }
            let Some(&(message, left)) = connection.queue.front() else {
                connection.limited = false;
                return;
            };
            let most = self.tcp.map_or(u64::MAX, |tcp| tcp.receive_window.get());
            let window = connection.window.min(most).max(SEGMENT_WIRE);
            let allowed = window.saturating_sub(connection.under_way);
            // one burst is at most a third of the window
            let third = (window / 3 / SEGMENT_WIRE * SEGMENT_WIRE).max(SEGMENT_WIRE);
            let wire = left.min(LONGEST_TRAIN).min(third);
            if connection.under_way > 0 && allowed < wire {
                connection.limited = true;
                if let Some(&(at, _)) = connection.acks.front() {
                    connection.look(number, at, steps);
                }
                return;
            }
            let (from, to) = (connection.from, connection.to);
            if let Some((waiting, room)) = self.at_port(now, from, to)
                && waiting > 0.0
                && waiting + wire as f64 > room
            {
                self.wait_for_port(now, number, waiting, steps);
                return;
            }
            let connection = &mut self.connections[number as usize];
            connection.under_way += wire;
            let whole = left == wire;
            if whole {
                connection.queue.pop_front();
            } else if let Some((_, left)) = connection.queue.front_mut() {
                *left -= wire;
            }
            let link = &mut self.of_machines[from as usize];
            let time = link.rate.time_for(Bytes(wire));
            let start = link.sends_until.max(now);
            let end = start + time;
            link.sends_until = end;
            link.sent += time;
            let message = if whole { message } else { NONE };
            let train = self.trains.insert(Train { connection: number, wire, message, start, end });
            if start > now {
                steps.push((start, LinkStep::Leaves { train }));
            } else {
                self.leaves(train, steps);
            }
        }
    }

    /// Makes a connection wait for room in the port, which holds `waiting` bytes. Its window is
    /// halved once per round trip.
    fn wait_for_port(&mut self, now: SimTime, number: u32, waiting: f64, steps: &mut Steps) {
        let connection = &mut self.connections[number as usize];
        let (from, to) = (connection.from as usize, connection.to);
        self.of_machines[to as usize].waiting.push_back(number);
        // the window may grow again, because there are data to send
        (connection.waits, connection.limited) = (true, true);
        let port = &self.of_machines[to as usize];
        let around = SimSpan::from_secs_f64(waiting / port.rate.as_bytes_per_s_f64())
            + (self.of_machines[from].latency + port.latency) * 2;
        if now >= connection.halved + around {
            let most = self.tcp.map_or(u64::MAX, |tcp| tcp.receive_window.get());
            connection.window = (connection.window.min(most) / 2).max(2 * SEGMENT_WIRE);
            (connection.threshold, connection.halved) = (connection.window, now);
        }
        self.look(now, to, steps);
    }

    /// A train starts to leave. Schedules its arrival.
    fn leaves(&mut self, train: u32, steps: &mut Steps) {
        let Train { connection: number, wire, message, start, end } = *self.trains.remove(train);
        let connection = &self.connections[number as usize];
        let (from, to) = (connection.from as usize, connection.to as usize);
        let segment = Bytes(wire.min(SEGMENT_WIRE));
        let (rate, latency) = (self.of_machines[from].rate, self.of_machines[from].latency);
        let first_at_port = start + rate.time_for(segment) + latency;
        let last_at_port = end + latency;
        if self.uplink.is_some() && self.racks[from] != self.racks[to] {
            let ahead = [self.racks[from], self.racks[to]];
            let (first, last) = (first_at_port, last_at_port);
            let climb = Climb { connection: number, wire, message, first, last, ahead };
            let climb = self.climbs.insert(climb);
            steps.push((first, LinkStep::Climbs { climb }));
            return;
        }
        self.at_receivers_port(number, wire, message, first_at_port, last_at_port, steps);
    }

    /// The first segment of a train is at the switch before an uplink.
    fn climbs(&mut self, number: u32, steps: &mut Steps) {
        let rate = self.uplink.expect("racks have uplinks");
        let climb = &mut self.climbs[number];
        let direction = usize::from(climb.ahead[0].is_none());
        let rack = climb.ahead[direction].take().expect("an uplink is ahead");
        let uplink = &mut self.uplinks[rack as usize][direction];
        let time = rate.time_for(Bytes(climb.wire));
        let begins = uplink.busy_until.max(climb.first);
        uplink.busy_until = begins + time;
        uplink.carried += time;
        climb.first = begins + rate.time_for(Bytes(climb.wire.min(SEGMENT_WIRE)));
        let of_last = rate.time_for(Bytes(last_segment(climb.wire)));
        climb.last = (begins + time).max(climb.last + of_last);
        // what comes next is served in the order of arrival there
        steps.push((climb.first, LinkStep::Climbs { climb: number }));
    }

    /// A train that climbs goes on: over its next uplink, or into the receiver's port.
    fn goes_on(&mut self, number: u32, steps: &mut Steps) {
        if self.climbs[number].ahead.iter().any(Option::is_some) {
            return self.climbs(number, steps);
        }
        let Climb { connection, wire, message, first, last, .. } = *self.climbs.remove(number);
        self.at_receivers_port(connection, wire, message, first, last, steps);
    }

    /// The segments of a train arrive at the receiver's port between these times. Schedules its arrival at the
    /// receiver.
    fn at_receivers_port(
        &mut self,
        number: u32,
        wire: u64,
        message: u32,
        first_at_port: SimTime,
        last_at_port: SimTime,
        steps: &mut Steps,
    ) {
        let connection = &self.connections[number as usize];
        let (from, to) = (connection.from as usize, connection.to as usize);
        let latency = self.of_machines[from].latency;
        let last = Bytes(last_segment(wire));
        let link = &mut self.of_machines[to];
        let begins = link.receives_until.max(first_at_port);
        let time = link.rate.time_for(Bytes(wire));
        let done = (begins + time).max(last_at_port + link.rate.time_for(last));
        link.receives_until = begins + time;
        link.received += time;
        let arrived = done + link.latency;
        let acknowledged = arrived + link.latency + latency;
        let connection = &mut self.connections[number as usize];
        connection.acks.push_back((acknowledged, wire));
        if connection.limited {
            // the connection waits for this acknowledgement, whose time is known only now
            connection.look(number, acknowledged, steps);
        }
        if message != NONE {
            steps.push((arrived, LinkStep::Arrived { message }));
        }
    }

    /// Busy time of the uplink of a rack until `now`: to the core, and from it.
    pub(super) fn uplink_busy(&self, rack: usize, now: SimTime) -> [SimSpan; 2] {
        self.uplinks[rack]
            .map(|one| one.carried.saturating_sub(one.busy_until.saturating_since(now)))
    }

    /// Busy time of a host's link until `now`: sending, and receiving.
    pub(super) fn busy(&self, host: usize, now: SimTime) -> (SimSpan, SimSpan) {
        let link = &self.of_machines[host];
        (
            link.sent.saturating_sub(link.sends_until.saturating_since(now)),
            link.received.saturating_sub(link.receives_until.saturating_since(now)),
        )
    }

    /// Sets the rate of a host's link for data sent from now on.
    pub(super) fn set_rate(&mut self, host: HostId, rate: Rate) {
        self.of_machines[self.machines[host.index()] as usize].rate = rate;
    }

    /// Transfer time on a host's link.
    pub(super) fn time(&self, host: usize, wire: Bytes) -> SimSpan {
        self.of_machines[self.machines[host] as usize].rate.time_for(wire)
    }

    /// The machine whose link a host uses.
    pub(super) fn machine(&self, host: HostId) -> HostId {
        HostId(self.machines[host.index()])
    }
}
