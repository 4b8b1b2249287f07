//! How far predictions are from the truth.

use serde::Serialize;

use crate::LearnError;
use crate::matrix::{mean, median, squares_around};

/// Errors of predictions over one set of rows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Scores {
    /// Number of rows.
    pub rows: usize,
    /// Root mean squared error, in the target's unit.
    pub rmse: f64,
    /// Mean of |predicted − true|, in the target's unit.
    pub mae: f64,
    /// Mean of |predicted − true| / |true|, in percent; `None` where a true value is 0.
    pub mape_percent: Option<f64>,
    /// Median of the same errors.
    pub median_ape_percent: Option<f64>,
    /// Sum of |predicted − true| over the sum of |true|, in percent. Rows whose true value is 0 count, too;
    /// `None` where all are 0.
    pub wape_percent: Option<f64>,
    /// 1 − squared errors / squared deviations from the mean; `None` where the truth is constant.
    pub r2: Option<f64>,
}

impl Scores {
    /// Accuracy as in Hsu et al. 2016, in percent: 100 minus the mean relative error, but at least 0.
    pub fn accuracy_percent(&self) -> Option<f64> {
        self.mape_percent.map(|mape| (100.0 - mape).max(0.0))
    }

    /// The errors of `predicted` against `truth`, row by row; errors if lengths differ or there are no
    /// rows.
    pub fn of(truth: &[f64], predicted: &[f64]) -> Result<Self, LearnError> {
        if truth.len() != predicted.len() {
            let what = "predictions".to_owned();
            return Err(LearnError::Length { what, found: predicted.len(), wanted: truth.len() });
        }
        if truth.is_empty() {
            return Err(LearnError::TooFewRows { found: 0, wanted: 1 });
        }
        let around = squares_around(truth, mean(truth));
        let errors: f64 = truth.iter().zip(predicted).map(|(t, p)| (t - p) * (t - p)).sum();
        let mut relative = relative_errors(truth, predicted);
        let missed: f64 = truth.iter().zip(predicted).map(|(t, p)| (t - p).abs()).sum();
        let total: f64 = truth.iter().map(|t| t.abs()).sum();
        Ok(Self {
            rows: truth.len(),
            rmse: (errors / truth.len() as f64).sqrt(),
            mae: missed / truth.len() as f64,
            mape_percent: relative.as_ref().map(|errors| 100.0 * mean(errors)),
            median_ape_percent: relative.as_mut().map(|errors| 100.0 * median(errors)),
            wape_percent: (total > 0.0).then(|| 100.0 * missed / total),
            r2: (around > 0.0).then(|| 1.0 - errors / around),
        })
    }
}

/// |predicted − true| / |true| by row; `None` where a true value is 0.
pub fn relative_errors(truth: &[f64], predicted: &[f64]) -> Option<Vec<f64>> {
    let error = |(t, p): (&f64, &f64)| (*t != 0.0).then(|| ((t - p) / t).abs());
    truth.iter().zip(predicted).map(error).collect()
}

/// Root mean squared error.
pub fn rmse(truth: &[f64], predicted: &[f64]) -> f64 {
    let errors: f64 = truth.iter().zip(predicted).map(|(t, p)| (t - p) * (t - p)).sum();
    (errors / truth.len().max(1) as f64).sqrt()
}

/// Empirical cumulative distribution of errors.
#[derive(Clone, PartialEq, Debug)]
pub struct Ecdf {
    sorted: Vec<f64>,
}

impl Ecdf {
    /// Of these values, none of which may be NaN.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self { sorted: values }
    }

    /// Share of values that are at most `value`; 0 of nothing.
    pub fn share(&self, value: f64) -> f64 {
        let below = self.sorted.partition_point(|other| *other <= value);
        below as f64 / self.sorted.len().max(1) as f64
    }

    /// The smallest value that at least this share (0 to 1) does not exceed; `None` of nothing.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share.clamp(0.0, 1.0) * self.sorted.len() as f64).ceil().max(1.0) as usize;
        self.sorted.get(rank - 1).copied()
    }
}

/// A paired t-test: are two models' errors different on the mean?
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TTest {
    /// Mean of the differences.
    pub mean_difference: f64,
    /// Student's t.
    pub t: f64,
    /// Degrees of freedom.
    pub degrees_of_freedom: f64,
    /// Two-sided probability of such a t or a larger one, were the true mean 0.
    pub p_value: f64,
}

/// Tests the differences `a − b`; errors if lengths differ, there are fewer than 2 pairs, or all
/// differences are the same.
#[expect(clippy::many_single_char_names, reason = "the formula's own")]
pub fn paired_t_test(a: &[f64], b: &[f64]) -> Result<TTest, LearnError> {
    if a.len() != b.len() {
        let what = "paired values".to_owned();
        return Err(LearnError::Length { what, found: b.len(), wanted: a.len() });
    }
    if a.len() < 2 {
        return Err(LearnError::TooFewRows { found: a.len(), wanted: 2 });
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let n = differences.len() as f64;
    let mean_difference = mean(&differences);
    let variance = squares_around(&differences, mean_difference) / (n - 1.0);
    if variance <= 0.0 {
        let value = mean_difference;
        return Err(LearnError::ConstantTarget { column: "difference".to_owned(), value });
    }
    let t = mean_difference / (variance / n).sqrt();
    let degrees_of_freedom = n - 1.0;
    // P(|T| > t) = I_x(ν/2, 1/2) with x = ν / (ν + t²)
    let x = degrees_of_freedom / (degrees_of_freedom + t * t);
    let p_value = incomplete_beta(degrees_of_freedom / 2.0, 0.5, x);
    Ok(TTest { mean_difference, t, degrees_of_freedom, p_value })
}

/// Regularised incomplete beta function `I_x(a, b)`: Lentz's evaluation of its continued fraction
/// (Abramowitz & Stegun 26.5.8).
#[expect(clippy::many_single_char_names, reason = "the formula's own")]
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = libm::exp(
        log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * libm::log(x) + b * libm::log1p(-x),
    ) / a;
    let away_from_0 = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away_from_0(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        for numerator in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away_from_0(1.0 + numerator * d);
            c = away_from_0(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// ln Γ(x) for x > 0: Stirling's series after shifting x above 10.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= libm::log(x);
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0))))
        / x;
    shift + (x - 0.5) * libm::log(x) - x + 0.5 * libm::log(2.0 * std::f64::consts::PI) + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_a_small_set() {
        // errors 1, 0, −2: RMSE √(5/3); relative 1/1, 0/2, 2/4; mean of the truth 7/3,
        // squared deviations 16/9 + 1/9 + 25/9 = 42/9
        let scores = Scores::of(&[1.0, 2.0, 4.0], &[2.0, 2.0, 2.0]).unwrap();
        assert!((scores.rmse - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!((scores.mae - 1.0).abs() < 1e-15);
        assert_eq!(scores.mape_percent, Some(50.0));
        assert_eq!(scores.median_ape_percent, Some(50.0));
        assert!((scores.r2.unwrap() - (1.0 - 5.0 * 9.0 / 42.0)).abs() < 1e-15);
        let with_0 = Scores::of(&[0.0, 2.0], &[1.0, 1.0]).unwrap();
        assert_eq!((with_0.mape_percent, with_0.wape_percent), (None, Some(100.0)));
    }

    #[test]
    fn ecdf_and_its_quantiles() {
        let ecdf = Ecdf::new(vec![3.0, 1.0, 2.0, 2.0]);
        let shares = [0.5, 2.0, 9.0].map(|value| (ecdf.share(value) * 4.0) as u32);
        assert_eq!(shares, [0, 3, 4]);
        assert_eq!([ecdf.quantile(0.25), ecdf.quantile(0.5)], [Some(1.0), Some(2.0)]);
        assert_eq!(Ecdf::new(vec![]).quantile(0.5), None);
    }

    #[test]
    fn closed_form_t_test() {
        // differences 1, 2, 3: mean 2, deviation 1, t = 2√3; with 2 degrees of freedom
        // P(|T| > t) = 1 − t / √(2 + t²) = 1 − √(12/14)
        let test = paired_t_test(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((test.t - 12.0_f64.sqrt()).abs() < 1e-12);
        assert!((test.p_value - (1.0 - (12.0_f64 / 14.0).sqrt())).abs() < 1e-12);
        // with 1 degree of freedom it is 1 − (2/π) atan t; differences 1, 3: t = 2
        let test = paired_t_test(&[1.0, 3.0], &[0.0, 0.0]).unwrap();
        let exact = 1.0 - 2.0 / std::f64::consts::PI * libm::atan(2.0);
        assert!((test.p_value - exact).abs() < 1e-12);
        assert!(paired_t_test(&[1.0, 2.0], &[0.0, 1.0]).is_err());
    }
}
