//! What one parent term times one feature could add to the model.
//!
//! A hinge h lowers the squared error by (y·h)² / h·h, with h made orthogonal to the terms in the
//! model. Friedman and earth compute this afresh for each knot in each step, at a cost that grows with
//! the number of terms. Here the numbers are kept. For each knot, y·h, h·h (and l·h, with l the
//! feature entering linearly) are those of the remainder after all orthonormal columns q so far. A new
//! column subtracts (q·y)(q·h), (q·h)² and (q·l)(q·h) from them. All q·h of a parent and feature come
//! from one pass over the rows, since hinges of neighbouring knots differ by a multiple of one sum. So
//! a step costs one pass per parent and feature, whatever the number of terms.

use crate::matrix::dot;

/// One feature's rows in the order of its values.
pub(crate) struct FeatureOrder {
    /// Rows, ascending by value, then by row.
    pub(crate) rows: Vec<u32>,
    /// By row: the index of its value among the different values.
    pub(crate) rank: Vec<u32>,
    /// The different values, ascending.
    pub(crate) values: Vec<f64>,
    /// The middle value. Features enter relative to it, to limit rounding errors.
    middle: f64,
}

impl FeatureOrder {
    pub(crate) fn new(x: &[f64]) -> Self {
        let mut rows: Vec<u32> = (0..x.len() as u32).collect();
        rows.sort_by(|&a, &b| x[a as usize].total_cmp(&x[b as usize]));
        let mut values: Vec<f64> = rows.iter().map(|&row| x[row as usize]).collect();
        values.dedup();
        let rank = x.iter().map(|x| values.partition_point(|value| value < x) as u32).collect();
        let middle = crate::matrix::mean(x);
        Self { rows, rank, values, middle }
    }
}

/// Where knots may lie.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    /// Rows before the first knot, from the upper end.
    pub(crate) start: usize,
    /// Rows between knots.
    pub(crate) between: usize,
    /// Rows without a knot at the lower end.
    pub(crate) end: usize,
}

/// The best reduction that a parent and a feature can offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Reduction of the squared error with the feature entering linearly.
    pub(crate) linear: f64,
    /// The best knot beyond that, by its index among the values, and the reduction with it.
    pub(crate) knot: Option<(usize, f64)>,
    /// Whether a pair of hinges would enter (rather than one).
    pub(crate) pair: bool,
}

struct Knot {
    /// Index among the feature's values.
    value: usize,
    /// h·h before any column is taken into account.
    length: f64,
    /// h·h of the remainder.
    left: f64,
    /// y·h.
    with_y: f64,
    /// l·h.
    with_linear: f64,
}

/// A parent term times a feature.
pub(crate) struct Candidates {
    knots: Vec<Knot>,
    linear_length: f64,
    linear_left: f64,
    linear_with_y: f64,
    /// Number of orthonormal columns taken into account.
    pub(crate) absorbed: usize,
}

/// A linear column that keeps less than this share of its squared length counts as dependent on the
/// model.
const LINEAR_TOLERANCE: f64 = 1e-8;

impl Candidates {
    /// `parent`: the parent's values by row; `y`: the target, with mean 0.
    pub(crate) fn new(order: &FeatureOrder, parent: &[f64], y: &[f64], spans: Spans) -> Self {
        let count = order.values.len();
        let n = parent.len() as f64;
        // by value: Σ parent, Σ parent², Σ parent·y
        let (mut sum, mut squares, mut y_sum) =
            (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        for ((rank, parent), y) in order.rank.iter().zip(parent).zip(y) {
            let rank = *rank as usize;
            sum[rank] += parent;
            squares[rank] += parent * parent;
            y_sum[rank] += parent * y;
        }
        let from_middle: Vec<f64> = order.values.iter().map(|v| v - order.middle).collect();
        let linear_sum = dot(&sum, &from_middle);
        let linear_squares: f64 =
            squares.iter().zip(&from_middle).map(|(square, v)| square * v * v).sum();
        let linear_length = linear_squares - linear_sum * linear_sum / n;
        let mut knots = Vec::new();
        let mut eligible = eligible(order, parent, spans).into_iter().peekable();
        // running sums over values above the knot: of weights, and of weights × distance to the knot
        let mut weight = [0.0; 4];
        let mut moment = [0.0; 4];
        let mut second = 0.0;
        for value in (0..count.saturating_sub(1)).rev() {
            let above = value + 1;
            let step = order.values[above] - order.values[value];
            let added =
                [sum[above], squares[above], y_sum[above], squares[above] * from_middle[above]];
            weight.iter_mut().zip(added).for_each(|(weight, added)| *weight += added);
            second += step * (2.0 * moment[1] + step * weight[1]);
            moment.iter_mut().zip(weight).for_each(|(moment, weight)| *moment += step * weight);
            if eligible.peek() == Some(&value) {
                eligible.next();
                let length = second - moment[0] * moment[0] / n;
                knots.push(Knot {
                    value,
                    length,
                    left: length,
                    with_y: moment[2],
                    with_linear: moment[3] - linear_sum * moment[0] / n,
                });
            }
        }
        let linear_with_y = dot(&y_sum, &from_middle);
        Self { knots, linear_length, linear_left: linear_length, linear_with_y, absorbed: 0 }
    }

    /// Takes orthonormal columns into account. `products` holds q × parent by row, for each q;
    /// `with_y` holds the q·y.
    pub(crate) fn absorb(
        &mut self,
        order: &FeatureOrder,
        products: &[Vec<f64>],
        with_y: &[f64],
        sums: &mut Vec<f64>,
    ) {
        let count = order.values.len();
        for (product, with_y) in products.iter().zip(with_y) {
            sums.clear();
            sums.resize(count, 0.0);
            for (rank, product) in order.rank.iter().zip(product) {
                sums[*rank as usize] += product;
            }
            let mut with_linear = 0.0;
            for (sum, value) in sums.iter().zip(&order.values) {
                with_linear += sum * (value - order.middle);
            }
            let (mut weight, mut moment) = (0.0, 0.0);
            let mut above = count - 1;
            for knot in &mut self.knots {
                while above > knot.value {
                    weight += sums[above];
                    moment += weight * (order.values[above] - order.values[above - 1]);
                    above -= 1;
                }
                knot.left -= moment * moment;
                knot.with_y -= with_y * moment;
                knot.with_linear -= with_linear * moment;
            }
            self.linear_left -= with_linear * with_linear;
            self.linear_with_y -= with_y * with_linear;
        }
        self.absorbed += products.len();
    }

    /// The best offer, with `slots` slots in the model. If the feature entering linearly adds to the
    /// model, hinges come in pairs. `legal`: no true reduction is larger.
    pub(crate) fn offer(&self, slots: usize, legal: f64) -> Offer {
        let pair =
            self.linear_left > LINEAR_TOLERANCE * self.linear_length && self.linear_length > 0.0;
        // share of its squared length that a hinge must keep: small models take no hinge that almost
        // depends on their terms
        let tolerance = if slots + usize::from(pair) < 15 { 0.01 } else { 1e-5 };
        let linear = if pair { self.linear_with_y.powi(2) / self.linear_left } else { 0.0 };
        let mut best = linear;
        let mut found = None;
        for knot in &self.knots {
            let (mut with_y, mut left) = (knot.with_y, knot.left);
            if pair {
                let share = knot.with_linear / self.linear_left;
                with_y -= share * self.linear_with_y;
                left -= share * knot.with_linear;
            }
            if left > tolerance * knot.length {
                let reduction = linear + with_y * with_y / left;
                if reduction > best && reduction < legal {
                    best = reduction;
                    found = Some((knot.value, reduction));
                }
            }
        }
        Offer { linear, knot: found, pair }
    }
}

/// The values at which a knot may lie, descending: every `spans.between` rows on which the parent is
/// positive, counted from the upper end.
fn eligible(order: &FeatureOrder, parent: &[f64], spans: Spans) -> Vec<usize> {
    let mut wait = spans.start;
    let mut values = Vec::new();
    let mut highest: Option<u32> = None;
    let rank = |place: usize| order.rank[order.rows[place] as usize];
    for place in (spans.end..order.rows.len().saturating_sub(1)).rev() {
        let above = order.rows[place + 1] as usize;
        let positive = parent[above] > 0.0;
        if parent[above] != 0.0 && highest.is_none() {
            highest = Some(order.rank[above]);
        }
        // a hinge at the highest value would be 0 everywhere
        if positive && highest.is_some_and(|highest| rank(place) < highest) {
            wait -= 1;
            if wait == 0 {
                wait = spans.between;
                let value = rank(place) as usize;
                if values.last() != Some(&value) {
                    values.push(value);
                }
            }
        }
    }
    values
}
