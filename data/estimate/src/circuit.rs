//! A closed network: a fixed number of requests is outstanding, and each visits some parts one after the other.
//!
//! The rate of requests follows from their number. The mean queue expected at each part depends on
//! its load and on the variation of arrivals and services (Kingman's formula). Departures from a
//! part arrive at the next, with more or less variation (Whitt, "The Queueing Network Analyzer",
//! 1983). The rate is the one at which the mean populations add up to the number outstanding
//! ("fixed population mean" of Whitt, "Open and closed models for networks of queues", 1984).
//! Identical requests keep the slowest part busy all the time. Different ones come in bunches, and
//! the other parts are idle in between.

use std::num::NonZeroU32;

/// Number of bisections of the interval that contains the rate: more than the precision of a number.
const HALVINGS: usize = 100;

/// A part, described by the requests' demand on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Part {
    /// Mean demand, seconds.
    pub(crate) mean: f64,
    /// Squared coefficient of variation of the demand.
    irregular: f64,
}

impl Part {
    /// From requests with this share of all and this demand, in seconds.
    pub(crate) fn of(requests: &[(f64, f64)]) -> Self {
        let moment =
            |power| requests.iter().map(|(share, seconds)| share * seconds.powi(power)).sum();
        let (mean, square): (f64, f64) = (moment(1), moment(2));
        let irregular = if mean > 0.0 { (square / (mean * mean) - 1.0).max(0.0) } else { 0.0 };
        Self { mean, irregular }
    }
}

/// Seconds from the end of one request to that of the next, with `outstanding` requests that also
/// spend `delay` seconds without queueing. `None` if no part needs any time.
pub(crate) fn seconds_each(parts: &[Part], delay: f64, outstanding: NonZeroU32) -> Option<f64> {
    let longest = parts.iter().map(|part| part.mean).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let (mut low, mut high) = (0.0, 1.0 / longest);
    for _ in 0..HALVINGS {
        let rate = f64::midpoint(low, high);
        if present(parts, delay, rate) < f64::from(outstanding.get()) {
            low = rate;
        } else {
            high = rate;
        }
    }
    Some(1.0 / high)
}

/// Mean number of requests present at this rate, which does not saturate any part.
fn present(parts: &[Part], delay: f64, rate: f64) -> f64 {
    let load = |part: &Part| (part.mean * rate).min(1.0);
    // variation of arrivals at the next part as a function of that at this one: a + b x
    let passed_on = |part: &Part| {
        let square = load(part).powi(2);
        (square * part.irregular, 1.0 - square)
    };
    // after one cycle it must be the same: x = a + b x
    let (a, b) = parts
        .iter()
        .map(passed_on)
        .fold((0.0, 1.0), |(a, b), (more, factor)| (more + factor * a, factor * b));
    let mut arrivals = if b < 1.0 { a / (1.0 - b) } else { 0.0 };
    let mut sum = rate * delay;
    for part in parts {
        let load = load(part);
        let irregular = f64::midpoint(arrivals, part.irregular);
        let waiting = if irregular > 0.0 { load * load / (1.0 - load) * irregular } else { 0.0 };
        sum += load + waiting;
        let (more, factor) = passed_on(part);
        arrivals = more + factor * arrivals;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds_each(parts: &[Part], delay: f64, outstanding: u32) -> Option<f64> {
        super::seconds_each(parts, delay, NonZeroU32::new(outstanding).unwrap())
    }

    fn part(mean: f64, irregular: f64) -> Part {
        Part { mean, irregular }
    }

    #[test]
    fn moments_by_arithmetic() {
        // half 1 s, half 3 s: mean 2, variance 1
        assert_eq!(Part::of(&[(0.5, 1.0), (0.5, 3.0)]), part(2.0, 0.25));
        assert_eq!(Part::of(&[(1.0, 0.0)]), part(0.0, 0.0));
    }

    #[test]
    fn requests_that_are_alike_lose_nothing() {
        let parts = [part(1.0, 0.0), part(0.9, 0.0)];
        assert!((seconds_each(&parts, 0.0, 8).unwrap() - 1.0).abs() < 1e-9);
        // two requests that spend 11 s elsewhere: one ends every 12.9 / 2 s, because none waits
        let found = seconds_each(&parts, 11.0, 2).unwrap();
        assert!((found - 12.9 / 2.0).abs() < 1e-9, "{found}");
        assert_eq!(seconds_each(&[part(0.0, 0.0)], 1.0, 8), None);
    }

    #[test]
    fn closed_form_exponential_parts() {
        // with variation 1 throughout, a part holds load / (1 - load): two equal ones hold 16 at 8/9 each
        let found = seconds_each(&[part(1.0, 1.0), part(1.0, 1.0)], 0.0, 16).unwrap();
        assert!((found - 9.0 / 8.0).abs() < 1e-9, "{found}");
    }

    proptest! {
        #[test]
        fn more_outstanding_or_less_irregular_is_never_slower(
            means in prop::collection::vec((0.0..2.0_f64, 0.0..20.0_f64), 1..4),
            delay in 0.0..20.0_f64, outstanding in 1..200_u32,
        ) {
            let parts: Vec<Part> = means.iter().map(|(mean, irregular)| part(*mean, *irregular)).collect();
            let regular: Vec<Part> = parts.iter().map(|of| part(of.mean, 0.0)).collect();
            if let Some(found) = seconds_each(&parts, delay, outstanding) {
                let longest = parts.iter().map(|of| of.mean).fold(0.0, f64::max);
                prop_assert!(found >= longest * (1.0 - 1e-9));
                let more = seconds_each(&parts, delay, outstanding + 1).unwrap();
                prop_assert!(more <= found * (1.0 + 1e-9));
                let even = seconds_each(&regular, delay, outstanding).unwrap();
                prop_assert!(even <= found * (1.0 + 1e-9), "{} {}", even, found);
            }
        }
    }
}
