//! Tables with named columns, read from comma-separated values.
//!
//! Values are separated by commas, semicolons or tabs, whichever is most frequent in the first line. A
//! column whose cells are all names is a *factor*. A column with a number in it is a column of numbers,
//! and a name there is an error (with its line), not a silent missing value. A value is missing where a
//! cell is empty or holds `NA`, `NaN` or `null`: it becomes a NaN among numbers, the name `NA` among
//! names.

use std::io::{BufRead, BufReader, Read};

use foretell_input::{MAX_NAMES, Rows};
use foretell_sorted::{SortedMap, SortedSet};

use crate::LearnError;
use crate::error::nearest;

/// Content of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cells {
    /// Finite numbers; NaN where one is missing.
    Numbers(Vec<f64>),
    /// Names: the different ones, sorted, and for each row the index of its name.
    Names {
        /// Different names, sorted.
        levels: Vec<String>,
        /// Index into `levels`, by row.
        codes: Vec<usize>,
    },
}

impl Cells {
    /// A column of names, by row.
    pub fn names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let different: SortedSet<&str> = names.clone().collect();
        let levels: Vec<String> = different.iter().map(|&name| name.to_owned()).collect();
        let code = |name: &str| levels.partition_point(|level| level.as_str() < name);
        let codes = names.map(code).collect();
        Self::Names { levels, codes }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Names { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Named columns of one length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    rows: usize,
    columns: Vec<(String, Cells)>,
}

impl Table {
    /// Reads comma-separated values with a first line of names. `file` is used in messages. Columns in
    /// `factors` hold names, even if these look like numbers.
    pub fn read(input: impl Read, file: &str, factors: &[String]) -> Result<Self, LearnError> {
        let not_a_table = |error: csv::Error| LearnError::NotATable {
            file: file.into(),
            error: error.to_string(),
        };
        let mut input = BufReader::new(input);
        let first = input.fill_buf().map_err(|error| LearnError::NotATable {
            file: file.into(),
            error: error.to_string(),
        })?;
        let separator = separator(first);
        let mut builder = csv::ReaderBuilder::new();
        builder.flexible(true).trim(csv::Trim::All).delimiter(separator);
        let mut reader = Rows::new(&builder, input);
        let names: Vec<String> = reader
            .heading()
            .map_err(not_a_table)?
            .iter()
            .map(|name| name.trim_start_matches('\u{feff}').to_owned())
            .collect();
        if names.is_empty() || names.iter().all(String::is_empty) {
            let error = "it has no first line of column names".to_owned();
            return Err(LearnError::NotATable { file: file.into(), error });
        }
        let mut known = SortedSet::new();
        for name in &names {
            if !known.insert(name) {
                return Err(LearnError::SameName { file: file.into(), column: name.clone() });
            }
        }
        for factor in factors {
            if !known.contains(factor) {
                return Err(no_column(factor, &names));
            }
        }
        let mut columns: Vec<Column> =
            names.iter().map(|name| Column::new(factors.contains(name))).collect();
        let mut record = csv::StringRecord::new();
        let mut rows = 0;
        while reader.read(&mut record).map_err(not_a_table)? {
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != names.len() {
                let (found, wanted) = (record.len(), names.len());
                return Err(LearnError::RowLength { file: file.into(), line, found, wanted });
            }
            for ((cell, name), column) in record.iter().zip(&names).zip(&mut columns) {
                column.push(cell, line).map_err(|fault| fault.into_error(file, name))?;
            }
            rows += 1;
        }
        let columns =
            names.into_iter().zip(columns).map(|(name, column)| (name, column.cells())).collect();
        Ok(Self { rows, columns })
    }

    /// A table from columns of equal length, each of finite numbers or of names.
    ///
    /// # Panics
    ///
    /// If they differ in length.
    pub fn from_columns(columns: Vec<(String, Cells)>) -> Self {
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        assert!(columns.iter().all(|(_, cells)| cells.len() == rows), "columns of one length");
        Self { rows, columns }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Cells)> {
        self.columns.iter().map(|(name, cells)| (name.as_str(), cells))
    }

    /// A column by name; if there is none, the error contains the nearest name.
    pub fn column(&self, name: &str) -> Result<&Cells, LearnError> {
        let found = self.columns.iter().find(|(column, _)| column == name);
        found.map(|(_, cells)| cells).ok_or_else(|| LearnError::NoColumn {
            column: name.to_owned(),
            nearest: nearest(name, self.names()),
        })
    }
}

/// The separator of values: the candidate that is most frequent outside quotes in the first line.
fn separator(text: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let mut is_quoted = false;
    for byte in text.iter().take_while(|byte| **byte != b'\n') {
        is_quoted ^= *byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(b, _)| b == byte && !is_quoted) {
            *count += 1;
        }
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(byte, _)| byte)
}

fn no_column(name: &str, names: &[String]) -> LearnError {
    let nearest = nearest(name, names.iter().map(String::as_str));
    LearnError::NoColumn { column: name.to_owned(), nearest }
}

/// A column while it is being read.
enum Column {
    /// This many cells, all of them missing so far.
    Unknown(usize),
    Numbers(Vec<f64>),
    Names {
        codes: SortedMap<String, usize>,
        rows: Vec<usize>,
        forced: bool,
        first_line: u64,
    },
}

/// The name of a missing value among names.
const MISSING: &str = "NA";

fn is_missing(cell: &str) -> bool {
    cell.is_empty() || ["na", "nan", "null"].iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The code of a name; a new name gets the next one.
fn code(codes: &mut SortedMap<String, usize>, name: &str) -> usize {
    let next = codes.len();
    match codes.get(name) {
        Some(code) => *code,
        None => *codes.entry(name.to_owned()).or_insert(next),
    }
}

enum CellFault {
    NotANumber { line: u64, cell: String, factor_possible: bool },
    NotFinite { line: u64, cell: String },
    TooManyNames { line: u64 },
}

impl CellFault {
    fn into_error(self, file: &str, column: &str) -> LearnError {
        let (file, column) = (file.to_owned(), column.to_owned());
        match self {
            Self::NotANumber { line, cell, factor_possible } => {
                LearnError::NotANumber { file, line, column, cell, factor_possible }
            }
            Self::NotFinite { line, cell } => LearnError::NotFinite { file, line, column, cell },
            Self::TooManyNames { line } => LearnError::TooManyNames { file, line, column },
        }
    }
}

impl Column {
    fn new(factor: bool) -> Self {
        if factor {
            let codes = SortedMap::new();
            Self::Names { codes, rows: Vec::new(), forced: true, first_line: 0 }
        } else {
            Self::Unknown(0)
        }
    }

    fn push(&mut self, cell: &str, line: u64) -> Result<(), CellFault> {
        if is_missing(cell) {
            match self {
                Self::Unknown(missing) => *missing += 1,
                Self::Numbers(numbers) => numbers.push(f64::NAN),
                Self::Names { codes, rows, .. } => rows.push(code(codes, MISSING)),
            }
            return Ok(());
        }
        let number = || {
            let number: f64 = cell.parse().ok()?;
            Some(number)
        };
        match self {
            Self::Unknown(missing) => {
                let missing = *missing;
                *self = if number().is_some() {
                    Self::Numbers(vec![f64::NAN; missing])
                } else {
                    let mut codes = SortedMap::new();
                    let rows = (0..missing).map(|_| code(&mut codes, MISSING)).collect();
                    Self::Names { codes, rows, forced: false, first_line: line }
                };
                self.push(cell, line)
            }
            Self::Numbers(numbers) => match number() {
                Some(number) if number.is_finite() => {
                    numbers.push(number);
                    Ok(())
                }
                Some(_) => Err(CellFault::NotFinite { line, cell: cell.to_owned() }),
                None => Err(CellFault::NotANumber {
                    line,
                    cell: cell.to_owned(),
                    factor_possible: true,
                }),
            },
            Self::Names { codes, rows, forced, first_line } => {
                if !*forced && number().is_some() {
                    // the names before were wrong, not this number
                    let named = rows.iter().find(|row| codes.get(MISSING) != Some(*row));
                    let cell = codes.iter().find(|(_, code)| Some(*code) == named);
                    let cell = cell.map_or_else(String::new, |(name, _)| name.clone());
                    let line = *first_line;
                    return Err(CellFault::NotANumber { line, cell, factor_possible: true });
                }
                if codes.len() >= MAX_NAMES && !codes.contains_key(cell) {
                    return Err(CellFault::TooManyNames { line });
                }
                rows.push(code(codes, cell));
                Ok(())
            }
        }
    }

    fn cells(self) -> Cells {
        match self {
            Self::Unknown(missing) => Cells::Numbers(vec![f64::NAN; missing]),
            Self::Numbers(numbers) => Cells::Numbers(numbers),
            Self::Names { codes, rows, .. } => {
                let mut sorted = vec![0; codes.len()];
                for (index, code) in codes.values().enumerate() {
                    sorted[*code] = index;
                }
                let codes_of_rows = rows.into_iter().map(|code| sorted[code]).collect();
                Cells::Names { levels: codes.into_keys().collect(), codes: codes_of_rows }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table, String> {
        Table::read(text.as_bytes(), "t.csv", &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_and_names_are_told_apart() {
        let table = read("a,kind,b\n1,ssd,2.5\n-3e2,disk,0\n4,ssd,1\n").unwrap();
        assert_eq!(table.rows(), 3);
        assert_eq!(table.column("a"), Ok(&Cells::Numbers(vec![1.0, -300.0, 4.0])));
        let levels = vec!["disk".to_owned(), "ssd".to_owned()];
        assert_eq!(table.column("kind"), Ok(&Cells::Names { levels, codes: vec![1, 0, 1] }));
        let fault = table.column("knd").unwrap_err().to_string();
        assert_eq!(fault, "there is no column `knd`; did you mean `kind`?");
    }

    #[test]
    fn faults_name_line_and_column() {
        for (text, fault) in [
            (
                "a,b\n1,2\n1,x\n",
                "`t.csv` line 3, column `b`: `x` is not a number; if the column names things, say \
                 so (`--factor`)",
            ),
            (
                "a,b\n1,x\n1,2\n",
                "`t.csv` line 2, column `b`: `x` is not a number; if the column names things, say \
                 so (`--factor`)",
            ),
            ("a,b\n1,2\n1,inf\n", "`t.csv` line 3, column `b`: `inf` is not a finite number"),
            ("a,b\n1\n", "`t.csv` line 2: 1 cells, but 2 columns are named in the first line"),
            ("a,a\n1,2\n", "`t.csv`: two columns are named `a`"),
        ] {
            assert_eq!(read(text).unwrap_err(), fault);
        }
    }

    #[test]
    fn semicolons_and_tabs_separate_too() {
        let commas = read("a,kind,b\n1,ssd,2.5\n3,disk,4\n").unwrap();
        assert_eq!(read("a;kind;b\n1;ssd;2.5\n3;disk;4\n").unwrap(), commas);
        assert_eq!(read("a\tkind\tb\n1\tssd\t2.5\n3\tdisk\t4\n").unwrap(), commas);
        let quoted = read("\"a;b;c\",d\n1,2\n").unwrap();
        assert_eq!(quoted.names().collect::<Vec<_>>(), ["a;b;c", "d"]);
    }

    #[test]
    fn empty_cells_and_na_are_missing() {
        let table = read("a,kind,b\n,ssd,1\n2,,NA\nnan,disk,3\n").unwrap();
        let Cells::Numbers(a) = table.column("a").unwrap() else { panic!("numbers") };
        assert_eq!(a.iter().map(|a| a.is_nan()).collect::<Vec<_>>(), [true, false, true]);
        let levels = ["NA", "disk", "ssd"].map(str::to_owned).to_vec();
        assert_eq!(table.column("kind"), Ok(&Cells::Names { levels, codes: vec![2, 0, 1] }));
        let Cells::Numbers(b) = table.column("b").unwrap() else { panic!("numbers") };
        assert!(b[1].is_nan() && b[2] > 2.9);
    }

    #[test]
    fn a_column_can_be_taken_as_names() {
        let table = Table::read("r,y\n5,1\n1,2\n".as_bytes(), "t", &["r".to_owned()]).unwrap();
        let levels = vec!["1".to_owned(), "5".to_owned()];
        assert_eq!(table.column("r"), Ok(&Cells::Names { levels, codes: vec![1, 0] }));
    }
}
