//! The curves of a device from results of fio.
//!
//! The device's inside is not guessed. What fio measured, latency by operation, order, size, share of
//! reads and number outstanding, becomes the curves of a device of kind `curves`; then the same jobs
//! are run on the simulated device. And since a table can repeat whatever it was filled with, each job is also
//! predicted by a device that was fitted to the others alone.

mod closed_loop;
pub mod evidence;
mod fit;

pub use closed_loop::Got;
pub use evidence::{Evidence, Run, RunJob, Seen, words};
pub use fit::{
    Condition, Fitted, TOLERANCES, Wanted, assumptions, conditions, fit, left_out, within,
};
