//! A placement group whose servers may fail: the servers that hold its objects, that serve them, and that should
//! hold them.
//!
//! A *holder* has the group's data except for the objects that it is *missing*: those written while it was
//! away or, if it is being filled (*backfill*), those not copied to it yet. *Members* are the servers on
//! which the map places the data. *Acting* servers serve requests. While a member is being filled, other
//! holders act (`pg_temp`). When the set of servers that are up changes, the group begins a new interval, in
//! which its servers peer before they serve.
//!
//! Simplified: the cluster always knows which objects a holder is missing. Ceph trims its logs, and must then
//! compare the contents of servers. The copied data are the same.

use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::HostId;
use smallvec::SmallVec;

use crate::failures::Kind;

/// The number of a server in the cluster.
pub(super) type Osd = u32;

/// A server that has a group's data.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    pub(super) osd: Osd,
    /// The number of the shard; for copies, a distinguishing number.
    pub(super) position: u8,
    /// Numbers of objects that it lacks.
    pub(super) missing: SortedSet<u64>,
    /// Whether it has had all of the group's data at some time; false while it is being filled.
    pub(super) is_filled: bool,
    /// The host whose failure is the reason for missing objects, and how they are recovered.
    pub(super) key: (HostId, Kind),
}

/// The state of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Its servers exchange their states. `rounds`: remaining rounds; `answers`: answers of this round still to
    /// come.
    Peering { rounds: u8, answers: u32 },
    /// It serves requests.
    Active,
    /// It has fewer servers than `min_size`.
    Short,
}

/// The state of a group's recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// There is nothing to do.
    Idle,
    /// It waits for a reservation on each of its servers. The number is higher for groups that began later.
    Waiting(u64),
    /// It has its reservations.
    Reserved,
}

/// A placement group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) volume: u32,
    pub(super) number: u32,
    /// Number of intervals so far.
    pub(super) epoch: u32,
    pub(super) state: State,
    pub(super) turn: Turn,
    /// Servers on which its recovery has a reservation, the primary first.
    pub(super) reserved: SmallVec<[Osd; 4]>,
    /// The server on which the map places each shard; `None` if it finds no server.
    pub(super) members: SmallVec<[Option<Osd>; 6]>,
    pub(super) holders: Vec<Holder>,
    /// The acting servers, as indices of holders, the primary's first.
    pub(super) acting: SmallVec<[usize; 6]>,
    /// Unanswered parts of clients' requests.
    pub(super) ops: SortedSet<u32>,
    /// Number of outstanding writes, by object.
    pub(super) writes: SortedMap<u64, u32>,
    /// The primary, while the next object waits for one of its threads.
    pub(super) begins: Option<Osd>,
    /// Objects that are being recovered, with the number of their work.
    pub(super) works: SortedMap<u64, u64>,
    /// Objects that will be recovered once no write to them is outstanding: new writes wait.
    pub(super) wanted: SortedSet<u64>,
    /// Parts that wait for an object to be recovered.
    pub(super) blocked: SortedMap<u64, Vec<u32>>,
    /// Whether it is counted as not whole.
    pub(super) is_lacking: bool,
}

impl Group {
    /// A group that is whole.
    pub(super) fn whole(volume: u32, number: u32, servers: &[Option<Osd>]) -> Self {
        let holder = |(position, osd): (u8, &Option<Osd>)| {
            Some(Holder {
                osd: (*osd)?,
                position,
                missing: SortedSet::new(),
                is_filled: true,
                key: (HostId(0), Kind::CatchUp),
            })
        };
        let holders: Vec<Holder> = (0..).zip(servers).filter_map(holder).collect();
        Self {
            volume,
            number,
            epoch: 0,
            state: State::Active,
            turn: Turn::Idle,
            reserved: SmallVec::new(),
            members: servers.iter().copied().collect(),
            acting: (0..holders.len()).collect(),
            holders,
            ops: SortedSet::new(),
            writes: SortedMap::new(),
            begins: None,
            works: SortedMap::new(),
            wanted: SortedSet::new(),
            blocked: SortedMap::new(),
            is_lacking: false,
        }
    }

    /// The server that clients send requests to.
    pub(super) fn primary(&self) -> Option<Osd> {
        self.acting.first().map(|&at| self.holders[at].osd)
    }

    /// The acting servers.
    pub(super) fn serving(&self) -> impl Iterator<Item = &Holder> {
        self.acting.iter().map(|&at| &self.holders[at])
    }

    /// Chooses the acting servers: for each shard a holder that is up and filled, a member if possible. For copies
    /// any n.
    pub(super) fn choose_acting(&mut self, is_coded: bool, is_up: impl Fn(Osd) -> bool) {
        let places = self.members.len();
        let Self { holders, members, .. } = self;
        let can = |at: &usize| holders[*at].is_filled && is_up(holders[*at].osd);
        let is_member = |at: usize| members.contains(&Some(holders[at].osd));
        self.acting = if is_coded {
            let of = |position: usize| {
                let its = (0..holders.len()).filter(can);
                let its = its.filter(|&at| usize::from(holders[at].position) == position);
                // a member of another position might otherwise act for two
                let is_member = |at: usize| members[position] == Some(holders[at].osd);
                its.min_by_key(|&at| (holders[at].missing.len(), !is_member(at), at))
            };
            (0..places).filter_map(of).collect()
        } else {
            let mut all: Vec<usize> = (0..holders.len()).filter(can).collect();
            let order = |osd: Osd| members.iter().position(|member| *member == Some(osd));
            all.sort_by_key(|&at| (order(holders[at].osd).unwrap_or(places), at));
            // complete servers come first, and are kept in preference to others
            if all.len() > places {
                all.sort_by_key(|&at| !holders[at].missing.is_empty() && !is_member(at));
                all.truncate(places);
            }
            all.into_iter().collect()
        };
    }

    /// Members that hold nothing yet and must be filled: positions and servers.
    pub(super) fn to_fill(&self, is_coded: bool, is_up: impl Fn(Osd) -> bool) -> Vec<(u8, Osd)> {
        let lacks = |(position, osd): (u8, &Option<Osd>)| {
            let osd = (*osd).filter(|osd| is_up(*osd))?;
            let has =
                |holder: &Holder| holder.osd == osd && (!is_coded || holder.position == position);
            (!self.holders.iter().any(has)).then_some((position, osd))
        };
        (0..).zip(&self.members).filter_map(lacks).collect()
    }

    /// Servers that have an object: (position, server) of `wanted` different shards, including the primary's if it
    /// has one, data shards before others. Fewer if there are not that many.
    pub(super) fn sources(
        &self,
        object: u64,
        wanted: usize,
        is_up: impl Fn(Osd) -> bool,
    ) -> SmallVec<[(u8, Osd); 8]> {
        let primary = self.primary();
        let has = |holder: &&Holder| is_up(holder.osd) && !holder.missing.contains(&object);
        let mut found: SmallVec<[(u8, Osd); 8]> =
            self.holders.iter().filter(has).map(|holder| (holder.position, holder.osd)).collect();
        let acts = |osd: Osd| self.serving().any(|holder| holder.osd == osd);
        found.sort_by_key(|(position, osd)| (*position, !acts(*osd), *osd));
        found.dedup_by_key(|(position, _)| *position);
        if wanted == 1 {
            found.sort_by_key(|(_, osd)| Some(*osd) != primary);
        }
        found.truncate(wanted);
        found
    }

    /// The next object to recover: a holder that is up is missing it, it is neither being recovered nor wanted,
    /// and enough shards are available. It may have an outstanding write.
    pub(super) fn next_object(&self, m: usize, is_up: impl Fn(Osd) -> bool + Copy) -> Option<u64> {
        let free = |object: &&u64| {
            !self.works.contains_key(object)
                && !self.wanted.contains(object)
                && self.sources(**object, m, is_up).len() >= m
        };
        let lacking = self.holders.iter().filter(|holder| is_up(holder.osd));
        // recently written objects come first, because Ceph replays its logs before it fills a server
        let (late, filling): (Vec<&Holder>, Vec<&Holder>) =
            lacking.partition(|holder| holder.is_filled);
        let first = |of: Vec<&Holder>| {
            of.into_iter().filter_map(|holder| holder.missing.iter().find(free).copied()).min()
        };
        first(late).or_else(|| first(filling))
    }

    /// Servers that are up and are missing an object, with their positions.
    pub(super) fn lacking(
        &self,
        object: u64,
        is_up: impl Fn(Osd) -> bool,
    ) -> SmallVec<[(u8, Osd); 4]> {
        let lacks = |holder: &&Holder| is_up(holder.osd) && holder.missing.contains(&object);
        self.holders.iter().filter(lacks).map(|holder| (holder.position, holder.osd)).collect()
    }

    /// Whether every member is up and is missing nothing.
    pub(super) fn is_whole(&self, is_coded: bool, is_up: impl Fn(Osd) -> bool) -> bool {
        let has = |(position, member): (u8, &Option<Osd>)| {
            member.is_some_and(|osd| {
                let is_it = |holder: &Holder| {
                    holder.osd == osd
                        && (!is_coded || holder.position == position)
                        && holder.is_filled
                        && holder.missing.is_empty()
                };
                is_up(osd) && self.holders.iter().any(is_it)
            })
        };
        self.state == State::Active && (0..).zip(&self.members).all(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(servers: &[Osd]) -> Group {
        let servers: Vec<Option<Osd>> = servers.iter().map(|osd| Some(*osd)).collect();
        Group::whole(0, 0, &servers)
    }

    fn acting(group: &Group) -> Vec<Osd> {
        group.serving().map(|holder| holder.osd).collect()
    }

    #[test]
    fn who_is_up_and_full_acts_where_the_map_wants_it() {
        let mut group = group(&[4, 7, 9]);
        group.choose_acting(false, |osd| osd != 4);
        assert_eq!(acting(&group), [7, 9]);
        // 4 is out and 2 replaces it: 2 has nothing yet, and the others serve
        group.members[0] = Some(2);
        assert_eq!(group.to_fill(false, |osd| osd != 4), [(0, 2)]);
        group.holders.push(Holder {
            osd: 2,
            position: 0,
            missing: SortedSet::from([5]),
            is_filled: false,
            key: (HostId(4), Kind::Rebuild),
        });
        group.choose_acting(false, |osd| osd != 4);
        assert_eq!(acting(&group), [7, 9]);
        group.holders[3].is_filled = true;
        group.choose_acting(false, |_| true);
        assert_eq!(acting(&group), [2, 7, 9]);
    }

    #[test]
    fn shards_keep_their_positions() {
        let mut group = group(&[4, 7, 9]);
        group.choose_acting(true, |osd| osd != 4);
        let positions: Vec<u8> = group.serving().map(|holder| holder.position).collect();
        assert_eq!((acting(&group), positions), (vec![7, 9], vec![1, 2]));
        assert_eq!(group.sources(3, 2, |osd| osd != 4).as_slice(), [(1, 7), (2, 9)]);
        group.holders[1].missing.insert(3);
        assert_eq!(group.sources(3, 2, |_| true).as_slice(), [(0, 4), (2, 9)]);
        assert_eq!(group.next_object(2, |_| true), Some(3));
        assert_eq!(group.next_object(2, |osd| osd != 9), None, "too few are left");
        // the map gives server 9 the shard of 4, and 2 that of 9; both have been filled
        let mut group = self::group(&[4, 7, 9]);
        group.members = [9, 7, 2].map(Some).into_iter().collect();
        for (osd, position) in [(9, 0), (2, 2)] {
            group.holders.push(Holder { osd, position, ..group.holders[0].clone() });
        }
        group.choose_acting(true, |_| true);
        assert_eq!(acting(&group), [9, 7, 2], "one failure must not take two shards");
    }
}
