//! Least squares by Householder reflections, with R's treatment of linearly dependent columns.
//!
//! A column whose part orthogonal to the columns before it is shorter than 10⁻⁷ of the column goes to
//! the end and gets no coefficient (R's `lm`, limited pivoting). So of collinear columns the first is
//! kept. Complete pivoting would keep the longest instead, and extrapolate differently.

use crate::matrix::{Matrix, add_scaled, dot};

/// Share of its length that a column must keep to count as independent.
const TOLERANCE: f64 = 1e-7;

/// A decomposition X = QR with X's columns in another order.
pub(crate) struct Qr {
    /// Reflections below the diagonal, R above it; the columns are in the order of `order`.
    work: Matrix,
    /// Diagonal of R.
    diagonal: Vec<f64>,
    /// Columns of X: the independent ones first.
    order: Vec<usize>,
    rank: usize,
}

impl Qr {
    /// Decomposes a matrix of n rows and p columns.
    pub(crate) fn new(mut work: Matrix) -> Self {
        let (rows, columns) = (work.rows(), work.columns());
        let mut order: Vec<usize> = (0..columns).collect();
        let mut lengths: Vec<f64> =
            (0..columns).map(|j| dot(work.column(j), work.column(j)).sqrt()).collect();
        let mut diagonal = vec![0.0; columns];
        let mut step = 0;
        let mut last = columns;
        while step < last && step < rows {
            let below = &work.column(step)[step..];
            let norm = dot(below, below).sqrt();
            if norm <= TOLERANCE * lengths[step] || norm == 0.0 {
                // move it to the end and keep the order of the others
                for column in step..last - 1 {
                    work.swap_columns(column, column + 1);
                }
                order[step..last].rotate_left(1);
                lengths[step..last].rotate_left(1);
                last -= 1;
                continue;
            }
            // reflect x to −sign(x₁)‖x‖ e₁, with v = x / ‖x‖ + sign e₁ scaled so that v₁ = 1 + |x₁|/‖x‖
            let column = work.column_mut(step);
            let scale = if column[step] < 0.0 { -norm } else { norm };
            for value in &mut column[step..] {
                *value /= scale;
            }
            column[step] += 1.0;
            diagonal[step] = -scale;
            for other in step + 1..columns {
                let (reflector, other) = work.column_pair(step, other);
                let (reflector, other) = (&reflector[step..], &mut other[step..]);
                let factor = -dot(reflector, other) / reflector[0];
                add_scaled(other, factor, reflector);
            }
            step += 1;
        }
        Self { work, diagonal, order, rank: step }
    }

    /// Number of independent columns.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Columns of X in the column order of R: the independent ones first.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// R's element in row `i` and column `j ≥ i`.
    pub(crate) fn r(&self, i: usize, j: usize) -> f64 {
        if i == j { self.diagonal[i] } else { self.work.get(i, j) }
    }

    /// Qᵀy.
    pub(crate) fn q_transposed(&self, y: &[f64]) -> Vec<f64> {
        let mut y = y.to_vec();
        for step in 0..self.rank {
            let reflector = &self.work.column(step)[step..];
            let factor = -dot(reflector, &y[step..]) / reflector[0];
            add_scaled(&mut y[step..], factor, reflector);
        }
        y
    }

    /// The coefficients of X's columns that minimise ‖y − Xβ‖²; `None` for dependent columns.
    pub(crate) fn solve(&self, y: &[f64]) -> Vec<Option<f64>> {
        let mut rotated = self.q_transposed(y);
        let mut coefficients = vec![None; self.order.len()];
        for i in (0..self.rank).rev() {
            let value = rotated[i] / self.diagonal[i];
            let above = &self.work.column(i)[..i];
            add_scaled(&mut rotated[..i], -value, above);
            coefficients[self.order[i]] = Some(value);
        }
        coefficients
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_columns_that_say_the_same_the_first_is_kept() {
        // third = first + 2 × second; y = 1 + 2a + 3c
        let a = vec![1.0, 2.0, 3.0, 5.0];
        let b = vec![1.0, 0.0, 1.0, -1.0];
        let both: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + 2.0 * b).collect();
        let c = vec![0.0, 1.0, 4.0, 2.0];
        let y: Vec<f64> = a.iter().zip(&c).map(|(a, c)| 2.0 * a + 3.0 * c).collect();
        let qr = Qr::new(Matrix::from_columns(&[a, b, both, c]).unwrap());
        assert_eq!((qr.rank(), qr.order()), (3, &[0, 1, 3, 2][..]));
        let solution = qr.solve(&y);
        for (found, wanted) in solution.iter().zip([Some(2.0), Some(0.0), None, Some(3.0)]) {
            assert_eq!(found.is_some(), wanted.is_some());
            assert!((found.unwrap_or(0.0) - wanted.unwrap_or(0.0)).abs() < 1e-12);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The residuals of least squares are orthogonal to every column.
        #[test]
        fn oracle_normal_equations(
            values in prop::collection::vec(-5.0..5.0_f64, 36),
            y in prop::collection::vec(-5.0..5.0_f64, 12),
        ) {
            let columns: Vec<Vec<f64>> = values.chunks(12).map(<[f64]>::to_vec).collect();
            let x = Matrix::from_columns(&columns).unwrap();
            let solution = Qr::new(x.clone()).solve(&y);
            let mut residuals = y;
            for (j, coefficient) in solution.iter().enumerate() {
                add_scaled(&mut residuals, -coefficient.unwrap_or(0.0), x.column(j));
            }
            for j in 0..3 {
                prop_assert!(dot(&residuals, x.column(j)).abs() < 1e-9);
            }
        }
    }
}
