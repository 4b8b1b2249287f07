//! Candidate models. They learn from some rows, one of them is chosen by these rows alone, and it predicts the other
//! rows.

use std::num::NonZeroUsize;

use crate::LearnError;
use crate::dataset::Dataset;
use crate::intervals::{Interval, IntervalCoverage};
use crate::metrics::Scores;
use crate::model::{Trained, Training};
use crate::spec::Spec;
use crate::validate::{Parts, left_out};

/// A trained model, its errors in validation, and its errors on other rows.
#[derive(Debug)]
pub struct Candidate {
    /// The model, fitted to all training rows.
    pub trained: Trained,
    /// Errors on held-out training rows.
    pub validation: Scores,
    /// Predictions of other rows, set by set.
    pub tests: Vec<Tested>,
}

/// The metric by which a candidate is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Criterion {
    /// Mean absolute percentage error.
    Mape,
    /// Root mean squared error.
    Rmse,
}

impl Criterion {
    /// The metric's key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mape => "mape_percent",
            Self::Rmse => "rmse",
        }
    }

    /// The metric's name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mape => "MAPE",
            Self::Rmse => "RMSE",
        }
    }
}

/// A model's predictions of rows that were kept from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Tested {
    /// The predictions, in the target's unit.
    pub predicted: Vec<f64>,
    /// Intervals around them; `None`: the model has none.
    pub intervals: Option<Vec<Interval>>,
    /// Errors.
    pub scores: Scores,
    /// Coverage of the intervals.
    pub coverage: Option<IntervalCoverage>,
}

impl Candidate {
    /// Fits `spec` to the rows of `data`, validates it on its `parts`, and predicts each of `tests`. Features are found
    /// by name, and a test may lack names of a factor. Intervals are made for the tests alone.
    ///
    /// # Errors
    ///
    /// If the model cannot be fitted, or a test lacks a feature or has a name that the model does not know.
    pub fn of<'t>(
        spec: &Spec,
        data: &Dataset,
        parts: &Parts,
        training: &Training,
        tests: impl IntoIterator<Item = &'t Dataset>,
        jobs: NonZeroUsize,
    ) -> Result<Self, LearnError> {
        let plain = training.transform.into();
        let (left, _) = left_out(spec, data, parts, &plain, jobs)?;
        let truth: Vec<f64> = left.iter().map(|left| data.y[left.row]).collect();
        let predicted: Vec<f64> = left.iter().map(|left| left.predicted).collect();
        let validation = Scores::of(&truth, &predicted)?;
        let trained = Trained::fit(spec, data, training)?;
        let of_test = |test: &Dataset| {
            let x = trained.schema.recode(&test.schema, &test.x)?;
            let predicted = trained.predict(&x);
            let scores = Scores::of(&test.y, &predicted)?;
            let intervals = trained.predict_intervals(&x, None);
            let coverage =
                intervals.as_ref().map(|all| IntervalCoverage::of(&test.y, &predicted, all));
            Ok(Tested { predicted, intervals, scores, coverage })
        };
        let tests = tests.into_iter().map(of_test).collect::<Result<_, LearnError>>()?;
        Ok(Self { trained, validation, tests })
    }

    /// The metric by which candidates are chosen: the mean relative error, or the root mean squared error where a true
    /// value is 0.
    pub fn criterion(candidates: &[Self]) -> Criterion {
        let all = candidates.iter().all(|of| of.validation.mape_percent.is_some());
        if all { Criterion::Mape } else { Criterion::Rmse }
    }

    /// The index of the candidate with the smallest error in validation, by [`Candidate::criterion`]. Of equal ones the
    /// first; 0 if there are none.
    pub fn best(candidates: &[Self]) -> usize {
        let criterion = Self::criterion(candidates);
        let cost = |place: usize| {
            let Scores { mape_percent, rmse, .. } = candidates[place].validation;
            match criterion {
                Criterion::Mape => mape_percent.unwrap_or(f64::INFINITY),
                Criterion::Rmse => rmse,
            }
        };
        let order = |a: &usize, b: &usize| cost(*a).total_cmp(&cost(*b));
        (0..candidates.len()).min_by(order).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::folds::Folds;
    use crate::table::Table;
    use crate::transform::Transform;

    /// y = 3·x + 1 for x = `first`, …, `first` + 19.
    fn line(first: u32) -> Dataset {
        let mut text = String::from("x,y\n");
        (first..first + 20).for_each(|x| writeln!(text, "{x},{}", 3 * x + 1).unwrap());
        Dataset::new(&Table::read(text.as_bytes(), "t", &[]).unwrap(), "y", &[]).unwrap()
    }

    #[test]
    fn the_best_in_validation_is_chosen_and_others_are_tested_too() {
        let (data, other) = (line(1), line(100));
        let parts = Parts::from(&Folds::blocked(20, 4).unwrap());
        let training = Transform::None.into();
        let candidates: Vec<Candidate> = ["cart", "lrm"]
            .iter()
            .map(|spec| {
                let spec = spec.parse().unwrap();
                let tests = [&other, &data];
                Candidate::of(&spec, &data, &parts, &training, tests, NonZeroUsize::MIN).unwrap()
            })
            .collect();
        assert_eq!(Candidate::best(&candidates), 1);
        // a line goes on, a tree does not
        let rmse = |of: &Candidate| of.tests[0].scores.rmse;
        assert!(rmse(&candidates[1]) < 1e-6 && rmse(&candidates[0]) > 200.0);
        assert_eq!((candidates[0].tests.len(), candidates[0].tests[0].predicted.len()), (2, 20));
        assert!(candidates.iter().all(|of| of.tests[0].intervals.is_none()));
    }
}
