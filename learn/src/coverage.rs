//! What out-of-fold errors do not show: how well a model predicts inputs far from all rows.
//!
//! In a factorial design every fold has rows at every level of every input. Leaving rows out then tests new
//! combinations of known levels, but never a value between two levels. If rows with the same inputs are on
//! both sides of a fold, it only tests how well the model remembers.
#![allow(clippy::format_push_string, reason = "short lists")]

use crate::dataset::Dataset;
use crate::validate::{Part, Parts};

/// An input with more values than this counts as continuous.
const MAX_LEVELS: usize = 20;
/// Minimum number of different input combinations per level, for an input to count as having few levels.
const MIN_REPEATS: usize = 3;

/// Which part of the input space the rows cover.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Numeric inputs with few values and gaps between them, and the number of their values. If rows are
    /// left out, an input counts only if every model has learned from all values that it predicts.
    pub levels: Vec<(String, usize)>,
    /// Number of rows that are predicted by a model that learned from a row with the same inputs.
    pub repeated: usize,
}

impl Coverage {
    /// The coverage of the rows, and of the parts that are left out and predicted, if any.
    pub fn of(data: &Dataset, parts: Option<&Parts>) -> Self {
        let inputs = Inputs::of(data);
        let owners = data.schema.column_features();
        let numeric = |column: &usize| data.schema.features[owners[*column]].levels.is_none();
        let levels = (0..data.x.columns()).filter(numeric).filter_map(|column| {
            let values = data.x.column(column);
            let levels = levels(values);
            let few = (2..=MAX_LEVELS).contains(&levels.len())
                && levels.len() * MIN_REPEATS <= inputs.different
                && levels.windows(2).any(|pair| pair[1] - pair[0] > 1.0 || pair[0].fract() != 0.0);
            let untested = parts.is_none_or(|parts| learned_all(values, parts));
            let name = &data.schema.features[owners[column]].name;
            (few && untested).then(|| (name.clone(), levels.len()))
        });
        let repeated = parts.map_or(0, |parts| inputs.repeated(parts));
        Self { levels: levels.collect(), repeated }
    }
}

/// The different values of a column, ascending.
fn levels(values: &[f64]) -> Vec<f64> {
    let mut levels = values.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup_by(|a, b| a.to_bits() == b.to_bits());
    levels
}

/// Whether each part learns from all values that it predicts.
fn learned_all(values: &[f64], parts: &Parts) -> bool {
    parts.0.iter().all(|Part { train, test, .. }| {
        let of = |rows: &[usize]| levels(&rows.iter().map(|&row| values[row]).collect::<Vec<_>>());
        let learned = of(train);
        of(test).iter().all(|value| learned.binary_search_by(|l| l.total_cmp(value)).is_ok())
    })
}

/// Groups rows with the same inputs.
struct Inputs {
    /// By row, the number of its input combination.
    of_row: Vec<usize>,
    different: usize,
}

impl Inputs {
    fn of(data: &Dataset) -> Self {
        let bits = |row: usize| -> Vec<u64> {
            (0..data.x.columns()).map(|column| data.x.get(row, column).to_bits()).collect()
        };
        let rows: Vec<Vec<u64>> = (0..data.x.rows()).map(bits).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|&a, &b| rows[a].cmp(&rows[b]));
        let (mut of_row, mut different) = (vec![0; rows.len()], 0);
        for (place, &row) in order.iter().enumerate() {
            different += usize::from(place == 0 || rows[order[place - 1]] != rows[row]);
            of_row[row] = different - 1;
        }
        Self { of_row, different }
    }

    /// Number of rows that are predicted by a model that learned from a row with the same inputs.
    fn repeated(&self, parts: &Parts) -> usize {
        let mut is_repeated = vec![false; self.of_row.len()];
        for Part { train, test, .. } in &parts.0 {
            let mut learned = vec![false; self.different];
            for &row in train {
                learned[self.of_row[row]] = true;
            }
            for &row in test {
                is_repeated[row] |= learned[self.of_row[row]];
            }
        }
        is_repeated.into_iter().filter(|repeated| *repeated).count()
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::folds::Folds;
    use crate::table::Table;

    /// `size` in `sizes`, `jobs` from 1 to 4, each twice.
    fn design(sizes: &[f64]) -> Dataset {
        let mut text = String::from("size,jobs,y\n");
        for (index, size) in sizes.iter().enumerate() {
            for jobs in 1..=4 {
                for copy in 0..2 {
                    text += &format!("{size},{jobs},{}\n", index * jobs + copy);
                }
            }
        }
        let table = Table::read(text.as_bytes(), "t.csv", &[]).unwrap();
        Dataset::new(&table, "y", &[]).unwrap()
    }

    #[test]
    fn levels_with_gaps_are_found_and_counts_are_not() {
        let grid = design(&[4.0, 16.0, 64.0, 256.0]);
        let found = Coverage::of(&grid, None);
        assert_eq!(found, Coverage { levels: vec![("size".to_owned(), 4)], repeated: 0 });
        let free: Vec<f64> = (0..30).map(|i| f64::from(i) * 1.7).collect();
        assert_eq!(Coverage::of(&design(&free), None).levels, []);
        let whole: Vec<f64> = (1..6).map(f64::from).collect();
        assert_eq!(Coverage::of(&design(&whole), None).levels, []);
    }

    #[test]
    fn folds_that_leave_out_a_level_test_what_is_between() {
        let grid = design(&[4.0, 16.0, 64.0, 256.0]);
        let by_size: Vec<i64> = grid.x.column(0).iter().map(|size| *size as i64).collect();
        let folds = Folds::from_labels(&by_size).unwrap();
        assert_eq!(Coverage::of(&grid, Some(&Parts::from(&folds))), Coverage::default());
        let random = Folds::random(32, 4, Seed(1)).unwrap();
        let found = Coverage::of(&grid, Some(&Parts::from(&random)));
        assert_eq!(found.levels, [("size".to_owned(), 4)]);
        assert!(found.repeated > 10, "rows are there twice: {found:?}");
    }
}
