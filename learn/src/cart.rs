//! Regression trees with cost-complexity pruning (Breiman et al. 1984), in rpart's conventions.
//!
//! A node of fewer than `minsplit` rows is not split; a leaf holds at least round(minsplit / 3). A split
//! stays if its subtree lowers the sum of squares by more than `cp` of the root's sum of squares per
//! split. With `prune=cv`, the subtree with the smallest squared error in 10-fold cross-validation is
//! taken from the pruning sequence; with `prune=cv1se`, the smallest tree within one standard error of
//! it. rpart draws its folds at random; here they come from a fixed seed.

use std::fmt::Write;

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use crate::folds::Folds;
use crate::grow::{self, DEEPEST_SHOWN, Limits, Node, Sorted};
use crate::matrix::Matrix;

/// How a grown tree is pruned beyond `cp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pruning {
    /// No further pruning.
    #[default]
    None,
    /// Prunes to the smallest error in cross-validation.
    CrossValidation,
    /// Prunes to the smallest tree within one standard error of the smallest error.
    OneStandardError,
}

/// A regression tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tree {
    /// Nodes; the first is the root.
    pub nodes: Vec<Node>,
}

/// One row of the pruning sequence: the tree for every cp from this one up to that of the previous row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PruningStep {
    /// Smallest cp of this tree, as a share of the root's sum of squares.
    pub cp: f64,
    /// Splits in the tree.
    pub splits: usize,
    /// The tree's sum of squares, as a share of the root's.
    pub relative_error: f64,
}

/// A tree before pruning.
#[derive(Clone)]
pub(crate) struct Grown {
    nodes: Vec<Node>,
}

/// A grown tree with the worth of each split.
struct Worthy<'a> {
    nodes: &'a [Node],
    worth: Vec<f64>,
}

impl Grown {
    /// Grows until no split worth more than `cp` can be left.
    pub(crate) fn new(x: &Matrix, y: &[f64], sorted: &Sorted, min_split: usize, cp: f64) -> Self {
        let min_leaf = (min_split as f64 / 3.0).round() as usize;
        let limits = Limits::new(min_split.max(2), min_leaf, cp);
        Self { nodes: grow::grow(x, y, sorted, None, limits, None) }
    }

    /// The tree of splits worth more than `cp`. `cp` must be at least the one that the tree was grown
    /// with.
    pub(crate) fn prune(&self, cp: f64) -> Tree {
        self.worthy(cp).tree(cp)
    }

    fn worthy(&self, cp: f64) -> Worthy<'_> {
        Worthy { nodes: &self.nodes, worth: worths(&self.nodes, cp) }
    }
}

impl Worthy<'_> {
    fn tree(&self, cp: f64) -> Tree {
        let mut nodes = Vec::new();
        self.copy(0, cp, &mut nodes);
        Tree { nodes }
    }

    fn keeps(&self, node: usize, cp: f64) -> Option<grow::Split> {
        self.nodes[node].split.filter(|_| self.worth[node] > cp)
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

    /// The sequence of trees, from the root alone to the tree for `cp`.
    fn steps(&self, cp: f64) -> Vec<PruningStep> {
        let mut cuts: Vec<f64> = self.worth.iter().copied().filter(|worth| *worth > cp).collect();
        cuts.sort_unstable_by(|a, b| b.total_cmp(a));
        cuts.dedup_by(|a, b| (*a - *b).abs() <= 1e-10 * a.abs().max(b.abs()));
        cuts.push(cp);
        cuts.into_iter()
            .map(|cp| {
                // a split worth exactly this cp is cut
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
            node = if split.goes_left(row(split.column)) { split.left } else { split.right };
        }
        self.nodes[node].mean
    }

    /// The cp with the best cross-validation result in the sequence of trees.
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
        // all cps between two neighbours give the same tree, so their geometric mean represents it
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
            let grown = Grown::new(&train_x, &train_y, &Sorted::new(&train_x), min_split, cp);
            let worthy = grown.worthy(cp);
            for row in test {
                for (beta, (sum, squares)) in betas.iter().zip(&mut sums) {
                    let error =
                        (y[row] - worthy.predict(*beta, |column| x.get(row, column))).powi(2);
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

/// The worth of each split: the reduction of the sum of squares by its subtree, as a share of the root's,
/// per split in the subtree. Splits worth at most `cp` are cut together with everything below them, and
/// get 0. No split is worth more than the one above it.
///
/// A child that is worth less than the whole subtree is cut before it, so the child does not count. The
/// less worthy child is checked first, then the other one is checked again. This is rpart's rule. It
/// looks at children only, so it may cut a little more than the weakest-link pruning of Breiman et al.
fn worths(nodes: &[Node], cp: f64) -> Vec<f64> {
    let root = nodes[0].deviance;
    let mut worth = vec![0.0; nodes.len()];
    if root <= 0.0 {
        return worth;
    }
    // by node: the number of splits that count, and the sum of squares that they leave
    let mut splits = vec![0_usize; nodes.len()];
    let mut left_over: Vec<f64> = nodes.iter().map(|node| node.deviance / root).collect();
    // children come after their parents
    for node in (0..nodes.len()).rev() {
        let Some(split) = &nodes[node].split else { continue };
        let mut sides = [split.left, split.right]
            .map(|child| (worth[child].max(cp), splits[child], left_over[child], child));
        if sides[1].0 <= sides[0].0 {
            sides.swap(0, 1);
        }
        let value = |sides: &[(f64, usize, f64, usize); 2]| {
            let below = sides[0].2 + sides[1].2;
            (nodes[node].deviance / root - below) / (sides[0].1 + sides[1].1 + 1) as f64
        };
        for side in 0..2 {
            if value(&sides) <= sides[side].0 {
                break;
            }
            (sides[side].1, sides[side].2) = (0, nodes[sides[side].3].deviance / root);
        }
        let value = value(&sides);
        if value > cp {
            worth[node] = value;
            splits[node] = sides[0].1 + sides[1].1 + 1;
            left_over[node] = sides[0].2 + sides[1].2;
        }
    }
    for node in 0..nodes.len() {
        if let Some(split) = &nodes[node].split {
            worth[split.left] = worth[split.left].min(worth[node]);
            worth[split.right] = worth[split.right].min(worth[node]);
        }
    }
    worth
}

impl Tree {
    pub(crate) fn fit(x: &Matrix, y: &[f64], min_split: usize, cp: f64, pruning: Pruning) -> Self {
        let grown = Grown::new(x, y, &Sorted::new(x), min_split, cp);
        let worthy = grown.worthy(cp);
        let cp = match pruning {
            Pruning::None => cp,
            Pruning::CrossValidation => worthy.cross_validated(x, y, min_split, cp, false),
            Pruning::OneStandardError => worthy.cross_validated(x, y, min_split, cp, true),
        };
        worthy.tree(cp)
    }

    /// An unpruned tree with leaves of at least `min_leaf` rows.
    pub(crate) fn full(x: &Matrix, y: &[f64], min_leaf: usize) -> Self {
        let limits =
            Limits { deepest: u32::MAX, ..Limits::new(2 * min_leaf.max(1), min_leaf, 0.0) };
        Self { nodes: grow::grow(x, y, &Sorted::new(x), None, limits, None) }
    }

    /// Adds, for each column, the reduction of the sum of squares by splits on it.
    pub fn add_taken(&self, taken: &mut [f64]) {
        for node in &self.nodes {
            if let Some(split) = &node.split {
                let children = self.nodes[split.left].deviance + self.nodes[split.right].deviance;
                taken[split.column] += node.deviance - children;
            }
        }
    }

    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        grow::predict(&self.nodes, row)
    }

    /// The leaf that a row falls into.
    pub(crate) fn leaf(&self, row: impl Fn(usize) -> f64) -> usize {
        grow::leaf_of(&self.nodes, row)
    }

    /// Whether all columns and nodes exist, and children come after their parents.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let splits = self.nodes.iter().map(|node| node.split.as_ref());
        grow::is_tree(splits.clone().map(|split| split.map(|split| [split.left, split.right])))
            && splits.flatten().all(|split| split.column < columns)
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let mut text = String::from("rows, sum of squares, prediction; * marks leaves\n");
        let mut open = vec![(0, 0, String::from("all"))];
        while let Some((node, depth, condition)) = open.pop() {
            let Node { rows, mean, deviance, split } = &self.nodes[node];
            let mark = if split.is_none() { " *" } else { "" };
            let indent = 2 * DEEPEST_SHOWN.min(depth);
            let _ =
                writeln!(text, "{:indent$}{condition}: {rows}, {deviance:.6}, {mean:.6}{mark}", "");
            if let Some(split) = split {
                let name = &names[split.column];
                let known = split.cut < f64::MAX;
                let (mut low, high) = if known {
                    (format!("{name} < {}", split.cut), format!("{name} >= {}", split.cut))
                } else {
                    (format!("{name} is known"), format!("{name} is missing"))
                };
                if known && split.missing_left {
                    low.push_str(" or missing");
                }
                open.push((split.right, depth + 1, high));
                open.push((split.left, depth + 1, low));
            }
        }
        text
    }
}

/// By column, the reduction of the sum of squares by the splits of all trees on it.
pub(crate) fn taken(trees: &[Tree], columns: usize) -> Vec<f64> {
    let mut taken = vec![0.0; columns];
    for tree in trees {
        tree.add_taken(&mut taken);
    }
    taken
}

/// The same reductions as shares of the total, one column a line.
pub(crate) fn describe_taken(trees: &[Tree], names: &[String]) -> String {
    let taken = taken(trees, names.len());
    let all: f64 = taken.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut text = String::from("share of the sum of squares taken by splits on\n");
    for (name, taken) in names.iter().zip(taken) {
        let _ = writeln!(text, "  {name:<30} {:6.2} %", 100.0 * taken / all);
    }
    text
}
