//! Why a run failed.

use foretell_units::{SimSpan, SimTime};
use foretell_workloads::source::SourceError;
use thiserror::Error;

use crate::ledger::Violation;

/// Why a run failed.
#[derive(Debug, Error)]
pub enum SimError {
    /// The simulator contradicts itself: a defect of the program.
    #[error("self-check failed at {queue}: {violation}")]
    LawBroken {
        /// Names of the host and queue.
        queue: String,
        /// The law, with its figures.
        violation: Violation,
    },
    /// Requests were lost: a defect of the program.
    #[error(
        "self-check failed: {issued} requests issued, {completed} completed or failed, {in_flight} in \
         flight"
    )]
    RequestsLost {
        /// Requests that clients issued.
        issued: u64,
        /// Requests that completed, or failed because hosts did.
        completed: u64,
        /// Requests outstanding at the end.
        in_flight: u64,
    },
    /// Data read back differ from those that were written (with `payload = "real"`): a defect of the program.
    #[error("wrong data: block {block} of volume `{volume}`: {reason}")]
    WrongData {
        /// The volume's name.
        volume: String,
        /// The block's number.
        block: u64,
        /// The discrepancy.
        reason: String,
    },
    /// The scenario passed its checks but cannot be built.
    #[error("{what} cannot be simulated: {reason}")]
    Impossible {
        /// The part that cannot be built.
        what: String,
        /// The reason.
        reason: String,
    },
    /// All requests were done within the warm-up.
    #[error(
        "nothing was measured: all {completed} requests were done by {ended}, within the warm-up \
         of {warmup}; shorten `warmup`, or let the workloads go on"
    )]
    NothingMeasured {
        /// Number of requests done.
        completed: u64,
        /// Time of the last completion.
        ended: SimSpan,
        /// Length of the warm-up.
        warmup: SimSpan,
    },
    /// Outstanding requests exceed the limit for memory.
    #[error(
        "{outstanding} requests are outstanding after {at}, and requests arrive faster than they complete: \
         {}", overloaded(*below_min_size, workload)
    )]
    Overload {
        /// Number of outstanding requests.
        outstanding: usize,
        /// Simulated time.
        at: SimSpan,
        /// Number of them that wait because too few servers of a group are up.
        below_min_size: usize,
        /// Workload of the request that exceeded the limit.
        workload: String,
    },
    /// A workload's requests could not be read.
    #[error("workload `{workload}`: {error}")]
    Source {
        /// The workload's name.
        workload: String,
        /// The error in its trace.
        error: SourceError,
    },
    /// The store could not be written; its own error says why.
    #[error("the record store could not be written")]
    StoreFailed,
    /// The watcher ended the run.
    #[error("interrupted at {at} of simulated time")]
    Interrupted {
        /// The simulated time at that moment.
        at: SimTime,
    },
}

/// Why requests pile up, and what to do about it.
fn overloaded(below_min_size: usize, workload: &str) -> String {
    if below_min_size == 0 {
        return format!("the cluster cannot keep up with workload `{workload}`; lower its rate");
    }
    format!(
        "{below_min_size} of them wait because too few copies or fragments of a group are up (`min_size`, \
         `min_write`; `serves` in results says how many hosts may be down); let fewer hosts fail at a time, or lower \
         the rate of workload `{workload}`"
    )
}
