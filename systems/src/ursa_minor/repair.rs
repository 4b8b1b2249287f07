//! Rebuilding of fragments. The new holder of a fragment rebuilds it.
//!
//! The holder reads the blocks that it lacks from other nodes: any m fragments, or the rest of the local group. From
//! these it computes its own fragment and writes it, range by range. A group's fragment is one job, and a node has up
//! to `parallel` jobs at a time. The reads are sent like those of a client: nodes that do not answer are avoided. If
//! too few fragments can be read, the job waits until a node returns or another fragment of the group is rebuilt.
//! Clients' requests and jobs share processors, links and disks first come first served; there are no priorities.

use std::ops::Range;

use foretell_algorithms::message::MESSAGE_HEADER;
use foretell_algorithms::node::{FileAccess, NO_CLIENT};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};
use smallvec::SmallVec;

use super::{Fragment, degraded};
use crate::exchange::{Asks, Exchange, Purpose};
use crate::failures::{Blocks, Failures, HostState, Job, Slot, Stage, Standing};
use crate::guest::NO_OPERATION;
use crate::hosts::{Fragments, Hosts, Timer, small};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::Core;
use crate::request::{Issue, Stage as RequestStage};
use crate::store::Access;

impl Core {
    /// Lets a node check soon whether there is something to rebuild.
    pub(super) fn wake_repairs<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let failures = self.failed();
        let recoveries = &failures.recoveries;
        let waits = recoveries.waiting.get(&host).is_some_and(|slots| !slots.is_empty())
            || recoveries.to_convert.get(&host).is_some_and(|groups| !groups.is_empty());
        if waits && failures.is_up(host) && !failures.is_down(host) {
            // not at once, because exchanges that are completing now must be complete before the blocks are
            // read
            hosts.set_timer(hosts.now(), Timer::Repair { host: host.0 });
        }
    }

    /// Lets every node check soon.
    pub(super) fn wake_all_repairs<H: Hosts>(&mut self, hosts: &mut H) {
        for index in 0..self.machines.len() {
            self.wake_repairs(hosts, HostId::from(index));
        }
    }

    /// Gives a node's fragments to others, which must rebuild them.
    pub(super) fn give_away(&mut self, from: HostId) {
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let (given, all) = failures.give_away(from, volumes);
        let state = &mut failures.hosts[from.index()];
        failures.missed -= u32::from(all && !state.holds_nothing);
        state.holds_nothing |= all;
        for slot in given {
            failures.recoveries.forget(from, slot);
            let volume = &volumes[slot.volume as usize];
            let holders = failures.holes.holders(slot.volume, volume, slot.group);
            let holder = holders[usize::from(slot.fragment)].node;
            failures.recoveries.waiting.entry(holder).or_default().insert(slot);
        }
    }

    /// Fragments have become whole: it may now be possible to rebuild fragments of nodes that are out.
    pub(super) fn give_away_the_rest<H: Hosts>(&mut self, hosts: &mut H) {
        let keeps = |state: &HostState| state.standing == Standing::Out && !state.holds_nothing;
        let states = (0..).zip(&self.failed().hosts);
        let out: Vec<u32> =
            states.filter(|(_, state)| keeps(state)).map(|(host, _)| host).collect();
        if out.is_empty() {
            return;
        }
        for host in out {
            self.give_away(HostId(host));
        }
        self.wake_all_repairs(hosts);
    }

    /// A node begins as many jobs as it may.
    pub(super) fn begin_jobs<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let now = hosts.now();
        if let Some(pauses) = self.failed().recoveries.pauses.get_mut(&host) {
            pauses.retain(|until| *until > now);
        }
        for slot in self.begin_what_can_be(hosts, host) {
            self.let_writes_go(hosts, slot);
        }
    }

    /// Begins those jobs. Returns fragments that cannot move for now, so that writes no longer wait for them.
    fn begin_what_can_be<H: Hosts>(&mut self, hosts: &mut H, host: HostId) -> Vec<Slot> {
        let now = hosts.now();
        let mut stopped = Vec::new();
        loop {
            let failures = self.failures.as_mut().expect("there are events");
            let most = failures.settings.parallel as usize;
            if !failures.is_up(host)
                || failures.is_down(host)
                || failures.recoveries.active(host) >= most
            {
                return stopped;
            }
            let waiting = failures.recoveries.waiting.get_mut(&host);
            let Some(waiting) = waiting.filter(|slots| !slots.is_empty()) else { return stopped };
            // fragments that clients wait for come first
            let held = waiting.iter().find(|slot| failures.holes.holds_writes_of(**slot));
            let slot = held.or(waiting.first()).copied().expect("it is not empty");
            waiting.remove(&slot);
            // a fragment with a job in progress is tried again when that job ends
            let is_it =
                |job: &Job| job.slot == slot && job.host == host && job.stage != Stage::Cancelled;
            if failures.recoveries.jobs.values().any(is_it) {
                continue;
            }
            let volume = &self.volumes[slot.volume as usize];
            if failures.recoveries.conversions.contains_key(&(volume.of.0, slot.group)) {
                // it continues when the group's conversion has succeeded or failed
                failures.recoveries.stuck.insert((host, slot));
                continue;
            }
            let holders = failures.holes.holders(slot.volume, volume, slot.group);
            let holder = holders[usize::from(slot.fragment)].node;
            let blocks = failures.holes.blocks_of(slot.volume, volume, slot.group);
            let moves = failures.holes.moves_to(slot, host);
            let (key, missed, to) = if moves {
                let one = failures.holes.move_of(slot).expect("it moves");
                (one.key, one.missed.clone(), Some(one.to))
            } else {
                let hole = failures.holes.get(slot).filter(|_| holder == host);
                let Some(hole) = hole else { continue };
                (hole.key, hole.missed.clone(), None)
            };
            let has_sources = |stretch: &Range<u64>| {
                if moves {
                    failures.is_up(holder) && !failures.holes.meets(slot, stretch)
                } else {
                    failures.has_sources(slot, volume, &holders, stretch)
                }
            };
            let mut rest = Blocks::default();
            for stretch in missed.iter() {
                if has_sources(&stretch) {
                    rest.add(stretch);
                } else {
                    let each = stretch.map(|block| block..block + 1);
                    each.filter(has_sources).for_each(|block| rest.add(block));
                }
            }
            if rest != missed {
                failures.recoveries.stuck.insert((host, slot));
                if failures.holes.begin_passes_again(slot) {
                    stopped.push(slot);
                }
            }
            if rest.is_empty() {
                continue;
            }
            let (missed, in_work) = failures.holes.work(slot, moves).expect("it is there");
            rest.iter().for_each(|stretch| missed.remove(&stretch));
            in_work.add_all(&rest);
            let recovery = failures.recoveries.of(key, now);
            let at_hand = blocks.start..blocks.start;
            let stage = Stage::Computing;
            let job = Job { slot, host, rest, at_hand, stage, recovery, sources: 0, to };
            self.next_stretch(hosts, job);
        }
    }

    /// Continues a job with its next blocks, or ends it.
    fn next_stretch<H: Hosts>(&mut self, hosts: &mut H, mut job: Job) {
        // clients may have written some of the blocks meanwhile
        let slot = job.slot;
        let still = loop {
            let Some(stretch) = job.rest.pop() else { break None };
            let work = self.failed().holes.work(slot, job.to.is_some());
            if work.is_some_and(|(_, in_work)| in_work.meets(&stretch)) {
                break Some(stretch);
            }
        };
        let Some(stretch) = still else { return self.end_job(hosts, &job) };
        let distribution = &self.volumes[slot.volume as usize].distribution;
        let block = distribution.block();
        let (offset, size) = (block * stretch.start, block * (stretch.end - stretch.start));
        let piece = distribution.pieces(offset, size).next().expect("it is not empty");
        job.at_hand = stretch;
        let issue = Issue {
            instance: NO_CLIENT,
            workload: NO_CLIENT,
            client: job.host,
            volume: slot.volume,
            op: Op::Read,
            offset,
            size,
            breadcrumb: Breadcrumb::NONE,
            owner: 0,
            thread: 0,
            whole: false,
        };
        let request = self.insert_request(hosts, issue, RequestStage::Transfer, false);
        self.requests[request].is_repair = true;
        self.failed().recoveries.jobs.insert(request, job);
        let part =
            degraded::begin(self, hosts, request, Op::Read, slot.volume, &piece, NO_OPERATION);
        let job = self.failed().recoveries.jobs.get_mut(&request).expect("it was put there");
        job.stage = Stage::Reading { part };
    }

    /// A fragment has arrived for a request: if it belongs to a job, counts it in the recovery.
    pub(super) fn note_source(&mut self, request: u32, stored: Bytes, message: Bytes) {
        let recoveries = &mut self.failed().recoveries;
        if let Some(job) = recoveries.jobs.get(&request) {
            let recovery = &mut recoveries.all[job.recovery];
            recovery.read += stored;
            recovery.sent += message.saturating_sub(MESSAGE_HEADER);
        }
    }

    /// The fragments that a job requested have arrived. Returns the work to compute the missing one from them.
    pub(crate) fn rebuilding<H: Hosts>(&mut self, hosts: &H, request: u32) -> SimSpan {
        let Issue { client, volume, size, .. } = self.requests[request].issue;
        if self.is_conversion(request) {
            return self.converting(hosts, request);
        }
        let job = self.failed().recoveries.jobs.get_mut(&request).expect("it is a job's");
        job.stage = Stage::Computing;
        let (sources, copies) = (u64::from(job.sources), job.to.is_some());
        let encoding = self.volumes[volume as usize].distribution.encoding();
        // fragments are multiplied and summed into one: m of them are one pass over the blocks
        let passes = u64::from(!encoding.is_replication() && !copies);
        let read = size * sources / encoding.m() as u64;
        hosts.cpu(client).decode_time(foretell_algorithms::codec::Cipher::None, passes, read)
    }

    /// The missing fragment has been computed: it is written.
    pub(crate) fn rebuilt<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        if self.is_conversion(request) {
            return self.write_converted(hosts, request);
        }
        let failures = self.failures.as_mut().expect("there are events");
        let job = failures.recoveries.jobs.get_mut(&request).expect("it is a job's");
        if job.stage == Stage::Cancelled {
            failures.recoveries.jobs.remove(&request);
            self.end_request(request);
            return;
        }
        let Slot { volume: id, group, fragment } = job.slot;
        let volume = &self.volumes[id as usize];
        let holders = failures.holes.holders(id, volume, group);
        let Issue { offset, size, .. } = self.requests[request].issue;
        let piece = volume.distribution.pieces(offset, size).next().expect("it was read");
        let place = job.to.unwrap_or(holders[usize::from(fragment)]).base + piece.start;
        let host = job.host;
        let purpose = Purpose::Fragment(Fragment {
            part: request,
            fragment,
            op: Op::Write,
            file: id,
            offset: place,
            stored: small(piece.stored),
            carried: small(piece.carried),
            is_own: true,
        });
        let exchange = Exchange::new(
            purpose,
            Asks::Server,
            host,
            host,
            Bytes::ZERO,
            Breadcrumb::NONE,
            NO_CLIENT,
        );
        let exchange = self.exchanges.insert(exchange);
        job.stage = Stage::Writing { exchange };
        let access = Access::File(FileAccess {
            leg: exchange,
            op: Op::Write,
            file: id,
            offset: place,
            size: piece.stored,
            breadcrumb: Breadcrumb::NONE,
            thread: exchange_thread(exchange, SERVER),
            workload: NO_CLIENT,
            reader: self.exchanges[exchange].reader(),
        });
        let waits = hosts.store(host, &access);
        self.wait(exchange, waits);
        if waits == 0 {
            self.rewritten(hosts, exchange);
        }
    }

    /// A node has written a fragment that it rebuilt.
    pub(super) fn rewritten<H: Hosts>(&mut self, hosts: &mut H, exchange: u32) {
        let Fragment { part: request, fragment, file: volume, stored, .. } =
            Fragment::of(self, exchange);
        self.exchanges.remove(exchange);
        let failures = self.failures.as_mut().expect("there are events");
        let job = failures.recoveries.jobs.remove(&request).expect("it is a job's");
        let stored = Bytes(u64::from(stored));
        failures.recoveries.writes(job.recovery, hosts.now(), stored);
        if let Some((_, in_work)) = failures.holes.work(job.slot, job.to.is_some()) {
            in_work.remove(&job.at_hand);
        }
        if job.to.is_some() {
            // holders' fragments were recorded when they answered
            hosts.payload_failed(request);
        } else if hosts.has_payload() {
            let (first_block, blocks) = (job.at_hand.start, job.at_hand.end - job.at_hand.start);
            let (version, node) = (0, job.host);
            let rebuilt =
                Fragments { request, version, volume, first_block, blocks, fragment, node };
            let mut ready = Vec::new();
            hosts.payload_rebuilt(rebuilt, &mut ready);
            for other in ready {
                super::answer(self, hosts, other);
            }
        }
        self.end_request(request);
        self.next_stretch(hosts, job);
    }

    /// A job is done.
    fn end_job<H: Hosts>(&mut self, hosts: &mut H, job: &Job) {
        let now = hosts.now();
        let (failures, slot) = (self.failed(), job.slot);
        let moves = failures.holes.moves_to(slot, job.host);
        let has_arrived = moves && failures.holes.pass_ends(slot);
        let work = failures.holes.work(slot, moves);
        let again = work.is_some_and(|(missed, _)| !missed.is_empty());
        if job.to.is_none() {
            failures.recoveries.all[job.recovery].objects += 1;
            failures.holes.close_if_filled(slot);
        } else if has_arrived {
            failures.recoveries.all[job.recovery].objects += 1;
            self.arrives(hosts, slot);
        }
        let failures = self.failed();
        if again {
            failures.recoveries.waiting.entry(job.host).or_default().insert(job.slot);
        }
        let pause = failures.settings.pause;
        // there is no pause between rounds of one fragment
        let goes_on = moves && again;
        if !pause.is_zero() && !goes_on {
            failures.recoveries.pauses.entry(job.host).or_default().push(now + pause);
            hosts.set_timer(now + pause, Timer::Repair { host: job.host.0 });
        }
        self.wake_repairs(hosts, job.host);
        if job.to.is_none() {
            self.retry_group(hosts, slot);
        }
        if self.close_recoveries(now) {
            self.give_away_the_rest(hosts);
            // other fragments may have waited for this one
            self.failed().recoveries.try_stuck();
            self.wake_all_repairs(hosts);
        }
    }

    /// The holder of a fragment has got blocks that it lacked: other fragments of the group may have waited for them, and
    /// the fragment itself, if it is moving.
    pub(super) fn retry_group<H: Hosts>(&mut self, hosts: &mut H, slot: Slot) {
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let Failures { recoveries, holes, .. } = &mut **failures;
        if recoveries.stuck.is_empty() {
            return;
        }
        let volume = &volumes[slot.volume as usize];
        let mut retried: SmallVec<[HostId; 8]> = SmallVec::new();
        for (fragment, holder) in (0..).zip(holes.holders(slot.volume, volume, slot.group)) {
            let slot = Slot { fragment, ..slot };
            let to = holes.move_of(slot).map(|one| one.to.node);
            for host in [Some(holder.node), to].into_iter().flatten() {
                if recoveries.stuck.remove(&(host, slot)) {
                    recoveries.waiting.entry(host).or_default().insert(slot);
                    retried.push(host);
                }
            }
        }
        for host in retried {
            self.wake_repairs(hosts, host);
        }
    }

    /// Ends recoveries whose holes are all closed. Returns whether there were any.
    pub(super) fn close_recoveries(&mut self, now: SimTime) -> bool {
        let Failures { recoveries, holes, .. } = self.failed();
        let mut any = false;
        for recovery in recoveries.all.iter_mut().filter(|one| one.ended.is_none()) {
            if !holes.is_open((recovery.host, recovery.kind)) {
                recovery.ended = Some(now);
                any = true;
            }
        }
        any
    }

    /// A job cannot continue: its blocks wait until more nodes are reachable.
    pub(super) fn cancel_job<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        if self.is_conversion(request) {
            return self.cancel_conversion_of(hosts, request);
        }
        if let Some(key) = self.drop_job(hosts, request) {
            self.failed().recoveries.stuck.insert(key);
        }
    }

    /// A host fails: its jobs end.
    pub(crate) fn cancel_jobs_of<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let jobs = self.failed().recoveries.jobs.iter();
        let its: Vec<u32> =
            jobs.filter(|(_, job)| job.host == host).map(|(request, _)| *request).collect();
        self.cancel_conversions_by(hosts, host);
        for request in its {
            if let Some((host, slot)) = self.drop_job(hosts, request) {
                self.failed().recoveries.waiting.entry(host).or_default().insert(slot);
            }
        }
        self.failed().recoveries.pauses.remove(&host);
    }

    /// Ends a job early. Returns the fragment with the remaining blocks.
    fn drop_job<H: Hosts>(&mut self, hosts: &mut H, request: u32) -> Option<(HostId, Slot)> {
        let failures = self.failures.as_mut().expect("there are events");
        let job = failures.recoveries.jobs.get_mut(&request).expect("it is a job's");
        let (slot, host, stage) = (job.slot, job.host, job.stage);
        let moves = job.to.is_some();
        if let Some((missed, in_work)) = failures.holes.work(slot, moves) {
            let undone = std::mem::take(in_work);
            missed.add_all(&undone);
        }
        let held_writes = moves && failures.holes.begin_passes_again(slot);
        match stage {
            Stage::Cancelled => return None,
            // its computation will still end, and is ignored then
            Stage::Computing => job.stage = Stage::Cancelled,
            Stage::Reading { part } => {
                failures.recoveries.jobs.remove(&request);
                self.drop_part(hosts, part);
                self.end_request(request);
            }
            Stage::Writing { exchange } => {
                failures.recoveries.jobs.remove(&request);
                self.abandon(hosts, exchange);
                self.end_request(request);
            }
        }
        if hosts.has_payload() {
            hosts.payload_failed(request);
        }
        if held_writes {
            self.let_writes_go(hosts, slot);
        }
        Some((host, slot))
    }

    pub(super) fn end_request(&mut self, request: u32) {
        self.requests.remove(request).live = false;
    }
}
