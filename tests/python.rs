//! Data sets, read by the packages that people read data sets with, and made on a Dask cluster.
//!
//! The packages are installed into `target/python` if they are not there. Where they cannot be (no
//! Python, no package index) the tests say that they are skipped, but for CI, where that is a failure.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use common::{root, succeed};

/// 24 runs of some milliseconds.
const SWEEP: &str = r#"
title = "Small: \"quoted\", and a colon"
replicates = 2

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
validation = "30%"
test       = "30%"

[output]
requests = "1/5"
records  = ["disk_op"]

[scenario]
warmup   = "50 ms"
duration = "400 ms"

[scenario.node.brick]
count = 3
cpu   = "pentium4-2.6"
cache = { size = "32 MiB" }
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

/// One installs at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A Python with the packages; `None`, with a word about it, if there can be none.
fn python() -> Option<PathBuf> {
    let _alone = INSTALLING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let home = root().join("target/python");
    let (python, ready) = (home.join("bin/python"), home.join("ready"));
    let wanted = root().join("tests/python/requirements.txt");
    let is_ready = || {
        let text = |path: &Path| std::fs::read_to_string(path).ok();
        text(&ready).is_some() && text(&ready) == text(&wanted)
    };
    if !is_ready() {
        let make = Command::new("python3").args(["-m", "venv"]).arg(&home).output();
        let install = |_| {
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
            Command::new(&python).args(pip).arg(&wanted).output()
        };
        let done = make.and_then(install);
        if done.as_ref().is_ok_and(|done| done.status.success()) {
            std::fs::copy(&wanted, &ready).unwrap();
        } else {
            let reason = match done {
                Ok(done) => String::from_utf8_lossy(&done.stderr).into_owned(),
                Err(error) => error.to_string(),
            };
            assert!(std::env::var_os("CI").is_none(), "the packages cannot be installed: {reason}");
            eprintln!("skipped: the Python packages cannot be installed: {reason}");
            return None;
        }
    }
    Some(python)
}

/// Runs a script, without the network and with caches of its own.
fn script(python: &Path, home: &Path, name: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(python);
    command.arg(root().join(name)).args(arguments);
    command.env("HF_HOME", home.join("hf")).env("HF_HUB_OFFLINE", "1");
    let done = command.current_dir(home).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{name}: {out}\n{err}");
    out.into_owned()
}

#[test]
fn pandas_polars_duckdb_and_datasets_read_what_is_made() {
    let Some(python) = python() else { return };
    let home = tempfile::tempdir().unwrap();
    let (sweep, out) = (home.path().join("sweep.toml"), home.path().join("out"));
    std::fs::write(&sweep, SWEEP).unwrap();
    let (sweep, out) = (sweep.to_str().unwrap(), out.to_str().unwrap());
    succeed(["sweep", sweep, "-o", out]);
    let printed = script(&python, home.path(), "tests/python/read_data_set.py", &[out, "24"]);
    assert_eq!(printed, "pandas, Polars, DuckDB and datasets agree on 24 rows\n");
}

#[test]
fn a_dask_cluster_of_two_workers_makes_the_same_data_set() {
    let Some(python) = python() else { return };
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    std::fs::write(path("sweep.toml"), SWEEP).unwrap();
    let digest = |printed: &str| printed.lines().last().map(str::to_owned);
    let here = digest(&succeed(["sweep", &path("sweep.toml"), "-o", &path("here")]));
    assert!(here.as_ref().is_some_and(|line| line.starts_with("digest ")), "{here:?}");
    let program = env!("CARGO_BIN_EXE_foretell");
    let there = script(
        &python,
        home.path(),
        "docs/dask_sweep.py",
        &[
            &path("sweep.toml"),
            &path("there"),
            "--workers",
            "2",
            "--shards",
            "5",
            "--program",
            program,
        ],
    );
    assert_eq!(there.matches(" on 2 workers").count(), 5, "{there}");
    assert_eq!(digest(&there), here);
}

#[cfg(unix)]
#[test]
fn a_dask_cluster_that_loses_one_of_two_workers_makes_the_same_data_set() {
    let Some(python) = python() else { return };
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    // a shard takes seconds, so that its worker can be killed before it is done
    let sweep = SWEEP.replace("replicates = 2", "replicates = 100");
    std::fs::write(path("sweep.toml"), sweep).unwrap();
    let digest = |printed: &str| printed.lines().last().map(str::to_owned);
    let here = digest(&succeed(["sweep", &path("sweep.toml"), "-o", &path("here")]));
    let dask = root().join("docs/dask_sweep.py").display().to_string();
    let there = script(
        &python,
        home.path(),
        "tests/python/kill_worker.py",
        &[
            &dask,
            &path("sweep.toml"),
            &path("there"),
            "--workers",
            "2",
            "--shards",
            "2",
            "--program",
            env!("CARGO_BIN_EXE_foretell"),
        ],
    );
    assert_eq!(digest(&there), here);
}
