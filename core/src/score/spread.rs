//! Errors of many comparisons: quantiles of the errors, and means over runs with different seeds.

use serde::Serialize;

use super::Comparison;

/// Quantiles of the errors in one metric.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// Number of comparisons.
    pub count: usize,
    /// The median error.
    pub median: f64,
    /// The 90th percentile of the errors.
    pub p90: f64,
    /// The largest error.
    pub worst: f64,
}

/// The quantiles of the errors of comparisons in a metric; zeros where there are none.
pub fn spread<'a>(comparisons: impl Iterator<Item = &'a Comparison>, metric: &str) -> Spread {
    let errors = comparisons.filter(|found| found.metric == metric && found.error.is_finite());
    let mut errors: Vec<f64> = errors.map(|found| found.error).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = errors.len().saturating_sub(1);
        errors.get(((share * errors.len() as f64) as usize).min(last)).copied().unwrap_or(0.0)
    };
    Spread { count: errors.len(), median: at(0.5), p90: at(0.9), worst: at(1.0) }
}

/// Means and standard deviations over runs with different seeds. At least one run is needed.
pub fn over_seeds(runs: &[Vec<Comparison>]) -> Vec<Comparison> {
    let mut all = runs[0].clone();
    if runs.len() == 1 {
        return all;
    }
    for found in &mut all {
        let same =
            |other: &&Comparison| other.workload == found.workload && other.metric == found.metric;
        let each: Vec<&Comparison> = runs.iter().filter_map(|run| run.iter().find(same)).collect();
        let spread = |of: fn(&Comparison) -> f64| {
            let count = each.len() as f64;
            let mean = each.iter().map(|run| of(run)).sum::<f64>() / count;
            let squares: f64 = each.iter().map(|run| (of(run) - mean).powi(2)).sum();
            (mean, (squares / (count - 1.0).max(1.0)).sqrt())
        };
        let (predicted, predicted_sd) = spread(|run| run.predicted);
        let (measured, measured_sd) = spread(|run| run.measured);
        *found = Comparison {
            predicted,
            measured,
            error: (predicted - measured).abs() / measured,
            predicted_sd: Some(predicted_sd),
            measured_sd: Some(measured_sd),
            ..found.clone()
        };
    }
    all
}
