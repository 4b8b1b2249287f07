//! Mean and standard deviation over several runs.

/// Results of several runs of one point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample; 0 for a single run.
    pub deviation: f64,
}

impl Spread {
    /// Mean and deviation of these values; there must be at least one.
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty());
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Self { mean, deviation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_mean_and_sample_deviation() {
        // deviations from 4: -2, 0, 2; squares 8; 8 / 2 = 4
        let spread = Spread::of(&[2.0, 4.0, 6.0]);
        assert!((spread.mean - 4.0).abs() < 1e-12 && (spread.deviation - 2.0).abs() < 1e-12);
        assert_eq!(Spread::of(&[5.0]), Spread { mean: 5.0, deviation: 0.0 });
    }
}
