//! What a model has learned: which features matter, how predictions depend on them, and what more rows would bring.

use std::num::NonZeroUsize;

use foretell_units::Seed;

use crate::LearnError;
use crate::dataset::Dataset;
use crate::explain::{Dependence, Importance, Learned, dependence, importance, learning_curve};
use crate::model::{Trained, Training};
use crate::spec::Spec;
use crate::validate::Parts;

/// Number of features whose dependence is computed by default.
const FEATURES: usize = 3;
/// Shares of the rows in a learning curve.
const SHARES: [f64; 6] = [0.1, 0.2, 0.35, 0.5, 0.75, 1.0];

/// What is known of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// Importance of each feature, the most important first.
    pub importances: Vec<Importance>,
    /// By feature: mean predictions at its values.
    pub dependences: Vec<(String, Vec<Dependence>)>,
    /// Errors on held-out rows, of models of 10 to 100 % of the other rows.
    pub curve: Vec<Learned>,
}

impl Explanation {
    /// Explains the model of `spec` on these rows. `parts`: the rows that importances and the learning curve are
    /// measured on; `features`: those whose dependence is wanted, or, if empty, the three most important.
    ///
    /// # Errors
    ///
    /// If the model cannot be fitted, or there is no such feature.
    pub fn of(
        spec: &Spec,
        data: &Dataset,
        parts: &Parts,
        training: &Training,
        features: &[String],
        seed: Seed,
        jobs: NonZeroUsize,
    ) -> Result<Self, LearnError> {
        let importances = importance(spec, data, parts, training, seed, jobs)?;
        let trained = Trained::fit(spec, data, training)?;
        let first = importances.iter().take(FEATURES).map(|of| of.feature.clone());
        let features: Vec<String> =
            if features.is_empty() { first.collect() } else { features.to_vec() };
        let mut dependences = Vec::new();
        for feature in features {
            let of_feature = dependence(&trained, data, &feature)?;
            dependences.push((feature, of_feature));
        }
        let curve = learning_curve(spec, data, parts, training, &SHARES, seed, jobs)?;
        Ok(Self { importances, dependences, curve })
    }
}
