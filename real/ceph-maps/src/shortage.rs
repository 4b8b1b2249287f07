//! Groups with fewer copies or shards than their pool wants, and the reason.

use foretell_algorithms::crush::{
    ClusterMap, ClusterMapError, NONE, Placed, Pool, Rule, Setting, Step, Workspace,
};
use foretell_sorted::SortedMap;

use crate::promise::room;

/// The groups of a pool that lack copies or shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Groups with fewer members than the pool wants.
    pub groups: usize,
    /// Of these, groups with fewer than `min_size`: they do not serve now.
    pub below_min_size: usize,
    /// Why they lack members.
    pub why: String,
}

/// The pools with groups that lack copies or shards, by number. `placed`: in the order of the map's groups.
pub fn shortages(
    map: &ClusterMap,
    placed: &[Placed],
) -> Result<SortedMap<i64, Shortage>, ClusterMapError> {
    let mut found: SortedMap<i64, Shortage> = SortedMap::new();
    let mut work = Workspace::default();
    // by pool: groups for which the rule finds too few, and the most that it finds for one of these
    let mut unmet: SortedMap<i64, (usize, usize)> = SortedMap::new();
    // by pool: groups that lack nothing but data, which are still on their way
    let mut filling: SortedMap<i64, usize> = SortedMap::new();
    for (pg, placed) in map.groups().zip(placed) {
        let pool = &map.pools()[&pg.pool];
        let (size, least) = (pool.size as usize, pool.min_size as usize);
        let members = count(&placed.acting);
        if members >= size.max(least) {
            continue;
        }
        let none = Shortage { groups: 0, below_min_size: 0, why: String::new() };
        let shortage = found.entry(pool.id).or_insert(none);
        shortage.groups += 1;
        shortage.below_min_size += usize::from(members < least);
        *filling.entry(pool.id).or_default() += usize::from(count(&placed.up) >= size);
        let mapped = count(&map.mapped(pg, &mut work)?);
        if mapped < size {
            let (groups, most) = unmet.entry(pool.id).or_default();
            (*groups, *most) = (*groups + 1, mapped.max(*most));
        }
    }
    for (id, shortage) in &mut found {
        let (groups, most) = unmet.get(id).copied().unwrap_or_default();
        shortage.why = if filling.get(id) == Some(&shortage.groups)
            && map.pools()[id].min_size <= map.pools()[id].size
        {
            "their data are still on the way to OSDs that belong to them (`pg_temp`)".to_owned()
        } else {
            why(map, &map.pools()[id], shortage.groups, groups, most)
        };
    }
    Ok(found)
}

fn count(set: &[i32]) -> usize {
    set.iter().filter(|osd| **osd != NONE).count()
}

/// The reason for a pool's shortage: `unmet` of its `groups` get too few members from the rule, at most `most`.
fn why(map: &ClusterMap, pool: &Pool, groups: usize, unmet: usize, most: usize) -> String {
    if pool.min_size > pool.size {
        return format!("`min_size` is {}, and `size` {}", pool.min_size, pool.size);
    }
    if unmet == 0 {
        return "OSDs are down".to_owned();
    }
    let down = if unmet < groups { "; other groups lack OSDs that are down" } else { "" };
    let Some(rule) = map.rule_of(pool) else {
        return no_rule(map, pool);
    };
    format!("{}{down}", limit_of(map, pool, rule, most))
}

/// Why a pool has no rule.
pub(crate) fn no_rule(map: &ClusterMap, pool: &Pool) -> String {
    match map.rule_named_by(pool).and_then(|rule| Some((rule, rule.unknown.as_ref()?))) {
        Some((rule, what)) => format!("its rule `{}` cannot be used: {what}", rule.name),
        None => format!("no rule {} allows {} replicas", pool.rule, pool.size),
    }
}

fn limit_of(map: &ClusterMap, pool: &Pool, rule: &Rule, most: usize) -> String {
    let types = &map.crush.parts().types;
    let kind_of = |kind: &u16| types.get(kind).map_or("bucket", String::as_str);
    let room = room(map, rule, pool.size);
    if room.members == 0 {
        return "the rule reaches no OSD that is in".to_owned();
    }
    if room.members < pool.size as usize {
        let plural = if room.buckets == 1 { "" } else { "s" };
        return format!(
            "the rule reaches {} {}{plural}, with at most {} in each",
            room.buckets,
            kind_of(&room.kind),
            room.each
        );
    }
    let tunables = map.crush.parts().tunables;
    let mut tries = if rule.is_msr() { tunables.msr_descents } else { tunables.choose_total_tries };
    let mut kind = 0;
    for step in &rule.steps {
        match *step {
            Step::Set(Setting::ChooseTries, value) if value > 0 => tries = value.cast_unsigned(),
            Step::Set(Setting::MsrDescents, value) => tries = value.cast_unsigned(),
            Step::Choose { kind: chosen, .. } | Step::ChooseMsr { kind: chosen, .. } => {
                kind = chosen;
            }
            _ => {}
        }
    }
    format!("the rule finds no {} in {tries} tries", nth(most + 1, kind_of(&kind)))
}

/// The member of a group that is missing: `third host`.
fn nth(number: usize, kind: &str) -> String {
    let words = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
        "tenth",
    ];
    let word = number.checked_sub(1).and_then(|at| words.get(at));
    word.map_or_else(|| format!("{kind} number {number}"), |word| format!("{word} {kind}"))
}
