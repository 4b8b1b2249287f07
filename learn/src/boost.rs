//! Gradient boosting of small regression trees for squared error (Friedman 2001, 2002).
//!
//! Each tree is fitted to the residuals of the trees before it, on a random share of the rows and of the
//! columns (or on all of them), and is added with a small weight. With `leaves`, a tree splits the node
//! with the largest gain first, as `LightGBM` does.

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use crate::cart::{self, Tree};
use crate::grow::{self, Limits, Sampling, Sorted};
use crate::matrix::{Matrix, mean};

/// Settings of the fit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct BoostSettings {
    /// Number of trees.
    pub(crate) trees: usize,
    /// Weight of each tree (the learning rate).
    pub(crate) rate: f64,
    /// Maximum depth of a tree.
    pub(crate) depth: u32,
    /// Minimum number of rows in a leaf.
    pub(crate) leaf: usize,
    /// Maximum number of leaves of a tree; the best splits come first.
    pub(crate) leaves: Option<usize>,
    /// Share of the rows that each tree is fitted to.
    pub(crate) rows: f64,
    /// Share of the columns that each node may split on; `None`: a third, at least 8.
    pub(crate) columns: Option<f64>,
}

impl Default for BoostSettings {
    fn default() -> Self {
        Self { trees: 300, rate: 0.1, depth: 5, leaf: 5, leaves: None, rows: 0.5, columns: None }
    }
}

/// A sum of trees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Boost {
    /// The prediction without any tree.
    pub base: f64,
    /// Weight of each tree.
    pub rate: f64,
    /// The trees.
    pub trees: Vec<Tree>,
}

/// Fits the trees for squared error.
pub(crate) fn fit(x: &Matrix, y: &[f64], settings: &BoostSettings) -> Boost {
    let base = mean(y);
    let mut left: Vec<f64> = y.iter().map(|y| y - base).collect();
    let trees = add_trees(x, settings, |grow| {
        let tree = Tree { nodes: grow(&left) };
        for (row, left) in left.iter_mut().enumerate() {
            *left -= settings.rate * tree.predict_row(|column| x.get(row, column));
        }
        tree
    });
    Boost { base, rate: settings.rate, trees }
}

/// Fits the trees for the quantile at `share`. Trees are grown on the gradient of the pinball loss; each
/// leaf's value is then set to the quantile of its residuals (Friedman 2001, section 4.4).
pub(crate) fn fit_quantile(x: &Matrix, y: &[f64], settings: &BoostSettings, share: f64) -> Boost {
    let quantile = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        let rank = (share * values.len() as f64).ceil().max(1.0) as usize;
        values.get(rank - 1).copied().unwrap_or(0.0)
    };
    let base = quantile(&mut y.to_vec());
    let mut left: Vec<f64> = y.iter().map(|y| y - base).collect();
    // a leaf needs enough rows to estimate a quantile far out
    let settings =
        BoostSettings { leaf: settings.leaf.max(20).min(y.len() / 4).max(1), ..*settings };
    let trees = add_trees(x, &settings, |grow| {
        let slopes: Vec<f64> =
            left.iter().map(|left| if *left < 0.0 { share - 1.0 } else { share }).collect();
        let mut tree = Tree { nodes: grow(&slopes) };
        let mut of_leaf: Vec<Vec<f64>> = vec![Vec::new(); tree.nodes.len()];
        let leaves: Vec<usize> =
            (0..left.len()).map(|row| tree.leaf(|column| x.get(row, column))).collect();
        for (leaf, left) in leaves.iter().zip(&left) {
            of_leaf[*leaf].push(*left);
        }
        for (node, values) in tree.nodes.iter_mut().zip(&mut of_leaf) {
            node.mean = quantile(values);
        }
        for (leaf, left) in leaves.iter().zip(&mut left) {
            *left -= settings.rate * tree.nodes[*leaf].mean;
        }
        tree
    });
    Boost { base, rate: settings.rate, trees }
}

/// Adds trees one after the other; `add` grows each of them on targets of its choice.
fn add_trees(
    x: &Matrix,
    settings: &BoostSettings,
    mut add: impl FnMut(&mut dyn FnMut(&[f64]) -> Vec<grow::Node>) -> Tree,
) -> Vec<Tree> {
    let sorted = Sorted::new(x);
    let mut stream = Seed(0).stream("learn/boost");
    let limits = Limits {
        deepest: settings.depth,
        leaves: settings.leaves,
        ..Limits::new(2 * settings.leaf, settings.leaf, 0.0)
    };
    let p = x.columns();
    let columns = settings.columns.map_or_else(
        || p.div_ceil(3).max(8).min(p),
        |share| ((share * p as f64).round() as usize).clamp(1, p),
    );
    (0..settings.trees)
        .map(|_| {
            add(&mut |left| {
                let counts = (settings.rows < 1.0).then(|| {
                    let draw = |_| u32::from(stream.chance(settings.rows));
                    (0..x.rows()).map(draw).collect::<Vec<u32>>()
                });
                // the draw from a small set may be empty
                let counts = counts.filter(|counts| counts.contains(&1));
                let sampling = (columns < p).then_some(Sampling { columns, stream: &mut stream });
                grow::grow(x, left, &sorted, counts.as_deref(), limits, sampling)
            })
        })
        .collect()
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
        let model = fit(&x.take_rows(&train), &y[..1500], &BoostSettings::default());
        let squares: f64 = (1500..2000)
            .map(|row| (model.predict_row(|column| x.get(row, column)) - y[row]).powi(2))
            .sum();
        // the deviation of a product of two uniform numbers is √(7/144) = 0.22
        let rmse = (squares / 500.0).sqrt();
        assert!(rmse < 0.022, "{rmse}");
    }
}
