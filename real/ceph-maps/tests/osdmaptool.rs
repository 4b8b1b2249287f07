//! Changes and balancing, against Ceph's `osdmaptool`.
//!
//! It is skipped, visibly, if `osdmaptool` is not installed (Debian: `ceph-base`). OSD states and weights
//! are set on its command line, and its placement of each group is compared with ours.
#![allow(clippy::similar_names, reason = "a test that is read from top to bottom")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use foretell_algorithms::crush::{ClusterMap, Pg};
use foretell_ceph_maps::{Imported, Inventory, balance, change, plan, read_files, stay};

fn run(tool: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(tool).args(arguments).output().ok()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{tool} {arguments:?}: {text}");
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Some(text)
}

/// Ten hosts of three devices in weights from 1 to 4, copies on different hosts.
fn crush(seed: u32) -> String {
    let mut text = String::new();
    for (name, value) in [
        ("choose_local_tries", 0),
        ("choose_local_fallback_tries", 0),
        ("choose_total_tries", 50),
        ("chooseleaf_descend_once", 1),
        ("chooseleaf_vary_r", 1),
        ("chooseleaf_stable", 1),
        ("straw_calc_version", 1),
    ] {
        writeln!(text, "tunable {name} {value}").unwrap();
    }
    (0..30).for_each(|osd| writeln!(text, "device {osd} osd.{osd}").unwrap());
    text.push_str("type 0 osd\ntype 1 host\ntype 11 root\n");
    let weight = |osd: u32| [1.0, 2.0, 4.0, 3.0][((osd * 7 + seed * 5 + osd / 4) % 4) as usize];
    for host in 0..10 {
        writeln!(text, "host h{host} {{\n id -{}\n alg straw2\n hash 0", host + 2).unwrap();
        for osd in 3 * host..3 * host + 3 {
            writeln!(text, " item osd.{osd} weight {:.3}", weight(osd)).unwrap();
        }
        text.push_str("}\n");
    }
    text.push_str("root default {\n id -1\n alg straw2\n hash 0\n");
    for host in 0..10 {
        let sum: f64 = (3 * host..3 * host + 3).map(weight).sum();
        writeln!(text, " item h{host} weight {sum:.3}").unwrap();
    }
    text.push_str(
        "}\nrule r {\n id 0\n type replicated\n min_size 1\n max_size 10\n step take default\n",
    );
    text.push_str(" step chooseleaf firstn 0 type host\n step emit\n}\n");
    text
}

/// A cluster made by `osdmaptool` in `directory`, as a file and as read by us.
fn cluster(directory: &Path, seed: u32) -> Option<(String, ClusterMap, Inventory)> {
    let path = |name: &str| directory.join(name).display().to_string();
    let (text, binary, om) = (path("crush.txt"), path("crush"), path("om"));
    std::fs::write(&text, crush(seed)).unwrap();
    run("crushtool", &["-c", &text, "-o", &binary])?;
    let create =
        ["--createsimple", "30", &om, "--pg-bits", "5", "--pgp-bits", "5", "--with-default-pool"];
    run("osdmaptool", &[&create[..], &["--clobber"]].concat())?;
    run("osdmaptool", &[&om, "--import-crush", &binary])?;
    // the tool keeps such marks only together with another change
    run("osdmaptool", &[&om, "--mark-up-in", "--adjust-crush-weight", "0:2", "--save"])?;
    run("osdmaptool", &[&om, "--export-crush", &binary])?;
    let files = [path("osds.json"), path("crush.json")];
    let dumps = [
        ("osdmaptool", vec![om.as_str(), "--dump", "json"]),
        ("crushtool", vec!["-i", &binary, "--dump"]),
    ];
    for (file, (tool, arguments)) in files.iter().zip(dumps) {
        let output = Command::new(tool).args(arguments).output().ok()?;
        std::fs::write(file, output.stdout).unwrap();
    }
    match read_files(&files).unwrap() {
        Imported::Cluster(map, inventory) => Some((om, *map, *inventory)),
        Imported::Crush(..) => panic!("there are OSDs"),
    }
}

/// Up sets by group, from `1.1f raw (...) up ([3,1,2], p3) acting (...)`.
fn up_sets(text: &str) -> BTreeMap<Pg, Vec<i32>> {
    let lines = text.lines().filter_map(|line| {
        let (pg, rest) = line.split_once(" raw ")?;
        let set = rest.split_once("up ([")?.1.split_once(']')?.0;
        let osds = set.split(',').filter(|osd| !osd.is_empty());
        Some((pg.parse().ok()?, osds.map(|osd| osd.parse().unwrap()).collect()))
    });
    lines.collect()
}

fn ours(map: &ClusterMap) -> BTreeMap<Pg, Vec<i32>> {
    map.groups().zip(map.place_all().unwrap()).map(|(pg, placed)| (pg, placed.up)).collect()
}

#[test]
fn what_a_change_moves_is_what_two_runs_differ_in() {
    let directory = tempfile::tempdir().unwrap();
    let Some((om, map, inventory)) = cluster(directory.path(), 1) else {
        println!("skipped: osdmaptool is not installed");
        return;
    };
    let dump = |marks: &[&str]| {
        let arguments = [&[om.as_str()], marks, &["--test-map-pgs-dump-all"]].concat();
        up_sets(&run("osdmaptool", &arguments).unwrap())
    };
    let before = dump(&[]);
    assert_eq!(before.len(), 960);
    assert_eq!(ours(&map), before);
    for number in 0..20 {
        let osd = (number * 11 % 30).to_string();
        let weight = [0.0, 0.5, 1.25, 6.0, 40.0][number % 5];
        let adjusted = format!("{osd}:{weight}");
        let (marks, ours_to_be) = if number % 2 == 0 {
            (["--mark-out", &osd], format!("osd.{osd}=out"))
        } else {
            (["--adjust-crush-weight", &adjusted], format!("osd.{osd}.crush_weight={weight}"))
        };
        let theirs = dump(&marks);
        let changes = [ours_to_be];
        let (changed, known) = change(&map, &inventory, &changes).unwrap();
        assert_eq!(ours(&changed), theirs, "{changes:?}");
        let moved = before
            .iter()
            .filter(|(pg, set)| theirs[pg].iter().any(|osd| !set.contains(osd)))
            .count();
        let plan = plan((&map, &inventory), (&changed, &known)).unwrap();
        assert_eq!(plan.groups, moved, "{changes:?}");
        // upmaps can keep everything except data on an OSD that is out
        let kept = stay(&map, &changed).unwrap();
        let still = self::plan((&map, &inventory), (&kept.applied(&changed), &known)).unwrap();
        assert_eq!(still.groups, kept.lost.len(), "{changes:?}");
        if number % 2 == 1 {
            assert_eq!(still.groups, 0, "{changes:?}");
        }
    }
}

/// The sum of squared distances from the share by weight, and the largest distance.
fn unevenness(map: &ClusterMap) -> (f64, f64) {
    let mut above: BTreeMap<i32, f64> = BTreeMap::new();
    let sets = ours(map);
    for osd in sets.values().flatten() {
        *above.entry(*osd).or_default() += 1.0;
    }
    let weights = map.crush.parts().devices_below(-1);
    let sum: f64 = weights.values().map(|weight| f64::from(*weight)).sum();
    let all: f64 = above.values().sum();
    for (osd, weight) in weights {
        *above.entry(osd).or_default() -= all * f64::from(weight) / sum;
    }
    let far = above.values().fold(0.0, |far: f64, above| far.max(above.abs()));
    (above.values().map(|above| above * above).sum(), far)
}

#[test]
fn balances_at_least_as_well_with_no_more_upmaps() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..4 {
        let Some((om, map, _)) = cluster(directory.path(), seed) else {
            println!("skipped: osdmaptool is not installed");
            return;
        };
        for (most, deviation) in [(10, 5), (200, 5), (200, 1)] {
            let commands = directory.path().join("upmaps").display().to_string();
            let (max, off) = (most.to_string(), deviation.to_string());
            let limits = ["--upmap-max", &max, "--upmap-deviation", &off];
            run("osdmaptool", &[&[om.as_str(), "--upmap", &commands], &limits[..]].concat())
                .unwrap();
            let mut theirs = map.clone();
            let text = std::fs::read_to_string(&commands).unwrap();
            for line in text.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let pg: Pg = words[3].parse().unwrap();
                let osds: Vec<i32> = words[4..].iter().map(|osd| osd.parse().unwrap()).collect();
                let pairs = osds.chunks(2).map(|pair| (pair[0], pair[1])).collect();
                theirs.upmap_items.insert(pg, pairs);
            }
            // their balancer is random, and now and then ends one short of the limit
            let limit = most.min(text.lines().count());
            let upmaps = balance(&map, limit, f64::from(deviation)).unwrap();
            let ours = upmaps.applied(&map);
            let (theirs, their_count) = (unevenness(&theirs), text.lines().count());
            let (ours, before) = (unevenness(&ours), unevenness(&map));
            let count = upmaps.len();
            println!(
                "{most} {deviation}: before {before:?}, theirs {theirs:?} by {their_count}, ours {ours:?} by {count}"
            );
            assert!(count <= their_count, "{count} upmaps, theirs are {their_count}");
            assert!(ours.0 <= theirs.0 + 1e-6, "{ours:?} {theirs:?}");
        }
    }
}
