//! The search for a model's parameters by cross-validation.
//!
//! The cost of a point is the root mean squared error on the held-out rows, averaged over the folds.
//! Parts that points have in common are fitted once for each fold. A tree is grown once for each
//! `minsplit` and pruned for each `cp`. A MARS forward pass contains those for smaller `nnodes` and
//! larger `threshold`. A committee contains the smaller ones, and neighbours only correct its
//! predictions. A test checks that the result equals fitting every point from scratch.

use std::sync::{Arc, Mutex, OnceLock};

use foretell_sorted::SortedMap;

use crate::LearnError;
use crate::cart::Grown;
use crate::cubist::Committee;
use crate::dataset::Dataset;
use crate::folds::Folds;
use crate::grow::Sorted;
use crate::mars::{Drops, Sweep};
use crate::metrics::rmse;
use crate::model::logarithms;
use crate::search::{SearchRange, SearchResult, SearchSettings, search};
use crate::spec::{Kind, Rows, Spec, Values};
use crate::transform::{Transform, View};

/// The ranges that a search of this model covers, for data of `rows` rows. They are the paper's, but
/// terms, splits or rows of a node are at most half the number of rows. Empty: nothing to search.
pub fn default_ranges(kind: Kind, rows: usize) -> Vec<SearchRange> {
    let half = (rows / 2).max(3) as f64;
    kind.parameters()
        .iter()
        .filter_map(|parameter| {
            let (low, high) = parameter.search?;
            let whole = matches!(parameter.values, Values::Whole(..));
            let limited = matches!(parameter.name, "nnodes" | "nprune" | "nsplits" | "minsplit");
            let high = if limited { high.min(half) } else { high };
            Some(SearchRange { name: parameter.name.to_owned(), low, high, whole })
        })
        .collect()
}

/// The ranges that were given, or else the default ranges of this model for data of `rows` rows.
///
/// # Errors
///
/// If there are neither.
pub fn ranges_or_default(
    spec: &Spec,
    given: Vec<SearchRange>,
    rows: usize,
) -> Result<Vec<SearchRange>, LearnError> {
    let ranges = if given.is_empty() { default_ranges(spec.kind(), rows) } else { given };
    if ranges.is_empty() {
        return Err(LearnError::NothingToSearch { model: spec.kind().name().to_owned() });
    }
    Ok(ranges)
}

/// Result of a search for a model's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuned {
    /// The model with the best parameters.
    pub spec: Spec,
    /// Mean error over the folds with the parameters from before the search.
    pub cost_before: f64,
    /// The evaluated points.
    pub found: SearchResult,
}

/// Searches `ranges` of the parameters of `spec`; other parameters stay unchanged. With `log_target`,
/// models and errors are of the target's logarithm.
pub fn tune(
    spec: &Spec,
    data: &Dataset,
    folds: &Folds,
    log_target: bool,
    ranges: &[SearchRange],
    settings: &SearchSettings,
) -> Result<Tuned, LearnError> {
    for range in ranges {
        // both ends of the range must be valid values
        spec.clone().with(&range.name, range.low)?.with(&range.name, range.high)?;
    }
    if folds.rows() != data.y.len() {
        let what = "folds".to_owned();
        return Err(LearnError::Length { what, found: folds.rows(), wanted: data.y.len() });
    }
    let of_logarithms;
    let data = if log_target {
        of_logarithms = Dataset { y: logarithms(&data.y)?, ..data.clone() };
        &of_logarithms
    } else {
        data
    };
    let owners = data.schema.column_features();
    let widest = |name: &str| {
        let range = ranges.iter().find(|range| range.name == name);
        range.map(|range| range.high).or(spec.value(name))
    };
    let prepared: Vec<Prepared> = (0..folds.count())
        .map(|fold| {
            let (train, test) = folds.split(fold);
            Prepared {
                train: data.take_rows(&train),
                test: data.take_rows(&test),
                nnodes: widest("nnodes").map(|value| value as usize),
                ntrees: widest("ntrees").map_or(1, |value| value as usize),
                sweep: OnceLock::new(),
                drops: Mutex::default(),
                errors: Mutex::default(),
                grown: Mutex::default(),
                committees: Mutex::default(),
            }
        })
        .collect();
    let cost = |spec: &Spec| {
        let errors: Result<Vec<f64>, LearnError> =
            prepared.iter().map(|fold| fold.error(spec, &owners)).collect();
        errors.map_or(f64::INFINITY, |errors| crate::matrix::mean(&errors))
    };
    let at = |point: &[f64]| {
        let set = |spec: Spec, (range, value): (&SearchRange, &f64)| spec.with(&range.name, *value);
        ranges.iter().zip(point).try_fold(spec.clone(), set)
    };
    let cost_before = cost(spec);
    let found = search(ranges, settings, |point| at(point).map_or(f64::INFINITY, |s| cost(&s)))?;
    Ok(Tuned { spec: at(&found.best.point)?, cost_before, found })
}

/// Rows of one fold, and models already fitted to them.
struct Prepared {
    train: Dataset,
    test: Dataset,
    /// The largest `nnodes` and `ntrees` that the search can ask for.
    nnodes: Option<usize>,
    ntrees: usize,
    sweep: OnceLock<Sweep>,
    /// Backward passes, by number of terms of the forward pass.
    drops: Mutex<SortedMap<usize, Arc<Drops>>>,
    /// Errors, by terms of the forward pass and terms kept.
    errors: Mutex<SortedMap<(usize, usize), f64>>,
    /// Trees by `minsplit`.
    grown: Mutex<SortedMap<usize, Arc<Grown>>>,
    /// Committees with different `nsplits`.
    committees: Mutex<Vec<Arc<Committee>>>,
}

/// The value cached under `key`, made at the first call. Two threads may make it at once; either result
/// is fine.
fn kept<T>(
    cache: &Mutex<SortedMap<usize, Arc<T>>>,
    key: usize,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    let lock = || cache.lock().expect("no thread panicked");
    if let Some(known) = lock().get(&key) {
        return Arc::clone(known);
    }
    let new = Arc::new(make());
    Arc::clone(lock().entry(key).or_insert(new))
}

impl Prepared {
    /// Error on the held-out rows.
    fn error(&self, spec: &Spec, owners: &[usize]) -> Result<f64, LearnError> {
        match spec.kind() {
            Kind::Cart if spec.value("prune") == Some(0.0) => Ok(self.cart(spec)),
            Kind::Mars => Ok(self.mars(spec)),
            Kind::Cubist => Ok(self.cubist(spec)),
            _ => {
                let known = Rows { owners: Some(owners), groups: self.train.groups.as_deref() };
                let model = spec.fit_rows(&self.train.x, &self.train.y, &known)?;
                Ok(rmse(&self.test.y, &model.predict(&self.test.x)))
            }
        }
    }

    fn cart(&self, spec: &Spec) -> f64 {
        let min_split = spec.value("minsplit").unwrap_or(20.0) as usize;
        let grown = kept(&self.grown, min_split, || {
            Grown::new(&self.train.x, &self.train.y, &Sorted::new(&self.train.x), min_split, 0.0)
        });
        let tree = grown.prune(spec.value("cp").unwrap_or(0.01));
        let predicted: Vec<f64> = (0..self.test.y.len())
            .map(|row| tree.predict_row(|column| self.test.x.get(row, column)))
            .collect();
        rmse(&self.test.y, &predicted)
    }

    fn mars(&self, spec: &Spec) -> f64 {
        let settings = spec.mars();
        let nnodes = settings.nodes(self.train.x.columns());
        let sweep = self.sweep.get_or_init(|| {
            let most = self.nnodes.map_or(nnodes, |most| most.max(nnodes));
            let widest =
                crate::mars::MarsSettings { nnodes: Some(most), threshold: 0.0, ..settings };
            Sweep::new(&self.train.x, &self.train.y, &widest)
        });
        let terms = sweep.terms(nnodes, settings.threshold);
        let drops =
            kept(&self.drops, terms, || sweep.backward(&self.train.x, &self.train.y, terms));
        let key = (terms, drops.choose(settings.nprune, settings.price()).len());
        let lock = || self.errors.lock().expect("no thread panicked");
        let known = lock().get(&key).copied();
        known.unwrap_or_else(|| {
            let model = sweep.model(&self.train.x, &self.train.y, &drops, &settings);
            let predicted: Vec<f64> = (0..self.test.y.len())
                .map(|row| model.predict_row(|column| self.test.x.get(row, column)))
                .collect();
            let error = rmse(&self.test.y, &predicted);
            lock().insert(key, error);
            error
        })
    }

    fn cubist(&self, spec: &Spec) -> f64 {
        let settings = spec.cubist();
        let lock = || self.committees.lock().expect("no thread panicked");
        let serving = || lock().iter().find(|known| known.serves(settings.nsplits)).cloned();
        let committee = serving().unwrap_or_else(|| {
            let ntrees = self.ntrees.max(settings.ntrees);
            let widest = crate::cubist::CubistSettings { ntrees, ninstances: 0, ..settings };
            let made =
                Arc::new(Committee::new(&self.train.x, &self.train.y, &self.test.x, &widest));
            lock().push(Arc::clone(&made));
            made
        });
        let predicted = committee.predict(&self.test.x, settings.ntrees, settings.ninstances);
        rmse(&self.test.y, &predicted)
    }
}

/// Out-of-fold predictions of models with searched parameters, and the results of the searches. Each
/// search uses only the training rows of its model, in [`InnerFolds`], or in as many folds as there are
/// groups.
#[derive(Clone, PartialEq, Debug)]
pub struct TunedOutOfFold {
    /// Predictions for all rows, in the target's unit.
    pub predicted: Vec<f64>,
    /// By fold: the search on the rows of the other folds.
    pub searches: Vec<Tuned>,
}

/// The random folds in which a search evaluates parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InnerFolds {
    /// Their number.
    pub count: usize,
    /// What they are drawn from.
    pub seed: foretell_units::Seed,
}

/// See [`TunedOutOfFold`]. `ranges` returns the ranges to search for a number of rows.
pub fn tuned_out_of_fold(
    spec: &Spec,
    data: &Dataset,
    folds: &Folds,
    transform: Transform,
    ranges: impl Fn(usize) -> Vec<SearchRange>,
    settings: &SearchSettings,
    inner: InnerFolds,
) -> Result<TunedOutOfFold, LearnError> {
    if folds.rows() != data.y.len() {
        let what = "folds".to_owned();
        return Err(LearnError::Length { what, found: folds.rows(), wanted: data.y.len() });
    }
    let mut predicted = vec![0.0; data.y.len()];
    let mut searches = Vec::with_capacity(folds.count());
    for fold in 0..folds.count() {
        let (train, test) = folds.split(fold);
        let part = data.take_rows(&train);
        let seed = inner.seed.child(fold as u64);
        let inner = match &part.groups {
            Some(groups) => {
                let count = inner.count.min(crate::folds::different(groups).len());
                Folds::random_by_group(groups, count, seed)?
            }
            None => Folds::random(train.len(), inner.count, seed)?,
        };
        let view = View::choose(spec, &part, transform)?;
        let (viewed, is_log) = (view.dataset(&part), view.log_target);
        let tuned = tune(spec, &viewed, &inner, is_log, &ranges(train.len()), settings)?;
        let model = view.fit(&tuned.spec, &part)?;
        let test_x = view.apply(&data.x.take_rows(&test));
        for (row, value) in test.iter().zip(model.predict(&test_x)) {
            predicted[*row] = view.back(value);
        }
        searches.push(tuned);
    }
    Ok(TunedOutOfFold { predicted, searches })
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::dataset::{Feature, Schema};
    use crate::matrix::Matrix;

    /// Ten groups of nearly equal rows, each group with its own target that no column explains. If
    /// single rows are held out, the other rows of their group reveal the target.
    #[test]
    fn groups_stay_together_where_a_searched_model_chooses_its_own_penalty() {
        let mut stream = Seed(4).stream("tune");
        let (mut columns, mut y, mut groups) = (vec![Vec::new(); 12], Vec::new(), Vec::new());
        for group in 0..10 {
            let place: Vec<f64> = (0..12).map(|_| stream.unit()).collect();
            let target = 5.0 + stream.unit();
            for _ in 0..8 {
                for (column, place) in columns.iter_mut().zip(&place) {
                    column.push(place + 0.001 * stream.unit());
                }
                y.push(target);
                groups.push(group);
            }
        }
        let features = (0..12).map(|i| Feature { name: format!("x{i}"), levels: None }).collect();
        let data = Dataset {
            schema: Schema { features },
            target: "y".to_owned(),
            x: Matrix::from_columns(&columns).unwrap(),
            y,
            groups: Some(groups),
        };
        let folds = Folds::random_by_group(data.groups.as_ref().unwrap(), 5, Seed(2)).unwrap();
        let range = SearchRange { name: "l1_ratio".to_owned(), low: 0.5, high: 1.0, whole: false };
        let settings = SearchSettings { iterations: 1, ..SearchSettings::default() };
        let spec: Spec = "elasticnet".parse().unwrap();
        // every fold from scratch, with its groups and without
        let afresh = |data: &Dataset| {
            let of_fold = |fold| {
                let (train, test) = folds.split(fold);
                let part = data.take_rows(&train);
                let model =
                    crate::model::Trained::fit(&spec, &part, &Transform::None.into()).unwrap();
                let truth: Vec<f64> = test.iter().map(|&row| data.y[row]).collect();
                rmse(&truth, &model.predict(&data.x.take_rows(&test)))
            };
            crate::matrix::mean(&(0..folds.count()).map(of_fold).collect::<Vec<_>>())
        };
        let (kept, broken) = (afresh(&data), afresh(&Dataset { groups: None, ..data.clone() }));
        assert!((kept - broken).abs() > 0.01, "{kept} {broken}: groups matter here");
        let tuned = tune(&spec, &data, &folds, false, &[range], &settings).unwrap();
        assert!((tuned.cost_before - kept).abs() < 1e-12, "{} {kept}", tuned.cost_before);
    }
}
