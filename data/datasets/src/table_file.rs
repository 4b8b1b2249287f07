//! Files of tables: Parquet or comma-separated values.

#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use foretell_files::NewFile;

#[cfg(feature = "parquet")]
use self::parquet::Parquet;
use crate::column::TableSchema;
use crate::error::DataError;
use crate::journal::Row;
use crate::manifest::Format;
use crate::value::Value;

/// A table file while it is being written.
pub struct TableFile {
    path: PathBuf,
    columns: usize,
    rows: u64,
    sink: Sink,
}

enum Sink {
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet>),
    Csv(Box<csv::Writer<BufWriter<NewFile>>>),
}

impl TableFile {
    /// Begins a table in a file.
    pub fn begin(file: NewFile, table: &TableSchema, format: Format) -> Result<Self, DataError> {
        let path = file.path().to_owned();
        let file = BufWriter::new(file);
        let sink = match format {
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(DataError::NoParquet),
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                let parquet = Parquet::begin(file, table).map_err(DataError::parquet(&path))?;
                Sink::Parquet(Box::new(parquet))
            }
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                let names = table.columns.iter().map(|column| &column.name);
                writer.write_record(names).map_err(|error| csv_error(&path, error))?;
                Sink::Csv(Box::new(writer))
            }
        };
        Ok(Self { path, columns: table.columns.len(), rows: 0, sink })
    }

    /// Adds a row; a cell that does not fit its column becomes missing.
    pub fn push(&mut self, row: &Row) -> Result<(), DataError> {
        assert_eq!(row.len(), self.columns, "a row has a cell for each column");
        self.rows += 1;
        match &mut self.sink {
            Sink::Csv(writer) => {
                let cells = row.iter().map(Value::to_string);
                writer.write_record(cells).map_err(|error| csv_error(&self.path, error))
            }
            #[cfg(feature = "parquet")]
            Sink::Parquet(parquet) => parquet.push(row).map_err(DataError::parquet(&self.path)),
        }
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the remaining rows. The caller gives the file its final name.
    pub fn finish(self) -> Result<NewFile, DataError> {
        let failed = DataError::file("write", &self.path);
        let file = match self.sink {
            #[cfg(feature = "parquet")]
            Sink::Parquet(parquet) => parquet.finish().map_err(DataError::parquet(&self.path))?,
            Sink::Csv(writer) => writer.into_inner().map_err(|error| {
                DataError::file("write", &self.path)(io::Error::other(error.to_string()))
            })?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error).map_err(failed)
    }
}

fn csv_error(path: &Path, error: csv::Error) -> DataError {
    let error = match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    };
    DataError::file("write", path)(error)
}
