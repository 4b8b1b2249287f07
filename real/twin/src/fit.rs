//! Least squares on the logarithms of errors, with a prior.
//!
//! Levenberg-Marquardt method. The slope of each point by each parameter comes from two simulations with the
//! same seed, unless the point does not depend on the parameter. The result is the same with any number of
//! threads, as each point is simulated separately.

use foretell_core::Error;
use foretell_core::jobs::Workers;
use foretell_sorted::SortedMap;

use crate::drives;
use crate::load::{Effort, Twin, predict};
use crate::map::Mapped;
use crate::parameters::{PARAMETERS, Values};
use crate::points::{Figures, Row};
use crate::tail::Tail;

/// Relative error of a measurement itself: repeated runs differ by 4 to 10 %.
const NOISE: f64 = 0.06;
/// Step in a parameter's logarithm for slopes: the effect is well above the noise of a simulation.
const STEP: f64 = 0.2;
/// Maximum number of steps.
const STEPS: usize = 16;
/// Maximum number of times that all slopes are measured again.
const RENEWALS: usize = 1;
/// A step counts as stalled if it lowers the sum of squares by less than this share.
const LEAST_GAIN: f64 = 0.02;

/// The result of a fit.
pub struct Fitted {
    /// The parameters.
    pub values: Values,
    /// The points fitted to, with the fitted model's predictions for them.
    pub points: Vec<(Row, Figures)>,
    /// Rows that were not used, and the reasons.
    pub unused: Vec<(usize, String)>,
}

/// Fits the parameters of a source to points.
pub fn fit(twin: &Twin, rows: &[Row], workers: Workers<'_>) -> Result<Fitted, Error> {
    let mut values = Values::default();
    let (mut used, mut unused, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut raw: SortedMap<String, Vec<&Row>> = SortedMap::new();
    for row in rows {
        match twin.scenario_of(row) {
            Err(reason) => unused.push((row.number, reason)),
            Ok((mapped, _)) if mapped.osds_per_device == 0 => match &mapped.drive {
                Some(drive) => raw.entry(drive.clone()).or_default().push(row),
                None => unused.push((row.number, "it measures a drive without a name".to_owned())),
            },
            Ok((mapped, _)) => {
                let mut found = targets(used.len(), row, mapped).peekable();
                if found.peek().is_none() {
                    unused.push((row.number, "it has no figure to fit to".to_owned()));
                } else {
                    used.push(row.clone());
                    all.extend(found);
                }
            }
        }
    }
    for (name, rows) in raw {
        // values that a class assumes beside the points must equal those in the scenario
        let model = drives::model(Some(&name), twin.drive(&name).as_ref(), &rows);
        values.drives.insert(name, model);
    }
    if used.is_empty() && values.drives.is_empty() {
        return Err(Error::Invalid(match unused.first() {
            Some((row, reason)) => format!("no row can be used; row {row}: {reason}"),
            None => "there are no points to fit to".to_owned(),
        }));
    }
    if used.is_empty() {
        return Ok(Fitted { values, points: Vec::new(), unused });
    }
    let mut search = Search { twin, rows: &used, targets: all, workers, values };
    let figures = search.descend()?;
    let mut values = search.values;
    values.tails = tails(&used, &figures);
    let tail = |(row, mut figures): (Row, Figures)| {
        figures.p99_ms = figures.p99_ms.map(|p99| values.tail(&row).of_simulated(p99));
        (row, figures)
    };
    let points = used.into_iter().zip(figures).map(tail).collect();
    Ok(Fitted { values, points, unused })
}

/// A figure that is fitted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Figure {
    Throughput,
    Latency,
    Recovery,
}

/// A measured figure of a row.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Index of the row.
    row: usize,
    figure: Figure,
    measured: f64,
}

/// The fitted figures of a row: throughput, or latency if clients are held to a rate; and the rate of
/// recovery.
fn targets(at: usize, row: &Row, mapped: &Mapped) -> impl Iterator<Item = Target> {
    let limited = mapped.rate_limit(row).is_some();
    let of = |figure: Figure, measured: Option<f64>| {
        measured.map(|measured| Target { row: at, figure, measured })
    };
    let throughput = of(Figure::Throughput, row.measured.iops);
    let latency = of(Figure::Latency, row.measured.mean_ms);
    let clients = if limited { latency.or(throughput) } else { throughput.or(latency) };
    clients.into_iter().chain(of(Figure::Recovery, row.measured.recovery_mib_per_s))
}

impl Target {
    /// The error of a prediction: the logarithm of predicted by measured, in units of the measurement noise.
    fn error(&self, figures: &Figures) -> f64 {
        // no request completed: counts as a thousand times too slow
        let (predicted, nothing) = match self.figure {
            Figure::Throughput => (figures.iops, 1e-3),
            Figure::Latency => (figures.mean_ms, 1e3),
            Figure::Recovery => (figures.recovery_mib_per_s, 1e-3),
        };
        let predicted = predicted.filter(|one| *one > 0.0).unwrap_or(self.measured * nothing);
        libm::log(predicted / self.measured) / NOISE
    }
}

/// Sum of squared residuals, including those of the prior.
fn squares(values: &Values, residuals: &[f64]) -> f64 {
    let prior: f64 = PARAMETERS
        .iter()
        .zip(&values.logs)
        .map(|(one, log)| (log / one.prior_deviation).powi(2))
        .sum();
    prior + residuals.iter().map(|residual| robust(*residual)).sum::<f64>()
}

/// The normal equations of a step, without the prior's pull towards its centre.
fn normal(slopes: &[Vec<f64>], residuals: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let count = PARAMETERS.len();
    let mut matrix = vec![vec![0.0; count]; count];
    let mut right = vec![0.0; count];
    for (at, parameter) in PARAMETERS.iter().enumerate() {
        matrix[at][at] = 1.0 / parameter.prior_deviation.powi(2);
    }
    for (slopes, residual) in slopes.iter().zip(residuals) {
        let weight = weight(*residual);
        for a in 0..count {
            right[a] -= weight * slopes[a] * residual;
            for b in 0..count {
                matrix[a][b] += weight * slopes[a] * slopes[b];
            }
        }
    }
    (matrix, right)
}

struct Search<'a> {
    twin: &'a Twin,
    rows: &'a [Row],
    targets: Vec<Target>,
    workers: Workers<'a>,
    values: Values,
}

impl Search<'_> {
    /// Simulates points, each with its own parameter values.
    fn simulate(&self, jobs: &[(usize, Values)]) -> Result<Vec<Figures>, Error> {
        let one = |(row, values): &(usize, Values)| {
            predict(self.twin, &self.rows[*row], values, Effort::SHORT, self.workers)
        };
        self.workers.perform(jobs, one).all()
    }

    fn all(&self, values: &Values) -> Result<Vec<Figures>, Error> {
        let jobs: Vec<_> = (0..self.rows.len()).map(|row| (row, values.clone())).collect();
        self.simulate(&jobs)
    }

    fn residuals(&self, figures: &[Figures]) -> Vec<f64> {
        self.targets.iter().map(|target| target.error(&figures[target.row])).collect()
    }

    fn stepped(&self, logs: &[f64]) -> Values {
        let bounded = PARAMETERS.iter().zip(logs).map(|(parameter, log)| {
            let (low, high) = parameter.bounds;
            log.clamp(libm::log(low), libm::log(high))
        });
        Values { logs: bounded.collect(), ..self.values.clone() }
    }

    /// Slopes of all residuals by all parameters.
    fn slopes(&self, residuals: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let mut jobs = Vec::new();
        let mut places = Vec::new();
        for (at, parameter) in PARAMETERS.iter().enumerate() {
            let up = self.values.logs[at] + STEP <= libm::log(parameter.bounds.1);
            let step = if up { STEP } else { -STEP };
            let mut logs = self.values.logs.clone();
            logs[at] += step;
            for (index, row) in self.rows.iter().enumerate() {
                let scenario = self.twin.scenario_of(row).map(|(_, table)| table);
                if scenario.is_ok_and(|scenario| parameter.touches(row, scenario)) {
                    jobs.push((index, self.stepped(&logs)));
                    places.push((index, at, step));
                }
            }
        }
        let figures = self.simulate(&jobs)?;
        let mut slopes = vec![vec![0.0; PARAMETERS.len()]; self.targets.len()];
        for ((row, at, step), figures) in places.into_iter().zip(figures) {
            for (index, target) in self.targets.iter().enumerate() {
                if target.row == row {
                    slopes[index][at] = (target.error(&figures) - residuals[index]) / step;
                }
            }
        }
        Ok(slopes)
    }

    /// Fits, and returns the fitted model's predictions for the points.
    ///
    /// Measuring slopes costs most. They are measured at the beginning, and once more when steps along them
    /// no longer help. In between, each step corrects them (Broyden's update).
    fn descend(&mut self) -> Result<Vec<Figures>, Error> {
        let mut figures = self.all(&self.values)?;
        let mut residuals = self.residuals(&figures);
        let mut squares = self::squares(&self.values, &residuals);
        let mut slopes = self.slopes(&residuals)?;
        let (mut damping, mut fresh, mut renewed) = (0.01, true, 0);
        for _ in 0..STEPS {
            let step = self.step(&slopes, &residuals, damping);
            let logs: Vec<f64> =
                self.values.logs.iter().zip(step).map(|(log, step)| log + step).collect();
            let values = self.stepped(&logs);
            let tried = self.all(&values)?;
            let tried_residuals = self.residuals(&tried);
            let tried_squares = self::squares(&values, &tried_residuals);
            correct(&mut slopes, (&self.values, &values), (&residuals, &tried_residuals));
            let gain = squares - tried_squares;
            if gain > 0.0 {
                (self.values, figures, residuals) = (values, tried, tried_residuals);
                damping = (damping * 0.3_f64).max(1e-3);
                fresh = false;
            } else {
                damping = (damping * 8.0).max(0.1);
            }
            let stalls = gain < LEAST_GAIN * squares;
            squares = squares.min(tried_squares);
            if !stalls || gain <= 0.0 && damping < 10.0 {
                continue;
            }
            if fresh || renewed == RENEWALS {
                break;
            }
            slopes = self.slopes(&residuals)?;
            (damping, fresh, renewed) = (0.01, true, renewed + 1);
        }
        self.find_deviations(&slopes, &residuals);
        Ok(figures)
    }

    /// The step that minimises the linear model's residuals.
    fn step(&self, slopes: &[Vec<f64>], residuals: &[f64], damping: f64) -> Vec<f64> {
        let (mut matrix, mut right) = normal(slopes, residuals);
        for (at, row) in matrix.iter_mut().enumerate() {
            row[at] *= 1.0 + damping;
        }
        for (at, parameter) in PARAMETERS.iter().enumerate() {
            right[at] -= self.values.logs[at] / parameter.prior_deviation.powi(2);
        }
        let mut step = solve(matrix, right);
        // the slopes hold only for a short distance, so the step is limited
        let longest = step.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
        if longest > 1.2 {
            for one in &mut step {
                *one *= 1.2 / longest;
            }
        }
        step
    }

    /// Uncertainty of the fitted values, from the slopes and from the remaining misfit.
    fn find_deviations(&mut self, slopes: &[Vec<f64>], residuals: &[f64]) {
        let (matrix, _) = normal(slopes, residuals);
        let misfit = residuals.iter().map(|one| robust(*one)).sum::<f64>() / residuals.len() as f64;
        let misfit = misfit.max(1.0).sqrt();
        for at in 0..PARAMETERS.len() {
            let mut unit = vec![0.0; PARAMETERS.len()];
            unit[at] = 1.0;
            let variance = solve(matrix.clone(), unit)[at];
            let most = PARAMETERS[at].prior_deviation;
            self.values.deviations[at] = (variance.max(0.0).sqrt() * misfit).min(most);
        }
    }
}

/// Corrects slopes by the result of a step: along the step they then match the observed change, across it
/// they are unchanged.
fn correct(
    slopes: &mut [Vec<f64>],
    (from, to): (&Values, &Values),
    (before, after): (&[f64], &[f64]),
) {
    let step: Vec<f64> = to.logs.iter().zip(&from.logs).map(|(to, from)| to - from).collect();
    let length: f64 = step.iter().map(|one| one * one).sum();
    if length < 1e-6 {
        return;
    }
    for (slopes, (before, after)) in slopes.iter_mut().zip(before.iter().zip(after)) {
        let expected: f64 = slopes.iter().zip(&step).map(|(slope, step)| slope * step).sum();
        let surplus = (after - before - expected) / length;
        for (slope, step) in slopes.iter_mut().zip(&step) {
            // a point that does not depend on a parameter stays independent of it
            if *slope != 0.0 {
                *slope += surplus * step;
            }
        }
    }
}

/// Beyond this many deviations an error counts linearly, no longer quadratically, so that one point that the
/// model cannot match does not spoil the others.
const OUTLYING: f64 = 5.0;

fn robust(residual: f64) -> f64 {
    let size = residual.abs();
    if size <= OUTLYING { size * size } else { OUTLYING * (2.0 * size - OUTLYING) }
}

fn weight(residual: f64) -> f64 {
    (OUTLYING / residual.abs()).min(1.0)
}

/// Solves a positive definite system by elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let count = right.len();
    for at in 0..count {
        let pivot = matrix[at].clone();
        for row in at + 1..count {
            let share = matrix[row][at] / pivot[at];
            for (cell, above) in matrix[row].iter_mut().zip(&pivot).skip(at) {
                *cell -= share * above;
            }
            right[row] -= share * right[at];
        }
    }
    for at in (0..count).rev() {
        let known: f64 =
            matrix[at].iter().zip(&right).skip(at + 1).map(|(cell, solved)| cell * solved).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

/// The tails of the points of the fit: for reads, and for writes.
fn tails(rows: &[Row], figures: &[Figures]) -> (Tail, Tail) {
    let of = |reads: bool| {
        let points: Vec<(f64, f64)> = rows
            .iter()
            .zip(figures)
            .filter(|(row, _)| (row.reads >= 0.5) == reads)
            .filter_map(|(row, figures)| Some((row.measured.p99_ms?, figures.p99_ms?)))
            .collect();
        Tail::of(&points)
    };
    let (reads, writes) = (of(true), of(false));
    (reads.or(writes).unwrap_or(Tail::NONE), writes.or(reads).unwrap_or(Tail::NONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        // 2x + y = 5, x + 3y = 10
        let solved = solve(vec![vec![2.0, 1.0], vec![1.0, 3.0]], vec![5.0, 10.0]);
        assert!((solved[0] - 1.0).abs() < 1e-12 && (solved[1] - 3.0).abs() < 1e-12);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn large_errors_count_by_their_size() {
        assert_eq!(robust(2.0), 4.0);
        assert_eq!(robust(10.0), 75.0);
        assert_eq!(weight(10.0), 0.5);
    }
}
