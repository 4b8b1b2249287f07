//! Random forests (Breiman 2001).
//!
//! Each tree is grown on as many rows as there are, drawn with replacement, splits nodes of more
//! than 5 rows, and is not pruned. A node may split on a random choice of `mtry` columns: a third of
//! them, but at least 8 (or all): with few columns a third leaves most nodes without the column that
//! matters.

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use crate::cart::{self, Tree};
use crate::grow::{self, Limits, Sampling, Sorted};
use crate::matrix::Matrix;

/// The mean of many trees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Forest {
    /// The trees.
    pub trees: Vec<Tree>,
}

impl Forest {
    pub(crate) fn fit(x: &Matrix, y: &[f64], trees: usize, mtry: Option<usize>) -> Self {
        let sorted = Sorted::new(x);
        let columns = mtry.unwrap_or_else(|| x.columns().div_ceil(3).max(8)).clamp(1, x.columns());
        let limits = Limits { deepest: u32::MAX, ..Limits::new(6, 1, 0.0) };
        let seed = Seed(0);
        let tree = |index: usize| {
            let mut stream = seed.child(index as u64).stream("learn/forest");
            let mut counts = vec![0_u32; y.len()];
            for _ in 0..y.len() {
                counts[stream.below(y.len() as u64) as usize] += 1;
            }
            let sampling = Sampling { columns, stream: &mut stream };
            Tree { nodes: grow::grow(x, y, &sorted, Some(&counts), limits, Some(sampling)) }
        };
        Self { trees: (0..trees.max(1)).map(tree).collect() }
    }

    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        let sum: f64 = self.trees.iter().map(|tree| tree.predict_row(&row)).sum();
        sum / self.trees.len() as f64
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let leaves: usize = self
            .trees
            .iter()
            .map(|tree| tree.nodes.iter().filter(|node| node.split.is_none()).count())
            .sum();
        let average = leaves as f64 / self.trees.len() as f64;
        let trees = format!("{} trees, {average:.1} leaves on average\n", self.trees.len());
        trees + &cart::describe_taken(&self.trees, names)
    }
}
