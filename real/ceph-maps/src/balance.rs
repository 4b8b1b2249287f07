//! Upmaps: exceptions to CRUSH's placement that even out a cluster, or that keep data where they are.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, ClusterMapError, NONE, Pg, PoolKind, Workspace};
use foretell_sorted::SortedMap;

use crate::domains::Domains;
use crate::limits::{Limit, limits, reached};
use crate::plan::ideal;

/// Changes of exceptions, as commands of `ceph`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Upmaps {
    /// The replacements of a group from now on; if empty, its existing ones are removed.
    pub items: BTreeMap<Pg, Vec<(i32, i32)>>,
    /// Whole sets of OSDs, for groups where replacements cannot produce them.
    pub sets: BTreeMap<Pg, Vec<i32>>,
    /// Groups that no exception can keep in place: an OSD is out, or gone.
    pub lost: Vec<Pg>,
}

impl Upmaps {
    /// Number of groups that get or lose exceptions.
    pub fn len(&self) -> usize {
        self.items.len() + self.sets.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The commands, in the order of groups.
    pub fn commands(&self) -> Vec<String> {
        let text =
            |osds: &[i32]| osds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let items = self.items.iter().map(|(pg, items)| {
            if items.is_empty() {
                return format!("ceph osd rm-pg-upmap-items {pg}");
            }
            let pairs: Vec<i32> = items.iter().flat_map(|(from, to)| [*from, *to]).collect();
            format!("ceph osd pg-upmap-items {pg} {}", text(&pairs))
        });
        let sets =
            self.sets.iter().map(|(pg, set)| format!("ceph osd pg-upmap {pg} {}", text(set)));
        items.chain(sets).collect()
    }

    /// The map with these exceptions applied.
    pub fn applied(&self, map: &ClusterMap) -> ClusterMap {
        let mut map = map.clone();
        for (pg, items) in &self.items {
            if items.is_empty() {
                map.upmap_items.remove(pg);
            } else {
                map.upmap_items.insert(*pg, items.clone());
            }
        }
        for (pg, set) in &self.sets {
            map.upmap_items.remove(pg);
            map.upmap.insert(*pg, set.clone());
        }
        map
    }
}

/// One pool in the balancer's view.
struct Shelf {
    groups: Vec<Group>,
    domains: Domains,
    limits: Vec<Limit>,
    /// By OSD that the rule reaches: how many copies or shards it has above its share.
    above: SortedMap<i32, f64>,
}

impl Shelf {
    /// Minimum number of single moves until no OSD is further than `deviation` from its share.
    fn needed(&self, deviation: f64) -> f64 {
        let beyond = |sign: f64| -> f64 {
            self.above.values().map(|above| (sign * above - deviation).max(0.0).ceil()).sum()
        };
        beyond(1.0).max(beyond(-1.0))
    }
}

struct Group {
    pg: Pg,
    raw: Vec<i32>,
    set: Vec<i32>,
    items: Vec<(i32, i32)>,
}

/// A small set of upmaps that evens out each pool and the whole cluster. At most `most` groups are changed, each
/// time the one with the largest gain. The balancer stops when no OSD is further than `deviation` copies or
/// shards from its share of a pool, or when nothing helps any more. It continues beyond the deviation as long as
/// it touches at most three groups for four single moves that are needed. Groups that are already touched come
/// first, as replacing more of their members costs no further upmap. Pools in which all OSDs are already within
/// the deviation are left alone. The parameters are those of `osdmaptool --upmap`.
///
/// The objective is the sum of squared distances from the share by weight, for each pool and for all pools
/// together. Only OSDs that are up and in receive more; the rule's limits hold.
pub fn balance(map: &ClusterMap, most: usize, deviation: f64) -> Result<Upmaps, ClusterMapError> {
    let mut work = Workspace::default();
    let mut shelves = Vec::new();
    let mut total: SortedMap<i32, f64> = SortedMap::new();
    for pool in map.pools().values() {
        let Some(rule) = map.rule_of(pool) else { continue };
        let takers = reached(map, rule);
        let mut above: SortedMap<i32, f64> = SortedMap::new();
        let mut groups = Vec::new();
        let mut members = 0.0;
        for seed in 0..pool.pg_num {
            let pg = Pg { pool: pool.id, seed };
            let set = map.mapped(pg, &mut work)?;
            for osd in set.iter().filter(|osd| takers.contains_key(osd)) {
                *above.entry(*osd).or_default() += 1.0;
                members += 1.0;
            }
            // leave whole sets alone: somebody chose them on purpose
            if !map.upmap.contains_key(&pg) {
                let raw = map.raw(pg, &mut work)?;
                let items = map.upmap_items.get(&pg).cloned().unwrap_or_default();
                groups.push(Group { pg, raw, set, items });
            }
        }
        for (osd, share) in ideal(map, pool) {
            *above.entry(osd).or_default() -= share * members;
        }
        for (osd, above) in &above {
            *total.entry(*osd).or_default() += above;
        }
        let domains = Domains::of_rule(&map.crush, rule);
        shelves.push(Shelf { groups, domains, limits: limits(rule, pool.size), above });
    }
    let mut upmaps = Upmaps::default();
    // Number of groups that may be touched while balancing beyond the deviation: three quarters of the minimum
    // number of single moves that reach the deviation. A balancer that moves one member of a group at a time
    // touches more groups, so this one is more even with fewer.
    let needed: f64 = shelves.iter().map(|shelf| shelf.needed(deviation)).sum::<f64>() * 0.75;
    shelves.retain(|shelf| shelf.needed(deviation) > 0.0);
    let mut aim = deviation;
    while upmaps.len() < most {
        // groups with exceptions first: further replacements in them cost no upmap
        let touched = |pg: &Pg| upmaps.items.contains_key(pg);
        let again = if aim > 0.0 { best(map, &shelves, &total, aim, touched) } else { None };
        let step = again.or_else(|| best(map, &shelves, &total, aim, |_| true));
        let Some(step) = step else {
            if aim > 0.0 && (upmaps.len() as f64) < needed {
                aim = 0.0;
                continue;
            }
            break;
        };
        if aim < deviation && upmaps.len() as f64 >= needed {
            break;
        }
        let shelf = &mut shelves[step.shelf];
        for (from, to) in &step.moves {
            for above in [&mut shelf.above, &mut total] {
                *above.entry(*from).or_default() -= 1.0;
                *above.entry(*to).or_default() += 1.0;
            }
        }
        let group = &mut shelf.groups[step.group];
        upmaps.items.insert(group.pg, step.items.clone());
        (group.set, group.items) = (step.set, step.items);
    }
    Ok(upmaps)
}

/// A step of the balancer: replacements in one group.
struct Step {
    gain: f64,
    shelf: usize,
    group: usize,
    moves: Vec<(i32, i32)>,
    set: Vec<i32>,
    items: Vec<(i32, i32)>,
}

/// The group in which replacing members gains most.
fn best(
    map: &ClusterMap,
    shelves: &[Shelf],
    total: &SortedMap<i32, f64>,
    deviation: f64,
    wanted: impl Fn(&Pg) -> bool,
) -> Option<Step> {
    let mut best: Option<Step> = None;
    for (at, shelf) in shelves.iter().enumerate() {
        let serves = |osd: &i32| map.osd(*osd).is_some_and(|osd| osd.up && osd.weight > 0);
        let low = |osd: i32| shelf.above[&osd] + total[&osd];
        let mut takers: Vec<i32> = shelf.above.keys().copied().filter(serves).collect();
        takers.sort_by(|a, b| low(*a).total_cmp(&low(*b)).then(a.cmp(b)));
        let Some(lowest) = takers.first().map(|osd| low(*osd)) else { continue };
        for (number, group) in shelf.groups.iter().enumerate() {
            if !wanted(&group.pg) {
                continue;
            }
            // upper bound of the group's gain, ignoring the rule
            let gains = group.set.iter().filter_map(|osd| shelf.above.get(osd).map(|_| low(*osd)));
            let most: f64 = gains.map(|high| (high - lowest - 2.0).max(0.0)).sum();
            if most <= best.as_ref().map_or(1e-9, |best| best.gain + 1e-9) {
                continue;
            }
            let step = replacing(shelf, total, &takers, deviation, group);
            if step.gain > best.as_ref().map_or(1e-9, |best| best.gain + 1e-9) {
                best = Some(Step { shelf: at, group: number, ..step });
            }
        }
    }
    best
}

/// Replaces members of a group, the best replacement first, as long as there is a gain.
fn replacing(
    shelf: &Shelf,
    total: &SortedMap<i32, f64>,
    takers: &[i32],
    deviation: f64,
    group: &Group,
) -> Step {
    let (set, items) = (group.set.clone(), group.items.clone());
    let mut step = Step { gain: 0.0, shelf: 0, group: 0, moves: Vec::new(), set, items };
    loop {
        let mut found: Option<(f64, i32, i32)> = None;
        for &from in &step.set {
            // a member that has just come stays
            let came = step.moves.iter().any(|(_, to)| *to == from);
            let Some(high) = shelf.above.get(&from).copied().filter(|_| !came) else { continue };
            for &to in takers {
                let low = shelf.above[&to];
                // the squares fall by twice this, in the pool and in all pools together
                let gain = (high - low - 1.0) + (total[&from] - total[&to] - 1.0);
                if gain <= found.map_or(1e-9, |(gain, _, _)| gain + 1e-9) {
                    break;
                }
                let left = step.moves.iter().any(|(from, _)| *from == to);
                let far = high.max(-low) > deviation && high - low > 1.0;
                if far && !left && !step.set.contains(&to) {
                    let moved = with(&step.set, from, to);
                    let real: Vec<i32> = moved.iter().copied().filter(|osd| *osd != NONE).collect();
                    let items = replaced(&step.items, from, to);
                    if shelf.domains.allow(&real, &shelf.limits)
                        && applied(&group.raw, &items) == moved
                    {
                        found = Some((gain, from, to));
                        break;
                    }
                }
            }
        }
        let Some((gain, from, to)) = found else { return step };
        step.gain += gain;
        step.moves.push((from, to));
        step.set = with(&step.set, from, to);
        step.items = replaced(&step.items, from, to);
    }
}

/// The set with `from` replaced by `to`.
fn with(set: &[i32], from: i32, to: i32) -> Vec<i32> {
    set.iter().map(|osd| if *osd == from { to } else { *osd }).collect()
}

/// The existing replacements, with `from` now replaced by `to`.
fn replaced(items: &[(i32, i32)], from: i32, to: i32) -> Vec<(i32, i32)> {
    let mut items = items.to_vec();
    match items.iter().position(|item| item.1 == from) {
        // back where CRUSH puts it, so the exception is not needed any more
        Some(at) if items[at].0 == to => {
            items.remove(at);
        }
        Some(at) => items[at].1 = to,
        None => items.push((from, to)),
    }
    items
}

/// The set after replacements, each applied in turn unless its target is already a member.
fn applied(raw: &[i32], items: &[(i32, i32)]) -> Vec<i32> {
    let mut set = raw.to_vec();
    for (from, to) in items {
        if !set.contains(to)
            && let Some(place) = set.iter_mut().find(|osd| **osd == *from)
        {
            *place = *to;
        }
    }
    set
}

/// Upmaps that leave all groups of `after` where they belong in `before`. The groups and their sizes must be the
/// same in both; other pools are left alone.
pub fn stay(before: &ClusterMap, after: &ClusterMap) -> Result<Upmaps, ClusterMapError> {
    let mut upmaps = Upmaps::default();
    let mut work = Workspace::default();
    for pg in after.groups() {
        let pool = &after.pools()[&pg.pool];
        let same = |earlier: &foretell_algorithms::crush::Pool| {
            (earlier.kind, earlier.size, earlier.pg_num) == (pool.kind, pool.size, pool.pg_num)
        };
        if !before.pools().get(&pg.pool).is_some_and(same) {
            continue;
        }
        let (old, new) = (before.mapped(pg, &mut work)?, after.mapped(pg, &mut work)?);
        let alike = |a: &[i32], b: &[i32]| match pool.kind {
            PoolKind::Erasure => a == b,
            PoolKind::Replicated => a.len() == b.len() && a.iter().all(|osd| b.contains(osd)),
        };
        if alike(&old, &new) {
            continue;
        }
        let gone = |osd: &i32| *osd != NONE && after.osd(*osd).is_none_or(|osd| osd.weight == 0);
        if old.iter().any(gone) {
            upmaps.lost.push(pg);
            continue;
        }
        let raw = after.raw(pg, &mut work)?;
        let items = replacements(pool.kind, &raw, &old);
        if !after.upmap.contains_key(&pg) && alike(&applied(&raw, &items), &old) {
            upmaps.items.insert(pg, items);
        } else if old.contains(&NONE) {
            upmaps.lost.push(pg);
        } else {
            upmaps.sets.insert(pg, old);
        }
    }
    Ok(upmaps)
}

/// Replacements that turn `raw` into `wanted`, in an order in which no target is still a member.
fn replacements(kind: PoolKind, raw: &[i32], wanted: &[i32]) -> Vec<(i32, i32)> {
    let mut open: Vec<(i32, i32)> = match kind {
        PoolKind::Erasure => raw
            .iter()
            .copied()
            .zip(wanted.iter().copied())
            .filter(|(from, to)| from != to)
            .collect(),
        PoolKind::Replicated => {
            let leave = raw.iter().copied().filter(|osd| !wanted.contains(osd));
            leave.zip(wanted.iter().copied().filter(|osd| !raw.contains(osd))).collect()
        }
    };
    let mut set = raw.to_vec();
    let mut items = Vec::new();
    while let Some(next) = open.iter().position(|(_, to)| !set.contains(to)) {
        let (from, to) = open.remove(next);
        if let Some(place) = set.iter_mut().find(|osd| **osd == from) {
            *place = to;
        }
        items.push((from, to));
    }
    items
}
