//! Runs: waiting, running and kept ones.
//!
//! A run of this server is kept in `served/run-N` below the served directory, and its id is
//! `served-N`. The id of any other run in the directory is the name of its directory; such runs are
//! only read.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::http::StatusCode;
use foretell_core::records::STORE_FILE;
use foretell_core::{Error, Run, RunDirectory, SCENARIO_FILE, Scenario, TRUTH_FILE};
use foretell_files::FilesError;
use foretell_scenarios::Change;
use serde::Serialize;
use tokio::sync::watch;

use crate::limits;
use crate::problem::Problem;

/// The subdirectory with the server's runs.
const SERVED: &str = "served";
/// Time between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// The state of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(crate) enum Status {
    /// It waits for its turn.
    Waiting,
    /// It is being simulated.
    Running {
        /// Part of the simulated time that has passed, if its end is known.
        share: Option<f64>,
        /// Simulated seconds.
        simulated_s: f64,
        requests: u64,
        events: u64,
    },
    /// It is kept, and can be asked about.
    Done,
    Failed {
        error: String,
    },
    Stopped,
}

impl Status {
    pub(crate) fn is_over(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Running { .. })
    }
}

/// A run of this server since its start.
pub(crate) struct Entry {
    number: u64,
    title: String,
    /// Until the run begins.
    pending: Mutex<Option<Pending>>,
    status: watch::Sender<Status>,
    stop: AtomicBool,
}

/// A run that waits. If it never begins, its directory goes with it, except for files that the user put there.
struct Pending {
    scenario: Scenario,
    directory: RunDirectory,
}

impl Entry {
    /// Ends a run. Of a run that is not kept, nothing stays.
    fn end(&self, status: Status) {
        lock(&self.pending).take();
        self.status.send_replace(status);
    }
}

/// A run in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    id: String,
    /// Its path below the served directory.
    path: String,
    title: String,
    /// Whether this server made it and may remove it.
    served: bool,
    #[serde(flatten)]
    status: Status,
}

/// All runs.
pub(crate) struct Runs {
    directory: PathBuf,
    state: Arc<(Mutex<State>, Condvar)>,
    open: Mutex<VecDeque<Open>>,
}

/// A run whose records are open for questions.
struct Open {
    id: String,
    version: Version,
    run: Arc<Run>,
}

/// Distinguishes the files of a run from those of another run that replaces it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Version(Vec<(u64, u64, Option<SystemTime>)>);

impl Version {
    /// Of the run in a directory.
    fn of(directory: &Path) -> Self {
        let file = |name| {
            let found = fs::metadata(directory.join(name)).ok()?;
            Some((inode(&found), found.len(), found.modified().ok()))
        };
        Self([STORE_FILE, TRUTH_FILE, SCENARIO_FILE].into_iter().filter_map(file).collect())
    }
}

#[cfg(unix)]
fn inode(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

#[derive(Default)]
struct State {
    next: u64,
    entries: BTreeMap<u64, Arc<Entry>>,
    queue: VecDeque<Arc<Entry>>,
}

/// The parsed id of a run.
enum Name<'a> {
    Served(u64),
    Own(&'a str),
}

impl Runs {
    /// The runs of a directory; starts the threads that simulate.
    pub(crate) fn new(directory: &Path, jobs: usize) -> io::Result<Self> {
        if !fs::metadata(directory)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        if served(directory).is_none() {
            let message =
                format!("`{SERVED}` in it is a link or a file; runs are kept in a directory");
            return Err(io::Error::other(message));
        }
        for (_, path) in numbered(directory).into_iter().filter(|(_, path)| holds(path, &[])) {
            // what cannot be removed does no harm: its number is not given again
            let _ = RunDirectory::remove_unfinished(&path);
        }
        let next = 1 + numbers(directory).max().unwrap_or(0);
        let state = State { next, ..State::default() };
        let state = Arc::new((Mutex::new(state), Condvar::new()));
        for _ in 0..jobs.max(1) {
            let state = Arc::clone(&state);
            std::thread::Builder::new().name("run".to_owned()).spawn(move || work(&state))?;
        }
        Ok(Self { directory: directory.to_owned(), state, open: Mutex::default() })
    }

    /// The directory that is served.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Puts a run into the queue.
    pub(crate) fn begin(&self, scenario: Scenario, title: String) -> Result<Listed, Problem> {
        let kept = numbers(&self.directory).count();
        let has_room = |state: &State| {
            if state.queue.len() >= limits::WAITING {
                return Err(Problem::busy(format!("{} runs are waiting already", limits::WAITING)));
            }
            if kept + state.queue.len() >= limits::KEPT {
                return Err(Problem::busy(format!("{} runs are kept; remove some", limits::KEPT)));
            }
            Ok(())
        };
        let next = {
            let state = lock(&self.state.0);
            has_room(&state)?;
            state.next
        };
        // without the lock, so that no other request waits for the file system
        let (number, directory) = self.reserve(next)?;
        let mut state = lock(&self.state.0);
        has_room(&state)?;
        state.next = state.next.max(number + 1);
        let entry = Arc::new(Entry {
            number,
            title: if title.is_empty() { format!("run {number}") } else { title },
            pending: Mutex::new(Some(Pending { scenario, directory })),
            status: watch::Sender::new(Status::Waiting),
            stop: AtomicBool::new(false),
        });
        state.entries.insert(number, Arc::clone(&entry));
        state.queue.push_back(Arc::clone(&entry));
        self.state.1.notify_one();
        Ok(listed(&entry))
    }

    /// Makes the directory of a new run, with this number or a later one that is free. Another server of the same
    /// directory cannot make it, too.
    fn reserve(&self, from: u64) -> Result<(u64, RunDirectory), Problem> {
        let served = served(&self.directory).ok_or_else(|| {
            let fault = format!("cannot keep runs: `{SERVED}` is not a directory");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, fault)
        })?;
        let mut number = from;
        loop {
            match RunDirectory::reserve(&served.join(format!("run-{number}"))) {
                Ok(directory) => return Ok((number, directory)),
                Err(Error::Files(FilesError::Exists { .. })) => number += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// All runs: first those of this server, the latest first.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let mut entries: Vec<Arc<Entry>> =
            lock(&self.state.0).entries.values().map(Arc::clone).collect();
        // another server of the same directory, or the user, may have removed a run: files are looked at without the
        // lock, so that no other request waits for them
        let is_gone = |entry: &Entry| {
            *entry.status.borrow() == Status::Done
                && !self.served(entry.number).is_some_and(|path| is_run(&path))
        };
        let gone: Vec<_> = entries.extract_if(.., |entry| is_gone(entry)).collect();
        {
            let mut state = lock(&self.state.0);
            for entry in gone {
                state.entries.remove(&entry.number);
            }
        }
        let mut served: BTreeMap<u64, Listed> =
            entries.iter().map(|entry| (entry.number, listed(entry))).collect();
        for number in numbers(&self.directory) {
            served.entry(number).or_insert_with(|| Listed {
                id: format!("{SERVED}-{number}"),
                path: format!("{SERVED}/run-{number}"),
                title: format!("run {number}"),
                served: true,
                status: Status::Done,
            });
        }
        let own = own(&self.directory, is_run).into_iter().map(|name| Listed {
            id: name.clone(),
            path: name.clone(),
            title: name,
            served: false,
            status: Status::Done,
        });
        served.into_values().rev().chain(own).collect()
    }

    /// The progress of a run.
    pub(crate) fn follow(&self, id: &str) -> Result<watch::Receiver<Status>, Problem> {
        if let Some(entry) = self.entry(id) {
            return Ok(entry.status.subscribe());
        }
        self.find(id)?;
        Ok(watch::Sender::new(Status::Done).subscribe())
    }

    /// The directory of a kept run.
    pub(crate) fn find(&self, id: &str) -> Result<PathBuf, Problem> {
        let missing = || Problem::missing("such run");
        let path = match name(id).ok_or_else(missing)? {
            Name::Served(number) => self.served(number).ok_or_else(missing)?,
            Name::Own(name) => self.directory.join(name),
        };
        if let Some(entry) = self.entry(id) {
            let status = entry.status.borrow().clone();
            match status {
                Status::Done => {}
                Status::Failed { error } => {
                    return Err(Problem::bad(format!("the run failed: {error}")));
                }
                Status::Stopped => return Err(Problem::bad("the run was stopped")),
                _ => return Err(Problem::bad("the run is not over")),
            }
        }
        if is_run(&path) { Ok(path) } else { Err(missing()) }
    }

    /// The directory of a run of this server; `None` if it would lead elsewhere.
    fn served(&self, number: u64) -> Option<PathBuf> {
        served(&self.directory).map(|served| served.join(format!("run-{number}")))
    }

    /// The version of a kept run.
    pub(crate) fn version(&self, id: &str) -> Result<Version, Problem> {
        self.find(id).map(|path| Version::of(&path))
    }

    /// The records of a run, open for questions, which may name only files of the served directory. A run that
    /// replaces another is opened anew.
    pub(crate) fn open(&self, id: &str) -> Result<(Arc<Run>, Version), Problem> {
        let path = self.find(id)?;
        let mut open = lock(&self.open);
        // before the files are opened: if they are replaced meanwhile, the next question finds another version
        let version = Version::of(&path);
        if let Some(place) = open.iter().position(|known| known.id == id) {
            let found = open.remove(place).expect("it was found");
            if found.version == version {
                let run = Arc::clone(&found.run);
                open.push_back(found);
                return Ok((run, version));
            }
        }
        // keep the lock: others would open the same run
        let run = Arc::new(Run::open(&path)?.confining_changes(&self.directory));
        if open.len() >= limits::OPEN {
            open.pop_front();
        }
        open.push_back(Open { id: id.to_owned(), version: version.clone(), run: Arc::clone(&run) });
        Ok((run, version))
    }

    /// Stops a run, or removes a run that this server has made.
    pub(crate) fn remove(&self, id: &str) -> Result<(), Problem> {
        let Some(Name::Served(number)) = name(id) else {
            return Err(Problem::bad("only runs of this server can be removed here"));
        };
        if let Some(entry) = self.entry(id)
            && !entry.status.borrow().is_over()
        {
            entry.stop.store(true, Ordering::Relaxed);
            let is_waiting = {
                let queue = &mut lock(&self.state.0).queue;
                let place = queue.iter().position(|waiting| waiting.number == number);
                place.map(|place| queue.remove(place)).is_some()
            };
            if is_waiting {
                entry.end(Status::Stopped);
                forget_ended(&mut lock(&self.state.0));
            }
            return Ok(());
        }
        let path = self.served(number).ok_or_else(|| Problem::missing("such run"))?;
        let known = lock(&self.state.0).entries.remove(&number).is_some();
        if is_run(&path) {
            lock(&self.open).retain(|open| open.id != id);
            // files that the user put beside the run stay
            RunDirectory::remove(&path)?;
            return Ok(());
        }
        if known { Ok(()) } else { Err(Problem::missing("such run")) }
    }

    fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        let Some(Name::Served(number)) = name(id) else { return None };
        lock(&self.state.0).entries.get(&number).map(Arc::clone)
    }
}

pub(crate) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    // a panicking thread breaks no invariant, so the lock is still usable
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listed(entry: &Entry) -> Listed {
    Listed {
        id: format!("{SERVED}-{}", entry.number),
        path: format!("{SERVED}/run-{}", entry.number),
        title: entry.title.clone(),
        served: true,
        status: entry.status.borrow().clone(),
    }
}

/// Whether an id can be the name of a user's own directory. It then leads nowhere else.
pub(crate) fn is_own_name(id: &str) -> bool {
    matches!(name(id), Some(Name::Own(_)))
}

/// Parses an id; `None` if it names nothing, for example if it would lead out of the directory.
fn name(id: &str) -> Option<Name<'_>> {
    if let Some(number) = id.strip_prefix("served-") {
        let number: u64 = number.parse().ok()?;
        return (format!("served-{number}") == id).then_some(Name::Served(number));
    }
    let is_plain = id.len() <= 200
        && !id.starts_with('.')
        && id.chars().all(|c| c.is_ascii_alphanumeric() || "._- ".contains(c));
    (is_plain && !id.is_empty()).then_some(Name::Own(id))
}

/// Whether a path is a directory, not a link, with a complete run in it.
fn is_run(path: &Path) -> bool {
    holds(path, &[TRUTH_FILE, SCENARIO_FILE, STORE_FILE])
}

/// Whether a path is a directory, not a link, with these files in it, which are no links either.
pub(crate) fn holds(path: &Path, files: &[&str]) -> bool {
    let is = |path: &Path, wanted: fn(&fs::FileType) -> bool| {
        fs::symlink_metadata(path).is_ok_and(|found| wanted(&found.file_type()))
    };
    is(path, fs::FileType::is_dir)
        && files.iter().all(|file| is(&path.join(file), fs::FileType::is_file))
}

/// Names in a directory, except those of files.
fn directories(directory: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    // some file systems do not say what an entry is
    let may_be = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|found| !found.is_file());
    entries.filter(may_be).filter_map(|entry| entry.file_name().into_string().ok())
}

/// The directory of this server's runs, which may not exist yet; `None` if it would lead elsewhere.
fn served(directory: &Path) -> Option<PathBuf> {
    let served = directory.join(SERVED);
    let is_other = fs::symlink_metadata(&served).is_ok_and(|found| !found.is_dir());
    (!is_other).then_some(served)
}

/// What has the name of a run of this server, or of another one of the same directory: its number and path.
fn numbered(directory: &Path) -> Vec<(u64, PathBuf)> {
    let Some(served) = served(directory) else { return Vec::new() };
    let number = |name: &str| {
        let number: u64 = name.strip_prefix("run-")?.parse().ok()?;
        (format!("run-{number}") == name).then_some(number)
    };
    let found = directories(&served).filter_map(|name| Some((number(&name)?, served.join(name))));
    found.collect()
}

/// Numbers of the runs that this server, or an earlier one, has kept.
fn numbers(directory: &Path) -> impl Iterator<Item = u64> + use<> {
    numbered(directory).into_iter().filter(|(_, path)| is_run(path)).map(|(number, _)| number)
}

/// Forgets the oldest runs that ended and were not kept.
fn forget_ended(state: &mut State) {
    let is_ended =
        |entry: &Entry| matches!(*entry.status.borrow(), Status::Failed { .. } | Status::Stopped);
    let ended: Vec<u64> =
        state.entries.values().filter(|entry| is_ended(entry)).map(|entry| entry.number).collect();
    for number in &ended[..ended.len().saturating_sub(limits::ENDED)] {
        state.entries.remove(number);
    }
}

/// What the user has made in the directory and `is_wanted`, by name.
pub(crate) fn own(directory: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<String> {
    let is_own = |id: &String| is_own_name(id) && is_wanted(&directory.join(id));
    let mut found: Vec<String> = directories(directory).filter(is_own).collect();
    found.sort();
    found
}

/// Simulates queued runs, one after the other.
fn work(shared: &(Mutex<State>, Condvar)) {
    loop {
        let entry = {
            let mut state = lock(&shared.0);
            loop {
                if let Some(entry) = state.queue.pop_front() {
                    break entry;
                }
                state = shared.1.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulate(&entry)));
        let status = match done {
            Ok(Ok(())) => Status::Done,
            Ok(Err(_)) if entry.stop.load(Ordering::Relaxed) => Status::Stopped,
            Ok(Err(error)) => Status::Failed { error },
            Err(_) => Status::Failed {
                error: "this is a fault of the program; please report it".to_owned(),
            },
        };
        entry.end(status);
        forget_ended(&mut lock(&shared.0));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a run may take so long at most, and reports now and then"
)]
fn simulate(entry: &Entry) -> Result<(), String> {
    let Pending { scenario, directory } = lock(&entry.pending).take().expect("a run begins once");
    let (began, mut reported_at) = (Instant::now(), None::<Instant>);
    let mut late = false;
    let found = foretell_core::record_into(directory, &scenario, |progress| {
        late = began.elapsed() > limits::RUN;
        if late || entry.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if reported_at.is_none_or(|reported_at| reported_at.elapsed() > TICK) {
            reported_at = Some(Instant::now());
            let now = progress.now.as_secs_f64();
            let share = progress.end.map(|end| now / end.as_secs_f64().max(1e-9));
            entry.status.send_replace(Status::Running {
                share,
                simulated_s: now,
                requests: progress.requests,
                events: progress.events,
            });
        }
        ControlFlow::Continue(())
    });
    match found {
        Ok(_) => Ok(()),
        Err(_) if late => Err(format!(
            "the run was stopped after {} s; simulate less, or use `foretell run`",
            limits::RUN.as_secs()
        )),
        Err(error) => Err(error.lines()),
    }
}

/// Parses changes.
pub(crate) fn changes(written: &[String]) -> Result<Vec<Change>, Problem> {
    if written.len() > limits::CHANGES {
        return Err(Problem::bad(format!("{} changes at most", limits::CHANGES)));
    }
    written
        .iter()
        .map(|change| change.parse().map_err(Error::from).map_err(Problem::from))
        .collect()
}
