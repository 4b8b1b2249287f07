//! Makes the latency curves of a device from results of fio.
//!
//! Nothing is assumed about the inside of the device. Fio measured latency by operation, order, size, share
//! of reads and number of requests outstanding. These measurements become the curves of a device of kind
//! `curves`. Then the same jobs are run on the simulated device. Since a table can always repeat its own
//! entries, each job is also predicted by a device that was fitted to the other jobs alone.

mod closed_loop;
pub mod evidence;
mod fit;

pub use closed_loop::Achieved;
pub use evidence::{Evidence, Run, RunJob, Seen, words};
pub use fit::{
    Condition, Fitted, JobTarget, TOLERANCES, assumptions, conditions, fit, left_out, within,
};
