//! Whatever ends a run before its end, what it leaves never looks whole, and an earlier run stays whole.
//!
//! The shell, signals and file size limits of Unix are used. A full disk is a small memory disk in a name space of
//! its own. `strace` kills the command at a chosen system call. Where either may not be used, the test is skipped
//! and says so.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "another process is waited for")]

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use common::*;

/// Simulates longer than any test waits.
const ENDLESS: [&str; 2] = ["--set", "duration=1000 h"];
/// What a run that is kept consists of.
const WHOLE: [&str; 3] = ["run.db", "run.toml", "truth.json"];

/// Starts a run without an end that is kept under `name`; returns when it is writing records.
fn start(place: &Place, name: &str) -> Child {
    let mut child = foretell().args(place.keeping(name, &ENDLESS)).spawn().unwrap();
    let partial = place.path(name).join("run.db.partial");
    for _ in 0..6000 {
        if std::fs::metadata(&partial).is_ok_and(|file| file.len() > 1_000_000) {
            return child;
        }
        if let Some(status) = child.try_wait().unwrap() {
            panic!("ended early: {status}, {:?}", Done::from(child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("no records within a minute");
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

fn end(child: Child) -> Done {
    child.wait_with_output().unwrap().into()
}

/// `trace` takes nothing in `dir` for a run, and says what is wrong.
fn is_refused(dir: &Path, why: &str) {
    let done = run(["trace", dir.to_str().unwrap(), "1"]);
    assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""));
    assert!(done.stderr.contains(why), "{}", done.stderr);
}

/// A run into `dir` replaces whatever is there.
fn is_replaced(place: &Place, name: &str) {
    let dir = place.keep(name, &[]);
    assert_eq!(files(&dir), WHOLE);
    let fresh = place.keep(&format!("{name}-fresh"), &[]);
    assert_eq!(timeless(truth_of(&dir)), timeless(truth_of(&fresh)));
    succeed(["trace", dir.to_str().unwrap(), "1"]);
}

/// The files of a run and their content, without unfinished files and without the time that the run took.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in files(dir).into_iter().filter(|name| !name.ends_with(".partial")) {
        let path = dir.join(&name);
        if path.is_dir() {
            for (below, content) in contents(&path) {
                found.insert(format!("{name}/{below}"), content);
            }
        } else if name == "truth.json" {
            found.insert(name, timeless(truth_of(dir)).into_bytes());
        } else {
            found.insert(name, std::fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn kill_leaves_a_partial_store_that_nothing_takes_for_a_run() {
    let place = Place::with(SMALL);
    let dir = place.path("out");
    let child = start(&place, "out");
    signal(&child, "KILL");
    assert_eq!(end(child).status, None, "killed");
    assert_eq!(files(&dir), ["run.db.partial"]);
    is_refused(&dir, "only `run.db.partial` of a run that was interrupted");
    is_replaced(&place, "out");
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    for name in ["INT", "TERM"] {
        let place = Place::with(SMALL);
        let dir = place.path("out");
        let child = start(&place, "out");
        signal(&child, name);
        let done = end(child);
        assert_eq!((done.status, done.stdout.as_str()), (Some(130), ""), "{name}");
        assert!(done.stderr.starts_with("  × interrupted at "), "{name}: {}", done.stderr);
        assert!(!dir.exists(), "{name}");
        is_refused(&dir, "has no `run.db`; make one with `foretell run SCENARIO -o");
        is_replaced(&place, "out");
    }
}

#[test]
fn an_interrupted_or_killed_rerun_leaves_the_earlier_run() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &["--seed", "8"]);
    let before = contents(&dir);
    for name in ["INT", "TERM", "KILL"] {
        let child = start(&place, "out");
        // a run is asked while its successor is made
        succeed(["trace", dir.to_str().unwrap(), "1"]);
        signal(&child, name);
        let status = end(child).status;
        assert_eq!(status, (name != "KILL").then_some(130), "{name}");
        assert_eq!(contents(&dir), before, "{name}");
        let left = files(&dir);
        assert_eq!(left.contains(&"run.db.partial".to_owned()), name == "KILL", "{left:?}");
        succeed(["trace", dir.to_str().unwrap(), "1"]);
        succeed(["ask", dir.to_str().unwrap()]);
    }
    is_replaced(&place, "out");
}

#[test]
fn an_impatient_user_loses_no_earlier_run_either() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &["--seed", "8"]);
    let before = contents(&dir);
    let child = start(&place, "out");
    signal(&child, "INT");
    signal(&child, "INT");
    assert_eq!(end(child).status, Some(130));
    assert_eq!(contents(&dir), before);
    assert_eq!(files(&dir), WHOLE);
}

/// System calls that change what is in a directory, or bring it to the disk.
const CHANGES: &str = "rename,renameat,renameat2,unlinkat,linkat,mkdirat,fsync";

#[test]
fn a_rerun_that_is_killed_at_any_step_leaves_one_whole_run_or_none() {
    let place = Place::with(SMALL);
    let new = contents(&place.keep("new", &["--set", "duration=\"200 ms\""]));
    let old_dir = place.keep("old", &["--seed", "8"]);
    // as a run of COSBench's workloads has it
    let archive = old_dir.join("archive/w1-a/w1-a.csv");
    std::fs::create_dir_all(archive.parent().unwrap()).unwrap();
    std::fs::write(archive, "old").unwrap();
    let list = old_dir.join(".foretell.json");
    let mut listed: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&list).unwrap()).unwrap();
    listed["files"]["archive/w1-a/w1-a.csv"] = 3.into();
    listed["directories"] = serde_json::json!(["archive", "archive/w1-a"]);
    std::fs::write(&list, listed.to_string()).unwrap();
    let old = contents(&old_dir);
    assert!(old.contains_key("archive/w1-a/w1-a.csv") && old["run.db"] != new["run.db"]);

    let out = place.path("out");
    let (mut seen_old, mut seen_new, mut seen_none) = (0, 0, 0);
    for step in 1.. {
        let copied = Command::new("cp").args(["-r"]).arg(&old_dir).arg(&out).status().unwrap();
        assert!(copied.success());
        let mut command = Command::new("strace");
        command.args(["-f", "-o", "/dev/null", "-e"]).arg(format!("trace={CHANGES}"));
        command.args(["-e", &format!("inject={CHANGES}:signal=KILL:when={step}")]);
        command.arg(env!("CARGO_BIN_EXE_foretell"));
        command.args(place.keeping("out", &["--set", "duration=\"200 ms\""]));
        let Ok(output) = command.current_dir(root()).output() else {
            eprintln!("skipped: there is no `strace`");
            return;
        };
        let done = Done::from(output);
        if step == 1 && done.status.is_some_and(|status| status != 137) {
            eprintln!("skipped: `strace` may not be used here: {}", done.stderr);
            return;
        }
        if done.status == Some(0) {
            assert_eq!(contents(&out), new);
            assert_eq!(files(&out), WHOLE);
            break;
        }
        let left = contents(&out);
        if left == old {
            seen_old += 1;
        } else if left == new {
            seen_new += 1;
        } else {
            seen_none += 1;
            is_refused(&out, "only `run.db.partial` of a run that was interrupted");
            if seen_none == 1 {
                let out = out.to_str().unwrap();
                let change = "volume.mirror.encoding=1-of-3";
                for line in [
                    vec!["ask", out],
                    vec!["report", out, "-o", "x.html"],
                    vec!["score", out, "--what-if", change],
                ] {
                    let done = run(line);
                    assert_eq!(done.status, Some(2), "{}", done.stderr);
                    assert!(done.stderr.contains("run it again"), "{}", done.stderr);
                }
            }
        }
        // the next command cleans up
        succeed(place.keeping("out", &["--set", "duration=\"200 ms\""]));
        assert_eq!((contents(&out), files(&out)), (new.clone(), WHOLE.map(str::to_owned).into()));
        std::fs::remove_dir_all(&out).unwrap();
        assert!(step < 200, "it does not come to its end");
    }
    eprintln!(
        "killed at each step: the earlier run {seen_old} times, none {seen_none}, the new {seen_new}"
    );
    assert!(seen_old > 0 && seen_new > 0 && seen_none > 0, "{seen_old} {seen_new} {seen_none}");
}

#[test]
fn a_run_that_keeps_nothing_can_be_interrupted_too() {
    let place = Place::with(SMALL);
    let child = foretell().args(place.arguments(&ENDLESS)).spawn().unwrap();
    // however early it comes: before the handler is there the signal itself ends the process
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "INT");
    let done = end(child);
    assert_eq!((done.status, done.stdout.as_str()), (Some(130), ""));
    assert!(done.stderr.contains("interrupted at "), "{}", done.stderr);
}

#[test]
fn two_runs_do_not_write_into_one_directory() {
    let place = Place::with(SMALL);
    let first = start(&place, "out");
    let done = run(place.keeping("out", &[]));
    assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains("another command is writing into"), "{}", done.stderr);
    is_refused(&place.path("out"), "(or is still going on)");
    signal(&first, "INT");
    assert_eq!(end(first).status, Some(130));
    is_replaced(&place, "out");
}

/// Runs the command through the shell, after `before`.
fn through_shell(before: &str, arguments: &[String]) -> Done {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_foretell")]);
    command.args(arguments).current_dir(root()).output().unwrap().into()
}

#[test]
fn a_file_that_may_not_grow_fails_the_run() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &["--seed", "8"]);
    let before = contents(&dir);
    // in blocks of 512 bytes, or of 1024 in some shells: less than the 1.3 MB that the store needs,
    // at its beginning, in its middle and near its end
    for blocks in [2, 100, 1000] {
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
        for name in ["out", "new"] {
            let done = through_shell(&limit, &place.keeping(name, &[]));
            assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""), "{blocks}");
            assert!(done.stderr.contains("run.db.partial`: "), "{}", done.stderr);
        }
        assert!(!place.path("new").exists(), "{blocks}");
        assert_eq!(
            (contents(&dir), files(&dir)),
            (before.clone(), WHOLE.map(str::to_owned).into())
        );
    }
    // without `trap` the signal kills the process on the spot
    let done = through_shell("ulimit -f 1000", &place.keeping("out", &[]));
    assert_eq!(done.status, None);
    assert_eq!(contents(&dir), before);
    let done = through_shell("ulimit -f 1000", &place.keeping("new", &[]));
    assert_eq!(done.status, None);
    assert_eq!(files(&place.path("new")), ["run.db.partial"]);
    is_refused(&place.path("new"), "`run.db.partial`");
    is_replaced(&place, "new");
    is_replaced(&place, "out");
}

#[test]
fn a_disk_without_room_for_two_runs_keeps_the_earlier_one() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &[]);
    let pages = |name: &str| dir.join(name).metadata().unwrap().len().div_ceil(4096);
    let whole = WHOLE.iter().map(|name| pages(name)).sum::<u64>();
    std::fs::create_dir(place.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77
        cp -r \"$3\" \"$2/out\"; shift 3; \"$@\" >/dev/null; status=$?
        cmp \"$DIR/run.db\" \"$OLD/run.db\" && cmp \"$DIR/truth.json\" \"$OLD/truth.json\" || exit 78
        ls \"$DIR\"; exit $status";
    for size in [whole + 6, whole + whole / 2, 2 * whole - 4] {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script, "sh", &(size * 4096).to_string()]);
        command.arg(place.path("disk")).arg(&dir).arg(env!("CARGO_BIN_EXE_foretell"));
        command.args(place.keeping("disk/out", &[])).env("DIR", place.path("disk/out"));
        let output = command.env("OLD", &dir).current_dir(root()).output();
        let Some(done) = output.ok().map(Done::from).filter(|done| {
            done.status.is_some_and(|status| status != 77) && !done.stderr.contains("unshare")
        }) else {
            eprintln!("skipped: no memory disk may be mounted here");
            return;
        };
        assert_eq!(done.status, Some(1), "{done:?}");
        assert_eq!(done.stdout.lines().collect::<Vec<_>>(), WHOLE, "{size} pages: {done:?}");
    }
}

#[test]
fn a_full_disk_fails_the_run_wherever_it_happens() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &[]);
    let pages = |name: &str| dir.join(name).metadata().unwrap().len().div_ceil(4096);
    let (store, whole) = (pages("run.db"), WHOLE.iter().map(|name| pages(name)).sum::<u64>());
    std::fs::create_dir(place.path("disk")).unwrap();
    // the memory disk is seen by this shell and its children only, and goes with them
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77
        shift 2; \"$@\" >/dev/null; status=$?; ls \"$DIR\"; exit $status";
    let mut outcomes = Vec::new();
    // from a store that does not fit to a run that does, page by page where the store is whole;
    // the directory may take a page
    for size in [4, store / 2].into_iter().chain(store - 1..=whole + 3) {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script, "sh", &(size * 4096).to_string()]);
        command.arg(place.path("disk")).arg(env!("CARGO_BIN_EXE_foretell"));
        command.args(place.keeping("disk/out", &[])).env("DIR", place.path("disk/out"));
        let output = command.current_dir(root()).output();
        let Some(done) = output.ok().map(Done::from).filter(|done| {
            done.status.is_some_and(|status| status != 77) && !done.stderr.contains("unshare")
        }) else {
            eprintln!("skipped: no memory disk may be mounted here");
            return;
        };
        let left: Vec<_> = done.stdout.lines().collect();
        match done.status {
            Some(0) => assert_eq!(left, WHOLE, "{size} pages"),
            Some(1) => {
                let full = ["No space left on device", "disk is full"];
                assert!(full.iter().any(|full| done.stderr.contains(full)), "{}", done.stderr);
                assert_eq!(left, [""; 0], "{size} pages: {}", done.stderr);
            }
            _ => panic!("{size} pages: {done:?}"),
        }
        outcomes.push((done.status, done.stderr));
    }
    // it failed at the store, at a later file, and in the end not
    let failed_at = |name| outcomes.iter().any(|(_, stderr)| stderr.contains(name));
    assert!(failed_at("run.db.partial"), "{outcomes:?}");
    assert!(failed_at("truth.json") || failed_at("run.toml"), "{outcomes:?}");
    assert_eq!(outcomes.last().unwrap().0, Some(0));
}

#[test]
fn an_output_that_cannot_be_a_directory_is_refused_at_once() {
    let place = Place::with(SMALL);
    std::fs::write(place.path("file"), "mine").unwrap();
    std::os::unix::fs::symlink(place.path("nowhere"), place.path("link")).unwrap();
    // what the user named is the user's to mend; where the system makes no directory, it is the system's
    for (output, named, status) in [
        (place.path("file"), "file` is a file; choose another directory", 2),
        (place.path("file/below"), "file` is a file; choose another directory", 2),
        (place.path("link"), "link` is a symbolic link that leads nowhere", 2),
        ("/dev/null/x".into(), "`/dev/null` is a pipe or a device", 2),
        ("/proc/foretell".into(), "`/proc/foretell`", 1),
    ] {
        let mut arguments = place.arguments(&ENDLESS);
        arguments.extend(["-o".to_owned(), output.display().to_string()]);
        let done = run(arguments);
        assert_eq!((done.status, done.stdout.as_str()), (Some(status), ""), "{output:?}");
        assert!(done.stderr.contains("cannot make the directory `"), "{}", done.stderr);
        assert!(done.stderr.contains(named), "{}", done.stderr);
    }
    assert_eq!(std::fs::read_to_string(place.path("file")).unwrap(), "mine");
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_at_once() {
    let place = Place::with(SMALL);
    std::fs::create_dir(place.path("disk")).unwrap();
    let script = "mount -t tmpfs none \"$1\" && mkdir \"$1/out\" \
                  && mount -o remount,ro \"$1\" || exit 77; shift; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(place.path("disk"));
    command.arg(env!("CARGO_BIN_EXE_foretell")).args(place.keeping("disk/out", &ENDLESS));
    let output = command.current_dir(root()).output();
    let Some(done) = output.ok().map(Done::from).filter(|done| {
        done.status.is_some_and(|status| status != 77) && !done.stderr.contains("unshare")
    }) else {
        eprintln!("skipped: no memory disk may be mounted here");
        return;
    };
    assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains("disk/out"), "{}", done.stderr);
    assert!(done.stderr.contains("Read-only file system"), "{}", done.stderr);
}

#[test]
fn results_that_cannot_be_printed_are_a_failure_but_for_a_reader_who_has_had_enough() {
    let place = Place::with(SMALL);
    if Path::new("/dev/full").exists() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = foretell().args(place.arguments(&[])).stdout(full).output().unwrap();
        let done = Done::from(output);
        assert_eq!(done.status, Some(1));
        assert!(done.stderr.starts_with("  × cannot write the results: "), "{}", done.stderr);
    }
    let mut child = foretell().args(place.arguments(&["--json"])).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(Done::from(child.wait_with_output().unwrap()).status, Some(0));
}
