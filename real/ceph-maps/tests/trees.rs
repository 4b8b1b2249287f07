//! Trees that are not plainly root, host, OSD: an OSD below two roots, buckets between host and OSD, OSDs without host.

use foretell_algorithms::crush::ClusterMap;
use foretell_ceph_maps::{
    Capacity, Inventory, Situation, capacity, change, moves_by, plan, scenario, shortages,
    whole_capacity,
};
use serde_json::{Value, json};

use crate::small::{bucket, cluster, crush, hosts, levels, osd_map, pool, report, rule};

const TIB: u64 = 1 << 40;

fn capacities(map: &ClusterMap, inventory: &Inventory) -> Vec<Capacity> {
    let placed = map.place_all().unwrap();
    let situation = Situation { map, inventory, placed: &placed };
    let capacities = capacity(situation, &levels(map, inventory));
    capacities.into_values().collect()
}

/// How many of each kind a pool survives, and with how many down it serves.
fn failures(capacity: &Capacity) -> Vec<(&str, usize, usize)> {
    capacity.survives.iter().map(|kind| (kind.kind.as_str(), kind.readable, kind.served)).collect()
}

/// Four hosts of two OSDs; the first OSD of each is also below a root of its own, on a host of another name.
fn two_roots() -> (ClusterMap, Inventory) {
    let mut buckets = hosts(4, 2)["buckets"].as_array().unwrap().clone();
    let fast = |host: i32| bucket(-20 - host, &format!("n{host}-fast"), "host", &[(2 * host, 4.0)]);
    buckets.extend((0..4).map(fast));
    // two of the four are in one rack of this root
    buckets.push(bucket(-30, "rack", "rack", &[(-20, 4.0), (-21, 4.0)]));
    buckets.push(bucket(-31, "fast", "root", &[(-30, 8.0), (-22, 4.0), (-23, 4.0)]));
    let rules = [rule(0, "r", -1, "host"), rule(1, "quick", -31, "host")];
    let osds = osd_map(8, &[pool(1, "p", 3, 64, 0), pool(2, "q", 2, 64, 1)]);
    cluster(&report(&crush(&buckets, &rules), &osds, &[(1, TIB), (2, TIB)], &[]).to_string())
}

#[test]
fn an_osd_below_two_roots_has_the_host_of_each_rule() {
    let (map, inventory) = two_roots();
    let [p, q] = &capacities(&map, &inventory)[..] else { panic!("two pools") };
    assert_eq!(failures(p), [("osd", 2, 1), ("host", 2, 1), ("root", 0, 0)]);
    // with both copies in the rack, losing it loses data
    assert_eq!(failures(q), [("osd", 1, 1), ("host", 1, 1), ("rack", 0, 0), ("root", 0, 0)]);
    // each of its hosts loses it; some of it goes to the other OSD of `n0`
    let (changed, known) = change(&map, &inventory, &["osd.0=out".to_owned()]).unwrap();
    let plan = plan((&map, &inventory), (&changed, &known)).unwrap();
    let by_host = moves_by(&plan, &changed, 1);
    let out = |name: &str| by_host.get(name).map_or(0.0, |(_, out)| *out);
    assert!(out("n0") > 0.0 && out("n0-fast") > out("n0"), "{by_host:?}");
}

/// Three hosts of two shelves of two OSDs.
fn shelves() -> Value {
    let mut buckets = Vec::new();
    let mut root = Vec::new();
    for host in 0..3 {
        let mut below = Vec::new();
        for shelf in 0..2 {
            let (id, first) = (-10 - 2 * host - shelf, 4 * host + 2 * shelf);
            let name = format!("n{host}s{shelf}");
            buckets.push(bucket(id, &name, "shelf", &[(first, 1.0), (first + 1, 1.0)]));
            below.push((id, 2.0));
        }
        buckets.push(bucket(-2 - host, &format!("n{host}"), "host", &below));
        root.push((-2 - host, 4.0));
    }
    buckets.push(bucket(-1, "default", "root", &root));
    crush(&buckets, &[rule(0, "r", -1, "host")])
}

fn hosts_in(text: &str) -> Vec<&str> {
    let (nodes, _) = text.split_once("[client.").unwrap();
    nodes.lines().filter(|line| line.starts_with("count = ") || line.starts_with("# n")).collect()
}

#[test]
fn what_lies_below_a_host_is_no_machine() {
    let osds = osd_map(12, &[pool(1, "p", 3, 64, 0)]);
    let (map, inventory) = cluster(&report(&shelves(), &osds, &[(1, TIB)], &[]).to_string());
    let [p] = &capacities(&map, &inventory)[..] else { panic!("one pool") };
    assert_eq!(failures(p), [("osd", 2, 1), ("host", 2, 1), ("shelf", 2, 1), ("root", 0, 0)]);
    let written = scenario(&map, &inventory, "map.json").unwrap().unwrap().text;
    assert_eq!(hosts_in(&written), ["# n0, n1, n2", "count = 3"]);
    // a second host like it has its shelves
    let (changed, _) = change(&map, &inventory, &["node.n1.count=2".to_owned()]).unwrap();
    let named = |name: &str| changed.crush.parts().named(name).unwrap();
    assert_eq!((named("n1-2").items.len(), named("n1-2/n1s0").items.len()), (2, 2));
    assert_eq!(named("default").weight(), 16 * 0x1_0000);
    assert_eq!(changed.existing().count(), 16);
    let refused = change(&map, &inventory, &["node.n1s0.count=2".to_owned()]).unwrap_err();
    assert!(
        refused.to_string().contains("`n1s0` is a shelf; expected a host, such as `n1`"),
        "{refused}"
    );
}

#[test]
fn osds_that_are_in_no_host_are_machines_of_their_own() {
    for kind in ["root", "rack"] {
        let map = crush(
            &[bucket(-1, "all", kind, &[(0, 1.0), (1, 1.0), (2, 1.0)])],
            &[rule(0, "r", -1, "osd")],
        );
        let osds = osd_map(3, &[pool(1, "p", 2, 16, 0)]);
        let (map, inventory) = cluster(&report(&map, &osds, &[(1, 1 << 30)], &[]).to_string());
        let written = scenario(&map, &inventory, "map.json").unwrap().unwrap();
        assert!(written.text.contains("count = 3"), "{}", written.text);
        assert!(written.caveats.iter().any(|caveat| caveat.contains("below no host")), "{kind}");
    }
    // machines may have a type of another name
    let map = crush(
        &[
            bucket(-2, "a", "drawer", &[(0, 1.0), (1, 1.0)]),
            bucket(-3, "b", "drawer", &[(2, 1.0), (3, 1.0)]),
            bucket(-1, "all", "root", &[(-2, 2.0), (-3, 2.0)]),
        ],
        &[rule(0, "r", -1, "drawer")],
    );
    let osds = osd_map(4, &[pool(1, "p", 2, 16, 0)]);
    let (map, inventory) = cluster(&report(&map, &osds, &[(1, 1 << 30)], &[]).to_string());
    let written = scenario(&map, &inventory, "map.json").unwrap().unwrap();
    assert!(
        written.text.contains("# a, b") && written.text.contains("count = 2"),
        "{}",
        written.text
    );
}

#[test]
fn groups_that_lack_copies_say_why() {
    let short = |change: &dyn Fn(&mut Value, &mut Value)| {
        let mut map = hosts(3, 2);
        let mut osds = osd_map(6, &[pool(1, "p", 3, 64, 0)]);
        change(&mut map, &mut osds);
        let (map, _) = cluster(&report(&map, &osds, &[], &[]).to_string());
        let found = shortages(&map, &map.place_all().unwrap()).unwrap();
        found.get(&1).map(|short| (short.groups, short.below_min_size, short.why.clone()))
    };
    assert_eq!(short(&|_, _| {}), None);
    let few = short(&|_, osds| osds["pools"][0]["size"] = json!(4));
    assert_eq!(few, Some((64, 0, "the rule reaches 3 hosts, with at most 1 in each".to_owned())));
    let down = short(&|_, osds| {
        osds["osds"][0]["up"] = json!(0);
        osds["osds"][1]["up"] = json!(0);
    });
    assert_eq!(down, Some((64, 0, "OSDs are down".to_owned())));
    let (groups, _, why) =
        short(&|map, _| map["tunables"]["choose_total_tries"] = json!(1)).unwrap();
    assert!(groups > 0 && groups < 64, "{groups}");
    assert_eq!(why, "the rule finds no third host in 1 tries");
    let none = short(&|_, osds| osds["pools"][0]["crush_rule"] = json!(7));
    assert_eq!(none, Some((64, 64, "no rule 7 allows 3 replicas".to_owned())));
}

/// A change of the CRUSH map and of the OSD map.
type Change = dyn Fn(&mut Value, &mut Value);

#[test]
fn contradictions_are_noted_and_the_map_is_read() {
    let notes = |change: &Change| {
        let mut map = hosts(3, 2);
        let mut osds = osd_map(6, &[pool(1, "p", 3, 64, 0)]);
        change(&mut map, &mut osds);
        let (_, inventory) = cluster(&report(&map, &osds, &[], &[]).to_string());
        inventory.notes.join("\n")
    };
    assert_eq!(notes(&|_, _| {}), "");
    let cases: [(&Change, &str); 6] = [
        (
            &|_, osds| osds["pools"][0]["pg_placement_num"] = json!(128),
            "`pgp_num` 128 and `pg_num` 64",
        ),
        (&|_, osds| osds["osds"][2]["weight"] = json!(3.5), "osd.2 has the weight 3.5"),
        (
            &|_, osds| osds["pg_upmap_items"] = json!([{ "pgid": "1.7f", "mappings": [] }]),
            "`pg_upmap_items` has an exception for 1.7f, which does not exist",
        ),
        (
            &|_, osds| {
                osds["pg_upmap_items"] =
                    json!([{ "pgid": "1.1f", "mappings": [{ "from": 0, "to": 99 }] }]);
            },
            "`pg_upmap_items` moves 1.1f to osd.99, which does not exist: the group lacks that member",
        ),
        (
            &|map, _| {
                let name = map["buckets"][1]["name"].clone();
                map["buckets"][0]["name"] = name;
            },
            "are all named",
        ),
        (
            &|map, _| {
                let other = map["buckets"][1]["items"][0].clone();
                map["buckets"][0]["items"].as_array_mut().unwrap().push(other);
            },
            "is below several hosts of one tree",
        ),
    ];
    for (change, expected) in cases {
        let found = notes(change);
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn a_min_size_above_the_size_stops_all_groups() {
    let mut osds = osd_map(6, &[pool(1, "p", 3, 64, 0)]);
    osds["pools"][0]["min_size"] = json!(5);
    let (map, _) = cluster(&report(&hosts(3, 2), &osds, &[], &[]).to_string());
    let found = shortages(&map, &map.place_all().unwrap()).unwrap();
    let short = &found[&1];
    assert_eq!((short.groups, short.below_min_size), (64, 64));
    assert_eq!(short.why, "`min_size` is 5, and `size` 3");
}

#[test]
fn groups_are_served_where_they_act() {
    let mut osds = osd_map(6, &[pool(1, "p", 3, 64, 0)]);
    osds["pg_temp"] = json!([{ "pgid": "1.0", "osds": [0] }]);
    let (map, inventory) = cluster(&report(&hosts(3, 2), &osds, &[], &[]).to_string());
    let placed = map.place_all().unwrap();
    let short = &shortages(&map, &placed).unwrap()[&1];
    assert_eq!((short.groups, short.below_min_size), (1, 1));
    assert!(short.why.starts_with("their data are still on the way"), "{}", short.why);
    let survives = &capacities(&map, &inventory)[0].survives;
    let osd = survives.iter().find(|kind| kind.kind == "osd").unwrap();
    assert_eq!((osd.readable, osd.rule_readable), (0, 0));
}

#[test]
fn a_document_of_another_kind_does_not_hide_the_others() {
    let report = report(&hosts(3, 2), &osd_map(6, &[pool(1, "p", 3, 64, 0)]), &[], &[]);
    let (_, inventory) =
        cluster(&format!("{report}\n{{\"mons\": [], \"epoch\": 3}}\n{{\"a\": 1}}"));
    let note = &inventory.notes[0];
    assert!(note.starts_with("2 documents of this file are not used; the first: "), "{note}");
    assert!(note.contains("ceph mon dump"), "{note}");
}

/// A cluster whose pool 1 stores a TiB, which takes `bytes` on drives.
fn allocated(osds: &Value, bytes: u64) -> (ClusterMap, Inventory) {
    let mut report = report(&hosts(3, 3), osds, &[(1, TIB)], &[]);
    report["pool_stats"][0]["store_stats"] = json!({ "allocated": bytes });
    cluster(&report.to_string())
}

#[test]
fn copies_that_groups_lack_take_no_space() {
    // four copies are wanted, and three hosts take three
    let (map, inventory) = allocated(&osd_map(9, &[pool(1, "p", 4, 64, 0)]), 3 * TIB);
    let placed = map.place_all().unwrap();
    let situation = Situation { map: &map, inventory: &inventory, placed: &placed };
    let whole = whole_capacity(situation, &levels(&map, &inventory));
    assert!((whole.fill - 1.0 / 3.0).abs() < 1e-6, "{}", whole.fill);
    // three copies take as much of these hosts as three copies of a pool that wants no more
    let three = allocated(&osd_map(9, &[pool(1, "p", 3, 64, 0)]), 3 * TIB);
    let usable =
        |(map, inventory): &(ClusterMap, Inventory)| capacities(map, inventory)[0].usable_bytes;
    let (wants_four, wants_three) = (usable(&(map, inventory)), usable(&three));
    assert!((wants_four / wants_three - 1.0).abs() < 1e-6, "{wants_four} {wants_three}");
}

#[test]
fn an_osd_that_is_down_keeps_its_data_and_its_groups() {
    let before = allocated(&osd_map(9, &[pool(1, "p", 3, 64, 0)]), 3 * TIB);
    let changes = ["osd.0=down".to_owned()];
    let (after, known) = change(&before.0, &before.1, &changes).unwrap();
    let plan = plan((&before.0, &before.1), (&after, &known)).unwrap();
    let wholes = [&before.0, &after].map(|map| {
        let placed = map.place_all().unwrap();
        let situation = Situation { map, inventory: &before.1, placed: &placed };
        let at = usize::from(std::ptr::eq(map, &raw const after));
        whole_capacity(situation, &plan.levels[at])
    });
    assert_eq!(wholes[0], wholes[1]);
    assert_eq!((plan.shards, plan.groups_changed), (0, 0));
    let usable = |map: &ClusterMap| capacities(map, &before.1)[0].usable_bytes;
    assert!((usable(&after) / usable(&before.0) - 1.0).abs() < 1e-9);
    // when it is back, it has what it had
    let (back, known) = change(&after, &known, &["osd.0=up".to_owned()]).unwrap();
    let plan = foretell_ceph_maps::plan((&after, &before.1), (&back, &known)).unwrap();
    assert_eq!(plan.shards, 0);
    assert!((plan.levels[0].of(0) - plan.levels[1].of(0)).abs() < 1.0);
}

#[test]
fn data_shards_that_no_profile_tells_are_assumed_with_a_note() {
    let coded = |size: u32, min_size: u32, width: u64| {
        let mut osds = osd_map(9, &[pool(1, "p", size, 64, 0)]);
        let pool = &mut osds["pools"][0];
        pool["type"] = json!(3);
        pool["min_size"] = json!(min_size);
        pool["stripe_width"] = json!(width);
        pool["erasure_code_profile"] = json!("lost");
        let (map, inventory) = cluster(&report(&hosts(9, 1), &osds, &[], &[]).to_string());
        let note = inventory.notes.iter().find(|note| note.contains("data shards")).unwrap();
        (inventory.data_chunks(&map.pools()[&1]).0, note.clone())
    };
    // 2+1: `min_size` is 2, too
    assert_eq!(coded(3, 2, 0).0, 2);
    assert_eq!(coded(6, 5, 0).0, 5);
    assert_eq!(coded(6, 5, 16_384).0, 4);
    let (data, note) = coded(7, 5, 0);
    assert_eq!(data, 4);
    assert!(note.ends_with("(`k`): 4 of 7 are assumed"), "{note}");
}

#[test]
fn bytes_that_no_compression_explains_are_not_used() {
    let (_, inventory) = allocated(&osd_map(9, &[pool(1, "p", 3, 64, 0)]), 1000);
    assert_eq!(inventory.pools[&1].allocated_bytes, None);
    assert!(
        inventory.notes[0].contains("1000 bytes on drives cannot hold them"),
        "{:?}",
        inventory.notes
    );
}

#[test]
fn a_change_of_one_of_two_pools_with_one_name_is_refused() {
    let osds = osd_map(9, &[pool(1, "p", 3, 64, 0), pool(2, "p", 2, 64, 0)]);
    let (map, inventory) = cluster(&report(&hosts(3, 3), &osds, &[], &[]).to_string());
    let error = change(&map, &inventory, &["pool.p.size=2".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("pools 1, 2 are all named `p`"), "{error}");
}
