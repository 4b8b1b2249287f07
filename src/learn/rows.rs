//! Reading tables and folds.

use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use foretell_learn::{Cells, Coverage, Dataset, Folds, Table};
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

/// Folds unless the user says how many.
const FOLDS: usize = 10;

/// The folds of a set's rows; those that were observed together share a fold.
pub(super) fn folds(arguments: &FoldArguments, data: &Dataset) -> Result<Folds, Failure> {
    let rows = data.y.len();
    let most = data.count_groups().unwrap_or(FOLDS).min(FOLDS);
    let (count, seed) = (arguments.fold_count.map_or(most, usize::from), Seed(arguments.seed));
    Ok(match (&arguments.folds, &data.groups) {
        (Some(path), _) => Folds::read(open(path)?, &path.display().to_string(), rows)?,
        (None, Some(groups)) => Folds::random_by_group(groups, count, seed)?,
        (None, None) => Folds::random(rows, count, seed)?,
    })
}

/// What errors in these folds (without folds: errors on the rows learned from) do not tell.
pub(super) fn caveats(data: &Dataset, folds: Option<&Folds>) -> Vec<String> {
    let Coverage { levels, repeated } = Coverage::of(data, folds);
    let mut notes = Vec::new();
    if let Some((first, others)) = levels.split_first() {
        let mut inputs = format!("`{}` takes {} values", first.0, first.1);
        for (name, count) in others {
            let _ = write!(inputs, ", `{name}` {count}");
        }
        let tested = match folds {
            Some(_) => "and every fold learns from all of them: these are errors at those values",
            None => "and the model is fitted at those values",
        };
        notes.push(format!(
            "{inputs}, {tested}. Between them it can be much further off: test it on rows that lie \
             between (a sweep with `design = \"sobol\"` has them)"
        ));
    }
    if repeated > 0 {
        notes.push(format!(
            "{repeated} of {} rows have the same inputs as rows of other folds, so that models are asked \
             what they have seen; say what was observed together, `--group COLUMN`",
            data.y.len()
        ));
    }
    notes
}
