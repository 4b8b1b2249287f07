//! `foretell export`: the tables of a run's store as Parquet or CSV, or its metrics as dstat's files.

mod dstat;

use std::fmt::Write as _;
use std::fs;

use foretell_ati::rusqlite::types::ValueRef;
use foretell_ati::{RecordKind, RunDb, open_run};
use foretell_datasets::{Column, Format, Kind, Role, Row, TableFile, TableSchema, Value};

use crate::cli::ExportArguments;
use crate::failure::Failure;
use crate::output;
use crate::sweep::plain_record_table;

/// Tables of facts and roll-ups are small, and any table of theirs is exported as it is.
const FACTS: &str = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

/// Runs the command.
pub(crate) fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let run = open_run(&arguments.directory).map_err(Failure::NotARun)?;
    if arguments.dstat {
        return dstat::export(&run, &arguments.output);
    }
    let format = if arguments.csv { Format::Csv } else { Format::Parquet };
    let directory = &arguments.output;
    fs::create_dir_all(directory).map_err(Failure::file("make the directory", directory))?;
    let mut text = String::new();
    for table in tables(&run)? {
        let path = directory.join(format!("{}.{}", table.name, format.ending()));
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let written = TableFile::create(partial.as_ref(), &table, format)
            .map_err(Failure::from)
            .and_then(|file| fill(&run, &table, file));
        let rows = written.inspect_err(|_| drop(fs::remove_file(&partial)))?;
        fs::rename(&partial, &path).map_err(Failure::file("write", &path))?;
        let _ = writeln!(text, "{}: {rows} rows", path.display());
    }
    output::print(&text)
}

/// The tables that have rows, with their columns.
fn tables(run: &RunDb) -> Result<Vec<TableSchema>, Failure> {
    let names: Vec<String> = query(run, FACTS, |row| row.get(0))?;
    let mut found = Vec::new();
    for name in names {
        let rows: Vec<i64> =
            query(run, &format!("SELECT EXISTS (SELECT 1 FROM \"{name}\")"), |row| row.get(0))?;
        if rows != [1] {
            continue;
        }
        found.push(match name.parse::<RecordKind>() {
            Ok(kind) => plain_record_table(kind),
            Err(_) => facts(run, &name)?,
        });
    }
    Ok(found)
}

/// A table of facts; a column without a type of its own holds texts.
fn facts(run: &RunDb, name: &str) -> Result<TableSchema, Failure> {
    let columns = query(run, &format!("PRAGMA table_info(\"{name}\")"), |row| {
        let (column, kind): (String, String) = (row.get(1)?, row.get(2)?);
        let kind = match kind.as_str() {
            "INTEGER" => Kind::Whole,
            "REAL" => Kind::Number,
            _ => Kind::Text,
        };
        Ok(Column::new(column, kind, Role::Observed, "", ""))
    })?;
    let description = format!("Table `{name}` of the run's store; see its documentation.");
    Ok(TableSchema { name: name.to_owned(), description, columns, rows_per_file: u64::MAX })
}

fn query<T>(
    run: &RunDb,
    sql: &str,
    each: impl FnMut(&foretell_ati::rusqlite::Row<'_>) -> foretell_ati::rusqlite::Result<T>,
) -> Result<Vec<T>, Failure> {
    let all = || run.sql().prepare(sql)?.query_map([], each)?.collect();
    let found: foretell_ati::rusqlite::Result<Vec<T>> = all();
    found.map_err(|error| unreadable(run, &error))
}

fn unreadable(run: &RunDb, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("cannot read `{}`: {error}", run.path().display()))
}

fn fill(run: &RunDb, table: &TableSchema, mut file: TableFile) -> Result<u64, Failure> {
    let unreadable = |error| unreadable(run, &error);
    let sql = format!("SELECT * FROM \"{}\"", table.name);
    let mut statement = run.sql().prepare(&sql).map_err(unreadable)?;
    let mut rows = statement.query([]).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let mut cells: Row = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            cells.push(match row.get_ref(index).map_err(unreadable)? {
                ValueRef::Null | ValueRef::Blob(_) => Value::Missing,
                ValueRef::Integer(whole) => Value::Whole(whole),
                ValueRef::Real(number) => Value::number(number),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
            });
            if let (Kind::Text, Some(cell)) = (column.kind, cells.last_mut())
                && !matches!(cell, Value::Missing | Value::Text(_))
            {
                *cell = Value::Text(cell.to_string());
            }
        }
        file.push(&cells)?;
    }
    Ok(file.finish()?)
}
