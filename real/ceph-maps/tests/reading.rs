//! What is read of files, what is not, and that users hear of it.

use foretell_algorithms::crush::Pg;
use foretell_ceph_maps::{
    Imported, Inventory, keepable_text, read_files, read_text, shortages, whole_sets,
};
use serde_json::{Value, json};

use crate::small::{bucket, cluster, crush, hosts, osd_map, pool, report, rule};

fn two_files(osds: &Value, crush: &Value) -> (foretell_algorithms::crush::ClusterMap, Inventory) {
    let directory = tempfile::tempdir().unwrap();
    let files = ["osds.json", "crush.json"].map(|name| directory.path().join(name));
    std::fs::write(&files[0], osds.to_string()).unwrap();
    std::fs::write(&files[1], crush.to_string()).unwrap();
    match read_files(&files).unwrap() {
        Imported::Cluster(map, inventory) => (*map, *inventory),
        Imported::Crush(..) => panic!("there are OSDs"),
    }
}

fn osds() -> Value {
    osd_map(6, &[pool(1, "p", 3, 8, 0)])
}

#[test]
fn a_primary_of_the_balancer_leads_and_changes_places() {
    let (plain, _) = two_files(&osds(), &hosts(3, 2));
    let before = plain.place_all().unwrap();
    let mut read = osds();
    let led: Vec<Value> = (0..8)
        .map(|seed| {
            let last = *before[seed].up.last().unwrap();
            json!({ "pgid": format!("1.{seed:x}"), "primary_osd": last })
        })
        .collect();
    read["pg_upmap_primaries"] = Value::Array(led);
    let (map, inventory) = two_files(&read, &hosts(3, 2));
    assert_eq!(inventory.notes, Vec::<String>::new());
    for (before, after) in before.iter().zip(map.place_all().unwrap()) {
        let [a, b, c] = before.up[..] else { panic!("three copies") };
        assert_eq!((after.up, after.up_primary), (vec![c, b, a], c));
    }
    // not by an OSD that is out, or that is no member
    read["osds"][0]["weight"] = json!(0.0);
    let (out, _) = two_files(&read, &hosts(3, 2));
    read["pg_upmap_primaries"] = json!([]);
    let (plain, _) = two_files(&read, &hosts(3, 2));
    for (pg, placed) in out.groups().zip(out.place_all().unwrap()) {
        if out.upmap_primaries[&pg] == 0 {
            assert_eq!(placed, plain.place_all().unwrap()[pg.seed as usize]);
        }
    }
    assert!(out.upmap_primaries.contains_key(&Pg { pool: 1, seed: 7 }));
}

#[test]
fn only_what_uses_an_unknown_rule_is_refused() {
    let odd = json!({ "rule_id": 1, "rule_name": "new", "type": 9, "steps": [
        { "op": "take", "item": -1 }, { "op": "choosemore_lots", "num": 3, "type": "host" }, { "op": "emit" }] });
    let mut map = hosts(3, 2);
    map["rules"].as_array_mut().unwrap().push(odd);
    let Imported::Crush(alone, _) = read_text("c", &map.to_string()).unwrap() else {
        panic!("a map")
    };
    let what = "rule `new` cannot be used: the step `choosemore_lots` is not known (rules up to Squid are)";
    assert_eq!(alone.notes(), [what]);
    let osds = osd_map(6, &[pool(1, "p", 3, 8, 0), pool(2, "q", 3, 8, 1)]);
    let (map, _) = two_files(&osds, &map);
    let placed = map.place_all().unwrap();
    assert!(placed[..8].iter().all(|placed| placed.up.len() == 3));
    assert!(placed[8..].iter().all(|placed| placed.up.is_empty()));
    let short = shortages(&map, &placed).unwrap();
    assert_eq!(short.len(), 1);
    assert!(short[&2].why.starts_with("its rule `new` cannot be used: the step `choosemore_lots`"));
    let left_out = whole_sets(&map, &map.pools()[&2]).unwrap_err().to_string();
    assert_eq!(left_out, short[&2].why);
    // the same as text
    let text = "device 0 osd.0\ntype 0 osd\ntype 1 root\nroot r {\n alg straw2\n item osd.0 weight 1.0\n}\n\
                tunable straw_wobble much\n\
                rule new {\n id 0\n type replicated\n step take r\n step choosemore lots 3 type host\n step emit\n}\n";
    let Imported::Crush(map, notes) = read_text("m.txt", text).unwrap() else { panic!("a map") };
    assert_eq!(notes, ["m.txt: the tunable `straw_wobble` is not known, and not used"]);
    assert!(map.notes()[0].contains("the step `choosemore` is not known"), "{:?}", map.notes());
}

#[test]
fn keys_that_may_matter_are_named() {
    let mut read = osds();
    read["pg_upmap_lanes"] = json!([{ "pgid": "1.0" }]);
    read["pools"][0]["quota_max_bytes"] = json!(1_000_000);
    read["pools"][0]["pg_num_target"] = json!(16);
    let mut map = hosts(3, 2);
    map["buckets"][0]["spare_of"] = json!(-3);
    let (_, inventory) = two_files(&read, &map);
    let notes = inventory.notes.join("\n");
    for part in
        ["`pg_upmap_lanes`, `pools.quota_max_bytes`", "`buckets.spare_of`", "on its way to 16"]
    {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn of_several_documents_the_last_counts() {
    let old = osd_map(6, &[pool(1, "p", 3, 4, 0)]);
    let text = format!("report 12\n{old}\n{}\n{}\n", hosts(3, 2), osds());
    let (map, inventory) = cluster(&text);
    assert_eq!(map.group_count(), 8);
    assert_eq!(inventory.notes, ["file: 2 documents of `ceph osd dump`; the last counts"]);
    let whole = report(&hosts(3, 2), &osds(), &[(1, 77)], &[]);
    let (_, inventory) =
        cluster(&format!("{}\n{whole}", report(&hosts(3, 2), &osds(), &[(1, 5)], &[])));
    assert_eq!(inventory.pools[&1].stored_bytes, Some(77));
}

#[test]
fn pools_of_ceph_df_are_read() {
    let df = json!({ "stats": { "total_bytes": 1000, "total_used_raw_bytes": 300 }, "stats_by_class": {},
        "pools": [{ "name": "p", "id": 1, "stats": { "stored": 90, "objects": 4, "bytes_used": 280, "rd": 7, "rd_bytes": 70,
            "wr": 2, "wr_bytes": 20 } }] });
    let (_, inventory) = cluster(&format!("{}\n{}\n{df}", osds(), hosts(3, 2)));
    let p = &inventory.pools[&1];
    assert_eq!((p.stored_bytes, p.allocated_bytes, p.objects), (Some(90), Some(280), Some(4)));
    assert_eq!(p.traffic.unwrap().reads, 7);
    assert_eq!(inventory.total_bytes, Some((1000, 300)));
    // before Nautilus
    let old = json!({ "stats": {}, "pools": [{ "name": "p", "id": 1, "stats": { "bytes_used": 90, "objects": 4 } }] });
    let (_, inventory) = cluster(&format!("{}\n{}\n{old}", osds(), hosts(3, 2)));
    assert_eq!(
        (inventory.pools[&1].stored_bytes, inventory.pools[&1].allocated_bytes),
        (Some(90), None)
    );
}

#[test]
fn a_newer_section_of_a_report_leaves_the_others() {
    let mut read = report(&hosts(3, 2), &osds(), &[(1, 77)], &[]);
    read["osd_metadata"] = json!({ "by_host": {} });
    let (_, inventory) = cluster(&read.to_string());
    assert_eq!(inventory.pools[&1].stored_bytes, Some(77));
    assert!(
        inventory.notes[0].starts_with("`osd_metadata` of the report is not used"),
        "{:?}",
        inventory.notes
    );
    let mut pools = osds();
    let mut other = pool(4, "later", 3, 8, 0);
    other["type"] = json!(7);
    pools["pools"].as_array_mut().unwrap().push(other);
    let (map, inventory) = two_files(&pools, &hosts(3, 2));
    assert_eq!(map.pools().len(), 1);
    assert!(
        inventory.notes[0].contains("`later` is left out: it has the type 7"),
        "{:?}",
        inventory.notes
    );
}

#[test]
fn what_has_nothing_to_read_is_recognised() {
    for (text, says) in [
        (json!({ "nodes": [], "stray": [] }).to_string(), "`ceph osd tree`"),
        (json!({ "fsid": "x", "health": {}, "pgmap": {} }).to_string(), "give `ceph report`"),
        (json!([{ "pool_name": "p", "crush_rule": 0 }]).to_string(), "`ceph osd pool ls detail`"),
        (json!([{ "x": 1 }]).to_string(), "its list has entries with the keys `x`"),
        ("[]".to_owned(), "is none of"),
        (
            "ID  CLASS  WEIGHT  REWEIGHT  SIZE  RAW USE\n 0  hdd".to_owned(),
            "give `ceph osd df -f json`",
        ),
        (
            "ceph_mon_quorum_status{ceph_daemon=\"mon.a\"} 1.0\n".to_owned(),
            "such as `ceph_mon_quorum_status`",
        ),
        (osds().to_string(), "an OSD map, and no CRUSH map"),
    ] {
        let error = read_text("file", &text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn impossible_fill_levels_are_errors() {
    for (near, backfill, full, says) in [
        (0.85, 0.9, -3.0, "`full_ratio` is -3; expected 0 to 1"),
        (0.85, 0.9, 1.5, "`full_ratio` is 1.5; expected 0 to 1"),
        (-0.1, 0.9, 0.95, "`nearfull_ratio` is -0.1"),
    ] {
        let mut read = report(&hosts(3, 2), &osds(), &[], &[]);
        read["osdmap"]["nearfull_ratio"] = json!(near);
        read["osdmap"]["backfillfull_ratio"] = json!(backfill);
        read["osdmap"]["full_ratio"] = json!(full);
        let error = read_text("file", &read.to_string()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // Ceph only warns of an unusual order
    let mut read = report(&hosts(3, 2), &osds(), &[], &[]);
    read["osdmap"]["nearfull_ratio"] = json!(0.95);
    read["osdmap"]["backfillfull_ratio"] = json!(0.9);
    read["osdmap"]["full_ratio"] = json!(0.96);
    assert_eq!(cluster(&read.to_string()).1.full_ratio, Some(0.96));
    // Ceph writes 0 where none is set
    let mut read = report(&hosts(3, 2), &osds(), &[], &[]);
    read["osdmap"]["full_ratio"] = json!(0);
    read["osdmap"]["backfillfull_ratio"] = json!(0.9);
    assert_eq!(cluster(&read.to_string()).1.full_ratio, None);
}

#[test]
fn a_map_without_min_size_has_the_usual_one() {
    let mut read = osds();
    read["pools"][0].as_object_mut().unwrap().remove("min_size");
    assert_eq!(two_files(&read, &hosts(3, 2)).0.pools()[&1].min_size, 2);
}

/// A map of hosts with ten OSDs each, in racks of twenty, as `crushtool -d` writes it.
fn large(osds: u32) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("type 0 osd\ntype 1 host\ntype 3 rack\ntype 11 root\n");
    (0..osds).for_each(|osd| writeln!(text, "device {osd} osd.{osd} class hdd").unwrap());
    let (hosts, racks) = (osds / 10, osds / 200);
    let mut bucket = |kind: &str, name: &str, items: &[String]| {
        writeln!(text, "{kind} {name} {{\n alg straw2\n hash 0").unwrap();
        for item in items {
            writeln!(text, " item {item} weight 1.0").unwrap();
        }
        text.push_str("}\n");
    };
    let numbered = |name: &str, of: std::ops::Range<u32>| -> Vec<String> {
        of.map(|number| format!("{name}{number}")).collect()
    };
    for host in 0..hosts {
        bucket("host", &format!("h{host}"), &numbered("osd.", 10 * host..10 * host + 10));
    }
    for rack in 0..racks {
        bucket("rack", &format!("r{rack}"), &numbered("h", 20 * rack..20 * rack + 20));
    }
    bucket("root", "default", &numbered("r", 0..racks));
    text.push_str("rule r {\n id 0\n type replicated\n step take default class hdd\n step chooseleaf firstn 0 type host\n step emit\n}\n");
    text
}

#[test]
fn large_maps_are_read() {
    let Imported::Crush(map, notes) = read_text("m.txt", &large(20_000)).unwrap() else {
        panic!("a map")
    };
    assert_eq!((map.devices(), notes.len()), (20_000, 0));
    // each bucket has a shadow
    assert_eq!(map.parts().buckets.len(), 2 * (2_000 + 100 + 1));
    assert_eq!(map.weight_of(19_999), Some(0x1_0000));
}

#[test]
fn serial_numbers_leave_no_fragment() {
    let mut read = report(&hosts(3, 2), &osds(), &[], &[]);
    read["osd_metadata"] = json!([
        { "id": 0, "hostname": "n0", "bluestore_bdev_devices": "sda", "device_ids": "sda=QEMU_HARDDISK_acme_db_0815" },
        { "id": 1, "hostname": "n0", "bluestore_bdev_devices": "sdb", "device_ids": "sdb=SEAGATE_ST12000_acme_0815,x" },
    ]);
    let kept = keepable_text("file", &read.to_string()).unwrap();
    let (_, inventory) = cluster(&read.to_string());
    assert_eq!(inventory.osds[&0].model.as_deref(), Some("QEMU HARDDISK"));
    assert_eq!(inventory.osds[&1].model.as_deref(), Some("SEAGATE ST12000"));
    for text in [kept, format!("{inventory:?}")] {
        assert!(!text.contains("acme") && !text.contains("0815"), "{text}");
    }
}

#[test]
fn trees_need_no_device_list() {
    let map = crush(&[bucket(-1, "all", "root", &[(0, 1.0)])], &[rule(0, "r", -1, "osd")]);
    let Imported::Crush(map, notes) = read_text("c", &map.to_string()).unwrap() else {
        panic!("a map")
    };
    assert_eq!((map.devices(), notes.len()), (1, 0));
}
