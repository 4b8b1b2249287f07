//! Clusters that others measured: import, validation, calibration.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::measured::{CONFIG, POINTS};
use common::{data, files, run, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// One OSD on a device of 300 us a read; all that costs anything is an op thread's 100 us for a read.
const OSD: &str = r#"
warmup = "20 ms"
duration = "200 ms"
[cluster]
system = "ceph"
read = { fixed = "100 us" }
write = { fixed = "0 us" }
commit = { fixed = "0 us" }
deferred_below = "0 B"
threads = { op = 4, message = { fixed = "0 us" }, kv_round = "0 us", kv_transaction = "0 us", merge = "0 us" }
[node.osd]
cpu = { profile = "xeon-2023", request = { fixed = "0 us" }, context_switch = "0 us" }
cache = { size = "1 MiB" }
disk = [{ device = "flat", scheduler = "noop" }]
[client.app]
cpu = "xeon-2023"
[volume.v]
size = "64 GiB"
nodes = "osd"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = "100%"
access = "4 KiB"
outstanding = 64
[tracking]
overhead = false
[device.flat]
kind = "curves"
source = "made up"
capacity = "1 TB"
[[device.flat.curve]]
op = "read"
reads = 1
block = "4 KiB"
outstanding = [1, 1000]
latency = ["300 us", "300 us"]
[[device.flat.curve]]
op = "write"
reads = 0
block = "4 KiB"
outstanding = [1, 1000]
latency = ["10 us", "10 us"]
"#;

struct Lab {
    dir: TempDir,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.json"), CONFIG).unwrap();
        fs::write(dir.path().join("points.csv"), POINTS).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The rows of the table with these numbers, as a table of its own.
    fn some(&self, name: &str, rows: &[usize]) -> String {
        let lines: Vec<&str> = POINTS.lines().collect();
        let chosen = std::iter::once(&0).chain(rows).map(|row| lines[*row]);
        let text = chosen.collect::<Vec<_>>().join("\n") + "\n";
        fs::write(self.path(name), text).unwrap();
        self.shown(name)
    }

    fn import(&self) -> String {
        let (config, points) = (self.shown("config.json"), self.shown("points.csv"));
        succeed(["import", "cluster", &config, "--points", &points, "-o", &self.shown("twin")])
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_scenario_is_written_for_each_configuration() {
    let lab = Lab::new();
    let printed = lab.import();
    assert!(printed.contains("other: refused: the system `gluster`"), "{printed}");
    assert_eq!(files(&lab.path("twin")), ["map.toml", "raw.toml", "rep2.toml"]);
    let scenario = fs::read_to_string(lab.path("twin/rep2.toml")).unwrap();
    // what is assumed and what the source does not know is said
    assert!(scenario.contains("#   - pg_num") && scenario.contains("# Assumed:"), "{scenario}");
    // 80 us alone is the drive as measured
    assert!(scenario.contains("\"80000 ns\""), "{scenario}");
    // each can be run as it is
    succeed(["run", &lab.shown("twin/rep2.toml"), "--set", "duration=2ms", "--set", "warmup=2ms"]);
    succeed(["run", &lab.shown("twin/raw.toml")]);
}

#[test]
fn every_row_has_its_number_a_prediction_or_a_reason() {
    let lab = Lab::new();
    lab.import();
    let arguments = |jobs: &str| {
        [
            "validate",
            &lab.shown("twin"),
            "--points",
            &lab.shown("points.csv"),
            "--json",
            "--jobs",
            jobs,
        ]
        .map(str::to_owned)
    };
    let once = succeed(arguments("1"));
    assert_eq!(once, succeed(arguments("2")), "threads change nothing");
    let found = json(&once);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row["row"], index + 1);
    }
    // a drive alone is as it was measured: within 3 %
    for row in &rows[..2] {
        assert!(row["error"]["iops"].as_f64().unwrap().abs() < 0.03, "{row}");
    }
    assert!(rows[5]["predicted"]["iops"].as_f64().unwrap() > 0.0, "not measured, yet predicted");
    assert!(rows[5]["error"]["iops"].is_null());
    assert!(rows[7]["reason"].as_str().unwrap().contains("gluster"));
    // Little's law: depth 1
    let slow = &rows[2]["predicted"];
    let product = slow["iops"].as_f64().unwrap() * slow["lat_mean_ms"].as_f64().unwrap() / 1e3;
    assert!((product - 1.0).abs() < 0.02, "{product}");
}

#[test]
fn two_points_calibrate_and_the_others_are_predicted_with_them() {
    let lab = Lab::new();
    lab.import();
    let few = lab.some("few.csv", &[3, 4]);
    let (twin, points) = (lab.shown("twin"), lab.shown("points.csv"));
    let arguments =
        ["calibrate", "cluster", &twin, "--points", &few, "--predict", &points, "--json"];
    let found = json(&succeed(arguments));
    let fitted = found["fitted"]["rows"].as_array().unwrap();
    for row in fitted {
        assert!(row["error"]["iops"].as_f64().unwrap().abs() < 0.1, "{row}");
    }
    let parameters = found["parameters"].as_array().unwrap();
    let of = |name: &str| parameters.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(of("osd_read")["learned"], true);
    assert!(of("osd_read")["low"].as_f64() < of("osd_read")["high"].as_f64());
    // no point has large requests
    assert_eq!(of("osd_write_bytes")["learned"], false);
    assert_eq!(of("osd_write_bytes")["factor"], 1.0);
    let rows = found["predicted"]["rows"].as_array().unwrap();
    let used: Vec<usize> =
        (0..8).filter(|row| rows[*row]["calibration"] == true).map(|row| row + 1).collect();
    assert_eq!(used, [3, 4]);
    // errors are those of the other rows: 1, 2, 5 and 7 have throughput and a scenario
    assert_eq!(found["predicted"]["errors"]["iops"]["points"], 4);
    // what was fitted is used from now on, and can be left out
    let validate = |more: &[&str]| {
        let all = ["validate", &twin, "--points", &few, "--json"].into_iter();
        json(&succeed(all.chain(more.iter().copied())))
    };
    let (with, without) = (validate(&[]), validate(&["--unfitted"]));
    assert_eq!((&with["fitted"], &without["fitted"]), (&Value::from(true), &Value::from(false)));
    let error = |found: &Value| found["rows"][0]["error"]["iops"].as_f64().unwrap().abs();
    assert!(error(&with) < 0.1 && error(&with) < error(&without), "{with} {without}");
    // another import does away with it
    lab.import();
    assert_eq!(files(&lab.path("twin")), ["map.toml", "raw.toml", "rep2.toml"]);
}

#[test]
fn bad_input_is_said_plainly_and_changes_nothing() {
    let lab = Lab::new();
    let fault = |arguments: &[&str], expected: &str| {
        let done = run(arguments.iter().copied());
        let message = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(done.status, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    };
    let (config, points, twin) =
        (lab.shown("config.json"), lab.shown("points.csv"), lab.shown("twin"));
    fault(&["validate", &twin, "--points", &points], "foretell import cluster");
    fs::write(lab.path("bad.json"), "{\"configs\": {\"a\": {\"nodes\": -1}}}").unwrap();
    fault(&["import", "cluster", &lab.shown("bad.json"), "-o", &twin], "configuration `a`");
    assert!(!lab.path("twin").exists());
    fs::write(lab.path("words.csv"), "config,op_mix,block_bytes,iops\nrep2,most,4096,1\n").unwrap();
    let words = lab.shown("words.csv");
    fault(
        &["import", "cluster", &config, "--points", &words, "-o", &twin],
        "no row can be used; row 1: `op_mix` is `most`",
    );
    assert!(!lab.path("twin").exists());
    lab.import();
    let refused = lab.some("refused.csv", &[8]);
    fault(&["calibrate", "cluster", &twin, "--points", &refused], "no row can be used");
    assert!(!lab.path("twin/fitted.toml").exists());
    fs::write(lab.path("twin/rep2.toml"), "nonsense = 1\n").unwrap();
    fault(&["validate", &twin, "--points", &points], "nonsense");
}

#[test]
fn a_row_or_configuration_that_cannot_be_used_leaves_the_others() {
    let lab = Lab::new();
    let config = CONFIG.replacen(
        "\"configs\": {",
        "\"configs\": { \"none\": {\"nodes\": -1}, \"full\": {\"client\": {\"images\": 1, \"image_bytes\": 9e15}, \
         \"node\": {\"devices\": [{\"model\": \"tiny\", \"count\": 1}]}, \"pool\": {\"size\": 1}}, \
         \"scrubbed\": {\"background\": {\"kind\": \"scrub\"}, \"sockets\": 2},",
        1,
    );
    let config = config.replacen(
        "\"drives\": {",
        "\"drives\": { \"tiny\": {\"capacity_bytes\": 1e6}, \"tiny\": {\"capacity_bytes\": 2e6},",
        1,
    );
    fs::write(lab.path("config.json"), config).unwrap();
    let columns = POINTS.lines().next().unwrap().split(',').count();
    let blank = ",".repeat(columns - 4);
    let more = format!(
        "rep3,1,4096,{blank}\nscrubbed,1,4096,random{blank},surplus\nrep2,,4096,{blank}\nrep2,1,4096,object{blank}\n"
    );
    fs::write(lab.path("points.csv"), format!("{POINTS}{more}")).unwrap();
    let (config, points, twin) =
        (lab.shown("config.json"), lab.shown("points.csv"), lab.shown("twin"));
    let reasons = |found: &Value, key: &str| -> Vec<(String, String)> {
        let all = found["left_out"].as_array().unwrap().iter();
        let of = all.filter(|one| !one[key].is_null());
        of.map(|one| (one[key].to_string(), one["reason"].as_str().unwrap().to_owned())).collect()
    };
    let found =
        json(&succeed(["import", "cluster", &config, "--points", &points, "-o", &twin, "--json"]));
    let configs = reasons(&found, "config");
    let has = |all: &[(String, String)], name: &str, why: &str| {
        assert!(all.iter().any(|one| one.0 == name && one.1.contains(why)), "{name}: {all:?}");
    };
    has(&configs, "\"none\"", "`nodes`");
    has(&configs, "\"other\"", "gluster");
    has(&configs, "\"full\"", "cannot be simulated");
    let first = POINTS.lines().count();
    let rows = reasons(&found, "row");
    has(&rows, &first.to_string(), "did you mean `rep2`?");
    has(&rows, &(first + 2).to_string(), "`op_mix` is ``");
    has(&rows, &(first + 3).to_string(), "has no gateways");
    let notes = found["notes"].to_string();
    for wanted in ["`configs.*.sockets`", "`drives.tiny`", "more cells than there are columns"] {
        assert!(notes.contains(wanted), "{wanted}: {notes}");
    }
    let arguments = ["validate", twin.as_str(), "--points", points.as_str()];
    let printed = succeed(arguments);
    assert!(
        printed.contains("! measured beside `scrub`, which is not simulated: 1 row"),
        "{printed}"
    );
    let found = json(&succeed(arguments.into_iter().chain(["--json"])));
    has(&reasons(&found, "row"), &(first + 2).to_string(), "`op_mix` is ``");
    has(&reasons(&found, "row"), &(first + 3).to_string(), "has no gateways");
    assert_eq!(found["rows"].as_array().unwrap().last().unwrap()["predicted"], Value::Null);
}

#[test]
fn objects_go_through_gateways() {
    let lab = Lab::new();
    let config = r#"{"configs": {"s3": {"nodes": 3, "node": {"devices": [{"count": 1}]}, "client":
        {"interface": "s3", "on_storage_nodes": true, "processes": 4}}}}"#;
    fs::write(lab.path("config.json"), config).unwrap();
    let points = "config,op_mix,block_bytes,pattern,clients,iodepth,iops\ns3,1,65536,object,4,8,1000\n\
                  s3,0,65536,object,4,8,1000\ns3,1,65536,random,4,8,1000\n";
    fs::write(lab.path("points.csv"), points).unwrap();
    lab.import();
    let scenario = fs::read_to_string(lab.path("twin/s3.toml")).unwrap();
    assert!(scenario.contains("gateway   = { hosts = \"osd\" }"), "{scenario}");
    let (twin, points) = (lab.shown("twin"), lab.shown("points.csv"));
    let found = json(&succeed(["validate", &twin, "--points", &points, "--json"]));
    // a gateway takes 0.9 ms for a read, 1.4 ms for a write, and the rest is not far from that
    for (row, (least, most)) in [(0.9, 3.0), (1.4, 6.0)].into_iter().enumerate() {
        let mean = found["rows"][row]["predicted"]["lat_mean_ms"].as_f64().unwrap();
        assert!((least..most).contains(&mean), "{mean}");
    }
    let reason = found["left_out"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("gateways, which serve whole objects"), "{reason}");
}

#[test]
fn all_sources_can_be_imported() {
    let Some(clusters) = data("clusters") else { return };
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(clusters).unwrap() {
        let source = entry.unwrap().path();
        let name = source.file_name().unwrap().to_str().unwrap().to_owned();
        let shown = |path: &Path| path.display().to_string();
        let output = dir.path().join(&name);
        let (config, points) = (source.join("config.json"), source.join("points.csv"));
        let (config, points, output) = (shown(&config), shown(&points), shown(&output));
        succeed(["import", "cluster", &config, "--points", &points, "-o", &output]);
        let map = fs::read_to_string(dir.path().join(&name).join("map.toml")).unwrap();
        assert!(!map.contains("refused"), "{map}");
    }
}

#[test]
fn threads_limit_an_osd_as_arithmetic_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("osd.toml");
    fs::write(&file, OSD).unwrap();
    let file = file.display().to_string();
    let rate = |changes: &[&str]| {
        let sets = changes.iter().flat_map(|change| ["--set", change]);
        let found = json(&succeed(["run", file.as_str(), "--json"].into_iter().chain(sets)));
        found["workloads"]["w"]["throughput_rps"].as_f64().unwrap()
    };
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
    };
    // a thread works for 100 us and waits for the device for 300 us: four of them do 10,000 a second
    near(rate(&[]), 10_000.0);
    near(rate(&["cluster.threads.op=1"]), 2_500.0);
    // sixteen that share a processor: 1 / 100 us
    near(rate(&["cluster.threads.op=16", "cluster.threads.processors=1"]), 10_000.0);
    // a transaction every 50 us; or rounds of 1 ms, of which four of eight writers wait for each
    near(rate(&["workload.w.reads=0%", "cluster.threads.kv_transaction=50us"]), 20_000.0);
    let rounds =
        ["workload.w.reads=0%", "workload.w.outstanding=8", "cluster.threads.kv_round=1ms"];
    near(rate(&rounds), 4_000.0);
    let flushes = ["workload.w.reads=0%", "workload.w.outstanding=8", "cluster.threads.flush=1ms"];
    near(rate(&flushes), 4_000.0);
    // an object whose metadata are not in memory: two keys are looked up before the read, for 300 us each
    near(rate(&["cluster.threads.op=1", "cluster.onodes=1"]), 1_000.0);
    // writes of 1 ms by one thread; joined, sixteen are a few: no faster than one and fifteen in turn, in 2 ms
    let writes = [
        "workload.w.reads=0%",
        "workload.w.access=512B",
        "workload.w.outstanding=16",
        "cluster.threads.op=1",
        "cluster.write.fixed=1ms",
    ];
    let sequential = [writes.as_slice(), &["workload.w.pattern=sequential"]].concat();
    assert!((900.0..=1_000.0).contains(&rate(&sequential)));
    let joined = rate(&[sequential.as_slice(), &["cluster.coalesce=true"]].concat());
    assert!((4_000.0..=8_000.0).contains(&joined), "{joined}");
    // random ones hardly ever meet in an object
    let random = [writes.as_slice(), &["cluster.coalesce=true", "workload.w.pattern=random"]];
    assert!((900.0..=1_000.0).contains(&rate(&random.concat())));
}
