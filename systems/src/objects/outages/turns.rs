//! Reservations for the recovery of groups.
//!
//! A server takes part in at most `backfills` recoveries as a primary, and in the same number as a target
//! (`osd_max_backfills`, the local and remote reservations). A group begins to recover when all of its
//! servers have a reservation for it. Of several such groups, the one that has waited longest is first.
//!
//! A rack's loss leaves tens of thousands of groups waiting. So each group waits for one server that has no
//! reservation left, and cannot begin before this server releases one. Only then is the group checked again.
//! A group is also checked when fewer servers take part in its recovery than before.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::Outages;
use super::group::{Group, Osd, Turn};
use crate::hosts::Hosts;
use crate::objects::{Objects, Rules};
use crate::protocol::Core;

/// A waiting group: the number of its turn, which is higher for groups that began to wait later, and its index. It
/// is out of date if the group has another turn by now.
type Place = (u64, usize);

/// The groups that wait for reservations.
#[derive(Debug)]
pub(super) struct Waiting {
    last: u64,
    /// Groups to look at, in the order in which they began to wait.
    due: BTreeSet<Place>,
    /// By server: groups that wait behind it.
    behind: Vec<Vec<Place>>,
}

impl Waiting {
    /// No group waits. `servers`: number of servers of the cluster.
    pub(super) fn new(servers: usize) -> Self {
        Self { last: 0, due: BTreeSet::new(), behind: vec![Vec::new(); servers] }
    }
}

impl<R: Rules> Objects<R> {
    /// A group asks for reservations if a server is missing something.
    pub(super) fn seek_turn<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, index: usize) {
        let out = self.out();
        let group = &out.groups[index];
        let is_up = out.is_up();
        let lacks = group.holders.iter().any(|one| is_up(one.osd) && !one.missing.is_empty());
        if !lacks {
            return self.settle_group(core, hosts, index);
        }
        out.waiting.last += 1;
        out.groups[index].turn = Turn::Waiting(out.waiting.last);
        out.look_at(index);
        self.take_turns(core, hosts);
    }

    /// A group releases its reservations, or no longer waits for them.
    pub(super) fn end_turn(&mut self, index: usize) {
        let out = self.out();
        match out.groups[index].turn {
            Turn::Idle => {}
            Turn::Waiting(_) => out.groups[index].turn = Turn::Idle,
            Turn::Reserved => out.release(index),
        }
    }

    /// Gives reservations to groups whose servers are free.
    pub(super) fn take_turns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H) {
        let most = core.failed().settings.backfills;
        let out = self.out();
        let mut begun = Vec::new();
        for place in std::mem::take(&mut out.waiting.due) {
            let (since, index) = place;
            if out.groups[index].turn != Turn::Waiting(since) {
                continue;
            }
            let reserved = out.takes_part(index);
            if let Some(osd) = out.keeps_waiting(&reserved, most) {
                out.waiting.behind[osd as usize].push(place);
            } else {
                out.reserve(index, reserved);
                begun.push(index);
            }
        }
        debug_assert!(out.nobody_waits_for_nothing(most));
        for index in begun {
            self.pump_group(core, hosts, index);
        }
    }
}

impl Outages {
    /// A group is looked at next time, if it waits.
    pub(super) fn look_at(&mut self, index: usize) {
        if let Turn::Waiting(since) = self.groups[index].turn {
            self.waiting.due.insert((since, index));
        }
    }

    /// All waiting groups are looked at next time, because limits or states of servers have changed.
    pub(super) fn look_at_all_waiting(&mut self) {
        let Waiting { due, behind, .. } = &mut self.waiting;
        due.extend(behind.iter_mut().flat_map(|groups| groups.drain(..)));
    }

    /// Servers that take part in the recovery of a group, the primary first.
    fn takes_part(&self, index: usize) -> SmallVec<[Osd; 4]> {
        let Group { holders, .. } = &self.groups[index];
        let primary = self.groups[index].primary().expect("it serves");
        let mut all: SmallVec<[Osd; 4]> = SmallVec::new();
        all.push(primary);
        for holder in holders {
            let lacks = self.servers[holder.osd as usize].is_up() && !holder.missing.is_empty();
            if lacks && !all.contains(&holder.osd) {
                all.push(holder.osd);
            }
        }
        all
    }

    /// The first of the servers that has no reservation left.
    fn keeps_waiting(&self, servers: &[Osd], most: u32) -> Option<Osd> {
        let is_full = |(place, osd): &(usize, &Osd)| {
            let server = &self.servers[**osd as usize];
            let taken = if *place == 0 { server.local } else { server.remote };
            taken >= most
        };
        servers.iter().enumerate().find(is_full).map(|(_, osd)| *osd)
    }

    fn reserve(&mut self, index: usize, servers: SmallVec<[Osd; 4]>) {
        for (place, osd) in servers.iter().enumerate() {
            let server = &mut self.servers[*osd as usize];
            if place == 0 {
                server.local += 1;
                server.led.insert(index);
            } else {
                server.remote += 1;
            }
        }
        let group = &mut self.groups[index];
        (group.turn, group.reserved) = (Turn::Reserved, servers);
    }

    /// Releases a group's reservations, if it has any.
    fn release(&mut self, index: usize) {
        let reserved = std::mem::take(&mut self.groups[index].reserved);
        for (place, osd) in reserved.into_iter().enumerate() {
            let server = &mut self.servers[osd as usize];
            if place == 0 {
                server.local -= 1;
                server.led.remove(&index);
            } else {
                server.remote -= 1;
            }
            let Waiting { due, behind, .. } = &mut self.waiting;
            due.extend(behind[osd as usize].drain(..));
        }
        self.groups[index].turn = Turn::Idle;
    }

    /// Whether each waiting group has a server without a reservation for it.
    fn nobody_waits_for_nothing(&self, most: u32) -> bool {
        (0..self.groups.len()).all(|index| {
            let waits = matches!(self.groups[index].turn, Turn::Waiting(_));
            !waits || self.keeps_waiting(&self.takes_part(index), most).is_some()
        })
    }
}
