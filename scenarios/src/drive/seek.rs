//! Seek times.

use std::fmt;
use std::sync::{Arc, OnceLock};

use foretell_units::SimSpan;

use crate::device::Seek;

/// Time to move the arm as a function of the distance in cylinders.
#[derive(Clone, PartialEq, Debug)]
pub struct SeekCurve {
    /// Measured points: distance, and time in milliseconds, in the order of distance. The time is
    /// interpolated between them.
    pub points: Vec<(u32, f64)>,
    /// The formula beyond the last point. Without it the line through the last two points continues.
    pub beyond: Option<SeekFormula>,
}

/// A formula for seek times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SeekFormula {
    /// Ruemmler & Wilkes 1994.
    ThreePart(Seek),
    /// a·√(d−1) + b·(d−1) + c, milliseconds. a, b and c are such that a single cylinder and the
    /// full stroke take the data sheet's times, and seeks between random cylinders take its average
    /// in the mean (Lee & Katz, *An Analytic Performance Model of Disk Arrays*, 1993).
    Lee {
        /// a, milliseconds per square root of a cylinder.
        root_ms: f64,
        /// b, milliseconds per cylinder.
        linear_ms: f64,
        /// c, milliseconds.
        single_ms: f64,
    },
}

impl SeekFormula {
    /// The curve of a data sheet's three figures, for this number of cylinders.
    ///
    /// If the average is so far from the middle that a coefficient of Lee's formula would be
    /// negative, the curve would not be monotone. Then only its square root is kept, and the time
    /// of the full stroke follows from that.
    pub fn lee(single_ms: f64, average_ms: f64, full_ms: f64, cylinders: u32) -> Self {
        let span = f64::from(cylinders.max(2));
        let root_ms = (-10.0 * single_ms + 15.0 * average_ms - 5.0 * full_ms) / (3.0 * span.sqrt());
        let linear_ms = (7.0 * single_ms - 15.0 * average_ms + 8.0 * full_ms) / (3.0 * span);
        if root_ms < 0.0 || linear_ms < 0.0 {
            // the mean of the square root of the distance of two random cylinders is 8/15 of √span
            let root_ms = (average_ms - single_ms).max(0.0) * 15.0 / (8.0 * span.sqrt());
            return Self::Lee { root_ms, linear_ms: 0.0, single_ms };
        }
        Self::Lee { root_ms, linear_ms, single_ms }
    }

    /// Milliseconds for `distance` cylinders, at least one.
    pub(super) fn time_ms(self, distance: u32) -> f64 {
        match self {
            Self::ThreePart(seek) => seek.time(distance).as_ms_f64(),
            Self::Lee { root_ms, linear_ms, single_ms } => {
                let d = f64::from(distance.saturating_sub(1));
                root_ms * d.sqrt() + linear_ms * d + single_ms
            }
        }
    }
}

impl SeekCurve {
    /// Time to move the arm by `distance` cylinders; zero for zero.
    pub fn time(&self, distance: u32) -> SimSpan {
        if distance == 0 {
            return SimSpan::ZERO;
        }
        SimSpan::from_ms_f64(self.time_ms(distance).max(0.0))
    }

    fn time_ms(&self, distance: u32) -> f64 {
        let after = self.points.partition_point(|(d, _)| *d < distance);
        let line = |low: (u32, f64), high: (u32, f64)| {
            let share = (f64::from(distance) - f64::from(low.0))
                / (f64::from(high.0) - f64::from(low.0)).max(1.0);
            low.1 + (high.1 - low.1) * share
        };
        match (self.points.get(after), self.beyond) {
            (Some(point), _) if point.0 == distance || after == 0 => point.1,
            (Some(point), _) => line(self.points[after - 1], *point),
            (None, Some(formula)) => formula.time_ms(distance),
            (None, None) => match self.points[..] {
                [] => 0.0,
                [only] => only.1,
                [.., low, high] => line(low, high),
            },
        }
    }
}

/// The times of all distances, computed when first needed and then shared. They follow from the
/// curve, so two are equal if their curves are.
#[derive(Clone, Default)]
pub(super) struct SeekTimes(OnceLock<Arc<[u32]>>);

impl SeekTimes {
    /// Nanoseconds by distance, for a curve over this number of cylinders.
    pub(super) fn of(&self, curve: &SeekCurve, cylinders: u32) -> Arc<[u32]> {
        let nanoseconds =
            |distance| u32::try_from(curve.time(distance).as_ns()).unwrap_or(u32::MAX);
        self.0.get_or_init(|| (0..cylinders).map(nanoseconds).collect()).clone()
    }
}

impl PartialEq for SeekTimes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for SeekTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("...")
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "tests by arithmetic expect exact figures")]
mod tests {
    use super::*;

    /// Mean time between two random cylinders, milliseconds.
    fn mean(formula: SeekFormula, cylinders: u32) -> f64 {
        // 2·(cylinders − d) of all ordered pairs are d apart
        let weight = |distance| 2.0 * f64::from(cylinders - distance);
        let total: f64 = (1..cylinders).map(|d| weight(d) * formula.time_ms(d)).sum();
        total / (1..cylinders).map(weight).sum::<f64>()
    }

    #[test]
    fn a_data_sheet_gives_its_three_figures_back() {
        let curve = SeekFormula::lee(0.8, 8.5, 17.0, 10_000);
        assert_eq!(curve.time_ms(1), 0.8);
        assert!((mean(curve, 10_000) - 8.5).abs() < 0.01, "{}", mean(curve, 10_000));
        assert!((curve.time_ms(10_000) - 17.0).abs() < 0.01, "{}", curve.time_ms(10_000));
        // with an average near the full stroke only the square root is kept
        let curve = SeekFormula::lee(0.8, 8.5, 11.0, 10_000);
        assert!((mean(curve, 10_000) - 8.5).abs() < 0.01, "{}", mean(curve, 10_000));
    }

    #[test]
    fn oracle_interpolation_finds_what_a_walk_along_the_points_finds() {
        let points = vec![(1, 1.0), (4, 2.5), (5, 2.0), (20, 4.0)];
        let curve = SeekCurve { points: points.clone(), beyond: None };
        let walk = |distance: u32| {
            let mut low = points[0];
            for high in &points[1..] {
                if distance <= high.0 || *high == points[3] {
                    let share = (f64::from(distance) - f64::from(low.0))
                        / (f64::from(high.0) - f64::from(low.0));
                    return low.1 + (high.1 - low.1) * share;
                }
                low = *high;
            }
            low.1
        };
        for distance in 1..40 {
            assert_eq!(curve.time(distance), SimSpan::from_ms_f64(walk(distance)), "{distance}");
        }
        assert_eq!(curve.time(0), SimSpan::ZERO);
    }
}
