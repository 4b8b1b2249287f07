//! Ceph's own placement in scenarios, and scenarios of real clusters.

use std::path::{Path, PathBuf};

use foretell_ceph_maps::{Imported, read_text, scenario};
use foretell_scenarios::Document;
use foretell_scenarios::model::{Places, Scenario, System};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A cluster of two racks with two hosts each, three disks a host.
const RACKS: &str = r#"
duration = "1 s"

[cluster]
system = "ceph"
placement_groups_per_osd = 32

[node.left]
count = 2
cpu   = "xeon-2023"
cache = { size = "64 MiB" }
disk  = [{ device = "sata-ssd", count = 3 }]
rack  = "west"

[node.right]
count = 4
cpu   = "xeon-2023"
cache = { size = "64 MiB" }
disk  = [{ device = "sata-ssd", count = 3 }]
rack  = ["east", "north"]

[client.app]
cpu = "xeon-2023"

[volume.apart]
size     = "1 GiB"
nodes    = "left, right"
encoding = "1-of-3"
failure_domain = "rack"

[volume.near]
size     = "1 GiB"
nodes    = "left, right"
encoding = "4-of-8"
block    = "16 KiB"
failure_domain = "osd"

[workload.w]
volume = "apart"
client = "app"
kind   = "ssio"
reads  = "50%"
"#;

fn check(text: &str, base: &Path) -> Result<Scenario, String> {
    let document = Document::parse("s.toml", text, base).map_err(|errors| errors.lines())?;
    document.check().map_err(|errors| errors.lines())
}

fn places(scenario: &Scenario, volume: usize) -> &Places {
    let System::Ceph(ceph) = &scenario.system else { panic!("it is Ceph") };
    &ceph.places.as_ref().unwrap()[volume]
}

#[test]
fn copies_are_in_different_racks() {
    let scenario = check(RACKS, Path::new("")).unwrap();
    // hosts 0 and 1 are in the west; 2 and 4 in the east, 3 and 5 in the north
    let rack = |host: usize| [0, 0, 1, 2, 1, 2][host];
    let apart = places(&scenario, 0);
    // 18 disks of 32 copies each, in groups of three: 192, rounded up to 256
    assert_eq!((apart.groups, apart.devices.len()), (256, 768));
    for group in apart.devices.chunks(3) {
        let mut racks: Vec<i32> = group.iter().map(|(host, _)| rack(host.index())).collect();
        racks.sort_unstable();
        assert_eq!(racks, [0, 1, 2]);
    }
    assert!(apart.survives.contains(&("rack".to_owned(), 2)), "{:?}", apart.survives);
    // eight shards on six hosts: some share a host
    let near = places(&scenario, 1);
    assert!(near.devices.chunks(8).all(|group| {
        group.iter().all(|device| group.iter().filter(|other| *other == device).count() == 1)
    }));
    assert!(near.survives.contains(&("osd".to_owned(), 4)), "{:?}", near.survives);
}

/// Two rooms with three racks between them, and rules.
fn rooms(rules: &str, volume: &str) -> String {
    RACKS
        .replace("rack  = \"west\"", "rack = \"west\"\nroom = \"cold\"")
        .replace(
            "rack  = [\"east\", \"north\"]",
            "rack = [\"east\", \"north\"]\nroom = [\"warm\", \"cold\"]",
        )
        .replace("failure_domain = \"rack\"", volume)
        + rules
}

#[test]
fn rules_choose_rooms_racks_and_classes() {
    // hosts 0, 1, 3 and 5 are in the cold room, 2 and 4 in the warm one
    let cold = |host: usize| host < 2 || host % 2 == 1;
    // two copies in the cold room, in two racks, then one in the warm room
    let rules = r#"
[rule.two-and-one]
steps = [
  "take cold", "chooseleaf firstn 2 type rack", "emit",
  "take warm", "chooseleaf firstn -2 type host", "emit",
]
"#;
    let scenario = check(&rooms(rules, "rule = \"two-and-one\""), Path::new("")).unwrap();
    let groups = places(&scenario, 0);
    for group in groups.devices.chunks(3) {
        let hosts: Vec<usize> = group.iter().map(|(host, _)| host.index()).collect();
        assert!(cold(hosts[0]) && cold(hosts[1]) && !cold(hosts[2]), "{hosts:?}");
        assert_ne!(hosts[0] < 2, hosts[1] < 2, "both in one rack: {hosts:?}");
    }
    assert!(groups.survives.contains(&("room".to_owned(), 1)), "{:?}", groups.survives);
    // one copy in each room needs no rule
    let apart = rooms("", "failure_domain = \"room\"").replace("1-of-3", "1-of-2");
    let scenario = check(&apart, Path::new("")).unwrap();
    for group in places(&scenario, 0).devices.chunks(2) {
        assert_ne!(cold(group[0].0.index()), cold(group[1].0.index()));
    }
    // a class of devices: those of the nodes `right`
    let rules = r#"
[rule.fast]
steps = ["take default class nvme", "chooseleaf firstn 0 type host", "emit"]
"#;
    let classes = rooms(rules, "rule = \"fast\"");
    let (left, right) = classes.split_once("[node.right]").unwrap();
    let right = right.replacen("count = 3 }]", "count = 3, class = \"nvme\" }]", 1);
    let scenario = check(&format!("{left}[node.right]{right}"), Path::new("")).unwrap();
    assert!(places(&scenario, 0).devices.iter().all(|(host, _)| host.index() >= 2));
    let error = check(&classes, Path::new("")).unwrap_err();
    assert!(error.contains("`default` has no devices of class `nvme`"), "{error}");
}

#[test]
fn rules_that_cannot_be_are_errors() {
    let wrong = |steps: &str| {
        let rules = format!("\n[rule.r]\nsteps = [{steps}]\n");
        check(&rooms(&rules, "rule = \"r\""), Path::new("")).unwrap_err()
    };
    let error = wrong("\"take defult\", \"emit\"");
    assert!(
        error.contains("in `take defult`") && error.contains("did you mean `default`"),
        "{error}"
    );
    let error = wrong("\"take default\", \"chooseleaf firstn 0 type row\", \"emit\"");
    assert!(error.contains("in `chooseleaf firstn 0 type row`"), "{error}");
    let error = wrong("\"take default\", \"emit now\"");
    assert!(error.contains("found `now` after the end of the step"), "{error}");
    let error = wrong("\"take default\", \"chooseleaf firstn\", \"emit\"");
    assert!(error.contains("the step ends where"), "{error}");
    // three copies do not fit into two rooms
    let error = wrong("\"take default\", \"chooseleaf firstn 0 type room\", \"emit\"");
    assert!(error.contains("volume `apart`: its rule finds no 3 places"), "{error}");
    let unused = rooms("\n[rule.r]\nsteps = [\"take default\"]\n", "failure_domain = \"rack\"");
    let error = check(&unused, Path::new("")).unwrap_err();
    assert!(error.contains("no volume is placed by rule `r`"), "{error}");
    let both = rooms("", "failure_domain = \"rack\"").replace("room = \"cold\"", "room = \"warm\"");
    let two = both.replace("rack = [\"east\", \"north\"]", "rack = \"west\"");
    let error = check(&two, Path::new("")).unwrap_err();
    assert!(error.contains("rack `west` is in `warm`, and in `cold`"), "{error}");
}

#[test]
fn a_failure_domain_alone_places_over_hosts() {
    let plain = RACKS
        .replace("rack  = \"west\"", "")
        .replace("rack  = [\"east\", \"north\"]", "")
        .replace("failure_domain = \"rack\"", "failure_domain = \"osd\"")
        .replace("1-of-3", "1-of-7");
    // seven copies on six hosts
    let scenario = check(&plain, Path::new("")).unwrap();
    let apart = places(&scenario, 0);
    assert_eq!(apart.devices.len(), apart.groups as usize * 7);
    assert!(apart.survives.contains(&("osd".to_owned(), 6)), "{:?}", apart.survives);
}

#[test]
fn what_has_no_effect_or_cannot_be_is_an_error() {
    let wrong = |from: &str, to: &str| {
        assert!(RACKS.contains(from), "{from}");
        check(&RACKS.replace(from, to), Path::new("")).unwrap_err()
    };
    let error = wrong("rack  = \"west\"", "");
    assert!(error.contains("node `left` does not say in which rack"), "{error}");
    // four copies in three racks: two would have to share a rack
    let error = wrong("1-of-3", "1-of-19");
    assert!(error.contains("reaches 18 OSDs"), "{error}");
    let error = wrong("failure_domain = \"osd\"", "rule = \"x\"");
    assert!(error.contains("the CRUSH map has no rule `x`"), "{error}");
    let error = wrong("failure_domain = \"osd\"", "failure_domain = \"room\"");
    assert!(error.contains("no node says in which room it is"), "{error}");
    let error = wrong("rack  = \"west\"", "rack = \"left0\"");
    assert!(error.contains("`left0` is the name of a host and of a rack"), "{error}");
    let error = wrong("rack  = \"west\"", "rack = \"two words\"");
    assert!(error.contains("this is not a name of a rack"), "{error}");
    let error =
        wrong("count = 3 }]\nrack  = \"west\"", "count = 3, class = \"nvme\" }]\nrack = \"west\"");
    assert!(error.contains("`class` has no effect without rules"), "{error}");
    let error = wrong("rack  = \"west\"", "rack = \"west\"\nosds = \"0-4\"");
    assert!(error.contains("has 6 disks, and `osds` names 5"), "{error}");
    let error = wrong("placement_groups_per_osd = 32", "crush = \"nowhere.json\"");
    assert!(
        error.contains("`crush` says in which rack each node is, and so does `rack`"),
        "{error}"
    );
    let plain = RACKS.replace("rack  = \"west\"", "").replace("rack  = [\"east\", \"north\"]", "");
    let error = check(&plain, Path::new("")).unwrap_err();
    assert!(error.contains("no node says in which rack it is"), "{error}");
    let other = RACKS.replace("system = \"ceph\"", "").replace("placement_groups_per_osd = 32", "");
    let error = check(&other, Path::new("")).unwrap_err();
    assert!(error.contains("`failure_domain` has no effect without a CRUSH map"), "{error}");
    let file = plain
        .replace("placement_groups_per_osd = 32", "crush = \"nowhere.json\"")
        .replace("failure_domain = \"rack\"", "")
        .replace("failure_domain = \"osd\"", "");
    let error = check(&file, Path::new("")).unwrap_err();
    assert!(
        error.contains("cannot read the CRUSH map") && error.contains("nowhere.json"),
        "{error}"
    );
}

/// Imports a report and checks its scenario, in a temporary directory.
fn imported(text: &str) -> Option<(String, Scenario)> {
    let Imported::Cluster(map, inventory) = read_text("report.json", text).unwrap() else {
        panic!("there are OSDs")
    };
    let written = scenario(&map, &inventory, "ceph-map.json").unwrap()?;
    let directory = tempfile::tempdir().unwrap();
    let kept = foretell_ceph_maps::keepable_text("report.json", text).unwrap();
    std::fs::write(directory.path().join("ceph-map.json"), kept).unwrap();
    let checked = check(&written.text, directory.path());
    let checked = checked.unwrap_or_else(|errors| panic!("{errors}\n{}", written.text));
    // every pool has the cluster's places
    for (index, volume) in checked.volumes.iter().enumerate() {
        let places = places(&checked, index);
        assert_eq!(places.devices.len(), places.groups as usize * usize::from(volume.n()));
    }
    // what is kept of a run needs no file
    let document = Document::parse("s.toml", &written.text, directory.path()).unwrap();
    let known = document.known_to_operator().unwrap();
    let again = check(&known, Path::new("/nowhere")).unwrap();
    assert_eq!(again.system, checked.system);
    Some((written.text, checked))
}

fn reports() -> Vec<PathBuf> {
    let Some(directory) = foretell_test_data::shared("ceph-reports") else { return Vec::new() };
    ["01", "04", "09", "13"].map(|number| directory.join(format!("report-{number}.json"))).into()
}

#[test]
fn real_clusters_become_scenarios() {
    for path in reports() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (written, checked) = imported(&text).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let pools = report["osdmap"]["pools"].as_array().unwrap();
        assert_eq!(checked.volumes.len(), pools.len());
        for (pool, (index, volume)) in pools.iter().zip(checked.volumes.iter().enumerate()) {
            assert_eq!(pool["size"], volume.n(), "{}", volume.name);
            assert_eq!(pool["pg_num"], places(&checked, index).groups, "{}", volume.name);
        }
        let disks: usize = checked
            .hosts
            .iter()
            .filter_map(|host| host.role.storage())
            .map(|storage| storage.disks.len())
            .sum();
        assert_eq!(disks, report["osdmap"]["osds"].as_array().unwrap().len());
        // assumptions are marked, and the head lists what to measure next
        assert!(written.contains("# assumed") && written.contains("# Measure next"));
        // no address, no serial number
        for metadata in report["osd_metadata"].as_array().unwrap() {
            for key in ["back_addr", "front_addr"] {
                let address = metadata[key].as_str().unwrap().split([':', ',']).nth(1).unwrap();
                assert!(!written.contains(address), "{address}");
            }
            for id in metadata["device_ids"].as_str().unwrap().split(',') {
                let serial = id.rsplit('_').next().unwrap();
                assert!(!written.contains(serial), "{serial}");
            }
        }
    }
}

/// A report of a cluster: disks and flash under separate roots, and pools of all kinds.
fn report(hosts: usize, disks: usize, flash: usize, seed: u64, metadata: bool) -> String {
    let mut buckets = Vec::new();
    let mut devices = Vec::new();
    let mut next = 0;
    let mut roots = [Vec::new(), Vec::new()];
    for host in 0..hosts {
        for (kind, count) in [disks, flash].into_iter().enumerate() {
            let mut items = Vec::new();
            let class = ["hdd", "ssd"][kind];
            for _ in 0..count {
                let tib = 1 + (next as u64 * 7 + seed) % 5;
                items.push(json!({ "id": next, "weight": tib * 65_536, "pos": items.len() }));
                devices.push(json!({ "id": next, "name": format!("osd.{next}"), "class": class }));
                next += 1;
            }
            let weight: u64 = items.iter().map(|item| item["weight"].as_u64().unwrap()).sum();
            let id = -10 - i64::try_from(2 * host + kind).unwrap();
            let name = format!("h{host}-{kind}");
            buckets.push(json!({ "id": id, "name": name, "type_id": 1, "alg": "straw2", "hash": "rjenkins1", "items": items }));
            roots[kind].push(json!({ "id": id, "weight": weight, "pos": host }));
        }
    }
    for (kind, items) in roots.into_iter().enumerate() {
        buckets.push(json!({ "id": -1 - i64::try_from(kind).unwrap(), "name": format!("root{kind}"), "type_id": 11, "alg": "straw2", "hash": "rjenkins1", "items": items }));
    }
    let rule = |id: u64, root: i64, op: &str, kind: &str| {
        json!({ "rule_id": id, "rule_name": format!("r{id}"), "type": if op.ends_with("indep") { 3 } else { 1 }, "steps": [
            { "op": "take", "item": root, "item_name": "x" }, { "op": op, "num": 0, "type": kind }, { "op": "emit" } ] })
    };
    let rules = [
        rule(0, -1, "chooseleaf_firstn", "host"),
        rule(1, -2, "chooseleaf_firstn", "osd"),
        rule(2, -1, "choose_indep", "osd"),
    ];
    let pool = |id: u64, name: &str, kind: u64, size: u64, rule: u64, groups: u64| {
        json!({ "pool": id, "pool_name": name, "flags": 1, "type": kind, "size": size, "min_size": 2, "crush_rule": rule,
            "pg_num": groups, "pg_placement_num": groups, "erasure_code_profile": if kind == 3 { "ec" } else { "" } })
    };
    let pools = [
        pool(1, ".mgr", 1, 3, 0, 1),
        pool(2, "a b.\"c\"", 1, 3, 1, 24),
        pool(5, "ec", 3, 4, 2, 32),
        pool(6, "ec.", 3, 4, 2, 12),
    ];
    let osds: Vec<Value> = (0..next)
        .map(|osd| {
            let (up, weight) = match (osd as u64 + seed) % 11 {
                3 => (0, 1.0),
                5 => (1, 0.5),
                7 => (1, 0.0),
                _ => (1, 1.0),
            };
            json!({ "osd": osd, "up": up, "weight": weight, "primary_affinity": 1.0 })
        })
        .collect();
    let metadata: Vec<Value> = (0..if metadata { next } else { 0 })
        .map(|osd| {
            json!({ "id": osd, "hostname": format!("m{}", osd % hosts), "cpu": "Some\nCPU \"x\"",
                "bluestore_bdev_size": (4_000_000_000_000_u64 + osd as u64 * 4096).to_string(),
                "bluestore_bdev_devices": "nvme0n1", "device_ids": "nvme0n1=MAKER_MODEL_SECRET7",
                "mem_total_kb": "65491488" })
        })
        .collect();
    let stats = json!([{ "poolid": 5, "stat_sum": { "num_bytes": 1_u64 << 33, "num_objects": 2048, "num_read": 10, "num_read_kb": 700,
        "num_write": 30, "num_write_kb": 120 }, "store_stats": { "allocated": 1_u64 << 34 } }]);
    json!({
        "osdmap": { "max_osd": next, "pools": pools, "osds": osds, "erasure_code_profiles": { "ec": { "k": "2", "m": "2" } } },
        "crushmap": { "devices": devices, "types": [{ "type_id": 0, "name": "osd" }, { "type_id": 1, "name": "host" }, { "type_id": 11, "name": "root" }],
            "buckets": buckets, "rules": rules, "tunables": { "choose_local_tries": 0, "choose_local_fallback_tries": 0, "choose_total_tries": 50,
            "chooseleaf_descend_once": 1, "chooseleaf_vary_r": 1, "chooseleaf_stable": 1, "straw_calc_version": 1 } },
        "osd_metadata": metadata,
        "pool_stats": if seed.is_multiple_of(2) { stats } else { json!([]) },
    })
    .to_string()
}

#[test]
fn a_cluster_with_fewer_hosts_than_copies_has_a_scenario() {
    let (text, checked) = imported(&report(2, 3, 2, 0, true)).unwrap();
    assert!(!text.contains("SECRET7"), "{text}");
    // with two hosts the rule finds two of three copies
    assert!(text.contains("groups have fewer members than the pool's size"), "{text}");
    let names: Vec<&str> = checked.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["mgr", "a-b--c", "ec", "ec-2"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_cluster_that_can_place_a_pool_has_a_scenario(
        hosts in 1_usize..7, disks in 0_usize..5, flash in 0_usize..4, seed in 0_u64..1000, metadata in any::<bool>()
    ) {
        imported(&report(hosts, disks, flash, seed, metadata));
    }
}
