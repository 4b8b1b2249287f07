//! `foretell ask` and `score`: predictions from records alone, beside what really happens.

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::questions::{errors, json, score};
use common::*;
use serde_json::Value;

/// Two clients on four nodes whose disks are the bottleneck; long enough for a few percent.
const CLUSTER: &str = r#"
seed     = 11
warmup   = "20 s"
duration = "100 s"
tracking = { types = ["request"] }

[node.brick]
count = 4
cpu   = "pentium4-2.6"
cache = { size = "64 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-p4-3.0"

[volume.mail]
size     = "1 GiB"
nodes    = "brick[0-2]"
encoding = "1-of-2"

[volume.web]
size     = "1 GiB"
nodes    = "brick"
encoding = "2-of-3"

[workload.mail]
volume      = "mail"
client      = "app0"
kind        = "ssio"
reads       = "70%"
access      = "8 KiB"
outstanding = 4

[workload.web]
volume   = "web"
client   = "app1"
kind     = "ssio"
reads    = "90%"
access   = "16 KiB"
pattern  = "zipf"
arrivals = "poisson"
rate     = 60
"#;

#[test]
fn more_than_can_be_done_is_said_with_the_resource_and_by_how_much() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "warmup=5 s", "--set", "duration=20 s"]);
    let dir = dir.to_str().unwrap();
    let percent = |text: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with("Busiest")).unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().position(|word| *word == "%").unwrap();
        words[at - 1].parse().unwrap()
    };
    // an open loop that keeps up, and one that asks for several times as much as disks can do
    let mildly = succeed(["ask", dir, "--what-if", "workload.web.rate=70"]);
    assert!(!mildly.contains("overload"), "{mildly}");
    let beyond = ["ask", dir, "--what-if", "workload.web.rate=12000", "--model", "replay"];
    let text = succeed(beyond);
    assert!(percent(&text) <= 100.0, "{text}");
    assert!(text.contains("web: overload, ") && text.contains("times what `brick"), "{text}");
    let answer = json(&succeed(beyond.into_iter().chain(["--json"])));
    let web = &answer["workloads"]["web"];
    let throughput = web["throughput_rps"].as_f64().unwrap();
    let factor = web["overload"]["factor"].as_f64().unwrap();
    assert!((factor * throughput / 12000.0 - 1.0).abs() < 0.05, "{factor} x {throughput}");
    assert!(web["overload"]["resource"].as_str().unwrap().contains("disk"), "{web}");
    // a closed loop waits for what is asked for: it is slower, and nothing is beyond its limit
    let closed = ["ask", dir, "--what-if", "workload.mail.outstanding=64", "--json"];
    let answer = json(&succeed(closed));
    assert!(answer["workloads"]["mail"]["overload"].is_null(), "{answer}");
    for resources in answer["utilization"].as_object().unwrap().values() {
        for share in resources.as_object().unwrap().values() {
            assert!(share.as_f64().unwrap() <= 1.0, "{answer}");
        }
    }
}

#[test]
fn another_load_than_the_recorded_one_is_predicted_and_its_assumptions_are_said() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=40 s"]);
    for (changes, says) in [
        (&["workload.mail.reads=20%"][..], "keeps its recorded addresses and times"),
        (&["workload.mail.access=32 KiB"], "drawn from the changed law"),
        (&["workload.mail.pattern=zipf", "workload.mail.working_set=512 MiB"], "drawn"),
        (&["workload.web.alpha=0.6", "workload.web.reads=50%"], "by a Zipf law with exponent 0.9"),
        (&["volume.mail.size=2 GiB"], "it uses all of the volume as before"),
        (
            &["volume.mail.size=2 GiB", "workload.mail.working_set=1 GiB"],
            "drawn from the changed law; their times",
        ),
    ] {
        for (what, error) in errors(&score(&dir, changes)) {
            assert!(error < 0.1, "{changes:?}: {what} is {:.1} % off", 100.0 * error);
        }
        let mut asked = vec!["ask", dir.to_str().unwrap()];
        asked.extend(changes.iter().flat_map(|change| ["--what-if", *change]));
        let text = succeed(&asked);
        let line = text.lines().find(|line| line.starts_with("Assumed: ")).unwrap_or(&text);
        assert!(line.contains(says), "{changes:?}: wants `{says}` in {line}");
        asked.push("--json");
        let assumed = &json(&succeed(&asked))["assumed"];
        assert_eq!(assumed.as_array().map(Vec::len), Some(1), "{changes:?}: {assumed}");
    }
}

/// A trace has no law: its times and places stay.
#[test]
fn a_trace_keeps_what_is_not_asked_about() {
    let trace = "[workload.old]\nvolume = \"web\"\nclient = \"app1\"\nkind = \"trace\"\nfile = \"old.csv\"\n";
    let place = Place::with(&format!("{CLUSTER}{trace}"));
    let line = |n: u64| {
        let op = if n % 10 < 8 { 'R' } else { 'W' };
        format!("{},{op},{},8192\n", n * 50_000_000, n * 7919 % 60_000 * 8192)
    };
    let lines: String = (0..3000).map(line).collect();
    fs::write(place.path("old.csv"), format!("time_ns,op,offset,size\n{lines}")).unwrap();
    let dir = place.keep("run", &["--set", "duration=100 s"]);
    for (change, says, share) in [
        ("workload.old.reads=30%", "are reads with a probability of 30.0 %, at any address", 0.3),
        ("workload.old.access=64 KiB", "have 64 KiB", 0.8),
        ("volume.web.size=3 GiB", "requests the recorded addresses", 0.8),
    ] {
        let answer = ["ask", dir.to_str().unwrap(), "--what-if", change, "--json"];
        let answer = json(&succeed(answer));
        let assumed = answer["assumed"].as_array().unwrap();
        assert!(assumed.iter().any(|one| one.as_str().unwrap().contains(says)), "{assumed:?}");
        let found = answer["workloads"]["old"]["read_share"].as_f64().unwrap();
        assert!((found - share).abs() < 0.08, "{change}: {found}");
        for (what, error) in errors(&score(&dir, &[change])) {
            assert!(error < 0.1, "{change}: {what} is {:.1} % off", 100.0 * error);
        }
    }
    let smaller = ["ask", dir.to_str().unwrap(), "--what-if", "volume.web.size=256 MiB"];
    let done = run(smaller);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("has requested addresses beyond 256 MiB"), "{}", done.stderr);
}

/// A device need not be known by name: its description is enough.
#[test]
fn a_device_is_described_in_the_question() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=20 s"]);
    let device = fs::read_to_string(root().join("scenarios/devices/sata-ssd.toml")).unwrap();
    let keys = device.lines().filter(|line| line.contains(" = ") && !line.starts_with('#'));
    let keys: Vec<&str> = keys.filter(|line| !line.starts_with("source")).collect();
    let described = format!("device.new={{ source = \"an offer\", {} }}", keys.join(", "));
    let figure = |changes: [&str; 2]| {
        let dir = dir.to_str().unwrap();
        let text = ["ask", dir, "--what-if", changes[0], "--what-if", changes[1], "--json"];
        json(&succeed(text))["workloads"].clone()
    };
    let new = figure([&described, "node.brick.disk.0.device=new"]);
    let same = figure(["node.brick.disk.0.device=sata-ssd", "node.brick.count=4"]);
    assert_eq!(new["mail"]["throughput_rps"], same["mail"]["throughput_rps"]);
}

/// Each of these changes something else: what is stored where, how often, with what.
#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn predictions_are_within_ten_percent_of_what_happens() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &[]);
    for changes in [
        &[][..],
        &["volume.mail.encoding=2-of-3"],
        &["volume.web.nodes=brick[0-2]", "volume.mail.cipher=aes-128-cbc"],
        &["workload.mail.outstanding=12"],
        &["workload.web.rate=100"],
        &["node.brick.cache.size=128 MiB"],
        &["node.brick.disk.0.device=barracuda-7200.8"],
        &["workload.web=none"],
    ] {
        let found = errors(&score(&dir, changes));
        assert_eq!(found.len(), if changes == ["workload.web=none"] { 2 } else { 4 });
        for (what, error) in found {
            assert!(error < 0.1, "{changes:?}: {what} is {:.1} % off", 100.0 * error);
        }
    }
}

#[test]
fn the_store_alone_suffices_and_gives_the_same_answer_again() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=10 s"]);
    let ask = || {
        succeed(["ask", dir.to_str().unwrap(), "--what-if", "volume.web.encoding=1-of-3", "--json"])
    };
    let whole = ask();
    for name in files(&dir) {
        if name != "run.db" {
            fs::remove_file(dir.join(name)).unwrap();
        }
    }
    assert_eq!(ask(), whole);
    let answer = json(&whole);
    let web = &answer["workloads"]["web"];
    for key in [
        "throughput_rps",
        "peak_throughput_rps",
        "outstanding",
        "outstanding_to_saturate",
        "read_hit_rate",
    ] {
        assert!(web[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {}", web[key]);
    }
    for key in ["mean", "p50", "p95", "p99"] {
        assert!(web["response_time_ms"][key].as_f64().unwrap() > 0.0, "{key}");
    }
    assert!(web["bottleneck"].as_str().unwrap().contains('.'));
    assert!(web["demands_ms"]["node.disk0"].as_f64().unwrap() > 0.0);
    // bounds: at most the peak, at least what a request takes alone
    let bounds = json(&succeed(["ask", dir.to_str().unwrap(), "--model", "bounds", "--json"]));
    let mail = &bounds["workloads"]["mail"];
    assert!(mail["throughput_rps"].as_f64() <= mail["peak_throughput_rps"].as_f64());
    // mean value analysis: between the bounds and the replay, with means alone
    let analysed = json(&succeed(["ask", dir.to_str().unwrap(), "--model", "mva", "--json"]));
    for workload in ["mail", "web"] {
        let found = &analysed["workloads"][workload];
        let most = found["peak_throughput_rps"].as_f64().unwrap();
        let found = found["throughput_rps"].as_f64().unwrap();
        assert!(found <= most, "{workload}: {found}, at most {most}");
    }
    let mail = &analysed["workloads"]["mail"];
    assert!(mail["response_time_ms"]["p99"].is_null());
    for measure in ["throughput", "mean_response_time"] {
        let off = mail["misfit"][measure].as_f64().unwrap();
        assert!(off.abs() < 0.25, "{measure} of the run itself is off by {off}");
    }
    let text = succeed(["ask", dir.to_str().unwrap()]);
    let uncorrected = "for the recorded run, for which the figures above are not corrected: ";
    assert!(text.contains(uncorrected), "{text}");
    assert!(text.contains("What clients would see") && text.contains("Busiest:"), "{text}");
}

/// A disk that orders its commands by itself; its data lie far apart.
const ORDERING: &str = r#"
seed     = 2
warmup   = "2 s"
duration = "40 s"
tracking = { overhead = false, types = ["request"] }

[node.n]
count = 1
cpu   = "xeon-2023"
cache = { size = "64 MiB", read_ahead = "0 B" }
disk  = ["hdd-4tb-7200"]

[client.c]
count = 1
cpu   = "xeon-2023"

[volume.v]
size  = "500 GiB"
nodes = "n"

[workload.w]
volume = "v"
client = "c"
kind   = "ssio"
reads  = "100%"
access = "16 KiB"
"#;

#[test]
fn disks_that_order_their_commands_are_predicted_within_a_few_percent() {
    let place = Place::with(ORDERING);
    for (number, (device, reads, outstanding)) in [
        ("hdd-4tb-7200", "100%", 8),
        ("hdd-4tb-7200", "100%", 24),
        ("hdd-16tb-7200", "50%", 8),
        ("hdd-16tb-7200", "100%", 16),
        ("fc-15k-2008", "60%", 6),
    ]
    .into_iter()
    .enumerate()
    {
        let settings = [
            format!("node.n.disk=[\"{device}\"]"),
            format!(
                "volume.v.size={}",
                if device.starts_with("hdd") { "500 GiB" } else { "100 GiB" }
            ),
            format!("workload.w.reads={reads}"),
            format!("workload.w.outstanding={outstanding}"),
        ];
        let settings: Vec<&str> = settings.iter().flat_map(|one| ["--set", one.as_str()]).collect();
        let dir = place.keep(&format!("run{number}"), &settings);
        let answer = json(&succeed(["ask", dir.to_str().unwrap(), "--json"]));
        let misfit = &answer["workloads"]["w"]["misfit"];
        for measure in ["throughput", "mean_response_time"] {
            let off = misfit[measure].as_f64().unwrap();
            println!("{device}, {reads} reads, {outstanding}: {measure} {:.1} % off", 100.0 * off);
            assert!(
                off.abs() < 0.04,
                "{device}, {reads}, {outstanding}: {measure} is off by {off}"
            );
        }
    }
}

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

/// What an answer is told apart by: a change that one system heeds and the replay does not would be
/// answered as if nothing were.
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

#[test]
fn what_records_cannot_answer_is_refused() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=5 s"]);
    let refused = |dir: &Path, change: &str, says: &[&str]| {
        let done = run(["ask", dir.to_str().unwrap(), "--what-if", change]);
        assert_eq!(done.status, Some(2), "{change}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{change}: no guess is printed");
        for say in says {
            assert!(done.stderr.contains(say), "{change}: wants `{say}` in\n{}", done.stderr);
        }
    };
    refused(&dir, "volume.mial.encoding=2-of-3", &["mial", "mail"]);
    refused(&dir, "volume.mail.encoding=3-of-2", &["3-of-2"]);
    refused(&dir, "volume.mail.encoding=3-of-5", &["5"]);
    refused(&dir, "volume.mail.nodes=brick[0-9]", &["brick"]);
    refused(&dir, "node.brick.disk.0.device=floppy", &["floppy"]);
    refused(&dir, "device.cheetah-15k.rpm=10000", &["cannot be asked", "not its construction"]);
    refused(&dir, "duration=10 s", &["cannot be asked", "recorded time"]);
    refused(&dir, "workload.mail.reads=2", &["must be from 0 to 1"]);
    refused(&dir, "workload.mail.alpha=0.7", &["`pattern` is `random`"]);
    refused(&dir, "workload.mail.database=1 GiB", &["database"]);
    refused(&dir, "workload.mail.working_set=2 GiB", &["volume"]);
    refused(&place.path("nowhere"), "volume.mail.encoding=2-of-3", &["run.db"]);
    let sampled =
        place.keep("sampled", &["--set", "duration=5 s", "--set", "record=every 1/10 requests"]);
    refused(&sampled, "volume.mail.encoding=2-of-3", &["every 1/10 requests", "record = \"all\""]);
    let crash = "event.e={ at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"1 s\" }";
    let crashed = place.keep("crashed", &["--set", "duration=5 s", "--set", crash]);
    refused(&crashed, "volume.mail.encoding=2-of-3", &["event.e", "a run without events"]);
    let brief = place.keep("brief", &["--set", "duration=500 ms"]);
    refused(&brief, "volume.mail.encoding=2-of-3", &["needs 100"]);
    // what the model does not follow, and what records do not know: never an answer as if nothing were
    for (change, says) in [
        ("cluster.system=ceph", "the records of one storage system"),
        ("switch.loss_probes=false", "react to losses"),
        ("switch.shared_buffer=1 MiB", "each port has its own buffer"),
        ("node.brick.cpu.quantum=1 ms", "`node.brick.cpu.quantum` cannot be asked"),
        ("host.brick2.cpu.quantum=1 ms", "cpu.quantum` cannot be asked"),
        ("intervals.count=3", "recorded time"),
        ("event.e={ at = \"1 s\", what = \"fail\", host = \"brick9\" }", "brick9"),
        ("recovery.grace=10 s", "no effect in a scenario without events"),
        ("tracking.metrics=true", "answers do not contain them"),
        ("workload.web.arrivals=times", "times of another trace"),
        ("workload.web.times=cloudPhysicsIO.csv", "times of another trace"),
        ("host.brick3=none", "`brick3` is as its group"),
        ("host.app1=none", "`app1` is as its group"),
        ("host.osd3=none", "there is no host `osd3`"),
    ] {
        refused(&dir, change, &[says]);
    }
    let usage = run(["ask", dir.to_str().unwrap(), "--what-if", "encoding"]);
    assert_eq!(usage.status, Some(2));
    assert!(usage.stderr.contains("PATH=VALUE"), "{}", usage.stderr);
}

#[test]
fn what_has_no_effect_is_said() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=5 s"]);
    let dir = dir.to_str().unwrap();
    let figures = |answer: &Value| answer["workloads"].clone();
    let recorded =
        json(&succeed(["ask", dir, "--json", "--what-if", "volume.mail.encoding=1-of-2"]));
    for (change, why) in [
        ("volume.mail.encoding=1-of-2", "this is already the case"),
        (
            "node.extra={ count = 4, cpu = \"xeon-2023\", cache = { size = \"1 GiB\" }, disk = [\"cheetah-15k\"] }",
            "no workload reaches `extra0`, `extra1`, `extra2` and `extra3`",
        ),
        ("client.app.count=40", "no workload reaches `app2` to `app39` (38 hosts)"),
        ("host.brick3={}", "it makes no difference to the scenario"),
        ("node.brick.cpu.encrypt.rate=1 MB/s", "encrypted or coded"),
        ("node.brick.cache.policy=lru", "this is already the case"),
        ("node.brick.cache.size=65536 KiB", "this is already the case"),
    ] {
        let answer = json(&succeed(["ask", dir, "--json", "--what-if", change]));
        let note = format!("`{change}` has no effect: ");
        let found = answer["notes"][0].as_str().unwrap_or_else(|| panic!("{change}: {answer}"));
        assert!(found.starts_with(&note) && found.contains(why), "{found}");
        assert_eq!(figures(&answer), figures(&recorded), "{change}");
        assert!(answer["workloads"]["mail"]["expected_error"].is_null(), "no prediction, no error");
    }
    // a cache that holds all that was asked for serves it as well as a larger one
    let large = ["node.brick.cache.size=8 GiB", "node.brick.cache.size=16 GiB"];
    let ask = |changes: &[&str]| {
        let changes = changes.iter().flat_map(|change| ["--what-if", *change]);
        succeed(["ask", dir].into_iter().chain(changes))
    };
    assert!(!ask(&large[..1]).contains("note"), "{}", ask(&large[..1]));
    let text = ask(&["volume.mail.encoding=1-of-2", "node.brick.cache.size=128 MiB"]);
    assert!(text.starts_with("note: `volume.mail.encoding=1-of-2` has no effect: "), "{text}");
    assert!(text.contains("In 9 of 10 cases like this"), "the other has one: {text}");
    // the first of two that set the same
    let text = ask(&large);
    assert!(text.starts_with("note: `node.brick.cache.size=8 GiB` has no effect: "), "{text}");
    let text = succeed(["score", dir, "--what-if", "client.app.count=3"]);
    assert!(text.starts_with("note: `client.app.count=3` has no effect: no workload"), "{text}");
}

#[test]
fn random_clusters_are_drawn_and_scored_alike_each_time() {
    let once = || {
        let mut found = json(&succeed(["score", "--random", "1", "--seed", "7", "--json"]));
        for case in found["cases"].as_array_mut().unwrap() {
            // the host's time
            case.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_in_s"));
        }
        found
    };
    let first = once();
    assert_eq!(first["cases"].as_array().unwrap().len(), 1);
    assert!(first["errors"]["throughput_rps"]["median"].as_f64().unwrap() < 0.5);
    assert_eq!(once(), first);
}

#[test]
fn a_random_question_that_the_model_refuses_is_counted() {
    // `fast` does not follow other loads, and half of the questions of `v4` are about these
    let score = ["score", "--random", "1", "--generator", "v4", "--seed", "4", "--model", "fast"];
    let text = succeed(score);
    assert!(text.starts_with("Questions without an answer: 1 of 1. The first: `"), "{text}");
    assert!(!text.contains("case 0"), "a case without an answer has no error: {text}");
    let found = json(&succeed(score.iter().copied().chain(["--json"])));
    let case = &found["cases"][0];
    assert!(case["refused"].as_str().unwrap().contains("ask with `replay`"), "{case}");
    assert_eq!(case["comparisons"].as_array().unwrap().len(), 0);
}

#[test]
fn a_score_over_seeds_has_means_and_deviations() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=10 s"]);
    let dir = dir.to_str().unwrap();
    let change = "workload.mail.outstanding=2";
    let once = json(&succeed(["score", dir, "--what-if", change, "--json"]));
    let twice = json(&succeed(["score", dir, "--what-if", change, "--repeat", "2", "--json"]));
    let of = |scores: &Value, key: &str| scores["comparisons"][0][key].as_f64();
    assert_eq!((of(&once, "measured_sd"), of(&once, "predicted_sd")), (None, None));
    // of two values the deviation is their distance by the root of two: the first run is one of them
    let (mean, deviation) = (of(&twice, "measured").unwrap(), of(&twice, "measured_sd").unwrap());
    let off = (mean - of(&once, "measured").unwrap()).abs();
    assert!((off * 2.0 / f64::sqrt(2.0) - deviation).abs() < 1e-6, "{off} {deviation}");
    assert!(of(&twice, "predicted_sd").unwrap() > 0.0);
}

#[test]
fn past_scores_say_how_far_off_an_answer_is_to_be_expected() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=5 s"]);
    let (dir, history) = (dir.to_str().unwrap(), place.path("history.csv"));
    let (change, file) = ("volume.web.encoding=1-of-3", history.to_str().unwrap());
    let expected = |more: &[&str]| {
        let asked = ["ask", dir, "--what-if", change, "--model", "replay", "--json"];
        let answer = json(&succeed(asked.iter().chain(more).copied()));
        answer["workloads"]["mail"]["expected_error"]["throughput_rps"].clone()
    };
    let shipped = expected(&[]);
    let (median, p90) = (shipped["median"].as_f64().unwrap(), shipped["p90"].as_f64().unwrap());
    assert!(0.0 <= median && median < p90 && p90 < 1.0, "{shipped}");
    // scores of this very question are most like it
    for _ in 0..2 {
        succeed(["score", dir, "--what-if", change, "--history", file]);
    }
    let text = fs::read_to_string(&history).unwrap();
    let header =
        "model,metric,misfit,moved,error,utilization,system,device,change,arrivals,requests\n";
    assert!(text.starts_with(&format!("{header}bounds,throughput_rps,")), "{text}");
    assert!(text.contains(",ursa-minor,disk,encoding,closed,"), "{text}");
    assert!(text.contains(",ursa-minor,disk,encoding,open,"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("model")).count(), 1);
    let errors: Vec<f64> = text
        .lines()
        .filter(|line| line.starts_with("replay,throughput_rps"))
        .map(|line| line.split(',').nth(4).unwrap().parse().unwrap())
        .collect();
    assert_eq!(errors.len(), 4, "two workloads, twice");
    let mut many = text.clone();
    for _ in 0..40 {
        many += text.split_once('\n').unwrap().1;
    }
    fs::write(&history, many).unwrap();
    let own = expected(&["--history", file]);
    // without its sign: an error and its reciprocal are as wide
    let alike = |error: &f64| (libm::exp(libm::log(1.0 + error).abs()) - 1.0).max(0.0);
    let median = own["median"].as_f64().unwrap();
    assert!(errors.iter().any(|error| (median - alike(error)).abs() < 1e-9), "{own} {errors:?}");
    // every figure has an interval around it
    let answer = json(&succeed(["ask", dir, "--what-if", change, "--json"]));
    for (name, workload) in answer["workloads"].as_object().unwrap() {
        let times = &workload["response_time_ms"];
        for (metric, figure) in [
            ("throughput_rps", &workload["throughput_rps"]),
            ("response_time_ms.mean", &times["mean"]),
            ("response_time_ms.p99", &times["p99"]),
        ] {
            let interval = &workload["interval"][metric];
            let (low, high) =
                (interval["low"].as_f64().unwrap(), interval["high"].as_f64().unwrap());
            let figure = figure.as_f64().unwrap();
            assert!(low < figure && figure < high, "{name} {metric}: {low} {figure} {high}");
        }
    }
    assert!(succeed(["ask", dir, "--what-if", change]).contains("In 9 of 10 cases like this"));
    fs::write(&history, "time,iops\n1,2\n").unwrap();
    for command in ["ask", "score"] {
        let done = run([command, dir, "--what-if", change, "--history", file]);
        assert_eq!(done.status, Some(2), "{command}: {}", done.stderr);
        assert!(done.stderr.contains("not a history of scores: line 1"), "{}", done.stderr);
    }
}

/// Answers to questions, one a line.
fn answers(dir: &str, questions: &str, more: &[&str]) -> Vec<Value> {
    let place = Place::with("");
    let file = place.path("questions.jsonl");
    fs::write(&file, questions).unwrap();
    let asked = ["ask", dir, "--questions", file.to_str().unwrap()];
    let text = succeed(asked.iter().chain(more).copied());
    text.lines().map(json).collect()
}

#[test]
fn many_questions_are_answered_as_each_by_itself() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=20 s"]);
    let dir = dir.to_str().unwrap();
    let questions = r#"{"id": "a", "what_if": ["volume.web.encoding=1-of-3"], "model": "replay"}
{"id": 2, "what_if": ["workload.web.rate=75"], "model": "fast"}
{"id": "no", "what_if": ["workload.wbe.rate=75"]}

{"id": "how", "what_if": [], "model": "guess"}
{"ask": "what?"}
[1, ["workload.web.rate=75"], null]
{"id": "a", "what_if": ["volume.web.encoding=1-of-3"], "model": "replay"}
"#;
    let found = answers(dir, questions, &[]);
    assert_eq!(found.len(), 7);
    for (line, change, model) in
        [(0, "volume.web.encoding=1-of-3", "replay"), (1, "workload.web.rate=75", "fast")]
    {
        let alone = succeed(["ask", dir, "--what-if", change, "--model", model, "--json"]);
        let mut alone = json(&alone);
        alone.as_object_mut().unwrap().shift_remove("schema_version");
        assert_eq!(found[line]["answer"], alone, "{change}");
        assert_eq!(found[line]["model"], model);
        assert!(found[line]["cpu_ms"].as_f64().unwrap() > 0.0);
    }
    assert_eq!((&found[0]["id"], &found[1]["id"]), (&Value::from("a"), &Value::from(2)));
    // the recorded run is replayed once: the same question costs less the second time
    let cpu_ms = |line: usize| found[line]["cpu_ms"].as_f64().unwrap();
    assert!(cpu_ms(6) < cpu_ms(0), "{} {}", cpu_ms(6), cpu_ms(0));
    assert_eq!(found[6]["answer"], found[0]["answer"]);
    // an error is a line
    for (line, message) in [
        (2, "did you mean `workload.web`"),
        (3, "no model `guess`"),
        (4, "is not a question"),
        (5, "is not a question"),
    ] {
        let error = found[line]["error"].as_str().unwrap();
        assert!(error.contains(message), "{error}");
        assert!(found[line].get("answer").is_none());
    }
}

#[test]
fn a_workload_that_completes_nothing_has_no_times() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=20 s"]);
    let dir = dir.to_str().unwrap();
    let slow = ["--what-if", "node.brick.nic.latency=10 h"];
    for model in ["replay", "fast", "mva", "bounds"] {
        let text = succeed(["ask", dir, slow[0], slow[1], "--model", model]);
        let line = "No request of `mail` would complete in the measured time";
        assert!(text.contains(line), "{model}: {text}");
        for wrong in ["NaN", " inf", "-0.000", "In 9 of 10"] {
            assert!(!text.contains(wrong), "{model}: {text}");
        }
        let answer = json(&succeed(["ask", dir, slow[0], slow[1], "--model", model, "--json"]));
        let mail = &answer["workloads"]["mail"];
        assert_eq!(mail["no_requests"], true, "{model}");
        for figure in ["throughput_rps", "throughput_bytes_per_s", "outstanding"] {
            assert_eq!(mail[figure], 0.0, "{model} {figure}");
        }
        assert_eq!(mail["response_time_ms"]["mean"], 0.0, "{model}");
        assert!(mail.get("interval").is_none(), "{model}");
    }
    let score = succeed(["score", dir, slow[0], slow[1]]);
    assert!(!score.contains("NaN") && !score.contains(" inf"), "{score}");
}

#[test]
fn a_change_that_a_later_one_overrides_is_named() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=20 s"]);
    let changes = ["node.brick.cache.size=24 MiB", "node.brick.cache.size=20 MiB"];
    let options = changes.iter().flat_map(|change| ["--what-if", change]);
    let text = succeed(["ask", dir.to_str().unwrap()].into_iter().chain(options));
    assert!(text.contains("24 MiB` has no effect: a later change sets it to `20 MiB`"), "{text}");
}

#[test]
fn the_fast_model_answers_from_short_stretches_as_the_replay_does_from_all() {
    let place = Place::with(CLUSTER);
    let changes = [
        "workload.web.rate=75",
        "workload.mail.outstanding=8",
        "workload.mail=none",
        "volume.web.encoding=1-of-3",
        "node.brick.cache.size=24 MiB",
        "node.brick.disk.0.device=nvme-3gbs",
    ];
    let ask = |dir: &str, model: &str| {
        let question = |change| format!("{{\"what_if\": [{change:?}], \"model\": \"{model}\"}}\n");
        // the first answer also needs a replay of the recorded run
        let questions: String = [changes[0]].into_iter().chain(changes).map(question).collect();
        let found = answers(dir, &questions, &[]).split_off(1);
        let of = |answer: Value| {
            assert_eq!(answer["model"], model);
            (answer["answer"]["workloads"].clone(), answer["cpu_ms"].as_f64().unwrap())
        };
        found.into_iter().map(of).collect::<Vec<_>>()
    };
    // `web` has 60 requests a second, so short stretches have a few hundred of them, and their mean response time a
    // standard deviation of a tenth: two runs are compared
    let mut off: BTreeMap<String, f64> = BTreeMap::new();
    let runs = ["seed=11", "seed=12"];
    for seed in runs {
        let dir = place.keep(seed, &["--set", "duration=500 s", "--set", seed]);
        let dir = dir.to_str().unwrap();
        for ((change, (fast, fast_ms)), (replay, replay_ms)) in
            changes.into_iter().zip(ask(dir, "fast")).zip(ask(dir, "replay"))
        {
            println!("{change}: {fast_ms:.0} ms, {replay_ms:.0} ms");
            assert!(fast_ms < 0.5 * replay_ms, "{change}: {fast_ms} of {replay_ms} ms");
            for (name, replay) in replay.as_object().unwrap() {
                for key in ["/throughput_rps", "/response_time_ms/mean"] {
                    let of = |answer: &Value| answer.pointer(key).unwrap().as_f64().unwrap();
                    let mean = off.entry(format!("{change} {name} {key}")).or_default();
                    *mean += (of(&fast[name]) / of(replay) - 1.0) / runs.len() as f64;
                }
            }
        }
    }
    for (what, off) in &off {
        println!("{what}: {:+.1} %", 100.0 * off);
        assert!(off.abs() < 0.2, "{what}: {off:+.3}");
    }
    let mut all: Vec<f64> = off.values().map(|off| off.abs()).collect();
    let dir = place.path(runs[0]);
    let dir = dir.to_str().unwrap();
    all.sort_by(f64::total_cmp);
    assert!(all[all.len() / 2] < 0.02, "{all:?}");
    assert!(all[all.len() * 9 / 10] < 0.1, "{all:?}");
    // caches that earlier questions filled are those that each fills by itself
    let question = |change| format!("{{\"what_if\": [{change:?}], \"model\": \"fast\"}}\n");
    let faster = "node.brick.cpu.profile=xeon-2023";
    let together =
        [faster, "node.brick.nic.rate=10 Gbit/s", "node.brick.cache.size=24 MiB", faster];
    let together = answers(dir, &together.map(question).concat(), &[]);
    for (line, change) in [(0, faster), (2, "node.brick.cache.size=24 MiB"), (3, faster)] {
        let alone = answers(dir, &question(change), &[]);
        assert_eq!(together[line]["answer"], alone[0]["answer"], "{change}");
    }
    let crash = "event.e={ at = \"1 s\", what = \"fail\", host = \"brick1\" }";
    for change in ["workload.mail.reads=1", crash] {
        let done = run(["ask", dir, "--what-if", change, "--model", "fast"]);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("model `fast` cannot follow it"), "{}", done.stderr);
    }
}

#[test]
fn the_fast_model_does_not_answer_where_it_misses_the_recorded_run() {
    let place = Place::with(CLUSTER);
    // written data fill the caches during the warm-up, and wait for disks from then on: short stretches do not see it
    let dir = place.keep(
        "run",
        &[
            "--set",
            "node.brick.cache.size=512 MiB",
            "--set",
            "workload.mail.reads=0",
            "--set",
            "workload.mail.outstanding=16",
            "--set",
            "volume.mail.size=16 GiB",
        ],
    );
    let dir = dir.to_str().unwrap();
    let found = |model| {
        let question = format!("{{\"what_if\": [], \"model\": \"{model}\"}}\n");
        let found = answers(dir, &question, &[]);
        let mail = &found[0]["answer"]["workloads"]["mail"];
        let off = mail["misfit"]["mean_response_time"].as_f64().unwrap();
        (found[0]["model"].as_str().unwrap().to_owned(), off)
    };
    let ((_, fast), (model, auto)) = (found("fast"), found("auto"));
    assert!(fast.abs() > 0.3, "{fast}: the test shows nothing");
    assert_eq!(model, "replay");
    assert!(auto.abs() < 0.1, "{auto}");
}

#[test]
fn the_rate_that_is_asked_for_is_the_one_that_is_expected() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=10 s"]);
    let of = |change: &str| {
        let answer = succeed(["ask", dir.to_str().unwrap(), "--what-if", change, "--json"]);
        json(&answer)["workloads"]["web"]["throughput_rps"].as_f64().unwrap()
    };
    // in ten seconds some 600 requests came, more or fewer by chance
    assert!((of("workload.web.rate=50") - 50.0).abs() < 1e-6);
    // the recorded client issues what it issued then; the other one has the mean rate
    let recorded = truth_of(&dir)["workloads"]["web"]["throughput_rps"].as_f64().unwrap();
    assert!((of("workload.web.client=app[0-1]") - recorded - 60.0).abs() < 1e-6);
    assert!((of("node.brick.nic.rate=10 Gbit/s") - 60.0).abs() > 1e-6);
}

#[test]
fn a_suite_of_ones_own_is_scored() {
    let place = Place::with(CLUSTER);
    let scenario = place.path("scenario.toml");
    let suite = place.path("suite.toml");
    let text = format!(
        r#"
[[run]]
name = "mine"
scenario = '{}'
set = ["duration=10 s"]
[[run.question]]
ask = "Is the network the limit?"
what_if = ["node.brick.nic.rate=10 Gbit/s"]
[[run.question]]
what_if = ["node.brick.cpu.quantum=1 ms"]
class = "slices"
[[run.question]]
ask = "The second office too"
what_if = ["workload.mail.client=app"]
"#,
        scenario.display()
    );
    fs::write(&suite, text).unwrap();
    let found = json(&succeed(["score", "--suite", suite.to_str().unwrap(), "--json"]));
    let questions = found["questions"].as_array().unwrap();
    let classes: Vec<&str> = questions.iter().map(|one| one["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["disks and traces", "slices", "added clients"]);
    assert!(questions[1]["refused"].as_str().unwrap().contains("cannot be asked"));
    let comparison = &questions[0]["comparisons"][0];
    assert!(comparison["low"].as_f64() < comparison["high"].as_f64(), "{comparison}");
    assert_eq!(comparison["class"], "ursa-minor disk network");
    assert!(comparison["error"].as_f64().unwrap() < 0.1, "{comparison}");
    let all = found["classes"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&all["class"], &all["questions"], &all["refused"]),
        (&"all".into(), &3.into(), &1.into())
    );
    fs::write(&suite, "[[run]]\nname = \"a\"\nquestion = []\n").unwrap();
    let done = run(["score", "--suite", suite.to_str().unwrap()]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("needs a scenario"), "{}", done.stderr);
}
