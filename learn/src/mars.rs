//! Multivariate adaptive regression splines (Friedman 1991), in earth's conventions.
//!
//! A term is a product of hinges max(0, x − t), max(0, t − x) and of plain features. The forward pass
//! ([`forward`]) adds the pair of hinges that lowers the squared error most, times a term that is
//! already in the model. The backward pass ([`backward`]) drops terms and keeps the set with the
//! lowest generalised cross-validation error GCV = (RSS/n) / (1 − C/n)², with
//! C = terms + penalty × (terms − 1) / 2. `threshold`: the forward pass ends when R² grows by less than
//! this, or when 1 − R² is below this. `nnodes` caps the forward terms, counting a pair as two even where
//! only one of it is used; `nprune` caps the terms that remain.

mod backward;
mod candidates;
mod forward;

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::least_squares::Qr;
use crate::matrix::Matrix;
use backward::Backward;
pub(crate) use forward::Forward;

/// How one feature enters a term.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// max(0, x − knot).
    Above,
    /// max(0, knot − x).
    Below,
    /// x itself.
    Linear,
}

/// A factor of a product term.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hinge {
    /// Column of x.
    pub column: usize,
    /// How the feature enters.
    pub shape: Shape,
    /// The knot; for a linear factor the lowest value, for information only.
    pub knot: f64,
}

impl Hinge {
    fn of(&self, x: f64) -> f64 {
        match self.shape {
            Shape::Above => (x - self.knot).max(0.0),
            Shape::Below => (self.knot - x).max(0.0),
            Shape::Linear => x,
        }
    }
}

/// A product of hinges; an empty product is the intercept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Basis {
    /// Its factors, by column.
    pub hinges: Vec<Hinge>,
}

impl Basis {
    fn of_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        self.hinges.iter().map(|hinge| hinge.of(row(hinge.column))).product()
    }

    fn column(&self, x: &Matrix) -> Vec<f64> {
        let mut values = vec![1.0; x.rows()];
        for hinge in &self.hinges {
            for (value, x) in values.iter_mut().zip(x.column(hinge.column)) {
                *value *= hinge.of(*x);
            }
        }
        values
    }

    /// The term as earth writes it: `h(bmi-22.2)*sex`.
    pub fn name(&self, names: &[String]) -> String {
        if self.hinges.is_empty() {
            return "(Intercept)".to_owned();
        }
        let factors: Vec<String> = self
            .hinges
            .iter()
            .map(|hinge| {
                let (name, knot) = (&names[hinge.column], hinge.knot);
                match hinge.shape {
                    Shape::Above if knot < 0.0 => format!("h({name}+{})", -knot),
                    Shape::Above => format!("h({name}-{knot})"),
                    Shape::Below => format!("h({knot}-{name})"),
                    Shape::Linear => name.clone(),
                }
            })
            .collect();
        factors.join("*")
    }
}

/// Settings of the fit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MarsSettings {
    /// Maximum number of hinges in a term.
    pub(crate) degree: usize,
    /// Maximum number of terms of the forward pass; `None`: min(200, max(20, 2p)) + 1.
    pub(crate) nnodes: Option<usize>,
    /// The pass ends if R² grows by less than this.
    pub(crate) threshold: f64,
    /// Maximum number of terms after pruning.
    pub(crate) nprune: Option<usize>,
    /// Penalty of a knot; `None`: 2 for degree 1, 3 above.
    pub(crate) penalty: Option<f64>,
    /// Number of parents that each step tries, the most promising first (Friedman 1993); 0: all.
    pub(crate) fast_k: usize,
    /// Rows between knots; 0: by Friedman's equation 43.
    pub(crate) min_span: usize,
    /// Rows without a knot at each end; 0: by Friedman's equation 45.
    pub(crate) end_span: usize,
}

impl MarsSettings {
    pub(crate) fn nodes(&self, columns: usize) -> usize {
        self.nnodes.unwrap_or_else(|| (2 * columns).clamp(20, 200) + 1)
    }

    pub(crate) fn price(&self) -> f64 {
        self.penalty.unwrap_or(if self.degree > 1 { 3.0 } else { 2.0 })
    }
}

/// A sum of terms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mars {
    /// Terms with their coefficients; the first is the intercept.
    pub terms: Vec<(Basis, f64)>,
    /// Squared error on the training rows.
    pub rss: f64,
    /// Generalised cross-validation error.
    pub gcv: f64,
}

impl Mars {
    pub(crate) fn fit(x: &Matrix, y: &[f64], settings: &MarsSettings) -> Self {
        let forward = Forward::run(x, y, settings);
        Self::prune(x, y, settings, forward.terms())
    }

    /// Prunes the terms of a forward pass.
    pub(crate) fn prune(x: &Matrix, y: &[f64], settings: &MarsSettings, terms: &[Basis]) -> Self {
        let backward = Backward::run(x, y, terms);
        let kept = backward.choose(settings.nprune, settings.price());
        Self::of_terms(x, y, terms, &kept, settings.price())
    }

    /// The model with exactly these terms.
    pub(crate) fn of_terms(
        x: &Matrix,
        y: &[f64],
        terms: &[Basis],
        kept: &[usize],
        penalty: f64,
    ) -> Self {
        let mut design = Matrix::zeros(x.rows(), kept.len());
        for (place, &term) in kept.iter().enumerate() {
            design.column_mut(place).copy_from_slice(&terms[term].column(x));
        }
        let solution = Qr::new(design.clone()).solve(y);
        let mut residuals = y.to_vec();
        for (place, coefficient) in solution.iter().enumerate() {
            let coefficient = coefficient.unwrap_or(0.0);
            crate::matrix::add_scaled(&mut residuals, -coefficient, design.column(place));
        }
        let rss = crate::matrix::dot(&residuals, &residuals);
        let terms: Vec<(Basis, f64)> = kept
            .iter()
            .zip(solution)
            .map(|(&term, coefficient)| (terms[term].clone(), coefficient.unwrap_or(0.0)))
            .collect();
        let gcv = gcv(rss, x.rows(), terms.len(), penalty);
        Self { terms, rss, gcv }
    }

    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        self.terms.iter().map(|(basis, coefficient)| coefficient * basis.of_row(&row)).sum()
    }

    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.terms.iter().flat_map(|(basis, _)| &basis.hinges).all(|hinge| hinge.column < columns)
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let mut text = format!(
            "{} terms, squared error {:.9e}, generalised cross-validation error {:.9e}\n",
            self.terms.len(),
            self.rss,
            self.gcv
        );
        for (basis, coefficient) in &self.terms {
            let _ = writeln!(text, "{:<40} {coefficient:>16.9e}", basis.name(names));
        }
        text
    }
}

/// Generalised cross-validation error of a model of `terms` terms; infinite where they cost more than
/// there are rows.
fn gcv(rss: f64, rows: usize, terms: usize, penalty: f64) -> f64 {
    let n = rows as f64;
    let cost = terms as f64 + penalty * (terms as f64 - 1.0) / 2.0;
    if cost >= n {
        return f64::INFINITY;
    }
    let free = 1.0 - cost / n;
    rss / n / (free * free)
}

/// For the search: a forward pass run once to its end. Its beginning is the pass for any smaller
/// `nnodes` or larger `threshold`.
pub(crate) struct Sweep {
    forward: Forward,
}

impl Sweep {
    pub(crate) fn new(x: &Matrix, y: &[f64], widest: &MarsSettings) -> Self {
        Self { forward: Forward::run(x, y, widest) }
    }

    /// Number of terms that the pass would have had with these settings.
    pub(crate) fn terms(&self, nnodes: usize, threshold: f64) -> usize {
        self.forward.terms_at(nnodes, threshold)
    }

    /// The backward pass over the first `terms` terms.
    pub(crate) fn backward(&self, x: &Matrix, y: &[f64], terms: usize) -> Backward {
        Backward::run(x, y, &self.forward.terms()[..terms])
    }

    pub(crate) fn model(
        &self,
        x: &Matrix,
        y: &[f64],
        backward: &Backward,
        settings: &MarsSettings,
    ) -> Mars {
        let kept = backward.choose(settings.nprune, settings.price());
        Mars::of_terms(x, y, self.forward.terms(), &kept, settings.price())
    }
}

pub(crate) use backward::Backward as Drops;
