//! The rows of a tree's nodes, in the order of each column.
//!
//! Every node owns one range of positions, the same for all columns. A split divides the range and
//! keeps each column's own order.

use crate::matrix::Matrix;

/// Rows by column, ascending by value within each node's range.
#[derive(Clone)]
pub(crate) struct Segments {
    by_column: Vec<Vec<u32>>,
    goes_left: Vec<bool>,
    buffer: Vec<u32>,
}

impl Segments {
    /// Puts all rows into one range.
    pub(crate) fn new(x: &Matrix) -> Self {
        let by_column = (0..x.columns())
            .map(|column| {
                let values = x.column(column);
                let mut rows: Vec<u32> = (0..x.rows() as u32).collect();
                rows.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
                rows
            })
            .collect();
        Self { by_column, goes_left: vec![false; x.rows()], buffer: Vec::new() }
    }

    /// A node's rows in the order of a column.
    pub(crate) fn rows(&self, column: usize, range: (usize, usize)) -> &[u32] {
        &self.by_column[column][range.0..range.1]
    }

    /// Splits a node: the first `left` rows in the order of `column` come first in every column.
    pub(crate) fn part(&mut self, column: usize, range: (usize, usize), left: usize) {
        for (place, &row) in self.by_column[column][range.0..range.1].iter().enumerate() {
            self.goes_left[row as usize] = place < left;
        }
        for (other, rows) in self.by_column.iter_mut().enumerate() {
            if other == column {
                continue;
            }
            self.buffer.clear();
            let rows = &mut rows[range.0..range.1];
            let mut kept = 0;
            for place in 0..rows.len() {
                let row = rows[place];
                if self.goes_left[row as usize] {
                    rows[kept] = row;
                    kept += 1;
                } else {
                    self.buffer.push(row);
                }
            }
            rows[kept..].copy_from_slice(&self.buffer);
        }
    }
}
