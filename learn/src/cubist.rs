//! Cubist: rules with linear models, committees, neighbours.
//!
//! Quinlan's successor of M5 is known by its behaviour (and described by Kuhn & Johnson 2013, chapter
//! 8). The parts are listed here in their order of use. A model tree ([`tree`]) is grown, its linear
//! models are shrunk towards those of the nodes above, and it is pruned. Its paths become rules
//! ([`rules`]). The rules lose conditions and may then overlap; a case gets the mean of all rules that
//! it meets. A committee adds trees whose targets correct the previous tree: y' = 2y − ŷ. Finally, the
//! prediction is corrected by the residuals of the nearest training rows ([`neighbours`]).
//!
//! Parameters of the paper: `nsplits` caps the rules of a committee member (R: `rules`), `ntrees` is
//! the number of members (`committees`), `ninstances` the neighbours (`neighbors`). Two things differ
//! from the original. The mean distance that limits how far a neighbour may be comes from all pairs of
//! rows or a fixed sample, not from a random one. Sums are in double precision.

mod near;
mod neighbours;
mod rules;
mod tree;

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::matrix::{Matrix, mean};
use crate::segments::Segments;
use neighbours::Neighbours;
pub use rules::{Condition, Rule};

/// Settings of the fit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct CubistSettings {
    /// Maximum number of rules of a member.
    pub(crate) nsplits: usize,
    /// Number of members of the committee.
    pub(crate) ntrees: usize,
    /// Number of neighbours, 0 to 9.
    pub(crate) ninstances: usize,
}

/// The range of y that predictions stay in: the training range, extended by its width on each side, but
/// not across 0.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// The range for training values from `low` to `high`.
    fn around(low: f64, high: f64) -> Self {
        let width = high - low;
        let floor = if low >= 0.0 { (low - width).max(0.0) } else { low - width };
        let ceiling = if high <= 0.0 { (high + width).min(0.0) } else { high + width };
        Self { low: floor, high: ceiling }
    }

    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), value| (l.min(value), h.max(value)));
        Self::around(low, high)
    }

    fn clamp(self, value: f64) -> f64 {
        value.max(self.low).min(self.high)
    }
}

/// A committee of rule sets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cubist {
    /// Rules of each member of the committee.
    pub members: Vec<Vec<Rule>>,
    /// The prediction for a case that meets no rule.
    pub mean: f64,
    range: Range,
    /// How many neighbours correct a prediction.
    pub ninstances: usize,
    neighbours: Option<Neighbours>,
}

impl Cubist {
    pub(crate) fn fit(x: &Matrix, y: &[f64], settings: &CubistSettings) -> Self {
        Self::fit_and_count(x, y, settings).0
    }

    /// The model, and the number of leaves of its largest tree before `nsplits` limited them.
    fn fit_and_count(x: &Matrix, y: &[f64], settings: &CubistSettings) -> (Self, usize) {
        let segments = Segments::new(x);
        let range = Range::of(y.iter().copied());
        let all = mean(y);
        let shared = tree::Shared::new(x, y, range, settings.nsplits.max(1));
        let mut members: Vec<Vec<Rule>> = Vec::new();
        let mut target = y.to_vec();
        let mut leaves = 0;
        for member in 0..settings.ntrees.max(1) {
            let tree = tree::Tree::grow(&shared, segments.clone(), &target);
            leaves = leaves.max(tree.leaves);
            let rules = rules::of_tree(&tree, x, y, range);
            if member + 1 < settings.ntrees {
                for (row, target) in target.iter_mut().enumerate() {
                    let predicted = rules::predict(&rules, all, |column| x.get(row, column));
                    *target = 2.0 * y[row] - predicted;
                }
            }
            members.push(rules);
        }
        let mut model =
            Self { members, mean: all, range, ninstances: settings.ninstances, neighbours: None };
        if settings.ninstances > 0 {
            model.add_neighbours(x, y);
        }
        (model, leaves)
    }

    /// Keeps the training rows, so that neighbours can correct predictions.
    fn add_neighbours(&mut self, x: &Matrix, y: &[f64]) {
        let fitted: Vec<f64> =
            (0..x.rows()).map(|row| self.by_rules(|column| x.get(row, column))).collect();
        self.neighbours = Some(Neighbours::new(x, y, &fitted));
    }

    fn by_rules(&self, row: impl Fn(usize) -> f64) -> f64 {
        let sum: f64 =
            self.members.iter().map(|rules| rules::predict(rules, self.mean, &row)).sum();
        sum / self.members.len() as f64
    }

    pub(crate) fn predict_row(&self, row: &[f64]) -> f64 {
        let by_rules = self.by_rules(|column| row[column]);
        match &self.neighbours {
            None => by_rules,
            Some(neighbours) => neighbours.correct(row, by_rules, self.ninstances, self.range),
        }
    }

    /// Whether all columns exist.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let rules = || self.members.iter().flatten();
        let neighbours = self.neighbours.as_ref();
        !self.members.is_empty()
            && rules().all(|rule| rule.model.fits(columns))
            && rules().flat_map(|rule| &rule.conditions).all(|c| c.column < columns)
            && neighbours.is_none_or(|neighbours| neighbours.fits(columns))
            && (self.ninstances == 0) == neighbours.is_none()
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let mut text = format!("{} members", self.members.len());
        let _ = match self.ninstances {
            0 => writeln!(text, ", no neighbours"),
            count => writeln!(text, ", corrected by {count} neighbours"),
        };
        for (member, rules) in self.members.iter().enumerate() {
            for (number, rule) in rules.iter().enumerate() {
                let _ = write!(text, "\nrule {}/{}: ", member + 1, number + 1);
                text.push_str(&rule.describe(names));
            }
        }
        text
    }
}

/// For the search: a committee with its members' predictions. Smaller committees and other numbers of
/// neighbours then cost almost nothing.
pub(crate) struct Committee {
    nsplits: usize,
    /// Leaves of the committee's largest tree before `nsplits` limited them.
    leaves: usize,
    range: Range,
    /// By number of members (1, 2, …): the sum of their predictions, by row.
    fitted: Vec<Vec<f64>>,
    predicted: Vec<Vec<f64>>,
    neighbours: Neighbours,
    /// Nearest training rows of each row to predict, by the number of neighbours wanted.
    nearest: [std::sync::OnceLock<Vec<neighbours::Nearest>>; 10],
}

impl Committee {
    pub(crate) fn new(x: &Matrix, y: &[f64], test_x: &Matrix, settings: &CubistSettings) -> Self {
        let (model, leaves) = Cubist::fit_and_count(x, y, settings);
        let sums = |x: &Matrix| -> Vec<Vec<f64>> {
            let mut sum = vec![0.0; x.rows()];
            let add = |rules: &Vec<Rule>| {
                for (row, sum) in sum.iter_mut().enumerate() {
                    *sum += rules::predict(rules, model.mean, |column| x.get(row, column));
                }
                sum.clone()
            };
            model.members.iter().map(add).collect()
        };
        Self {
            nsplits: settings.nsplits,
            leaves,
            range: model.range,
            fitted: sums(x),
            predicted: sums(test_x),
            neighbours: Neighbours::new(x, y, y),
            nearest: Default::default(),
        }
    }

    /// Whether a committee with this `nsplits` would be the same.
    pub(crate) fn serves(&self, nsplits: usize) -> bool {
        let cover = |nsplits| tree::least_cover(self.fitted[0].len(), nsplits);
        let unlimited = self.leaves <= self.nsplits.min(nsplits);
        nsplits == self.nsplits || (unlimited && cover(nsplits) == cover(self.nsplits))
    }

    /// The prediction of the first `ntrees` members, corrected by `ninstances` neighbours.
    pub(crate) fn predict(&self, test_x: &Matrix, ntrees: usize, ninstances: usize) -> Vec<f64> {
        let member = ntrees.clamp(1, self.fitted.len()) - 1;
        let share = (member + 1) as f64;
        let predicted: Vec<f64> = self.predicted[member].iter().map(|sum| sum / share).collect();
        if ninstances == 0 {
            return predicted;
        }
        let nearest = self.nearest[ninstances.min(9)].get_or_init(|| {
            let mut row_values = Vec::new();
            (0..test_x.rows())
                .map(|row| {
                    test_x.copy_row(row, &mut row_values);
                    self.neighbours.nearest(&row_values, ninstances)
                })
                .collect()
        });
        let fitted = |row: usize| self.fitted[member][row] / share;
        nearest
            .iter()
            .zip(predicted)
            .map(|(nearest, predicted)| {
                self.neighbours.vote(nearest, predicted, ninstances, self.range, fitted)
            })
            .collect()
    }
}
