//! `foretell calibrate cpu`, through the command.

use std::path::Path;
use std::process::{Command, Output};

use foretell_scenarios::Document;
use foretell_scenarios::model::CpuProfile;
use serde_json::Value;

/// Few operations: these tests are of what is written, not of how fast this host is.
const QUICK: [&str; 2] = ["--operations", "2"];

const SCENARIO: &str = r#"
warmup = "100 ms"
duration = "200 ms"
[node.brick]
count = 5
cpu = "this-host"
cache = { size = "64 MiB" }
disk = ["barracuda-7200.8"]
[client.app]
cpu = "this-host"
[volume.v]
size = "1 GiB"
nodes = "brick"
encoding = "3-of-5"
cipher = "aes-128-cbc"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = 0
working_set = "8 MiB"
"#;

fn foretell(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.args(arguments).output().expect("the command starts")
}

fn calibrate(arguments: &[&str]) -> Output {
    let output = foretell(&[&["calibrate", "cpu"], &QUICK[..], arguments].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    output
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_slice(&calibrate(&[&["--json"], arguments].concat()).stdout).unwrap()
}

/// What it says when it fails because of its input.
fn fault(arguments: &[&str]) -> String {
    let output = foretell(&[&["calibrate", "cpu"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The profile of the client, as a scenario has it.
fn client(scenario: &Path) -> CpuProfile {
    let scenario = Document::load(scenario).unwrap().check().unwrap_or_else(|e| panic!("{e}"));
    let client = scenario.hosts.iter().find(|host| host.name == "app0").unwrap();
    CpuProfile::clone(&client.cpu)
}

#[test]
fn run_accepts_the_profile_beside_a_scenario_and_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cpus/this-host.toml");
    let found = json(&["-o", file.to_str().unwrap()]);
    let scenario = directory.path().join("s.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let beside = client(&scenario);
    let profile = &found["profile"];
    assert_eq!(beside.name, "this-host");
    assert_eq!(profile["name"], "this-host");
    assert_eq!(profile["cores"], beside.cores);
    for (name, cost) in [
        ("send", beside.send),
        ("receive", beside.receive),
        ("copy", beside.copy),
        ("encrypt", beside.encrypt),
        ("decrypt", beside.decrypt),
        ("code", beside.code),
    ] {
        assert_eq!(profile[name]["fixed_ns"], cost.fixed.as_ns(), "{name}");
        let rate = cost.rate.map(foretell_units::Rate::as_bytes_per_s_f64);
        assert_eq!(profile[name]["rate_bytes_per_s"].as_f64(), rate, "{name}");
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("Measured by `foretell calibrate cpu`"), "{written}");
    let run = |scenario: &Path| {
        let output = foretell(&["run", scenario.to_str().unwrap(), "--json"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let mut truth: Value = serde_json::from_slice(&output.stdout).unwrap();
        truth["wall_seconds"] = Value::Null;
        truth
    };
    let truth = run(&scenario);
    assert!(truth["workloads"]["w"]["requests"].as_u64().unwrap() > 10);
    // the same text as a section of the scenario
    let other = tempfile::tempdir().unwrap();
    let inline = other.path().join("s.toml");
    std::fs::write(&inline, format!("{SCENARIO}\n[cpu.this-host]\n{written}")).unwrap();
    assert_eq!(client(&inline), beside);
    assert_eq!(run(&inline), truth);
}

#[test]
fn six_encodings_are_measured_unless_others_are_asked_for() {
    let found = json(&[]);
    let encodings = found["encodings"].as_array().unwrap();
    let names: Vec<String> = encodings
        .iter()
        .map(|row| format!("{} {}", row["encoding"], row["cipher"]).replace('"', ""))
        .collect();
    let expected = ["1-of-1", "1-of-3", "3-of-5"]
        .map(|encoding| [format!("{encoding} none"), format!("{encoding} aes-128-cbc")]);
    assert_eq!(names, expected.concat());
    assert_eq!((&found["request_bytes"], &found["file"]), (&32_768.into(), &Value::Null));
    let us = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}"));
    for pair in encodings.chunks(2) {
        // AES-CBC encrypts a few bytes a nanosecond at the best, a copy moves dozens
        assert!(us(&pair[1], "encode_us") > 2.0 * us(&pair[0], "encode_us"), "{pair:?}");
        assert!(us(&pair[0], "decode_us") > 0.0);
        // what has no redundancy cannot be rebuilt
        assert_eq!(pair[0]["rebuild_us"].is_null(), pair[0]["encoding"] == "1-of-1");
        // replication costs nothing by profile, as it needs no arithmetic
        let coded = us(&pair[0], "encode_by_profile_us") > 0.0;
        assert_eq!(coded, pair[0]["encoding"] == "3-of-5");
    }
    let found = json(&["--encodings", "4-of-6,2-of-2,4-of-6", "--request", "8KiB"]);
    let encodings = found["encodings"].as_array().unwrap();
    assert_eq!(encodings.len(), 4);
    assert_eq!(
        (&encodings[0]["encoding"], &found["request_bytes"]),
        (&"4-of-6".into(), &8192.into())
    );
}

#[test]
fn without_a_file_the_profile_is_printed() {
    let text = String::from_utf8(calibrate(&["--encodings", "3-of-5"]).stdout).unwrap();
    let (table, profile) = text.split_once("The profile\n\n").expect("the profile");
    assert!(table.contains("Client CPU for a request of 32 KiB"), "{table}");
    let scenario = format!("{SCENARIO}\n[cpu.this-host]\n{profile}");
    let document = Document::parse("t.toml", &scenario, "").unwrap();
    document.check().unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn wrong_input_is_named() {
    for (arguments, wanted) in [
        (&["--encodings", "5-of-3"][..], "did you mean `3-of-5`?"),
        (&["--encodings", "3of5"], "write `m-of-n`"),
        (&["--operations", "0"], "expected a whole number from 1 to 1000000"),
        (&["--request", "0"], "a request has at least 1 B"),
        (&["--request", "1 GiB"], "at most 64 MiB"),
        (&["--request", "32 KIB"], "`KIB` is not a unit"),
        (&["-o", "my host.toml"], "call it NAME.toml"),
    ] {
        let message = fault(arguments);
        assert!(message.contains(wanted), "{arguments:?}: {message}");
    }
}
