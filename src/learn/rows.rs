//! Reading tables and folds.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use foretell_datasets::{Column, FileTable, Role, describe_text_file, read_parquet_file};
use foretell_learn::{Cells, Coverage, Dataset, Folds, HoldOut, Holding, Parts, Table};
use foretell_units::Seed;

use super::data_set;
use crate::cli::{CrossValidation, DataArguments, FoldArguments, ValidationArguments};
use crate::failure::{Failure, note};

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
    let (drops, groups) = (arguments.drop.iter(), arguments.group.iter());
    let other_uses = [("drop", drops), ("key", key.iter())]
        .into_iter()
        .flat_map(|(option, names)| names.map(move |name| (option, name)));
    let mut other_uses = other_uses.chain(groups.map(|name| ("group", name)));
    if let Some((option, name)) = other_uses.find(|(_, name)| *name == target) {
        let message =
            format!("`--{option} {name}`: `{name}` is the target; expected another column");
        return Err(Failure::Usage(message));
    }
    let mut drop = arguments.drop.clone();
    drop.extend(arguments.group.clone());
    drop.extend(key.clone());
    let (table, points, mut keys) = if path.is_dir() {
        let split = data_set::wanted(split, usual)?;
        let read = data_set::read(path, Some(target), factor, split)?;
        (read.table, Some(read.points), read.keys)
    } else {
        no_split(path, split)?;
        let (table, described) = table(path, factor)?;
        drop.extend(no_features(path, &table, &described, target));
        let points = described.iter().any(|column| column.name == data_set::POINT);
        let points = if points { table.column(data_set::POINT).ok().and_then(whole) } else { None };
        (table, points, Vec::new())
    };
    let mut dataset = Dataset::new(&table, target, &drop)?;
    if let Some(column) = &arguments.group {
        dataset.group_by(table.column(column)?);
    } else if let Some(blocks) = arguments.blocks {
        dataset.group_consecutive(blocks);
    } else {
        dataset.groups = points;
    }
    keys.extend(keys_of(&table, key)?);
    let rows = dataset.y.len();
    keys.insert(0, numbers(rows));
    Ok((dataset, keys))
}

/// The columns of a sweep's table that no model may learn from, except the target: those that identify a run, and those
/// that were observed like the target. A note says so.
fn no_features(path: &Path, table: &Table, described: &[Column], target: &str) -> Vec<String> {
    let of_role = |role: Role| {
        described
            .iter()
            .filter(move |column| column.role == role && column.name != target)
            .filter(move |column| table.columns().any(|(name, _)| name == column.name))
            .map(|column| column.name.clone())
    };
    let mut left_out: Vec<String> = of_role(Role::Observed).collect();
    if !left_out.is_empty() {
        let (observed, path) = (left_out.len(), path.display());
        note(&format!(
            "`{path}` is a table of a sweep: its factors are the features, and its {observed} other observed columns are \
             left out"
        ));
    }
    left_out.extend(of_role(Role::Identity));
    left_out
}

/// Whole numbers of a column of numbers.
fn whole(cells: &Cells) -> Option<Vec<i64>> {
    match cells {
        Cells::Numbers(numbers) => Some(numbers.iter().map(|number| *number as i64).collect()),
        Cells::Names { .. } => None,
    }
}

/// Returns an error if a split of a table is asked for, other than all of it.
fn no_split(path: &Path, split: Option<&str>) -> Result<(), Failure> {
    let Some(split) = split.filter(|split| *split != "all") else { return Ok(()) };
    Err(Failure::Usage(format!(
        "`{}` is a table and has no split `{split}`; only data sets that `sweep` made have splits",
        path.display()
    )))
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
        no_split(path, split)?;
        (table(path, factors)?.0, Vec::new())
    };
    keys.extend(keys_of(&table, key)?);
    keys.insert(0, numbers(table.rows()));
    Ok((table, keys))
}

/// The first bytes of a Parquet file.
const PARQUET: &[u8; 4] = b"PAR1";

/// A table, and what the sweep that made it says of its columns (nothing of other tables).
fn table(path: &Path, factors: &[String]) -> Result<(Table, Vec<Column>), Failure> {
    let mut first = Vec::new();
    let is_read = open(path)?.take(4).read_to_end(&mut first).is_ok();
    if !(is_read && first == PARQUET) {
        let table = Table::read(open(path)?, &path.display().to_string(), factors)?;
        return Ok((table, describe_text_file(path)));
    }
    let FileTable { columns, described } = read_parquet_file(path)?;
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
    Ok((table, described))
}

/// Opens a file for reading; a missing file is the user's fault.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let fault = |error| Failure::Usage(format!("cannot read `{}`: {error}", path.display()));
    Ok(BufReader::new(foretell_input::open(path).map_err(fault)?))
}

/// How rows are held out, as far as that was asked for.
pub(super) fn hold_out(arguments: &ValidationArguments) -> HoldOut {
    let by = arguments.cv.map(|cv| match cv {
        CrossValidation::Random => Holding::Random,
        CrossValidation::Group => Holding::Group,
        CrossValidation::LeaveLevelOut => Holding::LeaveLevelOut,
        CrossValidation::Blocked => Holding::Blocked,
    });
    HoldOut { by, folds: arguments.fold_count, seed: Seed(arguments.seed) }
}

/// The folds of a data set's rows, from a file if one is given.
pub(super) fn folds(arguments: &FoldArguments, data: &Dataset) -> Result<Folds, Failure> {
    let Some(path) = &arguments.folds else {
        return Ok(hold_out(&arguments.validation).folds(data)?);
    };
    Ok(Folds::read(open(path)?, &path.display().to_string(), data.y.len())?)
}

/// The parts of a data set's rows that are held out, one after the other.
pub(super) fn parts(arguments: &FoldArguments, data: &Dataset) -> Result<Parts, Failure> {
    if arguments.folds.is_some() {
        return Ok(Parts::from(&folds(arguments, data)?));
    }
    Ok(hold_out(&arguments.validation).parts(data)?)
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
        let mut note = format!(
            "{repeated} of {} rows have the same inputs as rows of other folds, so that models are asked \
             what they have seen",
            data.y.len()
        );
        if data.groups.is_none() {
            note += "; say what was observed together, `--group COLUMN`";
        }
        notes.push(note);
    }
    notes
}
