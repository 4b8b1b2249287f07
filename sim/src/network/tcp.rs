//! The connections between hosts, and their messages that were not delivered at once.

use foldhash::fast::FixedState;
use foretell_scenarios::model;
use foretell_units::{Bytes, HostId, Seed, SimSpan, SimTime};
use hashbrown::HashMap;

use super::connection::{Backlog, Connection, TcpSettings};
use super::segment::{SEGMENT_DATA, SEGMENT_WIRE};
use foretell_algorithms::slab::Slab;

/// All connections.
#[derive(Debug)]
pub(super) struct Tcp {
    pub(super) settings: TcpSettings,
    pub(super) connections: Vec<Connection>,
    directory: Directory,
    pub(super) messages: Slab<Message>,
    /// Backlogs for reuse.
    #[expect(clippy::vec_box, reason = "connections hold boxes, and give them back")]
    spare: Vec<Box<Backlog>>,
    /// Seed for the delays of hosts.
    delays: Seed,
}

/// Index of connections by hosts.
#[derive(Debug)]
enum Directory {
    /// A row for each sender, created when it first sends.
    Rows(Vec<Vec<u32>>),
    /// For a number of hosts with which rows would take too much memory.
    Sparse(HashMap<(HostId, HostId), u32, FixedState>),
}

/// Stands for no connection.
const NONE: u32 = u32::MAX;
/// With more hosts than this, rows would take more than 16 MiB.
const MAX_ROWS: usize = 2048;

impl Directory {
    fn new(hosts: usize) -> Self {
        if hosts > MAX_ROWS {
            return Self::Sparse(HashMap::default());
        }
        Self::Rows(vec![Vec::new(); hosts])
    }

    #[inline]
    fn place(&mut self, from: HostId, to: HostId) -> &mut u32 {
        match self {
            Self::Rows(rows) => {
                let hosts = rows.len();
                let row = &mut rows[from.index()];
                if row.is_empty() {
                    row.resize(hosts, NONE);
                }
                &mut row[to.index()]
            }
            Self::Sparse(map) => map.entry((from, to)).or_insert(NONE),
        }
    }
}

/// A message that was not sent as a whole, or lost segments, or follows such a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// The number that its owner gave it.
    pub(super) number: u32,
    /// Segments that have not passed the switch.
    pub(super) missing: u32,
    /// When the last byte of the segments that have passed is at the receiver.
    arrival: SimTime,
    /// Number of the message in the order of sending.
    order: u64,
}

impl Tcp {
    /// No connections yet.
    pub(super) fn new(switch: &model::Switch, delays: Seed, hosts: usize) -> Self {
        let wire = |data: Bytes| (data.get() / SEGMENT_DATA).saturating_mul(SEGMENT_WIRE);
        let settings = TcpSettings {
            receive_window: wire(switch.receive_window).max(SEGMENT_WIRE),
            initial_window: u64::from(switch.initial_window.max(1)) * SEGMENT_WIRE,
            least_timeout: switch.retransmit_timeout,
            probes: switch.loss_probes,
        };
        Self {
            settings,
            connections: Vec::new(),
            directory: Directory::new(hosts),
            messages: Slab::new(),
            spare: Vec::new(),
            delays,
        }
    }

    /// The connection from one host to another; created when first used.
    pub(super) fn connection(
        &mut self,
        from: HostId,
        to: HostId,
        round_trip: impl FnOnce() -> SimSpan,
    ) -> u32 {
        let place = self.directory.place(from, to);
        if *place == NONE {
            *place = u32::try_from(self.connections.len()).expect("fewer than 2^32 connections");
            self.connections.push(Connection::new(from, to, round_trip(), &self.settings));
        }
        *place
    }

    /// How long a connection's host takes to act on something due at `due`, at most `most`. It
    /// depends on nothing else, in particular not on when this was computed.
    pub(super) fn delay(&self, connection: &Connection, due: SimTime, most: SimSpan) -> SimSpan {
        let hosts = (u64::from(connection.from.0) << 32) | u64::from(connection.to.0);
        let Seed(bits) = self.delays.child(hosts).child(due.as_ns());
        SimSpan::from_ns(((u128::from(bits) * u128::from(most.as_ns())) >> 64) as u64)
    }

    /// Enters a message with `missing` segments that have not passed. The receiver gets it after
    /// earlier messages of the same connection; `order` counts messages.
    pub(super) fn enter(&mut self, connection: u32, number: u32, missing: u32, order: u64) -> u32 {
        let connection = &mut self.connections[connection as usize];
        let spare = &mut self.spare;
        let backlog = connection.backlog.get_or_insert_with(|| spare.pop().unwrap_or_default());
        let arrival = SimTime::ZERO;
        let id = self.messages.insert(Message { number, missing, arrival, order });
        let incomplete = &mut backlog.incomplete;
        let mut place = incomplete.len();
        while place > 0 && self.messages[incomplete[place - 1]].order > order {
            place -= 1;
        }
        incomplete.insert(place, id);
        id
    }

    /// `segments` segments of a message have passed the switch. Calls `deliver` for each message
    /// that is now complete and whose predecessors are too: with its number, and the time.
    pub(super) fn passed(
        &mut self,
        connection: u32,
        message: u32,
        segments: u32,
        arrival: SimTime,
        mut deliver: impl FnMut(u32, SimTime),
    ) {
        let entry = &mut self.messages[message];
        entry.missing -= segments;
        entry.arrival = entry.arrival.max(arrival);
        let holder = &mut self.connections[connection as usize].backlog;
        let backlog = holder.as_mut().expect("the message is not complete");
        // the receiver delivers data in the order of the stream
        let mut earliest = SimTime::ZERO;
        while let Some(&front) = backlog.incomplete.front() {
            let Message { number, missing, arrival, .. } = self.messages[front];
            if missing > 0 {
                return;
            }
            backlog.incomplete.pop_front();
            self.messages.remove(front);
            earliest = earliest.max(arrival);
            deliver(number, earliest);
        }
        backlog.reset();
        self.spare.extend(holder.take());
    }
}
