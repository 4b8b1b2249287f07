//! Reads a data set back: columns of numbers and names.

use std::path::Path;

use foretell_input::Rows;
#[cfg(feature = "parquet")]
use foretell_input::{MAX_CELLS, MAX_COLUMNS};

use crate::column::Column;
use crate::error::DataError;
use crate::finish::{Content, table_directory};
use crate::manifest::{Format, Manifest};
#[cfg(feature = "parquet")]
use crate::parquet_file::ParquetFile;
use crate::value::Value;

/// Reads the named columns of the table `runs`, by row, from the given splits or from all. Cells are
/// missing only where they are missing in the data set.
pub fn read_columns(
    directory: &Path,
    columns: &[String],
    splits: &[&str],
) -> Result<Vec<Vec<Value>>, DataError> {
    let manifest = Manifest::read(directory)?;
    let Some(content) = Content::read(directory)? else {
        return Err(DataError::NoSweep {
            path: directory.to_owned(),
            file: crate::finish::CONTENT_FILE,
        });
    };
    let mut found = vec![Vec::new(); columns.len()];
    for file in content.files_of("runs") {
        if !splits.is_empty() && !splits.contains(&file.split.as_str()) {
            continue;
        }
        let path = directory.join(&file.path);
        match content.format {
            Format::Parquet => read_parquet(&path, columns, &mut found)?,
            Format::Csv => read_csv(&path, &manifest, columns, &mut found)?,
        }
    }
    Ok(found)
}

/// A table in a file of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct FileTable {
    /// Names and cells of its columns, by row.
    pub columns: Vec<(String, Vec<Value>)>,
    /// What the file says of its columns; empty if no sweep wrote it.
    pub described: Vec<Column>,
}

/// What the sweep that made a text table says of its columns: the file lies in a data set. Empty if it does not.
pub fn describe_text_file(path: &Path) -> Vec<Column> {
    let found = || {
        let directory = path.parent()?;
        let manifest = Manifest::read(directory.parent()?).ok()?;
        let name = directory.file_name()?.to_str()?;
        let table =
            manifest.tables.into_iter().find(|table| table_directory(&table.name) == name)?;
        Some(table.columns)
    };
    found().unwrap_or_default()
}

/// Reads a single Parquet file. Columns of numbers, texts and truth values are supported; errors name other columns.
#[cfg(feature = "parquet")]
pub fn read_parquet_file(path: &Path) -> Result<FileTable, DataError> {
    let fault = |fault: String| DataError::Format {
        path: path.to_owned(),
        wanted: "a Parquet table",
        fault,
    };
    let file = ParquetFile::open(path, &fault)?;
    let (names, rows) = (file.names(), file.rows());
    if names.len() > MAX_COLUMNS || rows.saturating_mul(names.len() as u64) > MAX_CELLS {
        let columns = names.len();
        return Err(fault(format!(
            "it holds {rows} rows of {columns} columns; {MAX_COLUMNS} columns and {MAX_CELLS} cells \
             are read at most"
        )));
    }
    let numbers: Vec<usize> = (0..names.len()).collect();
    let mut columns = vec![Vec::new(); names.len()];
    file.read(&numbers, &mut columns, &fault)?;
    Ok(FileTable { columns: names.into_iter().zip(columns).collect(), described: file.described() })
}

/// The same in a build without Parquet: always an error.
#[cfg(not(feature = "parquet"))]
pub fn read_parquet_file(_: &Path) -> Result<FileTable, DataError> {
    Err(DataError::NoParquet)
}

#[cfg(not(feature = "parquet"))]
fn read_parquet(_: &Path, _: &[String], _: &mut [Vec<Value>]) -> Result<(), DataError> {
    Err(DataError::NoParquet)
}

#[cfg(feature = "parquet")]
fn read_parquet(
    path: &Path,
    columns: &[String],
    found: &mut [Vec<Value>],
) -> Result<(), DataError> {
    let fault = |fault: String| DataError::Format {
        path: path.to_owned(),
        wanted: "a table of this data set",
        fault,
    };
    let file = ParquetFile::open(path, &fault)?;
    let names = file.names();
    let number = |name: &String| {
        let place = names.iter().position(|known| known == name);
        place.ok_or_else(|| fault(format!("column `{name}` is missing")))
    };
    let numbers = columns.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    file.read(&numbers, found, &fault)
}

fn read_csv(
    path: &Path,
    manifest: &Manifest,
    columns: &[String],
    found: &mut [Vec<Value>],
) -> Result<(), DataError> {
    let fault = |fault: String| DataError::Format {
        path: path.to_owned(),
        wanted: "a table of this data set",
        fault,
    };
    let file = foretell_input::open(path).map_err(DataError::file("read", path))?;
    let mut reader = Rows::new(&csv::ReaderBuilder::new(), std::io::BufReader::new(file));
    let header = reader.heading().map_err(|error| fault(error.to_string()))?;
    let known = &manifest.tables[0].columns;
    let mut places = Vec::new();
    for name in columns {
        let place = header.iter().position(|column| column == name);
        let kind = known.iter().find(|column| column.name == *name).map(|column| column.kind);
        let (Some(place), Some(kind)) = (place, kind) else {
            return Err(fault(format!("column `{name}` is missing")));
        };
        places.push((place, kind));
    }
    for record in reader {
        let record = record.map_err(|error| fault(error.to_string()))?;
        for ((place, kind), values) in places.iter().zip(found.iter_mut()) {
            let cell = record.get(*place).unwrap_or("");
            values.push(kind.parse(cell).ok_or_else(|| fault(format!("`{cell}` is no {kind:?}")))?);
        }
    }
    Ok(())
}
