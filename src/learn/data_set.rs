//! The directory of a data set as a table: its factors, and one of the columns that were observed.

use std::path::Path;

use foretell_datasets::{Column, Manifest, Part, Role, Value, read_columns};
use foretell_learn::{Cells, Table};
use foretell_scenarios::meant;

use crate::failure::Failure;

/// The design point of a row.
const POINT: &str = "point";

/// The split that was asked for; `None`: all.
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

/// Reads the factors, and the `target` if there is one, of a split or of all; and each row's design
/// point. Rows without a target (there was nothing to observe) are left out. `names`: factors that
/// are names, even where they look like numbers.
pub(super) fn read(
    directory: &Path,
    target: Option<&str>,
    names: &[String],
    split: Option<&str>,
) -> Result<(Table, Vec<i64>), Failure> {
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
    names_of.push(POINT.to_owned());
    let splits: Vec<&str> = split.into_iter().collect();
    let mut cells = read_columns(directory, &names_of, &splits)?;
    let points = cells.pop().unwrap_or_default();
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
    Ok((table, rows.iter().map(point).collect()))
}

/// A switch is a number, too.
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
