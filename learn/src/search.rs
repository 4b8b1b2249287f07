//! Iterative parameter optimization: Algorithm 1 of Noorshams et al. 2013.
//!
//! The search begins with one corner of the space. Each iteration explores the space around the n best
//! points so far. In each dimension, that space reaches from the nearest lower to the nearest higher
//! value of any evaluated point (or to the end of the range). It is cut by k equidistant values, rounded
//! to valid ones. Every point of the resulting grid is evaluated, unless it was before. No evaluated
//! point is forgotten. The paper leaves the stopping criterion open ("after 10 iterations" in its
//! evaluation) and says "next valid value". Here values are rounded to the nearest valid one, and the
//! search also stops when an iteration finds no new point to evaluate.

use std::num::NonZeroUsize;

use serde::Serialize;

use crate::LearnError;
use crate::spec::{Spec, Values};
use crate::validate::in_parallel;

/// The range of values of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchRange {
    /// The parameter's name.
    pub name: String,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
    /// Whether only whole numbers are valid.
    pub whole: bool,
}

impl SearchRange {
    /// The range of a parameter of this model.
    ///
    /// # Errors
    ///
    /// If the model has no such parameter, or one of both values is impossible.
    pub fn of(spec: &Spec, name: &str, low: f64, high: f64) -> Result<Self, LearnError> {
        spec.clone().with(name, low)?.with(name, high)?;
        let parameter = spec.kind().parameters().iter().find(|known| known.name == name);
        let whole = parameter.is_some_and(|known| !matches!(known.values, Values::Real(..)));
        Ok(Self { name: name.to_owned(), low, high, whole })
    }
}

/// How wide and how long to search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchSettings {
    /// k: number of values that cut a dimension in each iteration.
    pub splits: usize,
    /// n: number of best points explored in each iteration.
    pub explorations: usize,
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Stops when an iteration lowers the best cost by less than this share of it; 0 switches this
    /// criterion off.
    pub least_gain: f64,
    /// Number of threads.
    pub jobs: NonZeroUsize,
}

impl Default for SearchSettings {
    /// The paper's settings: k = 4, n = 5, 10 iterations.
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { splits: 4, explorations: 5, iterations: 10, least_gain: 0.0, jobs }
    }
}

/// A point and its cost.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Evaluated {
    /// One value for each range.
    pub point: Vec<f64>,
    /// Its cost; infinite if the evaluation failed.
    pub cost: f64,
}

/// Result of a search.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SearchResult {
    /// The best point.
    pub best: Evaluated,
    /// All points, in the order in which they were first evaluated.
    pub evaluated: Vec<Evaluated>,
    /// Number of iterations done.
    pub iterations: usize,
}

/// Searches for the point with the smallest `cost`. The result does not depend on the number of threads.
/// Errors if there are no ranges, a range is empty, or k or n is 0.
pub fn search(
    ranges: &[SearchRange],
    settings: &SearchSettings,
    cost: impl Fn(&[f64]) -> f64 + Sync,
) -> Result<SearchResult, LearnError> {
    check(ranges, settings)?;
    let corner: Vec<f64> = ranges.iter().map(|range| range.low).collect();
    let first = Evaluated { cost: cost_of(&cost, &corner), point: corner };
    let mut evaluated = vec![first.clone()];
    let mut best = vec![first];
    let mut iterations = 0;
    while iterations < settings.iterations {
        let mut new: Vec<Vec<f64>> = Vec::new();
        for pivot in &best {
            let values: Vec<Vec<f64>> = ranges
                .iter()
                .enumerate()
                .map(|(i, range)| cuts(range, i, pivot.point[i], &evaluated, settings.splits))
                .collect();
            for point in product(&values) {
                let known = evaluated.iter().map(|known| &known.point).chain(&new);
                if !known.into_iter().any(|known| same(known, &point)) {
                    new.push(point);
                }
            }
        }
        iterations += 1;
        if new.is_empty() {
            break;
        }
        let costs = in_parallel(new.len(), settings.jobs, |index| cost_of(&cost, &new[index]));
        let before = best[0].cost;
        evaluated.extend(new.into_iter().zip(costs).map(|(point, cost)| Evaluated { point, cost }));
        best.clone_from(&evaluated);
        best.sort_by(|a, b| a.cost.total_cmp(&b.cost)); // stable: of equal ones the earlier
        best.truncate(settings.explorations);
        let gain = before - best[0].cost;
        if settings.least_gain > 0.0 && gain < settings.least_gain * before {
            break;
        }
    }
    Ok(SearchResult { best: best.swap_remove(0), evaluated, iterations })
}

fn check(ranges: &[SearchRange], settings: &SearchSettings) -> Result<(), LearnError> {
    let fault = |fault: String| LearnError::Search { fault };
    if ranges.is_empty() {
        return Err(fault("there are no parameters to search".to_owned()));
    }
    if settings.splits == 0 || settings.explorations == 0 {
        return Err(fault("splits and explorations must be at least 1".to_owned()));
    }
    for SearchRange { name, low, high, whole } in ranges {
        if !low.is_finite() || !high.is_finite() || low > high {
            return Err(fault(format!("the range of `{name}`, {low} to {high}, is empty")));
        }
        if *whole && (low.fract() != 0.0 || high.fract() != 0.0) {
            return Err(fault(format!(
                "`{name}` is a whole number, but its range is {low} to {high}"
            )));
        }
    }
    Ok(())
}

fn cost_of(cost: &impl Fn(&[f64]) -> f64, point: &[f64]) -> f64 {
    let cost = cost(point);
    if cost.is_nan() { f64::INFINITY } else { cost }
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Values of dimension `i` around a pivot: its nearest evaluated neighbours there, and the cuts between
/// them.
fn cuts(
    range: &SearchRange,
    i: usize,
    pivot: f64,
    evaluated: &[Evaluated],
    splits: usize,
) -> Vec<f64> {
    let values = || evaluated.iter().map(|known| known.point[i]);
    let low = values().filter(|value| *value < pivot).fold(f64::NEG_INFINITY, f64::max);
    let high = values().filter(|value| *value > pivot).fold(f64::INFINITY, f64::min);
    let low = if low.is_finite() { low } else { range.low };
    let high = if high.is_finite() { high } else { range.high };
    let step = (high - low) / (splits + 1) as f64;
    let mut cuts: Vec<f64> = (0..=splits).map(|cut| low + cut as f64 * step).collect();
    cuts.push(high);
    if range.whole {
        for cut in &mut cuts {
            *cut = cut.round();
        }
    }
    cuts.dedup_by(|a, b| a.to_bits() == b.to_bits());
    cuts
}

/// All combinations, the last dimension changing fastest.
fn product(values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new()];
    for dimension in values {
        points = points
            .into_iter()
            .flat_map(|point| {
                dimension.iter().map(move |value| {
                    let mut longer = point.clone();
                    longer.push(*value);
                    longer
                })
            })
            .collect();
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: f64, high: f64, whole: bool) -> SearchRange {
        SearchRange { name: "p".to_owned(), low, high, whole }
    }

    fn settings(splits: usize, explorations: usize, iterations: usize) -> SearchSettings {
        SearchSettings { splits, explorations, iterations, ..SearchSettings::default() }
    }

    #[test]
    fn the_first_iteration_is_the_grid_of_figure_7() {
        // k = 3 on [0, 4]²: the corner, then the 5 × 5 grid without it
        let ranges = [range(0.0, 4.0, false), range(0.0, 4.0, false)];
        let found = search(&ranges, &settings(3, 2, 1), |p| p[0] + p[1]).unwrap();
        assert_eq!(found.evaluated.len(), 25);
        assert_eq!(found.evaluated[0].point, [0.0, 0.0]);
        assert_eq!(found.evaluated[1].point, [0.0, 1.0]);
        assert_eq!(found.evaluated[24].point, [4.0, 4.0]);
        assert_eq!(found.best.point, [0.0, 0.0]);
    }

    #[test]
    fn later_iterations_cut_between_evaluated_neighbours() {
        // first 0, 5, 10, with 1 split; then around 5 (between 0 and 10): 0, 5, 10 again: nothing new.
        // With 2 splits: 0, 3⅓, 6⅔, 10; the best of |p − 4| is 3⅓, whose neighbours are 0 and 6⅔:
        // cut at 2 2/9 and 4 4/9
        let cost = |p: &[f64]| (p[0] - 4.0).abs();
        let found = search(&[range(0.0, 10.0, false)], &settings(1, 1, 5), cost).unwrap();
        assert_eq!((found.evaluated.len(), found.iterations), (3, 2));
        let found = search(&[range(0.0, 10.0, false)], &settings(2, 1, 2), cost).unwrap();
        let points: Vec<f64> = found.evaluated.iter().map(|known| known.point[0]).collect();
        assert_eq!(points[..4], [0.0, 10.0 / 3.0, 20.0 / 3.0, 10.0]);
        assert!((points[4] - 20.0 / 9.0).abs() < 1e-12 && (points[5] - 40.0 / 9.0).abs() < 1e-12);
        assert_eq!(points.len(), 6);
    }

    #[test]
    fn whole_parameters_converge_to_the_optimum_of_a_convex_cost() {
        let ranges = [range(2.0, 400.0, true), range(0.0, 9.0, true)];
        let cost = |p: &[f64]| (p[0] - 173.0).powi(2) + 10.0 * (p[1] - 4.0).powi(2);
        let found = search(&ranges, &settings(4, 5, 10), cost).unwrap();
        assert_eq!(found.best.point, [173.0, 4.0]);
        // no point twice
        let mut points: Vec<_> = found.evaluated.iter().map(|e| format!("{:?}", e.point)).collect();
        points.sort();
        points.dedup();
        assert_eq!(points.len(), found.evaluated.len());
    }

    #[test]
    fn threads_do_not_matter() {
        let ranges = [range(0.0, 1.0, false), range(1.0, 50.0, true)];
        let cost = |p: &[f64]| (p[0] - 0.3).powi(2) + (p[1] / 50.0 - 0.5).powi(2);
        let one = SearchSettings { jobs: NonZeroUsize::MIN, ..settings(4, 3, 4) };
        let two = SearchSettings { jobs: NonZeroUsize::new(2).unwrap(), ..one };
        assert_eq!(search(&ranges, &one, cost).unwrap(), search(&ranges, &two, cost).unwrap());
    }

    #[test]
    fn empty_ranges_are_told() {
        let fault = search(&[range(5.0, 2.0, false)], &settings(4, 5, 1), |_| 0.0).unwrap_err();
        assert_eq!(fault.to_string(), "search: the range of `p`, 5 to 2, is empty");
    }
}
