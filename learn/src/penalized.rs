//! Ridge, lasso and elastic net, in glmnet's conventions.
//!
//! Minimises 1/(2n)·RSS + λ[(1 − α)/2·‖β‖² + α‖β‖₁] by coordinate descent on the correlation matrix
//! (Friedman, Hastie & Tibshirani 2010). Columns are standardised by their 1/n deviation, y to unit
//! variance. λ is in the target's unit, so after standardising both penalties are divided by sd(y). The L2
//! part therefore acts as in glmnet, not as in a textbook with y as it is. α = 0 (ridge) is solved
//! directly.
//!
//! If λ is not given, the λ with the smallest mean squared error in 10-fold cross-validation is taken. It
//! is searched on glmnet's path of 100 values, from the smallest λ at which all coefficients are 0 down to
//! 10⁻⁴ of it (10⁻² if there are no more rows than columns). The folds are drawn from a fixed seed; if
//! groups are known, all rows of a group are in one fold. For ridge every tenth λ is tried first, then
//! those around the best.
//!
//! With relative errors a row has weight 1/y². The minimised quantity is then the squared relative error,
//! which is close to a MAPE. A |y| below [`FLOOR`] of the mean |y| counts as that much. A y of 0 has no
//! relative error. It counts as the mean |y|, or such rows alone would decide the fit.
//!
//! The L1 penalty can differ by column: it is multiplied by 1 over a weight from another model (Zou's
//! adaptive lasso, 2006; glmnet's `penalty.factor`).

use crate::folds::Folds;
use crate::gram::{Folded, Standard};
use crate::linear::LinearModel;
use crate::matrix::{Matrix, add_scaled, dot, mean};
use crate::spec::Rows;

/// Number of values of λ on a path.
const PATH: usize = 100;
/// The descent ends when no standardised coefficient changes by more than this.
const CONVERGED: f64 = 1e-12;
/// The same limit while λ is chosen. glmnet stops at a change of √10⁻⁷. Nearly collinear columns converge
/// slowly, and this limit is good enough.
const ROUGHLY: f64 = 1e-4;
/// Share of the mean |y|: smaller targets count as this much.
const FLOOR: f64 = 0.02;
/// Spacing, in steps of the path, of the λ's that a ridge tries first.
const STRIDE: usize = 10;
/// Maximum number of rounds of coordinate descent.
const ROUNDS: usize = 20_000;

impl Standard {
    /// The smallest λ at which all coefficients are 0; for a ridge, the one for α = 0.001 (glmnet).
    fn largest_lambda(&self, alpha: f64) -> f64 {
        let pulls =
            self.with_y.iter().zip(&self.factors).map(|(value, factor)| value.abs() / factor);
        let most = pulls.fold(0.0_f64, f64::max);
        self.y_deviation * most / alpha.max(1e-3)
    }

    /// Improves the standardised coefficients `beta` for this λ, starting from their present values.
    fn descend(&self, lambda: f64, alpha: f64, beta: &mut [f64], converged: f64) {
        if self.y_deviation <= 0.0 {
            return;
        }
        let lambda = lambda / self.y_deviation;
        let (l1, l2) = (lambda * alpha, lambda * (1.0 - alpha));
        if alpha == 0.0 {
            self.ridge(l2, beta);
            return;
        }
        // gradient: c − Gβ
        let mut gradient = self.with_y.clone();
        for (j, value) in beta.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            add_scaled(&mut gradient, -value, self.gram.column(j));
        }
        let mut change = |j: usize, beta: &mut [f64]| {
            let old = beta[j];
            let pull = gradient[j] + old;
            let new = (pull.abs() - l1 * self.factors[j]).max(0.0).copysign(pull) / (1.0 + l2);
            if new.to_bits() != old.to_bits() {
                add_scaled(&mut gradient, old - new, self.gram.column(j));
                beta[j] = new;
            }
            (new - old).abs()
        };
        let varying: Vec<usize> = (0..beta.len()).filter(|j| self.deviations[*j] > 0.0).collect();
        let mut rounds = 0;
        while rounds < ROUNDS {
            rounds += 1;
            if varying.iter().map(|&j| change(j, beta)).fold(0.0, f64::max) < converged {
                break;
            }
            // iterate on the nonzero coefficients until they converge, then check the others again
            let active: Vec<usize> = varying.iter().copied().filter(|j| beta[*j] != 0.0).collect();
            while rounds < ROUNDS {
                rounds += 1;
                if active.iter().map(|&j| change(j, beta)).fold(0.0, f64::max) < converged {
                    break;
                }
            }
        }
    }

    /// Solves (G + l2·I)β = c by Cholesky's decomposition; a tiny ridge keeps G positive definite.
    fn ridge(&self, l2: f64, beta: &mut [f64]) {
        let p = beta.len();
        let mut lower = self.gram.clone();
        for j in 0..p {
            lower.column_mut(j)[j] +=
                l2.max(1e-10) + if self.deviations[j] > 0.0 { 0.0 } else { 1.0 };
        }
        for j in 0..p {
            let pivot = lower.get(j, j).max(1e-300).sqrt();
            for value in &mut lower.column_mut(j)[j..] {
                *value /= pivot;
            }
            for k in j + 1..p {
                let (from, to) = lower.column_pair(j, k);
                let factor = from[k];
                add_scaled(&mut to[k..], -factor, &from[k..]);
            }
        }
        beta.copy_from_slice(&self.with_y);
        for j in 0..p {
            beta[j] /= lower.get(j, j);
            let value = beta[j];
            add_scaled(&mut beta[j + 1..], -value, &lower.column(j)[j + 1..]);
        }
        for j in (0..p).rev() {
            let known = dot(&lower.column(j)[j + 1..], &beta[j + 1..]);
            beta[j] = (beta[j] - known) / lower.get(j, j);
        }
    }
}

/// How a penalized model is fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PenalizedSettings {
    /// The penalty; `None`: the best of the path.
    pub(crate) lambda: Option<f64>,
    /// The share of the L1 penalty.
    pub(crate) alpha: f64,
    /// Whether squared relative errors are minimised.
    pub(crate) relative: bool,
}

/// Prepared rows for models of any columns, any λ and any L1 share α.
pub(crate) struct Fitter {
    folded: Folded,
    whole: Standard,
    tests: Vec<Test>,
}

/// The held-out rows of a fold.
struct Test {
    x: Matrix,
    y: Vec<f64>,
    weights: Vec<f64>,
}

/// The best λ of some columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) lambda: f64,
    /// Sum of squared errors over the rows, from models that never saw them.
    pub(crate) error: f64,
}

impl Fitter {
    /// Prepares the rows. Without `folds` no λ can be chosen.
    pub(crate) fn new(x: &Matrix, y: &[f64], relative: bool, folds: Option<&Folds>) -> Self {
        let weights = relative.then(|| relative_weights(y));
        let folded = Folded::new(x, y, weights.as_deref(), folds);
        let pick = |values: &[f64], rows: &[usize]| rows.iter().map(|&row| values[row]).collect();
        let test = |fold: usize, folds: &Folds| {
            let rows = folds.split(fold).1;
            let all_one = || vec![1.0; rows.len()];
            let weights = weights.as_deref().map_or_else(all_one, |weights| pick(weights, &rows));
            Test { x: x.take_rows(&rows), y: pick(y, &rows), weights }
        };
        let tests = folds.map(|folds| (0..folds.count()).map(|fold| test(fold, folds)).collect());
        Self { whole: folded.whole(), folded, tests: tests.unwrap_or_default() }
    }

    /// From now on, columns with a larger weight are penalized less; columns without weight get no
    /// coefficient.
    pub(crate) fn weigh(&mut self, weights: &[f64]) {
        self.folded.weigh(weights);
        self.whole = self.folded.whole();
    }

    /// The model of the columns `kept`, for a λ.
    pub(crate) fn fit(&self, kept: &[usize], lambda: f64, alpha: f64) -> LinearModel {
        let standard = self.whole.keep(kept);
        let mut beta = vec![0.0; kept.len()];
        standard.descend(lambda, alpha, &mut beta, CONVERGED);
        let (intercept, of_kept) = standard.unscaled(&beta);
        let mut coefficients = vec![0.0; self.whole.deviations.len()];
        for (&column, coefficient) in kept.iter().zip(of_kept) {
            coefficients[column] = coefficient;
        }
        LinearModel::of_columns(intercept, &coefficients)
    }

    /// Standardised coefficients of all columns, for a λ.
    pub(crate) fn standardised(&self, lambda: f64, alpha: f64) -> Vec<f64> {
        let mut beta = vec![0.0; self.whole.deviations.len()];
        self.whole.descend(lambda, alpha, &mut beta, ROUGHLY);
        beta
    }

    /// The λ with the smallest cross-validation error for these columns.
    pub(crate) fn choose(&self, kept: &[usize], alpha: f64) -> Choice {
        let lambdas = path(&self.whole.keep(kept), alpha);
        let of_folds: Vec<Standard> =
            (0..self.tests.len()).map(|fold| self.folded.without(fold).keep(kept)).collect();
        let mut errors = vec![f64::INFINITY; lambdas.len()];
        let try_out = |tried: &[usize], errors: &mut [f64]| {
            let mut found = vec![0.0; tried.len()];
            for (standard, test) in of_folds.iter().zip(&self.tests) {
                let mut beta = vec![0.0; kept.len()];
                let mut predicted = vec![0.0; test.y.len()];
                for (&index, found) in tried.iter().zip(&mut found) {
                    standard.descend(lambdas[index], alpha, &mut beta, ROUGHLY);
                    let (intercept, coefficients) = standard.unscaled(&beta);
                    predicted.fill(intercept);
                    for (&column, coefficient) in kept.iter().zip(coefficients) {
                        if coefficient != 0.0 {
                            add_scaled(&mut predicted, coefficient, test.x.column(column));
                        }
                    }
                    let rows = predicted.iter().zip(&test.y).zip(&test.weights);
                    *found += rows.map(|((p, y), w)| w * (p - y) * (p - y)).sum::<f64>();
                }
            }
            for (&index, found) in tried.iter().zip(found) {
                errors[index] = found;
            }
        };
        let best = |errors: &[f64]| {
            let best = errors.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
            best.map_or(0, |(index, _)| index)
        };
        if alpha == 0.0 {
            let coarse: Vec<usize> =
                (0..PATH).step_by(STRIDE).chain(std::iter::once(PATH - 1)).collect();
            try_out(&coarse, &mut errors);
            let around = best(&errors);
            let near = around.saturating_sub(STRIDE - 1)..(around + STRIDE).min(PATH);
            let fine: Vec<usize> = near.filter(|index| errors[*index].is_infinite()).collect();
            try_out(&fine, &mut errors);
        } else {
            try_out(&(0..PATH).collect::<Vec<_>>(), &mut errors);
        }
        let index = best(&errors);
        Choice { lambda: lambdas[index], error: errors[index] }
    }
}

/// 1/y² by row, scaled to a mean of 1.
fn relative_weights(y: &[f64]) -> Vec<f64> {
    let sizes: Vec<f64> = y.iter().map(|y| y.abs()).collect();
    let usual = mean(&sizes).max(f64::MIN_POSITIVE);
    let counted = |size: &f64| if *size > 0.0 { size.max(FLOOR * usual) } else { usual };
    let mut weights: Vec<f64> = sizes.iter().map(|size| counted(size).powi(-2)).collect();
    let average = mean(&weights);
    for weight in &mut weights {
        *weight /= average;
    }
    weights
}

/// The model for one λ, or for the best of a path.
pub(crate) fn fit(
    x: &Matrix,
    y: &[f64],
    settings: &PenalizedSettings,
    rows: &Rows<'_>,
) -> LinearModel {
    let all: Vec<usize> = (0..x.columns()).collect();
    let folds = if settings.lambda.is_none() { rows.inner_folds(x.rows()) } else { None };
    let fitter = Fitter::new(x, y, settings.relative, folds.as_ref());
    let lambda = match (settings.lambda, folds) {
        (Some(lambda), _) => lambda,
        (None, Some(_)) => fitter.choose(&all, settings.alpha).lambda,
        // too few rows for cross-validation: the smallest penalty of the path
        (None, None) => path(&fitter.whole, settings.alpha).pop().unwrap_or(0.0),
    };
    fitter.fit(&all, lambda, settings.alpha)
}

/// The λ's that are tried, the largest first.
fn path(standard: &Standard, alpha: f64) -> Vec<f64> {
    let least: f64 = if standard.rows > standard.with_y.len() { 1e-4 } else { 1e-2 };
    let largest = standard.largest_lambda(alpha);
    let step = |index: usize| largest * libm::pow(least, index as f64 / (PATH - 1) as f64);
    (0..PATH).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_nothing_do_not_outweigh_those_that_are_scored() {
        let weights = relative_weights(&[0.0, 0.0, 2.0, 4.0, 0.001]);
        let usual = mean(&[0.0, 0.0, 2.0, 4.0, 0.001]);
        let by_size = |i: usize, size: f64| weights[i] * size * size;
        for (i, size) in [(0, usual), (1, usual), (2, 2.0), (3, 4.0), (4, FLOOR * usual)] {
            assert!((by_size(i, size) - by_size(2, 2.0)).abs() < 1e-9, "{i} {weights:?}");
        }
        assert!((mean(&weights) - 1.0).abs() < 1e-12);
    }

    /// Two uncorrelated columns of variance 1; the penalty of the second is doubled. Each coefficient is
    /// its correlation minus λ times the factor.
    #[test]
    fn penalties_are_divided_by_weights() {
        let columns = [vec![1.0, 1.0, -1.0, -1.0], vec![1.0, -1.0, 1.0, -1.0]];
        let x = Matrix::from_columns(&columns).unwrap();
        let y: Vec<f64> = (0..4).map(|row| 3.0 * columns[0][row] + 4.0 * columns[1][row]).collect();
        let mut fitter = Fitter::new(&x, &y, false, None);
        fitter.weigh(&[0.6, 0.3]);
        let found = |lambda| fitter.fit(&[0, 1], lambda, 1.0).predict_row(&[1.0, 1.0]);
        assert!((found(0.5) - (2.5 + 3.0)).abs() < 1e-9, "{}", found(0.5));
        assert!((found(2.0) - 1.0).abs() < 1e-9, "{}: the second is left out", found(2.0));
    }
}
