//! Why a run failed.

use foretell_units::{SimSpan, SimTime};
use foretell_workloads::source::SourceError;
use thiserror::Error;

use crate::ledger::Violation;

/// Why a run failed.
#[derive(Debug, Error)]
pub enum SimError {
    /// The simulator contradicts itself: a defect of ours.
    #[error("self-check failed at {queue}: {violation}")]
    LawBroken {
        /// Host and queue.
        queue: String,
        /// The law, with its figures.
        violation: Violation,
    },
    /// Requests came to nothing: a defect of ours.
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
    /// Data read back is not what was written (with `payload = "real"`): a defect of ours.
    #[error("wrong data: block {block} of volume `{volume}`: {reason}")]
    WrongData {
        /// The volume's name.
        volume: String,
        /// The block's number.
        block: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The scenario passed its checks but cannot be built.
    #[error("{what} cannot be simulated: {reason}")]
    Impossible {
        /// What.
        what: String,
        /// Why.
        reason: String,
    },
    /// All requests were done within the warm-up.
    #[error(
        "nothing was measured: all {completed} requests were done by {ended}, within the warm-up \
         of {warmup}; shorten `warmup`, or let the workloads go on"
    )]
    NothingMeasured {
        /// Requests done.
        completed: u64,
        /// When the last was.
        ended: SimSpan,
        /// The warm-up.
        warmup: SimSpan,
    },
    /// Requests pile up beyond what there is memory for.
    #[error(
        "{outstanding} requests are outstanding after {at}, and more come than complete: the \
         cluster cannot keep up with workload `{workload}`; lower its rate"
    )]
    Overload {
        /// How many.
        outstanding: usize,
        /// Simulated time.
        at: SimSpan,
        /// Whose request was one too many.
        workload: String,
    },
    /// A workload's requests could not be read.
    #[error("workload `{workload}`: {error}")]
    Source {
        /// The workload's name.
        workload: String,
        /// What is wrong with its trace.
        error: SourceError,
    },
    /// The store could not be written; its own error says why.
    #[error("the record store could not be written")]
    StoreFailed,
    /// The watcher asked for an end.
    #[error("interrupted at {at} of simulated time")]
    Interrupted {
        /// The present of the simulation.
        at: SimTime,
    },
}
