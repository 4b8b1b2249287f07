//! Ridge, lasso and elastic net, in glmnet's conventions.
//!
//! Minimises 1/(2n)·RSS + λ[(1 − α)/2·‖β‖² + α‖β‖₁] with columns standardised by their 1/n
//! deviation, y to unit variance (Friedman, Hastie & Tibshirani 2010), by coordinate descent on the
//! correlation matrix. λ is in the target's unit, so after standardising both penalties are divided
//! by sd(y): the L2 part acts as in glmnet, not as in a textbook with y as it is. α = 0 (ridge) is
//! solved directly.
//!
//! Without λ, the λ of the smallest mean squared error is taken in 10-fold cross-validation over
//! glmnet's path of 100 values from the smallest λ that leaves nothing down to 10⁻⁴ of it (10⁻² if
//! there are no more rows than columns). The folds are drawn from a fixed seed.

use foretell_units::Seed;

use crate::folds::Folds;
use crate::linear::LinearModel;
use crate::matrix::{Matrix, add_scaled, dot, mean, squares_around};

/// Values of λ on a path.
const PATH: usize = 100;
/// The largest change of a standardised coefficient that ends the descent.
const CONVERGED: f64 = 1e-12;
/// The same while λ is chosen.
const ROUGHLY: f64 = 1e-6;
/// Rounds of coordinate descent at most.
const ROUNDS: usize = 100_000;

/// Columns and target standardised.
struct Standard {
    means: Vec<f64>,
    /// 1/n deviations; 0: the column is constant and gets no coefficient.
    deviations: Vec<f64>,
    y_mean: f64,
    y_deviation: f64,
    /// Correlations of columns, p × p.
    gram: Matrix,
    /// Correlations of columns with y.
    with_y: Vec<f64>,
}

impl Standard {
    fn of(x: &Matrix, y: &[f64]) -> Self {
        let n = x.rows() as f64;
        let y_mean = mean(y);
        let y_deviation = (squares_around(y, y_mean) / n).sqrt();
        let mut scaled = Matrix::zeros(x.rows(), x.columns());
        let (mut means, mut deviations) = (Vec::new(), Vec::new());
        for j in 0..x.columns() {
            let middle = mean(x.column(j));
            let spread = (squares_around(x.column(j), middle) / n).sqrt();
            let constant = spread <= 1e-12 * middle.abs();
            if !constant {
                for (to, from) in scaled.column_mut(j).iter_mut().zip(x.column(j)) {
                    *to = (from - middle) / spread;
                }
            }
            means.push(middle);
            deviations.push(if constant { 0.0 } else { spread });
        }
        let target: Vec<f64> = y
            .iter()
            .map(|y| if y_deviation > 0.0 { (y - y_mean) / y_deviation } else { 0.0 })
            .collect();
        let mut gram = Matrix::zeros(x.columns(), x.columns());
        for j in 0..x.columns() {
            for k in 0..=j {
                let value = dot(scaled.column(j), scaled.column(k)) / n;
                gram.column_mut(j)[k] = value;
                gram.column_mut(k)[j] = value;
            }
        }
        let with_y = (0..x.columns()).map(|j| dot(scaled.column(j), &target) / n).collect();
        Self { means, deviations, y_mean, y_deviation, gram, with_y }
    }

    /// The smallest λ at which no coefficient is left; of a ridge, that of α = 0.001 (glmnet).
    fn largest_lambda(&self, alpha: f64) -> f64 {
        let most = self.with_y.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        self.y_deviation * most / alpha.max(1e-3)
    }

    /// Improves standardised coefficients for this λ, from where they are.
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
        for _ in 0..ROUNDS {
            let mut largest = 0.0_f64;
            for j in 0..beta.len() {
                if self.deviations[j] <= 0.0 {
                    continue;
                }
                let old = beta[j];
                let pull = gradient[j] + old;
                let new = (pull.abs() - l1).max(0.0).copysign(pull) / (1.0 + l2);
                if new.to_bits() != old.to_bits() {
                    add_scaled(&mut gradient, old - new, self.gram.column(j));
                    beta[j] = new;
                    largest = largest.max((new - old).abs());
                }
            }
            if largest < converged {
                break;
            }
        }
    }

    /// Solves (G + l2·I)β = c by Cholesky's decomposition; a tiny ridge keeps it possible.
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

    fn model(&self, beta: &[f64]) -> LinearModel {
        let scale = |(beta, deviation): (&f64, &f64)| {
            if *deviation > 0.0 { beta * self.y_deviation / deviation } else { 0.0 }
        };
        let coefficients: Vec<f64> = beta.iter().zip(&self.deviations).map(scale).collect();
        let intercept = self.y_mean - dot(&coefficients, &self.means);
        LinearModel::of_columns(intercept, &coefficients)
    }
}

/// The model for one λ, or for the best of a path if `lambda` is `None`. `alpha` is the L1 share.
pub(crate) fn fit(x: &Matrix, y: &[f64], lambda: Option<f64>, alpha: f64) -> LinearModel {
    let standard = Standard::of(x, y);
    let mut beta = vec![0.0; x.columns()];
    let lambda = lambda.unwrap_or_else(|| best_lambda(x, y, &standard, alpha));
    standard.descend(lambda, alpha, &mut beta, CONVERGED);
    standard.model(&beta)
}

fn path(standard: &Standard, rows: usize, columns: usize, alpha: f64) -> Vec<f64> {
    let least: f64 = if rows > columns { 1e-4 } else { 1e-2 };
    let largest = standard.largest_lambda(alpha);
    let step = |index: usize| largest * least.powf(index as f64 / (PATH - 1) as f64);
    (0..PATH).map(step).collect()
}

fn best_lambda(x: &Matrix, y: &[f64], standard: &Standard, alpha: f64) -> f64 {
    let lambdas = path(standard, x.rows(), x.columns(), alpha);
    let mut errors = vec![0.0; lambdas.len()];
    let Ok(folds) = Folds::random(x.rows(), x.rows().min(10), Seed(0)) else {
        return lambdas.last().copied().unwrap_or(0.0);
    };
    let mut predicted = Vec::new();
    for fold in 0..folds.count() {
        let (train, test) = folds.split(fold);
        let train_y: Vec<f64> = train.iter().map(|&row| y[row]).collect();
        let of_fold = Standard::of(&x.take_rows(&train), &train_y);
        let test_x = x.take_rows(&test);
        let mut beta = vec![0.0; x.columns()];
        predicted.resize(test.len(), 0.0);
        for (lambda, error) in lambdas.iter().zip(&mut errors) {
            of_fold.descend(*lambda, alpha, &mut beta, ROUGHLY);
            of_fold.model(&beta).predict_into(&test_x, &mut predicted);
            *error +=
                test.iter().zip(&predicted).map(|(&row, p)| (y[row] - p).powi(2)).sum::<f64>();
        }
    }
    let best = errors.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0.0, |(index, _)| lambdas[index])
}
