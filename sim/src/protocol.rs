//! What a client does with a request, and a node with its part: the PASIS protocol in outline.
//!
//! A write is encrypted, encoded and sent to all n nodes; it completes when the quorum has
//! acknowledged. A read asks m nodes, decodes and decrypts. A write of part of an encoded block
//! first fetches the block. Source: paper 004, II-A, II-B, III-A. Not modelled: PASIS's version
//! negotiation, repair, and failures; placement is known to the client without asking.

use foretell_algorithms::message::MESSAGE_HEADER;
use foretell_algorithms::node::FileAccess;
use foretell_ati::{Body, Phase as RecordPhase, Resource};
use foretell_scenarios::model::{CpuProfile, ReadFrom};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};

use crate::cluster::{Cluster, Volume, network_events};
use crate::cpu::Thread;
use crate::demand::NOBODY;
use crate::event::{HostTask, Then};
use crate::metrics::Work;
use crate::network::wire_bytes;
use crate::payload::Fragments;
use crate::process::{self, SERVER, TRACKER};
use crate::transaction::NO_TRANSACTION;

/// A request that is outstanding.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) live: bool,
    pub(crate) instance: u32,
    pub(crate) workload: u32,
    pub(crate) client: HostId,
    pub(crate) volume: u32,
    pub(crate) op: Op,
    pub(crate) offset: Bytes,
    pub(crate) size: Bytes,
    pub(crate) issued: SimTime,
    pub(crate) breadcrumb: Breadcrumb,
    pub(crate) stage: Stage,
    /// The transaction that waits for it, or [`NO_TRANSACTION`].
    pub(crate) transaction: u32,
    /// Parts that lack answers.
    pub(crate) parts_left: u32,
    /// Data fragments that were not among those asked for, at the most in one part.
    pub(crate) passes: u64,
}

/// How far a request has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The blocks that a write covers in part are fetched.
    Fetch,
    /// The request itself.
    Transfer,
}

/// The part of a request that goes to one set of nodes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) request: u32,
    /// Answers that it still needs.
    pub(crate) needed: u32,
    /// Legs under way.
    pub(crate) outstanding: u32,
    /// The blocks touched.
    pub(crate) first_block: u64,
    pub(crate) blocks: u64,
}

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
    /// A batch of activity records on its way to the Activity DB.
    Records,
}

impl Leg {
    pub(crate) fn sender(&self) -> HostId {
        if self.outbound { self.client } else { self.node }
    }

    pub(crate) fn receiver(&self) -> HostId {
        if self.outbound { self.node } else { self.client }
    }

    fn load(&mut self, data: Bytes) {
        self.message = u32::try_from((data + MESSAGE_HEADER).get()).expect("groups are bounded");
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
fn request_thread(request: u32, workload: u32) -> Thread {
    Thread { pid: process::application(workload), tid: request * 2 + 2 }
}

/// The thread of a transaction that its client works for itself. Requests have even numbers from the
/// bottom, these from the top.
pub(crate) fn transaction_thread(transaction: u32, workload: u32) -> Thread {
    Thread { pid: process::application(workload), tid: u32::MAX - 1 - transaction * 2 }
}

fn leg_thread(leg: u32, pid: u32) -> Thread {
    Thread { pid, tid: leg * 2 + 1 }
}

impl Volume {
    /// Time to encrypt and encode `size` bytes.
    fn seal_time(&self, cpu: &CpuProfile, size: Bytes) -> SimSpan {
        let encoding = self.distribution.encoding();
        let passes = if encoding.is_replication() { 0 } else { encoding.n() - encoding.m() };
        self.cipher_time(cpu.encrypt, size) + coding_time(cpu, size, passes as u64)
    }

    /// Time to decode and decrypt `size` bytes of which so many data fragments were not read.
    fn open_time(&self, cpu: &CpuProfile, size: Bytes, passes: u64) -> SimSpan {
        self.cipher_time(cpu.decrypt, size) + coding_time(cpu, size, passes)
    }

    fn cipher_time(&self, cost: foretell_scenarios::model::Cost, size: Bytes) -> SimSpan {
        match self.cipher {
            foretell_algorithms::codec::Cipher::None => SimSpan::ZERO,
            foretell_algorithms::codec::Cipher::Aes128Cbc => cost.of(size),
        }
    }
}

fn coding_time(cpu: &CpuProfile, size: Bytes, passes: u64) -> SimSpan {
    if passes == 0 { SimSpan::ZERO } else { cpu.code.of(size * passes) }
}

impl Cluster {
    /// A client issues a request, for a transaction perhaps; its response time counts from now.
    pub(crate) fn start_request(
        &mut self,
        instance: u32,
        op: Op,
        offset: Bytes,
        size: Bytes,
        transaction: u32,
    ) {
        let now = self.agenda.now();
        self.last_breadcrumb += 1;
        let owner = &mut self.instances[instance as usize];
        owner.issued += 1;
        let (workload, client, volume) = (owner.workload.0, owner.client, owner.volume.0);
        let distribution = &self.volumes[volume as usize].distribution;
        let fetch = op == Op::Write && distribution.partial_blocks(offset, size).next().is_some();
        let request = self.requests.insert(Request {
            live: true,
            instance,
            workload,
            client,
            volume,
            op,
            offset,
            size,
            issued: now,
            breadcrumb: Breadcrumb(self.last_breadcrumb),
            transaction,
            stage: if fetch { Stage::Fetch } else { Stage::Transfer },
            parts_left: 0,
            passes: 0,
        });
        self.tallies[workload as usize].issued(now);
        self.post_request(request, RecordPhase::Issue);
        let cpu = &self.hosts[client.index()].profile;
        let mut work = cpu.request.of(size);
        if op == Op::Write && !fetch {
            let volume = &self.volumes[volume as usize];
            let (_, whole) = volume.distribution.covering(offset, size);
            work += volume.seal_time(cpu, whole);
        }
        self.compute_request(request, work, Then::Prepared { request });
    }

    fn compute_request(&mut self, request: u32, work: SimSpan, then: Then) {
        let (client, workload, breadcrumb) = {
            let request = &self.requests[request];
            (request.client, request.workload, request.breadcrumb)
        };
        let thread = request_thread(request, workload);
        self.compute(client, workload, HostTask { thread, breadcrumb, work, then });
    }

    /// The messages of a request go out.
    pub(crate) fn send_out(&mut self, id: u32) {
        let request = &self.requests[id];
        let (offset, size) = (request.offset, request.size);
        let distribution = &self.volumes[request.volume as usize].distribution;
        match request.stage {
            Stage::Transfer => {
                let op = request.op;
                if let (Op::Write, Some(vault)) = (op, &mut self.vault) {
                    let end = (offset + size).get();
                    vault.write(request.volume, request.breadcrumb.0, offset.get(), end);
                }
                let (offset, size) = distribution.covering(offset, size);
                self.send_range(id, op, offset, size);
            }
            Stage::Fetch => {
                let block = distribution.block();
                for number in distribution.partial_blocks(offset, size) {
                    self.send_range(id, Op::Read, block * number, block);
                }
            }
        }
    }

    fn send_range(&mut self, id: u32, op: Op, offset: Bytes, size: Bytes) {
        let volume = self.requests[id].volume;
        let pieces = self.volumes[volume as usize].distribution.pieces(offset, size);
        for piece in pieces {
            self.send_part(id, op, &piece);
        }
    }

    /// Begins the part of a request that falls into one group.
    fn send_part(&mut self, id: u32, op: Op, piece: &foretell_algorithms::distribution::Piece) {
        let (volume_id, client, breadcrumb, workload, instance) = {
            let request = &mut self.requests[id];
            request.parts_left += 1;
            let Request { volume, client, breadcrumb, workload, instance, .. } = *request;
            (volume, client, breadcrumb, workload, instance)
        };
        let volume = &self.volumes[volume_id as usize];
        let encoding = volume.distribution.encoding();
        let (m, n) = (encoding.m(), encoding.n());
        let mut scratch = std::mem::take(&mut self.scratch);
        volume.distribution.places(piece.group, &mut scratch.nodes, &mut scratch.places);
        scratch.chosen.clear();
        scratch.chosen.extend(0..n as u8);
        let needed = match op {
            Op::Write => u32::from(volume.quorum),
            Op::Read => {
                if volume.read_from == ReadFrom::Random {
                    self.instances[instance as usize].choose(&mut scratch.chosen, m);
                }
                scratch.chosen.truncate(m);
                let missing = m - scratch.chosen.iter().filter(|&&at| usize::from(at) < m).count();
                let request = &mut self.requests[id];
                if m > 1 {
                    request.passes = request.passes.max(missing as u64);
                }
                m as u32
            }
        };
        let outstanding = scratch.chosen.len() as u32;
        let (first_block, blocks) = (piece.first_block, piece.blocks);
        if let (Op::Read, Some(vault)) = (op, &mut self.vault) {
            vault.pin(id, volume_id, first_block, blocks);
        }
        let part =
            self.parts.insert(Part { request: id, needed, outstanding, first_block, blocks });
        let data = if op == Op::Write { piece.carried } else { Bytes::ZERO };
        scratch.legs.clear();
        for &fragment in &scratch.chosen {
            let place = scratch.places[usize::from(fragment)];
            let mut leg = Leg {
                kind: LegKind::Fragment {
                    part,
                    fragment,
                    op,
                    file: volume_id,
                    offset: place.base + piece.start,
                    stored: piece.stored.get() as u32,
                    carried: piece.carried.get() as u32,
                },
                client,
                node: volume.nodes[place.node as usize],
                outbound: true,
                message: 0,
                awaiting: 0,
                breadcrumb,
                workload,
            };
            leg.load(data);
            scratch.legs.push(self.legs.insert(leg));
        }
        for &leg in &scratch.legs {
            let work = self.hosts[client.index()].profile.send.of(self.legs[leg].message());
            let thread = leg_thread(leg, process::application(workload));
            let task = HostTask { thread, breadcrumb, work, then: Then::Sent { leg } };
            self.compute(client, workload, task);
        }
        self.scratch = scratch;
    }

    /// Hands a leg's message to the network.
    pub(crate) fn transmit(&mut self, id: u32) {
        let leg = &self.legs[id];
        let (hosts, wire) = ((leg.sender(), leg.receiver()), leg.wire());
        let now = self.agenda.now();
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
        let pid = match leg.kind {
            LegKind::Records => TRACKER,
            LegKind::Fragment { .. } if leg.outbound => process::application(leg.workload),
            LegKind::Fragment { .. } => SERVER,
        };
        let now = self.agenda.now();
        let body = Body::NetworkTransmit { sender: from.0, receiver: to.0, numbytes: wire.get() };
        self.tracker.post(now, from, leg_thread(id, pid), leg.breadcrumb, body);
        if let Some(collectors) = &mut self.collectors {
            collectors.sent(from, to, wire);
        }
        self.tracker
            .charge(from, Resource::Transmit, leg.workload, || self.network.wire_time(from, wire));
    }

    /// A leg's message has arrived.
    pub(crate) fn deliver(&mut self, id: u32) {
        let leg = &self.legs[id];
        let host = leg.receiver();
        let cpu = &self.hosts[host.index()].profile;
        let mut work = cpu.receive.of(leg.message());
        let (pid, then) = match leg.kind {
            LegKind::Records => (TRACKER, Then::StoreRecords { leg: id }),
            LegKind::Fragment { op, carried, .. } if leg.outbound => {
                let carried = Bytes(u64::from(carried));
                work += cpu.request.of(carried);
                if op == Op::Write {
                    work += cpu.copy.of(carried);
                }
                (SERVER, Then::Serve { leg: id })
            }
            LegKind::Fragment { .. } => {
                (process::application(leg.workload), Then::Replied { leg: id })
            }
        };
        let (thread, breadcrumb, workload) = (leg_thread(id, pid), leg.breadcrumb, leg.workload);
        let (wire, from) = (leg.wire(), leg.sender());
        if let Some(collectors) = &mut self.collectors {
            collectors.received(host, from, wire);
        }
        self.tracker
            .charge(host, Resource::Receive, workload, || self.network.wire_time(host, wire));
        self.compute(host, workload, HostTask { thread, breadcrumb, work, then });
    }

    /// A node looks into its cache and disks.
    pub(crate) fn serve(&mut self, id: u32) {
        let leg = &self.legs[id];
        let LegKind::Fragment { op, file, offset, stored, .. } = leg.kind else {
            unreachable!("records are stored, not served")
        };
        let access = FileAccess {
            leg: id,
            op,
            file,
            offset,
            size: Bytes(u64::from(stored)),
            breadcrumb: leg.breadcrumb,
            thread: leg_thread(id, SERVER),
            workload: leg.workload,
            // a client's workload has a connection, and the server a process for each of these
            reader: u64::from(leg.client.0) << 32 | u64::from(leg.workload),
        };
        let host = leg.node;
        let (node, mut around) = self.node(host);
        let waits = node.access(&mut around, &access);
        self.legs[id].awaiting = waits;
        self.note_wait(host, waits);
        if waits == 0 {
            self.reply(id);
        }
    }

    /// A thread of a node begins to wait for so many things.
    fn note_wait(&mut self, host: HostId, waits: u32) {
        let now = self.agenda.now();
        if let Some(collectors) = self.collectors.as_mut().filter(|_| waits > 0) {
            collectors.waits(now, host);
        }
    }

    /// A task's work by what dstat calls it, for the collectors.
    pub(crate) fn work_of(&self, host: HostId, task: &HostTask) -> Work {
        let work = task.work.as_ns();
        let (Then::Serve { leg } | Then::Replied { leg } | Then::StoreRecords { leg }) = task.then
        else {
            return match task.then {
                Then::Sent { .. } => Work { sys: work, ..Work::default() },
                _ => Work { usr: work, ..Work::default() },
            };
        };
        let leg = &self.legs[leg];
        let profile = &self.hosts[host.index()].profile;
        let receiving = profile.receive.of(leg.message()).as_ns().min(work);
        let usr = match (task.then, leg.kind) {
            (Then::Serve { .. }, LegKind::Fragment { carried, .. }) => {
                profile.request.of(Bytes(u64::from(carried))).as_ns().min(work - receiving)
            }
            _ => 0,
        };
        // half of what receiving takes is done before the thread is woken
        let siq = receiving / 2;
        Work { usr, sys: work - usr - siq, siq }
    }

    /// The fragments that a leg carries.
    fn fragments(&self, id: u32) -> (Op, Fragments) {
        let leg = &self.legs[id];
        let LegKind::Fragment { part, fragment, op, file, .. } = leg.kind else {
            unreachable!("records are no fragments")
        };
        let Part { request, first_block, blocks, .. } = self.parts[part];
        let version = leg.breadcrumb.0;
        (op, Fragments { request, version, volume: file, first_block, blocks, fragment })
    }

    /// A node has done its part: it is in the cache, or on disk where that is required.
    pub(crate) fn reply(&mut self, id: u32) {
        if self.vault.is_some() {
            let (op, fragments) = self.fragments(id);
            let vault = self.vault.as_mut().expect("it is there");
            match op {
                Op::Read if !vault.ready(id, fragments) => return,
                Op::Read => {}
                Op::Write => {
                    let mut woken = Vec::new();
                    vault.store(fragments, &mut woken);
                    for leg in woken {
                        self.answer(leg);
                    }
                }
            }
        }
        self.answer(id);
    }

    /// A node answers.
    fn answer(&mut self, id: u32) {
        let leg = &mut self.legs[id];
        let LegKind::Fragment { op, carried, .. } = leg.kind else {
            unreachable!("records are not answered")
        };
        let carried = Bytes(u64::from(carried));
        leg.outbound = false;
        leg.load(if op == Op::Read { carried } else { Bytes::ZERO });
        let (host, breadcrumb, workload) = (leg.node, leg.breadcrumb, leg.workload);
        let data = leg.message();
        let cpu = &self.hosts[host.index()].profile;
        let mut work = cpu.send.of(data);
        if op == Op::Read {
            work += cpu.copy.of(carried);
        }
        let thread = leg_thread(id, SERVER);
        let task = HostTask { thread, breadcrumb, work, then: Then::Sent { leg: id } };
        self.compute(host, workload, task);
    }

    /// A client has taken a node's answer in.
    pub(crate) fn replied(&mut self, id: u32) {
        if self.vault.is_some() {
            let (op, fragments) = self.fragments(id);
            if let (Op::Read, Some(vault)) = (op, &mut self.vault) {
                vault.take(fragments);
            }
        }
        let LegKind::Fragment { part: part_id, .. } = self.legs.remove(id).kind else {
            unreachable!("records are not answered")
        };
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
        if request.op == Op::Write && request.stage == Stage::Transfer {
            self.complete(request_id);
            return;
        }
        let volume = &self.volumes[request.volume as usize];
        let cpu = &self.hosts[request.client.index()].profile;
        let (offset, size) = (request.offset, request.size);
        let fetched = match request.stage {
            Stage::Transfer => volume.distribution.covering(offset, size).1,
            Stage::Fetch => {
                let blocks = volume.distribution.partial_blocks(offset, size).count();
                volume.distribution.block() * blocks as u64
            }
        };
        let work = volume.open_time(cpu, fetched, request.passes);
        if work.is_zero() {
            self.decoded(request_id);
        } else {
            self.compute_request(request_id, work, Then::Decoded { request: request_id });
        }
    }

    /// What was read is in the clear.
    pub(crate) fn decoded(&mut self, id: u32) {
        let request = &mut self.requests[id];
        if let Some(vault) = &mut self.vault
            && let Err(error) = vault.open(id, request.volume)
        {
            self.failure.get_or_insert(error);
        }
        if request.op == Op::Read {
            self.complete(id);
            return;
        }
        // the fetched blocks are changed, and go out whole
        assert_eq!(request.stage, Stage::Fetch);
        request.stage = Stage::Transfer;
        let volume = &self.volumes[request.volume as usize];
        let (_, whole) = volume.distribution.covering(request.offset, request.size);
        let work = volume.seal_time(&self.hosts[request.client.index()].profile, whole);
        self.compute_request(id, work, Then::Prepared { request: id });
    }

    fn complete(&mut self, id: u32) {
        let now = self.agenda.now();
        self.post_request(id, RecordPhase::Complete);
        let request = self.requests.remove(id);
        request.live = false;
        let (instance, workload) = (request.instance, request.workload as usize);
        let (op, size, issued, client) = (request.op, request.size, request.issued, request.client);
        let transaction = request.transaction;
        if let (Op::Write, Some(vault)) = (op, &mut self.vault) {
            let (offset, end) = (request.offset.get(), (request.offset + size).get());
            vault.complete(request.volume, request.breadcrumb.0, offset, end);
        }
        self.last_completion = now;
        self.tallies[workload].completed(now, issued, op, size);
        if let Some(collectors) = &mut self.collectors {
            let seen = (size, now - issued);
            collectors.completed(workload as u32, client, op, seen);
        }
        if transaction == NO_TRANSACTION {
            self.count_for_job(instance, op as usize, issued, size);
            self.follow_up(instance);
        } else {
            self.step_done(transaction);
        }
    }

    fn post_request(&mut self, id: u32, phase: RecordPhase) {
        let request = &self.requests[id];
        let thread = request_thread(id, request.workload);
        let body = Body::Request {
            workload: request.workload,
            client: request.client.0,
            op: request.op,
            file: request.volume,
            offset: request.offset.get(),
            size: request.size.get(),
            phase,
        };
        let (now, client) = (self.agenda.now(), request.client);
        self.tracker.post(now, client, thread, request.breadcrumb, body);
    }

    /// A full batch of activity records leaves its host.
    pub(crate) fn ship_records(&mut self, host: HostId) {
        let cost = self.tracker.cost().expect("only what costs is shipped");
        let (store, data) = (cost.store, cost.batch);
        let mut leg = Leg {
            kind: LegKind::Records,
            client: host,
            node: store,
            outbound: true,
            message: 0,
            awaiting: 0,
            breadcrumb: Breadcrumb::NONE,
            workload: NOBODY,
        };
        leg.load(data);
        let id = self.legs.insert(leg);
        if host == store {
            self.store_records(id);
            return;
        }
        let work = self.hosts[host.index()].profile.send.of(data);
        let (thread, breadcrumb) = (leg_thread(id, TRACKER), Breadcrumb::NONE);
        let task = HostTask { thread, breadcrumb, work, then: Then::Sent { leg: id } };
        self.compute(host, NOBODY, task);
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
        let waits = node.access(&mut around, &access);
        self.legs[id].awaiting = waits;
        self.note_wait(host, waits);
        if waits == 0 {
            self.legs.remove(id);
        }
    }
}
