//! The OSDs of each placement group of a Ceph cluster: where it belongs (its *up* set) and where
//! it is (its *acting* set).
//!
//! CRUSH gives a raw set. Administrators' exceptions replace members (`pg_upmap`,
//! `pg_upmap_items`), or lead (`pg_upmap_primaries`). OSDs that are down are removed. Primary affinity chooses
//! the primary.
//! `pg_temp` and `primary_temp` name the OSDs that serve while data move. Source: Ceph's
//! `src/osd/OSDMap.cc` through Squid; the code is our own.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use foretell_sorted::SortedMap;
use thiserror::Error;

use super::choose::Workspace;
use super::hash::hash2;
use super::map::{CrushError, CrushMap, MAX_ITEMS, NONE};
use super::rule::Rule;

/// Default primary affinity of an OSD: 1, in 16.16 fixed point.
pub const DEFAULT_AFFINITY: u32 = 0x1_0000;

/// Maximum total number of placement groups.
pub const MAX_GROUPS: u64 = 1 << 24;

/// Whether a set closes up over a missing OSD, or keeps a hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolKind {
    /// Copies, which are interchangeable.
    Replicated,
    /// Chunks, each with its own position.
    Erasure,
}

impl PoolKind {
    /// Ceph's number.
    pub fn number(self) -> u32 {
        match self {
            Self::Replicated => 1,
            Self::Erasure => 3,
        }
    }
}

/// A pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Its number, which is part of the hash.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Copies or chunks.
    pub kind: PoolKind,
    /// Number of copies or shards: 1 to 255.
    pub size: u32,
    /// Minimum number of them that must be available for clients to be served.
    pub min_size: u32,
    /// The rule's number, or its ruleset before Quincy.
    pub rule: u32,
    /// Number of placement groups.
    pub pg_num: u32,
    /// Number of placement groups that are placed separately.
    pub pgp_num: u32,
    /// Whether pools are hashed differently.
    pub hashpspool: bool,
}

impl Pool {
    /// The share of the pool's data in the group of this number. Unless the number of groups is a power of two,
    /// groups that are not split yet have twice as much as the others.
    pub fn share_of(&self, seed: u32) -> f64 {
        let whole = self.pg_num.next_power_of_two();
        let half = whole / 2;
        let is_split = self.pg_num == whole || seed & (half - 1) < self.pg_num & (half - 1);
        1.0 / f64::from(if is_split { whole } else { half })
    }

    /// Ceph's default for `min_size`: of copies the larger half, of shards one more than are needed to read.
    pub fn usual_min_size(kind: PoolKind, size: u32, data_chunks: u32) -> u32 {
        match kind {
            PoolKind::Replicated => size - size / 2,
            PoolKind::Erasure => (data_chunks + 1).min(size),
        }
    }
}

/// An OSD that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Osd {
    /// Whether it runs.
    pub up: bool,
    /// Probability that it keeps what is placed on it, 16.16 fixed point; 0 is out.
    pub weight: u32,
    /// Probability that it is the primary if it is the first, 16.16 fixed point.
    pub affinity: u32,
}

/// A placement group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pg {
    /// Its pool's number.
    pub pool: i64,
    /// Its number in the pool.
    pub seed: u32,
}

impl fmt::Display for Pg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:x}", self.pool, self.seed)
    }
}

impl FromStr for Pg {
    type Err = ();

    /// In Ceph's notation: the pool in decimal, the group in hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (pool, seed) = text.split_once('.').ok_or(())?;
        let seed = u32::from_str_radix(seed, 16).map_err(|_| ())?;
        Ok(Self { pool: pool.parse().map_err(|_| ())?, seed })
    }
}

/// Where a placement group belongs and where it is. [`NONE`] is a hole in a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The OSDs where it belongs, among those that are up.
    pub up: Vec<i32>,
    /// Their primary; -1 if there is none.
    pub up_primary: i32,
    /// The OSDs where it is.
    pub acting: Vec<i32>,
    /// Their primary; -1 if there is none.
    pub acting_primary: i32,
}

/// Why a cluster's map cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ClusterMapError {
    /// An error of CRUSH.
    #[error(transparent)]
    Crush(#[from] CrushError),
    /// A pool's value is out of bounds.
    #[error("pool `{pool}`: {what} is {found}; expected {expected}")]
    Pool {
        /// Its name.
        pool: String,
        /// The name of the value.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The values allowed.
        expected: String,
    },
    /// There are too many groups.
    #[error("the pools have {0} placement groups; expected at most {MAX_GROUPS}")]
    Groups(u64),
    /// An OSD's number is too large.
    #[error("there are OSDs up to number {0}; expected less than {MAX_ITEMS}")]
    Osds(usize),
    /// The searches take too many draws in total.
    #[error(
        "placing takes more than {0} draws: rules are set to try very often, and cannot be met"
    )]
    Endless(u64),
}

/// A cluster: CRUSH, OSDs, pools, exceptions.
#[derive(Clone, Debug)]
pub struct ClusterMap {
    /// The tree and its rules.
    pub crush: CrushMap,
    /// OSDs by number; `None` if no such OSD exists.
    osds: Vec<Option<Osd>>,
    /// Weights by number; 0 if no such OSD exists.
    reweights: Vec<u32>,
    pools: SortedMap<i64, Pool>,
    /// Complete sets that replace CRUSH's.
    pub upmap: BTreeMap<Pg, Vec<i32>>,
    /// Replaced members: from, to.
    pub upmap_items: BTreeMap<Pg, Vec<(i32, i32)>>,
    /// Members that lead their group: they change places with its first.
    pub upmap_primaries: BTreeMap<Pg, i32>,
    /// Sets that serve temporarily.
    pub temp: BTreeMap<Pg, Vec<i32>>,
    /// Temporary primaries.
    pub primary_temp: BTreeMap<Pg, i32>,
}

impl ClusterMap {
    /// A cluster without exceptions.
    pub fn new(
        crush: CrushMap,
        osds: Vec<Option<Osd>>,
        pools: impl IntoIterator<Item = Pool>,
    ) -> Result<Self, ClusterMapError> {
        if osds.len() > MAX_ITEMS {
            return Err(ClusterMapError::Osds(osds.len()));
        }
        let pools: SortedMap<i64, Pool> = pools.into_iter().map(|pool| (pool.id, pool)).collect();
        for pool in pools.values() {
            let checks = [
                ("size", pool.size, 255),
                ("pg_num", pool.pg_num, MAX_GROUPS as u32),
                ("pgp_num", pool.pgp_num, MAX_GROUPS as u32),
            ];
            for (what, found, most) in checks {
                if found == 0 || found > most {
                    let expected = format!("1 to {most}");
                    let (pool, found) = (pool.name.clone(), u64::from(found));
                    return Err(ClusterMapError::Pool { pool, what, found, expected });
                }
            }
        }
        let groups = pools.values().map(|pool| u64::from(pool.pg_num)).sum();
        if groups > MAX_GROUPS {
            return Err(ClusterMapError::Groups(groups));
        }
        let mut map = Self {
            crush,
            osds,
            reweights: Vec::new(),
            pools,
            upmap: BTreeMap::new(),
            upmap_items: BTreeMap::new(),
            upmap_primaries: BTreeMap::new(),
            temp: BTreeMap::new(),
            primary_temp: BTreeMap::new(),
        };
        map.set_reweights();
        Ok(map)
    }

    /// The same exceptions with other parts.
    pub fn changed(
        &self,
        crush: CrushMap,
        osds: Vec<Option<Osd>>,
        pools: impl IntoIterator<Item = Pool>,
    ) -> Result<Self, ClusterMapError> {
        let changed = Self::new(crush, osds, pools)?;
        Ok(Self {
            upmap: self.upmap.clone(),
            upmap_items: self.upmap_items.clone(),
            upmap_primaries: self.upmap_primaries.clone(),
            temp: self.temp.clone(),
            primary_temp: self.primary_temp.clone(),
            ..changed
        })
    }

    fn set_reweights(&mut self) {
        self.reweights = self.osds.iter().map(|osd| osd.map_or(0, |osd| osd.weight)).collect();
    }

    /// OSDs by number; `None` if no such OSD exists.
    pub fn osds(&self) -> &[Option<Osd>] {
        &self.osds
    }

    /// The OSDs that exist, by number.
    pub fn existing(&self) -> impl Iterator<Item = (i32, Osd)> + '_ {
        (0..).zip(&self.osds).filter_map(|(number, osd)| Some((number, (*osd)?)))
    }

    /// The OSD of this number.
    pub fn osd(&self, number: i32) -> Option<Osd> {
        *self.osds.get(usize::try_from(number).ok()?)?
    }

    /// Changes an OSD. Returns whether it exists.
    pub fn set_osd(&mut self, number: i32, osd: Osd) -> bool {
        let place = usize::try_from(number).ok().and_then(|number| self.osds.get_mut(number));
        let Some(place) = place.filter(|place| place.is_some()) else { return false };
        *place = Some(osd);
        self.set_reweights();
        true
    }

    /// Pools by number.
    pub fn pools(&self) -> &SortedMap<i64, Pool> {
        &self.pools
    }

    /// All placement groups, by pool and number.
    pub fn groups(&self) -> impl Iterator<Item = Pg> + '_ {
        self.pools.values().flat_map(|pool| (0..pool.pg_num).map(|seed| Pg { pool: pool.id, seed }))
    }

    /// Number of placement groups.
    pub fn group_count(&self) -> usize {
        self.pools.values().map(|pool| pool.pg_num as usize).sum()
    }

    /// The rule that places a pool: by number, or before Quincy by ruleset, type and size. `None` if there is none,
    /// or if it asks for something that is not known here.
    pub fn rule_of(&self, pool: &Pool) -> Option<&Rule> {
        self.rule_named_by(pool).filter(|rule| rule.unknown.is_none())
    }

    /// The rule that a pool names, known or not.
    pub fn rule_named_by(&self, pool: &Pool) -> Option<&Rule> {
        let rules = &self.crush.rules;
        let masked = rules.values().any(|rule| rule.mask.is_some());
        if !masked {
            return rules.get(&pool.rule);
        }
        rules.values().find(|rule| {
            rule.is_for(pool.kind)
                && rule.mask.is_some_and(|mask| {
                    mask.ruleset == pool.rule
                        && (mask.min_size..=mask.max_size).contains(&pool.size)
                })
        })
    }

    /// The sets of each group, in the order of [`Self::groups`].
    pub fn place_all(&self) -> Result<Vec<Placed>, ClusterMapError> {
        // a real group takes some dozens of draws
        let most = 1_000_000_000 + 20_000 * self.group_count() as u64;
        let mut work = Workspace::default();
        self.groups()
            .map(|pg| {
                let placed = self.place(pg, &mut work)?;
                if work.draws() > most {
                    return Err(ClusterMapError::Endless(most));
                }
                Ok(placed)
            })
            .collect()
    }

    /// The sets of a group. A group of an unknown pool has empty sets.
    pub fn place(&self, pg: Pg, work: &mut Workspace) -> Result<Placed, ClusterMapError> {
        let Some(pool) = self.pools.get(&pg.pool).filter(|pool| pg.seed < pool.pg_num) else {
            let (up, acting) = (Vec::new(), Vec::new());
            return Ok(Placed { up, up_primary: -1, acting, acting_primary: -1 });
        };
        let mut up = self.mapped(pg, work)?;
        self.only(pool.kind, &mut up, |osd| osd.up);
        let mut up_primary = first_of(&up);
        self.heed_affinity(pool, placement_seed(pool, pg.seed), &mut up, &mut up_primary);
        let mut acting = self.temp.get(&pg).cloned().unwrap_or_default();
        self.only(pool.kind, &mut acting, |osd| osd.up);
        let mut acting_primary = match self.primary_temp.get(&pg) {
            Some(osd) => *osd,
            None => first_of(&acting),
        };
        if acting.is_empty() {
            acting.clone_from(&up);
            if acting_primary == -1 {
                acting_primary = up_primary;
            }
        }
        Ok(Placed { up, up_primary, acting, acting_primary })
    }

    /// CRUSH's set for a group, without exceptions, among the OSDs that exist.
    pub fn raw(&self, pg: Pg, work: &mut Workspace) -> Result<Vec<i32>, ClusterMapError> {
        let mut set = Vec::new();
        if let Some(pool) = self.pools.get(&pg.pool)
            && let Some(rule) = self.rule_of(pool)
        {
            let x = placement_seed(pool, pg.seed);
            let size = pool.size as usize;
            self.crush.place(rule, x, size, &self.reweights, pool.id, work, &mut set)?;
            self.only(pool.kind, &mut set, |_| true);
        }
        Ok(set)
    }

    /// The set of a group with all exceptions, whether OSDs are up or down.
    pub fn mapped(&self, pg: Pg, work: &mut Workspace) -> Result<Vec<i32>, ClusterMapError> {
        let mut set = self.raw(pg, work)?;
        self.apply_upmaps(pg, &mut set);
        Ok(set)
    }

    /// Whether an OSD in the map's range is out.
    fn is_out(&self, osd: i32) -> bool {
        usize::try_from(osd).is_ok_and(|osd| self.reweights.get(osd) == Some(&0))
    }

    fn apply_upmaps(&self, pg: Pg, set: &mut Vec<i32>) {
        if let Some(whole) = self.upmap.get(&pg) {
            if whole.iter().any(|osd| *osd != NONE && self.is_out(*osd)) {
                // this also cancels the replacements
                return;
            }
            set.clone_from(whole);
        }
        for &(from, to) in self.upmap_items.get(&pg).into_iter().flatten() {
            if set.contains(&to) || to != NONE && self.is_out(to) {
                continue;
            }
            if let Some(place) = set.iter_mut().find(|osd| **osd == from) {
                *place = to;
            }
        }
        if let Some(leader) = self.upmap_primaries.get(&pg)
            && self.osd(*leader).is_some_and(|osd| osd.weight > 0)
            && let Some(position) = set.iter().position(|osd| osd == leader)
        {
            set.swap(0, position);
        }
    }

    /// Keeps the existing OSDs that are `wanted`. Others leave a hole in a set of chunks, and none
    /// in a set of copies.
    fn only(&self, kind: PoolKind, set: &mut Vec<i32>, wanted: impl Fn(Osd) -> bool) {
        let stays = |osd: i32| self.osd(osd).is_some_and(&wanted);
        match kind {
            PoolKind::Replicated => set.retain(|osd| stays(*osd)),
            PoolKind::Erasure => {
                set.iter_mut().filter(|osd| !stays(**osd)).for_each(|osd| *osd = NONE);
            }
        }
    }

    /// Chooses the primary. Each OSD in turn declines with probability 1 - affinity; if all
    /// decline, the first is the primary.
    fn heed_affinity(&self, pool: &Pool, seed: u32, up: &mut [i32], primary: &mut i32) {
        let affinity = |osd: i32| self.osd(osd).map_or(DEFAULT_AFFINITY, |osd| osd.affinity);
        if up.iter().all(|osd| affinity(*osd) == DEFAULT_AFFINITY) {
            return;
        }
        let accepts = |osd: i32| {
            let affinity = affinity(osd);
            affinity >= DEFAULT_AFFINITY || hash2(seed, osd.cast_unsigned()) >> 16 < affinity
        };
        let there = || up.iter().enumerate().filter(|(_, osd)| **osd != NONE);
        let leader = there().find(|(_, osd)| accepts(**osd)).or_else(|| there().next());
        let Some((position, _)) = leader else { return };
        *primary = up[position];
        if pool.kind == PoolKind::Replicated {
            up[..=position].rotate_right(1);
        }
    }
}

/// The first OSD of a set; -1 if there is none.
fn first_of(set: &[i32]) -> i32 {
    set.iter().copied().find(|osd| *osd != NONE).unwrap_or(-1)
}

/// CRUSH's input for a group. Groups beyond `pgp_num` are placed with those that they were split from.
fn placement_seed(pool: &Pool, seed: u32) -> u32 {
    let seed = stable_mod(seed, pool.pgp_num);
    // only the lower 32 bits of a pool's number count
    let id = pool.id as u32;
    if pool.hashpspool { hash2(seed, id) } else { seed.wrapping_add(id) }
}

/// `x` modulo `n`, such that growing `n` to the next power of two moves only the values that must move.
pub fn stable_mod(x: u32, n: u32) -> u32 {
    let mask = n.next_power_of_two() - 1;
    let low = x & mask;
    if low < n { low } else { x & (mask >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_split_without_moving() {
        // 12 groups: 12 to 15 are not split from 4 to 7 yet
        assert_eq!(
            (8..16).map(|x| stable_mod(x, 12)).collect::<Vec<_>>(),
            [8, 9, 10, 11, 4, 5, 6, 7]
        );
        assert_eq!(stable_mod(9, 1), 0);
    }

    #[test]
    fn groups_that_are_not_split_yet_have_twice_as_much() {
        for pg_num in 1..70 {
            let pool = Pool {
                id: 1,
                name: String::new(),
                kind: PoolKind::Replicated,
                size: 3,
                min_size: 2,
                rule: 0,
                pg_num,
                pgp_num: pg_num,
                hashpspool: true,
            };
            // objects are spread evenly over hashes
            let mut objects = vec![0_u32; pg_num as usize];
            (0..1024).for_each(|hash| objects[stable_mod(hash, pg_num) as usize] += 1);
            for (seed, objects) in (0..).zip(objects) {
                let share = pool.share_of(seed);
                assert!((share - f64::from(objects) / 1024.0).abs() < 1e-12, "{pg_num} {seed}");
            }
        }
    }

    #[test]
    fn a_group_is_named_in_hexadecimal() {
        let pg: Pg = "4.1f".parse().unwrap();
        assert_eq!(pg, Pg { pool: 4, seed: 31 });
        assert_eq!(pg.to_string(), "4.1f");
        assert!("4".parse::<Pg>().is_err() && "4.g".parse::<Pg>().is_err());
    }
}
