//! Changes of a cluster by operators, as `PATH=VALUE`.
//!
//! `osd.12=out` (`in`, `down`, `up`), `osd.12.reweight=0.8`, `osd.12.crush_weight=7.3`,
//! `osd.12.primary_affinity=0.5`, `crush.HOST.weight=40` (the devices below share it as they do now),
//! `pool.NAME.pg_num=256`, `pool.NAME.pgp_num=256`, `pool.NAME.rule=RULE`, `pool.NAME.size=3`, `pool.NAME.min_size=2`,
//! `pool.NAME.encoding=4-of-6`, `node.HOST.count=3` (two more hosts like it).
#![allow(clippy::similar_names, reason = "the words of the domain")]

use foretell_algorithms::crush::{
    ClusterMap, CrushMap, DEFAULT_AFFINITY, MapParts, Osd, Pg, Pool, PoolKind, Rule, stable_mod,
};
use foretell_sorted::SortedMap;
use thiserror::Error;

use crate::inventory::Inventory;
use crate::promise::room;
use crate::text::{did_you_mean, fixed};

/// The reason why a change cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the change `{change}`: {what}")]
pub struct ChangeError {
    change: String,
    what: String,
}

/// An unchecked map of a cluster, to which changes are applied.
struct Draft {
    crush: MapParts,
    osds: Vec<Option<Osd>>,
    pools: SortedMap<i64, Pool>,
    inventory: Inventory,
}

/// The cluster after all `changes`, in order, and its inventory.
pub fn change(
    map: &ClusterMap,
    inventory: &Inventory,
    changes: &[String],
) -> Result<(ClusterMap, Inventory), ChangeError> {
    let mut draft = Draft {
        crush: map.crush.parts().clone(),
        osds: map.osds().to_vec(),
        pools: map.pools().clone(),
        inventory: inventory.clone(),
    };
    let mut last = "";
    for step in changes {
        draft.make(step).map_err(|what| ChangeError { change: step.clone(), what })?;
        last = step;
    }
    let failed = |what: String| ChangeError { change: last.to_owned(), what };
    let crush = CrushMap::new(draft.crush).map_err(|error| failed(error.to_string()))?;
    let mut changed = map
        .changed(crush, draft.osds, draft.pools.into_values())
        .map_err(|error| failed(error.to_string()))?;
    for pool in changed.pools().values() {
        fits_its_rule(map, &changed, pool).map_err(&failed)?;
    }
    drop_upmaps_of_merging(map, &mut changed);
    Ok((changed, draft.inventory))
}

/// Removes the exceptions of groups that merge, as Ceph's monitors do.
fn drop_upmaps_of_merging(before: &ClusterMap, changed: &mut ClusterMap) {
    let mut merging = Vec::new();
    for (id, pool) in changed.pools() {
        let Some(earlier) = before.pools().get(id) else { continue };
        for seed in pool.pg_num..earlier.pg_num {
            let target = Pg { pool: *id, seed: stable_mod(seed, pool.pg_num) };
            merging.extend([Pg { pool: *id, seed }, target]);
        }
    }
    for pg in merging {
        changed.upmap.remove(&pg);
        changed.upmap_items.remove(&pg);
        changed.upmap_primaries.remove(&pg);
    }
}

/// Errors if a pool gets a size, a kind or a rule with which it cannot be placed: no rule of the map has that kind and
/// size, or the rule reaches too few failure domains. Errors for every pool whose rule reaches no OSD any more.
fn fits_its_rule(map: &ClusterMap, changed: &ClusterMap, pool: &Pool) -> Result<(), String> {
    let before = map.pools().get(&pool.id);
    let is_as_before = before.is_some_and(|before| {
        (before.size, before.kind, before.rule) == (pool.size, pool.kind, pool.rule)
    });
    let what = match pool.kind {
        PoolKind::Replicated => format!("{} copies", pool.size),
        PoolKind::Erasure => format!("{} shards", pool.size),
    };
    if let Some(rule) = changed.rule_of(pool).filter(|rule| rule.is_for(pool.kind)) {
        let room = room(changed, rule, pool.size);
        let reached =
            || before.and_then(|before| Some(self::room(map, map.rule_of(before)?, before.size)));
        if room.members == 0 && (!is_as_before || reached().is_some_and(|room| room.members > 0)) {
            return Err(format!(
                "the rule of pool `{}` does not place {what}: `{}` reaches no OSD that is in",
                pool.name, rule.name
            ));
        }
        if is_as_before || room.members >= pool.size as usize {
            return Ok(());
        }
        let types = &changed.crush.parts().types;
        let domain = types.get(&room.kind).map_or("bucket", String::as_str);
        let plural = if room.buckets == 1 { "" } else { "s" };
        return Err(format!(
            "the rule of pool `{}` does not place {what}: `{}` reaches {} {domain}{plural}, with at most {} in each: \
             room for {}; expected room for {}",
            pool.name, rule.name, room.buckets, room.each, room.members, pool.size
        ));
    }
    if is_as_before {
        return Ok(());
    }
    if let Some((rule, what)) =
        changed.rule_named_by(pool).and_then(|rule| Some((rule, rule.unknown.as_ref()?)))
    {
        return Err(format!(
            "the rule `{}` of pool `{}` cannot be used: {what}",
            rule.name, pool.name
        ));
    }
    let rules = || changed.crush.parts().rules.iter();
    let masked = rules().any(|rule| rule.mask.is_some());
    let fits = |rule: &&Rule| {
        let takes =
            rule.mask.is_none_or(|mask| (mask.min_size..=mask.max_size).contains(&pool.size));
        rule.is_for(pool.kind) && rule.unknown.is_none() && (takes || !masked)
    };
    let others: Vec<&str> = rules().filter(fits).map(|rule| rule.name.as_str()).collect();
    let help = match others.as_slice() {
        [] => "the map has no rule for that".to_owned(),
        names => format!("rules for that are {}: add `pool.{}.rule=`", names.join(", "), pool.name),
    };
    Err(format!("the rule of pool `{}` does not place {what}; {help}", pool.name))
}

impl Draft {
    fn make(&mut self, change: &str) -> Result<(), String> {
        let (path, value) =
            change.split_once('=').ok_or("expected PATH=VALUE, as `osd.12.reweight=0.8`")?;
        let (path, value) = (path.trim(), value.trim());
        let (kind, rest) = path.split_once('.').unwrap_or((path, ""));
        // names may contain dots; settings do not
        match kind {
            "osd" => self.osd(rest, value),
            "pool" => {
                let (name, setting) =
                    rest.rsplit_once('.').ok_or("expected `pool.NAME.SETTING`")?;
                self.pool(name, setting, value)
            }
            "crush" => match rest.rsplit_once('.') {
                Some((name, "weight")) => self.weight(name, value),
                _ => Err("expected `crush.NAME.weight`".to_owned()),
            },
            "node" => match rest.rsplit_once('.') {
                Some((name, "count")) => self.count(name, value),
                _ => Err("expected `node.HOST.count`".to_owned()),
            },
            _ => {
                let nearest = did_you_mean(kind, ["osd", "pool", "crush", "node"]);
                Err(format!(
                    "expected `osd`, `pool`, `crush` or `node` before the first dot{nearest}"
                ))
            }
        }
    }

    fn osd(&mut self, rest: &str, value: &str) -> Result<(), String> {
        let (number, setting) = match rest.split_once('.') {
            Some((number, setting)) => (number, Some(setting)),
            None => (rest, None),
        };
        let number: usize =
            number.parse().map_err(|_| format!("found `{number}`, expected an OSD's number"))?;
        let there = self.osds.get_mut(number).and_then(Option::as_mut);
        let osd = there.ok_or_else(|| format!("there is no osd.{number}"))?;
        let share = || match value.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok((share * 65_536.0) as u32),
            _ => Err(format!("found `{value}`, expected 0 to 1")),
        };
        match (setting, value) {
            (None, "out") => osd.weight = 0,
            (None, "in") => osd.weight = 0x1_0000,
            (None, "down") => osd.up = false,
            (None, "up") => osd.up = true,
            (None, _) => {
                return Err(format!("found `{value}`, expected `out`, `in`, `down` or `up`"));
            }
            (Some("reweight"), _) => osd.weight = share()?,
            (Some("primary_affinity"), _) => osd.affinity = share()?,
            (Some("crush_weight" | "weight"), _) => {
                if self.crush.set_weight((number as u32).cast_signed(), weight(value)?) == 0 {
                    return Err(format!("osd.{number} is in no bucket"));
                }
            }
            (Some(other), _) => {
                let known = ["reweight", "primary_affinity", "crush_weight"];
                let nearest = did_you_mean(other, known);
                return Err(format!(
                    "an OSD has `reweight`, `primary_affinity` and `crush_weight`, not `{other}`{nearest}"
                ));
            }
        }
        Ok(())
    }

    fn weight(&mut self, name: &str, value: &str) -> Result<(), String> {
        let weight = weight(value)?;
        let bucket = self.bucket(name)?;
        match self.crush.scale(bucket, weight) {
            0 => Err(format!("there are no devices below `{name}`")),
            _ => Ok(()),
        }
    }

    fn bucket(&self, name: &str) -> Result<i32, String> {
        let found = self.crush.named(name).map(|bucket| bucket.id);
        found.ok_or_else(|| {
            let known = self.crush.buckets.iter().map(|bucket| bucket.name.as_str());
            format!("the CRUSH map has no bucket `{name}`{}", did_you_mean(name, known))
        })
    }

    fn count(&mut self, name: &str, value: &str) -> Result<(), String> {
        let count: usize = match value.parse() {
            Ok(count) if (1..=10_000).contains(&count) => count,
            _ => return Err(format!("found `{value}`, expected 1 to 10000 hosts")),
        };
        let like = self.bucket(name)?;
        self.is_host(like, name)?;
        for number in 1..count {
            let first = (self.osds.len() as u32).cast_signed();
            let mut fresh = format!("{name}-{}", number + 1);
            while self.crush.named(&fresh).is_some() {
                fresh.push('+');
            }
            let copies = self.crush.add_like(like, &fresh, first);
            if copies.is_empty() {
                return Err(format!("`{name}` holds no devices; expected a host"));
            }
            for (old, new) in copies {
                let osd = Osd { up: true, weight: 0x1_0000, affinity: DEFAULT_AFFINITY };
                self.osds.resize(new as usize + 1, None);
                self.osds[new as usize] = Some(osd);
                let facts = self.inventory.osds.get(&old).cloned().unwrap_or_default();
                self.inventory.osds.insert(
                    new,
                    crate::OsdFacts { host: Some(fresh.clone()), used_bytes: None, ..facts },
                );
            }
        }
        Ok(())
    }

    /// Errors if a bucket is not a machine: if the map has hosts, and it is none.
    fn is_host(&self, like: i32, name: &str) -> Result<(), String> {
        let types = &self.crush.types;
        let host = types.iter().find(|(_, kind)| *kind == "host").map(|(number, _)| *number);
        let kind = self.crush.named(name).map_or(0, |bucket| bucket.kind);
        let has_hosts = self.crush.buckets.iter().any(|bucket| Some(bucket.kind) == host);
        if has_hosts && Some(kind) != host {
            let kind = types.get(&kind).map_or("bucket", String::as_str);
            let what = format!("`{name}` is a {kind}; expected a host");
            let above = self.crush.buckets.iter().find(|bucket| {
                Some(bucket.kind) == host
                    && !bucket.is_shadow()
                    && bucket.items.iter().any(|item| item.id == like)
            });
            return Err(
                above.map_or(what.clone(), |host| format!("{what}, such as `{}`", host.name))
            );
        }
        Ok(())
    }

    fn pool(&mut self, name: &str, setting: &str, value: &str) -> Result<(), String> {
        let known: Vec<&str> = self.pools.values().map(|pool| pool.name.as_str()).collect();
        let nearest = did_you_mean(name, known);
        let alike: Vec<String> = self
            .pools
            .values()
            .filter(|pool| pool.name == name)
            .map(|pool| pool.id.to_string())
            .collect();
        if alike.len() > 1 {
            return Err(format!("pools {} are all named `{name}`", alike.join(", ")));
        }
        let pool = self.pools.values_mut().find(|pool| pool.name == name);
        let pool = pool.ok_or_else(|| format!("there is no pool `{name}`{nearest}"))?;
        let number = |least: u32| match value.parse::<u32>() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(format!("found `{value}`, expected a whole number from {least}")),
        };
        match setting {
            "pg_num" => {
                let count = number(1)?;
                // as in Ceph since Nautilus: `pgp_num` follows, unless it was set to another value
                let follows = pool.pgp_num >= pool.pg_num;
                pool.pgp_num = if follows { count } else { pool.pgp_num.min(count) };
                pool.pg_num = count;
            }
            "pgp_num" => match number(1)? {
                count if count <= pool.pg_num => pool.pgp_num = count,
                count => {
                    let most = pool.pg_num;
                    return Err(format!("found `{count}`, expected at most `pg_num`, {most}"));
                }
            },
            "min_size" => match number(1)? {
                count if count <= pool.size => pool.min_size = count,
                count => {
                    let most = pool.size;
                    return Err(format!(
                        "found `{count}`, expected at most the pool's size, {most}"
                    ));
                }
            },
            "size" if pool.kind == PoolKind::Replicated => {
                let before = std::mem::replace(&mut pool.size, number(1)?);
                // as in Ceph: a new size brings its usual `min_size`
                pool.min_size = Pool::usual_min_size(pool.kind, pool.size, 1);
                if let Some(facts) = self.inventory.pools.get_mut(&pool.id) {
                    // each copy still takes as much space as before
                    let share = f64::from(pool.size) / f64::from(before.max(1));
                    facts.allocated_bytes =
                        facts.allocated_bytes.map(|bytes| (bytes as f64 * share) as u64);
                }
            }
            "size" => {
                return Err(
                    "an erasure-coded pool keeps its size; expected a replicated one".to_owned()
                );
            }
            "rule" => {
                let rules = &self.crush.rules;
                let rule = rules
                    .iter()
                    .find(|rule| rule.name == value || rule.id.to_string() == value)
                    .ok_or_else(|| {
                        let known = rules.iter().map(|rule| rule.name.as_str());
                        format!("there is no rule `{value}`{}", did_you_mean(value, known))
                    })?;
                pool.rule = rule.mask.map_or(rule.id, |mask| mask.ruleset);
            }
            "encoding" => {
                let (data, all) = value
                    .split_once("-of-")
                    .and_then(|(m, n)| Some((m.parse::<u32>().ok()?, n.parse::<u32>().ok()?)))
                    .filter(|(m, n)| *m >= 1 && m <= n && *n <= 255)
                    .ok_or_else(|| {
                        format!("found `{value}`, expected m-of-n as `4-of-6`, `1-of-3`")
                    })?;
                pool.kind = if data == 1 { PoolKind::Replicated } else { PoolKind::Erasure };
                pool.size = all;
                pool.min_size = Pool::usual_min_size(pool.kind, all, data);
                let facts = self.inventory.pools.entry(pool.id).or_default();
                facts.data_chunks = (data > 1).then_some(data);
                facts.allocated_bytes = facts
                    .stored_bytes
                    .map(|stored| (stored as f64 * f64::from(all) / f64::from(data)) as u64);
            }
            other => {
                let known = ["pg_num", "pgp_num", "size", "min_size", "rule", "encoding"];
                let nearest = did_you_mean(other, known);
                return Err(format!(
                    "a pool has `pg_num`, `pgp_num`, `size`, `min_size`, `rule` and `encoding`, not `{other}`{nearest}"
                ));
            }
        }
        Ok(())
    }
}

/// A CRUSH weight: a decimal number of TiB.
fn weight(value: &str) -> Result<u32, String> {
    let number: f64 = value.parse().map_err(|_| format!("found `{value}`, expected a weight"))?;
    fixed(number, "the weight")
}
