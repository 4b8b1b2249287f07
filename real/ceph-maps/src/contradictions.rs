//! What in a cluster's map contradicts itself: Ceph would not have accepted it, and it has no effect or an unexpected
//! one. The map is read all the same.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, NONE, Pool};

use crate::domains::shared_hosts;

/// 1 as a weight.
const WHOLE: u32 = 0x1_0000;

/// A note on each kind of contradiction.
pub(crate) fn contradictions(map: &ClusterMap) -> Vec<String> {
    let mut notes: Vec<String> = map.pools().values().filter_map(too_many_places).collect();
    notes.extend(names_twice(map));
    let shared = shared_hosts(&map.crush);
    notes.extend(some(&shared, |(osd, hosts)| {
        format!("osd.{osd} is below several hosts of one tree ({hosts}): a drive is in one machine")
    }));
    let heavy: Vec<(i32, u32)> = map
        .existing()
        .filter(|(_, osd)| osd.weight > WHOLE)
        .map(|(number, osd)| (number, osd.weight))
        .collect();
    notes.extend(some(&heavy, |(osd, weight)| {
        let weight = f64::from(*weight) / f64::from(WHOLE);
        format!("osd.{osd} has the weight {weight}; more than 1 has no other effect than 1")
    }));
    notes.extend(some(&strange_exceptions(map), Clone::clone));
    notes
}

/// The first of these, and the number of the others.
fn some<T>(all: &[T], text: impl Fn(&T) -> String) -> Option<String> {
    let first = text(all.first()?);
    Some(match all.len() - 1 {
        0 => first,
        others => format!("{first} (and {others} more)"),
    })
}

fn too_many_places(pool: &Pool) -> Option<String> {
    (pool.pgp_num > pool.pg_num).then(|| {
        format!(
            "pool `{}` has `pgp_num` {} and `pg_num` {}; more than `pg_num` has no other effect than `pg_num`",
            pool.name, pool.pgp_num, pool.pg_num
        )
    })
}

/// Buckets that share a name.
fn names_twice(map: &ClusterMap) -> Option<String> {
    let mut by_name: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for bucket in &map.crush.parts().buckets {
        by_name.entry(&bucket.name).or_default().push(bucket.id);
    }
    let twice: Vec<_> = by_name.into_iter().filter(|(_, ids)| ids.len() > 1).collect();
    some(&twice, |(name, ids)| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        format!(
            "buckets {} are all named `{name}`: hosts with one name are taken for one",
            ids.join(", ")
        )
    })
}

/// Exceptions of groups or OSDs that do not exist.
fn strange_exceptions(map: &ClusterMap) -> Vec<String> {
    let sets = map.upmap.iter().map(|(pg, set)| (pg, set.clone(), "pg_upmap"));
    let items = map.upmap_items.iter().map(|(pg, items)| {
        (pg, items.iter().map(|(_, to)| *to).collect::<Vec<_>>(), "pg_upmap_items")
    });
    let mut found = Vec::new();
    for (pg, osds, key) in sets.chain(items) {
        if map.pools().get(&pg.pool).is_none_or(|pool| pg.seed >= pool.pg_num) {
            found.push(format!(
                "`{key}` has an exception for {pg}, which does not exist: no effect"
            ));
        } else if let Some(osd) =
            osds.into_iter().find(|osd| *osd != NONE && map.osd(*osd).is_none())
        {
            found.push(format!(
                "`{key}` moves {pg} to osd.{osd}, which does not exist: the group lacks that member"
            ));
        }
    }
    found
}
