//! Linear models: plain least squares, with or without products of pairs of features.
//!
//! The paper's LRM: β₀ + Σ βᵢxᵢ, and with interactions also βᵢⱼxᵢxⱼ for i < j ("the effects of the
//! independent variables remain linear": no squares). Terms are in R's order for `y ~ .^2`. Two
//! columns of one factor have no product, as it would always be 0.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::least_squares::Qr;
use crate::matrix::{Matrix, mean};

/// A term: one column, or the product of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Term {
    /// A column by itself.
    Column(usize),
    /// The product of two columns.
    Product(usize, usize),
}

/// β₀ + Σ β × term.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinearModel {
    /// β₀.
    pub intercept: f64,
    /// Terms and their coefficients; `None`: the term depended on others and was dropped.
    pub terms: Vec<(Term, Option<f64>)>,
}

impl LinearModel {
    /// Fits by least squares. `owners`: the feature of each column.
    pub(crate) fn fit(x: &Matrix, y: &[f64], interactions: bool, owners: &[usize]) -> Self {
        let mut terms: Vec<Term> = (0..x.columns()).map(Term::Column).collect();
        if interactions {
            for a in 0..x.columns() {
                let others = (a + 1..x.columns()).filter(|&b| owners.get(a) != owners.get(b));
                terms.extend(others.map(|b| Term::Product(a, b)));
            }
        }
        let mut design = Matrix::zeros(x.rows(), terms.len() + 1);
        design.column_mut(0).fill(1.0);
        for (index, term) in terms.iter().enumerate() {
            let column = design.column_mut(index + 1);
            match *term {
                Term::Column(a) => column.copy_from_slice(x.column(a)),
                Term::Product(a, b) => {
                    for ((value, a), b) in column.iter_mut().zip(x.column(a)).zip(x.column(b)) {
                        *value = a * b;
                    }
                }
            }
        }
        let solution = Qr::new(design).solve(y);
        let terms = terms.into_iter().zip(solution[1..].iter().copied()).collect();
        Self { intercept: solution[0].unwrap_or_else(|| mean(y)), terms }
    }

    /// A model of single columns with these coefficients.
    pub(crate) fn of_columns(intercept: f64, coefficients: &[f64]) -> Self {
        let term =
            |(column, coefficient): (usize, &f64)| (Term::Column(column), Some(*coefficient));
        Self { intercept, terms: coefficients.iter().enumerate().map(term).collect() }
    }

    /// Writes this model's predictions into `predicted`.
    pub(crate) fn predict_into(&self, x: &Matrix, predicted: &mut [f64]) {
        predicted.fill(self.intercept);
        for (term, coefficient) in &self.terms {
            let Some(coefficient) = coefficient.filter(|coefficient| *coefficient != 0.0) else {
                continue;
            };
            match *term {
                Term::Column(a) => crate::matrix::add_scaled(predicted, coefficient, x.column(a)),
                Term::Product(a, b) => {
                    for ((value, a), b) in predicted.iter_mut().zip(x.column(a)).zip(x.column(b)) {
                        *value += coefficient * a * b;
                    }
                }
            }
        }
    }

    pub(crate) fn predict_row(&self, row: &[f64]) -> f64 {
        let value = |(term, coefficient): &(Term, Option<f64>)| match *term {
            Term::Column(a) => coefficient.map_or(0.0, |beta| beta * row[a]),
            Term::Product(a, b) => coefficient.map_or(0.0, |beta| beta * row[a] * row[b]),
        };
        self.intercept + self.terms.iter().map(value).sum::<f64>()
    }

    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.terms.iter().all(|(term, _)| match *term {
            Term::Column(a) => a < columns,
            Term::Product(a, b) => a < columns && b < columns,
        })
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let mut text = format!("{:<32} {:>16.9e}\n", "(intercept)", self.intercept);
        for (term, coefficient) in &self.terms {
            let name = match *term {
                Term::Column(a) => names[a].clone(),
                Term::Product(a, b) => format!("{} * {}", names[a], names[b]),
            };
            let _ = match coefficient {
                Some(coefficient) => writeln!(text, "{name:<32} {coefficient:>16.9e}"),
                None => writeln!(text, "{name:<32}         (dropped: depends on those above)"),
            };
        }
        text
    }
}
