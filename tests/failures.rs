//! Questions about failures: asked of the records of a healthy cluster, beside what really happens.

use crate::common;

use std::path::Path;

use common::*;
use serde_json::Value;

/// Two clients on five nodes whose disks are the bottleneck.
const CLUSTER: &str = r#"
seed     = 5
warmup   = "5 s"
duration = "40 s"
tracking = { overhead = true, types = ["request"] }

[node.brick]
count = 5
cpu   = "pentium4-2.6"
cache = { size = "32 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-p4-3.0"

[volume.mail]
size     = "256 MiB"
nodes    = "brick"
encoding = "2-of-3"

[workload.mail]
volume      = "mail"
client      = "app"
kind        = "ssio"
reads       = "70%"
access      = "8 KiB"
outstanding = 4
"#;

/// The same load on Ceph, on solid-state drives: what disks do with whole objects is predicted less well.
fn ceph() -> String {
    CLUSTER
        .replace("[node.brick]", "[cluster]\nsystem = \"ceph\"\n\n[node.brick]")
        .replace("2-of-3", "1-of-3")
        .replace("cheetah-15k", "nvme-3gbs")
}

const CRASH: &str = r#"event.crash={ at = "8 s", what = "fail", host = "brick3" }"#;
const BACK: &str = r#"event.crash={ at = "8 s", what = "fail", host = "brick3", for = "12 s" }"#;
const QUICK: &str = r#"recovery={ grace = "2 s", out_after = "6 s" }"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn with_changes<'a>(command: &'a str, dir: &'a Path, changes: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![command, dir.to_str().unwrap()];
    for change in changes {
        arguments.extend(["--what-if", *change]);
    }
    arguments
}

fn ask(dir: &Path, changes: &[&str]) -> Value {
    let mut arguments = with_changes("ask", dir, changes);
    arguments.push("--json");
    json(&succeed(arguments))
}

/// The comparisons of `score`, by workload and metric.
fn score(dir: &Path, changes: &[&str]) -> Vec<(String, f64)> {
    let mut arguments = with_changes("score", dir, changes);
    arguments.push("--json");
    let document = json(&succeed(arguments));
    let of = |found: &Value| {
        let word = |key: &str| found[key].as_str().unwrap().to_owned();
        (format!("{} {}", word("workload"), word("metric")), found["error"].as_f64().unwrap())
    };
    document["comparisons"].as_array().unwrap().iter().map(of).collect()
}

/// The error that throughput and mean response time are under in nine of ten recoveries of Ursa Minor, see
/// docs/failures.md: clients get what saturated disks have left, and the predictions are too low.
const RECOVERING: f64 = 0.36;

/// Errors are within these shares of what happened; each name must have been compared.
fn are_near(found: &[(String, f64)], wanted: &[(&str, f64)]) {
    for (name, most) in wanted {
        let error = found.iter().find(|(known, _)| known == name);
        let (_, error) = error.unwrap_or_else(|| panic!("{name} was not compared: {found:?}"));
        assert!(error < most, "{name} is {:.1} % off: {found:?}", 100.0 * error);
    }
}

#[test]
fn a_host_that_is_lost_is_predicted_from_the_healthy_cluster() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &[]);
    let found = score(&dir, &[CRASH, QUICK]);
    are_near(
        &found,
        &[
            ("mail before.throughput_rps", 0.1),
            ("mail degraded.throughput_rps", 0.15),
            ("mail degraded.response_time_ms.mean", 0.15),
            // 31 % off while clients' writes did not replace blocks that the new holder still lacked
            ("mail recovering.throughput_rps", 0.2),
            ("brick3 rebuild recovery.seconds", 0.15),
            // the same fragments, whatever the machines do
            ("brick3 rebuild recovery.bytes_written", 0.02),
        ],
    );
    let answer = ask(&dir, &[CRASH, QUICK]);
    let phases = answer["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["before", "degraded", "recovering", "after"], "{answer}");
    let throughput =
        |place: usize| phases[place]["workloads"]["mail"]["throughput_rps"].as_f64().unwrap();
    assert!(throughput(1) < 0.95 * throughput(0), "{answer}");
    assert_eq!(answer["recoveries"][0]["kind"], "rebuild");
    assert_eq!(answer["failed_requests"], 0);
    assert_eq!(answer["bytes_lost"], 0);
    assert_eq!(answer["model"], "replay");
    // the text has the same
    let text = succeed(with_changes("ask", &dir, &[CRASH, QUICK]));
    for says in ["degraded", "Recovery of brick3, rebuild: from", "no data lost"] {
        assert!(text.contains(says), "{says}: {text}");
    }
}

#[test]
fn keys_of_answers_are_those_of_the_truth() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=25 s"]);
    let truth = place.keep("truth", &["--set", "duration=25 s", "--set", BACK]);
    let truth = json(&std::fs::read_to_string(truth.join("truth.json")).unwrap());
    let answer = ask(&dir, &[BACK]);
    let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in ["phases", "phase_changes", "recoveries", "failed_requests", "bytes_lost"] {
        assert!(!answer[key].is_null() && !truth[key].is_null(), "{key}: {answer}");
    }
    assert_eq!(keys(&answer["phases"][0]), keys(&truth["phases"][0]));
    assert_eq!(keys(&answer["recoveries"][0]), keys(&truth["recoveries"][0]));
    assert_eq!(answer["recoveries"][0]["kind"], "catch-up");
    let mail = |of: &Value| keys(&of["phases"][1]["workloads"]["mail"]);
    for key in mail(&truth) {
        assert!(mail(&answer).contains(&key), "{key}: {answer}");
    }
}

#[test]
fn ceph_recovers_in_the_time_that_is_predicted() {
    let place = Place::with(&ceph());
    let dir = place.keep("run", &[]);
    let found = score(&dir, &[CRASH, QUICK]);
    are_near(
        &found,
        &[
            ("mail degraded.throughput_rps", 0.2),
            ("mail degraded.response_time_ms.mean", 0.2),
            ("brick3 rebuild recovery.seconds", 0.25),
        ],
    );
}

/// The same load on Swift, with a proxy on a host of its own.
fn swift() -> String {
    CLUSTER
        .replace(
            "[node.brick]",
            "[cluster]\nsystem = \"swift\"\nproxies = \"proxy\"\n\n[node.brick]",
        )
        .replace("[volume.mail]", "[client.proxy]\ncpu = \"xeon-p4-3.0\"\n\n[volume.mail]")
        .replace("2-of-3", "1-of-3")
}

#[test]
fn swift_goes_on_and_catches_up_as_predicted() {
    let place = Place::with(&swift());
    let dir = place.keep("run", &[]);
    // servers that have returned get requests again soon
    let often = "recovery={ replicator_interval = \"3 s\", error_suppression_interval = \"5 s\" }";
    let found = score(&dir, &[BACK, often]);
    are_near(
        &found,
        &[
            ("mail before.throughput_rps", 0.1),
            ("mail degraded.throughput_rps", 0.1),
            ("mail recovering.throughput_rps", 0.2),
            ("brick3 catch-up recovery.bytes_written", 0.1),
        ],
    );
    let answer = ask(&dir, &[BACK, often]);
    assert_eq!((&answer["failed_requests"], &answer["bytes_lost"]), (&0.into(), &0.into()));
    assert_eq!(answer["recoveries"][0]["kind"], "catch-up", "{answer}");
    // some are: the host that has returned is read before it has caught up
    assert!(answer["stale_reads"].as_u64().unwrap() > 0, "{answer}");
    // a host that is lost is not rebuilt elsewhere
    let answer = ask(&dir, &[CRASH]);
    assert_eq!(answer["recoveries"], Value::Array(Vec::new()));
}

#[test]
fn rings_of_swift_that_change_and_disks_that_fail_are_predicted() {
    let place = Place::with(&swift());
    let dir = place.keep("run", &[]);
    let often = "recovery={ replicator_interval = \"2 s\" }";
    for (event, whose) in [
        (r#"what = "drain", host = "brick3""#, "brick3 rebalance"),
        (r#"what = "add", host = "brick3""#, "brick3 rebalance"),
        (r#"what = "fail", disk = "brick3.disk0""#, "brick3.disk0 rebuild"),
    ] {
        let event = format!("event.e={{ at = \"8 s\", {event} }}");
        let found = score(&dir, &[&event, often]);
        let (seconds, written) =
            (format!("{whose} recovery.seconds"), format!("{whose} recovery.bytes_written"));
        are_near(
            &found,
            &[
                ("mail before.throughput_rps", 0.1),
                ("mail after.throughput_rps", 0.1),
                (&seconds, 0.2),
                (&written, 0.05),
            ],
        );
    }
    // a read of the newest version asks all servers, so it takes longer
    let answer = ask(&dir, &["cluster.x_newest=true", BACK, often]);
    assert_eq!(answer["stale_reads"], 0, "{answer}");
}

#[test]
fn nodes_that_join_and_leave_are_predicted() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &[]);
    for what in ["drain", "add"] {
        let moves = format!(r#"event.e={{ at = "8 s", what = "{what}", host = "brick3" }}"#);
        let found = score(&dir, &[&moves]);
        are_near(
            &found,
            &[
                ("mail before.throughput_rps", 0.1),
                ("mail recovering.throughput_rps", RECOVERING),
                ("mail recovering.response_time_ms.mean", RECOVERING),
                ("brick3 rebalance recovery.seconds", 0.15),
                // some blocks are copied twice
                ("brick3 rebalance recovery.bytes_written", 0.02),
            ],
        );
    }
}

#[test]
fn a_volume_that_is_encoded_otherwise_is_predicted() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &[]);
    let code =
        r#"event.e={ at = "8 s", what = "set", set = { "volume.mail.encoding" = "1-of-2" } }"#;
    let found = score(&dir, &[code]);
    are_near(
        &found,
        &[
            ("mail before.throughput_rps", 0.1),
            ("mail recovering.throughput_rps", RECOVERING),
            ("mail after.throughput_rps", 0.15),
            ("volume.mail convert recovery.seconds", 0.2),
            ("volume.mail convert recovery.bytes_written", 0.02),
        ],
    );
    // what is kept of a run says the same again
    let truth = place.keep("truth", &["--set", code, "--set", "duration=12 s"]);
    let kept = truth.join("run.toml");
    let again = json(&succeed(vec!["run", kept.to_str().unwrap(), "--json"]));
    let truth = json(&std::fs::read_to_string(truth.join("truth.json")).unwrap());
    assert_eq!(again["recoveries"], truth["recoveries"]);
    assert_eq!(truth["happened"][0]["host"], "volume.mail.encoding");
}

#[test]
fn what_is_rebuilt_may_be_larger_than_a_segment_of_a_log() {
    let cluster = CLUSTER
        .replace("cache = {", "layout = \"log-structured\"\ncache = { write = \"through\",")
        .replace("2-of-3", "1-of-2");
    let place = Place::with(&cluster);
    let dir = place.keep("run", &["--set", "duration=25 s"]);
    let found = score(&dir, &[CRASH, QUICK]);
    are_near(&found, &[("brick3 rebuild recovery.bytes_written", 0.05)]);
}

#[test]
fn a_failure_may_come_with_another_change() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=25 s"]);
    let one = ask(&dir, &[BACK]);
    let more = ask(&dir, &[BACK, "workload.mail.outstanding=12"]);
    let rate = |answer: &Value, phase: usize| {
        answer["phases"][phase]["workloads"]["mail"]["throughput_rps"].as_f64().unwrap()
    };
    assert!(rate(&more, 0) > 1.1 * rate(&one, 0) && rate(&more, 1) > rate(&one, 1));
    // a host that is slow is degraded, and nothing is recovered
    let slow =
        r#"event.e={ at = "5 s", what = "slow", host = "brick1", factor = 50, for = "10 s" }"#;
    let answer = ask(&dir, &[slow]);
    assert_eq!(answer["recoveries"], Value::Array(Vec::new()));
    assert_eq!(answer["phases"][1]["phase"], "degraded");
    assert!((answer["phases"][1]["seconds"].as_f64().unwrap() - 10.0).abs() < 1e-6);
    assert!(rate(&answer, 1) < rate(&answer, 0), "{answer}");
}

#[test]
fn an_osd_of_less_weight_is_predicted() {
    let place = Place::with(&ceph());
    let dir = place.keep("run", &[]);
    let half =
        r#"event.e={ at = "8 s", what = "set", set = { "osd.brick3.disk0.reweight" = 0.5 } }"#;
    let found = score(&dir, &[half]);
    are_near(
        &found,
        &[
            ("mail before.throughput_rps", 0.1),
            ("mail recovering.throughput_rps", 0.2),
            ("brick3.disk0 rebalance recovery.seconds", 0.25),
            ("brick3.disk0 rebalance recovery.bytes_written", 0.02),
        ],
    );
    let truth = place.keep("truth", &["--set", half, "--set", "duration=12 s"]);
    let truth = json(&std::fs::read_to_string(truth.join("truth.json")).unwrap());
    assert_eq!(truth["happened"][0]["host"], "osd.brick3.disk0.reweight");
    // nobody has such an OSD
    let other = half.replace("disk0", "disk7");
    let ran = run(with_changes("ask", &dir, &[&other]));
    assert!(ran.stderr.contains("osd.brick3.disk0.reweight"), "{}", ran.stderr);
}

#[test]
fn weights_of_osds_move_what_a_crush_map_says() {
    let racks = ceph()
        .replace("count = 5", "count = 6\nrack  = [\"r1\", \"r2\", \"r3\"]")
        .replace("[volume.mail]", "[volume.mail]\nfailure_domain = \"rack\"")
        .replace("outstanding = 4", "outstanding = 1");
    let place = Place::with(&racks);
    let quick = "recovery={ max_backfills = 8, parallel = 16 }";
    let moved = |name: &str, events: &[&str]| -> Vec<u64> {
        let mut changes = vec!["--set", quick];
        changes.extend(events.iter().flat_map(|event| ["--set", *event]));
        let truth = place.keep(name, &changes);
        let truth = json(&std::fs::read_to_string(truth.join("truth.json")).unwrap());
        let recoveries = truth["recoveries"].as_array().unwrap();
        for one in recoveries {
            assert_eq!((&one["kind"], &one["host"]), (&"rebalance".into(), &"brick1.disk0".into()));
        }
        recoveries.iter().map(|one| one["objects"].as_u64().unwrap()).collect()
    };
    let drain = r#"event.e={ at = "5 s", what = "drain", disk = "brick1.disk0" }"#;
    let sets = |event: &str, at: u32, weight: &str| {
        format!(
            "event.{event}={{ at = \"{at} s\", what = \"set\", set = {{ \
             \"osd.brick1.disk0.reweight\" = {weight} }} }}"
        )
    };
    let (half, none, back) = (sets("e", 5, "0.5"), sets("e", 5, "0"), sets("f", 20, "1"));
    let all = moved("drain", &[drain]);
    assert_eq!(moved("none", &[&none]), all);
    let halves = moved("half", &[&half, &back]);
    // what moves away moves back
    assert!(halves.len() == 2 && halves[0] == halves[1], "{halves:?}");
    let share = halves[0] as f64 / all[0] as f64;
    assert!((0.25..0.75).contains(&share), "{halves:?} of {all:?}");
}

#[test]
fn slow_disks_and_links_are_predicted() {
    for cluster in [CLUSTER.to_owned(), ceph()] {
        let place = Place::with(&cluster);
        let dir = place.keep("run", &["--set", "duration=30 s"]);
        for part in ["disk = \"brick1.disk0\", factor = 4", "link = \"brick1\", factor = 200"] {
            let slow =
                format!("event.e={{ at = \"5 s\", what = \"slow\", {part}, for = \"20 s\" }}");
            let found = score(&dir, &[&slow]);
            are_near(
                &found,
                &[
                    ("mail before.throughput_rps", 0.1),
                    ("mail degraded.throughput_rps", 0.15),
                    ("mail degraded.response_time_ms.mean", 0.15),
                ],
            );
            let answer = ask(&dir, &[&slow]);
            assert_eq!(answer["recoveries"], Value::Array(Vec::new()));
            let phases = &answer["phases"];
            let rate = |phase: usize| {
                phases[phase]["workloads"]["mail"]["throughput_rps"].as_f64().unwrap()
            };
            assert_eq!(phases[1]["phase"], "degraded");
            assert!((phases[1]["seconds"].as_f64().unwrap() - 20.0).abs() < 1e-6, "{answer}");
            assert!(rate(1) < 0.9 * rate(0), "{part}: {answer}");
        }
    }
}

#[test]
fn a_host_that_is_cut_off_is_predicted_as_one_that_returns() {
    for cluster in [CLUSTER.to_owned(), ceph()] {
        let place = Place::with(&cluster);
        let dir = place.keep("run", &[]);
        let cut = r#"event.e={ at = "8 s", what = "fail", link = "brick3", for = "12 s" }"#;
        let found = score(&dir, &[cut, QUICK]);
        are_near(
            &found,
            &[
                ("mail before.throughput_rps", 0.1),
                ("mail degraded.throughput_rps", 0.2),
                ("mail degraded.response_time_ms.mean", 0.2),
            ],
        );
        let answer = ask(&dir, &[cut, QUICK]);
        assert_eq!((&answer["failed_requests"], &answer["bytes_lost"]), (&0.into(), &0.into()));
        // what happened is named in the truth
        let truth = place.keep("truth", &["--set", cut, "--set", "duration=12 s"]);
        let truth = json(&std::fs::read_to_string(truth.join("truth.json")).unwrap());
        assert_eq!(truth["happened"][0]["host"], "brick3.link");
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=25 s"]);
    let alone = place.path("alone");
    std::fs::create_dir(&alone).unwrap();
    // nothing but the records is read: no truth, no scenario
    std::fs::copy(dir.join("run.db"), alone.join("run.db")).unwrap();
    let once = ask(&dir, &[BACK, QUICK]);
    assert_eq!(once, ask(&alone, &[BACK, QUICK]));
    assert_eq!(once, ask(&dir, &[BACK, QUICK]));
}

#[test]
fn impossible_failures_are_refused_with_a_reason() {
    let place = Place::with(CLUSTER);
    let brief = ["--set", "warmup=2 s", "--set", "duration=6 s"];
    let dir = place.keep("run", &brief);
    let refused = |dir: &Path, changes: &[&str], says: &[&str]| {
        let ran = run(with_changes("ask", dir, changes));
        assert_ne!(ran.status, Some(0), "{changes:?}: {}", ran.stdout);
        for word in says {
            assert!(ran.stderr.contains(word), "{changes:?} does not say {word}: {}", ran.stderr);
        }
    };
    let event = |what: &str| format!("event.e={{ at = \"1 s\", {what} }}");
    refused(&dir, &[&event("what = \"fail\", host = \"brik3\"")], &["brik3", "brick3"]);
    refused(&dir, &[&event("what = \"return\", host = \"brick3\"")], &["brick3"]);
    refused(&dir, &[&event("what = \"fail\", host = \"app0\"")], &["app0"]);
    let sets = |what: &str| event(&format!("what = \"set\", set = {{ {what} }}"));
    let nearest = &["volume.mial.encoding", "volume.mail.encoding"];
    refused(&dir, &[&sets("\"volume.mial.encoding\" = \"1-of-2\"")], nearest);
    refused(&dir, &[&sets("\"volume.mail.encoding\" = \"2-of-3\"")], &["no effect"]);
    let late = "event.e={ at = \"1 h\", what = \"fail\", host = \"brick3\" }";
    refused(&dir, &[late], &["the run ends"]);
    refused(&dir, &["recovery.grace=10 s"], &["no effect in a scenario without events"]);
    let good = event("what = \"fail\", host = \"brick3\"");
    for model in ["fast", "mva", "bounds"] {
        let mut arguments = with_changes("ask", &dir, &[&good]);
        arguments.extend(["--model", model]);
        let ran = run(arguments);
        assert_ne!(ran.status, Some(0), "{model}: {}", ran.stdout);
        assert!(ran.stderr.contains("ask with `replay`"), "{model}: {}", ran.stderr);
    }
    // the events of a recorded run are a part of the question
    let crash = "event.e={ at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"1 s\" }";
    let own: Vec<&str> = brief.into_iter().chain(["--set", crash]).collect();
    let crashed = place.keep("crashed", &own);
    for changes in [&[][..], &["volume.mail.encoding=1-of-2"]] {
        let answer = ask(&crashed, changes);
        let phases = answer["phases"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert!(phases.iter().any(|phase| phase["phase"] == "degraded"), "{answer}");
    }
    let swift = ["score", "--random", "1", "--generator", "failures", "--system", "swift"];
    let ran = run(swift);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("`--generator failures2` does"), "{}", ran.stderr);
}

/// A percentile of two workloads together is that of none.
#[test]
fn each_workload_has_a_row_of_its_own_in_each_phase() {
    let place = Place::with(SMALL);
    let event = r#"event.crash={ at = "500 ms", what = "fail", host = "brick1", for = "300 ms" }"#;
    let recovery = r#"recovery={ heartbeat = "100 ms", grace = "200 ms", timeout = "100 ms" }"#;
    let set = ["--no-records", "--set", "duration=2s", "--set", event, "--set", recovery];
    let text = succeed(place.arguments(&set));
    let (_, table) = text.split_once("What clients saw in each phase\n").expect("it has the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let json = succeed(place.arguments(&[set.as_slice(), &["--json"]].concat()));
    let truth = truth(&json);
    let phases = truth["phases"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * phases.len(), "{table}");
    assert_eq!((rows[0][0], rows[0][2], rows[1][0]), ("before", "stream", "update"), "{table}");
    let p99 = phases[0]["workloads"]["update"]["response_time_ms"]["p99"].as_f64().unwrap();
    let shown: f64 = rows[1][4].parse().unwrap();
    assert!((shown / p99 - 1.0).abs() < 0.01, "{shown}, not {p99}");
}
