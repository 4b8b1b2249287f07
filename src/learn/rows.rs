//! Reading tables and folds.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use foretell_learn::{Dataset, Folds, Table};
use foretell_units::Seed;

use crate::cli::{DataArguments, FoldArguments};
use crate::failure::Failure;

/// The features and the target that were asked for.
pub(super) fn dataset(arguments: &DataArguments) -> Result<Dataset, Failure> {
    let table = table(&arguments.data, &arguments.factor)?;
    Ok(Dataset::new(&table, &arguments.target, &arguments.drop)?)
}

/// A table.
pub(super) fn table(path: &Path, factors: &[String]) -> Result<Table, Failure> {
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

/// The folds of `rows` rows.
pub(super) fn folds(arguments: &FoldArguments, rows: usize) -> Result<Folds, Failure> {
    Ok(match &arguments.folds {
        Some(path) => Folds::read(open(path)?, &path.display().to_string(), rows)?,
        None => Folds::random(rows, arguments.fold_count.get(), Seed(arguments.seed))?,
    })
}
