//! What requests may take at most.

use std::time::Duration;

/// Bytes of a request's body: scenarios are a few KiB.
pub const BODY: usize = 1 << 20;
/// Time that a run may take, waiting for its turn left out.
pub const RUN: Duration = Duration::from_secs(300);
/// Runs that wait for their turn.
pub const WAITING: usize = 16;
/// Runs that are kept; older ones must be removed first.
pub const KEPT: usize = 200;
/// Runs whose records are open for questions.
pub const OPEN: usize = 4;
/// Answers that are remembered.
pub const ANSWERS: usize = 512;
/// Changes of a question or a run.
pub const CHANGES: usize = 64;
/// Questions that are answered at a time; more wait.
pub const ASKING: usize = 4;
/// Questions that wait for an answer.
pub const QUEUED: usize = 64;
/// Threads that run blocking work.
pub const BLOCKING_THREADS: usize = 16;
/// Runs on a page.
pub const COMPARED: usize = 4;
/// Clients that follow the progress of runs.
pub const FOLLOWERS: usize = 64;
