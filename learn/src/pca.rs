//! Regression on principal components: least squares on the leading directions of standardised columns.
//!
//! The resulting model is linear in the columns. The directions are found by orthogonal iteration on
//! the correlation matrix. It iterates on more directions than are wanted, so that it converges quickly
//! (Golub & Van Loan, *Matrix Computations*, 8.2.4). The remaining small eigenproblem is solved by
//! Jacobi's rotations (8.5).

use crate::gram::{Folded, Standard};
use crate::linear::LinearModel;
use crate::matrix::{Matrix, add_scaled, dot};

/// Number of directions that are iterated on beyond those wanted.
const MORE: usize = 10;
/// Maximum number of iterations, and the relative change of a variance below which they end.
const ITERATIONS: usize = 500;
const CONVERGED: f64 = 1e-10;

/// Fits y on the first `components` components.
pub(crate) fn fit(x: &Matrix, y: &[f64], components: usize) -> LinearModel {
    let standard = Folded::new(x, y, None, None).whole();
    let varying = standard.deviations.iter().filter(|deviation| **deviation > 0.0).count();
    let directions = leading(&standard, components.min(varying).min(x.rows() - 1));
    // components are uncorrelated, so each coefficient is its own covariance over its variance
    let mut beta = vec![0.0; x.columns()];
    for (variance, direction) in directions {
        if variance > 1e-12 {
            add_scaled(&mut beta, dot(&direction, &standard.with_y) / variance, &direction);
        }
    }
    let (intercept, coefficients) = standard.unscaled(&beta);
    LinearModel::of_columns(intercept, &coefficients)
}

/// Variances and directions of the leading components, the largest first.
fn leading(standard: &Standard, wanted: usize) -> Vec<(f64, Vec<f64>)> {
    let p = standard.with_y.len();
    let count = (wanted + MORE).min(p);
    // any start works that is not orthogonal to a leading direction
    let start = |k: usize| -> Vec<f64> {
        (0..p).map(|j| 1.0 / (1.0 + ((j * 7 + k * 13) % (p + 1)) as f64)).collect()
    };
    let mut basis: Vec<Vec<f64>> = (0..count).map(start).collect();
    orthonormalise(&mut basis);
    let mut before: Vec<f64> = Vec::new();
    for _ in 0..ITERATIONS {
        let mut next: Vec<Vec<f64>> = basis.iter().map(|v| times(&standard.gram, v)).collect();
        let mut small = Matrix::zeros(count, count);
        for (a, direction) in basis.iter().enumerate() {
            for (b, image) in next.iter().enumerate() {
                small.column_mut(b)[a] = dot(direction, image);
            }
        }
        let (variances, rotation) = eigen(small);
        let rotated = |of: &[Vec<f64>], k: usize| {
            let mut sum = vec![0.0; p];
            for (j, direction) in of.iter().enumerate() {
                add_scaled(&mut sum, rotation.get(j, k), direction);
            }
            sum
        };
        let largest = variances.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        let settled = before.len() == count
            && before[..wanted]
                .iter()
                .zip(&variances)
                .all(|(before, now)| (before - now).abs() <= CONVERGED * largest);
        basis = (0..count).map(|k| rotated(&basis, k)).collect();
        if settled {
            before = variances;
            break;
        }
        next = (0..count).map(|k| rotated(&next, k)).collect();
        orthonormalise(&mut next);
        (basis, before) = (next, variances);
    }
    before.into_iter().zip(basis).take(wanted).collect()
}

fn times(gram: &Matrix, vector: &[f64]) -> Vec<f64> {
    // the matrix is symmetric
    (0..vector.len()).map(|j| dot(gram.column(j), vector)).collect()
}

/// Gram-Schmidt, done twice, which is enough; dependent vectors become 0.
fn orthonormalise(basis: &mut [Vec<f64>]) {
    for k in 0..basis.len() {
        let (done, rest) = basis.split_at_mut(k);
        let vector = &mut rest[0];
        let before = dot(vector, vector).sqrt();
        for _ in 0..2 {
            for other in done.iter() {
                let along = dot(other, vector);
                add_scaled(vector, -along, other);
            }
        }
        let length = dot(vector, vector).sqrt();
        let scale = if length > 1e-12 * before && length > 0.0 { 1.0 / length } else { 0.0 };
        for value in vector.iter_mut() {
            *value *= scale;
        }
    }
}

/// Eigenvalues of a small symmetric matrix, the largest first, and its eigenvectors as columns.
#[expect(clippy::many_single_char_names, reason = "the book's own")]
fn eigen(mut a: Matrix) -> (Vec<f64>, Matrix) {
    let n = a.rows();
    let mut vectors = Matrix::zeros(n, n);
    for j in 0..n {
        vectors.column_mut(j)[j] = 1.0;
    }
    for _ in 0..60 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let (apq, app, aqq) = (a.get(p, q), a.get(p, p), a.get(q, q));
                off += apq * apq;
                if apq.abs() <= 1e-300 {
                    continue;
                }
                let theta = (aqq - app) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + libm::hypot(theta, 1.0));
                let c = 1.0 / libm::hypot(t, 1.0);
                let s = t * c;
                for k in 0..n {
                    let (kp, kq) = (a.get(k, p), a.get(k, q));
                    a.column_mut(p)[k] = c * kp - s * kq;
                    a.column_mut(q)[k] = s * kp + c * kq;
                }
                for k in 0..n {
                    let (pk, qk) = (a.get(p, k), a.get(q, k));
                    a.column_mut(k)[p] = c * pk - s * qk;
                    a.column_mut(k)[q] = s * pk + c * qk;
                    let (vp, vq) = (vectors.get(k, p), vectors.get(k, q));
                    vectors.column_mut(p)[k] = c * vp - s * vq;
                    vectors.column_mut(q)[k] = s * vp + c * vq;
                }
            }
        }
        if off < 1e-26 {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a.get(j, j).total_cmp(&a.get(i, i)));
    let mut sorted = Matrix::zeros(n, n);
    for (to, &from) in order.iter().enumerate() {
        sorted.column_mut(to).copy_from_slice(vectors.column(from));
    }
    (order.iter().map(|&i| a.get(i, i)).collect(), sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    /// Columns of two causes, and a little noise.
    fn data() -> (Matrix, Vec<f64>) {
        let mut stream = Seed(9).stream("pca");
        let mut draw = || stream.unit() - 0.5;
        let causes: Vec<(f64, f64)> = (0..300).map(|_| (draw(), draw())).collect();
        let columns: Vec<Vec<f64>> = (0..30)
            .map(|j| {
                let (a, b) = (libm::cos(f64::from(j)), libm::sin(f64::from(j)));
                causes.iter().map(|c| 100.0 * (a * c.0 + b * c.1) + draw()).collect()
            })
            .collect();
        let y = causes.iter().map(|c| 5.0 + c.0 - 2.0 * c.1).collect();
        (Matrix::from_columns(&columns).unwrap(), y)
    }

    #[test]
    fn two_components_hold_two_causes() {
        let (x, y) = data();
        let model = fit(&x, &y, 2);
        let mut predicted = vec![0.0; y.len()];
        model.predict_into(&x, &mut predicted);
        let worst = predicted.iter().zip(&y).map(|(p, y)| (p - y).abs()).fold(0.0, f64::max);
        assert!(worst < 0.05, "{worst}");
    }

    #[test]
    fn all_components_are_least_squares() {
        let (x, y) = data();
        let few: Vec<usize> = (0..5).collect();
        let x = x.take_columns(&few);
        let (all, plain) = (fit(&x, &y, 5), LinearModel::fit(&x, &y, false, &few));
        for ((_, a), (_, b)) in all.terms.iter().zip(&plain.terms) {
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-8, "{a:?} {b:?}");
        }
    }

    #[test]
    fn directions_are_those_of_the_matrix() {
        let (x, y) = data();
        let standard = Folded::new(&x, &y, None, None).whole();
        for (variance, direction) in leading(&standard, 4) {
            let image = times(&standard.gram, &direction);
            for (image, value) in image.iter().zip(&direction) {
                assert!((image - variance * value).abs() < 1e-4, "{image} {variance} {value}");
            }
        }
    }
}
