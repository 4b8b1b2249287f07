//! Where a case runs: a directory with files that must stay as they are, and limits.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Memory, KiB, of the whole address space.
const MEMORY_KIB: u64 = 2 << 20;
/// Size of a file that is written, in blocks of 512 bytes.
const FILE_BLOCKS: u64 = 2 << 20;
/// Processor time, s: this build is not optimised, and may be several times as slow as a release.
const PROCESSOR_S: u64 = 60;
/// After so long what is long is asked to end, and after so long all is killed.
const SOFT: Duration = Duration::from_millis(1500);
const HARD: Duration = Duration::from_secs(120);
/// More than this on standard error helps nobody.
const MAX_STDERR: usize = 256 << 10;
/// Signal of Ctrl-C.
const INTERRUPT: i32 = 2;

/// `in` holds the case's input, `out` is what its `-o` names; `work` is where it runs.
pub(crate) struct Sandbox {
    dir: TempDir,
}

/// How a command ended that ended in order.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None`: it was asked to.
    pub(crate) status: Option<i32>,
    /// What it said on standard error.
    pub(crate) stderr: String,
}

/// What is known of a file: its length, and its content if it is not large.
type Known = BTreeMap<PathBuf, (bool, u64, u64)>;

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self { dir: tempfile::tempdir().expect("there is room for temporary files") };
        let root = sandbox.root();
        for name in ["work/data", "work/archive", "tmp", "above"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in [
            "work/measurements.csv",
            "work/data/measurements.csv",
            "work/archive/old.csv",
            "work/README.md",
            "work/run.toml",
            "above/victim.csv",
            "victim.csv",
        ] {
            fs::write(root.join(name), format!("{name} stays\n")).unwrap();
        }
        sandbox
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// A path of the case's input, as the case may write it; the command sees it as `../in/NAME`.
    pub(crate) fn input(&self, name: &str) -> PathBuf {
        let path = self.root().join("in").join(name);
        fs::create_dir_all(path.parent().expect("it is below `in`")).unwrap();
        path
    }

    /// Removes what the case before had and left.
    pub(crate) fn clear(&self) {
        for name in ["in", "out"] {
            let path = self.root().join(name);
            if path.exists() {
                fs::remove_dir_all(&path).unwrap();
            }
            fs::create_dir(&path).unwrap();
        }
    }

    /// Keeps input and output of a case for whoever looks into it.
    pub(crate) fn keep(&self, target: &str, seed: u64) -> PathBuf {
        let kept = crate::common::root().join("target/fuzz").join(format!("{target}-{seed}"));
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir_all(&kept).unwrap();
        let from = self.root().join("in");
        let copied = Command::new("cp").arg("-r").arg(&from).arg(&kept).status();
        assert!(copied.is_ok_and(|status| status.success()));
        kept
    }

    /// All files but those of the output.
    fn known(&self) -> Known {
        let mut known = Known::new();
        self.collect(Path::new(""), &mut known);
        known
    }

    fn collect(&self, below: &Path, known: &mut Known) {
        let Ok(entries) = fs::read_dir(self.root().join(below)) else { return };
        for entry in entries {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            if path == Path::new("out") {
                continue;
            }
            let there = entry.metadata().unwrap();
            let hash = if there.is_file() && there.len() < 4 << 20 {
                let mut hasher = DefaultHasher::new();
                fs::read(entry.path()).unwrap_or_default().hash(&mut hasher);
                hasher.finish()
            } else {
                0
            };
            known.insert(
                path.clone(),
                (there.is_dir(), if there.is_dir() { 0 } else { there.len() }, hash),
            );
            if there.is_dir() {
                self.collect(&path, known);
            }
        }
    }

    /// Runs the command; how it ended, or what is wrong with that.
    pub(crate) fn run(&self, arguments: &[String], long: bool) -> Result<Ended, String> {
        let before = self.known();
        let shown = arguments.iter().map(|a| format!("{a:?}")).collect::<Vec<_>>().join(" ");
        let shown = format!("foretell {}", shown.chars().take(2000).collect::<String>());
        let ended = self.ended(arguments, long);
        let (status, asked, seconds, stderr) =
            ended.map_err(|fault| format!("{shown}\n{fault}"))?;
        let fault = |what: String| {
            let tail: String = stderr.chars().take(3000).collect();
            Err(format!("{shown}\n{what}, after {seconds:.1} s\n{tail}"))
        };
        for word in [
            "panicked",
            "with overflow",
            "overflowed its stack",
            "memory allocation of",
            "stack backtrace",
            "corrupted",
        ] {
            if stderr.contains(word) {
                return fault(format!("`{word}` on standard error"));
            }
        }
        let interrupted =
            asked && (status.signal() == Some(INTERRUPT) || matches!(status.code(), Some(1 | 130)));
        if !interrupted && !matches!(status.code(), Some(0..=2)) {
            return fault(format!("it ended with {status}"));
        }
        // `sweep missing` says by its status alone that runs are missing
        let by_status = arguments.iter().any(|word| word == "missing") && status.code() == Some(1);
        let explains = by_status || !stderr.trim().is_empty();
        if matches!(status.code(), Some(1 | 2)) && !explains {
            return fault("it does not say why it failed".to_owned());
        }
        if stderr.len() > MAX_STDERR {
            return fault(format!("it says too much: {} bytes", stderr.len()));
        }
        let after = self.known();
        let changed: Vec<&PathBuf> = before
            .keys()
            .chain(after.keys())
            .filter(|path| before.get(*path) != after.get(*path))
            .collect();
        if !changed.is_empty() {
            return fault(format!("it changed files that are none of its output: {changed:?}"));
        }
        Ok(Ended { status: if interrupted { None } else { status.code() }, stderr })
    }

    /// How the command ended, whether it was asked to, after how long, and what it said.
    fn ended(
        &self,
        arguments: &[String],
        long: bool,
    ) -> Result<(ExitStatus, bool, f64, String), String> {
        let limits = format!(
            "ulimit -v {MEMORY_KIB} && ulimit -f {FILE_BLOCKS} && ulimit -t {PROCESSOR_S} && \
             ulimit -c 0 && exec \"$0\" \"$@\""
        );
        let temporary = self.root().join("tmp");
        let mut child = Command::new("sh")
            .args(["-c", &limits, env!("CARGO_BIN_EXE_foretell")])
            .args(arguments)
            .current_dir(self.root().join("work"))
            .env("HOME", &temporary)
            .env("TMPDIR", &temporary)
            .env("NO_COLOR", "1")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the command does not start: {error}"))?;
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        // both are read to their ends, so that nobody waits for us
        let out = std::thread::spawn(move || drained(stdout));
        let stderr = std::thread::spawn(move || drained(stderr));
        let begun = Instant::now();
        let (status, asked) = wait(&mut child, long)?;
        let _ = out.join();
        let stderr = stderr.join().unwrap_or_default();
        Ok((status, asked, begun.elapsed().as_secs_f64(), stderr))
    }
}

/// Waits for the end; whether the command had to be asked for it.
fn wait(child: &mut Child, long: bool) -> Result<(ExitStatus, bool), String> {
    let begun = Instant::now();
    let (mut pause, mut asked) = (Duration::from_micros(500), false);
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok((status, asked));
        }
        let elapsed = begun.elapsed();
        if long && !asked && elapsed > SOFT {
            asked = true;
            let number = child.id().to_string();
            let _ = Command::new("kill").args(["-s", "INT", &number]).status();
        }
        if elapsed > HARD {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it has not ended after {} s", HARD.as_secs()));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The first part of what is written, as a text; the rest is read and forgotten.
fn drained(mut source: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 1 << 14];
    while let Ok(count) = source.read(&mut buffer) {
        if count == 0 {
            break;
        }
        if kept.len() <= MAX_STDERR {
            kept.extend_from_slice(&buffer[..count]);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
