//! Exchanges between hosts. An exchange is a message to a host, work there, and a message back.
//!
//! An exchange has exactly one step pending at a time: a computation, a message, or an access to a store. The
//! storage system decides its purpose ([`Purpose`]).

use foretell_algorithms::message::{MESSAGE_HEADER, wire_bytes};
use foretell_algorithms::slab::Slab;
use foretell_units::{Breadcrumb, Bytes, HostId, SimSpan, Thread};

use crate::hosts::{Continuation, Hosts, Work, WorkKind, small};
use crate::objects::ObjectOp;
use crate::process::{SERVER, TRACKER, application, exchange_thread};
use crate::protocol::Core;
use crate::ursa_minor::Fragment;

/// Exchanges in progress, by number.
pub type Exchanges = Slab<Exchange>;

/// A message to a host and a message back.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The purpose of the exchange.
    pub purpose: Purpose,
    /// The host that asks.
    pub client: HostId,
    /// The host that is asked.
    pub node: HostId,
    /// Whether its message is on the way to the node, or back.
    pub outbound: bool,
    /// The process that asks.
    asks: Asks,
    /// Size of the message on its way, header included.
    message: u32,
    /// Number of store completions that it still waits for.
    awaiting: u32,
    /// The request that it belongs to.
    pub breadcrumb: Breadcrumb,
    /// The workload, or [`foretell_algorithms::node::NO_CLIENT`].
    pub workload: u32,
}

/// The purpose of an exchange.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// A batch of activity records on its way to the Activity DB.
    Records,
    /// A client writes or reads a fragment.
    Fragment(Fragment),
    /// A server is asked to read or write an object, or its part of it.
    Object(ObjectOp),
    /// A client asks a gateway for an object; the number of the gateway's job.
    Gateway(u32),
    /// A message without an answer, in which a server reports to a monitor.
    Report,
    /// Another purpose. The system itself keeps it under this number.
    Own(u32),
}

/// The process that asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// The application of the workload asks a server.
    Application,
    /// A gateway asks a storage server, as its client.
    Gateway,
    /// A server asks another server.
    Server,
    /// The tracker of activities asks another tracker.
    Tracker,
}

impl Exchange {
    /// An exchange whose first message carries `data`.
    pub(crate) fn new(
        purpose: Purpose,
        asks: Asks,
        client: HostId,
        node: HostId,
        data: Bytes,
        breadcrumb: Breadcrumb,
        workload: u32,
    ) -> Self {
        let message = small(data + MESSAGE_HEADER);
        let (outbound, awaiting) = (true, 0);
        Self { purpose, client, node, outbound, asks, message, awaiting, breadcrumb, workload }
    }

    /// The sender of the message on its way.
    pub fn sender(&self) -> HostId {
        if self.outbound { self.client } else { self.node }
    }

    /// The receiver of the message on its way.
    pub fn receiver(&self) -> HostId {
        if self.outbound { self.node } else { self.client }
    }

    /// Whether a server asks another server.
    pub(crate) fn is_between_servers(&self) -> bool {
        self.asks == Asks::Server
    }

    /// The processes that send and receive the message on its way.
    fn processes(&self) -> (u32, u32) {
        let (asks, asked) = match self.asks {
            Asks::Application => (application(self.workload), SERVER),
            Asks::Gateway | Asks::Server => (SERVER, SERVER),
            Asks::Tracker => (TRACKER, TRACKER),
        };
        if self.outbound { (asks, asked) } else { (asked, asks) }
    }

    /// The thread that sends the current message of the exchange with number `id`.
    pub fn sending_thread(&self, id: u32) -> Thread {
        exchange_thread(id, self.processes().0)
    }

    fn receiving_thread(&self, id: u32) -> Thread {
        exchange_thread(id, self.processes().1)
    }

    /// The message has arrived, and the answer carries `data`.
    pub(crate) fn turn_back(&mut self, data: Bytes) {
        self.outbound = false;
        self.message = small(data + MESSAGE_HEADER);
    }

    /// The reader as the disks of the node see it: each workload of a client has a connection, and the
    /// server has a process for each connection.
    pub(crate) fn reader(&self) -> u64 {
        u64::from(self.client.0) << 32 | u64::from(self.workload)
    }

    /// Size of the message on its way.
    pub fn message(&self) -> Bytes {
        Bytes(u64::from(self.message))
    }

    /// Size of that message on the wire.
    pub fn wire(&self) -> Bytes {
        wire_bytes(self.message())
    }
}

impl Core {
    /// The processor of the sender begins to send the message of an exchange.
    pub(crate) fn send<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        let exchange = &self.exchanges[id];
        let span = hosts.cpu(exchange.sender()).send.of(exchange.message());
        self.send_after(hosts, id, span);
    }

    /// The same if the sender has `span` of work to do in total.
    pub(crate) fn send_after<H: Hosts>(&mut self, hosts: &mut H, id: u32, span: SimSpan) {
        let exchange = &self.exchanges[id];
        hosts.compute(Work {
            host: exchange.sender(),
            workload: exchange.workload,
            thread: exchange.sending_thread(id),
            breadcrumb: exchange.breadcrumb,
            span,
            work_kind: WorkKind::Sending,
            then: Continuation::Sent { exchange: id },
        });
    }

    /// The host that was asked answers with `data`, which it copies.
    pub(crate) fn answer<H: Hosts>(&mut self, hosts: &mut H, id: u32, data: Bytes) {
        let exchange = &mut self.exchanges[id];
        exchange.turn_back(data);
        let cpu = hosts.cpu(exchange.node);
        let span = cpu.send.of(exchange.message()) + cpu.copy.of(data);
        self.send_after(hosts, id, span);
    }

    /// The receiver of a message handles it. This takes `handling` (of which `copying` is copying), in
    /// addition to the work of the network stack.
    pub(crate) fn receive<H: Hosts>(
        &mut self,
        hosts: &mut H,
        id: u32,
        handling: SimSpan,
        copying: SimSpan,
    ) {
        let exchange = &self.exchanges[id];
        let host = exchange.receiver();
        let receiving = hosts.cpu(host).receive.of(exchange.message());
        let outbound = exchange.outbound;
        let work = Work {
            host,
            workload: exchange.workload,
            thread: exchange.receiving_thread(id),
            breadcrumb: exchange.breadcrumb,
            span: receiving + handling,
            work_kind: WorkKind::Receiving { receiving, copying },
            then: if outbound {
                Continuation::Taken { exchange: id }
            } else {
                Continuation::Answered { exchange: id }
            },
        };
        hosts.note_received(exchange);
        hosts.compute(work);
    }

    /// Lets an exchange wait for completions of a store.
    pub(crate) fn wait(&mut self, id: u32, completions: u32) {
        self.exchanges[id].awaiting = completions;
    }

    /// Counts one completion of a store. Returns whether it was the last one.
    pub(crate) fn one_stored<H: Hosts>(&mut self, hosts: &mut H, id: u32) -> bool {
        let exchange = &mut self.exchanges[id];
        exchange.awaiting -= 1;
        if exchange.awaiting > 0 {
            return false;
        }
        hosts.note_ready(exchange.node);
        true
    }
}
