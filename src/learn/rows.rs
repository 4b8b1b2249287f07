//! Reading tables and folds.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use foretell_learn::{Dataset, Folds, Table};
use foretell_units::Seed;

use super::data_set;
use crate::cli::{DataArguments, FoldArguments};
use crate::failure::Failure;

/// The features and the target that were asked for; of a data set, each row's design point too.
pub(super) fn dataset(arguments: &DataArguments) -> Result<(Dataset, Option<Vec<i64>>), Failure> {
    let DataArguments { data, target, drop, factor, .. } = arguments;
    if !data.is_dir() {
        return Ok((Dataset::new(&table(data, factor)?, target, drop)?, None));
    }
    let split = data_set::wanted(arguments.split.as_deref(), "train")?;
    let (table, points) = data_set::read(data, Some(target), factor, split)?;
    Ok((Dataset::new(&table, target, drop)?, Some(points)))
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
    if path.is_dir() {
        return Err(Failure::Usage(format!(
            "`{}` is a directory; a file is wanted",
            path.display()
        )));
    }
    Ok(BufReader::new(File::open(path).map_err(fault)?))
}

/// The folds of `rows` rows; rows of one of the `points`, if these are known, share a fold.
pub(super) fn folds(
    arguments: &FoldArguments,
    rows: usize,
    points: Option<&[i64]>,
) -> Result<Folds, Failure> {
    let (count, seed) = (arguments.fold_count.get(), Seed(arguments.seed));
    Ok(match (&arguments.folds, points) {
        (Some(path), _) => Folds::read(open(path)?, &path.display().to_string(), rows)?,
        (None, Some(points)) => Folds::random_by_group(points, count, seed)?,
        (None, None) => Folds::random(rows, count, seed)?,
    })
}
