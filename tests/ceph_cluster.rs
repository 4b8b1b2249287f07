//! A real Ceph cluster, from its report to a run, a prediction and a plan.

use crate::common;

use std::fmt::Write as _;
use std::path::PathBuf;

use common::{foretell, succeed};
use serde_json::Value;

fn report(number: &str) -> Option<PathBuf> {
    foretell_test_data::shared(&format!("ceph-reports/report-{number}.json"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_imported_cluster_is_run_and_asked_about() {
    let Some(report) = report("13") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (report, cluster, run) = (report.display().to_string(), path("cluster"), path("run"));
    let imported = json(&succeed(["import", "ceph", &report, "--check", "-o", &cluster, "--json"]));
    assert_eq!(imported["osds_equal"], 35);
    assert_eq!(imported["scenario"]["file"], "scenario.toml");
    assert!(imported["capacity"]["cost_per_usable_tib"].as_f64().unwrap() > 0.0);
    // an address and a key's name of the report
    for file in ["scenario.toml", "ceph-map.json"] {
        let text = std::fs::read_to_string(directory.path().join("cluster").join(file)).unwrap();
        assert!(!text.contains("192.168.160.") && !text.contains("VBG4DL8R"), "{file}");
    }
    let scenario = format!("{cluster}/scenario.toml");
    let brief = ["--set", "warmup=100 ms", "--set", "duration=1500 ms"];
    let arguments = [&["run", &scenario, "-o", &run, "--json"][..], &brief].concat();
    let truth = json(&succeed(arguments));
    let volumes = truth["capacity"]["volumes"].as_object().unwrap();
    assert_eq!(volumes.len(), 15);
    // 3-of-8 on two hosts, four shards on each: any five devices, or one host
    let coded = &volumes["openstack-ec"];
    assert_eq!((&coded["survives"]["osd"], &coded["survives"]["host"]), (&5.into(), &1.into()));
    assert!((coded["overhead"].as_f64().unwrap() - 8.0 / 3.0).abs() < 1e-9);
    // the map is in the records: the answer needs no file
    std::fs::remove_dir_all(directory.path().join("cluster")).unwrap();
    let change = "volume.openstack-ec.encoding=4-of-8";
    let answer = json(&succeed(["ask", &run, "--what-if", change, "--json"]));
    let coded = &answer["capacity"]["volumes"]["openstack-ec"];
    assert_eq!((&coded["survives"]["osd"], &coded["survives"]["host"]), (&4.into(), &1.into()));
    assert!((coded["overhead"].as_f64().unwrap() - 2.0).abs() < 1e-9);
}

#[test]
fn a_plan_says_how_long_it_takes_at_a_throttle() {
    let Some(report) = report("13") else { return };
    let report = report.display().to_string();
    let time = |change: &str, more: &[&str]| {
        let plan = ["plan", &report, "--what-if", change, "--json"];
        json(&succeed([&plan[..], more].concat()))["time"].clone()
    };
    let hours = |time: &Value| time["hours"].as_f64().unwrap();
    let usual = time("osd.3=out", &[]);
    assert!(hours(&usual) > 0.1, "{usual}");
    // the OSD is up and serves what leaves it
    assert_eq!(usual["degraded_hours"], 0.0);
    assert_eq!(usual["bytes_read"], usual["bytes_written"]);
    let slow =
        time("osd.3=out", &["--recovery-rate", "hdd=15 MiB/s", "--recovery-rate", "120 MiB/s"]);
    assert!((hours(&slow) / hours(&usual) - 5.0).abs() < 1e-6, "{slow}");
    assert!(hours(&time("osd.3=out", &["--max-backfills", "4"])) <= hours(&usual) * 1.05);
    for (rate, says) in
        [("tape=1 MiB/s", "OSDs here are of"), ("0 MiB/s", "a rate"), ("=5 MiB/s", "no class")]
    {
        let arguments = ["plan", &report, "--what-if", "osd.3=out", "--recovery-rate", rate];
        let refused = foretell().args(arguments).output().unwrap();
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && message.contains(says), "{rate}: {message}");
    }
}

#[test]
fn a_plan_says_what_a_pool_takes_and_refuses_what_no_rule_places() {
    let Some(report) = report("04") else { return };
    let report = report.display().to_string();
    let plan = |change: &str| json(&succeed(["plan", &report, "--what-if", change, "--json"]));
    let used = |plan: &Value, when: &str, key: &str| {
        plan["capacity"][when]["whole"][key].as_f64().unwrap_or_else(|| panic!("{key}: {plan}"))
    };
    // fewer copies take less
    let two = plan("pool.cephfs_data.size=2");
    assert!(used(&two, "after", "fill") < used(&two, "before", "fill"), "{two}");
    for change in [
        "pool.cephfs_data.size=99",
        "pool.data-ec.encoding=2-of-3",
        "pool.cephfs_data.encoding=4-of-6",
    ] {
        let done = common::run(["plan", &report, "--what-if", change]);
        assert_eq!(done.status, Some(2), "{change}: {}", done.stdout);
        assert!(done.stderr.contains("the rule of pool"), "{}", done.stderr);
    }
    // what has no other place does not move, and is not said to
    for osd in 0..6 {
        for how in ["out", "down", "reweight=0.9"] {
            let change = if how.contains('=') {
                format!("osd.{osd}.{how}")
            } else {
                format!("osd.{osd}={how}")
            };
            let plan = plan(&change);
            let of = |key: &str| plan[key].as_u64().unwrap();
            assert!(of("bytes_floor") <= of("bytes_moved"), "{change}");
        }
    }
}

/// A cluster of three hosts with an OSD each, and a pool of three copies; no file says how much it holds.
fn three_hosts(place: &tempfile::TempDir) -> [String; 2] {
    let osds: Vec<Value> = (0..3)
        .map(|osd| serde_json::json!({ "osd": osd, "up": 1, "in": 1, "weight": 1.0 }))
        .collect();
    let dump = serde_json::json!({
        "epoch": 1,
        "pools": [{
            "pool": 1, "pool_name": "p", "type": 1, "size": 3, "min_size": 2, "crush_rule": 0,
            "pg_num": 8, "pg_placement_num": 8, "object_hash": 2, "flags": 1,
        }],
        "osds": osds, "osd_xinfo": [], "pg_upmap": [], "pg_upmap_items": [], "pg_temp": [],
        "primary_temp": [],
    });
    let mut map = String::from("device 0 osd.0\ndevice 1 osd.1\ndevice 2 osd.2\n");
    map += "type 0 osd\ntype 1 host\ntype 11 root\n";
    for osd in 0..3 {
        let _ = write!(
            map,
            "host h{osd} {{\nid -{}\nalg straw2\nhash 0\nitem osd.{osd} weight 1.000\n}}\n",
            osd + 2
        );
    }
    map += "root default {\nid -1\nalg straw2\nhash 0\nitem h0 weight 1.000\nitem h1 weight 1.000\n\
            item h2 weight 1.000\n}\nrule by_host {\nid 0\ntype replicated\nstep take default\n\
            step chooseleaf firstn 0 type host\nstep emit\n}\n";
    let files = ["dump.json", "crush.txt"].map(|name| place.path().join(name));
    std::fs::write(&files[0], dump.to_string()).unwrap();
    std::fs::write(&files[1], map).unwrap();
    files.map(|file| file.display().to_string())
}

#[test]
fn more_copies_than_failure_domains_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let [dump, map] = three_hosts(&place);
    let done = common::run(["plan", &dump, &map, "--what-if", "pool.p.size=5"]);
    assert_eq!(done.status, Some(2), "{}", done.stdout);
    let wanted = "the rule of pool `p` does not place 5 copies: `by_host` reaches 3 hosts, with at most 1 in \
                  each: room for 3; expected room for 5";
    assert!(done.stderr.contains(wanted), "{}", done.stderr);
    succeed(["plan", &dump, &map, "--what-if", "node.h0.count=3", "--what-if", "pool.p.size=5"]);
}

#[test]
fn only_placed_copies_survive() {
    let place = tempfile::tempdir().unwrap();
    let [dump, map] = three_hosts(&place);
    let plan = json(&succeed(["plan", &dump, &map, "--what-if", "osd.1=out", "--json"]));
    let survives = |when: &str, kind: &str, key: &str| {
        plan["capacity"][when]["pools"][0]["survives"][kind][key].as_u64().unwrap()
    };
    for key in ["readable", "rule_readable"] {
        for (kind, before, after) in [("osd", 2, 1), ("host", 2, 1), ("root", 0, 0)] {
            let found = (survives("before", kind, key), survives("after", kind, key));
            assert_eq!(found, (before, after), "{kind} {key}");
        }
    }
}

#[test]
fn serves_stands_beside_survives() {
    let place = tempfile::tempdir().unwrap();
    let [dump, map] = three_hosts(&place);
    let imported = json(&succeed(["import", "ceph", &dump, &map, "--json"]));
    let pool = &imported["pools"][0];
    // three copies, of which two must be there to be served
    assert_eq!((&pool["serves"]["host"], &pool["serves"]["osd"]), (&1.into(), &1.into()));
    assert_eq!((&pool["survives"]["host"]["readable"], &pool["min_size"]), (&2.into(), &2.into()));
    let text = succeed(["import", "ceph", &dump, &map]);
    assert!(text.contains("serves without any") && text.contains("1 osd or 1 host"), "{text}");
    let plan = json(&succeed(["plan", &dump, &map, "--what-if", "pool.p.min_size=3", "--json"]));
    let serves = |when: &str| plan["capacity"][when]["pools"][0]["serves"]["host"].clone();
    assert_eq!((serves("before"), serves("after")), (1.into(), 0.into()));
}

#[test]
fn groups_that_lack_copies_are_noted_with_the_reason() {
    let place = tempfile::tempdir().unwrap();
    let [dump, map] = three_hosts(&place);
    let changed = std::fs::read_to_string(&dump).unwrap().replace("\"size\":3", "\"size\":4");
    std::fs::write(&dump, changed).unwrap();
    let imported = json(&succeed(["import", "ceph", &dump, &map, "--json"]));
    assert_eq!(
        (&imported["pgs_short"], &imported["pools"][0]["pgs_short"]),
        (&8.into(), &8.into())
    );
    let note = "pool `p`, rule `by_host`: 8 groups have fewer copies than the pool wants: the rule reaches 3 hosts, \
                with at most 1 in each; `survives` and `serves` count them as they are";
    assert_eq!(imported["notes"], serde_json::json!([note]));
    for command in [&["import", "ceph"][..], &["plan"]] {
        let text = succeed([command, &[&dump, &map]].concat());
        assert!(text.contains(&format!("note: {note}")), "{text}");
    }
}

#[test]
fn one_level_of_an_osd_stands_in_all_lines() {
    let place = tempfile::tempdir().unwrap();
    let [dump, map] = three_hosts(&place);
    let more = ["df.json", "pools.json"].map(|name| place.path().join(name).display().to_string());
    let nodes = (0..3).map(
        |osd| serde_json::json!({ "id": osd, "kb": 1_u64 << 30, "kb_used": ((osd + 3) * 100) << 20 }),
    );
    let df = serde_json::json!({ "nodes": nodes.collect::<Value>(), "stray": [], "summary": {} });
    std::fs::write(&more[0], df.to_string()).unwrap();
    let pools = serde_json::json!({ "stats": {}, "stats_by_class": {}, "pools": [
        { "id": 1, "name": "p", "stats": { "stored": 100_u64 << 30, "objects": 1, "bytes_used": 300_u64 << 30 } }] });
    std::fs::write(&more[1], pools.to_string()).unwrap();
    let change = ["--what-if", "node.h0.count=4"];
    let files = [&dump, &map, &more[0], &more[1]].map(String::as_str);
    let plan = json(&succeed([&["plan"][..], &files, &change, &["--json"]].concat()));
    // 300, 400 and 500 GiB of a TiB each
    let [before, after] = ["before", "after"].map(|when| plan["capacity"][when]["whole"].clone());
    assert_eq!(before["fullest"], serde_json::json!({ "osd": 2, "fill": 500.0 / 1024.0 }));
    for (when, whole) in [("before", &before), ("after", &after)] {
        assert_eq!(plan["fullest"][when], whole["fullest"], "{plan}");
    }
    let all = after["fill"].as_f64().unwrap() * after["raw_bytes"].as_f64().unwrap();
    assert!((all / f64::from(1 << 30) - 1200.0).abs() < 1e-6, "{plan}");
    assert!(plan["bytes_moved"].as_u64().unwrap() > 0);
}

#[test]
fn unknown_bytes_are_a_dash() {
    let place = tempfile::tempdir().unwrap();
    let [dump, map] = three_hosts(&place);
    let text = succeed(["plan", &dump, &map, "--what-if", "node.h0.count=3"]);
    assert!(text.contains(" %), -\n"), "{text}");
    assert!(text.contains("bytes are unknown") && !text.contains("0 B"), "{text}");
    assert!(!text.contains("used") && !text.contains("fullest:"), "{text}");
}

#[test]
fn options_of_upmaps_need_upmaps() {
    for option in ["--upmap-max", "--upmap-deviation"] {
        let done = common::run(["plan", "x", "--what-if", "osd.1=out", option, "5"]);
        assert_eq!(done.status, Some(2));
        assert!(done.stderr.contains("--upmap [<KIND>]"), "{}", done.stderr);
        let change = ["--what-if", "osd.1=out", "--upmap", "stay"];
        let done = common::run([&["plan", "x"], &change[..], &[option, "5"]].concat());
        assert_eq!(done.status, Some(2));
        assert!(done.stderr.contains("has no effect with `--upmap stay`"), "{}", done.stderr);
    }
}

#[test]
fn what_no_ceph_cluster_wrote_is_refused_at_once() {
    for arguments in [["import", "ceph"].as_slice(), &["plan"]] {
        let done = common::run([arguments, &["/dev/zero"]].concat());
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("it is a device"), "{}", done.stderr);
    }
}

#[test]
fn a_crush_map_alone_fills_no_directory() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("cluster");
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/settings/map.txt");
    let done = common::run(["import", "ceph", map, "-o", directory.to_str().unwrap()]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("a CRUSH map alone has no pools"), "{}", done.stderr);
    assert!(!directory.exists());
}

#[test]
fn prices_are_those_that_are_given() {
    let Some(report) = report("01") else { return };
    let directory = tempfile::tempdir().unwrap();
    let prices = directory.path().join("prices.csv");
    std::fs::write(&prices, "drive,eur_per_tb\nhdd,28\n").unwrap();
    let (report, prices) = (report.display().to_string(), prices.display().to_string());
    let cost = |more: &[&str]| {
        let plan = ["plan", &report, "--what-if", "osd.3=out", "--json"];
        let plan = json(&succeed([&plan[..], more].concat()));
        let whole = plan["capacity"]["after"]["whole"].clone();
        (whole["currency"].clone(), whole["cost_per_usable_tib"].as_f64().unwrap())
    };
    let (usual, own) = (cost(&[]), cost(&["--prices", &prices]));
    assert_eq!((usual.0, own.0), ("USD".into(), "EUR".into()));
    // twice the price of a disk that comes with the program
    assert!((own.1 / usual.1 - 2.0).abs() < 1e-9);
    std::fs::write(&prices, "drive,eur_per_tb\ntape,28\n").unwrap();
    for command in [&["import", "ceph", &report][..], &["plan", &report, "--what-if", "osd.3=out"]]
    {
        let done = common::run([command, &["--prices", &prices]].concat());
        let note = format!("note: `{prices}` has no price for `hdd`\n");
        assert_eq!((done.status, done.stderr), (Some(0), note));
    }
    std::fs::write(&prices, "drive,eur_per_tb\nhdd,cheap\n").unwrap();
    let output =
        foretell().args(["import", "ceph", &report, "--prices", &prices]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`cheap`"));
}

#[test]
fn a_rule_promises_less_than_a_placement_may_give() {
    let Some(report) = report("13") else { return };
    let pools = json(&succeed(["import", "ceph", &report.display().to_string(), "--json"]));
    for pool in pools["pools"].as_array().unwrap() {
        for (kind, failures) in pool["survives"].as_object().unwrap() {
            let (rule, now) = (&failures["rule_readable"], &failures["readable"]);
            assert!(rule.as_u64() <= now.as_u64(), "{} {kind}: {failures}", pool["name"]);
        }
        // 3-of-8 has four shards on each of two hosts; all others have three copies on three
        let host = &pool["survives"]["host"]["rule_readable"];
        let osd = &pool["survives"]["osd"]["rule_readable"];
        let found = (host.as_u64().unwrap(), osd.as_u64().unwrap());
        assert!(found == (1, 5) || found == (2, 2), "{}: {found:?}", pool["name"]);
    }
}

/// Six hosts in three racks of two, and a copy in each rack; `osd0` and `osd3` are in the same rack.
const RACKS: &str = r#"
warmup   = "200 ms"
duration = "6 s"
payload  = "real"
[cluster]
system = "ceph"
[node.osd]
count = 6
rack  = ["r1", "r2", "r3"]
cpu   = "xeon-2023"
cache = { size = "64 MiB" }
disk  = [{ device = "sata-ssd", scheduler = "noop", count = 2 }]
nic   = { rate = "1 Gbit/s", latency = "20 us" }
[client.app]
cpu = "xeon-2023"
nic = { rate = "1 Gbit/s", latency = "20 us" }
[volume.v]
size = "256 MiB"
nodes = "osd"
encoding = "1-of-3"
failure_domain = "rack"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = "50%"
access = "8 KiB"
working_set = "16 MiB"
outstanding = 1
[recovery]
heartbeat = "100 ms"
grace = "300 ms"
out_after = "500 ms"
max_backfills = 8
"#;

#[test]
fn what_a_host_held_is_rebuilt_in_its_own_rack() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("racks.toml").display().to_string();
    std::fs::write(&file, RACKS).unwrap();
    for (what, kind) in [("fail", "rebuild"), ("drain", "rebalance")] {
        let event = format!("event.e={{ at = '1 s', what = '{what}', host = 'osd0' }}");
        let truth = json(&succeed(["run", &file, "--set", &event, "--json"]));
        assert_eq!((&truth["failed_requests"], &truth["bytes_lost"]), (&0.into(), &0.into()));
        assert!(truth["blocks_compared"].as_u64().unwrap() > 1000);
        let [one] = &truth["recoveries"].as_array().unwrap()[..] else { panic!("{truth}") };
        assert_eq!(one["kind"], kind);
        assert!(one["ended_s"].as_f64().is_some(), "{one}");
        let phases = truth["phases"].as_array().unwrap();
        assert_eq!(phases.last().unwrap()["phase"], "after");
        // no rack may have two copies: everything goes to the other host of the rack
        let written = |host: &str| -> u64 {
            let disks = ["disk0", "disk1"].map(|disk| &truth["hosts"][host][disk]["flash"]);
            disks.iter().map(|flash| flash["written_bytes"].as_u64().unwrap_or(0)).sum()
        };
        let rebuilt = one["bytes_written"].as_u64().unwrap();
        let others = ["osd1", "osd2", "osd4", "osd5"].map(written);
        assert!(written("osd3") > rebuilt, "{what}: {} for {rebuilt}", written("osd3"));
        assert!(others.iter().all(|other| *other < rebuilt), "{what}: {others:?} for {rebuilt}");
    }
}
