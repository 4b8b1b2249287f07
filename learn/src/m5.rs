//! M5 model trees (Quinlan 1992) as Weka's M5P builds them (Wang & Witten 1997).
//!
//! A tree is grown to lower the deviation of the target in its nodes. Then every node gets a linear model of the
//! features that its subtree tests. Models lose features, and subtrees become leaves, so that they do not overfit. A
//! prediction is smoothed on the way up: p' = (n·p + k·q) / (n + k), with q from the parent's model and k = 15
//! (`smoothing`; 0: no smoothing).
//!
//! Where Weka differs from the paper, we follow Weka:
//! - A split's worth is not ∆e = σ(T) − Σ |Tᵢ|/|T|·σ(Tᵢ), but the same with the fifth root of the variance in place
//!   of σ. Each side of a split has more than a fifth of the node's rows.
//! - A model loses features by Akaike's criterion, not by the adjusted error; features that look collinear leave first
//!   ([`simplified`]).
//! - A subtree becomes a leaf if the leaf's error × (n + 2v) / (n − v), with v parameters, is not larger than the
//!   subtree's. The paper has (n + v) / (n − v).
//!
//! The node whose split gains most, weighted by its rows, is split first, so that `nsplits` keeps the
//! best splits.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::grow::{DEEPEST_SHOWN, is_tree};
use crate::matrix::{Matrix, mean, squares_around};
use crate::moments::{Moments, Plane};
use crate::segments::Segments;

/// A node with fewer rows is not split.
const MIN_ROWS: usize = 4;
/// A node whose deviation is below this share of all rows' deviation is not split either.
const MIN_DEVIATION: f64 = 0.05;

/// A column with a larger standardised coefficient is taken to be nearly collinear with others.
const COLLINEAR: f64 = 1.5;
/// A model whose squared error is a smaller share of the target's is exact.
const EXACT: f64 = 1e-12;

/// Settings of the fit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct M5Settings {
    /// Maximum number of splits of the grown tree; `None`: no limit.
    pub(crate) nsplits: Option<usize>,
    /// Quinlan's k of the smoothing.
    pub(crate) smoothing: f64,
    /// Whether subtrees may become leaves.
    pub(crate) prune: bool,
}

/// A smoothed model tree: its leaves alone predict.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct M5 {
    /// Nodes; the first is the root.
    pub nodes: Vec<M5Node>,
}

/// A node of a model tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct M5Node {
    /// Number of training rows in it.
    pub rows: usize,
    /// Column, cut (rows with at most this value go to the first child), children.
    pub split: Option<(usize, f64, usize, usize)>,
    /// Its model, smoothed if it is a leaf.
    pub model: Plane,
}

struct Node {
    range: (usize, usize),
    mean: f64,
    deviation: f64,
    parent: Option<usize>,
    split: Option<(usize, f64, usize, usize)>,
    model: Plane,
    /// Columns that its subtree tests, before pruning.
    tested: Vec<usize>,
    /// Squared error of the predictor: the model, or the subtree.
    error: f64,
    parameters: usize,
}

struct Cut {
    column: usize,
    left: usize,
    gain: f64,
}

struct Grower<'a> {
    x: &'a Matrix,
    y: &'a [f64],
    segments: Segments,
    nodes: Vec<Node>,
}

impl M5 {
    pub(crate) fn fit(x: &Matrix, y: &[f64], settings: &M5Settings) -> Self {
        let mut grower = Grower { x, y, segments: Segments::new(x), nodes: Vec::new() };
        grower.grow(settings.nsplits.unwrap_or(usize::MAX));
        for node in (0..grower.nodes.len()).rev() {
            grower.model(node, settings.prune);
        }
        let mut tree = Self { nodes: Vec::new() };
        grower.copy(0, settings.smoothing, &mut tree.nodes);
        tree
    }

    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        let mut node = &self.nodes[0];
        while let Some((column, cut, low, high)) = node.split {
            node = &self.nodes[if row(column) <= cut { low } else { high }];
        }
        node.model.of_row(row)
    }

    /// Whether all columns and nodes exist, and children come after their parents.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        is_tree(self.nodes.iter().map(|node| node.split.map(|(_, _, a, b)| [a, b])))
            && self.nodes.iter().all(|node| {
                node.model.fits(columns) && node.split.is_none_or(|(column, ..)| column < columns)
            })
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let mut text = String::new();
        let mut open = vec![(0, 0, String::from("all"))];
        while let Some((node, depth, condition)) = open.pop() {
            let M5Node { rows, split, model } = &self.nodes[node];
            let indent = 2 * DEEPEST_SHOWN.min(depth);
            if let Some((column, cut, low, high)) = split {
                let _ = writeln!(text, "{:indent$}{condition}: {rows} rows", "");
                let name = &names[*column];
                open.push((*high, depth + 1, format!("{name} > {cut}")));
                open.push((*low, depth + 1, format!("{name} <= {cut}")));
            } else {
                let model = model.describe(names);
                let _ = writeln!(text, "{:indent$}{condition}: {rows} rows, y = {model}", "");
            }
        }
        text
    }
}

impl Grower<'_> {
    fn rows(&self, node: usize) -> &[u32] {
        self.segments.rows(0, self.nodes[node].range)
    }

    fn push(&mut self, range: (usize, usize), parent: Option<usize>) -> usize {
        let values: Vec<f64> =
            self.segments.rows(0, range).iter().map(|&row| self.y[row as usize]).collect();
        let mean = mean(&values);
        let deviation = (squares_around(&values, mean) / values.len().max(1) as f64).sqrt();
        let (error, parameters) = (0.0, 0);
        let (model, tested, split) = (Plane::default(), Vec::new(), None);
        self.nodes.push(Node {
            range,
            mean,
            deviation,
            parent,
            split,
            model,
            tested,
            error,
            parameters,
        });
        self.nodes.len() - 1
    }

    fn grow(&mut self, most: usize) {
        let root = self.push((0, self.y.len()), None);
        let least = MIN_DEVIATION * self.nodes[root].deviation;
        let mut open: Vec<(usize, Cut)> = Vec::new();
        open.extend(self.cut(root, least).map(|cut| (root, cut)));
        let mut splits = 0;
        while splits < most {
            let worth = |(node, cut): &(usize, Cut)| {
                let (start, end) = self.nodes[*node].range;
                cut.gain * (end - start) as f64
            };
            let best = (0..open.len()).max_by(|&a, &b| worth(&open[a]).total_cmp(&worth(&open[b])));
            let Some(best) = best else { break };
            let (node, cut) = open.swap_remove(best);
            let range = self.nodes[node].range;
            let rows = self.segments.rows(cut.column, range);
            let below = self.x.get(rows[cut.left - 1] as usize, cut.column);
            let above = self.x.get(rows[cut.left] as usize, cut.column);
            let middle = f64::midpoint(below, above);
            let value = if middle < above { middle } else { below };
            self.segments.part(cut.column, range, cut.left);
            let low = self.push((range.0, range.0 + cut.left), Some(node));
            let high = self.push((range.0 + cut.left, range.1), Some(node));
            self.nodes[node].split = Some((cut.column, value, low, high));
            for child in [low, high] {
                open.extend(self.cut(child, least).map(|cut| (child, cut)));
            }
            splits += 1;
        }
    }

    /// The best cut of a node, if the node may be split.
    fn cut(&self, node: usize, least: f64) -> Option<Cut> {
        let Node { range, mean, deviation, .. } = self.nodes[node];
        let rows = range.1 - range.0;
        if rows < MIN_ROWS || deviation < least || deviation <= 0.0 {
            return None;
        }
        // more than a fifth on each side
        let part = (rows / 5).max(1) + 1;
        let root = |squares: f64, sum: f64, n: f64| {
            libm::pow((squares / n - (sum / n) * (sum / n)).max(0.0), 0.2)
        };
        let n = rows as f64;
        let all = root(deviation * deviation * n, 0.0, n);
        let mut best: Option<Cut> = None;
        for column in 0..self.x.columns() {
            let order = self.segments.rows(column, range);
            let values = self.x.column(column);
            let at = |place: usize| self.y[order[place] as usize] - mean;
            let total: f64 = deviation * deviation * n;
            let (mut sum, mut squares) = (0.0, 0.0);
            for place in 0..rows - part {
                sum += at(place);
                squares += at(place) * at(place);
                let left = place + 1;
                let (below, above) = (values[order[place] as usize], values[order[left] as usize]);
                if left < part || above <= below {
                    continue;
                }
                let (low, high) = (left as f64, n - left as f64);
                let gain = all
                    - low / n * root(squares, sum, low)
                    - high / n * root(total - squares, -sum, high);
                if gain > best.as_ref().map_or(1e-6 * all, |best| best.gain * (1.0 + 1e-9)) {
                    best = Some(Cut { column, left, gain });
                }
            }
        }
        best
    }

    /// Gives a node its model, and makes it a leaf if the model predicts no worse than its subtree.
    fn model(&mut self, node: usize, prune: bool) {
        let mut columns = Vec::new();
        if let Some((column, _, low, high)) = self.nodes[node].split {
            columns.push(column);
            columns.extend_from_slice(&self.nodes[low].tested);
            columns.extend_from_slice(&self.nodes[high].tested);
            columns.sort_unstable();
            columns.dedup();
        }
        self.nodes[node].tested.clone_from(&columns);
        let moments = Moments::new(self.x, self.y, self.rows(node), columns);
        let n = self.rows(node).len();
        let (active, beta, error) = simplified(&moments, n);
        let model = Plane {
            intercept: moments.intercept(&active, &beta),
            slopes: active.iter().map(|&a| moments.columns[a]).zip(beta).collect(),
        };
        let parameters = active.len() + 1;
        let node_parameters = match self.nodes[node].split {
            Some((_, _, low, high))
                if !prune || {
                    let below = self.nodes[low].error + self.nodes[high].error;
                    let parameters_below =
                        self.nodes[low].parameters + self.nodes[high].parameters + 1;
                    let as_leaf = adjusted(error, n, parameters);
                    as_leaf > adjusted(below, n, parameters_below)
                        && as_leaf >= 1e-5 * self.nodes[0].deviation
                } =>
            {
                self.nodes[node].error = self.nodes[low].error + self.nodes[high].error;
                self.nodes[low].parameters + self.nodes[high].parameters + 1
            }
            _ => {
                self.nodes[node].split = None;
                self.nodes[node].error = error;
                parameters
            }
        };
        self.nodes[node].parameters = node_parameters;
        self.nodes[node].model = model;
    }

    /// Copies the nodes that were kept; leaves get smoothed models.
    fn copy(&self, node: usize, smoothing: f64, nodes: &mut Vec<M5Node>) -> usize {
        let place = nodes.len();
        let rows = self.rows(node).len();
        let mut model = self.nodes[node].model.clone();
        if self.nodes[node].split.is_none() {
            let mut below = node;
            while let Some(parent) = self.nodes[below].parent {
                let n = self.rows(below).len() as f64;
                model = model.mixed(n / (n + smoothing), &self.nodes[parent].model);
                below = parent;
            }
        }
        nodes.push(M5Node { rows, split: None, model });
        if let Some((column, cut, low, high)) = self.nodes[node].split {
            let low = self.copy(low, smoothing, nodes);
            let high = self.copy(high, smoothing, nodes);
            nodes[place].split = Some((column, cut, low, high));
        }
        place
    }
}

/// Root mean squared error × (n + 2v) / (n − v); the factor is 10 where n ≤ v.
fn adjusted(error: f64, rows: usize, parameters: usize) -> f64 {
    let (n, v) = (rows as f64, parameters as f64);
    let factor = if rows <= parameters { 10.0 } else { (n + 2.0 * v) / (n - v) };
    (error / n).sqrt() * factor
}

/// The columns that a node's model keeps, with their coefficients and its squared error.
///
/// A standardised coefficient above 1.5 is a sign of collinearity. Such columns leave first, the one with the largest
/// coefficient each time. Then the column with the smallest standardised coefficient leaves, as long as Akaike's
/// criterion falls.
fn simplified(moments: &Moments, rows: usize) -> (Vec<usize>, Vec<f64>, f64) {
    if moments.target_squares <= 0.0 {
        return (Vec::new(), Vec::new(), 0.0);
    }
    let fit = |places: &[usize]| -> (Vec<usize>, Vec<f64>) {
        let solution = moments.solve(places);
        places.iter().zip(solution).filter_map(|(&place, beta)| Some((place, beta?))).unzip()
    };
    let deviation = moments.target_squares.sqrt();
    let weight = |place: usize, beta: f64| beta.abs() * moments.squares(place).sqrt() / deviation;
    let (mut places, mut beta) = fit(&(0..moments.count()).collect::<Vec<usize>>());
    // of equal weights, the first
    let heaviest = |places: &[usize], beta: &[f64]| {
        (0..places.len())
            .rev()
            .filter(|&at| weight(places[at], beta[at]) > COLLINEAR)
            .max_by(|&a, &b| weight(places[a], beta[a]).total_cmp(&weight(places[b], beta[b])))
    };
    while let Some(at) = heaviest(&places, &beta) {
        places.remove(at);
        (places, beta) = fit(&places);
    }
    let full_parameters = places.len() + 1;
    let full_error = moments.error(&places, &beta);
    // below this, an error is due to rounding
    let rounding = EXACT * moments.target_squares;
    let criterion = |error: f64, parameters: usize| {
        let ratio = error.max(rounding) / full_error.max(rounding);
        ratio * (rows as f64 - full_parameters as f64) + 2.0 * parameters as f64
    };
    let mut best = criterion(full_error, full_parameters);
    let lightest = |places: &[usize], beta: &[f64]| {
        (0..places.len())
            .min_by(|&a, &b| weight(places[a], beta[a]).total_cmp(&weight(places[b], beta[b])))
    };
    while let Some(at) = lightest(&places, &beta) {
        let mut fewer = places.clone();
        fewer.remove(at);
        let (fewer, fewer_beta) = fit(&fewer);
        let price = criterion(moments.error(&fewer, &fewer_beta), fewer.len() + 1);
        if price >= best {
            break;
        }
        (best, places, beta) = (price, fewer, fewer_beta);
    }
    let error = moments.error(&places, &beta);
    (places, beta, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: M5Settings = M5Settings { nsplits: None, smoothing: 0.0, prune: true };

    fn fitted(y: impl Fn(f64, f64) -> f64) -> (M5, f64) {
        let a: Vec<f64> = (0..200).map(f64::from).collect();
        let b: Vec<f64> = (0..200).map(|row| f64::from(row * 37 % 101)).collect();
        let y: Vec<f64> = a.iter().zip(&b).map(|(a, b)| y(*a, *b)).collect();
        let x = Matrix::from_columns(&[a, b]).unwrap();
        let model = M5::fit(&x, &y, &SETTINGS);
        let off = |row: usize| (model.predict_row(|column| x.get(row, column)) - y[row]).abs();
        let worst = (0..y.len()).map(off).fold(0.0, f64::max);
        (model, worst)
    }

    #[test]
    fn a_model_that_fits_exactly_keeps_its_columns() {
        let (model, worst) = fitted(|a, b| 2.0 * a - b);
        assert!(worst < 1e-6, "{worst}");
        assert_eq!(model.nodes.len(), 1);
    }

    #[test]
    fn a_constant_target_needs_no_columns() {
        let (model, worst) = fitted(|_, _| 7.0);
        assert!(worst < 1e-12 && model.nodes.len() == 1 && model.nodes[0].model.slopes.is_empty());
    }
}
