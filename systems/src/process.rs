//! Numbers of processes and threads. Processes have the same numbers on each host.

use foretell_algorithms::node::FLUSHER as FLUSHER_THREAD;
use foretell_units::Thread;

/// The storage server of a node.
pub const SERVER: u32 = 1;
/// The kernel's flusher of dirty pages.
pub const FLUSHER: u32 = FLUSHER_THREAD.pid;
/// Ships activity records and stores them.
pub const TRACKER: u32 = 3;
/// Scrubs the disks of a host; only in clusters that are scrubbed.
pub const SCRUBBER: u32 = 4;
/// The application of the first workload; the others follow in order.
pub const FIRST_APPLICATION: u32 = 100;

/// The process that runs a workload.
pub const fn application(workload: u32) -> u32 {
    FIRST_APPLICATION + workload
}

/// The processes that every host has, by number and name; `scrubs`: whether the cluster is scrubbed.
pub fn system(scrubs: bool) -> impl Iterator<Item = (u32, &'static str)> {
    let all: [(u32, &str); 4] = [
        (Thread::IDLE.pid, "idle"),
        (SERVER, "server"),
        (FLUSHER, "flusher"),
        (TRACKER, "tracker"),
    ];
    all.into_iter().chain(scrubs.then_some((SCRUBBER, "scrubber")))
}

// All threads on a host have different numbers: those of exchanges are odd, those of requests even from 0 up,
// and those of transactions even from the top down.

/// The thread for a client's request.
pub const fn request_thread(request: u32, workload: u32) -> Thread {
    Thread { pid: application(workload), tid: request * 2 + 2 }
}

/// The thread for a transaction that its client works on alone.
pub const fn transaction_thread(transaction: u32, workload: u32) -> Thread {
    Thread { pid: application(workload), tid: u32::MAX - 1 - transaction * 2 }
}

/// The thread of a process that works on an exchange; without an exchange, the last thread number.
pub const fn exchange_thread(exchange: u32, pid: u32) -> Thread {
    Thread { pid, tid: exchange.wrapping_mul(2).wrapping_add(1) }
}

/// The thread of a scrubber, by the scrubber's number in the cluster.
pub const fn scrub_thread(scrubber: u32) -> Thread {
    Thread { pid: SCRUBBER, tid: scrubber.wrapping_add(1) }
}
