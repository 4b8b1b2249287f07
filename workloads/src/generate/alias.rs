//! Draws from any finite distribution in constant time: Walker's alias method.
//!
//! Source: A. J. Walker, "An efficient method for generating discrete random variables with general
//! distributions" (ACM TOMS 1977); the table is built as M. D. Vose describes (IEEE TSE 1991). A
//! draw costs one random number: its product with the table's length gives the column (high half)
//! and the position in the column (low half).

use foretell_units::Stream;

/// A table for drawing indices, each with a probability in proportion to its weight.
#[derive(Clone, Debug)]
pub struct AliasTable {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    /// Below this, in units of 2⁻⁶⁴, the column stands for itself, otherwise for its alias.
    threshold: u64,
    alias: u32,
}

impl AliasTable {
    /// A table for `weights`: finite, not negative, at least one above zero, fewer than 2³².
    pub fn new(weights: &[f64]) -> Self {
        assert!(weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
        assert!(u32::try_from(weights.len()).is_ok());
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0 && total.is_finite());
        let scale = weights.len() as f64 / total;
        // The heights of columns of nominal height 1: some are too high, some too low.
        let mut heights: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|index| heights[*index] < 1.0);
        let mut columns: Vec<Column> =
            (0..weights.len() as u32).map(|alias| Column { threshold: u64::MAX, alias }).collect();
        while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
            columns[poor] =
                Column { threshold: (heights[poor] * TWO_64) as u64, alias: rich as u32 };
            heights[rich] -= 1.0 - heights[poor];
            if heights[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        // The remaining columns are full except for rounding: each stands for itself.
        Self { columns }
    }

    /// Draws an index, with probability in proportion to its weight.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> usize {
        let product = u128::from(stream.bits()) * self.columns.len() as u128;
        let index = (product >> 64) as usize;
        let column = self.columns[index];
        if (product as u64) < column.threshold { index } else { column.alias as usize }
    }
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::chi_square::assert_fits;

    #[test]
    fn draws_in_proportion_to_weight() {
        let weights = [3.0, 0.0, 1.0, 0.001, 7.0, 7.0, 2.5];
        let table = AliasTable::new(&weights);
        let mut stream = Seed(7).stream("alias");
        let mut counts = [0; 7];
        for _ in 0..1_000_000 {
            counts[table.draw(&mut stream)] += 1;
        }
        assert_eq!(counts[1], 0, "what weighs nothing is never drawn");
        assert_fits(&counts, &weights);
    }

    #[test]
    fn equal_weights_and_one_weight_work() {
        let mut stream = Seed(7).stream("alias");
        assert_eq!(AliasTable::new(&[0.3]).draw(&mut stream), 0);
        let table = AliasTable::new(&[1e-300; 10]);
        let mut counts = [0; 10];
        for _ in 0..100_000 {
            counts[table.draw(&mut stream)] += 1;
        }
        assert_fits(&counts, &[1.0; 10]);
    }
}
