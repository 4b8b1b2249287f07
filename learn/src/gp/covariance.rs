//! Covariances, and the likelihood of their hyperparameters with its gradient.
//!
//! k(a, b) = s²·c(r) + b²·(1 + a·b) + ν² [a is b], r² = Σ (aⱼ − bⱼ)²/ℓⱼ². The second part is a linear
//! mean. Its coefficients have a normal prior and are integrated out, so they need no separate estimate
//! (Rasmussen & Williams 2006, section 2.7); this is scikit-learn's `C(b²)·DotProduct(1)`. The search
//! variables are natural logarithms of s², ν², b² and the ℓⱼ.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::cholesky::Cholesky;
use crate::matrix::{Matrix, dot};

/// How correlation falls with distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// Matérn, ν = 3/2: (1 + √3 r) exp(−√3 r).
    Matern32,
    /// Matérn, ν = 5/2: (1 + √5 r + 5 r²/3) exp(−√5 r).
    Matern52,
    /// Squared exponential: exp(−r²/2).
    Rbf,
}

impl Kernel {
    pub(crate) const NAMES: &'static [&'static str] = &["matern32", "matern52", "rbf"];
    pub(crate) const ALL: [Self; 3] = [Self::Matern32, Self::Matern52, Self::Rbf];

    /// Correlation at a squared distance.
    fn at(self, squared: f64) -> f64 {
        match self {
            Self::Matern32 => {
                let r = (3.0 * squared).sqrt();
                (1.0 + r) * libm::exp(-r)
            }
            Self::Matern52 => {
                let r = (5.0 * squared).sqrt();
                (1.0 + r + 5.0 / 3.0 * squared) * libm::exp(-r)
            }
            Self::Rbf => libm::exp(-0.5 * squared),
        }
    }

    /// Correlation, and −2 × its derivative with respect to the squared distance.
    fn with_slope(self, squared: f64) -> (f64, f64) {
        match self {
            Self::Matern32 => {
                let r = (3.0 * squared).sqrt();
                let fall = libm::exp(-r);
                ((1.0 + r) * fall, 3.0 * fall)
            }
            Self::Matern52 => {
                let r = (5.0 * squared).sqrt();
                let fall = libm::exp(-r);
                ((1.0 + r + 5.0 / 3.0 * squared) * fall, 5.0 / 3.0 * (1.0 + r) * fall)
            }
            Self::Rbf => {
                let fall = libm::exp(-0.5 * squared);
                (fall, fall)
            }
        }
    }
}

/// The fitted hyperparameters: variances in units of the standardised target's, length scales in units of
/// the standardised inputs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// s²: variance of the part that depends on distance.
    pub signal_variance: f64,
    /// ν²: variance between repeated observations (noise).
    pub noise_variance: f64,
    /// b²: prior variance of the linear mean's coefficients; 0: no linear mean.
    pub linear_variance: f64,
    /// ℓ: length scale by input.
    pub length_scales: Vec<f64>,
}

impl Hyperparameters {
    /// The hyperparameters as search variables.
    pub(super) fn logarithms(&self) -> Vec<f64> {
        let mut all = vec![libm::log(self.signal_variance), libm::log(self.noise_variance)];
        if self.linear_variance > 0.0 {
            all.push(libm::log(self.linear_variance));
        }
        all.extend(self.length_scales.iter().map(|scale| libm::log(*scale)));
        all
    }

    pub(super) fn from_logarithms(all: &[f64], has_linear: bool) -> Self {
        let first = 2 + usize::from(has_linear);
        Self {
            signal_variance: libm::exp(all[0]),
            noise_variance: libm::exp(all[1]),
            linear_variance: if has_linear { libm::exp(all[2]) } else { 0.0 },
            length_scales: all[first..].iter().map(|value| libm::exp(*value)).collect(),
        }
    }

    /// The points, with each input in units of its length scale.
    pub(super) fn scaled(&self, x: &Matrix) -> Matrix {
        let mut scaled = x.clone();
        for (column, scale) in self.length_scales.iter().enumerate() {
            for value in scaled.column_mut(column) {
                *value /= scale;
            }
        }
        scaled
    }

    /// Variance of a point without noise; `squares`: the sum of its inputs' squares.
    pub(super) fn prior(&self, squares: f64) -> f64 {
        self.signal_variance + self.linear_variance * (1.0 + squares)
    }

    /// Covariances, without noise, of one point with the first `count` of the others.
    pub(super) fn with_points(
        &self,
        kernel: Kernel,
        point: &[f64],
        scaled_point: &[f64],
        x: &Matrix,
        scaled: &Matrix,
        count: usize,
    ) -> Vec<f64> {
        let mut squared = vec![0.0; count];
        add_squared_distances(&mut squared, scaled_point, scaled);
        for value in &mut squared {
            *value = self.signal_variance * kernel.at(*value);
        }
        if self.linear_variance > 0.0 {
            for value in &mut squared {
                *value += self.linear_variance;
            }
            for (column, at) in point.iter().enumerate() {
                let factor = self.linear_variance * at;
                crate::matrix::add_scaled(&mut squared, factor, &x.column(column)[..count]);
            }
        }
        squared
    }

    /// Covariances of all points, with noise on the diagonal; only the lower triangle is filled.
    pub(super) fn of_points(&self, kernel: Kernel, x: &Matrix) -> Array2<f64> {
        let n = x.rows();
        let scaled = self.scaled(x);
        let mut all = Array2::zeros((n, n));
        let (mut point, mut scaled_point) = (Vec::new(), Vec::new());
        for row in 0..n {
            x.copy_row(row, &mut point);
            scaled.copy_row(row, &mut scaled_point);
            let of_row = self.with_points(kernel, &point, &scaled_point, x, &scaled, row + 1);
            let mut to = all.row_mut(row);
            to.as_slice_mut().expect("rows lie together")[..=row].copy_from_slice(&of_row);
            to[row] += self.noise_variance;
        }
        all
    }
}

fn add_squared_distances(squared: &mut [f64], scaled_point: &[f64], scaled: &Matrix) {
    for (column, at) in scaled_point.iter().enumerate() {
        for (sum, other) in squared.iter_mut().zip(scaled.column(column)) {
            let apart = at - other;
            *sum += apart * apart;
        }
    }
}

/// The logarithm of the marginal likelihood of `y` (n values, whose mean need not be 0) at the points `x`,
/// and its gradient with respect to the logarithms of the hyperparameters. `None` if the covariances
/// cannot be decomposed.
pub(super) fn likelihood(
    kernel: Kernel,
    at: &Hyperparameters,
    x: &Matrix,
    y: &[f64],
) -> Option<(f64, Vec<f64>)> {
    let n = y.len();
    let cholesky = Cholesky::new(at.of_points(kernel, x))?;
    let alpha = cholesky.solve(y);
    let value = of_solution(&cholesky, y, &alpha);
    let inverse = cholesky.inverse();
    drop(cholesky);
    let scaled = at.scaled(x);
    let inputs = x.columns();
    let (mut signal, mut noise, mut linear) = (0.0, 0.0, 0.0);
    let mut lengths = vec![0.0; inputs];
    let (mut point, mut scaled_point) = (Vec::new(), Vec::new());
    let mut slopes = vec![0.0; n];
    for row in 0..n {
        x.copy_row(row, &mut point);
        scaled.copy_row(row, &mut scaled_point);
        // ½ Σ over all pairs: each pair below the diagonal once, the diagonal at half weight
        let mut pulls: Vec<f64> =
            (0..=row).map(|other| alpha[row] * alpha[other] - inverse[[row, other]]).collect();
        pulls[row] *= 0.5;
        noise += pulls[row] * at.noise_variance;
        slopes[..=row].fill(0.0);
        add_squared_distances(&mut slopes[..=row], &scaled_point, &scaled);
        for (pull, slope) in pulls.iter().zip(&mut slopes) {
            let (correlation, fall) = kernel.with_slope(*slope);
            signal += pull * correlation;
            *slope = pull * fall;
        }
        for (column, at) in scaled_point.iter().enumerate() {
            let others = &scaled.column(column)[..=row];
            let mut sums = [0.0; 4];
            let mut others = others.chunks_exact(4);
            let mut weights = slopes[..=row].chunks_exact(4);
            for (others, weights) in others.by_ref().zip(weights.by_ref()) {
                for lane in 0..4 {
                    let apart = at - others[lane];
                    sums[lane] += weights[lane] * apart * apart;
                }
            }
            let rest = others.remainder().iter().zip(weights.remainder());
            let rest: f64 = rest.map(|(other, weight)| weight * (at - other).powi(2)).sum();
            lengths[column] += sums.iter().sum::<f64>() + rest;
        }
        if at.linear_variance > 0.0 {
            linear += pulls.iter().sum::<f64>();
            for (column, at) in point.iter().enumerate() {
                linear += at * dot(&pulls, &x.column(column)[..=row]);
            }
        }
    }
    let mut gradient = vec![signal * at.signal_variance, noise];
    if at.linear_variance > 0.0 {
        gradient.push(linear * at.linear_variance);
    }
    gradient.extend(lengths.iter().map(|sum| sum * at.signal_variance));
    gradient.iter().all(|part| part.is_finite()).then_some((value, gradient))
}

/// The logarithm of the marginal likelihood, from α = K⁻¹y.
pub(super) fn of_solution(cholesky: &Cholesky, y: &[f64], alpha: &[f64]) -> f64 {
    let n = y.len() as f64;
    -0.5 * dot(y, alpha)
        - cholesky.half_log_determinant()
        - 0.5 * n * libm::log(std::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    fn points(n: usize) -> (Matrix, Vec<f64>) {
        let mut stream = Seed(8).stream("covariance");
        let columns: Vec<Vec<f64>> =
            (0..3).map(|_| (0..n).map(|_| 3.0 * stream.unit() - 1.5).collect()).collect();
        let y = (0..n).map(|row| libm::sin(2.0 * columns[0][row]) + columns[1][row]).collect();
        (Matrix::from_columns(&columns).unwrap(), y)
    }

    #[test]
    fn closed_form_likelihood_of_one_point() {
        // variance 2 + 0.5·(1 + 4) + 0.25 = 4.75, y = 3
        let x = Matrix::from_columns(&[vec![2.0]]).unwrap();
        let at = Hyperparameters {
            signal_variance: 2.0,
            noise_variance: 0.25,
            linear_variance: 0.5,
            length_scales: vec![1.0],
        };
        let (value, _) = likelihood(Kernel::Matern32, &at, &x, &[3.0]).unwrap();
        let wanted = -0.5 * 9.0 / 4.75 - 0.5 * libm::log(4.75 * std::f64::consts::TAU);
        assert!((value - wanted).abs() < 1e-12, "{value} {wanted}");
    }

    #[test]
    fn oracle_gradient_by_differences() {
        let (x, y) = points(130);
        for kernel in Kernel::ALL {
            for linear in [0.0, 0.3] {
                let at = Hyperparameters {
                    signal_variance: 1.3,
                    noise_variance: 0.05,
                    linear_variance: linear,
                    length_scales: vec![0.7, 2.0, 5.0],
                };
                let variables = at.logarithms();
                let of = |variables: &[f64]| {
                    let at = Hyperparameters::from_logarithms(variables, linear > 0.0);
                    likelihood(kernel, &at, &x, &y).unwrap()
                };
                let (_, gradient) = of(&variables);
                for (i, slope) in gradient.iter().enumerate() {
                    let shifted = |by: f64| {
                        let mut variables = variables.clone();
                        variables[i] += by;
                        of(&variables).0
                    };
                    let differences = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                    let off = (differences - slope).abs();
                    assert!(off < 1e-5 * (1.0 + slope.abs()), "{kernel:?} {linear} {i}: {off}");
                }
            }
        }
    }
}
