//! Limits of requests.

use std::time::Duration;

/// Maximum bytes of a request's body; scenarios are a few KiB.
pub const BODY: usize = 1 << 20;
/// Maximum time of a run, without waiting for its turn.
pub const RUN: Duration = Duration::from_secs(300);
/// Maximum number of runs that wait for their turn.
pub const WAITING: usize = 16;
/// Maximum number of kept runs; with more, older ones must be removed first.
pub const KEPT: usize = 200;
/// Maximum number of runs whose records are open for questions.
pub const OPEN: usize = 4;
/// Maximum number of remembered answers.
pub const ANSWERS: usize = 512;
/// Maximum number of changes of a question or a run.
pub const CHANGES: usize = 64;
/// Maximum number of questions that wait for an answer.
pub const QUEUED: usize = 64;
/// Number of threads for short blocking work, besides those for work that takes turns.
pub const BLOCKING_THREADS: usize = 16;
/// Maximum number of checks and reports that wait for their turn.
pub const PENDING: usize = 64;
/// Maximum time of finding the settings of a run that can be changed; each value is a check of the scenario.
pub const SETTINGS_TIME: Duration = Duration::from_secs(2);
/// The same for a scenario that is being written, which is checked again and again.
pub const DRAFT_SETTINGS_TIME: Duration = Duration::from_millis(300);
/// Maximum number of settings of a scenario that are offered.
pub const SETTINGS: usize = 60;
/// Maximum number of ended runs that were not kept and are still listed.
pub const ENDED: usize = 50;
/// Maximum number of open connections.
pub const CONNECTIONS: usize = 512;
/// Maximum time in which a client sends the head of a request.
pub const HEAD_TIME: Duration = Duration::from_secs(15);
/// Maximum number of runs on a page.
pub const COMPARED: usize = 4;
/// Maximum number of listed sweeps.
pub const SWEEPS: usize = 200;
/// Maximum number of sweeps under way whose rows are kept for charts.
pub const EXPLORED: usize = 8;
/// Number of requests about sweeps that are answered at a time.
pub const SWEEP_TURNS: usize = 2;
/// Maximum number of points of a sweep's chart.
pub const POINTS: usize = 5_000;
/// Maximum number of runs of a complete sweep that are read for a chart.
pub const MAX_RUNS: u64 = 2_000_000;
/// Maximum number of clients that follow the progress of runs.
pub const FOLLOWERS: usize = 64;
