//! Nodes that join or are drained: fragments move while clients continue.
//!
//! `failures/moves.rs` determines which fragments move, and when they count as moved. The new node copies
//! them as it would rebuild them (`repair.rs`), `parallel` at a time with a `pause` after each. When a
//! fragment has arrived, clients that still wait for the old holder ask the new one.

use foretell_units::{HostId, Op};

use super::{Fragment, degraded};
use crate::failures::{Change, Plan, Slot, State};
use crate::hosts::{Fragments, Hosts};
use crate::protocol::Core;

impl Core {
    /// A node becomes a member, or its data move elsewhere.
    pub(super) fn membership_changes<H: Hosts>(
        &mut self,
        hosts: &mut H,
        host: HostId,
        joins: bool,
    ) {
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let change =
            if joins { failures.join(host, volumes) } else { failures.drain(host, volumes) };
        self.carry_out(hosts, &change);
        if joins {
            self.drain_the_rest(hosts);
            self.give_away_the_rest(hosts);
        } else {
            self.note_drained(host);
        }
    }

    /// Begins moves, and ends others that were cancelled.
    fn carry_out<H: Hosts>(&mut self, hosts: &mut H, change: &Change) {
        for &(slot, host) in &change.ended {
            self.failed().recoveries.forget(host, slot);
            let jobs = self.failed().recoveries.jobs.iter();
            let its =
                jobs.filter(|(_, job)| job.slot == slot && job.host == host && job.to.is_some());
            let its: Vec<u32> = its.map(|(request, _)| *request).collect();
            for request in its {
                self.cancel_job(hosts, request);
                self.failed().recoveries.forget(host, slot);
            }
        }
        for &(slot, _) in &change.ended {
            self.let_writes_go(hosts, slot);
        }
        for &slot in &change.begun {
            let failures = self.failed();
            let to = failures.holes.move_of(slot).expect("it has begun").to.node;
            failures.recoveries.waiting.entry(to).or_default().insert(slot);
        }
        if self.close_recoveries(hosts.now()) || !change.begun.is_empty() {
            self.wake_all_repairs(hosts);
        }
    }

    /// Writes that waited until a fragment has moved are sent, if they wait for nothing else.
    pub(super) fn let_writes_go<H: Hosts>(&mut self, hosts: &mut H, slot: Slot) {
        let waits = |plan: &Plan| {
            let of_group = plan.volume == slot.volume && plan.piece.group == slot.group;
            of_group && plan.op == Op::Write && plan.is_short && !plan.is_complete
        };
        for part in self.failed().plans.such(waits) {
            self.failed().plans.get_mut(part).expect("it is there").attempts = 0;
            degraded::ask(self, hosts, part);
        }
    }

    /// Begins moves for fragments that drained nodes still hold and for which there may be room now.
    pub(super) fn drain_the_rest<H: Hosts>(&mut self, hosts: &mut H) {
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let (begun, ended) = (failures.drain_the_rest(volumes), Vec::new());
        if !begun.is_empty() {
            self.carry_out(hosts, &Change { begun, ended });
        }
    }

    /// A node is out: moves to it are cancelled.
    pub(super) fn end_moves_to<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        if failures.holes.has_moves() {
            let change = failures.end_moves_to(host, volumes);
            self.carry_out(hosts, &change);
        }
    }

    /// Checks whether a drained node no longer holds anything.
    fn note_drained(&mut self, host: HostId) {
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let state = &failures.hosts[host.index()];
        if state.is_member() || state.holds_nothing || !failures.is_empty(host, volumes) {
            return;
        }
        let state = &mut failures.hosts[host.index()];
        state.holds_nothing = true;
        failures.missed -= u32::from(state.is_down);
    }

    /// The answer of an exchange of a part has arrived: if it was a write, the holder has new blocks.
    pub(super) fn note_change(&mut self, part: u32, exchange: u32) {
        let failures = self.failures.as_mut().expect("there are events");
        if !failures.holes.has_moves() {
            return;
        }
        let Some(plan) = failures.plans.get(part).filter(|plan| plan.op == Op::Write) else {
            return;
        };
        let (volume, group) = (plan.volume, plan.piece.group);
        let blocks = plan.piece.first_block..plan.piece.first_block + plan.piece.blocks;
        let asked = plan.asked.iter().find(|asked| asked.exchange == exchange);
        let fragment = asked.expect("it was asked").fragment;
        failures.holes.changed(Slot { volume, group, fragment }, &blocks);
    }

    /// A holder answers with fragments that are copied: they count as copied from now on.
    pub(super) fn note_copied<H: Hosts>(&mut self, hosts: &mut H, exchange: u32) {
        let Fragment { part, .. } = Fragment::of(self, exchange);
        let request = self.parts[part].request;
        let Some(failures) = &self.failures else { return };
        let job = failures.recoveries.jobs.get(&request);
        if let Some(to) = job.and_then(|job| job.to) {
            hosts.payload_moved(super::fragments(self, exchange), to.node);
        }
    }

    /// The new node has all of a fragment, and is its holder from now on.
    pub(super) fn arrives<H: Hosts>(&mut self, hosts: &mut H, slot: Slot) {
        let Slot { volume: id, group, fragment } = slot;
        let Self { failures, volumes, .. } = self;
        let failures = failures.as_mut().expect("there are events");
        let volume = &volumes[id as usize];
        let (old, new) = failures.holes.arrive(id, volume, slot);
        let blocks = failures.holes.blocks_of(id, volume, group);
        // writes that the old holder has acknowledged have been copied meanwhile
        let in_group = |plan: &Plan| plan.volume == id && plan.piece.group == group;
        let waits_for_it = |plan: &Plan| {
            let waits = |state| state == State::Waiting;
            plan.asked
                .iter()
                .any(|one| one.fragment == fragment && one.node == old && waits(one.state))
        };
        let parts = failures.plans.such(in_group);
        let mut lacks = false;
        let mut again = Vec::new();
        for part in parts {
            let mut plan = self.failed().plans.take(part).expect("it is there");
            let (waits, is_complete) = (waits_for_it(&plan), plan.is_complete);
            let is_it = |one: &crate::failures::Asked| one.fragment == fragment && one.node == old;
            for asked in plan.asked.iter_mut().filter(|one| is_it(one)) {
                if asked.state == State::Answered {
                    asked.node = new;
                }
            }
            self.give_up_waiting(hosts, &mut plan, is_it);
            let (first, order) = (plan.piece.first_block, plan.order);
            let touched = first..first + plan.piece.blocks;
            if plan.op == Op::Write && is_complete && waits {
                // the write is complete without the old holder, and the new one has not received it
                let failures = self.failed();
                failures.holes.add(slot, new, touched, order);
                failures.recoveries.waiting.entry(new).or_default().insert(slot);
                lacks = true;
            }
            let was_held = plan.op == Op::Write && plan.is_short;
            if !is_complete && (waits || was_held) {
                plan.attempts = 0;
                again.push(part);
            }
            self.failed().plans.put(part, plan);
            if is_complete && waits {
                self.settle(hosts, part);
            }
        }
        for part in again {
            if self.failed().plans.get(part).is_some_and(|plan| !plan.is_complete) {
                degraded::ask(self, hosts, part);
            }
        }
        if hosts.has_payload() {
            let (first_block, blocks) = (blocks.start, blocks.end - blocks.start);
            let (request, version, node) = (u32::MAX, 0, old);
            let what =
                Fragments { request, version, volume: id, first_block, blocks, fragment, node };
            hosts.payload_dropped(what);
        }
        if lacks {
            self.wake_repairs(hosts, new);
        }
        if !self.failed().hosts[old.index()].is_member() {
            self.note_drained(old);
        }
    }
}
