//! Which rows a model does not learn from and is tested on: folds, or the levels of a design.
//!
//! The defaults depend on the rows. Rows that were observed together share a fold, and there are ten folds
//! or as many as groups, if these are fewer.

use std::num::NonZeroUsize;

use foretell_units::Seed;

use crate::LearnError;
use crate::dataset::Dataset;
use crate::folds::Folds;
use crate::validate::{Parts, is_grid};

/// Default number of folds.
const FOLDS: usize = 10;

/// A way to hold rows out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding {
    /// Folds of random rows.
    Random,
    /// Folds of random groups of rows that were observed together.
    Group,
    /// Each level of each numeric feature that lies between others.
    LeaveLevelOut,
    /// Folds of consecutive rows.
    Blocked,
}

/// How rows are held out, as far as that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HoldOut {
    /// `None`: by groups where rows have them, else at random.
    pub by: Option<Holding>,
    /// Number of folds. `None`: ten, or as many as there are groups.
    pub folds: Option<NonZeroUsize>,
    /// Seed of random folds.
    pub seed: Seed,
}

impl HoldOut {
    /// Folds of the rows.
    ///
    /// # Errors
    ///
    /// If groups are wanted and the rows have none, if levels are to be left out, or if there are fewer rows or groups
    /// than folds.
    pub fn folds(&self, data: &Dataset) -> Result<Folds, LearnError> {
        let (rows, seed) = (data.y.len(), self.seed);
        let of_rows = self.folds.map_or(FOLDS, usize::from);
        let of_groups =
            || self.folds.map_or(data.count_groups().unwrap_or(FOLDS).min(FOLDS), usize::from);
        match (self.by, &data.groups) {
            (Some(Holding::Blocked), _) => Folds::blocked(rows, of_rows),
            (Some(Holding::Random), _) | (None, None) => Folds::random(rows, of_rows, seed),
            (Some(Holding::Group) | None, Some(groups)) => {
                Folds::random_by_group(groups, of_groups(), seed)
            }
            (Some(Holding::Group), None) => Err(LearnError::NoGroups),
            (Some(Holding::LeaveLevelOut), _) => Err(LearnError::LevelsAreNoFolds),
        }
    }

    /// The parts that are held out, one after the other: folds, or levels of a design.
    ///
    /// # Errors
    ///
    /// As [`HoldOut::folds`] and [`Parts::leave_level_out`].
    pub fn parts(&self, data: &Dataset) -> Result<Parts, LearnError> {
        if self.by == Some(Holding::LeaveLevelOut) {
            return Parts::leave_level_out(data);
        }
        Ok(Parts::from(&self.folds(data)?))
    }

    /// The same, with levels left out where nothing was asked for and the rows are a grid. Also returns how rows are
    /// held out, in words that follow "validation".
    ///
    /// # Errors
    ///
    /// As [`HoldOut::parts`].
    pub fn parts_by_form(&self, data: &Dataset) -> Result<(Parts, &'static str), LearnError> {
        let by =
            if self.by.is_none() && is_grid(data) { Some(Holding::LeaveLevelOut) } else { self.by };
        let name = match (by, &data.groups) {
            (Some(Holding::LeaveLevelOut), _) => "leaving out levels of the design",
            (Some(Holding::Blocked), _) => "in folds of consecutive rows",
            (Some(Holding::Group), _) | (None, Some(_)) => "in folds of whole groups",
            (Some(Holding::Random), _) | (None, None) => "in random folds",
        };
        Ok((Self { by, ..*self }.parts(data)?, name))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::table::Table;

    /// 40 rows; a grid of 5 × 8 values, or rows without a pattern.
    fn data(is_grid: bool) -> Dataset {
        let mut stream = Seed(1).stream("holding");
        let mut text = String::from("a,b,y\n");
        for (a, b) in (0..5).flat_map(|a| (0..8).map(move |b| (a, b))) {
            let noise = if is_grid { 0.0 } else { stream.unit() };
            let _ = writeln!(text, "{},{},{}", f64::from(a) + noise, f64::from(b) - noise, a + b);
        }
        Dataset::new(&Table::read(text.as_bytes(), "t", &[]).unwrap(), "y", &[]).unwrap()
    }

    #[test]
    fn what_is_not_asked_for_follows_from_the_rows() {
        let hold = |by| HoldOut { by, folds: None, seed: Seed(1) };
        let named = |by, data: &Dataset| {
            let (parts, name) = hold(by).parts_by_form(data).unwrap();
            (parts.0.len(), name)
        };
        let (grid, mut rows) = (data(true), data(false));
        // 3 levels of `a` and 6 of `b` lie between others
        assert_eq!(named(None, &grid), (9, "leaving out levels of the design"));
        assert_eq!(named(Some(Holding::Random), &grid), (10, "in random folds"));
        assert_eq!(hold(None).parts(&grid).unwrap().0.len(), 10);
        assert_eq!(named(None, &rows), (10, "in random folds"));
        assert_eq!(named(Some(Holding::Blocked), &rows), (10, "in folds of consecutive rows"));
        assert_eq!(hold(Some(Holding::Group)).folds(&rows), Err(LearnError::NoGroups));
        let levels = hold(Some(Holding::LeaveLevelOut));
        assert_eq!(levels.folds(&rows), Err(LearnError::LevelsAreNoFolds));
        rows.group_consecutive(NonZeroUsize::new(4).unwrap());
        assert_eq!(named(None, &rows), (4, "in folds of whole groups"));
        let two = HoldOut { folds: NonZeroUsize::new(2), ..hold(None) };
        assert_eq!(two.folds(&rows).unwrap().count(), 2);
    }
}
