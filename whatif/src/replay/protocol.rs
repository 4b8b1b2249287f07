//! What a client does with a request, and a node with its part: the protocol that the system knows
//! of itself (paper 004, II and III-A), with times from what was measured.

use foretell_algorithms::cores::Slice;
use foretell_algorithms::message::{MESSAGE_HEADER, wire_bytes};
use foretell_algorithms::node::{FileAccess, NOBODY};
use foretell_ati::{RecordKind, Resource};
use foretell_scenarios::model::ReadFrom;
use foretell_units::{Breadcrumb, Bytes, Op, SimSpan, SimTime, Thread};

use super::Replay;
use super::agenda::Event;
use super::instance::Instance;

/// A request that is outstanding.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) instance: u32,
    pub(super) op: Op,
    pub(super) offset: Bytes,
    pub(super) size: Bytes,
    pub(super) issued: SimTime,
    fetching: bool,
    parts_left: u32,
    passes: u64,
}

/// The part of a request that goes to one set of nodes.
#[derive(Clone, Debug)]
pub(super) struct Part {
    request: u32,
    needed: u32,
    outstanding: u32,
}

/// An exchange with one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// `None`: a batch of records.
    part: Option<u32>,
    client: u32,
    node: u32,
    outbound: bool,
    message: Bytes,
    pub(super) awaiting: u32,
    workload: u32,
    op: Op,
    file: u32,
    offset: Bytes,
    stored: Bytes,
    carried: Bytes,
}

impl Leg {
    fn sender(&self) -> u32 {
        if self.outbound { self.client } else { self.node }
    }

    fn receiver(&self) -> u32 {
        if self.outbound { self.node } else { self.client }
    }

    pub(super) fn is_records(&self) -> bool {
        self.part.is_none()
    }
}

/// The server of a node, and who ships records.
const SERVER: Thread = Thread { pid: 1, tid: 0 };

/// Who ships records and stores them.
const TRACKER: u32 = 3;

/// The process that runs a workload.
const fn application(workload: u32) -> u32 {
    100 + workload
}

// Threads are numbered so that no two that live on a host are alike.
const fn request_thread(request: u32, workload: u32) -> Thread {
    Thread { pid: application(workload), tid: request * 2 + 2 }
}

const fn leg_thread(leg: u32, pid: u32) -> Thread {
    Thread { pid, tid: leg * 2 + 1 }
}

const fn instance_thread(instance: u32, workload: u32) -> Thread {
    Thread { pid: application(workload), tid: u32::MAX - 1 - instance * 2 }
}

impl Replay<'_> {
    /// A client issues a request.
    pub(super) fn start(&mut self, instance: u32, op: Op, offset: Bytes, size: Bytes) {
        let owner = &self.instances[instance as usize];
        let (client, volume) = (owner.client, owner.volume);
        let distribution = &self.distributions[volume as usize];
        let fetching =
            op == Op::Write && distribution.partial_blocks(offset, size).next().is_some();
        let (_, whole) = distribution.covering(offset, size);
        self.tracking.post(client, RecordKind::Request);
        let issued = self.now;
        let request = self.requests.insert(Request {
            instance,
            op,
            offset,
            size,
            issued,
            fetching,
            parts_left: 0,
            passes: 0,
        });
        let cpu = &self.scenario.hosts[client as usize].cpu;
        let mut work = cpu.request.of(size);
        if op == Op::Write && !fetching {
            let cipher = self.scenario.volumes[volume as usize].cipher.codec();
            work += cpu.seal(cipher, distribution.encoding(), whole);
        }
        self.compute_request(request, work, Event::Prepared { request });
    }

    fn compute_request(&mut self, request: u32, work: SimSpan, then: Event) {
        let instance = self.requests[request].instance;
        let owner = &self.instances[instance as usize];
        let (client, workload) = (owner.client, owner.workload);
        self.compute(client, workload, request_thread(request, workload), work, then);
    }

    /// What a client does between a completion and the request that follows it, which took so long
    /// when it was recorded: all that its processor had to do.
    pub(super) fn work_alone(&mut self, instance: u32, recorded: SimSpan) {
        let Instance { client, workload, .. } = self.instances[instance as usize];
        let besides = self.scenario.hosts[client as usize].cpu.context_switch;
        let owed = self.tracking.take_debt(client);
        let work = recorded.saturating_sub(besides).max(owed);
        let thread = instance_thread(instance, workload);
        self.work(client, thread, work, Event::Issue { instance });
    }

    /// Puts a task of a request on a host's processor.
    fn compute(&mut self, host: u32, workload: u32, thread: Thread, work: SimSpan, then: Event) {
        let work = work + self.tracking.take_debt(host);
        self.charge(host, Resource::Cpu, workload, work);
        self.work(host, thread, work, then);
    }

    /// What comes of a step that the same processor has just done is done by the same thread, which keeps
    /// its core.
    fn work(&mut self, host: u32, thread: Thread, work: SimSpan, then: Event) {
        let (now, cpu) = (self.now, &mut self.cpus[host as usize]);
        if let Some((_, core)) = self.in_hand.filter(|(owner, _)| *owner == host) {
            cpu.follow(now, core, thread, work, then);
        } else if let Some(slice) = cpu.submit(now, thread, work, then) {
            self.take_up(host, &slice);
        }
    }

    /// A core takes up a thread.
    fn take_up(&mut self, host: u32, slice: &Slice) {
        if slice.from.pid != slice.to.pid {
            self.tracking.post(host, RecordKind::KernelProcessSwitch);
        } else if slice.from != slice.to {
            self.tracking.post(host, RecordKind::UserThreadSwitch);
        }
        self.agenda.schedule(slice.end, Event::Slice { host, core: slice.core });
    }

    /// The running slice of a core ends.
    pub(super) fn slice_ends(&mut self, host: u32, core: u32) {
        let end = self.cpus[host as usize].step_ends(self.now, core);
        let mut next = end.next;
        if let Some(then) = end.done {
            self.in_hand = Some((host, core));
            self.dispatch(then);
            self.in_hand = None;
            next = self.cpus[host as usize].go_on(self.now, core);
        }
        match next {
            Some(slice) => self.take_up(host, &slice),
            None => self.tracking.post(host, RecordKind::KernelProcessSwitch),
        }
    }

    /// The messages of a request go out.
    pub(super) fn send_out(&mut self, id: u32) {
        let Request { instance, op, offset, size, fetching, .. } = self.requests[id];
        let volume = self.instances[instance as usize].volume as usize;
        if fetching {
            let block = self.distributions[volume].block();
            for number in self.distributions[volume].partial_blocks(offset, size) {
                self.send_range(id, Op::Read, block * number, block);
            }
        } else {
            let (offset, size) = self.distributions[volume].covering(offset, size);
            self.send_range(id, op, offset, size);
        }
    }

    fn send_range(&mut self, id: u32, op: Op, offset: Bytes, size: Bytes) {
        let instance = self.requests[id].instance as usize;
        let volume = self.instances[instance].volume as usize;
        let pieces = self.distributions[volume].pieces(offset, size);
        for piece in pieces {
            self.send_part(id, op, &piece);
        }
    }

    fn send_part(&mut self, id: u32, op: Op, piece: &foretell_algorithms::distribution::Piece) {
        self.requests[id].parts_left += 1;
        let instance = self.requests[id].instance as usize;
        let owner = &self.instances[instance];
        let (client, workload, file) = (owner.client, owner.workload, owner.volume);
        let volume = &self.scenario.volumes[file as usize];
        let (m, n) = (usize::from(volume.m), volume.n);
        let mut nodes = std::mem::take(&mut self.scratch.nodes);
        let mut places = std::mem::take(&mut self.scratch.places);
        let mut chosen = std::mem::take(&mut self.scratch.chosen);
        self.distributions[file as usize].places(piece.group, &mut nodes, &mut places);
        chosen.clear();
        chosen.extend(0..n);
        let needed = match op {
            Op::Write => u32::from(volume.write_quorum),
            Op::Read => {
                if volume.read_from == ReadFrom::Random {
                    let choosing = &mut self.instances[instance].choosing;
                    for place in 0..m {
                        let rest = (chosen.len() - place) as u64;
                        chosen.swap(place, place + choosing.below(rest) as usize);
                    }
                }
                chosen.truncate(m);
                let missing = m - chosen.iter().filter(|&&at| usize::from(at) < m).count();
                if m > 1 {
                    let request = &mut self.requests[id];
                    request.passes = request.passes.max(missing as u64);
                }
                m as u32
            }
        };
        if self.measuring.is_some() {
            let path = &mut self.paths[workload as usize];
            path.legs[crate::disk::index(op)] += chosen.len() as u64;
            let node = volume.nodes[places[usize::from(chosen[0])].node as usize];
            let ways = |host: usize| self.scenario.hosts[host].nic.latency;
            path.latency += (ways(client as usize) + ways(node.index())) * 2;
        }
        let part = Part { request: id, needed, outstanding: chosen.len() as u32 };
        let part = self.parts.insert(part);
        let data = if op == Op::Write { piece.carried } else { Bytes::ZERO };
        let send = self.scenario.hosts[client as usize].cpu.send.of(data + MESSAGE_HEADER);
        for &fragment in &chosen {
            let place = places[usize::from(fragment)];
            let leg = self.legs.insert(Leg {
                part: Some(part),
                client,
                node: volume.nodes[place.node as usize].0,
                outbound: true,
                message: data + MESSAGE_HEADER,
                awaiting: 0,
                workload,
                op,
                file,
                offset: place.base + piece.start,
                stored: piece.stored,
                carried: piece.carried,
            });
            let thread = leg_thread(leg, application(workload));
            self.compute(client, workload, thread, send, Event::Sent { leg });
        }
        (self.scratch.nodes, self.scratch.places, self.scratch.chosen) = (nodes, places, chosen);
    }

    /// Hands a leg's message to the network.
    pub(super) fn transmit(&mut self, id: u32) {
        let leg = &self.legs[id];
        let (from, to, workload) = (leg.sender(), leg.receiver(), leg.workload);
        let wire = wire_bytes(leg.message);
        self.tracking.post(from, RecordKind::NetworkTransmit);
        let time = self.links.time(from as usize, wire);
        self.charge(from, Resource::Transmit, workload, time);
        let mut steps = std::mem::take(&mut self.scratch.steps);
        self.links.send(self.now, (from, to), id, wire, &mut steps);
        self.take(steps);
    }

    /// Puts what the network wants to be told on the agenda.
    pub(super) fn take(&mut self, mut steps: super::links::Steps) {
        for (at, step) in steps.drain(..) {
            self.agenda.schedule(at, Event::Network(step));
        }
        self.scratch.steps = steps;
    }

    /// A leg's message has arrived.
    pub(super) fn deliver(&mut self, id: u32) {
        let leg = self.legs[id];
        let host = leg.receiver();
        let cpu = &self.scenario.hosts[host as usize].cpu;
        let mut work = cpu.receive.of(leg.message);
        let then = if leg.is_records() {
            Event::StoreRecords { leg: id }
        } else if leg.outbound {
            work += cpu.request.of(leg.carried);
            if leg.op == Op::Write {
                work += cpu.copy.of(leg.carried);
            }
            Event::Serve { leg: id }
        } else {
            Event::Replied { leg: id }
        };
        let time = self.links.time(host as usize, wire_bytes(leg.message));
        self.charge(host, Resource::Receive, leg.workload, time);
        let pid = match then {
            Event::StoreRecords { .. } => TRACKER,
            Event::Serve { .. } => SERVER.pid,
            _ => application(leg.workload),
        };
        self.compute(host, leg.workload, leg_thread(id, pid), work, then);
    }

    /// A node looks into its cache and disks.
    pub(super) fn serve(&mut self, id: u32) {
        let leg = self.legs[id];
        let access = FileAccess {
            leg: id,
            op: leg.op,
            file: leg.file,
            offset: leg.offset,
            size: leg.stored,
            breadcrumb: Breadcrumb::NONE,
            thread: SERVER,
            workload: leg.workload,
            reader: u64::from(leg.client) << 32 | u64::from(leg.workload),
        };
        let waits = self.access(leg.node, &access);
        self.legs[id].awaiting = waits;
        if waits == 0 {
            self.answer(id);
        }
    }

    /// A node answers.
    pub(super) fn answer(&mut self, id: u32) {
        let leg = &mut self.legs[id];
        leg.outbound = false;
        let carried = if leg.op == Op::Read { leg.carried } else { Bytes::ZERO };
        leg.message = carried + MESSAGE_HEADER;
        let (host, workload, message) = (leg.node, leg.workload, leg.message);
        let cpu = &self.scenario.hosts[host as usize].cpu;
        let mut work = cpu.send.of(message);
        if leg.op == Op::Read {
            work += cpu.copy.of(carried);
        }
        self.compute(host, workload, leg_thread(id, SERVER.pid), work, Event::Sent { leg: id });
    }

    /// A client has taken a node's answer in.
    pub(super) fn replied(&mut self, id: u32) {
        let Some(part_id) = self.legs.remove(id).part else { return };
        let part = &mut self.parts[part_id];
        let request_id = part.request;
        part.outstanding -= 1;
        let completes = part.needed == 1;
        part.needed = part.needed.saturating_sub(1);
        if part.outstanding == 0 {
            self.parts.remove(part_id);
        }
        if !completes {
            return;
        }
        let request = &mut self.requests[request_id];
        request.parts_left -= 1;
        if request.parts_left > 0 {
            return;
        }
        if request.op == Op::Write && !request.fetching {
            self.complete(request_id);
            return;
        }
        let Request { instance, offset, size, fetching, passes, .. } = *request;
        let owner = &self.instances[instance as usize];
        let volume = &self.scenario.volumes[owner.volume as usize];
        let distribution = &self.distributions[owner.volume as usize];
        let cpu = &self.scenario.hosts[owner.client as usize].cpu;
        let fetched = if fetching {
            distribution.block() * distribution.partial_blocks(offset, size).count() as u64
        } else {
            distribution.covering(offset, size).1
        };
        let work = cpu.open(volume.cipher.codec(), passes, fetched);
        if work.is_zero() {
            self.decoded(request_id);
        } else {
            self.compute_request(request_id, work, Event::Decoded { request: request_id });
        }
    }

    /// What was read is in the clear.
    pub(super) fn decoded(&mut self, id: u32) {
        let request = &mut self.requests[id];
        if request.op == Op::Read {
            self.complete(id);
            return;
        }
        request.fetching = false;
        let Request { instance, offset, size, .. } = *request;
        let owner = &self.instances[instance as usize];
        let distribution = &self.distributions[owner.volume as usize];
        let (_, whole) = distribution.covering(offset, size);
        let cpu = &self.scenario.hosts[owner.client as usize].cpu;
        let cipher = self.scenario.volumes[owner.volume as usize].cipher.codec();
        let work = cpu.seal(cipher, distribution.encoding(), whole);
        self.compute_request(id, work, Event::Prepared { request: id });
    }

    /// A full batch of records leaves its host.
    pub(super) fn ship_records(&mut self, host: u32) {
        let Some(cost) = self.tracking.cost() else { return };
        let (store, data) = (cost.store.0, cost.batch);
        let leg = self.legs.insert(Leg {
            part: None,
            client: host,
            node: store,
            outbound: true,
            message: data + MESSAGE_HEADER,
            awaiting: 0,
            workload: NOBODY,
            op: Op::Write,
            file: 0,
            offset: Bytes::ZERO,
            stored: Bytes::ZERO,
            carried: Bytes::ZERO,
        });
        if host == store {
            self.store_records(leg);
            return;
        }
        let work = self.scenario.hosts[host as usize].cpu.send.of(data);
        self.compute(host, NOBODY, leg_thread(leg, TRACKER), work, Event::Sent { leg });
    }

    /// The Activity DB's node appends a batch to its file.
    pub(super) fn store_records(&mut self, id: u32) {
        let leg = self.legs[id];
        let access = FileAccess {
            leg: id,
            op: Op::Write,
            file: self.scenario.volumes.len() as u32,
            offset: self.database,
            size: leg.message,
            breadcrumb: Breadcrumb::NONE,
            thread: SERVER,
            workload: NOBODY,
            reader: u64::MAX,
        };
        self.database += leg.message;
        let waits = self.access(leg.node, &access);
        self.legs[id].awaiting = waits;
        if waits == 0 {
            self.legs.remove(id);
        }
    }
}
