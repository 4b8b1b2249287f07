//! Changes of a cluster by operators, as `PATH=VALUE`.
//!
//! `osd.12=out` (`in`, `down`, `up`), `osd.12.reweight=0.8`, `osd.12.crush_weight=7.3`,
//! `osd.12.primary_affinity=0.5`, `crush.HOST.weight=40` (the devices below share it as they do now),
//! `pool.NAME.pg_num=256`, `pool.NAME.rule=RULE`, `pool.NAME.size=3`, `pool.NAME.encoding=4-of-6`,
//! `node.HOST.count=3` (two more hosts like it).
#![allow(clippy::similar_names, reason = "the words of the domain")]

use foretell_algorithms::crush::{
    ClusterMap, CrushMap, DEFAULT_AFFINITY, MapParts, Osd, Pool, PoolKind, Rule,
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
    let changed = map
        .changed(crush, draft.osds, draft.pools.into_values())
        .map_err(|error| failed(error.to_string()))?;
    for pool in changed.pools().values() {
        fits_its_rule(map, &changed, pool).map_err(&failed)?;
    }
    Ok((changed, draft.inventory))
}

/// Errors if a pool gets a size or a kind that its rule does not place: no rule of the map has that kind and size, or
/// the rule reaches too few failure domains.
fn fits_its_rule(map: &ClusterMap, changed: &ClusterMap, pool: &Pool) -> Result<(), String> {
    let before = map.pools().get(&pool.id);
    if before.is_some_and(|before| before.size == pool.size && before.kind == pool.kind) {
        return Ok(());
    }
    let kind = pool.kind.number();
    let what = match pool.kind {
        PoolKind::Replicated => format!("{} copies", pool.size),
        PoolKind::Erasure => format!("{} shards", pool.size),
    };
    let rules = || changed.crush.parts().rules.iter();
    let masked = rules().any(|rule| rule.mask.is_some());
    let fits = |rule: &&Rule| {
        let takes =
            rule.mask.is_none_or(|mask| (mask.min_size..=mask.max_size).contains(&pool.size));
        rule.kind == kind && (takes || !masked)
    };
    if let Some(rule) = changed.rule_of(pool).filter(|rule| rule.kind == kind) {
        let room = room(changed, rule, pool.size);
        if room.members >= pool.size as usize {
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
                    crate::OsdFacts { host: Some(fresh.clone()), used_bytes: Some(0), ..facts },
                );
            }
        }
        Ok(())
    }

    fn pool(&mut self, name: &str, setting: &str, value: &str) -> Result<(), String> {
        let known: Vec<&str> = self.pools.values().map(|pool| pool.name.as_str()).collect();
        let nearest = did_you_mean(name, known);
        let pool = self.pools.values_mut().find(|pool| pool.name == name);
        let pool = pool.ok_or_else(|| format!("there is no pool `{name}`{nearest}"))?;
        let number = |least: u32| match value.parse::<u32>() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(format!("found `{value}`, expected a whole number from {least}")),
        };
        match setting {
            "pg_num" => {
                pool.pg_num = number(1)?;
                pool.pgp_num = pool.pg_num;
            }
            "pgp_num" => pool.pgp_num = number(1)?,
            "size" if pool.kind == PoolKind::Replicated => {
                let before = std::mem::replace(&mut pool.size, number(1)?);
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
                let facts = self.inventory.pools.entry(pool.id).or_default();
                facts.data_chunks = (data > 1).then_some(data);
                facts.allocated_bytes = facts
                    .stored_bytes
                    .map(|stored| (stored as f64 * f64::from(all) / f64::from(data)) as u64);
            }
            other => {
                let known = ["pg_num", "pgp_num", "size", "rule", "encoding"];
                let nearest = did_you_mean(other, known);
                return Err(format!(
                    "a pool has `pg_num`, `pgp_num`, `size`, `rule` and `encoding`, not `{other}`{nearest}"
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
