//! Placements per processor second, compared with `crushtool --test` on the same map; and the time of a
//! report.
//!
//!     cargo bench --workspace --bench placement
//!
//! The map has 300 devices on 25 hosts in five racks, and a rule for three copies on different hosts.
//! `crushtool` is run without output. If it is not installed (Debian: `ceph-base`), it is visibly
//! skipped. A report of 300 OSDs is made from `ceph osd dump` and a CRUSH map in one document, as in
//! `ceph report`.

#![allow(clippy::print_stdout, reason = "what a benchmark is for")]
#![allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use foretell_algorithms::crush::Workspace;
use foretell_ceph_maps::{Imported, bare_cluster, check, read_text};
use serde_json::json;

const INPUTS: u32 = 1_000_000;

/// 25 hosts of 12 devices in five racks, in the text form of `crushtool -d`.
fn map() -> String {
    let mut text = String::new();
    (0..300).for_each(|osd| writeln!(text, "device {osd} osd.{osd}").unwrap());
    text.push_str("type 0 osd\ntype 1 host\ntype 3 rack\ntype 11 root\n");
    let bucket =
        |text: &mut String, kind: &str, name: String, id: u32, items: Vec<(String, u32)>| {
            writeln!(text, "{kind} {name} {{\n id -{id}\n alg straw2\n hash 0").unwrap();
            for (item, weight) in &items {
                writeln!(text, " item {item} weight {weight}.000").unwrap();
            }
            text.push_str("}\n");
        };
    // two sizes of drives
    let weight = |osd: u32| if (osd / 12).is_multiple_of(2) { 8 } else { 16 };
    let sum = |osds: std::ops::Range<u32>| osds.map(weight).sum::<u32>();
    for host in 0..25 {
        let osds = 12 * host..12 * host + 12;
        let items = osds.map(|osd| (format!("osd.{osd}"), weight(osd))).collect();
        bucket(&mut text, "host", format!("h{host}"), 10 + host, items);
    }
    for rack in 0..5 {
        let hosts = 5 * rack..5 * rack + 5;
        let items =
            hosts.map(|host| (format!("h{host}"), sum(12 * host..12 * host + 12))).collect();
        bucket(&mut text, "rack", format!("r{rack}"), 2 + rack, items);
    }
    let items = (0..5).map(|rack| (format!("r{rack}"), sum(60 * rack..60 * rack + 60))).collect();
    bucket(&mut text, "root", "default".to_owned(), 1, items);
    text.push_str(
        "rule r {\n id 0\n type replicated\n min_size 1\n max_size 10\n step take default\n \
         step chooseleaf firstn 0 type host\n step emit\n}\n",
    );
    let tunables = "tunable choose_local_tries 0\ntunable choose_local_fallback_tries 0\n\
         tunable choose_total_tries 50\ntunable chooseleaf_descend_once 1\ntunable chooseleaf_vary_r 1\n\
         tunable chooseleaf_stable 1\ntunable straw_calc_version 1\n";
    tunables.to_owned() + &text
}

/// Processor seconds of `crushtool` for the same inputs, and the map as JSON, as in a report.
fn crushtool(text: &str) -> Option<(f64, serde_json::Value)> {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("map.txt"), text).unwrap();
    let compiled =
        Command::new("crushtool").args(["-c", &path("map.txt"), "-o", &path("map")]).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let line = format!(
        "time -p crushtool -i {} --test --rule 0 --num-rep 3 --min-x 0 --max-x {} >/dev/null 2>&1",
        path("map"),
        INPUTS - 1
    );
    let output = Command::new("bash").args(["-c", &line]).output().ok()?;
    let times = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds = |word: &str| -> f64 {
        let line = times.lines().find_map(|line| line.strip_prefix(word));
        line.and_then(|seconds| seconds.trim().parse().ok()).unwrap_or(0.0)
    };
    let dump = Command::new("crushtool").args(["-i", &path("map"), "--dump"]).output().ok()?;
    let json = serde_json::from_slice(&dump.stdout).ok()?;
    Some((seconds("user") + seconds("sys"), json))
}

/// A report of a cluster with this map, in the form of `ceph report`.
fn report(crush: &serde_json::Value) -> String {
    let osd = |osd: u32| json!({ "osd": osd, "up": 1, "weight": 1.0, "primary_affinity": 1.0 });
    let pool = |id: u32| {
        json!({ "pool": id, "pool_name": format!("p{id}"), "flags": 1, "type": 1, "size": 3, "min_size": 2,
            "crush_rule": 0, "pg_num": 4096, "pg_placement_num": 4096 })
    };
    let count = |osd: u32| json!({ "osd": osd, "num_primary_pg": 1, "num_acting_pg": 1 });
    let osdmap = json!({ "max_osd": 300, "osds": (0..300).map(osd).collect::<Vec<_>>(),
        "pools": (1..3).map(pool).collect::<Vec<_>>() });
    let counts: Vec<_> = (0..300).map(count).collect();
    json!({ "osdmap": osdmap, "crushmap": crush, "num_pg_by_osd": counts }).to_string()
}

fn main() {
    let text = map();
    let Imported::Crush(crush, _) = read_text("map", &text).unwrap() else { panic!("a map alone") };
    let cluster = bare_cluster((*crush).clone()).unwrap();
    let rule = cluster.crush.rule(0).unwrap();
    let reweights = vec![0x1_0000; 300];
    let (mut work, mut set, mut sum) = (Workspace::default(), Vec::new(), 0_i64);
    let began = cpu_time::ProcessTime::now();
    for input in 0..INPUTS {
        cluster.crush.place(rule, input, 3, &reweights, 0, &mut work, &mut set).unwrap();
        sum += set.iter().map(|osd| i64::from(*osd)).sum::<i64>();
    }
    let ours = began.elapsed().as_secs_f64();
    let rate = |seconds: f64| f64::from(INPUTS) / seconds / 1e6;
    println!("foretell:  {:.2} million mappings per CPU-s ({ours:.2} s; sum {sum})", rate(ours));
    let Some((theirs, json)) = crushtool(&text) else {
        println!("crushtool is not installed: skipped");
        return;
    };
    println!(
        "crushtool: {:.2} million mappings per CPU-s ({theirs:.2} s): foretell makes {:.2} times as many",
        rate(theirs),
        theirs / ours
    );
    let report = report(&json);
    let began = Instant::now();
    let Imported::Cluster(map, inventory) = read_text("report", &report).unwrap() else {
        panic!("there are OSDs")
    };
    let checked = check(&map, &map.place_all().unwrap(), inventory.reported.as_ref().unwrap());
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "a report of {} OSDs and {} groups is read and checked in {seconds:.3} s",
        checked.osds, checked.groups
    );
}
