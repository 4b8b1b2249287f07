//! Reading tables and folds.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use foretell_datasets::read_parquet_file;
use foretell_learn::{Cells, Coverage, Dataset, Folds, Parts, Table, is_grid};
use foretell_units::Seed;

use super::data_set;
use crate::cli::{CrossValidation, DataArguments, FoldArguments, ValidationArguments};
use crate::failure::Failure;

/// Keys of rows: names of columns, and their cells by row. The first is the row's number, from 1.
pub(super) type Keys = Vec<(String, Vec<String>)>;

/// The features and the target that were asked for, and which rows were observed together. These are
/// the rows of a design point of a data set, or the groups given by the arguments.
pub(super) fn dataset(arguments: &DataArguments) -> Result<Dataset, Failure> {
    Ok(dataset_with_keys(arguments, &arguments.data, arguments.split.as_deref(), "train")?.0)
}

/// The same from this table or data set, with the rows' keys.
pub(super) fn dataset_with_keys(
    arguments: &DataArguments,
    path: &Path,
    split: Option<&str>,
    usual: &str,
) -> Result<(Dataset, Keys), Failure> {
    let DataArguments { target, factor, key, .. } = arguments;
    let (table, points, mut keys) = if path.is_dir() {
        let split = data_set::wanted(split, usual)?;
        let read = data_set::read(path, Some(target), factor, split)?;
        (read.table, Some(read.points), read.keys)
    } else {
        (table(path, factor)?, None, Vec::new())
    };
    let mut drop = arguments.drop.clone();
    drop.extend(arguments.group.clone());
    drop.extend(key.clone());
    let mut dataset = Dataset::new(&table, target, &drop)?;
    dataset.groups = if let Some(column) = &arguments.group {
        Some(match table.column(column)? {
            Cells::Numbers(numbers) => {
                numbers.iter().map(|number| number.to_bits().cast_signed()).collect()
            }
            Cells::Names { codes, .. } => {
                codes.iter().map(|code| code.cast_signed() as i64).collect()
            }
        })
    } else if let Some(blocks) = arguments.blocks {
        let rows = dataset.y.len();
        Some(
            (0..rows).map(|row| (row * blocks.get() / rows) as u64).map(u64::cast_signed).collect(),
        )
    } else {
        points
    };
    keys.extend(keys_of(&table, key)?);
    let rows = dataset.y.len();
    keys.insert(0, numbers(rows));
    Ok((dataset, keys))
}

fn numbers(rows: usize) -> (String, Vec<String>) {
    ("row".to_owned(), (1..=rows).map(|row| row.to_string()).collect())
}

fn keys_of(table: &Table, columns: &[String]) -> Result<Keys, Failure> {
    let texts = |name: &String| {
        let cells = match table.column(name)? {
            Cells::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
            Cells::Names { levels, codes } => {
                codes.iter().map(|code| levels[*code].clone()).collect()
            }
        };
        Ok((name.clone(), cells))
    };
    columns.iter().map(texts).collect()
}

/// A table to predict from, with the rows' keys.
pub(super) fn features(
    path: &Path,
    factors: &[String],
    split: Option<&str>,
    key: &[String],
) -> Result<(Table, Keys), Failure> {
    let (table, mut keys) = if path.is_dir() {
        let split = data_set::wanted(split, "test")?;
        let read = data_set::read(path, None, factors, split)?;
        (read.table, read.keys)
    } else {
        (table(path, factors)?, Vec::new())
    };
    keys.extend(keys_of(&table, key)?);
    keys.insert(0, numbers(table.rows()));
    Ok((table, keys))
}

/// The first bytes of a Parquet file.
const PARQUET: &[u8; 4] = b"PAR1";

fn table(path: &Path, factors: &[String]) -> Result<Table, Failure> {
    let mut first = Vec::new();
    let is_read = open(path)?.take(4).read_to_end(&mut first).is_ok();
    if !(is_read && first == PARQUET) {
        return Ok(Table::read(open(path)?, &path.display().to_string(), factors)?);
    }
    let columns = read_parquet_file(path)?;
    let columns: Vec<(String, Cells)> = columns
        .into_iter()
        .map(|(name, values)| {
            let is_factor = factors.contains(&name);
            (name, data_set::cells(&values, is_factor))
        })
        .collect();
    let table = Table::from_columns(columns);
    for factor in factors {
        table.column(factor)?;
    }
    Ok(table)
}

/// Opens a file for reading; a missing file is the user's fault.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let fault = |error| Failure::Usage(format!("cannot read `{}`: {error}", path.display()));
    Ok(BufReader::new(foretell_input::open(path).map_err(fault)?))
}

/// Default number of folds.
const FOLDS: usize = 10;

/// The folds of a data set's rows; rows observed together share a fold.
pub(super) fn folds(arguments: &FoldArguments, data: &Dataset) -> Result<Folds, Failure> {
    let rows = data.y.len();
    if let Some(path) = &arguments.folds {
        return Ok(Folds::read(open(path)?, &path.display().to_string(), rows)?);
    }
    folds_by(&arguments.validation, data)
}

fn folds_by(validation: &ValidationArguments, data: &Dataset) -> Result<Folds, Failure> {
    let ValidationArguments { cv, fold_count: count, seed, .. } = *validation;
    let (rows, seed) = (data.y.len(), Seed(seed));
    let of_rows = count.map_or(FOLDS, usize::from);
    let of_groups = || count.map_or(data.count_groups().unwrap_or(FOLDS).min(FOLDS), usize::from);
    Ok(match (cv, &data.groups) {
        (Some(CrossValidation::Blocked), _) => Folds::blocked(rows, of_rows)?,
        (Some(CrossValidation::Random), _) | (None, None) => Folds::random(rows, of_rows, seed)?,
        (Some(CrossValidation::Group) | None, Some(groups)) => {
            Folds::random_by_group(groups, of_groups(), seed)?
        }
        (Some(CrossValidation::Group), None) => {
            let message = "`--cv group`: nothing says which rows belong together; give `--group COLUMN` \
                           or `--blocks N`";
            return Err(Failure::Usage(message.to_owned()));
        }
        (Some(CrossValidation::LeaveLevelOut), _) => {
            let message = "`--cv leave-level-out` is no split into folds; `evaluate`, `score` and `explain` know it";
            return Err(Failure::Usage(message.to_owned()));
        }
    })
}

/// The parts of a data set's rows that are held out, one after the other.
pub(super) fn parts(arguments: &FoldArguments, data: &Dataset) -> Result<Parts, Failure> {
    if arguments.validation.cv == Some(CrossValidation::LeaveLevelOut) {
        return Ok(Parts::leave_level_out(data)?);
    }
    Ok(Parts::from(&folds(arguments, data)?))
}

/// The same without a file of folds; settings not given are chosen by the form of the rows.
pub(super) fn parts_by(
    validation: &ValidationArguments,
    data: &Dataset,
) -> Result<(Parts, &'static str), Failure> {
    let cv = validation.cv;
    let level_out = cv == Some(CrossValidation::LeaveLevelOut) || (cv.is_none() && is_grid(data));
    if level_out {
        return Ok((Parts::leave_level_out(data)?, "leaving out levels of the design"));
    }
    let name = match (cv, &data.groups) {
        (Some(CrossValidation::Blocked), _) => "in folds of consecutive rows",
        (Some(CrossValidation::Group), _) | (None, Some(_)) => "in folds of whole groups",
        _ => "in random folds",
    };
    Ok((Parts::from(&folds_by(validation, data)?), name))
}

/// Notes on what errors on these parts (without parts: errors on the training rows) do not show.
pub(super) fn caveats(data: &Dataset, parts: Option<&Parts>) -> Vec<String> {
    let Coverage { levels, repeated } = Coverage::of(data, parts);
    let mut notes = Vec::new();
    if let Some((first, others)) = levels.split_first() {
        let mut inputs = format!("`{}` takes {} values", first.0, first.1);
        for (name, count) in others {
            let _ = write!(inputs, ", `{name}` {count}");
        }
        let tested = match parts {
            Some(_) => "and every fold learns from all of them: these are errors at those values",
            None => "and the model is fitted at those values",
        };
        notes.push(format!(
            "{inputs}, {tested}. Between them it can be much further off: leave values out \
             (`--cv leave-level-out`), or test it on rows that lie between (a sweep with \
             `design = \"sobol\"` has them; `learn score`)"
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
