//! Random maps of all kinds of buckets, rules and tunables: mappings equal those of Ceph's `crushtool`.
//!
//! It is skipped, visibly, if `crushtool` is not installed (Debian: `ceph-base`). Maps for which Ceph's
//! result is undefined are not generated: trees without weight, for which it reads beyond its arrays.
#![allow(
    clippy::too_many_lines,
    clippy::range_minus_one,
    clippy::range_plus_one,
    clippy::cast_possible_wrap,
    clippy::nonminimal_bool,
    clippy::op_ref,
    clippy::bool_comparison,
    clippy::partialeq_to_none,
    clippy::manual_filter,
    clippy::all,
    clippy::identity_op,
    clippy::similar_names,
    clippy::no_effect,
    clippy::unnecessary_operation,
    clippy::int_plus_one,
    reason = "a test that is read from top to bottom"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use foretell_algorithms::crush::{CrushMap, NONE, Workspace};
use foretell_ceph_maps::{Imported, read_text};

/// Sebastiano Vigna's splitmix64: enough chance for maps.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// A map as text, and the rules of it that can be tested.
struct Made {
    text: String,
    rules: usize,
    devices: Vec<usize>,
}

const LEVELS: [&str; 4] = ["host", "rack", "room", "root"];

fn weight(chance: &mut Chance, zeros: bool) -> f64 {
    match chance.below(8) {
        0 if zeros => 0.0,
        1 => 1.0,
        2 => 0.0005,
        3 => chance.below(90_000) as f64 / 1e3,
        _ => 0.5 + chance.below(16_000) as f64 / 1e3,
    }
}

fn make(seed: u64) -> Made {
    let chance = &mut Chance(seed);
    let mut text = String::new();
    let algorithms: &[&str] = match chance.below(4) {
        0 | 1 => &["straw2"],
        2 => &["straw2", "straw", "list", "uniform", "tree"],
        _ => &["straw2", "straw", "list"],
    };
    // crushtool makes no shadows of uniform buckets whose shadows differ in weight
    let has_classes = !algorithms.contains(&"tree");
    if chance.one_in(2) {
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
    } else {
        for (name, most) in [
            ("choose_local_tries", 4),
            ("choose_local_fallback_tries", 7),
            ("choose_total_tries", 60),
            ("chooseleaf_descend_once", 2),
            ("chooseleaf_vary_r", 5),
            ("chooseleaf_stable", 2),
            ("straw_calc_version", 2),
        ] {
            if chance.one_in(2) {
                writeln!(text, "tunable {name} {}", chance.below(most)).unwrap();
            }
        }
    }
    let mut devices = Vec::new();
    let mut next = 0;
    for _ in 0..1 + chance.below(60) {
        next += usize::from(chance.one_in(5));
        devices.push(next);
        let class = chance.of(&["", " class hdd", " class hdd", " class ssd"]);
        writeln!(text, "device {next} osd.{next}{class}").unwrap();
        next += 1;
    }
    text.push_str("type 0 osd\ntype 1 host\ntype 2 rack\ntype 3 room\ntype 11 root\n");

    // each level takes the items that the levels below left over
    let mut free: Vec<String> = devices.iter().map(|id| format!("osd.{id}")).collect();
    let mut names: Vec<String> = Vec::new();
    let mut straw2 = Vec::new();
    let mut id = 0;
    let depth = 1 + chance.below(4);
    let levels: Vec<&str> = LEVELS[LEVELS.len() - depth..].to_vec();
    for (level, kind) in levels.iter().enumerate() {
        let last = level + 1 == levels.len();
        let count = if last { 1 } else { 1 + chance.below(free.len().min(14)) };
        let mut shares: Vec<Vec<String>> = vec![Vec::new(); count];
        for item in std::mem::take(&mut free) {
            // now and then one stays for a level above
            if !last && chance.one_in(40) {
                free.push(item);
            } else {
                let share = chance.below(count);
                shares[share].push(item);
            }
        }
        for (number, items) in shares.into_iter().enumerate() {
            id -= 1 + chance.below(2) as i32;
            let name = format!("{kind}{number}");
            let algorithm = chance.of(algorithms);
            writeln!(text, "{kind} {name} {{\n\tid {id}").unwrap();
            writeln!(text, "\talg {algorithm}\n\thash 0").unwrap();
            let alike = weight(chance, algorithm != "tree").max(0.001);
            for item in &items {
                let weight = match algorithm {
                    "uniform" => alike,
                    "tree" => weight(chance, false).max(0.001),
                    _ => weight(chance, true),
                };
                writeln!(text, "\titem {item} weight {weight:.5}").unwrap();
            }
            text.push_str("}\n");
            if algorithm == "straw2" {
                straw2.push((id, items.len()));
            }
            names.push(name.clone());
            free.push(name);
        }
    }
    let root = names.last().unwrap().clone();
    let rules = 4;
    for rule in 0..rules {
        let erasure = chance.one_in(2);
        let kind = if erasure { "erasure" } else { "replicated" };
        writeln!(text, "rule r{rule} {{\n\tid {rule}\n\ttype {kind}\n\tmin_size 1\n\tmax_size 20")
            .unwrap();
        for (set, most) in [
            ("set_choose_tries", 120),
            ("set_chooseleaf_tries", 9),
            ("set_choose_local_tries", 4),
            ("set_choose_local_fallback_tries", 5),
            ("set_chooseleaf_vary_r", 4),
            ("set_chooseleaf_stable", 2),
        ] {
            if chance.one_in(5) {
                writeln!(text, "\tstep {set} {}", chance.below(most)).unwrap();
            }
        }
        for _ in 0..1 + usize::from(chance.one_in(4)) {
            let class = if has_classes && chance.one_in(4) { " class hdd" } else { "" };
            let from = if chance.one_in(6) {
                names[chance.below(names.len())].clone()
            } else {
                root.clone()
            };
            let class = if text.contains("class hdd") { class } else { "" };
            writeln!(text, "\tstep take {from}{class}").unwrap();
            let mode = if erasure == chance.one_in(8) { "firstn" } else { "indep" };
            let count = |chance: &mut Chance| chance.of(&["0", "0", "0", "-1", "1", "2", "3", "5"]);
            if chance.one_in(3) {
                let kind = levels[chance.below(levels.len())];
                writeln!(text, "\tstep choose {mode} {} type {kind}", count(chance)).unwrap();
            }
            let kind = if chance.one_in(4) { "osd" } else { levels[chance.below(levels.len())] };
            let choose = if kind == "osd" && chance.one_in(2) { "choose" } else { "chooseleaf" };
            writeln!(text, "\tstep {choose} {mode} {} type {kind}", count(chance)).unwrap();
            text.push_str("\tstep emit\n");
        }
        text.push_str("}\n");
    }
    if !straw2.is_empty() && chance.one_in(3) {
        writeln!(text, "choose_args 0 {{").unwrap();
        for (bucket, items) in straw2 {
            if items == 0 || chance.one_in(2) {
                continue;
            }
            writeln!(text, "  {{\n    bucket_id {bucket}\n    weight_set [").unwrap();
            for _ in 0..1 + chance.below(3) {
                let weights: Vec<String> =
                    (0..items).map(|_| format!("{:.5}", weight(chance, true))).collect();
                writeln!(text, "      [ {} ]", weights.join(" ")).unwrap();
            }
            text.push_str("    ]\n");
            if chance.one_in(2) {
                let ids: Vec<String> =
                    (0..items).map(|at| format!("{}", -1000 - at as i32)).collect();
                writeln!(text, "    ids [ {} ]", ids.join(" ")).unwrap();
            }
            text.push_str("  }\n");
        }
        text.push_str("}\n");
    }
    Made { text, rules, devices }
}

fn crushtool(arguments: &[&str]) -> Option<String> {
    let output = Command::new("crushtool").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "crushtool {arguments:?}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(text)
}

/// Mappings by input, from `CRUSH rule 0 x 17 [3,1,2]`.
fn mappings(text: &str) -> BTreeMap<u32, Vec<i32>> {
    let lines = text.lines().filter_map(|line| {
        let (head, set) = line.split_once('[')?;
        let x = head.trim().rsplit(' ').next()?.parse().ok()?;
        let set = set.trim_end_matches(']').split(',').filter(|osd| !osd.is_empty());
        Some((x, set.map(|osd| osd.parse().unwrap()).collect()))
    });
    lines.collect()
}

fn crush(name: &str, text: &str) -> CrushMap {
    match read_text(name, text).unwrap_or_else(|error| panic!("{error}\n{text}")) {
        Imported::Crush(map, _) => *map,
        Imported::Cluster(..) => panic!("{name} has no OSDs"),
    }
}

fn compare(seeds: std::ops::Range<u64>, inputs: u32) -> Option<usize> {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (source, binary) = (path("map.txt"), path("map"));
    let mut compared = 0;
    for seed in seeds {
        let made = make(seed);
        std::fs::write(Path::new(&source), &made.text).unwrap();
        crushtool(&["-c", &source, "-o", &binary])?;
        let chance = &mut Chance(!seed);
        let from_text = crush("map.txt", &made.text);
        // Ceph's output contains the ids that it gave to shadow buckets
        let dump = crushtool(&["-i", &binary, "--dump"])?;
        let from_json = crush("dump", &dump);
        let mut reweights: Vec<u32> = vec![0; from_text.devices()];
        for osd in from_text.placed_devices() {
            reweights[osd as usize] = 0x1_0000;
        }
        let mut weights = Vec::new();
        let placed = reweights.len();
        for device in made.devices.iter().filter(|id| **id < placed) {
            if chance.one_in(6) {
                let weight = chance.below(5) as f64 / 4.0;
                reweights[*device] = (weight * 65_536.0) as u32;
                weights.extend(["--weight".to_owned(), device.to_string(), weight.to_string()]);
            }
        }
        for rule in 0..made.rules {
            let size = 1 + chance.below(9);
            let (rule, replicas, last) =
                (rule.to_string(), size.to_string(), (inputs - 1).to_string());
            let mut arguments = vec!["-i", &binary, "--test", "--show-mappings", "--rule", &rule];
            arguments.extend(["--num-rep", &replicas, "--min-x", "0", "--max-x", &last]);
            arguments.extend(weights.iter().map(String::as_str));
            let theirs = mappings(&crushtool(&arguments)?);
            assert_eq!(theirs.len(), inputs as usize, "{arguments:?}");
            let mut work = Workspace::default();
            for (map, of) in [(&from_text, "text"), (&from_json, "JSON")] {
                let rule = map.rule(rule.parse().unwrap()).unwrap();
                let mut ours = Vec::new();
                // what differs between the two is the map, not the search
                let inputs = if of == "text" { theirs.len() } else { 100 };
                for (x, theirs) in theirs.iter().take(inputs) {
                    map.place(rule, *x, size, &reweights, 0, &mut work, &mut ours).unwrap();
                    assert_eq!(
                        &ours, theirs,
                        "seed {seed}, from {of}, rule {}, {size} replicas, input {x}, {weights:?} (a hole \
                         is {NONE})\n{}",
                        rule.id, made.text
                    );
                }
            }
            compared += theirs.len();
        }
    }
    Some(compared)
}

#[test]
fn random_maps_are_as_crushtool_has_them() {
    let Some(compared) = compare(0..50, 250) else {
        println!("skipped: crushtool is not installed");
        return;
    };
    assert_eq!(compared, 50_000);
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn a_million_mappings_are_as_crushtool_has_them() {
    let Some(compared) = compare(50..300, 1000) else {
        println!("skipped: crushtool is not installed");
        return;
    };
    assert_eq!(compared, 1_000_000);
}
