//! Fits a fixed cost and a cost per byte to measurements at several sizes.
//!
//! The fit is least squares of the relative errors, so the same relative error counts equally at 1
//! KiB and at 256 KiB. Neither part may be negative.

use foretell_scenarios::model::Cost;
use foretell_units::{Rate, SimSpan};

/// A measurement: bytes, and nanoseconds.
pub type Point = (f64, f64);

/// A fitted cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// The cost, rounded to three digits.
    pub cost: Cost,
    /// The largest relative error at any of the measurements.
    pub worst: f64,
}

/// The cost that fits `points` best; points that took no time are skipped.
pub fn fit(points: &[Point]) -> Fit {
    let points: Vec<Point> = points.iter().copied().filter(|&(_, ns)| ns > 0.0).collect();
    let sum = |term: fn(f64, f64) -> f64| points.iter().map(|&(x, t)| term(x, t)).sum::<f64>();
    // minimise the sum of ((a + b x) / t - 1)^2
    let (ones, x, xx) =
        (sum(|_, t| 1.0 / (t * t)), sum(|x, t| x / (t * t)), sum(|x, t| x * x / (t * t)));
    let (one, t_x) = (sum(|_, t| 1.0 / t), sum(|x, t| x / t));
    let determinant = ones * xx - x * x;
    let line = ((one * xx - t_x * x) / determinant, (ones * t_x - x * one) / determinant);
    let (fixed, by_byte) = match line {
        (fixed, by_byte) if fixed >= 0.0 && by_byte >= 0.0 => (fixed, by_byte),
        (_, by_byte) if by_byte >= 0.0 && xx > 0.0 => (0.0, t_x / xx),
        _ if ones > 0.0 => (one / ones, 0.0),
        _ => (0.0, 0.0),
    };
    let rate = three_digits(1e9 / by_byte);
    let cost = Cost {
        fixed: SimSpan::from_ns(three_digits(fixed) as u64),
        // below 10^-6 ns a byte, the cost does not depend on the size
        rate: (by_byte > 1e-6).then(|| Rate::bytes_per_s(rate as u64)),
    };
    let worst = points.iter().map(|&(x, t)| ((fixed + by_byte * x) / t - 1.0).abs());
    Fit { cost, worst: worst.fold(0.0, f64::max) }
}

/// `value` rounded to three significant digits, and to a whole number.
fn three_digits(value: f64) -> f64 {
    let unit = 10_f64.powi((libm::log10(value.max(1.0)).floor() as i32 - 2).max(0));
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Bytes;

    fn points(mut cost: impl FnMut(f64) -> f64) -> Vec<Point> {
        [1024.0, 4096.0, 16384.0, 65536.0].map(|x| (x, cost(x))).to_vec()
    }

    #[test]
    fn a_line_is_found_again() {
        // 500 ns, and 0.8 ns a byte: 1.25 GB/s
        let found = fit(&points(|x| 500.0 + 0.8 * x));
        assert_eq!(found.cost.fixed, SimSpan::from_ns(500));
        assert_eq!(found.cost.rate, Some(Rate::bytes_per_s(1_250_000_000)));
        assert!(found.worst < 1e-9);
        // 32 KiB: 500 + 26,214.4 ns, rounded up
        assert_eq!(found.cost.of(Bytes::kib(32)), SimSpan::from_ns(26_715));
    }

    #[test]
    fn neither_part_is_negative() {
        // the line would begin below zero, so it is fitted through the origin; 0.5 x - 100 at 1 KiB is 412,
        // 0.5 x is 512
        let steep = fit(&points(|x| 0.5 * x - 100.0));
        assert_eq!(steep.cost.fixed, SimSpan::ZERO);
        let rate = steep.cost.rate.unwrap().as_bytes_per_s_f64();
        assert!(rate > 2e9 && rate < 2.5e9 && steep.worst > 0.1, "{steep:?}");
        let falling = fit(&points(|x| 1000.0 - x / 1000.0));
        assert_eq!(falling.cost.rate, None);
        // between 934 and 999 ns
        assert!((934..999).contains(&falling.cost.fixed.as_ns()), "{falling:?}");
        assert_eq!(fit(&points(|_| 0.0)).cost, Cost::FREE);
        assert_eq!(fit(&[]).cost, Cost::FREE);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn three_digits_are_enough() {
        let rounded = [0.4, 7.6, 999.4, 1234.0, 1_285_000_000.0].map(three_digits);
        assert_eq!(rounded, [0.0, 8.0, 999.0, 1230.0, 1_290_000_000.0]);
    }

    #[test]
    fn disturbed_measurements_are_averaged() {
        // the points are 10 % too high and 10 % too low in turn: the line stays between them
        let mut sign = 1.0;
        let found = fit(&points(|x| {
            sign = -sign;
            (500.0 + 0.8 * x) * (1.0 + 0.1 * sign)
        }));
        assert!(found.worst < 0.2, "{found:?}");
    }
}
