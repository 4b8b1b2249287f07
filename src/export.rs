//! `foretell export`: the tables of a run's store as Parquet or CSV, or its metrics as files of
//! dstat.

mod dstat;

use std::fmt::Write as _;

use foretell_ati::rusqlite::types::ValueRef;
use foretell_ati::{RecordKind, RunDb, open_run, table_names};
use foretell_core::sweep::plain_record_table;
use foretell_datasets::{Column, Format, Kind, Role, Row, TableFile, TableSchema, Value};
use foretell_files::{Directory, NewFile, Purpose};

use crate::cli::ExportArguments;
use crate::failure::Failure;
use crate::output;

/// Tables of facts and roll-ups are small; any such table is exported unchanged.
const FACTS: &str = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

/// Runs the command.
pub(crate) fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let inputs = [arguments.directory.as_path()];
    let purpose = Purpose::of("export").forced(arguments.force).reading(&inputs);
    Directory::may_take(&arguments.output, purpose)?;
    let run = open_run(&arguments.directory).map_err(Failure::NotARun)?;
    if arguments.dstat {
        return dstat::export(&run, &arguments.output, purpose);
    }
    let format = if arguments.csv { Format::Csv } else { Format::Parquet };
    let (tables, mut text) = tables(&run)?;
    let directory = Directory::take(&arguments.output, purpose)?;
    let mut files = Vec::new();
    for table in tables {
        let name = format!("{}.{}", table.name, format.ending());
        let file = TableFile::begin(directory.begin(&name)?, &table, format)?;
        let file = fill(&run, &table, file)?;
        let rows = file.rows();
        let mut file = file.finish()?;
        file.close()?;
        let _ = writeln!(text, "{}: {rows} rows", directory.path().join(&name).display());
        files.push((file, name));
    }
    replace(&directory, files)?;
    output::print(&text)
}

/// Replaces the files of an earlier export once all new files are complete.
fn replace(directory: &Directory, files: Vec<(NewFile, String)>) -> Result<(), Failure> {
    directory.clear(&[])?;
    Ok(NewFile::commit_all(directory, files)?)
}

/// The tables that have rows, with their columns; and notes about tables that are skipped because
/// their names cannot be file names.
fn tables(run: &RunDb) -> Result<(Vec<TableSchema>, String), Failure> {
    let names: Vec<String> = query(run, FACTS, |row| row.get(0))?;
    let known = table_names();
    let (mut found, mut notes) = (Vec::new(), String::new());
    for name in names {
        if !known.contains(&name) {
            let shown: String = name.chars().take(80).collect();
            let _ = writeln!(notes, "left out: table {shown:?}, which runs do not have");
            continue;
        }
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
    Ok((found, notes))
}

/// The schema of a table of facts; a column without a declared type holds texts.
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

fn fill(run: &RunDb, table: &TableSchema, mut file: TableFile) -> Result<TableFile, Failure> {
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
    Ok(file)
}
