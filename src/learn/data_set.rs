//! The directory of a data set as a table of its factors and one of the observed columns.

use std::path::Path;

use foretell_datasets::{Column, Manifest, Part, Role, Value, read_columns};
use foretell_learn::{Cells, Table};
use foretell_scenarios::meant;

use crate::failure::Failure;

/// Name of the column with the design point.
pub(super) const POINT: &str = "point";
/// Columns that identify the run of a row.
const KEYS: [&str; 3] = ["run_id", POINT, "replicate"];

/// Rows of a data set.
pub(super) struct DataSet {
    /// Factors, and the target.
    pub(super) table: Table,
    /// The design point of each row.
    pub(super) points: Vec<i64>,
    /// The columns that identify the run of each row.
    pub(super) keys: Vec<(String, Vec<String>)>,
}

/// The split that was asked for; `None`: all splits.
pub(super) fn wanted<'a>(
    asked: Option<&'a str>,
    default: &'a str,
) -> Result<Option<&'a str>, Failure> {
    let name = asked.unwrap_or(default);
    let names = || Part::ALL.into_iter().map(Part::name).chain(["all"]);
    if !names().any(|known| known == name) {
        let help = meant(name, names().collect::<Vec<_>>()).unwrap_or_default();
        return Err(Failure::Usage(format!("there is no split `{name}`; {help}")));
    }
    Ok((name != "all").then_some(name))
}

/// Reads the factors, the `target` if one is given, and the run of each row, for one split or for all. Rows without a
/// target value (there was nothing to observe) are left out. `names`: factors that are names, even if they look like
/// numbers.
pub(super) fn read(
    directory: &Path,
    target: Option<&str>,
    names: &[String],
    split: Option<&str>,
) -> Result<DataSet, Failure> {
    let manifest = Manifest::read(directory)?;
    let columns = &manifest.tables[0].columns;
    let factors = columns.iter().filter(|column| column.role == Role::Factor);
    let mut wanted: Vec<&Column> = factors.collect();
    for name in names {
        known(name, wanted.iter().copied())?;
    }
    if let Some(target) = target {
        let observed = || columns.iter().filter(|column| column.role == Role::Observed);
        known(target, observed())?;
        wanted.extend(observed().filter(|column| column.name == target));
    }
    let mut names_of: Vec<String> = wanted.iter().map(|column| column.name.clone()).collect();
    names_of.extend(KEYS.map(str::to_owned));
    let splits: Vec<&str> = split.into_iter().collect();
    let mut cells = read_columns(directory, &names_of, &splits)?;
    let of_keys = cells.split_off(wanted.len());
    let points = of_keys[1].clone();
    let rows: Vec<usize> = match (target, cells.last()) {
        (Some(_), Some(found)) => {
            (0..found.len()).filter(|row| found[*row] != Value::Missing).collect()
        }
        _ => (0..points.len()).collect(),
    };
    let columns = wanted.iter().zip(&cells).map(|(column, cells)| {
        let of_rows = rows.iter().map(|row| &cells[*row]);
        let numbers: Option<Vec<f64>> =
            if names.contains(&column.name) { None } else { of_rows.clone().map(number).collect() };
        let cells = numbers.map_or_else(
            || {
                let texts: Vec<String> = of_rows.map(Value::to_string).collect();
                Cells::names(texts.iter().map(String::as_str))
            },
            Cells::Numbers,
        );
        (column.name.clone(), cells)
    });
    let table = Table::from_columns(columns.collect());
    let point = |row: &usize| points[*row].as_f64().map_or(-1, |point| point as i64);
    let texts = |cells: &Vec<Value>| rows.iter().map(|row| cells[*row].to_string()).collect();
    let keys = KEYS.iter().zip(&of_keys).map(|(name, cells)| ((*name).to_owned(), texts(cells)));
    Ok(DataSet { table, points: rows.iter().map(point).collect(), keys: keys.collect() })
}

/// Cells of a column as numbers if all known cells are numbers; as names otherwise.
pub(super) fn cells(values: &[Value], is_factor: bool) -> Cells {
    let known = |value: &Value| match value {
        Value::Missing => Some(f64::NAN),
        value => number(value),
    };
    let numbers: Option<Vec<f64>> =
        if is_factor { None } else { values.iter().map(known).collect() };
    numbers.map_or_else(
        || {
            let name = |value: &Value| match value {
                Value::Missing => "NA".to_owned(),
                value => value.to_string(),
            };
            let texts: Vec<String> = values.iter().map(name).collect();
            Cells::names(texts.iter().map(String::as_str))
        },
        Cells::Numbers,
    )
}

/// A cell as a number; a switch counts as 0 or 1.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Flag(flag) => Some(f64::from(u8::from(*flag))),
        value => value.as_f64(),
    }
}

fn known<'a>(name: &str, columns: impl Iterator<Item = &'a Column> + Clone) -> Result<(), Failure> {
    if columns.clone().any(|column| column.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    let help = meant(name, names).unwrap_or_default();
    Err(Failure::Usage(format!("the data set has no column `{name}` of that kind; {help}")))
}
