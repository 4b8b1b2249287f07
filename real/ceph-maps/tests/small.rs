//! Small clusters for tests, as JSON of Ceph.

use foretell_algorithms::crush::ClusterMap;
use foretell_ceph_maps::{Imported, Inventory, Levels, Situation, read_text};
use serde_json::{Value, json};

/// Numbers of the types in [`crush`].
pub(crate) const TYPES: [(u16, &str); 6] =
    [(0, "osd"), (1, "host"), (2, "shelf"), (3, "rack"), (4, "drawer"), (11, "root")];

/// A bucket with items and their weights in TiB.
pub(crate) fn bucket(id: i32, name: &str, kind: &str, items: &[(i32, f64)]) -> Value {
    let number = TYPES.iter().find(|(_, name)| *name == kind).unwrap().0;
    let item =
        |(id, weight): &(i32, f64)| json!({ "id": id, "weight": (weight * 65_536.0) as u32 });
    let items: Vec<Value> = items.iter().map(item).collect();
    json!({ "id": id, "name": name, "type_id": number, "alg": "straw2", "hash": "rjenkins1", "items": items })
}

/// A rule that takes a bucket and chooses devices below different buckets of a type.
pub(crate) fn rule(id: u32, name: &str, take: i32, kind: &str) -> Value {
    json!({ "rule_id": id, "rule_name": name, "type": 1, "steps": [
        { "op": "take", "item": take }, { "op": "chooseleaf_firstn", "num": 0, "type": kind }, { "op": "emit" }] })
}

pub(crate) fn crush(buckets: &[Value], rules: &[Value]) -> Value {
    let types = TYPES.map(|(number, name)| json!({ "type_id": number, "name": name }));
    json!({ "devices": [], "types": types, "buckets": buckets, "rules": rules, "choose_args": {}, "tunables": {
        "choose_local_tries": 0, "choose_local_fallback_tries": 0, "choose_total_tries": 50,
        "chooseleaf_descend_once": 1, "chooseleaf_vary_r": 1, "chooseleaf_stable": 1, "straw_calc_version": 1 } })
}

/// Hosts of so many OSDs of a TiB each, below the root -1 whose rule is 0.
pub(crate) fn hosts(hosts: i32, each: i32) -> Value {
    let mut buckets = Vec::new();
    let mut roots = Vec::new();
    for host in 0..hosts {
        let osds: Vec<(i32, f64)> =
            (host * each..(host + 1) * each).map(|osd| (osd, 1.0)).collect();
        buckets.push(bucket(-2 - host, &format!("n{host}"), "host", &osds));
        roots.push((-2 - host, f64::from(each)));
    }
    buckets.push(bucket(-1, "default", "root", &roots));
    crush(&buckets, &[rule(0, "r", -1, "host")])
}

pub(crate) fn pool(id: i64, name: &str, size: u32, pg_num: u32, rule: u32) -> Value {
    json!({ "pool": id, "pool_name": name, "flags": 1, "type": 1, "size": size, "min_size": size - size / 2,
        "crush_rule": rule, "pg_num": pg_num, "pg_placement_num": pg_num })
}

pub(crate) fn osd_map(osds: usize, pools: &[Value]) -> Value {
    let osds: Vec<Value> = (0..osds)
        .map(|osd| json!({ "osd": osd, "up": 1, "in": 1, "weight": 1.0, "primary_affinity": 1.0 }))
        .collect();
    json!({ "max_osd": osds.len(), "pools": pools, "osds": osds })
}

/// A report: maps, bytes that each pool stores, and those that each OSD has in use, if known.
pub(crate) fn report(crush: &Value, osds: &Value, stored: &[(i64, u64)], used: &[u64]) -> Value {
    let pools: Vec<Value> = stored
        .iter()
        .map(|(pool, bytes)| json!({ "poolid": pool, "stat_sum": { "num_bytes": bytes, "num_objects": 1 } }))
        .collect();
    let stats: Vec<Value> = (0..)
        .zip(used)
        .map(|(osd, bytes): (i32, _)| json!({ "osd": osd, "kb": 1_u64 << 30, "kb_used": bytes / 1024 }))
        .collect();
    json!({ "crushmap": crush, "osdmap": osds, "pool_stats": pools, "osd_stats": stats })
}

pub(crate) fn cluster(text: &str) -> (ClusterMap, Inventory) {
    match read_text("file", text).unwrap() {
        Imported::Cluster(map, inventory) => (*map, *inventory),
        Imported::Crush(..) => panic!("there are OSDs"),
    }
}

/// The present levels of all OSDs.
pub(crate) fn levels(map: &ClusterMap, inventory: &Inventory) -> Levels {
    Levels::now(Situation { map, inventory, placed: &map.place_all().unwrap() })
}
