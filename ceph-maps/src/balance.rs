//! Upmaps: exceptions that even out a cluster, or that keep data where they are.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, ClusterMapError, NONE, Pg, PoolKind, Workspace};

use crate::plan::{Domains, Limit, ideal, limits, reached};

/// Changes of exceptions, as commands of `ceph`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Upmaps {
    /// Replacements that a group has from now on; none: it loses those it has.
    pub items: BTreeMap<Pg, Vec<(i32, i32)>>,
    /// Whole sets, where replacements cannot give them.
    pub sets: BTreeMap<Pg, Vec<i32>>,
    /// Groups that no exception can keep: an OSD is out, or gone.
    pub lost: Vec<Pg>,
}

impl Upmaps {
    /// How many groups get or lose exceptions.
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

    /// The map with these exceptions.
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

/// One pool as the balancer sees it.
struct Shelf {
    groups: Vec<Group>,
    limits: Vec<Limit>,
    /// How far each OSD that the rule reaches is above its share, in copies or chunks.
    above: BTreeMap<i32, f64>,
}

impl Shelf {
    /// How many moves one at a time it takes at the least until no OSD is further from its share.
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

/// A small set of upmaps that evens out each pool and the whole: for at most `most` groups, each the best
/// there is at its time, until no OSD is further than `deviation` copies or chunks from its share of a pool
/// (and beyond, as long as three groups are touched for four single moves that are needed), or nothing helps any
/// more. Groups that are touched already come first: to replace more of their members costs no upmap. Pools
/// in which all OSDs are that near are left alone. The limits are those of `osdmaptool --upmap`.
///
/// What counts is the sum of squared distances from the share by weight, per pool and of all pools
/// together. Only OSDs that are up and in take more; the rule's limits hold.
pub fn balance(map: &ClusterMap, most: usize, deviation: f64) -> Result<Upmaps, ClusterMapError> {
    let domains = Domains::new(map);
    let mut work = Workspace::default();
    let mut shelves = Vec::new();
    let mut total: BTreeMap<i32, f64> = BTreeMap::new();
    for pool in map.pools().values() {
        let Some(rule) = map.rule_of(pool) else { continue };
        let takers = reached(map, rule);
        let mut above: BTreeMap<i32, f64> = BTreeMap::new();
        let mut groups = Vec::new();
        let mut members = 0.0;
        for seed in 0..pool.pg_num {
            let pg = Pg { pool: pool.id, seed };
            let set = map.mapped(pg, &mut work)?;
            for osd in set.iter().filter(|osd| takers.contains_key(osd)) {
                *above.entry(*osd).or_default() += 1.0;
                members += 1.0;
            }
            // whole sets are somebody's decision
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
        shelves.push(Shelf { groups, limits: limits(rule, pool.size), above });
    }
    let mut upmaps = Upmaps::default();
    // Groups that may be touched beyond the deviation: three quarters of the single moves that it takes at
    // the least to come so far. A balancer that moves one member of a group at a time touches more, so this
    // one is evener with fewer.
    let needed: f64 = shelves.iter().map(|shelf| shelf.needed(deviation)).sum::<f64>() * 0.75;
    shelves.retain(|shelf| shelf.needed(deviation) > 0.0);
    let mut aim = deviation;
    while upmaps.len() < most {
        // a group that has exceptions costs none to replace further: those first
        let touched = |pg: &Pg| upmaps.items.contains_key(pg);
        let again =
            if aim > 0.0 { best(map, &domains, &shelves, &total, aim, touched) } else { None };
        let step = again.or_else(|| best(map, &domains, &shelves, &total, aim, |_| true));
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

/// What the balancer does to one group.
struct Step {
    gain: f64,
    shelf: usize,
    group: usize,
    moves: Vec<(i32, i32)>,
    set: Vec<i32>,
    items: Vec<(i32, i32)>,
}

/// The group whose members' replacement evens out most.
fn best(
    map: &ClusterMap,
    domains: &Domains,
    shelves: &[Shelf],
    total: &BTreeMap<i32, f64>,
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
            // what the group could gain at the most, were there no rule
            let gains = group.set.iter().filter_map(|osd| shelf.above.get(osd).map(|_| low(*osd)));
            let most: f64 = gains.map(|high| (high - lowest - 2.0).max(0.0)).sum();
            if most <= best.as_ref().map_or(1e-9, |best| best.gain + 1e-9) {
                continue;
            }
            let step = replacing(domains, shelf, total, &takers, deviation, group);
            if step.gain > best.as_ref().map_or(1e-9, |best| best.gain + 1e-9) {
                best = Some(Step { shelf: at, group: number, ..step });
            }
        }
    }
    best
}

/// Replaces members of a group as long as that evens out, the best replacement first.
fn replacing(
    domains: &Domains,
    shelf: &Shelf,
    total: &BTreeMap<i32, f64>,
    takers: &[i32],
    deviation: f64,
    group: &Group,
) -> Step {
    let (set, items) = (group.set.clone(), group.items.clone());
    let mut step = Step { gain: 0.0, shelf: 0, group: 0, moves: Vec::new(), set, items };
    loop {
        let mut found: Option<(f64, i32, i32)> = None;
        for &from in &step.set {
            // who came a moment ago stays
            let came = step.moves.iter().any(|(_, to)| *to == from);
            let Some(high) = shelf.above.get(&from).copied().filter(|_| !came) else { continue };
            for &to in takers {
                let low = shelf.above[&to];
                // the squares become smaller by twice this, in the pool and in all
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
                    if domains.allow(&real, &shelf.limits) && applied(&group.raw, &items) == moved {
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

/// A set with `from` replaced by `to`.
fn with(set: &[i32], from: i32, to: i32) -> Vec<i32> {
    set.iter().map(|osd| if *osd == from { to } else { *osd }).collect()
}

/// Replacements with `from` replaced by `to`, besides those there are.
fn replaced(items: &[(i32, i32)], from: i32, to: i32) -> Vec<(i32, i32)> {
    let mut items = items.to_vec();
    match items.iter().position(|item| item.1 == from) {
        // back where CRUSH puts it: no exception any more
        Some(at) if items[at].0 == to => {
            items.remove(at);
        }
        Some(at) => items[at].1 = to,
        None => items.push((from, to)),
    }
    items
}

/// A set after replacements: each in turn, unless its target is a member already.
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

/// Upmaps that leave all groups of `after` where they belong in `before`. Groups and sizes must be the
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
