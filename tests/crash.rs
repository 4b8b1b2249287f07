//! Whatever ends a run before its end, what it leaves never looks whole.
//!
//! The shell, signals and file size limits of Unix are used; a full disk is a small memory disk in a
//! name space of its own, or is skipped, saying so, where none may be made.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "another process is waited for")]

mod common;

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

#[test]
fn kill_leaves_a_partial_store_that_nothing_takes_for_a_run() {
    let place = Place::with(SMALL);
    // a whole run was here before
    let dir = place.keep("out", &[]);
    assert_eq!(files(&dir), WHOLE);
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
        let dir = place.keep("out", &[]);
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
    // in blocks of 512 bytes, or of 1024 in some shells: less than the 1.3 MB that the store needs,
    // at its beginning, in its middle and near its end
    for blocks in [1, 100, 1000] {
        let dir = place.keep("out", &[]);
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
        let done = through_shell(&limit, &place.keeping("out", &[]));
        assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""), "{blocks}");
        assert!(done.stderr.contains("run.db.partial`: "), "{}", done.stderr);
        assert!(!dir.exists(), "{blocks}");
    }
    // without `trap` the signal kills the process on the spot
    let dir = place.keep("out", &[]);
    let done = through_shell("ulimit -f 1000", &place.keeping("out", &[]));
    assert_eq!(done.status, None);
    assert_eq!(files(&dir), ["run.db.partial"]);
    is_refused(&dir, "`run.db.partial`");
    is_replaced(&place, "out");
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
    for (output, named) in [
        (place.path("file"), "file`"),
        (place.path("file/below"), "file/below`"),
        ("/dev/null/x".into(), "`/dev/null/x`"),
        ("/proc/foretell".into(), "`/proc/foretell`"),
    ] {
        let mut arguments = place.arguments(&ENDLESS);
        arguments.extend(["-o".to_owned(), output.display().to_string()]);
        let done = run(arguments);
        assert_eq!((done.status, done.stdout.as_str()), (Some(1), ""), "{output:?}");
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
