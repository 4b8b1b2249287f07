//! Means of intervals: how far a run's mean response times can be trusted.
//!
//! The measured time is cut into intervals of equal length; the standard error of their means, relative
//! to the mean of all, is what paper 001 reports (Section 4.3). While it is too large, the measured time
//! is doubled, and with it each interval.

use foretell_scenarios::model;
use foretell_units::{Op, SimSpan, SimTime};

/// Response times by interval, of reads and writes apart.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    from: SimTime,
    /// As many as intervals, or twice as many for each time that the run was made longer.
    slots: Vec<[Slot; 2]>,
    length: SimSpan,
    count: usize,
}

/// Requests and their response times.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    requests: u64,
    response_ns: u128,
}

impl Intervals {
    /// Of a time that begins at `from` and at first lasts for `duration`.
    pub(crate) fn new(spec: &model::Intervals, from: SimTime, duration: SimSpan) -> Self {
        let length = SimSpan::from_ns((duration.as_ns() / u64::from(spec.count)).max(1));
        Self { from, slots: Vec::new(), length, count: spec.count as usize }
    }

    /// A request completes at `now`.
    pub(crate) fn add(&mut self, now: SimTime, op: Op, response: SimSpan) {
        let slot = ((now - self.from).as_ns() / self.length.as_ns()) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, [Slot::default(); 2]);
        }
        let slot = &mut self.slots[slot][op as usize];
        slot.requests += 1;
        slot.response_ns += u128::from(response.as_ns());
    }

    /// Mean response times of the intervals of the time up to `end`, in milliseconds; not a number
    /// where an interval has no request, and nothing where none has any.
    pub(crate) fn means_ms(&self, end: SimTime, op: Op) -> Vec<f64> {
        let slots = ((end - self.from).as_ns() / self.length.as_ns()) as usize;
        let each = (slots / self.count).max(1);
        if self.slots.iter().all(|slot| slot[op as usize].requests == 0) {
            return Vec::new();
        }
        (0..self.count)
            .map(|interval| {
                let slots = self.slots.iter().skip(interval * each).take(each);
                let (requests, ns) =
                    slots.map(|slot| slot[op as usize]).fold((0, 0), |(requests, ns), slot| {
                        (requests + slot.requests, ns + slot.response_ns)
                    });
                if requests == 0 { f64::NAN } else { ns as f64 / 1e6 / requests as f64 }
            })
            .collect()
    }
}

/// The standard error of these means, relative to their mean; `None` if there are too few, or one is
/// not a number.
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
    fn intervals_grow_with_the_measured_time() {
        let spec = model::Intervals { count: 2, error: 0.05, longest: ms(40) };
        let from = SimTime::ZERO + ms(5);
        let mut intervals = Intervals::new(&spec, from, ms(20));
        // one request each 10 ms, of 1, 2, 3 and 6 ms
        for (index, response) in [1, 2, 3, 6].into_iter().enumerate() {
            intervals.add(from + ms(10 * index as u64), Op::Read, ms(response));
        }
        assert_eq!(intervals.means_ms(from + ms(20), Op::Read), [1.0, 2.0]);
        assert_eq!(intervals.means_ms(from + ms(40), Op::Read), [1.5, 4.5]);
        assert!(intervals.means_ms(from + ms(40), Op::Write).is_empty());
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
