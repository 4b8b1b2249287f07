//! Whatever is given as `-o`, users lose no file that `foretell` did not make, and nothing half-written
//! is left.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "another process is waited for")]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::unused_self,
    clippy::similar_names,
    reason = "names of our own files"
)]

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use common::{Done, foretell, run};
use foretell_ati::rusqlite::Connection;
use tempfile::TempDir;

/// The list of our files in a directory of ours.
const MANIFEST: &str = ".foretell.json";

const SCENARIO: &str = r#"
warmup   = "20 ms"
duration = "100 ms"

[node.brick]
count = 2
cpu   = "pentium4-2.6"
cache = { size = "64 MiB" }
disk  = ["cheetah-15k"]

[client.app]
cpu = "xeon-p4-3.0"

[volume.data]
size  = "64 MiB"
nodes = "brick"

[workload.load]
volume      = "data"
client      = "app0"
kind        = "ssio"
reads       = "50%"
outstanding = 2
"#;

/// Four runs of some milliseconds each.
const SWEEP: &str = r#"
title      = "Small"
seed       = 3
replicates = 2
scenario   = "scenario.toml"

[factor.outstanding]
path   = "workload.load.outstanding"
values = [1, 8]

[output]
requests = "1/10"
"#;

const TABLE: &str = "a,b,y\n1,2,2\n2,1,3\n3,5,5\n4,1,6\n5,2,7\n6,0,9\n";

/// A directory of the user's with a scenario, a sweep of it and a table; commands run in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for (name, text) in
            [("scenario.toml", SCENARIO), ("sweep.toml", SWEEP), ("table.csv", TABLE)]
        {
            place.write(name, text);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = foretell();
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    fn done(&self, line: &str) -> Done {
        self.command(line).output().unwrap().into()
    }

    fn succeed(&self, line: &str) -> String {
        let done = self.done(line);
        assert_eq!(done.status, Some(0), "{line}: {}", done.stderr);
        done.stdout
    }

    /// The command ends with status 2, says why, and changes nothing at all.
    fn refused(&self, line: &str, why: &str) {
        let before = snapshot(self.0.path());
        let done = self.done(line);
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{line}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{line}: {}\nlacks\n{why}", done.stderr);
        assert_eq!(snapshot(self.0.path()), before, "{line}");
    }

    fn model(&self, output: &str) -> String {
        format!("learn train --data table.csv --target y --model lrm -o {output}")
    }
}

/// All that is below a directory: what kind it is and what it holds.
fn snapshot(path: &Path) -> BTreeMap<PathBuf, String> {
    fn walk(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let kind = about.file_type();
            let content = if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                walk(&path, found);
                "directory".to_owned()
            } else if kind.is_file() {
                // a run's store may be large: its checksum tells as well what it holds
                let sum = crc32fast::hash(&fs::read(&path).unwrap());
                format!("{} {} bytes {sum:08x}", about.ino(), about.len())
            } else {
                format!("{kind:?}")
            };
            found.insert(path, content);
        }
    }
    let mut found = BTreeMap::new();
    walk(path, &mut found);
    found
}

/// Names of all files and directories below one.
fn tree(path: &Path) -> Vec<String> {
    fn walk(path: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                walk(&path, found);
            }
            found.push(path);
        }
    }
    let mut found = Vec::new();
    walk(path, &mut found);
    found.sort();
    let name = |found: &PathBuf| found.strip_prefix(path).unwrap().display().to_string();
    found.iter().map(name).collect()
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits until something is so.
fn until(child: &mut Child, what: &str, so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if so() {
            return;
        }
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it ended before {what}: {status}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within a minute: {what}");
}

const NOT_OURS: &str = "is not empty, and nothing in it says that foretell made it";

#[test]
fn a_directory_of_the_users_is_refused_by_every_command() {
    let place = Place::new();
    place.succeed("run scenario.toml --set record=all -o run");
    place.succeed("sweep sweep.toml --shard 1/2 -o half");
    place.succeed("sweep sweep.toml --shard 2/2 -o other");
    place.write("blocks.trace", "1\n2\n3\n1\n");
    for (name, text) in [
        ("mine/data/measurements.csv", "a lifetime's work"),
        ("mine/README.md", "of my own"),
        ("mine/shards/1-of-1/notes", "mine"),
        ("mine/workloads/lib.rs", "mine"),
        ("mine/runs/first/notes", "mine"),
        ("mine/archive/a.csv", "mine"),
    ] {
        place.write(name, text);
    }
    for output in ["mine", "."] {
        for force in ["", "--force"] {
            for line in [
                "run scenario.toml",
                "sweep sweep.toml",
                "sweep sweep.toml --shard 1/2",
                "sweep merge half other",
                "export run",
                "export run --csv",
                "inspect blocks.trace",
                "reproduce ursa-minor --quick --figure fig09",
                "reproduce constant-capacity --quick --figure fig03",
                "reproduce inside-out --quick --figure tab01",
                "reproduce virtualized --quick",
            ] {
                place.refused(&format!("{line} -o {output} {force}"), NOT_OURS);
            }
        }
    }
    place.refused("sweep sweep.toml --resume -o mine", NOT_OURS);
    // a single file of the user's is enough
    place.write("one/.gitignore", "*");
    place.refused("run scenario.toml -o one", NOT_OURS);
}

#[test]
fn runs_and_sweeps_of_earlier_versions_are_not_taken_for_the_users_nor_for_ours() {
    let place = Place::new();
    place.succeed("run scenario.toml -o run");
    place.succeed("sweep sweep.toml -o set");
    for name in ["run", "set"] {
        fs::remove_file(place.path(name).join(MANIFEST)).unwrap();
    }
    place.refused("run scenario.toml -o run", "it looks like a run of an earlier version");
    place.refused("run run/run.toml -o run --force", "it looks like a run of an earlier version");
    place.refused("sweep sweep.toml -o set --force", "it looks like a sweep of an earlier version");
    place
        .refused("sweep sweep.toml -o set --resume", "it looks like a sweep of an earlier version");
    // reading them is another matter
    place.succeed("export run -o tables");
}

#[test]
fn what_users_put_beside_our_files_stays() {
    let place = Place::new();
    place.write("blocks.trace", "1\n2\n3\n1\n");
    for (line, theirs) in [
        ("run scenario.toml -o out/run", "out/run/notes.txt"),
        ("sweep sweep.toml -o out/set", "out/set/data/measurements.csv"),
        ("export out/run -o out/tables", "out/tables/joined.csv"),
        ("inspect blocks.trace -o out/trace", "out/trace/mine.svg"),
    ] {
        place.succeed(line);
        place.write(theirs, "mine");
        let again = if line.starts_with("sweep") { format!("{line} --force") } else { line.into() };
        place.succeed(&again);
        assert_eq!(place.text(theirs), "mine", "{line}");
    }
    // what stands where we want to write is named
    fs::remove_file(place.path("out/run/truth.json")).unwrap();
    let manifest = place.text("out/run/.foretell.json");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let mut altered = manifest.clone();
    altered["files"].as_object_mut().unwrap().remove("truth.json");
    place.write("out/run/.foretell.json", &altered.to_string());
    place.write("out/run/truth.json", "mine");
    let why = "truth.json`: foretell did not make the file of that name";
    place.refused("run scenario.toml -o out/run", why);
}

#[test]
fn what_users_changed_is_replaced_by_force_alone() {
    let place = Place::new();
    place.succeed("sweep sweep.toml -o set");
    place.succeed("run scenario.toml -o run");
    place.write("set/README.md", "my own card");
    place.write("run/truth.json", "{}");
    place.refused("run scenario.toml -o run", "truth.json` was changed after foretell wrote it");
    place.succeed("run scenario.toml -o run --force");
    assert!(place.text("run/truth.json").contains("throughput"));
    place.succeed("sweep sweep.toml -o set --force");
    assert!(place.text("set/README.md").starts_with("---"));
    // a scenario that was changed to be run again is meant to be replaced
    let scenario = place.text("run/run.toml").replace("100 ms", "120 ms");
    place.write("run/run.toml", &scenario);
    place.succeed("run run/run.toml -o run");
    assert!(place.text("run/run.toml").contains("120 ms"));
    // but not by another
    place.write("run/run.toml", &place.text("run/run.toml").replace("120 ms", "1300 ms"));
    place.refused("run scenario.toml -o run", "run.toml` was changed after foretell wrote it");
}

#[test]
fn another_commands_results_are_replaced_by_force_alone() {
    let place = Place::new();
    place.succeed("run scenario.toml -o run");
    place.succeed("sweep sweep.toml -o set");
    place.refused("run scenario.toml -o set", "holds what `foretell sweep` made");
    place.refused("sweep sweep.toml -o run", "holds what `foretell run` made");
    place.refused("export run -o run", "holds what `foretell run` made");
    // what is read is not removed first
    place.refused("export run -o run --force", "is in the directory that `--force` would replace");
    place.refused("run set/scenario.toml -o set --force", "is in the directory that `--force`");
    // nor before there is something in its place
    let sweep = snapshot(&place.path("set/data"));
    let line = "run scenario.toml --set duration=1000h -o set --force";
    let mut child = place.command(line).spawn().unwrap();
    until(&mut child, "it writes", || place.path("set/run.db.partial").exists());
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(snapshot(&place.path("set/data")), sweep);
    place.refused("run scenario.toml -o set", "holds what `foretell sweep` made");
    place.succeed("run scenario.toml -o set --force");
    assert_eq!(tree(&place.path("set")), [MANIFEST, "run.db", "run.toml", "truth.json"]);
    // a sweep may be made again from what it kept
    place.succeed("sweep sweep.toml -o run --force");
    let before = place.text("run/content.json");
    place.succeed("sweep run/sweep.toml -o run --force");
    assert_eq!(place.text("run/content.json"), before);
}

#[test]
fn a_manifest_that_was_altered_removes_nothing() {
    let place = Place::new();
    place.write("victim/data/precious.csv", "mine");
    place.write("victim/precious.csv", "mine");
    place.succeed("run scenario.toml -o out");
    place.succeed("sweep sweep.toml -o set");
    let absolute = place.path("victim/precious.csv").display().to_string();
    for (line, name) in [("run scenario.toml -o out", "out"), ("sweep sweep.toml -o set", "set")] {
        let path = format!("{name}/{MANIFEST}");
        let whole = place.text(&path);
        for lie in ["../victim/precious.csv", "data/../../victim/precious.csv", &absolute] {
            let mut manifest: serde_json::Value = serde_json::from_str(&whole).unwrap();
            manifest["files"][lie] = 4.into();
            place.write(&path, &manifest.to_string());
            place.refused(
                &format!("{line} --force"),
                "is not the list of files that foretell writes",
            );
        }
        for lie in ["", "{}", "[1]", &whole[..whole.len() / 2]] {
            place.write(&path, lie);
            place.refused(
                &format!("{line} --force"),
                "is not the list of files that foretell writes",
            );
        }
        place.write(&path, &whole);
    }
    // directories of ours that have become links lead nowhere
    fs::remove_dir_all(place.path("set/data")).unwrap();
    symlink(place.path("victim/data"), place.path("set/data")).unwrap();
    let mut manifest: serde_json::Value =
        serde_json::from_str(&place.text(&format!("set/{MANIFEST}"))).unwrap();
    manifest["files"]["data/precious.csv"] = 4.into();
    place.write(&format!("set/{MANIFEST}"), &manifest.to_string());
    place.refused("sweep sweep.toml -o set --force", "set/data`: it is a symbolic link");
    assert_eq!(place.text("victim/data/precious.csv"), "mine");
}

#[test]
fn names_in_data_lead_nowhere_else() {
    let place = Place::new();
    place.write("victim/precious.csv", "mine");
    for shard in ["1/2", "2/2"] {
        place.succeed(&format!("sweep sweep.toml -o set --shard {shard}"));
    }
    let whole = place.text("set/sweep.json");
    let absolute = place.path("victim").display().to_string();
    for name in ["../victim", "../../victim", &absolute, "a/b", "", ".", "..", "shards", "data"] {
        let mut altered: serde_json::Value = serde_json::from_str(&whole).unwrap();
        altered["tables"][1]["name"] = name.into();
        place.write("set/sweep.json", &altered.to_string());
        place.refused("sweep merge set", "set/sweep.json` is not the description of a sweep");
    }
    let mut altered: serde_json::Value = serde_json::from_str(&whole).unwrap();
    altered["tables"][1]["name"] = "invented".into();
    place.write("set/sweep.json", &altered.to_string());
    place.refused("sweep merge set", "is not the description of a sweep");
    place.write("set/sweep.json", &whole);
    place.succeed("sweep merge set");
}

#[test]
fn a_store_exports_its_own_tables_alone() {
    let place = Place::new();
    place.write("abs.csv", "mine");
    place.write("escaped.csv", "mine");
    place.write(
        "metrics.toml",
        &(SCENARIO.replace("100 ms", "3 s") + "\n[tracking]\nmetrics = true\n"),
    );
    place.succeed("run metrics.toml -o run");
    let absolute = place.path("abs").display().to_string();
    let store = Connection::open(place.path("run/run.db")).unwrap();
    for name in ["../escaped", "../../escaped", &absolute, "notes", "a/b"] {
        let sql = format!("CREATE TABLE \"{name}\" (a); INSERT INTO \"{name}\" VALUES (1);");
        store.execute_batch(&sql).unwrap();
    }
    for more in ["", "--csv"] {
        let printed = place.succeed(&format!("export run -o tables {more}"));
        assert!(printed.contains("left out: table \"../escaped\", which runs do not have"));
        assert_eq!(
            (place.text("abs.csv"), place.text("escaped.csv")),
            ("mine".into(), "mine".into())
        );
    }
    assert!(!place.path("escaped.parquet").exists() && !place.path("abs.parquet").exists());
    assert!(
        tree(&place.path("tables")).iter().all(|name| name == MANIFEST || name.ends_with(".csv"))
    );
    // names of hosts become names of files, too
    store.execute("UPDATE hosts SET name = '../../escaped' WHERE host = 0", []).unwrap();
    drop(store);
    place.refused("export run --dstat -o dstat", "has a host \"../../escaped\"");
}

#[test]
fn links_pipes_and_devices_are_neither_followed_nor_replaced() {
    let place = Place::new();
    place.succeed("run scenario.toml -o run");
    place.write("precious.json", "mine");
    place.write("blocks.trace", "1\n2\n3\n1\n");
    place.write("disk.parv", "");
    symlink(place.path("precious.json"), place.path("link.toml")).unwrap();
    symlink(place.path("nowhere"), place.path("dangling.toml")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("pipe.toml")).status().unwrap().success());
    let mut others = vec![
        ("link.toml", "it is a symbolic link"),
        ("dangling.toml", "it is a symbolic link"),
        ("pipe.toml", "it is a pipe"),
        ("run", "it is a directory"),
        ("new/", "it names a directory"),
        ("-", "it means standard output"),
    ];
    // a device of our own, as the first version of this replaced /dev/null
    let made = Command::new("mknod").arg(place.path("null.toml")).args(["c", "1", "3"]).output();
    if made.is_ok_and(|made| made.status.success()) {
        others.push(("null.toml", "it is a device"));
    } else {
        eprintln!("skipped: no device may be made here");
    }
    place.succeed(&place.model("model.json"));
    for (output, why) in others {
        place.refused(&place.model(output), why);
        for line in [
            "learn predict model.json --data table.csv",
            "learn features run",
            "import auto blocks.trace",
            "import diskspecs disk.parv",
            "calibrate cpu",
        ] {
            if line.starts_with("calibrate") && !output.ends_with(".toml") {
                continue;
            }
            place.refused(&format!("{line} -o {output}"), why);
        }
        let evaluate = "learn evaluate --data table.csv --target y --model lrm --fold-count 3";
        place.refused(&format!("{evaluate} --predictions {output}"), why);
        place.refused(
            &format!("score run --what-if volume.data.size=32MiB --history {output}"),
            why,
        );
    }
    assert!(fs::symlink_metadata(place.path("pipe.toml")).unwrap().file_type().is_fifo());
    place.refused(&place.model("/dev/stdout"), "/dev/stdout`: it is a symbolic link");
    assert_eq!(place.text("precious.json"), "mine");
}

#[test]
fn nothing_is_written_through_a_link_at_an_unfinished_name() {
    let place = Place::new();
    place.write("precious", "mine");
    let precious = place.path("precious");
    symlink(&precious, place.path("model.json.partial")).unwrap();
    place.succeed(&place.model("model.json"));
    assert_eq!(place.text("precious"), "mine");
    assert!(fs::symlink_metadata(place.path("model.json")).unwrap().is_file());
    assert!(place.path("model.json.partial").is_symlink());
    // a file of the user's that has that name is his, too
    fs::remove_file(place.path("model.json.partial")).unwrap();
    place.write("model.json.partial", "mine");
    place.succeed(&place.model("model.json"));
    assert_eq!(place.text("model.json.partial"), "mine");
    // in a directory of ours, the store's name is known beforehand
    place.succeed("run scenario.toml -o out");
    for name in ["run.db.partial", "run.toml.partial", "truth.json.partial"] {
        symlink(&precious, place.path("out").join(name)).unwrap();
    }
    let done = place.done("run scenario.toml -o out");
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("foretell did not make the symbolic link of that name"));
    assert_eq!(place.text("precious"), "mine");
}

#[test]
fn a_file_that_the_user_names_is_replaced_whole() {
    let place = Place::new();
    place.succeed(&place.model("model.json"));
    let model = place.text("model.json");
    place.write("model.json", &format!("{model} "));
    place.succeed(&place.model("model.json"));
    assert_eq!(place.text("model.json"), model);
    // bad input leaves what was there
    let done = place.done("learn train --data scenario.toml --target y --model lrm -o model.json");
    assert_eq!(done.status, Some(2));
    assert_eq!(place.text("model.json"), model);
    let names = [MANIFEST, "model.json", "scenario.toml", "sweep.toml", "table.csv"];
    assert_eq!(tree(place.0.path()), names[1..]);
}

#[test]
fn only_a_file_of_the_same_kind_is_replaced() {
    let place = Place::new();
    place.succeed("run scenario.toml -o run");
    place.succeed(&place.model("m.json"));
    place.write("blocks.trace", "1\n2\n3\n1\n");
    let evaluate = "learn evaluate --data table.csv --target y --model lrm --fold-count 3";
    let score = "learn score --data table.csv --target y --model lrm --test table.csv";
    for (line, output) in [
        (place.model("model.json").replace(" -o model.json", " -o"), "model.json"),
        ("learn predict m.json --data table.csv -o".to_owned(), "predicted.csv"),
        (format!("{evaluate} --predictions"), "held-out.csv"),
        ("learn features run -o".to_owned(), "features.csv"),
        ("import auto blocks.trace -o".to_owned(), "trace.csv"),
        ("import auto blocks.trace -o".to_owned(), "trace.csv.gz"),
        ("import auto blocks.trace -o".to_owned(), "trace.csv.zst"),
        ("report run -o".to_owned(), "page.html"),
        ("laboratory -o".to_owned(), "course.html"),
    ] {
        let line = format!("{line} {output}");
        for mine in [
            "my notes",
            "row,column\n1,2\n",
            "<!DOCTYPE html><title>Mine</title>",
            "{\"format\":1}",
        ] {
            place.write(output, mine);
            let done = place.done(&line);
            if done.stderr.contains("foretell.wasm") {
                // this build has no engine for pages
                break;
            }
            assert_eq!(done.status, Some(2), "{line}: {}", done.stderr);
            assert!(done.stderr.contains("is left as it is"), "{line}: {}", done.stderr);
            assert_eq!(place.text(output), mine);
        }
        // the first needs an engine, the second minutes of metrics
        if line.starts_with("laboratory") || line.starts_with("learn features") {
            continue;
        }
        // an empty file, and what the command itself wrote
        place.write(output, "");
        place.succeed(&line);
        place.succeed(&line);
    }
    place.write("scored.csv", "mine");
    place.refused(&format!("{score} --predictions scored.csv"), "is left as it is");
}

#[test]
fn an_input_is_not_replaced_by_the_output() {
    let place = TempDir::new().unwrap();
    let table = place.path().join("table.csv");
    let rows: Vec<String> = (0..40).map(|row| format!("{row},{}", 3 * row + 1)).collect();
    fs::write(&table, format!("x,y\n{}\n", rows.join("\n"))).unwrap();
    let trace = place.path().join("trace.csv");
    fs::write(&trace, "time_s,op,offset,size\n0,r,0,4096\n1,w,4096,4096\n").unwrap();
    let (table, trace) = (table.to_str().unwrap(), trace.to_str().unwrap());
    let beside = place.path().join("sub/../table.csv");
    fs::create_dir(place.path().join("sub")).unwrap();
    let learn = ["learn", "train", "--data", table, "--target", "y", "--model", "lrm"];
    let evaluate = ["learn", "evaluate", "--data", table, "--target", "y", "--model", "lrm"];
    for (command, output) in [
        ([&learn[..], &["-o", table]].concat(), table),
        ([&learn[..], &["-o", beside.to_str().unwrap()]].concat(), table),
        ([&evaluate[..], &["--predictions", table]].concat(), table),
        (vec!["import", "trace", trace, "-o", trace], trace),
    ] {
        let before = fs::read(output).unwrap();
        let done = run(command.clone());
        assert_eq!(done.status, Some(2), "{command:?}: {}", done.stderr);
        assert!(done.stderr.contains("is read by this command"), "{}", done.stderr);
        assert_eq!(fs::read(output).unwrap(), before, "{command:?}");
    }
}

#[test]
fn results_of_an_earlier_run_go_with_it() {
    let place = Place::new();
    let objects = r#"<workload name="small" description="">
      <storage type="swift" config="" />
      <workflow>
        <workstage name="prepare"><work name="prepare" type="prepare" workers="2"
          config="containers=r(1,2);objects=r(1,10);sizes=c(4)KB" /></workstage>
        <workstage name="main"><work name="main" workers="2" totalOps="20">
          <operation type="read" ratio="100" config="containers=u(1,2);objects=u(1,10)" />
        </work></workstage>
      </workflow></workload>"#;
    place.write("objects.xml", objects);
    let cosbench = SCENARIO.replace(
        "kind        = \"ssio\"\nreads       = \"50%\"\noutstanding = 2",
        "kind = \"cosbench\"\nfile = \"objects.xml\"",
    );
    place.write("cosbench.toml", &cosbench.replace("20 ms", "0 s").replace("100 ms", "2 s"));
    place.succeed("run cosbench.toml -o out");
    assert!(place.path("out/archive/run-history.csv").exists());
    place.write("out/archive/notes", "mine");
    place.succeed("run scenario.toml -o out");
    let left = [MANIFEST, "archive", "archive/notes", "run.db", "run.toml", "truth.json"];
    assert_eq!(tree(&place.path("out")), left);
    fs::remove_file(place.path("out/archive/notes")).unwrap();
    // tables of an earlier export go, too
    place.succeed("run scenario.toml --set record=none -o none");
    place.succeed("run scenario.toml -o all");
    place.succeed("export all -o tables");
    assert!(place.path("tables/request.parquet").exists());
    place.succeed("export none -o tables");
    assert!(!place.path("tables/request.parquet").exists());
    assert!(place.path("tables/hosts.parquet").exists());
}

#[test]
fn two_commands_do_not_write_into_one_directory() {
    let place = Place::new();
    let mut first = place.command("run scenario.toml --set duration=1000h -o out").spawn().unwrap();
    until(&mut first, "it writes", || place.path("out/run.db.partial").exists());
    for line in ["run scenario.toml", "run scenario.toml --force", "sweep sweep.toml --force"] {
        let before = tree(&place.path("out"));
        let done = place.done(&format!("{line} -o out"));
        assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
        assert!(done.stderr.contains("another command is writing into `out`"), "{}", done.stderr);
        assert_eq!(tree(&place.path("out")), before);
    }
    signal(&first, "INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));

    // shards may be done side by side, but not the same one, nor all of it
    place.write("long.toml", &SWEEP.replace("replicates = 2", "replicates = 5000"));
    let mut first = place.command("sweep long.toml --shard 1/2 -o set").spawn().unwrap();
    let journal = place.path("set/shards/1-of-2/runs.journal");
    let written = || fs::metadata(&journal).is_ok_and(|file| file.len() > 10_000);
    until(&mut first, "it runs", written);
    for line in [
        "sweep long.toml --shard 1/2 --resume",
        "sweep long.toml --resume",
        "sweep long.toml --force",
        "sweep long.toml --shard 2/2 --force",
    ] {
        let done = place.done(&format!("{line} -o set"));
        assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""), "{line}: {}", done.stderr);
        assert!(done.stderr.contains("another command is writing into `set"), "{}", done.stderr);
    }
    let done = place.done("sweep merge set");
    assert_eq!(done.status, Some(1), "{}", done.stderr);
    let mut second = place.command("sweep long.toml --shard 2/2 -o set").spawn().unwrap();
    let other = place.path("set/shards/2-of-2/runs.journal");
    until(&mut second, "it runs", || fs::metadata(&other).is_ok_and(|file| file.len() > 10_000));
    for mut child in [first, second] {
        signal(&child, "INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
    // finished work is kept
    assert!(written());
    let done = place.done("sweep missing set");
    assert!(done.stdout.contains(" of 10000 runs are missing"), "{}", done.stdout);
}

#[test]
fn an_interrupted_command_leaves_nothing_half_written_and_no_empty_directory() {
    let place = Place::new();
    place.write("long.toml", &SWEEP.replace("replicates = 2", "replicates = 5000"));
    place.write("slow.toml", &SCENARIO.replace("duration = \"100 ms\"", "duration = \"1000 h\""));
    place.write("slow-sweep.toml", &SWEEP.replace("scenario.toml", "slow.toml"));
    let before = tree(place.0.path());
    for (line, written) in [
        ("run slow.toml -o a/b/out", "a/b/out/run.db.partial"),
        ("sweep slow-sweep.toml -o a/b/out", "a/b/out/shards/1-of-1/runs.journal"),
        ("sweep slow-sweep.toml --shard 1/2 -o a/b/out", "a/b/out/shards/1-of-2/runs.journal"),
        ("reproduce constant-capacity --quick --figure fig03 -o a/b/out", "a/b/out"),
        (
            "reproduce constant-capacity --quick --figure fig03 --keep -o a/b/out",
            "a/b/out/workloads",
        ),
        ("reproduce ursa-minor --figure fig09 -o a/b/out", "a/b/out/scratch"),
        ("reproduce virtualized --full -o a/b/out", "a/b/out/measurements.jsonl"),
        ("reproduce inside-out --figure fig03 -o a/b/out", "a/b/out"),
    ] {
        for name in ["INT", "TERM"] {
            let mut child = place.command(line).spawn().unwrap();
            let keeps = line.contains("--keep");
            // a directory of files that are kept must hold a whole one
            let holds_one = |path: &Path| {
                let names = fs::read_dir(path).unwrap().flatten().map(|entry| entry.file_name());
                names.into_iter().any(|name| !name.to_string_lossy().contains("partial"))
            };
            until(&mut child, line, || {
                let path = place.path(written);
                path.exists() && (!keeps || holds_one(&path))
            });
            signal(&child, name);
            let done = Done::from(child.wait_with_output().unwrap());
            assert_eq!((done.status, done.stdout.as_str()), (Some(130), ""), "{line}: {done:?}");
            let left = tree(place.0.path());
            if keeps {
                // what is kept is there, and listed
                let kept: Vec<&String> =
                    left.iter().filter(|name| name.contains("workloads/")).collect();
                let listed = place.text("a/b/out/.foretell.json");
                let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
                // a file is listed before it is there
                let listed = listed["files"].as_object().unwrap();
                let name = |kept: &str| kept[kept.find("workloads/").unwrap()..].to_owned();
                assert!(kept.iter().all(|kept| listed.contains_key(&name(kept))), "{kept:?}");
                fs::remove_dir_all(place.path("a")).unwrap();
            } else {
                assert_eq!(left, before, "{line}");
            }
        }
    }
    // a directory that the user made stays, empty
    fs::create_dir(place.path("empty")).unwrap();
    let mut child = place.command("run slow.toml -o empty").spawn().unwrap();
    until(&mut child, "it writes", || place.path("empty/run.db.partial").exists());
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(tree(&place.path("empty")), [""; 0]);
}

#[test]
fn an_export_that_is_interrupted_at_any_moment_leaves_no_directory() {
    let place = Place::new();
    place.succeed("run scenario.toml --set record=all -o recorded");
    let whole = |options: &str| {
        place.succeed(&format!("export recorded {options} -o whole"));
        let files = tree(&place.path("whole"));
        fs::remove_dir_all(place.path("whole")).unwrap();
        files
    };
    let before = tree(place.0.path());
    for (options, moments) in [("", 0..12), ("--csv", 12..20)] {
        for moment in moments {
            let line = format!("export recorded {options} -o a/out");
            let mut child = place.command(&line).spawn().unwrap();
            until(&mut child, &line, || place.path("a/out").exists());
            #[expect(clippy::disallowed_methods, reason = "another moment each time")]
            std::thread::sleep(std::time::Duration::from_millis(moment));
            signal(&child, "INT");
            child.wait().unwrap();
            if tree(place.0.path()) != before {
                // it was complete
                assert_eq!(tree(&place.path("a/out")), whole(options), "after {moment} ms");
                fs::remove_dir_all(place.path("a")).unwrap();
            }
        }
    }
}

#[test]
fn bad_input_makes_no_directory() {
    let place = Place::new();
    place.write("bad.toml", &SCENARIO.replace("\"50%\"", "\"fifty\""));
    place.write("bad-sweep.toml", &SWEEP.replace("[1, 8]", "[1, 0]"));
    place.write("empty.trace", "");
    place.write("no-run/notes", "");
    place.succeed("sweep sweep.toml --shard 1/2 -o half");
    for line in [
        "run bad.toml -o a/out",
        "run nosuch.toml -o a/out",
        "sweep bad-sweep.toml -o a/out",
        "sweep nosuch.toml -o a/out",
        "sweep merge half -o a/out",
        "sweep merge nosuch -o a/out",
        "export no-run -o a/out",
        "export nosuch --dstat -o a/out",
        "inspect empty.trace -o a/out",
        "import auto empty.trace -o a/out",
        "import diskspecs empty.trace -o a/out",
        "learn train --data table.csv --target nosuch --model lrm -o a/out",
        "learn features no-run -o a/out",
        "reproduce virtualized --keep -o a/out",
    ] {
        place.refused(line, "");
    }
}

#[test]
fn a_killed_command_is_cleaned_up_by_the_next() {
    let place = Place::new();
    place.succeed("run scenario.toml -o out");
    let mut child = place.command("run scenario.toml --set duration=1000h -o out").spawn().unwrap();
    let partial = place.path("out/run.db.partial");
    until(&mut child, "it writes", || fs::metadata(&partial).is_ok_and(|file| file.len() > 0));
    signal(&child, "KILL");
    child.wait().unwrap();
    let left = [MANIFEST, "run.db", "run.db.partial", "run.toml", "truth.json"];
    assert_eq!(tree(&place.path("out")), left);
    place.succeed("run scenario.toml -o out");
    assert_eq!(tree(&place.path("out")), [MANIFEST, "run.db", "run.toml", "truth.json"]);
    // runs that a reproduction would not have kept
    let line = "reproduce ursa-minor --quick --figure fig09 -o figures";
    let mut child = place.command(line).spawn().unwrap();
    until(&mut child, "it records", || place.path("figures/scratch").exists());
    signal(&child, "KILL");
    child.wait().unwrap();
    place.succeed("run scenario.toml -o figures --force");
    assert_eq!(tree(&place.path("figures")), [MANIFEST, "run.db", "run.toml", "truth.json"]);
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn a_reproduction_keeps_what_was_kept_before() {
    let place = Place::new();
    let line = "reproduce constant-capacity --quick --figure fig03 -o out";
    place.succeed(&format!("{line} --keep"));
    let kept = tree(&place.path("out/workloads"));
    assert!(!kept.is_empty());
    place.write("out/workloads/notes", "mine");
    place.write("out/runs/notes", "mine");
    place.succeed(line);
    let mut all = tree(&place.path("out/workloads"));
    all.retain(|name| name != "notes");
    assert_eq!(all, kept);
    // another paper's figures have the same names
    place.refused(
        "reproduce ursa-minor --quick --figure fig09 -o out",
        "holds what `foretell reproduce constant-capacity` made",
    );
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn a_figure_of_ursa_minor_leaves_the_runs_that_were_kept() {
    let place = Place::new();
    let line = "reproduce ursa-minor --quick --figure fig09 -o out";
    place.succeed(&format!("{line} --keep"));
    let kept = snapshot(&place.path("out/runs"));
    assert!(kept.keys().any(|path| path.ends_with("run.db")));
    place.succeed(line);
    assert_eq!(snapshot(&place.path("out/runs")), kept);
    assert!(!place.path("out/scratch").exists());
    // a kept run is a run like any other
    let run = kept.keys().find(|path| path.ends_with("run.db")).unwrap().parent().unwrap();
    let done = run_in(run);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
}

fn run_in(directory: &Path) -> Done {
    run(["ask", directory.to_str().unwrap()])
}

/// On a disk of 300 kB whatever does not fit is not there, and what was there before is.
#[test]
fn a_full_disk_leaves_whole_files_alone() {
    let place = Place::new();
    place.succeed(&place.model("model.json"));
    place.succeed("run scenario.toml -o run");
    place.write("disk/placeholder", "");
    fs::remove_file(place.path("disk/placeholder")).unwrap();
    let script = "mount -t tmpfs -o size=64k,nr_inodes=40 none disk || exit 77
        cp model.json disk/model.json; echo mine > disk/mine
        dd if=/dev/zero of=disk/fill bs=4k count=$1 2>/dev/null
        \"$0\" learn train --data table.csv --target y --model lrm -o disk/model.json >/dev/null; echo status $?
        \"$0\" run scenario.toml -o disk/run >/dev/null; echo status $?
        \"$0\" export run -o disk/tables >/dev/null; echo status $?
        cmp model.json disk/model.json && ls -A disk";
    for blocks in ["12", "13", "14", "15", "16"] {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_foretell"), blocks]);
        let output = command.current_dir(place.0.path()).output();
        let Some(done) = output.ok().map(Done::from).filter(|done| {
            done.status.is_some_and(|status| status != 77) && !done.stderr.contains("unshare")
        }) else {
            eprintln!("skipped: no memory disk may be mounted here");
            return;
        };
        let lines: Vec<&str> = done.stdout.lines().collect();
        assert_eq!(lines[1..3], ["status 1", "status 1"], "{blocks}: {done:?}");
        assert_eq!(lines[3..], ["fill", "mine", "model.json"], "{blocks}: {done:?}");
        assert!(done.stderr.contains("No space left on device"), "{}", done.stderr);
    }
}
