//! Gradient boosting of small regression trees for squared error (Friedman 2001, 2002).
//!
//! Each tree is fitted to what those before it left, on half of the rows and some of the columns, both
//! drawn at random, and is added with a small weight.

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use crate::cart::{self, Tree};
use crate::grow::{self, Limits, Sampling, Sorted};
use crate::matrix::{Matrix, mean};

/// Levels of a tree, and rows of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Trees.
    pub(crate) trees: usize,
    /// Weight of each.
    pub(crate) rate: f64,
    /// Levels of a tree.
    pub(crate) depth: u32,
    /// Rows of a leaf, at least.
    pub(crate) leaf: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { trees: 300, rate: 0.1, depth: 5, leaf: 5 }
    }
}

/// A sum of trees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Boost {
    /// What is predicted without any tree.
    pub base: f64,
    /// Weight of each tree.
    pub rate: f64,
    /// The trees.
    pub trees: Vec<Tree>,
}

pub(crate) fn fit(x: &Matrix, y: &[f64], settings: &Settings) -> Boost {
    let sorted = Sorted::new(x);
    let mut stream = Seed(0).stream("learn/boost");
    let base = mean(y);
    let mut left: Vec<f64> = y.iter().map(|y| y - base).collect();
    let limits =
        Limits { deepest: settings.depth, ..Limits::new(2 * settings.leaf, settings.leaf, 0.0) };
    let columns = x.columns().div_ceil(3).max(8).min(x.columns());
    let trees = (0..settings.trees)
        .map(|_| {
            let counts: Vec<u32> = y.iter().map(|_| u32::from(stream.chance(0.5))).collect();
            // a small set may be drawn empty
            let counts = counts.contains(&1).then_some(counts);
            let sampling = Sampling { columns, stream: &mut stream };
            let nodes = grow::grow(x, &left, &sorted, counts.as_deref(), limits, Some(sampling));
            let tree = Tree { nodes };
            for (row, left) in left.iter_mut().enumerate() {
                *left -= settings.rate * tree.predict_row(|column| x.get(row, column));
            }
            tree
        })
        .collect();
    Boost { base, rate: settings.rate, trees }
}

impl Boost {
    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        let sum: f64 = self.trees.iter().map(|tree| tree.predict_row(&row)).sum();
        self.base + self.rate * sum
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let trees =
            format!("{} trees of weight {} on {:.6}", self.trees.len(), self.rate, self.base);
        trees + "\n" + &cart::describe_taken(&self.trees, names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_learned() {
        let mut stream = Seed(2).stream("boost");
        let columns: Vec<Vec<f64>> =
            (0..4).map(|_| (0..2000).map(|_| stream.unit()).collect()).collect();
        let y: Vec<f64> = (0..2000).map(|row| columns[0][row] * columns[1][row]).collect();
        let x = Matrix::from_columns(&columns).unwrap();
        let train: Vec<usize> = (0..1500).collect();
        let model = fit(&x.take_rows(&train), &y[..1500], &Settings::default());
        let squares: f64 = (1500..2000)
            .map(|row| (model.predict_row(|column| x.get(row, column)) - y[row]).powi(2))
            .sum();
        // the deviation of a product of two uniform numbers is √(7/144) = 0.22
        let rmse = (squares / 500.0).sqrt();
        assert!(rmse < 0.022, "{rmse}");
    }
}
