//! Folds of cross-validation: rows that are predicted together, by models that never saw them.

use std::io::Read;

use foretell_units::Seed;

use crate::LearnError;
use crate::table::{Cells, Table};

/// Each row's fold: 0, 1, … without gaps, two or more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folds {
    of_row: Vec<usize>,
    count: usize,
}

impl Folds {
    /// `count` folds of nearly equal size, drawn from `seed`; errors if there are fewer rows than
    /// folds or fewer than 2 folds.
    pub fn random(rows: usize, count: usize, seed: Seed) -> Result<Self, LearnError> {
        if count < 2 || rows < count {
            return Err(LearnError::TooManyFolds { folds: count, rows });
        }
        let mut of_row: Vec<usize> = (0..rows).map(|row| row % count).collect();
        let mut stream = seed.stream("learn/folds");
        for last in (1..rows).rev() {
            of_row.swap(last, stream.below(last as u64 + 1) as usize);
        }
        Ok(Self { of_row, count })
    }

    /// `count` folds drawn from `seed`, with all rows of a group in one fold; `groups`: the group of each row. Errors
    /// as [`Folds::random`] does, but counts groups.
    pub fn random_by_group(groups: &[i64], count: usize, seed: Seed) -> Result<Self, LearnError> {
        let different = different(groups);
        if count < 2 || different.len() < count {
            let (found, wanted) = (different.len(), count.max(2));
            return Err(LearnError::TooFewGroups { found, wanted });
        }
        let of_group = Self::random(different.len(), count, seed)?.of_row;
        let fold = |group: &i64| of_group[different.partition_point(|other| other < group)];
        Ok(Self { of_row: groups.iter().map(fold).collect(), count })
    }

    /// `count` folds of consecutive rows. Errors as [`Folds::random`] does.
    pub fn blocked(rows: usize, count: usize) -> Result<Self, LearnError> {
        if count < 2 || rows < count {
            return Err(LearnError::TooManyFolds { folds: count, rows });
        }
        Ok(Self { of_row: (0..rows).map(|row| row * count / rows).collect(), count })
    }

    /// Folds from a label for each row; any labels will do.
    pub fn from_labels(labels: &[i64]) -> Result<Self, LearnError> {
        let different = different(labels);
        if different.len() < 2 {
            return Err(LearnError::TooFewRows { found: different.len(), wanted: 2 });
        }
        let of_row =
            labels.iter().map(|label| different.partition_point(|other| other < label)).collect();
        Ok(Self { of_row, count: different.len() })
    }

    /// Reads a table with a column `fold`. An optional column `row` (from 1, or from 0 if there is a 0) names the row;
    /// without it the folds are in the order of the data. `rows` is the number of rows of the data.
    pub fn read(input: impl Read, file: &str, rows: usize) -> Result<Self, LearnError> {
        let table = Table::read(input, file, &[])?;
        let fault = |fault: String| LearnError::Folds { file: file.to_owned(), fault };
        let names = || table.columns().map(|(name, _)| name);
        if !names().any(|name| ["row", "fold"].contains(&name)) {
            let found: Vec<String> = names().map(|name| format!("`{name}`")).collect();
            let found = found.join(", ");
            return Err(fault(format!("there are no columns `row` and `fold`; found {found}")));
        }
        let folds = table.column("fold")?;
        if table.rows() != rows {
            return Err(LearnError::Length {
                what: format!("folds in `{file}`"),
                found: table.rows(),
                wanted: rows,
            });
        }
        let Cells::Numbers(folds) = folds else {
            return Err(fault("column `fold` holds names; expected whole numbers".to_owned()));
        };
        let order: Vec<usize> = match table.column("row") {
            Ok(Cells::Numbers(numbers)) => {
                let mut seen = vec![false; rows];
                let mut order = Vec::with_capacity(rows);
                let first = usize::from(numbers.iter().all(|number| *number >= 1.0));
                for number in numbers {
                    let row = (*number as usize).wrapping_sub(first);
                    if number.fract() != 0.0 || *number < 0.0 || row >= rows {
                        let last = rows - 1 + first;
                        let fits = format!("row {number} is not one of {first} to {last}");
                        return Err(fault(fits));
                    }
                    if std::mem::replace(&mut seen[row], true) {
                        return Err(fault(format!("row {number} stands there twice")));
                    }
                    order.push(row);
                }
                order
            }
            Ok(Cells::Names { .. }) => return Err(fault("column `row` holds names".to_owned())),
            Err(_) => (0..rows).collect(),
        };
        let mut labels = vec![0; rows];
        for (row, fold) in order.into_iter().zip(folds) {
            if fold.fract() != 0.0 {
                return Err(fault(format!("fold {fold} of row {} is not a whole number", row + 1)));
            }
            labels[row] = *fold as i64;
        }
        Self::from_labels(&labels).map_err(|_| fault("all rows are in one fold".to_owned()))
    }

    /// Number of folds.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.of_row.len()
    }

    /// The training rows and the rows to predict, of one fold.
    pub fn split(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        (0..self.of_row.len()).partition(|&row| self.of_row[row] != fold)
    }
}

/// The different labels, ascending.
pub(crate) fn different(labels: &[i64]) -> Vec<i64> {
    let mut different = labels.to_vec();
    different.sort_unstable();
    different.dedup();
    different
}

/// The rows of each label, by ascending label.
pub(crate) fn members(labels: &[i64]) -> Vec<Vec<usize>> {
    let different = different(labels);
    let mut members = vec![Vec::new(); different.len()];
    for (row, label) in labels.iter().enumerate() {
        members[different.partition_point(|other| other < label)].push(row);
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_folds_differ_by_one_row_at_most() {
        let folds = Folds::random(23, 10, Seed(1)).unwrap();
        let sizes: Vec<usize> = (0..10).map(|fold| folds.split(fold).1.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 23);
        assert!(sizes.iter().all(|size| [2, 3].contains(size)));
        assert!(Folds::random(5, 10, Seed(1)).is_err());
    }

    #[test]
    fn rows_of_a_group_share_a_fold() {
        let groups = [7, 3, 7, 9, 3, 11, 12];
        let folds = Folds::random_by_group(&groups, 3, Seed(1)).unwrap();
        for fold in 0..3 {
            let (rest, out) = folds.split(fold);
            assert!(!out.is_empty());
            assert!(out.iter().all(|&o| rest.iter().all(|&r| groups[o] != groups[r])), "{fold}");
        }
        let message = Folds::random_by_group(&[1, 1, 1, 2], 3, Seed(1)).unwrap_err().to_string();
        assert_eq!(message, "the rows belong to 2 groups; expected 3 or more, one for each fold");
    }

    #[test]
    fn folds_are_read_by_row() {
        let folds = Folds::read("row,fold\n1,7\n0,3\n2,7\n".as_bytes(), "f", 3).unwrap();
        assert_eq!(folds.split(0), (vec![1, 2], vec![0]));
        assert_eq!(folds.split(1), (vec![0], vec![1, 2]));
        let from_1 = Folds::read("row,fold\n2,7\n1,3\n3,7\n".as_bytes(), "f", 3).unwrap();
        assert_eq!(from_1, folds);
    }

    #[test]
    fn faults_are_told() {
        let fault =
            |text: &str, rows| Folds::read(text.as_bytes(), "f.csv", rows).unwrap_err().to_string();
        assert_eq!(
            fault("row,fold\n0,1\n1,2\n", 3),
            "folds in `f.csv`: 2 rows, but the data has 3"
        );
        assert_eq!(fault("row,fold\n0,1\n0,2\n", 2), "folds in `f.csv`: row 0 stands there twice");
        assert_eq!(fault("row,fold\n0,1\n1,1\n", 2), "folds in `f.csv`: all rows are in one fold");
        assert_eq!(
            fault("row,fld\n0,1\n1,1\n", 2),
            "there is no column `fold`; did you mean `fld`?"
        );
        assert_eq!(
            fault("x,y\n0,1\n1,1\n", 3),
            "folds in `f.csv`: there are no columns `row` and `fold`; found `x`, `y`"
        );
    }
}
