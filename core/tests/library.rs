//! The library as programs use it.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use foretell_core::replay_cache::{CacheReplay, CacheSize, Objects};
use foretell_core::{
    Asked, Change, Error, Model, Run, Scenario, Sweep, TRUTH_FILE, record, remember, replay_cache,
    run, to_json, unwatched,
};
use serde_json::Value;

fn short() -> Scenario {
    let mut scenario = Scenario::load("first-look").unwrap();
    scenario.set("warmup", "500 ms").unwrap();
    scenario.set("duration", "2 s").unwrap();
    scenario
}

/// A document without what depends on the machine.
fn comparable(text: &str) -> Value {
    let mut document: Value = serde_json::from_str(text).unwrap();
    document.as_object_mut().unwrap().remove("wall_seconds");
    document
}

#[test]
fn a_run_gives_the_same_with_and_without_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = run(&short(), unwatched).unwrap();
    let kept = record(&short(), directory.path(), unwatched).unwrap();
    let document = comparable(&to_json(&outcome));
    assert_eq!(document, comparable(&to_json(&kept)));
    let file = std::fs::read_to_string(directory.path().join(TRUTH_FILE)).unwrap();
    assert_eq!(document, comparable(&file));
    assert_eq!(document["schema_version"], 1);
    assert!(document["capacity"]["volumes"]["mail"]["overhead"].as_f64().unwrap() > 1.0);
    // a run that fails leaves the earlier one
    let store = || std::fs::read(directory.path().join("run.db")).unwrap();
    let before = store();
    let mut endless = short();
    endless.set("duration", "1000 h").unwrap();
    record(&endless, directory.path(), |_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(store(), before);
    Run::open(directory.path()).unwrap();
    // a run replaces a run
    let mut other = short();
    other.set("seed", "99").unwrap();
    record(&other, directory.path(), unwatched).unwrap();
    assert_ne!(store(), before);
    // and nothing else
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("thesis.tex"), "mine").unwrap();
    let refused = record(&short(), other.path(), unwatched).unwrap_err();
    assert!(matches!(refused, Error::Files(_)), "{refused}");
    assert!(other.path().join("thesis.tex").is_file());
}

#[test]
fn records_in_memory_say_what_those_in_a_file_say() {
    let directory = tempfile::tempdir().unwrap();
    let kept = record(&short(), directory.path(), unwatched).unwrap();
    let (outcome, records) = remember(&short(), |_| false, unwatched).unwrap();
    assert_eq!(comparable(&to_json(&outcome)), comparable(&to_json(&kept)));
    let (there, here) =
        (Run::open(directory.path()).unwrap(), Run::in_memory(records, &short()).unwrap());
    let changes: Vec<Change> = vec!["volume.mail.encoding=3-of-5".parse().unwrap()];
    let answers = [&there, &here].map(|run| to_json(&run.answered(&changes, Asked::Auto).unwrap()));
    assert_eq!(answers[0], answers[1]);
    // what is scored is the scenario that was run
    let score = |run: &Run| run.score(&changes, Model::Replay, unwatched).unwrap();
    assert_eq!(to_json(&score(&there)), to_json(&score(&here)));
}

#[test]
fn records_are_asked_as_often_as_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = record(&short(), directory.path(), unwatched).unwrap();
    let opened = Run::open(directory.path()).unwrap();
    let itself = opened.ask(&[], Model::Replay).unwrap();
    let measured = outcome.truth.workloads["mail"].throughput_rps;
    let predicted = itself.workloads["mail"].throughput_rps;
    assert!((predicted / measured - 1.0).abs() < 0.05, "{predicted} {measured}");
    let change: Change = "volume.mail.encoding=1-of-2".parse().unwrap();
    let first = opened.ask(std::slice::from_ref(&change), Model::Replay).unwrap();
    let again = opened.ask(std::slice::from_ref(&change), Model::Replay).unwrap();
    assert_eq!(to_json(&first), to_json(&again));
    assert!(!first.workloads["mail"].expected_error.is_empty());
    let scored = opened.score(&[change], Model::Replay, unwatched).unwrap();
    let throughput = scored.iter().find(|found| found.metric == "throughput_rps").unwrap();
    assert!(throughput.error < 0.1, "{throughput:?}");
    // what records say nothing of is refused by name
    let refused = opened.ask(&["seed=7".parse().unwrap()], Model::Replay).unwrap_err();
    assert!(
        matches!(refused, Error::WhatIf(_)) && refused.to_string().contains("seed"),
        "{refused}"
    );
}

#[test]
fn errors_say_what_is_wrong() {
    let unknown = Scenario::load("first-lok").unwrap_err().to_string();
    assert!(unknown.contains("there is no scenario `first-lok`"), "{unknown}");
    let wrong = short().set("volume.mail.encodin", "1-of-2").unwrap_err();
    assert!(matches!(wrong, Error::Scenario(_)));
    let directory = tempfile::tempdir().unwrap();
    let none = Run::open(directory.path()).unwrap_err();
    assert!(matches!(none, Error::NotARun(_)), "{none}");
    let mut calls = 0;
    let ended = run(&Scenario::load("first-look").unwrap(), |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert!(matches!(ended.unwrap_err(), Error::Run(_)));
    assert_eq!(calls, 1);
}

#[test]
fn caches_follow_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.txt");
    let blocks = (0..4_000).map(|number| format!("{}\n", number % 100));
    std::fs::write(&trace, blocks.collect::<String>()).unwrap();
    let replay = CacheReplay { trace, ..CacheReplay::default() };
    let curve = replay_cache(&replay, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((curve.requests(), curve.different_objects()), ([4_000, 0], Some(100)));
    let (size, all) = curve.curve().pop().unwrap();
    assert_eq!((size, all.ratio()), (100, Some(0.975)));
    // LRU hits nothing of a loop that is larger than it
    let sizes = vec![CacheSize::Count(99)];
    let small = CacheReplay { sizes, policies: vec!["lru".parse().unwrap()], ..replay.clone() };
    let report = replay_cache(&small, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.rows()[0].outcome.ratio(), Some(0.0));
    let ended = replay_cache(&replay, |_| ControlFlow::Break(()));
    assert!(matches!(ended, Err(Error::Interrupted { .. })));
    let by_size = CacheReplay { objects: Objects::BySize, ..replay };
    let refused = replay_cache(&by_size, |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::Invalid(_))));
}

/// An example, which is built beside the tests of a whole crate.
fn example(name: &str) -> Option<PathBuf> {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples");
    path.push(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {} is not built; `cargo test -p foretell-core` builds it", path.display());
    None
}

/// A sweep of four short runs.
fn small_sweep(directory: &Path) -> PathBuf {
    let file = directory.join("sweep.toml");
    let text = r#"
        title       = "Encodings"
        description = "A few encodings"
        license     = "cc0-1.0"
        seed        = 7
        design      = "full"
        replicates  = 2
        scenario    = "base.toml"

        [factor.encoding]
        description = "how blocks are spread"
        path        = "volume.mail.encoding"
        values      = ["1-of-2", "lrc(2,2,1)"]
    "#;
    std::fs::write(&file, text).unwrap();
    std::fs::write(directory.join("base.toml"), short().resolved().unwrap()).unwrap();
    file
}

#[test]
fn a_sweep_gives_the_same_with_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let sweep = Sweep::load(small_sweep(directory.path())).unwrap();
    assert_eq!(sweep.runs().count(), 4);
    let all = |threads: usize| {
        let mut found = Vec::new();
        let done = sweep.perform(NonZeroUsize::new(threads).unwrap(), |swept, result| {
            found.push((to_json(swept), comparable(&to_json(&result.unwrap()))));
            ControlFlow::Continue(())
        });
        assert_eq!(done.unwrap(), 4);
        found
    };
    let found = all(1);
    assert_eq!(found, all(3));
    assert!(found[0].0.contains(r#""encoding": "1-of-2""#), "{}", found[0].0);
    let ended = sweep.perform(NonZeroUsize::MIN, |_, _| ControlFlow::Break(()));
    assert!(matches!(ended, Err(Error::Interrupted { .. })));
    assert!(matches!(Sweep::load("nothing.toml"), Err(Error::Scenario(_))));
}

#[test]
fn examples_do_their_work() {
    let directory = tempfile::tempdir().unwrap();
    let sweep = small_sweep(directory.path());
    for (name, expected) in [
        ("sweep", "requests/s: encoding="),
        ("run", "3-of-5: "),
        ("ask", "mail throughput_rps: off by "),
        ("watch", "ended after "),
        ("replay_cache", "s3-fifo: 4"),
        ("estimate", "70 % reads: 63158 operations/s"),
    ] {
        let Some(path) = example(name) else { continue };
        let output = Command::new(&path).arg(&sweep).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(expected), "{name}: {text}");
    }
}
