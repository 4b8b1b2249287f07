//! The built command, run in directories of the test's own.
#![allow(
    dead_code,
    unused_imports,
    reason = "the tests of fuzz and of settings use a part of this"
)]

pub(crate) mod fio;
pub(crate) mod measured;
pub(crate) mod questions;

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use foretell_ati::rusqlite::types::Value;
use foretell_ati::rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// A small cluster with everything in it: a mirrored volume and an encrypted, coded one whose
/// writes are partial (so blocks are fetched first), a closed and an open loop, caches that miss,
/// read-ahead, write-back that flushes within the run.
pub(crate) const SMALL: &str = r#"
seed     = 7
warmup   = "200 ms"
duration = "1 s"
tracking = { overhead = true }
[node.brick]
count = 4
cpu   = "pentium4-2.6"
cache = { size = "24 MiB", dirty_background = "256 KiB", dirty_limit = "1 MiB", flush_interval = "100 ms", dirty_expire = "300 ms" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-p4-3.0"

[volume.mirror]
size     = "64 MiB"
nodes    = "brick[0-2]"
encoding = "1-of-2"

[volume.coded]
size     = "64 MiB"
nodes    = "brick"
encoding = "2-of-3"
cipher   = "aes-128-cbc"

[workload.stream]
volume      = "mirror"
client      = "app0"
kind        = "ssio"
reads       = "90%"
pattern     = "sequential"
access      = "16 KiB"
outstanding = 2

[workload.update]
volume   = "coded"
client   = "app"
kind     = "ssio"
reads    = "40%"
access   = "4 KiB"
arrivals = "poisson"
rate     = 60
"#;

/// The project's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) use foretell_test_data::shared as data;

/// The command, at the project's root, without a terminal.
pub(crate) fn foretell() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(root()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // who runs the tests may have asked for backtraces, or colours
    command.env("RUST_BACKTRACE", "1").env("NO_COLOR", "1").env_remove("FORCE_COLOR");
    // nor is a screen of any width meant
    command.env_remove("COLUMNS");
    command
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Done {
    /// The exit status; `None`: killed by a signal.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(!stderr.contains("stack backtrace"), "{stderr}");
        Self { status: output.status.code(), stdout, stderr }
    }
}

/// Runs the command with these arguments.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Done {
    foretell().args(arguments).output().expect("the command starts").into()
}

/// Runs the command, which must succeed silently; what it printed.
pub(crate) fn succeed<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let done = run(arguments);
    // a note says what a setting does not do; the command goes on
    let complaints: Vec<&str> =
        done.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!((done.status, complaints.join("\n").as_str()), (Some(0), ""), "{}", done.stdout);
    done.stdout
}

/// A directory with a scenario in it, and room for runs.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    /// With this scenario as `scenario.toml`.
    pub(crate) fn with(scenario: &str) -> Self {
        let dir = tempfile::tempdir().expect("there is room for temporary files");
        std::fs::write(dir.path().join("scenario.toml"), scenario).unwrap();
        Self { dir }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> PathBuf {
        self.path("scenario.toml")
    }

    /// Arguments that run the scenario.
    pub(crate) fn arguments(&self, more: &[&str]) -> Vec<String> {
        let scenario = self.scenario().display().to_string();
        ["run", &scenario].into_iter().chain(more.iter().copied()).map(str::to_owned).collect()
    }

    /// Arguments that run the scenario and keep the run under `name`.
    pub(crate) fn keeping(&self, name: &str, more: &[&str]) -> Vec<String> {
        let mut arguments = self.arguments(more);
        arguments.extend(["-o".to_owned(), self.path(name).display().to_string()]);
        arguments
    }

    /// Runs the scenario and keeps the run under `name`; where it is.
    pub(crate) fn keep(&self, name: &str, more: &[&str]) -> PathBuf {
        succeed(self.keeping(name, more));
        self.path(name)
    }
}

/// The names of the files in a directory, sorted, but for the list of our files; none if it does not
/// exist.
pub(crate) fn files(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> =
        entries.map(|entry| name(entry).into_string().expect("our names are UTF-8")).collect();
    names.retain(|name| name != ".foretell.json");
    names.sort();
    names
}

/// A truth as printed or kept.
pub(crate) fn truth(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("a truth is JSON")
}

/// The truth of a run that was kept.
pub(crate) fn truth_of(dir: &Path) -> serde_json::Value {
    truth(&std::fs::read_to_string(dir.join("truth.json")).unwrap())
}

/// A truth as text, without the time that this computer took.
pub(crate) fn timeless(mut truth: serde_json::Value) -> String {
    let wall = truth.as_object_mut().unwrap().remove("wall_seconds").unwrap();
    assert!(wall.as_f64().unwrap() > 0.0);
    format!("{truth:#}\n")
}

/// The store of a run that was kept, by SQL.
pub(crate) fn store(dir: &Path) -> Connection {
    let path = dir.join("run.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// All rows of a query.
pub(crate) fn rows(db: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = db.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = statement.column_count();
    let row = |row: &foretell_ati::rusqlite::Row<'_>| {
        (0..columns).map(|column| row.get::<_, Value>(column)).collect()
    };
    statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

/// All rows of a query whose columns are integers.
pub(crate) fn integers(db: &Connection, sql: &str) -> Vec<Vec<i64>> {
    let integer = |value| match value {
        Value::Integer(value) => value,
        other => panic!("{sql}: {other:?} is not an integer"),
    };
    rows(db, sql).into_iter().map(|row| row.into_iter().map(integer).collect()).collect()
}

/// The only number that a query gives.
pub(crate) fn integer(db: &Connection, sql: &str) -> i64 {
    let rows = integers(db, sql);
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [1], "{sql}");
    rows[0][0]
}

/// Everything in a store, as text.
pub(crate) fn dump(db: &Connection) -> String {
    let mut text = String::new();
    let tables = rows(db, "SELECT type, name, sql FROM sqlite_schema ORDER BY name");
    for table in &tables {
        let _ = writeln!(text, "{table:?}");
        let (Value::Text(kind), Value::Text(name)) = (&table[0], &table[1]) else { continue };
        if kind == "table" {
            for row in rows(db, &format!("SELECT * FROM {name}")) {
                let _ = writeln!(text, "{row:?}");
            }
        }
    }
    text
}
