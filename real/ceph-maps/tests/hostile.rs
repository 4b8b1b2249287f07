//! Maps that are wrong on purpose: an error that names the fault, in bounded time.
#![allow(clippy::disallowed_methods, reason = "bounded time is what is tested")]

use std::time::{Duration, Instant};

use foretell_algorithms::crush::Workspace;
use foretell_ceph_maps::{Imported, keepable, read_files, read_text};
use proptest::prelude::*;

const MAP: &str = "\
tunable choose_total_tries 50
tunable chooseleaf_descend_once 1
device 0 osd.0 class hdd
device 1 osd.1 class hdd
device 2 osd.2 class ssd
type 0 osd
type 1 host
type 11 root
host a {
  id -1
  alg straw2
  hash 0
  item osd.0 weight 1.000
  item osd.1 weight 1.000
}
host b {
  id -2
  alg straw2
  hash 0
  item osd.2 weight 2.000
}
root default {
  id -3
  alg straw2
  hash 0
  item a weight 2.000
  item b weight 2.000
}
rule replicated {
  id 0
  type replicated
  min_size 1
  max_size 10
  step take default
  step chooseleaf firstn 0 type host
  step emit
}
";

fn fault(from: &str, to: &str) -> String {
    assert!(MAP.contains(from), "{from}");
    read_text("map.txt", &MAP.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn names_the_fault_and_its_line() {
    let map = read_text("map.txt", MAP).unwrap();
    assert!(matches!(map, Imported::Crush(..)));
    for (from, to, expected) in [
        (
            "alg straw2",
            "alg stra2",
            "map.txt:11: the algorithm `stra2` is not known (did you mean `straw`?)",
        ),
        ("item osd.1", "item osd.11", "map.txt:14: `osd.11` is not defined (yet)"),
        ("weight 1.000", "weight -1", "the weight is -1; expected 0 to 65535"),
        ("weight 1.000", "weight 1e9", "the weight is 1000000000; expected 0 to 65535"),
        ("weight 1.000", "weight nan", "expected 0 to 65535"),
        ("step take default", "step take defualt", "did you mean `default`?"),
        (
            "step take default",
            "step take default class nvme",
            "`default` has no devices of class `nvme`",
        ),
        ("type host", "type hots", "the type `hots` is not defined"),
        ("hash 0", "hash 1", "the hash is `1`; expected 0 (rjenkins1)"),
        ("id -2", "id -1", "buckets `a` and `b` both have the id -1"),
        ("id -2", "id 7", "bucket `b` has the id 7"),
        ("id -2", "id -2000000000", "bucket `b` has the id -2000000000"),
        ("host b {", "osd b {", "bucket `b` has the type 0, which is for devices"),
        ("  step emit\n}", "", "the map ends where `}` is expected"),
        ("chooseleaf firstn", "choosemsr firstn", "found `firstn`, expected a number of items"),
    ] {
        let fault = fault(from, to);
        assert!(fault.contains(expected), "{from} -> {to}: {fault}");
    }
    assert!(read_text("x", "hello world").is_err());
    assert!(read_text("x", "").is_err());
    let other = read_text("x.json", r#"{"a": 1}"#).unwrap_err().to_string();
    assert!(other.contains("is none of") && other.contains("`a`"), "{other}");
}

/// A CRUSH map as JSON with two buckets.
fn json(items: &str, tries: u32) -> String {
    format!(
        r#"{{"devices": [], "types": [{{"type_id": 0, "name": "osd"}}, {{"type_id": 1, "name": "host"}}],
        "buckets": [
            {{"id": -1, "name": "a", "type_id": 1, "alg": "straw2", "items": [{items}]}},
            {{"id": -2, "name": "b", "type_id": 1, "alg": "straw2", "items": [{{"id": -1, "weight": 65536}}]}}],
        "rules": [{{"rule_id": 0, "rule_name": "r", "type": 1, "steps": [
            {{"op": "take", "item": -2}}, {{"op": "choose_firstn", "num": 0, "type": "osd"}}, {{"op": "emit"}}]}}],
        "tunables": {{"choose_local_tries": 0, "choose_local_fallback_tries": 0,
            "choose_total_tries": {tries}, "chooseleaf_descend_once": 1}}}}"#
    )
}

#[test]
fn a_loop_is_an_error() {
    let error = read_text("m", &json(r#"{"id": -2, "weight": 65536}"#, 50)).unwrap_err();
    assert!(error.to_string().contains("contains itself"), "{error}");
    let error = read_text("m", &json(r#"{"id": -9, "weight": 65536}"#, 50)).unwrap_err();
    assert!(error.to_string().contains("holds the item -9, which is not in the map"), "{error}");
    let error = read_text("m", &json(r#"{"id": 0, "weight": -5}"#, 50)).unwrap_err();
    assert!(error.to_string().contains("has the weight -5"), "{error}");
    let error = read_text("m", &json(r#"{"id": 2000000000, "weight": 5}"#, 50)).unwrap_err();
    assert!(error.to_string().contains("holds the item 2000000000"), "{error}");
}

#[test]
fn a_rule_that_cannot_be_met_ends() {
    // one device, three copies, four thousand million attempts
    let text = json(r#"{"id": 0, "weight": 65536}"#, u32::MAX);
    let Imported::Crush(map, _) = read_text("m", &text).unwrap() else { panic!("no OSDs") };
    let begun = Instant::now();
    let (mut work, mut set) = (Workspace::default(), Vec::new());
    let rule = map.rule(0).unwrap();
    let error = map.place(rule, 7, 3, &[0x1_0000], 0, &mut work, &mut set).unwrap_err();
    assert!(error.to_string().contains("rule `r` finds no placement for input 7"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    // with the usual number of attempts, the result has the available devices
    let Imported::Crush(map, _) =
        read_text("m", &json(r#"{"id": 0, "weight": 65536}"#, 50)).unwrap()
    else {
        panic!("no OSDs")
    };
    map.place(map.rule(0).unwrap(), 7, 3, &[0x1_0000], 0, &mut work, &mut set).unwrap();
    assert_eq!(set, [0]);
}

#[test]
fn buckets_that_share_buckets_take_linear_time() {
    // both buckets of a level hold both of the next: 2^40 ways from the root to an OSD
    let mut buckets = Vec::new();
    for level in 0..40 {
        for side in 0..2 {
            let items: Vec<(i32, f64)> = match level {
                0 => vec![(side, 1.0)],
                _ => (0..2).map(|below| (-10 - 2 * (level - 1) - below, 1.0)).collect(),
            };
            let name = format!("b{level}-{side}");
            buckets.push(crate::small::bucket(-10 - 2 * level - side, &name, "rack", &items));
        }
    }
    buckets.push(crate::small::bucket(-1, "default", "root", &[(-88, 1.0), (-89, 1.0)]));
    let map = crate::small::crush(&buckets, &[crate::small::rule(0, "r", -1, "osd")]);
    let osds = crate::small::osd_map(2, &[crate::small::pool(1, "p", 2, 8, 0)]);
    let report = crate::small::report(&map, &osds, &[(1, 1 << 30)], &[]);
    let (map, inventory) = crate::small::cluster(&report.to_string());
    let changes = ["osd.0.reweight=0.5".to_owned()];
    let (after, known) = foretell_ceph_maps::change(&map, &inventory, &changes).unwrap();
    let plan = foretell_ceph_maps::plan((&map, &inventory), (&after, &known)).unwrap();
    assert!(plan.floor.balance_bytes.is_finite());
}

#[test]
fn secrets_are_not_kept() {
    let crush = json(r#"{"id": 0, "weight": 65536}"#, 50);
    let report = format!(
        r#"{{"version": "17.2.5", "crushmap": {crush},
        "auth": {{"key": "AQD-secret"}}, "monmap": {{"mons": [{{"addr": "10.1.2.3:6789"}}]}},
        "osdmap": {{"fsid": "f5d7", "pools": [{{"pool": 1, "pool_name": "p", "flags": 1, "type": 1, "size": 1,
            "min_size": 1, "crush_rule": 0, "pg_num": 4, "pg_placement_num": 4}}],
          "osds": [{{"osd": 0, "up": 1, "in": 1, "weight": 1, "uuid": "4711", "public_addr": "10.1.2.3:6800"}}]}},
        "osd_metadata": [{{"id": 0, "hostname": "h", "bluestore_bdev_devices": "sda",
            "device_ids": "sda=SEAGATE_ST12000_ZV70SERIAL", "front_addr": "10.1.2.3", "bluestore_bdev_size": "1000"}}]}}"#
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    std::fs::write(&path, &report).unwrap();
    let kept = keepable(&[&path]).unwrap();
    for secret in ["AQD", "10.1.2.3", "4711", "f5d7", "SERIAL"] {
        assert!(report.contains(secret) && !kept.contains(secret), "{secret}: {kept}");
    }
    let again = directory.path().join("kept.json");
    std::fs::write(&again, &kept).unwrap();
    let (first, second) = (read_files(&[&path]).unwrap(), read_files(&[&again]).unwrap());
    let (Imported::Cluster(first, facts), Imported::Cluster(second, same)) = (first, second) else {
        panic!("a cluster")
    };
    assert_eq!(first.place_all().unwrap(), second.place_all().unwrap());
    assert_eq!(facts, same);
    assert_eq!(facts.osds[&0].model.as_deref(), Some("SEAGATE ST12000"));
}

proptest! {
    /// Whatever is cut out or inserted, the result is a map or an error, never a panic.
    #[test]
    fn any_text_is_a_map_or_an_error(at in 0..MAP.len(), length in 0..40_usize, put in "[a-z0-9{}\\[\\] .-]{0,8}") {
        let end = (at + length).min(MAP.len());
        let text = format!("{}{put}{}", &MAP[..at], &MAP[end..]);
        if let Ok(Imported::Crush(map, _)) = read_text("map.txt", &text) {
            let (mut work, mut set) = (Workspace::default(), Vec::new());
            for rule in map.parts().rules.clone() {
                let reweights = vec![0x1_0000; map.devices()];
                let _ = map.place(&rule, 3, 3, &reweights, 0, &mut work, &mut set);
            }
        }
    }
}
