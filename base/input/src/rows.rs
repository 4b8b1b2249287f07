//! Rows of comma-separated values, each of a bounded length.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{Reader, ReaderBuilder, StringRecord};

use crate::{MAX_CELLS, MAX_COLUMNS, MAX_RECORD, Refusal};

/// Reads rows. A row or a quoted cell without an end is an error before it takes all memory; so is a
/// table with more cells than can be kept.
#[derive(Debug)]
pub struct Rows<R> {
    reader: Reader<Counted<R>>,
    count: Rc<Count>,
    cells: u64,
}

/// Counts of what has been read.
#[derive(Debug, Default)]
struct Count {
    /// Bytes since the last row was returned.
    bytes: Cell<u64>,
    /// Number of rows returned.
    rows: Cell<u64>,
}

#[derive(Debug)]
struct Counted<R> {
    source: R,
    count: Rc<Count>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.count.bytes.get();
        if bytes > MAX_RECORD {
            return Err(Refusal::LongRow { row: self.count.rows.get() + 1 }.into());
        }
        let count = self.source.read(buffer)?;
        self.count.bytes.set(bytes + count as u64);
        Ok(count)
    }
}

impl<R: Read> Rows<R> {
    /// Reads rows of `source` with the settings of `builder`.
    pub fn new(builder: &ReaderBuilder, source: R) -> Self {
        let count = Rc::new(Count::default());
        let reader = builder.from_reader(Counted { source, count: Rc::clone(&count) });
        Self { reader, count, cells: 0 }
    }

    /// The heading, if `builder` is set to expect one.
    pub fn heading(&mut self) -> csv::Result<StringRecord> {
        let heading = self.reader.headers()?.clone();
        self.given(heading.len())?;
        Ok(heading)
    }

    /// Reads the next row into `row`; returns whether there was one.
    pub fn read(&mut self, row: &mut StringRecord) -> csv::Result<bool> {
        let there = self.reader.read_record(row)?;
        self.given(row.len())?;
        Ok(there)
    }

    fn given(&mut self, cells: usize) -> csv::Result<()> {
        self.count.bytes.set(0);
        self.count.rows.set(self.count.rows.get() + 1);
        self.cells += cells as u64;
        let refusal = if cells > MAX_COLUMNS {
            Refusal::Columns
        } else if self.cells > MAX_CELLS {
            Refusal::Cells
        } else {
            return Ok(());
        };
        Err(io::Error::from(refusal).into())
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = csv::Result<StringRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut row = StringRecord::new();
        match self.read(&mut row) {
            Ok(true) => Some(Ok(row)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(source: impl Read) -> Rows<impl Read> {
        Rows::new(&ReaderBuilder::new(), source)
    }

    #[test]
    fn rows_come_as_they_stand() {
        let mut table = rows("a,b\n1,2\n\"3\n\",4\n".as_bytes());
        assert_eq!(table.heading().unwrap(), vec!["a", "b"]);
        let found: Vec<Vec<String>> =
            table.map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        assert_eq!(found, [["1", "2"], ["3\n", "4"]]);
    }

    #[test]
    fn a_row_without_end_is_refused() {
        let error = rows(io::repeat(0)).heading().unwrap_err().to_string();
        assert!(error.contains("row 1 is longer than 16 MiB"), "{error}");
        // a quote that is never closed takes all that follows into its cell
        let open = "a,b\n1,2\n\"".as_bytes().chain(io::repeat(b'\n'));
        let mut table = rows(open);
        table.heading().unwrap();
        assert_eq!(table.next().unwrap().unwrap(), vec!["1", "2"]);
        let error = table.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("row 3 is longer than 16 MiB"), "{error}");
    }

    #[test]
    fn a_wide_table_is_refused() {
        let wide = "a,".repeat(5000) + "a\n";
        let error = rows(wide.as_bytes()).heading().unwrap_err().to_string();
        assert!(error.contains("more than 4096 columns"), "{error}");
    }

    #[test]
    fn many_rows_are_no_long_row() {
        let text = "12345678,12345678\n".repeat(2 << 20);
        assert_eq!(rows(text.as_bytes()).flatten().count(), (2 << 20) - 1);
    }

    #[test]
    fn a_table_without_end_is_refused() {
        struct Zeros;
        impl Read for Zeros {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                for (place, byte) in buffer.iter_mut().enumerate() {
                    *byte = b"0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"[place % 32];
                }
                // whole rows
                Ok(buffer.len() / 32 * 32)
            }
        }
        let builder = &mut ReaderBuilder::new();
        let mut table = Rows::new(builder.buffer_capacity(1 << 16), Zeros);
        let mut row = StringRecord::new();
        let error = loop {
            match table.read(&mut row) {
                Ok(there) => assert!(there),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("more than 33554432 cells"), "{error}");
    }
}
