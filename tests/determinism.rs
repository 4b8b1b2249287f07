//! The same scenario and seed give the same run, whoever looks on.

use crate::common;

use std::process::Child;

use common::*;

/// Tracking that costs the simulated cluster nothing.
const FREE: [&str; 2] = ["--set", "tracking.overhead=false"];

#[test]
fn a_run_twice_is_the_same_run() {
    let place = Place::with(SMALL);
    let (one, two) = (place.keep("one", &[]), place.keep("two", &[]));
    assert_eq!(timeless(truth_of(&one)), timeless(truth_of(&two)));
    let read = |name: &str| [&one, &two].map(|dir| std::fs::read(dir.join(name)).unwrap());
    let [first, second] = read("run.toml");
    assert_eq!(first, second);
    // row by row first, since that would say what differs
    let (first, second) = (dump(&store(&one)), dump(&store(&two)));
    assert!(first.len() > 1_000_000, "there are records: {} bytes of text", first.len());
    let differs = first.lines().zip(second.lines()).find(|(first, second)| first != second);
    assert_eq!(differs, None);
    assert_eq!(first.len(), second.len());
    let [first, second] = read("run.db");
    assert!(first == second, "the files are equal byte by byte");
}

#[test]
fn runs_side_by_side_are_the_same_run() {
    let place = Place::with(SMALL);
    let children: Vec<Child> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| foretell().args(place.keeping(name, &[])).spawn().unwrap())
        .collect();
    for child in children {
        assert_eq!(Done::from(child.wait_with_output().unwrap()).status, Some(0));
    }
    let alone = place.keep("alone", &[]);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(timeless(truth_of(&place.path(name))), timeless(truth_of(&alone)));
        let stores = [place.path(name), alone.clone()].map(|dir| std::fs::read(dir.join("run.db")));
        assert!(stores[0].as_ref().unwrap() == stores[1].as_ref().unwrap());
    }
}

#[test]
fn replicates_are_the_runs_of_their_seeds_whatever_the_threads() {
    let place = Place::with(SMALL);
    let replicates =
        |jobs: &str| run(place.arguments(&["--replicates", "4", "--jobs", jobs, "--json"])).stdout;
    let found = replicates("1");
    assert_eq!(found, replicates("3"));
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let seeds: Vec<u64> =
        found["seeds"].as_array().unwrap().iter().map(|seed| seed.as_u64().unwrap()).collect();
    assert_eq!(seeds.len(), 4);
    let runs: Vec<_> = seeds
        .iter()
        .map(|seed| truth(&succeed(place.arguments(&["--seed", &seed.to_string(), "--json"]))))
        .collect();
    for path in [
        "/workloads/stream/throughput_rps",
        "/workloads/update/response_time_ms/p99",
        "/workloads/update/write/response_time_ms/mean",
        "/hosts/brick0/disk0/utilization",
    ] {
        let values: Vec<f64> =
            runs.iter().map(|run| run.pointer(path).unwrap().as_f64().unwrap()).collect();
        let mean = values.iter().sum::<f64>() / 4.0;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        // the 97.5 % point of Student's t with three degrees of freedom
        let half_width = 3.182 * (squares / 3.0 / 4.0).sqrt();
        let figure = found.pointer(path).unwrap();
        let near = |key: &str, wanted: f64| {
            let is = figure[key].as_f64().unwrap();
            assert!((is - wanted).abs() <= 1e-9 * wanted.abs(), "{path} {key}: {is}, not {wanted}");
        };
        near("mean", mean);
        near("half_width", half_width);
        assert!(half_width > 0.0, "seeds draw different requests: {path}");
    }
    let text = run(place.arguments(&["--replicates", "2"])).stdout;
    assert!(text.starts_with("2 runs with different seeds") && text.contains(" ± "), "{text}");
    for wrong in [&["--replicates", "1"][..], &["--jobs", "2"], &["--replicates", "2", "-o", "out"]]
    {
        assert_eq!(run(place.arguments(wrong)).status, Some(2), "{wrong:?}");
    }
}

/// An open loop that keeps up completes exactly what arrives: 60 requests/s. Intervals of few seeds hold
/// that as often as they say, 95 % of the time; of 40, at most 5 may miss it (more by chance: 1.4 %).
#[test]
fn intervals_of_replicates_hold_a_known_rate() {
    let place = Place::with(SMALL);
    let quick = ["--set", "duration=500 ms", "--set", "workload.stream=none", "--no-records"];
    let missed = (0..40).filter(|seed| {
        let seed = seed.to_string();
        let more = ["--seed", &seed, "--replicates", "5", "--json"];
        let done = succeed(place.arguments(&[&quick[..], &more].concat()));
        let found: serde_json::Value = serde_json::from_str(&done).unwrap();
        let figure = &found["workloads"]["update"]["throughput_rps"];
        let number = |key: &str| figure[key].as_f64().unwrap();
        // two clients, 60 requests a second each
        (number("mean") - 120.0).abs() > number("half_width")
    });
    assert!(missed.count() <= 5);
}

#[test]
fn recording_for_nothing_changes_nothing() {
    let place = Place::with(SMALL);
    let recorded = timeless(truth_of(&place.keep("recorded", &FREE)));
    let unrecorded = |more: &[&str]| {
        timeless(truth(&succeed(place.arguments(&[&FREE[..], &["--json"], more].concat()))))
    };
    assert_eq!(unrecorded(&["--no-records"]), recorded);
    assert_eq!(unrecorded(&["--set", "record=none"]), recorded);
    assert_eq!(unrecorded(&["--set", "record=every 1/10 requests"]), recorded);
    assert_eq!(unrecorded(&["--set", "tracking.types=[\"disk_op\"]"]), recorded);
    // tracking that costs, by contrast, is seen by clients
    let costly = timeless(truth(&succeed(place.arguments(&["--json"]))));
    assert_ne!(costly, recorded);
    // and nothing recorded costs nothing, whatever recording would cost
    let none = timeless(truth(&succeed(place.arguments(&["--json", "--no-records"]))));
    assert_eq!(none, recorded);
}

#[test]
fn keeping_a_run_changes_nothing_in_it() {
    let place = Place::with(SMALL);
    let kept = timeless(truth_of(&place.keep("kept", &[])));
    let printed = succeed(place.arguments(&["--json"]));
    assert_eq!(timeless(truth(&printed)), kept);
    // and what is printed with `-o` is what is kept
    let printed = succeed(place.keeping("again", &["--json"]));
    assert_eq!(printed, std::fs::read_to_string(place.path("again").join("truth.json")).unwrap());
}

#[test]
fn another_seed_is_another_run() {
    let place = Place::with(SMALL);
    let seeded =
        |seed: &str| timeless(truth(&succeed(place.arguments(&["--json", "--seed", seed]))));
    let eight = seeded("8");
    assert_ne!(eight, seeded("9"));
    let set = succeed(place.arguments(&["--json", "--set", "seed=8"]));
    assert_eq!(eight, timeless(truth(&set)), "`--seed 8` is `--set seed=8`");
}

#[test]
fn the_scenario_that_is_kept_gives_the_run_that_was_kept() {
    let place = Place::with(SMALL);
    let changes = [
        "--seed",
        "11",
        "--set",
        "volume.coded.encoding=1-of-3",
        "--set",
        "node.brick.cache.policy=arc",
        "--set",
        "duration=500 ms",
    ];
    let first = place.keep("first", &changes);
    let again = place.path("again");
    let arguments = [first.join("run.toml"), "-o".into(), again.clone()];
    succeed([std::path::PathBuf::from("run")].iter().chain(&arguments));
    assert_eq!(timeless(truth_of(&first)), timeless(truth_of(&again)));
    // run.toml is a fixed point, and the records are the same too
    for name in ["run.toml", "run.db"] {
        let read = |dir: &std::path::Path| std::fs::read(dir.join(name)).unwrap();
        assert!(read(&first) == read(&again), "{name}");
    }
}

#[test]
fn a_trace_replayed_from_the_scenario_that_was_kept_is_the_same_run() {
    let place = Place::with("");
    let lines: Vec<String> = (0..200).map(|at| (at * 37 % 64).to_string()).collect();
    let lines = lines.join("\n") + "\n";
    std::fs::write(place.path("blocks.trace"), lines).unwrap();
    // the trace is given relative to where the command runs, and must be found from elsewhere
    let mut command = foretell();
    command.current_dir(place.path("")).args(["run", "blocks.trace", "-o", "kept/here"]);
    assert_eq!(Done::from(command.output().unwrap()).status, Some(0));
    let kept = place.path("kept/here");
    let scenario = kept.join("run.toml").display().to_string();
    let again = succeed(["run", &scenario, "--json"]);
    assert_eq!(timeless(truth(&again)), timeless(truth_of(&kept)));
}

/// The small scenario's truth, figure by figure, so that a change of results does not pass unseen.
/// If a change is intended, `UPDATE=1 cargo test --test program determinism` updates the file. Say in the
/// commit why results changed.
#[test]
fn golden_small_cluster() {
    let path = root().join("tests/golden/small.json");
    let place = Place::with(SMALL);
    let found = timeless(truth(&succeed(place.arguments(&["--json"]))));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap();
    for (number, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        let place = format!("tests/golden/small.json:{}", number + 1);
        assert_eq!(
            found, wanted,
            "{place}; `UPDATE=1 cargo test --test program determinism` accepts it"
        );
    }
    assert_eq!(found.len(), wanted.len());
}
