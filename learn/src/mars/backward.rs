//! The backward pass drops terms one after the other, each time the one that raises the squared
//! error least.
//!
//! With G = (XᵀX)⁻¹, dropping term j adds βⱼ²/Gⱼⱼ. One rank-one step then updates β and G of the
//! remaining terms. G comes from a QR decomposition of columns of unit length, not from the
//! products.

use super::{Basis, gcv};
use crate::least_squares::Qr;
use crate::matrix::{Matrix, add_scaled, dot};

/// The order of drops and the squared error after each.
pub(crate) struct Backward {
    rows: usize,
    /// Terms that do not depend on terms before them, ascending; the intercept first.
    independent: Vec<usize>,
    /// Terms in the order in which they are dropped.
    dropped: Vec<usize>,
    /// Squared error with all independent terms, and after each drop.
    rss: Vec<f64>,
}

impl Backward {
    pub(crate) fn run(x: &Matrix, y: &[f64], terms: &[Basis]) -> Self {
        let rows = x.rows();
        let mut design = Matrix::zeros(rows, terms.len());
        for (index, term) in terms.iter().enumerate() {
            let mut column = term.column(x);
            let length = dot(&column, &column).sqrt();
            if length > 0.0 {
                for value in &mut column {
                    *value /= length;
                }
            }
            design.column_mut(index).copy_from_slice(&column);
        }
        let qr = Qr::new(design);
        let rank = qr.rank();
        let rotated = qr.q_transposed(y);
        let mut total: f64 = rotated[rank..].iter().map(|value| value * value).sum();
        // R⁻¹, column by column
        let mut inverse = Matrix::zeros(rank, rank);
        for j in 0..rank {
            let mut unit = vec![0.0; rank];
            unit[j] = 1.0;
            for i in (0..=j).rev() {
                let known: f64 = (i + 1..=j).map(|k| qr.r(i, k) * unit[k]).sum();
                unit[i] = (unit[i] - known) / qr.r(i, i);
            }
            inverse.column_mut(j).copy_from_slice(&unit);
        }
        // β = R⁻¹Qᵀy and G = R⁻¹R⁻ᵀ
        let mut beta = vec![0.0; rank];
        let mut g = Matrix::zeros(rank, rank);
        for k in 0..rank {
            let column = &inverse.column(k)[..=k];
            add_scaled(&mut beta[..=k], rotated[k], column);
            for j in 0..=k {
                add_scaled(&mut g.column_mut(j)[..=k], column[j], column);
            }
        }
        let mut alive: Vec<usize> = (0..rank).collect();
        let mut order: Vec<usize> = qr.order()[..rank].to_vec();
        let mut dropped = Vec::new();
        let mut rss = vec![total];
        while alive.len() > 1 {
            let cost = |place: usize| beta[place] * beta[place] / g.get(place, place);
            let weakest = alive
                .iter()
                .copied()
                .filter(|&place| order[place] != 0)
                .min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
            let Some(weakest) = weakest else { break };
            total += cost(weakest);
            let pivot = g.get(weakest, weakest);
            let column = g.column(weakest).to_vec();
            let factor = beta[weakest] / pivot;
            alive.retain(|&place| place != weakest);
            for &place in &alive {
                beta[place] -= factor * column[place];
                add_scaled(g.column_mut(place), -column[place] / pivot, &column);
            }
            dropped.push(order[weakest]);
            rss.push(total);
        }
        order.sort_unstable();
        Self { rows, independent: order, dropped, rss }
    }

    /// The terms with the lowest GCV among those of at most `most` terms, ascending.
    pub(crate) fn choose(&self, most: Option<usize>, penalty: f64) -> Vec<usize> {
        let all = self.independent.len();
        let most = most.unwrap_or(all).clamp(1, all);
        let mut best = (f64::INFINITY, all - 1);
        // from the smallest set to the largest
        for drops in (0..all).rev().filter(|drops| all - drops <= most && *drops < self.rss.len()) {
            let error = gcv(self.rss[drops], self.rows, all - drops, penalty);
            if error < best.0 {
                best = (error, drops);
            }
        }
        let gone = &self.dropped[..best.1.min(self.dropped.len())];
        self.independent.iter().copied().filter(|term| !gone.contains(term)).collect()
    }
}
