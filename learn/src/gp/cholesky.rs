//! Cholesky's decomposition and the inverse, by blocks.
//!
//! The n³ part of the work is in matrix products, which `ndarray` does at the machine's full speed. Only the
//! blocks on the diagonal are computed number by number.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use crate::matrix::{add_scaled, dot};

/// Number of rows of a block.
const BLOCK: usize = 96;

/// A lower triangle L with A = `LLᵀ`; above its diagonal it is 0.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cholesky {
    lower: Array2<f64>,
}

impl Cholesky {
    /// Decomposes a symmetric matrix. Only its lower triangle is read. `None` if it is not positive definite.
    pub(super) fn new(a: Array2<f64>) -> Option<Self> {
        // columns chosen from a matrix may be stored column by column
        let mut a = if a.is_standard_layout() { a } else { a.as_standard_layout().into_owned() };
        let n = a.nrows();
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            for j in start..end {
                let row_j = row(&a, j)[start..j].to_vec();
                let pivot = a[[j, j]] - dot(&row_j, &row_j);
                if pivot.is_nan() || pivot <= 0.0 {
                    return None;
                }
                let pivot = pivot.sqrt();
                a[[j, j]] = pivot;
                for i in j + 1..end {
                    let known = dot(&row(&a, i)[start..j], &row_j);
                    a[[i, j]] = (a[[i, j]] - known) / pivot;
                }
            }
            if end == n {
                break;
            }
            // rows below: X·Lᵀ = A, row by row
            let diagonal: Vec<Vec<f64>> =
                (start..end).map(|j| row(&a, j)[start..=j].to_vec()).collect();
            for i in end..n {
                let mut row = a.row_mut(i);
                let row = &mut row.as_slice_mut().expect("rows lie together")[start..end];
                for (j, of_j) in diagonal.iter().enumerate() {
                    row[j] = (row[j] - dot(&row[..j], &of_j[..j])) / of_j[j];
                }
            }
            let panel = part(a.view(), end..n, start..end).to_owned();
            for column in (end..n).step_by(BLOCK) {
                let last = (column + BLOCK).min(n);
                let left = part(panel.view(), column - end..n - end, 0..end - start);
                let right = part(panel.view(), column - end..last - end, 0..end - start);
                let mut rest = part_mut(a.view_mut(), column..n, column..last);
                general_mat_mul(-1.0, &left, &right.t(), 1.0, &mut rest);
            }
        }
        for i in 0..n {
            let mut row = a.row_mut(i);
            row.as_slice_mut().expect("rows lie together")[i + 1..].fill(0.0);
        }
        Some(Self { lower: a })
    }

    /// Σ ln of the diagonal, which is half the logarithm of the determinant.
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.lower.diag().iter().map(|value| libm::log(*value)).sum()
    }

    /// Solves L v = b.
    pub(super) fn forward(&self, b: &[f64]) -> Vec<f64> {
        let mut v = Vec::with_capacity(b.len());
        for (i, b) in b.iter().enumerate() {
            let row = row(&self.lower, i);
            let known = dot(&row[..i], &v);
            v.push((b - known) / row[i]);
        }
        v
    }

    /// Solves A x = b.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.forward(b);
        for i in (0..x.len()).rev() {
            let row = row(&self.lower, i);
            x[i] /= row[i];
            let value = x[i];
            add_scaled(&mut x[..i], -value, &row[..i]);
        }
        x
    }

    /// The full inverse A⁻¹.
    pub(super) fn inverse(&self) -> Array2<f64> {
        let n = self.lower.nrows();
        let l = &self.lower;
        // W = L⁻¹, one row of blocks after the other
        let mut w = Array2::<f64>::zeros((n, n));
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            for column in (0..start).step_by(BLOCK) {
                let last = (column + BLOCK).min(n);
                let (done, open) = w.view_mut().split_at(Axis(0), start);
                let left = part(l.view(), start..end, column..start);
                let right = part(done.view(), column..start, column..last);
                let mut to = part_mut(open, 0..end - start, column..last);
                general_mat_mul(-1.0, &left, &right, 0.0, &mut to);
            }
            for i in start..end {
                w[[i, i]] = 1.0;
                for k in start..i {
                    let factor = l[[i, k]];
                    let (above, mut below) = w.view_mut().split_at(Axis(0), i);
                    let from = above.row(k);
                    let from = &from.as_slice().expect("rows lie together")[..=k];
                    let mut to = below.row_mut(0);
                    let to = &mut to.as_slice_mut().expect("rows lie together")[..=k];
                    add_scaled(to, -factor, from);
                }
                let pivot = l[[i, i]];
                let mut to = w.row_mut(i);
                for value in &mut to.as_slice_mut().expect("rows lie together")[..=i] {
                    *value /= pivot;
                }
            }
        }
        let mut inverse = Array2::<f64>::zeros((n, n));
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            let left = part(w.view(), start..n, start..end);
            let right = part(w.view(), start..n, 0..end);
            let mut to = part_mut(inverse.view_mut(), start..end, 0..end);
            general_mat_mul(1.0, &left.t(), &right, 0.0, &mut to);
        }
        for i in 0..n {
            for j in 0..i {
                inverse[[j, i]] = inverse[[i, j]];
            }
        }
        inverse
    }
}

fn row(a: &Array2<f64>, row: usize) -> &[f64] {
    let columns = a.ncols();
    &a.as_slice().expect("rows lie one after the other")[row * columns..(row + 1) * columns]
}

/// A part of the rows and columns. (The macro of `ndarray` for this allows code that is forbidden here.)
fn part(
    mut of: ArrayView2<'_, f64>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> ArrayView2<'_, f64> {
    of.slice_axis_inplace(Axis(0), Slice::from(rows));
    of.slice_axis_inplace(Axis(1), Slice::from(columns));
    of
}

fn part_mut(
    mut of: ArrayViewMut2<'_, f64>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> ArrayViewMut2<'_, f64> {
    of.slice_axis_inplace(Axis(0), Slice::from(rows));
    of.slice_axis_inplace(Axis(1), Slice::from(columns));
    of
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    /// B·Bᵀ + I of a random B.
    fn matrix(n: usize) -> Array2<f64> {
        let mut stream = Seed(3).stream("cholesky");
        let b = Array2::from_shape_fn((n, n), |_| stream.unit() - 0.5);
        let mut a = b.dot(&b.t());
        for i in 0..n {
            a[[i, i]] += 1.0;
        }
        a
    }

    #[test]
    fn the_inverse_times_the_matrix_is_one() {
        for n in [1, 5, 95, 96, 97, 250] {
            let a = matrix(n);
            let cholesky = Cholesky::new(a.clone()).unwrap();
            let product = cholesky.inverse().dot(&a);
            for i in 0..n {
                for j in 0..n {
                    let wanted = f64::from(u8::from(i == j));
                    assert!((product[[i, j]] - wanted).abs() < 1e-8, "{n} {i} {j}");
                }
            }
            let b: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let x = cholesky.solve(&b);
            for (i, b) in b.iter().enumerate() {
                let found: f64 = a.row(i).iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((found - b).abs() < 1e-7 * (1.0 + b), "{n} {i}");
            }
        }
    }

    #[test]
    fn a_matrix_that_lies_column_by_column_is_decomposed_too() {
        let a = matrix(7);
        let rows = [5, 0, 3];
        let chosen = a.select(Axis(0), &rows).select(Axis(1), &rows);
        let copied = Array2::from_shape_fn((3, 3), |(i, j)| a[[rows[i], rows[j]]]);
        assert_eq!(Cholesky::new(chosen), Cholesky::new(copied));
    }

    #[test]
    fn closed_form_determinant() {
        // [[4, 2], [2, 5]]: determinant 16
        let a = Array2::from_shape_vec((2, 2), vec![4.0, 2.0, 2.0, 5.0]).unwrap();
        let half = Cholesky::new(a).unwrap().half_log_determinant();
        assert!((half - libm::log(4.0)).abs() < 1e-12);
        let not = Array2::from_shape_vec((2, 2), vec![1.0, 2.0, 2.0, 1.0]).unwrap();
        assert!(Cholesky::new(not).is_none());
    }
}
