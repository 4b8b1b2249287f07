//! Turns a table into a matrix of features and a target.
//!
//! A factor of k names becomes k − 1 columns of 0 and 1, one for each name but the first (R's
//! treatment contrasts), so every model sees numbers only. Trees therefore split a factor one name
//! at a time; subsets of names are several splits.

use std::num::NonZeroUsize;

use foretell_input::{MAX_CELLS, MAX_COLUMNS};
use foretell_sorted::SortedMap;
use serde::{Deserialize, Serialize};

use crate::LearnError;
use crate::error::nearest;
use crate::matrix::Matrix;
use crate::spec::{Kind, Spec};
use crate::table::{Cells, Table};

/// The largest value that is learned from. No quantity of a storage system comes near; squares of products of two such
/// values are still finite.
pub(crate) const LARGEST: f64 = 1e75;

/// One feature, with the name that the user gave it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Feature {
    /// Name of the column.
    pub name: String,
    /// The different names in it, sorted, if the column holds names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
}

/// The features of a model, in order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Schema {
    /// Features, in order.
    pub features: Vec<Feature>,
}

impl Schema {
    /// Names of the matrix's columns: a feature's own, or `feature=name` of a factor.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for feature in &self.features {
            match &feature.levels {
                None => names.push(feature.name.clone()),
                Some(levels) => {
                    names.extend(
                        levels.iter().skip(1).map(|level| format!("{}={level}", feature.name)),
                    );
                }
            }
        }
        names
    }

    /// For each column of the matrix, the feature it comes from.
    pub fn column_features(&self) -> Vec<usize> {
        let mut owners = Vec::new();
        for (index, feature) in self.features.iter().enumerate() {
            let columns = feature.levels.as_ref().map_or(1, |levels| levels.len().max(1) - 1);
            owners.extend(std::iter::repeat_n(index, columns));
        }
        owners
    }

    /// The same rows with this schema's columns; `x` has the columns of `other`. Features are found by
    /// name. Errors if a feature is missing, or has a name that this schema does not know.
    pub fn recode(&self, other: &Self, x: &Matrix) -> Result<Matrix, LearnError> {
        let owners = other.column_features();
        let mut columns = Vec::new();
        for (place, feature) in other.features.iter().enumerate() {
            let first = owners.partition_point(|owner| *owner < place);
            let cells = match &feature.levels {
                None => Cells::Numbers(x.column(first).to_vec()),
                Some(levels) => {
                    let code = |row: usize| {
                        let is = |level: &usize| x.get(row, first + level - 1) > 0.5;
                        (1..levels.len()).find(is).unwrap_or(0)
                    };
                    let names = (0..x.rows()).map(|row| levels[code(row)].as_str());
                    Cells::names(names)
                }
            };
            columns.push((feature.name.clone(), cells));
        }
        self.encode(&Table::from_columns(columns))
    }

    /// The features of other rows as a matrix. Columns are found by name; others are ignored.
    pub fn encode(&self, table: &Table) -> Result<Matrix, LearnError> {
        let (rows, wide) = (table.rows(), self.column_features().len());
        if wide > MAX_COLUMNS || (rows as u64).saturating_mul(wide as u64) > MAX_CELLS {
            return Err(LearnError::TooLarge { rows, columns: wide });
        }
        let mut columns = Vec::new();
        for feature in &self.features {
            let name = &feature.name;
            let other_kind =
                |found, wanted| LearnError::OtherKind { column: name.clone(), found, wanted };
            match (&feature.levels, table.column(name)?) {
                (None, Cells::Numbers(numbers)) => columns.push(numbers.clone()),
                (None, Cells::Names { .. }) => return Err(other_kind("names", "numbers")),
                (Some(_), Cells::Numbers(_)) => return Err(other_kind("numbers", "names")),
                (Some(known), Cells::Names { levels, codes }) => {
                    let mut of_known = Vec::with_capacity(levels.len());
                    let places: SortedMap<&str, usize> =
                        known.iter().map(String::as_str).zip(0..).collect();
                    for (code, level) in levels.iter().enumerate() {
                        let found = places.get(level.as_str()).copied();
                        of_known.push(found.ok_or_else(|| LearnError::UnknownLevel {
                            row: 1 + codes.iter().position(|&c| c == code).unwrap_or(0),
                            column: name.clone(),
                            level: level.clone(),
                            nearest: nearest(level, known.iter().map(String::as_str)),
                        })?);
                    }
                    for level in 1..known.len() {
                        let is = |&code: &usize| f64::from(u8::from(of_known[code] == level));
                        columns.push(codes.iter().map(is).collect());
                    }
                }
            }
        }
        Matrix::from_columns(&columns)
    }
}

/// Returns an error if a value is too large to learn from.
fn not_too_large(column: &str, values: &[f64]) -> Result<(), LearnError> {
    match values.iter().position(|value| value.abs() > LARGEST) {
        None => Ok(()),
        Some(row) => Err(LearnError::TooLargeValue {
            row: row + 1,
            column: column.to_owned(),
            value: values[row],
        }),
    }
}

/// Features and target.
#[derive(Clone, PartialEq, Debug)]
pub struct Dataset {
    /// What the columns mean.
    pub schema: Schema,
    /// Name of the target.
    pub target: String,
    /// n rows × p columns.
    pub x: Matrix,
    /// n targets.
    pub y: Vec<f64>,
    /// By row, its group. Rows of a group were observed together, so none of them may be in the
    /// training rows when another is predicted.
    pub groups: Option<Vec<i64>>,
}

impl Dataset {
    /// Makes all columns of a table except the target and those in `drop` features. Errors: no such
    /// target, a target of names, a constant column, no feature, fewer than 2 rows.
    pub fn new(table: &Table, target: &str, drop: &[String]) -> Result<Self, LearnError> {
        let y = match table.column(target)? {
            Cells::Numbers(numbers) => numbers.clone(),
            Cells::Names { levels, .. } => {
                return Err(LearnError::TargetIsFactor {
                    column: target.to_owned(),
                    example: levels.first().cloned().unwrap_or_default(),
                });
            }
        };
        for name in drop {
            table.column(name)?;
        }
        if y.len() < 2 {
            return Err(LearnError::TooFewRows { found: y.len(), wanted: 2 });
        }
        not_too_large(target, &y)?;
        if let Some(row) = y.iter().position(|y| y.is_nan()) {
            return Err(LearnError::MissingTarget { row: row + 1, column: target.to_owned() });
        }
        if is_constant(&y) {
            return Err(LearnError::ConstantTarget { column: target.to_owned(), value: y[0] });
        }
        let mut features = Vec::new();
        for (name, cells) in table.columns() {
            if name == target || drop.iter().any(|dropped| dropped == name) {
                continue;
            }
            let value = match cells {
                Cells::Numbers(numbers) => {
                    not_too_large(name, numbers)?;
                    constant(numbers)
                }
                Cells::Names { levels, .. } => {
                    (levels.len() < 2).then(|| format!("`{}`", levels[0]))
                }
            };
            if let Some(value) = value {
                return Err(LearnError::ConstantColumn { column: name.to_owned(), value });
            }
            let levels = match cells {
                Cells::Numbers(_) => None,
                Cells::Names { levels, .. } => Some(levels.clone()),
            };
            features.push(Feature { name: name.to_owned(), levels });
        }
        if features.is_empty() {
            return Err(LearnError::NoFeatures { target: target.to_owned() });
        }
        let schema = Schema { features };
        let x = schema.encode(table)?;
        Ok(Self { schema, target: target.to_owned(), x, y, groups: None })
    }

    /// Number of groups that the rows belong to, if there are groups.
    pub fn count_groups(&self) -> Option<usize> {
        self.groups.as_ref().map(|groups| crate::folds::different(groups).len())
    }

    /// Rows with the same cell belong together; `cells`: a column of the table that the rows are from.
    pub fn group_by(&mut self, cells: &Cells) {
        self.groups = Some(match cells {
            Cells::Numbers(numbers) => {
                numbers.iter().map(|number| number.to_bits().cast_signed()).collect()
            }
            Cells::Names { codes, .. } => {
                codes.iter().map(|code| code.cast_signed() as i64).collect()
            }
        });
    }

    /// Consecutive rows belong together, in this number of groups of nearly equal size.
    pub fn group_consecutive(&mut self, groups: NonZeroUsize) {
        let rows = self.y.len();
        let group = |row: usize| ((row * groups.get() / rows) as u64).cast_signed();
        self.groups = Some((0..rows).map(group).collect());
    }

    /// Checks that no value is missing that this model needs.
    pub(crate) fn check_missing(&self, spec: &Spec) -> Result<(), LearnError> {
        check_missing(spec, &self.schema, &self.x)
    }

    /// These rows alone, in this order.
    pub fn take_rows(&self, rows: &[usize]) -> Self {
        Self {
            schema: self.schema.clone(),
            target: self.target.clone(),
            x: self.x.take_rows(rows),
            y: rows.iter().map(|&row| self.y[row]).collect(),
            groups: self.groups_of(rows),
        }
    }

    /// The groups of these rows, if rows have groups.
    pub(crate) fn groups_of(&self, rows: &[usize]) -> Option<Vec<i64>> {
        let groups = self.groups.as_ref()?;
        Some(rows.iter().map(|&row| groups[row]).collect())
    }
}

/// The only value of a column, apart from missing ones.
fn constant(numbers: &[f64]) -> Option<String> {
    let known: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    match known.first() {
        None => Some("missing".to_owned()),
        Some(first) if known.len() == numbers.len() => {
            is_constant(&known).then(|| first.to_string())
        }
        // whether the value is known or missing may itself be informative
        Some(_) => None,
    }
}

#[expect(clippy::float_cmp, reason = "a constant column holds the very same number")]
fn is_constant(values: &[f64]) -> bool {
    values.iter().all(|value| *value == values[0])
}

/// Checks that no value is missing that a model needs.
pub(crate) fn check_missing(spec: &Spec, schema: &Schema, x: &Matrix) -> Result<(), LearnError> {
    if matches!(spec.kind(), Kind::Cart | Kind::Tree | Kind::Forest | Kind::Boost) {
        return Ok(());
    }
    for column in 0..x.columns() {
        if let Some(row) = x.column(column).iter().position(|value| value.is_nan()) {
            let name = schema.column_names().swap_remove(column);
            let model = spec.kind().name().to_owned();
            return Err(LearnError::MissingValue { row: row + 1, column: name, model });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::read(text.as_bytes(), "t.csv", &[]).unwrap()
    }

    #[test]
    fn a_factor_becomes_columns_of_0_and_1() {
        let table = table("kind,size,y\nb,1,1\na,2,2\nc,3,3\n");
        let data = Dataset::new(&table, "y", &[]).unwrap();
        assert_eq!(data.schema.column_names(), ["kind=b", "kind=c", "size"]);
        assert_eq!(data.schema.column_features(), [0, 0, 1]);
        assert_eq!(data.x.column(0), [1.0, 0.0, 0.0]);
        assert_eq!(data.x.column(1), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn faults_are_told() {
        let fault = |text: &str, target: &str| {
            Dataset::new(&table(text), target, &[]).unwrap_err().to_string()
        };
        assert_eq!(
            fault("a,iops\n1,2\n2,3\n", "iosp"),
            "there is no column `iosp`; did you mean `iops`?"
        );
        assert_eq!(
            fault("a,b,y\n1,7,2\n2,7,3\n", "y"),
            "column `b` is constant (always 7); leave it out (`--drop b`)"
        );
        assert_eq!(
            fault("a,y\n1,2\n2,2\n", "y"),
            "the target `y` is constant (always 2); there is nothing to learn"
        );
        assert_eq!(
            fault("y\n1\n2\n", "y"),
            "there is no column beside the target `y` to learn from"
        );
    }

    #[test]
    fn other_rows_are_encoded_by_name() {
        let schema = Dataset::new(&table("k,s,y\na,1,1\nb,2,2\n"), "y", &[]).unwrap().schema;
        let x = schema.encode(&table("s,k\n9,b\n")).unwrap();
        assert_eq!((x.column(0), x.column(1)), (&[1.0][..], &[9.0][..]));
        let fault = schema.encode(&table("s,k\n9,c\n")).unwrap_err();
        assert!(matches!(fault, LearnError::UnknownLevel { row: 1, .. }));
    }
}
