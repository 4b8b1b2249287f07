//! The paper's learners and ours, and their accuracy.

use foretell_learn::metrics::Scores;
use foretell_learn::{Folds, LearnError, Matrix, Model, Rows as Known, Spec};
use foretell_units::Seed;

use super::runs::Rows;
use crate::error::Error;

/// A learner.
pub(super) struct Learner {
    /// Its name in figures.
    pub(super) name: &'static str,
    /// Its spec as a model.
    spec: &'static str,
    /// The features that it sees; empty: all.
    features: &'static [&'static str],
}

/// The paper's Inside-Out, ridge before lasso.
pub(super) const INSIDE_OUT: &str = "Inside-Out";
/// Our learner, which should beat it.
pub(super) const OURS: &str = "Adaptive Lasso";

/// The learners of Figures 4 to 7 and 9.
pub(super) const ALL: [Learner; 9] = [
    plain("Lasso", "lasso"),
    plain("Ridge", "ridge"),
    plain("Elastic Net", "elasticnet"),
    plain("Decision Tree", "tree:minleaf=5"),
    plain("Random Forest", "forest:ntrees=100"),
    plain("Auto-DTL", "auto-dtl"),
    plain("Auto-RFL", "auto-rfl"),
    plain(INSIDE_OUT, "inside-out"),
    plain(OURS, "adaptive-lasso"),
];

/// The additional learners of Figure 3: regression on ten components, and a choice of features by hand.
/// The paper names three of its features ("e.g."); the others are ours, of the same kind.
pub(super) const OTHERS: [Learner; 2] = [
    plain("PCA", "pca:components=10"),
    Learner {
        name: "Trial and error",
        spec: "lasso",
        features: &[
            "osd.disk.read.mean",
            "osd.network.recv.sum",
            "osd.cpu.usr.std",
            "osd.disk.writ.sum",
            "osd.network.send.sum",
            "osd.io.read.sum",
            "osd.cpu.sys.sum",
            "osd.cpu.wai.mean",
        ],
    },
];

/// The paper's single learners. They come first in [`ALL`].
pub(super) fn singles() -> &'static [Learner] {
    let all: &'static [Learner] = &ALL;
    &all[..5]
}

const fn plain(name: &'static str, spec: &'static str) -> Learner {
    Learner { name, spec, features: &[] }
}

/// Folds of the cross-validation of Table I.
const FOLDS: usize = 10;

impl Learner {
    fn spec(&self) -> Spec {
        self.spec.parse().expect("the models are there")
    }

    /// The columns that it sees.
    fn view(&self, rows: &Rows) -> Result<Matrix, Error> {
        let all = rows.matrix()?;
        if self.features.is_empty() {
            return Ok(all);
        }
        let place = |name: &&str| rows.found.names.iter().position(|known| known == name);
        let kept: Vec<usize> = self.features.iter().filter_map(place).collect();
        assert_eq!(kept.len(), self.features.len(), "all of them are metrics");
        Ok(all.take_columns(&kept))
    }

    /// The model of a target, given by its index.
    pub(super) fn fit(&self, rows: &Rows, target: usize) -> Result<Model, Error> {
        let known = Known { owners: None, groups: Some(&rows.groups) };
        Ok(self.spec().fit_rows(&self.view(rows)?, &rows.found.targets[target], &known)?)
    }

    /// The model's predictions for other rows; none is below 0.
    pub(super) fn predict(&self, model: &Model, rows: &Rows) -> Result<Vec<f64>, Error> {
        let predicted = model.predict(&self.view(rows)?);
        Ok(predicted.into_iter().map(|value| value.max(0.0)).collect())
    }

    /// Accuracy in cross-validation; all rows of a run are in one fold.
    pub(super) fn cross_validated(&self, rows: &Rows, target: usize) -> Result<f64, Error> {
        let folds = Folds::random_by_group(&rows.groups, FOLDS, Seed(1))?;
        let mut predicted = vec![0.0; rows.found.times.len()];
        for fold in 0..folds.count() {
            let (train, test) = folds.split(fold);
            let model = self.fit(&rows.take(&train), target)?;
            for (row, value) in test.iter().zip(self.predict(&model, &rows.take(&test))?) {
                predicted[*row] = value;
            }
        }
        accuracy(&rows.found.targets[target], &predicted)
            .ok_or(Error::Learn(LearnError::TooFewRows { found: 0, wanted: 1 }))
    }
}

/// Equation 1 of the paper in percent: 100 minus the mean relative error, over the rows with a true
/// value above 0. `None` if there are no such rows.
pub(super) fn accuracy(truth: &[f64], predicted: &[f64]) -> Option<f64> {
    let (truth, predicted): (Vec<f64>, Vec<f64>) =
        truth.iter().zip(predicted).filter(|(truth, _)| **truth > 0.0).unzip();
    Scores::of(&truth, &predicted).ok()?.accuracy_percent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_is_what_the_mean_relative_error_leaves() {
        // errors of 10 % and 30 %; rows without reads have nothing to predict
        assert_eq!(accuracy(&[10.0, 0.0, 10.0], &[11.0, 5.0, 7.0]), Some(80.0));
        assert_eq!(accuracy(&[1.0], &[9.0]), Some(0.0));
        assert_eq!(accuracy(&[0.0], &[9.0]), None);
    }
}
