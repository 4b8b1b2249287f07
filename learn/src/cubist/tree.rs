//! The model tree that the rules are made from.
//!
//! Below the root, a node is split by the residuals of a linear model of the features tested above it. The
//! worth of a cut is how much it lowers the mean deviation of these residuals. Each side also gets credit for
//! what a line in the tested feature would explain (if its correlation is significant at 5 %). Then every
//! node gets a model of all features tested above and below it. A model loses the feature that contributes
//! least as long as error × (n + v)/(n − v) does not grow. It is then fitted once more without the rows whose
//! residual is more than five times the mean.
//!
//! Shrinking: from the parent up, a model m becomes w·m + (1 − w)·(ancestor's model), with the w that
//! minimises the variance of the errors. Coefficients are rounded to about a hundredth of what matters, and
//! the intercept centres the median residual.
//!
//! Pruning cuts the subtree whose loss adds least error: first as long as the adjusted error of the whole
//! tree does not grow, then up to half a percent more, then to the number of rules allowed.

use crate::cubist::Range;
use crate::matrix::{Matrix, mean, squares_around};
use crate::moments::{Moments, Plane};
use crate::segments::Segments;

/// Minimum number of rows of a child, however few rows there are.
const MIN_CHILD: usize = 3;
/// Gains, errors and weights that differ by less than this share are equal, and the first is taken. The
/// original compares numbers in single precision. Rounding must not decide here, or a committee would amplify
/// its effect.
pub(super) const EQUAL: f64 = 1e-7;
/// Number of parameters that a split counts as.
const SPLIT_PARAMETERS: f64 = 4.0;

/// What all members of a committee share.
pub(super) struct Shared<'a> {
    x: &'a Matrix,
    range: Range,
    most_rules: usize,
    /// Minimum number of rows that a leaf should cover.
    min_cover: usize,
    /// Values of each column, ascending.
    values: Vec<Vec<f64>>,
    /// By column: coefficients below this are negligible. It changes y by a hundredth of y's standard
    /// deviation when the column changes by one of its own.
    negligible: Vec<f64>,
    /// By column: coefficients are rounded to this, the power of ten below `negligible`, at most 1.
    units: Vec<f64>,
    /// Added to sums of squares, so that differences between tiny numbers decide nothing. It is 0.001 in the
    /// original; here it is less where y varies by less than 1, so that y's unit does not matter there.
    slack: f64,
    /// By number of rows: the squared correlation that is significant at 5 % (Fisher's z).
    significant: Vec<f64>,
    /// By column: how well its side of its own mean predicts y's side of y's mean. It decides between equally
    /// good cuts.
    preference: Vec<f64>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(x: &'a Matrix, y: &[f64], range: Range, most_rules: usize) -> Self {
        let n = y.len();
        let min_cover = least_cover(n, most_rules);
        let deviation =
            |values: &[f64]| (squares_around(values, mean(values)) / (n.max(2) - 1) as f64).sqrt();
        let y_deviation = deviation(y);
        let y_mean = mean(y);
        let negligible: Vec<f64> = (0..x.columns())
            .map(|column| 0.01 * y_deviation / deviation(x.column(column)).max(f64::MIN_POSITIVE))
            .collect();
        let preference = (0..x.columns())
            .map(|column| {
                let middle = mean(x.column(column));
                let pairs = x.column(column).iter().zip(y);
                let off: Vec<bool> = pairs
                    .filter(|(x, _)| (**x - middle).abs() > 0.0)
                    .map(|(x, y)| (*x > middle) == (*y > y_mean))
                    .collect();
                let same = off.iter().filter(|same| **same).count();
                (2 * same.max(off.len() - same)) as f64 - off.len() as f64
            })
            .collect();
        let values = (0..x.columns())
            .map(|column| {
                let mut values = x.column(column).to_vec();
                values.sort_unstable_by(f64::total_cmp);
                values.dedup();
                values
            })
            .collect();
        let unit = |least: &f64| {
            libm::pow(10.0, libm::log10(*least).floor()).clamp(f64::MIN_POSITIVE, 1.0)
        };
        let units = negligible.iter().map(unit).collect();
        let least = |n: usize| libm::tanh(1.96 / (n as f64 - 3.0).max(0.1).sqrt()).powi(2);
        let significant = (0..=n).map(least).collect();
        let slack = 1e-3 * (y_deviation * y_deviation).min(1.0);
        Self {
            x,
            range,
            most_rules,
            min_cover,
            values,
            negligible,
            units,
            slack,
            significant,
            preference,
        }
    }
}

/// Minimum rows of a leaf: a hundredth of `n`, at most 20, and few enough to allow `most_rules` rules.
pub(super) fn least_cover(n: usize, most_rules: usize) -> usize {
    ((n as f64 / 100.0).round() as usize).min(20).min(n / most_rules.max(1)).max(MIN_CHILD)
}

/// A node of the tree.
pub(super) struct Node {
    range: (usize, usize),
    parent: Option<usize>,
    /// Column, cut (rows with at most this value go to the first child), children.
    pub(super) split: Option<(usize, f64, usize, usize)>,
    /// The model after shrinking.
    pub(super) model: Plane,
    /// The model before shrinking.
    fitted: Plane,
    /// Number of coefficients, including the intercept.
    pub(super) coefficients: f64,
    /// Σ |error| of the model.
    own_error: f64,
    /// Σ |error| of the subtree.
    error: f64,
    parameters: f64,
}

/// A pruned tree.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Number of leaves before the rule limit reduced them.
    pub(super) leaves: usize,
    segments: Segments,
}

struct Grower<'a> {
    shared: &'a Shared<'a>,
    y: &'a [f64],
    segments: Segments,
    nodes: Vec<Node>,
    /// Scratch space, by row.
    residuals: Vec<f64>,
}

/// Mean absolute deviations of a model's columns and of the target.
struct Spreads {
    /// In the order of the columns of [`Moments`].
    columns: Vec<f64>,
    target: f64,
}

impl Tree {
    pub(super) fn grow(shared: &Shared<'_>, segments: Segments, y: &[f64]) -> Self {
        let residuals = y.to_vec();
        let mut grower = Grower { shared, y, segments, nodes: Vec::new(), residuals };
        grower.form();
        grower.add_models();
        grower.drop_small_branches();
        grower.shrink();
        let leaves = grower.prune();
        Self { nodes: grower.nodes, leaves, segments: grower.segments }
    }

    /// Training rows of a node.
    pub(super) fn rows(&self, node: usize) -> &[u32] {
        self.segments.rows(0, self.nodes[node].range)
    }
}

impl Grower<'_> {
    fn rows(&self, node: usize) -> &[u32] {
        self.segments.rows(0, self.nodes[node].range)
    }

    fn push(&mut self, range: (usize, usize), parent: Option<usize>) -> usize {
        self.nodes.push(Node {
            range,
            parent,
            split: None,
            model: Plane::default(),
            fitted: Plane::default(),
            coefficients: 0.0,
            own_error: 0.0,
            error: 0.0,
            parameters: 0.0,
        });
        self.nodes.len() - 1
    }

    fn tested_above(&self, node: usize) -> Vec<usize> {
        let mut columns = Vec::new();
        let mut above = self.nodes[node].parent;
        while let Some(node) = above {
            columns.extend(self.nodes[node].split.map(|split| split.0));
            above = self.nodes[node].parent;
        }
        columns
    }

    fn tested_below(&self, node: usize, columns: &mut Vec<usize>) {
        if let Some((column, _, low, high)) = self.nodes[node].split {
            columns.push(column);
            self.tested_below(low, columns);
            self.tested_below(high, columns);
        }
    }

    /// Splits nodes as long as that helps.
    fn form(&mut self) {
        let root = self.push((0, self.y.len()), None);
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            let range = self.nodes[node].range;
            let local =
                self.nodes[node].parent.map(|_| self.regress(node, self.tested_above(node)));
            let shared = self.shared;
            for &row in self.segments.rows(0, range) {
                let row = row as usize;
                let predicted = local.as_ref().map_or(0.0, |model| {
                    shared.range.clamp(model.of_row(|column| shared.x.get(row, column)))
                });
                self.residuals[row] = self.y[row] - predicted;
            }
            if let Some((column, left, cut)) = self.best_cut(range) {
                self.segments.part(column, range, left);
                let low = self.push((range.0, range.0 + left), Some(node));
                let high = self.push((range.0 + left, range.1), Some(node));
                self.nodes[node].split = Some((column, cut, low, high));
                open.extend([high, low]);
            }
        }
    }

    /// The cut that lowers the deviation of the residuals most: column, number of rows left of it, value.
    fn best_cut(&self, range: (usize, usize)) -> Option<(usize, usize, f64)> {
        let rows = range.1 - range.0;
        if rows < 2 * MIN_CHILD {
            return None;
        }
        let cover = self.shared.min_cover;
        let edge = if rows >= 3 * cover { cover } else { MIN_CHILD };
        let mut best: Option<(f64, usize, usize)> = None;
        for column in 0..self.shared.x.columns() {
            let Some((gain, left)) = self.best_cut_of(column, range, edge) else { continue };
            let better = best.is_none_or(|(most, other, _)| {
                let preference = &self.shared.preference;
                gain > most * (1.0 + EQUAL)
                    || (gain > 0.999 * most && preference[column] > preference[other])
            });
            if better {
                best = Some((gain, column, left));
            }
        }
        let (_, column, left) = best?;
        let order = self.segments.rows(column, range);
        let value = |place: usize| self.shared.x.get(order[place] as usize, column);
        let middle = f64::midpoint(value(left - 1), value(left));
        // cut at a value of the whole data, not only of this node's
        let values = &self.shared.values[column];
        let cut = values[values.partition_point(|value| *value <= middle).max(1) - 1];
        Some((column, left, cut))
    }

    fn best_cut_of(
        &self,
        column: usize,
        range: (usize, usize),
        edge: usize,
    ) -> Option<(f64, usize)> {
        let order = self.segments.rows(column, range);
        let values = self.shared.x.column(column);
        let n = order.len();
        if values[order[0] as usize] >= values[order[n - 1] as usize] {
            return None;
        }
        // relative to the middle row, to limit rounding errors
        let middle = values[order[n / 2] as usize];
        let at = |place: usize| {
            let row = order[place] as usize;
            (values[row] - middle, self.residuals[row])
        };
        let slack = self.shared.slack;
        let mut all = Sums::default();
        for (x, r) in (0..n).map(at) {
            all.add(x, r);
        }
        let deviation = all.deviation_alone(slack);
        let mut low = Sums::default();
        let mut best: Option<(f64, usize)> = None;
        for place in 0..n - edge {
            let (x, r) = at(place);
            low.add(x, r);
            let left = place + 1;
            if left < edge || values[order[left] as usize] <= values[order[place] as usize] {
                continue;
            }
            let high = all.without(&low);
            let least = &self.shared.significant;
            let left_over = low.n * low.deviation_beside_line(slack, least[left])
                + high.n * high.deviation_beside_line(slack, least[n - left]);
            let gain = deviation - left_over / all.n;
            if gain > best.map_or(1e-9 * deviation, |best| best.0 * (1.0 + EQUAL)) {
                best = Some((gain, left));
            }
        }
        best
    }

    /// A simplified linear model of a node's rows in some columns.
    fn regress(&self, node: usize, mut columns: Vec<usize>) -> Plane {
        columns.sort_unstable();
        columns.dedup();
        let rows = self.rows(node);
        let x = self.shared.x;
        let n = rows.len();
        let spread = |&column: &usize| {
            let values = x.column(column);
            let mean = rows.iter().map(|&row| values[row as usize]).sum::<f64>() / n as f64;
            let squares: f64 = rows.iter().map(|&row| (values[row as usize] - mean).powi(2)).sum();
            squares > 1e-14 * n as f64 * mean * mean
        };
        columns.retain(spread);
        let target_mean = rows.iter().map(|&row| self.y[row as usize]).sum::<f64>() / n as f64;
        let constant = Plane { intercept: target_mean, slopes: Vec::new() };
        if columns.is_empty() || n < 2 * columns.len() {
            return constant;
        }
        let moments = Moments::new(x, self.y, rows, columns.clone());
        let spreads = self.spreads(&moments, rows);
        let mut model = self.simplified(&moments, rows, &spreads);
        if model.slopes.is_empty() {
            return model;
        }
        let off: Vec<f64> =
            rows.iter().map(|&row| self.y[row as usize] - self.value(&model, row)).collect();
        // predictions are clamped to a range, which may leave a bias
        model.intercept += mean(&off);
        let missed: Vec<f64> = off.iter().map(|off| off.abs()).collect();
        let limit = 5.0 * mean(&missed);
        if missed.iter().any(|missed| *missed > limit) {
            let kept: Vec<u32> = rows
                .iter()
                .zip(&missed)
                .filter(|(_, missed)| **missed <= limit)
                .map(|(row, _)| *row)
                .collect();
            let moments = Moments::new(x, self.y, &kept, columns);
            model = self.simplified(&moments, &kept, &spreads);
        }
        model
    }

    fn value(&self, model: &Plane, row: u32) -> f64 {
        let x = self.shared.x;
        self.shared.range.clamp(model.of_row(|column| x.get(row as usize, column)))
    }

    /// The mean deviation of each column, and of the target, in these rows.
    fn spreads(&self, moments: &Moments, rows: &[u32]) -> Spreads {
        let n = rows.len() as f64;
        let columns = moments.columns.iter().zip(&moments.means).map(|(&column, middle)| {
            let values = self.shared.x.column(column);
            rows.iter().map(|&row| (values[row as usize] - middle).abs()).sum::<f64>() / n
        });
        let target = rows.iter().map(|&row| (self.y[row as usize] - moments.target_mean).abs());
        Spreads { columns: columns.collect(), target: target.sum::<f64>() / n }
    }

    /// Drops the column that contributes least, again and again, and returns the best model seen. `spreads` are those
    /// of all rows of the node, even if `rows` leaves out the outliers.
    fn simplified(&self, moments: &Moments, rows: &[u32], spreads: &Spreads) -> Plane {
        let n = rows.len();
        let mut active: Vec<usize> = (0..moments.count()).collect();
        let mut best: Option<(f64, Plane)> = None;
        loop {
            let solution = moments.solve(&active);
            let (places, beta): (Vec<usize>, Vec<f64>) = active
                .iter()
                .zip(&solution)
                .filter_map(|(&place, beta)| beta.map(|beta| (place, beta)))
                .unzip();
            let model = Plane {
                intercept: moments.intercept(&places, &beta),
                slopes: places
                    .iter()
                    .map(|&a| moments.columns[a])
                    .zip(beta.iter().copied())
                    .collect(),
            };
            let weight = |index: usize| (beta[index] * spreads.columns[places[index]]).abs();
            let stable = (0..places.len()).all(|index| weight(index) <= 1000.0 * spreads.target);
            if stable && n >= 2 * places.len() {
                let missed: f64 = rows
                    .iter()
                    .map(|&row| (self.y[row as usize] - self.value(&model, row)).abs())
                    .sum();
                let price = adjusted(missed / n as f64, n as f64, places.len() as f64);
                if best.as_ref().is_none_or(|(least, _)| price <= *least * (1.0 + EQUAL)) {
                    best = Some((price, model));
                }
            }
            let weakest = (0..places.len()).min_by(|&a, &b| weight(a).total_cmp(&weight(b)));
            active.clone_from(&places);
            match weakest {
                Some(weakest) => active.remove(weakest),
                None => break,
            };
        }
        best.map_or_else(Plane::default, |best| best.1)
    }

    /// Fits every node's own model, of the features tested above and below it.
    fn add_models(&mut self) {
        for node in 0..self.nodes.len() {
            let mut columns = self.tested_above(node);
            self.tested_below(node, &mut columns);
            self.nodes[node].fitted = self.regress(node, columns);
            self.nodes[node].model = self.nodes[node].fitted.clone();
        }
    }

    /// Removes splits with a child of too few rows, and counts parameters.
    fn drop_small_branches(&mut self) {
        for node in 0..self.nodes.len() {
            if let Some((_, _, low, high)) = self.nodes[node].split {
                let cover = self.shared.min_cover;
                if self.rows(low).len() < cover || self.rows(high).len() < cover {
                    self.nodes[node].split = None;
                }
            }
            let slopes = self.nodes[node].model.slopes.iter();
            let coefficients = slopes.filter(|slope| slope.1 != 0.0).count() + 1;
            self.nodes[node].coefficients = coefficients as f64;
        }
    }

    fn alive(&self) -> Vec<usize> {
        let mut nodes = vec![0];
        let mut next = 0;
        while let Some(&node) = nodes.get(next) {
            if let Some((_, _, low, high)) = self.nodes[node].split {
                nodes.extend([low, high]);
            }
            next += 1;
        }
        nodes
    }

    /// Mixes each model with those of the nodes above it.
    fn shrink(&mut self) {
        let nodes = self.alive();
        for &node in &nodes {
            let rows = self.rows(node);
            let n = rows.len() as f64;
            let mut model = self.nodes[node].fitted.clone();
            let errors = |model: &Plane| -> Vec<f64> {
                rows.iter().map(|&row| self.y[row as usize] - self.value(model, row)).collect()
            };
            let mut own = errors(&model);
            let mut above = self.nodes[node].parent;
            let variance = |errors: &[f64]| squares_around(errors, mean(errors)) / (n - 1.0);
            if rows.len() > 2 && variance(&own) > 0.0 {
                while let Some(ancestor) = above {
                    let its = errors(&self.nodes[ancestor].fitted);
                    let (own_mean, its_mean) = (mean(&own), mean(&its));
                    let covariance = own
                        .iter()
                        .zip(&its)
                        .map(|(a, b)| (a - own_mean) * (b - its_mean))
                        .sum::<f64>()
                        / (n - 1.0);
                    let (own_variance, its_variance) = (variance(&own), variance(&its));
                    let apart = own_variance + its_variance - 2.0 * covariance;
                    if apart > 1e-12 * own_variance {
                        let share = (its_variance - covariance) / apart;
                        if share > 0.0 && share < 1.0 {
                            model = model.mixed(share, &self.nodes[ancestor].fitted);
                            own = errors(&model);
                        }
                    }
                    above = self.nodes[ancestor].parent;
                }
            }
            model.slopes.retain(|(column, slope)| slope.abs() >= self.shared.negligible[*column]);
            for (column, slope) in &mut model.slopes {
                let unit = self.shared.units[*column];
                *slope = (*slope / unit).round() * unit;
            }
            let x = self.shared.x;
            let mut off: Vec<f64> = rows
                .iter()
                .map(|&row| {
                    let row = row as usize;
                    model.of_row(|column| x.get(row, column)) - self.y[row]
                })
                .collect();
            off.sort_unstable_by(f64::total_cmp);
            // of the two middle values, the lower one
            model.intercept -= off[(off.len() - 1) / 2];
            self.nodes[node].model = model;
        }
    }

    fn leaves(&self) -> usize {
        self.alive().into_iter().filter(|&node| self.nodes[node].split.is_none()).count()
    }

    /// Cuts subtrees. Returns the number of leaves before the rule limit was applied.
    fn prune(&mut self) -> usize {
        let nodes = self.alive();
        let x = self.shared.x;
        for &node in nodes.iter().rev() {
            let model = &self.nodes[node].model;
            let error = self
                .rows(node)
                .iter()
                .map(|&row| {
                    let row = row as usize;
                    (self.y[row] - model.of_row(|column| x.get(row, column))).abs()
                })
                .sum();
            self.nodes[node].own_error = error;
            let (error, parameters) = match self.nodes[node].split {
                None => (error, self.nodes[node].coefficients),
                Some((_, _, low, high)) => (
                    self.nodes[low].error + self.nodes[high].error,
                    self.nodes[low].parameters + self.nodes[high].parameters + SPLIT_PARAMETERS,
                ),
            };
            (self.nodes[node].error, self.nodes[node].parameters) = (error, parameters);
        }
        let n = self.y.len() as f64;
        let price = |error: f64, parameters: f64| adjusted(error / n, n, parameters);
        // as long as the adjusted error does not grow
        while let Some(weakest) =
            self.weakest(price, price(self.nodes[0].error, self.nodes[0].parameters))
        {
            self.cut(weakest);
        }
        // a little further: up to half a percent more
        let limit = 1.005 * price(self.nodes[0].error, self.nodes[0].parameters);
        while let Some(weakest) = self.weakest(price, limit) {
            self.cut(weakest);
        }
        let leaves = self.leaves();
        let mut left = leaves;
        while left > self.shared.most_rules
            && let Some(weakest) = self.weakest(price, f64::INFINITY)
        {
            self.cut(weakest);
            left = self.leaves();
        }
        leaves
    }

    /// The split whose removal adds least error, among those that keep the tree's adjusted error within
    /// `limit`.
    fn weakest(&self, price: impl Fn(f64, f64) -> f64, limit: f64) -> Option<usize> {
        let (error, parameters) = (self.nodes[0].error, self.nodes[0].parameters);
        let extra = |node: usize| self.nodes[node].own_error - self.nodes[node].error;
        self.alive()
            .into_iter()
            .filter(|&node| self.nodes[node].split.is_some())
            .filter(|&node| {
                let fewer = self.nodes[node].coefficients - self.nodes[node].parameters;
                price(error + extra(node), parameters + fewer) <= limit
            })
            .min_by(|&a, &b| extra(a).total_cmp(&extra(b)))
    }

    /// Makes a node a leaf.
    fn cut(&mut self, node: usize) {
        let extra = self.nodes[node].own_error - self.nodes[node].error;
        let fewer = self.nodes[node].coefficients - self.nodes[node].parameters;
        self.nodes[node].split = None;
        let mut above = Some(node);
        while let Some(node) = above {
            self.nodes[node].error += extra;
            self.nodes[node].parameters += fewer;
            above = self.nodes[node].parent;
        }
    }
}

/// Sums over the rows of one side of a cut: x the tested feature, r the residual.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    x: f64,
    xx: f64,
    r: f64,
    rr: f64,
    xr: f64,
}

impl Sums {
    fn add(&mut self, x: f64, r: f64) {
        self.n += 1.0;
        self.x += x;
        self.xx += x * x;
        self.r += r;
        self.rr += r * r;
        self.xr += x * r;
    }

    fn without(&self, other: &Self) -> Self {
        Self {
            n: self.n - other.n,
            x: self.x - other.x,
            xx: self.xx - other.xx,
            r: self.r - other.r,
            rr: self.rr - other.rr,
            xr: self.xr - other.xr,
        }
    }

    fn deviation_alone(&self, slack: f64) -> f64 {
        let squares = (self.rr - self.r * self.r / self.n).max(0.0);
        ((squares + slack) / (self.n - 1.0)).sqrt()
    }

    /// Deviation of the residuals of a line in x, if the squared correlation is at least `least` and there
    /// are at least 6 rows.
    fn deviation_beside_line(&self, slack: f64, least: f64) -> f64 {
        let squares = (self.rr - self.r * self.r / self.n).max(0.0);
        let spread = (self.xx - self.x * self.x / self.n).max(0.0);
        let together = self.xr - self.x * self.r / self.n;
        let mut explained = 0.0;
        if self.n >= 6.0 && spread > 0.0 && squares > 0.0 {
            let correlation = (together * together / (spread * squares)).min(1.0);
            if correlation >= least {
                explained = correlation;
            }
        }
        (((1.0 - explained) * squares + slack) / (self.n - 1.0)).sqrt()
    }
}

/// The adjusted error: error × (n + v)/(n − v), with v at most n − 1.
pub(super) fn adjusted(error: f64, n: f64, parameters: f64) -> f64 {
    let v = parameters.min(n - 1.0);
    error * (n + v) / (n - v)
}
