//! Regression trees with cost-complexity pruning (Breiman et al. 1984), in rpart's conventions.
//!
//! A node of fewer than `minsplit` rows is not split; a leaf holds at least round(minsplit / 3). A
//! split stays if it takes more than `cp` of the root's sum of squares for each leaf that it adds:
//! weakest links are cut one after the other until all that are left are worth more. With
//! `prune=cv` the subtree of the smallest squared error in 10-fold cross-validation is taken from
//! that sequence, with `prune=cv1se` the smallest tree within one standard error of it. rpart
//! draws its folds at random; ours come from a fixed seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use crate::folds::Folds;
use crate::grow::{self, Limits, Node, Sorted};
use crate::matrix::Matrix;

/// How a grown tree is pruned beyond `cp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pruning {
    /// Not.
    #[default]
    None,
    /// To the smallest error in cross-validation.
    CrossValidation,
    /// To the smallest tree within a standard error of that.
    OneStandardError,
}

/// A regression tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tree {
    /// Nodes; the first is the root.
    pub nodes: Vec<Node>,
}

/// One row of the sequence of prunings: the tree for all cp from this one up to the row before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PruningStep {
    /// Smallest cp of this tree, as a share of the root's sum of squares.
    pub cp: f64,
    /// Splits in the tree.
    pub splits: usize,
    /// Its sum of squares, as a share of the root's.
    pub relative_error: f64,
}

/// A tree as grown, and the cp at which each of its splits is cut.
#[derive(Clone)]
pub(crate) struct Grown {
    nodes: Vec<Node>,
    /// By node; of leaves 0.
    complexity: Vec<f64>,
}

impl Grown {
    /// Grows until nothing worth more than `cp` can be left.
    pub(crate) fn new(x: &Matrix, y: &[f64], sorted: &Sorted, min_split: usize, cp: f64) -> Self {
        let min_leaf = (min_split as f64 / 3.0).round() as usize;
        let limits = Limits::new(min_split.max(2), min_leaf, cp);
        let nodes = grow::grow(x, y, sorted, None, limits, None);
        let complexity = complexities(&nodes);
        Self { nodes, complexity }
    }

    /// The tree in which every split is worth more than `cp`.
    pub(crate) fn prune(&self, cp: f64) -> Tree {
        let mut nodes = Vec::new();
        self.copy(0, cp, &mut nodes);
        Tree { nodes }
    }

    fn keeps(&self, node: usize, cp: f64) -> Option<grow::Split> {
        self.nodes[node].split.filter(|_| self.complexity[node] > cp)
    }

    fn copy(&self, node: usize, cp: f64, nodes: &mut Vec<Node>) -> usize {
        let place = nodes.len();
        nodes.push(Node { split: None, ..self.nodes[node] });
        if let Some(split) = self.keeps(node, cp) {
            let left = self.copy(split.left, cp, nodes);
            let right = self.copy(split.right, cp, nodes);
            nodes[place].split = Some(grow::Split { left, right, ..split });
        }
        place
    }

    /// The sequence of trees from the root alone down to the one for `cp`.
    pub(crate) fn steps(&self, cp: f64) -> Vec<PruningStep> {
        let split = |node: &usize| self.nodes[*node].split.is_some();
        let mut cuts: Vec<f64> = (0..self.nodes.len())
            .filter(split)
            .map(|node| self.complexity[node])
            .filter(|complexity| *complexity > cp)
            .collect();
        cuts.sort_unstable_by(|a, b| b.total_cmp(a));
        cuts.dedup_by(|a, b| (*a - *b).abs() <= 1e-10 * a.abs().max(b.abs()));
        cuts.push(cp);
        cuts.into_iter()
            .map(|cp| {
                // at exactly this cp, a split of this complexity is cut
                let (splits, error) = self.totals(0, cp * (1.0 + 1e-9));
                PruningStep { cp, splits, relative_error: error / self.nodes[0].deviance }
            })
            .collect()
    }

    fn totals(&self, node: usize, cp: f64) -> (usize, f64) {
        match self.keeps(node, cp) {
            None => (0, self.nodes[node].deviance),
            Some(split) => {
                let (left, right) = (self.totals(split.left, cp), self.totals(split.right, cp));
                (left.0 + right.0 + 1, left.1 + right.1)
            }
        }
    }

    fn predict(&self, cp: f64, row: impl Fn(usize) -> f64) -> f64 {
        let mut node = 0;
        while let Some(split) = self.keeps(node, cp) {
            node = if row(split.column) < split.cut { split.left } else { split.right };
        }
        self.nodes[node].mean
    }

    /// The cp that cross-validation chooses from the sequence of trees.
    fn cross_validated(
        &self,
        x: &Matrix,
        y: &[f64],
        min_split: usize,
        cp: f64,
        one_error: bool,
    ) -> f64 {
        let steps = self.steps(cp);
        let Ok(folds) = Folds::random(x.rows(), x.rows().min(10), Seed(0)) else { return cp };
        // between two cps all trees are alike: their geometric mean stands for them
        let betas: Vec<f64> = steps
            .iter()
            .enumerate()
            .map(|(index, step)| match index {
                0 => f64::INFINITY,
                _ => (step.cp.max(0.0) * steps[index - 1].cp).sqrt(),
            })
            .collect();
        let mut sums = vec![(0.0, 0.0); betas.len()];
        for fold in 0..folds.count() {
            let (train, test) = folds.split(fold);
            let train_x = x.take_rows(&train);
            let train_y: Vec<f64> = train.iter().map(|&row| y[row]).collect();
            let grown = Self::new(&train_x, &train_y, &Sorted::new(&train_x), min_split, cp);
            for row in test {
                for (beta, (sum, squares)) in betas.iter().zip(&mut sums) {
                    let error = (y[row] - grown.predict(*beta, |column| x.get(row, column))).powi(2);
                    *sum += error;
                    *squares += error * error;
                }
            }
        }
        let best = (0..sums.len()).min_by(|&a, &b| sums[a].0.total_cmp(&sums[b].0)).unwrap_or(0);
        let mut limit = sums[best].0;
        if one_error {
            let n = x.rows() as f64;
            limit += (sums[best].1 - sums[best].0 * sums[best].0 / n).max(0.0).sqrt();
        }
        let chosen = sums.iter().position(|(sum, _)| *sum <= limit).unwrap_or(best);
        if chosen == 0 { f64::INFINITY } else { betas[chosen] }
    }
}

/// The share of the root's deviance per leaf at which each split is the weakest link and is cut.
fn complexities(nodes: &[Node]) -> Vec<f64> {
    let root = nodes[0].deviance;
    let mut complexity = vec![0.0; nodes.len()];
    if root <= 0.0 {
        return complexity;
    }
    let mut parent = vec![usize::MAX; nodes.len()];
    let mut leaves = vec![1_usize; nodes.len()];
    let mut risk: Vec<f64> = nodes.iter().map(|node| node.deviance).collect();
    // children stand behind their parents
    for node in (0..nodes.len()).rev() {
        if let Some(split) = &nodes[node].split {
            (parent[split.left], parent[split.right]) = (node, node);
            leaves[node] = leaves[split.left] + leaves[split.right];
            risk[node] = risk[split.left] + risk[split.right];
        }
    }
    let link = |node: usize, leaves: &[usize], risk: &[f64]| {
        ((nodes[node].deviance - risk[node]) / (leaves[node] - 1) as f64 / root).max(0.0)
    };
    // non-negative numbers order as their bits do
    let mut weakest: BinaryHeap<Reverse<(u64, usize)>> = (0..nodes.len())
        .filter(|&node| nodes[node].split.is_some())
        .map(|node| Reverse((link(node, &leaves, &risk).to_bits(), node)))
        .collect();
    let mut cut = vec![false; nodes.len()];
    let mut reached = 0.0_f64;
    while let Some(Reverse((bits, node))) = weakest.pop() {
        if cut[node] || leaves[node] == 1 || link(node, &leaves, &risk).to_bits() != bits {
            continue;
        }
        reached = reached.max(f64::from_bits(bits));
        // what hangs below and was not cut before goes with it
        let mut below = vec![node];
        while let Some(node) = below.pop() {
            if let Some(split) = nodes[node].split.filter(|_| !cut[node]) {
                cut[node] = true;
                complexity[node] = reached;
                below.extend([split.left, split.right]);
            }
        }
        let (fewer, more) = (leaves[node] - 1, nodes[node].deviance - risk[node]);
        let mut above = node;
        while above != usize::MAX {
            leaves[above] -= fewer;
            risk[above] += more;
            if above != node && leaves[above] > 1 {
                weakest.push(Reverse((link(above, &leaves, &risk).to_bits(), above)));
            }
            above = parent[above];
        }
    }
    complexity
}

impl Tree {
    pub(crate) fn fit(x: &Matrix, y: &[f64], min_split: usize, cp: f64, pruning: Pruning) -> Self {
        let grown = Grown::new(x, y, &Sorted::new(x), min_split, cp);
        let cp = match pruning {
            Pruning::None => cp,
            Pruning::CrossValidation => grown.cross_validated(x, y, min_split, cp, false),
            Pruning::OneStandardError => grown.cross_validated(x, y, min_split, cp, true),
        };
        grown.prune(cp)
    }

    /// A tree that is not pruned, with leaves of at least `min_leaf` rows.
    pub(crate) fn full(x: &Matrix, y: &[f64], min_leaf: usize) -> Self {
        let limits = Limits { deepest: u32::MAX, ..Limits::new(2 * min_leaf.max(1), min_leaf, 0.0) };
        Self { nodes: grow::grow(x, y, &Sorted::new(x), None, limits, None) }
    }

    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        grow::predict(&self.nodes, row)
    }

    /// Whether columns and nodes are there, and children behind their parents.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let mut nodes = self.nodes.iter().enumerate();
        !self.nodes.is_empty()
            && nodes.all(|(place, node)| {
                node.split.as_ref().is_none_or(|split| {
                    let ahead = |child: usize| child > place && child < self.nodes.len();
                    split.column < columns && ahead(split.left) && ahead(split.right)
                })
            })
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let mut text = String::from("rows, sum of squares, prediction; * marks leaves\n");
        let mut open = vec![(0, 0, String::from("all"))];
        while let Some((node, depth, condition)) = open.pop() {
            let Node { rows, mean, deviance, split } = &self.nodes[node];
            let mark = if split.is_none() { " *" } else { "" };
            let indent = 2 * depth;
            let _ = writeln!(
                text,
                "{:indent$}{condition}: {rows}, {deviance:.6}, {mean:.6}{mark}",
                ""
            );
            if let Some(split) = split {
                let name = &names[split.column];
                open.push((split.right, depth + 1, format!("{name} >= {}", split.cut)));
                open.push((split.left, depth + 1, format!("{name} < {}", split.cut)));
            }
        }
        text
    }
}
