//! Two levels: a first model selects the columns that matter, a second is fitted to these alone.
//!
//! Algorithm 1 of Hsu et al. 2016 (Inside-Out). A column stays if its weight in the first model reaches α
//! × the median weight. The α is taken from a grid: the one whose second model has the smallest error in
//! cross-validation. Weights are the absolute coefficients of standardised columns, or the reduction of
//! the sum of squares by a tree's splits on a column. Ridge → lasso is the paper's Inside-Out; its
//! Auto-DTL and Auto-RFL have a tree and a forest first. The paper prints neither the grid nor its score;
//! here they are [`ALPHAS`] and the squared error. Trees give most columns no weight, and so a median of
//! 0, with which every threshold would be 0. Then α is relative to the mean weight instead.
//!
//! Further second levels, not from the paper:
//! - `relative`, a lasso of relative errors;
//! - `adaptive`, the same without a threshold: instead, the penalty of each column is divided by its
//!   weight (Zou 2006, "The adaptive lasso and its oracle properties"). After a lasso (Bühlmann & Meier
//!   2008) it leaves the few columns that carry the prediction. A lasso alone keeps many others with
//!   coefficients whose effect is small in the training rows. In other rows, where such a column is far
//!   from all values seen, the effect is not small;
//! - `boost`, gradient boosting of the columns that are best for a lasso. The lasso chooses α here too, as
//!   boosting at each α would take long.

use crate::LearnError;
use crate::boost;
use crate::cart::{Tree, taken};
use crate::forest::{Forest, MIN_SPLIT};
use crate::matrix::{Matrix, median};
use crate::model::{Model, Selected};
use crate::penalized::{Choice, Fitter};
use crate::spec::Rows;

/// Thresholds that are tried, relative to the median weight; 0 keeps all columns.
const ALPHAS: [f64; 10] = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0];
/// Number of trees of a forest that only weighs columns.
const TREES: usize = 100;
/// Minimum rows of a leaf of a tree that only weighs columns.
const LEAF: usize = 5;
/// The L1 share of a lasso.
const LASSO: f64 = 1.0;

/// The model that weighs columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum First {
    Ridge,
    Lasso,
    ElasticNet,
    Tree,
    Forest,
}

/// The model that is fitted to the selected columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Second {
    Lasso,
    /// A lasso of relative errors.
    Relative,
    /// A lasso of relative errors, with penalties by weight.
    Adaptive,
    Boost,
}

impl First {
    pub(crate) const NAMES: &'static [&'static str] =
        &["ridge", "lasso", "elasticnet", "tree", "forest"];
    pub(crate) const ALL: [Self; 5] =
        [Self::Ridge, Self::Lasso, Self::ElasticNet, Self::Tree, Self::Forest];
}

impl Second {
    pub(crate) const NAMES: &'static [&'static str] = &["lasso", "relative", "adaptive", "boost"];
    pub(crate) const ALL: [Self; 4] = [Self::Lasso, Self::Relative, Self::Adaptive, Self::Boost];
}

/// Fits both levels. `alpha`: the threshold, instead of the best of the grid (or of 0, if penalties are by
/// weight).
pub(crate) fn fit(
    x: &Matrix,
    y: &[f64],
    first: First,
    second: Second,
    alpha: Option<f64>,
    rows: &Rows<'_>,
) -> Result<Model, LearnError> {
    let n = x.rows();
    let folds = rows.inner_folds(n).ok_or_else(|| rows.too_few(n))?;
    let is_relative = matches!(second, Second::Relative | Second::Adaptive);
    let mut fitter = Fitter::new(x, y, is_relative, Some(&folds));
    let weights = weights(x, y, first, &fitter);
    let thresholds: &[f64] = if second == Second::Adaptive {
        fitter.weigh(&weights);
        &[0.0]
    } else {
        &ALPHAS
    };
    let mut best: Option<(Vec<usize>, Choice)> = None;
    // a higher threshold keeps fewer columns, so equal sets follow each other
    let mut last = Vec::new();
    for &alpha in alpha.as_ref().map_or(thresholds, std::slice::from_ref) {
        let kept = kept(&weights, alpha);
        if kept.is_empty() || last == kept {
            continue;
        }
        last.clone_from(&kept);
        let choice = fitter.choose(&kept, LASSO);
        if best.as_ref().is_none_or(|(_, before)| choice.error < before.error) {
            best = Some((kept, choice));
        }
    }
    // if no column says anything about the target, all columns stay, without weights
    let (kept, choice) = best.unwrap_or_else(|| {
        let all: Vec<usize> = (0..x.columns()).collect();
        let choice = fitter.choose(&all, LASSO);
        (all, choice)
    });
    Ok(match second {
        Second::Lasso | Second::Relative | Second::Adaptive => {
            Model::Linear(fitter.fit(&kept, choice.lambda, LASSO))
        }
        Second::Boost => {
            let model = boost::fit(&x.take_columns(&kept), y, &boost::BoostSettings::default());
            Model::Selected(Selected { columns: kept, model: Box::new(Model::Boost(model)) })
        }
    })
}

/// The weight of each column in the first model.
fn weights(x: &Matrix, y: &[f64], first: First, fitter: &Fitter) -> Vec<f64> {
    let penalized = |share: f64| {
        let all: Vec<usize> = (0..x.columns()).collect();
        let lambda = fitter.choose(&all, share).lambda;
        fitter.standardised(lambda, share).iter().map(|b| b.abs()).collect()
    };
    match first {
        First::Ridge => penalized(0.0),
        First::Lasso => penalized(LASSO),
        First::ElasticNet => penalized(0.5),
        First::Tree => taken(&[Tree::full(x, y, LEAF)], x.columns()),
        First::Forest => taken(&Forest::fit(x, y, TREES, None, MIN_SPLIT).trees, x.columns()),
    }
}

/// The columns whose weight reaches the threshold.
fn kept(weights: &[f64], alpha: f64) -> Vec<usize> {
    let mut middle = median(&mut weights.to_vec());
    if middle <= 0.0 {
        middle = weights.iter().sum::<f64>() / weights.len() as f64;
    }
    let reaches = |column: &usize| weights[*column] >= alpha * middle;
    (0..weights.len()).filter(reaches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{LinearModel, Term};
    use crate::matrix::mean;
    use foretell_units::{Seed, Stream};

    /// Columns with a coefficient that is not 0.
    fn used(model: &LinearModel) -> Vec<usize> {
        let of = |(term, coefficient): &(Term, Option<f64>)| match (term, coefficient) {
            (Term::Column(column), Some(value)) if *value != 0.0 => Some(*column),
            _ => None,
        };
        model.terms.iter().filter_map(of).collect()
    }

    /// Two columns that matter among twenty.
    fn data() -> (Matrix, Vec<f64>) {
        let mut stream = Seed(5).stream("two-level");
        let columns: Vec<Vec<f64>> =
            (0..20).map(|_| (0..200).map(|_| stream.unit()).collect()).collect();
        let y = (0..200).map(|row| 3.0 * columns[4][row] + 2.0 * columns[11][row] + 1.0).collect();
        (Matrix::from_columns(&columns).unwrap(), y)
    }

    #[test]
    fn every_first_level_keeps_what_matters() {
        let (x, y) = data();
        for first in First::ALL {
            for second in [Second::Lasso, Second::Relative, Second::Adaptive] {
                let model = fit(&x, &y, first, second, None, &Rows::default()).unwrap();
                let Model::Linear(model) = model else { panic!("it is linear") };
                let used = used(&model);
                assert!(used.contains(&4) && used.contains(&11), "{first:?} {second:?} {used:?}");
                for (row, y) in y.iter().enumerate() {
                    let mut values = Vec::new();
                    x.copy_row(row, &mut values);
                    let off = (model.predict_row(&values) - y).abs();
                    assert!(off < 0.05, "{first:?} {second:?}: {off}");
                }
            }
        }
    }

    #[test]
    fn a_threshold_keeps_what_every_first_level_gives_weight_to() {
        let (x, y) = data();
        let folds = Rows::default().inner_folds(x.rows()).unwrap();
        for relative in [false, true] {
            let fitter = Fitter::new(&x, &y, relative, Some(&folds));
            for first in First::ALL {
                let weights = weights(&x, &y, first, &fitter);
                assert_eq!(kept(&weights, 4.0), [4, 11], "{first:?} {weights:?}");
            }
        }
    }

    #[test]
    fn thresholds_are_of_the_median_or_of_the_mean_where_that_is_0() {
        assert_eq!(kept(&[4.0, 1.0, 2.0], 1.0), [0, 2]);
        assert_eq!(kept(&[4.0, 1.0, 2.0], 0.0), [0, 1, 2]);
        assert_eq!(kept(&[0.0, 0.0, 3.0, 0.0], 1.0), [2]);
    }

    /// Training loads, or larger ones; every fifth load is 0. The target is proportional to the difference
    /// of two counters; the second one counts other work; both have an error of 2 %. The other
    /// columns do not depend on the load, and with larger loads they are far from all training rows.
    fn loads(rows: usize, is_larger: bool, stream: &mut Stream) -> (Matrix, Vec<f64>) {
        let noise = |stream: &mut Stream| 2.0 * stream.unit() - 1.0;
        let (mut columns, mut y) = (vec![Vec::new(); 50], Vec::new());
        for row in 0..rows {
            let load = if row % 5 == 0 { 0.0 } else { 1.0 + 9.0 * stream.unit() };
            let load = if is_larger { 5.0 * load } else { load };
            let other = 5.0 * stream.unit();
            y.push(load);
            columns[0].push((3.0 * load + other) * (1.0 + 0.02 * noise(stream)));
            columns[1].push(other * (1.0 + 0.02 * noise(stream)));
            for column in &mut columns[2..] {
                column.push(if is_larger { 20.0 } else { 100.0 } + noise(stream));
            }
        }
        (Matrix::from_columns(&columns).unwrap(), y)
    }

    /// The counters alone predict the target within 1 %.
    #[test]
    fn columns_that_hardly_matter_do_not_mislead_where_they_are_far_off() {
        let levels = [
            (First::Lasso, Second::Adaptive),
            (First::Ridge, Second::Lasso),
            (First::Ridge, Second::Relative),
        ];
        let mut errors = [const { Vec::new() }; 3];
        for seed in 0..8 {
            let mut stream = Seed(seed).stream("two-level/loads");
            let (x, y) = loads(200, false, &mut stream);
            let (larger, truth) = loads(100, true, &mut stream);
            for ((first, second), errors) in levels.into_iter().zip(&mut errors) {
                let model = fit(&x, &y, first, second, None, &Rows::default()).unwrap();
                let predicted = model.predict(&larger);
                let rows = predicted.iter().zip(&truth).filter(|(_, truth)| **truth > 0.0);
                errors.extend(rows.map(|(predicted, truth)| (predicted / truth - 1.0).abs()));
            }
        }
        let [adaptive, inside_out, relative] = errors.map(|errors| mean(&errors));
        assert!(adaptive < 0.013, "{adaptive}");
        assert!(
            inside_out > 1.5 * adaptive && relative > 1.5 * adaptive,
            "{inside_out} {relative}"
        );
    }

    #[test]
    fn what_nothing_tells_is_predicted_by_its_mean() {
        let (x, _) = data();
        let model = fit(&x, &[7.0; 200], First::Lasso, Second::Adaptive, None, &Rows::default());
        let Model::Linear(model) = model.unwrap() else { panic!("it is linear") };
        let predicted = model.predict_row(&[0.5; 20]);
        assert!((predicted - 7.0).abs() < 1e-9, "{predicted}");
    }
}
