//! Conversion of volumes: their encoding, encryption or placement changes while clients continue.
//!
//! A group is *converted* as a whole: its new first holder reads it, decodes it, encodes it and writes it to
//! the new holders. The conversion first waits for outstanding requests for the group, and later requests
//! wait for the conversion. So each group has either the old encoding or the new one. The old fragments are
//! kept until all new ones are acknowledged. If the converting node fails, or too few others are reachable,
//! the group keeps its old encoding, and is tried again. Groups that are not whole are converted later.
//! Source: Abd-El-Malek et al. 2005 (on-line re-encoding by a coordinator). There, clients write the new
//! encoding at once, and reads look in both encodings. The lock of this model is simpler. A request that
//! meets it waits for some tens of milliseconds.

use foretell_algorithms::message::MESSAGE_HEADER;
use foretell_algorithms::node::NO_CLIENT;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};

use super::{Fragment, degraded};
use crate::failures::{Conversion, ConversionStage, Failures, Kind, Slot, Standing};
use crate::guest::NO_OPERATION;
use crate::hosts::{Hosts, Timer};
use crate::protocol::Core;
use crate::request::{Issue, Stage};

/// Time until a node checks again whether a group has outstanding requests.
const WAITING: SimSpan = SimSpan::from_ms(1);

/// Time until a node checks again groups that were not whole.
const LATER: SimSpan = SimSpan::from_ms(50);

/// A volume of the scenario, and one of its groups.
type Group = (u32, u64);

/// The key of a volume's recovery.
fn key_of(volume: u32) -> (HostId, Kind) {
    (HostId(volume), Kind::Convert)
}

impl Core {
    /// A volume begins to change to its next successor.
    pub(super) fn volume_changes<H: Hosts>(&mut self, hosts: &mut H, volume: u32) {
        let groups = self.volumes[volume as usize].groups();
        let failures = self.failed();
        for waiting in failures.recoveries.to_convert.values_mut() {
            waiting.retain(|(other, _)| {
                let stays = *other != volume;
                if !stays {
                    failures.holes.count_closed(key_of(volume));
                }
                stays
            });
        }
        for group in 0..groups {
            // groups in conversion follow when that is done
            if !self.failed().recoveries.conversions.contains_key(&(volume, group)) {
                self.failed().holes.count_open(key_of(volume));
                self.await_conversion((volume, group));
            }
        }
        self.wake_all_repairs(hosts);
    }

    /// Puts a group on the list of a node that will convert it.
    fn await_conversion(&mut self, which: Group) {
        let (volume, group) = which;
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let to = failures.holes.routes.target(volume).expect("it is to change");
        let holders = failures.holes.holders(to, &volumes[to as usize], group);
        let is_there = |host: &HostId| failures.is_up(*host);
        let who = holders.iter().map(|holder| holder.node).find(is_there);
        let who = who.or_else(|| volumes[to as usize].all_nodes().find(is_there));
        let who = who.unwrap_or(holders[0].node);
        failures.recoveries.to_convert.entry(who).or_default().insert(which);
    }

    /// A node is down: others take over its conversions.
    pub(super) fn hand_on_conversions(&mut self, host: HostId) {
        let waiting = self.failed().recoveries.to_convert.remove(&host);
        for group in waiting.into_iter().flatten() {
            self.await_conversion(group);
        }
    }

    /// A node continues conversions whose groups have no outstanding requests, and begins as many new ones as it may.
    pub(super) fn begin_conversions<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let Failures { recoveries, .. } = self.failed();
        if recoveries.conversions.is_empty() && recoveries.to_convert.is_empty() {
            return;
        }
        let waits = |one: &Conversion| one.host == host && one.stage == ConversionStage::Waiting;
        let waiting = recoveries.conversions.iter().filter(|(_, one)| waits(one));
        let waiting: Vec<Group> = waiting.map(|(group, _)| *group).collect();
        for group in waiting {
            self.convert_if_left(hosts, group);
        }
        let mut later = Vec::new();
        loop {
            let failures = self.failed();
            let most = failures.settings.parallel as usize;
            if !failures.is_up(host)
                || failures.is_down(host)
                || failures.recoveries.active(host) >= most
            {
                break;
            }
            let waiting = failures.recoveries.to_convert.get_mut(&host);
            let Some(next) = waiting.and_then(std::collections::BTreeSet::pop_first) else { break };
            if self.begin_conversion(hosts.now(), host, next) {
                self.convert_if_left(hosts, next);
            } else {
                later.push(next);
            }
        }
        if !later.is_empty() {
            let waiting = self.failed().recoveries.to_convert.entry(host).or_default();
            waiting.extend(later);
            self.look_again(hosts, host, LATER);
        }
    }

    /// Lets a node check again after a time, unless it does so earlier.
    fn look_again<H: Hosts>(&mut self, hosts: &mut H, host: HostId, after: SimSpan) {
        let (now, at) = (hosts.now(), hosts.now() + after);
        let looks = self.failed().recoveries.looks.entry(host).or_insert(now);
        if *looks <= now || at < *looks {
            *looks = at;
            hosts.set_timer(at, Timer::Repair { host: host.0 });
        }
    }

    /// Begins a conversion, so that new requests for the group wait, if the group and its new holders are whole.
    /// Returns whether they are.
    fn begin_conversion(
        &mut self,
        now: foretell_units::SimTime,
        host: HostId,
        which: Group,
    ) -> bool {
        let (volume, group) = which;
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let from = failures.holes.routes.now(volume, group);
        let to = failures.holes.routes.target(volume).expect("it is to change");
        if !failures.is_whole(from, &volumes[from as usize], group)
            || !failures.find_holders(to, &volumes[to as usize], group)
        {
            return false;
        }
        let recovery = failures.recoveries.of(key_of(volume), now);
        let (stage, held) = (ConversionStage::Waiting, Vec::new());
        let one = Conversion { volume, group, from, to, host, stage, held, recovery };
        failures.recoveries.conversions.insert(which, one);
        true
    }

    /// Reads a group for its conversion if nothing touches it any more.
    fn convert_if_left<H: Hosts>(&mut self, hosts: &mut H, which: Group) {
        let (volume, group) = which;
        let failures = self.failures.as_ref().expect("there are events");
        let one = &failures.recoveries.conversions[&which];
        let (from, host) = (one.from, one.host);
        if self.is_touched(which, from) {
            return self.look_again(hosts, host, WAITING);
        }
        let failures = self.failures.as_ref().expect("there are events");
        if !failures.is_whole(from, &self.volumes[from as usize], group) {
            return self.drop_conversion(hosts, which);
        }
        let (offset, size) = self.stretch_of(volume, group);
        let issue = Issue {
            instance: NO_CLIENT,
            workload: NO_CLIENT,
            client: host,
            volume: from,
            op: Op::Read,
            offset,
            size,
            breadcrumb: Breadcrumb::NONE,
            owner: 0,
            thread: 0,
            whole: false,
        };
        let request = self.insert_request(hosts, issue, Stage::Transfer, false);
        self.requests[request].is_repair = true;
        let pieces = self.volumes[from as usize].distribution.pieces(offset, size);
        let piece = { pieces }.next().expect("it is not empty");
        // answers may arrive at once
        self.set_stage(which, ConversionStage::Computing { request });
        let part = degraded::begin(self, hosts, request, Op::Read, from, &piece, NO_OPERATION);
        self.set_stage(which, ConversionStage::Reading { request, part });
    }

    fn set_stage(&mut self, which: Group, stage: ConversionStage) {
        let one = self.failed().recoveries.conversions.get_mut(&which);
        one.expect("it is under way").stage = stage;
    }

    /// The byte range of a group of a volume.
    fn stretch_of(&self, volume: u32, group: u64) -> (Bytes, Bytes) {
        let Self { volumes, .. } = self;
        let volume = &volumes[volume as usize];
        let bytes = volume.distribution.block() * volume.distribution.group_blocks();
        let offset = bytes * group;
        (offset, bytes.min(volume.size - offset))
    }

    /// The groups that a request touches.
    fn groups_of(&self, issue: &Issue) -> std::ops::RangeInclusive<u64> {
        let last =
            Bytes((issue.offset + issue.size).get().saturating_sub(1).max(issue.offset.get()));
        self.group_of(issue.volume, issue.offset)..=self.group_of(issue.volume, last)
    }

    /// Whether a group is touched by outstanding requests, or by fragments that are being rebuilt or moved.
    fn is_touched(&self, which: Group, from: u32) -> bool {
        let (volume, group) = which;
        let failures = self.failures.as_ref().expect("there are events");
        let recoveries = &failures.recoveries;
        let conversions = recoveries.conversions.values();
        let held: Vec<u32> = conversions.flat_map(|one| &one.held).copied().collect();
        let touches = |id: &u32| {
            let request = &self.requests[*id];
            request.live
                && !request.is_repair
                && request.issue.volume == volume
                && self.groups_of(&request.issue).contains(&group)
                && !held.contains(id)
                && !failures.let_go.contains(id)
        };
        let of_job = |slot: Slot| slot.volume == from && slot.group == group;
        recoveries.jobs.values().any(|job| of_job(job.slot))
            || self.requests.kept().any(|id| touches(&id))
            || !failures
                .plans
                .such(|plan| plan.volume == from && plan.piece.group == group)
                .is_empty()
    }

    /// Whether a request that is about to begin must wait for a group in conversion.
    pub(crate) fn is_held(&mut self, id: u32) -> bool {
        let Some(failures) = &self.failures else { return false };
        if failures.recoveries.conversions.is_empty() {
            return false;
        }
        let issue = self.requests[id].issue;
        for group in self.groups_of(&issue) {
            let conversions = &mut self.failed().recoveries.conversions;
            if let Some(one) = conversions.get_mut(&(issue.volume, group)) {
                one.held.push(id);
                return true;
            }
        }
        false
    }

    /// Whether a request belongs to a conversion.
    pub(super) fn is_conversion(&mut self, request: u32) -> bool {
        let recoveries = &mut self.failed().recoveries;
        recoveries.dropped.contains(&request) || recoveries.conversion_of(request).is_some()
    }

    /// The fragments of a conversion have arrived. Returns the work to decode and encode the group.
    pub(super) fn converting<H: Hosts>(&mut self, hosts: &H, request: u32) -> SimSpan {
        let one = self.failed().recoveries.conversion_of(request).expect("it is under way");
        one.stage = ConversionStage::Computing { request };
        let (from, to, host) = (one.from as usize, one.to as usize, one.host);
        let (size, missing) = (self.requests[request].issue.size, self.requests[request].missing);
        let cpu = hosts.cpu(host);
        cpu.decode_time(self.volumes[from].cipher, missing, size)
            + self.volumes[to].encode_time(cpu, size)
    }

    /// A group has its new encoding: it is written.
    pub(super) fn write_converted<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        if self.failed().recoveries.dropped.remove(&request) {
            return self.end_request(request);
        }
        let one = self.failed().recoveries.conversion_of(request).expect("it is under way");
        let (volume, group, from, to) = (one.volume, one.group, one.from, one.to);
        self.failed().holes.routes.set(volume, group, to);
        let issue = &mut self.requests[request].issue;
        (issue.op, issue.volume) = (Op::Write, to);
        let (offset, size) = (issue.offset, issue.size);
        let pieces = self.volumes[to as usize].distribution.pieces(offset, size);
        let piece = { pieces }.next().expect("it is not empty");
        if hosts.has_payload() {
            hosts.payload_opened(request, from);
            hosts.payload_converted(volume, from, to, piece.first_block, piece.blocks);
        }
        let part = degraded::begin(self, hosts, request, Op::Write, to, &piece, NO_OPERATION);
        self.set_stage((volume, group), ConversionStage::Writing { request, part });
    }

    /// An answer to an exchange of a conversion has arrived: counts it in the recovery.
    pub(super) fn note_converted(&mut self, now: SimTime, exchange: u32, request: u32) {
        let Fragment { op, stored, carried, .. } = Fragment::of(self, exchange);
        let asked = &self.exchanges[exchange];
        let is_sent = asked.client != asked.node;
        let message = asked.message().saturating_sub(MESSAGE_HEADER);
        let recoveries = &mut self.failed().recoveries;
        let Some(one) = recoveries.conversion_of(request) else { return };
        let number = one.recovery;
        let (stored, carried) = (Bytes(u64::from(stored)), Bytes(u64::from(carried)));
        let recovery = &mut recoveries.all[number];
        match op {
            Op::Read => {
                recovery.read += stored;
                recovery.sent += if is_sent { message } else { Bytes::ZERO };
            }
            Op::Write => {
                recovery.sent += if is_sent { carried } else { Bytes::ZERO };
                recoveries.writes(number, now, stored);
            }
        }
    }

    /// All new fragments of a group are written: its conversion is complete.
    pub(crate) fn converted<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        let now = hosts.now();
        let recoveries = &mut self.failed().recoveries;
        let one = recoveries.conversion_of(request).expect("it is under way");
        let which = (one.volume, one.group);
        let one = recoveries.conversions.remove(&which).expect("it is under way");
        recoveries.all[one.recovery].objects += 1;
        self.forget_group(one.from, one.group);
        self.failed().holes.count_closed(key_of(one.volume));
        if hosts.has_payload() {
            let blocks = self.blocks_of(one.from, one.group);
            hosts.payload_left(one.from, blocks.start, blocks.end - blocks.start);
        }
        self.end_request(request);
        let failures = self.failed();
        failures.let_go.extend(one.held);
        if failures.holes.routes.target(one.volume) != Some(one.to) {
            // meanwhile the volume has another target
            failures.holes.count_open(key_of(one.volume));
            self.await_conversion(which);
        }
        let failures = self.failed();
        let pause = failures.settings.pause;
        if !pause.is_zero() {
            failures.recoveries.pauses.entry(one.host).or_default().push(now + pause);
            hosts.set_timer(now + pause, Timer::Repair { host: one.host.0 });
        }
        failures.recoveries.try_stuck();
        self.close_recoveries(now);
        self.wake_all_repairs(hosts);
    }

    fn blocks_of(&self, volume: u32, group: u64) -> std::ops::Range<u64> {
        let failures = self.failures.as_ref().expect("there are events");
        failures.holes.blocks_of(volume, &self.volumes[volume as usize], group)
    }

    /// Fragments of a group that no longer exists need not be rebuilt or moved.
    fn forget_group(&mut self, volume: u32, group: u64) {
        let n = self.volumes[volume as usize].distribution.encoding().n() as u8;
        for fragment in 0..n {
            self.failed().holes.forget(Slot { volume, group, fragment });
        }
    }

    /// A conversion cannot continue: too few nodes are reachable.
    pub(super) fn cancel_conversion_of<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        let Some(one) = self.failed().recoveries.conversion_of(request) else { return };
        let which = (one.volume, one.group);
        self.drop_conversion(hosts, which);
    }

    /// A host fails: its conversions are cancelled.
    pub(super) fn cancel_conversions_by<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let conversions = self.failed().recoveries.conversions.iter();
        let its: Vec<Group> =
            conversions.filter(|(_, one)| one.host == host).map(|(which, _)| *which).collect();
        for which in its {
            self.drop_conversion(hosts, which);
        }
    }

    /// Cancels a conversion: the group keeps its old encoding, and is converted later.
    fn drop_conversion<H: Hosts>(&mut self, hosts: &mut H, which: Group) {
        let one = self.failed().recoveries.conversions.remove(&which).expect("it is under way");
        match one.stage {
            ConversionStage::Waiting => {}
            ConversionStage::Reading { request, part } => {
                self.drop_part(hosts, part);
                self.end_request(request);
                if hosts.has_payload() {
                    hosts.payload_failed(request);
                }
            }
            ConversionStage::Computing { request } => {
                self.failed().recoveries.dropped.insert(request);
                if hosts.has_payload() {
                    hosts.payload_failed(request);
                }
            }
            ConversionStage::Writing { request, part } => {
                self.drop_part(hosts, part);
                self.end_request(request);
                self.forget_group(one.to, one.group);
                self.failed().holes.routes.set(one.volume, one.group, one.from);
                if hosts.has_payload() {
                    let blocks = self.blocks_of(one.to, one.group);
                    let count = blocks.end - blocks.start;
                    hosts.payload_converted(one.volume, one.to, one.from, blocks.start, count);
                }
                self.catch_up_with_group(hosts, one.from, one.group);
            }
        }
        let failures = self.failed();
        failures.let_go.extend(one.held);
        failures.recoveries.to_convert.entry(one.host).or_default().insert(which);
        failures.recoveries.try_stuck();
        self.look_again(hosts, one.host, LATER);
        self.wake_all_repairs(hosts);
    }

    /// A group exists now: nodes that went out or were drained before have not given away their fragments of it.
    fn catch_up_with_group<H: Hosts>(&mut self, hosts: &mut H, volume: u32, group: u64) {
        let failures = self.failures.as_ref().expect("there are events");
        let holders = failures.holes.holders(volume, &self.volumes[volume as usize], group);
        for node in holders.iter().map(|holder| holder.node) {
            let state = &mut self.failed().hosts[node.index()];
            if state.standing == Standing::Out {
                if state.holds_nothing {
                    state.holds_nothing = false;
                    self.failed().missed += 1;
                }
                self.give_away(node);
            } else if !state.is_member() {
                state.holds_nothing = false;
                self.drain_the_rest(hosts);
            }
        }
    }
}

impl Failures {
    /// Whether all fragments of a group are up to date and not moving, on nodes that are up.
    fn is_whole(&self, id: u32, volume: &crate::volume::Volume, group: u64) -> bool {
        let holders = self.holes.holders(id, volume, group);
        (0..).zip(&holders).all(|(fragment, holder)| {
            self.is_up(holder.node) && self.holes.is_at_rest(Slot { volume: id, group, fragment })
        })
    }

    /// Finds other holders for fragments of a future group if their holders have left. Returns whether all fragments
    /// have a holder that is up.
    fn find_holders(&mut self, id: u32, volume: &crate::volume::Volume, group: u64) -> bool {
        for fragment in 0..volume.distribution.encoding().n() as u8 {
            let slot = Slot { volume: id, group, fragment };
            let holders = self.holes.holders(id, volume, group);
            let node = holders[usize::from(fragment)].node;
            let state = &self.hosts[node.index()];
            if state.is_member() && state.standing != Standing::Out {
                if state.standing == Standing::Up {
                    continue;
                }
                return false;
            }
            let Some(to) = self.room_elsewhere(slot, volume, &holders) else { return false };
            self.holes.hand_over(slot, to);
        }
        true
    }
}
