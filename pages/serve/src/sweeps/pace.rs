//! The pace at which the runs of a sweep end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The pace is that of this time.
const WINDOW: Duration = Duration::from_secs(300);
/// Least time between two noted looks.
const EVERY: Duration = Duration::from_secs(5);

/// Looks at a sweep within the window: when, and how many runs were over. The first may be older.
#[derive(Debug, Default)]
pub(super) struct Pace(VecDeque<(Instant, u64)>);

impl Pace {
    /// Notes how many runs are over now. Returns the number of runs that end in a second; `None` before two have ended.
    #[expect(clippy::disallowed_methods, reason = "the pace of a sweep is measured")]
    pub(super) fn per_s(&mut self, over: u64) -> Option<f64> {
        self.at(Instant::now(), over)
    }

    fn at(&mut self, now: Instant, over: u64) -> Option<f64> {
        if self.0.back().is_some_and(|(_, before)| over < *before) {
            // the sweep began again
            self.0.clear();
        }
        while self.0.get(1).is_some_and(|(at, _)| now - *at > WINDOW) {
            self.0.pop_front();
        }
        if self.0.back().is_none_or(|(at, _)| now - *at >= EVERY) {
            self.0.push_back((now, over));
        }
        let (since, before) = *self.0.front()?;
        let (ended, seconds) = (over.saturating_sub(before), (now - since).as_secs_f64());
        (ended > 1 && seconds > 0.0).then(|| ended as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do")]
    fn the_pace_is_that_of_the_last_minutes() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut pace = Pace::default();
        assert_eq!(pace.at(begin, 100), None);
        assert_eq!(pace.at(after(1), 101), None, "one run shows no pace");
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 0.01;
        for second in 2..=100 {
            assert!(near(pace.at(after(second), 100 + 2 * second), 2.0));
        }
        // a night without a run, and then the sweep goes on
        assert_eq!(pace.at(after(40_000), 300), None, "no run ended since the last look");
        for second in 0..600 {
            pace.at(after(40_000 + second), 300 + second);
        }
        assert!(near(pace.at(after(40_600), 900), 1.0));
        assert_eq!(pace.at(after(40_601), 0), None, "it began again");
    }
}
