//! How a storage system is added: one that tests alone have is a folder and a line of the table.

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::*;

/// Where it is.
const FOLDER: &str = "systems/src/mirrored_pairs";
/// What names it.
const NAMES: [&str; 3] = ["mirrored-pairs", "mirrored_pairs", "MirroredPairs"];

/// Four nodes, so two pairs, and one client; its disks are the bottleneck.
const CLUSTER: &str = r#"
seed     = 7
warmup   = "5 s"
duration = "60 s"
cluster  = { system = "mirrored-pairs" }
tracking = { overhead = false }

[node.brick]
count = 4
cpu   = "pentium4-2.6"
cache = { size = "16 MiB" }
disk  = ["cheetah-15k"]

[client.app]
cpu = "xeon-p4-3.0"

[volume.data]
size     = "1 GiB"
nodes    = "brick"
encoding = "1-of-2"

[workload.load]
volume      = "data"
client      = "app"
kind        = "ssio"
reads       = "50%"
access      = "8 KiB"
outstanding = 4
"#;

/// Files of ours with code or settings below a directory.
fn texts(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let ours =
                !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str());
            if ours {
                texts(&path, found);
            }
        } else if [".rs", ".toml", ".json"].iter().any(|end| name.ends_with(end)) {
            found.push(path);
        }
    }
}

#[test]
fn a_new_system_is_a_small_folder_and_a_line() {
    let (folder, mut files) = (root().join(FOLDER), Vec::new());
    texts(&root(), &mut files);
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let own: Vec<&PathBuf> = files.iter().filter(|path| path.starts_with(&folder)).collect();
    let lines: usize = own.iter().map(|path| read(path).lines().count()).sum();
    assert!((1..200).contains(&lines), "{lines} lines");
    let mut mentions = Vec::new();
    for path in files.iter().filter(|path| !path.starts_with(&folder)) {
        if path.ends_with(file!()) {
            continue;
        }
        let text = read(path);
        let lines = text.lines().filter(|line| NAMES.iter().any(|name| line.contains(name)));
        let place = path.strip_prefix(root()).unwrap().display().to_string();
        mentions.extend(lines.map(|line| format!("{place}: {}", line.trim())));
    }
    mentions.sort();
    // its line of the table, and the one that Rust wants of a module
    let expected = [
        "scenarios/src/system.rs: MirroredPairs as Plain, mirrored_pairs, \"mirrored-pairs\", if \
         \"test-system\";",
        "systems/src/lib.rs: mod mirrored_pairs;",
    ];
    assert_eq!(mentions, expected);
}

/// Files whose code names a variant of an enum, without tests.
fn naming(variant: &str) -> Vec<String> {
    let mut files = Vec::new();
    texts(&root(), &mut files);
    let is_code = |path: &Path| {
        let inside = path.strip_prefix(root()).unwrap();
        let mut parts = inside.iter().map(|part| part.to_string_lossy());
        path.extension().is_some_and(|end| end == "rs")
            && !parts
                .any(|part| ["tests", "tests.rs", "benches", "clocks.rs"].contains(&part.as_ref()))
    };
    files.retain(|path| {
        let text = || fs::read_to_string(path).unwrap();
        // without the tests at the end of a file
        let code = || text().split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
        is_code(path)
            && code().split(|letter: char| !letter.is_alphanumeric()).any(|word| word == variant)
    });
    let mut names: Vec<String> =
        files.iter().map(|path| path.strip_prefix(root()).unwrap().display().to_string()).collect();
    names.sort();
    names
}

/// Files that the documents' table says to change for one more of a kind.
fn documented(row: &str) -> Vec<String> {
    let docs = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let row = docs.lines().find(|line| line.starts_with(row)).expect("a row of the table");
    let listed = row.split('|').nth(3).unwrap();
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn policies_schedulers_records_and_devices_are_named_where_the_documents_say() {
    for (row, variant, own, most) in [
        ("| cache policy |", "Sieve", &["algorithms/src/cache/sieve.rs"][..], 2),
        ("| I/O scheduler |", "Deadline", &["algorithms/src/io_scheduler/deadline.rs"], 2),
        // both engines post it
        ("| record type |", "BufferFlush", &["sim/src/node.rs", "whatif/src/replay/node.rs"], 2),
        ("| kind of device |", "RawCurves", &["scenarios/src/device/curves_file.rs"], 3),
    ] {
        let mut listed = documented(row);
        assert!(listed.len() <= most, "{row}");
        listed.extend(own.iter().map(|file| (*file).to_owned()));
        let outside: Vec<_> =
            naming(variant).into_iter().filter(|file| !listed.contains(file)).collect();
        assert!(outside.is_empty(), "`{variant}` is also in {outside:?}");
    }
}

#[test]
fn kinds_of_devices_are_listed_where_the_documents_say() {
    // variants of devices that have a folder of their own, and whoever lists them
    let listed = documented("| kind of device |");
    let mut files = Vec::new();
    texts(&root(), &mut files);
    for path in files {
        let place = path.strip_prefix(root()).unwrap().display().to_string();
        let is_code = path.extension().is_some_and(|end| end == "rs")
            && !place.contains("tests")
            && !place.contains("bench");
        let text = fs::read_to_string(&path).unwrap();
        // who treats one kind in its own way names that one alone
        let kinds = ["Ssd(", "Array(", "Curves(", "Measured {"];
        if is_code && kinds.iter().all(|kind| text.contains(&format!("Device::{kind}"))) {
            assert!(listed.contains(&place), "{place} lists all kinds of devices");
        }
    }
}

#[test]
fn it_runs_and_each_write_is_on_both_partners() {
    let place = Place::with(CLUSTER);
    let truth = truth_of(&place.keep("run", &["--set", "workload.load.reads=0%"]));
    assert!(truth["workloads"]["load"]["requests"].as_u64().unwrap() > 1000, "{truth}");
    let db = store(&place.path("run"));
    // messages with data: from the client to both partners of a pair, by request
    let sent = "SELECT breadcrumb, min(receiver) || '+' || max(receiver), count(*) FROM network_transmit \
                WHERE numbytes > 8192 AND breadcrumb > 0 GROUP BY breadcrumb";
    let pairs: BTreeSet<_> =
        rows(&db, sent).into_iter().map(|row| format!("{:?} {:?}", row[1], row[2])).collect();
    let expected = ["Text(\"0+1\") Integer(2)", "Text(\"2+3\") Integer(2)"];
    assert_eq!(pairs.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn it_can_be_asked() {
    let place = Place::with(CLUSTER);
    let run = place.keep("run", &[]);
    let run = run.to_str().unwrap();
    for change in ["node.brick.disk=[\"barracuda-7200.8\"]", "workload.load.outstanding=8"] {
        let score = succeed(["score", run, "--what-if", change, "--json"]);
        let score: serde_json::Value = serde_json::from_str(&score).unwrap();
        for metric in ["throughput_rps", "response_time_ms.mean"] {
            let all = score["comparisons"].as_array().unwrap();
            let one = all.iter().find(|one| one["metric"] == metric).unwrap();
            assert!(one["error"].as_f64().unwrap() < 0.05, "{change}: {one}");
        }
    }
}

#[test]
fn what_it_does_not_have_is_refused() {
    for (change, why) in [
        ("volume.data.encoding=1-of-3", "mirrored pairs keep 1-of-2"),
        ("volume.data.cipher=aes-128-cbc", "`cipher`"),
        ("client.app.guest={}", "guest"),
        ("cluster.system=mirrored-pears", "mirrored-pairs"),
    ] {
        let place = Place::with(CLUSTER);
        let done = run(place.arguments(&["--set", change]));
        assert_ne!(done.status, Some(0), "{change}");
        assert!(done.stderr.contains(why), "{change}: {}", done.stderr);
    }
}
