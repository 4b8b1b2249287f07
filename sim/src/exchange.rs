//! Exchanges between hosts: a message there, work, a message back.
//!
//! Whatever the storage system, its messages are *legs*: the sender's processor hands a leg's message
//! to the network, the receiver's takes it in, and both are recorded. What a host does with a leg that
//! has come in is the business of the protocol that the leg belongs to.

use foretell_algorithms::message::MESSAGE_HEADER;
use foretell_algorithms::node::FileAccess;
use foretell_ati::{Body, Resource};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan};

use crate::cluster::{Cluster, network_events};
use crate::cpu::Thread;
use crate::demand::NOBODY;
use crate::event::{Event, HostTask, Then};
use crate::metrics::Work;
use crate::network::wire_bytes;
use crate::process::{self, SERVER, TRACKER};

/// An exchange with one node: a message there and a message back.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) kind: LegKind,
    pub(crate) client: HostId,
    pub(crate) node: HostId,
    /// Whether its message goes to the node, or back.
    pub(crate) outbound: bool,
    /// Bytes of the message on its way, header included.
    message: u32,
    /// What it waits for at the node: disk operations, room for dirty pages.
    pub(crate) awaiting: u32,
    pub(crate) breadcrumb: Breadcrumb,
    pub(crate) workload: u32,
}

/// What a leg is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegKind {
    /// A fragment is written or read.
    Fragment {
        part: u32,
        /// Which of the n.
        fragment: u8,
        op: Op,
        file: u32,
        offset: Bytes,
        /// Bytes of the node's file.
        stored: u32,
        /// Bytes of the fragment.
        carried: u32,
    },
    /// A client asks the server in front for an operation on an object, or that one asks another
    /// server for its part of it.
    Object {
        /// What is asked for.
        task: u32,
        /// The client's part that waits for the answer; none: a server waits.
        part: u32,
    },
    /// A batch of activity records on its way to the Activity DB.
    Records,
    /// A node's report to a monitor.
    Report,
}

/// The part of a leg that is between servers.
pub(crate) const NO_PART: u32 = u32::MAX;

impl LegKind {
    /// The processes that send and take in the message there; those of the answer are the other way
    /// round.
    fn processes(self, workload: u32) -> (u32, u32) {
        match self {
            Self::Records => (TRACKER, TRACKER),
            Self::Report | Self::Object { part: NO_PART, .. } => (SERVER, SERVER),
            Self::Fragment { .. } | Self::Object { .. } => (process::application(workload), SERVER),
        }
    }
}

impl Leg {
    /// A leg whose first message carries `data`.
    pub(crate) fn new(
        kind: LegKind,
        (client, node): (HostId, HostId),
        data: Bytes,
        breadcrumb: Breadcrumb,
        workload: u32,
    ) -> Self {
        let mut leg = Self {
            kind,
            client,
            node,
            outbound: true,
            message: 0,
            awaiting: 0,
            breadcrumb,
            workload,
        };
        leg.load(data);
        leg
    }

    /// The process that sends the message on its way, and the one that takes it in.
    fn pids(&self) -> (u32, u32) {
        let (there, back) = self.kind.processes(self.workload);
        if self.outbound { (there, back) } else { (back, there) }
    }

    pub(crate) fn sender(&self) -> HostId {
        if self.outbound { self.client } else { self.node }
    }

    pub(crate) fn receiver(&self) -> HostId {
        if self.outbound { self.node } else { self.client }
    }

    fn load(&mut self, data: Bytes) {
        self.message = u32::try_from((data + MESSAGE_HEADER).get()).expect("groups are bounded");
    }

    /// The message is there; the one back carries `data`.
    pub(crate) fn turn_back(&mut self, data: Bytes) {
        self.outbound = false;
        self.load(data);
    }

    /// Whom the node's disks take it for: a client's workload has a connection, and the server a process
    /// for each of these.
    pub(crate) fn reader(&self) -> u64 {
        u64::from(self.client.0) << 32 | u64::from(self.workload)
    }

    /// Bytes of the message on its way.
    pub(crate) fn message(&self) -> Bytes {
        Bytes(u64::from(self.message))
    }

    /// Its size on the wire.
    pub(crate) fn wire(&self) -> Bytes {
        wire_bytes(self.message())
    }
}

// Threads are numbered so that no two that live on a host are alike.
pub(crate) fn request_thread(request: u32, workload: u32) -> Thread {
    Thread { pid: process::application(workload), tid: request * 2 + 2 }
}

/// The thread of a transaction that its client works for itself. Requests have even numbers from the
/// bottom, these from the top.
pub(crate) fn transaction_thread(transaction: u32, workload: u32) -> Thread {
    Thread { pid: process::application(workload), tid: u32::MAX - 1 - transaction * 2 }
}

pub(crate) fn leg_thread(leg: u32, pid: u32) -> Thread {
    Thread { pid, tid: leg * 2 + 1 }
}

impl Cluster {
    /// The sender's processor begins to send a leg's message.
    pub(crate) fn send(&mut self, id: u32) {
        let leg = &self.legs[id];
        let work = self.hosts[leg.sender().index()].profile.send.of(leg.message());
        self.send_after(id, work);
    }

    /// The same, where the sender has that much work to do in all.
    pub(crate) fn send_after(&mut self, id: u32, work: SimSpan) {
        let leg = &self.legs[id];
        let (host, workload, breadcrumb) = (leg.sender(), leg.workload, leg.breadcrumb);
        let thread = leg_thread(id, leg.pids().0);
        self.compute(
            host,
            workload,
            HostTask { thread, breadcrumb, work, then: Then::Sent { leg: id } },
        );
    }

    /// Hands a leg's message to the network.
    pub(crate) fn transmit(&mut self, id: u32) {
        let leg = &self.legs[id];
        let hosts = (leg.sender(), leg.receiver());
        let now = self.agenda.now();
        if hosts.0 == hosts.1 {
            // what stays on the host meets no cable
            self.agenda.schedule(now, Event::Deliver { leg: id });
            return;
        }
        let mut at = now;
        if let Some(limit) = &mut self.hosts[hosts.0.index()].limit {
            let wire = leg.wire();
            at = limit.let_out(now, wire, self.network.cable_time(hosts.0, hosts, wire));
        }
        if at > now {
            self.agenda.schedule(at, Event::LetOut { leg: id });
        } else {
            self.put_on_cable(id);
        }
    }

    /// A leg's message goes on the cable; to another virtual machine on the same machine, over the
    /// machine's bridge, which takes no time and of which there are no records.
    pub(crate) fn put_on_cable(&mut self, id: u32) {
        let leg = &self.legs[id];
        let (hosts, wire) = ((leg.sender(), leg.receiver()), leg.wire());
        let now = self.agenda.now();
        let machine = |host| self.network.machine(host);
        if machine(hosts.0) == machine(hosts.1) {
            if let Some(collectors) = &mut self.collectors {
                collectors.sent(hosts.0, hosts.1, wire);
            }
            self.agenda.schedule(now, Event::Deliver { leg: id });
            return;
        }
        self.note_transmission(id, wire);
        self.network.send(now, hosts, wire, id, &mut network_events(&mut self.agenda));
        self.note_repetitions();
    }

    /// Records what senders have sent again.
    pub(crate) fn note_repetitions(&mut self) {
        while let Some((leg, wire)) = self.network.take_resent() {
            self.note_transmission(leg, wire);
        }
    }

    /// Records that so many bytes of a leg's message go out.
    fn note_transmission(&mut self, id: u32, wire: Bytes) {
        let leg = &self.legs[id];
        let (from, to) = (leg.sender(), leg.receiver());
        let now = self.agenda.now();
        let body = Body::NetworkTransmit { sender: from.0, receiver: to.0, numbytes: wire.get() };
        self.tracker.post(now, from, leg_thread(id, leg.pids().0), leg.breadcrumb, body);
        if let Some(collectors) = &mut self.collectors {
            collectors.sent(from, to, wire);
        }
        let machine = self.network.machine(from);
        let charged = || self.network.wire_time(from, wire);
        self.tracker.charge(machine, Resource::Transmit, leg.workload, charged);
    }

    /// A leg's message has come over the cable, and goes in as fast as its receiver's bandwidth lets it.
    pub(crate) fn arrive(&mut self, id: u32) {
        let leg = &self.legs[id];
        let (from, to) = (leg.sender(), leg.receiver());
        let now = self.agenda.now();
        let mut at = now;
        if let Some(limit) = self.hosts[to.index()].limit.as_mut().filter(|_| from != to) {
            let wire = leg.wire();
            at = limit.let_in(now, wire, self.network.cable_time(to, (from, to), wire));
        }
        if at > now {
            self.agenda.schedule(at, Event::LetIn { leg: id });
        } else {
            self.deliver(id);
        }
    }

    /// A leg's message has arrived.
    pub(crate) fn deliver(&mut self, id: u32) {
        let leg = &self.legs[id];
        let host = leg.receiver();
        let cpu = &self.hosts[host.index()].profile;
        let mut work = cpu.receive.of(leg.message());
        let then = match leg.kind {
            LegKind::Records => Then::StoreRecords { leg: id },
            LegKind::Report => Then::Reported { leg: id },
            LegKind::Fragment { op, carried, .. } if leg.outbound => {
                let carried = Bytes(u64::from(carried));
                work += cpu.request.of(carried);
                if op == Op::Write {
                    work += cpu.copy.of(carried);
                }
                Then::Serve { leg: id }
            }
            LegKind::Object { task, .. } if leg.outbound => {
                work += self.work_of_task(host, task);
                Then::Serve { leg: id }
            }
            LegKind::Fragment { .. } | LegKind::Object { .. } => Then::Replied { leg: id },
        };
        let (thread, breadcrumb) = (leg_thread(id, leg.pids().1), leg.breadcrumb);
        let workload = leg.workload;
        let (wire, from) = (leg.wire(), leg.sender());
        if from != host {
            if let Some(collectors) = &mut self.collectors {
                collectors.received(host, from, wire);
            }
            let machine = self.network.machine(host);
            if self.network.machine(from) != machine {
                let charged = || self.network.wire_time(host, wire);
                self.tracker.charge(machine, Resource::Receive, workload, charged);
            }
        }
        self.compute(host, workload, HostTask { thread, breadcrumb, work, then });
    }

    /// A full batch of activity records leaves its host.
    pub(crate) fn ship_records(&mut self, host: HostId) {
        let cost = self.tracker.cost().expect("only what costs is shipped");
        let (store, data) = (cost.store, cost.batch);
        let leg = Leg::new(LegKind::Records, (host, store), data, Breadcrumb::NONE, NOBODY);
        let id = self.legs.insert(leg);
        if host == store {
            self.store_records(id);
            return;
        }
        let work = self.hosts[host.index()].profile.send.of(data);
        self.send_after(id, work);
    }

    /// The Activity DB's node appends a batch to its file.
    pub(crate) fn store_records(&mut self, id: u32) {
        let leg = &self.legs[id];
        let size = leg.message();
        let access = FileAccess {
            leg: id,
            op: Op::Write,
            file: self.volumes.len() as u32,
            offset: self.database_size,
            size,
            breadcrumb: Breadcrumb::NONE,
            thread: leg_thread(id, TRACKER),
            workload: NOBODY,
            reader: u64::MAX,
        };
        self.database_size += size;
        let host = leg.node;
        let (node, mut around) = self.node(host);
        let waits = node.append(&mut around, &access);
        self.note_wait(id, waits);
        if waits == 0 {
            self.legs.remove(id);
        }
    }

    /// A leg, and with it a thread of its node, begins to wait for so many things of the disks.
    pub(crate) fn note_wait(&mut self, id: u32, waits: u32) {
        let leg = &mut self.legs[id];
        leg.awaiting = waits;
        let (now, host) = (self.agenda.now(), leg.node);
        if let Some(collectors) = self.collectors.as_mut().filter(|_| waits > 0) {
            collectors.waits(now, host);
        }
    }

    /// A task's work by what dstat calls it, for the collectors.
    pub(crate) fn work_of(&self, host: HostId, task: &HostTask) -> Work {
        let work = task.work.as_ns();
        let leg = match task.then {
            Then::Sent { .. } => return Work { sys: work, ..Work::default() },
            Then::Serve { leg }
            | Then::Replied { leg }
            | Then::Reported { leg }
            | Then::StoreRecords { leg } => &self.legs[leg],
            Then::Prepared { .. }
            | Then::Decoded { .. }
            | Then::Cached { .. }
            | Then::Encoded { .. } => return Work { usr: work, ..Work::default() },
        };
        let profile = &self.hosts[host.index()].profile;
        let receiving = profile.receive.of(leg.message()).as_ns().min(work);
        let rest = work - receiving;
        let copying = match (task.then, leg.kind) {
            (Then::Serve { .. }, LegKind::Fragment { op: Op::Write, carried, .. }) => {
                profile.copy.of(Bytes(u64::from(carried))).as_ns()
            }
            (Then::Serve { .. }, LegKind::Object { task, .. }) => {
                self.copying_of_task(host, task).as_ns()
            }
            _ => 0,
        };
        let copying = copying.min(rest);
        // half of what receiving takes is done before the thread is woken
        let siq = receiving / 2;
        Work { usr: rest - copying, sys: receiving - siq + copying, siq }
    }
}
