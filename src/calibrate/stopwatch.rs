//! The time of an operation, as CPU time of the thread that performs it.
//!
//! CPU time excludes the work of other processes, but not their effect on caches, nor the time
//! taken by a virtual machine's host. The median of several runs removes most of these effects.

use std::time::Duration;

use cpu_time::ThreadTime;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt;

/// Number of runs of each measurement; their median is the result.
pub(crate) const RUNS: usize = 9;
/// Minimum length of a run, so that the resolution of the clock does not matter.
const SHORTEST: Duration = Duration::from_millis(1);

/// Operations between checks for an interruption by the user: so many that the checks do not affect
/// the result.
const OPERATIONS_BETWEEN_LOOKS: u32 = 64;

/// Measures one operation after another.
pub(crate) struct Stopwatch {
    operations: u32,
    bar: ProgressBar,
}

impl Stopwatch {
    /// A stopwatch whose runs have at least `operations` operations.
    pub(crate) fn new(operations: u32) -> Self {
        interrupt::watch();
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}");
        let bar = ProgressBar::new_spinner().with_style(style.expect("the template is right"));
        Self { operations, bar }
    }

    /// Minimum number of operations in a run.
    pub(crate) fn operations(&self) -> u32 {
        self.operations
    }

    /// Shows the user what is being measured, and fails if the user asked to stop.
    pub(crate) fn announce(&self, what: &str) -> Result<(), Failure> {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
        if interrupt::asked() {
            return Err(Failure::Interrupted { done: "a part of the measurements".to_owned() });
        }
        Ok(())
    }

    /// Time of `operation` in nanoseconds.
    pub(crate) fn measure(&self, what: &str, mut operation: impl FnMut()) -> Result<f64, Failure> {
        self.announce(what)?;
        let mut count = self.operations;
        let mut run = |count: u32| {
            let start = ThreadTime::now();
            for done in 0..count {
                operation();
                if done % OPERATIONS_BETWEEN_LOOKS == 0 && interrupt::asked() {
                    break;
                }
            }
            start.elapsed()
        };
        // the first runs also warm the caches and do not count
        while run(count) < SHORTEST && count < 1 << 24 && !interrupt::asked() {
            count *= 2;
        }
        let mut runs: Vec<f64> =
            (0..RUNS).map(|_| run(count).as_nanos() as f64 / f64::from(count)).collect();
        self.announce(what)?;
        Ok(median(&mut runs))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The middle value of an odd number of `values`.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "a value is chosen, not computed")]
    fn a_median_is_not_moved_by_what_disturbs() {
        assert_eq!(median(&mut [3.0, 1.0, 900.0]), 3.0);
    }

    #[test]
    fn a_run_is_long_enough_for_the_clock() {
        let mut calls = 0_u64;
        let ns = Stopwatch::new(1).measure("nothing much", || calls += 1).unwrap();
        assert!(calls > 100 && ns < 1e6, "{calls} calls of {ns} ns");
    }
}
