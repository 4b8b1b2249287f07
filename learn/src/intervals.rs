//! Prediction intervals, from errors on rows that the model did not learn from.
//!
//! Conformal prediction (Vovk, Gammerman & Shafer 2005; Lei et al. 2018): of n errors on held-out rows,
//! the ⌈(n + 1)·level⌉-th smallest bounds the next error with that probability, whatever the model.
//! Errors are first measured in units of a local scale, so that intervals are wide where errors are
//! large. The scale is one of three: the ln |error| that a forest, from its out-of-bag trees, expects for
//! inputs and prediction; the posterior deviation of a Gaussian process; or the distance between the
//! quantiles of a quantile forest or of quantile boosting (Romano, Patterson & Candès 2019). The bound is
//! taken separately for groups of rows with similar predictions, or with the same value of a column
//! (Mondrian).
//!
//! Methods: `split` trains on a part of the rows and takes errors on the rest. `cross` takes the errors
//! of cross-validation and puts them around the prediction of the model of all rows (Vovk 2015). `cv+`
//! keeps the models of the folds and puts each error around the prediction of its own fold's model
//! (Barber et al. 2021; with as many folds as rows it is jackknife+). Errors are of the logarithm where
//! the model learns the logarithm.

use serde::{Deserialize, Serialize};

use crate::LearnError;
use crate::boost;
use crate::dataset::Dataset;
use crate::error_forest::ErrorForest;
use crate::folds::Folds;
use crate::forest;
use crate::matrix::{Matrix, mean, median, squares_around};
use crate::model::Model;
use crate::spec::{Kind, Rows, Spec};
use crate::transform::View;

/// Minimum rows of a group of similar predictions.
const BIN: usize = 60;
/// Maximum number of groups of similar predictions.
const BINS: usize = 6;
/// Minimum rows with one value of the group's column, for a bound of their own.
const GROUP: usize = 30;
/// Number of trees of the forest that predicts how large errors are.
const TREES: usize = 150;
/// Minimum rows of its leaves.
const LEAF: usize = 10;

/// Which errors make an interval, and which prediction they are put around.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Errors on a part of the rows that the model does not learn from.
    Split,
    /// Errors of cross-validation, around the model of all rows.
    #[default]
    Cross,
    /// Errors of cross-validation, around the predictions of the folds' models.
    #[serde(rename = "cv+")]
    CvPlus,
}

/// The local scale that errors are measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// The model's own deviation, if it has one; otherwise `Local`.
    #[default]
    Auto,
    /// The same scale everywhere.
    None,
    /// The error expected from inputs and prediction.
    Local,
    /// Quantiles learned by a forest or by boosting.
    Quantiles,
}

/// How intervals are made.
#[derive(Clone, PartialEq, Debug)]
pub struct IntervalSettings {
    /// Share of future observations that intervals should contain, 0 to 1.
    pub level: f64,
    /// Which errors are taken.
    pub method: Method,
    /// The scale that errors are measured in.
    pub scale: Scale,
    /// Number of folds of `cross` and `cv+`. `split` holds one of them back.
    pub folds: usize,
    /// A feature. Errors are collected, and bounds made, separately for each of its values.
    pub group: Option<String>,
}

impl Default for IntervalSettings {
    fn default() -> Self {
        let (method, scale) = (Method::Cross, Scale::Auto);
        Self { level: 0.9, method, scale, folds: 10, group: None }
    }
}

/// The range that contains an observation with the stated probability.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the interval contains a value.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The data from which a model's intervals are made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Intervals {
    /// Share of observations that intervals should contain, unless another share is asked for.
    pub level: f64,
    /// Which errors were taken.
    pub method: Method,
    unit: LocalUnit,
    /// Errors in that scale, grouped by similar predictions.
    bins: Vec<Bin>,
    /// Columns of the group, and the errors by its values.
    group: Option<(Vec<usize>, Vec<Bin>)>,
    /// For `cv+`: the models of the folds, each with its errors.
    of_folds: Vec<(Model, Vec<f64>)>,
    /// Lower bound: no observation can be below it.
    least: Option<f64>,
    /// Added to the distance between quantiles, so that it is never 0.
    floor: f64,
}

/// Errors of one group of rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Bin {
    /// The largest prediction of the group, or the values of the group's columns.
    upto: Vec<f64>,
    /// The errors, ascending.
    errors: Vec<f64>,
}

/// The scale of errors at a row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LocalUnit {
    One,
    /// The model's own deviation.
    Own,
    /// exp of a forest's prediction from inputs and the model's prediction.
    Forest(ErrorForest),
    /// Quantiles from a forest.
    QuantileForest(forest::Quantiles),
    /// Quantiles from boosting, for one level.
    QuantileBoost {
        low: boost::Boost,
        high: boost::Boost,
    },
}

/// Prediction and error scale of one row.
struct Local {
    centre: f64,
    /// Distances of the interval's ends from the centre for an error of 0.
    below: f64,
    above: f64,
    unit: f64,
}

impl Intervals {
    /// Makes the intervals of the model of all rows. `x` and `y` are as the model sees them (logarithms
    /// included).
    #[expect(clippy::too_many_lines, reason = "one way through methods and units, read in order")]
    pub(crate) fn make(
        spec: &Spec,
        model: &Model,
        data: &Dataset,
        view: &View,
        settings: &IntervalSettings,
    ) -> Result<Self, LearnError> {
        let x = view.apply(&data.x);
        let y = view.target(&data.y)?;
        let owners = view.owners(&data.schema.column_features());
        let known = Rows { owners: Some(&owners), groups: data.groups.as_deref() };
        let n = y.len();
        let folds = known.folds(n, settings.folds.max(2)).ok_or_else(|| known.too_few(n))?;
        let scale = match settings.scale {
            Scale::Auto if matches!(model, Model::Gp(_)) => Scale::Auto,
            Scale::Auto => Scale::Local,
            other => other,
        };
        let quantiles = scale == Scale::Quantiles;
        if quantiles && !matches!(spec.kind(), Kind::Forest | Kind::Boost) {
            let model = spec.kind().name().to_owned();
            return Err(LearnError::NoQuantiles { model });
        }
        let level = settings.level;
        let floor = 1e-6 * (squares_around(&y, mean(&y)) / n as f64).sqrt() + 1e-100;
        let fit_quantiles = |x: &Matrix, y: &[f64]| -> LocalUnit {
            if spec.kind() == Kind::Forest {
                LocalUnit::QuantileForest(forest::Quantiles::fit(x, y, spec))
            } else {
                let tail = 0.5 * (1.0 - level);
                let of = |share| boost::fit_quantile(x, y, &spec.boost(), share);
                LocalUnit::QuantileBoost { low: of(tail), high: of(1.0 - tail) }
            }
        };
        // predictions of rows by models that did not see them
        let mut rows = Vec::new();
        let mut predicted = vec![0.0; n];
        let mut own = vec![1.0; n];
        let mut locals: Vec<Option<Local>> = (0..n).map(|_| None).collect();
        let mut of_folds: Vec<(Model, Vec<usize>)> = Vec::new();
        let closed = match model {
            Model::Gp(gp) if settings.method == Method::Cross => gp.out_of_fold(&folds),
            _ => None,
        };
        if let Some(normals) = closed {
            rows = (0..n).collect();
            for (row, normal) in normals.iter().enumerate() {
                (predicted[row], own[row]) = (normal.mean, normal.deviation);
            }
        } else {
            let count = if settings.method == Method::Split { 1 } else { folds.count() };
            for fold in 0..count {
                let (train, test) = folds.split(fold);
                let train_x = x.take_rows(&train);
                let train_y: Vec<f64> = train.iter().map(|&row| y[row]).collect();
                let groups = data.groups_of(&train);
                let known = Rows { owners: Some(&owners), groups: groups.as_deref() };
                let of_fold;
                // the model of `split` has not seen the part that was held back
                let fitted = if settings.method == Method::Split {
                    model
                } else {
                    of_fold = spec.fit_rows(&train_x, &train_y, &known)?;
                    &of_fold
                };
                let unit = quantiles.then(|| fit_quantiles(&train_x, &train_y));
                let mut values = Vec::new();
                for &row in &test {
                    x.copy_row(row, &mut values);
                    predicted[row] = fitted.predict_row(&values);
                    own[row] = fitted.deviation_row(&values).unwrap_or(1.0);
                    if let Some(unit) = &unit {
                        locals[row] = Some(unit.at(fitted, &values, predicted[row], level, floor));
                    }
                }
                rows.extend(&test);
                if settings.method == Method::CvPlus {
                    of_folds.push((fitted.clone(), test));
                }
            }
            rows.sort_unstable();
        }
        let misses: Vec<f64> = rows.iter().map(|&row| (y[row] - predicted[row]).abs()).collect();
        let mut unit = LocalUnit::One;
        let mut errors = vec![0.0; n];
        match scale {
            Scale::None => rows.iter().zip(&misses).for_each(|(&row, miss)| errors[row] = *miss),
            Scale::Auto => {
                unit = LocalUnit::Own;
                for (&row, miss) in rows.iter().zip(&misses) {
                    errors[row] = miss / own[row].max(f64::MIN_POSITIVE);
                }
            }
            Scale::Local => {
                let inputs =
                    with_prediction(&x.take_rows(&rows), rows.iter().map(|&r| predicted[r]));
                let least = 0.05 * median(&mut misses.clone()) + floor;
                let sizes: Vec<f64> = misses.iter().map(|miss| libm::log(miss + least)).collect();
                let groups = data.groups_of(&rows);
                let (forest, expected) =
                    forest::out_of_bag(&inputs, &sizes, groups.as_deref(), TREES, LEAF);
                for ((&row, miss), expected) in rows.iter().zip(&misses).zip(expected) {
                    errors[row] = miss / libm::exp(expected);
                }
                unit = LocalUnit::Forest(ErrorForest::of(forest));
            }
            Scale::Quantiles => {
                for &row in &rows {
                    if let Some(local) = &locals[row] {
                        let (low, high) = (local.centre - local.below, local.centre + local.above);
                        errors[row] = (low - y[row]).max(y[row] - high) / local.unit;
                    }
                }
                unit = fit_quantiles(&x, &y);
            }
        }
        let group = match &settings.group {
            None => None,
            Some(name) => Some(by_group(name, data, &rows, &errors)?),
        };
        let of_folds = of_folds
            .into_iter()
            .map(|(model, test)| (model, test.into_iter().map(|row| errors[row]).collect()))
            .collect();
        let least = (!view.log_target && data.y.iter().all(|y| *y >= 0.0)).then_some(0.0);
        let bins = by_prediction(&rows, &predicted, &errors);
        Ok(Self { level, method: settings.method, unit, bins, group, of_folds, least, floor })
    }

    /// The training rows of a model with `split`; `None`: all rows.
    pub(crate) fn learned(
        data: &Dataset,
        settings: Option<&IntervalSettings>,
    ) -> Result<Option<Vec<usize>>, LearnError> {
        let Some(settings) = settings.filter(|settings| settings.method == Method::Split) else {
            return Ok(None);
        };
        let n = data.y.len();
        let known = Rows { owners: None, groups: data.groups.as_deref() };
        let folds: Folds = known.folds(n, settings.folds.max(2)).ok_or_else(|| known.too_few(n))?;
        Ok(Some(folds.split(0).0))
    }

    /// The interval of a row in the model's unit; `seen` is the row as the model sees it, `row` as given.
    pub(crate) fn of_row(&self, model: &Model, seen: &[f64], row: &[f64], level: f64) -> Interval {
        let predicted = model.predict_row(seen);
        let local = self.unit.at(model, seen, predicted, self.level, self.floor);
        let interval = if self.of_folds.is_empty() {
            let reach = quantile(self.errors(row, predicted), level) * local.unit;
            Interval {
                low: (local.centre - local.below - reach).min(predicted),
                high: (local.centre + local.above + reach).max(predicted),
            }
        } else {
            let (mut lows, mut highs) = (Vec::new(), Vec::new());
            for (model, errors) in &self.of_folds {
                let shift = model.predict_row(seen) - predicted;
                for error in errors {
                    let reach = error * local.unit;
                    lows.push(-(local.centre - local.below + shift - reach));
                    highs.push(local.centre + local.above + shift + reach);
                }
            }
            lows.sort_unstable_by(f64::total_cmp);
            highs.sort_unstable_by(f64::total_cmp);
            let (low, high) = (-quantile(&lows, level), quantile(&highs, level));
            // models of folds may all lie on one side of this one
            Interval { low: low.min(high).min(predicted), high: high.max(low).max(predicted) }
        };
        let least = self.least.unwrap_or(f64::NEG_INFINITY);
        Interval { low: interval.low.max(least), high: interval.high.max(least) }
    }

    /// Errors of rows similar to this one, ascending.
    fn errors(&self, row: &[f64], predicted: f64) -> &[f64] {
        if let Some((columns, bins)) = &self.group {
            let same = |bin: &&Bin| {
                bin.upto.iter().zip(columns).all(|(value, &c)| value.to_bits() == row[c].to_bits())
            };
            if let Some(bin) = bins.iter().find(same) {
                return &bin.errors;
            }
        }
        let place = self.bins.partition_point(|bin| bin.upto[0] < predicted);
        &self.bins[place.min(self.bins.len() - 1)].errors
    }

    /// Whether the parts of a loaded file are consistent; `columns` of the data, `inputs` of the model.
    pub(crate) fn fits(&self, columns: usize, inputs: usize) -> bool {
        let unit = match &self.unit {
            LocalUnit::One | LocalUnit::Own => true,
            LocalUnit::Forest(forest) => forest.fits(inputs + 1),
            LocalUnit::QuantileForest(quantiles) => quantiles.fits(inputs),
            LocalUnit::QuantileBoost { low, high } => {
                [low, high].iter().all(|model| model.trees.iter().all(|tree| tree.fits(inputs)))
            }
        };
        let group = self.group.as_ref().is_none_or(|(kept, _)| kept.iter().all(|c| *c < columns));
        unit && group
            && !self.bins.is_empty()
            && self.bins.iter().all(|bin| bin.upto.len() == 1)
            && self.of_folds.iter().all(|(model, _)| model.fits(inputs))
    }
}

impl LocalUnit {
    fn at(&self, model: &Model, seen: &[f64], predicted: f64, level: f64, floor: f64) -> Local {
        let around = |unit| Local { centre: predicted, below: 0.0, above: 0.0, unit };
        let between = |low: f64, high: f64| {
            let unit = (high - low).abs() + floor;
            Local { centre: predicted, below: predicted - low, above: high - predicted, unit }
        };
        match self {
            Self::One => around(1.0),
            Self::Own => around(model.deviation_row(seen).unwrap_or(1.0)),
            Self::Forest(forest) => {
                let last = seen.len();
                let size = forest
                    .predict_row(|column| if column == last { predicted } else { seen[column] });
                around(libm::exp(size))
            }
            Self::QuantileForest(quantiles) => {
                let tail = 0.5 * (1.0 - level);
                let (low, high) = quantiles.of_row(seen, tail);
                between(low, high)
            }
            Self::QuantileBoost { low, high } => {
                let of = |model: &boost::Boost| model.predict_row(|column| seen[column]);
                between(of(low), of(high))
            }
        }
    }
}

/// The ⌈(n + 1)·level⌉-th smallest of n values; the largest if n is too small for the level.
fn quantile(ascending: &[f64], level: f64) -> f64 {
    let n = ascending.len();
    let rank = ((n + 1) as f64 * level - 1e-9).ceil().max(1.0) as usize;
    ascending.get(rank - 1).or(ascending.last()).copied().unwrap_or(f64::INFINITY)
}

fn with_prediction(x: &Matrix, predicted: impl Iterator<Item = f64>) -> Matrix {
    let mut all = Matrix::zeros(x.rows(), x.columns() + 1);
    for column in 0..x.columns() {
        all.column_mut(column).copy_from_slice(x.column(column));
    }
    for (to, value) in all.column_mut(x.columns()).iter_mut().zip(predicted) {
        *to = value;
    }
    all
}

fn by_prediction(rows: &[usize], predicted: &[f64], errors: &[f64]) -> Vec<Bin> {
    let mut order = rows.to_vec();
    order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]).then(a.cmp(&b)));
    let count = (order.len() / BIN).clamp(1, BINS);
    (0..count)
        .map(|bin| {
            let part = &order[bin * order.len() / count..(bin + 1) * order.len() / count];
            let mut of_part: Vec<f64> = part.iter().map(|&row| errors[row]).collect();
            of_part.sort_unstable_by(f64::total_cmp);
            let upto = part.last().map_or(0.0, |&row| predicted[row]);
            Bin { upto: vec![upto], errors: of_part }
        })
        .collect()
}

fn by_group(
    name: &str,
    data: &Dataset,
    rows: &[usize],
    errors: &[f64],
) -> Result<(Vec<usize>, Vec<Bin>), LearnError> {
    let features = &data.schema.features;
    let Some(feature) = features.iter().position(|feature| feature.name == name) else {
        let names = features.iter().map(|feature| feature.name.as_str());
        let nearest = crate::error::nearest(name, names);
        return Err(LearnError::NoColumn { column: name.to_owned(), nearest });
    };
    let owners = data.schema.column_features();
    let columns: Vec<usize> = (0..owners.len()).filter(|&c| owners[c] == feature).collect();
    let mut bins: Vec<Bin> = Vec::new();
    for &row in rows {
        let values: Vec<f64> = columns.iter().map(|&column| data.x.get(row, column)).collect();
        let same =
            |bin: &&mut Bin| bin.upto.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits());
        match bins.iter_mut().find(same) {
            Some(bin) => bin.errors.push(errors[row]),
            None => bins.push(Bin { upto: values, errors: vec![errors[row]] }),
        }
    }
    bins.retain(|bin| bin.errors.len() >= GROUP);
    for bin in &mut bins {
        bin.errors.sort_unstable_by(f64::total_cmp);
    }
    Ok((columns, bins))
}

/// Coverage of intervals, over all rows and by tenth of the prediction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IntervalCoverage {
    /// Share of the rows whose true value lies in the interval.
    pub all: f64,
    /// By tenth of the rows in the order of predictions: number of rows, and the share of them covered.
    pub by_decile: Vec<(usize, f64)>,
    /// Median of high / low, if low is above 0 in most rows.
    pub median_ratio: Option<f64>,
    /// Median of high − low.
    pub median_width: f64,
}

impl IntervalCoverage {
    /// The coverage from true values, predictions and intervals by row.
    pub fn of(truth: &[f64], predicted: &[f64], intervals: &[Interval]) -> Self {
        let n = truth.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]).then(a.cmp(&b)));
        let share = |rows: &[usize]| {
            let held = rows.iter().filter(|&&row| intervals[row].holds(truth[row])).count();
            held as f64 / rows.len().max(1) as f64
        };
        let by_decile = (0..10)
            .map(|tenth| &order[tenth * n / 10..(tenth + 1) * n / 10])
            .filter(|rows| !rows.is_empty())
            .map(|rows| (rows.len(), share(rows)))
            .collect();
        let mut ratios: Vec<f64> = intervals
            .iter()
            .map(|i| if i.low > 0.0 { i.high / i.low } else { f64::INFINITY })
            .collect();
        let median_ratio = Some(median(&mut ratios)).filter(|ratio| ratio.is_finite());
        let mut widths: Vec<f64> = intervals.iter().map(|i| i.high - i.low).collect();
        Self { all: share(&order), by_decile, median_ratio, median_width: median(&mut widths) }
    }

    /// The lower tail of the binomial distribution: the probability that this `share` of `rows` or less
    /// is covered, if each row is covered with probability `level`.
    pub fn probability(rows: usize, share: f64, level: f64) -> f64 {
        let held = (share * rows as f64).round() as usize;
        // logarithms: with many rows the first term is below the smallest number
        let mut term = rows as f64 * libm::log(1.0 - level);
        let mut sum = libm::exp(term);
        for k in 1..=held {
            term += libm::log(level / (1.0 - level) * (rows + 1 - k) as f64 / k as f64);
            sum += libm::exp(term);
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_form_quantile_of_errors() {
        let errors: Vec<f64> = (1..=9).map(f64::from).collect();
        // ⌈10 × 0.9⌉ = 9th, ⌈10 × 0.5⌉ = 5th; too few for 99 %: the largest
        let found = [0.9, 0.5, 0.99].map(|level| quantile(&errors, level) as u32);
        assert_eq!(found, [9, 5, 9]);
    }

    #[test]
    fn closed_form_binomial_tail() {
        // 3 coins: P(at most 1 head) = 4/8
        assert!((IntervalCoverage::probability(3, 1.0 / 3.0, 0.5) - 0.5).abs() < 1e-12);
        // 40 rows, 28 held at 85 %: just above 1 %
        assert!((IntervalCoverage::probability(40, 0.7, 0.85) - 0.0118).abs() < 1e-3);
    }
}
