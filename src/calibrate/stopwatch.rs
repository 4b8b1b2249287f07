//! How long an operation takes, in CPU time of the thread that does it.
//!
//! CPU time leaves out what other processes do meanwhile, but not what they do to caches, nor what
//! a virtual machine's host takes; the median of several runs leaves out most of that.

use std::time::Duration;

use cpu_time::ThreadTime;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt;

/// Runs of each measurement; their median counts.
pub(crate) const RUNS: usize = 9;
/// A run is at least so long, so that the clock's steps do not show.
const SHORTEST: Duration = Duration::from_millis(1);

/// Looks at whether the user wants an end are rare enough not to be measured.
const OPERATIONS_BETWEEN_LOOKS: u32 = 64;

/// Measures one thing after another.
pub(crate) struct Stopwatch {
    operations: u32,
    bar: ProgressBar,
}

impl Stopwatch {
    /// One that measures runs of `operations` at the least.
    pub(crate) fn new(operations: u32) -> Self {
        interrupt::watch();
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}");
        let bar = ProgressBar::new_spinner().with_style(style.expect("the template is right"));
        Self { operations, bar }
    }

    /// Operations in a run, at the least.
    pub(crate) fn operations(&self) -> u32 {
        self.operations
    }

    /// Tells the user what is measured now, and breaks off if there is to be an end.
    pub(crate) fn announce(&self, what: &str) -> Result<(), Failure> {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
        if interrupt::asked() {
            return Err(Failure::Interrupted { done: "a part of the measurements".to_owned() });
        }
        Ok(())
    }

    /// Nanoseconds that `operation` takes.
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
        // the first runs also warm the caches, and are forgotten
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

/// The middle one of an odd number of `values`.
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
