//! Replicators: each object server sends others what they lack.
//!
//! A replicator passes over the partitions that its server holds, in random order, `concurrency` at a time.
//! It rests for `interval` between two passes. For each of the other primaries of a partition it first
//! compares (in Swift: hashes of directories of the partition), then reads what the other lacks and sends it,
//! one stretch of an object after the other. A handoff does the same with all primaries, and drops what all
//! of them have. A replicator that cannot connect, or gets no answer, waits for `node_timeout` and goes on to
//! the next server. A server that needs a whole partition gets its objects in order.
//!
//! Sources: `swift/obj/replicator.py`; Swift's documentation, *Replication* and *Object Server
//! Configuration*. Simplified: to compare partitions that are the same on all primaries costs nothing, and a
//! pass contains only those that differ when it begins or have a primary that is down. A block is not sent
//! while a client writes it, unless its whole object is sent. Nothing is sent to a server that is receiving
//! the same partition from another server. Pieces of data are sent one after the other, whereas rsync streams
//! them. A real replicator waits for a handoff's primary that is down for `rsync_io_timeout`, not
//! `node_timeout`. Left out: removal of old files, tombstones, `handoffs_first`.

use std::collections::VecDeque;
use std::ops::Range;

use foretell_algorithms::mix;
use foretell_algorithms::node::NO_CLIENT;
use foretell_scenarios::model::CpuProfile;
use foretell_units::{Beat, Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};

use super::call::{Call, NewCall, Role};
use super::cluster::Cluster;
use super::ledger::{ALL, Cause, Osd};
use super::outages::Wait;
use crate::failures::{Kind, Recovery};
use crate::hosts::{Copied, Fragments, Hosts, Timer};
use crate::objects::{Piece, StoreAccess};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::Core;
use crate::store::Access;

/// Size of the answer to a comparison. Assumed: hashes of some hundred directories of a partition.
const HASHES: Bytes = Bytes::kib(4);

/// The replicator of a host.
pub(super) struct Replicator {
    beat: Beat,
    next: Next,
    /// Number of passes so far.
    passes: u64,
    /// Partitions that are left in this pass, with the server of the host that holds them.
    queue: VecDeque<(usize, Osd)>,
    /// Number of partitions that it works on.
    active: u32,
    /// Whether it is sending, and not just comparing or waiting.
    sends: bool,
}

/// The next thing that a replicator does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The first pass begins.
    First,
    /// A pass begins at that time.
    PassAt(SimTime),
    /// A pass is under way.
    Passing,
    /// The host is down.
    Nothing,
}

impl Replicator {
    pub(super) fn new(beat: Beat) -> Self {
        let (passes, queue, active, sends) = (0, VecDeque::new(), 0, false);
        Self { beat, next: Next::First, passes, queue, active, sends }
    }
}

/// A partition that a replicator works on.
pub(super) struct Job {
    host: HostId,
    partition: usize,
    from: Osd,
    /// The server at hand, and those that follow.
    to: Osd,
    later: VecDeque<Osd>,
    /// Whether nobody else may send the partition to that server.
    has_lock: bool,
    /// Blocks to send after those at hand.
    rest: VecDeque<u64>,
    at_hand: Range<u64>,
    versions: Vec<u64>,
    /// If the blocks at hand are a whole object that the server did not have: the number of the block up to which it
    /// then has the partition.
    moves: Option<u64>,
    recovery: usize,
    /// The call that it waits for.
    call: Option<u32>,
}

impl Cluster {
    /// Sets the timers of all first passes.
    pub(super) fn begin_passes<H: Hosts>(&self, hosts: &mut H) {
        let replicators = self.outages.iter().flat_map(|out| &out.replicators);
        for (host, replicator) in replicators {
            let at = hosts.now() + replicator.beat.phase();
            hosts.set_timer(at, Timer::Repair { host: host.0 });
        }
    }

    fn replicator(&mut self, host: HostId) -> &mut Replicator {
        self.out().replicators.get_mut(&host).expect("object servers have one")
    }

    fn job(&mut self, id: u32) -> &mut Job {
        self.out().jobs.all.get_mut(&id).expect("it goes on")
    }

    /// A pass begins, if it is due.
    pub(super) fn begin_pass<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        let one = self.replicator(host);
        if one.next != Next::First && one.next != Next::PassAt(hosts.now()) {
            return;
        }
        one.next = Next::Passing;
        one.passes += 1;
        let chance = mix(u64::from(host.0) << 32 | one.passes);
        let out = self.out();
        let own = out.servers_of(host);
        let holds = |partition: &usize| {
            let holders = out.ledger.holders(*partition).into_iter();
            let has = |osd: &Osd| own.contains(osd) && !out.unmounted.contains_key(osd);
            let here = holders.filter(has);
            here.map(|osd| (*partition, osd)).collect::<Vec<_>>()
        };
        let mut queue: Vec<_> = out.ledger.differing().iter().flat_map(holds).collect();
        queue.sort_by_key(|(partition, osd)| (mix(chance ^ *partition as u64), *osd));
        self.replicator(host).queue = queue.into();
        self.go_on(core, hosts, host);
    }

    /// A replicator takes up as many partitions as it may, or ends its pass.
    fn go_on<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        let settings = core.failed().settings.swift;
        while self.replicator(host).active < settings.replicator_concurrency {
            let Some((partition, from)) = self.replicator(host).queue.pop_front() else { break };
            let out = self.out();
            let ledger = &out.ledger;
            if !ledger.differing().contains(&partition)
                || !ledger.holders(partition).contains(&from)
                || out.unmounted.contains_key(&from)
            {
                continue;
            }
            let found = &ledger.partitions[partition];
            let others = found.wanted.iter().filter(|osd| !found.primaries.contains(osd));
            let all = found.primaries.iter().chain(others).copied();
            let job = Job {
                host,
                partition,
                from,
                to: from,
                later: all.filter(|osd| *osd != from).collect(),
                has_lock: false,
                rest: VecDeque::new(),
                at_hand: 0..0,
                versions: Vec::new(),
                moves: None,
                recovery: 0,
                call: None,
            };
            let job = self.out().jobs.insert(job);
            self.replicator(host).active += 1;
            if !self.takes_next_server(core, hosts, job) {
                self.end_job(hosts, job);
            }
        }
        let one = self.replicator(host);
        if one.active == 0 && one.next == Next::Passing {
            let at = hosts.now() + settings.replicator_interval;
            one.next = Next::PassAt(at);
            hosts.set_timer(at, Timer::Repair { host: host.0 });
            self.set_sending(core, host, false);
        }
    }

    /// A replicator begins or ceases to send.
    fn set_sending(&mut self, core: &mut Core, host: HostId, sends: bool) {
        let one = self.replicator(host);
        if std::mem::replace(&mut one.sends, sends) != sends {
            let under_way = &mut core.failed().objects.under_way;
            *under_way = if sends { *under_way + 1 } else { *under_way - 1 };
        }
    }

    /// A job turns to the next of its servers. Returns whether there is one.
    fn takes_next_server<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) -> bool {
        self.unlock(id);
        loop {
            let job = self.job(id);
            let Some(to) = job.later.pop_front() else { return false };
            (job.to, job.call) = (to, None);
            let (host, partition) = (job.host, job.partition);
            let other = self.out().host(to);
            if core.failed().is_down(other) {
                let at = hosts.now() + core.failed().settings.swift.node_timeout;
                if self.replicator(host).active == 1 {
                    self.set_sending(core, host, false);
                }
                self.wait(hosts, at, Wait::Job { job: id });
                return true;
            }
            if self.out().sending.contains(&(partition, to)) {
                continue;
            }
            self.ask(core, hosts, id, Role::Compare, to, Bytes::ZERO);
            return true;
        }
    }

    /// A replicator sends a message to a server.
    fn ask<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        role: Role,
        osd: Osd,
        data: Bytes,
    ) {
        let (from, to) = (self.job(id).host, self.out().host(osd));
        let (breadcrumb, workload) = (Breadcrumb::NONE, NO_CLIENT);
        let begun = NewCall { role, of: id, osd, from, to, data, breadcrumb, workload };
        let call = self.call(core, hosts, begun);
        self.job(id).call = Some(call);
        let exchange = self.out().calls.all[&call].exchange;
        if role == Role::Read {
            let span =
                self.plain.rules_now().time(Op::Read, false, 1, self.bytes_at_hand(core, id));
            Self::compute(core, hosts, exchange, span);
        } else {
            core.send(hosts, exchange);
        }
    }

    /// A job goes on with the next server, or ends.
    pub(super) fn next_server<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        if !self.takes_next_server(core, hosts, id) {
            let host = self.job(id).host;
            self.end_job(hosts, id);
            self.note_health(core, hosts.now());
            self.go_on(core, hosts, host);
        }
    }

    /// A job has seen all its servers. A handoff drops what all primaries have.
    fn end_job<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        self.unlock(id);
        let out = self.out();
        let Job { host, partition, from, .. } = out.jobs.all.remove(&id).expect("it goes on");
        let (blocks, whole) = out.ledger.drop_stray(partition, from);
        let mut dropped: Vec<(u64, u64)> = blocks.into_iter().map(|block| (block, 1)).collect();
        if hosts.has_payload() {
            if whole {
                let each = self.out().object_blocks(partition);
                let objects = self.objects_of(partition).iter();
                dropped = objects.map(|first| (*first, each)).collect();
            }
            for (first, blocks) in dropped {
                let out = self.out();
                hosts.payload_dropped(out.copies(partition, from, 0, 0, first, blocks));
            }
        }
        self.replicator(host).active -= 1;
    }

    fn unlock(&mut self, id: u32) {
        let job = self.job(id);
        let place = (job.partition, job.to);
        if std::mem::take(&mut job.has_lock) {
            self.out().sending.remove(&place);
        }
    }

    /// The work of a server that receives a replicator's message; and the part of it that is copying data.
    pub(super) fn copy_handling(&self, cpu: &CpuProfile, call: &Call) -> (SimSpan, SimSpan) {
        let out = self.outages.as_ref().expect("there are events");
        let rules = self.plain.rules_now();
        if call.role != Role::Push {
            return (
                cpu.request.of(Bytes::ZERO) + rules.time(Op::Read, false, 1, Bytes::ZERO),
                SimSpan::ZERO,
            );
        }
        let job = &out.jobs.all[&call.of];
        let blocks = job.at_hand.end - job.at_hand.start;
        let carried = Bytes(blocks * out.block_bytes(job.partition));
        let copying = cpu.copy.of(carried);
        (cpu.request.of(carried) + copying + rules.time(Op::Write, false, 1, carried), copying)
    }

    /// A server says what it has of a partition.
    pub(super) fn compared<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let exchange = self.out().calls.all[&number].exchange;
        core.answer(hosts, exchange, HASHES);
    }

    /// A replicator knows what another server lacks.
    pub(super) fn differences_known<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let Job { partition, from, to, host, .. } = *self.job(id);
        let out = self.out();
        let blocks = out.ledger.all_to_send(partition, from, to);
        let cause = out.ledger.move_to(partition, to);
        let has_more = out.ledger.until(partition, from) > out.ledger.until(partition, to);
        let nothing = blocks.is_empty() && !(cause.is_some() && has_more);
        if nothing || !out.sending.insert((partition, to)) {
            return self.next_server(core, hosts, id);
        }
        let key = cause.unwrap_or((out.cause(to), Kind::CatchUp));
        let recovery = self.recovery(core, hosts.now(), key);
        let job = self.job(id);
        (job.has_lock, job.rest, job.recovery) = (true, blocks.into(), recovery);
        self.set_sending(core, host, true);
        self.send_next(core, hosts, id);
    }

    /// The recovery with this cause. As long as nothing else has happened to its unit, it is the same one: a server that
    /// has returned misses writes again and again while proxies avoid it.
    fn recovery(&mut self, core: &mut Core, now: SimTime, cause: Cause) -> usize {
        let (unit, kind) = cause;
        let since = self.out().happened.get(&unit).copied().unwrap_or(SimTime::ZERO);
        let all = &mut core.failed().recoveries.all;
        let is_it = |one: &Recovery| one.host == unit && one.kind == kind && one.began >= since;
        match all.iter().rposition(is_it) {
            Some(found) => {
                all[found].ended = None;
                found
            }
            None => core.failed().recoveries.of(cause, now),
        }
    }

    /// A replicator reads the next stretch that the other server lacks.
    fn send_next<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let Job { partition, from, to, .. } = *self.job(id);
        let out = self.out();
        let per_object = out.object_blocks(partition);
        let job = out.jobs.all.get_mut(&id).expect("it goes on");
        let lacks = |block: u64| out.ledger.to_send(partition, block, from, to).is_some();
        job.moves = None;
        let Some(first) = std::iter::from_fn(|| job.rest.pop_front()).find(|block| lacks(*block))
        else {
            return self.move_next(core, hosts, id);
        };
        let mut end = first + 1;
        while job.rest.front() == Some(&end) && !end.is_multiple_of(per_object) && lacks(end) {
            job.rest.pop_front();
            end += 1;
        }
        job.at_hand = first..end;
        job.versions.clear();
        self.ask(core, hosts, id, Role::Read, from, Bytes::ZERO);
    }

    /// A replicator reads the next object of a partition that the other server is to have as a whole.
    fn move_next<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let Job { partition, from, to, .. } = *self.job(id);
        let ledger = &self.out().ledger;
        let is_wanted = ledger.move_to(partition, to).is_some();
        let (has, had) = (ledger.until(partition, from), ledger.until(partition, to));
        let volume = self.out().volume_of(partition);
        let out = self.out();
        let (each, blocks) = (out.object_blocks(partition), out.blocks_of(volume));
        let objects = self.objects_of(partition);
        let next = objects.partition_point(|first| *first < had);
        let Some(&first) = objects.get(next).filter(|first| is_wanted && **first < has) else {
            return self.next_server(core, hosts, id);
        };
        let end = first + each;
        let until = if next + 1 == objects.len() { ALL } else { end };
        let job = self.job(id);
        (job.at_hand, job.moves) = (first..end.min(blocks), Some(until));
        job.versions.clear();
        self.ask(core, hosts, id, Role::Read, from, Bytes::ZERO);
    }

    fn bytes_at_hand(&self, core: &Core, id: u32) -> Bytes {
        self.piece_at_hand(core, id).size
    }

    /// The stretch that a job is sending.
    fn piece_at_hand(&self, core: &Core, id: u32) -> Piece {
        let out = self.outages.as_ref().expect("there are events");
        let Job { partition, at_hand, .. } = &out.jobs.all[&id];
        let volume = out.volume_of(*partition);
        let volume_of = &core.volumes[volume];
        let (block, size) = (volume_of.distribution.block().get(), volume_of.size.get());
        let (start, end) = (at_hand.start * block, (at_hand.end * block).min(size));
        let object =
            start / self.plain.pools()[volume].object() * self.plain.pools()[volume].object();
        Piece {
            object: Bytes(object),
            start: Bytes(start - object),
            size: Bytes(end - start),
            is_whole: false,
        }
    }

    /// A server reads or writes the stretch at hand. Returns whether the device has done so at once.
    fn use_device<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        number: u32,
        op: Op,
    ) -> bool {
        let Call { of, osd, exchange, .. } = self.out().calls.all[&number];
        let piece = self.piece_at_hand(core, of);
        let partition = self.job(of).partition;
        let volume = self.out().volume_of(partition);
        let shard = self.plain.pools()[volume].shard(&piece);
        let disk = self.out().servers[osd as usize].disk;
        let asked = &core.exchanges[exchange];
        let access = Access::Object(StoreAccess {
            exchange,
            op,
            disk,
            file: volume as u32,
            shard,
            lookups: 0,
            breadcrumb: Breadcrumb::NONE,
            thread: exchange_thread(exchange, SERVER),
            workload: NO_CLIENT,
            reader: asked.reader(),
            cached: true,
            in_tables: false,
        });
        let waits = hosts.store(asked.node, &access);
        core.wait(exchange, waits);
        waits == 0
    }

    /// The processor of a replicator's host is ready to read.
    pub(super) fn read_copy<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        if self.use_device(core, hosts, number, Op::Read) {
            self.copy_read(core, hosts, number);
        }
    }

    /// A replicator has read the stretch at hand, and sends it.
    pub(super) fn copy_read<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let call = self.out().calls.all.remove(&number).expect("it goes on");
        core.exchanges.remove(call.exchange);
        let id = call.of;
        let bytes = self.bytes_at_hand(core, id);
        let Job { partition, from, to, recovery, .. } = *self.job(id);
        core.failed().recoveries.all[recovery].read += bytes;
        let blocks = if self.job(id).moves.is_none() { self.job(id).at_hand.clone() } else { 0..0 };
        let out = self.out();
        // the other may have got some of it meanwhile; it is sent all the same
        let versions =
            blocks.map(|block| out.ledger.to_send(partition, block, from, to).unwrap_or(0));
        let versions = versions.collect();
        self.job(id).versions = versions;
        if self.out().host(to) != self.job(id).host {
            core.failed().recoveries.all[recovery].sent += bytes;
        }
        let is_down = core.failed().is_down(self.out().host(to));
        self.ask(core, hosts, id, Role::Push, to, bytes);
        if is_down {
            let call = self.job(id).call.expect("it was sent");
            self.wait_in_vain(core, hosts, call);
        }
    }

    /// A server has received a stretch.
    pub(super) fn copy_arrived<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        if self.use_device(core, hosts, number, Op::Write) {
            self.copy_written(core, hosts, number);
        }
    }

    /// A server has written a stretch that it lacked.
    pub(super) fn copy_written<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let Call { of, exchange, .. } = self.out().calls.all[&number];
        let bytes = self.bytes_at_hand(core, of);
        let Job { partition, to, recovery, .. } = *self.job(of);
        core.failed().recoveries.writes(recovery, hosts.now(), bytes);
        if let Some(until) = self.job(of).moves {
            self.object_moved(hosts, of, until);
        }
        let (first, versions) = (self.job(of).at_hand.start, self.job(of).versions.clone());
        let out = self.out();
        for (block, version) in (first..).zip(versions) {
            if version == 0 {
                continue;
            }
            out.ledger.stored(partition, block..block + 1, to, version);
            if hosts.has_payload() {
                let number = out.written.get(&version).copied().unwrap_or(0);
                let copies = out.copies(partition, to, 0, number, block, 1);
                hosts.payload_stored(copies, &mut Vec::new());
            }
        }
        self.note_health(core, hosts.now());
        core.answer(hosts, exchange, Bytes::ZERO);
    }

    /// A server has got an object of a partition. Simplified: in the versions that the other server has by now.
    fn object_moved<H: Hosts>(&mut self, hosts: &mut H, id: u32, until: u64) {
        let Job { partition, from, to, .. } = *self.job(id);
        let blocks = self.job(id).at_hand.clone();
        let out = self.out();
        if hosts.has_payload() {
            let place = |osd: Osd| {
                let Fragments { fragment, node, .. } = out.copies(partition, osd, 0, 0, 0, 0);
                [(fragment, node)]
            };
            hosts.payload_copied(&Copied {
                volume: out.volume_of(partition) as u32,
                first_block: blocks.start,
                blocks: blocks.end - blocks.start,
                sources: &place(from),
                targets: &place(to),
            });
        }
        out.ledger.moved(partition, from, to, blocks, until);
    }

    /// A replicator knows that the other server has the stretch at hand.
    pub(super) fn copy_acknowledged<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let recovery = self.job(id).recovery;
        core.failed().recoveries.all[recovery].objects += 1;
        self.send_next(core, hosts, id);
    }

    /// Some jobs end at once. Returns their number.
    fn drop_jobs<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        which: impl Fn(&Job) -> bool,
    ) -> u32 {
        let jobs = self.out().jobs.all.iter().filter(|(_, job)| which(job));
        let jobs: Vec<u32> = jobs.map(|(id, _)| *id).collect();
        for id in &jobs {
            self.unlock(*id);
            let job = self.out().jobs.all.remove(id).expect("it was listed");
            if let Some(call) = job.call.filter(|call| self.out().calls.all.contains_key(call)) {
                self.cancel(core, hosts, call);
            }
        }
        jobs.len() as u32
    }

    /// The disk of a server fails: its replicator does not send from it.
    pub(super) fn drop_jobs_of_server<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        osd: Osd,
    ) {
        let host = self.out().host(osd);
        let ended = self.drop_jobs(core, hosts, |job| job.from == osd);
        self.replicator(host).active -= ended;
        if ended > 0 {
            self.go_on(core, hosts, host);
        }
    }

    /// The host of a replicator fails.
    pub(super) fn stop_replicator<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        host: HostId,
    ) {
        if !self.out().replicators.contains_key(&host) {
            return;
        }
        self.drop_jobs(core, hosts, |job| job.host == host);
        self.set_sending(core, host, false);
        let one = self.replicator(host);
        (one.next, one.active) = (Next::Nothing, 0);
        one.queue.clear();
    }

    /// The host of a replicator is back.
    pub(super) fn restart_replicator<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let Some(one) = self.out().replicators.get_mut(&host) else { return };
        let at = one.beat.after(hosts.now());
        one.next = Next::PassAt(at);
        hosts.set_timer(at, Timer::Repair { host: host.0 });
    }
}
