//! Tables as Parquet files, compressed by zstd, written column by column.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use foretell_files::NewFile;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::arrow_schema::arrow_schema;
use crate::column::{COLUMNS_KEY, Column, Kind, Role, TableSchema};
use crate::journal::Row;
use crate::value::Value;

/// Number of cells in a row group: at most 2 MiB, which a writer holds in memory. Several tables and splits
/// are written at once.
const GROUP_CELLS: usize = 1 << 18;

/// A Parquet file, and the cells of the next row group.
pub(super) struct Parquet {
    writer: SerializedFileWriter<BufWriter<NewFile>>,
    held: Vec<Held>,
    rows: usize,
    most: usize,
}

/// The buffered cells of a column.
enum Held {
    Flag(Cells<bool>),
    Whole(Cells<i64>),
    Number(Cells<f64>),
    Text(Cells<ByteArray>),
}

/// Values, and for each cell whether it has one: 1, or 0 if it is missing.
struct Cells<T> {
    values: Vec<T>,
    present: Vec<i16>,
}

impl Parquet {
    pub(super) fn begin(
        file: BufWriter<NewFile>,
        table: &TableSchema,
    ) -> Result<Self, ParquetError> {
        let most = (GROUP_CELLS / table.columns.len().max(1)).max(1);
        let writer = SerializedFileWriter::new(file, schema(table)?, Arc::new(properties(table)))?;
        let held = table.columns.iter().map(|column| Held::new(column.kind)).collect();
        Ok(Self { writer, held, rows: 0, most })
    }

    pub(super) fn push(&mut self, row: &Row) -> Result<(), ParquetError> {
        for (held, value) in self.held.iter_mut().zip(row) {
            held.push(value);
        }
        self.rows += 1;
        if self.rows < self.most { Ok(()) } else { self.write_held() }
    }

    fn write_held(&mut self) -> Result<(), ParquetError> {
        self.rows = 0;
        let mut group = self.writer.next_row_group()?;
        self.held.iter_mut().try_for_each(|held| held.write(&mut group))?;
        group.close().map(drop)
    }

    pub(super) fn finish(mut self) -> Result<BufWriter<NewFile>, ParquetError> {
        if self.rows > 0 {
            self.write_held()?;
        }
        self.writer.into_inner()
    }
}

impl Held {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Flag => Self::Flag(Cells::new()),
            Kind::Whole => Self::Whole(Cells::new()),
            Kind::Number => Self::Number(Cells::new()),
            Kind::Text => Self::Text(Cells::new()),
        }
    }

    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Self::Flag(cells), Value::Flag(flag)) => cells.push(Some(*flag)),
            (Self::Flag(cells), _) => cells.push(None),
            (Self::Whole(cells), Value::Whole(whole)) => cells.push(Some(*whole)),
            (Self::Whole(cells), _) => cells.push(None),
            (Self::Number(cells), value) => cells.push(value.as_f64()),
            (Self::Text(cells), Value::Text(text)) => {
                cells.push(Some(text.as_bytes().to_vec().into()));
            }
            (Self::Text(cells), _) => cells.push(None),
        }
    }

    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self {
            Self::Flag(cells) => cells.write::<BoolType, W>(group),
            Self::Whole(cells) => cells.write::<Int64Type, W>(group),
            Self::Number(cells) => cells.write::<DoubleType, W>(group),
            Self::Text(cells) => cells.write::<ByteArrayType, W>(group),
        }
    }
}

impl<T> Cells<T> {
    fn new() -> Self {
        Self { values: Vec::new(), present: Vec::new() }
    }

    fn push(&mut self, value: Option<T>) {
        self.present.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// Writes the next column of a row group, and empties the buffer.
    fn write<D: DataType<T = T>, W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("there is a column for each");
        column.typed::<D>().write_batch(&self.values, Some(&self.present), None)?;
        column.close()?;
        self.values.clear();
        self.present.clear();
        Ok(())
    }
}

/// The Parquet schema; all cells may be missing.
fn schema(table: &TableSchema) -> Result<Arc<Type>, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Flag => (Physical::BOOLEAN, None),
            Kind::Whole => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    };
    let fields = table.columns.iter().map(field).collect::<Result<_, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

/// Metadata with the meaning of columns: the Arrow schema for readers of Arrow, and JSON in the key
/// `columns` of the file's metadata for readers of plain Parquet.
fn properties(table: &TableSchema) -> WriterProperties {
    let columns = serde_json::to_string(&table.columns).expect("columns are plain");
    let keys = vec![
        KeyValue::new("table".to_owned(), format!("{}: {}", table.name, table.description)),
        KeyValue::new(COLUMNS_KEY.to_owned(), columns),
        KeyValue::new("ARROW:schema".to_owned(), arrow_schema(table)),
    ];
    let mut properties = WriterProperties::builder();
    for column in &table.columns {
        // observed numbers hardly repeat, so a dictionary costs memory and gains nothing
        if column.kind == Kind::Number && column.role == Role::Observed {
            let path = ColumnPath::from(column.name.as_str());
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    properties
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("3 is a level")))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(keys))
        .set_created_by("foretell".to_owned())
        .build()
}
