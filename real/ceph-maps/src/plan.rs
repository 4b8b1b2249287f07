//! Effects of a change: placement groups and bytes that move, and the minimum that any placement must move.
//!
//! Where groups split, each new one is compared with the group that it was a part of. Where they merge, each old one is
//! compared with the group that it becomes a part of: before Ceph merges groups it lowers `pgp_num`, which brings all
//! copies of a group to the OSDs of the other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foretell_algorithms::crush::{
    ClusterMap, ClusterMapError, NONE, Pg, Placed, Pool, PoolKind, stable_mod,
};
use foretell_sorted::SortedMap;

use crate::domains::Domains;
use crate::inventory::Inventory;
use crate::levels::{Levels, Situation, copy_bytes, homes};
use crate::limits::{limits, reached};

/// The effects of a change.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Plan {
    /// Groups with a copy or shard that moves to another OSD.
    pub groups: usize,
    /// Groups whose *up* set changes in any way, including its order.
    pub groups_changed: usize,
    /// Copies or shards that move to another OSD.
    pub shards: usize,
    /// All copies or shards after the change.
    pub shards_in_all: usize,
    /// Bytes that move to other OSDs.
    pub bytes: f64,
    /// Bytes that any placement must move.
    pub floor: Floor,
    /// Groups with fewer members after the change than their pool wants.
    pub short: usize,
    /// Bytes by source and target OSD; the source is -1 if no OSD had that shard before.
    pub moves: BTreeMap<(i32, i32), f64>,
    /// Groups and bytes, by pool.
    pub pools: SortedMap<i64, (usize, f64)>,
    /// The fullest OSD and its fill level, before and after.
    pub fullest: Option<[(i32, f64); 2]>,
    /// Used bytes of OSDs, before and after.
    pub levels: [Levels; 2],
    /// Whether bytes are known: if not, they are 0.
    pub bytes_known: bool,
    /// The groups that move, in order.
    pub moving: Vec<Moving>,
}

/// A group with copies or shards that move to other OSDs.
#[derive(Clone, PartialEq, Debug)]
pub struct Moving {
    /// The group after the change; before it, if it merges with another.
    pub pg: Pg,
    /// Copies, or shards.
    pub kind: PoolKind,
    /// The OSDs of its copies or shards before the change, in order.
    pub was: Vec<i32>,
    /// Source and target of each move; the source is -1 if no OSD had that copy or shard.
    pub steps: Vec<(i32, i32)>,
    /// Bytes of each move.
    pub bytes: f64,
    /// Number of shards that are read to recover a lost one.
    pub data_chunks: usize,
    /// Whether the pool's code changes: then clients copy its data, and no OSD recovers it.
    pub recoded: bool,
}

/// Bytes that any placement must move.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Floor {
    /// Copies and shards that must leave their place and have another one: the OSD is out or gone, the rule does not
    /// reach it, or another member of the group is too near. An OSD that is only down keeps its data.
    pub misplaced_bytes: f64,
    /// Bytes for OSDs whose share of the weight grows.
    pub balance_bytes: f64,
}

impl Floor {
    /// The minimum that must move if `moved` bytes do; one movement can serve both purposes. Pseudorandom placement
    /// may be less even than the weights, and may then move less than even shares would require.
    pub fn bytes(&self, moved: f64) -> f64 {
        self.misplaced_bytes.max(self.balance_bytes).min(moved)
    }
}

/// Bytes into and out of buckets of one type, by name; movements within a bucket do not count.
pub fn moves_by(plan: &Plan, map: &ClusterMap, kind: u16) -> SortedMap<String, (f64, f64)> {
    // types that a map only declares, such as `chassis` in many maps, have no buckets
    if kind != 0 && !map.crush.parts().buckets.iter().any(|bucket| bucket.kind == kind) {
        return SortedMap::new();
    }
    let domains = Domains::of_all(&map.crush);
    // an OSD below several roots belongs to each of them
    let places = |osd: i32| match domains.all(osd, kind) {
        _ if osd < 0 => Vec::new(),
        [] => vec![format!("osd.{osd}")],
        all => all.iter().filter_map(|id| Some(map.crush.bucket(*id)?.name.clone())).collect(),
    };
    let mut by_name: SortedMap<String, (f64, f64)> = SortedMap::new();
    for ((from, to), bytes) in &plan.moves {
        let (sources, targets) = (places(*from), places(*to));
        for target in targets.iter().filter(|target| !sources.contains(target)) {
            by_name.entry(target.clone()).or_default().0 += bytes;
        }
        for source in sources.into_iter().filter(|source| !targets.contains(source)) {
            by_name.entry(source).or_default().1 += bytes;
        }
    }
    by_name
}

/// The OSDs to which the data of each group belong.
type Homes<'a> = BTreeMap<Pg, Cow<'a, [i32]>>;

/// Compares a cluster before and after a change.
pub fn plan(
    before: (&ClusterMap, &Inventory),
    after: (&ClusterMap, &Inventory),
) -> Result<Plan, ClusterMapError> {
    let placed = [before.0.place_all()?, after.0.place_all()?];
    let [old_homes, new_homes] = [(before.0, &placed[0]), (after.0, &placed[1])]
        .map(|(map, placed)| map.groups().zip(homes(map, placed)).collect::<Homes<'_>>());
    let home =
        |groups: &Homes<'_>, pg: &Pg| groups.get(pg).map_or_else(Vec::new, |set| set.to_vec());
    let mut plan = Plan::default();
    let mut moves_known = true;
    for pool in after.0.pools().values() {
        let bytes = copy_bytes(pool, after.1);
        let earlier = before.0.pools().get(&pool.id);
        plan.bytes_known |= bytes > 0.0;
        // with another code, all data is rewritten
        let recoded = earlier.is_none_or(|earlier| {
            let shards = |inventory: &Inventory| {
                inventory.pools.get(&pool.id).and_then(|facts| facts.data_chunks)
            };
            earlier.kind != pool.kind
                || pool.kind == PoolKind::Erasure
                    && (earlier.size != pool.size || shards(before.1) != shards(after.1))
        });
        for piece in pieces(earlier, pool) {
            let size = bytes * piece.share;
            let was = home(&old_homes, &piece.origin);
            let is = home(&new_homes, &piece.target);
            plan.shards_in_all += members(&is).count();
            let steps = if recoded {
                members(&is).map(|osd| (-1, osd)).collect()
            } else {
                movements(pool.kind, &was, &is)
            };
            plan.groups_changed += usize::from(was != is);
            plan.groups += usize::from(!steps.is_empty());
            plan.shards += steps.len();
            let by_pool = plan.pools.entry(pool.id).or_default();
            by_pool.0 += usize::from(!steps.is_empty());
            for &step in &steps {
                by_pool.1 += size;
                plan.bytes += size;
                *plan.moves.entry(step).or_default() += size;
            }
            if !steps.is_empty() {
                let facts = after.1.pools.get(&pool.id);
                moves_known &= facts.is_some_and(|facts| {
                    facts.stored_bytes.is_some() || facts.allocated_bytes.is_some()
                });
                let data_chunks = after.1.data_chunks(pool).0 as usize;
                let (pg, kind, bytes) = (piece.group(), pool.kind, size);
                plan.moving.push(Moving { pg, kind, was, steps, bytes, data_chunks, recoded });
            }
        }
    }
    plan.floor = floor(before, after, (&old_homes, &new_homes));
    plan.short = short(after.0, &placed[1]);
    let [from, to] = [(before, &placed[0]), (after, &placed[1])]
        .map(|((map, inventory), placed)| Situation { map, inventory, placed });
    let now = Levels::now(from);
    let then = now.after(from, to, moves_known);
    plan.fullest =
        now.fullest(before.0, before.1).zip(then.fullest(after.0, after.1)).map(|(a, b)| [a, b]);
    plan.levels = [now, then];
    Ok(plan)
}

/// A part of a pool's data that is in one group before and in one after.
struct Piece {
    origin: Pg,
    target: Pg,
    /// Share of the pool's data.
    share: f64,
    merges: bool,
}

impl Piece {
    /// The group that it is all of.
    fn group(&self) -> Pg {
        if self.merges { self.origin } else { self.target }
    }
}

/// The parts of a pool's data, in the finer of both divisions into groups. A new pool comes from nowhere: its groups
/// have no origin in the map.
fn pieces(before: Option<&Pool>, after: &Pool) -> impl Iterator<Item = Piece> {
    let (old, new) = (before.map_or(after.pg_num, |pool| pool.pg_num), after.pg_num);
    let finest = Pool { pg_num: old.max(new), ..after.clone() };
    (0..finest.pg_num).map(move |seed| {
        let group = |count| Pg { pool: finest.id, seed: stable_mod(seed, count) };
        let (origin, target) = (group(old), group(new));
        Piece { origin, target, share: finest.share_of(seed), merges: old > new }
    })
}

fn members(set: &[i32]) -> impl Iterator<Item = i32> + '_ {
    set.iter().copied().filter(|osd| *osd != NONE)
}

/// Sources and targets of moves. Copies are interchangeable: those that leave become those that come.
fn movements(kind: PoolKind, was: &[i32], is: &[i32]) -> Vec<(i32, i32)> {
    match kind {
        PoolKind::Erasure => {
            let moved = |(position, osd): (usize, &i32)| {
                let from = was.get(position).copied().filter(|from| *from != NONE);
                (*osd != NONE && from != Some(*osd)).then_some((from.unwrap_or(-1), *osd))
            };
            is.iter().enumerate().filter_map(moved).collect()
        }
        PoolKind::Replicated => {
            let leave = was.iter().copied().filter(|osd| *osd != NONE && !is.contains(osd));
            let mut sources = leave.chain(std::iter::repeat(-1));
            let come = is.iter().copied().filter(|osd| *osd != NONE && !was.contains(osd));
            come.map(|to| (sources.next().expect("endless"), to)).collect()
        }
    }
}

/// Groups with fewer members than their pool wants.
fn short(map: &ClusterMap, placed: &[Placed]) -> usize {
    let is_short = |(pg, placed): &(Pg, &Placed)| {
        members(&placed.up).count() < map.pools()[&pg.pool].size as usize
    };
    map.groups().zip(placed).filter(is_short).count()
}

/// The minimum that no placement can avoid moving.
fn floor(
    before: (&ClusterMap, &Inventory),
    after: (&ClusterMap, &Inventory),
    (old, new): (&Homes<'_>, &Homes<'_>),
) -> Floor {
    let mut floor = Floor::default();
    let mut shares: SortedMap<i32, f64> = SortedMap::new();
    for pool in after.0.pools().values() {
        let bytes = copy_bytes(pool, after.1);
        for (osd, share) in ideal(after.0, pool) {
            *shares.entry(osd).or_default() += share * bytes * f64::from(pool.size);
        }
        let Some(earlier) = before.0.pools().get(&pool.id) else { continue };
        let earlier_bytes = copy_bytes(earlier, before.1) * f64::from(earlier.size);
        for (osd, share) in ideal(before.0, earlier) {
            *shares.entry(osd).or_default() -= share * earlier_bytes;
        }
        let Some(rule) = after.0.rule_of(pool) else { continue };
        let domains = Domains::of_rule(&after.0.crush, rule);
        let reached = reached(after.0, rule);
        let may_stay = |osd: &i32| {
            reached.get(osd).is_some_and(|weight| *weight > 0.0)
                && after.0.osd(*osd).is_some_and(|osd| osd.weight > 0)
        };
        let limits = limits(rule, pool.size);
        let mut by_target: BTreeMap<Pg, Vec<(Piece, Vec<i32>)>> = BTreeMap::new();
        for piece in pieces(Some(earlier), pool) {
            let Some(home) = old.get(&piece.origin) else { continue };
            let was = members(home).collect();
            by_target.entry(piece.target).or_default().push((piece, was));
        }
        for (target, pieces) in by_target {
            // a group that lacked members before need not become complete, and one for which the rule finds no
            // others cannot
            let found = new.get(&target).map_or(0, |home| members(home).count());
            let most = found.min(pool.size as usize);
            let needs = |was: &Vec<i32>, share: f64| was.len().min(most) as f64 * share;
            let needed: f64 = pieces.iter().map(|(piece, was)| needs(was, piece.share)).sum();
            let kept = match pieces.as_slice() {
                [(piece, was)] => {
                    let stay: Vec<i32> = was.iter().copied().filter(may_stay).collect();
                    domains.most_kept(&stay, &limits).min(most) as f64 * piece.share
                }
                // the pieces of a merged group come to lie on the same OSDs: at best on those with most of them
                pieces => {
                    let mut there: SortedMap<i32, f64> = SortedMap::new();
                    for (piece, was) in pieces {
                        for osd in was.iter().filter(|osd| may_stay(osd)) {
                            *there.entry(*osd).or_default() += piece.share;
                        }
                    }
                    let mut largest: Vec<f64> = there.into_values().collect();
                    largest.sort_by(|a, b| b.total_cmp(a));
                    largest.into_iter().take(most).sum()
                }
            };
            floor.misplaced_bytes += (needed - kept).max(0.0) * bytes;
        }
    }
    floor.balance_bytes = shares.values().filter(|bytes| **bytes > 0.0).sum();
    floor
}

/// The share of a pool's data that each OSD should have: by weight, among the OSDs that its rule reaches.
pub(crate) fn ideal(map: &ClusterMap, pool: &Pool) -> SortedMap<i32, f64> {
    let Some(rule) = map.rule_of(pool) else { return SortedMap::new() };
    let mut weights = reached(map, rule);
    for (osd, weight) in &mut weights {
        *weight *= map.osd(*osd).map_or(0.0, |osd| f64::from(osd.weight) / 65_536.0);
    }
    let sum: f64 = weights.values().sum();
    weights.retain(|_, weight| *weight > 0.0);
    for weight in weights.values_mut() {
        *weight /= sum;
    }
    weights
}
