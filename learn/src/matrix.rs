//! Dense tables of numbers, by column.

use crate::LearnError;

/// Rows × columns of finite numbers, stored by column; NaN where a value is missing.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix from columns of equal length; errors if a value is infinite or lengths differ.
    pub fn from_columns(columns: &[Vec<f64>]) -> Result<Self, LearnError> {
        let rows = columns.first().map_or(0, Vec::len);
        let mut values = Vec::with_capacity(rows * columns.len());
        for (index, column) in columns.iter().enumerate() {
            if column.len() != rows {
                let what = format!("column {index}");
                return Err(LearnError::Length { what, found: column.len(), wanted: rows });
            }
            if let Some(row) = column.iter().position(|value| value.is_infinite()) {
                let column_name = format!("column {index}");
                return Err(LearnError::ValueNotFinite {
                    row: row + 1,
                    column: column_name,
                    value: column[row],
                });
            }
            values.extend_from_slice(column);
        }
        Ok(Self { rows, columns: columns.len(), values })
    }

    /// A matrix of zeros.
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One column.
    pub fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.rows..(column + 1) * self.rows]
    }

    pub(crate) fn column_mut(&mut self, column: usize) -> &mut [f64] {
        &mut self.values[column * self.rows..(column + 1) * self.rows]
    }

    /// Two different columns, the first for reading, the second for writing.
    pub(crate) fn column_pair(&mut self, read: usize, write: usize) -> (&[f64], &mut [f64]) {
        assert!(read < write);
        let (left, right) = self.values.split_at_mut(write * self.rows);
        (&left[read * self.rows..(read + 1) * self.rows], &mut right[..self.rows])
    }

    pub(crate) fn swap_columns(&mut self, a: usize, b: usize) {
        for row in 0..self.rows {
            self.values.swap(a * self.rows + row, b * self.rows + row);
        }
    }

    /// One value.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.values[column * self.rows + row]
    }

    /// Copies the values of one row into `row_values`.
    pub fn copy_row(&self, row: usize, row_values: &mut Vec<f64>) {
        row_values.clear();
        row_values.extend((0..self.columns).map(|column| self.get(row, column)));
    }

    /// These columns, in this order.
    pub fn take_columns(&self, columns: &[usize]) -> Self {
        let mut values = Vec::with_capacity(self.rows * columns.len());
        for &column in columns {
            values.extend_from_slice(self.column(column));
        }
        Self { rows: self.rows, columns: columns.len(), values }
    }

    /// These rows, in this order.
    pub fn take_rows(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for column in 0..self.columns {
            let from = self.column(column);
            values.extend(rows.iter().map(|&row| from[row]));
        }
        Self { rows: rows.len(), columns: self.columns, values }
    }
}

/// Σ a·b, in eight running sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut sums = [0.0; 8];
    let (chunks_a, chunks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = chunks_a.remainder().iter().zip(chunks_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in chunks_a.zip(chunks_b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// `to` += `factor` × `from`.
pub(crate) fn add_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Arithmetic mean; 0 if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Sum of squared deviations from the mean.
pub(crate) fn squares_around(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Median: the middle value, or the mean of the middle two. `values` are reordered.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}
