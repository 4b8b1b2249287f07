//! The errors of models on rows that they never saw.

use std::num::NonZeroUsize;

use foretell_units::Seed;

use crate::LearnError;
use crate::dataset::Dataset;
use crate::folds::Folds;
use crate::intervals::{Interval, IntervalCoverage};
use crate::metrics::{Ecdf, Scores, TTest, paired_t_test, relative_errors};
use crate::model::Training;
use crate::search::{SearchRange, SearchSettings};
use crate::spec::Spec;
use crate::transform::{Transform, View};
use crate::tune::{InnerFolds, Tuned, tuned_out_of_fold};
use crate::validate::{LeftOut, Part, Parts, left_out};

/// Number of folds in which a search validates, inside the training rows of a fold.
const INNER_FOLDS: usize = 10;

/// A model's predictions of held-out rows.
#[derive(Clone, PartialEq, Debug)]
pub struct HeldOut {
    /// The predictions, part after part.
    pub rows: Vec<LeftOut>,
    /// By part: the transform of inputs and target that its model used; empty after a search.
    pub views: Vec<View>,
    /// By fold: the search for the parameters; empty without one.
    pub searches: Vec<Tuned>,
}

impl HeldOut {
    /// Predictions by models with the parameters of `spec`, as in [`left_out`].
    ///
    /// # Errors
    ///
    /// As [`left_out`].
    pub fn of(
        spec: &Spec,
        data: &Dataset,
        parts: &Parts,
        training: &Training,
        jobs: NonZeroUsize,
    ) -> Result<Self, LearnError> {
        let (rows, views) = left_out(spec, data, parts, training, jobs)?;
        Ok(Self { rows, views, searches: Vec::new() })
    }

    /// Predictions by models whose parameters are searched in the other folds, in ten folds of these rows. `ranges`
    /// returns the ranges to search for a number of rows to learn from.
    ///
    /// # Errors
    ///
    /// As [`tuned_out_of_fold`].
    pub fn searched(
        spec: &Spec,
        data: &Dataset,
        folds: &Folds,
        transform: Transform,
        ranges: impl Fn(usize) -> Vec<SearchRange>,
        settings: &SearchSettings,
        seed: Seed,
    ) -> Result<Self, LearnError> {
        let ranges = |rows: usize| ranges(rows - rows / INNER_FOLDS);
        let inner = InnerFolds { count: INNER_FOLDS, seed };
        let tuned = tuned_out_of_fold(spec, data, folds, transform, ranges, settings, inner)?;
        let of_part = |(part, of): (usize, &Part)| -> Vec<LeftOut> {
            let of_row = |&row: &usize| {
                let predicted = tuned.predicted[row];
                LeftOut { row, part, predicted, interval: None }
            };
            of.test.iter().map(of_row).collect()
        };
        let rows = Parts::from(folds).0.iter().enumerate().flat_map(of_part).collect();
        Ok(Self { rows, views: Vec::new(), searches: tuned.searches })
    }
}

/// The rows that models are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    data: &'a Dataset,
    parts: &'a Parts,
    least: f64,
    by_part: bool,
}

impl<'a> Judge<'a> {
    /// Judges by the rows of `parts` whose target is above `least` (in the target's unit; `None`: by all);
    /// `by_part`: also by each part alone.
    ///
    /// # Errors
    ///
    /// If fewer than two rows have such a target.
    pub fn new(
        data: &'a Dataset,
        parts: &'a Parts,
        least: Option<f64>,
        by_part: bool,
    ) -> Result<Self, LearnError> {
        let least = least.unwrap_or(f64::NEG_INFINITY);
        let count = data.y.iter().filter(|y| **y > least).count();
        if count < 2 {
            return Err(LearnError::FewAbove { count, target: data.target.clone(), least });
        }
        Ok(Self { data, parts, least, by_part })
    }

    fn scored<'r>(&self, rows: &'r [LeftOut]) -> Vec<&'r LeftOut> {
        rows.iter().filter(|left| self.data.y[left.row] > self.least).collect()
    }

    fn truth(&self, rows: &[&LeftOut]) -> Vec<f64> {
        rows.iter().map(|left| self.data.y[left.row]).collect()
    }

    /// Absolute errors of the rows that count.
    fn absolute(&self, rows: &[LeftOut]) -> Vec<f64> {
        let scored = self.scored(rows).into_iter();
        scored.map(|left| (left.predicted - self.data.y[left.row]).abs()).collect()
    }
}

/// The errors of a model.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The model, with the parameters from before a search.
    pub spec: Spec,
    /// Its predictions.
    pub held_out: HeldOut,
    /// Its errors on all rows that count.
    pub scores: Scores,
    /// Distribution of its absolute relative errors; `None` where a true value is 0.
    pub relative: Option<Ecdf>,
    /// Coverage of its intervals; `None`: it has none.
    pub coverage: Option<IntervalCoverage>,
    /// t-test of its absolute errors against those of the first model; `None` for the first.
    pub against_first: Option<TTest>,
    /// The name of each part, and the errors on it, if these were asked for.
    pub by_part: Vec<(String, Scores)>,
}

impl Evaluation {
    /// Errors of predictions; `first`: those of the model that it is compared with. Their rows must be the same, in
    /// the same order.
    ///
    /// # Errors
    ///
    /// If no row that counts was predicted.
    pub fn of(
        spec: &Spec,
        held_out: HeldOut,
        judge: &Judge<'_>,
        first: Option<&Self>,
    ) -> Result<Self, LearnError> {
        let scored = judge.scored(&held_out.rows);
        let truth = judge.truth(&scored);
        let predicted = predictions(&scored);
        let against_first = first.and_then(|first| {
            let first = judge.absolute(&first.held_out.rows);
            paired_t_test(&judge.absolute(&held_out.rows), &first).ok()
        });
        let intervals: Option<Vec<Interval>> = scored.iter().map(|left| left.interval).collect();
        let coverage =
            intervals.map(|intervals| IntervalCoverage::of(&truth, &predicted, &intervals));
        let mut by_part = Vec::new();
        for (number, part) in judge.parts.0.iter().enumerate().filter(|_| judge.by_part) {
            let of_part: Vec<&LeftOut> =
                scored.iter().copied().filter(|left| left.part == number).collect();
            if let Ok(scores) = Scores::of(&judge.truth(&of_part), &predictions(&of_part)) {
                by_part.push((part.name.clone(), scores));
            }
        }
        Ok(Self {
            spec: spec.clone(),
            scores: Scores::of(&truth, &predicted)?,
            relative: relative_errors(&truth, &predicted).map(Ecdf::new),
            coverage,
            against_first,
            by_part,
            held_out,
        })
    }

    /// The transform of inputs and target that most of the model's parts used, in words, and the number of these
    /// parts. `None`: most used none.
    pub fn usual_view(&self) -> Option<(String, usize)> {
        let texts: Vec<String> = self.held_out.views.iter().map(View::describe).collect();
        let count = |text: &String| texts.iter().filter(|other| *other == text).count();
        let most = texts.iter().rev().max_by_key(|text| count(text))?;
        (!most.is_empty()).then(|| (most.clone(), count(most)))
    }
}

fn predictions(rows: &[&LeftOut]) -> Vec<f64> {
    rows.iter().map(|left| left.predicted).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::table::Table;

    #[test]
    fn errors_are_of_the_rows_that_count() {
        let mut text = String::from("x,y\n");
        (0..8).for_each(|row| writeln!(text, "{row},{}", 10 * row).unwrap());
        let table = Table::read(text.as_bytes(), "t", &[]).unwrap();
        let data = Dataset::new(&table, "y", &[]).unwrap();
        let parts = Parts::from(&Folds::blocked(8, 2).unwrap());
        // each prediction is 1 off, but 5 in the second half
        let rows = (0..8).map(|row| {
            let off = if row < 4 { 1.0 } else { 5.0 };
            LeftOut { row, part: row / 4, predicted: data.y[row] + off, interval: None }
        });
        let held_out =
            HeldOut { rows: rows.collect(), views: vec![View::default(); 2], searches: Vec::new() };
        let spec: Spec = "lrm".parse().unwrap();
        let all = Judge::new(&data, &parts, None, true).unwrap();
        let found = Evaluation::of(&spec, held_out.clone(), &all, None).unwrap();
        // (4 · 1 + 4 · 25) / 8 = 13
        assert!((found.scores.rmse - 13.0_f64.sqrt()).abs() < 1e-12);
        let parts_found: Vec<(&str, f64)> =
            found.by_part.iter().map(|(name, scores)| (name.as_str(), scores.rmse)).collect();
        assert_eq!(parts_found, [("fold 1", 1.0), ("fold 2", 5.0)]);
        assert!(found.relative.is_none() && found.usual_view().is_none());
        let some = Judge::new(&data, &parts, Some(35.0), false).unwrap();
        let later = Evaluation::of(&spec, held_out, &some, Some(&found)).unwrap();
        assert_eq!((later.scores.rows, later.scores.rmse, later.by_part.len()), (4, 5.0, 0));
        let none = Judge::new(&data, &parts, Some(65.0), false).unwrap_err();
        assert_eq!(none.to_string(), "1 rows have a `y` above 65; two are needed at least");
    }
}
