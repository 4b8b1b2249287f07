//! `foretell ask` and `score` about Ceph, Swift and guests.

use crate::common;

use common::questions::{CLUSTER, errors, json, score};
use common::*;

/// The same load on Ceph in virtual machines, on Swift, and from guests: settings, and changes.
const SYSTEMS: [(&str, &[&str], &[&str]); 3] = [
    (
        "ceph",
        &[
            "cluster={ system = \"ceph\", deferred_below = \"64 KiB\" }",
            "node.brick.machine.count=2",
        ],
        &[
            "volume.mail.encoding=1-of-3",
            "cluster.placement_groups_per_osd=10",
            "node.brick.machine.count=4",
            "node.brick.disk.0.db=sata-ssd",
            "node.brick.disk.0.wal=cheetah-15k",
            "node.brick.machine.bandwidth=10 Mbit/s",
            "workload.mail.outstanding=12",
        ],
    ),
    (
        "swift",
        &[
            "client.proxy={ cpu = \"xeon-p4-3.0\" }",
            "cluster={ system = \"swift\", proxies = \"proxy\" }",
            "volume.web.encoding=1-of-3",
        ],
        &["volume.web.encoding=1-of-2", "node.brick.count=6", "workload.web.rate=100"],
    ),
    (
        "guest",
        &["client.app.guest={ scheduler = \"noop\" }"],
        &[
            "client.app.guest.queue_depth=1",
            "client.app.guest.journal_commit=500 ms",
            "volume.mail.encoding=2-of-3",
            "workload.web.client=app0",
        ],
    ),
];

#[test]
fn every_system_is_predicted_within_ten_percent_of_what_happens() {
    for (name, settings, changes) in SYSTEMS {
        let place = Place::with(CLUSTER);
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
        let dir = place.keep(name, &settings);
        for change in changes {
            let found = errors(&score(&dir, &[*change]));
            assert_eq!(found.len(), 4, "{name}, {change}");
            for (what, error) in found {
                assert!(error < 0.1, "{name}, {change}: {what} is {:.1} % off", 100.0 * error);
            }
        }
    }
}

#[test]
fn scrubbing_is_predicted_from_records_without_it() {
    let osds =
        "cluster={ system = \"ceph\", threads = {}, scheduler = { kind = \"wpq\", shards = 5 } }";
    let systems: [(&str, &[&str]); 4] = [
        ("ursa-minor", &["workload.mail.reads=70%"]),
        ("ceph", SYSTEMS[0].1),
        ("threads", &[osds, "volume.web.encoding=1-of-3"]),
        ("swift", SYSTEMS[1].1),
    ];
    for (name, settings) in systems {
        let place = Place::with(CLUSTER);
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
        let dir = place.keep(name, &settings);
        for change in ["scrub.rate=\"5 MB/s\"", "scrub={ rate = \"10 MB/s\", chunk = \"1 MiB\" }"] {
            let found = errors(&score(&dir, &[change]));
            assert_eq!(found.len(), 4, "{name}, {change}");
            for (what, error) in found {
                println!("{name}, {change}: {what} is {:.1} % off", 100.0 * error);
                let most = if what.ends_with("throughput_rps") { 0.05 } else { 0.1 };
                assert!(error < most, "{name}, {change}: {what} is {:.1} % off", 100.0 * error);
            }
        }
        let dir = dir.to_str().unwrap();
        let question = ["ask", dir, "--what-if", "scrub.rate=\"5 MB/s\""];
        let answer = json(&succeed(question.into_iter().chain(["--json"])));
        let rate = answer["scrub"]["disk_bytes_per_s"].as_f64().unwrap();
        assert!((rate / 5e6 - 1.0).abs() < 0.02, "{name}: {rate}");
        // mean value analysis knows only what clients ask for
        let done = run(question.into_iter().chain(["--model", "mva"]));
        assert_eq!(done.status, Some(2), "{name}: {}", done.stderr);
        assert!(
            done.stderr.contains("the model has no load of scrubbers"),
            "{name}: {}",
            done.stderr
        );
    }
}

/// If the replay ignored a setting of a system, it would answer as if nothing changed.
#[test]
fn settings_of_a_system_reach_its_replay() {
    let place = Place::with(CLUSTER);
    let short = ["--set", "duration=10 s", "--set", "warmup=2 s"];
    for (name, settings, changes) in SYSTEMS {
        let settings = settings.iter().flat_map(|setting| ["--set", *setting]);
        let dir = place.keep(name, &short.into_iter().chain(settings).collect::<Vec<_>>());
        let dir = dir.to_str().unwrap();
        let workloads = |change: &[&str]| {
            let changes = change.iter().flat_map(|change| ["--what-if", *change]);
            json(&succeed(["ask", dir, "--json"].into_iter().chain(changes)))["workloads"].clone()
        };
        let recorded = workloads(&[]);
        for change in changes {
            assert_ne!(workloads(&[*change]), recorded, "{name}, {change}");
        }
        for other in ["cluster.system=ceph", "cluster={ system = \"swift\", proxies = \"app0\" }"] {
            // block layers of guests are Ursa Minor's clients': the scenario itself says so
            if name == "guest" || other.contains(name) {
                continue;
            }
            for command in ["ask", "score"] {
                let done = run([command, dir, "--what-if", other]);
                assert_eq!(done.status, Some(2), "{name}, {other}: {}", done.stderr);
                assert!(done.stdout.is_empty(), "{other}: no guess is printed");
                assert!(
                    done.stderr.contains("the records of one storage system"),
                    "{}",
                    done.stderr
                );
            }
        }
    }
}
