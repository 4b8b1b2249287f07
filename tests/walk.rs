//! The walk of the README's second section, from real files to an answer: its own commands, in order.
//! Where the real files are absent, small ones of the same formats are made.
#![cfg(unix)]

use crate::common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::fio::{Job, result};
use common::{data, root};

const SECTION: &str = "\n## Ask about your own files\n";
/// What stands before each output that is shown, and before the command that prints it.
const SHOWN: &str = "<!-- kept true by tests/walk.rs: ";

/// The section's text.
fn section(readme: &str) -> &str {
    let (before, rest) = readme.split_once(SECTION).expect("the README has the section");
    assert_eq!(before.matches("\n## ").count(), 1, "it is the second");
    rest.split("\n## ").next().unwrap()
}

/// The commands of the section, without the prompt.
fn commands(section: &str) -> Vec<&str> {
    section.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// Runs the commands as a shell does; what each printed, without spaces at the ends of lines.
fn walk(dir: &Path) -> BTreeMap<String, String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut printed = BTreeMap::new();
    for command in commands(section(&readme)) {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(dir)
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS");
        let output = shell.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && errors.is_empty(), "{command}: {errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let command = command.strip_prefix("foretell ").expect("a command of ours").to_owned();
        printed.insert(command, format!("{}\n", lines.join("\n").trim_end()));
    }
    printed
}

#[test]
fn the_readmes_walk_answers_a_question_from_real_files() {
    let (Some(results), Some(trace)) =
        (data("fio/randrw-interleaved"), data("traces/cloudPhysicsIO.csv"))
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(results, dir.path().join("fio")).unwrap();
    std::os::unix::fs::symlink(trace, dir.path().join("cloudPhysicsIO.csv")).unwrap();
    let printed = walk(dir.path());
    // what the README shows of it
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let mut parts = readme.split(SHOWN);
    let mut written = parts.next().unwrap().to_owned();
    for part in parts {
        let (command, rest) = part.split_once(" -->\n```text\n").expect("an output");
        let (shown, after) = rest.split_once("```").unwrap();
        let now = &printed[command];
        if std::env::var_os("UPDATE").is_none() {
            assert_eq!(shown, now, "`UPDATE=1 cargo test --test program walk` updates it");
        }
        written.extend([SHOWN, command, " -->\n```text\n", now, "```", after]);
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, written).unwrap();
    }
    // what it says of it: the volume helps more, and the answer was good
    let mean = |what: &str| -> f64 {
        let line = printed[what].lines().find(|line| line.starts_with(" replay")).unwrap();
        line.split_whitespace().nth(3).unwrap().parse().unwrap()
    };
    let cache = mean("ask out/vm --what-if node.server.cache.size=4GiB");
    let volume = mean("ask out/vm --what-if 'node.server.disk=[\"volume\"]'");
    assert!(volume < cache / 2.0, "{volume} ms, {cache} ms");
    let score = &printed["score out/vm --what-if 'node.server.disk=[\"volume\"]'"];
    let error = score.lines().find(|line| line.contains("response_time_ms.mean")).unwrap();
    let error: f64 = error.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
    assert!(error < 10.0, "{score}");
}

#[test]
fn the_readmes_walk_goes_with_files_made_here() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("fio")).unwrap();
    for (number, (rw, us)) in [("randread", 300.0), ("randwrite", 500.0)].into_iter().enumerate() {
        for bs in [4096, 65536] {
            let job = Job::full(rw, bs, 16, us + bs as f64 / 100.0).json(3);
            let file = dir.path().join(format!("fio/r{number}-{bs}.json"));
            fs::write(file, result(&[job], "vda", 3)).unwrap();
        }
    }
    // version, time in s, operation, size, block: a read every 20 ms, here and there
    let mut trace = "version,time,op,size,lbn\n".to_owned();
    for number in 0..3000_u64 {
        let (op, lbn) = (if number % 4 == 0 { "2a" } else { "28" }, number * 7919 % 4_000_000);
        writeln!(trace, "1,{},{op},8192,{}", number / 50, lbn * 8).unwrap();
    }
    fs::write(dir.path().join("cloudPhysicsIO.csv"), trace).unwrap();
    let printed = walk(dir.path());
    assert_eq!(
        printed["import auto cloudPhysicsIO.csv -o vm.trace"],
        "3000 requests (csv) in vm.trace\n"
    );
    let calibrated =
        &printed["calibrate disk --fio fio/*.json --capacity 200GiB -o devices/volume.toml"];
    assert!(calibrated.contains("4 of 4 runs reproduced"), "{calibrated}");
}
