//! Correction of a prediction by the nearest training rows.
//!
//! The distance is Manhattan's, in units of five standard deviations of each column, at most 1 a
//! column. It is rounded to sixteenths, so that nearly equal distances count as equal. Only rows
//! nearer than the mean distance of two rows count, and at least half of the neighbours asked for
//! must be that near. A neighbour votes for its own y, plus the difference between the model's
//! predictions for the given row and for the neighbour. Its weight is 1/(d + 0.5).

use std::sync::OnceLock;

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use super::Range;
use super::near::Tree;
use crate::matrix::{Matrix, mean, squares_around};

/// Distances are rounded to multiples of one over this.
const STEPS: f64 = 16.0;
/// Maximum number of rows kept; further rows at the same distance are left out.
const MAX_KEPT: usize = 20;
/// Maximum number of pairs of rows that the mean distance is taken over.
const PAIRS: u64 = 100_000;

/// Distances and rows, nearest first.
pub(super) type Nearest = Vec<(f64, usize)>;

/// Training rows, scaled.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Neighbours {
    /// One over five standard deviations, by column.
    scales: Vec<f64>,
    /// Scaled rows, one after the other.
    rows: Vec<f64>,
    y: Vec<f64>,
    /// The model's predictions for the training rows.
    fitted: Vec<f64>,
    /// Rows farther away than this do not count as neighbours.
    farthest: f64,
    #[serde(skip)]
    tree: Grown,
}

/// The tree over the rows, built at the first question. It follows from the rows and is not saved.
#[derive(Clone, Default, Debug)]
struct Grown(OnceLock<Box<Tree>>);

impl PartialEq for Grown {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Neighbours {
    pub(super) fn new(x: &Matrix, y: &[f64], fitted: &[f64]) -> Self {
        let (n, p) = (x.rows(), x.columns());
        let scale = |column: usize| {
            let values = x.column(column);
            let squares = squares_around(values, mean(values));
            let deviation = (squares / (n.max(2) - 1) as f64).sqrt();
            if deviation > 0.0 { 1.0 / (5.0 * deviation) } else { 0.0 }
        };
        let scales: Vec<f64> = (0..p).map(scale).collect();
        let mut rows = Vec::with_capacity(n * p);
        for row in 0..n {
            rows.extend((0..p).map(|column| x.get(row, column) * scales[column]));
        }
        let (y, fitted) = (y.to_vec(), fitted.to_vec());
        let (farthest, tree) = (f64::INFINITY, Grown::default());
        let mut neighbours = Self { scales, rows, y, fitted, farthest, tree };
        neighbours.farthest = (STEPS * neighbours.mean_distance()).round() / STEPS;
        neighbours
    }

    pub(super) fn fits(&self, columns: usize) -> bool {
        self.scales.len() == columns
            && self.rows.len() == columns * self.y.len()
            && self.fitted.len() == self.y.len()
    }

    fn row(&self, row: usize) -> &[f64] {
        let p = self.scales.len();
        &self.rows[row * p..(row + 1) * p]
    }

    /// Mean distance of two different rows: over all pairs if the rows are few, else over a sample.
    fn mean_distance(&self) -> f64 {
        let n = self.y.len() as u64;
        if n < 2 {
            return f64::INFINITY;
        }
        let between = |a: u64, b: u64| distance(self.row(a as usize), self.row(b as usize));
        let (mut sum, mut count) = (0.0, 0_u64);
        if n * (n - 1) / 2 <= PAIRS {
            for a in 0..n {
                for b in 0..a {
                    sum += between(a, b);
                    count += 1;
                }
            }
        } else {
            let mut stream = Seed(0).stream("learn/neighbours");
            while count < PAIRS {
                let (a, b) = (stream.below(n), stream.below(n));
                if a != b {
                    sum += between(a, b);
                    count += 1;
                }
            }
        }
        sum / count as f64
    }

    /// Corrects `predicted` for this row by `wanted` neighbours.
    pub(super) fn correct(&self, row: &[f64], predicted: f64, wanted: usize, range: Range) -> f64 {
        let nearest = self.nearest(row, wanted);
        self.vote(&nearest, predicted, wanted, range, |row| self.fitted[row])
    }

    /// The `wanted` rows nearest to this one, and all rows as near as the last of them.
    pub(super) fn nearest(&self, row: &[f64], wanted: usize) -> Nearest {
        let scaled: Vec<f64> = row.iter().zip(&self.scales).map(|(x, scale)| x * scale).collect();
        // nearest first; among equally near rows, the later row first
        let mut nearest: Nearest = Vec::with_capacity(MAX_KEPT + 1);
        let tree = self.tree.0.get_or_init(|| Box::new(Tree::new(&self.rows, self.scales.len())));
        // distances are rounded, so look a little farther
        let within = |worst: f64| worst + 0.55 / STEPS;
        tree.visit(&scaled, within(self.farthest), |index| {
            let worst = |nearest: &Nearest| match nearest.get(wanted - 1) {
                Some((distance, _)) => *distance,
                None => self.farthest,
            };
            let limit = worst(&nearest);
            if let Some(distance) = distance_within(&scaled, self.row(index), within(limit)) {
                let distance = (STEPS * distance).round() / STEPS;
                if distance <= limit {
                    let before = |(other, row): &(f64, usize)| {
                        *other < distance || (*other <= distance && *row > index)
                    };
                    let place = nearest.partition_point(before);
                    nearest.insert(place, (distance, index));
                    nearest.truncate(MAX_KEPT);
                }
            }
            within(worst(&nearest))
        });
        nearest
    }

    /// Corrects `predicted` by the votes of the nearest rows. `fitted`: the model's predictions for
    /// them.
    pub(super) fn vote(
        &self,
        nearest: &Nearest,
        predicted: f64,
        wanted: usize,
        range: Range,
        fitted: impl Fn(usize) -> f64,
    ) -> f64 {
        if nearest.len() < wanted.div_ceil(2) {
            return predicted;
        }
        let (mut sum, mut weights, mut count) = (0.0, 0.0, 0);
        let mut rest = nearest.as_slice();
        while let Some((first, _)) = rest.first()
            && count < wanted
        {
            let same = rest.partition_point(|(distance, _)| distance <= first);
            let (group, others) = rest.split_at(same);
            // rows as near as the last one wanted share its vote
            let share = ((wanted - count) as f64 / same as f64).min(1.0);
            let weight = share / (first + 0.5);
            for (_, index) in group {
                let vote = self.y[*index] + predicted - fitted(*index);
                sum += weight * range.clamp(vote);
                weights += weight;
            }
            count += same.min(wanted - count);
            rest = others;
        }
        range.clamp(sum / weights)
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs().min(1.0)).sum()
}

/// The distance, or `None` if it is beyond `limit`.
fn distance_within(a: &[f64], b: &[f64], limit: f64) -> Option<f64> {
    let mut sum = 0.0;
    for (a, b) in a.chunks(4).zip(b.chunks(4)) {
        sum += distance(a, b);
        if sum > limit {
            return None;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_near_rows_share_the_last_place() {
        // deviation of 0, 2, 4, 100 is 49.05…: distances of 0, 2 and 4 to 1 round to 0, the last to
        // 101/245 = 0.403, beyond the mean distance
        let x = Matrix::from_columns(&[vec![0.0, 2.0, 4.0, 100.0]]).unwrap();
        let neighbours = Neighbours::new(&x, &[10.0, 20.0, 30.0, 99.0], &[0.0; 4]);
        let range = Range { low: -1e9, high: 1e9 };
        // three rows share two places: their mean
        assert!((neighbours.correct(&[1.0], 0.0, 2, range) - 20.0).abs() < 1e-12);
    }

    #[test]
    fn oracle_neighbours_are_those_of_looking_at_all_rows() {
        let mut stream = Seed(3).stream("rows");
        // on a grid many rows are equally near; with random columns few are
        for (columns, steps) in [(1, 3), (2, 40), (5, 4), (9, 1000)] {
            let mut values = || (0..700).map(|_| stream.below(steps) as f64).collect::<Vec<_>>();
            let x: Vec<Vec<f64>> = (0..columns).map(|_| values()).collect();
            let x = Matrix::from_columns(&x).unwrap();
            let neighbours = Neighbours::new(&x, &[0.0; 700], &[0.0; 700]);
            for asked in 0..50 {
                let row: Vec<f64> = (0..columns).map(|column| x.get(asked, column) + 0.3).collect();
                let scaled: Vec<f64> =
                    row.iter().zip(&neighbours.scales).map(|(x, scale)| x * scale).collect();
                let rounded =
                    |index| (STEPS * distance(&scaled, neighbours.row(index))).round() / STEPS;
                let mut all: Nearest = (0..700).map(|index| (rounded(index), index)).collect();
                all.retain(|(distance, _)| *distance <= neighbours.farthest);
                all.sort_by(|(a, i), (b, j)| a.total_cmp(b).then(j.cmp(i)));
                for wanted in [1, 4, 9] {
                    let last = all.get(wanted - 1).map_or(f64::INFINITY, |(distance, _)| *distance);
                    let near = |mut list: Nearest| {
                        list.retain(|(distance, _)| *distance <= last);
                        list.truncate(MAX_KEPT);
                        list
                    };
                    assert_eq!(near(neighbours.nearest(&row, wanted)), near(all.clone()));
                }
            }
        }
    }
}
