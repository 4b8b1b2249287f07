//! Means of intervals: the reliability of a run's mean response times.
//!
//! The measured time is cut into intervals of equal length. The standard error of their means, relative to the
//! overall mean, is the figure that Noorshams et al. 2013 reports (Section 4.3). While it is too large, or an
//! interval has too few requests, measuring restarts and lasts twice as long.

use foretell_scenarios::model;
use foretell_units::{Op, SimSpan, SimTime};

/// Response times by interval, for reads and writes separately.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    from: SimTime,
    length: SimSpan,
    slots: Vec<[Slot; 2]>,
}

/// Number of requests, and the sum of their response times.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    requests: u64,
    response_ns: u128,
}

impl Intervals {
    /// Intervals of a measured time that begins at `from` and lasts for `duration`.
    pub(crate) fn new(spec: &model::Intervals, from: SimTime, duration: SimSpan) -> Self {
        let length = SimSpan::from_ns((duration.as_ns() / u64::from(spec.count)).max(1));
        Self { from, length, slots: vec![[Slot::default(); 2]; spec.count as usize] }
    }

    /// Counts a request that completes at `now`.
    pub(crate) fn add(&mut self, now: SimTime, op: Op, response: SimSpan) {
        let slot = ((now - self.from).as_ns() / self.length.as_ns()) as usize;
        // lengths are rounded down: a remainder at the end belongs to no interval
        let Some(slot) = self.slots.get_mut(slot) else { return };
        slot[op as usize].requests += 1;
        slot[op as usize].response_ns += u128::from(response.as_ns());
    }

    /// Mean response times of the intervals, in milliseconds: NaN for an interval without requests, and empty if no
    /// interval has any.
    pub(crate) fn means_ms(&self, op: Op) -> Vec<f64> {
        let of_op = self.slots.iter().map(|slot| slot[op as usize]);
        if of_op.clone().all(|slot| slot.requests == 0) {
            return Vec::new();
        }
        let mean = |slot: Slot| match slot.requests {
            0 => f64::NAN,
            requests => slot.response_ns as f64 / 1e6 / requests as f64,
        };
        of_op.map(mean).collect()
    }

    /// Whether each interval has the required number of requests, and its means, of reads and of writes, differ by no
    /// more than allowed.
    pub(crate) fn agree(&self, spec: &model::Intervals) -> bool {
        let mut requests =
            self.slots.iter().map(|[reads, writes]| reads.requests + writes.requests);
        let close = |op| {
            let means = self.means_ms(op);
            means.is_empty()
                || relative_standard_error(&means).is_some_and(|error| error <= spec.error)
        };
        requests.all(|requests| requests >= spec.requests) && close(Op::Read) && close(Op::Write)
    }
}

/// The standard error of these means, relative to their mean; `None` if there are too few, or one is NaN.
pub(crate) fn relative_standard_error(means: &[f64]) -> Option<f64> {
    if means.len() < 2 || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0) / count).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> SimSpan {
        SimSpan::from_ms(ms)
    }

    #[test]
    fn intervals_agree_when_they_have_requests_enough_and_like_means() {
        let spec =
            |requests, error| model::Intervals { count: 2, requests, error, longest: ms(40) };
        let from = SimTime::ZERO + ms(5);
        let mut intervals = Intervals::new(&spec(1, 0.0), from, ms(41));
        // one request each 10.25 ms, of 1, 2, 3, 6 and 9 ms; the last comes after the end
        for (index, response) in [1, 2, 3, 6, 9].into_iter().enumerate() {
            intervals.add(from + ms(41) * index as u64 / 4, Op::Read, ms(response));
        }
        assert_eq!(intervals.means_ms(Op::Read), [1.5, 4.5]);
        assert!(intervals.means_ms(Op::Write).is_empty());
        // 1.5 and 4.5 have the mean 3, with a standard error of 1.5
        assert!(intervals.agree(&spec(2, 0.5)));
        assert!(!intervals.agree(&spec(2, 0.49)) && !intervals.agree(&spec(3, 0.5)));
        // agreement of the reads does not help if one interval has no write
        intervals.add(from, Op::Write, ms(1));
        assert!(!intervals.agree(&spec(1, 1.0)));
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean_of_the_means() {
        // mean 2, sample deviation 1, of three: 1 / √3 / 2
        let found = relative_standard_error(&[1.0, 2.0, 3.0]).unwrap();
        assert!((found - 0.288_675).abs() < 1e-6);
        assert_eq!(relative_standard_error(&[1.0, f64::NAN]), None);
        assert_eq!(relative_standard_error(&[1.0]), None);
    }
}
