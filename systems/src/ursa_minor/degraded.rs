//! Requests while nodes may fail: the choice of nodes, the waiting times, and the fragments that a write misses.
//!
//! A client asks holders that it considers up and that lack none of the requested blocks. If a node did not
//! answer in time, the client does not rely on it until the node answers again, or until the cluster knows
//! whether it is up. A read asks m other nodes from whose fragments the block can be decoded. A write still
//! goes to all nodes, and is complete without the unreliable ones if `min_write` others have it. The
//! fragments that it misses are recorded. If too few nodes are left, a request waits, and fails when it has
//! waited for too long. Source: Abd-El-Malek et al. 2005 (versatile storage: timeouts of clients, degraded
//! reads). Simplified: all clients know that a fragment is stale as soon as the write is complete; a node
//! forgets a request that its client has given up.

use foretell_algorithms::codec::Numbers;
use foretell_algorithms::distribution::Piece;
use foretell_scenarios::model::ReadFrom;
use foretell_units::{Bytes, HostId, Op, SimTime};
use smallvec::SmallVec;

use super::Fragment;
use super::hedge::is_enough;
use crate::exchange::{Asks, Exchange, Purpose};
use crate::failures::{Asked, Failures, Holder, Plan, Slot, Standing, State};
use crate::hosts::{Hosts, Timer, small};
use crate::protocol::Core;
use crate::request::{Issue, Part, Request};
use crate::volume::Volume;

/// Begins the part of a request that is in one group.
pub(super) fn begin<H: Hosts>(
    core: &mut Core,
    hosts: &mut H,
    id: u32,
    op: Op,
    volume: u32,
    piece: &Piece,
    operation: u32,
) -> u32 {
    let Request { issue, is_repair, .. } = core.requests[id];
    let Issue { client, breadcrumb, .. } = issue;
    let (first_block, blocks) = (piece.first_block, piece.blocks);
    if op == Op::Read && hosts.has_payload() {
        hosts.payload_pinned(id, volume, first_block, blocks);
    }
    let (needed, outstanding) = (1, 1);
    let part = Part { request: id, needed, outstanding, operation, first_block, blocks };
    let part = core.begin_part(part);
    let order = if is_repair { 0 } else { core.failed().order(breadcrumb) };
    let plan = Plan {
        request: id,
        client,
        write: breadcrumb.0,
        order,
        is_repair,
        op,
        volume,
        piece: *piece,
        asked: SmallVec::new(),
        needed: 0,
        deadline: hosts.now(),
        began: hosts.now(),
        hedge_at: None,
        is_hedged: false,
        attempts: 0,
        is_short: false,
        is_complete: false,
    };
    core.failed().plans.insert(part, plan);
    ask(core, hosts, part);
    part
}

/// Requests as many fragments as a part still needs.
pub(super) fn ask<H: Hosts>(core: &mut Core, hosts: &mut H, part: u32) {
    let now = hosts.now();
    let mut failures = core.failures.take().expect("there are events");
    let mut plan = failures.plans.take(part).expect("the part has not ended");
    let Plan { request, op, volume: id, piece, .. } = *plan;
    let Request { issue, issued, is_repair, .. } = core.requests[request];
    let Issue { client, instance, breadcrumb, workload, .. } = issue;
    let volume = &core.volumes[id as usize];
    let encoding = volume.distribution.encoding();
    let (m, n) = (encoding.m(), encoding.n());
    let holders = failures.holes.holders(id, volume, piece.group);

    let mut order: Numbers = (0..n as u8).collect();
    if op == Op::Read && volume.read_from == ReadFrom::Random && !is_repair {
        hosts.choose(instance, &mut order, m);
    }
    let candidates = in_reach(&failures, &plan, &holders, order);
    let trusted =
        |fragment: &u8| failures.trusts(client, holders[usize::from(*fragment)].node, now);
    let (good, doubtful): (Numbers, Numbers) = candidates.into_iter().partition(trusted);
    let doubted = doubtful.len();
    let is_held = op == Op::Write && failures.holds_writes(id, piece.group);
    let job = failures.recoveries.jobs.get_mut(&request).filter(|_| is_repair);
    let lost = job.as_ref().map(|job| job.slot.fragment);
    let moves = job.as_ref().is_some_and(|job| job.to.is_some());
    let (chosen, trusts_enough) = match op {
        Op::Read if moves => choose_holder(&mut plan, lost, good, doubtful),
        Op::Write if is_held => {
            plan.is_short = true;
            (Numbers::new(), false)
        }
        Op::Read => choose_reads(&mut plan, volume, lost, good, doubtful),
        Op::Write => choose_writes(&mut plan, volume, good, doubtful),
    };
    let trusted = chosen.len().saturating_sub(doubted);
    if let Some(job) = job {
        job.sources = plan.needed;
    }

    let whose = if is_repair { Asks::Server } else { Asks::Application };
    let data = if op == Op::Write { piece.carried } else { Bytes::ZERO };
    let mut begun: SmallVec<[u32; 16]> = SmallVec::new();
    for (place, fragment) in chosen.into_iter().enumerate() {
        let is_doubtful = op == Op::Write && trusts_enough && place >= trusted;
        let holder = holders[usize::from(fragment)];
        let purpose = Purpose::Fragment(asked_for(&plan, part, fragment, holder));
        let exchange = Exchange::new(
            purpose,
            whose,
            core.machines[client.index()],
            holder.node,
            data,
            breadcrumb,
            workload,
        );
        let exchange = core.exchanges.insert(exchange);
        let state = State::Waiting;
        plan.asked.push(Asked { fragment, node: holder.node, exchange, state, is_doubtful });
        begun.push(exchange);
    }
    if op == Op::Read && m > 1 && volume.hedge.is_none() {
        let is_data = |fragment: &u8| usize::from(*fragment) < m && plan.has(*fragment);
        let missing = m - (0..n as u8).filter(is_data).count().min(m);
        core.requests[request].missing = core.requests[request].missing.max(missing as u64);
    }
    let is_first = plan.attempts == 0;
    if is_first && op == Op::Read && !is_repair && !plan.is_short {
        plan.hedge_at = volume
            .hedge
            .and_then(|hedge| failures.hedging.delay(hedge, id, client))
            .map(|delay| now + delay);
        if let Some(at) = plan.hedge_at {
            hosts.set_timer(at, Timer::Part { part });
        }
    }
    // after each timeout a client waits longer: the nodes may be busy, not down
    plan.deadline = now + failures.settings.timeout * (1 << plan.attempts.min(6));
    plan.attempts += 1;
    let gives_up = issued + failures.settings.give_up;
    if !is_repair && gives_up > now {
        plan.deadline = plan.deadline.min(gives_up);
    }
    if failures.has_timeouts {
        hosts.set_timer(plan.deadline, Timer::Part { part });
    }
    let is_below = plan.is_short && !is_held;
    failures.plans.put(part, plan);
    core.failures = Some(failures);
    if is_below {
        core.note_below_min_size(request);
    }
    if core.count_needed(part) {
        core.failed().ready.push(part);
    }
    if is_first
        && !is_repair
        && let Some(&first) = begun.first()
    {
        let node = core.exchanges[first].node;
        hosts.note_part(&core.requests[request], op, node, begun.len());
    }
    for exchange in begun {
        core.send(hosts, exchange);
    }
}

/// Selects, in order, those of the given fragments that a part has not requested and whose holders seem to be
/// up and lack none of the part's blocks.
pub(super) fn in_reach(
    failures: &Failures,
    plan: &Plan,
    holders: &[Holder],
    order: Numbers,
) -> Numbers {
    let Plan { volume, ref piece, client, is_repair, op, .. } = *plan;
    let blocks = piece.first_block..piece.first_block + piece.blocks;
    let is_in_reach = |&fragment: &u8| {
        let slot = Slot { volume, group: piece.group, fragment };
        let node = holders[usize::from(fragment)].node;
        // a node that rebuilds does not ask itself, even if clients have written meanwhile
        !plan.has(fragment)
            && failures.is_up(node)
            && !(is_repair
                && node == client
                && failures.recoveries.jobs.contains_key(&plan.request))
            && (op == Op::Write || !failures.holes.meets(slot, &blocks))
    };
    order.into_iter().filter(is_in_reach).collect()
}

/// The request to a holder of a fragment.
pub(super) fn asked_for(plan: &Plan, part: u32, fragment: u8, holder: Holder) -> Fragment {
    let Plan { op, volume: file, piece, .. } = *plan;
    Fragment {
        part,
        fragment,
        op,
        file,
        offset: holder.base + piece.start,
        stored: small(piece.stored),
        carried: small(piece.carried),
        is_own: false,
    }
}

/// The fragments that a read asks for: only trusted nodes if they suffice. Also returns whether they do.
fn choose_reads(
    plan: &mut Plan,
    volume: &Volume,
    lost: Option<u8>,
    mut all: Numbers,
    doubtful: Numbers,
) -> (Numbers, bool) {
    let have = plan.counted();
    let trusted = choose_sources(volume, lost, &have, &all);
    let trusts_enough = trusted.is_some();
    let chosen = trusted.or_else(|| {
        all.extend(doubtful);
        choose_sources(volume, lost, &have, &all)
    });
    plan.is_short = chosen.is_none();
    let chosen = chosen.unwrap_or_default();
    let m = volume.distribution.encoding().m();
    plan.needed = if plan.is_short { m } else { have.len() + chosen.len() } as u32;
    (chosen, trusts_enough)
}

/// For a fragment that moves: the fragment itself, from its holder.
fn choose_holder(
    plan: &mut Plan,
    moving: Option<u8>,
    good: Numbers,
    doubtful: Numbers,
) -> (Numbers, bool) {
    let is_it = |fragment: &u8| Some(*fragment) == moving;
    let trusts_enough = good.iter().any(is_it);
    let chosen: Numbers = good.into_iter().chain(doubtful).filter(is_it).collect();
    plan.is_short = chosen.is_empty() && plan.counted().is_empty();
    plan.needed = 1;
    (chosen, trusts_enough)
}

/// The fragments that a write sends: all, if at least `min_write` nodes are reachable. Also returns whether at least
/// that many are trusted.
fn choose_writes(
    plan: &mut Plan,
    volume: &Volume,
    good: Numbers,
    doubtful: Numbers,
) -> (Numbers, bool) {
    let (have, least) = (plan.counted_on() as usize, usize::from(volume.min_write));
    let trusts_enough = have + good.len() >= least;
    plan.is_short = have + good.len() + doubtful.len() < least;
    let mut chosen = good;
    chosen.extend(doubtful);
    if plan.is_short {
        chosen.clear();
    }
    (chosen, trusts_enough)
}

/// The candidates that a read asks in addition to the fragments already there, so that the block can be decoded or a
/// lost fragment computed; empty if they do not suffice.
fn choose_sources(
    volume: &Volume,
    lost: Option<u8>,
    have: &[u8],
    candidates: &[u8],
) -> Option<Numbers> {
    if let Some(lost) = lost {
        return volume.shares.repair(lost, have, candidates);
    }
    if volume.distribution.encoding().groups() == 0 || volume.read_from == ReadFrom::Random {
        return volume.shares.complete(have, candidates);
    }
    // first data fragments, then those that repair losses within groups, then the rest
    let encoding = volume.distribution.encoding();
    let is_there = |fragment: usize| {
        let fragment = fragment as u8;
        have.contains(&fragment) || candidates.contains(&fragment)
    };
    let repairs =
        |fragment: usize| encoding.group_of(fragment).is_some_and(|mut group| !group.all(is_there));
    let mut order: Numbers = candidates.iter().copied().collect();
    order.sort_by_key(|fragment| {
        let fragment = usize::from(*fragment);
        (fragment >= encoding.m(), !repairs(fragment))
    });
    volume.shares.complete(have, &order)
}

impl Core {
    /// Updates the counts of a part from its plan. Returns whether it needs no further answer: in that case the caller
    /// must count one more answer for it.
    pub(super) fn count_needed(&mut self, part: u32) -> bool {
        let failures = self.failures.as_ref().expect("there are events");
        let plan = failures.plans.get(part).expect("the part has not ended");
        let volume = &self.volumes[plan.volume as usize];
        let (answered, waiting) = (plan.count(State::Answered), plan.count(State::Waiting));
        let needed = match plan.op {
            _ if plan.is_complete => 0,
            // each answer determines by itself whether it is enough
            Op::Read if plan.is_hedged => 2 * u32::from(!is_enough(volume, plan)),
            Op::Read => plan.needed.saturating_sub(answered),
            Op::Write => {
                let quorum = if plan.is_repair { u32::MAX } else { u32::from(volume.quorum) };
                let total = quorum.min(plan.counted_on());
                total.max(u32::from(volume.min_write)).saturating_sub(answered)
            }
        };
        let ends_now = needed == 0 && !plan.is_complete;
        // one more than the waiting exchanges, so that the part is kept until its plan is settled
        let counts = &mut self.parts[part];
        counts.outstanding = 1 + waiting + u32::from(ends_now);
        counts.needed = if ends_now { 1 } else { needed };
        ends_now
    }

    /// The answer of an exchange of a part has arrived.
    pub(super) fn note_answer(&mut self, now: SimTime, part: u32, exchange: u32) {
        let plan = self.failed().plans.get_mut(part).expect("the part has not ended");
        let asked = plan
            .asked
            .iter_mut()
            .find(|asked| asked.exchange == exchange && asked.state == State::Waiting);
        asked.expect("it was asked").state = State::Answered;
        let (client, request, is_repair) = (plan.client, plan.request, plan.is_repair);
        if self.failed().plans.get(part).is_some_and(|plan| plan.is_hedged && !plan.is_complete) {
            self.count_hedged(part);
        }
        let node = self.exchanges[exchange].node;
        self.failed().trust(client, node);
        self.note_change(part, exchange);
        if is_repair {
            let stored = Bytes(u64::from(Fragment::of(self, exchange).stored));
            self.note_source(request, stored, self.exchanges[exchange].message());
            self.note_converted(now, exchange, request);
        }
    }

    /// An answer of a part has been counted: updates the plan.
    pub(crate) fn settle<H: Hosts>(&mut self, hosts: &mut H, part: u32) {
        let Some(failures) = &mut self.failures else { return };
        if failures.plans.get(part).is_none() || self.parts[part].needed > 0 {
            return;
        }
        let mut plan = failures.plans.take(part).expect("it is there");
        if plan.op == Op::Read {
            self.give_up_waiting(hosts, &mut plan, |_| true);
            self.note_read(hosts.now(), &plan);
        }
        let ends = plan.count(State::Waiting) == 0;
        if plan.op == Op::Write && !plan.is_complete && !plan.is_repair && hosts.has_payload() {
            let Piece { first_block, blocks, .. } = plan.piece;
            hosts.payload_complete(plan.volume, plan.write, first_block, blocks);
        }
        if plan.op == Op::Write && (ends || !plan.is_complete) {
            self.note_written(hosts, &plan);
        }
        plan.is_complete = true;
        if ends {
            self.parts.remove(part);
        } else {
            self.failed().plans.put(part, plan);
        }
    }

    /// The client no longer waits for these exchanges of a part. Returns their nodes.
    pub(super) fn give_up_waiting<H: Hosts>(
        &mut self,
        hosts: &mut H,
        plan: &mut Plan,
        which: impl Fn(&Asked) -> bool,
    ) -> SmallVec<[HostId; 8]> {
        let mut nodes = SmallVec::new();
        for asked in &mut plan.asked {
            if asked.state == State::Waiting && which(asked) {
                asked.state = State::GivenUp;
                nodes.push(asked.node);
                self.abandon(hosts, asked.exchange);
            }
        }
        nodes
    }

    /// A write is complete, or everything that it waited for has arrived: records which holders have it.
    fn note_written<H: Hosts>(&mut self, hosts: &mut H, plan: &Plan) {
        let Plan { volume: id, ref piece, order, .. } = *plan;
        let mut failures = self.failures.take().expect("there are events");
        let volume = &self.volumes[id as usize];
        let blocks = piece.first_block..piece.first_block + piece.blocks;
        let whole = if volume.distribution.whole_blocks() {
            blocks.clone()
        } else {
            // the remaining bytes of partly written blocks stay unchanged
            let block = volume.distribution.block().get();
            let first = piece.group * volume.distribution.group_blocks();
            let end = (piece.start + piece.stored).get() / block;
            first + piece.start.get().div_ceil(block)..(first + end).max(first)
        };
        let mut lacking: SmallVec<[HostId; 8]> = SmallVec::new();
        let mut filled: SmallVec<[Slot; 8]> = SmallVec::new();
        let holders = failures.holes.holders(id, volume, piece.group);
        for (fragment, holder) in (0..).zip(&holders) {
            let slot = Slot { volume: id, group: piece.group, fragment };
            match plan.of_fragment(fragment) {
                Some(asked) if asked.state == State::Waiting => {}
                Some(asked) if asked.state == State::Answered && asked.node == holder.node => {
                    if failures.holes.fill(slot, &whole, order) {
                        filled.push(slot);
                    }
                }
                _ => {
                    failures.holes.add(slot, holder.node, blocks.clone(), order);
                    let waiting = &mut failures.recoveries.waiting;
                    waiting.entry(holder.node).or_default().insert(slot);
                    lacking.push(holder.node);
                }
            }
        }
        self.failures = Some(failures);
        if self.close_recoveries(hosts.now()) {
            self.give_away_the_rest(hosts);
        }
        for slot in filled {
            self.retry_group(hosts, slot);
        }
        for node in lacking {
            self.wake_repairs(hosts, node);
        }
    }

    /// A client checks a part that it has waited for.
    pub(super) fn look_at_part<H: Hosts>(&mut self, hosts: &mut H, part: u32) {
        let now = hosts.now();
        self.hedge_if_due(hosts, part);
        let due = |plan: &Plan| plan.deadline == now;
        if !self.failed().has_timeouts || !self.failed().plans.get(part).is_some_and(due) {
            return;
        }
        let mut plan = self.failed().plans.take(part).expect("it is there");
        let request = plan.request;
        let nodes = self.give_up_waiting(hosts, &mut plan, |_| true);
        let is_complete = plan.is_complete;
        self.failed().plans.put(part, plan);
        if is_complete {
            return self.settle(hosts, part);
        }
        let Request { issue, issued, is_repair, .. } = self.requests[request];
        for node in nodes {
            self.failed().suspect(issue.client, node, now);
        }
        let failures = self.failed();
        let is_late = now - issued >= failures.settings.give_up;
        if is_repair && failures.plans.get(part).is_some_and(|plan| plan.is_short) {
            self.cancel_job(hosts, request);
        } else if is_late && !is_repair {
            self.fail_request(hosts, request);
        } else {
            ask(self, hosts, part);
        }
    }

    /// A job for which too few nodes are left ends now, not at its next timeout.
    fn end_if_hopeless<H: Hosts>(&mut self, hosts: &mut H, part: u32) {
        let plan = self.failed().plans.get(part);
        let hopeless = plan.filter(|plan| plan.is_repair && plan.is_short);
        if let Some(request) = hopeless.map(|plan| plan.request) {
            self.cancel_job(hosts, request);
        }
    }

    /// A request has waited for too long and fails.
    fn fail_request<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        for part in self.failed().plans.such(|plan| plan.request == id && !plan.is_complete) {
            self.drop_part(hosts, part);
        }
        if hosts.has_payload() {
            hosts.payload_failed(id);
        }
        self.end(id, true);
    }

    /// A part ends unanswered.
    pub(super) fn drop_part<H: Hosts>(&mut self, hosts: &mut H, part: u32) {
        let mut plan = self.failed().plans.take(part).expect("the part has not ended");
        self.give_up_waiting(hosts, &mut plan, |_| true);
        self.parts.remove(part);
    }

    /// The cluster's opinion of a host has changed: clients ask other hosts, or ask again.
    pub(super) fn standing_changed<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let failures = self.failed();
        if failures.is_up(host) {
            failures.recoveries.try_stuck();
            // it will not answer requests from before its failure or from the time when it was down
            let waits = |plan: &Plan| !plan.is_complete && (plan.is_short || plan.waits_for(host));
            for part in failures.plans.such(waits) {
                let mut plan = self.failed().plans.take(part).expect("it is there");
                self.give_up_waiting(hosts, &mut plan, |asked| asked.node == host);
                plan.attempts = 0;
                self.failed().plans.put(part, plan);
                ask(self, hosts, part);
            }
            self.give_away_the_rest(hosts);
            self.drain_the_rest(hosts);
        } else {
            if failures.hosts[host.index()].standing == Standing::Out {
                self.give_away(host);
                self.end_moves_to(hosts, host);
            }
            self.hand_on_conversions(host);
            // writes may have waited for a fragment that is moving to it
            let is_held = |plan: &Plan| plan.op == Op::Write && plan.is_short && !plan.is_complete;
            let waits = |plan: &Plan| plan.waits_for(host) || is_held(plan);
            for part in self.failed().plans.such(waits) {
                let mut plan = self.failed().plans.take(part).expect("it is there");
                self.give_up_waiting(hosts, &mut plan, |asked| asked.node == host);
                let is_complete = plan.is_complete;
                self.failed().plans.put(part, plan);
                if is_complete {
                    self.settle(hosts, part);
                } else {
                    ask(self, hosts, part);
                    self.end_if_hopeless(hosts, part);
                }
            }
        }
        self.wake_all_repairs(hosts);
    }
}
