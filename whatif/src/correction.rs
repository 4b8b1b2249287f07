//! Bias correction: the model's error on its own run.
//!
//! The recorded run is a question whose answer is known. So the model also predicts the recorded run, and its
//! other answers are multiplied by the ratio of recorded to modelled response times. The further a change
//! moves the workload from the recorded state, the smaller the correction is: an error in a disk's queue says
//! little about a cluster without a queue there. (Glahn & Lowry, *The Use of Model Output Statistics in
//! Objective Weather Forecasting*, 1972, correct forecasts by the errors of earlier ones.)

use crate::answer::ResponseTimeMs;

/// Logarithm of the change of a mean response time at which 1/e of a correction remains (assumed: little of a
/// queue's error remains when the queue is twice as long).
const FADES: f64 = 0.7;

/// Largest difference of the logarithms of the factors of median and mean with which a median is not near a jump between
/// two kinds of requests (assumed: hits and misses differ by more).
const BETWEEN_KINDS: f64 = 0.15;
/// A median that moves by less than this logarithm stays where it is, jump or not.
const UNMOVED: f64 = 0.01;

/// Modelled and recorded response times of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correction {
    pub(crate) modelled: ResponseTimeMs,
    pub(crate) recorded: ResponseTimeMs,
}

/// Share of a correction that remains when a quantity has changed by this logarithm.
fn weight(moved: f64) -> f64 {
    if moved.is_nan() { 0.0 } else { libm::exp(-moved.abs() / FADES) }
}

/// The correction factor of a model that computed `modelled` where `recorded` was measured.
fn factor(modelled: f64, recorded: f64, weight: f64) -> f64 {
    let ratio = recorded / modelled;
    if ratio.is_finite() && ratio > 0.0 { libm::pow(ratio, weight) } else { 1.0 }
}

/// Corrects the model's answer `predicted`, given that it computed `modelled` where `recorded` was
/// measured; all are positive.
pub(crate) fn corrected(predicted: f64, modelled: f64, recorded: f64) -> f64 {
    let moved = libm::log(predicted / modelled);
    if moved.is_finite() {
        predicted * factor(modelled, recorded, weight(moved))
    } else {
        predicted
    }
}

impl Correction {
    /// Corrects the model's answer `predicted`.
    pub(crate) fn apply(&self, predicted: ResponseTimeMs) -> ResponseTimeMs {
        let moved = libm::log(predicted.mean / self.modelled.mean);
        if !moved.is_finite() {
            return predicted;
        }
        let weight = weight(moved);
        let factor = |modelled: f64, recorded: f64| factor(modelled, recorded, weight);
        let mean = factor(self.modelled.mean, self.recorded.mean);
        let tail = |of: fn(&ResponseTimeMs) -> Option<f64>| {
            let (modelled, recorded) = (of(&self.modelled), of(&self.recorded));
            let factor = modelled.zip(recorded).map_or(mean, |(m, r)| factor(m, r));
            of(&predicted).map(|ms| ms * factor)
        };
        let p50 = self.median(&predicted, mean, weight);
        let no_less = |ms: f64, than: Option<f64>| than.map_or(ms, |than| ms.max(than));
        let p95 = tail(|times| times.p95).map(|ms| no_less(ms, p50));
        let p99 = tail(|times| times.p99).map(|ms| no_less(ms, p95));
        ResponseTimeMs { mean: predicted.mean * mean, p50, p95, p99 }
    }

    /// Corrects the median by its own error, as far as it stays where it is. If it jumps between two kinds of requests,
    /// such as hits and misses, or is near such a jump, its error says nothing, and it gets the factor of the mean.
    fn median(&self, predicted: &ResponseTimeMs, mean: f64, of_own: f64) -> Option<f64> {
        let ms = predicted.p50?;
        let Some((modelled, recorded)) = self.modelled.p50.zip(self.recorded.p50) else {
            return Some(ms * mean);
        };
        let own = factor(modelled, recorded, of_own);
        let moved = libm::log(ms / modelled);
        if libm::log(own / mean).abs() > BETWEEN_KINDS && moved.abs() > UNMOVED {
            return Some(ms * mean);
        }
        let stays = weight(moved);
        Some(ms * libm::pow(own, stays) * libm::pow(mean, 1.0 - stays))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mean: f64, p50: f64, p95: f64, p99: f64) -> ResponseTimeMs {
        ResponseTimeMs { mean, p50: Some(p50), p95: Some(p95), p99: Some(p99) }
    }

    #[test]
    fn a_model_that_is_right_is_not_corrected() {
        let right = times(5.0, 4.0, 12.0, 20.0);
        let correction = Correction { modelled: right, recorded: right };
        let predicted = times(7.0, 6.0, 13.0, 30.0);
        assert_eq!(correction.apply(predicted), predicted);
    }

    #[test]
    fn the_run_itself_becomes_what_was_recorded() {
        let modelled = times(5.0, 4.0, 12.0, 20.0);
        let recorded = times(6.0, 4.8, 15.0, 18.0);
        let found = Correction { modelled, recorded }.apply(modelled);
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        assert!((found.mean - 6.0).abs() < 1e-9);
        assert!(near(found.p50, recorded.p50) && near(found.p95, recorded.p95));
        assert!(near(found.p99, recorded.p99), "{found:?}");
    }

    #[test]
    fn a_median_keeps_its_own_error_while_it_stays_where_it_is() {
        // a mean that is right, and a median that is 10 % too short
        let modelled = times(5.0, 4.5, 12.0, 20.0);
        let recorded = times(5.0, 5.0, 12.0, 20.0);
        let correction = Correction { modelled, recorded };
        let p50 = |predicted: ResponseTimeMs| correction.apply(predicted).p50.unwrap();
        assert!((p50(modelled) - 5.0).abs() < 1e-9);
        assert!((p50(times(5.0, 4.6, 12.0, 20.0)) / 4.6 - 10.0 / 9.0).abs() < 0.01);
        // now a median request is a hit
        assert!((p50(times(5.0, 0.1, 12.0, 20.0)) / 0.1 - 1.0).abs() < 0.01);
        // in the recorded run, as many requests were hits as not
        let recorded = times(5.0, 0.1, 12.0, 20.0);
        let unsure = Correction { modelled, recorded }.apply(times(5.0, 4.4, 12.0, 20.0));
        assert!((unsure.p50.unwrap() - 4.4).abs() < 1e-9);
    }

    #[test]
    fn far_from_the_run_little_is_corrected() {
        let correction = Correction {
            modelled: times(5.0, 5.0, 5.0, 5.0),
            recorded: times(10.0, 10.0, 10.0, 10.0),
        };
        let near = correction.apply(times(5.5, 5.0, 6.0, 7.0)).mean / 5.5;
        let far = correction.apply(times(100.0, 90.0, 200.0, 300.0)).mean / 100.0;
        assert!(near > 1.8 && far < 1.02, "{near} {far}");
    }
}
