//! libCacheSim's CSV of block traces: `version,time(s),op,size(B),lbn(512 B)`.
//!
//! `op` is the SCSI operation code in hexadecimal. A header names the columns, in any order. `op`,
//! `size` and `lbn` are required, `time` is used if present, others are skipped. Text in brackets
//! in a header (`time(s)`) is a unit and not compared. Without a header the columns are those
//! above. Source: the sample trace of libCacheSim and the header of its files; here the time may
//! have a fraction.

use super::decode::{LineFormat, Parsed, Raw};
use super::error::{Fault, FoundContent};
use super::fields::{Fields, decimal, digits, found, number, product};
use super::scsi;
use foretell_units::SECTOR_BYTES;

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Time,
    Op,
    Size,
    Lbn,
    Unused,
}

/// Columns to the right of this are ignored.
const COLUMNS: usize = 16;

/// The reader.
#[derive(Debug)]
pub(super) struct Csv {
    columns: [Column; COLUMNS],
    /// Minimum number of columns in a line.
    used: usize,
    /// Whether no line has been read yet.
    fresh: bool,
}

impl Csv {
    pub(super) fn new() -> Self {
        let mut columns = [Column::Unused; COLUMNS];
        columns[1..5].copy_from_slice(&[Column::Time, Column::Op, Column::Size, Column::Lbn]);
        Self { columns, used: 5, fresh: true }
    }

    fn header<'l>(&mut self, line: &'l [u8]) -> Result<(), Fault<'l>> {
        let mut fields = Fields::new(line);
        self.columns = [Column::Unused; COLUMNS];
        self.used = 0;
        for index in 0..COLUMNS {
            let Some(name) = fields.try_next() else { break };
            self.columns[index] = match column_name(name) {
                b"time" => Column::Time,
                b"op" => Column::Op,
                b"size" => Column::Size,
                b"lbn" => Column::Lbn,
                _ => continue,
            };
            self.used = index + 1;
        }
        for (column, field) in [(Column::Op, "op"), (Column::Size, "size"), (Column::Lbn, "lbn")] {
            if self.columns.iter().filter(|known| **known == column).count() != 1 {
                let wanted = "a header that names the columns `op`, `size` and `lbn` once each, \
                              such as version,time,op,size,lbn";
                return Err(Fault { field, found: FoundContent::Text(line), wanted });
            }
        }
        Ok(())
    }
}

/// The name without its unit: `time` of `time(s)`.
fn column_name(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == b'(').unwrap_or(field.len());
    field[..end].trim_ascii_end()
}

impl LineFormat for Csv {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>> {
        if self.fresh {
            self.fresh = false;
            if line.trim_ascii_start()[0].is_ascii_alphabetic() {
                return self.header(line).map(|()| Parsed::Nothing);
            }
        }
        let mut fields = Fields::new(line);
        let mut raw = Raw { ticks: None, op: crate::Op::Read, offset: 0, size: 0 };
        for column in &self.columns[..self.used] {
            match column {
                Column::Unused => {
                    fields.next("version", "as many fields as the header has")?;
                }
                Column::Time => {
                    let text = fields.next("time", "seconds")?;
                    raw.ticks = Some(decimal("time", text, 9)?);
                }
                Column::Op => {
                    let text = fields.next("op", scsi::WANTED)?;
                    let code = scsi::code(text).ok_or(Fault {
                        field: "op",
                        found: found(text),
                        wanted: scsi::WANTED,
                    })?;
                    raw.op = scsi::op(code)?;
                }
                Column::Size => raw.size = fields.number("size")?,
                Column::Lbn => {
                    let text = fields.next("lbn", "a sector's number")?;
                    raw.offset = product("lbn", number("lbn", text)?, SECTOR_BYTES)?;
                }
            }
        }
        Ok(Parsed::Request(raw))
    }
}

/// Whether a first line is of this format.
pub(super) fn matches(line: &[u8]) -> bool {
    let mut csv = Csv::new();
    if line[0].is_ascii_alphabetic() {
        return csv.header(line).is_ok();
    }
    // Without a header: the version is 1 or 2, and the operation a SCSI code.
    let mut fields = Fields::new(line);
    let version = fields.try_next().and_then(digits);
    matches!(version, Some(1 | 2))
        && matches!(csv.parse(line), Ok(Parsed::Request(_)))
        && memchr::memchr_iter(b',', line).count() == 4
}

#[cfg(test)]
mod tests {
    use crate::trace::Format;
    use crate::trace::test::{error, list};

    #[test]
    fn columns_are_found_by_name() {
        let text = b"lbn, op(hex) ,extra,size(B)\n8,2a,x,512\n1,0x28,,4096,more\n";
        // 8 sectors are 4096 bytes; there is no column with the time
        assert_eq!(list(Format::Csv, text), ["- write 4096+512", "- read 512+4096"]);
    }

    #[test]
    fn times_are_since_the_first_request() {
        let text = b"version,time,op,size,lbn\n1,100,28,512,0\r\n1,101.5,8a,512,1\r\n";
        assert_eq!(list(Format::Csv, text), ["0 read 0+512", "1500000000 write 512+512"]);
        // and without a header, or a line feed at the end
        let bare = b"1,7,a8,512,0\n\n1,9,0a,512,1";
        assert_eq!(list(Format::Csv, bare), ["0 read 0+512", "2000000000 write 512+512"]);
    }

    #[test]
    fn says_what_is_wrong_where() {
        let bad = |line: &str| error(Format::Csv, format!("1,1,28,512,1\n{line}\n").as_bytes());
        assert_eq!(
            bad("1,1,35,0,0"),
            "trace `test`, line 2: `op` is `35` (SYNCHRONIZE CACHE(10)); wanted a SCSI read (08, \
             28, a8, 88) or write (0a, 2a, aa, 8a), in hexadecimal"
        );
        assert_eq!(
            bad("1,1,28,512"),
            "trace `test`, line 2: `lbn` is missing; wanted a sector's number"
        );
        assert_eq!(
            bad("1,1,28,4k,7"),
            "trace `test`, line 2: `size` is `4k`; wanted a whole number from 0 to 2^64 - 1"
        );
        assert_eq!(
            bad("1,1,28,0,7"),
            "trace `test`, line 2: `size` is `0`; wanted at least 1 byte"
        );
        // 2^63 sectors
        assert_eq!(
            bad("1,1,28,512,9223372036854775808"),
            "trace `test`, line 2: `lbn` is `9223372036854775808` × 512; wanted an address below \
             2^64 bytes"
        );
        // the last sector below 2^64, and one byte too many
        assert_eq!(
            bad("1,1,28,513,36028797018963967"),
            "trace `test`, line 2: `end` is `18446744073709551104` + 513; wanted an address below \
             2^64 bytes"
        );
        assert!(error(Format::Csv, b"time,op,lbn\n").contains("`size` is `time,op,lbn`"));
    }
}
