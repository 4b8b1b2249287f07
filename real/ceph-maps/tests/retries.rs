//! Rules that retry all their steps (`choosemsr`).

use std::collections::BTreeMap;

use foretell_algorithms::crush::{CrushMap, NONE, Workspace};
use foretell_ceph_maps::{Imported, read_text};
use serde_json::{Value, json};

use crate::small::hosts;

/// Six hosts of four OSDs, and a rule for `width` shards on each of `over` hosts.
fn map(kind: u32, over: u32, width: u32) -> CrushMap {
    let mut map = hosts(6, 4);
    map["rules"] = json!([{ "rule_id": 0, "rule_name": "wide", "type": kind, "steps": [
        { "op": "set_msr_descents", "num": 60 },
        { "op": "take", "item": -1 },
        { "op": "choosemsr", "num": over, "type": "host" },
        { "op": "choosemsr", "num": width, "type": "osd" },
        { "op": "emit" }] }]);
    read(&map)
}

fn read(map: &Value) -> CrushMap {
    match read_text("map", &map.to_string()).unwrap() {
        Imported::Crush(map, _) => *map,
        Imported::Cluster(..) => panic!("no OSDs"),
    }
}

fn place(map: &CrushMap, x: u32, size: usize, out: &[usize]) -> Vec<i32> {
    let mut reweights = vec![0x1_0000; 24];
    for osd in out {
        reweights[*osd] = 0;
    }
    let (mut work, mut set) = (Workspace::default(), Vec::new());
    map.place(map.rule(0).unwrap(), x, size, &reweights, 0, &mut work, &mut set).unwrap();
    set
}

fn by_host(set: &[i32]) -> BTreeMap<i32, usize> {
    let mut counts = BTreeMap::new();
    for osd in set.iter().filter(|osd| **osd != NONE) {
        *counts.entry(osd / 4).or_default() += 1;
    }
    counts
}

#[test]
fn shards_are_on_as_many_hosts_as_the_rule_says() {
    let map = map(5, 4, 2);
    for x in 0..500 {
        let set = place(&map, x, 8, &[]);
        assert_eq!(set.len(), 8);
        assert_eq!(
            by_host(&set).values().copied().collect::<Vec<usize>>(),
            [2, 2, 2, 2],
            "{x}: {set:?}"
        );
        // a stride is a host
        assert!(set.chunks(2).all(|pair| pair[0] / 4 == pair[1] / 4), "{x}: {set:?}");
        // fewer shards than the rule has room for: the last host has one less
        assert_eq!(place(&map, x, 7, &[])[..6], place(&map, x, 7, &[])[..6]);
        assert_eq!(by_host(&place(&map, x, 7, &[])).values().sum::<usize>(), 7);
    }
}

#[test]
fn a_host_that_is_out_is_replaced_and_the_others_stay() {
    let map = map(5, 4, 2);
    let mut elsewhere = 0;
    for x in 0..500 {
        let before = place(&map, x, 8, &[]);
        let after = place(&map, x, 8, &[0, 1, 2, 3]);
        assert!(after.iter().all(|osd| *osd != NONE && *osd > 3), "{x}: {after:?}");
        assert!(by_host(&after).values().all(|count| *count <= 2), "{x}: {after:?}");
        if before.iter().all(|osd| *osd > 3) {
            assert_eq!(before, after, "{x}");
        } else {
            elsewhere += 1;
            let stayed = before.iter().zip(&after).filter(|(old, new)| old == new).count();
            assert!(stayed >= 4, "{x}: {before:?} {after:?}");
        }
    }
    // four of six hosts hold a group
    assert!((280..390).contains(&elsewhere), "{elsewhere}");
}

#[test]
fn an_osd_that_is_out_may_bring_in_a_further_host() {
    let map = map(5, 4, 3);
    let mut further = 0;
    for x in 0..500 {
        let after = place(&map, x, 12, &[0, 1]);
        assert!(after.iter().all(|osd| *osd != NONE && *osd > 1), "{x}: {after:?}");
        assert!(by_host(&after).values().all(|count| *count <= 3), "{x}: {after:?}");
        further += usize::from(by_host(&after).len() > 4);
    }
    // host 0 has two OSDs left for three shards
    assert!(further > 100, "{further}");
}

#[test]
fn copies_close_up_and_shards_leave_holes() {
    // seven hosts of six
    let copies = place(&map(4, 7, 1), 3, 7, &[]);
    let shards = place(&map(5, 7, 1), 3, 7, &[]);
    assert_eq!((copies.len(), shards.len()), (6, 7));
    assert_eq!(shards.iter().filter(|osd| **osd == NONE).count(), 1);
    let mut found: Vec<i32> = shards.into_iter().filter(|osd| *osd != NONE).collect();
    let mut copies = copies;
    found.sort_unstable();
    copies.sort_unstable();
    assert_eq!(copies, found);
}

#[test]
fn a_rule_of_another_form_finds_nothing() {
    for steps in [
        json!([{ "op": "take", "item": -1 }, { "op": "choose_indep", "num": 2, "type": "osd" }, { "op": "emit" }]),
        json!([{ "op": "emit" }]),
        json!([{ "op": "take", "item": -1 }, { "op": "choosemsr", "num": 2, "type": "osd" }]),
        json!([{ "op": "take", "item": 0 }, { "op": "choosemsr", "num": 1, "type": "osd" }, { "op": "emit" }]),
    ] {
        let mut map = hosts(6, 4);
        map["rules"] = json!([{ "rule_id": 0, "rule_name": "wide", "type": 5, "steps": steps }]);
        assert_eq!(place(&read(&map), 3, 3, &[]), Vec::<i32>::new(), "{steps}");
    }
    // a step that reaches devices before the last step finds nothing either
    let mut map = hosts(6, 4);
    map["rules"] = json!([{ "rule_id": 0, "rule_name": "wide", "type": 5, "steps": [
        { "op": "take", "item": -1 }, { "op": "choosemsr", "num": 2, "type": "osd" },
        { "op": "choosemsr", "num": 2, "type": "osd" }, { "op": "emit" }] }]);
    assert_eq!(place(&read(&map), 3, 4, &[]), [NONE; 4]);
}

#[test]
fn text_and_json_are_the_same_rule() {
    let text = "tunable msr_descents 60\ndevice 0 osd.0\ndevice 1 osd.1\ntype 0 osd\ntype 1 host\ntype 11 root\n\
        host a {\n id -2\n alg straw2\n item osd.0 weight 1.0\n}\nhost b {\n id -3\n alg straw2\n item osd.1 weight 1.0\n}\n\
        root default {\n id -1\n alg straw2\n item a weight 1.0\n item b weight 1.0\n}\n\
        rule wide {\n id 0\n type msr_indep\n step set_msr_collision_tries 7\n step take default\n\
        step choosemsr 2 type host\n step choosemsr 1 type osd\n step emit\n}\n";
    let Imported::Crush(map, notes) = read_text("m", text).unwrap() else { panic!("a map") };
    assert_eq!((notes.len(), map.notes().len()), (0, 0));
    let (mut work, mut set) = (Workspace::default(), Vec::new());
    map.place(map.rule(0).unwrap(), 1, 2, &[0x1_0000; 2], 0, &mut work, &mut set).unwrap();
    set.sort_unstable();
    assert_eq!(set, [0, 1]);
}
