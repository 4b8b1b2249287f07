//! `foretell ask` and `score`: predictions from records alone, beside what really happens.

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::questions::{CLUSTER, errors, json, score};
use common::*;
use serde_json::Value;

#[test]
fn a_run_with_an_event_can_be_asked() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("failure");
    let out = out.to_str().unwrap();
    succeed(["run", "failure", "-o", out]);
    // the events of the recorded run are in the answer, and so is the run without them
    for change in ["node.brick.disk.0.device=cheetah-15k", "volume.mail.encoding=1-of-2"] {
        let text = succeed(["score", out, "--what-if", change, "--json"]);
        let score: Value = serde_json::from_str(&text).unwrap();
        let of = |metric: &str| {
            let all = score["comparisons"].as_array().unwrap();
            let found = all.iter().find(|one| one["metric"] == metric);
            found.unwrap_or_else(|| panic!("{metric}: {score}"))["error"].as_f64().unwrap()
        };
        for metric in ["throughput_rps", "before.throughput_rps", "after.throughput_rps"] {
            assert!(of(metric) < 0.1, "{change}: {metric} {}", of(metric));
        }
    }
    let (fast, change) = ("--model=fast", "node.brick.cache.size=256MiB");
    let refused = run(["ask", out, fast, "--what-if", change]);
    assert!(
        refused.stderr.contains("failures need a replay of the whole run"),
        "{}",
        refused.stderr
    );
}

#[ignore = "takes minutes: `.ci/run --full` runs it"]
#[test]
fn runs_of_all_scenarios_that_come_with_the_program_can_be_asked() {
    let place = tempfile::tempdir().unwrap();
    let trace = place.path().join("a.csv");
    let row = |second: u32| format!("1,{second},28,8192,{}\n", 8000 * second);
    let rows: String = (0..200).map(row).collect();
    std::fs::write(&trace, format!("version,time,op,size,lbn\n{rows}")).unwrap();
    let file = format!("workload.replay.file={}", trace.display());
    for name in foretell_scenarios::shipped_names() {
        let out = place.path().join(name);
        let out = out.to_str().unwrap();
        let more = if name == "trace-replay" { vec!["--set", file.as_str()] } else { Vec::new() };
        succeed(["run", name, "-o", out].into_iter().chain(more));
        let answer = run(["ask", out, "--json"]);
        assert_eq!(answer.status, Some(0), "{name}: {}", answer.stderr);
        std::fs::remove_dir_all(out).unwrap();
    }
}

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
    let together = [faster, "node.brick.nic.rate=10 Gbit/s", "volume.web.encoding=1-of-3", faster];
    let together = answers(dir, &together.map(question).concat(), &[]);
    for (line, change) in [(0, faster), (2, "volume.web.encoding=1-of-3"), (3, faster)] {
        let alone = answers(dir, &question(change), &[]);
        assert_eq!(together[line]["answer"], alone[0]["answer"], "{change}");
    }
    let crash = "event.e={ at = \"1 s\", what = \"fail\", host = \"brick1\" }";
    // the caches are still filling
    for change in ["workload.mail.reads=1", "node.brick.cache.size=24 MiB", crash] {
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
