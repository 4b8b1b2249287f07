//! Tests that a run that dies, in any way, leaves nothing that looks like a store.
//!
//! The process that dies is this same test program, started again as a child.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use foretell_ati::{
    Facts, Method, PARTIAL_FILE, Recorder, STORE_FILE, Selection, StoreError, open_run, synthetic,
};
use foretell_files::FilesError;
use foretell_units::Seed;

const DIR: &str = "FORETELL_TEST_CHILD_DIR";
const RECORDS: &str = "FORETELL_TEST_CHILD_RECORDS";
const METHOD: &str = "FORETELL_TEST_CHILD_METHOD";

/// Records as specified by its environment, until the store fails, and finishes.
#[test]
#[ignore = "run by the other tests, as a child"]
fn child() {
    if std::env::var_os(DIR).is_none() {
        return; // all ignored tests are run, and this is none
    }
    let variable = |name| std::env::var(name).expect("set by the parent");
    let method = if variable(METHOD) == "pages" { Method::Pages } else { Method::Statements };
    let total = variable(RECORDS).parse().expect("a number");
    let mut recorder = match Recorder::create_by(method, variable(DIR).as_ref(), Selection::ALL) {
        Ok(recorder) => recorder,
        Err(error) => return println!("\nno start: {error}"),
    };
    let sample = synthetic::records(1000, Seed(1));
    for (posted, record) in synthetic::repeated(&sample, 1000, total).enumerate() {
        if posted == 300_000 {
            println!("\nunder way");
        }
        if recorder.failed() {
            println!("\nfailed after {posted}");
            break;
        }
        recorder.post(record);
    }
    match recorder.finish(&Facts::default(), &[]) {
        Ok(summary) => println!("\nfinished {}", summary.total()),
        Err(error) => println!("\nno finish: {error}"),
    }
}

/// The command that runs `child`; `before`: shell commands that come first.
fn command(before: &str, dir: &Path, method: &str, records: u64) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{before} exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .env(METHOD, method)
        .env(RECORDS, records.to_string())
        .stdout(Stdio::piped());
    command
}

/// The output of `child` if it may write files of only `kib` KiB.
fn with_file_limit(kib: u64, dir: &Path, method: &str, records: u64) -> String {
    // The shell counts in blocks of 512 bytes. The signal that would kill the process is ignored,
    // so that the file system returns an error like a full one.
    let before = format!("trap '' XFSZ; ulimit -f {};", kib * 2);
    let output = command(&before, dir, method, records).output().expect("a child");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The names in a directory, without the list of our files; empty if it does not exist.
fn files(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != foretell_files::MANIFEST).collect()
}

#[test]
fn a_killed_run_leaves_a_partial_file_that_is_refused_and_replaced() {
    for method in ["pages", "statements"] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = command("", dir.path(), method, u64::MAX).spawn().expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "under way"));
        // While it is running, no other process may write there ...
        let busy = Recorder::create(dir.path(), Selection::ALL).unwrap_err();
        assert!(matches!(busy, StoreError::Files(FilesError::Busy { .. })), "{busy}");
        child.kill().expect("SIGKILL");
        child.wait().expect("its end");
        // ... and when it is dead, there is nothing to read, and any process may write.
        assert_eq!(files(dir.path()), [PARTIAL_FILE]);
        let refused = open_run(dir.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Interrupted { .. }), "{refused}");
        let recorder = Recorder::create(dir.path(), Selection::ALL).unwrap();
        recorder.finish(&Facts::default(), &[]).unwrap();
        assert_eq!(files(dir.path()), [STORE_FILE]);
        open_run(dir.path()).unwrap();
    }
}

#[test]
fn a_full_disk_stops_the_run_and_leaves_nothing() {
    for method in ["pages", "statements"] {
        let dir = tempfile::tempdir().unwrap();
        // The empty tables alone take 12 pages of 16 KiB.
        let output = with_file_limit(100, dir.path(), method, 10);
        assert!(output.contains("\nno start: cannot"), "{method}: {output}");
        assert!(files(dir.path()).is_empty());
        // Few records fit, the facts do not.
        let output = with_file_limit(250, dir.path(), method, 10);
        assert!(output.contains("\nno finish: cannot write"), "{method}: {output}");
        assert!(files(dir.path()).is_empty());
        // 4 MiB are full after some 130 000 records. The run learns of it when the batches in
        // progress are used up, and the pages that SQLite holds: well before the end.
        let output = with_file_limit(4096, dir.path(), method, u64::MAX);
        let failed = output.lines().find_map(|line| line.strip_prefix("failed after "));
        let posted: u64 = failed.and_then(|n| n.parse().ok()).expect("the run heard of it");
        assert!((130_000..400_000).contains(&posted), "{method}: {output}");
        assert!(output.contains("\nno finish: cannot write"), "{method}: {output}");
        assert!(files(dir.path()).is_empty());
        // With enough room everything works.
        let output = with_file_limit(4096, dir.path(), method, 50_000);
        assert!(output.contains("\nfinished 50000"), "{method}: {output}");
        assert_eq!(files(dir.path()), [STORE_FILE]);
    }
}
