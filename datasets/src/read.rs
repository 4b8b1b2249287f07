//! Reading a data set back: columns of numbers and names.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use foretell_input::{MOST_CELLS, MOST_COLUMNS, Rows};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::error::DataError;
use crate::finish::Content;
use crate::manifest::{Format, Manifest};
use crate::value::Value;

/// Reads the named columns of the table `runs`, by row: of the splits given, or of all. Nothing is
/// missing in the result but what is missing in the data set.
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

/// Reads a Parquet file of its own: names and cells of its columns, by row. Columns of numbers, texts and
/// truth values are known; errors name others.
pub fn read_parquet_file(path: &Path) -> Result<Vec<(String, Vec<Value>)>, DataError> {
    let fault = |error: &dyn std::fmt::Display| DataError::Format {
        path: path.to_owned(),
        wanted: "a Parquet table",
        fault: error.to_string(),
    };
    let file = foretell_input::open(path).map_err(DataError::file("read", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e))?;
    let names: Vec<String> =
        builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(u64::MAX);
    if names.len() > MOST_COLUMNS || rows.saturating_mul(names.len() as u64) > MOST_CELLS {
        let columns = names.len();
        return Err(fault(&format!(
            "it holds {rows} rows of {columns} columns; {MOST_COLUMNS} columns and {MOST_CELLS} cells \
             are read at most"
        )));
    }
    let mut columns: Vec<(String, Vec<Value>)> =
        names.into_iter().map(|name| (name, Vec::new())).collect();
    for batch in builder.build().map_err(|e| fault(&e))? {
        let batch = batch.map_err(|error| fault(&error))?;
        for (name, values) in &mut columns {
            let other = || {
                let found = batch.column_by_name(name).map(|array| array.data_type().to_string());
                let found = found.unwrap_or_default();
                fault(&format!("column `{name}` holds {found}; numbers or texts are wanted"))
            };
            append(&batch, name, values).ok_or_else(other)?;
        }
    }
    Ok(columns)
}

fn read_parquet(
    path: &Path,
    columns: &[String],
    found: &mut [Vec<Value>],
) -> Result<(), DataError> {
    let fault = |error: &dyn std::fmt::Display| DataError::Format {
        path: path.to_owned(),
        wanted: "a table of this data set",
        fault: error.to_string(),
    };
    let file = foretell_input::open(path).map_err(DataError::file("read", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fault(&e))?;
    let names = columns.iter().map(String::as_str);
    let mask = ProjectionMask::columns(builder.parquet_schema(), names);
    let reader = builder.with_projection(mask).build().map_err(|e| fault(&e))?;
    for batch in reader {
        let batch = batch.map_err(|error| fault(&error))?;
        for (name, values) in columns.iter().zip(found.iter_mut()) {
            let wrong = || fault(&format!("column `{name}` is missing or of another type"));
            append(&batch, name, values).ok_or_else(wrong)?;
        }
    }
    Ok(())
}

fn append(batch: &RecordBatch, name: &str, values: &mut Vec<Value>) -> Option<()> {
    let array = batch.column_by_name(name)?;
    let cell = |row: usize| -> Option<Value> {
        if array.is_null(row) {
            return Some(Value::Missing);
        }
        Some(match array.data_type() {
            DataType::Boolean => Value::Flag(array.as_boolean().value(row)),
            DataType::Int64 => Value::Whole(array.as_primitive::<Int64Type>().value(row)),
            DataType::Int32 => Value::Whole(array.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int16 => Value::Whole(array.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int8 => Value::Whole(array.as_primitive::<Int8Type>().value(row).into()),
            DataType::UInt64 => Value::count(array.as_primitive::<UInt64Type>().value(row)),
            DataType::UInt32 => Value::Whole(array.as_primitive::<UInt32Type>().value(row).into()),
            DataType::UInt16 => Value::Whole(array.as_primitive::<UInt16Type>().value(row).into()),
            DataType::UInt8 => Value::Whole(array.as_primitive::<UInt8Type>().value(row).into()),
            DataType::Float64 => Value::number(array.as_primitive::<Float64Type>().value(row)),
            DataType::Float32 => {
                Value::number(array.as_primitive::<Float32Type>().value(row).into())
            }
            DataType::Utf8 => Value::from(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Value::from(array.as_string::<i64>().value(row)),
            DataType::Utf8View => Value::from(array.as_string_view().value(row)),
            _ => return None,
        })
    };
    for row in 0..batch.num_rows() {
        values.push(cell(row)?);
    }
    Some(())
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
