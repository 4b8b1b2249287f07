//! `foretell sweep`: the content of a data set depends on its sweep file alone.
#![allow(clippy::similar_names, reason = "the words of the domain")]

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{foretell, run, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// 3 × 2 × 2 × 2 runs of a few milliseconds each.
const SWEEP: &str = r#"
title      = "Small"
seed       = 3
replicates = 2
constraints = ["not (encoding == '1-of-3' and outstanding == 8)"]

[factor.encoding]
path   = "volume.data.encoding"
values = ["1-of-1", "1-of-3", "2-of-3"]

[factor.access]
path   = "workload.load.access"
values = ["4 KiB", "64 KiB"]

[factor.outstanding]
path   = "workload.load.outstanding"
values = [1, 8]

[split]
validation = "20%"
test       = "20%"

[output]
requests = "1/10"

[scenario]
warmup   = "50 ms"
duration = "400 ms"

[scenario.node.brick]
count = 3
cpu   = "pentium4-2.6"
cache = { size = "16 MiB" }
disk  = ["cheetah-15k"]

[scenario.client.app]
cpu = "xeon-p4-3.0"

[scenario.volume.data]
size  = "64 MiB"
nodes = "brick"

[scenario.workload.load]
volume = "data"
client = "app0"
kind   = "ssio"
reads  = "50%"
"#;

/// Points of `SWEEP`: 12, less the two that its condition excludes.
const POINTS: u64 = 10;
const RUNS: u64 = 2 * POINTS;

/// A sweep file in a directory of its own.
struct Place(TempDir);

impl Place {
    fn with(text: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.path("sweep.toml"), text).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn arguments(&self, output: &str, more: &[&str]) -> Vec<String> {
        let file = self.path("sweep.toml").display().to_string();
        let output = self.path(output).display().to_string();
        let fixed = ["sweep".to_owned(), file, "-o".to_owned(), output];
        fixed.into_iter().chain(more.iter().map(|&more| more.to_owned())).collect()
    }

    fn sweep(&self, output: &str, more: &[&str]) -> PathBuf {
        succeed(self.arguments(output, more));
        self.path(output)
    }

    fn fault(&self, output: &str, more: &[&str]) -> String {
        let done = run(self.arguments(output, more));
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        done.stderr
    }
}

fn content(directory: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(directory.join("content.json")).unwrap()).unwrap()
}

fn digest(directory: &Path) -> String {
    content(directory)["digest"].as_str().unwrap().to_owned()
}

/// The digest of all files, which may hold nothing but the same rows in the same order.
fn files(directory: &Path) -> Vec<String> {
    let content = content(directory);
    let files = content["files"].as_array().unwrap();
    files.iter().map(|file| format!("{} {}", file["path"], file["sha256"])).collect()
}

/// What `sweep missing` says; its status says whether there is anything.
fn missing(directory: &Path) -> Value {
    let directory = directory.to_str().unwrap();
    let done = run(["sweep", "missing", directory, "--json"]);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let status = i32::from(report["missing"].as_u64().unwrap() > 0);
    assert_eq!((done.status, done.stderr.as_str()), (Some(status), ""), "{report}");
    // for people, too
    let plain = run(["sweep", "missing", directory]);
    assert_eq!((plain.status, plain.stderr.as_str()), (Some(status), ""));
    assert!(plain.stdout.contains(" runs are missing\n"), "{}", plain.stdout);
    report
}

#[test]
fn the_content_depends_on_neither_jobs_nor_shards_nor_their_order() {
    let place = Place::with(SWEEP);
    let one = place.sweep("one", &["--jobs", "1"]);
    assert_eq!(content(&one)["runs"], RUNS);
    let two = place.sweep("two", &["--jobs", "2"]);
    assert_eq!(digest(&one), digest(&two));
    assert_eq!(files(&one), files(&two));

    // shards of one directory, in any order
    for shard in ["3/3", "1/3"] {
        place.sweep("shards", &["--shard", shard]);
    }
    assert_eq!(missing(&place.path("shards"))["missing"], RUNS / 3 + 1);
    let merge = ["sweep", "merge", &place.path("shards").display().to_string()].map(str::to_owned);
    let done = run(merge.clone());
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("7 of 20 runs are missing: 1, 4, 7, 10"), "{}", done.stderr);
    place.sweep("shards", &["--shard", "2/3"]);
    succeed(merge.clone());
    assert_eq!(files(&one), files(&place.path("shards")));
    assert_eq!(missing(&place.path("shards"))["missing"], 0);
    // again: it is whole, and a shard has nothing to do
    assert!(succeed(merge).contains(&digest(&one)));
    let done = succeed(place.arguments("shards", &["--shard", "2/3", "--resume"]));
    assert!(done.contains(&digest(&one)) && !place.path("shards/shards").exists(), "{done}");

    // shards in directories of their own; one of them twice, with the same journal
    for (directory, shard) in [("a", "1/2"), ("b", "2/2"), ("b2", "2/2")] {
        place.sweep(directory, &["--shard", shard, "--resume"]);
    }
    let journal =
        |name| std::fs::read(place.path(name).join("shards/2-of-2/runs.journal")).unwrap();
    let sorted = |mut bytes: Vec<u8>| {
        bytes.sort_unstable();
        bytes
    };
    assert_eq!(sorted(journal("b")), sorted(journal("b2")));
    let join = |names: &[&str], output: &str| {
        let directories = names.iter().map(|name| place.path(name).display().to_string());
        let output = place.path(output).display().to_string();
        let end = ["-o".to_owned(), output];
        run(["sweep", "merge"].map(str::to_owned).into_iter().chain(directories).chain(end))
    };
    let done = join(&["a", "b", "b2"], "joined");
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("run 1 occurs twice: in"), "{}", done.stderr);
    // the data set has one copy of the sweep file
    let copy = place.path("a/sweep.toml");
    let text = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, format!("{text}\n# another\n")).unwrap();
    let done = join(&["b", "a"], "joined");
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("a/sweep.toml` differs from `"), "{}", done.stderr);
    assert!(!place.path("joined").exists());
    std::fs::write(&copy, text).unwrap();
    let done = join(&["b", "a"], "joined");
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(files(&one), files(&place.path("joined")));
}

#[test]
fn a_sweep_that_was_killed_goes_on_and_ends_the_same() {
    // long enough to be killed five times, at moments that differ from run to run of this test
    let place = Place::with(&SWEEP.replace("replicates = 2", "replicates = 100"));
    let whole = place.sweep("whole", &[]);
    let arguments = place.arguments("killed", &["--resume", "--jobs", "1"]);
    for kill in 0..5 {
        let mut child = foretell().args(&arguments).spawn().unwrap();
        #[expect(clippy::disallowed_methods, reason = "it is to be killed at some moment")]
        std::thread::sleep(Duration::from_millis(100 + 37 * kill));
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let left = missing(&place.path("killed"))["missing"].as_u64().unwrap();
    assert!(0 < left && left < 100 * POINTS, "{left}");
    let done = succeed(place.arguments("killed", &["--resume"]));
    assert!(done.contains(&digest(&whole)), "{done}");
    assert_eq!(files(&whole), files(&place.path("killed")));
    // what is whole is left alone
    assert!(succeed(place.arguments("killed", &["--resume"])).contains(&digest(&whole)));
}

/// Names of unfinished files below a directory.
fn unfinished(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(unfinished(&path));
        } else if path.extension().is_some_and(|end| end == "partial") {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_sweep_that_goes_on_removes_what_a_killed_one_has_not_finished() {
    let place = Place::with(SWEEP);
    let directory = place.sweep("data", &["--shard", "1/2"]);
    let mine = directory.join("mine.partial");
    for name in [".sweep.json.123-0.partial", "shards/1-of-2/.runs.journal.9-1.partial"] {
        std::fs::write(directory.join(name), "half").unwrap();
    }
    std::fs::write(&mine, "mine").unwrap();
    // other shards may be writing into the directory that they share
    place.sweep("data", &["--shard", "1/2", "--resume"]);
    assert_eq!(unfinished(&directory).len(), 2, "{:?}", unfinished(&directory));
    place.sweep("data", &["--resume"]);
    assert_eq!(unfinished(&directory), [mine]);
}

#[test]
fn a_sweep_ends_with_the_process_that_started_it() {
    let place = Place::with(&SWEEP.replace("replicates = 2", "replicates = 4000"));
    let arguments = place.arguments("data", &["--shard", "1/2", "--resume", "--with-parent"]);
    let mut child =
        foretell().args(&arguments).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let pipe = child.stdin.take();
    #[expect(clippy::disallowed_methods, reason = "the sweep is to have begun")]
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it goes on while the pipe is open");
    // another process waits for the shard, if it may
    let busy = run(place.arguments("data", &["--shard", "1/2", "--resume"]));
    assert!([Some(1), Some(2)].contains(&busy.status), "{busy:?}");
    let waiting = place.arguments("data", &["--shard", "1/2", "--resume", "--wait", "60"]);
    let mut waiting = foretell().args(&waiting).spawn().unwrap();
    #[expect(clippy::disallowed_methods, reason = "it is to wait")]
    std::thread::sleep(Duration::from_millis(300));
    assert!(waiting.try_wait().unwrap().is_none());
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    #[expect(clippy::disallowed_methods, reason = "it is to go on")]
    std::thread::sleep(Duration::from_millis(500));
    assert!(waiting.try_wait().unwrap().is_none(), "it has the shard now");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
}

#[test]
fn few_design_points_are_not_split_unless_that_is_asked_for() {
    let split = "[split]\nvalidation = \"20%\"\ntest       = \"20%\"\n";
    assert!(SWEEP.contains(split));
    let place = Place::with(&SWEEP.replace(split, ""));
    let done = run(place.arguments("data", &[]));
    assert!(
        done.stderr.contains("all 10 design points are in the split `train`"),
        "{}",
        done.stderr
    );
    let names = std::fs::read_dir(place.path("data/data")).unwrap();
    let names: Vec<_> = names.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["train-00000-of-00001.parquet"]);
    let plan: Value = serde_json::from_str(&succeed([
        "sweep",
        place.path("sweep.toml").to_str().unwrap(),
        "--check",
        "--json",
    ]))
    .unwrap();
    assert_eq!(plan["notes"].as_array().unwrap().len(), 1, "{plan}");
    // a single file of the data set says which columns are features
    let file = place.path("data/data/train-00000-of-00001.parquet");
    let of = |data: &Path| {
        let data = data.to_str().unwrap();
        let arguments = ["learn", "evaluate", "--data", data, "--target", "load_throughput_rps"];
        let done = run(arguments.into_iter().chain(["--model", "tree", "--json"]));
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        (serde_json::from_str::<Value>(&done.stdout).unwrap(), done.stderr)
    };
    let ((whole, _), (bare, note)) = (of(&place.path("data")), of(&file));
    assert_eq!((&whole["models"], &whole["groups"]), (&bare["models"], &bare["groups"]));
    assert!(note.contains("its factors are the features"), "{note}");
    let text = place.sweep("text", &["--csv"]);
    let (bare, note) = of(&text.join("data/train-00000-of-00001.csv"));
    assert_eq!(whole["models"], bare["models"]);
    assert!(note.contains("its factors are the features"), "{note}");
}

#[test]
fn a_directory_belongs_to_one_sweep() {
    let place = Place::with(SWEEP);
    let directory = place.sweep("out", &[]);
    let before = files(&directory);
    assert!(place.fault("out", &[]).contains("holds this sweep already; `--resume` continues it"));
    std::fs::write(place.path("sweep.toml"), SWEEP.replace("seed       = 3", "seed = 4")).unwrap();
    for more in [&["--resume"][..], &[], &["--shard", "1/2"]] {
        assert!(place.fault("out", more).contains("holds another sweep (`Small`, by version"));
    }
    assert_eq!(before, files(&directory));
    // what the data set keeps makes it again, also from a scenario in a file of its own
    let (sweep, scenario) = SWEEP.split_once("[scenario]\n").unwrap();
    let sweep = format!("scenario = \"base.toml\"\nset = [\"duration=300 ms\"]\n{sweep}");
    std::fs::write(place.path("base.toml"), scenario.replace("[scenario.", "[")).unwrap();
    std::fs::write(place.path("sweep.toml"), sweep).unwrap();
    let named = place.sweep("named", &[]);
    for (directory, again) in [(&directory, "again"), (&named, "named-again")] {
        let again = place.path(again);
        let sweep = directory.join("sweep.toml");
        succeed(["sweep", sweep.to_str().unwrap(), "-o", again.to_str().unwrap()]);
        assert_eq!(files(directory), files(&again));
    }
    assert_ne!(before, files(&named), "it is shorter");
}

#[test]
fn a_run_that_fails_is_a_row_and_the_rest_goes_on() {
    // three requests are done long before the warm-up is
    let text = SWEEP
        .replace("duration = \"400 ms\"", "")
        .replace("kind   = \"ssio\"", "kind = \"ssio\"\nrequests = 3")
        .replace("workload.load.outstanding", "workload.load.requests")
        .replace("values = [1, 8]", "values = [3, 500]");
    let place = Place::with(&text.replace("outstanding == 8", "outstanding == 3"));
    let directory = place.sweep("out", &["--csv"]);
    let content = content(&directory);
    let failures = content["failures"].as_u64().unwrap();
    assert_eq!((content["runs"].as_u64().unwrap(), failures), (RUNS - 8, 8));
    let table = std::fs::read_dir(directory.join("failures")).unwrap();
    let text: String =
        table.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(text.contains("nothing was measured: all 3 requests were done by"), "{text}");
}

#[test]
fn a_sweep_is_checked_before_its_first_run() {
    let check = |text: &str, more: &[&str]| {
        let place = Place::with(text);
        run(place.arguments("out", &[&["--check"], more].concat()))
    };
    let done = check(SWEEP, &["--jobs", "2"]);
    assert!(done.stdout.starts_with("20 runs: 10 design points, each 2 times; about "));
    assert!(done.stdout.contains(" with 2 at once, "), "{}", done.stdout);
    let done = check(SWEEP, &["--shard", "3/3"]);
    assert!(done.stdout.starts_with("6 runs (shard 3 of 3): 10 design points"), "{}", done.stdout);

    // 4-of-6 does not fit on three nodes
    let wrong = SWEEP.replace("\"2-of-3\"]", "\"4-of-6\"]");
    let done = check(&wrong, &[]);
    assert_eq!(done.status, Some(2));
    let named = "4 of 10 design points are not valid scenarios; a condition in `constraints` can exclude \
                 them, or `invalid = \"drop\"` leaves them out\n  │   point 6 (encoding=4-of-6, \
                 access_bytes=4096, outstanding=1): ";
    assert!(done.stderr.contains(named), "{}", done.stderr);
    let dropped = wrong.replace("seed       = 3", "seed = 3\ninvalid = \"drop\"");
    let done = check(&dropped, &[]);
    assert!(done.stdout.contains("10 design points, each 2 times, of which 4 are left out"));
    let place = Place::with(&dropped);
    let content = content(&place.sweep("out", &[]));
    assert_eq!((&content["runs"], &content["left_out"]), (&Value::from(12), &Value::from(8)));
}

#[test]
fn faults_of_a_sweep_file_have_places_and_remedies() {
    let fault = |from: &str, to: &str| {
        assert!(SWEEP.contains(from), "{from}");
        Place::with(&SWEEP.replace(from, to)).fault("out", &[])
    };
    let cases = [
        ("replicates = 2", "replicate = 2", "no key `replicate`"),
        ("'1-of-3' and", "'1-of-3' nd", "`)` is missing"),
        ("(encoding ==", "(encodng ==", "there is no factor `encodng`"),
        ("volume.data.encoding", "volume.dta.encoding", "did you mean `volume.data`?"),
        ("[1, 8]", "[1, 1]", "`1` stands there twice"),
        ("replicates = 2", "replicates = 2\ndesign = \"sobl\"", "did you mean `sobol`?"),
        ("replicates = 2", "replicates = 2\ndesign = \"sobol\"", "needs a number of `points`"),
        ("values = [1, 8]", "range = [1, 8]", "in a full factorial design it needs a `count`"),
        ("requests = \"1/10\"", "requests = \"10%\"", "is written as \"1/100\""),
        ("path   = \"workload.load.outstanding\"", "path = \"record\"", "cannot be a factor"),
        ("values = [1, 8]", "range = [1, 2]\ncount = 5", "of these 5 values, 2 differ"),
    ];
    for (from, to, wanted) in cases {
        let found = fault(from, to);
        assert!(found.contains(wanted), "{to}: {found}");
    }
    let place = Place::with(SWEEP);
    for shard in ["0/3", "4/3", "3", "a/b"] {
        assert!(place.fault("out", &["--shard", shard]).contains("written as K/N"), "{shard}");
    }
}

#[test]
fn a_setting_varies_by_one_factor() {
    let fault = |factor: &str| {
        let text = SWEEP.replace("[split]", &format!("[factor.second]\n{factor}\n\n[split]"));
        assert_ne!(text, SWEEP);
        Place::with(&text).fault("out", &[])
    };
    let same = fault("path = \"volume.data.encoding\"\nvalues = [\"1-of-2\", \"2-of-3\"]");
    assert!(
        same.contains("the factors `encoding` and `second` both set `volume.data.encoding`"),
        "{same}"
    );
    let whole = fault("levels = { a = [\"workload.load={}\"], b = [\"seed=2\"] }");
    let wanted = "factor `second` sets `workload.load`, which contains `workload.load.";
    assert!(whole.contains(wanted), "{whole}");
}

#[test]
fn every_design_makes_a_data_set() {
    for (design, points) in [("latin-hypercube", 7), ("sobol", 8), ("random", 9)] {
        let text = SWEEP
            .replace(
                "seed       = 3",
                &format!("seed = 3\ndesign = \"{design}\"\npoints = {points}"),
            )
            .replace("values = [1, 8]", "range = [1, 8]")
            .replace(
                "values = [\"4 KiB\", \"64 KiB\"]",
                "range = [\"4 KiB\", \"64 KiB\"]\nscale = \"log\"\nstep = \"4 KiB\"",
            )
            .replace("outstanding == 8", "outstanding > 6");
        let place = Place::with(&text);
        let content = content(&place.sweep("out", &[]));
        let runs = content["runs"].as_u64().unwrap();
        // of a Latin hypercube the conditions leave some points
        let fits = if design == "latin-hypercube" { runs <= 14 } else { runs == 2 * points };
        assert!(fits && runs > 6, "{design}: {runs}");
    }
}

#[test]
fn hedged_reads_are_a_column_where_some_are_hedged() {
    let text = SWEEP
        .replace("\"1-of-1\", ", "")
        .replace(
            "[factor.access]\npath   = \"workload.load.access\"",
            "[factor.hedge]\npath = \"volume.data.hedge\"",
        )
        .replace("\"4 KiB\", \"64 KiB\"", "\"1 ms\", \"p50\"");
    let place = Place::with(&text);
    let card = std::fs::read_to_string(place.sweep("out", &[]).join("README.md")).unwrap();
    assert!(card.contains("`load_hedges`"), "{card}");
    let without = Place::with(SWEEP);
    let card = std::fs::read_to_string(without.sweep("out", &[]).join("README.md")).unwrap();
    assert!(!card.contains("load_hedges"));
}

#[test]
fn a_full_disk_loses_nothing_that_was_done() {
    let place = Place::with(&SWEEP.replace("replicates = 2", "replicates = 8"));
    let whole = place.sweep("whole", &[]);
    // the journal may grow to 20 KiB at most
    let arguments = place.arguments("out", &["--resume"]);
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_foretell"),
    ]);
    let done = shell.args(&arguments).output().unwrap();
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write `"), "{message}");
    let left = missing(&place.path("out"))["missing"].as_u64().unwrap();
    assert!(0 < left && left < 8 * POINTS, "{left}");
    assert!(succeed(&arguments).contains(&digest(&whole)));
}

#[test]
fn models_learn_from_a_data_set() {
    let place = Place::with(&SWEEP.replace("replicates = 2", "replicates = 4"));
    let directory = place.sweep("out", &[]).display().to_string();
    let model = place.path("model.json").display().to_string();
    let target = ["--target", "load_throughput_rps"];
    let train = [
        "learn",
        "train",
        "--data",
        &directory,
        "--model",
        "cart:minsplit=4",
        "-o",
        &model,
        "--split",
        "all",
    ];
    succeed([&train[..], &target].concat());
    let text =
        succeed(["learn", "predict", &model, "--data", &directory, "--split", "all", "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["predictions"].as_array().unwrap().len() as u64, 4 * POINTS);
    let evaluate = [
        "learn",
        "evaluate",
        "--data",
        &directory,
        "--model",
        "lrm",
        "--json",
        "--split",
        "all",
        "--fold-count",
        "5",
    ];
    let document: Value =
        serde_json::from_str(&succeed([&evaluate[..], &target].concat())).unwrap();
    assert_eq!((&document["rows"], &document["folds"]), (&Value::from(40), &Value::from(5)));
    let done = run(["learn", "train", "--data", &directory, "--target", "load_throughput"]);
    assert_eq!(done.status, Some(2));
}

#[test]
fn the_store_of_a_run_is_exported() {
    let place = common::Place::with(common::SMALL);
    let run_directory = place.keep("run", &[]).display().to_string();
    let out = place.path("tables");
    let arguments = ["export", &run_directory, "--csv", "-o", out.to_str().unwrap()];
    let printed = succeed(arguments);
    assert!(printed.contains("request.csv: "), "{printed}");
    let table = std::fs::read_to_string(out.join("request.csv")).unwrap();
    assert!(table.starts_with("ts_ns,breadcrumb,pid,tid,host,workload,client,op,"), "{table:.200}");
    let facts = std::fs::read_to_string(out.join("hosts.csv")).unwrap();
    assert!(facts.starts_with("host,name,kind\n0,brick0,node\n"), "{facts}");
}

#[test]
fn metrics_and_records_of_runs_are_tables_too() {
    let text = SWEEP
        .replace("[output]\n", "[output]\nrecords = [\"disk_op\"]\n")
        .replace("duration = \"400 ms\"", "duration = \"7 s\"")
        .replace("replicates = 2\n", "")
        + "\n[scenario.tracking]\nmetrics = true\n";
    let place = Place::with(&text);
    let data = place.sweep("data", &["--csv"]);
    let table = |name: &str| -> Vec<String> {
        let there = std::fs::read_dir(data.join(name)).unwrap();
        let text = |file: std::fs::DirEntry| std::fs::read_to_string(file.path()).unwrap();
        there
            .flat_map(|file| text(file.unwrap()).lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    let metrics = table("metrics");
    let names: Vec<&str> = metrics[0].split(',').collect();
    assert!(names.contains(&"cpu_usr_percent") && names.contains(&"host"), "{}", metrics[0]);
    // each second of four hosts, as their own clocks have them; a heading in each split
    let (rows, hosts) = (metrics.len() - 3, 4 * POINTS as usize);
    assert!((6 * hosts..=8 * hosts).contains(&rows), "{rows}");
    assert!(table("client_metrics").len() > POINTS as usize);
    let records = table("records_disk_op");
    assert!(records[0].split(',').any(|name| name == "lbn"), "{}", records[0]);
    assert!(records.len() > 100 * POINTS as usize, "{}", records.len());
    // each operation is one of a host that has a name, and of a request or of the host itself
    let cells = |rows: &[String], columns: [&str; 2]| -> Vec<(String, String)> {
        let names: Vec<&str> = rows[0].split(',').collect();
        let places = columns.map(|name| names.iter().position(|known| *known == name).unwrap());
        let rows = rows.iter().filter(|row| !row.starts_with("run_id"));
        rows.map(|row| places.map(|at| row.split(',').nth(at).unwrap().to_owned()).into()).collect()
    };
    let named = table("hosts");
    assert_eq!(named[0], "run_id,host,name,group,kind");
    assert!(named.contains(&"0,0,brick0,brick,node".to_owned()), "{named:?}");
    assert!(named.contains(&"0,3,app0,app,client".to_owned()), "{named:?}");
    let named = cells(&named, ["run_id", "host"]);
    assert_eq!(named.len(), hosts);
    assert!(cells(&records, ["run_id", "host"]).iter().all(|host| named.contains(host)));
    let requests = table("requests");
    let issued: BTreeSet<_> = cells(&requests, ["run_id", "breadcrumb"]).into_iter().collect();
    let of_requests = cells(&records, ["run_id", "breadcrumb"]);
    // hosts' own operations have breadcrumb 0
    let (own, joined): (Vec<_>, Vec<_>) = of_requests.iter().partition(|(_, number)| number == "0");
    assert!(joined.iter().all(|of| issued.contains(*of)), "each belongs to a row of `requests`");
    assert!(joined.len() > 50 * POINTS as usize, "{} {}", joined.len(), own.len());
    // runs do not sample the same requests
    let numbers = |run: &str| -> BTreeSet<String> {
        issued.iter().filter(|of| of.0 == run).map(|of| of.1.clone()).collect()
    };
    let (first, second) = (numbers("0"), numbers("1"));
    assert!(first.intersection(&second).count() * 2 < first.len(), "{first:?} {second:?}");
    let volumes = table("volumes");
    assert_eq!(volumes[0], "run_id,volume,name");
    assert!(volumes.contains(&"0,0,data".to_owned()), "{volumes:?}");
    assert_eq!(table("workloads")[0], "run_id,workload,name");
}

#[test]
fn a_card_says_where_a_grid_tells_nothing() {
    let card = |text: &str| {
        let place = Place::with(text);
        std::fs::read_to_string(place.sweep("data", &[]).join("README.md")).unwrap()
    };
    let grid = card(SWEEP);
    assert!(
        grid.contains(
            "Of `access_bytes` the design takes 2 values, of `outstanding` 2, with room between"
        ),
        "{grid}"
    );
    let free = SWEEP
        .replace(
            "values = [\"4 KiB\", \"64 KiB\"]",
            "range = [\"4 KiB\", \"64 KiB\"]\nstep = \"4 KiB\"",
        )
        .replace("values = [1, 8]", "range = [1, 8]")
        .replace("replicates = 2", "design = \"sobol\"\npoints = 16");
    assert!(!card(&free).contains("room between"));
}

#[test]
fn sweeps_that_come_with_the_program_are_right() {
    for file in std::fs::read_dir(common::root().join("scenarios/sweeps")).unwrap() {
        let file = file.unwrap().path();
        let printed = succeed(["sweep", file.to_str().unwrap(), "--check", "--shard", "1/50"]);
        assert!(printed.contains(" runs (shard 1 of 50): "), "{}: {printed}", file.display());
    }
}

#[test]
fn an_event_can_be_a_level() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = dir.path().join("sweep.toml");
    let text = r#"
title    = "With and without a failure"
seed     = 1
scenario = "first-look"
set      = ["warmup=500 ms", "duration=2 s"]

[factor.failure.levels]
none = []
disk = ['event.e={ at = "500 ms", what = "fail", host = "brick1", for = "500 ms" }']
"#;
    std::fs::write(&sweep, text).unwrap();
    let (sweep, set) = (sweep.display().to_string(), dir.path().join("set"));
    let done = run(["sweep", &sweep, "--csv", "-o", set.to_str().unwrap()]);
    assert_eq!(
        (done.status, content(&set)["failures"].as_u64()),
        (Some(0), Some(0)),
        "{}",
        done.stderr
    );
    let file = std::fs::read_dir(set.join("data")).unwrap().next().unwrap().unwrap().path();
    let rows = std::fs::read_to_string(file).unwrap();
    let header = rows.lines().next().unwrap();
    assert!(header.contains("degraded"), "{header}");
    assert_eq!(rows.lines().count(), 3, "{rows}");
}
