//! New intervals: a group's servers exchange their states before they serve requests.
//!
//! The primary asks each of the other servers that are up for its state, and then for its missing objects.
//! When the last has answered, the group serves (`GetInfo`, `GetMissing`, `Activating` of Ceph's peering
//! machine). Until then no request of the group is served. If one of the servers is down and the cluster does
//! not know it yet, peering waits until the cluster knows it, and then begins again.

use foretell_units::{Bytes, HostId};

use super::group::{Group, Holder, Osd, State};
use super::{Chore, Membership, What};
use crate::failures::Kind;
use crate::hosts::Hosts;
use crate::objects::{Objects, Rules};
use crate::protocol::Core;

/// Rounds of questions and answers before a group serves.
const ROUNDS: u8 = 2;
/// Size of an answer. Assumed: a group's info and the end of its log.
const INFO: Bytes = Bytes::kib(4);

impl<R: Rules> Objects<R> {
    /// Begins a new interval, because the servers of a group change or some of them have been filled.
    pub(super) fn begin_interval<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        index: usize,
    ) {
        self.end_interval(core, index);
        self.add_holders(index);
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let group = &mut out.groups[index];
        let pool = &pools[group.volume as usize];
        let servers = &out.servers;
        group.choose_acting(pool.is_coded(), |osd| servers[osd as usize].is_up());
        let least = usize::from(core.volumes[group.volume as usize].min_write);
        if group.acting.len() < least.max(pool.encoding.m()) {
            group.state = State::Short;
            let ops: Vec<u32> = group.ops.iter().copied().collect();
            for part in ops {
                self.dispatch(core, hosts, part);
            }
            self.count_lacking(core, index);
            return;
        }
        self.begin_peering_round(core, hosts, index, ROUNDS);
        self.count_lacking(core, index);
    }

    /// Cancels everything that is in progress in the current interval.
    fn end_interval(&mut self, core: &mut Core, index: usize) {
        let ops: Vec<u32> = self.out().groups[index].ops.iter().copied().collect();
        for part in ops {
            self.kill(part);
        }
        self.end_works(core, index);
        self.end_turn(index);
        let group = &mut self.out().groups[index];
        group.epoch += 1;
        group.writes.clear();
        group.wanted.clear();
        group.blocked.clear();
    }

    /// Members that hold nothing yet become holders that are missing everything.
    fn add_holders(&mut self, index: usize) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let volume = out.groups[index].volume;
        let pool = &pools[volume as usize];
        let is_up = out.is_up();
        for (position, osd) in out.groups[index].to_fill(pool.is_coded(), is_up) {
            let key = out.why(index, position, osd);
            let missing = out.objects_of(pool, index);
            *out.open.entry(key).or_default() += missing.len() as u64;
            let is_filled = missing.is_empty();
            out.groups[index].holders.push(Holder { osd, position, missing, is_filled, key });
        }
    }

    /// The primary asks all others that are up.
    fn begin_peering_round<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        index: usize,
        rounds: u8,
    ) {
        let out = self.out();
        let group = &out.groups[index];
        let primary = group.primary().expect("some act");
        let is_up = out.is_up();
        let others = group.holders.iter().map(|holder| holder.osd);
        let mut others: Vec<Osd> = others.filter(|osd| *osd != primary && is_up(*osd)).collect();
        others.sort_unstable();
        others.dedup();
        let epoch = group.epoch;
        out.groups[index].state = State::Peering { rounds, answers: others.len() as u32 };
        if others.is_empty() {
            return self.activate(core, hosts, index);
        }
        for to in others {
            let duty = Chore::new(What::Query, index, epoch, primary, to);
            self.set_off(core, hosts, duty);
        }
    }

    /// A server answers with its state.
    pub(super) fn inform<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, asked: &Chore) {
        let duty = Chore::new(What::Info, asked.group, asked.epoch, asked.to, asked.from);
        self.set_off(core, hosts, Chore { bytes: INFO, ..duty });
    }

    /// The primary has an answer.
    pub(super) fn informed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, index: usize) {
        let State::Peering { rounds, answers } = &mut self.out().groups[index].state else {
            return;
        };
        *answers -= 1;
        let (answers, rounds) = (*answers, *rounds);
        match (answers, rounds) {
            (0, 1) => self.activate(core, hosts, index),
            (0, _) => self.begin_peering_round(core, hosts, index, rounds - 1),
            _ => {}
        }
    }

    /// A group serves requests from now on.
    fn activate<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, index: usize) {
        self.out().groups[index].state = State::Active;
        self.count_lacking(core, index);
        self.seek_turn(core, hosts, index);
        let ops: Vec<u32> = self.out().groups[index].ops.iter().copied().collect();
        for part in ops {
            self.dispatch(core, hosts, part);
        }
    }

    /// Updates the count of groups that are not whole.
    pub(super) fn count_lacking(&mut self, core: &mut Core, index: usize) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let group = &out.groups[index];
        let is_coded = pools[group.volume as usize].is_coded();
        let is_lacking = !group.is_whole(is_coded, out.is_up());
        let group = &mut out.groups[index];
        if is_lacking == group.is_lacking {
            return;
        }
        group.is_lacking = is_lacking;
        let lacking = &mut core.failed().objects.lacking;
        if is_lacking {
            *lacking += 1;
        } else {
            *lacking -= 1;
        }
    }

    /// No server of the group is left to be filled. Those that were filled serve from now on. Once the group is
    /// whole, servers that are not members drop its data.
    pub(super) fn settle_group<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, index: usize) {
        self.end_turn(index);
        self.take_turns(core, hosts);
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let group = &mut out.groups[index];
        let mut filled = false;
        for holder in &mut group.holders {
            filled |= !holder.is_filled && holder.missing.is_empty();
            holder.is_filled |= holder.missing.is_empty();
        }
        if filled {
            return self.begin_interval(core, hosts, index);
        }
        let is_coded = pools[group.volume as usize].is_coded();
        let servers = &out.servers;
        let is_up = |osd: Osd| servers[osd as usize].is_up();
        if group.is_whole(is_coded, is_up) {
            let Group { holders, members, .. } = group;
            let place = |holder: &Holder| {
                let osd = Some(holder.osd);
                let position = usize::from(holder.position);
                if is_coded { members[position] == osd } else { members.contains(&osd) }
            };
            let (stay, leave): (Vec<Holder>, Vec<Holder>) =
                std::mem::take(holders).into_iter().partition(place);
            *holders = stay;
            group.choose_acting(is_coded, is_up);
            for holder in leave {
                out.close(core, holder.key, holder.missing.len() as u64, hosts.now());
            }
        }
        self.count_lacking(core, index);
    }
}

impl super::Outages {
    /// The host whose failure is the reason for filling a member, and the kind of recovery.
    fn why(&self, index: usize, position: u8, osd: Osd) -> (HostId, Kind) {
        let server = &self.servers[osd as usize];
        if server.membership == Membership::Joined {
            return (server.cause, Kind::Rebalance);
        }
        let group = &self.groups[index];
        let was = |holder: &&Holder| {
            holder.position == position && !group.members.contains(&Some(holder.osd))
        };
        let from = group.holders.iter().find(was).map(|holder| &self.servers[holder.osd as usize]);
        // no server is away: data move because the map places them elsewhere
        let stays = from.is_none_or(|from| from.is_up() && !self.out.contains(&from.target));
        if let Some(osd) = self.reweighted.filter(|_| stays) {
            return (HostId(self.hosts + osd), Kind::Rebalance);
        }
        match from {
            Some(from) if from.membership == Membership::Absent => (from.cause, Kind::Rebalance),
            Some(from) => (from.cause, Kind::Rebuild),
            None => (server.cause, Kind::Rebuild),
        }
    }
}
