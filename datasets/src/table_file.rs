//! Files of tables: Parquet or comma-separated values.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use foretell_files::NewFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::column::{Column, Kind, Role, TableSchema};
use crate::error::DataError;
use crate::journal::Row;
use crate::manifest::Format;
use crate::value::Value;

/// Cells that are held back until they are written together.
const BATCH_CELLS: usize = 1 << 16;
/// Cells that a Parquet file keeps together: 2 MiB or less, which a writer holds in memory; several
/// tables and splits are written at once.
const GROUP_CELLS: usize = 1 << 18;

/// A file while it is written.
pub struct TableFile {
    path: PathBuf,
    schema: SchemaRef,
    columns: Vec<Column>,
    builders: Vec<Builder>,
    held: usize,
    rows: u64,
    sink: Sink,
}

enum Sink {
    Parquet(Box<ArrowWriter<BufWriter<NewFile>>>),
    Csv(Box<csv::Writer<BufWriter<NewFile>>>),
}

enum Builder {
    Flag(BooleanBuilder),
    Whole(Int64Builder),
    Number(Float64Builder),
    Text(StringBuilder),
}

impl TableFile {
    /// Begins a table in a file.
    pub fn begin(file: NewFile, table: &TableSchema, format: Format) -> Result<Self, DataError> {
        let path = &file.path().to_owned();
        let file = BufWriter::new(file);
        let schema = arrow_schema(table);
        let sink = match format {
            Format::Parquet => {
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(table)))
                    .map_err(DataError::parquet(path))?;
                Sink::Parquet(Box::new(writer))
            }
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                let names = table.columns.iter().map(|column| &column.name);
                writer.write_record(names).map_err(|error| csv_error(path, error))?;
                Sink::Csv(Box::new(writer))
            }
        };
        let builders = table.columns.iter().map(|column| Builder::new(column.kind)).collect();
        Ok(Self {
            path: path.to_owned(),
            schema,
            columns: table.columns.clone(),
            builders,
            held: 0,
            rows: 0,
            sink,
        })
    }

    /// Adds a row; what does not fit its column is missing.
    pub fn push(&mut self, row: &Row) -> Result<(), DataError> {
        assert_eq!(row.len(), self.columns.len(), "a row has a cell for each column");
        self.rows += 1;
        match &mut self.sink {
            Sink::Csv(writer) => {
                let cells = row.iter().map(Value::to_string);
                writer.write_record(cells).map_err(|error| csv_error(&self.path, error))
            }
            Sink::Parquet(_) => {
                for (builder, value) in self.builders.iter_mut().zip(row) {
                    builder.push(value);
                }
                self.held += row.len();
                if self.held >= BATCH_CELLS { self.write_held() } else { Ok(()) }
            }
        }
    }

    fn write_held(&mut self) -> Result<(), DataError> {
        self.held = 0;
        let Sink::Parquet(writer) = &mut self.sink else { return Ok(()) };
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays)
            .expect("builders are made from the schema");
        writer.write(&batch).map_err(DataError::parquet(&self.path))
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes what is left. The file has yet to get its name.
    pub fn finish(mut self) -> Result<NewFile, DataError> {
        if self.held > 0 {
            self.write_held()?;
        }
        let failed = DataError::file("write", &self.path);
        let file = match self.sink {
            Sink::Parquet(writer) => {
                writer.into_inner().map_err(DataError::parquet(&self.path))?.into_inner()
            }
            Sink::Csv(writer) => {
                let buffer = writer.into_inner().map_err(|error| {
                    DataError::file("write", &self.path)(std::io::Error::other(error.to_string()))
                })?;
                buffer.into_inner()
            }
        };
        file.map_err(std::io::IntoInnerError::into_error).map_err(failed)
    }
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Flag => Self::Flag(BooleanBuilder::new()),
            Kind::Whole => Self::Whole(Int64Builder::new()),
            Kind::Number => Self::Number(Float64Builder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
        }
    }

    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Self::Flag(builder), Value::Flag(flag)) => builder.append_value(*flag),
            (Self::Flag(builder), _) => builder.append_null(),
            (Self::Whole(builder), Value::Whole(whole)) => builder.append_value(*whole),
            (Self::Whole(builder), _) => builder.append_null(),
            (Self::Number(builder), value) => builder.append_option(value.as_f64()),
            (Self::Text(builder), Value::Text(text)) => builder.append_value(text),
            (Self::Text(builder), _) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Flag(builder) => Arc::new(builder.finish()),
            Self::Whole(builder) => Arc::new(builder.finish()),
            Self::Number(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Columns with what they mean, where readers of Arrow look for it.
fn arrow_schema(table: &TableSchema) -> SchemaRef {
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Flag => DataType::Boolean,
            Kind::Whole => DataType::Int64,
            Kind::Number => DataType::Float64,
            Kind::Text => DataType::Utf8,
        };
        #[expect(clippy::disallowed_types, reason = "Arrow wants this type; it sorts the keys")]
        let told = std::collections::HashMap::from([
            ("description".to_owned(), column.description.clone()),
            ("unit".to_owned(), column.unit.clone()),
            ("role".to_owned(), crate::card::word(&column.role)),
        ]);
        Field::new(&column.name, kind, true).with_metadata(told)
    };
    Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
}

/// The same for readers that know Parquet alone, as JSON: key `columns` of the file's metadata.
fn properties(table: &TableSchema) -> WriterProperties {
    let told = serde_json::to_string(&table.columns).expect("columns are plain");
    let keys = vec![
        KeyValue::new("table".to_owned(), format!("{}: {}", table.name, table.description)),
        KeyValue::new("columns".to_owned(), told),
    ];
    let mut properties = WriterProperties::builder();
    for column in &table.columns {
        // observed numbers hardly repeat: a dictionary of them costs memory and gains nothing
        if column.kind == Kind::Number && column.role == Role::Observed {
            let path = ColumnPath::from(column.name.as_str());
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    properties
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("3 is a level")))
        .set_max_row_group_row_count(Some((GROUP_CELLS / table.columns.len().max(1)).max(1)))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(keys))
        .set_created_by("foretell".to_owned())
        .build()
}

fn csv_error(path: &Path, error: csv::Error) -> DataError {
    let error = match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    };
    DataError::file("write", path)(error)
}
