//! Kernel-level processes by number: the same on each host.

use crate::cpu::Thread;

/// The storage server of a node.
pub const SERVER: u32 = 1;
/// The kernel's flusher of dirty pages.
pub const FLUSHER: u32 = foretell_algorithms::node::FLUSHER.pid;
/// Who ships activity records and stores them.
pub const TRACKER: u32 = 3;
/// The first workload's application; the others follow in order.
pub const FIRST_APPLICATION: u32 = 100;

/// The number of the process that runs a workload.
pub const fn application(workload: u32) -> u32 {
    FIRST_APPLICATION + workload
}

/// The processes that are always the same, by number and name.
pub const SYSTEM: [(u32, &str); 4] =
    [(Thread::IDLE.pid, "idle"), (SERVER, "server"), (FLUSHER, "flusher"), (TRACKER, "tracker")];
