//! Random forests (Breiman 2001).
//!
//! Each tree is grown on as many rows as there are, drawn with replacement. It splits nodes of at least `minsplit` rows
//! and is not pruned. A node may split on a random choice of `mtry` columns: a third of them, but at least 8 (or all).
//! If there are few columns, a third would leave most nodes without the column that matters.

use foretell_units::{Seed, Stream};
use serde::{Deserialize, Serialize};

use crate::cart::{self, Tree};
use crate::folds;
use crate::grow::{self, Limits, Sampling, Sorted};
use crate::matrix::Matrix;
use crate::spec::Spec;

/// The mean of many trees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Forest {
    /// The trees.
    pub trees: Vec<Tree>,
}

/// Minimum rows of a node to be split, as in ranger and randomForest; scikit-learn has 2.
pub(crate) const MIN_SPLIT: usize = 6;

/// Draws `rows` rows with replacement; if rows have groups, as many groups as there are, each with all its rows.
/// Returns how often each row was drawn.
fn draw(rows: usize, groups: Option<&[Vec<usize>]>, stream: &mut Stream) -> Vec<u32> {
    let mut counts = vec![0_u32; rows];
    match groups {
        None => {
            for _ in 0..rows {
                counts[stream.below(rows as u64) as usize] += 1;
            }
        }
        Some(groups) => {
            for _ in 0..groups.len() {
                for &row in &groups[stream.below(groups.len() as u64) as usize] {
                    counts[row] += 1;
                }
            }
        }
    }
    counts
}

/// Limits of trees that grow to any depth.
fn of_any_depth(min_split: usize, min_leaf: usize) -> Limits {
    Limits { deepest: u32::MAX, ..Limits::new(min_split, min_leaf, 0.0) }
}

/// Grows trees and passes each on, with the number of times it drew each row.
fn grow_trees(
    x: &Matrix,
    y: &[f64],
    groups: Option<&[Vec<usize>]>,
    trees: usize,
    mtry: Option<usize>,
    limits: Limits,
    mut show: impl FnMut(&Tree, &[u32]),
) -> Forest {
    let sorted = Sorted::new(x);
    let columns = mtry.unwrap_or_else(|| x.columns().div_ceil(3).max(8)).clamp(1, x.columns());
    let seed = Seed(0);
    let tree = |index: usize| {
        let mut stream = seed.child(index as u64).stream("learn/forest");
        let counts = draw(y.len(), groups, &mut stream);
        let sampling = Sampling { columns, stream: &mut stream };
        let tree = Tree { nodes: grow::grow(x, y, &sorted, Some(&counts), limits, Some(sampling)) };
        show(&tree, &counts);
        tree
    };
    Forest { trees: (0..trees.max(1)).map(tree).collect() }
}

/// A forest with leaves of at least `leaf` rows, and for each row the prediction of the trees that did
/// not draw it. Trees draw whole groups of rows that were observed together: a tree that drew some rows of a
/// group knows the others too well.
pub(crate) fn out_of_bag(
    x: &Matrix,
    y: &[f64],
    groups: Option<&[i64]>,
    trees: usize,
    leaf: usize,
) -> (Forest, Vec<f64>) {
    // a single group would be in every bag
    let groups = groups.map(folds::members).filter(|groups| groups.len() > 1);
    let mut sums = vec![(0.0, 0_u32); y.len()];
    let limits = of_any_depth(2 * leaf, leaf);
    let forest = grow_trees(x, y, groups.as_deref(), trees, None, limits, |tree, counts| {
        for (row, (sum, count)) in sums.iter_mut().enumerate() {
            if counts[row] == 0 {
                *sum += tree.predict_row(|column| x.get(row, column));
                *count += 1;
            }
        }
    });
    let fallback = crate::matrix::mean(y);
    let mean =
        |(sum, count): (f64, u32)| if count == 0 { fallback } else { sum / f64::from(count) };
    (forest, sums.into_iter().map(mean).collect())
}

/// A quantile forest (Meinshausen 2006): the distribution of a row's target is that of the training
/// rows that share its leaves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Quantiles {
    forest: Forest,
    /// By tree: rows in the order of their leaves, and for each node where its rows begin.
    rows: Vec<(Vec<u32>, Vec<u32>)>,
    y: Vec<f64>,
    /// Rows in the order of y.
    ascending: Vec<u32>,
}

/// Minimum rows of a quantile forest's leaf.
const QUANTILE_LEAF: usize = 5;

impl Quantiles {
    /// Fits it with as many trees and columns as `spec`, the spec of a forest, asks for. Its leaves have at least 5 rows,
    /// whatever `minsplit` is.
    pub(crate) fn fit(x: &Matrix, y: &[f64], spec: &Spec) -> Self {
        let count = |name: &str| spec.value(name).map(|value| value as usize);
        let (trees, mtry) = (count("ntrees").unwrap_or(500), count("mtry"));
        let leaf = QUANTILE_LEAF;
        let forest = grow_trees(x, y, None, trees, mtry, of_any_depth(2 * leaf, leaf), |_, _| {});
        let rows = forest
            .trees
            .iter()
            .map(|tree| {
                let mut keyed: Vec<(u32, u32)> = (0..y.len())
                    .map(|row| (tree.leaf(|column| x.get(row, column)) as u32, row as u32))
                    .collect();
                keyed.sort_unstable();
                let start =
                    |node: usize| keyed.partition_point(|(leaf, _)| (*leaf as usize) < node);
                let starts = (0..=tree.nodes.len()).map(|node| start(node) as u32).collect();
                (keyed.into_iter().map(|(_, row)| row).collect(), starts)
            })
            .collect();
        let mut ascending: Vec<u32> = (0..y.len() as u32).collect();
        ascending.sort_by(|&a, &b| y[a as usize].total_cmp(&y[b as usize]));
        Self { forest, rows, y: y.to_vec(), ascending }
    }

    /// The quantiles at `tail` and 1 − `tail`.
    pub(crate) fn of_row(&self, row: &[f64], tail: f64) -> (f64, f64) {
        let mut weights = vec![0.0; self.y.len()];
        for (tree, (rows, starts)) in self.forest.trees.iter().zip(&self.rows) {
            let leaf = tree.leaf(|column| row[column]);
            let same = &rows[starts[leaf] as usize..starts[leaf + 1] as usize];
            for &row in same {
                weights[row as usize] += 1.0 / (same.len() * self.rows.len()) as f64;
            }
        }
        let at = |share: f64| {
            let mut sum = 0.0;
            let reached = |&&row: &&u32| {
                sum += weights[row as usize];
                sum >= share - 1e-9
            };
            let row = self.ascending.iter().find(reached).or(self.ascending.last());
            row.map_or(0.0, |&row| self.y[row as usize])
        };
        (at(tail), at(1.0 - tail))
    }

    /// Whether all columns, nodes and rows exist.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let n = self.y.len();
        self.forest.fits(columns)
            && self.rows.len() == self.forest.trees.len()
            && self.ascending.len() == n
            && self.ascending.iter().all(|row| (*row as usize) < n)
            && self.rows.iter().zip(&self.forest.trees).all(|((rows, starts), tree)| {
                starts.len() == tree.nodes.len() + 1
                    && starts.is_sorted()
                    && starts.last().is_some_and(|last| *last as usize <= rows.len())
                    && rows.iter().all(|row| (*row as usize) < n)
            })
    }
}

impl Forest {
    pub(crate) fn fit(
        x: &Matrix,
        y: &[f64],
        trees: usize,
        mtry: Option<usize>,
        min_split: usize,
    ) -> Self {
        grow_trees(x, y, None, trees, mtry, of_any_depth(min_split, 1), |_, _| {})
    }

    /// Whether there are trees and all their columns exist.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        !self.trees.is_empty() && self.trees.iter().all(|tree| tree.fits(columns))
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
