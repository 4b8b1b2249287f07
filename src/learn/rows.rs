//! Reading tables and folds.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use foretell_learn::{Cells, Dataset, Folds, Table};
use foretell_units::Seed;

use super::data_set;
use crate::cli::{DataArguments, FoldArguments};
use crate::failure::Failure;

/// The features and the target that were asked for, and which rows were observed together: those of
/// a design point of a data set, or as the arguments say.
pub(super) fn dataset(arguments: &DataArguments) -> Result<Dataset, Failure> {
    let DataArguments { data, target, factor, .. } = arguments;
    let (table, points) = if data.is_dir() {
        let split = data_set::wanted(arguments.split.as_deref(), "train")?;
        let (table, points) = data_set::read(data, Some(target), factor, split)?;
        (table, Some(points))
    } else {
        (table(data, factor)?, None)
    };
    let mut drop = arguments.drop.clone();
    drop.extend(arguments.group.clone());
    let mut dataset = Dataset::new(&table, target, &drop)?;
    dataset.groups = if let Some(column) = &arguments.group {
        let Cells::Numbers(numbers) = table.column(column)? else {
            let told = format!("column `{column}` holds names; numbers of groups are wanted");
            return Err(Failure::Usage(told));
        };
        Some(numbers.iter().map(|number| number.to_bits().cast_signed()).collect())
    } else if let Some(blocks) = arguments.blocks {
        let rows = dataset.y.len();
        Some(
            (0..rows).map(|row| (row * blocks.get() / rows) as u64).map(u64::cast_signed).collect(),
        )
    } else {
        points
    };
    Ok(dataset)
}

/// A table to predict from.
pub(super) fn features(
    path: &Path,
    factors: &[String],
    split: Option<&str>,
) -> Result<Table, Failure> {
    if !path.is_dir() {
        return table(path, factors);
    }
    let split = data_set::wanted(split, "test")?;
    Ok(data_set::read(path, None, factors, split)?.0)
}

fn table(path: &Path, factors: &[String]) -> Result<Table, Failure> {
    Ok(Table::read(open(path)?, &path.display().to_string(), factors)?)
}

/// A file to read; the user's fault if there is none.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let fault = |error| Failure::Usage(format!("cannot read `{}`: {error}", path.display()));
    Ok(BufReader::new(foretell_input::open(path).map_err(fault)?))
}

/// The folds of a set's rows; those that were observed together share a fold.
pub(super) fn folds(arguments: &FoldArguments, data: &Dataset) -> Result<Folds, Failure> {
    let rows = data.y.len();
    let (count, seed) = (arguments.fold_count.get(), Seed(arguments.seed));
    Ok(match (&arguments.folds, &data.groups) {
        (Some(path), _) => Folds::read(open(path)?, &path.display().to_string(), rows)?,
        (None, Some(groups)) => Folds::random_by_group(groups, count, seed)?,
        (None, None) => Folds::random(rows, count, seed)?,
    })
}
