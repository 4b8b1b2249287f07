//! Gaussian-process regression (Rasmussen & Williams 2006; kriging).
//!
//! The target is a smooth function of the inputs on top of a linear mean. Rows tell less about its value
//! the farther away they are; each input has its own length scale (ARD). The hyperparameters maximise the
//! marginal likelihood; the search follows its gradient from several starts. Inputs and target are
//! standardised first (mean 0, 1/n deviation 1). A factor of three names or more has an input for each
//! name, including the first, so that all names are treated alike.
//!
//! The process is exact up to [`EXACT`] rows. Beyond that, a prediction comes from the [`NEIGHBOURS`] rows
//! nearest to it in units of the length scales (Vecchia 1988; Gramacy & Apley 2015). With more than
//! [`LIKELIHOOD_ROWS`] rows the likelihood is maximised on a random choice of that many, as each evaluation
//! costs n³.

mod cholesky;
mod covariance;
mod minimize;

use std::fmt::Write;
use std::sync::OnceLock;

use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use crate::LearnError;
use crate::folds::Folds;
use crate::matrix::{Matrix, mean, squares_around};
use cholesky::Cholesky;
use covariance::likelihood;
pub use covariance::{Hyperparameters, Kernel};
use minimize::{Limits, minimize};

/// Most rows of an exact process.
pub(crate) const EXACT: usize = 5_000;
/// Most rows on which the likelihood is maximised.
pub(crate) const LIKELIHOOD_ROWS: usize = 2_000;
/// Nearest rows that a prediction uses if there are more than [`EXACT`] rows.
const NEIGHBOURS: usize = 100;
/// Number of rows on which starting points are compared.
const START_ROWS: usize = 400;
/// Evaluations of the likelihood for each start, on [`START_ROWS`].
const START_EVALUATIONS: usize = 60;
/// Evaluations for each finalist on all rows: with up to [`FULL_ROWS`] rows, and with more.
const EVALUATIONS: usize = 150;
const FEW_EVALUATIONS: usize = 25;
/// Evaluations where likelihoods are only compared.
const QUICK_EVALUATIONS: usize = 50;
/// Rows up to which finalists get [`EVALUATIONS`].
const FULL_ROWS: usize = 1_000;
/// Number of starts that are continued on all rows.
const FINALISTS: usize = 2;
/// Ranges of the hyperparameters.
const SIGNAL: (f64, f64) = (1e-5, 1e5);
const NOISE: (f64, f64) = (1e-8, 10.0);
const LINEAR: (f64, f64) = (1e-8, 1e4);
const LENGTH: (f64, f64) = (1e-3, 1e5);

/// The mean function of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mean {
    /// A linear function of the inputs.
    Linear,
    /// The target's mean.
    Constant,
    /// 0.
    Zero,
}

impl Mean {
    pub(crate) const NAMES: &'static [&'static str] = &["linear", "constant", "zero"];
    pub(crate) const ALL: [Self; 3] = [Self::Linear, Self::Constant, Self::Zero];
}

/// Settings of the fit. Hyperparameters given here are where the fit starts, or the values used if nothing
/// is fitted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct GpSettings {
    pub(crate) kernel: Kernel,
    pub(crate) mean: Mean,
    pub(crate) length_scale: Option<f64>,
    pub(crate) noise: Option<f64>,
    pub(crate) signal: Option<f64>,
    pub(crate) linear: Option<f64>,
    pub(crate) fit: bool,
    pub(crate) standardize: bool,
    /// Whether a rough maximum of the likelihood will do, as for a comparison.
    pub(crate) is_quick: bool,
}

/// A mean and a deviation that standardise values.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// The value that becomes 0.
    pub mean: f64,
    /// The difference that becomes 1.
    pub deviation: f64,
}

impl Unit {
    const NONE: Self = Self { mean: 0.0, deviation: 1.0 };

    fn of(values: &[f64]) -> Self {
        let mean = mean(values);
        let deviation = (squares_around(values, mean) / values.len().max(1) as f64).sqrt();
        Self { mean, deviation: if deviation > 0.0 { deviation } else { 1.0 } }
    }

    fn apply(self, value: f64) -> f64 {
        (value - self.mean) / self.deviation
    }
}

/// A Gaussian process, conditioned on the rows it was fitted to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gp {
    /// How correlation falls with distance.
    pub kernel: Kernel,
    /// The hyperparameters, in standardised units.
    pub hyperparameters: Hyperparameters,
    /// Logarithm of the marginal likelihood of the standardised target.
    pub log_marginal_likelihood: f64,
    /// Number of rows that the likelihood is of.
    pub likelihood_rows: usize,
    /// Number of columns of x.
    columns: usize,
    /// Groups of columns. 1 minus the sum of a group is an additional input: a factor's first name.
    firsts: Vec<Vec<usize>>,
    /// Standardisation of the inputs.
    pub inputs: Vec<Unit>,
    /// Standardisation of the target.
    pub target: Unit,
    /// The rows' standardised inputs, row by row.
    points: Vec<f64>,
    /// K⁻¹y, or beyond [`EXACT`] rows the standardised target.
    weights: Vec<f64>,
    /// Whether predictions come from the nearest rows only.
    is_local: bool,
    #[serde(skip)]
    prepared: OnceLock<Prepared>,
}

/// Derived data that predictions need and that is not saved.
#[derive(Clone, PartialEq, Debug)]
struct Prepared {
    x: Matrix,
    scaled: Matrix,
    /// Made when a deviation is first asked for.
    cholesky: OnceLock<Option<Cholesky>>,
}

/// A prediction with its standard deviation. The deviation is that of an observation, noise included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Normal {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Gp {
    /// Fits to `x`, n rows × p columns, and `y`; `owners`: the feature of each column. Errors if the
    /// covariances cannot be decomposed, for example with equal rows and no noise.
    pub(crate) fn fit(
        x: &Matrix,
        y: &[f64],
        owners: &[usize],
        settings: &GpSettings,
    ) -> Result<Self, LearnError> {
        let firsts = firsts(owners);
        let raw = with_firsts(x, &firsts);
        let inputs: Vec<Unit> = (0..raw.columns())
            .map(|c| if settings.standardize { Unit::of(raw.column(c)) } else { Unit::NONE })
            .collect();
        let target = match (settings.standardize, settings.mean) {
            (true, Mean::Zero) => Unit { mean: 0.0, ..Unit::of(y) },
            (true, _) => Unit::of(y),
            (false, Mean::Zero | Mean::Linear) => Unit::NONE,
            (false, Mean::Constant) => Unit { mean: mean(y), deviation: 1.0 },
        };
        let points = standardised(raw, &inputs);
        let z: Vec<f64> = y.iter().map(|y| target.apply(*y)).collect();
        let failed = || LearnError::NotPositive;
        let hyperparameters = if settings.fit {
            maximise(&points, &z, settings).ok_or_else(failed)?
        } else {
            start(settings, points.columns(), 1.0, 1e-2)
        };
        let kernel = settings.kernel;
        let n = z.len();
        let is_local = n > EXACT;
        let (likelihood_rows, log_marginal_likelihood, weights, cholesky);
        if is_local {
            let rows = choice(n, LIKELIHOOD_ROWS);
            let part: Vec<f64> = rows.iter().map(|&row| z[row]).collect();
            let covariances = hyperparameters.of_points(kernel, &points.take_rows(&rows));
            let of_part = Cholesky::new(covariances).ok_or_else(failed)?;
            let alpha = of_part.solve(&part);
            log_marginal_likelihood = covariance::of_solution(&of_part, &part, &alpha);
            (likelihood_rows, weights, cholesky) = (rows.len(), z, OnceLock::new());
        } else {
            let all =
                Cholesky::new(hyperparameters.of_points(kernel, &points)).ok_or_else(failed)?;
            weights = all.solve(&z);
            log_marginal_likelihood = covariance::of_solution(&all, &z, &weights);
            (likelihood_rows, cholesky) = (n, OnceLock::from(Some(all)));
        }
        let mut rows = Vec::with_capacity(n * points.columns());
        let mut values = Vec::new();
        for row in 0..n {
            points.copy_row(row, &mut values);
            rows.extend_from_slice(&values);
        }
        let scaled = hyperparameters.scaled(&points);
        let prepared = OnceLock::from(Prepared { x: points, scaled, cholesky });
        Ok(Self {
            kernel,
            hyperparameters,
            log_marginal_likelihood,
            likelihood_rows,
            columns: x.columns(),
            firsts,
            inputs,
            target,
            points: rows,
            weights,
            is_local,
            prepared,
        })
    }

    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let inputs = self.inputs.len();
            let columns: Vec<Vec<f64>> = (0..inputs)
                .map(|c| self.points.iter().skip(c).step_by(inputs).copied().collect())
                .collect();
            let x = Matrix::from_columns(&columns).expect("checked when it was read");
            let scaled = self.hyperparameters.scaled(&x);
            Prepared { x, scaled, cholesky: OnceLock::new() }
        })
    }

    /// A row's standardised inputs, and the same in units of the length scales.
    fn point(&self, row: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let firsts = self.firsts.iter().map(|of| 1.0 - of.iter().map(|&c| row[c]).sum::<f64>());
        let raw = row[..self.columns].iter().copied().chain(firsts);
        let point: Vec<f64> =
            raw.zip(&self.inputs).map(|(value, unit)| unit.apply(value)).collect();
        let lengths = &self.hyperparameters.length_scales;
        let scaled = point.iter().zip(lengths).map(|(value, length)| value / length).collect();
        (point, scaled)
    }

    pub(crate) fn predict_row(&self, row: &[f64]) -> f64 {
        if self.is_local {
            return self.normal(row).mean;
        }
        let Prepared { x, scaled, .. } = self.prepared();
        let (point, scaled_point) = self.point(row);
        let with = self.hyperparameters.with_points(
            self.kernel,
            &point,
            &scaled_point,
            x,
            scaled,
            x.rows(),
        );
        self.target.mean + self.target.deviation * crate::matrix::dot(&with, &self.weights)
    }

    /// The predicted distribution of a row's target.
    pub fn normal(&self, row: &[f64]) -> Normal {
        let (point, scaled_point) = self.point(row);
        let (mean, variance) = if self.is_local {
            self.by_neighbours(&point, &scaled_point)
        } else {
            self.by_all(&point, &scaled_point)
        };
        let deviation = (variance.max(0.0) + self.hyperparameters.noise_variance).sqrt();
        Normal {
            mean: self.target.mean + self.target.deviation * mean,
            deviation: self.target.deviation * deviation,
        }
    }

    /// Mean and variance without noise, in standardised units.
    fn by_all(&self, point: &[f64], scaled_point: &[f64]) -> (f64, f64) {
        let Prepared { x, scaled, cholesky } = self.prepared();
        let at = &self.hyperparameters;
        let with = at.with_points(self.kernel, point, scaled_point, x, scaled, x.rows());
        let mean = crate::matrix::dot(&with, &self.weights);
        let prior = at.prior(point.iter().map(|value| value * value).sum());
        let cholesky = cholesky.get_or_init(|| Cholesky::new(at.of_points(self.kernel, x)));
        let known = cholesky.as_ref().map_or(0.0, |cholesky| {
            let half = cholesky.forward(&with);
            crate::matrix::dot(&half, &half)
        });
        (mean, prior - known)
    }

    /// Mean and variance from the nearest rows alone.
    fn by_neighbours(&self, point: &[f64], scaled_point: &[f64]) -> (f64, f64) {
        let Prepared { x, scaled, .. } = self.prepared();
        let at = &self.hyperparameters;
        let mut squared = vec![0.0; x.rows()];
        for (column, value) in scaled_point.iter().enumerate() {
            for (sum, other) in squared.iter_mut().zip(scaled.column(column)) {
                *sum += (value - other) * (value - other);
            }
        }
        let mut rows: Vec<usize> = (0..x.rows()).collect();
        let count = NEIGHBOURS.min(rows.len());
        let nearer = |a: &usize, b: &usize| squared[*a].total_cmp(&squared[*b]).then(a.cmp(b));
        if count < rows.len() {
            rows.select_nth_unstable_by(count, nearer);
            rows.truncate(count);
        }
        rows.sort_unstable();
        let (x, scaled) = (x.take_rows(&rows), scaled.take_rows(&rows));
        let z: Vec<f64> = rows.iter().map(|&row| self.weights[row]).collect();
        let with = at.with_points(self.kernel, point, scaled_point, &x, &scaled, count);
        let prior = at.prior(point.iter().map(|value| value * value).sum());
        let Some(cholesky) = Cholesky::new(at.of_points(self.kernel, &x)) else {
            return (0.0, prior);
        };
        let half = cholesky.forward(&with);
        (crate::matrix::dot(&half, &cholesky.forward(&z)), prior - crate::matrix::dot(&half, &half))
    }

    /// For each training row, the prediction from the rows of the other folds, at these hyperparameters: ŷ
    /// = y − (K⁻¹ of the fold)⁻¹ α of the fold. `None` beyond [`EXACT`] rows.
    pub(crate) fn out_of_fold(&self, folds: &Folds) -> Option<Vec<Normal>> {
        if self.is_local || folds.rows() != self.weights.len() {
            return None;
        }
        let Prepared { x, cholesky, .. } = self.prepared();
        let at = &self.hyperparameters;
        let whole = at.of_points(self.kernel, x);
        let cholesky = cholesky.get_or_init(|| Cholesky::new(whole.clone())).as_ref()?;
        let inverse = cholesky.inverse();
        // y = K α; the lower triangle holds K
        let z: Vec<f64> = (0..x.rows())
            .map(|i| {
                let k = |j: usize| if j <= i { whole[[i, j]] } else { whole[[j, i]] };
                (0..x.rows()).map(|j| k(j) * self.weights[j]).sum()
            })
            .collect();
        let mut predicted = vec![Normal { mean: 0.0, deviation: 0.0 }; x.rows()];
        for fold in 0..folds.count() {
            let (_, rows) = folds.split(fold);
            let part = inverse.select(ndarray::Axis(0), &rows).select(ndarray::Axis(1), &rows);
            let part = Cholesky::new(part)?;
            let alpha: Vec<f64> = rows.iter().map(|&row| self.weights[row]).collect();
            let missed = part.solve(&alpha);
            let variances = part.inverse();
            for (place, &row) in rows.iter().enumerate() {
                predicted[row] = Normal {
                    mean: self.target.mean + self.target.deviation * (z[row] - missed[place]),
                    deviation: self.target.deviation * variances[[place, place]].max(0.0).sqrt(),
                };
            }
        }
        Some(predicted)
    }

    /// Whether the parts of a loaded file are consistent.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let inputs = self.inputs.len();
        let at = &self.hyperparameters;
        let variances = [at.signal_variance, at.noise_variance, at.linear_variance];
        self.columns == columns
            && inputs == columns + self.firsts.len()
            && at.length_scales.len() == inputs
            && at.length_scales.iter().all(|scale| scale.is_finite() && *scale > 0.0)
            && variances.iter().all(|variance| variance.is_finite() && *variance >= 0.0)
            && self.firsts.iter().flatten().all(|&column| column < columns)
            && inputs > 0
            && !self.weights.is_empty()
            && self.points.len() == inputs * self.weights.len()
            && self.points.iter().all(|value| value.is_finite())
    }

    /// Names of the inputs; `names` are the names of the columns.
    pub fn input_names(&self, names: &[String]) -> Vec<String> {
        let first = |of: &Vec<usize>| {
            let name = of.first().map_or("", |&column| names[column].as_str());
            format!("{} (first name)", name.split('=').next().unwrap_or(name))
        };
        names.iter().take(self.columns).cloned().chain(self.firsts.iter().map(first)).collect()
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let at = &self.hyperparameters;
        let mut text = format!(
            "{:?} on {} rows{}; log marginal likelihood {:.6}{}\n",
            self.kernel,
            self.weights.len(),
            if self.is_local { ", each prediction by the nearest 100" } else { "" },
            self.log_marginal_likelihood,
            if self.likelihood_rows < self.weights.len() {
                format!(" of {} rows", self.likelihood_rows)
            } else {
                String::new()
            },
        );
        let _ = writeln!(
            text,
            "variances: signal {:.6}, noise {:.3e}, linear mean {:.6}; of the standardised target, \
             whose 1 is {:.6}",
            at.signal_variance, at.noise_variance, at.linear_variance, self.target.deviation
        );
        text.push_str("length scales, in the input's unit and in its deviations\n");
        let names = self.input_names(names);
        for ((name, scale), unit) in names.iter().zip(&at.length_scales).zip(&self.inputs) {
            let _ = writeln!(text, "  {name:<30} {:>14.6} {scale:>14.6}", scale * unit.deviation);
        }
        text
    }
}

/// The columns of each factor with three or more names.
fn firsts(owners: &[usize]) -> Vec<Vec<usize>> {
    let groups = owners.chunk_by(|a, b| a == b);
    let mut column = 0;
    let mut firsts = Vec::new();
    for group in groups {
        if group.len() > 1 {
            firsts.push((column..column + group.len()).collect());
        }
        column += group.len();
    }
    firsts
}

fn with_firsts(x: &Matrix, firsts: &[Vec<usize>]) -> Matrix {
    let mut all = Matrix::zeros(x.rows(), x.columns() + firsts.len());
    for column in 0..x.columns() {
        all.column_mut(column).copy_from_slice(x.column(column));
    }
    for (place, of) in firsts.iter().enumerate() {
        for (row, value) in all.column_mut(x.columns() + place).iter_mut().enumerate() {
            *value = 1.0 - of.iter().map(|&column| x.get(row, column)).sum::<f64>();
        }
    }
    all
}

fn standardised(mut x: Matrix, units: &[Unit]) -> Matrix {
    for (column, unit) in units.iter().enumerate() {
        for value in x.column_mut(column) {
            *value = unit.apply(*value);
        }
    }
    x
}

/// `wanted` of the rows, drawn at random from a fixed seed, ascending.
pub(crate) fn choice(rows: usize, wanted: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..rows).collect();
    let mut stream = Seed(0).stream("learn/gp");
    for place in 0..wanted.min(rows) {
        all.swap(place, place + stream.below((rows - place) as u64) as usize);
    }
    all.truncate(wanted);
    all.sort_unstable();
    all
}

fn start(settings: &GpSettings, inputs: usize, length: f64, noise: f64) -> Hyperparameters {
    Hyperparameters {
        signal_variance: settings.signal.unwrap_or(1.0),
        noise_variance: settings.noise.unwrap_or(noise),
        linear_variance: match settings.mean {
            Mean::Linear => settings.linear.unwrap_or(1.0),
            Mean::Constant | Mean::Zero => 0.0,
        },
        length_scales: vec![settings.length_scale.unwrap_or(length); inputs],
    }
}

/// The hyperparameters with the largest likelihood found.
fn maximise(x: &Matrix, z: &[f64], settings: &GpSettings) -> Option<Hyperparameters> {
    let has_linear = settings.mean == Mean::Linear;
    let ln = |(low, high): (f64, f64)| (libm::log(low), libm::log(high));
    let mut bounds = vec![ln(SIGNAL), ln(NOISE)];
    bounds.extend(has_linear.then(|| ln(LINEAR)));
    bounds.extend(std::iter::repeat_n(ln(LENGTH), x.columns()));
    let climb = |rows: Option<&[usize]>, from: &[f64], evaluations: usize| {
        let part = rows.map(|rows| {
            let z: Vec<f64> = rows.iter().map(|&row| z[row]).collect();
            (x.take_rows(rows), z)
        });
        let (x, z) = part.as_ref().map_or((x, z), |(x, z)| (x, z));
        let limits = Limits { evaluations, gradient: 1e-4, gain: 1e-9 };
        minimize(from, &bounds, limits, |variables| {
            let at = Hyperparameters::from_logarithms(variables, has_linear);
            let (value, gradient) = likelihood(settings.kernel, &at, x, z)?;
            Some((-value, gradient.into_iter().map(|part| -part).collect()))
        })
    };
    let wide = (x.columns() as f64).sqrt();
    let starts: &[(f64, f64)] = &[(wide, 1e-2), (3.0 * wide, 1e-4), (1.0, 0.1)];
    if settings.is_quick {
        let from = start(settings, x.columns(), wide, 1e-2).logarithms();
        let (best, _) = climb(None, &from, QUICK_EVALUATIONS)?;
        return Some(Hyperparameters::from_logarithms(&best, has_linear));
    }
    let few = (z.len() > START_ROWS).then(|| choice(z.len(), START_ROWS));
    let mut found: Vec<(Vec<f64>, f64)> = starts
        .iter()
        .filter_map(|&(length, noise)| {
            let from = start(settings, x.columns(), length, noise).logarithms();
            climb(
                few.as_deref(),
                &from,
                if few.is_some() { START_EVALUATIONS } else { EVALUATIONS },
            )
        })
        .collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    if few.is_some() {
        let many = (z.len() > LIKELIHOOD_ROWS).then(|| choice(z.len(), LIKELIHOOD_ROWS));
        let finalists = if z.len() <= 2 * START_ROWS { FINALISTS } else { 1 };
        let evaluations = if z.len() <= FULL_ROWS { EVALUATIONS } else { FEW_EVALUATIONS };
        found = found
            .iter()
            .take(finalists)
            .filter_map(|(from, _)| climb(many.as_deref(), from, evaluations))
            .collect();
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    let (best, _) = found.first()?;
    Some(Hyperparameters::from_logarithms(best, has_linear))
}
