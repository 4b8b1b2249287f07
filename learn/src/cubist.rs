//! Cubist: rules with linear models, committees, neighbours.
//!
//! Quinlan's successor of M5 is known by its behaviour (and described by Kuhn & Johnson 2013, chapter
//! 8); the parts are here in their order of use. A model tree ([`tree`]) is grown, its linear models
//! shrunk towards those of the nodes above, and pruned; its paths become rules ([`rules`]), which lose
//! conditions and may then overlap: a case takes the mean of the rules that it meets. A committee adds
//! trees for targets that correct the one before: y' = 2y − ŷ. At last the prediction moves by what the
//! nearest training rows missed ([`neighbours`]).
//!
//! Parameters of the paper: `nsplits` caps the rules of a committee member (R: `rules`), `ntrees` is
//! the number of members (`committees`), `ninstances` the neighbours (`neighbors`). Otherwise than
//! there: the mean distance that decides how near a neighbour must be comes from all pairs of rows or a
//! fixed sample, not from a random one; sums are in double precision.

mod neighbours;
mod rules;
mod tree;

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::matrix::{Matrix, mean};
use crate::segments::Segments;
use neighbours::Neighbours;
pub use rules::{Condition, Rule};

/// What can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Settings {
    /// Rules of a member at most.
    pub(crate) nsplits: usize,
    /// Members.
    pub(crate) ntrees: usize,
    /// Neighbours, 0 to 9.
    pub(crate) ninstances: usize,
}

/// The range of y that predictions stay in: the training range and as much again on each side, but
/// not across 0.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// Around values from `low` to `high`.
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
    /// Rules of each member.
    pub members: Vec<Vec<Rule>>,
    /// What a case gets that meets no rule.
    pub mean: f64,
    range: Range,
    /// How many neighbours correct a prediction.
    pub ninstances: usize,
    neighbours: Option<Neighbours>,
}

impl Cubist {
    pub(crate) fn fit(x: &Matrix, y: &[f64], settings: &Settings) -> Self {
        let segments = Segments::new(x);
        let range = Range::of(y.iter().copied());
        let all = mean(y);
        let shared = tree::Shared::new(x, y, range, settings.nsplits.max(1));
        let mut members: Vec<Vec<Rule>> = Vec::new();
        let mut target = y.to_vec();
        for member in 0..settings.ntrees.max(1) {
            let tree = tree::Tree::grow(&shared, segments.clone(), &target);
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
        model
    }

    /// Keeps the training rows, so that neighbours can correct.
    fn add_neighbours(&mut self, x: &Matrix, y: &[f64]) {
        let fitted: Vec<f64> =
            (0..x.rows()).map(|row| self.by_rules(|column| x.get(row, column))).collect();
        self.neighbours = Some(Neighbours::new(x, y, &fitted));
    }

    /// The same model with fewer members and other neighbours: what a fit with these settings gives.
    pub(crate) fn reduced(&self, x: &Matrix, y: &[f64], ntrees: usize, ninstances: usize) -> Self {
        let members = self.members[..ntrees.clamp(1, self.members.len())].to_vec();
        let mut model = Self { members, ninstances, neighbours: None, ..self.clone() };
        if ninstances > 0 {
            model.add_neighbours(x, y);
        }
        model
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

    /// Whether columns are there.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let rules = || self.members.iter().flatten();
        let neighbours = self.neighbours.as_ref();
        !self.members.is_empty()
            && rules().all(|rule| rule.model.fits(columns))
            && rules().flat_map(|rule| &rule.conditions).all(|c| c.column < columns)
            && neighbours.is_none_or(|neighbours| neighbours.fits(columns))
            && (self.ninstances == 0 || neighbours.is_some())
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
