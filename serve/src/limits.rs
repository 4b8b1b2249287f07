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
/// Number of threads for blocking work.
pub const BLOCKING_THREADS: usize = 16;
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
pub const MOST_RUNS: u64 = 2_000_000;
/// Maximum number of clients that follow the progress of runs.
pub const FOLLOWERS: usize = 64;
