//! An OSD map as JSON: `ceph osd dump -f json`, and a part of a report.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{
    ClusterMap, ClusterMapError, CrushMap, MAX_ITEMS, Osd, Pg, Pool, PoolKind,
};
use foretell_input::shown;
use foretell_sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::inventory::{OsdFacts, PoolFacts};
use crate::text::fixed;

#[derive(Deserialize, Serialize)]
pub(crate) struct OsdMapJson {
    max_osd: Option<usize>,
    pools: Vec<PoolJson>,
    osds: Vec<OsdJson>,
    #[serde(default)]
    pg_upmap: Vec<SetJson>,
    #[serde(default)]
    pg_upmap_items: Vec<ItemsJson>,
    #[serde(default)]
    pg_upmap_primaries: Vec<LeaderJson>,
    #[serde(default)]
    pg_temp: Vec<SetJson>,
    #[serde(default)]
    primary_temp: Vec<PrimaryJson>,
    #[serde(default)]
    erasure_code_profiles: SortedMap<String, SortedMap<String, String>>,
    full_ratio: Option<f64>,
    backfillfull_ratio: Option<f64>,
    nearfull_ratio: Option<f64>,
}

#[derive(Deserialize, Serialize)]
struct PoolJson {
    pool: i64,
    pool_name: String,
    flags: Option<u64>,
    flags_names: Option<String>,
    #[serde(rename = "type")]
    kind: u32,
    size: u32,
    min_size: Option<u32>,
    // its name before Luminous
    #[serde(alias = "crush_ruleset")]
    crush_rule: u32,
    pg_num: u32,
    pg_placement_num: u32,
    pg_num_target: Option<u32>,
    pg_placement_num_target: Option<u32>,
    #[serde(default)]
    erasure_code_profile: String,
    stripe_width: Option<u64>,
    tier_of: Option<i64>,
}

#[derive(Deserialize, Serialize)]
struct OsdJson {
    osd: usize,
    up: u32,
    weight: f64,
    primary_affinity: Option<f64>,
    // addresses are not copied
    #[serde(skip_serializing)]
    public_addr: Option<String>,
    #[serde(skip_serializing)]
    cluster_addr: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct SetJson {
    pgid: String,
    osds: Vec<i32>,
}

#[derive(Deserialize, Serialize)]
struct ItemsJson {
    pgid: String,
    mappings: Vec<MappingJson>,
}

#[derive(Deserialize, Serialize)]
struct MappingJson {
    from: i32,
    to: i32,
}

#[derive(Deserialize, Serialize)]
struct LeaderJson {
    pgid: String,
    primary_osd: i32,
}

#[derive(Deserialize, Serialize)]
struct PrimaryJson {
    pgid: String,
    osd: i32,
}

/// Errors: of a value, or of the map as a whole.
pub(crate) enum Wrong {
    Value(String),
    Map(ClusterMapError),
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self::Value(what)
    }
}

impl OsdMapJson {
    /// The cluster's map over `crush`. Adds what is left out to `notes`.
    pub(crate) fn map(
        &self,
        crush: CrushMap,
        notes: &mut Vec<String>,
    ) -> Result<ClusterMap, Wrong> {
        self.check_ratios(notes)?;
        let last = self.osds.iter().map(|osd| osd.osd + 1).max().unwrap_or(0);
        let count = self.max_osd.unwrap_or(0).max(last);
        if count > MAX_ITEMS {
            return Err(Wrong::Map(ClusterMapError::Osds(count)));
        }
        let mut osds = vec![None; count];
        for osd in &self.osds {
            let number = osd.osd;
            if osds[number].is_some() {
                return Err(format!("osd.{number} occurs twice in `osds`").into());
            }
            let weight = fixed(osd.weight, &format!("the weight of osd.{number}"))?;
            let affinity = osd.primary_affinity.unwrap_or(1.0);
            let affinity = fixed(affinity, &format!("the primary affinity of osd.{number}"))?;
            osds[number] = Some(Osd { up: osd.up > 0, weight, affinity });
        }
        let mut pools: Vec<Pool> = Vec::new();
        let mut names: BTreeMap<i64, String> = BTreeMap::new();
        for pool in &self.pools {
            let data_chunks = self.number_in_profile(pool, "k");
            let Some(pool) = pool.pool(data_chunks, notes) else { continue };
            if let Some(first) = names.insert(pool.id, pool.name.clone()) {
                let second = &pool.name;
                return Err(format!(
                    "pools `{first}` and `{second}` both have the number {}",
                    pool.id
                )
                .into());
            }
            pools.push(pool);
        }
        notes.extend(self.pools.iter().filter_map(|pool| self.differs_from_profile(pool)));
        let mut map = ClusterMap::new(crush, osds, pools).map_err(Wrong::Map)?;
        map.upmap = sets(&self.pg_upmap)?;
        map.temp = sets(&self.pg_temp)?;
        for items in &self.pg_upmap_items {
            let mappings = items.mappings.iter().map(|item| (item.from, item.to)).collect();
            map.upmap_items.insert(group(&items.pgid)?, mappings);
        }
        for leader in &self.pg_upmap_primaries {
            map.upmap_primaries.insert(group(&leader.pgid)?, leader.primary_osd);
        }
        for primary in &self.primary_temp {
            map.primary_temp.insert(group(&primary.pgid)?, primary.osd);
        }
        Ok(map)
    }

    /// The facts about each pool besides the placement of its groups.
    pub(crate) fn pool_facts(&self) -> SortedMap<i64, PoolFacts> {
        let facts = |pool: &PoolJson| PoolFacts {
            data_chunks: self.number_in_profile(pool, "k"),
            stripe_bytes: pool.stripe_width.filter(|width| *width > 0),
            tier_of: pool.tier_of.filter(|of| *of >= 0),
            ..PoolFacts::default()
        };
        self.pools.iter().map(|pool| (pool.pool, facts(pool))).collect()
    }

    /// A number in the profile of an erasure-coded pool.
    fn number_in_profile(&self, pool: &PoolJson, key: &str) -> Option<u32> {
        let is_coded = pool.kind == PoolKind::Erasure.number();
        let profile = self.erasure_code_profiles.get(&pool.erasure_code_profile);
        profile.filter(|_| is_coded)?.get(key)?.parse().ok()
    }

    /// A note if an erasure-coded pool has another number of shards than its profile.
    fn differs_from_profile(&self, pool: &PoolJson) -> Option<String> {
        let data = self.number_in_profile(pool, "k")?;
        let coding = self.number_in_profile(pool, "m")?;
        // each group of `l` shards has one more: the code `lrc`
        let local = self.number_in_profile(pool, "l").filter(|l| *l > 0);
        let shards = data.saturating_add(coding);
        let shards = local.map_or(shards, |local| shards.saturating_add(shards / local));
        (shards != pool.size).then(|| {
            format!(
                "pool `{}` has the size {}, and its profile `{}` has {shards} shards: the pool's size counts, and \
                 {data} shards hold data",
                pool.pool_name, pool.size, pool.erasure_code_profile
            )
        })
    }

    /// The fill level above which an OSD accepts no writes. Ceph writes 0 where none is set.
    pub(crate) fn full_ratio(&self) -> Option<f64> {
        self.full_ratio.filter(|ratio| *ratio > 0.0)
    }

    /// The fill level above which an OSD warns.
    pub(crate) fn nearfull_ratio(&self) -> Option<f64> {
        self.nearfull_ratio.filter(|ratio| *ratio > 0.0)
    }

    /// Errors if a fill level is none. Notes if they are not in order: an OSD should warn, then take no backfill, then no
    /// writes. (Ceph warns, too: `OSD_OUT_OF_ORDER_FULL`.)
    fn check_ratios(&self, notes: &mut Vec<String>) -> Result<(), String> {
        let ratios = [
            ("nearfull_ratio", self.nearfull_ratio),
            ("backfillfull_ratio", self.backfillfull_ratio),
            ("full_ratio", self.full_ratio),
        ];
        let mut least: Option<(&str, f64)> = None;
        for (name, ratio) in ratios {
            let Some(ratio) = ratio else { continue };
            if !(0.0..=1.0).contains(&ratio) {
                return Err(format!("`{name}` is {}; expected 0 to 1", shown(ratio)));
            }
            if ratio <= 0.0 {
                continue;
            }
            if let Some((lower, least)) = least.filter(|(_, least)| ratio < *least) {
                notes.push(format!(
                    "`{name}` is {ratio}, and `{lower}` is {least}; usual are `nearfull_ratio`, `backfillfull_ratio` \
                     and `full_ratio` in ascending order"
                ));
            }
            least = Some((name, ratio));
        }
        Ok(())
    }

    /// Whether most OSDs with known addresses have another one for messages to each other.
    pub(crate) fn has_cluster_network(&self) -> bool {
        let (mut differ, mut known) = (0, 0);
        for osd in &self.osds {
            let public = osd.public_addr.as_deref().and_then(host_of);
            let cluster = osd.cluster_addr.as_deref().and_then(host_of);
            let Some((public, cluster)) = public.zip(cluster) else { continue };
            known += 1;
            differ += usize::from(public != cluster);
        }
        2 * differ > known
    }

    /// The OSDs that exist, without any further facts.
    pub(crate) fn osd_facts(&self) -> SortedMap<i32, OsdFacts> {
        self.osds.iter().map(|osd| ((osd.osd as u32).cast_signed(), OsdFacts::default())).collect()
    }
}

impl PoolJson {
    /// The pool; `None`, with a note, if it is of a kind that is not known.
    fn pool(&self, data_chunks: Option<u32>, notes: &mut Vec<String>) -> Option<Pool> {
        let name = &self.pool_name;
        let kind = match self.kind {
            1 => PoolKind::Replicated,
            3 => PoolKind::Erasure,
            other => {
                notes.push(format!(
                    "pool `{name}` is left out: it has the type {other}; expected 1 (replicated) or 3 (erasure)"
                ));
                return None;
            }
        };
        let targets = [
            ("pg_num", self.pg_num, self.pg_num_target),
            ("pgp_num", self.pg_placement_num, self.pg_placement_num_target),
        ];
        for (what, now, target) in targets {
            if let Some(target) = target.filter(|target| *target > 0 && *target != now) {
                notes.push(format!(
                    "pool `{name}` is on its way to {target} placement groups (`{what}` is {now} now): here it stays at {now}"
                ));
            }
        }
        let hashpspool = match (self.flags, &self.flags_names) {
            (Some(flags), _) => flags & 1 != 0,
            (None, Some(names)) => names.split(',').any(|flag| flag == "hashpspool"),
            (None, None) => true,
        };
        // Ceph's default where a map has none
        let usual = Pool::usual_min_size(kind, self.size, data_chunks.unwrap_or(self.size));
        Some(Pool {
            id: self.pool,
            name: name.clone(),
            kind,
            size: self.size,
            min_size: self.min_size.filter(|least| *least > 0).unwrap_or(usual),
            rule: self.crush_rule,
            pg_num: self.pg_num,
            pgp_num: self.pg_placement_num,
            hashpspool,
        })
    }
}

/// The host in an address such as `10.0.0.5:6802/2647`; `None` if an OSD has none, as while it is down.
fn host_of(address: &str) -> Option<&str> {
    let (host, _) = address.rsplit_once(':')?;
    (!matches!(host, "" | "-" | "0.0.0.0" | "[::]")).then_some(host)
}

fn group(text: &str) -> Result<Pg, String> {
    text.parse().map_err(|()| {
        format!(
            "`{text}` is not a placement group; expected a pool and a hexadecimal number, as `4.1f`"
        )
    })
}

fn sets(sets: &[SetJson]) -> Result<BTreeMap<Pg, Vec<i32>>, String> {
    sets.iter().map(|set| Ok((group(&set.pgid)?, set.osds.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn addresses_name_hosts() {
        assert_eq!(host_of("10.0.0.5:6802/2647"), Some("10.0.0.5"));
        assert_eq!(host_of("[fd00::1]:6802/2647"), Some("[fd00::1]"));
        for none in ["", ":/0", "-", "0.0.0.0:0/0", "[::]:0/0"] {
            assert_eq!(host_of(none), None, "{none}");
        }
    }
}
