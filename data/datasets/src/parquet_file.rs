//! Reads Parquet: flat columns of numbers, texts and truth values, one row group at a time.
//!
//! Left out: nested columns, lists, dates, times, decimals and bytes. Errors name the column.

use std::fs::File;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::column::{COLUMNS_KEY, Column};
use crate::error::DataError;
use crate::value::Value;

/// Number of cells that are read at once.
const BATCH: usize = 8192;

/// The meaning of a column's cells, beyond their storage type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    Signed,
    Unsigned,
    Number,
    Flag,
    Text,
}

/// An open Parquet file.
pub(crate) struct ParquetFile {
    reader: SerializedFileReader<File>,
}

impl ParquetFile {
    /// Opens the file. `fault` makes an error if it is not a Parquet file.
    pub(crate) fn open(
        path: &Path,
        fault: &dyn Fn(String) -> DataError,
    ) -> Result<Self, DataError> {
        let file = foretell_input::open(path).map_err(DataError::file("read", path))?;
        let reader = SerializedFileReader::new(file).map_err(|error| fault(error.to_string()))?;
        Ok(Self { reader })
    }

    fn metadata(&self) -> &FileMetaData {
        self.reader.metadata().file_metadata()
    }

    /// Number of rows according to the file.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.metadata().num_rows()).unwrap_or(u64::MAX)
    }

    /// Names of the columns; nested columns have dots in their names.
    pub(crate) fn names(&self) -> Vec<String> {
        let columns = self.metadata().schema_descr().columns();
        columns.iter().map(|column| column.path().string()).collect()
    }

    /// What the file says of its columns, if a sweep wrote it; other programs keep this when they copy the file.
    pub(crate) fn described(&self) -> Vec<Column> {
        let keys = self.metadata().key_value_metadata();
        let columns = keys.into_iter().flatten().find(|known| known.key == COLUMNS_KEY);
        let text = columns.and_then(|known| known.value.as_deref());
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Reads columns by their numbers, each into its own list.
    pub(crate) fn read(
        &self,
        columns: &[usize],
        found: &mut [Vec<Value>],
        fault: &dyn Fn(String) -> DataError,
    ) -> Result<(), DataError> {
        let schema = self.metadata().schema_descr();
        let mut meanings = Vec::new();
        for &number in columns {
            let column = schema.column(number);
            meanings.push(meaning(&column).ok_or_else(|| {
                let (name, kind) = (column.path().string(), described(&column));
                fault(format!("column `{name}` holds {kind}; expected numbers or texts"))
            })?);
        }
        let broken = |error: ParquetError| fault(error.to_string());
        for number in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(number).map_err(broken)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
            for ((&column, &meaning), values) in columns.iter().zip(&meanings).zip(&mut *found) {
                let before = values.len();
                let reader = group.get_column_reader(column).map_err(broken)?;
                cells(reader, meaning, values).map_err(broken)?;
                let read = values.len() - before;
                if read != rows {
                    let name = schema.column(column).path().string();
                    return Err(fault(format!("column `{name}` has {read} of {rows} cells")));
                }
            }
        }
        Ok(())
    }
}

/// The meaning of a column's cells; `None` if the type is not supported.
fn meaning(column: &ColumnDescriptor) -> Option<Meaning> {
    use ConvertedType as Old;
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return None;
    }
    let (new, old) = (column.logical_type_ref(), column.converted_type());
    match (column.physical_type(), new) {
        (Physical::BOOLEAN, None) => Some(Meaning::Flag),
        (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(kind))) => {
            Some(if kind.is_signed { Meaning::Signed } else { Meaning::Unsigned })
        }
        (Physical::INT32 | Physical::INT64, None) => match old {
            Old::NONE | Old::INT_8 | Old::INT_16 | Old::INT_32 | Old::INT_64 => {
                Some(Meaning::Signed)
            }
            Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64 => Some(Meaning::Unsigned),
            _ => None,
        },
        (Physical::FLOAT | Physical::DOUBLE, None) => Some(Meaning::Number),
        (Physical::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Json)) => {
            Some(Meaning::Text)
        }
        (Physical::BYTE_ARRAY, None) if matches!(old, Old::UTF8 | Old::JSON) => Some(Meaning::Text),
        _ => None,
    }
}

/// Name of an unsupported type, for messages.
fn described(column: &ColumnDescriptor) -> String {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return "lists or tables".to_owned();
    }
    match (column.logical_type_ref(), column.converted_type()) {
        // only the type's name, without its parameters
        (Some(logical), _) => {
            let name = format!("{logical:?}");
            name.split([' ', '(', '{']).next().unwrap_or_default().to_lowercase()
        }
        (None, ConvertedType::NONE) => column.physical_type().to_string(),
        (None, converted) => converted.to_string(),
    }
}

/// Appends all cells of a column in a row group.
fn cells(
    reader: ColumnReader,
    meaning: Meaning,
    values: &mut Vec<Value>,
) -> Result<(), ParquetError> {
    let unsigned = meaning == Meaning::Unsigned;
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            append(reader, values, |flag| Ok(Value::Flag(*flag)))
        }
        ColumnReader::Int32ColumnReader(reader) => append(reader, values, |whole| {
            let unsigned_value = i64::from(whole.cast_unsigned());
            Ok(Value::Whole(if unsigned { unsigned_value } else { i64::from(*whole) }))
        }),
        ColumnReader::Int64ColumnReader(reader) => append(reader, values, |whole| {
            Ok(if unsigned { Value::count(whole.cast_unsigned()) } else { Value::Whole(*whole) })
        }),
        ColumnReader::FloatColumnReader(reader) => {
            append(reader, values, |number| Ok(Value::number(f64::from(*number))))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            append(reader, values, |number| Ok(Value::number(*number)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            append(reader, values, |text: &ByteArray| Ok(Value::from(text.as_utf8()?)))
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err(ParquetError::NYI("columns of this type".to_owned()))
        }
    }
}

fn append<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    values: &mut Vec<Value>,
    cell: impl Fn(&T::T) -> Result<Value, ParquetError>,
) -> Result<(), ParquetError> {
    let (mut found, mut levels) = (Vec::new(), Vec::new());
    loop {
        found.clear();
        levels.clear();
        let (rows, ..) = reader.read_records(BATCH, Some(&mut levels), None, &mut found)?;
        if rows == 0 {
            return Ok(());
        }
        if levels.is_empty() {
            // a column without missing cells
            for value in &found {
                values.push(cell(value)?);
            }
            continue;
        }
        let mut present = found.iter();
        for level in &levels {
            // missing cells have no value
            values.push(match (*level > 0).then(|| present.next()).flatten() {
                Some(value) => cell(value)?,
                None => Value::Missing,
            });
        }
    }
}
