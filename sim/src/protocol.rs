//! What a client does with a request, and a node with its part: the PASIS protocol in outline.
//!
//! A write is encrypted, encoded and sent to all n nodes; it completes when the quorum has
//! acknowledged. A read asks m nodes, decodes and decrypts. A write of part of an encoded block
//! first fetches the block. Source: paper 004, II-A, II-B, III-A. Not modelled: PASIS's version
//! negotiation, repair, and failures; placement is known to the client without asking.

use foretell_algorithms::node::FileAccess;
use foretell_ati::{Body, Phase as RecordPhase};
use foretell_scenarios::model::{CpuProfile, ReadFrom};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};

use crate::cluster::{Cluster, Volume};
use crate::event::{Event, HostTask, Then};
use crate::exchange::{Leg, LegKind, NO_PART, leg_thread, request_thread};
use crate::guest::{NO_OPERATION, Operation};
use crate::load::Instance;
use crate::payload::Fragments;
use crate::process::SERVER;
use crate::transaction::{JOURNAL, NO_TRANSACTION};

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
    /// The guest's block operation that it is a part of, or [`NO_OPERATION`].
    pub(crate) operation: u32,
    /// The blocks touched.
    pub(crate) first_block: u64,
    pub(crate) blocks: u64,
}

impl Volume {
    /// Time to encrypt and encode `size` bytes.
    pub(crate) fn seal_time(&self, cpu: &CpuProfile, size: Bytes) -> SimSpan {
        cpu.seal(self.cipher, self.distribution.encoding(), size)
    }
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
        self.last_breadcrumb += 1;
        let breadcrumb = Breadcrumb(self.last_breadcrumb);
        let owner = &mut self.instances[instance as usize];
        owner.issued += 1;
        let workload = owner.workload;
        let stretch = (op, offset, size);
        let (request, work) = self.insert_request(instance, stretch, breadcrumb, transaction);
        self.tallies[workload.index()].issued(self.agenda.now());
        self.post_request(request, RecordPhase::Issue);
        self.compute_request(request, work, Then::Prepared { request });
    }

    /// A request of an instance, and its client's work before anything of it goes out.
    fn insert_request(
        &mut self,
        instance: u32,
        (op, offset, size): (Op, Bytes, Bytes),
        breadcrumb: Breadcrumb,
        transaction: u32,
    ) -> (u32, SimSpan) {
        let Instance { workload, client, volume, .. } = self.instances[instance as usize];
        let placed = &self.volumes[volume.index()];
        // a pool's servers see to it themselves
        let seals = op == Op::Write && placed.pool.is_none();
        let fetch = seals && placed.distribution.partial_blocks(offset, size).next().is_some();
        let cpu = &self.hosts[client.index()].profile;
        let mut work = cpu.request.of(size);
        if seals && !fetch {
            let (_, whole) = placed.distribution.covering(offset, size);
            work += placed.seal_time(cpu, whole);
        }
        let request = self.requests.insert(Request {
            live: true,
            instance,
            workload: workload.0,
            client,
            volume: volume.0,
            op,
            offset,
            size,
            issued: self.agenda.now(),
            breadcrumb,
            transaction,
            stage: if fetch { Stage::Fetch } else { Stage::Transfer },
            parts_left: 0,
            passes: 0,
        });
        (request, work)
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
        // what journals hold nobody reads back
        let checked = request.transaction != JOURNAL;
        let guest = self.hosts[request.client.index()].guest.is_some().then_some(request.client);
        let volume = &self.volumes[request.volume as usize];
        if volume.pool.is_some() {
            self.send_to_objects(id);
            return;
        }
        let distribution = &volume.distribution;
        match request.stage {
            Stage::Transfer => {
                let op = request.op;
                if let (Op::Write, true, Some(vault)) = (op, checked, &mut self.vault) {
                    let end = (offset + size).get();
                    vault.write(request.volume, request.breadcrumb.0, offset.get(), end);
                }
                let (offset, size) = distribution.covering(offset, size);
                match guest {
                    Some(_) => self.submit_to_guest(id, op, offset, size),
                    None => self.send_range(id, op, offset, size, NO_OPERATION),
                }
            }
            Stage::Fetch => {
                let block = distribution.block();
                for number in distribution.partial_blocks(offset, size) {
                    match guest {
                        Some(_) => self.submit_to_guest(id, Op::Read, block * number, block),
                        None => self.send_range(id, Op::Read, block * number, block, NO_OPERATION),
                    }
                }
            }
        }
        if let Some(guest) = guest {
            self.send_from_guest(guest);
        }
    }

    /// A stretch that a request of a guest reads or writes enters its block layer.
    fn submit_to_guest(&mut self, id: u32, op: Op, offset: Bytes, size: Bytes) {
        let now = self.agenda.now();
        let &Request { client, volume, transaction, instance, .. } = &self.requests[id];
        // threads of benchmarks have transactions; other workloads are processes
        let thread = match transaction {
            NO_TRANSACTION => u64::from(instance) | 1 << 32,
            thread => u64::from(thread),
        };
        let base = self.volumes[volume as usize].base;
        let guest = self.hosts[client.index()].guest.as_mut().expect("it is a guest");
        let operations = guest.submit(now, (id, op, thread), base, (offset, size));
        let commit = match op {
            Op::Write if transaction != JOURNAL => guest.journal.note_write(offset),
            _ => None,
        };
        if let Some(after) = commit {
            self.agenda.schedule(now + after, Event::Commit { host: client.0 });
        }
        // held until its operations are done, which may not have begun
        self.requests[id].parts_left += operations;
    }

    /// A guest sends what its block layer lets out.
    pub(crate) fn send_from_guest(&mut self, host: HostId) {
        let now = self.agenda.now();
        let mut sending = std::mem::take(&mut self.sending);
        sending.clear();
        let guest = self.hosts[host.index()].guest.as_mut().expect("it is a guest");
        if let Some(again) = guest.take(now, &mut sending) {
            self.agenda.schedule(again, Event::AskGuest { host: host.0 });
        }
        for &id in &sending {
            let guest = self.hosts[host.index()].guest.as_ref().expect("it is a guest");
            let Operation { request, op, offset, size, .. } = *guest.operation(id);
            self.send_range(request, op, offset, size, id);
        }
        self.sending = sending;
    }

    /// A guest writes what has changed in its file system to its journal.
    pub(crate) fn commit_journal(&mut self, client: HostId) {
        let guest = self.hosts[client.index()].guest.as_mut().expect("it is a guest");
        let (offset, size) = guest.journal.commit();
        let of_it = |instance: &Instance| instance.client == client;
        let owner = self.instances.iter().position(of_it).expect("somebody has written");
        self.commits += 1;
        let stretch = (Op::Write, offset, size);
        let (request, work) = self.insert_request(owner as u32, stretch, Breadcrumb::NONE, JOURNAL);
        self.compute_request(request, work, Then::Prepared { request });
    }

    fn send_range(&mut self, id: u32, op: Op, offset: Bytes, size: Bytes, operation: u32) {
        let volume = self.requests[id].volume;
        let pieces = self.volumes[volume as usize].distribution.pieces(offset, size);
        for piece in pieces {
            self.send_part(id, op, &piece, operation);
        }
    }

    /// Begins the part of a request that falls into one group.
    fn send_part(
        &mut self,
        id: u32,
        op: Op,
        piece: &foretell_algorithms::distribution::Piece,
        operation: u32,
    ) {
        let (volume_id, client, breadcrumb, workload, instance) = {
            let request = &mut self.requests[id];
            request.parts_left += 1;
            let Request { volume, client, breadcrumb, workload, instance, .. } = *request;
            (volume, client, breadcrumb, workload, instance)
        };
        let mut hypervisor = SimSpan::ZERO;
        if let Some(guest) = &mut self.hosts[client.index()].guest {
            guest.part_sent(operation);
            let spec = self.scenario.host(client).guest.as_ref();
            hypervisor = spec.map_or(SimSpan::ZERO, |guest| guest.hypervisor);
        }
        let client = self.hosts[client.index()].machine;
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
        let part = self.parts.insert(Part {
            request: id,
            needed,
            outstanding,
            operation,
            first_block,
            blocks,
        });
        let data = if op == Op::Write { piece.carried } else { Bytes::ZERO };
        scratch.legs.clear();
        for &fragment in &scratch.chosen {
            let place = scratch.places[usize::from(fragment)];
            let kind = LegKind::Fragment {
                part,
                fragment,
                op,
                file: volume_id,
                offset: place.base + piece.start,
                stored: piece.stored.get() as u32,
                carried: piece.carried.get() as u32,
            };
            let hosts = (client, volume.nodes[place.node as usize]);
            let leg = Leg::new(kind, hosts, data, breadcrumb, workload);
            scratch.legs.push(self.legs.insert(leg));
        }
        for &leg in &scratch.legs {
            let work = self.hosts[client.index()].profile.send.of(self.legs[leg].message());
            self.send_after(leg, work + hypervisor);
        }
        self.scratch = scratch;
    }

    /// A node looks into its cache and disks.
    pub(crate) fn serve(&mut self, id: u32) {
        let leg = &self.legs[id];
        let LegKind::Fragment { op, file, offset, stored, .. } = leg.kind else {
            self.serve_object(id);
            return;
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
            reader: leg.reader(),
        };
        let host = leg.node;
        let (node, mut around) = self.node(host);
        let waits = node.access(&mut around, &access);
        self.note_wait(id, waits);
        if waits == 0 {
            self.reply(id);
        }
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
                        self.waking(|cluster| cluster.answer(leg));
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
        leg.turn_back(if op == Op::Read { carried } else { Bytes::ZERO });
        let data = leg.message();
        let cpu = &self.hosts[leg.node.index()].profile;
        let mut work = cpu.send.of(data);
        if op == Op::Read {
            work += cpu.copy.of(carried);
        }
        self.send_after(id, work);
    }

    /// A client has taken a node's answer in.
    pub(crate) fn replied(&mut self, id: u32) {
        if let LegKind::Object { task, part: NO_PART } = self.legs[id].kind {
            self.legs.remove(id);
            self.copy_answered(task);
            return;
        }
        if self.vault.is_some() {
            let (op, fragments) = self.fragments(id);
            if let (Op::Read, Some(vault)) = (op, &mut self.vault) {
                vault.take(fragments);
            }
        }
        let (LegKind::Fragment { part, .. } | LegKind::Object { part, .. }) =
            self.legs.remove(id).kind
        else {
            unreachable!("records are not answered")
        };
        self.part_answered(part);
    }

    /// One of the answers that a part of a request waits for is there.
    fn part_answered(&mut self, part_id: u32) {
        let part = &mut self.parts[part_id];
        let (request_id, operation) = (part.request, part.operation);
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
        if operation != NO_OPERATION {
            let (now, host) = (self.agenda.now(), request.client);
            let guest = self.hosts[host.index()].guest.as_mut().expect("it has sent it");
            if guest.part_done(now, operation) {
                request.parts_left -= 1;
                self.send_from_guest(host);
            }
        }
        let request = &mut self.requests[request_id];
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
        let work = cpu.open(volume.cipher, request.passes, fetched);
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
        if self.requests[id].transaction != JOURNAL {
            self.post_request(id, RecordPhase::Complete);
        }
        let request = self.requests.remove(id);
        request.live = false;
        let (instance, workload) = (request.instance, request.workload as usize);
        let (op, size, issued, client) = (request.op, request.size, request.issued, request.client);
        let transaction = request.transaction;
        if transaction == JOURNAL {
            self.commits -= 1;
            return;
        }
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
}
